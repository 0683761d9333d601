// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

// Fold makes operations of what a turn of the fold brought, and moves what is known in memory at once. They
// take effect with a Commit: in the order in which they were made, and after everything that was emitted
// with them was taken. Their values must not be changed or copied.
//
// A file replaces what is known of its ID, but for Seen, which the ledger keeps.
func (l *Ledger) Fold(changes []session.Change, entries []session.Entry, files ...File) []Op {
	var ops []Op
	for i := range changes {
		ops = l.foldChange(ops, &changes[i])
	}
	l.overlay.hold(ops)
	if len(entries) > 0 {
		before := l.chunks.total
		ops = l.chunks.add(ops, entries, l.today())
		if l.chunks.total > MaxEntries {
			for _, key := range l.chunks.expire(l.today()) {
				ops = append(ops, Op{Key: key})
			}
		}
		l.size.Add(int64(l.chunks.total - before))
	}
	for i := range files {
		ops = append(ops, l.foldFile(&files[i]))
	}
	for i := range changes {
		l.retire(changes[i].Key)
	}
	return l.bound(ops)
}

func (l *Ledger) foldFile(file *File) Op {
	f := &l.files
	f.mu.Lock()
	defer f.mu.Unlock()
	next := *file
	next.Seen = l.now.Load()
	var before []uint64
	if r := f.byID[next.ID]; r != nil {
		before = r.file.Sessions
	}
	if slices.Equal(before, next.Sessions) {
		next.Sessions = before
	} else {
		next.Sessions = slices.Clone(next.Sessions)
		l.link(next.ID, before, next.Sessions)
	}
	l.keep(f.put(&next))
	return next.op()
}

// link tells the sessions of a file about it.
func (l *Ledger) link(id FileID, before, after []uint64) {
	for _, key := range before {
		if !slices.Contains(after, key) {
			l.unlink(id, key)
		}
	}
	for _, key := range after {
		h := l.head(key)
		// A copy: what Session gave stays as it was.
		if at, found := slices.BinarySearch(h.Files, id); !found {
			h.Files = slices.Insert(slices.Clone(h.Files), at, id)
		}
	}
}

func (l *Ledger) unlink(id FileID, key uint64) {
	h := l.heads[key]
	if h == nil {
		return
	}
	if at, found := slices.BinarySearch(h.Files, id); found {
		h.Files = slices.Delete(slices.Clone(h.Files), at, at+1)
		if len(h.Files) == 0 {
			h.Files = nil
		}
	}
	if !h.known && len(h.Files) == 0 {
		delete(l.heads, key)
	}
}

// Commit stores what operations say, those of Fold, Sweep and of others: in one Batch, the last of each key.
// If it fails nothing has changed, and the same may be committed again, also together with what came later.
//
// The goroutine that delivers calls it while the fold goes on.
func (l *Ledger) Commit(ctx context.Context, ops []Op) error {
	if len(ops) == 0 {
		return nil
	}
	last := lastOfEach(ops)
	if err := l.store.Batch(ctx, last...); err != nil {
		return fmt.Errorf("commit %d keys to the ledger: %w", len(last), err)
	}
	l.overlay.release(last)
	return nil
}

func lastOfEach(ops []Op) []Op {
	at := make(map[string]int, len(ops))
	for i := range ops {
		at[ops[i].Key] = i
	}
	if len(at) == len(ops) {
		return ops
	}
	last := make([]Op, 0, len(at))
	for i := range ops {
		if at[ops[i].Key] == i {
			last = append(last, ops[i])
		}
	}
	return last
}

// overlay are the values of sessions that were folded and are not committed: what is to be known of a
// session is here, else in the store. The fold goroutine adds, the one that commits takes away.
type overlay struct {
	mu     sync.Mutex
	values map[string][]byte
}

func (o *overlay) hold(ops []Op) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range ops {
		o.values[ops[i].Key] = ops[i].Value
	}
}

// release forgets the values that are in the store now, but not those that were folded since.
func (o *overlay) release(ops []Op) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range ops {
		if held, ok := o.values[ops[i].Key]; ok && sameMemory(held, ops[i].Value) {
			delete(o.values, ops[i].Key)
		}
	}
}

func (o *overlay) forget(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.values, key)
}

func (o *overlay) get(key string) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.values[key]
}

// sameMemory tells a value from one that only looks like it: a session may become again what it was.
func sameMemory(x, y []byte) bool { return len(x) > 0 && len(y) > 0 && &x[0] == &y[0] }

// get is the newest value of a key of a session. A value leaves the overlay only after the store has it, so
// the overlay is asked first.
func (l *Ledger) get(ctx context.Context, key string) ([]byte, error) {
	if value := l.overlay.get(key); value != nil {
		return value, nil
	}
	return l.store.Get(ctx, key)
}
