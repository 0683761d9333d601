// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"maps"
	"slices"
	"time"
)

// sweepKeys is how much a Sweep looks at and deletes, about.
const sweepKeys = 1000

// pass is what is still to be looked at before a Sweep begins anew.
type pass struct {
	files    []FileID
	sessions []uint64
}

// Sweep gives operations that delete what nobody will ask for: entries past the horizon, files that were not
// seen for as long and are not tracked, sessions that are closed, untouched for as long and in no file that
// is left. They are committed like those of Fold. It also tells the ledger the time. It looks at a bounded
// number of things and goes on where it stopped, so it is to be called regularly, about once a minute.
//
// tracked reports whether a file is there, followed or not; a file that is claimed always is. nil = none is.
func (l *Ledger) Sweep(now time.Time, tracked func(FileID) bool) []Op {
	l.now.Store(now.UnixNano())
	before := l.chunks.total
	l.doomed = append(l.doomed, l.chunks.expire(l.today())...)
	l.size.Add(int64(l.chunks.total - before))
	var ops []Op
	budget := sweepKeys
	for ; budget > 0 && len(l.doomed) > 0; budget-- {
		ops = append(ops, Op{Key: l.doomed[0]})
		l.doomed = l.doomed[1:]
	}
	if len(l.pass.files) == 0 && len(l.pass.sessions) == 0 {
		l.pass = l.newPass()
	}
	for ; budget > 0 && len(l.pass.files) > 0; budget-- {
		ops = l.sweepFile(ops, l.pass.files[0], tracked)
		l.pass.files = l.pass.files[1:]
	}
	for ; budget > 0 && len(l.pass.sessions) > 0; budget-- {
		was := len(ops)
		ops = l.sweepSession(ops, l.pass.sessions[0])
		l.pass.sessions = l.pass.sessions[1:]
		budget -= len(ops) - was
	}
	return ops
}

// newPass lists everything. Sessions come after the files that name them.
func (l *Ledger) newPass() pass {
	l.files.mu.Lock()
	defer l.files.mu.Unlock()
	return pass{files: slices.Sorted(maps.Keys(l.files.byID)), sessions: slices.Sorted(maps.Keys(l.heads))}
}

func (l *Ledger) sweepFile(ops []Op, id FileID, tracked func(FileID) bool) []Op {
	there := tracked != nil && tracked(id) // without the mutex: it may have its own
	f := &l.files
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.byID[id]
	if r == nil || !r.stored {
		return ops
	}
	now := l.now.Load()
	unseen := time.Duration(now - r.file.Seen)
	switch {
	case there || r.claimed:
		if unseen >= day {
			r.file.Seen = now
			ops = append(ops, r.file.op())
		}
		return ops
	case unseen <= Horizon:
		return ops
	}
	l.link(id, r.file.Sessions, nil)
	f.remove(id)
	l.size.Add(-1)
	ops = append(ops, Op{Key: fileKey(id)})
	// If nothing has begun, Begin is still to write v, perhaps at this moment.
	if f.started && f.reserved < f.last {
		f.reserved = f.last
		ops = append(ops, versionValue{start: l.start, started: true, last: f.last}.op())
	}
	return ops
}

func (l *Ledger) sweepSession(ops []Op, key uint64) []Op {
	h := l.heads[key]
	if !h.over() || time.Duration(l.now.Load()-h.touched) <= Horizon {
		return ops
	}
	return l.removeSession(ops, key, h)
}

// over reports whether a session is closed and no file names it, so that it may be forgotten.
func (h *head) over() bool { return h != nil && h.known && h.Closed && len(h.Files) == 0 }

// MaxBare bounds the closed sessions that are remembered although no file names them: those that came over
// connections and requests, of which anybody can make many.
const MaxBare = 1 << 14

// retire puts a session in the line of those that are forgotten when there are too many.
func (l *Ledger) retire(key uint64) {
	if h := l.heads[key]; h.over() && !h.retired {
		h.retired = true
		l.bare = append(l.bare, key)
	}
}

// bound forgets the closed sessions that are too many.
func (l *Ledger) bound(ops []Op) []Op {
	for len(l.bare) > MaxBare {
		key := l.bare[0]
		l.bare = l.bare[1:]
		h := l.heads[key]
		if h == nil {
			continue
		}
		h.retired = false
		if h.over() {
			ops = l.removeSession(ops, key, h)
		}
	}
	return ops
}

func (l *Ledger) removeSession(ops []Op, key uint64, h *head) []Op {
	ops = append(ops, Op{Key: stateKey(key)})
	l.overlay.forget(stateKey(key))
	for n := range h.chunks {
		ops = append(ops, Op{Key: leftKey(key, n)})
		l.overlay.forget(leftKey(key, n))
	}
	l.tails.drop(key)
	delete(l.heads, key)
	l.size.Add(-1)
	return ops
}
