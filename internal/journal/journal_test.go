// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/internal/voice"
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/decode/decodetest"
	"github.com/otelcol-agents/otelcol-agents/translate/price"
	"github.com/otelcol-agents/otelcol-agents/translate/redact"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

// filler fills values of any type of a record: with random values that are not zero, or so that they are
// there and zero.
type filler struct {
	*rand.Rand

	zero bool
	met  map[reflect.Type]bool // of structs
}

func (f *filler) text() string {
	var b strings.Builder
	for range 1 + f.IntN(5) {
		b.WriteRune([]rune{'a', '"', '\\', 0, '\n', 'é', '\u2028', 0xfffd, 0x1f600, 0x7f, '<'}[f.IntN(11)])
	}
	return b.String()
}

func (f *filler) fill(v reflect.Value, deep int) {
	switch v.Kind() {
	case reflect.Pointer:
		if deep > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), deep-1)
		}
	case reflect.Struct:
		f.met[v.Type()] = true
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; f.zero && name == "OK" {
				v.Field(i).SetBool(true)
				continue
			}
			f.fill(v.Field(i), deep)
		}
	case reflect.Slice:
		n := 0
		if !f.zero && deep > 0 {
			n = 1 + f.IntN(3)
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i), deep-1)
		}
	case reflect.Interface:
		v.Set(reflect.ValueOf([]any{f.text(), f.Uint32()%2 == 0, int64(f.Uint64()), f.NormFloat64(), 7.0, math.Inf(1)}[f.IntN(6)]))
	default:
		if !f.zero {
			f.scalar(v)
		}
	}
}

func (f *filler) scalar(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.text())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(f.Uint64() | 1))
	case reflect.Uint64:
		v.SetUint(f.Uint64() | 1)
	case reflect.Uint8:
		v.SetUint(1 + f.Uint64N(255))
	case reflect.Float64:
		v.SetFloat(f.NormFloat64() * math.Exp(f.NormFloat64()*100))
	default:
		panic("no rule for " + v.Type().String())
	}
}

func (f *filler) entry() Entry {
	e := Entry{Opening: &Opening{}}
	f.fill(reflect.ValueOf(e.Opening).Elem(), 4)
	e.Opening.Format, e.Opening.Agent = "claude_code", "claude-code"
	for range 1 + f.IntN(4) {
		s := voice.Said{Format: "codex_exec", Agent: f.text(), Units: make([]translate.Decoded, 1+f.IntN(3))}
		if f.IntN(2) == 0 {
			s.Format, s.Agent, s.Derived = e.Opening.Format, e.Opening.Agent, f.text()
		}
		for i := range s.Units {
			if f.IntN(4) == 0 {
				s.Units[i].Diagnostic = new(translate.Diagnostic)
				f.fill(reflect.ValueOf(s.Units[i].Diagnostic).Elem(), 6)
			} else {
				s.Units[i].Record = new(translate.Record)
				f.fill(reflect.ValueOf(s.Units[i].Record).Elem(), 6)
			}
		}
		e.Said = append(e.Said, s)
	}
	return e
}

// TestEveryField fills whatever types records consist of, now and later.
func TestEveryField(t *testing.T) {
	for name, zero := range map[string]bool{"random values": false, "zeros that are there": true} {
		t.Run(name, func(t *testing.T) {
			f := filler{Rand: rand.New(rand.NewPCG(5, 1)), zero: zero, met: map[reflect.Type]bool{}}
			for range 10 {
				e := f.entry()
				data, err := Encode(&e, decodetest.Everything)
				require.NoError(t, err)
				got, err := Decode(data)
				require.NoError(t, err)
				require.Equal(t, e, got)
			}
			for typ := range below(t, reflect.TypeFor[translate.Decoded]()) {
				if !zero && typ.Kind() == reflect.Struct && typ != reflect.TypeFor[translate.Decoded]() {
					assert.True(t, f.met[typ], typ)
				}
			}
		})
	}
}

