// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package tail

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
)

// Ledger remembers how far files were read: a *ledger.Ledger. Its methods are called from several
// goroutines, with locks held, and must not call the Tailer.
type Ledger interface {
	// First reports whether nothing was ever begun.
	First() bool
	// Claim gives what is known of a file that is to be followed, by its resolved path or else by its
	// numbers, unless another file has that claimed. What is not known gets a new ID. No file has the path "".
	Claim(path string, dev, ino uint64) (p ledger.Progress, known bool)
	// Unclaim says that a file is not followed any more.
	Unclaim(id ledger.FileID)
	// Begin stores where the files of the first scan begin, and that there was one.
	Begin(ctx context.Context, starts []ledger.Progress) error
}

// Forgetful is a Ledger that knows no file.
func Forgetful() Ledger { return &forgetful{} }

type forgetful struct {
	mu    sync.Mutex
	begun bool
	last  ledger.FileID
}

func (l *forgetful) First() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.begun
}

func (l *forgetful) Claim(path string, dev, ino uint64) (ledger.Progress, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	return ledger.Progress{ID: l.last, Path: path, Device: dev, Inode: ino}, false
}

func (*forgetful) Unclaim(ledger.FileID) {}

func (l *forgetful) Begin(context.Context, []ledger.Progress) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = true
	return nil
}

// arrival is a file that is followed from now on, and how it was found.
type arrival struct {
	*file
	finding
}

// parting is where a file was when it was let go of, as long as the ledger may not know that yet.
type parting struct {
	stream *stream
	at     ledger.Progress
}

// claim asks what is known of files. A file that has come to stand under the name of another one that is
// there under a new name waits for that one to claim what is its own.
func (t *Tailer) claim(fresh []arrival) {
	t.mu.Lock()
	for id, p := range t.parted {
		if p.stream.committed.Load() >= p.at.Pos {
			delete(t.parted, id)
		}
	}
	t.mu.Unlock()
	owners := make(map[identity]*file, len(fresh))
	for _, f := range fresh {
		owners[f.id] = f.file
	}
	resolve := t.resolver()
	var later []arrival
	for _, f := range fresh {
		path := resolve(f.path, f.link)
		p, known := t.recall(f.file, path)
		owner := owners[identity{device: p.Device, inode: p.Inode}]
		if known && owner != nil && owner != f.file && owner.number == 0 {
			t.cfg.Ledger.Unclaim(p.ID)
			later = append(later, f)
			continue
		}
		t.claimed(f.file, path, p, known)
	}
	for _, f := range later {
		path := resolve(f.path, f.link)
		p, known := t.recall(f.file, path)
		t.claimed(f.file, path, p, known)
	}
}

// recall claims a file. What is known by its numbers is rather its own than what another file under its name
// left: it was renamed over that.
func (t *Tailer) recall(f *file, path string) (ledger.Progress, bool) {
	l := t.cfg.Ledger
	p, known := l.Claim(path, f.id.device, f.id.inode)
	if !known || f.id.path != "" || p.Device == f.id.device && p.Inode == f.id.inode {
		return p, known
	}
	q, known := l.Claim("", f.id.device, f.id.inode)
	if known {
		l.Unclaim(p.ID)
		return q, true
	}
	l.Unclaim(q.ID)
	return p, true
}

// claimed takes over what is known of a file. It is not opened for that: whether it is still the same is
// asked when there is something to read of it.
func (t *Tailer) claimed(f *file, path string, p ledger.Progress, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at, ok := t.parted[p.ID]; ok && known {
		p = at.at
		delete(t.parted, p.ID)
	}
	f.number, f.known, f.last = p.ID, known, p
	f.last.Path, f.last.Device, f.last.Inode = path, f.id.device, f.id.inode
	f.resolvedOf = f.name
	t.numbers[p.ID] = f
	if !known {
		return
	}
	f.pos, f.scanned, f.over, f.epoch, f.start, f.began = p.Pos, p.Pos, p.Over, p.Epoch, p.Start, p.Began
	f.head, f.frontier = mark(p.Head), mark(p.Frontier)
	f.recheck = f.size != p.Pos || f.modTime.UnixNano() != p.ModTime ||
		f.id.device != p.Device || f.id.inode != p.Inode
}

// resolver resolves names, each directory once.
func (t *Tailer) resolver() func(path string, link bool) string {
	dirs := map[string]string{}
	return func(path string, link bool) string {
		if link {
			return t.resolved(path)
		}
		dir := filepath.Dir(path)
		target, ok := dirs[dir]
		if !ok {
			target = t.resolved(dir)
			dirs[dir] = target
		}
		return filepath.Join(target, filepath.Base(path))
	}
}

func (t *Tailer) resolved(path string) string {
	if target, err := t.sys.resolve(path); err == nil {
		return target
	}
	return path
}

// progress is how far a file is read.
func (t *Tailer) progress(f *file, modTime int64) ledger.Progress {
	return ledger.Progress{
		ID: f.number, Path: t.pathOf(f), Device: f.id.device, Inode: f.id.inode, Epoch: f.epoch,
		Pos: f.pos, Start: f.start, Over: f.over, Head: ledger.Mark(f.head), Frontier: ledger.Mark(f.frontier),
		ModTime: modTime, Began: f.began,
	}
}

// pathOf is the resolved name of a file.
func (t *Tailer) pathOf(f *file) string {
	if name := t.nameOf(f); name != f.resolvedOf {
		f.resolvedOf, f.last.Path = name, t.resolved(name)
	}
	return f.last.Path
}
