// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/golden"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/pdatatest/pmetrictest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

// allSteps has a step of each metric, some of them twice.
func allSteps() []translate.Step {
	const sonnet = "claude-sonnet-4-5"
	tokens := translate.Tokens{Input: 10, CacheRead: 100, CacheWrite: 50, Output: 7, Reasoning: 3}
	return []translate.Step{
		{Metric: translate.MetricTokens, Agent: "claude-code", Model: sonnet, Provider: "anthropic", Tokens: tokens},
		{Metric: translate.MetricTokens, Agent: "claude-code", Model: sonnet, Provider: "anthropic", Tokens: translate.Tokens{Output: 4}},
		{Metric: translate.MetricTokens, Agent: "claude-code", Model: "claude-haiku-4-5", Provider: "aws.bedrock", Subagent: true, Tokens: tokens},
		{Metric: translate.MetricTokens, Agent: "codex", Tokens: translate.Tokens{Input: 5}},
		{Metric: translate.MetricResponseTokens, Agent: "claude-code", Model: sonnet, Provider: "anthropic", Tokens: tokens},
		{Metric: translate.MetricCost, Agent: "claude-code", Model: sonnet, Provider: "anthropic", Value: 0.1, Label: "reported"},
		{Metric: translate.MetricCost, Agent: "claude-code", Model: sonnet, Provider: "anthropic", Value: 0.2, Label: "reported"},
		{Metric: translate.MetricCost, Agent: "claude-code", Model: sonnet, Provider: "anthropic", Value: 1e-7, Label: "estimated"},
		{Metric: translate.MetricUnpriced, Agent: "codex", Model: "", Value: 5},
		{Metric: translate.MetricUsageIncomplete, Agent: "claude-code", Value: 2},
		{Metric: translate.MetricInferenceDuration, Agent: "claude-code", Model: sonnet, Provider: "anthropic", Value: 1.28},
		{Metric: translate.MetricAgentDuration, Agent: "claude-code", Value: 7000},
		{Metric: translate.MetricAgentCalls, Agent: "claude-code", Value: 3},
		{Metric: translate.MetricAgentTools, Agent: "claude-code", Value: 0},
		{Metric: translate.MetricAgentTools, Agent: "claude-code", Value: 9, ErrType: "error_max_turns"},
		{Metric: translate.MetricToolDuration, Agent: "claude-code", Tool: "Bash", Value: 0.001},
		{Metric: translate.MetricToolDuration, Agent: "claude-code", Tool: "mcp__gh__run", Extension: true, Value: 200, ErrType: "timeout"},
		{Metric: translate.MetricToolCalls, Agent: "claude-code", Tool: "Bash", Label: "ok", Value: 1},
		{Metric: translate.MetricToolCalls, Agent: "claude-code", Tool: "Bash", Label: "denied", Value: 1},
		{Metric: translate.MetricSessions, Agent: "claude-code", Label: "success", Value: 1},
		{Metric: translate.MetricSessions, Agent: "claude-code", Label: "error", ErrType: "error_max_turns", Value: 1},
		{Metric: translate.MetricSegments, Agent: "claude-code", Value: 1},
		{Metric: translate.MetricActive, Agent: "claude-code", Value: 1},
		{Metric: translate.MetricActive, Agent: "claude-code", Value: 1},
		{Metric: translate.MetricActive, Agent: "claude-code", Value: -1},
		{Metric: translate.MetricPrompts, Agent: "claude-code", Value: 1},
		{Metric: translate.MetricRetries, Agent: "claude-code", Value: 1},
		{Metric: translate.MetricDenials, Agent: "claude-code", Value: 1},
		{Metric: translate.MetricCompactions, Agent: "claude-code", Value: 1},
		{Metric: translate.MetricLines, Agent: "claude-code", Label: "added", Value: 12},
		{Metric: translate.MetricLines, Agent: "claude-code", Label: "removed", Value: 3},
		{Metric: translate.MetricRateLimit, Agent: "claude-code", Label: "five_hour", Value: 0.8},
	}
}

func newTotals(steps []translate.Step, opts MetricOptions) *Totals {
	t := NewTotals(opts)
	for _, s := range steps {
		t.Add(s)
	}
	return t
}

func metricsJSON(t *testing.T, md pmetric.Metrics) string {
	t.Helper()
	b, err := (&pmetric.JSONMarshaler{}).MarshalMetrics(md)
	require.NoError(t, err)
	return string(b)
}

