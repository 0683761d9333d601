// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"strconv"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/ids"
)

// talk is the last row of the main agent's conversation. In a format without terminal records it decides
// how a segment ended (telemetry contract, ruling 29).
type talk struct {
	kind talkKind
	t    int64
	resp *response
	err  string
}

type talkKind uint8

const (
	talkNone talkKind = iota
	talkOther
	talkResponse
	talkInterruption
	talkError
)

// transcript reports whether the source is a file that an agent keeps of its session.
func (f *feed) transcript() bool { return f.src.info.Format == translate.FormatClaudeCodeTranscript }

func (k *talk) outcome() (outcome, errType string) {
	switch {
	case k.kind == talkResponse && !k.resp.called:
		return translate.OutcomeSuccess, ""
	case k.kind == talkInterruption:
		return translate.OutcomeCancelled, ""
	case k.kind == talkError:
		return translate.OutcomeError, k.err
	}
	return translate.OutcomeIncomplete, ""
}

// converse notes what a row is in the main agent's conversation. Bookkeeping and what the program filled
// in is nothing.
func (s *session) converse(r *row) {
	if !r.f.transcript() {
		return
	}
	if resp := s.responses[responseOf(r)]; resp != nil {
		resp.noteCalls(r.rec.Response)
	}
	if r.ag.main {
		r.g.talk.note(r.rec, s.responses[responseOf(r)], r.t)
	}
}

// responseOf is what the response of a row is known by, "" for a row without one.
func responseOf(r *row) string {
	if rr := r.rec.Response; rr != nil && !rr.Synthetic {
		return firstOf(rr.ID, r.rec.UUID, r.source)
	}
	return ""
}

// noteCalls notes whether a row has calls that the agent runs.
func (resp *response) noteCalls(rr *translate.Response) {
	for i := range rr.Blocks {
		resp.called = resp.called || rr.Blocks[i].Kind == translate.BlockCall
	}
}

// note takes a row of the main agent for the last one.
func (k *talk) note(rec *translate.Record, resp *response, t int64) {
	switch {
	case resp != nil:
		*k = talk{kind: talkResponse, resp: resp, t: t}
	case rec.Response != nil && rec.Response.APIError:
		*k = talk{kind: talkError, err: apiErrorType(rec.Response), t: t}
	case rec.Interrupt:
		*k = talk{kind: talkInterruption, t: t}
	case len(rec.Results) > 0, rec.Prompt != nil:
		*k = talk{kind: talkOther, t: t}
	}
}

// recall folds what a repeated row of a transcript is in the conversation: a stream may have had it first,
// which does not tell that. A copy that is read later is no news.
func (s *session) recall(f *feed, rec *translate.Record) {
	if !f.transcript() || rec.Time == 0 || len(s.segs) == 0 {
		return
	}
	var resp *response
	if rr := rec.Response; rr != nil && !rr.Synthetic && rr.ID != "" {
		if resp = s.responses[rr.ID]; resp != nil {
			resp.noteCalls(rr)
		}
	}
	if g := s.segmentAt(rec.Time); rec.Agent.Main() && rec.Time >= g.talk.t {
		g.talk.note(rec, resp, rec.Time)
	}
}

func apiErrorType(rr *translate.Response) string {
	if rr.HTTPStatus != 0 {
		return strconv.Itoa(rr.HTTPStatus)
	}
	return firstOf(rr.Error, "api_error")
}

// ends folds the ends of tasks that notifications tell.
func (s *session) ends(r *row) {
	for _, e := range r.rec.Ends {
		id := e.TaskID
		if id == "" {
			id = "call/" + e.CallID
		}
		k := s.tasks[id]
		if k == nil {
			k = &task{id: id}
			put(&s.tasks, id, k)
		}
		k.callID = firstOf(k.callID, e.CallID)
		if k.agent == nil {
			k.agent = s.agentIDs[e.TaskID]
		}
		s.taskEnd(k, e.Status, e.ExitCode, r.t)
	}
}

// queued is a text that waits for the main agent. Only what a person typed has a prompt.
type queued struct {
	prompt *translate.Prompt
	source string // the record that put it there
}

// maxQueued bounds the queue, whose ends a broken file may not tell.
const maxQueued = 1024

// enqueue folds an operation on the queue. What a person types during a turn is a prompt once it goes to
// the model; it neither ends a response nor leaves calls behind (telemetry contract, ruling 32).
func (s *session) enqueue(r *row) {
	if q := r.rec.Queue; q.Op == translate.QueueAdd {
		if len(s.queue) < maxQueued {
			s.queue = append(s.queue, queued{q.Prompt, r.source})
		}
		return
	}
	if len(s.queue) == 0 {
		return
	}
	first := s.queue[0]
	s.queue = s.queue[1:]
	if first.prompt == nil || r.rec.Queue.Op != translate.QueueDeliver {
		return
	}
	r.source = first.source
	s.prompted(r, first.prompt)
}

