// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/price"
)

const (
	second  = int64(time.Second)
	minute  = int64(time.Minute)
	modTime = int64(1_790_000_000) * second
	// begin is the time 0 of the records below.
	begin = int64(1_789_000_000) * second
	model = "claude-sonnet-4-5-20250929"
)

// at is a record of session s1 at a number of seconds; a negative one is untimed.
func at(sec float64, change func(*translate.Record)) *translate.Decoded {
	r := &translate.Record{Session: "s1"}
	if sec >= 0 {
		r.Time = begin + int64(sec*1e9)
	}
	change(r)
	return &translate.Decoded{Record: r}
}

func start() func(*translate.Record) {
	return func(r *translate.Record) {
		r.Type, r.Subtype = "system", "init"
		r.Start = &translate.Start{Model: model}
	}
}

func prompt() func(*translate.Record) {
	return func(r *translate.Record) {
		r.Type = "user"
		r.Prompt = &translate.Prompt{Text: translate.Text{Bytes: 5}}
	}
}

func usage(in, out int64) *translate.Usage {
	return &translate.Usage{Input: translate.Some(in), Output: translate.Some(out)}
}

// says is a row of a response with a text block.
func says(id string, in, out int64) func(*translate.Record) {
	return func(r *translate.Record) {
		r.Type = "assistant"
		r.Response = &translate.Response{
			ID: id, Model: model, StopReason: "end_turn", Usage: usage(in, out),
			Blocks: []translate.Block{{Kind: translate.BlockText, Text: translate.Text{Bytes: 3}}},
		}
	}
}

// calls is a row of a response with tool calls.
func calls(id string, names ...string) func(*translate.Record) {
	return func(r *translate.Record) {
		r.Type = "assistant"
		r.Response = &translate.Response{ID: id, Model: model, Usage: usage(10, 1)}
		for _, n := range names {
			tool, call, _ := strings.Cut(n, ":")
			c := &translate.Call{ID: call, Name: tool, ArgBytes: 2, Ops: []translate.Op{{Kind: translate.OpCommand}}}
			if tool == "Agent" {
				c.Launch, c.AgentType = true, "Explore"
				c.Ops[0].Kind = translate.OpOrchestration
			}
			r.Response.Blocks = append(r.Response.Blocks, translate.Block{Kind: translate.BlockCall, Call: c})
		}
	}
}

func result(call string, change ...func(*translate.Result)) func(*translate.Record) {
	return func(r *translate.Record) {
		r.Type = "user"
		res := translate.Result{CallID: call, Text: translate.Text{Bytes: 2}}
		for _, c := range change {
			c(&res)
		}
		r.Results = append(r.Results, res)
	}
}

func failed(res *translate.Result) { res.IsError = true }

func ends(change ...func(*translate.Terminal)) func(*translate.Record) {
	return func(r *translate.Record) {
		r.Type = "result"
		r.Terminal = &translate.Terminal{Subtype: "success", Turns: translate.Some(int64(1))}
		for _, c := range change {
			c(r.Terminal)
		}
	}
}

func in(parent string, f func(*translate.Record)) func(*translate.Record) {
	return func(r *translate.Record) {
		f(r)
		r.Agent.Parent = parent
	}
}

type env struct {
	cfg  Config
	info SourceInfo
}

func fold(t *testing.T, e env, units ...*translate.Decoded) []translate.Output {
	t.Helper()
	a := New(e.config())
	src := a.Open(e.source())
	for _, u := range units {
		a.Step(src, u)
	}
	a.End(src)
	a.Close()
	return a.Take()
}

func (e env) config() Config {
	cfg := e.cfg
	if cfg.MaxSpans == 0 {
		turn := cfg.Turn
		cfg = NewConfig()
		cfg.Turn = turn
	}
	cfg.Prices = price.NewBook(price.Default())
	return cfg
}

func (e env) source() SourceInfo {
	e.info.Format, e.info.Agent, e.info.ModTime, e.info.Derived = translate.FormatClaudeCode, "claude-code", modTime, "derived"
	return e.info
}

func spans(outs []translate.Output, typ translate.SpanType) []*translate.Span {
	var out []*translate.Span
	for i := range outs {
		if sp := outs[i].Span; sp != nil && sp.Type == typ {
			out = append(out, sp)
		}
	}
	return out
}

