// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"container/list"
	"encoding/binary"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

// session is one session id of one agent: everything that its sources tell.
type session struct {
	a        *Assembler
	key      uint64 // see Key
	agent    string
	id       string
	format   translate.Format // of the first source
	where    string           // of the first source
	feeds    []*feed
	segs     []*segment // without the oldest that are done, see prune
	segments int        // how many there were
	cur      *segment
	derived  bool
	lateID   string
	origin   *translate.Link // what the first segment links to
	forked   *segment        // of another session: what was copied last before the first row of its own
	copyOf   copyRef         // the same, where that session is not in memory
	number   uint32          // among the owners of ids
	life     uint16          // how often it was rebuilt in this process
	// transcribed says that a transcript feeds the session.
	transcribed bool
	lively      bool  // a live source feeds it
	dormant     bool  // it was idle for so long that nothing of it is taken to be open, although nothing of it was closed
	touched     bool  // something of it changed since Assembler.Changes
	at          int64 // time of what is folded
	agedOut     bool  // that it is active was too old to be told
	caughtUp    bool  // nothing waits for rows that may be on their way
	caller      *translate.Context

	unresolved int // feeds whose ordinals do not stand for times yet: 0 or 1
	estimated  bool
	latest     int64         // latest time seen
	folded     int64         // when the latest record was folded, by the clock of Assembler.At
	clocked    bool          // a source of it is one that goes on: the clock may close it
	handed     *running      // the process of a released source, for the next one of the session
	sources    []*Source     // that feed or fed it
	moved      int64         // when it got its place
	place      *list.Element // among the sessions by age of their latest record
	broken     bool          // closed by an event: the next row begins a new segment
	closed     bool
	active     bool // counted in agentstream.sessions.active
	counted    bool // counted in agentstream.sessions
	goesOn     bool // its first segments were closed and forgotten: this is no first segment
	rebuilding bool // its sources are being folded again, see Assembler.Rebuilt

	main       *agent
	agents     map[string]*agent // by launching call id
	agentIDs   map[string]*agent
	agentList  []*agent
	calls      map[string][]*call  // calls by id, the latest last: open ones, and those that launched a subagent
	issued     map[uint64]struct{} // calls by response and id
	reissued   map[uint64]int      // how often an id of a loose call came again
	finished   map[uint64]struct{} // ids of calls whose span is out
	open       []*call             // open calls in the order of their first row
	responses  map[string]*response
	retired    []*response         // the complete ones among them, the oldest first
	past       map[uint64]struct{} // ids of complete ones that are not kept
	unnamed    []*response         // complete but for the model, which the end of the run tells
	abandoned  int                 // open calls that a prompt left behind
	early      map[string]*early   // results before their call
	earlyList  []string
	tasks      map[string]*task
	denied     map[string]bool
	chains     map[uint64]*agent // subagents without an id by the rows that they wrote
	waiting    []waiting         // rows of subagents whose launcher is not known
	linked     bool              // some of them may be known since these were looked at last
	queue      []queued          // what waits for the main agent
	ordinal    int               // records so far: the source id of what has no id
	turn       *response         // stands for the latest turn, in formats that tell no single responses
	turns      int               // how many responses stand for turns
	processes  int               // how many processes numbered their items
	highest    translate.Total   // of the thread's running totals
	streamed   translate.Total   // of those that a stream told
	threads    map[string]*rolloutThread
	threadList []*rolloutThread // in the order of their first row
	fork       *fork

	used      map[string]*usedModel   // by label
	lines     []*translate.Diagnostic // before the first record
	litter    map[uint64]uint64       // lines that are no records, by hash: number of the source
	res       *translate.Resource
	cwd       string
	version   string
	user      string
	branch    string
	mcp       []string
	initModel string
	// providerName is what the stream says about who runs its models.
	providerName string

	memory memory
}

// early is a result that came before its call.
type early struct {
	res *translate.Result
	rec *translate.Record
	t   int64
	src string
}

