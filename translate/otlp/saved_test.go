// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

// shelf is what keeps totals over the lives of processes.
type shelf map[string][]byte

func (s shelf) put(t *Totals) {
	for _, v := range t.Save() {
		s[v.Key] = v.Value
	}
}

func (s shelf) values() [][]byte { return slices.Collect(maps.Values(s)) }

// life is a process that begins with what is on the shelf.
func (s shelf) life(t *testing.T, opts MetricOptions) *Totals {
	t.Helper()
	totals := NewTotals(opts)
	require.Zero(t, totals.Restore(s.values()))
	require.Empty(t, totals.Save(), "nothing is new")
	return totals
}

// perSeries is the value of each series.
func perSeries(md pmetric.Metrics) map[string]point {
	out := map[string]point{}
	for name, ps := range points(md) {
		for _, p := range ps {
			out[fmt.Sprint(name, p.attrs)] = p
		}
	}
	return out
}

func TestRestart(t *testing.T) {
	prompt := translate.Step{Metric: translate.MetricPrompts, Agent: "a", Value: 1}
	active := func(n float64) translate.Step {
		return translate.Step{Metric: translate.MetricActive, Agent: "a", Value: n}
	}
	limit := func(v float64) translate.Step {
		return translate.Step{Metric: translate.MetricRateLimit, Agent: "a", Label: "five_hour", Value: v}
	}
	ran := translate.Step{Metric: translate.MetricToolDuration, Agent: "a", Tool: "Bash", Value: 2}
	ttl := MetricOptions{SeriesTTL: time.Second}
	type shot struct {
		value float64
		start int64
	}
	for name, tc := range map[string]struct {
		opts          MetricOptions
		before, after []translate.Step // each followed by Save
		shots         int              // snapshots between both, each 1e9 after the one before
		refused       int              // the last ones of them
		beside        []translate.Step // before the last two of them
		unshown       []translate.Step // after them, before the restart
		metric        instrumentID
		want          []shot // the first two after the restart; nil = none
	}{
		"never shown":      {before: []translate.Step{prompt}, metric: inPrompts, want: []shot{{0, t0}, {1, t0}}},
		"announced":        {before: []translate.Step{prompt}, shots: 1, metric: inPrompts, want: []shot{{0, t0}, {1, t0}}},
		"shown":            {before: []translate.Step{prompt}, shots: 2, metric: inPrompts, want: []shot{{1, t0}, {1, t0}}},
		"moved since":      {before: []translate.Step{prompt}, shots: 2, unshown: []translate.Step{prompt, prompt}, metric: inPrompts, want: []shot{{1, t0}, {3, t0}}},
		"moves afterwards": {before: []translate.Step{prompt}, shots: 2, after: []translate.Step{prompt}, metric: inPrompts, want: []shot{{1, t0}, {2, t0}}},
		"histogram":        {before: []translate.Step{ran}, shots: 2, unshown: []translate.Step{ran}, metric: inToolDuration, want: []shot{{1, t0}, {2, t0}}},
		"sessions go on": {
			before: []translate.Step{active(1), active(1)}, shots: 2, unshown: []translate.Step{active(1)}, after: []translate.Step{active(-1)},
			metric: inActive, want: []shot{{2, t0}, {2, t0}},
		},
		"more ended than began": {before: []translate.Step{active(-3)}, shots: 2, metric: inActive, want: []shot{{-3, t0}, {-3, t0}}},
		"a rate limit":          {before: []translate.Step{limit(.5)}, shots: 2, unshown: []translate.Step{limit(.25)}, metric: inRateLimit, want: []shot{{.25, 0}, {.25, 0}}},
		"a window": {
			opts: MetricOptions{Delta: true}, before: []translate.Step{prompt}, shots: 2, unshown: []translate.Step{prompt, prompt},
			metric: inPrompts, want: []shot{{0, t0 + 2e9}, {2, t0 + 3e9}},
		},
		"a window that was refused": {
			opts: MetricOptions{Delta: true}, before: []translate.Step{prompt}, shots: 2, refused: 1, unshown: []translate.Step{prompt, prompt},
			metric: inPrompts, want: []shot{{0, t0 + 1e9}, {3, t0 + 3e9}},
		},
		"a window that was refused of a histogram": {
			opts: MetricOptions{Delta: true}, before: []translate.Step{ran}, shots: 2, refused: 2, metric: inToolDuration, want: []shot{{0, t0}, {1, t0 + 3e9}},
		},
		"a first window":                     {opts: MetricOptions{Delta: true}, before: []translate.Step{prompt}, metric: inPrompts, want: []shot{{0, t0}, {1, t0 + 1e9}}},
		"it stood still":                     {opts: ttl, before: []translate.Step{prompt}, shots: 4, beside: []translate.Step{ran}, metric: inPrompts},
		"it stood still as all did":          {opts: ttl, before: []translate.Step{prompt}, shots: 4, metric: inPrompts, want: []shot{{1, t0}, {1, t0}}},
		"it stood still and moves":           {opts: ttl, before: []translate.Step{prompt}, shots: 4, beside: []translate.Step{ran}, after: []translate.Step{prompt}, metric: inPrompts, want: []shot{{1, t0}, {2, t0}}},
		"it moved and nothing was shown yet": {opts: ttl, before: []translate.Step{prompt}, shots: 4, beside: []translate.Step{ran}, unshown: []translate.Step{prompt}, metric: inPrompts, want: []shot{{1, t0}, {2, t0}}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.opts.Start = t0
			shelf, at := shelf{}, t0
			totals := shelf.life(t, tc.opts)
			add := func(steps []translate.Step) {
				for _, s := range steps {
					totals.Add(s)
					shelf.put(totals)
				}
			}
			add(tc.before)
			for i := tc.shots - 1; i >= 0; i-- {
				if i == 1 {
					add(tc.beside)
				}
				at += 1e9
				totals.Snapshot(at)
				if i >= tc.refused {
					totals.Accepted()
				}
				shelf.put(totals)
			}
			add(tc.unshown)
			totals = shelf.life(t, tc.opts)
			add(tc.after)
			for i := range 2 {
				at += 1e9
				got := points(totals.Snapshot(at))[instruments[tc.metric].name]
				if tc.want == nil {
					require.Empty(t, got)
					continue
				}
				require.Len(t, got, 1)
				assert.Equal(t, tc.want[i], shot{got[0].value, got[0].start}, "snapshot %d", i)
				assert.Equal(t, at, got[0].time)
			}
			assert.False(t, totals.Pending())
		})
	}
}

