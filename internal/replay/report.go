// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"cmp"
	"slices"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/price"
)

// report collects what the result says of sessions. Its size goes with the number of sessions, not with
// that of spans.
type report struct {
	sessions map[sessionID]*sessionReport
	costs    map[string]float64 // USD by model, as metrics count them
	sources  map[string]float64 // USD by source of the cost: reported, estimated
	unpriced map[string]int64   // tokens without a price, by model
	open     map[treeKey]groups // model calls whose root is yet to come
	projects *projects
	pricing  pricing
	spans    int64
	roots    int64
	tree     *tree // nil = no trees
}

type sessionID struct{ agent, id string }

// sessionReport is a session with all its segments.
type sessionReport struct {
	sessionID
	project   string
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
	days      groups
}

// pricing says where estimates come from.
type pricing struct {
	file string // name of the user's catalogue, "" = the built-in one
	date string // YYYY-MM-DD of the built-in one
}

func newReport(t *tree) *report {
	return &report{
		sessions: map[sessionID]*sessionReport{}, costs: map[string]float64{}, sources: map[string]float64{}, unpriced: map[string]int64{},
		open: map[treeKey]groups{}, tree: t, pricing: pricing{date: price.Date()},
	}
}

func (r *report) add(o *translate.Output) {
	switch {
	case o.Step == nil:
	case o.Step.Metric == translate.MetricCost:
		r.costs[o.Step.Model] += o.Step.Value
		r.sources[o.Step.Label] += o.Step.Value
	case o.Step.Metric == translate.MetricUnpriced:
		r.unpriced[o.Step.Model] += int64(o.Step.Value)
	}
	s := o.Span
	if s == nil {
		return
	}
	r.spans++
	switch {
	case s.Type == translate.SpanRoot && s.Root != nil:
		r.root(s)
	case s.Chat != nil:
		key := treeKey{s.TraceID, s.Session}
		if r.open[key] == nil {
			r.open[key] = groups{}
		}
		r.open[key].chat(s)
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
			models: map[string]translate.Tokens{}, tools: map[string]int64{}, outcomes: map[string]int64{}, days: groups{},
			project: r.projects.name(s.Root.Place, s.Root.CWD),
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
	r.days(x, s)
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

// days adds a segment to the days of its session.
func (r *report) days(x *sessionReport, root *translate.Span) {
	key := treeKey{root.TraceID, root.Session}
	d := r.open[key]
	delete(r.open, key)
	if d == nil {
		d = groups{}
	}
	d.settle(root)
	for day, s := range d {
		x.days.on(day).add(s.usage, s.cost)
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

	projects groups
	days     groups
}

func (r *report) grand() grand {
	g := grand{models: map[string]translate.Tokens{}, tools: map[string]int64{}, projects: groups{}, days: groups{}}
	for _, s := range r.sorted() {
		g.usage = plus(g.usage, s.usage)
		p := g.projects.on(s.project)
		p.sessions++
		p.add(s.usage, s.cost)
		for day, t := range s.days {
			on := g.days.on(day)
			on.sessions++
			on.add(t.usage, t.cost)
		}
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
