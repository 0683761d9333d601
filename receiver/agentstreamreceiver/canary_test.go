// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package agentstreamreceiver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelcol-agents/otelcol-agents/internal/listen"
)

// canary stands wherever a stream has content: it must never come out unless it was asked for.
const canary = "canary7f3a"

// canaryStream is a session that has the canary in every place for content.
func canaryStream(session string) string {
	lines := []string{
		`{"type":"system","subtype":"init","cwd":"/home/CANARY/w","session_id":"SESSION","model":"claude-sonnet-4-5","tools":["Bash"],"memory_paths":{"auto":"/home/CANARY/m"},"uuid":"u1"}`,
		`{"type":"user","session_id":"SESSION","uuid":"u2","gitBranch":"CANARY","isReplay":true,"message":{"role":"user","content":"please CANARY"}}`,
		`{"type":"assistant","session_id":"SESSION","uuid":"u3","message":{"id":"m1","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"thinking","thinking":"CANARY","signature":"CANARY"},{"type":"text","text":"CANARY"},` +
			`{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"cat /etc/CANARY | grep CANARY > /tmp/CANARY","description":"CANARY"}},` +
			`{"type":"tool_use","id":"t2","name":"Read","input":{"file_path":"/home/CANARY/f"}},` +
			`{"type":"tool_use","id":"t3","name":"Edit","input":{"file_path":"/home/CANARY/f","old_string":"CANARY","new_string":"CANARY"}},` +
			`{"type":"tool_use","id":"t4","name":"Grep","input":{"pattern":"CANARY","path":"CANARY","glob":"CANARY"}},` +
			`{"type":"tool_use","id":"t5","name":"WebFetch","input":{"url":"https://CANARY.example/","prompt":"CANARY"}},` +
			`{"type":"tool_use","id":"t6","name":"Task","input":{"description":"CANARY","prompt":"CANARY","subagent_type":"Explore"}},` +
			`{"type":"tool_use","id":"t7","name":"mcp__db__query","input":{"sql":"CANARY"}}],` +
			`"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":2}}}`,
		`{"type":"user","session_id":"SESSION","uuid":"u4","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"Exit code 1\nCANARY"}]},"tool_use_result":"Error: CANARY"}`,
		`{"type":"user","session_id":"SESSION","uuid":"u5","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"CANARY"}]},"tool_use_result":{"type":"text","file":{"filePath":"/home/CANARY/f","content":"CANARY","numLines":1,"startLine":1,"totalLines":1}}}`,
		`{"type":"user","session_id":"SESSION","uuid":"u6","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t3","is_error":true,"content":"<tool_use_error>CANARY</tool_use_error>"}]}}`,
		`{"type":"user","session_id":"SESSION","uuid":"u7","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t4","content":[{"type":"text","text":"CANARY"}]}]}}`,
		`{"type":"user","session_id":"SESSION","uuid":"u8","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"nowhere","content":"CANARY"}]}}`,
		`{"type":"user","session_id":"SESSION","uuid":"u9","parent_tool_use_id":"t6","message":{"role":"user","content":"CANARY"}}`,
		`{"type":"assistant","session_id":"SESSION","uuid":"u10","error":"invalid_request","message":{"id":"m2","role":"assistant","model":"<synthetic>","content":[{"type":"text","text":"API Error: CANARY"}]}}`,
		`{"type":"system","subtype":"api_retry","error":"CANARY CANARY","attempt":1,"session_id":"SESSION","uuid":"u11"}`,
		`{"type":"system","subtype":"permission_denied","tool_name":"Bash","tool_use_id":"t7","message":"CANARY","session_id":"SESSION","uuid":"u12"}`,
		`{"type":"system","subtype":"hook_response","hook_name":"Stop","stdout":"CANARY","stderr":"CANARY","output":"CANARY","session_id":"SESSION","uuid":"u13"}`,
		`{"type":"novelty","session_id":"SESSION","uuid":"u14","value":"CANARY","deep":{"text":["CANARY"]}}`,
		`{"type":"result","subtype":"error_during_execution","is_error":true,"result":"CANARY","errors":["CANARY"],"permission_denials":[{"tool_name":"Bash","tool_use_id":"t7","tool_input":{"command":"CANARY"}}],"num_turns":1,"duration_ms":5,"total_cost_usd":0.1,"usage":{"input_tokens":3,"output_tokens":2},"session_id":"SESSION","uuid":"u15"}`,
	}
	return strings.NewReplacer("CANARY", canary, "SESSION", session).Replace(strings.Join(lines, "\n") + "\n")
}

