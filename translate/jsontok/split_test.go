// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package jsontok

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// knownTest takes objects of type user and assistant for records.
func knownTest(members []Member) bool {
	for _, m := range members {
		if string(m.Name) == "type" {
			return string(m.Value) == `"user"` || string(m.Value) == `"assistant"`
		}
	}
	return false
}

// parts splits line and writes each part as its kind and its bytes.
func parts(line string) []string {
	s := Splitter{Known: knownTest}
	var got []string
	s.Split([]byte(line), func(p Part) {
		kind := [...]string{PartObject: "object", PartValues: "values", PartTorn: "torn", PartText: "text"}[p.Kind]
		if p.Lenient {
			kind += "~"
		}
		got = append(got, kind+" "+string(p.Bytes))
	})
	return got
}

func TestSplit(t *testing.T) {
	for name, test := range map[string]struct {
		line string
		want []string
	}{
		"blank":                     {" \t\r\n", nil},
		"one object":                {`{"a":1}`, []string{`object {"a":1}`}},
		"line end":                  {"{\"a\":1}\r\n", []string{`object {"a":1}`}},
		"byte order mark":           {"\xef\xbb\xbf{\"a\":1}", []string{`object {"a":1}`}},
		"leading NULs":              {"\x00\x00{\"a\":1}", []string{`object {"a":1}`}},
		"NULs between and after":    {"{\"a\":1}\x00\x00{\"b\":2}\x00", []string{`object {"a":1}`, `object {"b":2}`}},
		"only NULs":                 {"\x00\x00\x00", nil},
		"two objects":               {`{"a":1}{"b":2}`, []string{`object {"a":1}`, `object {"b":2}`}},
		"two objects and space":     {`{"a":1}  {"b":2}`, []string{`object {"a":1}`, `object {"b":2}`}},
		"empty object":              {`{}`, []string{`object {}`}},
		"array":                     {`[1,{"type":"user"}]`, []string{`values [1,{"type":"user"}]`}},
		"string":                    {`"x"`, []string{`values "x"`}},
		"number":                    {`12`, []string{`values 12`}},
		"null":                      {`null`, []string{`values null`}},
		"run of values":             {`1 "a" null`, []string{`values 1 "a" null`}},
		"values around an object":   {`1 {"a":1} 2`, []string{`values 1`, `object {"a":1}`, `values 2`}},
		"text":                      {`npm warn deprecated`, []string{`text npm warn deprecated`}},
		"text that begins as value": {`"type": "message",`, []string{`text "type": "message",`}},
		"time of day":               {`2026-11-30 12:00 start`, []string{`text 2026-11-30 12:00 start`}},
		"escape codes":              {"\x1b[2J[3J", []string{"text \x1b[2J[3J"}},
		"marker in brackets":        {`[notice] not json`, []string{`text [notice] not json`}},
		"open brace":                {`{`, []string{`torn {`}},
		"closing brace":             {`}`, []string{`text }`}},
		"cut object":                {`{"type":"user","message":{"conte`, []string{`torn {"type":"user","message":{"conte`}},
		"cut object, then a record": {
			`{"type":"user","text":"abc{"type":"user","n":1}`,
			[]string{`torn {"type":"user","text":"abc`, `object~ {"type":"user","n":1}`},
		},
		"cut object, record with another first key": {
			`{"type":"user","te{"parentUuid":null,"type":"user"}`,
			[]string{`torn {"type":"user","te`, `object~ {"parentUuid":null,"type":"user"}`},
		},
		"cut object, record, cut object": {
			`{"a":{"type":"user"}{"type":"ass`,
			[]string{`torn {"a":`, `object~ {"type":"user"}`, `torn {"type":"ass`},
		},
		"cut object that ends with a block": {
			`{"type":"user","message":{"content":[{"type":"text","text":"a"}`,
			[]string{`torn {"type":"user","message":{"content":[{"type":"text","text":"a"}`},
		},
		"text, then a record": {`npm warn {"type":"user"}`, []string{`text npm warn`, `object~ {"type":"user"}`}},
		"record, then text":   {`{"a":1} npm warn`, []string{`object {"a":1}`, `text npm warn`}},
		"quoted record in a cut string": {
			`{"type":"user","text":"{\"type\":\"user\"}`,
			[]string{`torn {"type":"user","text":"{\"type\":\"user\"}`},
		},
		"duplicate names":       {`{"a":1,"a":2}`, []string{`object~ {"a":1,"a":2}`}},
		"inner duplicate names": {`{"a":{"b":1,"b":2}}`, []string{`object~ {"a":{"b":1,"b":2}}`}},
		"invalid UTF-8":         {"{\"a\":\"\xff\"}", []string{"object~ {\"a\":\"\xff\"}"}},
		"lone surrogate":        {`{"a":"\ud83d"}`, []string{`object~ {"a":"\ud83d"}`}},
		"strict after lenient":  {`{"a":"\ud83d"}{"b":1}`, []string{`object~ {"a":"\ud83d"}`, `object {"b":1}`}},
		"invalid UTF-8, array":  {"[\"\xff\"]", []string{"values [\"\xff\"]"}},
		"trailing comma":        {`{"a":1,}`, []string{`torn {"a":1,}`}},
		"single quotes":         {`{'a':1}`, []string{`torn {'a':1}`}},
		"control character":     {"{\"a\":\"\x01\"}", []string{"torn {\"a\":\"\x01\"}"}},
		"not a number":          {`{"a":NaN}`, []string{`torn {"a":NaN}`}},
		"leading zero":          {`{"a":01}`, []string{`torn {"a":01}`}},
		"line separator":        {"{\"a\":\"\u2028\"}", []string{"object {\"a\":\"\u2028\"}"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := parts(test.line); !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestSplitterIsReusable(t *testing.T) {
	s := Splitter{Known: knownTest}
	for range 2 {
		for _, line := range []string{`{"a":`, `{"a":"\ud83d"}`, `{"a":1}`, `text`} {
			var got []string
			s.Split([]byte(line), func(p Part) { got = append(got, string(p.Bytes)) })
			if want := []string{line}; !slices.Equal(got, want) {
				t.Fatalf("got %q, want %q", got, want)
			}
		}
	}
}

// TestHostileLines has lines that are made to be slow. Each would take minutes if it were quadratic.
func TestHostileLines(t *testing.T) {
	const size = 2 << 20
	for name, unit := range map[string]string{
		"arrays":                     `[`,
		"objects":                    `{"a":`,
		"envelopes":                  `{"uuid":`,
		"open arrays":                `{"uuid":[{"type":"user"},`,
		"records between open ones":  `{"type":"user"}{"uuid":[`,
		"records between open lists": `[{"type":"user"},`,
		"cut records":                `{"type":"user","message":{"uuid":"`,
		"opening quotes":             `{"`,
		"backslashes":                `"\\`,
		"empty objects":              `{}`,
		"numbers":                    `1 `,
		"surrogates":                 `{"a":"\ud83d"}`,
		"duplicates":                 `{"a":1,"a":1}`,
		"closing brackets":           `}`,
	} {
		t.Run(name, func(t *testing.T) {
			line := []byte(strings.Repeat(unit, size/len(unit)))
			begin := time.Now()
			s := Splitter{Known: knownTest}
			s.Split(line, func(Part) {})
			if took := time.Since(begin); took > time.Minute {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestDeepNesting(t *testing.T) {
	for _, depth := range []int{100, 9_000, 11_000, 1_000_000} {
		t.Run(strconv.Itoa(depth), func(t *testing.T) {
			line := []byte(`{"a":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + "}")
			n := 0
			s := Splitter{}
			s.Split(line, func(p Part) {
				n++
				for _, m := range p.Members {
					if m.Value.CompactLen() != 2*depth {
						t.Error("value was cut")
					}
				}
			})
			if n != 1 {
				t.Errorf("%d parts", n)
			}
		})
	}
}

func FuzzSplit(f *testing.F) {
	for _, seed := range []string{`{"a":1}{"b":"\ud83d"}`, `x {"type":"user"}`, `{"type":"user","a":[{"type":"assistant"`, "\x00{}", `1 2 {"a":1,"a":2} [`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		s := Splitter{Known: knownTest}
		before := bytes.Clone(line)
		end := 0
		s.Split(line, func(p Part) {
			// The parts stand in order and do not overlap.
			at := bytes.Index(line[end:], p.Bytes)
			if at < 0 || len(p.Bytes) == 0 {
				t.Fatalf("part %q is not in the rest of the line", p.Bytes)
			}
			end += at + len(p.Bytes)
			if p.Kind != PartObject {
				return
			}
			// A walk over the object finds the same members.
			i := 0
			for o := Value(p.Bytes).Object(); o.Next(); i++ {
				if i >= len(p.Members) || !bytes.Equal(o.Name, p.Members[i].Name) || !bytes.Equal(o.Value(), p.Members[i].Value) {
					t.Fatalf("member %d of %q differs: %q %q", i, p.Bytes, o.Name, o.Value())
				}
			}
			if i != len(p.Members) {
				t.Fatalf("%d members of %d in %q", i, len(p.Members), p.Bytes)
			}
		})
		if !bytes.Equal(line, before) {
			t.Fatal("the line was changed")
		}
	})
}
