// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package translate_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/golden"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/pdatatest/plogtest"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/pdatatest/pmetrictest"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/pdatatest/ptracetest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/claude"
	"github.com/otelcol-agents/otelcol-agents/translate/cline"
	"github.com/otelcol-agents/otelcol-agents/translate/codex"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/detect"
	"github.com/otelcol-agents/otelcol-agents/translate/ids"
	"github.com/otelcol-agents/otelcol-agents/translate/otlp"
	"github.com/otelcol-agents/otelcol-agents/translate/price"
	"github.com/otelcol-agents/otelcol-agents/translate/redact"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

var update = flag.Bool("update", false, "write the goldens anew")

// modTime stands for the modification time of every test file.
var modTime = time.Date(2026, 10, 20, 12, 0, 0, 0, time.UTC).UnixNano()

// captured says what the goldens of a situation capture; all others capture nothing.
var captured = map[string]translate.Capture{
	"secrets":           {Prompts: true, Responses: true, Reasoning: true, ToolArguments: true, ToolResults: true, Raw: true},
	"images-in-results": {ToolResults: true},
	"read-ranges":       {ToolArguments: true},
	"cline/secrets":     {Prompts: true, Responses: true, Reasoning: true, ToolArguments: true, ToolResults: true, Raw: true},
	"cline/every-tool":  {ToolArguments: true},
	"cline/batches":     {ToolArguments: true, ToolResults: true},
	"cline/verbose":     {Responses: true, Reasoning: true},
	"plain-run":         {Prompts: true, Responses: true, Reasoning: true, ToolArguments: true, ToolResults: true, Identity: true},
	"codex-plain-run":   {Responses: true, Reasoning: true, ToolArguments: true, ToolResults: true},
	"rollout-plain":     {Prompts: true, Responses: true, Reasoning: true, ToolArguments: true, ToolResults: true, Identity: true},
	"rollout-secrets":   {Prompts: true, Responses: true, Reasoning: true, ToolArguments: true, ToolResults: true, Raw: true},
	"codex-secrets":     {Prompts: true, Responses: true, Reasoning: true, ToolArguments: true, ToolResults: true, Raw: true},
}

type settings struct {
	capture translate.Capture
	turn    bool
}

func settingsOf(name string) settings {
	return settings{capture: captured[name], turn: strings.HasPrefix(path.Base(name), "turn-mode")}
}

// fold reads one stream from its bytes, as replay does with a file.
func fold(t testing.TB, data []byte, set settings) []translate.Output {
	t.Helper()
	cfg := session.NewConfig()
	cfg.Capture, cfg.Turn = set.capture, set.turn
	cfg.Prices = price.NewBook(price.Default())
	a := session.New(cfg)
	read(t, a, data, set, false)
	a.Close()
	return a.Take()
}

// read folds one source. A live one gets a record a second.
func read(t testing.TB, a *session.Assembler, data []byte, set settings, live bool) {
	t.Helper()
	red, err := redact.New(true, nil)
	require.NoError(t, err)
	format := formatOf(data)
	dec := newDecoder(format, decode.Options{Capture: set.capture, MaxContentBytes: 8192, Redactor: red})
	agent := detect.Agent(format)
	src := a.Open(session.SourceInfo{Format: format, Agent: agent, ModTime: modTime, Live: live})
	named, arrival := false, modTime
	var units []translate.Decoded
	for line := range bytes.SplitSeq(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), []byte("\n")) {
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		arrival += int64(time.Second)
		units = dec.Decode(bytes.Clone(line), units[:0])
		for i := range units {
			r := units[i].Record
			if !named && r != nil && r.Context == nil && r.Sidecar == nil {
				src.Derive(ids.Session(agent, line))
				named = true
			}
			if live && r != nil {
				r.Arrival = arrival
			}
			a.Step(src, &units[i])
		}
	}
	a.End(src)
}

// decoders has the decoder of each format but Claude Code's, which any other input is read with.
var decoders = map[translate.Format]func(decode.Options) lineDecoder{
	translate.FormatClaudeCodeTranscript: func(o decode.Options) lineDecoder { return claude.NewTranscriptDecoder(o) },
	translate.FormatCline:                func(o decode.Options) lineDecoder { return cline.NewDecoder(o) },
	translate.FormatClineLegacy:          func(o decode.Options) lineDecoder { return cline.NewDecoder(o) },
	translate.FormatCodexExec:            func(o decode.Options) lineDecoder { return codex.NewDecoder(o) },
	translate.FormatCodexRollout:         func(o decode.Options) lineDecoder { return codex.NewRolloutDecoder(o) },
}

type lineDecoder interface {
	Decode(line []byte, out []translate.Decoded) []translate.Decoded
}

func newDecoder(f translate.Format, o decode.Options) lineDecoder {
	if d := decoders[f]; d != nil {
		return d(o)
	}
	return claude.NewDecoder(o)
}