// maxFeeds bounds the sources that a session remembers after their end.
const maxFeeds = 1024

// hash stands for ids in the sets that grow with the input. It is the same in every process, since such
// hashes are stored: each field stands behind its length, so that no two lists of fields run into each other.
func hash(fields ...string) uint64 {
	var room [192]byte // as much as ids take without the heap
	buf := room[:0]
	for _, f := range fields {
		buf = binary.LittleEndian.AppendUint32(buf, uint32(len(f)))
		buf = append(buf, f...)
	}
	return xxhash.Sum64(buf)
}

func newSession(a *Assembler, key sessionKey, src *Source) *session {
	s := &session{
		a: a, key: Key(key.agent, key.id), agent: key.agent, id: key.id, format: src.info.Format, where: src.info.Place, caller: src.caller,
		calls: map[string][]*call{}, issued: map[uint64]struct{}{}, finished: map[uint64]struct{}{},
		responses: map[string]*response{}, past: map[uint64]struct{}{}, used: map[string]*usedModel{},
	}
	s.main = &agent{s: s, main: true, typ: key.agent}
	return s
}

// put writes to a map that is made by it: most sessions never need most of theirs.
func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

func (s *session) resource() *translate.Resource {
	if s.res == nil || s.res.Version != s.version {
		s.res = s.a.resource(s.agent, s.version)
	}
	return s.res
}

// record folds one record whose time is known (or an ordinal that stands for it).
func (s *session) record(f *feed, rec *translate.Record, t int64, measured bool) {
	s.touch()
	if rec.UUID == "" && rec.Hash != 0 {
		if f.copied(rec, t, measured) {
			return
		}
		for _, h := range f.takeHeld() {
			s.admit(f, h.rec, h.t, h.measured)
		}
	}
	s.admit(f, rec, t, measured)
}

// admit accepts a record unless it came before or has to wait.
func (s *session) admit(f *feed, rec *translate.Record, t int64, measured bool) {
	if s.repeats(f, rec) || f.copiedTake(rec) {
		return
	}
	f.sidecar(rec)
	if s.waits(f, rec) {
		s.wait(waiting{f, dated{rec: rec, t: t, measured: measured}})
		return
	}
	s.accept(f, rec, t, measured)
}

// accept folds a record that is no copy.
func (s *session) accept(f *feed, rec *translate.Record, t int64, measured bool) {
	if rec.Rollout != nil && rec.Rollout.Inherited {
		s.inherit(rec.Rollout)
		return
	}
	if rec, t = s.restated(f, rec, t); rec == nil {
		return
	}
	defer func(was bool) { s.a.muted = was }(s.a.muted)
	s.a.muted = rec.Silent
	s.touch()
	s.ordinal++
	s.caughtUp, s.dormant = false, false
	if s.memory.since == 0 {
		s.memory.since = s.a.now
	}
	s.at, s.lively = t, s.lively || f.src.info.Live
	ordinal := s.ordinal // lines that waited for the first record take the next ones
	s.closed = false
	s.folded = s.a.now
	s.clocked = s.clocked || f.src.info.Live || f.src.info.Behind != nil
	s.moved = s.a.now
	s.a.recent.MoveToBack(s.place)
	if s.unresolved == 0 && !f.resolved() {
		s.unresolved = 1
	}
	s.transcribed = s.transcribed || f.transcript()
	s.facts(rec)
	if s.caller == nil {
		s.caller = f.src.caller
	}

	if rec.Rollout != nil && !rec.Agent.Main() {
		s.threadAgent(rec, t)
	}
	ag := s.agentOf(rec, t)
	f.mains = f.mains || ag.main
	ag.inline = ag.inline || rec.Agent.Sidechain && f.mains
	s.correct(rec, ag)
	g := s.segmentFor(rec, ag, t)
	g.root.heard(s.a)
	ag.node.heard(s.a)
	s.latest = max(s.latest, t)
	if rec.PermissionMode != "" {
		g.mode = rec.PermissionMode
	}
	r := &row{f: f, rec: rec, t: t, measured: measured, ag: ag, g: g, source: "record/" + rec.UUID}
	if rec.UUID == "" {
		r.source = "#" + strconv.Itoa(ordinal)
	}
	if ag.main && s.ties(rec) {
		g = nil
	}
	s.payloads(r)
	s.converse(r)
	if g != nil {
		g.touch(t)
	}
	if !ag.main {
		ag.touch(t)
	}
	ag.prev, ag.prevMeasured = t, measured
	if s.unresolved != 0 && f.ordinalsT != 0 {
		s.settleTimes()
	}
	f.own(rec, t)
	s.letGo(false)
}

