// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package jsontok

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// scanSeeds are texts in which the scanner could differ from the decoder.
func scanSeeds() []string {
	seeds := []string{
		`{}`, ` { } `, `{"":""}`, `{"a":1}{"b":2}`, `{"a":1} {"b":2}`, "{\"a\":1}\x00{\"b\":2}", `{"a":1},{"b":2}`, `{"a":1}]`, `{"a":1}x`, `0}`,
		`{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{"a" 1}`, `{"a":1 "b":2}`, `{"a":1;"b":2}`, `{1:2}`, `{null:1}`, `{"a":1]`, `{"a":[1}`, `{"a":[1}}`, `{"a":[1;2]}`, `{"a":{"b":1]}`,
		`{"a":[1,]}`, `{"a":[,]}`, `{"a":[ ]}`, `{"a":[1 2]}`, `{"a":[[],{},[{}]]}`, `{`, `{"`, `{"a`, `{"a"`, `{"a":`, `{"a":"`, `{"a":"\`,
		`{"a":"\u00`, `{"a":[`, `[1]`, `"a"`, `1`, ``, "\x00", `{"a":nul}`, `{"a":nulll}`, `{"a":true,"b":false,"c":null}`, `{"a":tRue}`,
		// Space of all kinds, and what is none.
		"{ \t\r\n\"a\" \t\r\n: \t\r\n[ \t\r\n1 \t\r\n, \t\r\n2 \t\r\n] \t\r\n} \t\r\n", "{\"a\":\v1}", "{\u00a0\"a\":1}", "{\"a\":1\x0c}",
		// Names.
		`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"\u0061":1,"a":2}`, `{"a":{"b":1,"b":2}}`, `{"a":{"b":1},"c":{"b":1}}`, `{"b":{"b":1}}`,
		`{"a":[{"b":1},{"b":2}]}`, `{"":1,"":2}`, `{"a\n":1,"a\n":2}`, `{"ab":1,"ba":2,"b":3}`, "{\"é\":1,\"\xc3\":2}", `{"\ud83d":1}`,
		// Both halves of a surrogate pair, one of them, and other escapes.
		`{"a":"\ud83d\ude00"}`, `{"a":"\uD83D\uDE00"}`, `{"a":"\ud83d"}`, `{"a":"\ude00"}`, `{"a":"\ud83d\ud83d"}`, `{"a":"\ud83d\u0041"}`, `{"a":"\ude00\ud83d"}`,
		`{"a":"\ud83d\n"}`, `{"a":"\ud83d`, `{"a":"\ud83d\ude0"}`, `{"a":"\ufffd\uFFFD\uffff\u0000"}`, `{"a":"\u00zz"}`, `{"a":"\u12"}`,
		`{"a":"\"\\\/\b\f\n\r\t\u00e9"}`, `{"a":"\x"}`, `{"a":"\'"}`, `{"a":"\N"}`, "{\"a\":\"\\\n\"}", "{\"a\":\"\\\xc3\xa9\"}", "{\"a\":\"\\\x00\"}", `{"a":"\\"}`, `{"a":"\\\"}`, `{"a":"\\\\"}`,
		// Bytes that a string may not have, or only in order.
		"{\"a\":\"\x00\"}", "{\"a\":\"\x1f\"}", "{\"a\":\"\x7f\"}", "{\"a\":\"\t\"}", "{\"a\":\"\n\"}", "{\"a\":\"é東😀\u2028\ufffd\ufeff\"}", "{\"a\":\"\x80\"}", "{\"a\":\"\xc3\"}",
		"{\"a\":\"\xc3\\n\xa9\"}", "{\"a\":\"\xc0\x80\"}", "{\"a\":\"\xed\xa0\x80\"}", "{\"a\":\"\xf4\x90\x80\x80\"}", "{\"a\":\"\xa2\xdc\xee\xf4\"}",
		// Characters with bytes that are a quote, a backslash, n, t or a control character but for the high bit.
		"{\"a\":\"¢\u0700\ue000\U00100000À\"}", "{\"a\":\"\\\ue000\"}", "{\"a\":\"\\\U00100000\"}", "{\"a\":\"\\¢\"}",
		"{\"a\":\"abcdefg\xff\",\"b\":1}",
	}
	for _, number := range []string{
		"0", "-0", "1", "-1", "10", "01", "-01", "-", "+1", "1.", ".1", "1.0", "0.10", "00", "1e5", "1E+5", "1e-5", "1e", "1e+", "1.e5", "1.5e05", "0e0", "0x1", "1_0", "NaN", "Infinity", "1a", "١",
		"123456789012345678901234567890", strings.Repeat("9", 400) + "e400",
	} {
		seeds = append(seeds, `{"a":`+number+`}`, `{"a":[`+number+`,`+number+` ]}`, `{"a":`+number)
	}
	for _, depth := range []int{maxScanDepth - 1, maxScanDepth, maxScanDepth + 1} {
		seeds = append(seeds,
			`{"a":`+strings.Repeat("[", depth-1)+strings.Repeat("]", depth-1)+`}`,
			strings.Repeat(`{"a":`, depth)+`1`+strings.Repeat("}", depth))
	}
	// Everything next to everything, at every offset to a word, and long enough to be in the index.
	for _, piece := range []string{`\n`, `\\`, `\"`, `\\\n`, `\\n`, `\u0041`, `\ud83d\ude00`, `é`, `東`, `\r`, `\/`, "\xff", `\`, "\x01", `"`} {
		for pad := range 9 {
			fill := strings.Repeat("x", pad)
			seeds = append(seeds,
				`{"a":"`+fill+piece+`"}`,
				`{"a":"`+fill+strings.Repeat(piece, 5)+fill+`"}`,
				`{"a":{"b" : [ "`+strings.Repeat(fill+piece+"n", 40)+`" , 1 ] },"c":"`+fill+`"}`)
		}
	}
	many := []byte("{")
	for i := range 70 {
		many = fmt.Appendf(many, `"name%d":{"name%d":%d},`, i, i+1, i)
	}
	seeds = append(seeds,
		string(many)+`"last":[]}`, string(many)+`"name7":0}`,
		`{"a":"`+strings.Repeat(`some output\n`, 1000)+`","b":["`+strings.Repeat("e", 100)+`"]}`)
	return seeds
}

// strictObject is what the decoder makes of the object that b begins with.
func strictObject(b []byte) (members []Member, end int, ok bool) {
	var s Splitter
	base := s.reset(b, 0, false)
	if s.dec.PeekKind() != '{' || b[0] != '{' {
		return nil, 0, false
	}
	end, err := s.object(base)
	return s.members, end, err == nil
}

// simple reports whether the scanner must be able to read the valid object v, and counts its parts.
func simple(v Value) bool {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	escaped := false
	for {
		if dec.StackDepth() > maxScanDepth {
			return false
		}
		kind, n := dec.StackIndex(dec.StackDepth())
		if kind == '{' && n > 2*maxScanNames {
			return false // perhaps too many names
		}
		name := kind == '{' && n%2 == 0
		raw := dec.PeekKind()
		if raw == 0 {
			return !escaped
		}
		if raw == '"' {
			s, _ := dec.ReadValue()
			escaped = escaped || name && bytes.IndexByte(s, '\\') >= 0
		} else if _, err := dec.ReadToken(); err != nil {
			return false
		}
	}
}

// checkScan compares the scanner with the decoder on one text.
func checkScan(t *testing.T, line []byte) {
	t.Helper()
	before := bytes.Clone(line)
	var s scanner
	end := s.object(line)
	members, strictEnd, ok := strictObject(line)
	if end < 0 {
		if ok && simple(line[:strictEnd]) {
			t.Fatalf("%q is simple and was not read", line[:strictEnd])
		}
		if len(s.index.spans) > 0 || s.index.line != nil {
			t.Fatalf("%q left an index", line)
		}
	} else {
		if !ok || end != strictEnd {
			t.Fatalf("%q: end %d, the decoder says %d %v", line, end, strictEnd, ok)
		}
		if !slices.EqualFunc(s.members, members, equalMembers) {
			t.Fatalf("%q: members %q, the decoder says %q", line, s.members, members)
		}
		checkSpans(t, line, &s.index)
		checkWalk(t, line[:end:end], line[:end], &s.index)
	}
	if fast, slow := allParts(line, false), allParts(line, true); !slices.Equal(fast, slow) {
		t.Fatalf("%q:\nwith scanner    %q\nwithout scanner %q", line, fast, slow)
	}
	if !bytes.Equal(line, before) {
		t.Fatal("the line was changed")
	}
}

func equalMembers(a, b Member) bool {
	return bytes.Equal(a.Name, b.Name) && bytes.Equal(a.Value, b.Value)
}

// checkSpans compares the index with what reading says.
func checkSpans(t *testing.T, line []byte, x *Index) {
	t.Helper()
	last := -1
	for _, s := range x.spans {
		if int(s.start) <= last || s.end-s.start < minSpan {
			t.Fatalf("%q: span %v after %d", line, s, last)
		}
		last = int(s.start)
		v := Value(line[s.start:s.end])
		if skipValue(line, int(s.start)) != int(s.end) {
			t.Fatalf("%q: %q is no value", line, v)
		}
		size := v.CompactLen()
		if v.Kind() == String {
			size = v.Len()
		}
		if size != int(s.size) {
			t.Fatalf("%q: size of %q is %d, not %d", line, v, size, s.size)
		}
	}
}

// checkWalk walks v, which the index does not know because its capacity is cut, and the same in the line.
func checkWalk(t *testing.T, v, known Value, x *Index) {
	t.Helper()
	if !bytes.Equal(v, known) || x.Len(known) != v.Len() || x.CompactLen(known) != v.CompactLen() {
		t.Fatalf("%q: %d %d, %q: %d %d", v, v.Len(), v.CompactLen(), known, x.Len(known), x.CompactLen(known))
	}
	o, p := v.Object(), x.Object(known)
	for o.Next() {
		if !p.Next() || !bytes.Equal(o.Name, p.Name) {
			t.Fatalf("%q: %q, not %q", v, p.Name, o.Name)
		}
		if inner := p.Object(); len(o.Name)%2 == 0 && inner.Next() {
			inner.Object() // given up
		}
		checkWalk(t, o.Value(), p.Value(), x)
	}
	a, c := v.Array(), x.Array(known)
	for a.Next() {
		if !c.Next() {
			t.Fatalf("%q: elements are missing", v)
		}
		checkWalk(t, a.Value(), c.Value(), x)
	}
	if p.Next() || c.Next() {
		t.Fatalf("%q: more elements", v)
	}
}

// allParts writes down all that is handed out for a line.
func allParts(line []byte, slow bool) (all []string) {
	s := Splitter{Known: knownTest, slow: slow}
	s.Split(line, func(p Part) {
		all = append(all, fmt.Sprintf("%d %v %q", p.Kind, p.Lenient, p.Bytes))
		for _, m := range p.Members {
			all = append(all, fmt.Sprintf("%q: %q %d %d", m.Name, m.Value, s.Index().Len(m.Value), s.Index().CompactLen(m.Value)))
		}
	})
	return all
}

func TestScanner(t *testing.T) {
	for _, seed := range scanSeeds() {
		checkScan(t, []byte(seed))
		checkScan(t, []byte(seed+seed))
	}
}

func TestScannerBounds(t *testing.T) {
	names := func(n int) []byte {
		b := []byte(`{"a":1`)
		for i := range n {
			b = fmt.Appendf(b, `,"%d":1`, i)
		}
		return append(b, '}')
	}
	for name, test := range map[string]struct {
		line []byte
		read bool
	}{
		"depth":           {[]byte(`{"a":` + strings.Repeat("[", maxScanDepth-1) + strings.Repeat("]", maxScanDepth-1) + `}`), true},
		"too deep":        {[]byte(`{"a":` + strings.Repeat("[", maxScanDepth) + strings.Repeat("]", maxScanDepth) + `}`), false},
		"names":           {names(maxScanNames / 2), true},
		"too many names":  {names(maxScanNames * 2), false},
		"escaped name":    {[]byte(`{"\u0061":1}`), false},
		"equal names":     {[]byte(`{"a":1,"a":1}`), false},
		"lone surrogate":  {[]byte(`{"a":"\ud83d"}`), false},
		"invalid UTF-8":   {[]byte("{\"a\":\"\xff\"}"), false},
		"many containers": {[]byte(`{"a":[` + strings.Repeat(`["`+strings.Repeat("x", minSpan)+`"],`, maxSpans) + `1]}`), true},
	} {
		t.Run(name, func(t *testing.T) {
			var s scanner
			if end := s.object(test.line); (end == len(test.line)) != test.read {
				t.Errorf("end %d of %d", end, len(test.line))
			}
			if len(s.index.spans) > maxSpans {
				t.Errorf("%d spans", len(s.index.spans))
			}
			if _, _, ok := strictObject(test.line); test.read && !ok {
				t.Error("the decoder refuses it")
			}
			checkScan(t, test.line)
		})
	}
}

// TestIndexKnowsItsLine asks for values of other lines, and for what an index must not mistake for its own.
func TestIndexKnowsItsLine(t *testing.T) {
	long := strings.Repeat("x", minSpan)
	line := []byte(`{"a":["` + long + `"]}`)
	var s Splitter
	s.Split(line, func(p Part) {
		x, v := s.Index(), p.Members[0].Value
		if x.find(v) == nil || x.find(p.Bytes) == nil {
			t.Error("values of the line are unknown")
		}
		for name, other := range map[string]Value{
			"absent": nil, "copy": bytes.Clone(v), "cut behind": v[: len(v)-1 : len(v)-1], "shortened": v[:len(v)-1],
			"no beginning": v[1:], "capacity of a value": append(make([]byte, 0, cap(v)), v...),
		} {
			if len(other) > 0 && name != "no beginning" && x.find(other) != nil {
				t.Errorf("%s is known", name)
			}
			if x.Len(other) != other.Len() || x.CompactLen(other) != other.CompactLen() {
				t.Errorf("%s: size %d %d", name, x.Len(other), x.CompactLen(other))
			}
		}
	})
	if s.Index().find(line) != nil || s.scan.index.line != nil {
		t.Error("the line is still known")
	}
}

func TestSplitAllocatesNothing(t *testing.T) {
	line := []byte(`{"type":"user","message":{"content":[{"type":"tool_result","content":"` + strings.Repeat(`some output\n`, 1000) + `"}]}}`)
	var s Splitter
	if n := testing.AllocsPerRun(100, func() { s.Split(line, func(Part) {}) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzScanner is what allows the scanner to stand in front of the decoder: what it reads, the decoder
// reads in the same way, and with or without it the same parts are handed out.
func FuzzScanner(f *testing.F) {
	for _, seed := range scanSeeds() {
		f.Add([]byte(seed))
	}
	f.Fuzz(checkScan)
}
