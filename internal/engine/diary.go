// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"iter"
	"maps"
	"slices"

	"github.com/otelcol-agents/otelcol-agents/internal/journal"
	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
	"github.com/otelcol-agents/otelcol-agents/internal/voice"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

const (
	// maxDiary bounds what is journalled of one session, and maxDiaries of all, in bytes: beyond it the
	// session is closed, and goes on in a new segment.
	maxDiary   = 64 << 20
	maxDiaries = 512 << 20
)

// diaries are what is journalled of live sources: rows that nothing else could bring back. A row is an entry
// of one source; it goes when every session that it tells of is closed.
type diaries struct {
	last  uint64 // number of the latest source
	rows  map[uint64][]*diaryRow
	sizes map[uint64]int
	size  int
	// ends has the states in which sessions of live sources were closed: what they go on from.
	ends map[uint64]session.State
}

// diary is one source in the journal.
type diary struct {
	source  uint64
	seq     uint64
	opening journal.Opening
	loose   []*diaryRow // rows of which no session is known yet
	row     *diaryRow   // the latest, until it is known whose it is
}

type diaryRow struct {
	key  string
	open int // sessions that are open
	size int
}

func newDiaries() diaries {
	return diaries{rows: map[uint64][]*diaryRow{}, sizes: map[uint64]int{}, ends: map[uint64]session.State{}}
}

// journalled stores what a batch of a live source says, and folds it then.
func (f *folder) journalled(o *origin, in *Input, p *piece) {
	d := o.diary
	if d == nil {
		f.diaries.last++
		d = &diary{source: f.diaries.last, opening: journal.Opening{
			Request: in.source.Request, Caller: in.source.Caller, Format: o.format, Agent: o.agent,
		}}
		o.diary = d
	}
	said := make([]voice.Said, 0, p.Len())
	for i := range p.Len() {
		one, anew := o.voices.Hear(p.Line(i), p.Units(i), p.Arrived(i))
		if anew != nil {
			p.Again(i, anew)
		}
		said = append(said, one)
	}
	if len(said) > 0 {
		f.write(d, said)
	}
	for i := range said {
		o.voices.Step(&said[i])
	}
}

func (f *folder) write(d *diary, said []voice.Said) {
	// Each row says how its source began, since earlier ones go.
	value, err := journal.Encode(&journal.Entry{Opening: &d.opening, Said: said, From: f.from(said)}, f.e.options.Batch.Decode.Capture)
	if err != nil {
		f.e.options.Reporter.CommitFailed(err)
		return // it is folded all the same: only a crash would lose it
	}
	d.seq++
	key := ledger.JournalKey(d.source, d.seq)
	if f.e.insist(func() error { return f.ledger.Commit(f.e.running, []ledger.Op{{Key: key, Value: ledger.Seal(value)}}) }) {
		d.row = &diaryRow{key: key, size: len(value)}
	}
}

// from gives the states of closed sessions of which something is said now. Their earlier rows are gone from
// the journal, so that is what they go on from.
func (f *folder) from(said []voice.Said) (states []session.State) {
	last := ""
	for i := range said {
		for k := range said[i].Units {
			id := said[i].Derived
			if r := said[i].Units[k].Record; r != nil && r.Session != "" {
				id = r.Session
			}
			if id == "" || id == last {
				continue
			}
			last = id
			key := session.Key(said[i].Agent, id)
			if end, ok := f.diaries.ends[key]; ok {
				states = append(states, end)
			} else if s, ok := f.ledger.Session(key); ok && s.Closed && s.Live && !f.sessions.Has(key) {
				if m := f.recall(key); m != nil {
					f.diaries.ends[key] = m.State
					states = append(states, m.State)
				}
			}
		}
	}
	return states
}

