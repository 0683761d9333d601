// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"maps"
	"slices"
	"time"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

// sums are tokens and cost of a group of sessions, or of a day.
type sums struct {
	sessions int64
	usage    translate.Tokens
	cost     translate.Opt[float64] // absent when nothing in it has one
}

func (s *sums) add(t translate.Tokens, cost translate.Opt[float64]) {
	s.usage = plus(s.usage, t)
	if cost.OK {
		s.cost = translate.Some(s.cost.V + cost.V)
	}
}

// groups are sums by name: by project, or by day, YYYY-MM-DD in UTC.
type groups map[string]*sums

func dayOf(ns int64) string { return time.Unix(0, ns).UTC().Format(time.DateOnly) }

func (d groups) on(name string) *sums {
	s := d[name]
	if s == nil {
		s = &sums{}
		d[name] = s
	}
	return s
}

// chat adds a model call to the day on which it ended.
func (d groups) chat(s *translate.Span) {
	u := &s.Chat.Usage
	d.on(dayOf(s.End)).add(translate.Tokens{
		Input: max(0, u.Input.V-u.CacheRead.V-u.CacheWrite.V), CacheRead: u.CacheRead.V, CacheWrite: u.CacheWrite.V,
		Output: u.Output.V, Reasoning: u.Reasoning.V,
	}, s.Chat.Cost)
}

// settle makes the days of a segment add up to its root. What the root has beyond the model calls (calls
// without a row, a larger reported cost) is of the day of its end; what the calls have beyond the root
// comes off the latest days.
func (d groups) settle(root *translate.Span) {
	end := d.on(dayOf(root.End))
	want := root.Root.Usage.V
	for _, class := range []func(*translate.Tokens) *int64{
		func(t *translate.Tokens) *int64 { return &t.Input },
		func(t *translate.Tokens) *int64 { return &t.CacheRead },
		func(t *translate.Tokens) *int64 { return &t.CacheWrite },
		func(t *translate.Tokens) *int64 { return &t.Output },
		func(t *translate.Tokens) *int64 { return &t.Reasoning },
	} {
		rest := *class(&want)
		for _, s := range d {
			rest -= *class(&s.usage)
		}
		*class(&end.usage) += max(rest, 0)
		for _, day := range slices.Backward(slices.Sorted(maps.Keys(d))) {
			n := class(&d[day].usage)
			take := min(*n, max(0, -rest))
			*n -= take
			rest += take
		}
	}
	d.settleCost(end, root.Root.Cost)
}

// settleCost adds what is missing to end; a report below the estimates of the calls lowers all of them
// alike.
func (d groups) settleCost(end *sums, want translate.Opt[float64]) {
	sum := 0.0
	for _, day := range slices.Sorted(maps.Keys(d)) { // a fixed order: the last digit must not hang on the map's
		sum += d[day].cost.V
	}
	for _, s := range d {
		switch {
		case !want.OK:
			s.cost = translate.Opt[float64]{}
		case sum > want.V:
			s.cost.V *= want.V / sum
		}
	}
	if want.OK {
		end.cost = translate.Some(end.cost.V + max(0, want.V-sum))
	}
}