// broken are the lines of a stream, spoiled.
func broken(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		b.WriteString(line[:len(line)/2] + "\n")
		b.WriteString(strings.Replace(line, `"message":{`, `"message":["`+canary+`"],"x":{`, 1) + "\n")
		b.WriteString(strings.Replace(line, `"content":`, `"content":7,"c2":`, 1) + "\n")
		b.WriteString(strings.Replace(line, `"input":{`, `"input":"`+canary+`","in2":{`, 1) + "\n")
		b.WriteString(strings.Replace(line, `"uuid":"`, `"timestamp":"`+canary+`","uuid":"`, 1) + "\n")
		b.WriteString(canary + line + "\n")
	}
	b.WriteString(canary + "\n" + strings.Repeat(canary, 2000) + "\n" + `"` + canary)
	return b.String()
}

// TestCanary shows that with capture off no content leaves, neither as telemetry nor in the log.
func TestCanary(t *testing.T) {
	for name, capture := range map[string][]string{
		"off": nil,
		"on":  {"prompts", "responses", "reasoning", "tool_arguments", "tool_results", "raw", "identity"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cfg := withFiles(withHTTP(withTCP(newConfig())), filepath.Join(dir, "*.jsonl"))
			cfg.Options.MaxLineSize = 16 << 10
			cfg.Options.Capture = capture
			r := startRig(t, cfg, nil)

			r.send(t, canaryStream("tcp-good"))
			r.send(t, broken(canaryStream("tcp-bad")))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "good.jsonl"), []byte(canaryStream("file-good")), 0o600))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "bad.jsonl"), []byte(broken(canaryStream("file-bad"))+"\n"), 0o600))
			var answers strings.Builder
			for _, body := range []string{canaryStream("http-good"), broken(canaryStream("http-bad")), canary + "\n"} {
				answers.WriteString(postCanary(t, r, body))
			}
			r.wait(t, "invoke_agent claude-code", 6) // the six sessions; there are subagents, too
			require.NoError(t, r.stop())
			require.NotEmpty(t, r.logs.All())
			require.NotZero(t, value(r, "records"))

			out := exported(t, r)
			assert.Equal(t, capture != nil, strings.Contains(out, canary), "the canary is exported only where it is asked for: %s", around(out))
			assert.NotContains(t, answers.String(), canary)
			for _, e := range r.logs.All() {
				assert.NotContains(t, fmt.Sprint(e.Message, e.ContextMap()), canary)
			}
		})
	}
}

// postCanary posts a body under headers that nobody can use, and returns the answer.
func postCanary(t *testing.T, r *rig, body string) string {
	t.Helper()
	url := "http://" + r.in.receiver.http.Addr().String() + listen.Path
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Traceparent", canary)
	req.Header.Set("Baggage", "k="+canary)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport, Timeout: patience}).Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.True(t, json.Valid(answer))
	return string(answer)
}

// exported is everything that left, as text.
func exported(t *testing.T, r *rig) string {
	t.Helper()
	var b strings.Builder
	add := func(data []byte, err error) {
		require.NoError(t, err)
		b.Write(data)
	}
	for _, td := range r.traces.AllTraces() {
		add((&ptrace.JSONMarshaler{}).MarshalTraces(td))
	}
	for _, ld := range r.events.AllLogs() {
		add((&plog.JSONMarshaler{}).MarshalLogs(ld))
	}
	for _, md := range r.metrics.AllMetrics() {
		add((&pmetric.JSONMarshaler{}).MarshalMetrics(md))
	}
	require.NotZero(t, b.Len())
	return b.String()
}

// around is where the canary came out.
func around(out string) string {
	i := strings.Index(out, canary)
	if i < 0 {
		return "not at all"
	}
	return out[max(0, i-300):min(len(out), i+100)]
}
