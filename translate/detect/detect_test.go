// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"strings"
	"testing"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

// TestDetect has the rows of the detection table; the last line of each source decides.
func TestDetect(t *testing.T) {
	for name, test := range map[string]struct {
		lines []string
		want  translate.Format
	}{
		"codex exec thread":   {[]string{`{"type":"thread.started","thread_id":"x"}`}, translate.FormatCodexExec},
		"codex exec turn":     {[]string{`{"type":"turn.started"}`}, translate.FormatCodexExec},
		"codex exec item":     {[]string{`{"type":"item.completed","item":{}}`}, translate.FormatCodexExec},
		"codex rollout":       {[]string{`{"timestamp":"2026-11-01T10:00:00Z","type":"session_meta","payload":{}}`}, translate.FormatCodexRollout},
		"cline":               {[]string{`{"type":"agent_event","ts":"2026-11-01T10:00:00Z","event":{}}`}, translate.FormatCline},
		"cline hook":          {[]string{`{"type":"hook_event","ts":"x"}`}, translate.FormatCline},
		"cline legacy say":    {[]string{`{"type":"say","say":"text","ts":1793527200000}`}, translate.FormatClineLegacy},
		"cline legacy start":  {[]string{`{"type":"task_started","taskId":"x"}`}, translate.FormatClineLegacy},
		"copilot":             {[]string{`{"type":"session.start","id":"x","parentId":null,"timestamp":"t","data":{}}`}, FormatCopilotCLI},
		"opencode":            {[]string{`{"type":"step_start","timestamp":1,"sessionID":"ses_x"}`}, FormatOpenCode},
		"cursor":              {[]string{`{"type":"tool_call","subtype":"started","call_id":"x","tool_call":{"readToolCall":{}}}`}, FormatCursor},
		"cursor after init":   {[]string{`{"type":"system","subtype":"init","session_id":"s","cwd":"/w","model":"x"}`, `{"type":"user","message":{"role":"user","content":[]},"session_id":"s"}`, `{"type":"tool_call","subtype":"started","call_id":"x","tool_call":{}}`}, FormatCursor},
		"droid":               {[]string{`{"type":"tool_call","id":"x","toolName":"Read","parameters":{}}`}, FormatDroid},
		"droid completion":    {[]string{`{"type":"completion","finalText":"x"}`}, FormatDroid},
		"qwen version":        {[]string{`{"type":"system","subtype":"init","session_id":"s","uuid":"u","qwen_code_version":"0.24"}`}, FormatQwenCode},
		"qwen mode":           {[]string{`{"type":"system","subtype":"init","session_id":"s","uuid":"u","permission_mode":"yolo"}`}, FormatQwenCode},
		"amp":                 {[]string{`{"type":"system","subtype":"init","session_id":"T-1","cwd":"/w","tools":[]}`}, FormatAmp},
		"gemini init":         {[]string{`{"type":"init","timestamp":"t","session_id":"s","model":"g"}`}, FormatGeminiCLI},
		"gemini tool":         {[]string{`{"type":"tool_use","timestamp":"t","tool_name":"x","tool_id":"y"}`}, FormatGeminiCLI},
		"goose tool":          {[]string{`{"type":"message","message":{"role":"assistant","content":[{"type":"toolRequest","id":"x"}]}}`}, FormatGoose},
		"goose complete":      {[]string{`{"type":"message","message":{"role":"assistant","content":[]}}`, `{"type":"complete","usage":{}}`}, FormatGoose},
		"pi":                  {[]string{`{"type":"session","id":"x"}`}, FormatPi},
		"pi without session":  {[]string{`{"type":"message_update","message":{}}`}, FormatPi},
		"qwen session file":   {[]string{`{"uuid":"u","parentUuid":null,"sessionId":"s","type":"user","message":{"role":"user","parts":[]}}`}, translate.FormatGeneric},
		"transcript":          {[]string{`{"parentUuid":null,"sessionId":"s","uuid":"u","type":"user","message":{"role":"user","content":"x"}}`}, translate.FormatClaudeCodeTranscript},
		"transcript minimal":  {[]string{`{"type":"assistant","sessionId":"s","message":{"id":"m","content":[]}}`}, translate.FormatClaudeCodeTranscript},
		"claude version":      {[]string{`{"type":"system","subtype":"init","claude_code_version":"2"}`}, translate.FormatClaudeCode},
		"claude uuid":         {[]string{`{"type":"active_goal","value":null,"session_id":"s","uuid":"u"}`}, translate.FormatClaudeCode},
		"claude message":      {[]string{`{"type":"user","message":{"role":"user","content":"x"}}`}, translate.FormatClaudeCode},
		"claude result":       {[]string{`{"type":"result","subtype":"success"}`}, translate.FormatClaudeCode},
		"claude after noise":  {[]string{`npm warn`, ``, `[1]`, `{"type":"agentstream.context"}`, `{"type":"system","subtype":"init","session_id":"s","tools":[]}`, `{"type":"assistant","message":{"content":[]}}`}, translate.FormatClaudeCode},
		"claude, bare init":   {[]string{`{"type":"system","subtype":"init","session_id":"s"}`, `{"type":"result","subtype":"success","total_cost_usd":0.1}`}, translate.FormatClaudeCode},
		"two records a line":  {[]string{`{"type":"keep_alive"}{"type":"turn.started"}`}, translate.FormatCodexExec},
		"record in torn line": {[]string{`{"type":"turn.started"`, `{"type":"item.started"}`}, translate.FormatCodexExec},
	} {
		t.Run(name, func(t *testing.T) {
			var d Detector
			for i, line := range test.lines {
				got, ok := d.Observe([]byte(line))
				if last := i == len(test.lines)-1; ok != last || ok && got != test.want {
					t.Fatalf("line %d: %q %v, want %q", i, got, ok, test.want)
				}
			}
			if got := d.Guess(); got != test.want {
				t.Errorf("guess %q", got)
			}
			// Decided once, decided for ever.
			if got, ok := d.Observe([]byte(`{"type":"thread.started"}`)); !ok || got != test.want {
				t.Errorf("later %q %v", got, ok)
			}
		})
	}
}

