// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package jsontok

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for _, test := range []struct{ raw, want string }{
		{`""`, ""},
		{`"abc"`, "abc"},
		{`"a\nb\t\"\\\/\b\f\r"`, "a\nb\t\"\\/\b\f\r"},
		{`"\u00e9\u20AC"`, "é€"},
		{`"\ud83d\ude00"`, "😀"},
		{`"\ud83d"`, "\ufffd"},
		{`"\ud83dx"`, "\ufffdx"},
		{`"\ud83d\n"`, "\ufffd\n"},
		{`"\ud83d\ud83d\ude00"`, "\ufffd😀"},
		{`"\ude00"`, "\ufffd"},
		{`"\\u0041"`, `\u0041`},
		{"\"\xff\xfe\"", "\ufffd\ufffd"},
		{"\"a\xe2\x82\"", "a\ufffd\ufffd"},
		{"\"\xed\xa0\xbd\"", "\ufffd\ufffd\ufffd"},
		{"\"\u2028\"", "\u2028"},
	} {
		v := Value(test.raw)
		got, ok := v.Text()
		if !ok || got != test.want {
			t.Errorf("%s: text %q, want %q", test.raw, got, test.want)
		}
		if n := v.Len(); n != len(test.want) {
			t.Errorf("%s: length %d, want %d", test.raw, n, len(test.want))
		}
		if head := string(v.Head(nil, 1<<10)); head != test.want {
			t.Errorf("%s: head %q, want %q", test.raw, head, test.want)
		}
	}
	for _, raw := range []string{"", "null", "12", "{}", `["a"]`} {
		if s, ok := Value(raw).Text(); ok || s != "" || Value(raw).Len() != 0 {
			t.Errorf("%q has a text", raw)
		}
	}
}

// TestLenOfMixedEscapes puts all pieces next to all others, at every offset to a word of eight bytes.
func TestLenOfMixedEscapes(t *testing.T) {
	pieces := []string{``, `a`, `u`, `\n`, `\"`, `\\`, `\\u`, `\u0041`, `\ud83d\ude00`, `é`, `abcdefgh`, "\xff", `\ud800`}
	for _, a := range pieces {
		for _, b := range pieces {
			for _, c := range pieces {
				for pad := range 9 {
					v := Value(`"` + strings.Repeat("x", pad) + a + b + c + `"`)
					if s, _ := v.Text(); len(s) != v.Len() {
						t.Fatalf("%s: length %d of %q", v, v.Len(), s)
					}
				}
			}
		}
	}
}

