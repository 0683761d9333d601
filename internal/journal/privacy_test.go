// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/klauspost/compress/s2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode/decodetest"
)

const (
	canary = "canary7f3a"
	secret = "sk-ant-api03-CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCAA"
)

// contents are the members whose texts are content in every format.
var contents = []string{
	"aggregated_output", "arguments", "cmd", "command", "content", "cwd", "description", "error_details", "filePath",
	"file_path", "filepath", "formatted_output", "gitBranch", "instructions", "last_agent_message", "new_string",
	"notebook_path", "old_string", "originalFile", "output", "path", "pattern", "prompt", "query", "stderr", "stdout",
	"summary", "text", "thinking", "url", "workdir",
}

// spoil puts the canary and a secret into every content below v.
func spoil(v any, name string) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			v[name] = spoil(member, name)
		}
	case []any:
		for i := range v {
			v[i] = spoil(v[i], name)
		}
	case string:
		if slices.Contains(contents, name) && !strings.HasPrefix(v, "{") {
			return v + " " + canary + "/" + secret
		}
	}
	return v
}

// stored is all that the journal of a stream holds, as text.
func stored(t *testing.T, s *stream, capture translate.Capture) string {
	t.Helper()
	var b strings.Builder
	for _, e := range s.entries() {
		data, err := Encode(&e, capture)
		require.NoError(t, err)
		text, err := s2.Decode(nil, data[1:])
		require.NoError(t, err)
		b.Write(text)
	}
	return b.String()
}

func around(text, found string) string {
	at := strings.Index(text, found)
	if at < 0 {
		return ""
	}
	return text[max(0, at-200):min(len(text), at+100)]
}

// TestContent spoils every content of the test data: it must not be stored unless it is captured, and
// secrets in it never.
func TestContent(t *testing.T) {
	for name, capture := range map[string]translate.Capture{"nothing captured": {}, "all captured": decodetest.Everything} {
		t.Run(name, func(t *testing.T) {
			opts := options(t, capture)
			with := 0
			for _, s := range streams(t, capture) {
				var text bytes.Buffer
				for _, line := range s.lines {
					var v any
					if json.Unmarshal(line, &v) == nil {
						line, _ = json.Marshal(spoil(v, ""))
					}
					text.Write(append(line, '\n'))
				}
				spoiled := hear(&opts, s.name, text.Bytes())
				out := stored(t, &spoiled, capture)
				assert.NotContains(t, out, secret[:30], "%s: %s", s.name, around(out, secret[:30]))
				if capture == (translate.Capture{}) {
					assert.NotContains(t, out, canary, "%s: %s", s.name, around(out, canary))
				} else if strings.Contains(out, canary) {
					with++
				}
			}
			if capture != (translate.Capture{}) {
				assert.Greater(t, with, 100)
			}
		})
	}
}

// TestWords shows that with nothing captured no text of several words and no path of the test data is
// stored, in whatever member it stands.
func TestWords(t *testing.T) {
	// What has these names is a name, although it has blanks: it leaves as it is.
	names := []string{"label"}
	for _, s := range streams(t, translate.Capture{}) {
		out := stored(t, &s, translate.Capture{})
		var visit func(any, string)
		visit = func(v any, name string) {
			switch v := v.(type) {
			case map[string]any:
				for name, member := range v {
					visit(member, name)
				}
			case []any:
				for _, member := range v {
					visit(member, name)
				}
			case string:
				if !slices.Contains(names, name) && (strings.Contains(v, " ") || strings.HasPrefix(v, "/") || strings.HasPrefix(v, "~")) {
					text, err := json.Marshal(v)
					require.NoError(t, err)
					assert.NotContains(t, out, strings.Trim(string(text), `"`), "%s: %s", s.name, name)
				}
			}
		}
		for _, line := range s.lines {
			var v any
			if json.Unmarshal(line, &v) == nil && !bytes.Contains(line, []byte(`"agentstream.context"`)) {
				visit(v, "")
			}
		}
	}
}

// TestPaths shows when the working directory is stored, which decoders always tell.
func TestPaths(t *testing.T) {
	for name, tc := range map[string]struct {
		capture translate.Capture
		stored  bool
	}{
		"nothing captured":       {},
		"it resolves paths":      {translate.Capture{ToolArguments: true}, true},
		"it leaves itself":       {translate.Capture{Identity: true}, true},
		"other things are asked": {capture: translate.Capture{Prompts: true, Responses: true, Reasoning: true, ToolResults: true, Raw: false}},
	} {
		t.Run(name, func(t *testing.T) {
			opts := options(t, tc.capture)
			s := hear(&opts, name, []byte(`{"type":"user","sessionId":"s","uuid":"u","cwd":"/home/dev/`+canary+`","message":{"role":"user","content":"x"}}`))
			require.Contains(t, s.said[0].Units[0].Record.CWD, canary)
			assert.Equal(t, tc.stored, strings.Contains(stored(t, &s, tc.capture), canary))
			assert.Contains(t, s.said[0].Units[0].Record.CWD, canary, "the record itself stays what it is")
		})
	}
}
