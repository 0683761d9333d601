// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"slices"
	"sort"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/ids"
)

// node is a span that others point at. Its id is derived when it is first needed: then the key of
// its segment is known.
type node struct {
	seg  *segment
	kind string
	a, b string
	id   translate.SpanID
	have bool
	used bool // something that left points at it
	hush bool // all that tells of it was silent, see Assembler.Silent
}

func (n *node) span() translate.SpanID {
	if !n.have {
		switch {
		case n.b != "":
			n.id = ids.Span(n.seg.derived, n.kind, n.a, n.b)
		case n.a != "":
			n.id = ids.Span(n.seg.derived, n.kind, n.a)
		default:
			n.id = ids.Span(n.seg.derived, n.kind)
		}
		n.have = true
	}
	return n.id
}

// item is an output whose ids and times are still to be filled in.
type item struct {
	out    translate.Output
	node   *node // the span itself, or the span that a log belongs to, or that a step is told with
	parent *node // nil = the caller's span, if any
	source string
	ord    int
	at     int64 // of the record that made it; see age.go
	silent bool  // it was there before the receiver was, see Assembler.Silent
}

// segment is one trace of a session.
type segment struct {
	s       *session
	n       int // 0 for the first
	keyed   bool
	derived translate.TraceID // what span ids are derived from
	trace   translate.TraceID // the caller's, if there is one
	caller  *translate.Context
	root    node
	quiet   bool // nobody acted yet: everything is held (ruling 25)
	started bool // a start record was read
	held    []item
	sent    bool
	sending bool
	cut     bool // a later segment exists
	sized   bool // it was cut for its size, age or turn, not because the session stopped
	link    *translate.Link
	before  *segment // that link leads to
	unsent  bool     // its root was held back

	firstUUID   string
	first, last int64
	ordinals    [2]int64 // first and last of the rows whose times are not known yet although others are
	open        int      // units that are not final
	units       int

	prompts, terminals int64
	terminal           *translate.Terminal // the last one that decides
	terminalAt         int64               // 0 = none, or no linger runs
	turn               turnState           // of rollouts
	talk               talk                // the last row of the main agent's conversation in a transcript
	interrupted        bool                // the last row of the main agent is an interruption
	mode, reason       string
	apiDuration        translate.Opt[int64]
	model              string
	models             int // number of different models of the main agent: 0, 1, 2 = several
	modelCalls         int64
	subagentCalls      int64
	toolCalls          int64
	subagents          int64
	denials            int64
	tools, outcomes    map[string]int64
	acc                account
}

func (s *session) newSegment(t int64, prev *segment, rec *translate.Record) *segment {
	s.prune()
	g := &segment{s: s, n: s.segments, quiet: true, first: t, last: t, tools: map[string]int64{}, outcomes: map[string]int64{}}
	g.root = node{seg: g, kind: ids.KindSession, hush: s.a.muted}
	g.started = ownRecords(s.format)
	g.caller = s.caller
	if rec != nil {
		g.firstUUID = rec.UUID
	}
	g.acc = newAccount()
	if prev == nil && !s.goesOn {
		g.setKey("")
		if s.origin != nil {
			g.link = s.origin
		}
	}
	if prev == nil && s.goesOn {
		g.link = s.memory.last()
	}
	s.segments++
	s.segs = append(s.segs, g)
	g.rekey()
	return g
}

// keepSegments is how many segments are kept for late rows once their roots are out.
const keepSegments = 64

// prune forgets the oldest segments that are done, so that a session of many turns stays small.
func (s *session) prune() {
	if len(s.segs) < 2*keepSegments {
		return
	}
	old := len(s.segs) - keepSegments
	kept := slices.DeleteFunc(s.segs[:old], func(g *segment) bool { return g.sent && g.open == 0 && len(g.held) == 0 })
	s.segs = slices.Delete(s.segs, len(kept), old)
}

// setKey fixes the segment's ids: the empty key for the first segment, else the id of its first
// response, else of its first record, else its ordinal (telemetry contract, section 2).
func (g *segment) setKey(key string) {
	g.keyed = true
	g.derived = ids.Trace(g.s.agent, g.s.id, key)
	g.trace = g.derived
	if g.caller != nil && g.caller.TraceID != [16]byte{} {
		g.trace = g.caller.TraceID
	}
}

// act says that the agent itself did something: what was held may go out.
func (g *segment) act() {
	if !g.quiet {
		return
	}
	g.quiet = false
	g.s.opened(g)
	g.flush()
}

func (g *segment) touch(t int64) {
	if t < ordinalEnd && g.first >= ordinalEnd {
		if g.ordinals[0] == 0 {
			g.ordinals[0] = t
		}
		g.ordinals[0], g.ordinals[1] = min(g.ordinals[0], t), max(g.ordinals[1], t)
		return
	}
	g.first, g.last = min(g.first, t), max(g.last, t)
}