func TestLines(t *testing.T) {
	for raw, want := range map[string]int{
		`""`: 0, `"a"`: 1, `"a\n"`: 1, `"a\nb"`: 2, `"a\n\nb\n"`: 3, `"\n"`: 1, `"\\n"`: 1, `"\u000aa"`: 2, `"\""`: 1, `null`: 0,
	} {
		if got := Value(raw).Lines(); got != want {
			t.Errorf("%s: %d, want %d", raw, got, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for raw, want := range map[string]struct {
		i    int64
		iok  bool
		u    uint64
		uok  bool
		f    float64
		okay bool
	}{
		"0":                    {0, true, 0, true, 0, true},
		"-1":                   {-1, true, 0, false, -1, true},
		"5.0":                  {5, true, 0, false, 5, true},
		"5.5":                  {0, false, 0, false, 5.5, true},
		"1e3":                  {1000, true, 0, false, 1000, true},
		"9223372036854775807":  {math.MaxInt64, true, math.MaxInt64, true, math.MaxInt64, true},
		"18446744073709551615": {0, false, math.MaxUint64, true, math.MaxUint64, true},
		"1e400":                {0, false, 0, false, 0, false},
		`"1"`:                  {},
		"true":                 {},
		"":                     {},
	} {
		v := Value(raw)
		if i, ok := v.Int(); i != want.i || ok != want.iok {
			t.Errorf("%s: Int %d %v", raw, i, ok)
		}
		if u, ok := v.Uint(); ok != want.uok || ok && u != want.u {
			t.Errorf("%s: Uint %d %v", raw, u, ok)
		}
		if f, ok := v.Float(); ok != want.okay || ok && f != want.f {
			t.Errorf("%s: Float %v %v", raw, f, ok)
		}
	}
}

func TestCompact(t *testing.T) {
	for raw, want := range map[string]string{
		` { "a b" : [ 1 , 2 ] , "c" : "\" x" } `: `{"a b":[1,2],"c":"\" x"}`,
		"{\n}":                                   "{}",
		`"a b"`:                                  `"a b"`,
	} {
		if got := string(Value(raw).AppendCompact(nil)); got != want {
			t.Errorf("%s: %s", raw, got)
		}
		if n := Value(raw).CompactLen(); n != len(want) {
			t.Errorf("%s: %d", raw, n)
		}
	}
}

func TestNestedWalks(t *testing.T) {
	v := Value(`{"a":[{"x":1,"y":[2,3]},{"x":4}],"b":{"c":{}, "d":[] },"e":"f"}`)
	var got []string
	for o := v.Object(); o.Next(); {
		got = append(got, string(o.Name))
		for a := o.Array(); a.Next(); {
			for m := a.Object(); m.Next(); {
				got = append(got, string(m.Name)+"="+string(m.Value()))
			}
			got = append(got, string(a.Value()))
		}
		for m := o.Object(); m.Next(); {
			got = append(got, string(m.Name))
			break // given up: the walk around it finds its own way
		}
		got = append(got, string(o.Value()))
	}
	want := `a x=1 y=[2,3] {"x":1,"y":[2,3]} x=4 {"x":4} [{"x":1,"y":[2,3]},{"x":4}] b c {"c":{}, "d":[] } e "f"`
	if s := strings.Join(got, " "); s != want {
		t.Errorf("got  %s\nwant %s", s, want)
	}
}

func TestNestedWalkGivenUpUnread(t *testing.T) {
	n := 0
	for a := Value(`[[1,[2]],[3],4]`).Array(); a.Next(); n++ {
		for b := a.Array(); b.Next(); {
			for c := b.Array(); c.Next(); {
				break
			}
			break
		}
	}
	if n != 3 {
		t.Errorf("%d elements", n)
	}
}

// build makes of v what encoding/json makes of it.
func build(v Value) any {
	switch v.Kind() {
	case ObjectKind:
		m := map[string]any{}
		for o := v.Object(); o.Next(); {
			m[Valid(o.Name)] = build(o.Value())
		}
		return m
	case ArrayKind:
		s := []any{}
		for a := v.Array(); a.Next(); {
			s = append(s, build(a.Value()))
		}
		return s
	case String:
		s, _ := v.Text()
		return s
	case Number:
		return json.Number(v)
	case Bool:
		return v.True()
	default:
		return nil
	}
}

// FuzzValue compares walks with encoding/json, and checks that walks over no JSON end.
func FuzzValue(f *testing.F) {
	for _, seed := range []string{`{"a":[1,{"b":null}],"c":"\ud83d\ude00\n"}`, `[`, `{"a" "b"}`, `[}]`, `"\`, `[,]`, `{"\u0061":1}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		split := Splitter{}
		split.Split(raw, func(p Part) {
			if p.Kind != PartObject || len(p.Bytes) > 1<<12 {
				return
			}
			var want any
			dec := json.NewDecoder(strings.NewReader(string(p.Bytes)))
			dec.UseNumber()
			if err := dec.Decode(&want); err != nil {
				return // encoding/json limits depth elsewhere
			}
			if got := build(p.Bytes); !p.Lenient && !reflect.DeepEqual(got, want) {
				t.Fatalf("%q: got %#v, want %#v", p.Bytes, got, want)
			}
		})
		v := Value(raw)
		s, ok := v.Text()
		if n := v.Len(); ok && (!utf8.ValidString(s) || len(s) != n && json.Valid(raw)) {
			t.Fatalf("%q: length %d of %q", raw, n, s)
		}
		if n := len(v.AppendCompact(nil)); n != v.CompactLen() {
			t.Fatalf("%q: compact %d, %d", raw, n, v.CompactLen())
		}
		v.Lines()
		drain(v, 0)
	})
}

// drain walks whatever it is given, nested and to the end.
func drain(v Value, depth int) {
	if depth > 64 {
		return
	}
	for o := v.Object(); o.Next(); {
		for a := o.Array(); a.Next(); {
			drain(a.Value(), depth+1)
		}
		for m := o.Object(); m.Next(); {
			drain(m.Value(), depth+1)
		}
		o.Value()
	}
	for a := v.Array(); a.Next(); {
		drain(a.Value(), depth+1)
	}
}
