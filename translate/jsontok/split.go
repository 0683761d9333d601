// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package jsontok

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// PartKind says what a part of a line is.
type PartKind uint8

// The kinds of parts.
const (
	PartObject PartKind = iota // one complete object
	PartValues                 // a run of complete values that are no objects
	PartTorn                   // begins as an object, but is none
	PartText                   // no JSON
)

// Part is one piece of a line. Bytes alias the line.
type Part struct {
	Kind    PartKind
	Bytes   []byte
	Members []Member // of an object, in input order; only good until the next part
	// Lenient says that the strict reading refused the object: it has duplicate names, of which the
	// last should win, or text that is no valid UTF-8.
	Lenient bool
}

// Member is one member of an object.
type Member struct {
	Name  []byte // unescaped
	Value Value
}

// Splitter splits lines into parts. It is not safe for concurrent use; the zero value is ready.
type Splitter struct {
	// Known says whether an object that begins in the middle of broken text may be a record, given its
	// members; nil refuses all. Without it, a cut record would be taken for the last of its blocks.
	Known func([]Member) bool

	scan    scanner
	slow    bool // without the scanner; a test compares
	dec     *jsontext.Decoder
	buf     bytes.Buffer
	members []Member
	waste   int // bytes that may still be read in vain
}

var (
	strict  = []jsontext.Options{jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false)}
	lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
)

// maxTries bounds the search for one record in broken text; maxWaste bounds, in lengths of the line,
// how many bytes may be read in vain before the rest of a line is given up. Together they keep a line
// that was made to be slow linear.
const (
	maxTries = 64
	maxWaste = 16
)

// keepMembers is how large a member list may be to be reused; a larger one is an oddity of one line.
const keepMembers = 1 << 12

// Split calls yield for every part of line, in order. Blank lines and runs of NUL bytes give none. A
// value that strict reading refuses is read leniently; where that fails too, complete records inside
// of the broken text are still found, and what is between them is torn or text.
func (s *Splitter) Split(line []byte, yield func(Part)) {
	defer s.release()
	s.waste = maxWaste * len(line)
	for rest := trim(line); len(rest) > 0; {
		if rest = rest[s.simple(rest, yield):]; len(rest) == 0 {
			return
		}
		rest = bytes.TrimLeft(rest[s.values(rest, yield):], " \t\r\n")
		if len(rest) > 0 && rest[0] == 0 {
			rest = trim(rest) // NUL bytes break nothing
			continue
		}
		if len(rest) == 0 {
			return
		}
		rest = trim(rest[s.broken(rest, yield):])
	}
}

// release forgets the line, so that a long one is not kept alive by an idle splitter.
func (s *Splitter) release() {
	s.buf = bytes.Buffer{}
	s.members, s.scan.members = forget(s.members), forget(s.scan.members)
	s.scan.index.reset(nil)
}

func forget(members []Member) []Member {
	if cap(members) > keepMembers {
		return nil
	}
	clear(members[:cap(members)])
	return members[:0]
}

// Index is good while yield is called, for all values of the line.
func (s *Splitter) Index() *Index { return &s.scan.index }

// simple yields the objects at the beginning of b that the scanner can read and returns the offset after
// them and the space that follows.
func (s *Splitter) simple(b []byte, yield func(Part)) int {
	done := 0
	for done < len(b) && !s.slow {
		end := s.scan.object(b[done:])
		if end < 0 {
			break
		}
		yield(Part{Kind: PartObject, Bytes: b[done : done+end], Members: s.scan.members})
		for done += end; done < len(b) && isSpace(b[done]); {
			done++
		}
	}
	return done
}

// values yields the complete values at the beginning of b and returns the offset after the last part
// that it yielded. What follows there is broken, or nothing.
func (s *Splitter) values(b []byte, yield func(Part)) int {
	done := 0 // everything before it has been yielded
	run := -1 // start of a run of values that are no objects; yielded once it is known to be no text
	base := s.reset(b, 0, false)
	for {
		start, kind, err := s.peek(base)
		if err != nil {
			if errors.Is(err, io.EOF) && run >= 0 {
				yield(Part{Kind: PartValues, Bytes: bytes.TrimRight(b[run:], space)})
				return len(b)
			}
			return done
		}
		if kind != '{' {
			if err := s.dec.SkipValue(); err != nil {
				s.wasted(b[start:], err)
				base = s.reset(b, start, true)
				if err := s.dec.SkipValue(); err != nil {
					s.wasted(b[start:], err)
					return done
				}
				base = s.reset(b, base+int(s.dec.InputOffset()), false)
			}
			if run < 0 {
				run = start
			}
			continue
		}
		part := Part{Kind: PartObject}
		end, err := s.object(base)
		if err != nil {
			s.wasted(b[start:], err)
			base = s.reset(b, start, true)
			part.Lenient = true
			if end, err = s.object(base); err != nil {
				s.wasted(b[start:], err)
				if run >= 0 && run < start {
					yield(Part{Kind: PartText, Bytes: bytes.TrimRight(b[run:start], space)})
					done = start
				}
				return done
			}
		}
		if run >= 0 {
			yield(Part{Kind: PartValues, Bytes: bytes.TrimRight(b[run:start], space)})
			run = -1
		}
		part.Bytes, part.Members = b[start:end], s.members
		yield(part)
		done = end
		if part.Lenient {
			base = s.reset(b, end, false)
		}
	}
}

