// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// told is a small recording of one lane: a root with a call below it, an event, tokens that rise from zero over two
// points, a histogram.
type told struct {
	lane   string
	traces ptrace.Traces
	logs   plog.Logs
	start  pcommon.Timestamp
}

func tell(lane string) told {
	d := told{lane: lane, traces: ptrace.NewTraces(), logs: plog.NewLogs(), start: 100}
	rs := d.traces.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr(LaneKey, lane)
	spans := rs.ScopeSpans().AppendEmpty().Spans()
	for i, name := range []string{"invoke_agent claude-code", "execute_tool Bash"} {
		s := spans.AppendEmpty()
		s.SetTraceID([16]byte{1})
		s.SetSpanID([8]byte{byte(i + 1)})
		s.SetName(name)
		s.SetStartTimestamp(10)
		s.SetEndTimestamp(20)
		s.Attributes().PutStr("gen_ai.conversation.id", "s1")
		if i == 0 {
			s.Attributes().PutStr("agentstream.session.outcome", "success")
			continue
		}
		s.SetParentSpanID([8]byte{1})
		s.Attributes().PutStr("gen_ai.tool.call.id", "toolu_1")
	}
	rl := d.logs.ResourceLogs().AppendEmpty()
	rl.Resource().Attributes().PutStr(LaneKey, lane)
	l := rl.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	l.SetEventName("agentstream.command")
	l.SetTimestamp(15)
	l.SetObservedTimestamp(1000)
	l.Attributes().PutStr("log.record.uid", "uid-1")
	return d
}

// points are values of the token counter and of a histogram of one observation for each token.
func (d told) points(at pcommon.Timestamp, tokens int64) pmetric.Metrics {
	md := pmetric.NewMetrics()
	rm := md.ResourceMetrics().AppendEmpty()
	rm.Resource().Attributes().PutStr(LaneKey, d.lane)
	metrics := rm.ScopeMetrics().AppendEmpty().Metrics()
	m := metrics.AppendEmpty()
	m.SetName("agentstream.token.usage")
	m.SetEmptySum().SetIsMonotonic(true)
	m.Sum().SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	p := m.Sum().DataPoints().AppendEmpty()
	p.SetStartTimestamp(d.start)
	p.SetTimestamp(at)
	p.SetIntValue(tokens)
	m = metrics.AppendEmpty()
	m.SetName("gen_ai.execute_tool.duration")
	m.SetEmptyHistogram().SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	h := m.Histogram().DataPoints().AppendEmpty()
	h.SetStartTimestamp(d.start)
	h.SetTimestamp(at)
	h.SetCount(uint64(tokens))
	h.SetSum(float64(tokens) / 2)
	h.BucketCounts().FromRaw([]uint64{0, uint64(tokens)})
	return md
}

func (d told) span(i int) ptrace.Span {
	return d.traces.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(i)
}

func (d told) log() plog.LogRecord {
	return d.logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0)
}

func (d told) drop(name string) {
	d.traces.ResourceSpans().At(0).ScopeSpans().At(0).Spans().RemoveIf(func(s ptrace.Span) bool { return s.Name() == name })
}