func tool(t *testing.T, outs []translate.Output, id string) *translate.Span {
	t.Helper()
	for _, sp := range spans(outs, translate.SpanTool) {
		if sp.Tool.CallID == id {
			return sp
		}
	}
	require.Fail(t, "no span of call "+id)
	return nil
}

func root(t *testing.T, outs []translate.Output) *translate.Span {
	t.Helper()
	roots := spans(outs, translate.SpanRoot)
	require.Len(t, roots, 1)
	return roots[0]
}

func logs(outs []translate.Output, e translate.Event) []*translate.Log {
	var out []*translate.Log
	for i := range outs {
		if l := outs[i].Log; l != nil && l.Event == e {
			out = append(out, l)
		}
	}
	return out
}

func sum(outs []translate.Output, m translate.Metric) (total float64) {
	for i := range outs {
		if st := outs[i].Step; st != nil && st.Metric == m {
			total += st.Value
		}
	}
	return total
}

func TestOutcomes(t *testing.T) {
	failure := func(tr *translate.Terminal) { tr.Failed, tr.IsError, tr.ErrorType = true, true, "error_max_turns" }
	noTurns := func(tr *translate.Terminal) { tr.Turns = translate.Some(int64(0)) }
	aborted := func(tr *translate.Terminal) { tr.Cancelled = true }
	base := []*translate.Decoded{at(0, start()), at(1, says("m1", 10, 2))}
	for name, tc := range map[string]struct {
		units    []*translate.Decoded
		outcome  string
		errType  string
		warnings int
	}{
		"success":                {units: []*translate.Decoded{at(2, ends())}, outcome: "success"},
		"error":                  {units: []*translate.Decoded{at(2, ends(failure))}, outcome: "error", errType: "error_max_turns"},
		"no terminal record":     {outcome: "incomplete", errType: "incomplete_stream"},
		"cancelled":              {units: []*translate.Decoded{at(2, ends(failure, aborted))}, outcome: "cancelled"},
		"late zero-turn error":   {units: []*translate.Decoded{at(2, ends()), at(3, ends(failure, noTurns))}, outcome: "success", warnings: 1},
		"an error, then success": {units: []*translate.Decoded{at(2, ends(failure)), at(3, says("m2", 1, 1)), at(4, ends())}, outcome: "success"},
		"interruption only": {
			units:   []*translate.Decoded{at(2, func(r *translate.Record) { r.Type, r.Interrupt = "user", true })},
			outcome: "cancelled",
		},
	} {
		t.Run(name, func(t *testing.T) {
			outs := fold(t, env{}, slices.Concat(base, tc.units)...)
			r := root(t, outs)
			assert.Equal(t, tc.outcome, r.Root.Outcome)
			assert.Equal(t, tc.errType, r.ErrType)
			assert.Equal(t, tc.errType != "", r.Error)
			assert.Len(t, logs(outs, translate.EventWarning), tc.warnings)
		})
	}
}

func TestPairing(t *testing.T) {
	outs := fold(t, env{},
		at(0, start()), at(1, calls("m1", "Bash:a", "Bash:b")),
		at(2, result("b")), at(3, calls("m1", "Bash:c")), at(4, result("c")), at(5, result("a", failed)),
		at(6, ends()))
	assert.Len(t, spans(outs, translate.SpanChat), 1)
	for id, want := range map[string]struct {
		start, end int64
		outcome    string
	}{
		"a": {1, 5, translate.ToolError}, "b": {1, 2, translate.ToolOK}, "c": {3, 4, translate.ToolOK},
	} {
		sp := tool(t, outs, id)
		assert.Equal(t, begin+want.start*second, sp.Start, id)
		assert.Equal(t, begin+want.end*second, sp.End, id)
		assert.Equal(t, want.outcome, sp.Tool.Outcome, id)
	}
}

func TestResultBeforeItsCall(t *testing.T) {
	outs := fold(t, env{}, at(0, start()), at(2, result("a")), at(3, calls("m1", "Bash:a")), at(4, ends()))
	sp := tool(t, outs, "a")
	assert.Equal(t, translate.ToolOK, sp.Tool.Outcome)
	assert.Equal(t, begin+2*second, sp.Start)
	assert.Equal(t, begin+3*second, sp.End)
}

