// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"path"
	"slices"
	"strings"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/ids"
)

// call is one tool call, from its block to its result.
type call struct {
	id        string // unique among the calls of the session that are open
	name      string
	launch    bool
	agentType string
	asked     bool            // to run in the background
	c         *translate.Call // nil once it is finished: a long session has many calls

	agent    *agent
	seg      *segment
	node     node
	start    int64
	end      int64
	measured bool
	cwd      string // at the time of the call: a later change does not move its paths
	server   bool
	child    *agent

	result     *translate.Result
	resultAt   int64
	exit       translate.Opt[int64]
	bg         bool
	taskID     string
	taskStatus string
	taskAt     int64
	// Of rollouts: what tells the end apart from the output, the process that runs on and what it said first,
	// the one that the call asks about, and the script that made the call.
	item          *translate.Result
	itemAt        int64
	process       string
	output        *translate.Result
	asks          string
	interruptedAt int64
	inside        *call

	cutAt   int64 // a prompt came while it was open
	ordinal int   // of its record
	settled bool  // nothing will explain an error result any more
	done    bool
}

// lastCall is the latest call with the id, nil when there is none.
func (s *session) lastCall(id string) *call {
	if list := s.calls[id]; id != "" && len(list) > 0 {
		return list[len(list)-1]
	}
	return nil
}

// openCall is the only open call with the id: of the agent, else of any. It is nil when there is none
// or more than one.
func (s *session) openCall(id string, ag *agent) *call {
	var found *call
	n := 0
	for _, c := range s.calls[id] {
		if !c.done && c.result == nil && (ag == nil || c.agent == ag) {
			found = c
			n++
		}
	}
	if n == 0 && ag == nil {
		for _, c := range s.calls[id] {
			if !c.done {
				found = c
				n++
			}
		}
	}
	if n != 1 {
		return nil
	}
	return found
}

func (s *session) openCount(id string, ag *agent) int {
	n := 0
	for _, c := range s.calls[id] {
		if !c.done && c.result == nil && (ag == nil || c.agent == ag) {
			n++
		}
	}
	return n
}

// call folds a call block. A call is known by its id and the response that issued it, since some
// providers restart tool ids in every response; a repeated block of the same response is the same call.
func (s *session) call(r *row, resp *response, tc *translate.Call) *call {
	id, issued := tc.ID, hash(resp.id, tc.ID)
	if resp.synthetic {
		id = r.f.itemID(tc.ID)
		issued = hash("", id)
	}
	if _, known := s.issued[issued]; known {
		return nil
	}
	s.issued[issued] = struct{}{}
	return s.openedCall(r, resp.agent, resp.seg, id, resp.id, tc)
}

// looseCall folds a call that stands outside of a response. Where its id comes again after it has ended,
// it is another call.
func (s *session) looseCall(r *row, tc *translate.Call) *call {
	if s.openCount(tc.ID, nil) > 0 {
		return nil
	}
	issuer := ""
	h := hash("", tc.ID)
	if _, again := s.issued[h]; again {
		put(&s.reissued, h, s.reissued[h]+1)
		issuer = "#" + itoa(s.reissued[h])
	}
	s.issued[h] = struct{}{}
	r.g.act()
	return s.openedCall(r, r.ag, r.g, tc.ID, issuer, tc)
}

// missedCall is the call of a result that restates it, when nothing else told of it; nil where the result
// only comes again.
func (s *session) missedCall(r *row, res *translate.Result) *call {
	if _, known := s.finished[hash(res.CallID)]; res.Call == nil || known && res.CallID != "" {
		return nil
	}
	c := s.looseCall(r, res.Call)
	if c != nil && res.Duration.V > 0 && c.start >= ordinalEnd {
		c.start -= res.Duration.V // nothing but its end was told
	}
	return c
}