// chain is the subagent without an id whose row it is, nil for a row that names its agent. Such rows
// follow one another by their uuids (telemetry contract, ruling 39).
func (s *session) chain(rec *translate.Record) *agent {
	ref := rec.Agent
	if !ref.Sidechain || ref.ID != "" || ref.Parent != "" {
		return nil
	}
	ag := s.chains[hash(ref.After)]
	if ag == nil || ref.After == "" {
		ag = &agent{s: s, typ: unnamed, seg: s.cur, listed: true, began: s.ordinal}
		ag.node = node{kind: ids.KindSubagent, seg: s.cur, a: "chain/" + firstOf(rec.UUID, "#"+itoa(s.ordinal)), hush: s.a.muted}
		s.agentList = append(s.agentList, ag)
		ag.seg.open++
		ag.seg.units++
	}
	if rec.UUID != "" {
		if len(s.chains) >= maxOwned {
			clear(s.chains)
		}
		put(&s.chains, hash(rec.UUID), ag)
	}
	return ag
}

// claim gives a launching call that names no agent the only chain that began after it and that no other
// call has.
func (s *session) claim(c *call) {
	if s.agents[c.id] != nil {
		return
	}
	var found *agent
	for _, ag := range s.agentList {
		if ag.began <= c.ordinal || ag.launcher != nil || ag.sent {
			continue
		}
		if found != nil {
			return
		}
		found = ag
	}
	if found != nil {
		found.callID = c.id
		put(&s.agents, c.id, found)
	}
}

// place puts a subagent whose launcher is not known into the segment of its first row.
func (ag *agent) place(t int64) {
	if ag.started || ag.launcher != nil || ag.sent {
		return
	}
	if g := ag.s.segmentAt(t); g != nil && g != ag.seg {
		ag.seg.open--
		ag.seg.units--
		g.open++
		g.units++
		ag.seg, ag.node.seg = g, g
	}
}

// waiting is a row of a subagent whose launcher is not known.
type waiting struct {
	feed *feed
	dated
}

// maxWaitingRows bounds the rows of all sessions that wait for the launchers of their subagents. Beyond it
// none of them waits any longer.
const maxWaitingRows = 1 << 14

// waits reports whether a subagent's row had better wait. Its launching call decides in which trace it
// lies; files of subagents may be read before the part of the main file that has the call.
func (s *session) waits(f *feed, rec *translate.Record) bool {
	ref := rec.Agent
	return f.transcript() && !f.src.info.Live && ref.ID != "" && !s.launched(ref)
}

// wait keeps a row until its subagent's launcher is known or nothing more is on its way.
func (s *session) wait(w waiting) {
	s.waiting = append(s.waiting, w)
	s.caughtUp = false
	if s.a.waiting++; s.a.waiting < maxWaitingRows {
		return
	}
	for _, o := range s.a.order {
		o.letGo(true)
	}
}

// launched reports whether the launching call of a subagent is known, or the subagent was placed without.
func (s *session) launched(ref translate.AgentRef) bool {
	ag := s.agentIDs[ref.ID]
	if ag != nil && (ag.launcher != nil || ag.started) {
		return true
	}
	return s.lastCall(ref.Parent) != nil
}

// letGo folds the rows that need not wait any more, or all of them.
func (s *session) letGo(all bool) {
	if len(s.waiting) == 0 || !all && !s.linked {
		return
	}
	s.linked = false
	rows := s.waiting
	s.waiting = nil
	s.a.waiting -= len(rows)
	var still []waiting
	for _, w := range rows {
		if all || s.launched(w.rec.Agent) {
			s.accept(w.feed, w.rec, w.t, w.measured)
		} else {
			still = append(still, w)
		}
	}
	s.waiting = append(still, s.waiting...)
	s.a.waiting += len(still)
}

// lags reports whether rows of a subagent are to be expected although the call that launched it has its
// result: they stand in a file of their own.
func (ag *agent) lags() bool {
	if ag.inline || ag.id == "" {
		return false
	}
	for _, f := range ag.s.feeds {
		if f.transcript() && !f.src.info.Live {
			return true
		}
	}
	return false
}

// catchUp ends the waiting for rows that may be on their way: nothing more is.
func (s *session) catchUp() {
	s.letGo(true)
	for _, ag := range s.live() {
		if !ag.main && ag.ended && !ag.sent && ag.launcher != nil && ag.launcher.done {
			ag.finish(ag.last)
		}
	}
	for _, g := range s.segs {
		if g.cut && g.open == 0 {
			g.send()
		}
	}
	s.caughtUp = true
}

// sidecar completes a subagent's row with what the file beside its transcript tells.
func (f *feed) sidecar(rec *translate.Record) {
	sc := f.src.sidecar
	if sc == nil || rec.Agent.ID == "" || !rec.Agent.Sidechain {
		return
	}
	rec.Agent.Parent = firstOf(rec.Agent.Parent, sc.CallID)
	rec.Agent.Type = firstOf(rec.Agent.Type, sc.AgentType)
}

// own notes that a record was the session's own. Untimed ones that stood before it take its time.
func (f *feed) own(rec *translate.Record, t int64) {
	if f.owned || rec.Time == 0 || !f.transcript() {
		return
	}
	f.owned = true
	for _, w := range f.takeWaiting() {
		f.fold(w, t, false)
	}
}

// copiedTake reports whether a record takes out of the queue what another session has: it has no id to
// know a copy by, but stands among copies.
func (f *feed) copiedTake(rec *translate.Record) bool {
	return rec.Queue != nil && rec.Queue.Op != translate.QueueAdd && f.copies && !f.owned
}
