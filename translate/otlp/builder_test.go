// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"flag"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/golden"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/pdatatest/plogtest"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/pdatatest/ptracetest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

var update = flag.Bool("update", false, "write goldens and docs/telemetry.md")

const (
	t0       = int64(1_760_000_000_000_000_000)
	observed = t0 + 90_000_000_000
)

var (
	claude = &translate.Resource{Agent: "claude-code", Version: "2.1.288"}
	codex  = &translate.Resource{Agent: "codex"}
)

func fullRoot() *translate.RootAttrs {
	return &translate.RootAttrs{
		Model: "claude-sonnet-4-5-20250929", Format: translate.FormatClaudeCode, Outcome: translate.OutcomeError, Turns: 2,
		Usage:           translate.Some(translate.Tokens{Input: 10, CacheRead: 100, CacheWrite: 50, Output: 7, Reasoning: 3}),
		UsageIncomplete: true, Cost: translate.Some(0.25), CostSource: "reported", CostIncomplete: true,
		Unattributed: translate.Some(0.01), ToolCalls: 3, ModelCalls: 4, Subagents: 1, Denials: 1, PermissionMode: "plan",
		TerminalReason: "max_turns", APIDuration: translate.Some(int64(1_500_000_000)), TimeEstimated: true, DerivedID: true,
		LateID: "late", Context: []translate.KeyValue{
			{Key: "agentstream.format", Value: "forged"},
			{Key: "ci.attempt", Value: int64(2)},
			{Key: "ci.main", Value: true},
			{Key: "ci.run", Value: "77"},
			{Key: "ci.share", Value: 0.5},
			{Key: "error.type", Value: "forged"},
			{Key: "gen_ai.usage.input_tokens", Value: int64(9)},
			{Key: "session.id", Value: "forged"},
		},
		CWD: "/w", User: "jane@example.com", Branch: "main",
	}
}

// fullSpans has each kind of span once with every attribute.
func fullSpans() []translate.Output {
	base := func(typ translate.SpanType, id byte) *translate.Span {
		return &translate.Span{
			Type: typ, TraceID: translate.TraceID{1}, SpanID: translate.SpanID{id}, ParentID: translate.SpanID{1},
			Start: t0, End: t0 + 2_000_000_000, Session: "s1", Agent: "claude-code",
		}
	}
	root := base(translate.SpanRoot, 1)
	root.ParentID, root.Root = translate.SpanID{}, fullRoot()
	root.Error, root.ErrType, root.Message, root.Cut = true, "error_max_turns", "too many turns", true
	root.Links = []translate.Link{{TraceID: translate.TraceID{2}, SpanID: translate.SpanID{9}, Kind: translate.LinkContinues}}
	chat := base(translate.SpanChat, 2)
	chat.Chat = &translate.ChatAttrs{
		Provider: "anthropic", Model: "claude-sonnet-4-5-20250929", ResponseID: "m1", FinishReasons: []string{"tool_use"},
		Usage: translate.ChatUsage{
			Input: translate.Some(int64(160)), Output: translate.Some(int64(7)), CacheRead: translate.Some(int64(100)),
			CacheWrite: translate.Some(int64(50)), Reasoning: translate.Some(int64(3)),
		},
		TTFT: translate.Some(int64(250_000_000)), Cost: translate.Some(0.1), CostSource: "estimated", UsageIncomplete: true,
		Retries: 1, Speed: "fast", Synthetic: true, Input: `[{"role":"user"}]`, Output: `[{"role":"assistant"}]`,
	}
	tool := base(translate.SpanTool, 3)
	tool.Error, tool.ErrType = true, "exit_code"
	tool.Tool = &translate.ToolAttrs{
		Name: "mcp__gh__run", CallID: "c1", Extension: true, Outcome: translate.ToolError, Kind: translate.OpCommand, ArgBytes: 12,
		ResultBytes: translate.Some(int64(0)), MCPServer: "gh", MCPTool: "run", ExitCode: translate.Some(int64(1)), Skill: "deploy",
		Added: translate.Some(int64(3)), Removed: translate.Some(int64(0)), Background: true, ServerSide: true,
		Execution: translate.Some(int64(1_900_000_000)), Args: `{"a":1}`, Result: "failed",
	}
	sub := base(translate.SpanSubagent, 4)
	sub.Agent, sub.ParentID = "Explore", translate.SpanID{3}
	sub.Subagent = &translate.SubagentAttrs{ID: "a1", Depth: 1, Standalone: true, Background: true}
	return []translate.Output{
		{Resource: claude, Span: chat},
		{Resource: claude, Span: tool},
		{Resource: claude, Span: sub},
		{Resource: claude, Span: root},
	}
}

