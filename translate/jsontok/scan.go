// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package jsontok

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unicode/utf8"
)

// What the scanner takes for simple. Beyond these bounds, and where a name has an escape or an object
// two equal names, it gives up: then the decoder of jsontext judges.
const (
	maxScanDepth = 64  // it recurses
	maxScanNames = 128 // of one object: equal hashes mean a comparison with all others
)

// scanner reads objects in front of the decoder, in one pass over their bytes: it checks what strict
// reading checks, and writes down what a later walk would have to look for again. It accepts only
// objects that strict reading accepts as well, with the same end and the same members.
type scanner struct {
	members []Member // of the object that is read
	names   []name   // of all objects that are open, outermost first
	blanks  int      // bytes of space between tokens so far
	index   Index
}

// name is where a name stands, without its quotes.
type name struct{ start, end uint32 }

// object reads the object that b begins with and returns the offset after it; -1 says that it is no
// object, or none that is simple.
func (s *scanner) object(b []byte) int {
	s.members, s.names, s.blanks = s.members[:0], s.names[:0], 0
	s.index.reset(b)
	end := -1
	if len(b) > 0 && b[0] == '{' && len(b) <= math.MaxInt32 {
		end = s.readObject(b, 0, 0)
	}
	if end < 0 {
		s.index.reset(nil)
	}
	return end
}

// value reads the value that begins at b[i], inside of depth open containers, and returns the offset
// after it, or -1. So do the other methods below.
func (s *scanner) value(b []byte, i, depth int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		end, size := scanString(b, i)
		if end-i >= minSpan {
			s.index.add(i, end, size)
		}
		return end
	case '{':
		return s.readObject(b, i, depth)
	case '[':
		return s.readArray(b, i, depth)
	case 't':
		return literal(b, i, "true")
	case 'f':
		return literal(b, i, "false")
	case 'n':
		return literal(b, i, "null")
	default:
		return scanNumber(b, i)
	}
}

func (s *scanner) readObject(b []byte, i, depth int) int {
	if depth == maxScanDepth {
		return -1
	}
	start, blanks, span := i, s.blanks, s.index.open()
	outer := len(s.names)
	seen := uint64(0) // hashes of the names so far
	for i = s.space(b, i+1); ; i = s.space(b, i+1) {
		if i >= len(b) {
			return -1
		}
		if b[i] == '}' && len(s.names) == outer {
			break // empty
		}
		if b[i] != '"' {
			return -1
		}
		end, size := scanString(b, i)
		if end < 0 || size != end-i-2 {
			return -1 // every escape makes the text shorter
		}
		key := b[i+1 : end-1]
		bit := uint64(1) << hash(key)
		if seen&bit != 0 && s.has(b, outer, key) {
			return -1
		}
		seen |= bit
		s.names = append(s.names, name{uint32(i + 1), uint32(end - 1)})

		if i = s.space(b, end); i >= len(b) || b[i] != ':' {
			return -1
		}
		at := s.space(b, i+1)
		if i = s.value(b, at, depth+1); i < 0 {
			return -1
		}
		if depth == 0 {
			s.members = append(s.members, Member{Name: key, Value: b[at:i]})
		}
		if i = s.space(b, i); i >= len(b) || b[i] != ',' {
			break
		}
	}
	if i >= len(b) || b[i] != '}' {
		return -1
	}
	s.names = s.names[:outer]
	s.index.close(span, start, i+1, s.blanks-blanks)
	return i + 1
}

func (s *scanner) readArray(b []byte, i, depth int) int {
	if depth == maxScanDepth {
		return -1
	}
	start, blanks, span := i, s.blanks, s.index.open()
	if i = s.space(b, i+1); i >= len(b) || b[i] != ']' {
		for {
			if i = s.value(b, i, depth+1); i < 0 {
				return -1
			}
			if i = s.space(b, i); i >= len(b) || b[i] != ',' {
				break
			}
			i = s.space(b, i+1)
		}
	}
	if i >= len(b) || b[i] != ']' {
		return -1
	}
	s.index.close(span, start, i+1, s.blanks-blanks)
	return i + 1
}

// has reports whether key is among the names from outer on, or whether they are too many to tell.
func (s *scanner) has(b []byte, outer int, key []byte) bool {
	names := s.names[outer:]
	if len(names) >= maxScanNames {
		return true
	}
	for _, n := range names {
		if string(b[n.start:n.end]) == string(key) {
			return true
		}
	}
	return false
}

