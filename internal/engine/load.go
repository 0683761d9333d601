// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

// againBudget bounds the bytes of files that are read again and not yet folded again.
const againBudget = 16 << 20

// Reread reads a file from its beginning up to where it was, in the order of its lines.
type Reread func(ctx context.Context, id ledger.FileID, upto ledger.Progress, send func(b *batch.Batch, modTime int64) error) error

// load is a group of sessions that is brought back: what their files tell is folded again.
type load struct {
	origins []*origin // of files
	keys    []uint64
	live    []*origin // sources of the journal, which is folded: they are over
	then    func()    // what comes next; nil for nothing
}

// SetReread says how files are read again; nil where no files are read. It must be called once: until then
// no session comes back.
func (e *Engine) SetReread(r Reread) {
	e.reread = r
	close(e.rereads)
}

// runLoads reads the files of one load after the other.
func (e *Engine) runLoads() {
	select {
	case <-e.rereads:
	case <-e.running.Done():
		return
	}
	for l := range e.loads {
		for _, o := range l.origins {
			err := e.readAgain(o)
			if e.enqueue(e.running, item{load: l, origin: o, err: err}) != nil {
				return
			}
		}
		if e.enqueue(e.running, item{load: l}) != nil {
			return
		}
	}
}

func (e *Engine) readAgain(o *origin) error {
	if e.reread == nil {
		return errNoFiles
	}
	judge := e.options.Batch.NewJudge()
	if o.format != "" {
		judge.Resume(o.format, o.agent)
	}
	return e.reread(e.running, o.file.ID, o.file.Progress, func(b *batch.Batch, modTime int64) error {
		charged := min(b.Cost(), againBudget)
		if err := e.againBudget.Acquire(e.running, charged); err != nil {
			return err
		}
		for i := range b.Len() {
			judge.Observe(b.Line(i))
		}
		judge.Settle()
		if !e.decoders.Decode(e.running, b, judge.Format()) {
			return e.running.Err()
		}
		// The origin is the fold's from the first batch on.
		it := item{origin: o, piece: &piece{Batch: b, charged: charged}, modTime: modTime, agent: judge.Agent()}
		return e.enqueue(e.running, it)
	})
}

// foldAgain folds a batch of a file that is read again. What it makes has left, or is still to leave: the
// sessions know.
func (f *folder) foldAgain(it item) {
	o, p := it.origin, it.piece
	p.Wait()
	if o.voices == nil {
		o.format, o.agent = p.Format(), it.agent
		o.voices = f.voices(o, Source{File: o.file.ID}, it.modTime)
	}
	o.voices.Modified(it.modTime)
	f.sessions.Silent(p.Silent)
	for i := range p.Len() {
		said, _ := o.voices.Hear(p.Line(i), p.Units(i), 0)
		o.voices.Step(&said)
	}
	f.sessions.Silent(false)
	f.note(o)
	f.e.options.Reporter.Refolded(p.Size)
	f.e.againBudget.Release(p.charged)
	p.Release()
	f.hand(nil, nil)
}

// waits reports whether an item has to wait for sessions that are not in memory, and sees that they come.
func (f *folder) waits(it item) bool {
	in := it.input
	if f.early {
		return true
	}
	if it.ended {
		return false
	}
	it.piece.Wait()
	var files []ledger.FileID
	if id := in.source.File; id != 0 && in.origin == nil {
		rec, known := f.ledger.File(id)
		switch o := f.files[id]; {
		case o != nil && o.file.Epoch == in.source.Epoch:
			in.origin = o
		case known && rec.Epoch == in.source.Epoch && rec.Pos > 0 && !f.failed[id]:
			files = append(files, id)
		}
	}
	keys := f.absent(in, it.piece)
	if len(files) == 0 && len(keys) == 0 {
		return false
	}
	return f.bring(files, keys)
}

