// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package tail

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"time"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/internal/engine"
)

const (
	turnBytes = batch.Bytes
	// largeLine is the size from which only one reader at a time may hold a line.
	largeLine = 1 << 20
	// racy is how young a file's modification time may be without another write fitting into the same
	// tick of the file system's clock.
	racy          = 50 * time.Millisecond
	byteOrderMark = "\xef\xbb\xbf"
)

var errMoved = errors.New("the name leads to another file")

// reader gives files their turns, one after the other.
type reader struct {
	t      *Tailer
	window window
	head   [guardBytes]byte
	before [guardBytes]byte // what stands before the position of the file
	known  int              // length of it
	top    [guardBytes]byte // the first bytes of the file, as they were read
	topped int              // length of it
	large  bool             // this reader holds the permission for a large line
	info   fs.FileInfo      // the file as it was when the turn began; nil if that is not known
}

// turn reads a file up to turnBytes, at least one line, and hands over what it found. It reports whether
// there is more. An error other than that of ctx is the file's.
func (r *reader) turn(ctx context.Context, f *file, try bool) (more bool, err error) {
	info, err := r.t.opened(f)
	if r.info = info; err != nil {
		return false, err
	}
	defer r.small()
	b := batch.New()
	defer func() {
		if b != nil {
			b.Release()
		}
	}()
	from := f.pos
	r.topped = 0
	switch same, err := r.same(f, info.Size()); {
	case err != nil:
		return false, err
	case !same:
		r.t.report.GuardMismatch(r.t.nameOf(f))
		if err := r.restart(ctx, f); err != nil {
			return false, err
		}
		from = 0
		if err := r.window.seek(f.handle, 0); err != nil {
			return false, err
		}
	}
	r.keep()
	r.introduce(f, b)
	introduction := b.Len()
	if try && f.partial() && info.Size() == f.scanned {
		err = r.tail(ctx, f, b)
	} else {
		more, err = r.lines(ctx, f, b)
	}
	f.frontier = markOf(r.before[:r.known])
	if n := int(min(f.pos, guardBytes)); f.head.N < n && n <= r.topped {
		f.head = markOf(r.top[:n])
	} else if err == nil && f.head.N < n {
		err = r.mark(f, n)
	}
	if b.Oversize > 0 && !f.warned {
		f.warned = true
		r.t.report.Oversize(r.t.nameOf(f))
	}
	b.Size = f.pos - from
	if b.Len() == introduction {
		b.Clear()
	}
	if !b.Empty() {
		sent := b
		b = nil
		if e := r.send(ctx, f, sent, from); e != nil {
			return false, e
		}
	}
	return more, err
}