// row is a record on its way through the session.
type row struct {
	f        *feed
	rec      *translate.Record
	t        int64
	measured bool
	ag       *agent
	g        *segment
	source   string // what its log records are named after
	unit     string // what its response is named after, where that has no id
}

// ties reports whether every result of the record belongs to a call of an earlier segment: such a row
// lies in that segment.
func (s *session) ties(rec *translate.Record) bool {
	for i := range rec.Results {
		if c := s.openCall(rec.Results[i].CallID, nil); c == nil || c.seg == s.cur {
			return false
		}
	}
	return len(rec.Results) > 0
}

// facts takes over what records say about the session as a whole.
func (s *session) facts(rec *translate.Record) {
	if rec.CWD != "" {
		s.cwd = rec.CWD
	}
	if rec.Version != "" {
		s.version = rec.Version
	}
	if rec.User.Content != "" {
		s.user = rec.User.Content
	}
	if rec.Branch.Content != "" {
		s.branch = rec.Branch.Content
	}
	if rec.MCP != nil {
		s.mcp = rec.MCP
	}
	if rec.Start != nil && rec.Start.Model != "" {
		s.initModel = rec.Start.Model
	}
	if rec.Start != nil {
		s.providerName = firstOf(rec.Start.Provider, s.providerName)
	}
}

// segmentFor is the segment a record belongs to, a new one if the record begins it. Only rows of the
// main agent cut, by their own times (rulings 2, 38, 40).
func (s *session) segmentFor(rec *translate.Record, ag *agent, t int64) *segment {
	if s.cur == nil {
		s.cur = s.newSegment(t, nil, rec)
		s.start(t)
		return s.cur
	}
	if !ag.main {
		return ag.seg
	}
	if cuts(rec) {
		if how := s.cutBy(rec, t); how != noCut {
			s.begin(rec, t, how)
		}
		s.cur.terminalAt = 0 // a turn began: no linger runs
		return s.cur
	}
	if rec.Terminal != nil || t < ordinalEnd {
		return s.cur
	}
	for i := len(s.segs) - 1; i > 0; i-- {
		if s.segs[i].first <= t {
			return s.segs[i]
		}
	}
	return s.segs[0]
}

// cuts reports whether a record of the main agent can begin a segment.
func cuts(rec *translate.Record) bool {
	return rec.Start != nil || rec.Prompt != nil || rec.Response != nil || rec.Interrupt || rec.Loop != nil ||
		rec.Chunk != nil && rec.Chunk.Kind == translate.ChunkStart || rec.Turn != nil && rec.Turn.Begin
}

type cut uint8

const (
	noCut  cut = iota
	byGap      // time passed, or the source broke
	bySize     // the segment is too long, too large, or its turn is over
)

