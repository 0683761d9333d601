// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package tail

import (
	"errors"
	"io"
)

const chunkBytes = 256 << 10

// window moves over a file. It keeps the guardBytes before its position, so that a mark is made of the
// very bytes that were read and not of what may stand there since.
type window struct {
	src  io.ReaderAt
	buf  []byte
	r, w int   // buf[r:w] is unread, buf[:r] stands before it
	off  int64 // of buf[r]
	end  bool  // the last read met the end of the file
}

var errShort = errors.New("file is shorter than it was")

// seek goes to a position, reading what stands before it.
func (w *window) seek(src io.ReaderAt, off int64) error {
	if w.buf == nil {
		w.buf = make([]byte, guardBytes+chunkBytes)
	}
	n := int(min(off, guardBytes))
	w.src, w.off, w.r, w.w, w.end = src, off, n, n, false
	switch got, err := src.ReadAt(w.buf[:n], off-int64(n)); {
	case got == n:
		return nil
	case errors.Is(err, io.EOF):
		return errShort
	default:
		return err
	}
}

// unread gives bytes that were not taken, reading more if there are none; none at the end of the file.
func (w *window) unread() ([]byte, error) {
	if w.r < w.w || w.end {
		return w.buf[w.r:w.w], nil
	}
	before := w.before()
	w.r = copy(w.buf, before)
	n, err := w.src.ReadAt(w.buf[w.r:w.r+chunkBytes], w.off)
	w.w = w.r + n
	w.end = errors.Is(err, io.EOF)
	if err != nil && !w.end {
		w.w = w.r
		return nil, err
	}
	return w.buf[w.r:w.w], nil
}

func (w *window) take(n int) {
	w.r += n
	w.off += int64(n)
}

// before gives what stands before the position, up to guardBytes.
func (w *window) before() []byte { return w.buf[max(0, w.r-guardBytes):w.r] }
