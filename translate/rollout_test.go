// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package translate_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/golden"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/pdatatest/plogtest"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/pdatatest/ptracetest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/otlp"
	"github.com/otelcol-agents/otelcol-agents/translate/price"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

// folders are the situations of rollouts that take several files, in the order of their names.
func folders(t testing.TB) map[string][][]byte {
	t.Helper()
	out := map[string][][]byte{}
	files, err := filepath.Glob("../testdata/rollouts/*/*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		data, err := os.ReadFile(f)
		require.NoError(t, err)
		name := "rollout-" + filepath.Base(filepath.Dir(f))
		out[name] = append(out[name], data)
	}
	return out
}

// foldFiles reads files one after the other, as replay does with a folder.
func foldFiles(t testing.TB, files [][]byte, live bool) []translate.Output {
	t.Helper()
	cfg := session.NewConfig()
	cfg.Prices = price.NewBook(price.Default())
	a := session.New(cfg)
	for _, data := range files {
		read(t, a, data, settings{}, live)
	}
	a.Close()
	return a.Take()
}

func TestRolloutFolders(t *testing.T) {
	for name, files := range folders(t) {
		t.Run(name, func(t *testing.T) {
			outs := foldFiles(t, files, false)
			check(t, outs)
			said := render(t, outs)
			for _, data := range files {
				for _, text := range contents(data) {
					assert.NotContains(t, said, text, "private by default")
				}
			}
			b := otlp.NewBuilder(otlp.Options{})
			traces, logs := b.Traces(outs), b.Logs(outs, modTime)
			dir := filepath.Join("testdata", name)
			if *update {
				require.NoError(t, os.MkdirAll(dir, 0o755))
				require.NoError(t, golden.WriteTracesToFile(filepath.Join(dir, "traces.yaml"), traces))
				require.NoError(t, golden.WriteLogsToFile(filepath.Join(dir, "logs.yaml"), logs))
				return
			}
			wantTraces, err := golden.ReadTraces(filepath.Join(dir, "traces.yaml"))
			require.NoError(t, err)
			require.NoError(t, ptracetest.CompareTraces(wantTraces, traces))
			wantLogs, err := golden.ReadLogs(filepath.Join(dir, "logs.yaml"))
			require.NoError(t, err)
			require.NoError(t, plogtest.CompareLogs(wantLogs, logs))
		})
	}
}

// known is what must not depend on how the input is read: which spans and logs there are, and the totals.
func known(outs []translate.Output) (ids []string, tokens map[string]translate.Tokens) {
	tokens = map[string]translate.Tokens{}
	for i := range outs {
		switch o := &outs[i]; {
		case o.Span != nil:
			ids = append(ids, fmt.Sprintf("%x/%x < %x", o.Span.TraceID, o.Span.SpanID, o.Span.ParentID))
		case o.Log != nil:
			ids = append(ids, fmt.Sprintf("%s %x", o.Log.Event, o.Log.UID))
		case o.Step.Metric == translate.MetricTokens:
			sum, add := tokens[o.Step.Model], o.Step.Tokens
			sum.Input += add.Input
			sum.CacheRead += add.CacheRead
			sum.CacheWrite += add.CacheWrite
			sum.Output += add.Output
			sum.Reasoning += add.Reasoning
			tokens[o.Step.Model] = sum
		}
	}
	slices.Sort(ids)
	return ids, tokens
}

// TestRolloutsInAnyOrder: the order in which the files are read changes neither spans nor totals.
func TestRolloutsInAnyOrder(t *testing.T) {
	for name, files := range folders(t) {
		t.Run(name, func(t *testing.T) {
			if name == withStream {
				return // each source has ids of its own
			}
			wantIDs, wantTokens := known(foldFiles(t, files, false))
			for _, order := range permutations(len(files)) {
				var changed [][]byte
				for _, i := range order {
					changed = append(changed, files[i])
				}
				outs := foldFiles(t, changed, false)
				check(t, outs)
				ids, tokens := known(outs)
				assert.Equal(t, wantIDs, ids, "order %v", order)
				assert.Equal(t, wantTokens, tokens, "order %v", order)
			}
		})
	}
}

func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var out [][]int
	for _, p := range permutations(n - 1) {
		for i := range n {
			out = append(out, slices.Insert(slices.Clone(p), i, n-1))
		}
	}
	return out
}