// formatOf is the format that the lines of a stream tell.
func formatOf(data []byte) translate.Format {
	var d detect.Detector
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		if _, ok := d.Observe(line); ok {
			break
		}
	}
	if f := d.Guess(); decoders[f] != nil {
		return f
	}
	return translate.FormatClaudeCode
}

func situations(t testing.TB) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, pattern := range []string{"../testdata/claude/*.jsonl", "../testdata/cline/*.jsonl", "../testdata/codex/*.jsonl", "../testdata/lines/*.jsonl", "../testdata/rollouts/*.jsonl", "../testdata/sessions/*.jsonl"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, f := range files {
			data, err := os.ReadFile(f)
			require.NoError(t, err)
			name := strings.TrimSuffix(filepath.Base(f), ".jsonl")
			if folder := filepath.Base(filepath.Dir(f)); folder == "cline" {
				name = folder + "/" + name
			}
			out[name] = data
		}
	}
	maps.Copy(out, transcripts(t))
	require.NotEmpty(t, out)
	return out
}

// totals has every step of the run.
func totals(outs []translate.Output) *otlp.Totals {
	m := otlp.NewTotals(otlp.MetricOptions{Start: modTime, MaxToolNames: 100, LegacyTokenUsage: true})
	for i := range outs {
		if outs[i].Step != nil {
			m.Add(*outs[i].Step)
		}
	}
	return m
}

func TestSituations(t *testing.T) {
	for name, data := range situations(t) {
		t.Run(name, func(t *testing.T) {
			outs := fold(t, data, settingsOf(name))
			b := otlp.NewBuilder(otlp.Options{})
			traces, logs := b.Traces(outs), b.Logs(outs, modTime)
			m := totals(outs)
			m.Snapshot(modTime + 1)
			metrics := m.Snapshot(modTime + 2)

			dir := filepath.Join("testdata", name)
			if *update {
				require.NoError(t, os.MkdirAll(dir, 0o755))
				require.NoError(t, golden.WriteTracesToFile(filepath.Join(dir, "traces.yaml"), traces))
				require.NoError(t, golden.WriteLogsToFile(filepath.Join(dir, "logs.yaml"), logs))
				mutable := pmetric.NewMetrics() // the writer sorts
				metrics.CopyTo(mutable)
				require.NoError(t, golden.WriteMetricsToFile(filepath.Join(dir, "metrics.yaml"), mutable, golden.SkipMetricTimestampNormalization()))
				return
			}
			wantTraces, err := golden.ReadTraces(filepath.Join(dir, "traces.yaml"))
			require.NoError(t, err)
			require.NoError(t, ptracetest.CompareTraces(wantTraces, traces))
			wantLogs, err := golden.ReadLogs(filepath.Join(dir, "logs.yaml"))
			require.NoError(t, err)
			require.NoError(t, plogtest.CompareLogs(wantLogs, logs))
			wantMetrics, err := golden.ReadMetrics(filepath.Join(dir, "metrics.yaml"))
			require.NoError(t, err)
			require.NoError(t, pmetrictest.CompareMetrics(wantMetrics, metrics, pmetrictest.IgnoreMetricsOrder(), pmetrictest.IgnoreMetricDataPointsOrder()))
		})
	}
}

// TestInvariants holds for every situation what must hold for any input.
func TestInvariants(t *testing.T) {
	for name, data := range situations(t) {
		t.Run(name, func(t *testing.T) {
			for _, turn := range []bool{false, true} {
				check(t, fold(t, data, settings{turn: turn}))
			}
		})
	}
}

func check(t testing.TB, outs []translate.Output) {
	t.Helper()
	spans := map[string]*translate.Span{}
	roots := map[translate.TraceID]int{}
	remote := false
	for i := range outs {
		if sp := outs[i].Span; sp != nil {
			id := fmt.Sprintf("%x/%x", sp.TraceID, sp.SpanID)
			require.NotContains(t, spans, id, "span sent twice: %v", sp.Type)
			spans[id] = sp
			if sp.Type == translate.SpanRoot {
				roots[sp.TraceID]++
				remote = remote || !sp.ParentID.IsZero()
			}
		}
	}
	uids := map[[16]byte]bool{}
	for i := range outs {
		switch o := &outs[i]; {
		case o.Span != nil:
			sp := o.Span
			assert.LessOrEqual(t, sp.Start, sp.End)
			assert.Greater(t, sp.Start, int64(1_500_000_000_000_000_000), "time of %v is not resolved", sp.Type)
			assert.Equal(t, sp.Error, sp.ErrType != "")
			if sp.Type != translate.SpanRoot {
				assert.Contains(t, spans, fmt.Sprintf("%x/%x", sp.TraceID, sp.ParentID), "parent of %v", sp.Type)
			}
			assert.True(t, remote || roots[sp.TraceID] == 1, "roots of a trace: %d", roots[sp.TraceID])
			for _, l := range sp.Links {
				assert.Contains(t, spans, fmt.Sprintf("%x/%x", l.TraceID, l.SpanID), "link")
			}
		case o.Log != nil:
			assert.Contains(t, spans, fmt.Sprintf("%x/%x", o.Log.TraceID, o.Log.SpanID), "span of log %s", o.Log.Event)
			assert.False(t, uids[o.Log.UID], "uid of %s twice", o.Log.Event)
			uids[o.Log.UID] = true
			assert.Greater(t, o.Log.Time, int64(1_500_000_000_000_000_000))
		}
	}
	balance(t, outs)
}

