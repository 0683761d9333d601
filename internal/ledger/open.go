// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

// Ledger is what is known of files and sessions, and where it is stored. Its methods belong to the goroutine
// that folds, but for those that say otherwise.
type Ledger struct {
	store   Store
	start   int64
	now     atomic.Int64 // what Open or Sweep was told, Unix nanoseconds
	damaged atomic.Int64
	size    atomic.Int64
	files   files
	overlay overlay

	// Of the goroutine that folds.
	heads   map[uint64]*head
	bare    []uint64 // closed sessions that no file names, the one that was closed first in front
	agents  map[string]string
	tails   tails
	chunks  chunks
	doomed  []string // keys to delete, never to be used again
	pass    pass
	lost    map[uint64]bool // sessions of which nothing could be read at Open
	saved   map[string][]byte
	journal []Journaled
}

// First reports whether the receiver has never started on this store: Begin was never done. Any goroutine may
// call it.
func (l *Ledger) First() bool {
	l.files.mu.Lock()
	defer l.files.mu.Unlock()
	return !l.files.started
}

// Start is when counting began on this store, in Unix nanoseconds.
func (l *Ledger) Start() int64 { return l.start }

// Damaged is how many values could not be read so far. Any goroutine may call it.
func (l *Ledger) Damaged() int { return int(l.damaged.Load()) }

// Spoil counts a value that another package could not read in Damaged. Any goroutine may call it.
func (l *Ledger) Spoil() { l.damaged.Add(1) }

// Size is the number of entries, files and sessions that are known. Any goroutine may call it.
func (l *Ledger) Size() int64 { return l.size.Load() }

// Entries gives the entries as they were at Open, the oldest first. It gives each once and does not keep it. Of a
// session of which nothing else could be read it does not tell what it owns: its files are read as if they were
// new, and would be taken for copies of it. What was used is told: it was counted.
func (l *Ledger) Entries() iter.Seq[session.Entry] {
	return func(yield func(session.Entry) bool) {
		for entry := range l.chunks.unread {
			if entry.Kind == session.EntryOwner && l.lost[entry.Session] {
				continue
			}
			if !yield(entry) {
				return
			}
		}
	}
}

func (l *Ledger) today() int64 { return l.now.Load() / int64(day) }