// bareSpans has each kind of span with as little as there can be.
func bareSpans() []translate.Output {
	base := translate.Span{TraceID: translate.TraceID{3}, SpanID: translate.SpanID{1}, Start: t0, End: t0, Session: "s2", Agent: "codex"}
	root, chat, tool, sub := base, base, base, base
	root.Root = &translate.RootAttrs{Format: translate.FormatGeneric, Outcome: translate.OutcomeIncomplete}
	chat.Type, chat.SpanID, chat.ParentID, chat.Chat = translate.SpanChat, translate.SpanID{2}, base.SpanID, &translate.ChatAttrs{}
	tool.Type, tool.SpanID, tool.ParentID = translate.SpanTool, translate.SpanID{3}, base.SpanID
	tool.Tool = &translate.ToolAttrs{Name: "shell", Outcome: translate.ToolIncomplete, Kind: translate.OpNone}
	sub.Type, sub.SpanID, sub.ParentID, sub.Agent = translate.SpanSubagent, translate.SpanID{4}, translate.SpanID{3}, "subagent"
	sub.Subagent = &translate.SubagentAttrs{Depth: 1}
	return []translate.Output{
		{Resource: codex, Span: &chat},
		{Resource: codex, Span: &tool},
		{Resource: codex, Span: &sub},
		{Resource: codex, Span: &root},
	}
}

// fullLogs has each event once; together they have every attribute.
func fullLogs() []translate.Output {
	i := byte(0)
	one := func(l translate.Log) translate.Output {
		i++
		l.Time, l.TraceID, l.SpanID, l.UID = t0+int64(i), translate.TraceID{1}, translate.SpanID{1}, [16]byte{0xab, 15: i}
		l.Session, l.Agent = "s1", "claude-code"
		return translate.Output{Resource: claude, Log: &l}
	}
	n := translate.Some[int64]
	return []translate.Output{
		one(translate.Log{Event: translate.EventSessionStart, Severity: translate.SeverityInfo, Body: "session started"}),
		one(translate.Log{Event: translate.EventPrompt, Severity: translate.SeverityInfo, Body: "do it", Captured: true, MessageBytes: n(5)}),
		one(translate.Log{Event: translate.EventReasoning, Severity: translate.SeverityInfo, Body: "hm", Captured: true, MessageBytes: n(2)}),
		one(translate.Log{
			Event: translate.EventAgent, Severity: translate.SeverityInfo, Body: "done", Captured: true, MessageBytes: n(900),
			Cut: true, OriginalBytes: n(900),
		}),
		one(translate.Log{Event: translate.EventAgent, Severity: translate.SeverityInfo, Body: "assistant message", MessageBytes: n(4)}),
		one(translate.Log{
			Event: translate.EventCommand, Severity: translate.SeverityWarn, Body: "command failed", Command: "make",
			Success: translate.Some(false), ExitCode: n(2), Tool: "Bash", CallID: "c1",
		}),
		one(translate.Log{
			Event: translate.EventRead, Severity: translate.SeverityInfo, Body: "read", Path: "/w/a.go", StartLine: n(1), EndLine: n(9),
			Success: translate.Some(true), Tool: "Read", CallID: "c2",
		}),
		one(translate.Log{Event: translate.EventWrite, Severity: translate.SeverityInfo, Body: "write", Tool: "Edit", CallID: "c3"}),
		one(translate.Log{Event: translate.EventSearch, Severity: translate.SeverityInfo, Body: "search", Query: "TODO", Tool: "Grep", CallID: "c4"}),
		one(translate.Log{Event: translate.EventList, Severity: translate.SeverityInfo, Body: "list", Tool: "LS", CallID: "c5"}),
		one(translate.Log{
			Event: translate.EventSkill, Severity: translate.SeverityInfo, Body: "skill", Skill: "deploy", SkillPath: "/w/SKILL.md",
			Tool: "Skill", CallID: "c6",
		}),
		one(translate.Log{
			Event: translate.EventOrchestration, Severity: translate.SeverityInfo, Body: "subagent_started", Action: "subagent_started",
			SubagentID: "a1", SubagentType: "Explore",
		}),
		one(translate.Log{
			Event: translate.EventWarning, Severity: translate.SeverityWarn, Body: "api request is retried", WarningCode: "api_retry",
			ErrType: "529",
		}),
		one(translate.Log{Event: translate.EventError, Severity: translate.SeverityError, Body: "error_max_turns", ErrType: "error_max_turns"}),
		one(translate.Log{Event: translate.EventCompaction, Severity: translate.SeverityInfo, Body: "conversation compacted"}),
		one(translate.Log{
			Event: translate.EventUnknown, Severity: translate.SeverityDebug, Body: "unknown subtype", Reason: translate.UnknownSubtype,
			RecordType: "system", RecordSubtype: "novel", RawBytes: n(40), RawKeys: []string{"a", "b"}, Raw: `{"a":1,"b":2}`,
		}),
		one(translate.Log{
			Event: translate.EventSessionEnd, Severity: translate.SeverityError, Body: "session ended: error", Root: fullRoot(),
			RootErr: "error_max_turns",
		}),
	}
}

