// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package cline_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/cline"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/redact"
)

// FuzzDecode checks lines of 3.x.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"type":"agent_event","event":{"type":"content_end","contentType":"tool","toolName":"run_commands","toolCallId":"c","input":{"commands":[{"command":"cat","args":["a"]}]},"output":{"results":[{"success":false,"error":"Command exited with code 9"}]},"error":"x","durationMs":1e300}}`,
		`{"type":"agent_event","event":{"type":"usage","inputTokens":9223372036854775807,"cacheReadTokens":-1,"cost":1e400}}`,
		`{"type":"team_event","event":{"type":"agent_event","agentId":"m","event":{"type":"content_start","contentType":"text","text":"\ud83d","accumulated":"x"}}}`,
		`{"type":"agent_event","event":{"type":"content_start","contentType":"tool","toolName":"apply_patch","toolCallId":"c","input":"*** Add File: a"}}`,
		`{"type":"run_result","finishReason":"err{"type":"hook_event","hookEventName":"agent_end"}`,
	} {
		f.Add([]byte(seed))
	}
	fuzz(f, "[a-z]*.jsonl")
}

// FuzzLegacy checks lines of the say/ask stream.
func FuzzLegacy(f *testing.F) {
	for _, seed := range []string{
		`{"type":"say","say":"api_req_started","ts":1e3,"text":"{\"tokensIn\":1}{\"tokensIn\":2}"}`,
		`{"type":"say","say":"api_req_started","ts":1793527201000,"text":"[{\"tokensIn\":1}]","modelInfo":5}`,
		`{"type":"ask","ask":{"a":1},"partial":"x"}`,
	} {
		f.Add([]byte(seed))
	}
	fuzz(f, "legacy-*.jsonl")
}

// fuzz checks what must hold for whatever comes: no panic, the same answer each time, valid UTF-8, and no
// content where none is captured. Whole files of the test data are its seeds, line by line.
func fuzz(f *testing.F, files string) {
	paths, err := filepath.Glob(filepath.Join("../../testdata/cline", files))
	if err != nil || len(paths) == 0 {
		f.Fatal(paths, err)
	}
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			f.Add(bytes.Clone(line))
		}
	}
	r, err := redact.New(true, nil)
	if err != nil {
		f.Fatal(err)
	}
	options := []decode.Options{{Redactor: r}, {Capture: everything, MaxContentBytes: 64, Redactor: r}}
	used := []*cline.Decoder{cline.NewDecoder(options[0]), cline.NewDecoder(options[1])}
	f.Fuzz(func(t *testing.T, line []byte) {
		for i, d := range used {
			got := d.Decode(line, nil)
			if fresh := cline.NewDecoder(options[i]).Decode(line, nil); !reflect.DeepEqual(got, fresh) {
				t.Fatalf("a used decoder says %+v, a new one %+v", got, fresh)
			}
			visit(reflect.ValueOf(got), func(s string) {
				if !utf8.ValidString(s) {
					t.Fatalf("%q is no valid UTF-8", s)
				}
			}, func(text translate.Text) {
				if limit := 64 * i; len(text.Content) > limit {
					t.Fatalf("kept %q", text.Content)
				}
			})
		}
	})
}

// visit goes through every string and every text of a value.
func visit(v reflect.Value, str func(string), text func(translate.Text)) {
	switch v.Kind() {
	case reflect.String:
		str(v.String())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			visit(v.Elem(), str, text)
		}
	case reflect.Slice:
		for i := range v.Len() {
			visit(v.Index(i), str, text)
		}
	case reflect.Struct:
		if t, ok := v.Interface().(translate.Text); ok {
			text(t)
		}
		for i := range v.NumField() {
			visit(v.Field(i), str, text)
		}
	}
}
