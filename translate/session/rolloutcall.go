// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"github.com/otelcol-agents/otelcol-agents/translate"
)

// rolloutCall folds a call as the model made it.
func (s *session) rolloutCall(r *row, th *rolloutThread) {
	tc := &r.rec.Calls[0]
	resp := s.modelItem(r, th)
	if tc.Args.Content != "" && !tc.Args.Cut {
		resp.add(part{Type: "tool_call", ID: tc.ID, Name: tc.Name, Arguments: rawJSON(tc.Args.Content)})
	}
	if r.ag.main {
		r.g.turn.last = lastOther
	}
	if _, known := th.ended[hash(tc.ID)]; known {
		return
	}
	c := s.threadCall(r, th, tc)
	if c == nil {
		return
	}
	c.asks = r.rec.Rollout.Process
	if r.rec.Subtype == "custom_tool_call" && tc.Name == "exec" {
		th.script = c
	}
}

// threadCall opens a call, unless it is open. Where its id comes again after it has ended, it is another.
func (s *session) threadCall(r *row, th *rolloutThread, tc *translate.Call) *call {
	key := th.key(tc.ID)
	if s.openCount(key, nil) > 0 {
		return nil
	}
	issuer := th.issuer
	h := hash("", key)
	if _, again := s.issued[h]; again {
		put(&s.reissued, h, s.reissued[h]+1)
		issuer += "#" + itoa(s.reissued[h])
	}
	s.issued[h] = struct{}{}
	r.g.act()
	c := s.openedCall(r, r.ag, r.g, key, issuer, tc)
	c.cwd = firstOf(th.cwd, c.cwd)
	return c
}

// rolloutOutput folds the output of a call.
func (s *session) rolloutOutput(r *row, th *rolloutThread) {
	res := &r.rec.Results[0]
	if r.ag.main {
		r.g.turn.last = lastOther
	}
	c := s.openCall(th.key(res.CallID), nil)
	if c == nil {
		if _, known := th.ended[hash(res.CallID)]; !known {
			res.CallID = th.key(res.CallID)
			s.result(r, res)
		}
		return
	}
	if c.result != nil {
		return
	}
	process := r.rec.Rollout.Process
	switch {
	case c.asks != "" || c.name == "write_stdin":
		s.polled(th, c, res, process, r.t)
	case process != "" && c.item == nil:
		c.process, c.output = process, res
		th.shells[process] = c
	default:
		s.ended(r, c, res)
	}
}

// polled folds what a running process has said meanwhile. Its end is that of the call that started it.
func (s *session) polled(th *rolloutThread, c *call, res *translate.Result, process string, t int64) {
	if process != "" || res.ExitCode.OK {
		if first := th.shells[c.asks]; first != nil && res.ExitCode.OK {
			delete(th.shells, c.asks)
			if !first.done && first.result == nil {
				end := *res
				end.CallID, end.Text = first.c.ID, first.output.Text
				s.settleOutput(first, &end, t)
			}
		}
		res.ExitCode, res.Outcome, res.Success = translate.Opt[int64]{}, translate.ToolOK, translate.Some(true)
		res.Denied = false
	}
	s.answer(c, res, t)
}

// ended folds the last word about a call.
func (s *session) ended(r *row, c *call, res *translate.Result) {
	states := res.Agents
	switch {
	case c.launch && res.AgentID != "":
		states = []translate.AgentState{{ID: res.AgentID}}
	case !waits(c.name):
		states = nil
	case len(states) > 0 && c.item == nil:
		c.c.Ops = []translate.Op{{Kind: translate.OpOrchestration}}
	}
	s.threadStates(r, c, states)
	res.AgentID, res.Agents = "", nil
	s.settleOutput(c, res, r.t)
}

// waits reports whether a tool tells the states of subagents.
func waits(tool string) bool { return tool == "wait" || tool == "wait_agent" || tool == "close_agent" }

// settleOutput answers a call with its output and with what was told of its end apart from that. A
// failure that either tells is one.
func (s *session) settleOutput(c *call, res *translate.Result, t int64) {
	out := *res
	if it := c.item; it != nil {
		stated := it.Outcome != translate.ToolOK && (it.Outcome != translate.ToolKilled || out.Outcome != translate.ToolInterrupted)
		if stated || out.Outcome == translate.ToolOK {
			out.Outcome, out.Denied = it.Outcome, it.Denied
		}
		if it.ExitCode.OK {
			out.ExitCode = it.ExitCode
		}
		out.Duration, out.Added, out.Removed = it.Duration, it.Added, it.Removed
	}
	out.Success = translate.Some(out.Outcome == translate.ToolOK)
	if c.isCommand() && !out.ExitCode.OK && !out.Denied && out.Outcome != translate.ToolError {
		out.Success = translate.Opt[bool]{} // nothing tells
	}
	s.answer(c, &out, t)
}