func TestSameIDInTwoOpenCallsClosesNeither(t *testing.T) {
	outs := fold(t, env{}, at(0, start()), at(1, calls("m1", "Bash:a")), at(2, calls("m2", "Bash:a")), at(3, result("a")), at(4, ends()))
	tools := spans(outs, translate.SpanTool)
	require.Len(t, tools, 2)
	for _, sp := range tools {
		assert.Equal(t, translate.ToolIncomplete, sp.Tool.Outcome)
	}
	assert.NotEqual(t, tools[0].SpanID, tools[1].SpanID)
	unknown := logs(outs, translate.EventUnknown)
	require.Len(t, unknown, 1)
	assert.Equal(t, translate.UnknownAmbiguousID, unknown[0].Reason)
}

func TestOrphan(t *testing.T) {
	outs := fold(t, env{}, at(0, start()), at(1, says("m1", 1, 1)), at(2, result("nobody")), at(3, ends()))
	unknown := logs(outs, translate.EventUnknown)
	require.Len(t, unknown, 1)
	assert.Equal(t, translate.UnknownOrphan, unknown[0].Reason)
	assert.Equal(t, translate.SeverityWarn, unknown[0].Severity)
	assert.Empty(t, spans(outs, translate.SpanTool))
}

// An error result says only at the end of the turn whether it was a denial.
func TestDenialByListHoldsTheSpan(t *testing.T) {
	a := New(env{}.config())
	src := a.Open(env{}.source())
	for _, u := range []*translate.Decoded{at(0, start()), at(1, calls("m1", "Bash:a", "Bash:b")), at(2, result("a", failed)), at(3, result("b", failed))} {
		a.Step(src, u)
	}
	assert.Empty(t, spans(a.Take(), translate.SpanTool))
	a.Step(src, at(4, ends(func(tr *translate.Terminal) { tr.Denials, tr.DenialCount = []string{"a"}, 1 })))
	outs := a.Take()
	assert.Equal(t, translate.ToolDenied, tool(t, outs, "a").Tool.Outcome)
	assert.False(t, tool(t, outs, "a").Error)
	assert.Equal(t, translate.ToolError, tool(t, outs, "b").Tool.Outcome)
	assert.InDelta(t, 1, sum(outs, translate.MetricDenials), 0)
}

func TestFinishedCallLeavesWhileTheSessionRuns(t *testing.T) {
	a := New(env{}.config())
	src := a.Open(env{}.source())
	a.Step(src, at(0, start()))
	a.Step(src, at(1, calls("m1", "Bash:a")))
	a.Step(src, at(2, result("a")))
	assert.Len(t, spans(a.Take(), translate.SpanTool), 1)
}

func TestAbandonedCallEndsAtThePrompt(t *testing.T) {
	outs := fold(t, env{}, at(0, start()), at(1, calls("m1", "Bash:a")), at(5, prompt()), at(7, says("m2", 1, 1)), at(8, ends()))
	sp := tool(t, outs, "a")
	assert.Equal(t, translate.ToolIncomplete, sp.Tool.Outcome)
	assert.Equal(t, begin+5*second, sp.End)
}

func TestPromptTypedWhileAToolRuns(t *testing.T) {
	outs := fold(t, env{}, at(0, start()), at(1, calls("m1", "Bash:a")), at(5, prompt()), at(6, result("a")), at(7, says("m2", 1, 1)), at(8, ends()))
	assert.Equal(t, translate.ToolOK, tool(t, outs, "a").Tool.Outcome)
}

func TestSubagents(t *testing.T) {
	outs := fold(t, env{},
		at(0, start()), at(1, calls("m1", "Agent:x", "Agent:y")),
		at(2, in("x", calls("a1", "Agent:z"))), at(3, in("y", says("b1", 5, 5))),
		at(4, in("z", calls("c1", "Bash:q"))), at(5, in("z", result("q"))), at(6, in("x", result("z"))),
		at(7, result("y", failed)), at(8, result("x")), at(9, ends()))
	subs := map[string]*translate.Span{}
	for _, sp := range spans(outs, translate.SpanSubagent) {
		for _, id := range []string{"x", "y", "z"} {
			if sp.ParentID == tool(t, outs, id).SpanID {
				subs[id] = sp
			}
		}
	}
	require.Len(t, subs, 3)
	assert.EqualValues(t, 1, subs["x"].Subagent.Depth)
	assert.EqualValues(t, 2, subs["z"].Subagent.Depth)
	assert.True(t, subs["y"].Error)
	assert.Equal(t, tool(t, outs, "q").ParentID, subs["z"].SpanID)
	assert.Equal(t, tool(t, outs, "z").ParentID, subs["x"].SpanID)
	r := root(t, outs)
	assert.EqualValues(t, 3, r.Root.Subagents)
	assert.EqualValues(t, 3, r.Root.SubagentCalls)
	assert.Len(t, logs(outs, translate.EventOrchestration), 6)
}