// broken yields the broken text at the beginning of b up to the next complete record in it, and that
// record; it returns the offset after them.
func (s *Splitter) broken(b []byte, yield func(Part)) int {
	for at, tries := 1, 0; s.Known != nil && tries < maxTries && s.waste > 0; at++ {
		k := bytes.Index(b[min(at, len(b)):], opening)
		if k < 0 {
			break
		}
		at += k
		if !s.envelope(b[at:]) {
			continue
		}
		tries++
		base := s.reset(b, at, true)
		end, err := s.object(base)
		if err != nil {
			s.wasted(b[at:], err)
			continue
		}
		if !s.Known(s.members) {
			s.waste -= end - at
			continue
		}
		yield(broken(b[:at]))
		yield(Part{Kind: PartObject, Bytes: b[at:end], Members: s.members, Lenient: true})
		return end
	}
	yield(broken(b))
	return len(b)
}

// wasted counts what was read of b before err.
func (s *Splitter) wasted(b []byte, err error) {
	n := int64(len(b))
	if syntactic := (*jsontext.SyntacticError)(nil); errors.As(err, &syntactic) {
		n = min(n, syntactic.ByteOffset)
	}
	s.waste -= int(n)
}

func broken(b []byte) Part {
	kind := PartText
	if b[0] == '{' {
		kind = PartTorn
	}
	return Part{Kind: kind, Bytes: bytes.TrimRight(b, space)}
}

// envelopes are the first names of records; a block or an input seldom begins with one. The search
// for records in broken text starts only there, so that it does not try each nested object.
var envelopes = [][]byte{
	[]byte(`parentUuid"`), []byte(`parent_tool_use_id"`), []byte(`session_id"`), []byte(`sessionId"`),
	[]byte(`uuid"`), []byte(`message"`), []byte(`timestamp"`), []byte(`isSidechain"`), []byte(`subtype"`), []byte(`duration_ms"`),
	[]byte(`is_error"`), []byte(`event"`), []byte(`cwd"`), []byte(`promptId"`), []byte(`ts"`), []byte(`isMeta"`),
}

var opening = []byte(`{"`)

// typed is how an object begins that names its type first.
var typed = []byte(`{"type":"`)

// envelope reports whether b begins as a record may. Where the type comes first, its value tells
// records from blocks at once.
func (s *Splitter) envelope(b []byte) bool {
	if bytes.HasPrefix(b, typed) {
		end := skipString(b, len(typed)-1)
		return s.Known([]Member{{Name: b[2:6], Value: b[len(typed)-1 : end]}})
	}
	for _, e := range envelopes {
		if bytes.HasPrefix(b[len(opening):], e) {
			return true
		}
	}
	return false
}

// reset makes the decoder read b from offset at and returns at, the base of its offsets.
func (s *Splitter) reset(b []byte, at int, relaxed bool) int {
	// The decoder reads a bytes.Buffer in place; nothing is copied and nothing is written to it.
	s.buf = *bytes.NewBuffer(b[at:])
	options := strict
	if relaxed {
		options = lenient
	}
	if s.dec == nil {
		s.dec = jsontext.NewDecoder(&s.buf)
	}
	s.dec.Reset(&s.buf, options...)
	return at
}

// peek finds the start and the kind of the next value.
func (s *Splitter) peek(base int) (int, jsontext.Kind, error) {
	kind := s.dec.PeekKind()
	if kind == 0 {
		_, err := s.dec.ReadToken()
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return 0, 0, err
	}
	unread := s.dec.UnreadBuffer()
	skip := 0
	for skip < len(unread) && isSpace(unread[skip]) {
		skip++
	}
	return base + int(s.dec.InputOffset()) + skip, kind, nil
}

// object reads one object into members and returns the offset after it.
func (s *Splitter) object(base int) (int, error) {
	s.members = s.members[:0]
	if _, err := s.dec.ReadToken(); err != nil {
		return 0, err
	}
	for s.dec.PeekKind() == '"' {
		name, err := s.dec.ReadValue()
		if err != nil {
			return 0, err
		}
		value, err := s.dec.ReadValue()
		if err != nil {
			return 0, err
		}
		s.members = append(s.members, Member{Name: unescapedName(Value(name)), Value: Value(value)})
	}
	if tok, err := s.dec.ReadToken(); err != nil {
		return 0, err
	} else if tok.Kind() != '}' {
		return 0, io.ErrUnexpectedEOF
	}
	return base + int(s.dec.InputOffset()), nil
}

const space = " \t\r\n\x00"

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// trim cuts what separates parts: space, NUL bytes (sparse and half-written files), a byte order mark.
func trim(b []byte) []byte {
	if len(b) > 0 && b[0] == '{' && b[len(b)-1] == '}' {
		return b // nearly every line
	}
	b = bytes.TrimLeft(b, space)
	if rest, ok := bytes.CutPrefix(b, []byte("\xef\xbb\xbf")); ok {
		b = bytes.TrimLeft(rest, space)
	}
	return bytes.TrimRight(b, space)
}
