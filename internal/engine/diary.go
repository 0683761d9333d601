// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
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
// of one source; it goes when every session that it tells of has left memory.
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
	open int // sessions in memory that it tells of
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
				if m := f.remember(key); m != nil {
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
	keys = slices.DeleteFunc(keys, func(k uint64) bool { return !f.sessions.Has(k) })
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
	f.bound(keys)
	return ops
}

// bound keeps what is journalled within its limits. What is closed goes first.
func (f *folder) bound(keys []uint64) {
	ds := &f.diaries
	for _, k := range keys {
		if ds.sizes[k] > maxDiary {
			f.sessions.Dismiss(k)
		}
	}
	if ds.size <= maxDiaries {
		return
	}
	oldest := uint64(0)
	for k := range f.sessions.Oldest() {
		switch s, ok := f.ledger.Session(k); {
		case ds.sizes[k] == 0:
		case ok && s.Closed:
			f.sessions.Dismiss(k)
			return
		case oldest == 0:
			oldest = k
		}
	}
	f.sessions.Dismiss(oldest)
}

// note keeps the states in which sessions of live sources were closed, until they go on.
func (ds *diaries) note(changes []session.Change) {
	for i := range changes {
		switch c := &changes[i]; {
		case !c.State.Closed:
			delete(ds.ends, c.Key)
		case c.State.Live:
			ds.ends[c.Key] = c.State
		}
	}
}

// drop deletes the rows of a session that leaves memory: what still comes of it goes on from its state.
func (ds *diaries) drop(key uint64) (ops []ledger.Op) {
	for _, row := range ds.rows[key] {
		if row.open--; row.open == 0 {
			ops = append(ops, ledger.Op{Key: row.key})
			ds.size -= row.size
		}
	}
	delete(ds.rows, key)
	delete(ds.sizes, key)
	delete(ds.ends, key)
	return ops
}

// recover folds the journal: what live sources brought before the process ended. Connections are over;
// requests may go on in others.
func (f *folder) recover() {
	f.tellDamage()
	for key, s := range f.ledger.Sessions() {
		if !s.Closed {
			f.asleep[key] = s.Due
		}
	}
	l := &load{then: f.replay}
	f.gather(l, nil, f.filedFirst())
	if len(l.origins) == 0 {
		f.replay()
		return
	}
	f.early = true
	f.start(l)
}

// filedFirst gives the sessions of which a file told first: where a stream and a file tell the same in other words,
// the first has told it.
func (f *folder) filedFirst() (keys []uint64) {
	for key, s := range f.ledger.Sessions() {
		if !s.Live || len(s.Files) == 0 {
			continue
		}
		if m := f.remember(key); m != nil && m.Format.OfFiles() {
			keys = append(keys, key)
		}
	}
	return keys
}

// replay folds the journal.
func (f *folder) replay() {
	f.early = false
	l := &load{}
	f.recovering = true
	var o *origin
	for j := range f.ledger.Journal() {
		entry, err := journal.Decode(j.Value)
		if err != nil || entry.Opening == nil {
			f.ledger.Spoil()
			f.tellDamage()
			f.ops = append(f.ops, ledger.Op{Key: ledger.JournalKey(j.Source, j.Seq)})
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
	for key, known := range f.ledger.Sessions() {
		// Of these the journal should tell: they cannot go on.
		if !known.Closed && known.Live && len(known.Files) == 0 && !f.sessions.Has(key) {
			delete(f.asleep, key)
			f.lost = append(f.lost, f.lose(key)...)
		}
	}
	f.recovering = false
	clear(f.froms)
	if len(l.live) == 0 {
		return
	}
	keys := slices.Sorted(f.sessions.Oldest())
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
