// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/translate"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const (
	ms  = int64(time.Millisecond)
	sec = int64(time.Second)
)

func id(n byte) translate.SpanID { return translate.SpanID{n} }

func n64(v int64) translate.Opt[int64] { return translate.Some(v) }

// sample is a session with all that a tree can show, children first.
func sample() []*translate.Span {
	base := func(typ translate.SpanType, n, parent byte, from, to int64) *translate.Span {
		return &translate.Span{
			Type: typ, TraceID: translate.TraceID{1}, SpanID: id(n), ParentID: id(parent), Start: 1000*sec + from, End: 1000*sec + to,
			Session: "0b5a7f3e-1111-4222-8333-444455556666", Agent: "claude-code",
		}
	}
	chat := func(n, parent byte, from, to int64, model string, in, out int64, cost float64) *translate.Span {
		s := base(translate.SpanChat, n, parent, from, to)
		s.Chat = &translate.ChatAttrs{Model: model, Usage: translate.ChatUsage{Input: n64(in), Output: n64(out)}, Cost: translate.Some(cost)}
		return s
	}
	tool := func(n, parent byte, from, to int64, name string, kind translate.OpKind, outcome string) *translate.Span {
		s := base(translate.SpanTool, n, parent, from, to)
		s.Tool = &translate.ToolAttrs{Name: name, Kind: kind, Outcome: outcome}
		return s
	}
	failed := tool(4, 1, 4*sec, 5*sec, "Bash", translate.OpCommand, translate.ToolError)
	failed.Error, failed.ErrType = true, "exit_code"
	background := tool(6, 1, 5*sec, 20*sec, "mcp__天気予報サーバー__明日の天気を調べるツール", translate.OpUnknown, translate.ToolOK)
	background.Tool.Background = true
	agent := base(translate.SpanSubagent, 8, 7, 6*sec, 14*sec)
	agent.Agent, agent.Subagent = "代码审查员-非常长的子代理名称需要被截断到列宽", &translate.SubagentAttrs{Depth: 1}
	root := base(translate.SpanRoot, 1, 0, 0, 20*sec)
	root.Root = &translate.RootAttrs{
		Model: "claude-opus-4-6", Format: translate.FormatClaudeCode, Outcome: translate.OutcomeError, ModelCalls: 4, SubagentCalls: 1, ToolCalls: 5,
		Usage: translate.Some(translate.Tokens{Input: 1200, CacheRead: 45_000, CacheWrite: 3000, Output: 4567}), Cost: translate.Some(0.1234),
		CostSource: "estimated", CostIncomplete: true, TimeEstimated: true, Subagents: 1,
		Models: []translate.ModelTokens{
			{Model: "claude-opus-4-6", Tokens: translate.Tokens{Input: 1000, CacheRead: 45_000, CacheWrite: 3000, Output: 4000}},
			{Model: "", Tokens: translate.Tokens{Input: 200, Output: 567}},
		},
		Tools: []translate.NameCount{{Name: "Bash", Count: 3}, {Name: "読む", Count: 1}},
	}
	root.Error, root.ErrType = true, "error_max_turns"
	root.Links = []translate.Link{{Kind: translate.LinkContinues}}
	return []*translate.Span{
		chat(2, 1, 0, 3*sec, "claude-opus-4-6", 12_345, 678, 0.0456),
		tool(3, 1, 3*sec, 3*sec+40*ms, "Read", translate.OpRead, translate.ToolOK),
		failed,
		tool(5, 1, 5*sec, 6*sec, "Write", translate.OpWrite, translate.ToolDenied),
		chat(9, 8, 6*sec, 8*sec, "claude-haiku-4-5", 900, 80, 0.00004),
		tool(10, 8, 8*sec, 14*sec, "grep\x1b[31m\u202e", translate.OpSearch, translate.ToolInterrupted),
		agent,
		tool(7, 1, 6*sec, 15*sec, "Agent", translate.OpOrchestration, translate.ToolOK),
		background,
		chat(11, 99, 15*sec, 20*sec, "", 200, 567, 0),
		root,
	}
}