func (s *session) openedCall(r *row, ag *agent, g *segment, id, issuer string, tc *translate.Call) *call {
	c := &call{
		c: tc, id: id, name: tc.Name, launch: tc.Launch, agentType: tc.AgentType, asked: tc.Background, agent: ag, seg: g, start: r.t, end: r.t, measured: r.measured, cwd: s.cwd,
		node: node{seg: g, kind: ids.KindCall, a: tc.ID, b: issuer, hush: s.a.muted}, ordinal: s.ordinal,
	}
	s.calls[id] = append(s.calls[id], c)
	s.linked = s.linked || c.launch
	s.open = append(s.open, c)
	g.open++
	g.units++
	g.toolCalls++
	g.tools[tc.Name]++
	s.bound()
	if ag := s.agents[id]; ag != nil {
		ag.attach(c)
	}
	if e := s.early[id]; e != nil {
		delete(s.early, id)
		s.answer(c, e.res, e.t)
	}
	return c
}

// bound keeps the number of open calls below max_spans: beyond it the oldest ends as it is.
func (s *session) bound() {
	if len(s.open) <= s.a.cfg.MaxSpans {
		return
	}
	c := s.open[0]
	c.settled = true
	c.close(s.latest)
}

// result folds a tool result.
func (s *session) result(r *row, res *translate.Result) {
	if res.Ends != nil {
		k := s.tasks[res.Ends.TaskID]
		if k == nil {
			k = &task{id: res.Ends.TaskID}
			put(&s.tasks, res.Ends.TaskID, k)
		}
		if ended, _ := taskEnds(res.Ends.Status); ended {
			s.taskEnd(k, res.Ends.Status, res.Ends.ExitCode, r.t)
		}
	}
	c := s.openCall(res.CallID, r.ag)
	if c == nil && s.openCount(res.CallID, r.ag) == 0 {
		c = s.openCall(res.CallID, nil)
		if c != nil && c.result != nil {
			c = nil
		}
	}
	if c == nil && s.openCount(res.CallID, nil) == 0 {
		c = s.missedCall(r, res)
	}
	if c != nil {
		if r.rec.Loop != nil && r.rec.Loop.Sure {
			c.agent = r.ag
		}
		c.settled = c.settled || !tellsDenials(r.f.src.info.Format)
		s.answer(c, res, r.t)
		return
	}
	if res.Call != nil {
		return // the end of a call that has ended
	}
	if s.openCount(res.CallID, nil) > 1 {
		u := res.Unknown
		if u == nil {
			u = &translate.Unknown{Type: "tool_result", Bytes: res.Text.Bytes}
		}
		l := unknownLog(u)
		l.Reason, l.CallID = translate.UnknownAmbiguousID, res.CallID
		l.Body = "unknown " + string(l.Reason)
		r.log(l, 1<<16)
		return
	}
	if s.early[res.CallID] == nil && len(s.early) < s.a.cfg.MaxSpans {
		put(&s.early, res.CallID, &early{res: res, rec: r.rec, t: r.t, src: r.source})
		s.earlyList = append(s.earlyList, res.CallID)
	}
}

// answer pairs a result with its call.
func (s *session) answer(c *call, res *translate.Result, t int64) {
	c.result, c.resultAt = res, t
	c.node.heard(s.a)
	if len(res.Items) == len(c.c.Ops) {
		for i, item := range res.Items {
			c.c.Ops[i].Success, c.c.Ops[i].ExitCode = item.Success, item.ExitCode
		}
	}
	c.start, c.end = min(c.start, t), max(c.end, t)
	c.seg.touch(t)
	if res.Denied {
		s.deny(c.seg, c.id)
	}
	if c.launch && !res.Denied && res.RanAgent && res.AgentID == "" {
		s.claim(c)
	}
	if c.launch && !res.Denied && (res.RanAgent || s.agents[c.id] != nil || s.agentIDs[res.AgentID] != nil) {
		ag := s.subagent(c.id, res.AgentID)
		ag.attach(c)
		if res.AgentType != "" {
			ag.name(res.AgentType)
		}
		if res.RanAgent {
			ag.prove()
		}
		if ag.evidence {
			ag.start(c.start)
		}
	}
	id := res.TaskID
	if id == "" && res.Async {
		id = res.AgentID
	}
	if id != "" {
		c.taskID = id
		k := s.tasks[id]
		if k == nil {
			k = &task{id: id, callID: c.id}
			put(&s.tasks, id, k)
		} else if k.callID == "" {
			k.callID = c.id
		}
		if k.status != "" && c.taskStatus == "" {
			c.taskStatus, c.taskAt = k.status, k.statusAt
		}
	}
	c.bg = res.Async || c.asked && !res.IsError && !res.Denied && !res.Interrupted
	if c.bg && res.Status == "completed" {
		c.taskStatus, c.taskAt = firstOf(c.taskStatus, "completed"), max(c.taskAt, t)
	}
	if c.bg && c.child != nil {
		c.child.background = true
	}
	c.decide()
}

