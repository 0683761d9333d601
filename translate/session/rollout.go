// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"strings"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

// rolloutThread is a Codex thread, as the rows of its rollouts tell it. They name a response only after its
// items, or not at all, and tell most things in several shapes: what was told is noted here.
type rolloutThread struct {
	id     string
	issuer string // "" for the main thread: sets ids of calls and responses apart
	model  string
	cwd    string

	high     *translate.Total // highest running total seen
	totals   thread           // of a subagent's thread; the main one's are its source's
	own      translate.Total
	forked   bool
	subagent bool             // its prompts are tasks
	base     *translate.Total // what a fork has inherited
	records  bool             // usage is told by response: running totals only repeat it
	counted  map[uint64]struct{}

	events  bool // its turns are told by events
	items   bool // the turn has items of a model
	used    bool // and usage
	review  bool // it only encloses a review
	last    *row // with the latest item
	said    []told
	asked   translate.Opt[translate.RolloutShape] // in which shape the turn's prompts are told
	compact [translate.RolloutShapes]int
	shells  map[string]*call    // by id of the process that runs on
	script  *call               // that calls other tools
	ended   map[uint64]struct{} // calls that only their ends told
	found   searches
}

// told is a text that was told in one shape and may come again in another.
type told struct {
	id    string
	part  uint64
	shape translate.RolloutShape
	again bool
}

// maxTold bounds the texts that are remembered.
const maxTold = 64

// turnState is how the latest turn of a segment stands.
type turnState struct {
	told    bool // some row of a rollout's main thread was read
	events  bool // its turns are told by events
	end     string
	errType string
	last    lastRow // of the main thread's conversation
}

// lastRow is what a row of the conversation is.
type lastRow uint8

const (
	lastOther    lastRow = iota // prompt, call, result, nothing
	lastResponse                // a message of the agent
	lastError
	lastInterrupt
)

// outcome of a segment of rollouts (ruling 29).
func (t *turnState) outcome() (outcome, errType string) {
	end := t.end
	if !t.events {
		end = map[lastRow]string{
			lastResponse: translate.OutcomeSuccess, lastError: translate.OutcomeError, lastInterrupt: translate.OutcomeCancelled,
		}[t.last]
	}
	switch end {
	case "":
		return translate.OutcomeIncomplete, ""
	case translate.OutcomeError:
		return end, firstOf(t.errType, "error")
	}
	return end, ""
}

// thread is the thread that a row stands in.
func (s *session) thread(ro *translate.Rollout) *rolloutThread {
	id := firstOf(ro.Thread, s.id) // rows that stand before the one that names it
	th := s.threads[id]
	if th == nil {
		th = &rolloutThread{
			id: id, shells: map[string]*call{}, counted: map[uint64]struct{}{}, ended: map[uint64]struct{}{},
		}
		if th.high = &s.highest; id != s.id {
			th.issuer, th.high = id, &th.own
		}
		if s.threads == nil {
			s.threads = map[string]*rolloutThread{}
		}
		s.threads[id] = th
		s.threadList = append(s.threadList, th)
	}
	return th
}

// key is what a call of the thread is known by in the session.
func (th *rolloutThread) key(id string) string {
	if th.issuer == "" || id == "" {
		return id
	}
	return th.issuer + "\x00" + id
}

// inherit notes what a row tells that repeats another thread: only how far that had come.
func (s *session) inherit(ro *translate.Rollout) {
	if ro.Kind == translate.RolloutTotal && ro.Thread == s.id {
		s.thread(ro).base = ro.Total
	}
}

// threadAgent makes the agent of a subagent's thread. No id ties its rows to a segment but that of its
// launcher: without one they belong to the last that began before them (ruling 40).
func (s *session) threadAgent(rec *translate.Record, t int64) {
	if s.agentIDs[rec.Agent.ID] != nil {
		return
	}
	now := s.cur
	for _, g := range s.segs {
		if g.first <= t {
			s.cur = g
		}
	}
	if s.cur == nil {
		s.cur = s.newSegment(t, nil, rec)
		s.start(t)
		now = s.cur
	}
	s.subagent("", rec.Agent.ID)
	s.cur = now
}