func TestStandaloneSubagent(t *testing.T) {
	outs := fold(t, env{}, at(0, start()), at(1, says("m1", 1, 1)), at(2, in("gone", says("a1", 1, 1))), at(3, ends()))
	subs := spans(outs, translate.SpanSubagent)
	require.Len(t, subs, 1)
	assert.True(t, subs[0].Subagent.Standalone)
	assert.Equal(t, root(t, outs).SpanID, subs[0].ParentID)
}

func taskRec(kind translate.TaskKind, id, call, status string) func(*translate.Record) {
	return func(r *translate.Record) {
		r.Type = "system"
		r.Task = &translate.Task{Kind: kind, ID: id, CallID: call, Status: status, Type: "local_bash"}
	}
}

func TestBackgroundCallStaysOpen(t *testing.T) {
	outs := fold(t, env{},
		at(0, start()), at(1, calls("m1", "Bash:a")), at(1, taskRec(translate.TaskStarted, "b1", "a", "")),
		at(2, result("a", func(r *translate.Result) { r.Async, r.TaskID = true, "b1" })), at(3, says("m2", 1, 1)), at(4, ends()),
		at(100, taskRec(translate.TaskNotified, "b1", "a", "failed")), at(101, says("m3", 1, 1)), at(102, ends()))
	sp := tool(t, outs, "a")
	assert.Equal(t, translate.ToolError, sp.Tool.Outcome)
	assert.True(t, sp.Tool.Background)
	assert.Equal(t, begin+100*second, sp.End)
	assert.EqualValues(t, 2, root(t, outs).Root.Turns, "open background work starts no linger")
}

func TestForegroundTaskIsNoBackground(t *testing.T) {
	outs := fold(t, env{}, at(0, start()), at(1, calls("m1", "Bash:a")), at(1, taskRec(translate.TaskStarted, "b1", "a", "")),
		at(2, taskRec(translate.TaskNotified, "b1", "a", "completed")), at(3, result("a")), at(4, ends()))
	assert.False(t, tool(t, outs, "a").Tool.Background)
	assert.Equal(t, begin+3*second, tool(t, outs, "a").End)
}

func TestSegments(t *testing.T) {
	turns := func(pause float64) []*translate.Decoded {
		return []*translate.Decoded{
			at(0, start()), at(1, prompt()), at(2, says("m1", 10, 1)), at(3, ends()),
			at(3+pause, prompt()), at(4+pause, says("m2", 20, 2)), at(5+pause, ends()),
		}
	}
	for name, tc := range map[string]struct {
		cfg   Config
		units []*translate.Decoded
		want  int
	}{
		"within the linger":  {units: turns(9), want: 1},
		"after the linger":   {units: turns(11), want: 2},
		"turn mode":          {cfg: Config{Turn: true}, units: turns(1), want: 2},
		"gap without result": {units: []*translate.Decoded{at(0, start()), at(1, says("m1", 1, 1)), at(2000, says("m2", 1, 1))}, want: 2},
		"gap in a tool call": {units: []*translate.Decoded{at(0, start()), at(1, calls("m1", "Bash:a")), at(5000, result("a")), at(5001, says("m2", 1, 1))}, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			outs := fold(t, env{cfg: tc.cfg}, tc.units...)
			roots := spans(outs, translate.SpanRoot)
			require.Len(t, roots, tc.want)
			if tc.want > 1 {
				require.Len(t, roots[1].Links, 1)
				assert.Equal(t, roots[0].TraceID, roots[1].Links[0].TraceID)
				assert.Equal(t, roots[0].SpanID, roots[1].Links[0].SpanID)
			}
			assert.InDelta(t, 1, sum(outs, translate.MetricSessions), 0)
			assert.InDelta(t, float64(tc.want), sum(outs, translate.MetricSegments), 0)
			assert.InDelta(t, 0, sum(outs, translate.MetricActive), 0)
		})
	}
}

