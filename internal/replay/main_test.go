// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelcol-agents/otelcol-agents/translate/price"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A stream with one response, one call and its result, and a terminal record.
const (
	lineInit   = `{"type":"system","subtype":"init","session_id":"sess-aa","uuid":"u0","model":"claude-sonnet-4-5-20250929","claude_code_version":"2.1.0","cwd":"/x","tools":["Bash"]}`
	lineCall   = `{"type":"assistant","session_id":"sess-aa","uuid":"u1","parent_tool_use_id":null,"message":{"id":"m1","role":"assistant","model":"claude-sonnet-4-5-20250929","stop_reason":"tool_use","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"echo SECRET-WORD"}}],"usage":{"input_tokens":10,"output_tokens":5}}}`
	lineResult = `{"type":"user","session_id":"sess-aa","uuid":"u2","parent_tool_use_id":null,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"SECRET-WORD"}]}}`
	lineEnd    = `{"type":"result","subtype":"success","is_error":false,"session_id":"sess-aa","uuid":"u3","num_turns":1,"duration_ms":1000,"total_cost_usd":0.5,"usage":{"input_tokens":10,"output_tokens":5},"result":"SECRET-WORD"}`
	stream     = lineInit + "\n" + lineCall + "\n" + lineResult + "\n" + lineEnd + "\n"
)