// isCommand reports whether the call runs a command.
func (c *call) isCommand() bool {
	switch toolKind(c.c) {
	case translate.OpCommand, translate.OpRead, translate.OpSearch, translate.OpList:
		return true
	}
	return false
}

// rolloutItem folds the end of a call that is told apart from its output. A call that no row told is one
// of a script, or of a version that tells calls by their ends alone.
func (s *session) rolloutItem(r *row, th *rolloutThread) {
	tc, res := &r.rec.Calls[0], &r.rec.Results[0]
	th.items = true
	if th.last == nil {
		th.last = r
	}
	c := s.openCall(th.key(tc.ID), nil)
	if c == nil {
		s.itemCall(r, th, tc, res)
		return
	}
	if c.item != nil || c.result != nil {
		return
	}
	c.item, c.itemAt = res, r.t
	if c.c.MCPServer == "" {
		c.c.MCPServer, c.c.MCPTool = tc.MCPServer, tc.MCPTool
	}
	if toolKind(tc) == translate.OpOrchestration {
		c.c.Ops = tc.Ops
	}
	s.threadStates(r, c, res.Agents)
	if c.process != "" {
		delete(th.shells, c.process)
		s.settleOutput(c, c.output, r.t)
	}
}

// itemCall folds a call that nothing but its end tells.
func (s *session) itemCall(r *row, th *rolloutThread, tc *translate.Call, res *translate.Result) {
	if _, known := s.finished[hash(th.key(tc.ID))]; known {
		return
	}
	delete(s.early, th.key(tc.ID))
	th.ended[hash(tc.ID)] = struct{}{}
	c := s.threadCall(r, th, tc)
	if c == nil {
		return
	}
	if inScript(tc.ID) && th.script != nil && th.script.seg == c.seg {
		c.inside = th.script
	}
	if res.Duration.V > 0 && c.start >= ordinalEnd {
		c.start -= res.Duration.V
	}
	s.threadStates(r, c, res.Agents)
	s.answer(c, res, r.t)
}

// rolloutActivity folds that a subagent started or ended.
func (s *session) rolloutActivity(r *row, th *rolloutThread) {
	res := &r.rec.Results[0]
	s.threadStates(r, s.lastCall(th.key(res.CallID)), res.Agents)
}

// threadStates folds what a call says about threads of subagents. They have files of their own, so that
// their spans wait for the session's end.
func (s *session) threadStates(r *row, c *call, states []translate.AgentState) {
	for _, st := range states {
		ag := s.agentIDs[st.ID]
		launches := c != nil && c.launch && (s.agents[c.id] == nil || s.agents[c.id] == ag)
		switch {
		case launches && (ag == nil || ag.callID == ""):
			ag = s.subagent(c.id, st.ID)
		case ag == nil && !st.Ended && (c == nil || !c.launch):
			continue // somebody asked about it: no evidence of more than its name
		case ag == nil:
			ag = s.subagent("", st.ID)
		}
		ag.lasting, ag.detached = true, true
		ag.prove()
		if c != nil && c.launch {
			ag.start(c.start)
		} else {
			ag.start(r.t)
		}
		if st.Ended {
			ag.end(st.Failed, r.t)
		}
	}
}

// searches counts the rows and events of web searches that are not paired yet. Events have an id; rows
// without one pair with them in order.
type searches struct {
	events, rows int
	n            int // rows without an id that began a search
}

// search is what a web search is known by, "" for what only tells again of one that is known.
func (th *rolloutThread) search(ro *translate.Rollout) string {
	f := &th.found
	row := ro.Shape == translate.ShapeRow
	_, known := th.ended[hash(ro.ID)]
	switch {
	case ro.ID != "" && known:
		if row {
			f.events = max(0, f.events-1) // its event waits for no row without an id
		}
		return ""
	case row && ro.ID == "" && f.events > 0:
		f.events--
		return ""
	case !row && f.rows > 0:
		f.rows--
		th.ended[hash(ro.ID)] = struct{}{}
		return ""
	case row && ro.ID == "":
		f.rows++
		f.n++
		return "search/" + itoa(f.n)
	case !row:
		f.events++
	}
	return ro.ID
}

// rolloutSearch folds a web search, once however many rows tell it.
func (s *session) rolloutSearch(r *row, th *rolloutThread) {
	ro, tc := r.rec.Rollout, &r.rec.Calls[0]
	th.items = true
	switch {
	case ro.Shape == translate.ShapeRow:
		s.modelItem(r, th)
		if r.ag.main {
			r.g.turn.last = lastOther
		}
	case th.last == nil:
		th.last = r
	}
	key := th.search(ro)
	if key == "" {
		return
	}
	th.ended[hash(key)] = struct{}{}
	named := *tc
	named.ID = key // one without an id is known by its place
	if c := s.threadCall(r, th, &named); c != nil {
		c.c = tc
		s.answer(c, &translate.Result{CallID: tc.ID, Outcome: translate.ToolOK, Success: translate.Some(true)}, r.t)
	}
}
