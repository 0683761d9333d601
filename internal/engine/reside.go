// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

const (
	// keepClosed is how long a closed session stays in memory for rows that come late.
	keepClosed = 5 * time.Minute
	tidyEvery  = 10 * time.Second
	sweepEvery = time.Minute
	// maxTried bounds the sessions that are looked at for one that can be let go.
	maxTried = 256
	// maxImminent bounds the sessions beyond the allowed ones that stay because the next tick closes them:
	// let go before, they would have to be folded once more for nothing but that.
	maxImminent = 512
	// maxDismissed bounds what is remembered of sessions that were closed to make room.
	maxDismissed = 1 << 16
)

// changed notes that a session has changed with the latest parcel.
func (f *folder) changed(c *session.Change) {
	delete(f.asleep, c.Key)
	if f.sessions.Has(c.Key) {
		f.stamps[c.Key] = f.number
		return
	}
	delete(f.stamps, c.Key)
	f.ops = append(f.ops, f.diaries.drop(c.Key)...)
	if len(f.dismissed) >= maxDismissed {
		clear(f.dismissed)
	}
	f.dismissed[c.Key] = true
	f.e.evicted.Add(1)
}

// remember reads what is stored of a session; nil for nothing.
func (f *folder) remember(key uint64) (m *session.Memory) {
	f.e.insist(func() (err error) {
		m, err = f.ledger.Recall(f.e.running, key)
		return err
	})
	f.tellDamage()
	return m
}

// recall gives what is remembered of a session that comes into memory.
func (f *folder) recall(key uint64) *session.Memory {
	m := f.remember(key)
	if m == nil {
		return nil
	}
	if from, ok := f.froms[key]; ok {
		m.From = &from
		return m
	}
	switch {
	case f.recovering, f.rebuilding[key]:
		m.Rebuild = true // the journal has all that came of its sessions, or what they go on from
	case !m.Live && !f.dismissed[key]:
		m.Rebuild = true
		f.reborn = append(f.reborn, key) // what is folded now is all that there is of it
	}
	return m
}

// wake brings back the sessions that are due.
func (f *folder) wake(at int64) {
	for key, due := range f.asleep {
		if due > at {
			continue
		}
		if !f.bring(nil, []uint64{key}) {
			delete(f.asleep, key)
			if s, ok := f.ledger.Session(key); ok && !s.Closed && !f.sessions.Has(key) {
				f.lost = append(f.lost, f.lose(key)...)
			}
		}
	}
}

// makeRoom lets sessions go that can come back when they go on.
func (f *folder) makeRoom() {
	over := f.sessions.Sessions() - f.resident
	if over <= 0 || f.recovering {
		return
	}
	tried := 0
	for key := range f.sessions.Oldest() {
		if over <= 0 || tried >= maxTried {
			return
		}
		tried++
		if over <= maxImminent && f.imminent(key) {
			continue
		}
		if n := f.letGo(key); n > 0 {
			over -= n
			f.e.evicted.Add(int64(n))
		}
	}
}

// imminent reports whether the clock is about to close the session.
func (f *folder) imminent(key uint64) bool {
	s, ok := f.ledger.Session(key)
	return ok && !s.Closed && s.Due != 0 && s.Due <= f.clock.at
}

// tidy lets closed sessions go.
func (f *folder) tidy(at int64) {
	f.makeRoom()
	if at-f.tidied < int64(tidyEvery) {
		return
	}
	f.tidied = at
	for key := range f.sessions.Oldest() {
		s, ok := f.ledger.Session(key)
		if !ok || !s.Closed {
			continue
		}
		if at-s.Folded < int64(keepClosed) {
			break
		}
		f.letGo(key)
	}
	f.e.resident.Store(int64(f.sessions.Sessions()))
}

// letGo takes a session out of memory with all that it shares sources with, and returns how many these are:
// 0 where one of them cannot come back, or something of it is on its way.
func (f *folder) letGo(key uint64) int {
	keys, sources := f.sessions.Group(key)
	open := false
	committed := f.e.committed.Load()
	for _, k := range keys {
		s, ok := f.ledger.Session(k)
		switch {
		case !ok, f.sessions.Busy(k), f.stamps[k] > committed, !s.Closed && s.Live:
			return 0
		}
		open = open || !s.Closed
	}
	for _, src := range sources {
		o := f.sources[src]
		if o == nil {
			continue // a live source's
		}
		if o.behind() || o.ended && open || f.parked(o) {
			return 0
		}
	}
	f.sessions.Forget(keys)
	for _, src := range sources {
		o := f.sources[src]
		if o == nil {
			continue
		}
		delete(f.sources, src)
		if f.files[o.file.ID] == o {
			delete(f.files, o.file.ID)
		}
		if in := o.input(); in != nil && in.origin == o {
			in.origin = nil
		}
	}
	for _, k := range keys {
		delete(f.stamps, k)
		f.ops = append(f.ops, f.diaries.drop(k)...)
		if s, _ := f.ledger.Session(k); !s.Closed {
			f.asleep[k] = s.Due
		}
	}
	return len(keys)
}

// parked reports whether something of the origin waits to be folded.
func (f *folder) parked(o *origin) bool {
	in := o.input()
	return in != nil && len(in.parked) > 0
}

// sweep forgets what is past the horizon.
func (f *folder) sweep(at int64) {
	if at-f.swept < int64(sweepEvery) || !f.e.caughtUp.Load() {
		return
	}
	f.swept = at
	if ops := f.ledger.Sweep(f.e.options.Batch.Now(), func(id ledger.FileID) bool { return f.files[id] != nil || f.e.inputOf(id) != nil }); len(ops) > 0 {
		f.pass(&parcel{ops: ops})
	}
}
