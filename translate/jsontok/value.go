// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package jsontok

import (
	"bytes"
	"math"
	"strconv"
)

// Value is the text of one valid JSON value without surrounding space. It aliases the line that it
// came from and is good for as long as that is. The empty Value is an absent one.
type Value []byte

// Kind is the kind of a value.
type Kind uint8

// The kinds of values. Absent is the kind of the empty Value.
const (
	Absent Kind = iota
	Null
	Bool
	Number
	String
	ArrayKind
	ObjectKind
)

// Kind tells the kind of v by its first byte.
func (v Value) Kind() Kind {
	if len(v) == 0 {
		return Absent
	}
	switch v[0] {
	case '{':
		return ObjectKind
	case '[':
		return ArrayKind
	case '"':
		return String
	case 't', 'f':
		return Bool
	case 'n':
		return Null
	default:
		return Number
	}
}

// Missing reports whether v is absent or null.
func (v Value) Missing() bool { return len(v) == 0 || v[0] == 'n' }

// True reports whether v is the literal true.
func (v Value) True() bool { return len(v) == 4 && v[0] == 't' }

// Bool is the value of a Boolean; ok is false for any other kind.
func (v Value) Bool() (b, ok bool) {
	k := v.Kind() == Bool
	return k && v[0] == 't', k
}

// Int is the value of a number that is a whole number of 64 bits, in whatever notation.
func (v Value) Int() (int64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err == nil {
		return n, true
	}
	f, ok := v.Float()
	// Outside of ±2^53 a float no longer tells one whole number from the next.
	if !ok || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// Uint is the value of a number that is written as a non-negative whole number; "5.0" is none.
func (v Value) Uint() (uint64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	n, err := strconv.ParseUint(string(v), 10, 64)
	return n, err == nil
}

// Float is the value of a finite number.
func (v Value) Float() (float64, bool) {
	if v.Kind() != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v), 64)
	return f, err == nil
}

// Object begins a walk over the members of v. A value of another kind has none.
func (v Value) Object() Object {
	if len(v) == 0 || v[0] != '{' {
		return Object{}
	}
	return Object{walk: walk{c: &cursor{b: v, i: 1}, at: -1}}
}

// Array begins a walk over the elements of v. A value of another kind has none.
func (v Value) Array() Array {
	if len(v) == 0 || v[0] != '[' {
		return Array{}
	}
	return Array{walk{c: &cursor{b: v, i: 1}, at: -1}}
}

// cursor is how far nested walks over one value have come. They share it, so that a walk that came to
// its end has found the end of its value for the walk around it: each byte is looked at once, however
// deep the walks are nested.
type cursor struct {
	b     Value
	i     int
	depth int // of the innermost walk that has not ended
	index *Index
}

// walk is a position between the brackets of an object or an array.
type walk struct {
	c     *cursor
	at    int // start of the current value; before the first one -1
	depth int
}

// Kind tells the kind of the current value.
func (w *walk) Kind() Kind {
	if w.c == nil || uint(w.at) >= uint(len(w.c.b)) {
		return Absent
	}
	return w.c.b[w.at : w.at+1].Kind()
}

// Value is the text of the current value.
func (w *walk) Value() Value {
	if w.c == nil || w.at < 0 {
		return nil
	}
	return w.c.b[w.at:w.pass()]
}

// Object begins a nested walk over the members of the current value. It must come to its end, or be
// given up, before this walk goes on.
func (w *walk) Object() Object {
	if w.Kind() != ObjectKind {
		return Object{}
	}
	return Object{walk: w.nest()}
}

// Array begins a nested walk over the elements of the current value, under the same condition.
func (w *walk) Array() Array {
	if w.Kind() != ArrayKind {
		return Array{}
	}
	return Array{w.nest()}
}

func (w *walk) nest() walk {
	w.c.i = w.at + 1
	w.c.depth = w.depth + 1
	return walk{c: w.c, at: -1, depth: w.c.depth}
}

