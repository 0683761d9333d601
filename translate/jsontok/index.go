// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package jsontok

// Index has what the scanner wrote down about the line that is split: where its longer values end, and
// how large they are. With it a walk does not look again for the end of what nobody reads, and a text
// is measured without being read. Every answer is the one that would be found without it; a value that
// it does not know, because it is short, from elsewhere or from a line that was not simple, is read.
type Index struct {
	line  []byte
	spans []span // in the order of start
}

// span is a string, an object or an array.
type span struct {
	start, end uint32
	size       uint32 // of a string's text; otherwise without the space between tokens
}

func (s *span) is(v Value) bool { return s != nil && int(s.end-s.start) == len(v) }

// Shorter values are read as fast as they are found; more spans than maxSpans are not kept, so that a
// line cannot need more memory than it has bytes.
const (
	minSpan  = 64
	maxSpans = 1 << 12
)

// Object begins a walk over the members of v as [Value.Object] does.
func (x *Index) Object(v Value) Object {
	if len(v) == 0 || v[0] != '{' {
		return Object{}
	}
	return Object{walk: walk{c: &cursor{b: v, i: 1, index: x}, at: -1}}
}

// Array begins a walk over the elements of v as [Value.Array] does.
func (x *Index) Array(v Value) Array {
	if len(v) == 0 || v[0] != '[' {
		return Array{}
	}
	return Array{walk{c: &cursor{b: v, i: 1, index: x}, at: -1}}
}

// Len is [Value.Len].
func (x *Index) Len(v Value) int {
	if s := x.find(v); s.is(v) && v[0] == '"' {
		return int(s.size)
	}
	return v.Len()
}

// CompactLen is [Value.CompactLen].
func (x *Index) CompactLen(v Value) int {
	if s := x.find(v); s.is(v) && v[0] != '"' {
		return int(s.size)
	}
	return v.CompactLen()
}

// skip is skipValue.
func (x *Index) skip(b []byte, i int) int {
	if x != nil && i < len(b) && opens[b[i]] {
		if s := x.find(b[i:]); s != nil {
			return i + int(s.end-s.start)
		}
	}
	return skipValue(b, i)
}

// find returns the span that b begins with, if it is known.
func (x *Index) find(b []byte) *span {
	// A part of the line that was not cut off behind has its capacity less what stands before it. Others
	// may have any capacity: the address tells.
	at := cap(x.line) - cap(b)
	if len(b) < minSpan || at < 0 || at >= len(x.line) || &x.line[at] != &b[0] {
		return nil
	}
	lo, hi := 0, len(x.spans)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if int(x.spans[mid].start) < at {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo == len(x.spans) || int(x.spans[lo].start) != at || int(x.spans[lo].end)-at > len(b) {
		return nil
	}
	return &x.spans[lo]
}

func (x *Index) reset(line []byte) { x.line, x.spans = line, x.spans[:0] }

func (x *Index) add(start, end, size int) {
	if len(x.spans) < maxSpans {
		x.spans = append(x.spans, span{uint32(start), uint32(end), uint32(size)})
	}
}

// open keeps a place for a container, so that it stands before what is in it; -1 where there is none.
func (x *Index) open() int {
	if len(x.spans) == maxSpans {
		return -1
	}
	x.spans = append(x.spans, span{})
	return len(x.spans) - 1
}

// close fills the place, or gives it back: what is in a short container is shorter and is not kept.
func (x *Index) close(place, start, end, blanks int) {
	switch {
	case place < 0:
	case end-start < minSpan:
		x.spans = x.spans[:place]
	default:
		x.spans[place] = span{uint32(start), uint32(end), uint32(end - start - blanks)}
	}
}
