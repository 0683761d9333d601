// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"cmp"
	"slices"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

// report collects what the result says of sessions. Its size goes with the number of sessions, not with
// that of spans.
type report struct {
	sessions map[sessionID]*sessionReport
	costs    map[string]float64 // USD by model, as metrics count them
	spans    int64
	roots    int64
	tree     *tree // nil = no trees
}

type sessionID struct{ agent, id string }

// sessionReport is a session with all its segments.
type sessionReport struct {
	sessionID
	format    translate.Format
	outcome   string // of the last segment
	last      int64  // when the last segment began
	start     int64
	end       int64
	calls     int64 // model calls, subagents' included
	subcalls  int64 // those of subagents
	subagents int64
	prompts   int64
	usage     translate.Tokens
	cost      translate.Opt[float64]
	models    map[string]translate.Tokens
	tools     map[string]int64
	outcomes  map[string]int64
	segments  int64
}

func newReport(t *tree) *report {
	return &report{sessions: map[sessionID]*sessionReport{}, costs: map[string]float64{}, tree: t}
}

func (r *report) add(o *translate.Output) {
	if o.Step != nil && o.Step.Metric == translate.MetricCost {
		r.costs[o.Step.Model] += o.Step.Value
	}
	s := o.Span
	if s == nil {
		return
	}
	r.spans++
	if s.Type == translate.SpanRoot && s.Root != nil {
		r.root(s)
	}
	if r.tree != nil {
		r.tree.add(s)
	}
}

func (r *report) root(s *translate.Span) {
	r.roots++
	id := sessionID{s.Agent, s.Session}
	x := r.sessions[id]
	if x == nil {
		x = &sessionReport{
			sessionID: id, format: s.Root.Format, start: s.Start, end: s.End, last: s.Start, outcome: s.Root.Outcome,
			models: map[string]translate.Tokens{}, tools: map[string]int64{}, outcomes: map[string]int64{},
		}
		r.sessions[id] = x
	}
	a := s.Root
	x.segments++
	x.start, x.end = min(x.start, s.Start), max(x.end, s.End)
	if s.Start >= x.last {
		x.last, x.outcome = s.Start, a.Outcome
	}
	x.calls += a.ModelCalls
	x.subcalls += a.SubagentCalls
	x.subagents += a.Subagents
	x.prompts += a.Prompts
	x.usage = plus(x.usage, a.Usage.V)
	if a.Cost.OK {
		x.cost = translate.Some(x.cost.V + a.Cost.V)
	}
	for _, m := range a.Models {
		x.models[m.Model] = plus(x.models[m.Model], m.Tokens)
	}
	for _, t := range a.Tools {
		x.tools[t.Name] += t.Count
	}
	for _, t := range a.Outcomes {
		x.outcomes[t.Name] += t.Count
	}
}

func plus(a, b translate.Tokens) translate.Tokens {
	return translate.Tokens{
		Input: a.Input + b.Input, CacheRead: a.CacheRead + b.CacheRead, CacheWrite: a.CacheWrite + b.CacheWrite,
		Output: a.Output + b.Output, Reasoning: a.Reasoning + b.Reasoning,
	}
}

// sorted gives the sessions by time, then by id: an order that does not depend on that of the input.
func (r *report) sorted() []*sessionReport {
	list := make([]*sessionReport, 0, len(r.sessions))
	for _, s := range r.sessions {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *sessionReport) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.agent, b.agent), cmp.Compare(a.id, b.id))
	})
	return list
}

// grand are the sums over all session roots.
type grand struct {
	usage  translate.Tokens
	cost   translate.Opt[float64] // absent when no root has one
	models map[string]translate.Tokens
	tools  map[string]int64
}

func (r *report) grand() grand {
	g := grand{models: map[string]translate.Tokens{}, tools: map[string]int64{}}
	for _, s := range r.sorted() {
		g.usage = plus(g.usage, s.usage)
		if s.cost.OK {
			g.cost = translate.Some(g.cost.V + s.cost.V)
		}
		for name, t := range s.models {
			g.models[name] = plus(g.models[name], t)
		}
		for name, n := range s.tools {
			g.tools[name] += n
		}
	}
	return g
}