func (s *session) cutBy(rec *translate.Record, t int64) cut {
	g := s.cur
	if g.quiet {
		s.broken = false // nothing of the segment was sent: it is the one that goes on
		return noCut
	}
	if rec.Response != nil && rec.Response.Loose && s.main.cur != nil && rec.Response.Local == "" {
		return noCut
	}
	if rec.Response != nil {
		if id := rec.Response.ID; id != "" && (s.responses[id] != nil || s.isPast(id)) {
			return noCut
		}
		if rec.Response.PerTurn && s.turn != nil && !s.broken {
			return noCut
		}
	}
	if s.broken {
		return byGap
	}
	if s.a.cfg.Turn && (rec.Prompt != nil || rec.Turn != nil && rec.Turn.Begin) {
		return bySize
	}
	if t >= ordinalEnd && g.first >= ordinalEnd {
		cfg := &s.a.cfg
		if g.terminalAt != 0 && t > g.terminalAt+int64(cfg.Linger) {
			return byGap
		}
		if t-s.latest > int64(cfg.IdleTimeout) && len(s.open) == 0 {
			return byGap
		}
		if t-g.first > int64(cfg.MaxDuration) {
			return bySize
		}
	}
	if g.units >= s.a.cfg.MaxSpans && (rec.Response != nil || rec.Chunk != nil) {
		return bySize
	}
	return noCut
}

// begin cuts: later rows of the main agent go into a new segment, linked to the one before.
func (s *session) begin(rec *translate.Record, t int64, how cut) {
	prev := s.cur
	if th := s.threads[s.id]; th != nil {
		s.endTurn(th)
	}
	s.complete(s.main)
	s.turn = nil
	prev.cut, prev.sized = true, how == bySize && prev.terminal == nil
	s.broken = false
	s.caller = s.callerOf()
	g := s.newSegment(t, prev, rec)
	g.link, g.before = prev.rootRef(translate.LinkContinues), prev
	s.cur = g
	s.closed = false
	s.settle(prev)
}

func (s *session) callerOf() *translate.Context {
	for _, v := range slices.Backward(s.feeds) {
		if c := v.src.caller; c != nil && !v.ended {
			return c
		}
	}
	return s.caller
}

// settle sends the root of a cut segment once nothing of it is open. Of transcripts there may be files of
// subagents that are not read yet (see catchUp).
func (s *session) settle(g *segment) {
	if g.cut && g.open == 0 && !s.transcribed {
		g.send()
	}
}

func (s *session) start(t int64) {
	if !s.goesOn || s.memory.had == nil { // else that was told
		l := &translate.Log{Event: translate.EventSessionStart, Severity: translate.SeverityInfo, Time: t, Body: "session started"}
		s.cur.log(l, &s.cur.root, s.agent, "session", 0)
	}
	lines := s.lines
	s.lines = nil
	for _, d := range lines {
		s.diagnostic(d, t)
	}
}

// opened notes that a segment's agent acted.
func (s *session) opened(g *segment) {
	if !s.active {
		s.active = true
		g.step(translate.Step{Metric: translate.MetricActive, Value: 1})
	}
}

// payloads folds what the record carries.
func (s *session) payloads(r *row) {
	rec := r.rec
	if rec.Rollout != nil {
		s.rollout(r)
		return
	}
	if rec.Start != nil {
		s.startRecord(r)
	}
	if rec.Turn != nil {
		s.turnRecord(r)
	}
	if rec.Prompt != nil {
		s.prompt(r)
	}
	for i := range rec.Calls {
		s.looseCall(r, &rec.Calls[i])
	}
	for i := range rec.Results {
		s.result(r, &rec.Results[i])
	}
	if rec.Interrupt {
		s.interrupt(r)
	}
	if rec.Response != nil {
		s.response(r)
	}
	if rec.Chunk != nil {
		s.chunk(r)
	}
	if rec.Failure != nil {
		s.failure(r)
	}
	taskOfAgent := false
	if rec.Task != nil {
		taskOfAgent = s.task(r)
	}
	s.ends(r)
	if rec.Queue != nil {
		s.enqueue(r)
	}
	if rec.Compaction {
		s.compaction(r)
	}
	if rec.Retry != nil {
		r.ag.retries++
		r.log(&translate.Log{
			Event: translate.EventWarning, Severity: translate.SeverityWarn, WarningCode: "api_retry",
			ErrType: retryType(rec.Retry), Body: "api request is retried",
		}, 0)
		r.g.step(translate.Step{Metric: translate.MetricRetries, Value: 1})
	}
	if rec.Denied != nil {
		s.deniedRecord(r)
	}
	if rec.RateLimit != nil {
		s.rateLimit(r)
	}
	if rec.Terminal != nil {
		s.terminal(r)
	}
	if rec.Reset != nil {
		s.reset(r)
	}
	for i := range rec.Unknowns {
		if taskOfAgent && rec.Unknowns[i].Reason == translate.UnknownSubtype {
			continue // the task record of a subagent is an orchestration event, told elsewhere
		}
		s.unknown(r, &rec.Unknowns[i], i)
	}
}

