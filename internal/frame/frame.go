// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package frame cuts a byte stream into lines without ever holding one that is too long.
package frame

import (
	"bytes"
	"errors"
	"io"
)

const (
	minBuffer = 4 << 10
	maxBuffer = 256 << 10
	// keptCapacity is what the buffer given to Next may keep of a line that turned out too long.
	keptCapacity = 1 << 20
)

// Line says where a line stood in its stream. Its bytes are what Next appended.
type Line struct {
	Start    int64 // offset of its first byte, byte order mark and NULs included
	End      int64 // offset of the byte behind its line feed, or the end of the stream
	Complete bool  // a line feed ended it; false only for the last line of a stream
}

// Reader cuts a stream into lines. A line ends with a line feed and with nothing else, since JSON
// strings hold U+2028 and lone carriage returns unescaped.
//
// It owns a read buffer that grows only while reads fill it, to 256 KiB, so that hundreds of idle
// connections cost little. It never holds a part of a line besides what stands in that buffer.
// A Reader is not safe for concurrent use.
type Reader struct {
	src  io.Reader
	max  int
	buf  []byte
	r, w int   // unread bytes are buf[r:w]
	off  int64 // stream offset of buf[r]
	full bool  // the last read filled the buffer
	err  error // sticky, of src

	oversize int64
	nuls     int64

	partial int64 // of the line being read: its bytes so far, leading NULs not counted,
	held    int   // and how many of them are in the buffer given to Next
}

// NewReader returns a Reader of src whose lines have at most limit bytes, line end not counted.
func NewReader(src io.Reader, limit int) *Reader { return &Reader{src: src, max: limit} }

// Oversize is the number of lines that were longer than the limit and so were left out.
func (f *Reader) Oversize() int64 { return f.oversize }

// NULs is the number of NUL bytes that stood before lines and were left out. A crash leaves such
// runs where a file system had allocated a block but not written it.
func (f *Reader) NULs() int64 { return f.nuls }

// Offset is the number of bytes of the stream that lines, skipped ones included, have taken.
func (f *Reader) Offset() int64 { return f.off }

// Waiting reports whether a line within the limit is already in the buffer, so that Next will not block.
func (f *Reader) Waiting() bool {
	rest := f.buf[f.r:f.w]
	for {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			return false
		}
		if end <= f.max {
			return true
		}
		rest = rest[end+1:]
	}
}

// Unfinished tells of the line being read, for a source that is asked for more and after an error: the
// number of its bytes so far, leading NULs not counted, and how many of them the buffer given to Next
// holds, which is none once the line is over the limit. Both are 0 between lines.
func (f *Reader) Unfinished() (size int64, held int) { return f.partial, f.held }

// Next appends the next line to dst, without line feed, one carriage return before it, byte order
// mark (at the beginning of the stream only) and leading NULs. Empty lines are lines too.
//
// Lines over the limit are counted and passed over. At the end of the stream what follows the last
// line feed is a line; then the error of the source comes, io.EOF for an orderly end. After any other
// error of the source the piece of a line before it is not given.
func (f *Reader) Next(dst []byte) ([]byte, Line, error) {
	base := len(dst)
	for {
		out, line, kept, err := f.line(dst, base)
		if err != nil {
			return dst[:base], Line{}, err
		}
		if kept {
			return out, line, nil
		}
		f.oversize++
		dst = out[:base]
	}
}

// line takes one line of any length; kept is false for one over the limit.
func (f *Reader) line(dst []byte, base int) (out []byte, line Line, kept bool, err error) {
	start := f.off
	line.Start = start
	f.partial, f.held = 0, 0
	if start == 0 {
		f.skipMark()
	}
	leading, over := true, false
	for {
		if f.r == f.w && !f.fill() {
			if !errors.Is(f.err, io.EOF) || f.off == start {
				return dst, line, false, f.err
			}
			break
		}
		chunk := f.buf[f.r:f.w]
		if leading {
			if n := countNULs(chunk); n > 0 {
				f.take(n)
				f.nuls += int64(n)
				continue
			}
			leading = false
		}
		end := bytes.IndexByte(chunk, '\n')
		part := chunk
		if end >= 0 {
			part = chunk[:end]
		}
		// One byte above the limit is held, because it may turn out to be the carriage return.
		if !over && len(dst)-base+len(part) > f.max+1 {
			over = true
			dst = dst[:base]
			if cap(dst)-base > keptCapacity {
				dst = bytes.Clone(dst)
			}
		}
		if !over {
			dst = append(dst, part...)
		}
		if end >= 0 {
			f.take(end + 1)
			line.Complete = true
			break
		}
		f.take(len(chunk))
		f.partial, f.held = f.partial+int64(len(chunk)), len(dst)-base
	}
	f.partial, f.held = 0, 0
	line.End = f.off
	if n := len(dst); line.Complete && n > base && dst[n-1] == '\r' {
		dst = dst[:n-1]
	}
	return dst, line, !over && len(dst)-base <= f.max, nil
}

// skipMark passes over a UTF-8 byte order mark at the beginning of the stream.
func (f *Reader) skipMark() {
	const mark = "\xef\xbb\xbf"
	for f.w-f.r < len(mark) {
		if !bytes.HasPrefix([]byte(mark), f.buf[f.r:f.w]) || !f.fill() {
			return
		}
	}
	if string(f.buf[f.r:f.r+len(mark)]) == mark {
		f.take(len(mark))
	}
}

func (f *Reader) take(n int) {
	f.r += n
	f.off += int64(n)
}

// fill reads more behind the unread bytes; false means that the source has ended.
func (f *Reader) fill() bool {
	if f.err != nil {
		return false
	}
	if f.r == f.w {
		f.r, f.w = 0, 0
	}
	switch {
	case f.buf == nil:
		f.buf = make([]byte, minBuffer)
	case f.full && len(f.buf) < maxBuffer:
		grown := make([]byte, 2*len(f.buf))
		f.w = copy(grown, f.buf[f.r:f.w])
		f.r, f.buf = 0, grown
	}
	for range 100 {
		n, err := f.src.Read(f.buf[f.w:])
		f.w += n
		f.full = f.w == len(f.buf)
		f.err = err
		if n > 0 {
			return true
		}
		if err != nil {
			return false
		}
	}
	f.err = io.ErrNoProgress
	return false
}

func countNULs(b []byte) int {
	for i, c := range b {
		if c != 0 {
			return i
		}
	}
	return len(b)
}