// Whatever is wrong is found: a laboratory that finds nothing proves nothing.
func TestCompareFinds(t *testing.T) {
	type change = func(d *told, r *Recording)
	points := func(values ...int64) func(d told, r *Recording) {
		return func(d told, r *Recording) {
			for i, v := range values {
				r.Metrics(d.points(200+pcommon.Timestamp(i)*10, v))
			}
		}
	}
	for name, tc := range map[string]struct {
		lane   string // exact when empty
		change change
		points func(d told, r *Recording)
		rules  Rules
		// want is the kind of problem and a word of it; empty for none.
		lost, extra, changed, counters string
	}{
		"nothing":                   {},
		"another order":             {change: func(d *told, _ *Recording) { d.log().SetObservedTimestamp(77) }},
		"a lost span":               {change: func(d *told, _ *Recording) { d.drop("execute_tool Bash") }, lost: "execute_tool Bash"},
		"a lost root":               {change: func(d *told, _ *Recording) { d.drop("invoke_agent claude-code") }, lost: "invoke_agent"},
		"a lost log":                {change: func(d *told, _ *Recording) { d.logs = plog.NewLogs() }, lost: "uid-1"},
		"a span under another id":   {change: func(d *told, _ *Recording) { d.span(1).SetSpanID([8]byte{9}) }, lost: "execute_tool", extra: "execute_tool"},
		"a log under another uid":   {change: func(d *told, _ *Recording) { d.log().Attributes().PutStr("log.record.uid", "x") }, lost: "uid-1", extra: "log x"},
		"a log without uid":         {change: func(d *told, _ *Recording) { d.log().Attributes().Remove("log.record.uid") }, lost: "uid-1", changed: "without uid"},
		"a changed attribute":       {change: func(d *told, _ *Recording) { d.span(1).Attributes().PutInt("n", 1) }, changed: `"n":1`},
		"an integer as a double":    {change: func(d *told, _ *Recording) { d.span(0).Attributes().PutDouble("n", 1) }, changed: "double"},
		"another parent":            {change: func(d *told, _ *Recording) { d.span(1).SetParentSpanID([8]byte{7}) }, changed: "execute_tool"},
		"another status":            {change: func(d *told, _ *Recording) { d.span(1).Status().SetCode(ptrace.StatusCodeError) }, changed: "Error"},
		"another end":               {change: func(d *told, _ *Recording) { d.span(1).SetEndTimestamp(21) }, changed: "execute_tool"},
		"another link":              {change: func(d *told, _ *Recording) { d.span(0).Links().AppendEmpty() }, changed: "invoke_agent"},
		"another resource":          {change: func(d *told, _ *Recording) { d.traces.ResourceSpans().At(0).Resource().Attributes().PutInt("v", 2) }, changed: `"v":2`},
		"another body":              {change: func(d *told, _ *Recording) { d.log().Body().SetStr("x") }, changed: "uid-1"},
		"another time of a log":     {change: func(d *told, _ *Recording) { d.log().SetTimestamp(16) }, changed: "uid-1"},
		"times of the untimed lane": {lane: Untimed, change: func(d *told, _ *Recording) { d.span(1).SetEndTimestamp(21); d.log().SetTimestamp(16) }},
		"content of the untimed lane": {
			lane: Untimed, change: func(d *told, _ *Recording) { d.span(1).Attributes().PutInt("n", 1) }, changed: "execute_tool",
		},
		"the same again": {change: func(d *told, r *Recording) { r.Traces(d.traces); r.Logs(d.logs) }},
		"the same again where nothing went wrong": {
			change: func(d *told, r *Recording) { r.Traces(d.traces); r.Logs(d.logs) }, rules: Rules{Once: true}, extra: "came 2 times",
		},
		"again as another": {change: func(d *told, r *Recording) {
			r.Traces(d.traces)
			d.span(1).SetEndTimestamp(21)
			r.Traces(d.traces)
			d.span(1).SetEndTimestamp(20)
		}, changed: "came again as another"},
		"doubled tokens":       {points: points(0, 10, 20), counters: "want 10"},
		"lost tokens":          {points: points(0, 9), counters: "want 10"},
		"no metrics":           {points: points(), counters: "lost"},
		"a fall":               {points: points(0, 10, 4, 10), counters: "fell from 10"},
		"no zero first":        {points: points(10), counters: "begins with 10"},
		"equal points again":   {points: points(0, 10, 10, 10)},
		"points out of order":  {points: func(d told, r *Recording) { r.Metrics(d.points(210, 10)); r.Metrics(d.points(200, 0)) }},
		"two values at a time": {points: func(d told, r *Recording) { points(0, 10)(d, r); r.Metrics(d.points(210, 11)) }, counters: "two values"},
		"another start": {points: func(d told, r *Recording) {
			points(0, 4)(d, r)
			d.start = 300
			r.Metrics(d.points(310, 0))
			r.Metrics(d.points(320, 10))
		}, counters: "start time changed"},
		"another start without storage": {points: func(d told, r *Recording) {
			points(0, 4)(d, r)
			d.start = 300
			r.Metrics(d.points(310, 0))
			r.Metrics(d.points(320, 10))
		}, rules: Rules{Restarted: true}},
		"a series more": {change: func(_ *told, r *Recording) {
			other := tell(Untimed)
			r.Metrics(other.points(200, 0))
		}, counters: "extra"},
		"what TCP lost": {lane: Lossy, change: func(d *told, _ *Recording) { d.drop("execute_tool Bash") }, points: points(0, 4)},
		"what TCP never had": {
			lane: Lossy, change: func(d *told, _ *Recording) { d.span(1).Attributes().PutStr("gen_ai.tool.call.id", "x") }, extra: "execute_tool",
		},
		"a call of TCP in two traces": {lane: Lossy, change: func(d *told, r *Recording) {
			r.Traces(d.traces)
			d.span(1).SetTraceID([16]byte{2})
		}, extra: "is there as"},
		"more tokens than TCP had": {lane: Lossy, points: points(0, 11), counters: "more tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			lane := tc.lane
			if lane == "" {
				lane = Exact
			}
			record := func(d told, change change, more func(d told, r *Recording)) *Recording {
				r := NewRecording()
				if change != nil {
					change(&d, r)
				}
				r.Traces(d.traces)
				r.Logs(d.logs)
				more(d, r)
				return r
			}
			if tc.points == nil {
				tc.points = points(0, 10)
			}
			want := record(tell(lane), nil, points(0, 10))
			got := record(tell(lane), tc.change, tc.points)
			report := Compare(want, got, tc.rules)
			for _, kind := range []struct {
				name, word string
				list       []string
			}{
				{"lost", tc.lost, report.Lost},
				{"extra", tc.extra, report.Extra},
				{"changed", tc.changed, report.Changed},
				{"counters", tc.counters, report.Counters},
			} {
				if kind.word == "" {
					assert.Empty(t, kind.list, kind.name)
					continue
				}
				assert.Contains(t, strings.Join(kind.list, "\n"), kind.word, kind.name)
			}
			assert.Equal(t, report.OK(), report.Err() == nil)
		})
	}
}

// A copy of a recording is not changed with it.
func TestRecordingClone(t *testing.T) {
	r := NewRecording()
	d := tell(Exact)
	r.Traces(d.traces)
	c := r.Clone()
	r.Traces(d.traces)
	r.Logs(d.logs)
	spans, logs := c.Sizes()
	assert.Equal(t, []int{2, 0}, []int{spans, logs})
	assert.Zero(t, Compare(c, c, Rules{}).Duplicates)
	assert.Equal(t, map[string]int{"s1": 1}, c.Roots())
	assert.Empty(t, c.Rootless())
}