func TestUntimedFileIsSpreadBeforeItsEnd(t *testing.T) {
	outs := fold(t, env{}, at(-1, start()), at(-1, calls("m1", "Bash:a")), at(-1, result("a")), at(-1, says("m2", 1, 1)),
		at(-1, ends(func(tr *translate.Terminal) { tr.Duration = translate.Some(8 * second) })))
	r := root(t, outs)
	assert.True(t, r.Root.TimeEstimated)
	assert.Equal(t, modTime, r.End)
	assert.Equal(t, modTime-8*second, r.Start)
	sp := tool(t, outs, "a")
	assert.Greater(t, sp.Start, r.Start)
	assert.Less(t, sp.End, r.End)
	assert.Less(t, sp.Start, sp.End)
	assert.Zero(t, sum(outs, translate.MetricToolDuration)+sum(outs, translate.MetricAgentDuration))
}

func TestUntimedBeforeTheFirstTime(t *testing.T) {
	outs := fold(t, env{}, at(-1, start()), at(-1, prompt()), at(5, says("m1", 1, 1)), at(-1, ends()))
	r := root(t, outs)
	assert.False(t, r.Root.TimeEstimated)
	assert.Equal(t, begin+5*second, r.Start)
	assert.Equal(t, begin+5*second, logs(outs, translate.EventPrompt)[0].Time)
}

func TestGhostLeavesNothing(t *testing.T) {
	assert.Empty(t, fold(t, env{}, at(0, prompt()), at(1, result("x"))))
}

func TestRunningTotals(t *testing.T) {
	total := func(in, out int64, cost float64) func(*translate.Terminal) {
		return func(tr *translate.Terminal) {
			tr.Cost = translate.Some(cost)
			tr.Models = []translate.ModelUsage{{Model: "claude-sonnet-4-5", Usage: *usage(in, out), Cost: translate.Some(cost)}}
		}
	}
	outs := fold(t, env{}, at(0, start()), at(1, says("m1", 100, 10)), at(2, ends(total(130, 12, 0.01))),
		at(3, start()), at(4, says("m2", 50, 5)), at(5, ends(total(180, 20, 0.03))))
	r := root(t, outs)
	assert.EqualValues(t, 180, r.Root.Usage.V.Input)
	assert.EqualValues(t, 20, r.Root.Usage.V.Output)
	assert.InDelta(t, 0.03, r.Root.Cost.V, 1e-12)
	assert.Equal(t, "reported", r.Root.CostSource)
	assert.InDelta(t, 0.03, sum(outs, translate.MetricCost), 1e-12)

	again := fold(t, env{}, at(0, start()), at(1, says("m1", 100, 10)), at(2, ends(total(100, 10, 0.01))),
		at(3, start()), at(4, says("m2", 50, 5)), at(5, ends(total(50, 5, 0.005))))
	assert.EqualValues(t, 150, root(t, again).Root.Usage.V.Input)
	assert.InDelta(t, 0.015, root(t, again).Root.Cost.V, 1e-12)
}

// Copies of a response in another session add nothing.
func TestResponseCountsOnce(t *testing.T) {
	a := New(env{}.config())
	for _, id := range []string{"s1", "s2"} {
		src := a.Open(env{}.source())
		for _, u := range []*translate.Decoded{at(0, start()), at(1, says("m1", 100, 10)), at(2, says(id, 1, 1)), at(3, ends())} {
			u.Record.Session = id
			a.Step(src, u)
		}
		a.End(src)
	}
	a.Close()
	var in int64
	for _, o := range a.Take() {
		if o.Step != nil && o.Step.Metric == translate.MetricTokens {
			in += o.Step.Tokens.Input
		}
	}
	assert.EqualValues(t, 102, in)
}

func TestRepeatedRecordIsTheSame(t *testing.T) {
	named := func(u *translate.Decoded, uuid string) *translate.Decoded {
		u.Record.UUID = uuid
		return u
	}
	once := []*translate.Decoded{
		named(at(0, start()), "u0"), named(at(1, prompt()), "u1"), named(at(2, calls("m1", "Bash:a")), "u2"),
		named(at(3, result("a")), "u3"), named(at(4, ends()), "u4"),
	}
	assert.Equal(t, fold(t, env{}, once...), fold(t, env{}, slices.Concat(once, once)...))
}