// point is one point of any kind, flat.
type point struct {
	start, time int64
	value       float64 // number, or count of a histogram
	sum         float64
	monotonic   bool
	temporality pmetric.AggregationTemporality
	attrs       map[string]any
	buckets     []uint64
}

// points of md by name, in order.
func points(md pmetric.Metrics) map[string][]point {
	out := map[string][]point{}
	numbers := func(m pmetric.Metric, list pmetric.NumberDataPointSlice, mono bool, temp pmetric.AggregationTemporality) {
		for _, p := range list.All() {
			v := p.DoubleValue()
			if p.ValueType() == pmetric.NumberDataPointValueTypeInt {
				v = float64(p.IntValue())
			}
			out[m.Name()] = append(out[m.Name()], point{
				start: int64(p.StartTimestamp()), time: int64(p.Timestamp()), value: v,
				monotonic: mono, temporality: temp, attrs: p.Attributes().AsRaw(),
			})
		}
	}
	for _, rm := range md.ResourceMetrics().All() {
		for _, m := range rm.ScopeMetrics().At(0).Metrics().All() {
			switch m.Type() {
			case pmetric.MetricTypeGauge:
				numbers(m, m.Gauge().DataPoints(), false, 0)
			case pmetric.MetricTypeSum:
				numbers(m, m.Sum().DataPoints(), m.Sum().IsMonotonic(), m.Sum().AggregationTemporality())
			case pmetric.MetricTypeHistogram:
				for _, p := range m.Histogram().DataPoints().All() {
					out[m.Name()] = append(out[m.Name()], point{
						start: int64(p.StartTimestamp()), time: int64(p.Timestamp()), value: float64(p.Count()), sum: p.Sum(),
						monotonic: true, temporality: m.Histogram().AggregationTemporality(), attrs: p.Attributes().AsRaw(),
						buckets: p.BucketCounts().AsRaw(),
					})
				}
			}
		}
	}
	return out
}

func value(md pmetric.Metrics, name string) float64 {
	sum := 0.0
	for _, p := range points(md)[name] {
		sum += p.value
	}
	return sum
}

func TestTotalsGolden(t *testing.T) {
	for name, opts := range map[string]MetricOptions{
		"cumulative": {Start: t0, LegacyTokenUsage: true, ResourceAttributes: map[string]string{"team": "blue", "service.version": "no"}},
		"delta":      {Start: t0, LegacyTokenUsage: true, Delta: true, ServiceName: "my-agents"},
	} {
		t.Run(name, func(t *testing.T) {
			totals := newTotals(allSteps(), opts)
			for n, at := range []int64{t0 + 1e9, t0 + 2e9, t0 + 3e9} {
				got := pmetric.NewMetrics()
				totals.Snapshot(at).CopyTo(got)
				path := filepath.Join("testdata", fmt.Sprintf("metrics_%s_%d.yaml", name, n))
				if *update {
					clone := pmetric.NewMetrics()
					got.CopyTo(clone)
					require.NoError(t, golden.WriteMetricsToFile(path, clone, golden.SkipMetricTimestampNormalization()))
				}
				want, err := golden.ReadMetrics(path)
				require.NoError(t, err)
				require.NoError(t, pmetrictest.CompareMetrics(want, got, pmetrictest.IgnoreMetricsOrder(),
					pmetrictest.IgnoreMetricDataPointsOrder(), pmetrictest.IgnoreResourceMetricsOrder()))
			}
		})
	}
}

// TestPermutations holds the rule that totals are functions of sets: whatever the order of the steps
// and the moments of the snapshots in between, the series and their values are the same.
func TestPermutations(t *testing.T) {
	steps := allSteps()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 { // many small doubles, whose plain sum depends on the order
		steps = append(steps, translate.Step{
			Metric: translate.MetricCost, Agent: "claude-code", Model: "m", Label: "estimated",
			Value: rng.Float64() * math.Pow(10, float64(-rng.IntN(8))),
		}, translate.Step{Metric: translate.MetricToolDuration, Agent: "claude-code", Tool: "Bash", Value: rng.ExpFloat64()})
	}
	opts := MetricOptions{Start: t0, LegacyTokenUsage: true}
	last := func(totals *Totals) string {
		totals.Snapshot(t0 + 1e9)
		return metricsJSON(t, totals.Snapshot(t0+2e9))
	}
	want := last(newTotals(steps, opts))
	for range 50 {
		rng.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
		require.Equal(t, want, last(newTotals(steps, opts)))
		totals := NewTotals(opts)
		for i, s := range steps {
			totals.Add(s)
			if rng.IntN(100) == 0 {
				totals.Snapshot(t0 + int64(i) + 1)
			}
		}
		require.Equal(t, want, last(totals))
	}
}