func (s *session) compaction(r *row) {
	r.log(&translate.Log{Event: translate.EventCompaction, Severity: translate.SeverityInfo, Body: "conversation compacted"}, 0)
	r.g.step(translate.Step{Metric: translate.MetricCompactions, Value: 1})
}

func retryType(r *translate.Retry) string {
	if r.HTTPStatus != 0 {
		return strconv.Itoa(r.HTTPStatus)
	}
	return r.Error
}

// log emits a record-level log on the span of the record's agent.
func (r *row) log(l *translate.Log, ord int) {
	if l.Time == 0 {
		l.Time = r.t
	}
	r.g.log(l, r.ag.nodeIn(r.g), r.ag.typ, r.source, ord)
}

func (s *session) startRecord(r *row) {
	r.g.started = true
	r.f.running.inits++
	if m := r.rec.Start.PermissionMode; m != "" {
		r.g.mode = m
	}
}

func (s *session) prompt(r *row) {
	s.complete(s.main)
	s.abandon(r.t)
	r.g.interrupted = false
	s.prompted(r, r.rec.Prompt)
}

// prompted folds a prompt that the main agent is given.
func (s *session) prompted(r *row, p *translate.Prompt) {
	s.main.prompted = true
	s.main.input = append(s.main.input, p.Text)
	s.tellPrompt(r, p)
}

// tellPrompt counts a prompt and tells of it.
func (s *session) tellPrompt(r *row, p *translate.Prompt) {
	l := &translate.Log{Event: translate.EventPrompt, Severity: translate.SeverityInfo, Body: "prompt"}
	text(l, p.Text)
	r.log(l, 0)
	r.g.prompts++
	r.g.step(translate.Step{Metric: translate.MetricPrompts, Value: 1})
}

// abandon marks the calls that a prompt leaves behind open.
func (s *session) abandon(t int64) {
	for _, c := range s.open {
		if c.cutAt == 0 && !c.bg {
			c.cutAt = t
			s.abandoned++
		}
	}
}

// text puts a message into a log: its size, and its content where it was captured.
func text(l *translate.Log, t translate.Text) {
	l.MessageBytes = translate.Some(int64(t.Bytes))
	if t.Content != "" {
		l.Body, l.Captured = t.Content, true
	}
	if t.Cut {
		l.Cut = true
		l.OriginalBytes = translate.Some(int64(t.Bytes))
	}
}

// interrupt ends the calls that are open in the foreground (telemetry contract 3.3).
func (s *session) interrupt(r *row) {
	r.g.act()
	s.complete(r.ag)
	if r.ag.main {
		r.g.interrupted = true
	}
	for _, c := range append([]*call(nil), s.open...) {
		if !c.bg && (r.ag.main || c.agent == r.ag) {
			if c.result == nil {
				c.finish(translate.ToolInterrupted, r.t)
			}
		}
	}
}

func (s *session) deniedRecord(r *row) {
	d := r.rec.Denied
	if d.CallID != "" {
		known := s.denied[d.CallID]
		s.deny(r.g, d.CallID)
		if c := s.openCall(d.CallID, nil); c != nil && c.result != nil {
			c.decide()
		}
		if known {
			return
		}
	}
	r.log(&translate.Log{
		Event: translate.EventWarning, Severity: translate.SeverityWarn, WarningCode: "permission_denied",
		Tool: d.Tool, CallID: d.CallID, Body: "permission denied",
	}, 0)
}