func TestGuess(t *testing.T) {
	for name, test := range map[string]struct {
		line string
		want translate.Format
	}{
		"nothing":        {``, translate.FormatGeneric},
		"text":           {`npm warn`, translate.FormatGeneric},
		"unknown record": {`{"type":"x"}`, translate.FormatGeneric},
		"context":        {`{"type":"agentstream.context","session_id":"s","uuid":"u"}`, translate.FormatGeneric},
		"cursor's init":  {`{"type":"system","subtype":"init","session_id":"s","model":"x"}`, FormatCursor},
		"claude's init":  {`{"type":"system","subtype":"init","session_id":"s","tools":[]}`, translate.FormatClaudeCode},
		"queue":          {`{"type":"queue-operation","sessionId":"s"}`, translate.FormatClaudeCodeTranscript},
		"message":        {`{"type":"message","message":{"content":[]}}`, FormatGoose},
	} {
		var d Detector
		if got, ok := d.Observe([]byte(test.line)); ok {
			t.Errorf("%s: decided %q", name, got)
		}
		if got := d.Guess(); got != test.want {
			t.Errorf("%s: guess %q", name, got)
		}
	}
}

func TestLimits(t *testing.T) {
	var d Detector
	for i := range maxRecords {
		if got, ok := d.Observe([]byte(`{"type":"x"}`)); ok != (i == maxRecords-1) || ok && got != translate.FormatGeneric {
			t.Fatalf("record %d: %q %v", i, got, ok)
		}
	}
	d = Detector{}
	if got, ok := d.Observe([]byte(strings.Repeat("x", maxBytes))); !ok || got != translate.FormatGeneric {
		t.Errorf("%q %v", got, ok)
	}
}

func TestAgent(t *testing.T) {
	for f, want := range map[translate.Format]string{
		translate.FormatClaudeCode: "claude-code", translate.FormatCodexExec: "codex", FormatGeminiCLI: "gemini-cli", translate.FormatGeneric: "agent", "": "agent",
	} {
		if got := Agent(f); got != want {
			t.Errorf("%s: %s", f, got)
		}
	}
	for _, r := range rules {
		if r.format != translate.FormatGeneric && agents[r.format] == "" {
			t.Errorf("%s has no agent", r.format)
		}
	}
}

func FuzzObserve(f *testing.F) {
	for _, seed := range []string{
		`{"type":"thread.started"}`, `{"type":"user","message":{"content":[{"type":"toolRequest"}]}}`, "x\n{\"uuid\":1,\"parentUuid\":2,\"message\":{\"parts\":[]}}", `{"type":"say","ts":1}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		var a, b Detector
		for line := range strings.Lines(string(source)) {
			fa, oka := a.Observe([]byte(line))
			fb, okb := b.Observe([]byte(line))
			if fa != fb || oka != okb || a.Guess() != b.Guess() || oka && a.Guess() != fa {
				t.Fatalf("%q %v, %q %v, guess %q", fa, oka, fb, okb, a.Guess())
			}
		}
		if Agent(a.Guess()) == "" {
			t.Fatal("no agent")
		}
	})
}