// TestLives splits steps over processes that are killed anywhere, and compares with one that lives on.
func TestLives(t *testing.T) {
	for _, delta := range []bool{false, true} {
		for seed := range uint64(40) {
			t.Run(fmt.Sprintf("delta=%t/%d", delta, seed), func(t *testing.T) {
				rng := rand.New(rand.NewPCG(seed, 11))
				opts := MetricOptions{Start: t0, LegacyTokenUsage: true, Delta: delta, MaxToolNames: 1}
				if seed%2 == 0 {
					opts.SeriesTTL = 20 * time.Second
				}
				steady, shelf := NewTotals(MetricOptions{Start: t0, LegacyTokenUsage: true, MaxToolNames: 1}), shelf{}
				totals := shelf.life(t, opts)
				shown, sums, ends := map[string]point{}, map[string]float64{}, map[string]int64{}
				at := t0
				show := func(killed bool) {
					at += 1 + rng.Int64N(10e9)
					md := totals.Snapshot(at)
					shelf.put(totals) // before it is sent
					if killed {
						totals = shelf.life(t, opts)
						return
					}
					if totals.Accepted(); delta {
						shelf.put(totals)
					}
					for key, p := range perSeries(md) {
						if p.temporality == pmetric.AggregationTemporalityDelta {
							end, ok := ends[key]
							require.True(t, !ok || p.start == end, "%s has a gap", key)
							require.Less(t, p.start, p.time)
							ends[key] = p.time
							sums[key] += p.value
						} else if p.monotonic {
							require.Equal(t, t0, p.start)
							require.GreaterOrEqual(t, p.value, shown[key].value, key)
							require.GreaterOrEqual(t, p.sum, shown[key].sum, key)
							require.Greater(t, p.time, shown[key].time, key)
							for i, n := range shown[key].buckets {
								require.GreaterOrEqual(t, p.buckets[i], n, key)
							}
						}
						shown[key] = p
					}
				}
				steps := allSteps()
				for range 300 {
					switch rng.IntN(12) {
					case 0:
						totals = shelf.life(t, opts)
					case 1, 2:
						show(rng.IntN(5) == 0)
					default:
						s := steps[rng.IntN(len(steps))]
						totals.Add(s)
						shelf.put(totals)
						steady.Add(s)
					}
				}
				show(true)
				at += 1e12 // long after
				totals = shelf.life(t, opts)
				show(false)
				show(false)
				require.False(t, totals.Pending())
				steady.Snapshot(at - 1)
				for key, want := range perSeries(steady.Snapshot(at)) {
					if delta && want.monotonic {
						require.InDelta(t, want.value, sums[key], 1e-9, key)
						continue
					}
					got := shown[key]
					got.time = want.time // it may have been left out
					require.Equal(t, want, got, key)
				}
				if !delta && opts.SeriesTTL == 0 {
					require.Equal(t, metricsJSON(t, steady.Snapshot(at+1)), metricsJSON(t, totals.Snapshot(at+1)))
				}
			})
		}
	}
}