func TestLiveSourceClosesByTheClock(t *testing.T) {
	live := env{info: SourceInfo{Live: true}}
	a := New(live.config())
	src := a.Open(live.source())
	now := begin
	for _, f := range []func(*translate.Record){start(), says("m1", 1, 1), ends()} {
		u := at(-1, f)
		u.Record.Arrival = now
		a.At(now)
		now += second
		a.Step(src, u)
	}
	a.Due(now + 5*second)
	assert.Empty(t, spans(a.Take(), translate.SpanRoot), "the linger is not over")
	a.Due(now + 15*second)
	roots := spans(a.Take(), translate.SpanRoot)
	require.Len(t, roots, 1)
	assert.Equal(t, begin, roots[0].Start)
	assert.Equal(t, begin+2*second, roots[0].End)
	assert.False(t, roots[0].Root.TimeEstimated)

	a.End(src)
	a.Close()
	assert.Empty(t, spans(a.Take(), translate.SpanRoot), "a root is sent once")
}

func TestFileClosesByTheClockWhenNothingIsUnread(t *testing.T) {
	a := New(env{}.config())
	behind := true
	src := a.Open(SourceInfo{Format: translate.FormatClaudeCode, Agent: "claude-code", Derived: "derived", Behind: func() bool { return behind }})
	a.At(1)
	for _, u := range []*translate.Decoded{at(0, start()), at(1, says("m1", 1, 1)), at(2, ends())} {
		a.Step(src, u)
	}
	a.Due(1 + 3600*second)
	assert.Empty(t, spans(a.Take(), translate.SpanRoot), "rows are on their way")
	behind = false
	a.Due(1 + 3605*second)
	assert.Empty(t, spans(a.Take(), translate.SpanRoot), "the linger begins with the last row that may have come")
	a.Due(1 + 3611*second)
	assert.Len(t, spans(a.Take(), translate.SpanRoot), 1)
}

func TestUntimedFileGoesOnAfterItsSessionWasClosed(t *testing.T) {
	a := New(env{}.config())
	src := a.Open(SourceInfo{
		Format: translate.FormatClaudeCode, Agent: "claude-code", ModTime: modTime, Behind: func() bool { return false },
	})
	a.At(1)
	for _, u := range []*translate.Decoded{at(-1, start()), at(-1, says("m1", 1, 1)), at(-1, ends())} {
		a.Step(src, u)
	}
	a.Due(1 + 11*second)
	first := spans(a.Take(), translate.SpanRoot)
	require.Len(t, first, 1)
	assert.Equal(t, modTime, first[0].End)

	later := modTime + 100*second
	src.Modified(later)
	for _, u := range []*translate.Decoded{at(-1, prompt()), at(-1, says("m2", 1, 1)), at(-1, ends())} {
		a.Step(src, u)
	}
	a.Due(1 + 30*second)
	second := spans(a.Take(), translate.SpanRoot)
	require.Len(t, second, 1)
	assert.Equal(t, later, second[0].End)
	require.Len(t, second[0].Links, 1)
	assert.Equal(t, first[0].SpanID, second[0].Links[0].SpanID)
}

func TestIdleSessionThatOnlyStartedIsTold(t *testing.T) {
	live := env{info: SourceInfo{Live: true}}
	a := New(live.config())
	src := a.Open(live.source())
	a.At(1)
	a.Step(src, at(0, start()))
	a.Due(1 + 31*minute)
	roots := spans(a.Take(), translate.SpanRoot)
	require.Len(t, roots, 1)
	assert.Equal(t, translate.OutcomeIncomplete, roots[0].Root.Outcome)
}

func TestRequestsOfOneProcessShareItsTotals(t *testing.T) {
	total := func(usd float64) func(*translate.Record) {
		return func(r *translate.Record) {
			ends()(r)
			r.Terminal.Cost = translate.Some(usd)
		}
	}
	live := env{info: SourceInfo{Live: true}}
	var cost float64
	a := New(live.config())
	for i, usd := range []float64{1, 3, 4} {
		src := a.Open(live.source())
		a.At(int64(i))
		a.Step(src, at(float64(2*i), says("m"+strconv.Itoa(i), 1, 1)))
		a.Step(src, at(float64(2*i+1), total(usd)))
		a.Release(src)
		assert.Empty(t, spans(a.Take(), translate.SpanRoot), "the end of a request closes nothing")
	}
	a.Close()
	for _, o := range a.Take() {
		if o.Span != nil && o.Span.Root != nil {
			cost += o.Span.Root.Cost.V
		}
	}
	assert.InDelta(t, 4, cost, 1e-9)
}