// decide finishes the call if what is known decides its outcome.
func (c *call) decide() {
	res, s := c.result, c.agent.s
	switch {
	case c.done:
	case c.bg:
		if c.taskStatus != "" {
			c.finish(taskOutcome(c.taskStatus), max(c.taskAt, c.resultAt))
		}
	case res != nil && res.Outcome != "":
		c.finish(res.Outcome, c.end)
	case s.denied[c.id] && (res == nil || res.IsError || res.Denied):
		c.finish(translate.ToolDenied, c.end)
	case res == nil:
	case res.Success.OK && !res.Success.V, res.IsError && !res.Interrupted:
		if c.settled || !tellsDenials(s.format) || c.server {
			c.finish(translate.ToolError, c.end)
		}
	case res.Interrupted:
		c.finish(translate.ToolInterrupted, c.end)
	default:
		c.finish(translate.ToolOK, c.end)
	}
}

func taskOutcome(status string) string {
	switch status {
	case "completed":
		return translate.ToolOK
	case "failed":
		return translate.ToolError
	}
	return translate.ToolKilled
}

// close ends an open call with its session, its agent or the bound of open calls.
func (c *call) close(t int64) {
	if c.done {
		return
	}
	c.settled = true
	c.decide()
	if c.done {
		return
	}
	switch {
	case c.item != nil && c.result == nil:
		c.agent.s.answer(c, c.item, c.itemAt)
		return
	case c.interruptedAt != 0:
		c.finish(translate.ToolInterrupted, max(c.start, c.interruptedAt))
		return
	}
	if c.taskStatus != "" && !c.bg {
		c.finish(taskOutcome(c.taskStatus), max(c.start, c.taskAt)) // ruling 28: ends with its task
		return
	}
	if c.cutAt != 0 {
		t = c.cutAt
	}
	if c.bg && c.resultAt > t {
		t = c.resultAt
	}
	c.finish(translate.ToolIncomplete, max(c.start, t))
}

// endAbandoned ends calls that a prompt left behind, now that the agent went on without their results.
func (s *session) endAbandoned(ag *agent) {
	if s.abandoned == 0 {
		return
	}
	for _, c := range append([]*call(nil), s.open...) {
		if c.cutAt != 0 && !c.bg && c.process == "" && c.result == nil && c.agent == ag {
			c.close(c.cutAt)
		}
	}
}