func write(t *testing.T, path, text string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

type outcome struct {
	code           int
	stdout, stderr string
}

func replay(t *testing.T, stdin io.Reader, args ...string) outcome {
	t.Helper()
	return replayUntil(t.Context(), stdin, args...)
}

func replayUntil(ctx context.Context, stdin io.Reader, args ...string) outcome {
	if stdin == nil {
		stdin = strings.NewReader("")
	}
	var stdout, stderr bytes.Buffer
	env := Env{Program: "agentreplay", Version: "1.2.3", Getenv: func(string) string { return "" }}
	code := Main(ctx, args, stdin, &stdout, &stderr, env)
	return outcome{code, stdout.String(), stderr.String()}
}

func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	good := write(t, filepath.Join(dir, "good.jsonl"), stream)
	bad := write(t, filepath.Join(dir, "bad.jsonl"), lineInit+"\nSECRET-WORD is no JSON\n"+lineEnd+"\n")
	empty := filepath.Join(dir, "empty")
	require.NoError(t, os.Mkdir(empty, 0o755))
	sink := newSink(t)
	refusing := newSink(t)
	refusing.answer = func(w http.ResponseWriter, _ *http.Request, _ int) bool {
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, "not today\n")
		return false
	}
	picky := newSink(t)
	picky.answer = func(w http.ResponseWriter, r *http.Request, _ int) bool {
		if strings.HasSuffix(r.URL.Path, "/v1/traces") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"partialSuccess":{"rejectedSpans":"1","errorMessage":"too old"}}`)
		}
		return true
	}
	busy := newSink(t)
	busy.answer = func(w http.ResponseWriter, _ *http.Request, n int) bool {
		if n == 1 {
			w.WriteHeader(http.StatusTooManyRequests)
		}
		return n > 1
	}
	gone := newSink(t)
	gone.server.Close()

	for name, tc := range map[string]struct {
		args           []string
		code           int
		stdout, stderr []string
	}{
		"good":                 {args: []string{good}, stdout: []string{"sess-aa", "Bash", "sessions  1"}},
		"help":                 {args: []string{"--help"}, stdout: []string{"usage: agentreplay", "--receiver-config", "200 spans"}},
		"version":              {args: []string{"--version"}, stdout: []string{"agentreplay 1.2.3"}},
		"bad lines":            {args: []string{"--format", "json", bad}, stdout: []string{`"not_json":1`}},
		"summary":              {args: []string{"--format", "summary", bad}, stdout: []string{"lines     1 not_json"}},
		"fail on skipped":      {args: []string{"--fail-on-skipped", bad}, code: 1, stderr: []string{"1 line skipped"}},
		"nothing skipped":      {args: []string{"--fail-on-skipped", good}},
		"no input":             {code: 2, stderr: []string{"no input"}},
		"unknown flag":         {args: []string{"--no-such-flag", good}, code: 2, stderr: []string{"no-such-flag", "--help"}},
		"bad format":           {args: []string{"--format", "xml", good}, code: 2, stderr: []string{`--format must be tree, summary or json, got "xml"`}},
		"bad endpoint":         {args: []string{"--to", "localhost:4318", good}, code: 2, stderr: []string{"http://localhost:4318 expected"}},
		"bad timeout":          {args: []string{"--timeout", "0s", good}, code: 2, stderr: []string{"--timeout"}},
		"header without to":    {args: []string{"--header", "a=b", good}, code: 2, stderr: []string{"need --to"}},
		"unknown agent":        {args: []string{"--agent", "clod", good}, code: 2, stderr: []string{`got "clod"`}},
		"agent to come":        {args: []string{"--agent", "gemini", good}, code: 2, stderr: []string{"has no decoder in this release"}},
		"fixed agent":          {args: []string{"--agent", "claude", good}, stdout: []string{"sessions  1"}},
		"missing file":         {args: []string{filepath.Join(dir, "missing.jsonl")}, code: 2, stderr: []string{"missing.jsonl: no such file"}},
		"two missing files":    {args: []string{dir + "/m1", good, dir + "/m2"}, code: 2, stderr: []string{"m1", "m2"}},
		"not a directory":      {args: []string{filepath.Join(good, "x.jsonl")}, code: 2, stderr: []string{"not a directory"}},
		"directory without":    {args: []string{empty}, code: 2, stderr: []string{"no *.jsonl file in directory"}},
		"directory":            {args: []string{dir}, stdout: []string{"sessions  1"}},
		"missing config":       {args: []string{"--receiver-config", dir + "/none.yaml", good}, code: 2, stderr: []string{"none.yaml: no such file"}},
		"no YAML":              {args: []string{"--receiver-config", write(t, dir+"/a.yaml", "a: ["), good}, code: 2, stderr: []string{"a.yaml"}},
		"unknown key":          {args: []string{"--receiver-config", write(t, dir+"/b.yaml", "captures: []"), good}, code: 2, stderr: []string{`b.yaml: line 1: unknown key "captures"`}},
		"bad value":            {args: []string{"--receiver-config", write(t, dir+"/c.yaml", "session: {max_spans: 0}"), good}, code: 2, stderr: []string{"c.yaml: session.max_spans must be at least 1, got 0"}},
		"config of a receiver": {args: []string{"--receiver-config", write(t, dir+"/d.yaml", "tcp: {endpoint: x}\nstorage: y"), good}},
		"accepted":             {args: []string{"--to", sink.server.URL, good}, stdout: []string{"sent ", "3 spans"}},
		"unreachable":          {args: []string{"--to", gone.server.URL, "--timeout", "30ms", good}, code: 1, stdout: []string{"3 not sent"}, stderr: []string{"gave up after", "not everything was accepted"}},
		"refused":              {args: []string{"--to", refusing.server.URL, good}, code: 1, stderr: []string{"/v1/traces: 3 spans refused: status 400 Bad Request: not today"}},
		"partly accepted":      {args: []string{"--to", picky.server.URL, good}, code: 1, stdout: []string{"2 spans (1 rejected)"}, stderr: []string{"1 of 3 spans rejected: too old"}},
		"busy once":            {args: []string{"--to", busy.server.URL, good}, stdout: []string{"(1 repeated)"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := replay(t, nil, tc.args...)
			assert.Equal(t, tc.code, got.code, got.stderr)
			for _, text := range tc.stdout {
				assert.Contains(t, got.stdout, text)
			}
			for _, text := range tc.stderr {
				assert.Contains(t, got.stderr, text)
			}
			if tc.code == 0 {
				assert.Empty(t, got.stderr)
			}
			if tc.code == 2 {
				assert.Empty(t, got.stdout)
			}
			assert.NotContains(t, got.stderr, "SECRET-WORD")
			assert.NotContains(t, got.stdout, "SECRET-WORD")
		})
	}
}

func TestUnreadableFile(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	path := write(t, filepath.Join(t.TempDir(), "a.jsonl"), stream)
	require.NoError(t, os.Chmod(path, 0))
	got := replay(t, nil, path)
	assert.Equal(t, ExitUnusable, got.code)
	assert.Contains(t, got.stderr, "a.jsonl: permission denied")
}

func TestEverySignalArrives(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "a.jsonl"), stream)
	for name, args := range map[string][]string{"protobuf": nil, "JSON": {"--otlp-json"}} {
		t.Run(name, func(t *testing.T) {
			sink := newSink(t)
			got := replay(t, nil, append(args, path, "--to", sink.server.URL+"/base/", "--header", "X-Team=blue")...)
			require.Equal(t, ExitOK, got.code, got.stderr)
			assert.ElementsMatch(t, []string{"chat claude-sonnet-4-5-20250929", "execute_tool Bash", "invoke_agent claude-code"}, sink.spanNames())
			assert.Positive(t, sink.logs)
			// Zero points first, then the values.
			assert.Len(t, sink.inputTokens, 2)
			assert.Equal(t, []int64{0, 10}, sink.inputTokens)
			for _, r := range sink.requests {
				assert.Equal(t, "blue", r.Header.Get("X-Team"))
				assert.True(t, strings.HasPrefix(r.URL.Path, "/base/v1/"), r.URL.Path)
			}
		})
	}
}

func TestJSONDocument(t *testing.T) {
	dir := t.TempDir()
	// Files without times end when they were last written: the order of writing is that of the sessions.
	write(t, dir+"/b.jsonl", stream+"no JSON\n")
	write(t, dir+"/a.jsonl", strings.NewReplacer("sess-aa", "sess-bb", `"m1"`, `"m2"`).Replace(stream))
	write(t, dir+"/ignored.txt", "no JSON\n")
	got := replay(t, nil, "--format", "json", dir)
	require.Equal(t, ExitOK, got.code, got.stderr)
	var doc struct {
		Sessions []jsonSession
		Spans    []jsonSpan
		Totals   jsonTotals
		Projects []jsonGroup
		Days     []jsonGroup
		Models   []jsonModel
		Prices   jsonPrices
		Skipped  map[string]int64
	}
	dec := json.NewDecoder(strings.NewReader(got.stdout))
	dec.DisallowUnknownFields()
	require.NoError(t, dec.Decode(&doc))
	assert.Len(t, doc.Spans, 6)
	require.Len(t, doc.Sessions, 2)
	s := doc.Sessions[0]
	cost := 0.5
	assert.Equal(t, "sess-aa", s.SessionID)
	assert.Equal(t, "claude-code", s.Agent)
	assert.EqualValues(t, "claude_code", s.Format)
	assert.Equal(t, "success", s.Outcome)
	assert.Equal(t, map[string]int64{"Bash": 1}, s.ToolCalls)
	assert.Equal(t, map[string]int64{"ok": 1}, s.ToolOutcomes)
	assert.Equal(t, map[string]jsonTokens{"claude-sonnet-4-5": {Input: 10, Output: 5}}, s.Tokens)
	assert.Equal(t, &cost, s.CostUSD)
	one := 1.0
	assert.Equal(t, jsonTotals{Input: 20, Output: 10, CostUSD: &one}, doc.Totals)
	assert.Equal(t, []jsonGroup{{Project: filepath.Base(dir), Sessions: 2, jsonTotals: doc.Totals}}, doc.Projects)
	assert.Equal(t, []jsonModel{{Model: "claude-sonnet-4-5", jsonTokens: jsonTokens{Input: 20, Output: 10}, CostUSD: &one}}, doc.Models)
	date := price.Date()
	assert.Equal(t, jsonPrices{Catalogue: "built-in", Date: &date, ReportedUSD: 1}, doc.Prices)
	assert.Equal(t, map[string]int64{
		"not_json": 1, "bad_shape": 0, "oversize": 0, "torn": 0, "too_old": 0, "unknown_type": 0, "invalid_time": 0,
	}, doc.Skipped)
}

func TestJSONDocumentOfNothing(t *testing.T) {
	got := replay(t, nil, "--format", "json", "-")
	require.Equal(t, ExitOK, got.code, got.stderr)
	assert.JSONEq(t, `{"spans":[],"sessions":[],
		"totals":{"input_tokens":0,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0,"cost_usd":null},
		"projects":[],"days":[],"models":[],
		"prices":{"catalogue":"built-in","date":"`+price.Date()+`","reported_usd":0,"estimated_usd":0},
		"skipped":{"not_json":0,"bad_shape":0,"oversize":0,"torn":0,"too_old":0,"unknown_type":0,"invalid_time":0}}`, got.stdout)
}

func TestLiveInputIsSentWhileItRuns(t *testing.T) {
	sink := newSink(t)
	r, w := io.Pipe()
	done := make(chan outcome, 1)
	go func() { done <- replayUntil(t.Context(), r, "--to", sink.server.URL, "--format", "json", "-") }()
	_, err := io.WriteString(w, lineInit+"\n"+lineCall+"\n"+lineResult+"\n")
	require.NoError(t, err)
	require.Equal(t, "execute_tool Bash", sink.await(t), "before the stream ends")
	_, err = io.WriteString(w, lineEnd) // without a line feed
	require.NoError(t, err)
	require.NoError(t, w.Close())
	got := <-done
	assert.Equal(t, ExitOK, got.code, got.stderr)
	assert.Len(t, sink.spanNames(), 3)
	assert.Contains(t, got.stdout, `"outcome":"success"`)
}

func TestInterruptionSendsWhatWasRead(t *testing.T) {
	sink := newSink(t)
	r, w := io.Pipe()
	ctx, interrupt := context.WithCancel(t.Context())
	done := make(chan outcome, 1)
	go func() { done <- replayUntil(ctx, r, "--to", sink.server.URL, "-") }()
	_, err := io.WriteString(w, lineInit+"\n"+lineCall+"\n"+lineResult+"\n")
	require.NoError(t, err)
	sink.await(t)
	interrupt()
	got := <-done
	require.NoError(t, w.Close()) // lets the reader of the pipe go
	assert.Equal(t, ExitFailed, got.code)
	assert.Contains(t, got.stderr, "interrupted")
	assert.Contains(t, got.stdout, "1 incomplete")
	assert.Len(t, sink.spanNames(), 3)
}

func TestSourcesAreFoldedInOrder(t *testing.T) {
	// More and larger files than are read ahead, and lines over the limit in them.
	dir := t.TempDir()
	long := strings.Repeat("x", 3<<10) + "\n"
	var args []string
	for i := range 30 {
		text := strings.ReplaceAll(stream, "sess-aa", "sess-"+string(rune('a'+i%26))+strings.Repeat("z", i/26))
		args = append(args, write(t, filepath.Join(dir, string(rune('a'+i))+".jsonl"), strings.Repeat("\n", i)+long+text))
	}
	config := write(t, filepath.Join(dir, "c.yaml"), "max_line_size: 2KiB")
	first := replay(t, nil, append(args, "--format", "json", "--receiver-config", config)...)
	require.Equal(t, ExitOK, first.code, first.stderr)
	assert.Contains(t, first.stdout, `"oversize":30`)
	assert.Equal(t, 30, strings.Count(first.stdout, `"session_id"`))
	again := replay(t, nil, append(args, "--format", "json", "--receiver-config", config)...)
	assert.Equal(t, first.stdout, again.stdout)
}

func TestProgress(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "a.jsonl"), stream)
	got := replay(t, nil, "--progress", path)
	assert.Equal(t, ExitOK, got.code)
	assert.Contains(t, got.stderr, "reading")
	assert.NotContains(t, got.stdout, "reading")
	got = replay(t, strings.NewReader(stream), "--progress", "-")
	assert.Equal(t, ExitOK, got.code)
}

func TestNoCollectorInside(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/agentreplay")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	require.NoError(t, err)
	for path := range strings.FieldsSeq(string(out)) {
		assert.NotContains(t, path, "google.golang.org/grpc")
		if rest, ok := strings.CutPrefix(path, "go.opentelemetry.io/collector/"); ok {
			module, _, _ := strings.Cut(rest, "/")
			assert.Contains(t, []string{"pdata", "featuregate"}, module, path)
		}
	}
}

const patience = 20 * time.Second