// settleTimes turns the ordinals that the segment's times may be into what they stand for.
func (g *segment) settleTimes() {
	if g.first < ordinalEnd {
		g.first, g.last = g.s.resolveSpan(g.first, g.last)
	}
	if g.ordinals[0] != 0 {
		from, to := g.s.resolveSpan(g.ordinals[0], g.ordinals[1])
		g.first, g.last = min(g.first, from), max(g.last, to)
		g.ordinals = [2]int64{}
	}
}

func (g *segment) ready() bool { return !g.quiet && g.keyed && g.s.unresolved == 0 }

// emit sends the item, or holds it until the segment's ids and times are known. Beyond max_spans held
// spans the oldest go out as well as they can be told (design, untimed files).
func (g *segment) emit(it item) {
	it.at, it.silent = g.s.at, g.silent(&it)
	if g.ready() {
		g.s.deliver(it, g)
		return
	}
	g.held = append(g.held, it)
	if len(g.held) > 4*g.s.a.cfg.MaxSpans && !g.quiet {
		if !g.keyed {
			g.fallbackKey()
		}
		for _, it := range g.held {
			g.s.deliver(it, g)
		}
		g.held = nil
	}
}

func (g *segment) flush() {
	if !g.ready() {
		return
	}
	held := g.held
	g.held = nil
	for _, it := range held {
		g.s.deliver(it, g)
	}
}

func (g *segment) fallbackKey() {
	if g.keyed {
		return
	}
	g.setKey(g.plainKey())
}

// plainKey is the key of a segment that no response names.
func (g *segment) plainKey() string { return firstOf(g.firstUUID, "#"+itoa(g.n)) }

// deliver fills in ids and times and appends the output.
func (s *session) deliver(it item, g *segment) {
	silent := s.silenced(&it)
	old := !silent && s.tooOld(&it)
	if silent || old {
		g.unsent = g.unsent || it.node == &g.root && it.out.Span != nil
		if silent || !s.a.remembers() || it.out.Step != nil {
			return
		}
	}
	if !old {
		it.points()
	}
	out := it.out
	out.Resource = s.resource()
	switch {
	case out.Span != nil:
		sp := out.Span
		sp.Start, sp.End = s.resolve(sp.Start), s.resolve(sp.End)
		sp.End = max(sp.Start, sp.End)
		if sp.Root != nil {
			sp.Root.TimeEstimated = s.estimated
		}
		sp.TraceID = g.trace
		sp.SpanID = it.node.span()
		switch {
		case it.parent != nil:
			sp.ParentID = it.parent.span()
		case g.caller != nil:
			sp.ParentID = g.caller.SpanID
		}
	case out.Log != nil:
		l := out.Log
		l.Time = s.resolve(l.Time)
		l.TraceID = g.trace
		l.SpanID = it.node.span()
		l.UID = ids.Log(g.derived, l.Event, it.source, it.ord)
	}
	if s.a.remembers() && !s.leaves(&it, &out, g) || old {
		return
	}
	s.a.out = append(s.a.out, out)
}

// resolve turns an ordinal into the time it stands for; other times stand for themselves.
func (s *session) resolve(t int64) int64 {
	if t >= ordinalEnd {
		return t
	}
	n := uint64(t >> ordinalBits)
	for _, f := range slices.Backward(s.feeds) { // a file that went on after a pause has two
		if f.src.n == n {
			if !f.resolved() {
				return f.src.info.ModTime
			}
			return f.at(t)
		}
	}
	return t
}

func (g *segment) span(sp *translate.Span, n, parent *node) {
	sp.Session = g.s.id
	g.emit(item{out: translate.Output{Span: sp}, node: n, parent: parent})
}

func (g *segment) log(l *translate.Log, n *node, agent, source string, ord int) {
	l.Session = g.s.id
	l.Agent = agent
	g.emit(item{out: translate.Output{Log: l}, node: n, source: source, ord: ord})
}

func (g *segment) step(st translate.Step) { g.stepOf(nil, st) }

// stepOf is a step that is told with a span: if that has left, so has the step.
func (g *segment) stepOf(n *node, st translate.Step) {
	st.Agent = g.s.agent
	g.emit(item{out: translate.Output{Step: &st}, node: n})
}