func TestTheSessionThatWasIdleLongestMakesRoom(t *testing.T) {
	e := env{info: SourceInfo{Live: true}}
	cfg := e.config()
	cfg.MaxSessions = 2
	a := New(cfg)
	src := a.Open(e.source())
	of := func(id string, sec float64, f func(*translate.Record)) *translate.Decoded {
		u := at(sec, f)
		u.Record.Session = id
		return u
	}
	a.Step(src, of("s1", 0, says("m1", 1, 1)))
	a.Step(src, of("s2", 1, says("m2", 1, 1)))
	a.Step(src, of("s1", 2, says("m3", 1, 1)))
	a.Step(src, of("s3", 3, says("m4", 1, 1)))
	roots := spans(a.Take(), translate.SpanRoot)
	require.Len(t, roots, 1)
	assert.Equal(t, "s2", roots[0].Session)
	assert.Equal(t, 2, a.Sessions())
}

func TestResponseOfLongAgoIsKnownByItsIDAlone(t *testing.T) {
	var units []*translate.Decoded
	for n := range keptResponses + 100 {
		units = append(units, at(float64(n), says("m"+strconv.Itoa(n), 1, 1)))
	}
	late := at(float64(keptResponses+100), says("m0", 1, 1))
	outs := fold(t, env{}, append(units, late)...)
	assert.Len(t, spans(outs, translate.SpanChat), keptResponses+100)
	assert.Len(t, spans(outs, translate.SpanRoot), 1)
}

func TestSessionWithoutAName(t *testing.T) {
	units := []*translate.Decoded{at(0, start()), at(1, says("m1", 1, 1)), at(2, ends())}
	for _, u := range units {
		u.Record.Session = ""
	}
	outs := fold(t, env{}, units...)
	assert.Equal(t, "derived", root(t, outs).Session)
	assert.True(t, root(t, outs).Root.DerivedID)
}

// TestAnyRecords folds random records: whatever comes, ids are unique and every parent is sent.
func TestAnyRecords(t *testing.T) {
	for seed := range uint64(1000) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			var units []*translate.Decoded
			sec := 0.0
			for range 60 {
				sec += rnd.Float64() * []float64{1, 1, 1, 40, 4000}[rnd.IntN(5)]
				when := sec
				if rnd.IntN(4) == 0 {
					when = -1
				}
				units = append(units, at(when, random(rnd)))
			}
			e := env{cfg: Config{Turn: seed%2 == 0}}
			outs := fold(t, e, units...)
			assert.Equal(t, outs, fold(t, e, units...), "the same input gives the same outputs")
			ids := map[[24]byte]bool{}
			for i := range outs {
				if sp := outs[i].Span; sp != nil {
					k := [24]byte(append(sp.TraceID[:], sp.SpanID[:]...))
					require.False(t, ids[k], "span sent twice")
					ids[k] = true
					assert.LessOrEqual(t, sp.Start, sp.End)
					assert.Greater(t, sp.Start, ordinalEnd)
				}
			}
			for i := range outs {
				if sp := outs[i].Span; sp != nil && sp.Type != translate.SpanRoot {
					assert.True(t, ids[[24]byte(append(sp.TraceID[:], sp.ParentID[:]...))], "parent of a span of type %d", sp.Type)
				}
				if l := outs[i].Log; l != nil {
					assert.True(t, ids[[24]byte(append(l.TraceID[:], l.SpanID[:]...))], "span of log %s", l.Event)
				}
			}
			assert.InDelta(t, 0, sum(outs, translate.MetricActive), 0)
		})
	}
}

func random(rnd *rand.Rand) func(*translate.Record) {
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	id := func() string { return pick("a", "b", "c", "d", "e") }
	var f func(*translate.Record)
	switch rnd.IntN(12) {
	case 0:
		f = start()
	case 1:
		f = prompt()
	case 2, 3:
		f = says("m"+id(), rnd.Int64N(100), rnd.Int64N(100))
	case 4, 5:
		f = calls("m"+id(), pick("Bash", "Agent", "Read")+":"+id(), pick("Bash", "Agent")+":"+id())
	case 6, 7:
		f = result(id(), func(r *translate.Result) {
			r.IsError, r.Denied, r.Async = rnd.IntN(4) == 0, rnd.IntN(8) == 0, rnd.IntN(5) == 0
			r.RanAgent, r.TaskID, r.AgentID = rnd.IntN(2) == 0, pick("", "t1", "t2"), pick("", "t1", "t2")
		})
	case 8:
		f = ends(func(tr *translate.Terminal) {
			tr.Failed = rnd.IntN(3) == 0
			tr.ErrorType = "error_during_execution"
			tr.Denials = []string{id()}
			tr.Cost = translate.Some(rnd.Float64())
			tr.Duration = translate.Some(rnd.Int64N(minute))
		})
	case 9:
		f = taskRec(translate.TaskKind(rnd.IntN(4)), pick("t1", "t2", "t3"), pick("", id()), pick("", "completed", "failed"))
	case 10:
		f = func(r *translate.Record) { r.Type, r.Interrupt = "user", true }
	default:
		f = func(r *translate.Record) {
			r.Type = "mystery"
			r.Unknowns = []translate.Unknown{{Reason: translate.UnknownRecordType, Type: "mystery", Bytes: 10}}
		}
	}
	if rnd.IntN(3) == 0 {
		return in(id(), f)
	}
	return f
}