// TestSaveSaysWhatChanged saves what moved and what was shown, and nothing else.
func TestSaveSaysWhatChanged(t *testing.T) {
	keys := func(saved []Saved) (keys []string) {
		for _, s := range saved {
			keys = append(keys, s.Key)
		}
		return keys
	}
	prompt := translate.Step{Metric: translate.MetricPrompts, Agent: "a", Value: 1}
	retry := translate.Step{Metric: translate.MetricRetries, Agent: "a", Value: 1}
	for _, delta := range []bool{false, true} {
		t.Run(fmt.Sprintf("delta=%t", delta), func(t *testing.T) {
			one, two := NewTotals(MetricOptions{Start: t0, Delta: delta}), NewTotals(MetricOptions{Start: t0, Delta: delta})
			one.Add(prompt)
			one.Add(retry)
			two.Add(retry)
			two.Add(prompt)
			all := one.Save()
			require.Len(t, all, 2)
			assert.Equal(t, all, two.Save(), "whatever the order")
			assert.Len(t, all[0].Key, 32)
			assert.Empty(t, one.Save())
			one.Add(retry)
			assert.Equal(t, keys(all[1:]), keys(one.Save()))
			one.Snapshot(t0 + 1e9)
			assert.Equal(t, keys(all), keys(one.Save()), "they were announced")
			one.Snapshot(t0 + 2e9)
			assert.Equal(t, keys(all), keys(one.Save()), "they were shown")
			one.Snapshot(t0 + 3e9)
			assert.Empty(t, one.Save())
			one.Accepted()
			if delta {
				assert.Len(t, one.Save(), 2, "windows went on")
			} else {
				assert.Empty(t, one.Save())
			}
		})
	}
}

// TestSavedForm shows that values of this version stay readable.
func TestSavedForm(t *testing.T) {
	totals := NewTotals(MetricOptions{Start: t0})
	totals.Add(translate.Step{Metric: translate.MetricToolCalls, Agent: "codex", Tool: "shell", Label: "ok", Value: 300})
	want := Saved{
		Key:   "956464eb3bfe8528947c6a4edb366e23",
		Value: []byte("\x01\x16agentstream.tool.calls\x05codex\x00\x00\x05shell\x02ok\x00\x0c\x00\x00\xd8\x04\x00"),
	}
	assert.Equal(t, []Saved{want}, totals.Save())
	totals = NewTotals(MetricOptions{Start: t0})
	assert.Zero(t, totals.Restore([][]byte{want.Value}))
	totals.Snapshot(t0 + 1)
	assert.InDelta(t, 300, value(totals.Snapshot(t0+2), "agentstream.tool.calls"), 0)
}

func TestRestoredNames(t *testing.T) {
	call := func(tool string) translate.Step {
		return translate.Step{Metric: translate.MetricToolCalls, Agent: "a", Tool: tool, Label: "ok", Value: 1}
	}
	for name, tc := range map[string]struct {
		max  int // after the restart; 2 before
		want []string
	}{
		"the same limit": {2, []string{"a", "b", "other"}},
		"a lower limit":  {1, []string{"a", "b", "other"}},
		"a higher limit": {4, []string{"a", "b", "d", "e", "other"}},
	} {
		t.Run(name, func(t *testing.T) {
			shelf := shelf{}
			before := newTotals([]translate.Step{call("a"), call("b"), call("c")}, MetricOptions{Start: t0, MaxToolNames: 2})
			shelf.put(before)
			totals := shelf.life(t, MetricOptions{Start: t0, MaxToolNames: tc.max})
			for _, tool := range []string{"d", "a", "e", "c"} {
				totals.Add(call(tool))
			}
			var tools []string
			for _, p := range points(totals.Snapshot(t0 + 1e9))["agentstream.tool.calls"] {
				tools = append(tools, p.attrs["gen_ai.tool.name"].(string))
			}
			assert.Equal(t, tc.want, tools)
		})
	}
}

