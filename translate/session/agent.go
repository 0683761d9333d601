// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/ids"
)

// unnamed is the type of a subagent whose type nothing tells (telemetry contract 3.4).
const unnamed = "subagent"

// agent is the main agent of a session or one of its subagents.
type agent struct {
	s    *session
	main bool
	typ  string // the agent's name; for a subagent its type

	cur          *response
	prev         int64 // time of its latest record: the start of a model call that follows
	prevMeasured bool
	asked        int64 // when its request began that has no row yet, where a record tells that
	prompted     bool  // a prompt came since the last terminal record
	turnOver     bool  // a terminal record came since the last response
	retries      int64
	input        []translate.Text // prompts since the last response, for capture

	// Subagents only.
	seg         *segment
	node        node
	launcher    *call
	parent      *agent
	callID, id  string
	first, last int64
	evidence    bool // it ran (ruling 10)
	background  bool
	detached    bool // it does not end with its launcher
	quietTask   bool // no orchestration events
	quietStart  bool // its start was told elsewhere, if at all
	again       bool // another run of an agent that was counted
	started     bool // subagent_started is out
	ended       bool
	failed      bool
	known       bool // the end was told, not supposed at the close
	sent        bool
	listed      bool // in the session's list of agents that are not sent
	workflow    bool
	lasting     bool   // a thread with a file of its own: only the session's end is its end
	outcome     string // of the thread's latest turn
	inline      bool   // a row of its own stands among the main agent's: it has no file of its own
	began       int    // ordinal of its first row, of one without an id
}

func (ag *agent) touch(t int64) {
	if ag.first == 0 {
		ag.first, ag.last = t, t
		return
	}
	ag.first, ag.last = min(ag.first, t), max(ag.last, t)
}

// nodeIn is the span that log records of the agent belong to.
func (ag *agent) nodeIn(g *segment) *node {
	if ag.main {
		return &g.root
	}
	return &ag.node
}

// depth is 1 for an agent that the main agent launched.
func (ag *agent) depth() int64 {
	d := int64(1)
	for p := ag.parent; p != nil && !p.main && d < 1000; p = p.parent {
		d++
	}
	return d
}

// agentOf finds the agent whose record it is. A row under an unknown call makes a subagent whose
// launcher may show up later; a record that is no row of the agent itself makes none.
func (s *session) agentOf(rec *translate.Record, t int64) *agent {
	if rec.Agent.Main() {
		return s.main
	}
	own := rec.Response != nil || rec.Chunk != nil || len(rec.Results) > 0 ||
		rec.Task == nil && rec.Denied == nil && len(rec.Unknowns) == 0
	if !own {
		if ag := s.agents[rec.Agent.Parent]; ag != nil && ag.evidence {
			return ag
		}
		if ag := s.agentIDs[rec.Agent.ID]; ag != nil && ag.evidence {
			return ag
		}
		return s.main
	}
	if s.cur == nil {
		s.cur = s.newSegment(t, nil, rec)
		s.start(t)
	}
	ag := s.chain(rec)
	if ag == nil {
		ag = s.subagent(rec.Agent.Parent, rec.Agent.ID)
	}
	if rec.Agent.Sidechain {
		ag.place(t)
	}
	if rec.Agent.Type != "" {
		ag.name(rec.Agent.Type)
	}
	ag.prove()
	ag.start(t)
	return ag
}

// correct takes back what was supposed about agents that are not named.
func (s *session) correct(rec *translate.Record, ag *agent) {
	if rec.Loop == nil {
		return
	}
	if ref := rec.Loop.Swaps; ref != nil && !ag.main {
		other := s.subagent(ref.Parent, ref.ID)
		ag.cur, other.cur = other.cur, ag.cur
		for _, a := range []*agent{ag, other} {
			if a.cur != nil {
				a.cur.agent = a
			}
		}
	}
	if rec.Loop.Relink != "" {
		s.swapLaunchers(rec.Loop.CallID, rec.Loop.Relink)
	}
}

