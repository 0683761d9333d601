// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/ids"
)

// response is one response of a model, however many rows it was written in.
type response struct {
	thread string // of a rollout, which its key is good within
	id     string // what spans and logs are named after
	key    string // provider's message id, "" when it has none
	agent  *agent
	seg    *segment
	node   node
	model  string
	stop   string
	finals bool // a message_delta, or a loose row, told the final usage
	loose  bool // its rows do not name it; it counts once it has usage
	counts bool // as a model call
	called bool // it has calls that the agent runs
	said   []said
	usage  translate.Usage
	has    bool // some usage was reported
	start  int64
	first  int64
	last   int64
	timed  bool // start and end were told or seen
	ttft   translate.Opt[int64]
	retry  int64
	done   bool
	// synthetic says that it stands for the responses of a turn, one of the process with that number.
	synthetic bool
	process   int
	sent      bool     // its span is out, but for the name of its model
	source    *running // where it was seen last, and in which turn
	turn      int

	textBytes, thinkBytes int
	text, think           strings.Builder
	textCut, thinkCut     bool
	hasText, hasThink     bool
	unknowns              []*translate.Unknown
	server                []*call
	out                   []part
	outBytes              int  // of out
	cut                   bool // some text or part of it was cut
	in                    []translate.Text
	logs                  int // logs of text sent so far: late rows number on

	reg   counter
	told  translate.Opt[float64] // its cost, as the agent reports it
	cost  float64                // estimate, while priced
	price priced
	iters []*iteration
}

type priced uint8

const (
	priceNone priced = iota // no usage yet
	priceKnown
	priceUnknown
	priceTold // by the agent
)

// iteration is a second model's usage inside a response (ruling 14).
type iteration struct {
	model    string
	usage    translate.Usage
	requests int // that the usage adds up
	reg      counter
	cost     float64
	price    priced
}