// rollout folds a row of a rollout.
func (s *session) rollout(r *row) {
	ro, rec := r.rec.Rollout, r.rec
	th := s.thread(ro)
	if ro.CWD != "" || rec.CWD != "" {
		th.cwd = firstOf(ro.CWD, rec.CWD)
	}
	if !r.ag.main {
		r.ag.lasting, r.ag.detached = true, true
	}
	if step := rolloutSteps[ro.Kind]; step != nil {
		step(s, r, th)
	}
	if rec.Failure != nil {
		s.failure(r)
		if r.ag.main {
			r.g.turn.last, r.g.turn.errType = lastError, rec.Failure.Type
		}
	}
	for i := range rec.Unknowns {
		s.unknown(r, &rec.Unknowns[i], i)
	}
	if r.ag.main {
		r.g.turn.told = true
	}
}

// rolloutSteps is what each kind of row changes.
var rolloutSteps = [...]func(*session, *row, *rolloutThread){
	translate.RolloutMeta:       (*session).rolloutMeta,
	translate.RolloutContext:    (*session).rolloutContext,
	translate.RolloutTurn:       (*session).rolloutTurn,
	translate.RolloutTurnEnd:    (*session).rolloutTurnEnd,
	translate.RolloutTotal:      (*session).rolloutTotal,
	translate.RolloutUsage:      (*session).rolloutUsage,
	translate.RolloutText:       (*session).rolloutText,
	translate.RolloutThought:    (*session).rolloutText,
	translate.RolloutPrompt:     (*session).rolloutPrompt,
	translate.RolloutCall:       (*session).rolloutCall,
	translate.RolloutOutput:     (*session).rolloutOutput,
	translate.RolloutItem:       (*session).rolloutItem,
	translate.RolloutActivity:   (*session).rolloutActivity,
	translate.RolloutSearch:     (*session).rolloutSearch,
	translate.RolloutCompaction: (*session).rolloutCompaction,
	translate.RolloutReview:     (*session).rolloutReview,
}

func (s *session) rolloutMeta(r *row, th *rolloutThread) {
	m := r.rec.Rollout.Meta
	if m == nil {
		return // the thread's own again, or another's that was inherited
	}
	th.forked = m.Forked != ""
	if r.ag.main {
		s.providerName = firstOf(m.Provider, s.providerName)
		if m.Forked != "" && s.fork == nil {
			s.fork = &fork{of: m.Forked, at: r.rec.Rollout.Begun}
		}
		th.subagent = m.Subagent
		return
	}
	th.subagent = true
}

func (s *session) rolloutContext(r *row, th *rolloutThread) {
	th.model = firstOf(r.rec.Rollout.Model, th.model)
}

func (s *session) rolloutTurn(r *row, th *rolloutThread) {
	s.endTurn(th)
	th.events, th.asked = true, translate.Opt[translate.RolloutShape]{}
	if r.ag.main {
		r.g.turn.events, r.g.turn.end, r.g.turn.errType = true, "", ""
		return
	}
	r.ag.outcome = ""
}

func (s *session) rolloutTurnEnd(r *row, th *rolloutThread) {
	t := r.rec.Terminal
	r.g.act()
	end := translate.OutcomeSuccess
	switch {
	case t.Cancelled:
		end = translate.OutcomeCancelled
		s.rolloutInterrupt(r)
	case t.Failed:
		end = translate.OutcomeError
	}
	if th.used || th.review {
		s.completeRollout(r.ag) // else the usage may still come; what ends later is still this turn's
	}
	if !r.ag.main {
		r.ag.outcome = end
		return
	}
	if !s.streamTold(r.t) { // the stream told this one
		r.g.terminals++
	}
	r.g.turn.end, r.g.turn.errType = end, t.ErrorType
	r.g.reason = firstOf(t.Reason, r.g.reason)
	if t.Cancelled {
		r.g.turn.last = lastInterrupt
	} else {
		r.g.turn.events = true
	}
}