// swapLaunchers exchanges the subagents of two calls, as far as both are still open.
func (s *session) swapLaunchers(x, y string) {
	a, b, cx, cy := s.agents[x], s.agents[y], s.lastCall(x), s.lastCall(y)
	if a == nil || b == nil || a.launcher == nil || b.launcher == nil || a.sent || b.sent || a.launcher != cx || b.launcher != cy {
		return
	}
	s.agents[x], s.agents[y] = b, a
	a.callID, b.callID = y, x
	a.launcher, b.launcher = cy, cx
	cx.child, cy.child = b, a
}

// prove notes evidence that the subagent ran. One that was given up without any is open again.
func (ag *agent) prove() {
	if ag.sent && !ag.evidence {
		ag.sent, ag.ended = false, false
		ag.seg.open++
		ag.list()
	}
	ag.evidence = true
	ag.node.heard(ag.s.a)
}

// list puts a subagent that has something to send into the session's list of those.
func (ag *agent) list() {
	if !ag.main && !ag.listed {
		ag.listed = true
		ag.s.agentList = append(ag.s.agentList, ag)
	}
}

// subagent is the subagent of a launching call or with an id of its own.
func (s *session) subagent(callID, id string) *agent {
	var ag *agent
	if callID != "" {
		ag = s.agents[callID]
	}
	if ag == nil && id != "" {
		ag = s.agentIDs[id]
	}
	if ag == nil {
		ag = &agent{s: s, typ: unnamed, seg: s.cur, listed: true}
		ag.node = node{kind: ids.KindSubagent, seg: s.cur, a: firstOf(id, callID), hush: s.a.muted}
		s.agentList = append(s.agentList, ag)
		ag.seg.open++
		ag.seg.units++
	}
	if id != "" && ag.id == "" {
		ag.id = id
		put(&s.agentIDs, id, ag)
		if !ag.node.have && !ag.evidence {
			ag.node.a = id
		}
	}
	if callID != "" && ag.callID == "" {
		ag.callID = callID
		put(&s.agents, callID, ag)
		if c := s.lastCall(callID); c != nil {
			ag.attach(c)
		}
	}
	return ag
}

// attach ties the subagent to the call that launched it.
func (ag *agent) attach(c *call) {
	if ag.launcher != nil || ag.sent || ag.seg != c.seg && ag.started {
		return // what of it is out already stands in another trace: it stays standalone there
	}
	ag.launcher, ag.parent, c.child = c, c.agent, ag
	ag.s.linked = true
	if ag.seg != c.seg {
		ag.seg.open--
		c.seg.open++
		ag.seg, ag.node.seg = c.seg, c.seg
	}
	if c.agentType != "" {
		ag.name(c.agentType)
	}
	if c.c != nil && c.c.Prompt.Content != "" {
		ag.input = append(ag.input, c.c.Prompt) // its first model call answers the task it was given
	}
	if ag.prev == 0 {
		ag.prev, ag.prevMeasured = c.start, c.measured
	}
	ag.background = ag.background || c.asked
}

func (ag *agent) name(typ string) {
	if ag.typ == unnamed {
		ag.typ = typ
	}
}

// start tells once that the subagent runs.
func (ag *agent) start(t int64) {
	if ag.started || ag.main {
		return
	}
	ag.started = true
	if !ag.again {
		ag.seg.subagents++
	}
	ag.touch(t)
	if !ag.quietTask && !ag.quietStart {
		ag.log("subagent_started", t, translate.SeverityInfo, translate.Opt[bool]{})
	}
}

