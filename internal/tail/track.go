// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package tail

import (
	"cmp"
	"context"
	"io/fs"
	"slices"
	"time"

	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
	"github.com/otelcol-agents/otelcol-agents/internal/lineage"
)

// finding is a name that leads to a regular file.
type finding struct {
	path string
	info fs.FileInfo
	link bool // see candidate
}

// scan looks for new names, and returns how long that took. With atEnd, what unknown files hold is left
// out; where they begin is returned.
func (t *Tailer) scan(ctx context.Context, atEnd bool) (took time.Duration, starts []ledger.Progress) {
	now := t.sys.now()
	t.mu.Lock()
	t.begun++
	scan, all := t.begun, t.astray
	t.astray = false
	t.mu.Unlock()
	found := t.find(t.walker.candidates(now), all)
	took = t.sys.now().Sub(now)

	t.mu.Lock()
	var fresh []arrival
	for _, x := range found {
		if f := t.follow(x, now); f != nil {
			fresh = append(fresh, arrival{f, x})
		}
	}
	t.mu.Unlock()
	t.claim(fresh)
	r := &reader{t: t}
	for _, f := range fresh {
		switch {
		case ctx.Err() != nil || f.known:
		case atEnd:
			starts = append(starts, r.skip(f.file))
		case f.size > 0:
			f.began = t.beginning(f.name)
		}
	}
	slices.SortFunc(fresh, func(a, b arrival) int {
		return lineage.Compare(moment(a.began), moment(b.began), a.name, b.name)
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range fresh {
		f.state = idle
		if f.recheck || f.size > max(f.pos, f.scanned) {
			t.enqueue(f.file)
		} else {
			f.next = now.Add(interval(t.cfg.PollInterval, now, f.changed))
		}
	}
	t.finished = scan
	return took, starts
}

// find looks at the names that are not known, or that may have come to lead elsewhere, or at all.
func (t *Tailer) find(names []candidate, all bool) (found []finding) {
	if !all {
		t.mu.Lock()
		names = slices.DeleteFunc(names, func(c candidate) bool { return !c.link && t.byPath[c.path] != nil })
		t.mu.Unlock()
	}
	warned := make(map[string]bool)
	for _, c := range names {
		info, err := t.sys.stat(c.path)
		switch {
		case absent(err) || err == nil && info.IsDir():
		case err == nil && info.Mode().IsRegular():
			found = append(found, finding{c.path, info, c.link})
		default:
			warned[c.path] = true
			switch {
			case t.warned[c.path]:
			case err != nil:
				t.report.Unreadable(c.path, err)
			default:
				t.report.NotRegular(c.path, info.Mode())
			}
		}
	}
	t.warned = warned
	return found
}

// follow gives a name to its file, which it returns if it is new; its state is running, so that nobody
// else touches it yet.
func (t *Tailer) follow(x finding, now time.Time) *file {
	id := identify(x.path, x.info)
	if f := t.byPath[x.path]; f != nil {
		if f.id == id {
			return nil
		}
		t.unname(f, x.path)
		f.next = now
	}
	f := t.files[id]
	if f != nil {
		// Renamed, linked, or another file that was given the number of one that is gone.
		f.paths = append(f.paths, x.path)
		f.name, f.lost, f.recheck, f.next = f.paths[0], 0, true, now
		t.byPath[x.path] = f
		return nil
	}
	f = &file{id: id, paths: []string{x.path}, name: x.path, state: running}
	f.see(x.info, now)
	if at := f.modTime; at.Before(now) {
		f.changed = at
	}
	t.files[id], t.byPath[x.path] = f, f
	t.order = append(t.order, f)
	return f
}

// unname takes a name off a file.
func (t *Tailer) unname(f *file, path string) {
	delete(t.byPath, path)
	f.unnamed(path)
	if len(f.paths) == 0 {
		f.lost, t.astray = t.begun, true
	}
}

// check looks at the files that are due.
func (t *Tailer) check() {
	now := t.sys.now()
	// A file that was read a moment after the last check is due at this one, not at the next.
	soon := now.Add(t.cfg.PollInterval / 2)
	t.mu.Lock()
	var due []*file
	for _, f := range t.order {
		if f.state == idle && !f.next.After(soon) {
			due = append(due, f)
		}
	}
	t.mu.Unlock()
	for _, f := range due {
		for t.look(f, now) {
		}
	}
}

// look asks the file system whether a file has changed. It reports true if the name that it asked for is
// not the file's any more, but there is another one.
func (t *Tailer) look(f *file, now time.Time) (again bool) {
	t.mu.Lock()
	path := ""
	if len(f.paths) > 0 {
		path = f.paths[0]
	}
	t.mu.Unlock()
	var info fs.FileInfo
	var err error
	if path != "" {
		info, err = t.sys.stat(path)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case path != "" && (absent(err) || err == nil && identify(path, info) != f.id):
		t.unname(f, path)
		return len(f.paths) > 0
	case err != nil:
		f.next = now.Add(max(t.cfg.PollInterval, warmEvery))
		return false
	case path == "" && t.finished <= f.lost:
		return false // a scan that began later may still find its new name
	case path == "":
		// Moved out of sight it is followed while it is open. That it is deleted, or closed, is the end.
		if f.handle != nil {
			info, err = f.handle.Stat()
		}
		if f.handle == nil || err != nil || !named(info) {
			f.gone = true
			t.enqueue(f)
			return false
		}
	}
	changed := f.see(info, now)
	if changed {
		f.tried = false
	}
	age := now.Sub(f.changed)
	f.try = f.partial() && !f.tried && age >= tailAge
	if changed || f.recheck || f.try {
		t.enqueue(f)
		return false
	}
	if age >= hotFor {
		t.close(f)
	}
	f.next = now.Add(interval(t.cfg.PollInterval, now, f.changed))
	return false
}

// enqueue gives a file a place in the queue.
func (t *Tailer) enqueue(f *file) {
	f.state = queued
	if f.size > max(f.pos, f.scanned) {
		t.beginLocked(f, f.pos)
	}
	t.queue = append(t.queue, f)
	t.wake.Signal()
}

// serve gives the first file of the queue a turn. It reports whether there was one.
func (t *Tailer) serve(r *reader) bool {
	now := t.sys.now()
	t.mu.Lock()
	if len(t.queue) == 0 {
		t.mu.Unlock()
		return false
	}
	f := t.queue[0]
	t.queue = t.queue[1:]
	f.state = running
	t.turns++
	f.used = t.turns
	try, gone := f.try, f.gone
	f.try, f.recheck = false, false
	t.mu.Unlock()

	var more bool
	var err error
	r.info = nil
	if f.handle != nil || !gone {
		more, err = r.turn(t.running, f, try)
	}
	if gone && !more {
		t.finish(r, f)
		return true
	}
	if err != nil && t.running.Err() == nil && !f.failing && !absent(err) && !isMoved(err) {
		f.failing = true
		t.report.Unreadable(t.nameOf(f), err)
	}
	if t.settle(r, f, more, err, now) {
		t.caughtUp()
	}
	return true
}

// settle notes what came of a turn, and reports whether it was the last one that CaughtUp waits for.
func (t *Tailer) settle(r *reader, f *file, more bool, err error, now time.Time) (caughtUp bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil || !more || max(f.pos, f.scanned) >= f.goal {
		caughtUp = t.reached(f)
	}
	f.state, f.next = idle, now.Add(t.cfg.PollInterval)
	if r.info != nil {
		f.see(r.info, now)
	}
	switch {
	case err != nil:
		f.recheck = true
		t.close(f)
		if f.failing {
			f.next = now.Add(max(t.cfg.PollInterval, warmEvery))
		}
	case more:
		f.failing = false
		t.enqueue(f)
	default:
		f.failing = false
		// Another write within the same tick of the file system's clock would not be seen.
		f.recheck = f.recheck || now.Sub(f.modTime).Abs() < racy
		if f.stream != nil {
			f.stream.Unread(false)
		}
	}
	return caughtUp
}

// reached says that a file was read as far as it has to be for CaughtUp, and reports whether it was the
// last one. mu is held.
func (t *Tailer) reached(f *file) (last bool) {
	if !f.awaited || t.running.Err() != nil {
		return false
	}
	f.awaited = false
	t.awaited--
	return t.awaited == 0
}

// finish lets go of a file that has no name any more, unless it was given one meanwhile.
func (t *Tailer) finish(r *reader, f *file) {
	if t.leave(r, f) {
		t.caughtUp()
	}
}

func (t *Tailer) leave(r *reader, f *file) (caughtUp bool) {
	t.mu.Lock()
	s, named := f.stream, len(f.paths) > 0
	t.mu.Unlock()
	if !named {
		// Before its number may be claimed again, so that nothing of this input comes after that.
		_ = r.end(t.running, f) // fails at shutdown only
		f.scanned = f.pos
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f.gone = false
	if len(f.paths) > 0 {
		f.state, f.recheck = idle, true
		return false
	}
	delete(t.files, f.id)
	delete(t.numbers, f.number)
	t.order = slices.DeleteFunc(t.order, func(x *file) bool { return x == f })
	t.close(f)
	if s != nil && s.committed.Load() < f.pos {
		t.parted[f.number] = parting{s, f.last}
	}
	t.cfg.Ledger.Unclaim(f.number)
	return t.reached(f)
}

// opened gives what the file's descriptor says, opening the file if need be.
func (t *Tailer) opened(f *file) (fs.FileInfo, error) {
	if f.handle == nil {
		t.mu.Lock()
		path := f.name
		if len(f.paths) == 0 {
			t.mu.Unlock()
			return nil, fs.ErrNotExist
		}
		t.makeRoom()
		t.open[f] = struct{}{}
		t.mu.Unlock()
		handle, err := t.sys.open(path)
		if err != nil {
			t.shut(f)
			return nil, err
		}
		t.mu.Lock()
		f.handle = handle
		t.mu.Unlock()
		if info, err := handle.Stat(); err != nil || !info.Mode().IsRegular() || identify(path, info) != f.id {
			t.shut(f)
			return nil, cmp.Or(err, errMoved)
		}
	}
	return f.handle.Stat()
}

// makeRoom closes the descriptor that was not used for the longest time, if there are too many.
func (t *Tailer) makeRoom() {
	for len(t.open) >= t.cfg.MaxOpen {
		var oldest *file
		for f := range t.open {
			if f.state != running && (oldest == nil || f.used < oldest.used) {
				oldest = f
			}
		}
		if oldest == nil {
			return
		}
		t.close(oldest)
	}
}

func (t *Tailer) shut(f *file) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.close(f)
}

// close closes a file's descriptor, if it has one. mu is held.
func (t *Tailer) close(f *file) {
	delete(t.open, f)
	if f.handle != nil {
		_ = f.handle.Close() // nothing was written
		f.handle = nil
	}
}

func (t *Tailer) nameOf(f *file) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return f.name
}

// begin gives a file that has something to read an input, of which nothing before a position is expected.
func (t *Tailer) begin(f *file, from int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.beginLocked(f, from)
}

func (t *Tailer) beginLocked(f *file, from int64) {
	if f.stream == nil {
		f.stream = &stream{Input: t.input(f.number, f.epoch)}
		f.stream.committed.Store(from)
	}
	f.stream.Unread(true)
}

// detach takes a file's input off it.
func (t *Tailer) detach(f *file) *stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := f.stream
	f.stream = nil
	return s
}
