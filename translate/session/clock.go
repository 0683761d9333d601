// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"slices"
	"time"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

const (
	// maxWaiting bounds the untimed records that wait for the next known time after a terminal record.
	maxWaiting = 256
	// maxSkew is how far a live record's time may lie from its arrival for the source to be taken as
	// written right now; an old recording sent through a pipe keeps the times it tells.
	maxSkew = int64(time.Minute)
	// ordinalBits is the room for the ordinals of one source without times. Ordinals stand in for
	// times until the source ends; all of them lie before any time that a record may have.
	ordinalBits = 32
	ordinalEnd  = int64(1) << 56
)

// feed is the part of a source that belongs to one session. It gives every record its time
// (telemetry contract, section 6, rulings 36, 41, 49).
type feed struct {
	src *Source
	s   *session
	// running is the process that writes the source; several sessions on one connection are several.
	running *running

	known    bool  // a record told a time
	last     int64 // time of the latest record
	began    int64 // time of the first record since the last terminal one
	after    bool  // a terminal record was the last timed thing: untimed records wait for the next time
	skew     int64 // arrival minus time of the latest timed record
	arrivals bool  // a live source that told no time until it had to: arrival times
	waiting  []*translate.Record
	// owned says that a timed record of the session's own came, not one that was copied.
	owned  bool
	copies bool // copied ones came
	mains  bool // rows of the main agent came

	ordinal   int64 // records without a time so far
	lengths   int64 // sum of the durations of terminal records
	ordinalsT int64 // what the ordinals stand for, once known
	spread    bool  // ordinals are spread over lengths before the file's modification time
	ended     bool

	loops  *loops  // where records do not name their agent
	doubts []dated // records that wait for a later one to tell whose they are

	hashes []uint64 // of its records without an id, in order
	model  *feed    // the earlier source that it has followed so far
	fresh  bool     // it went its own way
	held   []held   // its untimed copies since the latest turn began
	// decided says that the turn of the latest copy has ended: it is a copy for good.
	decided bool

	restates bool  // it only restates a rollout, which has the times
	from, to int64 // times of its records, where it is a stream that a rollout may restate

	process    int  // of the latest record, among those of the session that number their items; 0 = none yet
	newProcess bool // a process began that told nothing yet
	thread     thread
}

// held is a copy that may prove to be none.
type held struct {
	rec      *translate.Record
	t        int64
	measured bool
}

// maxHeld bounds the records of one turn that are held while they repeat an earlier source.
const maxHeld = 1 << 16

// copied reports whether a record without an id repeats an earlier source of the session. A source
// that begins with the records of an earlier one is a copy for as long as it follows it (ruling 44):
// where it goes another way, timed records are new from there on, untimed ones from the beginning of
// their turn on, since two runs of one thread may begin alike. takeHeld then has the latter.
func (f *feed) copied(rec *translate.Record, t int64, measured bool) bool {
	i := len(f.hashes)
	f.hashes = append(f.hashes, rec.Hash)
	switch {
	case f.fresh:
		return false
	case f.follows(i):
		f.hold(held{rec, t, measured})
		return true
	case f.model != nil && i == len(f.model.hashes):
		f.held = nil // it goes on where the earlier source ended, perhaps in the middle of a turn
		f.process = f.model.process
	}
	f.fresh = true
	return false
}

// follows reports whether the records up to the i-th are those of an earlier source.
func (f *feed) follows(i int) bool {
	if f.model != nil && i < len(f.model.hashes) && f.model.hashes[i] == f.hashes[i] {
		return true
	}
	for _, o := range f.s.feeds {
		if o == f {
			break
		}
		if i < len(o.hashes) && slices.Equal(o.hashes[:i+1], f.hashes) {
			f.model = o
			return true
		}
	}
	return false
}

func (f *feed) hold(h held) {
	rec := h.rec
	if rec.Turn != nil || rec.Start != nil || rec.Prompt != nil {
		f.held, f.decided = f.held[:0], false
	}
	if rec.Time == 0 && !f.decided && len(f.held) < maxHeld {
		f.held = append(f.held, h)
	}
	if rec.Terminal != nil {
		f.held, f.decided = nil, true
	}
}

func (f *feed) takeHeld() []held {
	h := f.held
	f.held = nil
	return h
}

// record gives the record its time and folds it.
func (f *feed) record(rec *translate.Record) {
	switch {
	case f.transcript() && !f.owned && rec.Time == 0 && !acts(rec) && len(f.waiting) < maxWaiting:
		f.waiting = append(f.waiting, rec) // a fork begins with its first own row, not with what was copied
	case rec.Time != 0:
		if rec.Arrival != 0 {
			f.skew = rec.Arrival - rec.Time
		}
		f.know(rec.Time)
		f.fold(rec, rec.Time, true)
	case f.src.info.Live && f.inStep():
		f.fold(rec, max(rec.Arrival, f.last), true)
	case f.src.info.Live && !f.known && !acts(rec) && len(f.waiting) < maxWaiting:
		f.waiting = append(f.waiting, rec)
	case f.src.info.Live && !f.known:
		f.arrivals = true
		for _, w := range f.takeWaiting() {
			f.fold(w, max(w.Arrival, f.last), true)
		}
		f.fold(rec, max(rec.Arrival, f.last), true)
	case !f.known && !f.src.known:
		f.ordinal = min(f.ordinal+1, 1<<ordinalBits-1)
		f.fold(rec, int64(f.src.n)<<ordinalBits+f.ordinal, false)
	case f.after && len(f.waiting) < maxWaiting:
		f.waiting = append(f.waiting, rec)
	default:
		f.fold(rec, max(f.last, f.src.last), false)
	}
}