// balance checks that the token and cost metrics equal what the roots say.
func balance(t testing.TB, outs []translate.Output) {
	t.Helper()
	var roots, steps, chats translate.Tokens
	var cost, costSteps float64
	for i := range outs {
		o := &outs[i]
		switch {
		case o.Span != nil && o.Span.Root != nil:
			u := o.Span.Root.Usage.V
			roots.Input += u.Input
			roots.CacheRead += u.CacheRead
			roots.CacheWrite += u.CacheWrite
			roots.Output += u.Output
			cost += o.Span.Root.Cost.V
		case o.Span != nil && o.Span.Chat != nil:
			chats.Output += o.Span.Chat.Usage.Output.V
		case o.Step != nil && o.Step.Metric == translate.MetricTokens:
			steps.Input += o.Step.Tokens.Input
			steps.CacheRead += o.Step.Tokens.CacheRead
			steps.CacheWrite += o.Step.Tokens.CacheWrite
			steps.Output += o.Step.Tokens.Output
		case o.Step != nil && o.Step.Metric == translate.MetricCost:
			costSteps += o.Step.Value
		}
	}
	assert.Equal(t, roots, steps, "tokens of the roots and of the metric")
	assert.InDelta(t, cost, costSteps, 1e-9)
	assert.GreaterOrEqual(t, roots.Output, chats.Output)
}

// TestSecondRun: another run, in another time zone and with other map seeds, gives the same.
func TestSecondRun(t *testing.T) {
	for name, data := range situations(t) {
		t.Run(name, func(t *testing.T) {
			first := render(t, fold(t, data, settingsOf(name)))
			local := time.Local
			time.Local = time.FixedZone("elsewhere", 13*3600+1800)
			defer func() { time.Local = local }()
			for range 3 {
				require.Equal(t, first, render(t, fold(t, data, settingsOf(name))))
			}
		})
	}
}

func render(t testing.TB, outs []translate.Output) string {
	t.Helper()
	b, err := json.Marshal(outs)
	require.NoError(t, err)
	return string(b)
}

// TestPrivateByDefault: without capture no text of the input leaves, in no signal.
func TestPrivateByDefault(t *testing.T) {
	for name, data := range situations(t) {
		t.Run(name, func(t *testing.T) {
			out := render(t, fold(t, data, settings{}))
			for _, text := range contents(data) {
				assert.NotContains(t, out, text)
			}
		})
	}
}

// contents lists the longer texts of prompts, answers, arguments and results in a stream.
func contents(data []byte) []string {
	var out []string
	var walk func(key string, v any)
	walk = func(key string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, x := range v {
				walk(k, x)
			}
		case []any:
			for _, x := range v {
				walk(key, x)
			}
		case string:
			secret := slices.Contains([]string{
				"text", "thinking", "content", "command", "file_path", "prompt", "stdout",
				"pattern", "result", "old_string", "new_string", "cwd", "summary", "description", "message",
				"path", "filePath", "files", "commands", "queries", "query", "regex", "input", "reasoning", "accumulated",
				"task", "question", "error", "output", "chunk", "aggregated_output", "diff", "town",
			}, key)
			if secret && len(v) >= 12 && strings.ContainsAny(v, " /") {
				q, err := json.Marshal(v)
				if err == nil {
					out = append(out, strings.Trim(string(q), `"`))
				}
			}
		}
	}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		var v any
		if json.Unmarshal(line, &v) == nil {
			walk("", v)
		}
	}
	return out
}

// TestLinesLostAndMoved: what comes out holds together although lines are lost, repeated and moved.
func TestLinesLostAndMoved(t *testing.T) {
	const rounds = 20
	for name, data := range situations(t) {
		if len(data) > 1<<16 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, uint64(len(data))))
			for range rounds {
				lines := bytes.SplitAfter(data, []byte("\n"))
				for range 1 + rnd.IntN(4) {
					i, j := rnd.IntN(len(lines)), rnd.IntN(len(lines))
					switch rnd.IntN(3) {
					case 0:
						lines = slices.Delete(lines, i, i+1)
					case 1:
						lines = slices.Insert(lines, i, lines[j])
					default:
						lines[i], lines[j] = lines[j], lines[i]
					}
					if len(lines) == 0 {
						return
					}
				}
				changed := bytes.Join(lines, nil)
				check(t, fold(t, changed, settingsOf(name)))
				if t.Failed() {
					t.Fatalf("input:\n%s", changed)
				}
			}
		})
	}
}