// finish sends the call's span and its events.
func (c *call) finish(outcome string, end int64) {
	if c.done {
		return
	}
	c.done = true
	s, g := c.agent.s, c.seg
	s.open = without(s.open, c)
	if c.cutAt != 0 {
		s.abandoned--
	}
	s.finished[hash(c.id)] = struct{}{}
	// A launching call stays for late rows of its subagent; of the others only open ones can be paired.
	if !c.launch && c.child == nil {
		if list := without(s.calls[c.id], c); len(list) == 0 {
			delete(s.calls, c.id)
		} else {
			s.calls[c.id] = list
		}
	}
	c.end = max(c.start, end)
	g.touch(c.end)
	// A subagent that nobody waited for goes on when the call that launched it is done.
	goesOn := c.child != nil && (c.child.detached || c.child.background && !c.bg && outcome == translate.ToolOK)
	if c.child != nil && !c.child.sent && !goesOn {
		failed := outcome == translate.ToolError || outcome == translate.ToolKilled
		known := outcome != translate.ToolIncomplete && outcome != translate.ToolInterrupted
		if c.child.ended {
			c.child.failed = c.child.failed || failed
		} else {
			c.child.ended, c.child.failed, c.child.known = true, failed, known
			if known && outcome != translate.ToolDenied {
				c.child.touch(c.end)
			}
		}
		if !c.child.lags() {
			c.child.finish(c.end)
		}
	}

	t := &translate.ToolAttrs{
		Name: c.name, CallID: c.c.ID, Outcome: outcome, Kind: toolKind(c.c), ArgBytes: int64(c.c.ArgBytes),
		Background: c.bg, ServerSide: c.server, Extension: c.server, Args: c.c.Args.Content, ExitCode: c.exit,
		MCPServer: c.c.MCPServer, MCPTool: c.c.MCPTool,
	}
	if t.MCPServer == "" {
		t.MCPServer, t.MCPTool = splitMCP(c.name, s.mcp)
	}
	t.Extension = t.Extension || t.MCPServer != ""
	for i := range c.c.Ops {
		if c.c.Ops[i].Kind == translate.OpSkill {
			t.Skill = c.c.Ops[i].Skill
		}
	}
	sp := &translate.Span{Type: translate.SpanTool, Start: c.start, End: c.end, Agent: c.agent.typ, Tool: t, Cut: c.c.Args.Cut}
	if res := c.result; res != nil {
		t.ResultBytes = translate.Some(int64(res.Text.Bytes))
		t.Result = res.Text.Content
		sp.Cut = sp.Cut || res.Text.Cut
		if res.ExitCode.OK {
			t.ExitCode = res.ExitCode
		}
		t.Added, t.Removed = res.Added, res.Removed
		if res.Duration.OK && res.Duration.V >= 0 {
			t.Execution = res.Duration
			if sp.End-sp.Start < res.Duration.V && sp.Start >= ordinalEnd {
				sp.End = sp.Start + res.Duration.V // ruling 8
				g.touch(sp.End)
			}
		}
	}
	if outcome == translate.ToolError || outcome == translate.ToolKilled {
		sp.Error, sp.ErrType = true, c.errType(outcome, t.ExitCode)
		if s.a.cfg.Capture.ToolResults && c.result != nil {
			sp.Message = c.result.Text.Content
		}
	}
	c.events(outcome, t.ExitCode)
	parent := c.agent.nodeIn(g)
	if c.inside != nil {
		parent = &c.inside.node
	}
	g.span(sp, &c.node, parent)
	g.outcomes[outcome]++
	g.stepOf(&c.node, translate.Step{Metric: translate.MetricToolCalls, Value: 1, Tool: c.name, Label: outcome})
	if c.measured && !s.estimated && c.start >= ordinalEnd && (c.result != nil || c.taskStatus != "") {
		d := sp.End - sp.Start
		if t.Execution.OK {
			d = t.Execution.V
		}
		g.stepOf(&c.node, translate.Step{
			Metric: translate.MetricToolDuration, Value: seconds(d), Tool: c.name, Extension: t.Extension,
			ErrType: sp.ErrType,
		})
	}
	if outcome == translate.ToolOK {
		for _, n := range []struct {
			v     translate.Opt[int64]
			label string
		}{{t.Added, "added"}, {t.Removed, "removed"}} {
			if n.v.OK && n.v.V > 0 {
				g.stepOf(&c.node, translate.Step{Metric: translate.MetricLines, Value: float64(n.v.V), Label: n.label})
			}
		}
	}
	c.c, c.result, c.item, c.output = nil, nil, nil, nil
	g.open--
	s.settle(g)
}