// absent gives the sessions that a batch names and that are known and not in memory.
func (f *folder) absent(in *Input, p *piece) (keys []uint64) {
	agent := in.judge.Agent()
	last := ""
	check := func(key uint64) {
		if _, known := f.ledger.Session(key); known && (!f.sessions.Has(key) || f.rebuilding[key]) && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	name := func(id string) {
		if id == "" || id == last {
			return
		}
		last = id
		check(session.Key(agent, id))
	}
	for i := range p.Len() {
		for _, u := range p.Units(i) {
			if u.Record == nil {
				continue
			}
			name(u.Record.Session)
			if m := threadOf(u.Record); m != nil {
				name(m.ID)
				for _, parent := range m.Parents {
					name(parent)
					if home, ok := f.sessions.Home(agent, parent); ok {
						check(home)
					}
				}
			}
		}
	}
	return keys
}

func threadOf(r *translate.Record) *translate.Thread {
	if r.Rollout == nil {
		return nil
	}
	return r.Rollout.Meta
}

// bring sees that sessions come back with all that belongs to them. It is false where there is nothing to
// read again: they go on as what is remembered of them.
func (f *folder) bring(files []ledger.FileID, keys []uint64) bool {
	l := &load{}
	coming := f.gather(l, files, keys)
	if len(l.origins) == 0 {
		return coming
	}
	f.start(l)
	return true
}

// gather finds all that must come back together. It reports whether some of it is on its way already.
func (f *folder) gather(l *load, files []ledger.FileID, keys []uint64) (coming bool) {
	seen := map[ledger.FileID]bool{}
	for len(files) > 0 || len(keys) > 0 {
		for _, id := range files {
			rec, ok := f.ledger.File(id)
			coming = coming || f.coming[id]
			if !ok || rec.Pos == 0 || seen[id] || f.files[id] != nil || f.coming[id] || f.failed[id] {
				continue
			}
			seen[id] = true
			l.origins = append(l.origins, f.reopened(rec))
			keys = append(keys, rec.Sessions...)
		}
		files = nil
		for _, key := range keys {
			coming = coming || f.rebuilding[key]
			s, ok := f.ledger.Session(key)
			if !ok || f.dismissed[key] || f.rebuilding[key] || slices.Contains(l.keys, key) {
				continue
			}
			l.keys = append(l.keys, key)
			files = append(files, s.Files...)
		}
		keys = nil
	}
	return coming
}

// start has a load read.
func (f *folder) start(l *load) {
	// In the order in which they began: what was copied comes after what it was copied from.
	slices.SortFunc(l.origins, func(a, b *origin) int {
		return cmp.Or(cmp.Compare(a.file.Began, b.file.Began), strings.Compare(a.file.Path, b.file.Path))
	})
	for _, o := range l.origins {
		f.coming[o.file.ID] = true
	}
	for _, key := range l.keys {
		delete(f.asleep, key)
		f.rebuilding[key] = true
	}
	f.queue = append(f.queue, l)
	f.nextLoad()
}

func (f *folder) nextLoad() {
	if f.loading || len(f.queue) == 0 {
		return
	}
	f.loading = true
	f.e.loads <- f.queue[0] // has room for one
	f.queue = f.queue[1:]
}

// loaded goes on with a group that is what it was.
func (f *folder) loaded(l *load) {
	for _, o := range l.origins {
		o.again = false
		delete(f.coming, o.file.ID)
		if o.voices == nil {
			continue // nothing could be read
		}
		f.files[o.file.ID] = o
	}
	for _, key := range l.keys {
		delete(f.rebuilding, key)
	}
	needed := f.needed()
	var lost []session.Change
	for _, key := range l.keys {
		if f.sessions.Has(key) {
			f.sessions.Rebuilt(key)
		} else if s, ok := f.ledger.Session(key); ok && !s.Closed && !slices.Contains(needed, key) {
			lost = append(lost, f.lose(key)...)
		}
	}
	f.lost = append(f.lost, lost...)
	for _, o := range l.live {
		if !o.ended {
			o.voices.End()
		}
		o.ended = true
		f.hand(nil, o)
	}
	f.hand(nil, nil)
	f.loading = false
	if l.then != nil {
		l.then()
	}
	f.nextLoad()
	f.retry()
}

// needed gives the sessions that are not in memory and that rows wait for. What cannot be read again is then read
// anew, from a file that was rewritten.
func (f *folder) needed() (keys []uint64) {
	for _, in := range f.waiting {
		for i := range in.parked {
			if p := in.parked[i].piece; p != nil {
				p.Wait()
				keys = append(keys, f.absent(in, p)...)
			}
		}
	}
	return keys
}

// lose gives up an open session whose sources are gone.
func (f *folder) lose(key uint64) []session.Change {
	m := f.remember(key)
	if m == nil {
		return nil
	}
	return []session.Change{f.sessions.Lose(m)}
}

// retry folds what waited for a load, as far as it need not wait for another one.
func (f *folder) retry() {
	waiting := f.waiting
	f.waiting = nil
	for _, in := range waiting {
		for len(in.parked) > 0 && !f.waits(in.parked[0]) {
			it := in.parked[0]
			in.parked = in.parked[1:]
			f.take(it)
		}
		if len(in.parked) > 0 {
			f.waiting = append(f.waiting, in)
		}
	}
}