// deny counts a denied call once, whatever tells it.
func (s *session) deny(g *segment, id string) {
	if s.denied[id] {
		return
	}
	put(&s.denied, id, true)
	g.denials++
	g.step(translate.Step{Metric: translate.MetricDenials, Value: 1})
}

func (s *session) rateLimit(r *row) {
	rl := r.rec.RateLimit
	if rl.Utilization.OK {
		r.g.step(translate.Step{Metric: translate.MetricRateLimit, Value: rl.Utilization.V, Label: rl.Type})
	}
	if rl.Status == "" || rl.Status == "allowed" {
		return
	}
	r.log(&translate.Log{
		Event: translate.EventWarning, Severity: translate.SeverityWarn, WarningCode: "rate_limit",
		Body: "rate limit status: " + rl.Status,
	}, 0)
}

// failure tells of an error that the agent reports.
func (s *session) failure(r *row) {
	r.g.act()
	l := &translate.Log{
		Event: translate.EventError, Severity: translate.SeverityError, ErrType: firstOf(r.rec.Failure.Type, "error"),
		Body: s.agent + " reported an error",
	}
	text(l, r.rec.Failure.Text)
	r.log(l, 0)
	if r.rec.Failure.Retry {
		s.retried(r)
	}
}

// amend folds how a run was aborted. The end of the run, if one was told, decides (ruling 30); it only
// does not know that nobody aborted a run that was ended from outside.
func (s *session) amend(r *row) {
	t, g := r.rec.Terminal, r.g
	g.act()
	if g.terminal == nil || g.terminal.Cancelled {
		g.terminal = t
		g.reason = firstOf(t.Reason, g.reason)
	}
	g.terminalAt = r.t
}

// terminal folds the record that ends a turn.
func (s *session) terminal(r *row) {
	t, g := r.rec.Terminal, r.g
	if t.Amends {
		s.amend(r)
		return
	}
	late := t.Failed && t.Turns.V <= 0 && s.succeeded()
	g.act()
	if hasTerminal(r.f.src.info.Format) { // elsewhere the usage of the last response may still come
		for _, ag := range s.live() {
			s.complete(ag)
		}
	}
	s.providerName = firstOf(t.Provider, s.providerName)
	s.name(firstOf(t.Model, s.initModel))
	s.endAbandoned(s.main)
	g.terminals++
	for _, id := range t.Denials {
		s.deny(g, id)
	}
	for range t.DenialCount - len(t.Denials) {
		g.denials++
		g.step(translate.Step{Metric: translate.MetricDenials, Value: 1})
	}
	for _, c := range append([]*call(nil), s.open...) {
		if c.result != nil && !c.bg || s.denied[c.id] {
			c.settled = true
			c.decide()
		}
	}
	if t.APIDuration.OK {
		g.apiDuration = translate.Some(g.apiDuration.V + t.APIDuration.V)
	}
	r.f.running.step(r, s)
	if late {
		r.log(&translate.Log{
			Event: translate.EventWarning, Severity: translate.SeverityWarn, WarningCode: "late_error_result",
			ErrType: t.ErrorType, Body: "terminal error record without a turn after a success: " + t.Message,
		}, 0)
	} else {
		g.terminal = t
		if t.Reason != "" {
			g.reason = t.Reason
		}
		if t.Failed {
			l := &translate.Log{Event: translate.EventError, Severity: translate.SeverityError, ErrType: t.ErrorType, Body: t.Message}
			if t.Text.Bytes > 0 {
				l.MessageBytes = translate.Some(int64(t.Text.Bytes))
			}
			if t.Text.Content != "" {
				l.Body, l.Captured, l.Cut = t.Text.Content, true, t.Text.Cut
			}
			r.log(l, 0)
		}
	}
	g.terminalAt = r.t
	for _, c := range s.open {
		if c.bg {
			g.terminalAt = 0 // open background work: the process goes on by itself (ruling 40)
		}
	}
	for _, ag := range s.agentList {
		if ag.background && !ag.ended {
			g.terminalAt = 0
		}
	}
	s.main.turnOver = true
}