// without removes c from a list of calls; the oldest and the latest, which mostly end first, cost nothing.
func without(list []*call, c *call) []*call {
	switch n := len(list); {
	case n == 0:
		return list
	case list[0] == c:
		list[0] = nil
		return list[1:]
	case list[n-1] == c:
		return list[:n-1]
	}
	if i := slices.Index(list, c); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}

func (c *call) errType(outcome string, exit translate.Opt[int64]) string {
	switch {
	case outcome == translate.ToolKilled:
		return "killed"
	case c.result != nil && c.result.TimedOut:
		return "timeout"
	case exit.OK && exit.V != 0:
		return "exit_code"
	}
	return "tool_error"
}

func toolKind(c *translate.Call) translate.OpKind {
	if len(c.Ops) == 0 || c.Ops[0].Kind == translate.OpNone {
		return translate.OpUnknown
	}
	return c.Ops[0].Kind
}

var opEvents = map[translate.OpKind]translate.Event{
	translate.OpCommand: translate.EventCommand,
	translate.OpRead:    translate.EventRead,
	translate.OpWrite:   translate.EventWrite,
	translate.OpSearch:  translate.EventSearch,
	translate.OpList:    translate.EventList,
	translate.OpSkill:   translate.EventSkill,
	translate.OpUnknown: translate.EventUnknown,
}

// events sends the normalized events of the call: one per operation, in their order.
func (c *call) events(outcome string, exit translate.Opt[int64]) {
	success := translate.Opt[bool]{}
	if c.result != nil && c.result.Outcome != "" {
		success = c.result.Success
	} else if c.result != nil || c.taskStatus != "" || outcome == translate.ToolDenied {
		success = translate.Some(outcome == translate.ToolOK)
	} // else it was open at the end: the agent did try, nobody knows with what result
	if c.result != nil && c.result.NoVerdict && outcome == translate.ToolOK {
		success = translate.Opt[bool]{}
	}
	for i := range c.c.Ops {
		op := &c.c.Ops[i]
		if op.Kind == translate.OpNone {
			continue
		}
		if op.Kind == translate.OpOrchestration {
			c.launchEvent(outcome)
			continue
		}
		l := &translate.Log{
			Event: opEvents[op.Kind], Severity: translate.SeverityInfo, Time: c.end, Success: success,
			Tool: c.name, CallID: c.c.ID, Query: op.Query.Content, Command: op.Command.Content,
		}
		how := outcome
		if op.Success.OK {
			l.Success = op.Success
			how = itemOutcome(op.Success.V)
		}
		l.Path = op.Path.Content
		if op.Resolve && l.Path != "" {
			l.Path = resolvePath(l.Path, c.cwd)
		}
		for _, t := range []translate.Text{op.Path, op.Query, op.Command} {
			if t.Cut {
				l.Cut, l.OriginalBytes = true, translate.Some(int64(t.Bytes))
			}
		}
		switch op.Kind {
		case translate.OpCommand:
			if len(c.c.Ops) == 1 {
				l.ExitCode = exit
			}
			if op.ExitCode.OK {
				l.ExitCode = op.ExitCode
			}
		case translate.OpSkill:
			l.Skill, l.Path = op.Skill, ""
			if op.Path.Content != "" {
				l.SkillPath = resolvePath(op.Path.Content, c.agent.s.cwd)
			} else if c.agent.s.a.cfg.Capture.ToolArguments {
				l.SkillPath = resolvePath(path.Join("skills", op.Skill, "SKILL.md"), c.agent.s.cwd)
			}
		case translate.OpUnknown:
			l.Severity, l.Reason = translate.SeverityDebug, translate.UnknownTool
			l.RecordType = firstOf(c.c.Type, "tool_use")
			l.RawBytes, l.RawKeys, l.Raw = translate.Some(int64(c.c.RawBytes)), c.c.Keys, c.c.Raw.Content
		}
		l.StartLine, l.EndLine = op.Start, op.End
		if failed := l.Success.OK && !l.Success.V || !l.Success.OK && outcome == translate.ToolError; failed && op.Kind != translate.OpUnknown {
			l.Severity = translate.SeverityWarn
		}
		l.Body = eventBody(l, how)
		c.seg.log(l, &c.node, c.agent.typ, "call/"+c.node.a+"\x00"+c.node.b, i)
	}
}

