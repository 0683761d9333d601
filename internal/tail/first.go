// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package tail

import (
	"bytes"
	"errors"
	"io"
	"time"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
	"github.com/otelcol-agents/otelcol-agents/internal/lineage"
)

// beginning is when a file began (see lineage.Beginning), 0 if that is not known.
func (t *Tailer) beginning(path string) int64 {
	h, err := t.sys.open(path)
	if err != nil {
		return 0
	}
	defer func() { _ = h.Close() }()
	return beginning(h)
}

func beginning(r io.ReaderAt) int64 {
	at := lineage.Beginning(r)
	if year := at.Year(); at.IsZero() || year < 1700 || year > 2200 { // nanoseconds reach no further
		return 0
	}
	return at.UnixNano()
}

// moment is what beginning gave, as a time.
func moment(began int64) time.Time {
	if began == 0 {
		return time.Time{}
	}
	return time.Unix(0, began)
}

// introduce puts what the file beside a file tells before the first of its lines.
func (r *reader) introduce(f *file, b *batch.Batch) {
	if f.stream != nil && f.stream.introduced {
		return
	}
	if line := r.t.sidecar(r.t.nameOf(f)); line != nil {
		b.Add(append(b.Buffer(), line...), 0)
	}
}

// sidecar is the line that stands for what is beside a file; nil if there is nothing.
func (t *Tailer) sidecar(path string) []byte {
	return lineage.Sidecar(path, func(path string) (io.ReadCloser, error) { return t.sys.open(path) })
}

// skip goes to the end of a file that is not to be read: to the beginning of its last line if that is not
// complete, since its end is still to be written. It gives what is to be kept of that.
func (r *reader) skip(f *file) ledger.Progress {
	r.toEnd(f)
	f.start = f.pos
	f.last = r.t.progress(f, f.modTime.UnixNano())
	return f.last
}

func (r *reader) toEnd(f *file) {
	f.pos, f.scanned, f.over = f.size, f.size, f.size > 0 // if it cannot be read now
	info, err := r.t.opened(f)
	if err != nil {
		return
	}
	defer r.t.shut(f)
	f.see(info, f.changed)
	f.began = beginning(f.handle)
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