func render(width int, colours bool) string {
	var out bytes.Buffer
	st := newStyle(width, colours)
	r := newReport(newTree(&out, st, nil))
	for _, s := range sample() {
		r.add(&translate.Output{Span: s})
	}
	r.add(&translate.Output{Step: &translate.Step{Metric: translate.MetricCost, Model: "claude-opus-4-6", Value: 0.12}})
	var skipped batch.Outcomes
	skipped.Count(translate.SkipNotJSON, 1)
	skipped.Count(translate.SkipTorn, 2)
	skipped.Count(translate.SkipUnknownType, 1234)
	_ = summary(&out, st, r, &skipped, nil)
	return out.String()
}

func TestTreeGolden(t *testing.T) {
	for name, tc := range map[string]struct {
		width   int
		colours bool
	}{"80": {80, false}, "120": {120, false}, "80-colours": {80, true}} {
		t.Run(name, func(t *testing.T) {
			got := render(tc.width, tc.colours)
			path := filepath.Join("testdata", "tree-"+name+".txt")
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, string(want), got)
			if !tc.colours {
				assert.NotContains(t, got, "\x1b")
				tree, _, _ := strings.Cut(got, "\n\n")
				for line := range strings.Lines(tree) {
					assert.LessOrEqual(t, newStyle(80, false).cells.StringWidth(strings.TrimRight(line, "\n")), tc.width, line)
				}
			}
		})
	}
}

func TestLargeTreesAreBounded(t *testing.T) {
	var out bytes.Buffer
	tree := newTree(&out, newStyle(100, false), nil)
	for i := range int64(5000) {
		s := &translate.Span{Type: translate.SpanTool, TraceID: translate.TraceID{1}, ParentID: id(1), Start: i, End: i + 1, Tool: &translate.ToolAttrs{Name: "Bash"}}
		s.SpanID = translate.SpanID{2, byte(i), byte(i >> 8)}
		tree.add(s)
	}
	assert.Equal(t, keptLeaves, tree.nodes)
	tree.add(&translate.Span{Type: translate.SpanRoot, TraceID: translate.TraceID{1}, SpanID: id(1), End: 5001, Root: &translate.RootAttrs{}})
	assert.Zero(t, tree.nodes)
	assert.Equal(t, treeRows, strings.Count(out.String(), "Bash"))
	assert.Contains(t, out.String(), "… 4,800 more spans")
}

func TestCycleOfParents(t *testing.T) {
	var out bytes.Buffer
	tree := newTree(&out, newStyle(100, false), nil)
	for n, parent := range map[byte]byte{2: 3, 3: 2, 4: 4} {
		tree.add(&translate.Span{Type: translate.SpanTool, SpanID: id(n), ParentID: id(parent), Tool: &translate.ToolAttrs{Name: fmt.Sprint("tool", n)}})
	}
	tree.add(&translate.Span{Type: translate.SpanRoot, SpanID: id(1), Root: &translate.RootAttrs{}})
	assert.Contains(t, out.String(), "tool4")
	assert.Contains(t, out.String(), "… 2 more spans")
}

func TestNumbers(t *testing.T) {
	for want, got := range map[string]string{
		"0": tokens(0), "9999": tokens(9999), "10k": tokens(10_000), "12.3k": tokens(12_345), "345k": tokens(345_400), "1M": tokens(999_999),
		"1.5M": tokens(1_500_000), "2G": tokens(2_000_000_000),
		"$0": usd(0), "$0.01": usd(0.01), "$0.0025": usd(0.0025), "<$0.0001": usd(0.00002), "$12.35": usd(12.345001),
		"5ms": span(5 * ms), "7µs": span(7000), "1.50s": span(1500 * ms), "12.5s": span(12500 * ms), "2m05s": span(125 * sec), "1h01m": span(3700 * sec), "2d01h": span(49 * 3600 * sec),
		"1,234,567": grouped(1234567), "123": grouped(123), "-1,000": grouped(-1000), "1 line": plural(1, "line"), "2 lines": plural(2, "line"),
	} {
		assert.Equal(t, want, got)
	}
}