func (ag *agent) log(action string, t int64, sev translate.Severity, ok translate.Opt[bool]) {
	l := &translate.Log{
		Event: translate.EventOrchestration, Severity: sev, Time: t, Action: action,
		SubagentID: ag.id, SubagentType: ag.typ, Success: ok, Body: action,
	}
	ord := 0
	if action != "subagent_started" {
		ord = 1
	}
	ag.seg.log(l, &ag.node, ag.typ, "agent/"+ag.node.a, ord)
}

// end notes that the subagent's run is over. The first word counts, a failure of its launcher as well.
func (ag *agent) end(failed bool, t int64) {
	if ag.ended {
		ag.failed = ag.failed || failed && !ag.sent
		return
	}
	ag.ended, ag.failed, ag.known = true, failed, true
	ag.node.heard(ag.s.a)
	ag.touch(t)
	if ag.lasting {
		return
	}
	if !ag.background && !ag.detached && ag.launcher != nil && !ag.launcher.done {
		return // its launcher's result is still to come and may tell a failure
	}
	if ag.lags() {
		return
	}
	ag.finish(t)
}

// finish sends the subagent's span. Nothing of it is open afterwards.
func (ag *agent) finish(t int64) {
	if ag.sent || ag.main {
		return
	}
	s := ag.s
	s.complete(ag)
	for _, c := range append([]*call(nil), s.open...) {
		if c.agent == ag && !c.bg && c.result == nil {
			c.close(t)
		}
	}
	ag.sent = true
	ag.seg.open--
	if !ag.evidence {
		s.settle(ag.seg)
		return
	}
	ag.start(t)
	if !ag.quietTask {
		if ag.failed {
			ag.log("subagent_failed", ag.last, translate.SeverityWarn, translate.Some(false))
		} else {
			ok := translate.Opt[bool]{}
			if ag.known {
				ok = translate.Some(true)
			}
			ag.log("subagent_completed", ag.last, translate.SeverityInfo, ok)
		}
	}
	sp := &translate.Span{
		Type: translate.SpanSubagent, Start: ag.first, End: ag.last, Agent: ag.typ, Error: ag.failed,
		Subagent: &translate.SubagentAttrs{ID: ag.id, Depth: ag.depth(), Standalone: ag.launcher == nil, Background: ag.background},
	}
	if ag.failed {
		sp.ErrType = "subagent_failed"
	}
	parent := &ag.seg.root
	if ag.launcher != nil {
		parent = &ag.launcher.node
	}
	ag.seg.touch(ag.last)
	ag.seg.span(sp, &ag.node, parent)
	s.settle(ag.seg)
}

// close ends a subagent with its session.
func (ag *agent) close() {
	if ag.sent {
		return
	}
	if ag.outcome != "" { // its own last word
		ag.failed, ag.known = ag.outcome != translate.OutcomeSuccess, true
	}
	ag.ended = true
	ag.finish(max(ag.first, ag.last))
}

// task is a subagent or a command that the agent program runs as a task.
type task struct {
	id       string
	callID   string
	agent    *agent
	status   string
	statusAt int64
}

// taskEnds reports whether a status is the end of a task, and whether a bad one (formats, task facts).
func taskEnds(status string) (ended, failed bool) {
	switch status {
	case "completed":
		return true, false
	case "failed", "killed", "stopped":
		return true, true
	}
	return false, false
}