// TestRolloutsReadTwice: copies add nothing, whole or in part, before or after the file itself.
func TestRolloutsReadTwice(t *testing.T) {
	all := folders(t)
	for name, data := range situations(t) {
		// Lines that are no rows have nothing that they are known by.
		if strings.Contains(name, "rollout") && name != "rollout-unknown-rows" {
			all[name] = [][]byte{data}
		}
	}
	for name, files := range all {
		t.Run(name, func(t *testing.T) {
			if name == withStream {
				return
			}
			wantIDs, wantTokens := known(foldFiles(t, files, false))
			for _, data := range files {
				lines := strings.SplitAfter(string(data), "\n")
				for _, part := range [][]byte{data, []byte(strings.Join(lines[:len(lines)/2], ""))} {
					for _, twice := range [][][]byte{append([][]byte{part}, files...), append(slices.Clone(files), part)} {
						ids, tokens := known(foldFiles(t, twice, false))
						assert.Equal(t, wantIDs, ids)
						assert.Equal(t, wantTokens, tokens)
					}
				}
			}
		})
	}
}

// TestRolloutsOnOneConnection: files that come one after the other on one connection, or line by line in
// turns on several.
func TestRolloutsOnOneConnection(t *testing.T) {
	for name, files := range folders(t) {
		t.Run(name, func(t *testing.T) {
			if name == withStream {
				return // one input of two agents' formats is the voices' to tell apart
			}
			wantIDs, wantTokens := known(foldFiles(t, files, false))
			ids, tokens := known(foldFiles(t, [][]byte{slices.Concat(files...)}, false))
			assert.Equal(t, wantIDs, ids)
			assert.Equal(t, wantTokens, tokens)
			_, tokens = known(foldFiles(t, files, true))
			assert.Equal(t, wantTokens, tokens, "live")
		})
	}
}

// withStream is the situation of a thread that a stream and its rollout tell.
const withStream = "rollout-with-stream"

// TestRolloutAndStream: a thread that is told twice counts once, whichever source is read first.
func TestRolloutAndStream(t *testing.T) {
	files := folders(t)[withStream]
	untimed := regexp.MustCompile(`,"timestamp":"[^"]*"`).ReplaceAll(files[0], nil)
	for name, order := range map[string][][]byte{
		"stream first":         {files[0], files[1]},
		"rollout first":        {files[1], files[0]},
		"untimed stream later": {files[1], untimed},
	} {
		t.Run(name, func(t *testing.T) {
			outs := foldFiles(t, order, false)
			check(t, outs)
			tools, tokens := 0, translate.Tokens{}
			for i := range outs {
				if sp := outs[i].Span; sp != nil && sp.Tool != nil {
					tools++
				}
				if sp := outs[i].Span; sp != nil && sp.Root != nil {
					tokens = sp.Root.Usage.V
					assert.Equal(t, translate.OutcomeSuccess, sp.Root.Outcome)
					assert.False(t, sp.Root.TimeEstimated)
				}
			}
			assert.Equal(t, 1, tools)
			assert.Equal(t, translate.Tokens{Input: 1204, CacheRead: 896, Output: 70}, tokens)
		})
	}
}

// TestRolloutTokens: what each situation used, counted by hand.
func TestRolloutTokens(t *testing.T) {
	want := map[string]map[string]translate.Tokens{
		"rollout-plain":          {"gpt-5.2-codex": {Input: 1696, CacheRead: 5376, CacheWrite: 128, Output: 230, Reasoning: 24}},
		"rollout-older-shapes":   {"gpt-5.2-codex": {Input: 2280, CacheRead: 5120, Output: 210, Reasoning: 40}},
		"rollout-running-totals": {"gpt-5.2-codex": {Input: 2300, CacheRead: 900, Output: 120, Reasoning: 10}, "gpt-5.2": {Input: 288, CacheRead: 512, Output: 20}},
		"rollout-fork-replayed":  {"gpt-5.2-codex": {Input: 1304 + 540, CacheRead: 896 + 2560, Output: 70 + 40}},
		"rollout-fork-shared":    {"gpt-5.2-codex": {Input: 1000 + 304 + 404, CacheRead: 1792, Output: 50 + 20 + 25}},
		"rollout-subagent-alone": {"gpt-5.2-codex": {Input: 1700, Output: 61}},
		"rollout-archived-copy":  {"gpt-5.2-codex": {Input: 2 * 1204, CacheRead: 2 * 896, Output: 140}},
		"rollout-turn-failed":    {"gpt-5.2-codex": {Input: 1000, Output: 50}},
		"rollout-no-usage":       {},
	}
	all := folders(t)
	for name, data := range situations(t) {
		all[name] = [][]byte{data}
	}
	for name, tokens := range want {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, all, name)
			_, got := known(foldFiles(t, all[name], false))
			assert.Equal(t, tokens, got)
		})
	}
}