func itemOutcome(success bool) string {
	if success {
		return translate.ToolOK
	}
	return translate.ToolError
}

func eventBody(l *translate.Log, outcome string) string {
	var b strings.Builder
	b.WriteString(string(l.Event))
	b.WriteString(" by ")
	b.WriteString(l.Tool)
	b.WriteString(": ")
	b.WriteString(outcome)
	return b.String()
}

// launchEvent tells of a launch that gave no subagent.
func (c *call) launchEvent(outcome string) {
	if c.child != nil && c.child.evidence || !c.launch {
		return
	}
	l := &translate.Log{
		Event: translate.EventOrchestration, Time: c.end, Tool: c.name, CallID: c.c.ID,
		SubagentType: firstOf(c.agentType, unnamed),
	}
	switch outcome {
	case translate.ToolDenied, translate.ToolError, translate.ToolKilled, translate.ToolInterrupted:
		l.Action, l.Severity, l.Success = "subagent_failed", translate.SeverityWarn, translate.Some(false)
	case translate.ToolOK:
		// No id, no totals, no row: the call's word is all there is.
		l.Action, l.Severity = "subagent_started", translate.SeverityInfo
		started := *l
		started.Time, started.Body = c.start, l.Action
		c.seg.log(&started, &c.node, c.agent.typ, "call/"+c.node.a+"\x00"+c.node.b, 0)
		l.Action, l.Success = "subagent_completed", translate.Some(true)
	default:
		l.Action, l.Severity, l.Time = "subagent_started", translate.SeverityInfo, c.start
	}
	l.Body = l.Action
	c.seg.log(l, &c.node, c.agent.typ, "call/"+c.node.a+"\x00"+c.node.b, 1)
}

// orphans reports results whose call never came, unless they repeat a result of a call that has one.
func (s *session) orphans() {
	for _, id := range s.earlyList {
		e := s.early[id]
		if e == nil {
			continue
		}
		delete(s.early, id)
		if _, known := s.finished[hash(id)]; known {
			continue
		}
		g := s.cur
		l := &translate.Log{
			Event: translate.EventUnknown, Severity: translate.SeverityWarn, Reason: translate.UnknownOrphan,
			Time: e.t, CallID: id, RecordType: "tool_result", Body: "tool result without a call",
		}
		if e.res.HasFile {
			l = &translate.Log{
				Event: translate.EventRead, Severity: translate.SeverityInfo, Time: e.t, CallID: id,
				StartLine: e.res.FileStart, Success: translate.Some(!e.res.IsError), Body: "read without a call",
			}
			if p := e.res.FilePath.Content; p != "" {
				l.Path = resolvePath(p, s.cwd)
			}
		} else if u := e.res.Unknown; u != nil {
			l.RawBytes, l.RawKeys, l.Raw = translate.Some(int64(u.Bytes)), u.Keys, u.Raw.Content
		}
		g.log(l, s.main.nodeIn(g), s.agent, "result/"+id+"/"+e.src, 0)
	}
	s.earlyList = nil
}

// splitMCP splits mcp__<server>__<tool>: with the server list when it is known, since server names may
// hold the separator, else at the first two separators.
func splitMCP(name string, servers []string) (server, tool string) {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok {
		return "", ""
	}
	for _, s := range servers {
		if t, ok := strings.CutPrefix(rest, s+"__"); ok && t != "" {
			return s, t
		}
	}
	server, tool, ok = strings.Cut(rest, "__")
	if !ok || server == "" || tool == "" {
		return "", ""
	}
	return server, tool
}