func tracesJSON(t *testing.T, td ptrace.Traces) string {
	t.Helper()
	b, err := (&ptrace.JSONMarshaler{}).MarshalTraces(td)
	require.NoError(t, err)
	return string(b)
}

func logsJSON(t *testing.T, ld plog.Logs) string {
	t.Helper()
	b, err := (&plog.JSONMarshaler{}).MarshalLogs(ld)
	require.NoError(t, err)
	return string(b)
}

func TestTracesGolden(t *testing.T) {
	for name, tt := range map[string]struct {
		opts Options
		out  []translate.Output
	}{
		"full":     {Options{Version: "0.1.0", ResourceAttributes: map[string]string{"z": "1", "a": "2", "service.name": "no"}}, fullSpans()},
		"bare":     {Options{}, bareSpans()},
		"semconv":  {Options{SemConv141: true}, fullSpans()},
		"two":      {Options{}, []translate.Output{bareSpans()[3], fullSpans()[0], bareSpans()[0], {}, fullLogs()[0], {Step: &translate.Step{Metric: translate.MetricPrompts}}}},
		"override": {Options{ServiceName: "my-agents"}, []translate.Output{bareSpans()[3], {Resource: &translate.Resource{Agent: "cline"}, Span: bareSpans()[0].Span}}},
	} {
		t.Run(name, func(t *testing.T) {
			got := NewBuilder(tt.opts).Traces(tt.out)
			path := filepath.Join("testdata", "traces_"+name+".yaml")
			if *update {
				require.NoError(t, golden.WriteTracesToFile(path, got))
			}
			want, err := golden.ReadTraces(path)
			require.NoError(t, err)
			require.NoError(t, ptracetest.CompareTraces(want, got))
			assert.Equal(t, tracesJSON(t, want), tracesJSON(t, got), "order of attributes, spans or resources")
			assert.Equal(t, tracesJSON(t, got), tracesJSON(t, NewBuilder(tt.opts).Traces(tt.out)), "a second run")
		})
	}
}