// task folds a task record; it reports whether the task is a subagent's.
func (s *session) task(r *row) bool {
	tr := r.rec.Task
	r.g.act()
	k := s.tasks[tr.ID]
	if k == nil {
		k = &task{id: tr.ID}
		put(&s.tasks, tr.ID, k)
	}
	if tr.CallID != "" && k.callID == "" {
		k.callID = tr.CallID
	}
	launcher := s.lastCall(k.callID)
	ofAgent := k.agent != nil || tr.Type == "local_agent" || tr.Type == "" && tr.AgentType != "" ||
		launcher != nil && launcher.launch || s.agentIDs[tr.ID] != nil
	if ofAgent && k.agent == nil {
		k.agent = s.subagent(k.callID, tr.ID)
	}
	if k.agent != nil {
		s.agentTask(r, k)
	}
	for i := range tr.Workflow {
		s.workflowAgent(r, k, &tr.Workflow[i])
	}
	if ended, _ := taskEnds(tr.Status); ended && tr.Kind != translate.TaskStarted {
		at := r.t
		if tr.EndTime != 0 && r.t >= ordinalEnd && tr.EndTime < r.t {
			at = max(tr.EndTime, r.g.first)
		}
		s.taskEnd(k, tr.Status, translate.Opt[int64]{}, at)
	}
	// Progress is an event of its own even for subagents; only the two ends of a run are told as such.
	return ofAgent && tr.Kind != translate.TaskProgress &&
		(tr.Kind == translate.TaskStarted || tr.Status != "")
}

func (s *session) agentTask(r *row, k *task) {
	tr, ag := r.rec.Task, k.agent
	if tr.AgentType != "" {
		ag.name(tr.AgentType)
	}
	if tr.Quiet {
		ag.quietTask = true
	}
	ag.again = ag.again || tr.Again
	if tr.Background.OK && tr.Background.V {
		ag.background = true
	}
	if tr.Kind == translate.TaskStarted {
		ag.prove()
		if ag.prev == 0 {
			ag.prev, ag.prevMeasured = r.t, r.measured
		}
		ag.start(r.t)
	}
}

// taskEnd folds the end of a task, whichever record tells it first.
func (s *session) taskEnd(k *task, status string, exit translate.Opt[int64], t int64) {
	if k.status != "" {
		return
	}
	k.status, k.statusAt = status, t
	_, failed := taskEnds(status)
	if k.agent != nil {
		k.agent.prove()
		k.agent.end(failed, t)
	}
	c := s.lastCall(k.callID)
	if c == nil {
		for _, o := range s.open {
			if o.taskID == k.id {
				c = o
			}
		}
	}
	if c == nil || c.done {
		return
	}
	if exit.OK {
		c.exit = exit
	}
	c.taskStatus, c.taskAt = status, t
	c.node.heard(s.a)
	if c.bg {
		c.decide()
	}
}

// workflowAgent folds the latest word about an agent of a workflow (ruling 47).
func (s *session) workflowAgent(r *row, k *task, w *translate.WorkflowAgent) {
	if w.ID == "" {
		return
	}
	key := k.callID + "/" + w.ID
	ag := s.agents[key]
	if ag == nil {
		ag = &agent{s: s, typ: unnamed, seg: r.g, id: w.ID, callID: key, evidence: true, workflow: true, quietTask: true, listed: true}
		ag.node = node{kind: ids.KindSubagent, seg: r.g, a: k.callID, b: w.ID, hush: s.a.muted}
		if c := s.lastCall(k.callID); c != nil {
			ag.launcher, ag.parent, ag.seg, ag.node.seg = c, c.agent, c.seg, c.seg
		}
		ag.seg.open++
		ag.seg.units++
		put(&s.agents, key, ag)
		s.agentList = append(s.agentList, ag)
	}
	if ag.sent {
		return
	}
	ag.node.heard(s.a)
	if w.Label != "" {
		ag.typ = w.Label
	}
	if !ag.started {
		ag.started = true
		ag.seg.subagents++
	}
	begin := r.t
	if w.Start != 0 && r.t >= ordinalEnd {
		begin = w.Start
	}
	if ag.first == 0 || w.Start != 0 && r.t >= ordinalEnd {
		ag.first = begin
	}
	ag.last = max(ag.first, ag.last)
	if w.Duration > 0 && ag.first >= ordinalEnd {
		ag.last = ag.first + w.Duration
	} else {
		ag.last = max(ag.last, r.t)
	}
	if w.Done {
		ag.ended, ag.failed, ag.known = true, w.Failed, true
		ag.finish(ag.last)
	}
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
