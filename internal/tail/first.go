// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package tail

import (
	"bytes"
	"errors"
	"io"
	"time"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/internal/lineage"
)

// beginning is when a file began (see lineage.Beginning).
func (t *Tailer) beginning(path string) time.Time {
	h, err := t.sys.open(path)
	if err != nil {
		return time.Time{}
	}
	defer func() { _ = h.Close() }()
	return lineage.Beginning(h)
}

// introduce puts what the file beside a file tells before the first of its lines.
func (r *reader) introduce(f *file, b *batch.Batch) {
	if f.stream != nil && f.stream.introduced {
		return
	}
	line := lineage.Sidecar(r.t.nameOf(f), func(path string) (io.ReadCloser, error) { return r.t.sys.open(path) })
	if line != nil {
		b.Add(append(b.Buffer(), line...), 0)
	}
}

// skip goes to the end of a file that is not to be read: to the beginning of its last line if that is not
// complete, since its end is still to be written.
func (r *reader) skip(f *file) {
	f.pos, f.scanned, f.over = f.size, f.size, f.size > 0 // if it cannot be read now
	info, err := r.t.opened(f)
	if err != nil {
		return
	}
	defer r.t.shut(f)
	f.see(info, f.changed)
	size := info.Size()
	start, err := r.lastLine(f, size)
	if err != nil {
		f.pos, f.scanned, f.over = size, size, size > 0
		return
	}
	f.pos, f.scanned, f.over = start, size, false
	switch tail := size - start; {
	case tail > int64(r.t.cfg.MaxLine)+1:
		f.pos, f.over = size, true
	case tail > 0:
		b := batch.New()
		defer b.Release()
		if r.window.seek(f.handle, start) != nil {
			return
		}
		if line, err := r.rest(f, b.Buffer()); err == nil && int64(len(line)) == tail && object(line) {
			f.pos = size
		}
	}
	if r.window.seek(f.handle, f.pos) == nil {
		f.frontier = markOf(r.window.before())
	}
	if r.window.seek(f.handle, f.scanned) == nil {
		f.edge = markOf(r.window.before())
	}
	_ = r.mark(f, int(min(f.pos, guardBytes))) // without it the frontier guards alone
}

// lastLine gives the position behind the last line feed, or one that is further from the end than a line
// may be long.
func (r *reader) lastLine(f *file, size int64) (int64, error) {
	buf := make([]byte, 4<<10)
	for end := size; end > 0; {
		if size-end > int64(r.t.cfg.MaxLine)+1 {
			return end, nil
		}
		part := buf[:min(end, int64(len(buf)))]
		if _, err := f.handle.ReadAt(part, end-int64(len(part))); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
			return end - int64(len(part)-1-i), nil
		}
		end -= int64(len(part))
		buf = buf[:cap(buf)]
		if len(buf) < chunkBytes {
			buf = make([]byte, 4*len(buf))
		}
	}
	return 0, nil
}

func isMoved(err error) bool { return errors.Is(err, errMoved) }
