// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package jsontok

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// Len is the size of the text of a string in UTF-8 bytes, 0 for any other kind. Text that is no
// valid UTF-8 counts as what AppendText makes of it. Nothing is copied.
func (v Value) Len() int {
	s, ok := v.quoted()
	if !ok {
		return 0
	}
	backslashes := bytes.Count(s, backslash)
	if backslashes == 0 {
		return validLen(s)
	}
	if plainEscapes(s) && utf8.Valid(s) {
		return len(s) - backslashes
	}
	n := 0
	for {
		k := bytes.IndexByte(s, '\\')
		if k < 0 {
			return n + validLen(s)
		}
		n += validLen(s[:k])
		size, r := escape(s[k:])
		n += utf8.RuneLen(r)
		s = s[k+size:]
	}
}

var backslash = []byte{'\\'}

// plainEscapes reports whether every escape of s is a backslash and one byte that stands for one byte,
// and none is that of a backslash: then each backslash is one byte that the text does not have. Source
// code has an escape every dozen bytes, so they are not looked at one by one but eight bytes at a time.
// It may report false for a text that has only such escapes.
func plainEscapes(s []byte) bool {
	const (
		ones  = 0x0101010101010101
		slash = '\\' * ones
		u     = 'u' * ones
	)
	// zeros has the high bit of each byte of x that is zero, perhaps also of a byte above one.
	zeros := func(x uint64) uint64 { return (x - ones) & ^x & (0x80 * ones) }
	found := uint64(0)
	i := 0
	for ; i+9 <= len(s); i += 8 {
		x := binary.LittleEndian.Uint64(s[i:])
		next := binary.LittleEndian.Uint64(s[i+1:])
		found |= zeros(x^slash) & (zeros(next^slash) | zeros(next^u))
	}
	for ; i+1 < len(s); i++ {
		if s[i] == '\\' && (s[i+1] == '\\' || s[i+1] == 'u') {
			return false
		}
	}
	return found == 0
}

// Lines is the number of lines of a string's text; a newline at its end begins no further one.
func (v Value) Lines() int {
	s, ok := v.quoted()
	if !ok || len(s) == 0 {
		return 0
	}
	n, open := 0, true
	for len(s) > 0 {
		k := bytes.IndexByte(s, '\\')
		if k < 0 {
			open = true
			break
		}
		size, r := escape(s[k:])
		if open = r != '\n'; !open {
			n++
		}
		s = s[k+size:]
	}
	if open {
		n++
	}
	return n
}

// AppendText appends the text of a string. Invalid bytes and lone surrogates become U+FFFD, each one
// of its own. A value of another kind appends nothing.
func (v Value) AppendText(dst []byte) []byte {
	s, _ := v.quoted()
	for {
		k := bytes.IndexByte(s, '\\')
		if k < 0 {
			return appendValid(dst, s)
		}
		dst = appendValid(dst, s[:k])
		size, r := escape(s[k:])
		dst = utf8.AppendRune(dst, r)
		s = s[k+size:]
	}
}

// Text is the text of a string; ok is false for any other kind.
func (v Value) Text() (s string, ok bool) {
	raw, ok := v.quoted()
	if !ok {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 && utf8.Valid(raw) {
		return string(raw), true
	}
	return string(v.AppendText(make([]byte, 0, len(raw)))), true
}

// Head appends at most about n bytes of the text of a string, whole characters only.
func (v Value) Head(dst []byte, n int) []byte {
	s, _ := v.quoted()
	for len(s) > 0 && len(dst) < n {
		if s[0] == '\\' {
			size, r := escape(s)
			dst = utf8.AppendRune(dst, r)
			s = s[size:]
			continue
		}
		r, size := utf8.DecodeRune(s)
		dst = utf8.AppendRune(dst, r)
		s = s[size:]
	}
	return dst
}

// Plain is the text between the quotes of a string without escapes: no copy, but perhaps no valid
// UTF-8. ok is false for strings with escapes and for other kinds.
func (v Value) Plain() (s []byte, ok bool) {
	s, ok = v.quoted()
	return s, ok && bytes.IndexByte(s, '\\') < 0
}

// Valid makes a text valid UTF-8 as AppendText does.
func Valid(s []byte) string {
	if utf8.Valid(s) {
		return string(s)
	}
	return string(appendValid(make([]byte, 0, len(s)+8), s))
}

func (v Value) quoted() ([]byte, bool) {
	if len(v) < 2 || v[0] != '"' {
		return nil, false
	}
	return v[1 : len(v)-1], true
}

func unescapedName(v Value) []byte {
	s, ok := v.Plain()
	if !ok {
		return v.AppendText(nil)
	}
	return s
}

// escape reads the escape sequence that s begins with.
func escape(s []byte) (size int, r rune) {
	if len(s) < 2 {
		return len(s), utf8.RuneError
	}
	switch s[1] {
	case 'n':
		return 2, '\n'
	case 't':
		return 2, '\t'
	case 'r':
		return 2, '\r'
	case 'b':
		return 2, '\b'
	case 'f':
		return 2, '\f'
	case 'u':
		r, ok := hex4(s)
		if !ok {
			return min(len(s), 6), utf8.RuneError
		}
		if !utf16.IsSurrogate(r) {
			return 6, r
		}
		if low, ok := hex4(s[6:]); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return 12, pair
			}
		}
		return 6, utf8.RuneError
	default: // quote, backslash, slash
		return 2, rune(s[1])
	}
}

// hex4 reads \uXXXX at the beginning of s.
func hex4(s []byte) (r rune, ok bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	for _, c := range s[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

func validLen(s []byte) int {
	if utf8.Valid(s) {
		return len(s)
	}
	n := 0
	for len(s) > 0 {
		r, size := utf8.DecodeRune(s)
		n += utf8.RuneLen(r)
		s = s[size:]
	}
	return n
}

func appendValid(dst, s []byte) []byte {
	if utf8.Valid(s) {
		return append(dst, s...)
	}
	for len(s) > 0 {
		r, size := utf8.DecodeRune(s)
		dst = utf8.AppendRune(dst, r)
		s = s[size:]
	}
	return dst
}