func TestLogsGolden(t *testing.T) {
	bare := translate.Output{Log: &translate.Log{Event: translate.EventWarning, Severity: translate.SeverityWarn}}
	for name, tt := range map[string]struct {
		opts Options
		out  []translate.Output
	}{
		"full": {Options{Version: "0.1.0", ResourceAttributes: map[string]string{"a": "2"}}, fullLogs()},
		"bare": {Options{}, []translate.Output{fullSpans()[0], bare}},
	} {
		t.Run(name, func(t *testing.T) {
			got := NewBuilder(tt.opts).Logs(tt.out, observed)
			path := filepath.Join("testdata", "logs_"+name+".yaml")
			if *update {
				require.NoError(t, golden.WriteLogsToFile(path, got))
			}
			want, err := golden.ReadLogs(path)
			require.NoError(t, err)
			require.NoError(t, plogtest.CompareLogs(want, got))
			assert.Equal(t, logsJSON(t, want), logsJSON(t, got), "order of attributes, records or resources")
		})
	}
}

// TestSpanRules checks on every golden input what must hold for every span.
func TestSpanRules(t *testing.T) {
	for name, out := range map[string][]translate.Output{"full": fullSpans(), "bare": bareSpans()} {
		t.Run(name, func(t *testing.T) {
			for _, opts := range []Options{{}, {SemConv141: true}} {
				for s := range spans(NewBuilder(opts).Traces(out)) {
					m := s.Attributes()
					op := str(m, attrOperation)
					assert.True(t, s.Name() == op || strings.HasPrefix(s.Name(), op+" "), s.Name())
					assert.Equal(t, op == opChat, s.Kind() == ptrace.SpanKindClient, s.Name())
					assert.Equal(t, str(m, attrConversation), str(m, attrSessionID))
					assert.NotEmpty(t, str(m, attrSessionID))
					assert.NotEmpty(t, str(m, attrAgentName))
					assert.NotEqual(t, ptrace.StatusCodeOk, s.Status().Code())
					assert.Equal(t, s.Status().Code() == ptrace.StatusCodeError, str(m, attrErrorType) != "", s.Name())
					assert.False(t, has(m, attrUsageCacheWrite) && has(m, attrUsageCacheCreation))
					for k, v := range m.All() {
						assert.True(t, op == opChat || !strings.HasPrefix(k, "gen_ai.usage."), "%s on %s", k, s.Name())
						assert.NotEqual(t, pcommon.ValueTypeEmpty, v.Type(), k)
						assert.True(t, v.Type() != pcommon.ValueTypeStr || v.Str() != "", "%s is empty", k)
					}
					noDuplicates(t, m)
				}
			}
		})
	}
}

// TestErrorWithoutType keeps the rule that backends read: an error always has a type.
func TestErrorWithoutType(t *testing.T) {
	out := bareSpans()[:1]
	s := *out[0].Span
	s.Error = true
	for got := range spans(NewBuilder(Options{}).Traces([]translate.Output{{Resource: codex, Span: &s}})) {
		assert.Equal(t, errorOther, str(got.Attributes(), attrErrorType))
	}
}

// TestTablesComplete holds the tables against what is written: each key is described with its type, and
// nothing is described that never leaves.
func TestTablesComplete(t *testing.T) {
	described := map[string]string{}
	for _, tab := range append([]attributeTable{resourceTable}, spanTables...) {
		for _, a := range tab.rows {
			described[a.key] = a.typ
		}
	}
	user := fullSpans()
	id := *user[3].Span
	root := *id.Root
	root.User = "jane"
	id.Root = &root
	user = append(user, translate.Output{Resource: claude, Span: &id})
	got := map[string]string{}
	for _, opts := range []Options{{}, {SemConv141: true}} {
		td := NewBuilder(opts).Traces(user)
		collect(got, td.ResourceSpans().At(0).Resource().Attributes())
		for s := range spans(td) {
			collect(got, s.Attributes())
			for _, l := range s.Links().All() {
				collect(got, l.Attributes())
			}
		}
	}
	for k := range got {
		if strings.HasPrefix(k, "ci.") { // the caller's
			delete(got, k)
		}
	}
	assert.Equal(t, described, got)

	described, got = map[string]string{}, map[string]string{}
	for _, a := range logTable.rows {
		described[a.key] = a.typ
	}
	summary := map[string]string{}
	m := pcommon.NewMap()
	putSummary(m, fullRoot())
	collect(summary, m)
	events := map[string]bool{}
	for _, r := range NewBuilder(Options{}).Logs(fullLogs(), observed).ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().All() {
		collect(got, r.Attributes())
		noDuplicates(t, r.Attributes())
		events[strings.TrimPrefix(r.EventName(), eventPrefix)] = true
	}
	for k := range summary {
		if _, ok := described[k]; !ok {
			assert.Contains(t, got, k)
			delete(got, k)
		}
	}
	assert.Equal(t, described, got)
	assert.Len(t, events, len(eventTable))
	for _, e := range eventTable {
		assert.True(t, events[string(e.name)], e.name)
	}
}