// pass moves the cursor behind the current value, unless it is there already, and returns where that
// is. After a nested walk that was given up the way is unknown and is gone again.
func (w *walk) pass() int {
	if w.c.i == w.at || w.c.depth != w.depth {
		w.c.i = w.c.index.skip(w.c.b, w.at)
		w.c.depth = w.depth
	}
	return w.c.i
}

// next moves the cursor to the next token that is no comma.
func (w *walk) next() int {
	if w.c == nil {
		return -1
	}
	if w.at >= 0 {
		w.pass()
	}
	return next(w.c.b, w.c.i)
}

// end ends the walk at the bracket at i.
func (w *walk) end(i int) bool {
	if w.c != nil {
		w.c.i = min(i+1, len(w.c.b))
		w.c.depth = w.depth - 1
	}
	*w = walk{}
	return false
}

// Object walks the members of an object in input order.
type Object struct {
	walk
	Name []byte // the unescaped name of the current member
	name int    // its size as written
}

// NameSize is the size of the current member's name as written, quotes included.
func (o *Object) NameSize() int { return o.name }

// Next advances to the next member.
func (o *Object) Next() bool {
	i := o.next()
	if i < 0 || i >= len(o.c.b) || o.c.b[i] != '"' {
		return o.end(i)
	}
	b := o.c.b
	end := skipString(b, i)
	o.Name, o.name = unescapedName(b[i:end]), end-i
	o.at = next(b, end)
	o.c.i = o.at
	return true
}

// Array walks the elements of an array.
type Array struct{ walk }

// Next advances to the next element.
func (a *Array) Next() bool {
	i := a.next()
	// Anything but the beginning of a value ends the walk, so that it ends on whatever it is given.
	if i < 0 || i >= len(a.c.b) || ends[a.c.b[i]] && !opens[a.c.b[i]] {
		return a.end(i)
	}
	a.at, a.c.i = i, i
	return true
}

// CompactLen is the size of v without the space between its tokens.
func (v Value) CompactLen() int {
	n := 0
	for i := 0; i < len(v); {
		switch v[i] {
		case '"':
			end := skipString(v, i)
			n += end - i
			i = end
		case ' ', '\t', '\n', '\r':
			i++
		default:
			n++
			i++
		}
	}
	return n
}

// AppendCompact appends v without the space between its tokens.
func (v Value) AppendCompact(dst []byte) []byte {
	for i := 0; i < len(v); {
		switch v[i] {
		case '"':
			end := skipString(v, i)
			dst = append(dst, v[i:end]...)
			i = end
		case ' ', '\t', '\n', '\r':
			i++
		default:
			dst = append(dst, v[i])
			i++
		}
	}
	return dst
}

// next skips space and the commas and colons between tokens.
func next(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ' ', '\t', '\n', '\r', ',', ':':
			i++
		default:
			return i
		}
	}
	return i
}

// skipString returns the index after the string that begins at b[i].
func skipString(b []byte, i int) int {
	i++
	for j := i; ; {
		k := bytes.IndexByte(b[j:], '"')
		if k < 0 {
			return len(b)
		}
		k += j
		// An odd number of backslashes before it escapes the quote.
		p := k
		for p > i && b[p-1] == '\\' {
			p--
		}
		if (k-p)&1 == 0 {
			return k + 1
		}
		j = k + 1
	}
}

// skipValue returns the index after the value that begins at b[i].
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return i
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	for i < len(b) && !ends[b[i]] {
		i++
	}
	return i
}

// skipNested counts brackets instead of recursing: depth costs nothing.
func skipNested(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		c := b[i]
		if !structural[c] {
			i++
			continue
		}
		switch c {
		case '"':
			i = skipString(b, i)
			continue
		case '{', '[':
			depth++
		default:
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return i
}

var (
	structural = set(`"{}[]`)
	ends       = set(" \t\r\n,]}:\"{[")
	opens      = set(`"{[`)
)

func set(s string) (t [256]bool) {
	for i := range len(s) {
		t[s[i]] = true
	}
	return t
}