// outcome of the segment and its error.type (telemetry contract 3.1, rulings 29, 30).
func (g *segment) outcome() (outcome, errType string) {
	t := g.terminal
	switch {
	case t != nil && t.Cancelled:
		return translate.OutcomeCancelled, ""
	case t != nil && !t.Failed:
		return translate.OutcomeSuccess, ""
	case t != nil && g.interrupted:
		return translate.OutcomeCancelled, ""
	case t != nil:
		return translate.OutcomeError, t.ErrorType
	case g.turn.told:
		return g.turn.outcome()
	case g.talk.kind != talkNone:
		return g.talk.outcome()
	case g.interrupted:
		return translate.OutcomeCancelled, ""
	case !hasTerminal(g.s.format) || g.sized:
		return translate.OutcomeIncomplete, ""
	}
	return translate.OutcomeIncomplete, "incomplete_stream"
}

// turns is the larger of prompts and terminal records, at least 1 with a model call (ruling 5).
func (g *segment) turns() int64 {
	n := max(g.prompts, g.terminals)
	if n == 0 && g.modelCalls > 0 {
		n = 1
	}
	return n
}

// send sends the root. Nothing of the segment is open any more, or the session is being closed.
func (g *segment) send() {
	if g.sent || g.quiet {
		return
	}
	g.sent = true
	defer func(at int64) { g.s.at = at }(g.s.at)
	g.s.at = g.last
	g.fallbackKey()
	g.flush()
	s := g.s
	outcome, errType := g.outcome()
	g.sending = true
	defer func() { g.sending = false }()
	g.acc.close(g)
	r := &translate.RootAttrs{
		Format: s.format, Outcome: outcome, Turns: g.turns(),
		ToolCalls: g.toolCalls, ModelCalls: g.modelCalls, Subagents: g.subagents, Denials: g.denials,
		SubagentCalls: g.subagentCalls, Prompts: g.prompts, Place: s.where,
		PermissionMode: g.mode, TerminalReason: g.reason, APIDuration: g.apiDuration,
		DerivedID: s.derived, LateID: s.lateID,
		Tools: counts(g.tools), Outcomes: counts(g.outcomes),
	}
	if g.models == 1 {
		r.Model = g.model
	}
	if g.caller != nil {
		r.Context = g.caller.Attributes
	}
	if s.a.cfg.Capture.Identity {
		r.CWD, r.User, r.Branch = s.cwd, s.user, s.branch
	}
	g.acc.fill(r)
	sp := &translate.Span{
		Type: translate.SpanRoot, Start: g.first, End: g.last, Agent: s.agent,
		Error: errType != "" || outcome == translate.OutcomeError, ErrType: errType, Root: r,
	}
	if sp.Error && sp.ErrType == "" {
		sp.ErrType = "error"
	}
	if sp.Error && s.a.cfg.Capture.Responses && g.terminal != nil {
		sp.Message = g.terminal.Text.Content
	}
	if g.link == nil && g.n == 0 {
		g.link = s.copyLink()
	}
	if g.link == nil && g.n == 0 {
		g.link = s.forkLink()
	}
	if g.link != nil && (g.before == nil || g.before.seen()) {
		sp.Links = []translate.Link{*g.link}
	}
	g.span(sp, &g.root, nil)
	if !g.cut {
		end := &translate.Log{
			Event: translate.EventSessionEnd, Severity: translate.SeverityInfo, Time: g.last, Root: r,
			RootErr: sp.ErrType, Body: "session ended: " + outcome,
		}
		if outcome == translate.OutcomeError {
			end.Severity = translate.SeverityError
		}
		g.log(end, &g.root, s.agent, "session", 0)
	}
	g.stepOf(&g.root, translate.Step{Metric: translate.MetricSegments, Value: 1})
	if !s.estimated && g.measured() {
		g.stepOf(&g.root, translate.Step{Metric: translate.MetricAgentDuration, Value: seconds(g.last - g.first), ErrType: sp.ErrType})
	}
	g.stepOf(&g.root, translate.Step{Metric: translate.MetricAgentCalls, Value: float64(g.modelCalls), ErrType: sp.ErrType})
	g.stepOf(&g.root, translate.Step{Metric: translate.MetricAgentTools, Value: float64(g.toolCalls), ErrType: sp.ErrType})
	if !s.counted {
		s.counted = true
		g.stepOf(&g.root, translate.Step{Metric: translate.MetricSessions, Value: 1, Label: outcome, ErrType: sp.ErrType})
	}
}

// measured reports whether the segment's times were told or seen.
func (g *segment) measured() bool { return g.first >= ordinalEnd && !g.s.estimated }

// rootRef is what a later segment's root links to.
func (g *segment) rootRef(kind translate.LinkKind) *translate.Link {
	g.fallbackKey()
	return &translate.Link{TraceID: g.trace, SpanID: g.root.span(), Kind: kind}
}

func counts(m map[string]int64) []translate.NameCount {
	if len(m) == 0 {
		return nil
	}
	out := make([]translate.NameCount, 0, len(m))
	for k, v := range m {
		out = append(out, translate.NameCount{Name: k, Count: v})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}
