// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package tail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
)

var (
	// ErrGone says that a file is there under no name that is known.
	ErrGone = errors.New("the file is gone")
	// ErrChanged says that a file is not what it was when it was read.
	ErrChanged = errors.New("the file was rewritten")
)

// rereader reads files again, one at a time.
//
// Large lines are one at a time for it, too, but it does not wait for the readers' permission: a reader may
// keep that while it waits for whoever waits for the rereader.
type rereader struct {
	mu     sync.Mutex
	reader reader
}

// rereading is one file that is read again.
type rereading struct {
	*reader
	file
	upto         ledger.Progress
	introduction []byte
	send         func(b *batch.Batch) error
}

// Reread sends what a file holds up to a position at which it stood once more, while its following goes on
// as if nothing was: the same lines, after what the file beside it tells. Batches belong to send, also where
// it fails; they carry no Progress, and end at upto.Start at the latest, up to which they are Silent. The
// modification time is that of upto.
//
// The file need not be followed. ErrGone and ErrChanged come before anything is sent, ErrChanged also when
// the file is rewritten during the call; other errors are those of reading, of send, and of ctx.
func (t *Tailer) Reread(
	ctx context.Context, id ledger.FileID, upto ledger.Progress, send func(b *batch.Batch, modTime int64) error,
) error {
	t.again.mu.Lock()
	defer t.again.mu.Unlock()
	path, handle, err := t.reopen(id, upto.Path)
	if err != nil {
		return err
	}
	defer func() { _ = handle.Close() }()
	r := rereading{
		reader: &t.again.reader,
		file:   file{handle: handle, pos: upto.Pos, scanned: upto.Pos, head: mark(upto.Head), frontier: mark(upto.Frontier)},
		upto:   upto,
	}
	info, err := handle.Stat()
	if err != nil {
		return fmt.Errorf("read %s again: %w", path, err)
	}
	switch same, err := r.same(&r.file, info.Size()); {
	case err != nil:
		return fmt.Errorf("read %s again: %w", path, err)
	case !same:
		return fmt.Errorf("read %s again: %w", path, ErrChanged)
	}
	modTime := upto.ModTime
	if modTime == 0 {
		modTime = info.ModTime().UnixNano()
	}
	r.send = func(b *batch.Batch) error { return send(b, modTime) }
	r.introduction = t.sidecar(path)
	r.pos, r.scanned = 0, 0
	start := min(upto.Start, upto.Pos)
	if start > 0 {
		if err := r.section(ctx, start, true); err != nil {
			return fmt.Errorf("read %s again: %w", path, err)
		}
	}
	if err := r.section(ctx, upto.Pos, false); err != nil {
		return fmt.Errorf("read %s again: %w", path, err)
	}
	return nil
}

// reopen opens a file under one of its names.
func (t *Tailer) reopen(id ledger.FileID, path string) (string, *os.File, error) {
	t.mu.Lock()
	f := t.numbers[id]
	var names []string
	if f != nil {
		names = append(names, f.paths...)
	}
	names = append(names, path)
	t.mu.Unlock()
	for _, name := range names {
		handle, err := t.sys.open(name)
		if absent(err) {
			continue
		}
		if err != nil {
			return "", nil, err
		}
		info, err := handle.Stat()
		if err == nil && info.Mode().IsRegular() && (f == nil || identify(name, info) == f.id) {
			return name, handle, nil
		}
		_ = handle.Close()
		if err != nil {
			return "", nil, err
		}
	}
	if handle := t.duplicate(f); handle != nil {
		return path, handle, nil
	}
	return "", nil, fmt.Errorf("read %s again: %w", path, ErrGone)
}

// duplicate gives a file that has no name any more, or one that no scan has found yet, while it is open.
func (t *Tailer) duplicate(f *file) *os.File {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f == nil || f.handle == nil {
		return nil
	}
	return duplicate(f.handle)
}

// section sends what is between the position and end.
func (r *rereading) section(ctx context.Context, end int64, silent bool) error {
	if err := r.window.seek(io.NewSectionReader(r.handle, 0, end), r.pos); err != nil {
		return changed(err)
	}
	for more := true; more; {
		b := batch.New()
		if r.introduction != nil {
			b.Add(append(b.Buffer(), r.introduction...), 0)
		}
		introduction, from := b.Len(), r.pos
		var err error
		for more && err == nil && !b.Full() {
			step := r.line
			if r.over {
				step = r.pass
			}
			more, err = step(ctx, &r.file, b)
			if err == nil {
				err = ctx.Err()
			}
		}
		if !more && err == nil {
			err = r.remainder(b, end)
		}
		if err != nil || b.Len() == introduction {
			b.Release()
			if err != nil {
				return err
			}
			continue
		}
		r.introduction = nil
		b.Size, b.Silent = r.pos-from, silent
		if err := r.send(b); err != nil {
			return err
		}
	}
	return nil
}

// remainder takes what stands behind the last line feed before end: an object that was taken before its
// line had ended, or a part of a line that is too long.
func (r *rereading) remainder(b *batch.Batch, end int64) error {
	if r.window.off != end {
		return ErrChanged
	}
	last := end == r.upto.Pos
	if size := end - r.pos; size > 0 && !r.over {
		taken := size <= int64(r.t.cfg.MaxLine) && (!last || !r.upto.Over)
		if taken {
			if err := r.window.seek(r.window.src, r.pos); err != nil {
				return changed(err)
			}
			r.scanned = end
			buf, err := r.rest(&r.file, b.Buffer())
			if err != nil {
				return err
			}
			if int64(len(buf)-len(b.Buffer())) != size {
				return ErrChanged
			}
			if taken = last || object(buf[len(b.Buffer()):]); taken {
				b.Add(buf, 0)
			}
		}
		if !taken {
			b.Oversize++
			r.over = true
		}
		r.pos = end
	}
	if last && !r.frontier.holds(r.window.before()) {
		return ErrChanged
	}
	return nil
}

func changed(err error) error {
	if errors.Is(err, errShort) || errors.Is(err, fs.ErrNotExist) {
		return ErrChanged
	}
	return err
}