// endTurn completes what the turn's model was writing. One that has items and no usage at all gives a
// model call without usage (ruling 26); one that only encloses a review gives none.
func (s *session) endTurn(th *rolloutThread) {
	if th.last != nil {
		r := th.last
		if th.items && !th.used && !th.review {
			r.unit = "turn/" + r.rec.UUID // the row may have begun a response before
			resp := s.rolloutResponse(r, r.t)
			resp.count()
			resp.nameModel(th.model)
		}
		s.completeRollout(r.ag)
	}
	th.items, th.used, th.review, th.last = false, false, false, nil
}

// rolloutInterrupt ends the calls that a person interrupted. A process that runs on may still end by
// itself.
func (s *session) rolloutInterrupt(r *row) {
	s.completeRollout(r.ag)
	for _, c := range append([]*call(nil), s.open...) {
		switch {
		case c.agent != r.ag || c.result != nil:
		case c.item != nil:
			s.answer(c, c.item, c.itemAt)
		case c.process != "":
			if c.interruptedAt == 0 {
				c.interruptedAt = r.t
			}
		default:
			c.finish(translate.ToolInterrupted, r.t)
		}
	}
}

// rolloutResponse is the response that the row's agent is writing. at is the time of the row.
func (s *session) rolloutResponse(r *row, at int64) *response {
	resp := r.ag.cur
	if resp == nil {
		marked := r.rec.Response
		r.rec.Response = &translate.Response{Loose: true}
		resp = s.openResponse(r, "", "")
		r.rec.Response = marked
	}
	resp.node.heard(s.a)
	resp.first, resp.last = min(resp.first, at), max(resp.last, at)
	return resp
}

// completeRollout completes what the agent is writing. Until then its id may still come, and with it the
// key of its segment.
func (s *session) completeRollout(ag *agent) {
	if resp := ag.cur; resp != nil && ag.main && resp.counts {
		resp.keySegment()
	}
	s.complete(ag)
}

// keySegment names a later segment after its first response.
func (resp *response) keySegment() {
	if g := resp.seg; !g.keyed {
		g.setKey(resp.id)
		g.flush()
	}
}

// modelItem notes that the model wrote something, and gives the response that it belongs to.
func (s *session) modelItem(r *row, th *rolloutThread) *response {
	th.items, th.last = true, r
	return s.rolloutResponse(r, r.t)
}

// rolloutTotal counts what a running total adds: one model call.
func (s *session) rolloutTotal(r *row, th *rolloutThread) {
	ro := r.rec.Rollout
	if th.records {
		raise(th.high, ro.Total)
		return
	}
	totals := &th.totals
	if th.issuer == "" {
		totals = &r.f.thread
	}
	if th.forked && !totals.known {
		if th.base == nil && ro.Last != nil {
			th.base = less(ro.Total, ro.Last)
		}
		if th.base != nil {
			totals.known, totals.base, totals.last = true, *th.base, *th.base
		}
	}
	u := totals.advance(ro.Total, th.high)
	if disjoint(u) == (translate.Tokens{}) {
		return
	}
	if r.ag.cur == nil {
		s.rolloutResponse(r, r.t)
	}
	s.rolloutUsed(r, th, u)
}

// less is the total before the latest response.
func less(total, last *translate.Total) *translate.Total {
	t := *total
	for i, f := range fields(&t) {
		f.V = max(0, f.V-fields(last)[i].V)
	}
	return &t
}

// rolloutUsage counts the usage of a response, once.
func (s *session) rolloutUsage(r *row, th *rolloutThread) {
	ro := r.rec.Rollout
	th.records = true
	h := hash(ro.ID)
	if _, known := th.counted[h]; known {
		return
	}
	th.counted[h] = struct{}{}
	th.used = true
	if ro.Total != nil {
		raise(th.high, ro.Total)
		if th.issuer == "" && within(ro.Total, &s.streamed) {
			s.completeRollout(r.ag) // a stream of the same thread has told it
			return
		}
	}
	resp := s.rolloutResponse(r, r.t)
	delete(s.responses, resp.id)
	resp.id, resp.key, resp.thread = ro.ID, ro.ID, th.id
	resp.node.a, resp.node.b = ro.ID, th.issuer
	s.responses[th.key(ro.ID)] = resp
	s.rolloutUsed(r, th, usageIn(ro.Last))
}