func TestZeroFirst(t *testing.T) {
	for _, delta := range []bool{false, true} {
		t.Run(fmt.Sprintf("delta=%t", delta), func(t *testing.T) {
			totals := newTotals(allSteps(), MetricOptions{Start: t0, LegacyTokenUsage: true, Delta: delta})
			assert.True(t, totals.Pending())
			first := points(totals.Snapshot(t0 + 1e9))
			assert.True(t, totals.Pending())
			second := points(totals.Snapshot(t0 + 2e9))
			assert.False(t, totals.Pending())
			assert.Len(t, first, len(instruments), "every instrument moved")
			assert.Equal(t, slices.Sorted(maps.Keys(first)), slices.Sorted(maps.Keys(second)))
			for name, ps := range first {
				require.Len(t, second[name], len(ps), name)
				for i, p := range ps {
					if name == instruments[inRateLimit].name {
						assert.InDelta(t, 0.8, p.value, 0)
						assert.Zero(t, p.start)
						continue
					}
					assert.Zero(t, p.value, name)
					assert.Zero(t, p.sum, name)
					assert.NotZero(t, second[name][i].value, name)
					assert.Equal(t, p.attrs, second[name][i].attrs, name)
					assert.Equal(t, t0, p.start, name)
					assert.Equal(t, name != instruments[inActive].name, p.monotonic, name)
				}
			}
		})
	}
}

func TestValues(t *testing.T) {
	totals := newTotals(allSteps(), MetricOptions{Start: t0})
	totals.Snapshot(t0 + 1)
	md := totals.Snapshot(t0 + 2)
	for name, want := range map[string]float64{
		"gen_ai.client.inference.usage.input_tokens":            160 + 160 + 5,
		"gen_ai.client.inference.usage.output_tokens":           7 + 4 + 7,
		"gen_ai.client.inference.usage.cache_read.input_tokens": 200,
		"agentstream.token.usage":                               167 + 4 + 167 + 5,
		"agentstream.cost.usd":                                  0.1 + 0.2 + 1e-7,
		"agentstream.sessions.active":                           1,
		"agentstream.lines_of_code":                             15,
		"gen_ai.client.token.usage":                             0, // switched off
	} {
		assert.InDelta(t, want, value(md, name), 1e-15, name)
	}
	p := points(md)
	assert.NotContains(t, p, "gen_ai.client.token.usage")
	// Bounds are inclusive, and what exceeds them all has a bucket.
	assert.EqualValues(t, 1, p["gen_ai.client.inference.duration"][0].buckets[7])
	assert.EqualValues(t, 1, p["gen_ai.invoke_agent.duration"][0].buckets[len(agentBuckets)])
	// The model that nobody named, and no class that nobody used.
	assert.Equal(t, []point{{
		start: t0, time: t0 + 2, value: 5, monotonic: true, temporality: pmetric.AggregationTemporalityCumulative,
		attrs: map[string]any{"gen_ai.request.model": "unknown", "gen_ai.agent.name": "codex"},
	}}, p["agentstream.unpriced.tokens"])
	codex := slices.DeleteFunc(slices.Clone(p["agentstream.token.usage"]), func(p point) bool { return p.attrs["gen_ai.agent.name"] != "codex" })
	require.Len(t, codex, 1)
	assert.Equal(t, map[string]any{
		"agentstream.token.type": "input", "gen_ai.request.model": "unknown", "gen_ai.agent.name": "codex", "agentstream.subagent": false,
	}, codex[0].attrs)
}