// hash is a hash of six bits.
func hash(key []byte) uint {
	n := uint(len(key))
	if n == 0 {
		return 0
	}
	return (n + uint(key[0])*5 + uint(key[n/2])*11 + uint(key[n-1])*23) & 63
}

// space skips the space from b[i] on, which mostly is none.
func (s *scanner) space(b []byte, i int) int {
	if i < len(b) && b[i] > ' ' {
		return i
	}
	start := i
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	s.blanks += i - start
	return i
}

func literal(b []byte, i int, word string) int {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return -1
	}
	return i + len(word)
}

func scanNumber(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	first := i
	if i = digits(b, i); i < 0 || b[first] == '0' && i > first+1 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		if i = digits(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return digits(b, i)
	}
	return i
}

// digits skips digits, at least one.
func digits(b []byte, i int) int {
	start := i
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

// scanString reads the string that begins at b[i] and returns the offset after it and the size of its
// text in bytes; the offset is -1 where strict reading would refuse.
//
// It reads eight bytes at a time. A backslash before n, t or a quote, of which source code has one every
// dozen bytes, takes no branch: one that nobody can predict would cost more than all the rest.
func scanString(b []byte, i int) (end, size int) {
	i++
	start := i
	saved := 0         // how much shorter the text is than what was read
	carry := uint64(0) // the next byte is escaped by the one before it
	wide := uint64(0)  // all words: has a high bit if a byte is not ASCII
	for {
		var x uint64
		if len(b)-i >= 8 {
			x = binary.LittleEndian.Uint64(b[i : i+8])
		} else {
			x = lastWord(b[i:])
		}
		// In each word below the high bit of a byte is the answer for that byte of x. Seven bits plus 0x7f
		// have the eighth bit, unless they are zero; no sum carries into the next byte.
		seven := x & low
		notQuote := seven ^ quotes + low | x
		slash := ^(seven ^ slashes + low | x) & high
		escaped := slash<<8 | carry
		notLetter := (seven^letterN+low)&(seven^letterT+low) | x
		visible := seven + (0x80-' ')*ones | x
		// An escaped byte that is neither a quote nor one of the letters, a quote that is not escaped, or
		// a control character. Only up to the first is the rest right: an escaped backslash escapes
		// nothing, but it stops, and what follows it is read again.
		stop := (^(notQuote^escaped)&(notLetter|^escaped) | ^visible) & high
		if stop == 0 {
			wide |= x
			saved += count(escaped)
			carry = slash >> 56
			i += 8
			continue
		}
		carry = 0
		first := stop & -stop
		wide |= x & (first - 1) // the bytes before it
		saved += count(escaped & (first - 1))
		i += bits.TrailingZeros64(stop) / 8
		switch {
		case escaped&first != 0:
			n, size := strictEscape(b[i-1:])
			if n == 0 {
				return -1, 0
			}
			i += n - 1
			saved += n - size
		case notQuote&first == 0:
			if wide&high != 0 && !utf8.Valid(b[start:i]) {
				return -1, 0
			}
			return i + 1, i - start - saved
		default:
			return -1, 0
		}
	}
}

// Words of eight equal bytes.
const (
	ones    = 0x0101010101010101
	high    = 0x80 * ones
	low     = 0x7f * ones
	quotes  = '"' * ones
	slashes = '\\' * ones
	letterN = 'n' * ones
	letterT = 't' * ones
)

// count is the number of high bits, of which x has no others. It is as fast as bits.OnesCount64, which
// must ask what the processor can do and may call a function.
func count(x uint64) int { return int(x >> 7 * ones >> 56) }

// lastWord is the word of fewer than eight bytes. What is missing are control characters, which no
// string may have.
func lastWord(b []byte) (x uint64) {
	for i, c := range b {
		x |= uint64(c) << (8 * i)
	}
	return x
}

// strictEscape reads the escape sequence that s begins with and returns its size and that of its text;
// 0 where strict reading would refuse it.
func strictEscape(s []byte) (n, size int) {
	if len(s) < 2 || !escapes[s[1]] {
		return 0, 0
	}
	n, r := escape(s)
	if r == utf8.RuneError {
		// Either it says so, or it is a lone surrogate or no number.
		if said, ok := hex4(s); !ok || said != utf8.RuneError {
			return 0, 0
		}
	}
	return n, utf8.RuneLen(r)
}

var escapes = set(`"\/bfnrtu`)