// rolloutFeed gives the rows of a file one by one, as a file that is followed does.
type rolloutFeed struct {
	t     *testing.T
	a     *session.Assembler
	src   *session.Source
	dec   lineDecoder
	lines [][]byte
}

func newRolloutFeed(t *testing.T, a *session.Assembler, data []byte) *rolloutFeed {
	t.Helper()
	info := session.SourceInfo{Format: translate.FormatCodexRollout, Agent: "codex", ModTime: modTime, Behind: func() bool { return false }}
	return &rolloutFeed{
		t: t, a: a, src: a.Open(info), dec: newDecoder(translate.FormatCodexRollout, decode.Options{}),
		lines: bytes.SplitAfter(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")),
	}
}

func (f *rolloutFeed) rows(n int) {
	f.t.Helper()
	for _, line := range f.lines[:min(n, len(f.lines))] {
		units := f.dec.Decode(bytes.TrimSpace(line), nil)
		for i := range units {
			f.a.Step(f.src, &units[i])
		}
	}
	f.lines = f.lines[min(n, len(f.lines)):]
}

// attachments are how the subagents hang in the sessions, by their ids.
func attachments(outs []translate.Output) (standalone []bool, roots int) {
	for i := range outs {
		switch sp := outs[i].Span; {
		case sp == nil:
		case sp.Subagent != nil:
			standalone = append(standalone, sp.Subagent.Standalone)
		case sp.Root != nil:
			roots++
		}
	}
	return standalone, roots
}

// TestSubagentWaitsForItsParent: the rows of a subagent's file that is found first wait for its parent's,
// and not for ever.
func TestSubagentWaitsForItsParent(t *testing.T) {
	files := folders(t)["rollout-subagents"]
	parent, child := files[0], files[2]
	t.Run("it comes", func(t *testing.T) {
		a := session.New(session.NewConfig())
		c := newRolloutFeed(t, a, child)
		c.rows(1 << 10)
		a.Due(int64(time.Minute))
		assert.Empty(t, a.Take(), "nothing is sent before it is known where it belongs")
		newRolloutFeed(t, a, parent).rows(1 << 10)
		a.Due(int64(2 * time.Minute))
		assert.NotEmpty(t, a.Take())
		a.Due(int64(time.Hour))
		outs := a.Take()
		standalone, roots := attachments(outs)
		assert.Equal(t, 1, roots)
		assert.Equal(t, []bool{false, false}, standalone)
	})
	t.Run("it never comes", func(t *testing.T) {
		a := session.New(session.NewConfig())
		newRolloutFeed(t, a, child).rows(1 << 10)
		a.Due(int64(29 * time.Minute))
		assert.Empty(t, a.Take())
		a.Due(int64(31 * time.Minute))
		a.Due(int64(62 * time.Minute))
		standalone, roots := attachments(a.Take())
		assert.Equal(t, 1, roots)
		assert.Empty(t, standalone)
	})
	t.Run("too many rows wait", func(t *testing.T) {
		a := session.New(session.NewConfig())
		c := newRolloutFeed(t, a, child)
		c.rows(1 << 10)
		row := []byte(`{"timestamp":"2026-10-06T09:00:03Z","type":"world_state","payload":{"n":0}}`)
		for i := range 1 << 14 {
			c.lines = append(c.lines, bytes.Replace(row, []byte("0}"), []byte(strconv.Itoa(i)+"}"), 1))
		}
		c.rows(1 << 15)
		assert.NotEmpty(t, a.Take(), "it is a session of its own")
		newRolloutFeed(t, a, parent).rows(1 << 10)
		a.Close()
		_, roots := attachments(a.Take())
		assert.Equal(t, 2, roots)
	})
}