// below are the types that a value of a type may hold. They must have nothing that JSON would pass over,
// and nothing that fill would.
func below(t *testing.T, typ reflect.Type) (seen map[reflect.Type]bool) {
	t.Helper()
	seen = map[reflect.Type]bool{}
	var visit func(string, reflect.Type)
	visit = func(at string, typ reflect.Type) {
		if seen[typ] {
			return
		}
		seen[typ] = true
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array:
			visit(at, typ.Elem())
		case reflect.Struct:
			for i := range typ.NumField() {
				field := typ.Field(i)
				at := at + "." + field.Name
				assert.True(t, field.IsExported(), at)
				assert.Empty(t, field.Tag, at)
				assert.False(t, field.Anonymous, at)
				visit(at, field.Type)
			}
		case reflect.Interface:
			assert.Contains(t, at, ".Context.Attributes.Value", "only there a rule says which types there are")
		case reflect.Map, reflect.Func, reflect.Chan, reflect.UnsafePointer:
			t.Errorf("%s is a %s", at, typ.Kind())
		}
	}
	visit("", typ)
	assert.Greater(t, len(seen), 40)
	return seen
}

// options decode with the given capture.
func options(t testing.TB, capture translate.Capture) batch.Options {
	t.Helper()
	r, err := redact.New(true, nil)
	require.NoError(t, err)
	return batch.Options{
		Decode: decode.Options{Capture: capture, MaxContentBytes: 8192, Redactor: r},
		Now:    func() time.Time { return time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC) },
	}
}

// stream is what a live source brought.
type stream struct {
	name  string
	lines [][]byte
	info  session.SourceInfo
	said  []voice.Said
}

// hear hears a stream. What it gives was not folded.
func hear(opts *batch.Options, name string, text []byte) stream {
	s := stream{name: name, lines: bytes.Split(bytes.TrimSpace(text), []byte("\n"))}
	judge := opts.NewJudge()
	for _, line := range s.lines {
		judge.Observe(line)
	}
	judge.Settle()
	s.info = session.SourceInfo{Format: judge.Format(), Agent: judge.Agent(), Live: true}
	v := voice.New(session.New(session.NewConfig()), voice.Input{Info: s.info, Decoder: opts.Decoder})
	d := opts.Decoder(judge.Format())
	for i, line := range s.lines {
		arrival := int64(1_790_000_000_000_000_000 + i*1_000_000_000)
		units := d.Decode(line, nil)
		for k := range units {
			if units[k].Record != nil {
				units[k].Record.Arrival = arrival
			}
		}
		said, _ := v.Hear(line, units, arrival)
		s.said = append(s.said, said)
	}
	return s
}

// streams are all of the test data.
func streams(t testing.TB, capture translate.Capture) (all []stream) {
	t.Helper()
	opts := options(t, capture)
	root := filepath.Join("..", "..", "testdata")
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".jsonl") {
			return err
		}
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		name, err := filepath.Rel(root, path)
		all = append(all, hear(&opts, filepath.ToSlash(name), text))
		return err
	}))
	require.Greater(t, len(all), 100)
	return all
}

// entries are a stream in entries of a few lines.
func (s *stream) entries() (list []Entry) {
	for said := s.said; len(said) > 0; {
		n := min(3, len(said))
		list = append(list, Entry{Said: said[:n:n]})
		said = said[n:]
	}
	list[0].Opening = &Opening{Format: s.info.Format, Agent: s.info.Agent}
	return list
}

// fold folds a source that is opened, brings what is said, and breaks.
func fold(capture translate.Capture, info session.SourceInfo, said []voice.Said) []translate.Output {
	cfg := session.NewConfig()
	cfg.Capture = capture
	cfg.Prices = price.NewBook(price.Default())
	a := session.New(cfg)
	v := voice.New(a, voice.Input{Info: info})
	for i := range said {
		v.Step(&said[i])
	}
	v.End()
	a.Close()
	return a.Take()
}

