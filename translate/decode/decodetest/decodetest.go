// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package decodetest has what tests of decoders share.
package decodetest

import (
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/redact"
)

// Everything captures all kinds of content.
var Everything = translate.Capture{
	Prompts: true, Responses: true, Reasoning: true, ToolArguments: true, ToolResults: true, Raw: true, Identity: true,
}

// Decoder is what is tested.
type Decoder interface {
	Decode(line []byte, out []translate.Decoded) []translate.Decoded
}

// Strings collects every string that v holds.
func Strings(v any) []string {
	var all []string
	var visit func(reflect.Value)
	visit = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			all = append(all, v.String())
		case reflect.Pointer, reflect.Interface:
			if !v.IsNil() {
				visit(v.Elem())
			}
		case reflect.Struct:
			for _, field := range v.Fields() {
				visit(field)
			}
		case reflect.Slice:
			if v.Type().Elem().Kind() == reflect.Uint8 {
				return
			}
			for i := range v.Len() {
				visit(v.Index(i))
			}
		}
	}
	visit(reflect.ValueOf(v))
	return all
}

// Contents collects the captured content that v holds.
func Contents(v any) []string {
	var all []string
	var visit func(reflect.Value)
	visit = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			if !v.IsNil() {
				visit(v.Elem())
			}
		case reflect.Struct:
			if text, ok := reflect.TypeAssert[translate.Text](v); ok {
				if text.Content != "" {
					all = append(all, text.Content)
				}
				return
			}
			for _, field := range v.Fields() {
				visit(field)
			}
		case reflect.Slice:
			for i := range v.Len() {
				visit(v.Index(i))
			}
		}
	}
	visit(reflect.ValueOf(v))
	return all
}

// limit is the largest captured text while fuzzing.
const limit = 64

// Fuzz checks what must hold for whatever comes: no panic, the same answer each time, valid UTF-8, and
// no content where none is captured.
func Fuzz(f *testing.F, seeds []string, newDecoder func(decode.Options) Decoder) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	r, err := redact.New(true, nil)
	if err != nil {
		f.Fatal(err)
	}
	nothing := decode.Options{Redactor: r}
	all := decode.Options{Capture: Everything, MaxContentBytes: limit, Redactor: r}
	usedNothing, usedAll := newDecoder(nothing), newDecoder(all)
	f.Fuzz(func(t *testing.T, line []byte) {
		got := decodeTwice(t, line, usedNothing, newDecoder(nothing))
		if c := Contents(got); len(c) > 0 {
			t.Fatalf("kept %q", c)
		}
		for _, s := range Contents(decodeTwice(t, line, usedAll, newDecoder(all))) {
			if len(s) > limit {
				t.Fatalf("content of %d bytes", len(s))
			}
		}
	})
}

// decodeTwice decodes a line with a decoder that has seen others and with one that has not.
func decodeTwice(t *testing.T, line []byte, used, fresh Decoder) []translate.Decoded {
	t.Helper()
	got := used.Decode(line, nil)
	if again := fresh.Decode(line, nil); !reflect.DeepEqual(got, again) {
		t.Fatalf("a used decoder says %+v, a new one %+v", got, again)
	}
	for _, s := range Strings(got) {
		if !utf8.ValidString(s) {
			t.Fatalf("%q is no valid UTF-8", s)
		}
	}
	for _, x := range got {
		if (x.Record == nil) == (x.Diagnostic == nil) {
			t.Fatalf("%+v", x)
		}
	}
	return got
}
