// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

const nobody = "claude-next-9" // has no price

// by lets another model write a response.
func by(model string, f func(*translate.Record)) func(*translate.Record) {
	return func(r *translate.Record) {
		f(r)
		r.Response.Model = model
	}
}

// uses replaces the usage of a response.
func uses(u translate.Usage, f func(*translate.Record)) func(*translate.Record) {
	return func(r *translate.Record) {
		f(r)
		r.Response.Usage = &u
	}
}

// of puts a record into another session.
func of(session string, f func(*translate.Record)) func(*translate.Record) {
	return func(r *translate.Record) {
		f(r)
		r.Session = session
	}
}

func advisor(model string, in, out int64) translate.Iteration {
	return translate.Iteration{Type: "advisor_message", Model: model, Usage: *usage(in, out)}
}

// The rules of an estimate (telemetry contract, section 7; formats, 2.8), each through a whole session.
// claude-sonnet-4-5 costs 3 USD in, 15 out, 0.30 cache read, 3.75 and 6 cache write a million tokens.
func TestEstimate(t *testing.T) {
	n := translate.Some[int64]
	for name, tt := range map[string]struct {
		records    []*translate.Decoded
		cost       float64 // of all roots; negative: none has one
		unpriced   float64 // tokens
		incomplete bool    // some root says so
	}{
		"one response": {
			records: []*translate.Decoded{at(1, says("m1", 1000, 100))},
			cost:    0.0045,
		},
		"rows of one response are one": {
			records: []*translate.Decoded{at(1, says("m1", 1000, 1)), at(2, says("m1", 1000, 100)), at(3, says("m1", 1000, 40))},
			cost:    0.0045,
		},
		"a copy in another session": {
			records: []*translate.Decoded{at(1, says("m1", 1000, 100)), at(2, of("s2", says("m1", 1000, 100))), at(3, of("s2", says("m2", 1000, 100)))},
			cost:    0.009,
		},
		"a copy that knows more": {
			records: []*translate.Decoded{at(1, says("m1", 1000, 1)), at(2, of("s2", says("m1", 1000, 100)))},
			cost:    0.0045,
		},
		"writes without a split live five minutes": {
			records: []*translate.Decoded{at(1, uses(translate.Usage{CacheWrite: n(1000)}, says("m1", 0, 0)))},
			cost:    0.00375,
		},
		"split of writes": {
			records: []*translate.Decoded{at(1, uses(translate.Usage{CacheWrite: n(1000), CacheWrite5m: n(400), CacheWrite1h: n(600)}, says("m1", 0, 0)))},
			cost:    400*3.75e-6 + 600*6e-6,
		},
		"what the split leaves lives five minutes": {
			records: []*translate.Decoded{at(1, uses(translate.Usage{CacheWrite: n(1000), CacheWrite1h: n(600)}, says("m1", 0, 0)))},
			cost:    400*3.75e-6 + 600*6e-6,
		},
		"a split above its aggregate is trusted": {
			records: []*translate.Decoded{at(1, uses(translate.Usage{CacheWrite: n(100), CacheWrite5m: n(400), CacheWrite1h: n(600)}, says("m1", 0, 0)))},
			cost:    400*3.75e-6 + 600*6e-6,
		},
		"a later row brings the split": {
			records: []*translate.Decoded{
				at(1, uses(translate.Usage{CacheWrite: n(1000)}, says("m1", 0, 0))),
				at(2, uses(translate.Usage{CacheWrite: n(1000), CacheWrite1h: n(1000)}, says("m1", 0, 0))),
			},
			cost: 0.006,
		},
		"long context is the request's": {
			records: []*translate.Decoded{at(1, says("m1", 150_000, 10)), at(2, says("m2", 150_000, 10))},
			cost:    300_000*3e-6 + 20*1.5e-5,
		},
		"a long request": {
			records: []*translate.Decoded{at(1, uses(translate.Usage{Input: n(1), CacheRead: n(200_000), Output: n(10)}, says("m1", 0, 0)))},
			cost:    6e-6 + 200_000*6e-7 + 10*2.25e-5,
		},
		"a turn is no request": {
			records: []*translate.Decoded{at(1, func(r *translate.Record) { says("", 300_000, 10)(r); r.Response.PerTurn = true })},
			cost:    300_000*3e-6 + 10*1.5e-5,
		},
		"fast": {
			records: []*translate.Decoded{at(1, by("claude-opus-4-6", uses(translate.Usage{Input: n(1000), Speed: "fast"}, says("m1", 0, 0))))},
			cost:    0.03,
		},
		"fast without a multiplier": {
			records: []*translate.Decoded{at(1, uses(translate.Usage{Input: n(1000), Speed: "fast"}, says("m1", 0, 0)))},
			cost:    0.003,
		},
		"web search": {
			records: []*translate.Decoded{at(1, uses(translate.Usage{Input: n(1000), WebSearches: n(3)}, says("m1", 0, 0)))},
			cost:    0.033,
		},
		"a second model at its own price": {
			records: []*translate.Decoded{at(1, uses(translate.Usage{Input: n(1000), Iterations: []translate.Iteration{advisor("claude-opus-4-6", 1000, 100)}}, says("m1", 0, 0)))},
			cost:    0.003 + 0.0075,
		},
		"a second model asked twice": {
			records: []*translate.Decoded{
				at(1, uses(translate.Usage{Input: n(1000), Iterations: []translate.Iteration{advisor("claude-opus-4-6", 1000, 100)}}, says("m1", 0, 0))),
				at(2, uses(translate.Usage{Input: n(1000), Iterations: []translate.Iteration{
					{Type: "message", Usage: *usage(1000, 0)}, advisor("claude-opus-4-6", 1000, 100), advisor("claude-opus-4-6", 1000, 100),
				}}, says("m1", 0, 0))),
			},
			cost: 0.003 + 0.015,
		},
		"an iteration of its own model is in the aggregate": {
			records: []*translate.Decoded{at(1, uses(translate.Usage{Input: n(1000), Iterations: []translate.Iteration{advisor("claude-sonnet-4-5", 1000, 100)}}, says("m1", 0, 0)))},
			cost:    0.003,
		},
		"a second model without a price": {
			records: []*translate.Decoded{at(1, uses(translate.Usage{Input: n(1000), Iterations: []translate.Iteration{advisor(nobody, 100, 10)}}, says("m1", 0, 0)))},
			cost:    0.003, unpriced: 110, incomplete: true,
		},
		"unknown model": {
			records: []*translate.Decoded{at(1, by(nobody, says("m1", 1000, 100)))},
			cost:    -1, unpriced: 1100, incomplete: true,
		},
		"unknown beside a known one": {
			records: []*translate.Decoded{at(1, by(nobody, says("m1", 1000, 100))), at(2, says("m2", 1000, 100))},
			cost:    0.0045, unpriced: 1100, incomplete: true,
		},
		"opaque inference profile": {
			records: []*translate.Decoded{at(1, by("arn:aws:bedrock:eu-west-1:000000000000:application-inference-profile/abc", says("m1", 1000, 100)))},
			cost:    -1, unpriced: 1100, incomplete: true,
		},
		"cross-region profile": {
			records: []*translate.Decoded{at(1, by("eu.anthropic.claude-sonnet-4-5-20250929-v1:0", says("m1", 1000, 100)))},
			cost:    0.0045,
		},
		"a result's own usage, without a report": {
			records: []*translate.Decoded{at(1, says("m1", 1000, 1)), at(2, ends(func(tr *translate.Terminal) { tr.Usage = usage(1000, 100) }))},
			cost:    0.0045,
		},
		"totals by model, without a report": {
			records: []*translate.Decoded{at(1, says("m1", 1000, 1)), at(2, ends(func(tr *translate.Terminal) {
				tr.Models = []translate.ModelUsage{
					{Model: "claude-sonnet-4-5", Usage: *usage(1000, 100)}, {Model: "claude-haiku-4-5", Usage: *usage(1000, 100)}, {Model: nobody, Usage: *usage(5, 5)},
				}
			}))},
			cost: 0.0045 + 0.0015, unpriced: 10, incomplete: true,
		},
		"what is not in a row is not one long request": {
			records: []*translate.Decoded{at(1, says("m1", 1000, 1)), at(2, ends(func(tr *translate.Terminal) {
				tr.Models = []translate.ModelUsage{{Model: "claude-sonnet-4-5", Usage: *usage(1_001_000, 1)}}
			}))},
			cost: 1_001_000*3e-6 + 1.5e-5,
		},
		"a report wins": {
			records: []*translate.Decoded{at(1, says("m1", 1000, 100)), at(2, ends(func(tr *translate.Terminal) {
				tr.Cost = translate.Some(0.5)
				tr.Models = []translate.ModelUsage{{Model: nobody, Usage: *usage(9000, 900)}}
			}))},
			cost: 0.5,
		},
		"a reported zero is a report": {
			records: []*translate.Decoded{at(1, says("m1", 1000, 100)), at(2, ends(func(tr *translate.Terminal) {
				tr.Cost = translate.Some(0.0)
				tr.Usage = usage(1000, 100)
			}))},
			cost: 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			outs := fold(t, env{}, append([]*translate.Decoded{at(0, start()), at(0, of("s2", start()))}, tt.records...)...)
			cost, has, incomplete := 0.0, false, false
			for _, r := range spans(outs, translate.SpanRoot) {
				cost += r.Root.Cost.V
				has = has || r.Root.Cost.OK
				incomplete = incomplete || r.Root.CostIncomplete
			}
			assert.Equal(t, tt.cost >= 0, has)
			assert.InDelta(t, max(tt.cost, 0), cost, 1e-12)
			assert.InDelta(t, max(tt.cost, 0), sum(outs, translate.MetricCost), 1e-12, "the metric says the same")
			assert.InDelta(t, tt.unpriced, sum(outs, translate.MetricUnpriced), 0)
			assert.Equal(t, tt.incomplete, incomplete)
		})
	}
}