// TestFoldsTheSame folds the journal of every stream of the test data like the stream itself.
func TestFoldsTheSame(t *testing.T) {
	for name, capture := range map[string]translate.Capture{
		"nothing captured":    {},
		"all captured":        decodetest.Everything,
		"arguments captured":  {ToolArguments: true},
		"identities captured": {Identity: true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range streams(t, capture) {
				var again []voice.Said
				info := session.SourceInfo{Live: true}
				for _, e := range s.entries() {
					data, err := Encode(&e, capture)
					require.NoError(t, err, s.name)
					got, err := Decode(data)
					require.NoError(t, err, s.name)
					if capture.Identity {
						require.Equal(t, e, got, s.name)
					}
					if got.Opening != nil {
						info.Format, info.Agent = got.Opening.Format, got.Opening.Agent
					}
					again = append(again, got.Said...)
				}
				want := fold(capture, s.info, s.said)
				require.Equal(t, want, fold(capture, info, again), s.name)
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	for name, e := range map[string]Entry{
		"an attribute of another type": {Opening: &Opening{
			Caller: &translate.Context{Attributes: []translate.KeyValue{{Key: "k", Value: []string{"v"}}}},
		}},
		"an attribute without a value": {Said: []voice.Said{{Units: []translate.Decoded{{
			Record: &translate.Record{Context: &translate.Context{Attributes: []translate.KeyValue{{Key: "k"}}}},
		}}}}},
		"a number that is none": {Said: []voice.Said{{Units: []translate.Decoded{{
			Record: &translate.Record{RateLimit: &translate.RateLimit{Utilization: translate.Some(math.NaN())}},
		}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Encode(&e, translate.Capture{})
			require.ErrorContains(t, err, "encode journal")
		})
	}
}

func TestEncodeMendsStrings(t *testing.T) {
	e := Entry{Opening: &Opening{Agent: "a\xffb"}}
	data, err := Encode(&e, translate.Capture{})
	require.NoError(t, err)
	got, err := Decode(data)
	require.NoError(t, err)
	assert.Equal(t, "a\ufffdb", got.Opening.Agent)
}

// form is the stored form that has the given JSON.
func form(text string) []byte { return append([]byte{version}, s2.Encode(nil, []byte(text))...) }

func TestDecodeRefuses(t *testing.T) {
	e := Entry{Said: []voice.Said{{Format: "f", Agent: "a", Units: []translate.Decoded{{Record: &translate.Record{UUID: "u"}}}}}}
	good, err := Encode(&e, translate.Capture{})
	require.NoError(t, err)
	got, err := Decode(form(`{"Said":[{"Format":"f","Agent":"a","Units":[{"Record":{"UUID":"u"}}]}]}`))
	require.NoError(t, err)
	require.Equal(t, e, got)
	for name, data := range map[string][]byte{
		"nothing":                   nil,
		"another version":           append([]byte{version + 1}, good[1:]...),
		"only a version":            good[:1],
		"a part":                    good[:len(good)-1],
		"more":                      append(bytes.Clone(good), 0),
		"a size beyond all bounds":  {version, 0xff, 0xff, 0xff, 0xff, 0x0f, 0},
		"no JSON":                   form("no JSON"),
		"JSON and more":             form("{}{}"),
		"an unknown field":          form(`{"Said":[{"Units":[{"Record":{"Novelty":1}}]}]}`),
		"another type":              form(`{"Said":[{"Units":[{"Record":{"UUID":1}}]}]}`),
		"an unknown ending":         form(`{"End":3}`),
		"a unit of nothing":         form(`{"Said":[{"Units":[{}]}]}`),
		"a unit of both":            form(`{"Said":[{"Units":[{"Record":{},"Diagnostic":{}}]}]}`),
		"a context of nobody":       form(`{"Said":[{"Units":[{"Context":{},"Diagnostic":{}}]}]}`),
		"an attribute of nothing":   form(`{"Said":[{"Units":[{"Context":{"Attributes":[{"Key":"k"}]},"Record":{}}]}]}`),
		"a caller of nothing":       form(`{"Opening":{"Caller":{"Attributes":[{"Key":"k"}]}}}`),
		"a trace id that is longer": form(`{"Opening":{"Caller":{"TraceID":"AAAAAAAAAAAAAAAAAAAAAAAAAA=="}}}`),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode(data)
			require.ErrorContains(t, err, "decode journal")
		})
	}
}

// FuzzDecode decodes anything: an error or an entry that is stored and read again as what it is.
func FuzzDecode(f *testing.F) {
	for _, s := range streams(f, translate.Capture{})[:20] {
		for _, e := range s.entries() {
			data, err := Encode(&e, translate.Capture{})
			require.NoError(f, err)
			f.Add(data[1:], false)
		}
	}
	f.Add([]byte(`{"Opening":{"Caller":{"Attributes":[{"Key":"k","Float":1}]}},"End":2}`), true)
	f.Add([]byte(`{"Said":[{"Derived":"d","Units":[{"Record":{"Context":{"Attributes":[{"Value":1}]}}}]}]}`), true)
	f.Fuzz(func(t *testing.T, data []byte, asJSON bool) {
		if asJSON {
			data = s2.Encode(nil, data)
		}
		e, err := Decode(append([]byte{version}, data...))
		if err != nil {
			return
		}
		again, err := Encode(&e, decodetest.Everything)
		require.NoError(t, err)
		got, err := Decode(again)
		require.NoError(t, err)
		last, err := Encode(&got, decodetest.Everything) // an attribute may be NaN, which equals nothing
		require.NoError(t, err)
		require.Equal(t, again, last)
	})
}