// TestNames keeps own names out of the namespaces of others and, apart from the one switch, the
// spelling of 1.41 out of the latest one.
func TestNames(t *testing.T) {
	for _, tab := range append([]attributeTable{logTable, resourceTable}, spanTables...) {
		for _, a := range tab.rows {
			assert.NotRegexp(t, `^agent\.|^session\.(?:[^i]|i[^d])`, a.key)
			assert.Contains(t, []string{"string", "int", "double", "bool", "string[]"}, a.typ, a.key)
			assert.NotEmpty(t, a.meaning, a.key)
		}
	}
	seen := map[string]bool{}
	for i, in := range instruments {
		assert.NotEmpty(t, in.name, i)
		assert.False(t, seen[in.name], in.name)
		seen[in.name] = true
		assert.NotEmpty(t, in.unit, in.name)
		assert.NotEmpty(t, in.about, in.name)
		assert.Equal(t, in.kind == histogram, in.buckets != nil, in.name)
		assert.True(t, slices.IsSorted(in.buckets), in.name)
		// Series are put below their agent's resource, so each must say which agent that is.
		assert.Contains(t, in.labels, labelAgent, in.name)
	}
}

// TestImports keeps transports out: this package is part of a small binary as well.
func TestImports(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	require.NoError(t, err)
	for pkg := range strings.Lines(string(out)) {
		assert.NotRegexp(t, `^google\.golang\.org/grpc|^net/http$|ptraceotlp|/plogotlp|/pmetricotlp`, strings.TrimSpace(pkg))
	}
}

func spans(td ptrace.Traces) func(func(ptrace.Span) bool) {
	return func(yield func(ptrace.Span) bool) {
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					if !yield(s) {
						return
					}
				}
			}
		}
	}
}

func str(m pcommon.Map, k string) string {
	v, ok := m.Get(k)
	if !ok {
		return ""
	}
	return v.Str()
}

func has(m pcommon.Map, k string) bool {
	_, ok := m.Get(k)
	return ok
}

func noDuplicates(t *testing.T, m pcommon.Map) {
	t.Helper()
	seen := map[string]bool{}
	for k := range m.All() {
		assert.False(t, seen[k], "%s stands there twice", k)
		seen[k] = true
	}
}

// collect notes the keys of m with the names of their types in the tables.
func collect(to map[string]string, m pcommon.Map) {
	for k, v := range m.All() {
		to[k] = map[pcommon.ValueType]string{
			pcommon.ValueTypeStr: "string", pcommon.ValueTypeInt: "int", pcommon.ValueTypeDouble: "double",
			pcommon.ValueTypeBool: "bool", pcommon.ValueTypeSlice: "string[]",
		}[v.Type()]
	}
}

func BenchmarkTraces(b *testing.B) {
	out := fullSpans()[:3]
	builder := NewBuilder(Options{})
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		builder.Traces(out)
		n += len(out)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/span")
}

func BenchmarkLogs(b *testing.B) {
	out := fullLogs()[:16]
	builder := NewBuilder(Options{})
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		builder.Logs(out, observed)
		n += len(out)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/record")
}
