// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package lineage

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestBeginning(t *testing.T) {
	at := func(s string) time.Time {
		when, err := time.Parse(time.RFC3339, s)
		assert.NoError(t, err)
		return when
	}
	prompt := `{"type":"user","timestamp":"2026-10-01T10:00:00Z"}` + "\n"
	answer := `{"timestamp" : "2026-10-02T10:00:00+02:00","type": "assistant"}` + "\n"
	for name, test := range map[string]struct {
		text string
		want time.Time
	}{
		"empty":                     {"", time.Time{}},
		"no time":                   {`{"type":"assistant"}` + "\n" + `{"timestamp":17}`, time.Time{}},
		"first record":              {prompt, at("2026-10-01T10:00:00Z")},
		"no line end":               {strings.TrimSpace(prompt), at("2026-10-01T10:00:00Z")},
		"first response":            {prompt + answer, at("2026-10-02T08:00:00Z")},
		"response in a later chunk": {prompt + strings.Repeat(prompt, 1000) + answer, at("2026-10-02T08:00:00Z")},
		"response too far away":     {prompt + strings.Repeat("x", peekBytes) + "\n" + answer, at("2026-10-01T10:00:00Z")},
		"first line without an end": {strings.TrimSpace(prompt) + strings.Repeat("x", peekBytes), at("2026-10-01T10:00:00Z")},
		"quoted":                    {strings.Replace(prompt, "}", `,"text":"{\"type\":\"assistant\"}"}`, 1) + answer, at("2026-10-02T08:00:00Z")},
		"not a time, then one":      {`{"a":"timestamp","timestamp":"soon"}` + "\n" + prompt, at("2026-10-01T10:00:00Z")},
	} {
		t.Run(name, func(t *testing.T) {
			assert.True(t, test.want.Equal(Beginning(strings.NewReader(test.text))), Beginning(strings.NewReader(test.text)))
		})
	}
}

func TestCompare(t *testing.T) {
	type file struct {
		at   time.Time
		path string
	}
	now := time.Unix(1, 0)
	files := []file{{path: "a"}, {now.Add(1), "b"}, {now, "d"}, {now, "c"}, {path: "A"}}
	slices.SortFunc(files, func(x, y file) int { return Compare(x.at, y.at, x.path, y.path) })
	var order string
	for _, f := range files {
		order += f.path
	}
	assert.Equal(t, "cdbAa", order)
}

func TestSidecar(t *testing.T) {
	files := map[string]string{
		"/s/subagents/agent-a1.meta.json": "\ufeff{\n \"agentType\": \"Explore\",\n \"toolUseId\": \"t1\"\n}\n",
		"/s/subagents/agent-a2.meta.json": "{",
		"/s/subagents/agent-a3.meta.json": strings.Repeat(" ", maxSidecar) + "{}",
		"/s/main.meta.json":               "{}",
	}
	open := func(path string) (io.ReadCloser, error) {
		text, ok := files[path]
		if !ok {
			return nil, errors.New("none")
		}
		return io.NopCloser(strings.NewReader(text)), nil
	}
	for path, want := range map[string]string{
		"/s/subagents/agent-a1.jsonl": `{"type":"agentstream.sidecar","sidecar":{"agentType":"Explore","toolUseId":"t1"}}`,
		"/s/subagents/agent-a2.jsonl": "",
		"/s/subagents/agent-a3.jsonl": "",
		"/s/subagents/agent-a4.jsonl": "",
		"/s/subagents/agent-a1":       "",
		"/s/main.jsonl":               "",
	} {
		assert.Equal(t, want, string(Sidecar(path, open)), path)
	}
}
