// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

// File is what is remembered of a followed file.
type File struct {
	Progress
	Format   translate.Format
	Agent    string
	Sessions []uint64 // keys of the sessions that it feeds or fed; see session.Key
	Seen     int64    // when it was last known to be there, Unix nanoseconds; kept by the ledger
}

// record is a File in memory. Its file is replaced, never changed in place.
type record struct {
	file    File
	claimed bool
	stored  bool // an operation that stores it was made
}

type inode struct{ device, inode uint64 }

// files are the files by their names. Their mutex is the only one that tailer goroutines meet.
type files struct {
	mu      sync.Mutex
	byID    map[FileID]*record
	byPath  map[string][]FileID
	byInode map[inode][]FileID
	last    FileID // the largest that was ever given, as far as is known
	// reserved is the largest of which v tells that it was given, so that an ID is not given again after the
	// file that had it was forgotten.
	reserved FileID
	started  bool // the receiver has started before
}

func newFiles() files {
	return files{byID: map[FileID]*record{}, byPath: map[string][]FileID{}, byInode: map[inode][]FileID{}}
}

// put makes file what is known of its ID.
func (f *files) put(file *File) *record {
	r := f.byID[file.ID]
	if r == nil {
		r = &record{file: *file}
		f.byID[file.ID] = r
		f.last = max(f.last, file.ID)
		f.index(&r.file.Progress)
		return r
	}
	moved := r.file.Path != file.Path || r.file.Device != file.Device || r.file.Inode != file.Inode
	if moved {
		f.unindex(&r.file.Progress)
	}
	r.file = *file
	if moved {
		f.index(&r.file.Progress)
	}
	return r
}

func (f *files) remove(id FileID) {
	if r := f.byID[id]; r != nil {
		f.unindex(&r.file.Progress)
		delete(f.byID, id)
	}
}

func (f *files) index(p *Progress) {
	f.byPath[p.Path] = append(f.byPath[p.Path], p.ID)
	if n := (inode{p.Device, p.Inode}); n != (inode{}) {
		f.byInode[n] = append(f.byInode[n], p.ID)
	}
}

func (f *files) unindex(p *Progress) {
	without(f.byPath, p.Path, p.ID)
	without(f.byInode, inode{p.Device, p.Inode}, p.ID)
}

func without[K comparable](lists map[K][]FileID, key K, id FileID) {
	list := slices.DeleteFunc(lists[key], func(other FileID) bool { return other == id })
	if len(list) == 0 {
		delete(lists, key)
		return
	}
	lists[key] = list
}

// find is the record that a file continues, nil if there is none. The name comes first: a file that was
// replaced under its name is found rewritten by its reader. Of several records with the name, that with the
// file's numbers is meant, else the youngest.
func (f *files) find(path string, n inode) *record {
	var found *record
	var numbers bool // found has those of the file
	for _, id := range f.byPath[path] {
		r := f.byID[id]
		same := n != inode{} && n == inode{r.file.Device, r.file.Inode}
		if !r.claimed && (found == nil || same && !numbers || same == numbers && found.file.ID < id) {
			found, numbers = r, same
		}
	}
	if found != nil || n == (inode{}) {
		return found
	}
	for _, id := range f.byInode[n] {
		// What another file has taken the name of is gone: its number was given to a new file.
		if r := f.byID[id]; !r.claimed && !f.taken(r.file.Path) && (found == nil || found.file.ID < id) {
			found = r
		}
	}
	return found
}

func (f *files) taken(path string) bool {
	return slices.ContainsFunc(f.byPath[path], func(id FileID) bool { return f.byID[id].claimed })
}

// Claim says that somebody follows the file from now on, and gives what is remembered of it, as it was
// recorded: its path and numbers may be older than those asked for. A file that is not known gets a new ID,
// and the path and numbers asked for. It is looked for by its path, else by its device and inode where they
// are not both 0, among those that nobody follows. What it finds is a guess: the caller compares the marks.
//
// Any goroutine may call it.
func (l *Ledger) Claim(path string, device, inodeNumber uint64) (p Progress, known bool) {
	f := &l.files
	f.mu.Lock()
	defer f.mu.Unlock()
	if r := f.find(path, inode{device, inodeNumber}); r != nil {
		r.claimed = true
		return r.file.Progress, true
	}
	p = Progress{ID: f.last + 1, Path: path, Device: device, Inode: inodeNumber}
	f.put(&File{Progress: p}).claimed = true
	return p, false
}