// attribute finds out whose the latest row is: the sessions' that it changed, and that its source feeds.
func (f *folder) attribute(o *origin, changes []session.Change) (ops []ledger.Op) {
	d := o.diary
	if d == nil || d.row == nil && len(d.loose) == 0 {
		return nil
	}
	rows := d.loose
	if d.row != nil {
		rows = append(rows, d.row)
	}
	d.row, d.loose = nil, nil
	var keys []uint64
	for i := range changes {
		keys = append(keys, changes[i].Key)
	}
	for _, src := range o.voices.Sources() {
		keys = append(keys, src.Sessions()...)
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	if len(keys) == 0 && !o.ended {
		d.loose = rows
		return nil
	}
	keys = slices.DeleteFunc(keys, func(k uint64) bool {
		s, ok := f.ledger.Session(k)
		// One that is not known yet holds rows whose time is not known. Others, too, may wait for what comes next:
		// that has changed nothing, and would be lost all the same.
		return ok && s.Closed && !f.sessions.Holds(k)
	})
	ds := &f.diaries
	for _, row := range rows {
		if row.open = len(keys); row.open == 0 {
			ops = append(ops, ledger.Op{Key: row.key})
			continue
		}
		ds.size += row.size
		for _, k := range keys {
			ds.rows[k] = append(ds.rows[k], row)
			ds.sizes[k] += row.size
		}
	}
	for _, k := range keys {
		if ds.sizes[k] > maxDiary {
			f.sessions.Dismiss(k)
		}
	}
	if ds.size > maxDiaries {
		for k := range f.sessions.Oldest() {
			if ds.sizes[k] > 0 {
				f.sessions.Dismiss(k)
				break
			}
		}
	}
	return ops
}

// close deletes the rows of sessions that are closed.
func (ds *diaries) close(changes []session.Change) (ops []ledger.Op) {
	for i := range changes {
		c := &changes[i]
		if !c.State.Closed {
			delete(ds.ends, c.Key)
			continue
		}
		for _, row := range ds.rows[c.Key] {
			if row.open--; row.open == 0 {
				ops = append(ops, ledger.Op{Key: row.key})
				ds.size -= row.size
			}
		}
		delete(ds.rows, c.Key)
		delete(ds.sizes, c.Key)
		if c.State.Live {
			ds.ends[c.Key] = c.State
		}
	}
	return ops
}

// recover folds the journal: what live sources brought before the process ended. Connections are over;
// requests may go on in others.
func (f *folder) recover() {
	f.tellDamage()
	for key, s := range f.ledger.Sessions() {
		if !s.Closed {
			f.asleep[key] = s.Due
			f.rebuilding[key] = s.Live
		}
	}
	l := &load{}
	var o *origin
	for j := range f.ledger.Journal() {
		entry, err := journal.Decode(j.Value)
		if err != nil || entry.Opening == nil {
			f.ledger.Spoil()
			f.tellDamage()
			f.doomed = append(f.doomed, ledger.Op{Key: ledger.JournalKey(j.Source, j.Seq)})
			continue
		}
		if o == nil || o.diary.source != j.Source {
			f.over(o)
			o = f.reread(j.Source, entry.Opening)
			l.live = append(l.live, o)
		}
		f.diaries.last = j.Source
		o.diary.seq = j.Seq
		o.diary.row = &diaryRow{key: ledger.JournalKey(j.Source, j.Seq), size: len(j.Value)}
		for _, s := range entry.From {
			// It was closed before this was said. Where the rows until then are here, their going was not stored.
			if key := session.Key(s.Agent, s.ID); f.sessions.Has(key) {
				f.sessions.CloseAgain(key, s.Broken)
			} else {
				f.froms[key] = s
			}
		}
		for i := range entry.Said {
			o.voices.Step(&entry.Said[i])
		}
		f.hand(nil, o)
	}
	if o != nil && o.request {
		f.over(o) // a connection ends when its sessions are what they were
	}
	for key, live := range f.rebuilding {
		// Of these the journal should tell: they cannot go on.
		if s, _ := f.ledger.Session(key); live && len(s.Files) == 0 && !f.sessions.Has(key) {
			delete(f.asleep, key)
			f.lost = append(f.lost, f.lose(key)...)
		}
	}
	if len(l.live) == 0 {
		clear(f.rebuilding)
		f.hand(nil, nil)
		return
	}
	var keys []uint64
	for _, known := range []iter.Seq[uint64]{maps.Keys(f.rebuilding), maps.Keys(f.froms)} {
		for key := range known {
			if f.sessions.Has(key) {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	clear(f.rebuilding)
	clear(f.froms)
	f.gather(l, nil, keys)
	if len(l.origins) == 0 {
		f.loading = true
		f.loaded(l)
		return
	}
	f.start(l)
}

// tellDamage reports the values that could not be read since it was called last.
func (f *folder) tellDamage() {
	if n := f.ledger.Damaged(); n > f.damaged {
		f.e.options.Reporter.Damaged(n - f.damaged)
		f.damaged = n
	}
}

// over ends a source of the journal before the next one is folded, as it ended before that began: what the process of
// a request told goes on there, and what a connection left open does not. Where a file feeds a session too, that is
// to be read before anybody knows what is left open.
func (f *folder) over(o *origin) {
	if o == nil {
		return
	}
	if !o.request && f.filed(o) {
		return
	}
	if o.request {
		o.voices.Release()
	} else {
		o.voices.End()
	}
	o.ended = true
	f.hand(nil, o)
}

// filed reports whether a session of the source is known to be fed by files, too.
func (f *folder) filed(o *origin) bool {
	for _, src := range o.voices.Sources() {
		for _, key := range src.Sessions() {
			if s, ok := f.ledger.Session(key); ok && len(s.Files) > 0 {
				return true
			}
		}
	}
	return false
}

// reread is the origin of a source in the journal.
func (f *folder) reread(source uint64, opening *journal.Opening) *origin {
	o := &origin{
		format: opening.Format, agent: opening.Agent, input: func() *Input { return nil },
		diary: &diary{source: source, opening: *opening}, request: opening.Request,
	}
	o.voices = f.voices(o, Source{Live: true, Caller: opening.Caller}, f.clock.at)
	return o
}