// A source without record ids that begins with the records of an earlier source adds only what comes
// after them.
func TestCopyWithoutIDs(t *testing.T) {
	units := func() []*translate.Decoded {
		all := []*translate.Decoded{
			at(0, start()), at(1, prompt()), at(2, says("m1", 10, 1)),
			at(3, ends(func(tr *translate.Terminal) { tr.Cost = translate.Some(0.5) })), at(4, prompt()),
		}
		for i, u := range all {
			u.Record.Hash = uint64(i + 1)
		}
		return all
	}
	a := New(env{}.config())
	for _, n := range []int{4, 5} {
		src := a.Open(env{}.source())
		for _, u := range units()[:n] {
			a.Step(src, u)
		}
		a.End(src)
	}
	a.Close()
	outs := a.Take()
	assert.InDelta(t, 2, sum(outs, translate.MetricPrompts), 0)
	assert.InDelta(t, 0.5, sum(outs, translate.MetricCost), 1e-12)
	assert.EqualValues(t, 2, root(t, outs).Root.Prompts)
}

// A session that was closed to make room and then goes on gets a segment of its own: no id comes twice.
func TestTooManySessions(t *testing.T) {
	cfg := env{}.config()
	cfg.MaxSessions = 1
	a := New(cfg)
	src := a.Open(env{}.source())
	for i, id := range []string{"s1", "s2", "s1", "s2"} {
		for _, u := range []*translate.Decoded{at(float64(10*i), start()), at(float64(10*i+1), says("m"+strconv.Itoa(i), 1, 1))} {
			u.Record.Session = id
			a.Step(src, u)
		}
	}
	a.Close()
	outs := a.Take()
	ids := map[translate.SpanID]bool{}
	for _, sp := range append(spans(outs, translate.SpanRoot), spans(outs, translate.SpanChat)...) {
		assert.False(t, ids[sp.SpanID])
		ids[sp.SpanID] = true
	}
	assert.Len(t, ids, 8)
	assert.InDelta(t, 0, sum(outs, translate.MetricActive), 0)
}

func TestImpossibleReports(t *testing.T) {
	huge := func(tr *translate.Terminal) {
		tr.Cost = translate.Some(1.0)
		tr.Models = []translate.ModelUsage{{Model: "a", Cost: translate.Some(1e308)}, {Model: "b", Cost: translate.Some(1e308)}}
	}
	r := root(t, fold(t, env{}, at(0, start()), at(1, says("m1", 1<<62, 1)), at(2, ends(huge))))
	assert.InDelta(t, 1, r.Root.Cost.V, 0, "the reported total wins")
	assert.Positive(t, r.Root.Usage.V.InputTotal())
	alone := root(t, fold(t, env{}, at(0, start()), at(1, says("m1", 1, 1)), at(2, ends(func(tr *translate.Terminal) { tr.Cost = translate.Some(1e308) }))))
	assert.Equal(t, "estimated", alone.Root.CostSource)
}

func TestSubagentsTaskStandsOnItsFirstModelCall(t *testing.T) {
	launch := at(1, calls("m1", "Agent:x"))
	launch.Record.Response.Blocks[0].Call.Prompt = translate.Text{Bytes: 9, Content: "look here"}
	cfg := env{}.config()
	cfg.Capture.Prompts = true
	outs := fold(t, env{cfg: cfg}, at(0, start()), launch, at(2, in("x", says("a1", 1, 1))), at(3, result("x")), at(4, ends()))
	for _, sp := range spans(outs, translate.SpanChat) {
		if sp.Chat.ResponseID == "a1" {
			assert.Contains(t, sp.Chat.Input, "look here")
		} else {
			assert.NotContains(t, sp.Chat.Input, "look here")
		}
	}
}