// same compares the file with what is known of it, and goes to its position.
func (r *reader) same(f *file, size int64) (bool, error) {
	if size < f.pos {
		return false, nil
	}
	switch err := r.window.seek(f.handle, f.pos); {
	case errors.Is(err, errShort):
		return false, nil
	case err != nil:
		return false, err
	case !f.frontier.holds(r.window.before()):
		return false, nil
	}
	n, err := f.handle.ReadAt(r.head[:f.head.N], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	if !f.head.holds(r.head[:n]) {
		return false, nil
	}
	if size < f.scanned {
		f.scanned = f.pos // the beginning of a line was taken back
	}
	return true, nil
}

// mark remembers the first n bytes.
func (r *reader) mark(f *file, n int) error {
	got, err := f.handle.ReadAt(r.head[:n], 0)
	if got == n {
		f.head = markOf(r.head[:n])
		return nil
	}
	if errors.Is(err, io.EOF) {
		return nil // cut meanwhile; the next turn will see
	}
	return err
}

// restart begins the file anew, as another input.
func (r *reader) restart(ctx context.Context, f *file) error {
	if err := r.end(ctx, f); err != nil {
		return err
	}
	f.pos, f.scanned, f.over, f.tried = 0, 0, false, false
	f.head, f.frontier, f.edge = mark{}, mark{}, mark{}
	f.epoch, f.start, f.began = f.epoch+1, 0, 0
	f.last = r.t.progress(f, f.last.ModTime)
	r.t.begin(f, 0)
	return nil
}

// end ends the file's input. A line that it has begun is torn.
func (r *reader) end(ctx context.Context, f *file) error {
	var torn error
	if f.partial() {
		r.t.begin(f, f.pos)
		b := batch.New()
		b.Torn = 1
		b.Progress = f.last
		torn = f.stream.Send(ctx, b, nil)
	}
	if f.stream == nil {
		return nil
	}
	s := r.t.detach(f)
	s.Unread(false)
	return cmp.Or(torn, s.End(ctx, engine.Ended)) // End comes in any case
}

// send hands over what the file has from a position on.
func (r *reader) send(ctx context.Context, f *file, b *batch.Batch, from int64) error {
	r.t.begin(f, from)
	s, to := f.stream, f.pos
	if !s.introduced && b.Len() > 0 && f.began == 0 {
		f.began = beginning(f.handle)
	}
	s.introduced = s.introduced || b.Len() > 0
	s.Modified(r.info.ModTime().UnixNano())
	f.last = r.t.progress(f, r.written(f))
	b.Progress = f.last
	return s.Send(ctx, b, func(*batch.Outcomes) { s.committed.Store(to) })
}

// written is when the file was written last, as far as it was read: so that a later start that finds the
// same time and no more bytes need not open it.
func (r *reader) written(f *file) int64 {
	if info, err := f.handle.Stat(); err == nil && info.Size() == f.pos {
		return info.ModTime().UnixNano()
	}
	return r.info.ModTime().UnixNano()
}

// first keeps the first bytes of the file, from the very ones that are about to be taken.
func (r *reader) first(f *file) error {
	if r.topped = 0; f.head.N == guardBytes || r.window.off >= guardBytes {
		return nil
	}
	chunk, err := r.window.unread()
	if err != nil {
		return err
	}
	n := copy(r.top[:], r.window.before())
	r.topped = n + copy(r.top[n:], chunk)
	return nil
}

// lines fills the batch and reports whether there is more to read.
func (r *reader) lines(ctx context.Context, f *file, b *batch.Batch) (more bool, err error) {
	if f.partial() {
		if found, more, err := r.scan(f, b); !found || err != nil {
			return more, err
		}
	}
	if err := r.first(f); err != nil {
		return false, err
	}
	for from := f.pos; !b.Full() && f.pos-from < turnBytes; {
		step := r.line
		if f.over {
			step = r.pass
		}
		if on, err := step(ctx, f, b); !on || err != nil {
			return false, err
		}
	}
	return true, nil
}

// line takes the next line, or what of it is certain to be left out. It reports false at the end of the
// file; nothing of a line without its end is kept.
func (r *reader) line(ctx context.Context, f *file, b *batch.Batch) (bool, error) {
	w := &r.window
	if w.off == 0 {
		chunk, err := w.unread()
		if err != nil {
			return false, err
		}
		if bytes.HasPrefix(chunk, []byte(byteOrderMark)) {
			w.take(len(byteOrderMark))
			r.moved(f)
		}
	}
	buf := b.Buffer()
	base := len(buf)
	for leading := true; ; {
		chunk, err := w.unread()
		if err != nil {
			return false, err
		}
		if len(chunk) == 0 {
			f.scanned, f.edge, f.tried = w.off, markOf(w.before()), false
			b.Add(buf[:base], 0) // keeps the memory
			return false, nil
		}
		if leading {
			if n := nuls(chunk); n > 0 {
				w.take(n)
				b.NULs += int64(n)
				r.moved(f)
				return true, nil
			}
			leading = false
		}
		end := bytes.IndexByte(chunk, '\n')
		part := chunk
		if end >= 0 {
			part = chunk[:end]
		}
		// One byte above the limit may be the carriage return.
		if len(buf)-base+len(part) > r.t.cfg.MaxLine+1 {
			b.Add(buf[:base], 0)
			r.tooLong(f, b)
			return true, nil
		}
		if len(buf)-base+len(part) > largeLine && !r.big(ctx) {
			return false, ctx.Err()
		}
		buf = append(buf, part...)
		if end < 0 {
			w.take(len(chunk))
			continue
		}
		w.take(end + 1)
		r.moved(f)
		if n := len(buf); n > base && buf[n-1] == '\r' {
			buf = buf[:n-1]
		}
		if len(buf)-base > r.t.cfg.MaxLine {
			b.Oversize++
			buf = buf[:base]
		}
		b.Add(buf, 0)
		return true, nil
	}
}

// tooLong leaves out the line that the window is in.
func (r *reader) tooLong(f *file, b *batch.Batch) {
	b.Oversize++
	f.over = true
	r.moved(f)
}

// pass passes over the rest of a line that is too long, as far as it is in memory.
func (r *reader) pass(_ context.Context, f *file, _ *batch.Batch) (bool, error) {
	chunk, err := r.window.unread()
	if err != nil || len(chunk) == 0 {
		return false, err
	}
	n := len(chunk)
	if end := bytes.IndexByte(chunk, '\n'); end >= 0 {
		n, f.over = end+1, false
	}
	r.window.take(n)
	r.moved(f)
	return true, nil
}

// scan looks for the end of a line of which an earlier turn has seen a part. If it is found, the window
// stands at the beginning of the line.
func (r *reader) scan(f *file, b *batch.Batch) (found, more bool, err error) {
	w := &r.window
	// At the beginning of the file what looks like a line may be a part of a byte order mark.
	again := f.pos == 0 && f.scanned < int64(len(byteOrderMark))
	if !again {
		if err := w.seek(f.handle, f.scanned); err != nil {
			return false, errors.Is(err, errShort), ignoreShort(err)
		}
		again = !f.edge.holds(w.before())
	}
	for from := f.scanned; !again; {
		chunk, err := w.unread()
		if err != nil {
			return false, false, err
		}
		if bytes.Contains(chunk, []byte{'\n'}) {
			break
		}
		w.take(len(chunk))
		f.scanned, f.edge = w.off, markOf(w.before())
		if f.scanned > from {
			f.tried = false
		}
		switch {
		case f.scanned-f.pos > int64(r.t.cfg.MaxLine)+1:
			r.tooLong(f, b)
			return false, true, nil
		case len(chunk) == 0:
			return false, false, nil
		case w.off-from >= turnBytes:
			return false, true, nil
		}
	}
	f.scanned = f.pos
	if err := w.seek(f.handle, f.pos); err != nil {
		return false, errors.Is(err, errShort), ignoreShort(err)
	}
	return true, true, nil
}

// tail takes what stands behind the last line feed, if it is one complete object.
func (r *reader) tail(ctx context.Context, f *file, b *batch.Batch) error {
	f.tried = true
	size := f.scanned - f.pos
	if size > int64(r.t.cfg.MaxLine) {
		return nil
	}
	if size > largeLine && !r.big(ctx) {
		return ctx.Err()
	}
	if err := r.first(f); err != nil {
		return err
	}
	buf, err := r.rest(f, b.Buffer())
	if err != nil {
		return err
	}
	if line := buf[len(b.Buffer()):]; int64(len(line)) != size || !object(line) {
		return nil
	}
	r.moved(f)
	b.Add(buf, 0)
	return nil
}

// rest appends what is between the position and the end of the file.
func (r *reader) rest(f *file, buf []byte) ([]byte, error) {
	for base := len(buf); ; {
		chunk, err := r.window.unread()
		if err != nil || len(chunk) == 0 {
			return buf, err
		}
		buf = append(buf, chunk...)
		r.window.take(len(chunk))
		if int64(len(buf)-base) > f.scanned-f.pos {
			return buf, nil
		}
	}
}

// moved takes the window's position for the file's.
func (r *reader) moved(f *file) {
	f.pos = r.window.off
	f.scanned = f.pos
	r.keep()
}

func (r *reader) keep() { r.known = copy(r.before[:], r.window.before()) }

// big waits for the permission to hold a large line.
func (r *reader) big(ctx context.Context) bool {
	if r.large {
		return true
	}
	select {
	case r.t.large <- struct{}{}:
		r.large = true
		return true
	case <-ctx.Done():
		return false
	}
}

func (r *reader) small() {
	if r.large {
		<-r.t.large
		r.large = false
	}
}

// object reports whether a line is one complete JSON object.
func object(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && line[0] == '{' && json.Valid(line)
}

func nuls(b []byte) int {
	for i, c := range b {
		if c != 0 {
			return i
		}
	}
	return len(b)
}

func ignoreShort(err error) error {
	if errors.Is(err, errShort) {
		return nil
	}
	return err
}