// inStep reports whether arrival times are the times of untimed records.
func (f *feed) inStep() bool {
	return f.arrivals && !f.known || f.known && f.skew >= -maxSkew && f.skew <= maxSkew
}

// know takes note of a told time: records that waited for one take it, the live ones among them
// their arrival where that is earlier.
func (f *feed) know(t int64) {
	if !f.known && f.ordinal > 0 && f.ordinalsT == 0 {
		f.ordinalsT = t
		f.began = t
	}
	first := !f.known
	f.known, f.after = true, false
	f.src.known, f.src.last = true, max(f.src.last, t)
	if f.transcript() && !f.owned {
		return
	}
	for _, w := range f.takeWaiting() {
		at := t
		if first && w.Arrival != 0 && f.skew <= maxSkew {
			at = min(t, w.Arrival)
		}
		f.fold(w, at, first && w.Arrival != 0)
	}
}

func (f *feed) takeWaiting() []*translate.Record {
	w := f.waiting
	f.waiting = nil
	return w
}

// fold hands a record with its time to the session. measured says that the time was told or seen,
// not taken over from another record.
func (f *feed) fold(rec *translate.Record, t int64, measured bool) {
	if f.began == 0 {
		f.began = t
	}
	if t > f.last || t < ordinalEnd {
		f.last = t
	}
	end := t
	if rec.Terminal != nil {
		d := rec.Terminal.Duration
		if d.OK && d.V > 0 {
			f.lengths += d.V
			if t >= ordinalEnd && !measured && rec.Time == 0 {
				end = max(t, f.began+d.V)
			}
		}
		if t >= ordinalEnd {
			f.last = end
			f.after = !f.src.info.Live || !f.inStep()
		}
		f.began = 0
	}
	f.pass(dated{rec: rec, t: end, measured: measured})
}

// dated is a record whose time is known.
type dated struct {
	rec      *translate.Record
	t        int64
	measured bool
	waited   int // records that came while it waited to be known whose it is
}

// pass finds out whose record it is and hands it on.
func (f *feed) pass(d dated) {
	f.passDoubts(d.rec)
	if d.rec.Loop != nil {
		if f.loops == nil {
			f.loops = newLoops()
		}
		if f.loops.doubtful(d.rec) {
			f.doubts = append(f.doubts, d)
			return
		}
		f.loops.attribute(d.rec, nil)
	}
	f.s.record(f, d.rec, d.t, d.measured)
}

// passDoubts hands on what waited for next to tell whose it is; nil when nothing follows.
func (f *feed) passDoubts(next *translate.Record) {
	for len(f.doubts) > 0 {
		d := &f.doubts[0]
		d.waited++
		lp, known := f.loops.resolve(d.rec, next, d.waited)
		if !known {
			return
		}
		first := f.doubts[0]
		f.doubts = f.doubts[1:]
		f.loops.attribute(first.rec, lp)
		f.s.record(f, first.rec, first.t, first.measured)
	}
}

// maxLitter bounds the lines that are no records and that are known to be a source's.
const maxLitter = 1 << 12

// litters reports whether another source of the session had the same line that is no record: a request that is sent
// again, a copy of a stream.
func (f *feed) litters(hash uint64) bool {
	s := f.s
	if from, known := s.litter[hash]; known || hash == 0 {
		return known && from != f.src.n
	}
	if s.litter == nil {
		s.litter = map[uint64]uint64{}
	}
	if len(s.litter) < maxLitter {
		s.litter[hash] = f.src.n
	}
	return false
}

// diagnostic folds a line that is no record: it takes the time of the record before it, of the source
// or else of the session.
func (f *feed) diagnostic(d *translate.Diagnostic) {
	if f.litters(d.Hash) {
		return
	}
	t := f.last
	if t == 0 {
		t = f.s.latest
	}
	f.s.diagnostic(d, t)
}

// end folds what still waits and fixes what ordinals stand for.
func (f *feed) end() {
	if f.ended {
		return
	}
	f.ended = true
	for _, w := range f.takeWaiting() {
		t, arrived := f.last, !f.known && w.Arrival != 0
		if arrived {
			t = max(w.Arrival, f.last)
		}
		f.fold(w, t, arrived)
	}
	f.passDoubts(nil)
	if f.ordinal > 0 && f.ordinalsT == 0 && !f.restates {
		f.ordinalsT, f.spread = f.src.info.ModTime, true
		f.s.estimated = true
	}
}

// resolved reports whether the feed's ordinals stand for times already.
func (f *feed) resolved() bool { return f.ordinal == 0 || f.ordinalsT != 0 || f.restates }

// at is the time an ordinal stands for: the first time known, or its place in the file's length.
func (f *feed) at(ordinal int64) int64 {
	if !f.spread || f.ordinal <= 1 {
		return f.ordinalsT
	}
	begin := f.ordinalsT - f.lengths
	n := ordinal & (1<<ordinalBits - 1)
	// n-1 of ordinal-1 steps; in floats the product would lose nanoseconds, in int64 it may overflow.
	q, r := f.lengths/(f.ordinal-1), f.lengths%(f.ordinal-1)
	return begin + (n-1)*q + (n-1)*r/(f.ordinal-1)
}