func within(t, of *translate.Total) bool {
	return t.Input.V+t.Output.V > 0 && t.Input.V <= of.Input.V && t.Output.V <= of.Output.V
}

func (s *session) rolloutUsed(r *row, th *rolloutThread, u *translate.Usage) {
	th.used = true
	resp := r.ag.cur
	resp.has, resp.finals = true, true
	mergeUsage(&resp.usage, u)
	resp.count()
	resp.nameModel(th.model)
	s.a.count(resp)
	s.completeRollout(r.ag)
}

// rolloutText folds a message of the agent, or reasoning.
func (s *session) rolloutText(r *row, th *rolloutThread) {
	ro, blocks := r.rec.Rollout, r.rec.Response.Blocks
	if ro.Kind == translate.RolloutText && r.ag.main {
		r.g.turn.last = lastResponse
	}
	if len(blocks) > 0 && th.repeats(ro) {
		th.items = true
		return
	}
	resp := s.modelItem(r, th)
	if len(blocks) > 0 {
		s.say(r, resp, &blocks[0])
	}
}

// repeats reports whether a text was told in another shape, and notes it if not.
func (th *rolloutThread) repeats(ro *translate.Rollout) bool {
	var same []*told
	for _, part := range ro.Parts {
		for i := range th.said {
			t := &th.said[i]
			if t.shape == ro.Shape || t.again || ro.ID != "" && t.id != "" && t.id != ro.ID {
				continue
			}
			if t.part == part || ro.ID != "" && t.id == ro.ID {
				t.again = true
				same = append(same, t)
				break
			}
		}
	}
	if len(same) == len(ro.Parts) {
		return true
	}
	for _, t := range same {
		t.again = false
	}
	for _, part := range ro.Parts {
		th.said = append(th.said, told{id: ro.ID, part: part, shape: ro.Shape})
	}
	if n := len(th.said) - maxTold; n > 0 {
		th.said = append(th.said[:0], th.said[n:]...)
	}
	return false
}

// rolloutPrompt folds what a person asked. A subagent's task is no prompt.
func (s *session) rolloutPrompt(r *row, th *rolloutThread) {
	ro := r.rec.Rollout
	if th.subagent {
		if text := r.rec.Prompt.Text; text.Content != "" && len(r.ag.input) == 0 {
			r.ag.input = append(r.ag.input, text)
		}
		return
	}
	if th.asked.OK && th.asked.V != ro.Shape {
		return // the same, told again
	}
	th.asked = translate.Some(ro.Shape)
	if s.streamTold(r.t) {
		s.tellPrompt(r, r.rec.Prompt) // its stream has all else
		return
	}
	if !th.events {
		s.endTurn(th)
	}
	r.g.turn.last = lastOther
	s.prompt(r)
}

// rolloutCompaction tells of a compaction, once however many rows tell it.
func (s *session) rolloutCompaction(r *row, th *rolloutThread) {
	shape := r.rec.Rollout.Shape
	if r.rec.Type == "response_item" {
		return // the summary that the model goes on with
	}
	before := 0
	for _, n := range th.compact {
		before = max(before, n)
	}
	if th.compact[shape]++; th.compact[shape] > before {
		s.compaction(r)
	}
}

func (s *session) rolloutReview(_ *row, th *rolloutThread) { th.review = true }

// fork is where a session was forked from, and when.
type fork struct {
	of string
	at int64
}

// forkLink is the link to the segment that the session was forked from, nil where that was not read.
func (s *session) forkLink() *translate.Link {
	if s.fork == nil {
		return nil
	}
	home := firstOf(s.a.homeOf(s.agent, s.fork.of), s.fork.of)
	origin := s.a.sessions[sessionKey{s.agent, home}]
	if origin == nil {
		return forkRef(s.a.refs(Key(s.agent, home)), s.fork.at)
	}
	var from *segment
	for _, g := range origin.segs {
		if g.keyed && !g.quiet && (from == nil || g.first <= s.fork.at) {
			from = g
		}
	}
	if from == nil {
		return nil
	}
	return from.rootRef(translate.LinkForkedFrom)
}

// inScript reports whether the id is that of a call that a script made.
func inScript(id string) bool { return strings.HasPrefix(id, "exec-") }
