// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	codexThread = `{"type":"thread.started","thread_id":"th-1"}`
	codexTurn   = `{"type":"turn.started"}`
	codexItem   = `{"type":"item.completed","item":{"id":"item_0","type":"command_execution","command":"ls","exit_code":0,"status":"completed"}}`
	codexNotice = `{"type":"error","message":"Reconnecting... 1/5"}`
	codexEnd    = `{"type":"turn.completed","usage":{"input_tokens":10,"output_tokens":5}}`
	nobody      = `{"type":"nobody.knows"}`
)

// TestMixedInput: each agent that speaks in an input has its own session, under its own name.
func TestMixedInput(t *testing.T) {
	const (
		claudeSays = "claude-code/claude_code sess-aa success Bash"
		codexSays  = "codex/codex_exec th-1 success shell"
	)
	for name, test := range map[string]struct {
		lines   []string
		args    []string
		want    []string
		skipped map[string]int64
	}{
		"claude alone":         {lines: []string{lineInit, lineCall, nobody, lineResult, lineEnd}, want: []string{claudeSays}, skipped: map[string]int64{"unknown_type": 1}},
		"codex alone":          {lines: []string{codexThread, codexTurn, codexItem, nobody, codexEnd}, want: []string{codexSays}, skipped: map[string]int64{"unknown_type": 1}},
		"claude, then codex":   {lines: []string{lineInit, lineCall, lineResult, lineEnd, codexThread, codexTurn, codexItem, codexEnd}, want: []string{claudeSays, codexSays}},
		"codex, then claude":   {lines: []string{codexThread, codexTurn, codexItem, codexEnd, lineInit, lineCall, lineResult, lineEnd}, want: []string{codexSays, claudeSays}},
		"line by line":         {lines: []string{codexThread, lineInit, codexTurn, lineCall, codexItem, codexNotice, lineResult, codexEnd, lineEnd}, want: []string{codexSays, claudeSays}},
		"a notice among codex": {lines: []string{lineInit, codexThread, codexTurn, codexNotice, codexItem, codexEnd, lineCall, lineResult, lineEnd}, want: []string{claudeSays, codexSays}},
		"text and a stranger":  {lines: []string{lineInit, codexThread, codexTurn, "npm warn", nobody, codexItem, codexEnd, lineCall, lineResult, lineEnd}, want: []string{claudeSays, codexSays}, skipped: map[string]int64{"not_json": 1, "unknown_type": 1}},
		"the format is fixed":  {lines: []string{lineInit, lineCall, codexThread, codexItem, lineResult, lineEnd}, args: []string{"--agent", "claude"}, want: []string{claudeSays}, skipped: map[string]int64{"unknown_type": 2}},
		"codex by force":       {lines: []string{nobody, codexThread, codexTurn, codexItem, codexEnd}, args: []string{"--agent", "codex"}, want: []string{codexSays}, skipped: map[string]int64{"unknown_type": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Join(test.lines, "\n") + "\n"
			for _, input := range []string{write(t, t.TempDir()+"/in.jsonl", text), "-"} {
				got := replay(t, strings.NewReader(text), append(test.args, "--format", "json", input)...)
				require.Equal(t, ExitOK, got.code, got.stderr)
				var doc struct {
					Sessions []jsonSession
					Skipped  map[string]int64
				}
				require.NoError(t, json.Unmarshal([]byte(got.stdout), &doc))
				var sessions []string
				for _, s := range doc.Sessions {
					words := []string{s.Agent + "/" + string(s.Format), s.SessionID, s.Outcome}
					for tool := range s.ToolCalls {
						words = append(words, tool)
					}
					sessions = append(sessions, strings.Join(words, " "))
				}
				assert.ElementsMatch(t, test.want, sessions, input)
				for reason, n := range doc.Skipped {
					assert.Equal(t, test.skipped[reason], n, reason)
				}
			}
		})
	}
}

// TestRelatedAgentStaysWhole: an agent without a decoder whose records look like Claude's is nobody else.
func TestRelatedAgentStaysWhole(t *testing.T) {
	text := `{"type":"system","subtype":"init","session_id":"s","cwd":"/w","model":"x"}
{"type":"tool_call","subtype":"started","call_id":"c","tool_call":{"readToolCall":{}}}
{"type":"user","message":{"role":"user","content":[]},"session_id":"s"}
{"type":"assistant","message":{"role":"assistant","id":"m","content":[]},"session_id":"s","uuid":"u"}
`
	got := replay(t, nil, "--format", "json", write(t, t.TempDir()+"/cursor.jsonl", text))
	require.Equal(t, ExitOK, got.code, got.stderr)
	assert.NotContains(t, got.stdout, "claude")
}

// TestAgentsOneAfterAnother: files of several agents that were put together give the sessions that they give
// one by one.
func TestAgentsOneAfterAnother(t *testing.T) {
	sessions := func(t *testing.T, files ...string) (found []string) {
		t.Helper()
		got := replay(t, nil, append([]string{"--format", "json"}, files...)...)
		require.Equal(t, ExitOK, got.code, got.stderr)
		var doc struct{ Sessions []jsonSession }
		require.NoError(t, json.Unmarshal([]byte(got.stdout), &doc))
		for _, s := range doc.Sessions {
			s.Start, s.End = "", "" // untimed records take the file's time, or that of a record before
			s.Project = ""          // the folder of the file
			text, err := json.Marshal(s)
			require.NoError(t, err)
			found = append(found, string(text))
		}
		return found
	}
	files := map[string]string{
		"claude": "../../testdata/claude/web-search.jsonl",
		"cline":  "../../testdata/cline/verbose.jsonl",
		"legacy": "../../testdata/cline/legacy-task.jsonl",
		"codex":  "../../testdata/codex/codex-plain-run.jsonl",
	}
	cline := func(path string) bool { return strings.Contains(path, "/cline/") }
	for first, a := range files {
		for second, b := range files {
			if first == second || cline(a) && cline(b) {
				continue // two versions of one agent do not share an input
			}
			t.Run(first+", "+second, func(t *testing.T) {
				var text []byte
				for _, path := range []string{a, b} {
					data, err := os.ReadFile(path)
					require.NoError(t, err)
					text = append(text, data...)
				}
				both := write(t, filepath.Join(t.TempDir(), "both.jsonl"), string(text))
				assert.ElementsMatch(t, sessions(t, a, b), sessions(t, both))
			})
		}
	}
}