// Unclaim says that nobody follows the file any more. Any goroutine may call it.
func (l *Ledger) Unclaim(id FileID) {
	l.files.mu.Lock()
	defer l.files.mu.Unlock()
	r := l.files.byID[id]
	switch {
	case r == nil:
	case r.stored:
		r.claimed = false
	default:
		l.files.remove(id) // nothing came of it
	}
}

// Begin stores where the files of the first scan begin, and that the receiver has started: First is false
// from then on. It is one Batch. If it fails nothing has changed. Any goroutine may call it.
func (l *Ledger) Begin(ctx context.Context, starts []Progress) error {
	f := &l.files
	begun := make([]File, len(starts))
	f.mu.Lock()
	for i := range starts {
		if r := f.byID[starts[i].ID]; r != nil {
			begun[i] = r.file
		}
		begun[i].Progress, begun[i].Seen = starts[i], l.now.Load()
	}
	last := f.last
	f.mu.Unlock()
	ops := make([]Op, 0, len(begun)+1)
	for i := range begun {
		last = max(last, begun[i].ID)
		ops = append(ops, begun[i].op())
	}
	ops = append(ops, versionValue{start: l.start, started: true, last: last}.op())
	if err := l.store.Batch(ctx, ops...); err != nil {
		return fmt.Errorf("store where %d files begin: %w", len(starts), err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range begun {
		l.keep(f.put(&begun[i]))
	}
	f.started, f.reserved = true, max(f.reserved, last)
	return nil
}

// keep marks that a record is stored. The mutex of files is held.
func (l *Ledger) keep(r *record) {
	if !r.stored {
		r.stored = true
		l.size.Add(1)
	}
}

// File is what is known of a file; its Sessions must not be changed. Any goroutine may call it.
func (l *Ledger) File(id FileID) (File, bool) {
	l.files.mu.Lock()
	defer l.files.mu.Unlock()
	r := l.files.byID[id]
	if r == nil {
		return File{}, false
	}
	return r.file, true
}

func (f *File) op() Op { return Op{Key: fileKey(f.ID), Value: Seal(f.append(nil))} }

func (f *File) append(b []byte) []byte {
	b = append(b, flag(f.Over, 1))
	b = appendString(b, f.Path)
	b = binary.AppendUvarint(b, f.Device)
	b = binary.AppendUvarint(b, f.Inode)
	b = binary.AppendUvarint(b, uint64(f.Epoch))
	for _, v := range [...]int64{f.Pos, f.Start, f.ModTime, f.Began, f.Seen} {
		b = binary.AppendVarint(b, v)
	}
	b = f.Head.append(b)
	b = f.Frontier.append(b)
	b = appendString(b, string(f.Format))
	b = appendString(b, f.Agent)
	return appendFixeds(b, f.Sessions)
}

func decodeFile(id FileID, body []byte) (File, error) {
	r := reader{b: body}
	f := File{Progress: Progress{ID: id}}
	f.Over = r.flags(1) != 0
	f.Path = r.string()
	f.Device, f.Inode = r.uvarint(), r.uvarint()
	f.Epoch = uint32(r.limited(math.MaxUint32)) //nolint:gosec // limited
	for _, v := range [...]*int64{&f.Pos, &f.Start, &f.ModTime, &f.Began, &f.Seen} {
		*v = r.varint()
	}
	f.Head = readMark(&r)
	f.Frontier = readMark(&r)
	f.Format = translate.Format(r.string())
	f.Agent = r.string()
	f.Sessions = r.fixeds()
	if r.err == nil && (f.Pos < 0 || f.Start < 0) {
		r.fail(errRange)
	}
	return f, r.end()
}

func (m *Mark) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(m.N)) //nolint:gosec // a length
	if m.N == 0 {
		return b
	}
	return append(b, m.Sum[:]...)
}

func readMark(r *reader) (m Mark) {
	m.N = int(r.limited(math.MaxInt32)) //nolint:gosec // limited
	if m.N != 0 {
		copy(m.Sum[:], r.take(len(m.Sum)))
	}
	return m
}