// succeeded reports whether the latest terminal record of the session was a success.
func (s *session) succeeded() bool {
	for _, v := range slices.Backward(s.segs) {
		if t := v.terminal; t != nil {
			return !t.Failed
		}
	}
	return false
}

// reset ends the session; the one that follows links to it.
func (s *session) reset(r *row) {
	id := r.rec.Reset.Session
	if id == "" || id == s.id {
		return
	}
	r.f.src.inherit = map[string]*running{id: r.f.running}
	key := sessionKey{s.agent, id}
	next := s.a.sessions[key]
	if next == nil {
		next = s.a.add(key, r.f.src)
		r.f.src.feedsInto(next)
		next.caller = s.callerOf()
	}
	if next.origin == nil && len(next.segs) == 0 && !s.cur.quiet {
		next.origin = s.cur.rootRef(translate.LinkContinues)
	}
}

func (s *session) unknown(r *row, u *translate.Unknown, n int) {
	l := unknownLog(u)
	l.RecordType, l.RecordSubtype = r.rec.Type, r.rec.Subtype
	if u.Reason == translate.UnknownBlock {
		l.RecordType, l.RecordSubtype = u.Type, ""
	}
	r.log(l, n)
}

func unknownLog(u *translate.Unknown) *translate.Log {
	l := &translate.Log{
		Event: translate.EventUnknown, Severity: translate.SeverityDebug, Reason: u.Reason, RecordType: u.Type,
		RawBytes: translate.Some(int64(u.Bytes)), RawKeys: u.Keys, Raw: u.Raw.Content, Cut: u.Raw.Cut, Body: "unknown " + string(u.Reason),
	}
	if u.Raw.Cut {
		l.OriginalBytes = translate.Some(int64(u.Bytes))
	}
	return l
}

// diagnostic folds a line, or a part of one, that is no record.
func (s *session) diagnostic(d *translate.Diagnostic, t int64) {
	s.touch()
	if s.cur == nil {
		if len(s.lines) < maxPending {
			s.lines = append(s.lines, d)
		}
		return
	}
	s.ordinal++
	source := "#" + strconv.Itoa(s.ordinal)
	switch {
	case d.Unknown != nil:
		s.cur.log(timed(unknownLog(d.Unknown), t), &s.cur.root, s.agent, source, 0)
	case d.Skip == translate.SkipNotJSON:
		l := &translate.Log{
			Event: translate.EventWarning, Severity: translate.SeverityWarn, WarningCode: "not_json",
			Body: "line is not json",
		}
		text(l, d.Text)
		s.cur.log(timed(l, t), &s.cur.root, s.agent, source, 0)
	}
}

func timed(l *translate.Log, t int64) *translate.Log {
	l.Time = t
	return l
}

// live lists the main agent and every subagent that has not ended, or is writing a late response.
func (s *session) live() []*agent {
	s.agentList = slices.DeleteFunc(s.agentList, func(ag *agent) bool {
		ag.listed = !ag.sent || ag.cur != nil
		return !ag.listed
	})
	return append([]*agent{s.main}, s.agentList...)
}

// fed reports whether a source that is not at its end feeds the session.
func (s *session) fed() bool {
	for _, f := range s.feeds {
		if !f.ended {
			return true
		}
	}
	return false
}

// settleTimes sends what waited for the times of untimed records.
func (s *session) settleTimes() {
	for _, f := range s.feeds {
		if !f.resolved() {
			return
		}
	}
	if s.unresolved == 0 {
		return
	}
	s.unresolved = 0
	for _, g := range s.segs {
		g.settleTimes()
		g.flush()
	}
}

