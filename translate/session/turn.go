// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"github.com/otelcol-agents/otelcol-agents/translate"
)

// Formats that tell a model's work by turns only (Codex exec) get one response a turn, named after the
// turn's ordinal in the session. Its items are numbered anew in each process.

// turnRecord notes where a process or a turn begins.
func (s *session) turnRecord(r *row) {
	if r.rec.Turn.Process {
		r.f.process, r.f.newProcess = 0, true
	}
	if r.rec.Turn.Begin {
		s.beginTurn(r)
	}
}

// beginTurn stands for the prompt that no record tells: what is open of the turn before is left behind,
// and the outcome is that of the turn that begins.
func (s *session) beginTurn(r *row) {
	r.f.newProcess = false
	s.complete(s.main)
	s.turn = nil
	s.abandon(r.t)
	s.main.prompted = true
	r.g.started, r.g.terminal, r.g.interrupted = true, nil, false
}

// turnResponse is the response that stands for the turn of a row. After the end of a turn only usage
// begins another one without a record that says so; other rows are late.
func (s *session) turnResponse(r *row) *response {
	p := r.f.processNumber()
	if r.f.newProcess || s.turn != nil && s.turn.process != p {
		s.beginTurn(r) // a turn is one process's
	}
	if s.turn == nil || s.turn.done && r.rec.Response.Total != nil {
		s.turns++
		r.unit = "turn/" + itoa(s.turns)
		s.turn = s.openResponse(r, "", "")
		s.turn.synthetic, s.turn.process = true, p
	}
	return s.turn
}

// usageOf is the usage of a row: where it tells a thread's running total, what that adds.
func (s *session) usageOf(r *row, rr *translate.Response) *translate.Usage {
	if rr.Total == nil {
		return rr.Usage
	}
	raise(&s.streamed, rr.Total)
	return r.f.thread.advance(rr.Total, &s.highest)
}

// thread is how far a source has told the running total of its thread (ruling 26).
type thread struct {
	known      bool
	base, last translate.Total
}

// advance is what now adds: within a source a decrease is a reset; a source goes on from the highest
// total that was seen in the thread.
func (t *thread) advance(now, highest *translate.Total) *translate.Usage {
	switch {
	case !t.known:
		t.known, t.base = true, *highest
	case fell(now, &t.last):
		t.base = translate.Total{}
	}
	step := *now
	for i, f := range fields(&step) {
		f.V = max(0, f.V-fields(&t.base)[i].V)
	}
	raise(&t.base, now)
	raise(highest, now)
	for i, f := range fields(now) {
		if f.OK {
			*fields(&t.last)[i] = *f
		}
	}
	return usageIn(&step)
}

// usageIn is the usage that a total is the sum of. Both kinds of cache are parts of its input.
func usageIn(t *translate.Total) *translate.Usage {
	u := &translate.Usage{Input: t.Input, CacheRead: t.CacheRead, CacheWrite: t.CacheWrite, Output: t.Output, Reasoning: t.Reasoning}
	u.Input.V = max(0, u.Input.V-u.CacheRead.V-u.CacheWrite.V)
	return u
}

func fields(t *translate.Total) [5]*translate.Opt[int64] {
	return [...]*translate.Opt[int64]{&t.Input, &t.CacheRead, &t.CacheWrite, &t.Output, &t.Reasoning}
}

// fell reports whether a count is below the last one. One that is not told is not below it.
func fell(now, last *translate.Total) bool {
	for i, f := range fields(now) {
		if f.OK && f.V < fields(last)[i].V {
			return true
		}
	}
	return false
}

func raise(t, now *translate.Total) {
	for i, f := range fields(now) {
		if o := fields(t)[i]; f.OK && f.V > o.V {
			*o = *f
		}
	}
}

// processNumber is the number in the session of the process that writes the source.
func (f *feed) processNumber() int {
	if f.process == 0 {
		f.s.processes++
		f.process = f.s.processes
	}
	return f.process
}

// itemID is what a call is known by whose id is only good within its process.
func (f *feed) itemID(id string) string {
	return "item/" + itoa(f.processNumber()) + "/" + id
}

// item folds a call of a turn, with its result once it has ended. What the end says about the call
// replaces what its beginning said. It gives the call when it is new.
func (s *session) item(r *row, resp *response, b *translate.Block) *call {
	c := s.call(r, resp, b.Call)
	known := c
	if c == nil {
		known = s.lastCall(r.f.itemID(b.Call.ID))
	}
	if b.Result == nil || known == nil || known.done || known.result != nil {
		return c
	}
	known.c = b.Call
	s.agentStates(r, known, b.Result)
	s.answer(known, b.Result, r.t)
	return c
}

// agentStates folds what a call says about subagents. They run on when the call has ended, and several
// calls may restate the end of one: the first word counts.
func (s *session) agentStates(r *row, c *call, res *translate.Result) {
	if toolKind(c.c) != translate.OpOrchestration {
		return
	}
	for _, st := range res.Agents {
		ag := s.agentIDs[st.ID]
		switch {
		case ag == nil && c.launch && s.agents[c.id] == nil:
			ag = s.subagent(c.id, st.ID)
		case ag == nil && (c.launch || st.Ended):
			ag = s.subagent("", st.ID)
		case ag == nil:
			continue // somebody asked about it: no evidence of more than its name
		}
		ag.prove()
		ag.detached = true
		if st.Ended {
			ag.quietStart = !ag.started
			ag.start(r.t)
			ag.end(st.Failed, r.t)
		} else {
			ag.start(c.start)
		}
	}
}

// retried counts a request that is repeated while its turn runs, or before the turn's first row.
func (s *session) retried(r *row) {
	r.g.step(translate.Step{Metric: translate.MetricRetries, Value: 1})
	if s.main.cur != nil {
		s.main.cur.retry++
	} else {
		s.main.retries++
	}
}