// TestTimeGoesOn shows that no point of a second life is older than one of the first.
func TestTimeGoesOn(t *testing.T) {
	shelf := shelf{}
	totals := newTotals(allSteps(), MetricOptions{Start: t0})
	totals.Snapshot(t0 + 50e9)
	shelf.put(totals)
	for _, p := range points(shelf.life(t, MetricOptions{Start: t0}).Snapshot(t0 + 10e9)) {
		assert.Greater(t, p[0].time, t0+50e9)
	}
}

func TestRestoreSkipsGarbage(t *testing.T) {
	totals := newTotals(allSteps(), MetricOptions{Start: t0, LegacyTokenUsage: true})
	totals.Snapshot(t0 + 1)
	totals.Snapshot(t0 + 2)
	saved := totals.Save()
	require.Greater(t, len(saved), len(instruments))
	restored := NewTotals(MetricOptions{Start: t0, LegacyTokenUsage: true})
	var values [][]byte
	bad := 0
	for _, s := range saved {
		for n := range s.Value { // no part of a value is one
			values = append(values, s.Value[:n])
			bad++
		}
		values = append(values, append(bytes.Clone(s.Value), 0), append([]byte{savedVersion + 1}, s.Value[1:]...), s.Value, s.Value)
		bad += 3
	}
	values = append(values, nil,
		[]byte("\x01\x07unknown\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"),
		[]byte("\x01\x13agentstream.prompts\x01\xff\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00"), // no text
		[]byte("\x01\x13agentstream.prompts\x01a\x00\x00\x00\x00\x00\x10\x00\x00\x02\x00"),    // an unknown flag
		[]byte("\x01\x13agentstream.prompts\x01a\x00\x00\x00\x00\x00\x00\x00\x00\x02\x04"),    // shown before it was counted
		[]byte("\x01\x13agentstream.prompts\x01a\x00\x00\x00\x00\x00\x00\x00\x00\x02\x01"),    // a negative count
	)
	assert.Equal(t, bad+6, restored.Restore(values))
	shelf := shelf{}
	for _, s := range saved {
		shelf[s.Key] = s.Value
	}
	assert.Equal(t, metricsJSON(t, shelf.life(t, restored.opts).Snapshot(t0+3)), metricsJSON(t, restored.Snapshot(t0+3)))
}

func TestLegacySwitchedOff(t *testing.T) {
	shelf := shelf{}
	shelf.put(newTotals(allSteps(), MetricOptions{Start: t0, LegacyTokenUsage: true}))
	assert.NotContains(t, points(shelf.life(t, MetricOptions{Start: t0}).Snapshot(t0+1)), "gen_ai.client.token.usage")
	assert.Contains(t, points(shelf.life(t, MetricOptions{Start: t0, LegacyTokenUsage: true}).Snapshot(t0+1)), "gen_ai.client.token.usage")
}

// FuzzRestore restores anything: it is refused, or a series that can go on and is saved as what it is.
func FuzzRestore(f *testing.F) {
	totals := newTotals(allSteps(), MetricOptions{Start: t0, LegacyTokenUsage: true})
	for range 3 {
		for _, s := range totals.Save() {
			f.Add(s.Value)
		}
		totals.Snapshot(t0 + 1e9)
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		for _, delta := range []bool{false, true} {
			totals := NewTotals(MetricOptions{Start: t0, LegacyTokenUsage: true, Delta: delta})
			if totals.Restore([][]byte{value}) == 1 {
				return
			}
			form := totals.order[0].save(delta)
			again := NewTotals(totals.opts)
			require.Zero(t, again.Restore([][]byte{form}))
			require.Equal(t, form, again.order[0].save(delta))
			for _, s := range allSteps() {
				totals.Add(s)
			}
			totals.Snapshot(t0 + 1e9)
			totals.Snapshot(t0 + 2e9)
			require.False(t, totals.Pending())
		}
	})
}

func BenchmarkSave(b *testing.B) {
	steps := allSteps()
	totals := newTotals(steps, MetricOptions{Start: t0, LegacyTokenUsage: true})
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		for _, s := range steps {
			totals.Add(s)
		}
		n += len(totals.Save())
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/series")
}