// Open reads a store and makes it what it must be. A value that cannot be read is counted and deleted, and
// what it told is forgotten with what depends on it: a file is read from its beginning, as are those that feed
// a session of which nothing can be read. Errors are those of the store.
func Open(ctx context.Context, store Store, now time.Time) (*Ledger, error) {
	l := &Ledger{
		store:   store,
		files:   newFiles(),
		overlay: overlay{values: map[string][]byte{}},
		heads:   map[uint64]*head{},
		agents:  map[string]string{},
		saved:   map[string][]byte{},
	}
	l.now.Store(now.UnixNano())
	o := opening{ledger: l, left: map[uint64]int{}, lost: map[uint64]bool{}, again: map[FileID]bool{}}
	if err := store.Walk(ctx, o.visit); err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	if err := o.finish(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

// opening is a ledger that is being read.
type opening struct {
	ledger  *Ledger
	version *versionValue
	left    map[uint64]int  // sessions that have chunks of what left, and how many
	lost    map[uint64]bool // sessions whose state cannot be read
	delete  []string
	again   map[FileID]bool // files that are read from their beginning
	// recount says that a total is not known any more: then none is, and counting begins anew.
	recount bool
}

// visit takes a key and its value. The order of the keys does not matter.
func (o *opening) visit(key string, value []byte) error {
	if !o.take(key, value) {
		o.ledger.damaged.Add(1)
		o.delete = append(o.delete, strings.Clone(key))
	}
	return nil
}

// take reports whether the value could be read, or need not be.
func (o *opening) take(key string, value []byte) bool {
	if len(key) < 2 || key[1] != '/' {
		return key != keyVersion || o.takeVersion(value)
	}
	prefix, digits := key[:2], key[2:]
	switch prefix {
	case prefixFile:
		id, ok := hexNumber(digits, wideDigits)
		return ok && o.takeFile(FileID(id), value)
	case prefixState:
		session, ok := hexNumber(digits, wideDigits)
		return ok && o.takeState(session, value)
	case prefixLeft:
		session, n, ok := hexNumbers(digits, narrowDigits)
		if !ok || n >= maxLeftChunks {
			return false
		}
		o.left[session] = max(o.left[session], int(n)+1) //nolint:gosec // below maxLeftChunks
	case prefixEntry:
		n, ok := hexNumber(digits, wideDigits)
		return ok && o.takeEntries(n, value)
	case PrefixTotal, PrefixJournal:
		return o.takeSaved(key, value)
	}
	return true // of somebody else
}

func (o *opening) takeVersion(value []byte) bool {
	v, err := unsealVersion(value)
	if err != nil {
		return false
	}
	o.version = &v
	return true
}

func (o *opening) takeFile(id FileID, value []byte) bool {
	f := &o.ledger.files
	f.last = max(f.last, id) // also if it cannot be read
	body, err := Unseal(value)
	if err != nil {
		return false
	}
	file, err := decodeFile(id, body)
	if err != nil || id == 0 {
		return false
	}
	o.ledger.keep(f.put(&file))
	o.ledger.link(id, nil, file.Sessions)
	return true
}

func (o *opening) takeState(key uint64, value []byte) bool {
	state, touched, err := unsealState(value)
	if err != nil {
		o.lost[key] = true
		return false
	}
	o.ledger.know(key, &state, touched)
	return true
}

func (o *opening) takeEntries(n uint64, value []byte) bool {
	c := &o.ledger.chunks
	c.next = max(c.next, n+1)
	body, err := Unseal(value)
	return err == nil && c.read(n, bytes.Clone(body)) == nil
}

func (o *opening) takeSaved(key string, value []byte) bool {
	body, err := Unseal(value)
	if err != nil {
		o.recount = o.recount || strings.HasPrefix(key, PrefixTotal)
		return false
	}
	body = bytes.Clone(body)
	if digits, ok := strings.CutPrefix(key, PrefixJournal); ok {
		source, seq, ok := hexNumbers(digits, wideDigits)
		if !ok {
			return false
		}
		o.ledger.journal = append(o.ledger.journal, Journaled{Source: source, Seq: seq, Value: body})
		return true
	}
	o.ledger.saved[strings.Clone(key)] = body
	return true
}

// finish puts together what was read one by one.
func (o *opening) finish(ctx context.Context) error {
	l := o.ledger
	l.lost = o.lost
	for key := range o.lost {
		o.lose(key)
	}
	if o.recount || o.version == nil {
		o.forgetTotals()
	}
	for key, chunks := range o.left {
		if h := l.heads[key]; h != nil && h.known {
			h.chunks = chunks
			continue
		}
		for n := range chunks {
			o.delete = append(o.delete, leftKey(key, n))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(l.heads)) {
		l.retire(key)
	}
	today := l.today()
	l.chunks.sort()
	l.doomed = l.chunks.expire(today)
	l.chunks.resume(today)
	l.size.Add(int64(l.chunks.total))
	return o.write(ctx)
}

// forgetTotals has counting begin anew: a series that goes on from nothing, or from something at another time, would
// seem to fall, or be counted twice.
func (o *opening) forgetTotals() {
	for key := range o.ledger.saved {
		if strings.HasPrefix(key, PrefixTotal) {
			delete(o.ledger.saved, key)
			o.delete = append(o.delete, key)
		}
	}
	if v := o.version; v != nil {
		v.start = o.ledger.now.Load()
	}
}

// lose has the files of a session whose state is not known read again. They stay what they are otherwise: what
// was there before the receiver still is not to be sent, and their other sessions are still fed by them.
func (o *opening) lose(key uint64) {
	h := o.ledger.heads[key]
	if h == nil {
		return
	}
	for _, id := range h.Files {
		f := &o.ledger.files.byID[id].file
		f.Pos, f.Over, f.Head, f.Frontier, f.ModTime = 0, false, Mark{}, Mark{}, 0
		o.again[id] = true
	}
}

// write does what must be done before anybody else writes: it deletes what cannot be read, so that no later
// value of those keys is meant, and says when counting began.
func (o *opening) write(ctx context.Context) error {
	l := o.ledger
	f := &l.files
	slices.Sort(o.delete)
	ops := make([]Op, 0, len(o.delete)+len(o.again)+1)
	for _, key := range o.delete {
		ops = append(ops, Op{Key: key})
	}
	for _, id := range slices.Sorted(maps.Keys(o.again)) {
		ops = append(ops, f.byID[id].file.op())
	}
	if v := o.version; v != nil {
		l.start, f.started, f.reserved = v.start, v.started, v.last
		f.last = max(f.last, v.last)
		if len(ops) == 0 {
			return nil
		}
		if f.reserved < f.last || o.recount {
			f.reserved = f.last
			ops = append(ops, versionValue{start: l.start, started: f.started, last: f.last}.op())
		}
		// A full disk must not keep the receiver from starting. What is left is not in the way: the next Open
		// finds it again, or what was folded since.
		_ = l.store.Batch(ctx, ops...)
		return nil
	}
	// Files are stored by a receiver that has started.
	l.start, f.started, f.reserved = l.now.Load(), f.last > 0, f.last
	ops = append(ops, versionValue{start: l.start, started: f.started, last: f.last}.op())
	if err := l.store.Batch(ctx, lastOfEach(ops)...); err != nil {
		return fmt.Errorf("begin the ledger: %w", err)
	}
	return nil
}

// versionValue is the value of v.
type versionValue struct {
	start   int64
	started bool
	last    FileID // the largest that was given
}

func (v versionValue) op() Op {
	b := []byte{flag(v.started, 1)}
	b = binary.AppendVarint(b, v.start)
	b = binary.AppendUvarint(b, uint64(v.last))
	return Op{Key: keyVersion, Value: Seal(b)}
}

func unsealVersion(value []byte) (versionValue, error) {
	body, err := Unseal(value)
	if err != nil {
		return versionValue{}, err
	}
	r := reader{b: body}
	v := versionValue{started: r.flags(1) != 0, start: r.varint(), last: FileID(r.uvarint())}
	if err := r.end(); err != nil {
		return versionValue{}, err
	}
	return v, nil
}