// TestSeriesTTL leaves out what stands still, and announces it again before it moves on.
func TestSeriesTTL(t *testing.T) {
	const name = "agentstream.prompts"
	prompt := translate.Step{Metric: translate.MetricPrompts, Agent: "a", Value: 1}
	for _, delta := range []bool{false, true} {
		t.Run(fmt.Sprintf("delta=%t", delta), func(t *testing.T) {
			totals := newTotals([]translate.Step{prompt}, MetricOptions{Start: t0, SeriesTTL: time.Minute, Delta: delta})
			at := t0
			var end int64
			shot := func(after time.Duration) []point {
				at += int64(after)
				got := points(totals.Snapshot(at))[name]
				for _, p := range got {
					if delta && end != 0 {
						assert.Equal(t, end, p.start, "windows have no gap")
					}
					end = p.time
				}
				return got
			}
			pick := func(cumulative, window float64) float64 {
				if delta {
					return window
				}
				return cumulative
			}
			assert.Zero(t, shot(time.Second)[0].value)
			assert.InDelta(t, 1, shot(time.Second)[0].value, 0)
			assert.InDelta(t, pick(1, 0), shot(59 * time.Second)[0].value, 0)
			assert.Empty(t, shot(2*time.Second))
			assert.Empty(t, shot(time.Hour))
			totals.Add(prompt)
			assert.InDelta(t, pick(1, 0), shot(time.Second)[0].value, 0)
			assert.True(t, totals.Pending())
			// Even a value that waited longer than the limit is given.
			assert.InDelta(t, pick(2, 1), shot(time.Hour)[0].value, 0)
			assert.False(t, totals.Pending())
		})
	}
}

func TestDeltaSumsToTotal(t *testing.T) {
	steps := allSteps()
	cumulative, delta := NewTotals(MetricOptions{Start: t0}), NewTotals(MetricOptions{Start: t0, Delta: true})
	sums, ends := map[string]float64{}, map[string]int64{}
	var want map[string][]point
	for i := 0; i < len(steps)+2; i++ {
		if i < len(steps) {
			cumulative.Add(steps[i])
			delta.Add(steps[i])
		}
		at := t0 + int64(i+1)*1e9
		want = points(cumulative.Snapshot(at))
		for name, ps := range points(delta.Snapshot(at)) {
			for _, p := range ps {
				key := fmt.Sprint(name, p.attrs)
				if name == instruments[inActive].name || name == instruments[inRateLimit].name {
					sums[key] = p.value
					continue
				}
				assert.Equal(t, pmetric.AggregationTemporalityDelta, p.temporality, name)
				sums[key] += p.value
				if end, ok := ends[key]; ok {
					assert.Equal(t, end, p.start, name)
				}
				ends[key] = p.time
				assert.Less(t, p.start, p.time)
			}
		}
	}
	n := 0
	for name, ps := range want {
		for _, p := range ps {
			n++
			assert.InDelta(t, p.value, sums[fmt.Sprint(name, p.attrs)], 1e-12, "%s %v", name, p.attrs)
		}
	}
	assert.Len(t, sums, n)
}

func TestLimits(t *testing.T) {
	totals := NewTotals(MetricOptions{Start: t0, MaxToolNames: 2})
	for _, tool := range []string{"A", "B", "C", "D", "A"} {
		totals.Add(translate.Step{Metric: translate.MetricToolCalls, Agent: "a", Tool: tool, Label: "ok", Value: 1})
	}
	totals.Add(translate.Step{Metric: translate.MetricToolDuration, Agent: "a", Tool: "D", Value: 1})
	totals.Add(translate.Step{Metric: translate.MetricToolDuration, Agent: "a", Value: 1})
	for i := range 3 * maxModels {
		totals.Add(translate.Step{Metric: translate.MetricUnpriced, Agent: "a", Model: fmt.Sprint("m", i), Value: 1})
		totals.Add(translate.Step{Metric: translate.MetricSessions, Agent: "a", ErrType: fmt.Sprint("e", i), Label: "error", Value: 1})
		totals.Add(translate.Step{Metric: translate.MetricRateLimit, Agent: "a", Label: fmt.Sprint("l", i), Value: 1})
	}
	totals.Snapshot(t0 + 1)
	p := points(totals.Snapshot(t0 + 2))
	got := map[any]float64{}
	for _, x := range p["agentstream.tool.calls"] {
		got[x.attrs["gen_ai.tool.name"]] = x.value
	}
	assert.Equal(t, map[any]float64{"A": 2, "B": 1, "other": 2}, got)
	assert.NotContains(t, p["gen_ai.execute_tool.duration"][0].attrs, "gen_ai.tool.name", "an unknown tool is left out")
	assert.Equal(t, "other", p["gen_ai.execute_tool.duration"][1].attrs["gen_ai.tool.name"], "both metrics share the names")
	assert.Len(t, p["agentstream.unpriced.tokens"], maxModels+1)
	assert.Len(t, p["agentstream.sessions"], maxErrorTypes+1)
	assert.Len(t, p["agentstream.rate_limit.utilization"], maxLimits+1)
}