// resolveSpan is the time from the first to the last of the rows from one ordinal to another. Sources
// need not have been written in the order in which they are read.
func (s *session) resolveSpan(first, last int64) (from, to int64) {
	a, b := s.resolve(first), s.resolve(last)
	from, to = min(a, b), max(a, b)
	for _, f := range s.feeds {
		if n := int64(f.src.n); f.ordinal > 0 && n >= first>>ordinalBits && (n <= last>>ordinalBits || last >= ordinalEnd) {
			from, to = min(from, f.at(1)), max(to, f.at(f.ordinal))
		}
	}
	return from, to
}

// close ends every open unit and sends the roots.
func (s *session) close() {
	if s.closed && len(s.waiting) == 0 || s.cur == nil && len(s.waiting) == 0 {
		return
	}
	s.touch()
	for _, f := range s.feeds {
		f.passDoubts(nil)
	}
	s.letGo(true)
	s.closed = true
	end := s.latest
	for _, th := range s.threadList {
		s.endTurn(th)
	}
	s.at = end
	for _, ag := range s.live() {
		s.complete(ag)
	}
	s.name(s.initModel)
	for _, c := range append([]*call(nil), s.open...) {
		c.settled = true
		c.close(end)
	}
	s.orphans()
	for _, v := range slices.Backward(s.agentList) {
		v.close()
	}
	var last *segment
	for _, g := range s.segs {
		if g.quiet && g.started {
			g.act()
		}
		if g.quiet {
			continue
		}
		if !g.keyed {
			g.fallbackKey()
			g.flush()
		}
		g.send()
		last = g
	}
	if s.active && last != nil {
		s.active = false
		last.step(translate.Step{Metric: translate.MetricActive, Value: -1})
	}
}

// due closes by the clock (see Assembler.Due).
func (s *session) due(now int64) {
	if s.rebuilding {
		return // what it was is not known yet
	}
	if s.caughtUp = s.caughtUp || !s.transcribed && len(s.waiting) == 0; !s.caughtUp && !s.behind() {
		s.catchUp()
	}
	if s.nothingOpen() || !s.clocked {
		s.doze(now)
		return
	}
	if s.behind() {
		s.folded = now
		return
	}
	cfg := &s.a.cfg
	idle := now - s.folded
	if idle > int64(cfg.Linger) {
		for _, ag := range s.live() {
			if ag.cur != nil && ag.cur.stop != "" {
				s.complete(ag)
			}
		}
	}
	if s.cur.terminalAt != 0 && idle > int64(cfg.Linger) || idle > int64(cfg.IdleTimeout) {
		s.breakOff()
	}
}

// behind reports whether records of the session may be on their way.
func (s *session) behind() bool {
	return slices.ContainsFunc(s.feeds, func(f *feed) bool { return !f.ended && f.src.info.Behind != nil && f.src.info.Behind() })
}

// hand keeps what a released source's process has told: the next request may be of the same one. Ended feeds
// matter only for what they may be compared with.
func (s *session) hand(f *feed) {
	s.handed = f.running
	if len(f.hashes) > 0 && len(s.feeds) <= maxFeeds || !f.resolved() {
		return
	}
	s.feeds = slices.DeleteFunc(s.feeds, func(o *feed) bool { return o == f })
}

// pause ends the feeds that tell no times, because only their end says what times they had. What their
// sources still bring begins a new segment: nothing tells how much later it is.
func (s *session) pause() {
	for _, f := range s.feeds {
		if f.ended || f.resolved() {
			continue
		}
		f.end()
		delete(f.src.feeds, s)
		f.src.list = slices.DeleteFunc(f.src.list, func(o *feed) bool { return o == f })
		s.broken = true
	}
	s.settleTimes()
}

// resolvePath joins a tool's relative path to the working directory, forward slashes only.
func resolvePath(p, cwd string) string {
	switch {
	case strings.HasPrefix(p, "/"):
		return path.Clean(p)
	case cwd == "" || p == "":
		return p
	}
	return path.Join(cwd, p)
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

func itoa(n int) string { return strconv.Itoa(n) }
