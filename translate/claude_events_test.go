// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package translate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// claudeRun is a stream with some records between a first answer and its result, of which only these
// records make events.
func claudeRun(records ...string) string {
	lines := []string{
		`{"type":"system","subtype":"init","session_id":"s","uuid":"i","cwd":"/w","model":"claude-sonnet-5"}`,
		claudeBlock("m0", `{"type":"redacted_thinking","data":"x"}`),
	}
	lines = append(lines, records...)
	lines = append(lines, `{"type":"result","subtype":"success","is_error":false,"session_id":"s","uuid":"r","num_turns":1}`)
	return strings.Join(lines, "\n") + "\n"
}

func claudeBlock(id, block string) string {
	return fmt.Sprintf(`{"type":"assistant","session_id":"s","uuid":"a-%s-%d","message":{"id":%q,"role":"assistant","model":"claude-sonnet-5","content":[%s]}}`,
		id, len(block), id, block)
}

func claudeResult(rest string) string {
	return `{"type":"user","session_id":"s","uuid":"u","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"done"` + rest + `}]}}`
}

// claudeCall is a tool use and its result.
func claudeCall(tool, input string) []string {
	return []string{claudeBlock("m1", fmt.Sprintf(`{"type":"tool_use","id":"t","name":%q,"input":%s}`, tool, input)), claudeResult("")}
}

// TestClaudeEvents has each row of the mapping of Claude Code's records and tools.
func TestClaudeEvents(t *testing.T) {
	system := func(rest string) []string {
		return []string{`{"type":"system","session_id":"s","uuid":"x",` + rest + `}`}
	}
	for name, test := range map[string]struct {
		records []string
		events  []string
	}{
		"text, joined": {
			[]string{claudeBlock("m1", `{"type":"text","text":"one "}`), claudeBlock("m1", `{"type":"text","text":"and two"}`)},
			[]string{`agent "one and two"`},
		},
		"thinking, joined": {
			[]string{claudeBlock("m1", `{"type":"thinking","thinking":"h"}`), claudeBlock("m1", `{"type":"thinking","thinking":"mm"}`)},
			[]string{`reasoning "hmm"`},
		},
		"redacted_thinking":              {nil, nil},
		"tool_use and tool_result":       {claudeCall("Bash", `{"command":"make all"}`), []string{`command command="make all" by Bash success=true`}},
		"user text that the tool filled": {[]string{`{"type":"user","session_id":"s","uuid":"u","isSynthetic":true,"message":{"role":"user","content":[{"type":"text","text":"x"}]}}`}, nil},
		"rate limit, rejected":           {[]string{`{"type":"rate_limit_event","session_id":"s","uuid":"l","rate_limit_info":{"status":"rejected"}}`}, []string{`warning WARN`}},
		"rate limit, allowed":            {[]string{`{"type":"rate_limit_event","session_id":"s","uuid":"l","rate_limit_info":{"status":"allowed"}}`}, nil},
		"system status":                  {system(`"subtype":"status"`), nil},
		"system thinking_tokens":         {system(`"subtype":"thinking_tokens"`), nil},
		"system of another subtype":      {system(`"subtype":"nobody_knows"`), []string{`unknown subtype of system`}},
		"stream_event":                   {[]string{`{"type":"stream_event","session_id":"s","uuid":"e","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}}`}, nil},
		"any other type":                 {[]string{`{"type":"nobody_knows","session_id":"s","uuid":"n"}`}, []string{`unknown record_type of nobody_knows`}},
		"a line that is no JSON":         {[]string{`npm warn`}, []string{`warning "npm warn" WARN`}},

		"Read":                               {claudeCall("Read", `{"file_path":"a.go","offset":3,"limit":2}`), []string{`read path="/w/a.go" from=3 to=4 by Read success=true`}},
		"Write":                              {claudeCall("Write", `{"file_path":"/w/a.go"}`), []string{`write path="/w/a.go" by Write success=true`}},
		"Edit":                               {claudeCall("Edit", `{"file_path":"/w/a.go"}`), []string{`write path="/w/a.go" by Edit success=true`}},
		"MultiEdit":                          {claudeCall("MultiEdit", `{"file_path":"/w/a.go"}`), []string{`write path="/w/a.go" by MultiEdit success=true`}},
		"NotebookEdit":                       {claudeCall("NotebookEdit", `{"notebook_path":"/w/a.ipynb"}`), []string{`write path="/w/a.ipynb" by NotebookEdit success=true`}},
		"Grep":                               {claudeCall("Grep", `{"pattern":"x","path":"/w"}`), []string{`search path="/w" query="x" by Grep success=true`}},
		"Glob":                               {claudeCall("Glob", `{"pattern":"*.go"}`), []string{`search query="*.go" by Glob success=true`}},
		"LS":                                 {claudeCall("LS", `{"path":"/w"}`), []string{`list path="/w" by LS success=true`}},
		"Bash that reads, its path as typed": {claudeCall("Bash", `{"command":"cat a.go"}`), []string{`read path="a.go" by Bash success=true`}},
		"Skill":                              {claudeCall("Skill", `{"skill":"pdf"}`), []string{`skill skill="/w/skills/pdf/SKILL.md" by Skill success=true`}},
		"StructuredOutput":                   {claudeCall("StructuredOutput", `{"a":1}`), nil},
		"any other tool":                     {claudeCall("mcp__db__query", `{}`), []string{`unknown tool of tool_use by mcp__db__query success=true`}},
	} {
		t.Run(name, func(t *testing.T) {
			outs := fold(t, []byte(claudeRun(test.records...)), settings{capture: everything})
			check(t, outs)
			assert.Equal(t, test.events, events(outs))
		})
	}
	t.Run("a result that reports an error", func(t *testing.T) {
		text := strings.Replace(claudeRun(), `"subtype":"success","is_error":false`, `"subtype":"error_during_execution","is_error":true`, 1)
		outs := fold(t, []byte(text), settings{capture: everything})
		got := events(outs)
		assert.Len(t, got, 1)
		assert.Contains(t, strings.Join(got, ""), "ERROR")
	})
}