// TestTimes keeps points in order when the clock is not.
func TestTimes(t *testing.T) {
	totals := newTotals(allSteps(), MetricOptions{Start: t0})
	last := t0
	for _, now := range []int64{t0 - 5, t0 + 10, t0 + 10, t0 + 3, t0 + 20} {
		for name, ps := range points(totals.Snapshot(now)) {
			for _, p := range ps {
				assert.Greater(t, p.time, last, name)
				assert.Less(t, p.start, p.time, name)
			}
		}
		last = totals.last
	}
	assert.Equal(t, t0+20, last)
}

// TestSnapshotIsFixed changes the totals after a snapshot was taken.
func TestSnapshotIsFixed(t *testing.T) {
	totals := newTotals(allSteps(), MetricOptions{Start: t0})
	totals.Snapshot(t0 + 1)
	md := totals.Snapshot(t0 + 2)
	before := metricsJSON(t, md)
	for _, s := range allSteps() {
		totals.Add(s)
	}
	totals.Snapshot(t0 + 3)
	assert.Equal(t, before, metricsJSON(t, md))
	assert.Panics(t, func() { md.ResourceMetrics().AppendEmpty() })
}

func TestNonsenseSteps(t *testing.T) {
	totals := NewTotals(MetricOptions{Start: t0, LegacyTokenUsage: true})
	for m := translate.MetricNone; m <= translate.MetricRateLimit; m++ {
		for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1} {
			if m != translate.MetricActive && (m != translate.MetricRateLimit || v != -1) {
				totals.Add(translate.Step{Metric: m, Agent: "a", Value: v, Tokens: translate.Tokens{Input: -1}})
			}
		}
	}
	assert.Zero(t, totals.Snapshot(t0+1).DataPointCount())
	assert.False(t, totals.Pending())
}

func TestOneResourcePerService(t *testing.T) {
	for name, want := range map[string]int{"": 2, "my-agents": 1} {
		md := newTotals(allSteps(), MetricOptions{Start: t0, ServiceName: name}).Snapshot(t0 + 1)
		assert.Equal(t, want, md.ResourceMetrics().Len())
		for _, rm := range md.ResourceMetrics().All() {
			assert.False(t, has(rm.Resource().Attributes(), attrServiceVersion))
			assert.Empty(t, rm.SchemaUrl())
			assert.Equal(t, 1, rm.ScopeMetrics().Len())
			sm := rm.ScopeMetrics().At(0)
			assert.Empty(t, sm.SchemaUrl())
			assert.Equal(t, ScopeName, sm.Scope().Name())
			assert.Equal(t, metricsScopeVersion, sm.Scope().Version())
			names := map[string]bool{}
			for _, m := range sm.Metrics().All() {
				assert.False(t, names[m.Name()], "%s stands there twice", m.Name())
				names[m.Name()] = true
			}
		}
	}
}

func TestFixed(t *testing.T) {
	for _, v := range []float64{0, 1, 0.1, 0.00045, 1e-7, 1.0 / 3, 12345.678, 1 << 40, fixedLimit, 1<<20 + 0x1p-20} {
		assert.InDelta(t, v, toFixed(v).float(), 0, "%g", v)
	}
	for _, v := range []float64{1e-9, 1e-15, 1e-23} {
		assert.InDelta(t, v, toFixed(v).float(), 0x1p-80, "%g", v)
	}
	assert.Zero(t, toFixed(math.SmallestNonzeroFloat64))
	assert.InDelta(t, fixedLimit, toFixed(math.MaxFloat64).float(), 0)
	sum, want := fixed{}, 0.0
	for range 1000 {
		sum = sum.plus(toFixed(0.1))
		want += 0.1
	}
	assert.InDelta(t, 100, sum.float(), 1e-13)
	assert.InDelta(t, want, sum.float(), 1e-9)
	assert.Equal(t, toFixed(0.5), toFixed(0.75).minus(toFixed(0.25)))
	full := fixed{math.MaxUint64, math.MaxUint64}
	assert.Equal(t, full, full.plus(toFixed(1)))
}

func BenchmarkAdd(b *testing.B) {
	steps := allSteps()
	totals := newTotals(steps, MetricOptions{Start: t0, LegacyTokenUsage: true})
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		for i := range steps {
			totals.Add(steps[i])
		}
		n += len(steps)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/step")
}

func BenchmarkSnapshot(b *testing.B) {
	totals := newTotals(allSteps(), MetricOptions{Start: t0, LegacyTokenUsage: true})
	totals.Snapshot(t0 + 1)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n += totals.Snapshot(0).DataPointCount()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/point")
}