// part is one part of a captured output message.
type part struct {
	Type      string          `json:"type"`
	Content   string          `json:"content,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// said is a log record of a text, with the record that it comes from.
type said struct {
	log    *translate.Log
	source string
	silent bool
}

// release lets go of what only completion needed.
func (resp *response) release() {
	resp.text, resp.think = strings.Builder{}, strings.Builder{}
	resp.unknowns, resp.server, resp.out, resp.in = nil, nil, nil, nil
}

// looseResponse is the response that a loose row belongs to: the one that its agent is writing, unless
// that has its usage already and the row brings another.
func (s *session) looseResponse(r *row, rr *translate.Response) *response {
	cur := r.ag.cur
	switch {
	case rr.Local != "":
		if resp := s.responses[rr.Local]; resp != nil {
			return resp
		}
	case cur != nil && (rr.Usage == nil || !cur.has):
		return cur
	}
	resp := s.openResponse(r, "", rr.Local)
	if rr.Local != "" {
		resp.start, resp.timed = r.t, r.measured // it is the request itself
	}
	return resp
}

// openResponse is the response that a row belongs to, a new one if the row begins it. local is what one
// without an id is known by, "" for those that rows without an id are by themselves.
func (s *session) openResponse(r *row, id, local string) *response {
	if id != "" {
		if resp := s.responses[id]; resp != nil {
			return resp
		}
	}
	ag := r.ag
	s.complete(ag)
	s.endAbandoned(ag)
	source := firstOf(id, local, r.unit, r.rec.UUID, r.source)
	resp := &response{
		id: source, key: id, agent: ag, seg: r.g, start: r.t, first: r.t, last: r.t,
		node: node{seg: r.g, kind: ids.KindResponse, a: source, hush: s.a.muted},
	}
	if ag.asked != 0 {
		ag.prev, ag.prevMeasured = ag.asked, r.measured
		ag.asked, ag.turnOver = 0, false // no pause of the user's lies before it
	}
	if ag.prev != 0 && ag.prev <= r.t {
		resp.start = ag.prev
		resp.timed = ag.prevMeasured && r.measured && (!ag.turnOver || ag.prompted)
	}
	if ag.main && ag.turnOver && !ag.prompted && ag.prev < r.g.first {
		// The pause before a turn that no prompt record begins is the user's (ruling 41).
		resp.start = r.t
	}
	ag.turnOver, ag.prompted = false, false
	resp.retry, ag.retries = ag.retries, 0
	resp.in, ag.input = ag.input, nil
	s.responses[source] = resp
	ag.cur = resp
	ag.list()
	r.g.act()
	r.g.open++
	if resp.loose = r.rec.Response != nil && r.rec.Response.Loose; !resp.loose {
		resp.count()
	}
	if !r.g.keyed && ag.main && r.rec.Rollout == nil {
		r.g.setKey(keyOf(id, r))
		r.g.flush()
	}
	return resp
}

// count makes it a model call.
func (resp *response) count() {
	if resp.counts {
		return
	}
	resp.counts = true
	g := resp.seg
	g.units++
	g.modelCalls++
	switch {
	case !resp.agent.main:
		g.subagentCalls++
	case resp.model != "":
		g.oneModel(resp.model)
	}
}

func keyOf(id string, r *row) string {
	if id != "" {
		return id
	}
	return firstOf(r.g.firstUUID, "#"+itoa(r.g.n))
}

// response folds a row of a response.
func (s *session) response(r *row) {
	rr := r.rec.Response
	if rr.Synthetic {
		if rr.APIError {
			r.g.act()
			r.log(&translate.Log{
				Event: translate.EventError, Severity: translate.SeverityError, ErrType: firstOf(rr.Error, "api_error"),
				Body: "api error: " + firstOf(rr.Error, "unknown"),
			}, 0)
		}
		return
	}
	var resp *response
	switch {
	case rr.PerTurn:
		resp = s.turnResponse(r)
	case rr.Loose:
		resp = s.looseResponse(r, rr)
	case s.isPast(rr.ID):
		return
	default:
		resp = s.openResponse(r, rr.ID, "")
	}
	if resp.agent.main {
		resp.seg.interrupted = false
	}
	resp.row(r, rr)
	for i := range rr.Blocks {
		s.block(r, resp, &rr.Blocks[i])
	}
	switch {
	case resp.synthetic:
		resp.events(r.t) // a message of a turn: its text is told on its own
	case resp.done:
		resp.late(r)
	}
}

// late tells on its own what a row says that comes after its response is complete: its texts, or, where
// usage makes a model call of it only now, all of it.
func (resp *response) late(r *row) {
	if !resp.loose {
		resp.events(r.t)
		return
	}
	if resp.counts && !resp.sent {
		resp.done = false
		resp.seg.open++
		resp.complete()
	}
	resp.speak()
}

// row merges what a row says about the response as a whole: per usage field the maximum.
func (resp *response) row(r *row, rr *translate.Response) {
	resp.node.heard(r.g.s.a)
	resp.first, resp.last = min(resp.first, r.t), max(resp.last, r.t)
	resp.start = min(resp.start, resp.first)
	resp.timed = resp.timed && r.measured
	resp.nameModel(rr.Model)
	if rr.StopReason != "" {
		resp.stop = rr.StopReason
	}
	if u := r.g.s.usageOf(r, rr); u != nil {
		resp.has = true
		resp.finals = resp.finals || rr.Total != nil
		mergeUsage(&resp.usage, u)
	}
	if rr.Cost.OK && rr.Cost.V <= maxCost {
		resp.told = translate.Some(max(resp.told.V, rr.Cost.V))
	}
	resp.seen(r.f.running)
	if !resp.loose {
		r.g.s.a.count(resp)
		return
	}
	if rr.Usage != nil {
		resp.finals = true
		resp.count()
	}
	resp.nameModel(r.g.s.initModel)
	if resp.model != "" {
		r.g.s.a.count(resp)
	}
}

// nameModel notes which model wrote it, as far as that is not known.
func (resp *response) nameModel(model string) {
	if model == "" || resp.model != "" {
		return
	}
	resp.model = model
	if resp.agent.main && resp.counts {
		resp.seg.oneModel(model)
	}
}

// maxUnnamed bounds the responses that wait for the name of their model.
const maxUnnamed = 10000

// name sends what waited for the name of its model, "" when nothing will tell it.
func (s *session) name(model string) {
	waiting := s.unnamed
	s.unnamed = nil
	for _, resp := range waiting {
		resp.nameModel(model)
		s.a.count(resp)
		resp.send()
	}
}

// oneModel notes a model of the main agent.
func (g *segment) oneModel(model string) {
	if g.models == 0 {
		g.model, g.models = model, 1
	} else if g.models == 1 && g.model != model {
		g.models = 2
	}
}

func (s *session) block(r *row, resp *response, b *translate.Block) {
	if resp.loose {
		s.say(r, resp, b)
		return
	}
	switch b.Kind {
	case translate.BlockText:
		resp.textBytes += b.Text.Bytes
		resp.hasText = resp.hasText || b.Text.Bytes > 0
		resp.textCut = resp.textCut || b.Text.Cut
		s.keep(&resp.text, b.Text.Content, &resp.textCut)
		if b.Text.Content != "" && s.a.cfg.Capture.Responses {
			resp.add(part{Type: "text", Content: b.Text.Content})
		}
	case translate.BlockThinking:
		resp.thinkBytes += b.Text.Bytes
		resp.hasThink = resp.hasThink || b.Text.Bytes > 0
		resp.thinkCut = resp.thinkCut || b.Text.Cut
		s.keep(&resp.think, b.Text.Content, &resp.thinkCut)
		if b.Text.Content != "" && s.a.cfg.Capture.Reasoning {
			resp.add(part{Type: "reasoning", Content: b.Text.Content})
		}
	case translate.BlockCall:
		var c *call
		if resp.synthetic {
			c = s.item(r, resp, b)
		} else {
			c = s.call(r, resp, b.Call)
		}
		if c != nil && b.Call.Args.Content != "" && !b.Call.Args.Cut {
			resp.add(part{Type: "tool_call", ID: b.Call.ID, Name: b.Call.Name, Arguments: rawJSON(b.Call.Args.Content)})
		}
	case translate.BlockServerCall:
		if c := s.call(r, resp, b.Call); c != nil {
			c.server = true
			resp.server = append(resp.server, c)
		}
	case translate.BlockServerResult:
		s.result(r, b.Result)
	case translate.BlockUnknown:
		resp.unknowns = append(resp.unknowns, b.Unknown)
	}
}

// add puts a part into the captured output. A turn has no end of parts, so that what stands for one keeps
// no more than a value may have.
func (resp *response) add(p part) {
	resp.outBytes += len(p.Content) + len(p.Arguments)
	if resp.synthetic && resp.outBytes > resp.agent.s.a.cfg.MaxContent {
		resp.cut = true
		return
	}
	resp.out = append(resp.out, p)
}

// say tells of a text that is whole by itself. Its log waits until it is known whether the response is a
// model call.
func (s *session) say(r *row, resp *response, b *translate.Block) {
	l := &translate.Log{Event: translate.EventAgent, Severity: translate.SeverityInfo, Time: r.t, Body: "assistant message"}
	p, capture := part{Type: "text", Content: b.Text.Content}, s.a.cfg.Capture.Responses
	if b.Kind == translate.BlockThinking {
		l.Event, l.Body = translate.EventReasoning, "reasoning"
		p.Type, capture = "reasoning", s.a.cfg.Capture.Reasoning
	}
	text(l, b.Text)
	resp.textCut = resp.textCut || b.Text.Cut
	if p.Content != "" && capture {
		resp.out = append(resp.out, p)
	}
	resp.said = append(resp.said, said{l, r.source, s.a.muted})
	if resp.counts {
		resp.speak()
	}
}

// speak sends what it said: on its own span, if it has one.
func (resp *response) speak() {
	g, n := resp.seg, &resp.node
	if !resp.counts {
		n = resp.agent.nodeIn(g)
	}
	a := g.s.a
	defer func(was bool) { a.muted = was }(a.muted)
	for _, s := range resp.said {
		a.muted = s.silent
		g.log(s.log, n, resp.agent.typ, s.source, 0)
	}
	resp.said = nil
}

// rawJSON keeps redacted arguments as JSON, or as a string where redaction left no valid JSON.
func rawJSON(s string) json.RawMessage {
	if json.Valid([]byte(s)) {
		return json.RawMessage(s)
	}
	q, _ := json.Marshal(s)
	return q
}

// keep joins captured text up to the limit of a value.
func (s *session) keep(b *strings.Builder, text string, cut *bool) {
	room := s.a.cfg.MaxContent - b.Len()
	if len(text) > room {
		*cut = true
		room = max(room, 0)
		for room > 0 && text[room]&0xC0 == 0x80 {
			room-- // not within a character
		}
		text = text[:room]
	}
	b.WriteString(text)
}

// chunk folds a partial message: only the beginning, the final usage and the end say something new.
func (s *session) chunk(r *row) {
	c := r.rec.Chunk
	ag := r.ag
	switch c.Kind {
	case translate.ChunkStart:
		if c.Response.ID == "" || c.Response.Synthetic || s.isPast(c.Response.ID) {
			return
		}
		resp := s.openResponse(r, c.Response.ID, "")
		resp.row(r, &c.Response)
		if c.TTFT.OK && !resp.ttft.OK {
			resp.ttft = c.TTFT
		}
	case translate.ChunkDelta:
		resp := ag.cur
		if c.Response.ID != "" {
			resp = s.responses[c.Response.ID]
		}
		if resp == nil {
			return
		}
		if c.Response.Usage != nil && c.Response.Usage.Output.OK {
			resp.finals = true
		}
		resp.row(r, &c.Response)
	case translate.ChunkStop:
		s.complete(ag)
	case translate.ChunkNext:
		s.complete(ag)
		ag.asked = r.t
	default:
		if ag.cur != nil && r.measured {
			ag.cur.last = max(ag.cur.last, r.t)
		}
	}
}

// complete sends the response that the agent was writing, if any.
func (s *session) complete(ag *agent) {
	resp := ag.cur
	if resp == nil {
		return
	}
	ag.cur = nil
	resp.complete()
}

func (resp *response) complete() {
	if resp.done {
		return
	}
	resp.done = true
	s, g := resp.agent.s, resp.seg
	resp.speak()
	switch {
	case !resp.counts:
		resp.release()
		g.open--
		s.settle(g)
		s.retire(resp)
	case resp.loose && resp.model == "" && len(s.unnamed) < maxUnnamed:
		resp.sent = true
		s.unnamed = append(s.unnamed, resp)
	default:
		if resp.loose && resp.model == "" {
			s.a.count(resp)
		}
		resp.sent = true
		resp.send()
	}
}

// send sends the span of a complete response and what belongs to it.
func (resp *response) send() {
	s, g := resp.agent.s, resp.seg
	resp.events(resp.last)
	for _, c := range resp.server {
		if !c.done {
			c.close(resp.last)
		}
	}
	chat := &translate.ChatAttrs{
		Provider: s.provider(resp.model), Model: resp.model, ResponseID: resp.key, TTFT: resp.ttft,
		Retries: resp.retry, UsageIncomplete: !resp.final(), Synthetic: resp.synthetic,
	}
	if resp.stop != "" {
		chat.FinishReasons = []string{resp.stop}
	}
	if sp := resp.usage.Speed; sp != "" && sp != "standard" {
		chat.Speed = sp
	}
	if resp.has {
		chat.Usage = chatUsage(&resp.usage)
	}
	switch resp.price {
	case priceTold:
		chat.Cost, chat.CostSource = translate.Some(resp.cost), "reported"
	case priceKnown:
		chat.Cost, chat.CostSource = translate.Some(resp.cost), "estimated"
	}
	sp := &translate.Span{Type: translate.SpanChat, Start: resp.start, End: resp.last, Agent: resp.agent.typ, Chat: chat}
	if s.a.cfg.Capture != (translate.Capture{}) {
		chat.Output = messages("assistant", resp.out, resp.stop)
		var in []part
		for _, t := range resp.in {
			if t.Content != "" {
				in = append(in, part{Type: "text", Content: t.Content})
			}
			sp.Cut = sp.Cut || t.Cut
		}
		chat.Input = messages("user", in, "")
		sp.Cut = sp.Cut || resp.cut
	}
	g.span(sp, &resp.node, resp.agent.nodeIn(g))
	if !resp.final() {
		g.acc.incomplete++
	}
	label := s.a.label(resp.model)
	if resp.timed && resp.start >= ordinalEnd && !resp.synthetic { // the time of a turn is not a model's
		g.stepOf(&resp.node, translate.Step{
			Metric: translate.MetricInferenceDuration, Value: seconds(resp.last - resp.start), Model: label,
			Provider: chat.Provider,
		})
	}
	if resp.has {
		g.stepOf(&resp.node, translate.Step{
			Metric: translate.MetricResponseTokens, Tokens: disjoint(&resp.usage), Model: label,
			Provider: chat.Provider, Subagent: !resp.agent.main,
		})
	}
	for n, it := range resp.iters {
		resp.iteration(n, it)
	}
	resp.release()
	g.open--
	s.settle(g)
	s.retire(resp)
}

// keptResponses is how many complete responses a session keeps for what may still come of them. Rows of
// one response stand close together: of an older one only its id is remembered, and a row that names it
// is taken for a copy.
const keptResponses = 4096

func (s *session) retire(resp *response) {
	s.retired = append(s.retired, resp)
	if len(s.retired) <= keptResponses {
		return
	}
	old := s.retired[0]
	s.retired[0] = nil // the array lives on
	s.retired = s.retired[1:]
	if s.responses[old.id] == old {
		delete(s.responses, old.id)
		s.past[hash(old.id)] = struct{}{}
	}
}

// isPast reports whether a response was complete so long ago that only its id is known.
func (s *session) isPast(id string) bool {
	_, past := s.past[hash(id)]
	return past && id != ""
}

// iteration sends the span of a second model's usage.
func (resp *response) iteration(n int, it *iteration) {
	chat := &translate.ChatAttrs{Provider: resp.agent.s.provider(it.model), Model: it.model, Usage: chatUsage(&it.usage), Synthetic: true}
	if it.price == priceKnown {
		chat.Cost, chat.CostSource = translate.Some(it.cost), "estimated"
	}
	sp := &translate.Span{Type: translate.SpanChat, Start: resp.start, End: resp.last, Agent: resp.agent.typ, Chat: chat}
	second := &node{seg: resp.seg, kind: ids.KindResponse, a: resp.id, b: "iteration/" + itoa(n) + "/" + it.model, hush: resp.node.hush}
	resp.seg.span(sp, second, resp.agent.nodeIn(resp.seg))
}

// final reports whether the usage is known to be the last word (rulings 9, 23).
func (resp *response) final() bool { return resp.stop != "" || resp.finals }

// events sends the log records of the texts that came since the last time.
func (resp *response) events(t int64) {
	g := resp.seg
	if resp.hasThink {
		l := &translate.Log{Event: translate.EventReasoning, Severity: translate.SeverityInfo, Time: t, Body: "reasoning"}
		text(l, translate.Text{Bytes: resp.thinkBytes, Content: resp.think.String(), Cut: resp.thinkCut})
		g.log(l, &resp.node, resp.agent.typ, "response/"+resp.id, resp.logs)
	}
	if resp.hasText {
		l := &translate.Log{Event: translate.EventAgent, Severity: translate.SeverityInfo, Time: t, Body: "assistant message"}
		text(l, translate.Text{Bytes: resp.textBytes, Content: resp.text.String(), Cut: resp.textCut})
		g.log(l, &resp.node, resp.agent.typ, "response/"+resp.id, resp.logs)
	}
	for i, u := range resp.unknowns {
		g.log(timed(unknownLog(u), t), &resp.node, resp.agent.typ, "response/"+resp.id, resp.logs<<20+i)
	}
	resp.logs++
	resp.hasText, resp.hasThink, resp.textBytes, resp.thinkBytes, resp.unknowns = false, false, 0, 0, nil
	resp.cut = resp.cut || resp.textCut || resp.thinkCut
	resp.textCut, resp.thinkCut = false, false
	resp.text, resp.think = strings.Builder{}, strings.Builder{}
}

// messages renders captured parts as the JSON of one message.
func messages(role string, parts []part, finish string) string {
	if len(parts) == 0 {
		return ""
	}
	m := []struct {
		Role   string `json:"role"`
		Parts  []part `json:"parts"`
		Finish string `json:"finish_reason,omitempty"`
	}{{role, parts, finish}}
	b, err := json.Marshal(m)
	if err != nil {
		return ""
	}
	return string(b)
}

func chatUsage(u *translate.Usage) translate.ChatUsage {
	out := translate.ChatUsage{Output: u.Output, CacheRead: u.CacheRead, Reasoning: u.Reasoning}
	if w := cacheWrite(u); u.CacheWrite.OK || u.CacheWrite5m.OK || u.CacheWrite1h.OK {
		out.CacheWrite = translate.Some(w)
	}
	if u.Input.OK || u.CacheRead.OK || out.CacheWrite.OK {
		out.Input = translate.Some(u.Input.V + u.CacheRead.V + out.CacheWrite.V)
	}
	return out
}

// cacheWrite is the aggregate, or the split where that says more (formats: accounting rule 10).
func cacheWrite(u *translate.Usage) int64 {
	return min(max(u.CacheWrite.V, min(u.CacheWrite5m.V, maxTokens)+min(u.CacheWrite1h.V, maxTokens)), maxTokens)
}

// disjoint is usage in the classes that add up to what is billed.
func disjoint(u *translate.Usage) translate.Tokens {
	return translate.Tokens{
		Input: min(u.Input.V, maxTokens), CacheRead: min(u.CacheRead.V, maxTokens), CacheWrite: cacheWrite(u),
		Output: min(u.Output.V, maxTokens), Reasoning: min(u.Reasoning.V, maxTokens),
	}
}

// addUsage adds counts; into takes the speed of u.
func addUsage(into, u *translate.Usage) {
	joinUsage(into, u, func(a, b int64) int64 { return a + b })
}

// joinUsage joins every count that u tells with that of into, and takes the speed of u.
func joinUsage(into, u *translate.Usage, join func(a, b int64) int64) {
	for _, f := range []struct{ a, b *translate.Opt[int64] }{
		{&into.Input, &u.Input},
		{&into.CacheRead, &u.CacheRead},
		{&into.CacheWrite, &u.CacheWrite},
		{&into.CacheWrite5m, &u.CacheWrite5m},
		{&into.CacheWrite1h, &u.CacheWrite1h},
		{&into.Output, &u.Output},
		{&into.Reasoning, &u.Reasoning},
		{&into.WebSearches, &u.WebSearches},
	} {
		if f.b.OK {
			*f.a = translate.Some(min(join(f.a.V, min(f.b.V, maxTokens)), maxTokens))
		}
	}
	if u.Speed != "" {
		into.Speed = u.Speed
	}
}

// mergeUsage takes the maximum of every field: rows may repeat usage or let it grow.
func mergeUsage(into, u *translate.Usage) {
	joinUsage(into, u, func(a, b int64) int64 { return max(a, b) })
	if len(u.Iterations) > 0 {
		into.Iterations = slices.Clone(u.Iterations)
	}
}
