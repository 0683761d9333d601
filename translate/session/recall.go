// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/ids"
)

// A session may leave memory and come back (design, recovery): its sources are folded again from their
// beginnings, so that it becomes what it was. What it sends meanwhile is compared with what is known to have
// left, whatever the order in which the sources are read now: spans and logs by their ids, sums by how much of
// them was counted. Of the clock's decisions only closes are taken again: whether it was closed (State.Closed),
// and, where it went on, after which record (State.Breaks).

// memory is what a session knows of its earlier lives, and collects for its later ones.
type memory struct {
	had    *State   // nil = nothing is known of an earlier life
	reborn bool     // it was rebuilt: it has its own ids and registers once more
	known  []uint64 // sorted keys of what left in earlier lives
	left   []uint64 // keys of what left since Assembler.Changes
	base   sums     // counted in earlier lives
	sums   sums     // counted, earlier lives included as far as they have been rebuilt
	active int      // whether it is counted as active: what has left of it
	net    int      // what of it has been folded
	since  int64    // see State.Since
	breaks []Break  // see State.Breaks
}

// Key is what a session is known by outside of memory.
func Key(agent, id string) uint64 { return hash(agent, id) }

// remembers reports whether sessions come back.
func (a *Assembler) remembers() bool { return a.cfg.Recall != nil }

// recall asks for what is known of a session that is not in memory, what has not been told yet included.
func (a *Assembler) recall(key uint64) *Memory {
	if !a.remembers() {
		return nil
	}
	m := a.cfg.Recall(key)
	c := a.gone[key]
	if c == nil {
		return m
	}
	out := Memory{}
	if m != nil {
		out = *m
	}
	out.State, out.Left = c.State, slices.Concat(out.Left, c.Left)
	return &out
}

// remember takes over what is known of the session.
func (s *session) remember(m *Memory) {
	if m == nil {
		return
	}
	k := &s.memory
	k.had, k.reborn = &m.State, m.Rebuild || m.From != nil
	if k.known = m.Left; !slices.IsSorted(k.known) {
		k.known = slices.Clone(k.known)
		slices.Sort(k.known)
	}
	k.since, k.breaks = m.Since, slices.Clip(m.Breaks)
	if m.Format != "" {
		s.format = m.Format // of its first source, whichever is read first now
	}
	for _, c := range m.Counted {
		*k.base.at(c.Series) = c
	}
	k.active = int(k.base.find(seriesOf(&translate.Step{Metric: translate.MetricActive, Agent: s.agent})).Value)
	if m.Rebuild {
		s.rebuilding = true
		s.a.rebuilt++
		return
	}
	// It goes on. What came before does not come again, or is known by its ids: all steps are new.
	from := &m.State
	if m.From != nil {
		from = m.From
	}
	k.had, k.net = from, k.active
	s.lively, s.version, s.initModel, s.providerName = m.Live, from.Version, from.Model, from.Provider
	for _, c := range from.Counted {
		*k.sums.at(c.Series) = c
	}
	for _, u := range from.Used {
		s.used[u.Label] = &usedModel{s: u.Responses, t: u.Totals, out: u.Out}
	}
	s.handed = from.Process.running()
	if from.quiet() {
		return // nothing of it was sent: its next row is of its first segment still
	}
	s.goesOn, s.segments = true, from.Segments
	s.active = k.active > 0
	s.counted = k.base.find(seriesOf(&translate.Step{Metric: translate.MetricSessions, Agent: s.agent})).N > 0
	src := &Source{info: SourceInfo{Agent: s.agent, Live: true}, feeds: map[*session]*feed{}}
	for _, h := range from.Hashes {
		s.feeds = append(s.feeds, &feed{src: src, s: s, running: &running{}, hashes: h, ended: true, fresh: true})
	}
}

// stored is what is remembered of a process, nil where it told no totals.
func (p *running) stored() *ProcessTotals {
	if p == nil || !p.known {
		return nil
	}
	t := &ProcessTotals{Cost: p.cost, Index: p.index}
	for label, tokens := range p.tokens {
		t.Models = append(t.Models, ModelTotal{Label: label, Tokens: tokens, Cost: p.costs[label]})
	}
	slices.SortFunc(t.Models, func(x, y ModelTotal) int { return cmp.Compare(x.Label, y.Label) })
	return t
}

// running is the process that told the totals.
func (t *ProcessTotals) running() *running {
	if t == nil {
		return nil
	}
	p := &running{known: true, cost: t.Cost, index: t.Index}
	if len(t.Models) > 0 {
		p.tokens, p.costs = map[string]translate.Tokens{}, map[string]float64{}
	}
	for _, m := range t.Models {
		p.tokens[m.Label], p.costs[m.Label] = m.Tokens, m.Cost
	}
	return p
}

// quiet reports whether nothing of the session was sent.
func (st *State) quiet() bool {
	return st.Segments == 0 || st.Segments == len(st.Refs) && !slices.ContainsFunc(st.Refs, func(r SegmentRef) bool { return !r.Quiet })
}

// last is the link to the segment that the session goes on from.
func (k *memory) last() *translate.Link {
	if k.had == nil || len(k.had.Refs) == 0 {
		return nil
	}
	return k.had.Refs[len(k.had.Refs)-1].link(translate.LinkContinues)
}

// link is the link to the segment, nil where nothing of it was sent.
func (r *SegmentRef) link(kind translate.LinkKind) *translate.Link {
	if r == nil || r.Quiet || r.Trace.IsZero() {
		return nil
	}
	return &translate.Link{TraceID: r.Trace, SpanID: r.Root, Kind: kind}
}

// forkRef is the link to the latest segment that had begun by then, else to the first.
func forkRef(refs []SegmentRef, at int64) *translate.Link {
	var found *translate.Link
	for i := range refs {
		if l := refs[i].link(translate.LinkForkedFrom); l != nil && (found == nil || refs[i].First <= at) {
			found = l
		}
	}
	return found
}

// refs are the segments of a session that is not in memory.
func (a *Assembler) refs(key uint64) []SegmentRef {
	if m := a.recall(key); m != nil {
		return m.Refs
	}
	return nil
}

// rekey gives a segment that is rebuilt the key that it was given without an id, where it left under that.
func (g *segment) rekey() {
	s := g.s
	if g.keyed || !s.rebuilding {
		return
	}
	root := ids.Span(ids.Trace(s.agent, s.id, g.plainKey()), ids.KindSession)
	if slices.ContainsFunc(s.memory.had.Refs, func(r SegmentRef) bool { return r.Root == root }) {
		g.fallbackKey()
	}
}

// spanKey is what a span is known by once it has left.
func spanKey(trace translate.TraceID, span translate.SpanID) uint64 {
	var b [25]byte
	b[0] = 's'
	copy(b[1:], trace[:])
	copy(b[17:], span[:])
	return xxhash.Sum64(b[:])
}

// logKey is what a log record is known by once it has left.
func logKey(uid [16]byte) uint64 {
	var b [17]byte
	b[0] = 'l'
	copy(b[1:], uid[:])
	return xxhash.Sum64(b[:])
}

// leaves reports whether an output is to leave: what left in an earlier life does not leave again. It takes
// note of what leaves.
func (s *session) leaves(it *item, out *translate.Output, g *segment) bool {
	k := &s.memory
	key := uint64(0)
	switch {
	case out.Step != nil:
		return s.counts(it, g)
	case out.Span != nil:
		key = spanKey(out.Span.TraceID, out.Span.SpanID)
	default:
		key = logKey(out.Log.UID)
	}
	if k.knows(key) {
		return false
	}
	k.left = append(k.left, key)
	s.touch()
	return true
}

func (k *memory) knows(key uint64) bool {
	_, known := slices.BinarySearch(k.known, key)
	return known
}

// counts reports whether a step is to leave, and leaves of it what was not counted in an earlier life. Steps
// of what is told once with a span go with that. Of the others it is the sums that are compared: the order of
// the sources may be another one, and so may the rows that raise them.
func (s *session) counts(it *item, g *segment) bool {
	k, st := &s.memory, it.out.Step
	s.touch()
	if st.Metric == translate.MetricActive {
		k.net += int(st.Value)
		return s.activity(st)
	}
	known := it.node != nil && len(k.known) > 0 && k.knows(spanKey(g.trace, it.node.span()))
	if toldOnce(st.Metric) {
		return !known
	}
	series := seriesOf(st)
	sum := k.sums.at(series)
	was := *sum
	sum.N++
	sum.Value += st.Value
	sum.Tokens = addTokens(sum.Tokens, st.Tokens)
	switch base := k.base.find(series); {
	case known:
		return false
	case base == (Counted{}):
		return true
	case st.Metric == translate.MetricRateLimit:
		return sum.N > base.N // a gauge
	case st.Metric == translate.MetricTokens:
		st.Tokens = subTokens(subTokens(sum.Tokens, base.Tokens), subTokens(was.Tokens, base.Tokens))
		return st.Tokens != (translate.Tokens{})
	default:
		st.Value = max(0, sum.Value-base.Value) - max(0, was.Value-base.Value)
		return st.Value > 1e-9*base.Value // sums in another order differ by less
	}
}

// activity reports whether a change of the number of active sessions is to leave, as far as it is one. While
// a session is rebuilt it is not known yet.
func (s *session) activity(st *translate.Step) bool {
	k := &s.memory
	if s.rebuilding || k.net == k.active {
		return false
	}
	st.Value = float64(k.net - k.active)
	k.active = k.net
	return true
}

// toldOnce reports whether a metric is only told with a span, once for each.
func toldOnce(m translate.Metric) bool {
	switch m {
	case translate.MetricToolCalls, translate.MetricToolDuration, translate.MetricLines, translate.MetricInferenceDuration,
		translate.MetricResponseTokens, translate.MetricSegments, translate.MetricAgentDuration, translate.MetricAgentCalls,
		translate.MetricAgentTools:
		return true
	}
	return false
}

// seriesOf is the series within which the contributions of a session are compared. Which labels the row has
// that raises a sum, the order of the sources decides: tokens and costs are compared by model, and that
// a session is counted, and active, without labels.
func seriesOf(st *translate.Step) uint64 {
	switch st.Metric {
	case translate.MetricTokens, translate.MetricCost:
		return hash(string(rune(st.Metric)), st.Agent, st.Model)
	case translate.MetricSessions, translate.MetricActive:
		return hash(string(rune(st.Metric)), st.Agent)
	}
	flags := ""
	if st.Extension {
		flags += "e"
	}
	if st.Subagent {
		flags += "s"
	}
	return hash(string(rune(st.Metric)), st.Agent, st.Model, st.Provider, st.Tool, st.Label, st.ErrType, flags)
}

const (
	// maxSeries bounds the series of a session; what is beyond it shares one.
	maxSeries = 1 << 10
	// fewSeries is how many are looked through: most sessions have no more.
	fewSeries = 16
)

// sums are contributions by series.
type sums struct {
	list  []Counted
	index map[uint64]int32 // where there are many
}

func (c *sums) place(series uint64) int {
	if c.index == nil {
		return slices.IndexFunc(c.list, func(x Counted) bool { return x.Series == series })
	}
	if i, ok := c.index[series]; ok {
		return int(i)
	}
	return -1
}

// find is what was contributed to a series, zero for nothing.
func (c *sums) find(series uint64) Counted {
	if len(c.list) == 0 {
		return Counted{}
	}
	i := c.place(series)
	if i < 0 && len(c.list) >= maxSeries {
		i = c.place(0)
	}
	if i < 0 {
		return Counted{}
	}
	return c.list[i]
}

// at is the place of a series.
func (c *sums) at(series uint64) *Counted {
	if i := c.place(series); i >= 0 {
		return &c.list[i]
	}
	if len(c.list) >= maxSeries && series != 0 {
		return c.at(0)
	}
	c.list = append(c.list, Counted{Series: series})
	switch {
	case c.index != nil:
		c.index[series] = int32(len(c.list) - 1)
	case len(c.list) > fewSeries:
		c.index = make(map[uint64]int32, 4*fewSeries)
		for i := range c.list {
			c.index[c.list[i].Series] = int32(i)
		}
	}
	return &c.list[len(c.list)-1]
}

// contributed is what the session has contributed so far.
func (s *session) contributed() []Counted {
	k := &s.memory
	all := sums{list: slices.Clone(k.base.list)}
	if len(all.list) > fewSeries {
		all.index = make(map[uint64]int32, len(all.list))
		for i := range all.list {
			all.index[all.list[i].Series] = int32(i)
		}
	}
	for i := range k.sums.list {
		c := &k.sums.list[i]
		of := all.at(c.Series)
		of.N, of.Value, of.Tokens = max(of.N, c.N), max(of.Value, c.Value), larger(of.Tokens, c.Tokens)
	}
	if active := seriesOf(&translate.Step{Metric: translate.MetricActive, Agent: s.agent}); k.active != 0 || all.place(active) >= 0 {
		*all.at(active) = Counted{Series: active, N: 1, Value: float64(k.active)}
	}
	slices.SortFunc(all.list, func(x, y Counted) int { return cmp.Compare(x.Series, y.Series) })
	return all.list
}

// touch notes that something of the session changed.
func (s *session) touch() {
	if !s.touched && s.a.remembers() {
		s.touched = true
		s.a.touched = append(s.a.touched, s)
	}
}

// state is what the session is now.
func (s *session) state() State {
	st := State{
		Agent: s.agent, ID: s.id, Format: s.format, Version: s.version, Model: s.initModel, Provider: s.providerName, Closed: s.closed || s.dormant, Broken: s.broken, Live: s.lively, Folded: s.folded,
		Segments: s.segments, Refs: s.segmentRefs(), Counted: s.contributed(), Since: s.memory.since, Breaks: slices.Clip(s.memory.breaks),
	}
	if !st.Closed {
		timeout := s.a.cfg.IdleTimeout
		if s.cur != nil && s.cur.terminalAt != 0 && !s.cur.quiet {
			timeout = min(timeout, s.a.cfg.Linger)
		}
		st.Due = s.folded + int64(timeout) + 1
	}
	if !s.closed {
		return st // while it is open its rows can be folded again
	}
	for label, u := range s.used {
		st.Used = append(st.Used, ModelUse{Label: label, Responses: u.s, Totals: u.t, Out: u.out})
	}
	slices.SortFunc(st.Used, func(x, y ModelUse) int { return cmp.Compare(x.Label, y.Label) })
	st.Process = s.handed.stored()
	for _, f := range s.feeds {
		if f.src.info.Live && len(f.hashes) > 0 && (f.fresh || f.model == nil) {
			st.Hashes = append(st.Hashes, slices.Clip(f.hashes))
		}
	}
	return st
}

// maxBreaks bounds the breaks that are remembered of a session.
const maxBreaks = 1 << 8

// breakOff closes the session by the clock.
func (s *session) breakOff() {
	s.noteBreak()
	s.shut()
}

// shut closes the session while its sources go on.
func (s *session) shut() {
	s.pause()
	s.close()
}

// noteBreak notes where the session is closed, so that it can be closed there again. Of several sources that
// may be read in another order only those need it whose records tell no times: they begin a new segment.
func (s *session) noteBreak() {
	k := &s.memory
	if s.rebuilding || !s.a.remembers() || len(k.breaks) >= maxBreaks {
		return
	}
	for _, src := range s.sources {
		b := Break{src.mark, src.rows}
		if (len(s.sources) == 1 || s.untimed(src)) && !slices.Contains(k.breaks, b) {
			k.breaks = append(k.breaks, b)
		}
	}
}

// untimed reports whether the source has told no time to the session so far.
func (s *session) untimed(src *Source) bool {
	return slices.ContainsFunc(s.feeds, func(f *feed) bool { return f.src == src && !f.ended && !f.resolved() })
}

// count notes a record of the source.
func (s *Source) count(rec *translate.Record) {
	if s.rows++; s.rows == 1 {
		if s.mark = rec.Hash; s.mark == 0 {
			s.mark = hash(rec.UUID, rec.Type, itoa(int(rec.Time)))
		}
	}
}

// breakAgain closes sessions that are rebuilt where they were closed before.
func (a *Assembler) breakAgain(src *Source) {
	if a.rebuilt == 0 {
		return
	}
	for _, f := range slices.Clone(src.list) {
		s := f.s
		if s.rebuilding && slices.Contains(s.memory.breaks, Break{src.mark, src.rows}) && (len(s.sources) == 1 || s.untimed(src)) {
			s.breakOff()
		}
	}
}

// segmentRefs are the latest segments.
func (s *session) segmentRefs() []SegmentRef {
	var refs []SegmentRef
	if s.goesOn && s.memory.had != nil {
		refs = append(refs, s.memory.had.Refs...)
	}
	for _, g := range s.segs[max(0, len(s.segs)-keepSegments):] {
		r := SegmentRef{First: g.first, Last: g.last, Quiet: !g.seen(), Sent: g.sent}
		if g.keyed {
			r.Trace, r.Root = g.trace, g.root.span()
		}
		refs = append(refs, r)
	}
	return refs[max(0, len(refs)-keepSegments):]
}

// nothingOpen reports whether the session has nothing that a close would send.
func (s *session) nothingOpen() bool {
	return s.closed || s.cur == nil || s.cur.quiet && !s.cur.started
}

// doze notes that a session that the clock does not close was idle for so long that nothing more is expected.
func (s *session) doze(now int64) {
	if s.closed || s.dormant || !s.a.remembers() || !s.clocked || len(s.waiting) > 0 {
		return
	}
	if s.behind() {
		s.folded = now
		return
	}
	if now-s.folded > int64(s.a.cfg.IdleTimeout) {
		s.dormant = true
		s.touch()
	}
}

// Changes tells of the sessions that changed since the last call, in the order in which they did, with the
// keys of what left. Of a session that is being rebuilt nothing but that is told.
func (a *Assembler) Changes() []Change {
	out := a.leftover
	a.leftover = nil
	clear(a.gone)
	var still []*session
	for _, s := range a.touched {
		if s.place == nil {
			continue // it has left memory, its change stands among those
		}
		k := &s.memory
		c := Change{Key: s.key, Left: k.left}
		k.left = nil
		switch {
		case !s.rebuilding:
			c.State = s.state()
			s.touched = false
			out = append(out, &c)
			continue
		case len(c.Left) > 0:
			c.State = *k.had
			c.State.Counted = s.contributed()
			out = append(out, &c)
		}
		still = append(still, s)
	}
	a.touched = still
	if len(out) == 0 {
		return nil
	}
	all := make([]Change, len(out))
	for i, c := range out {
		all[i] = *c
	}
	return all
}

// Learned gives the entries that are new or were raised since the last call.
func (a *Assembler) Learned() []Entry {
	out := a.owners.learned
	a.owners.learned = nil
	for _, reg := range a.registers.raised {
		reg.raised = false
		out = append(out, Entry{
			Kind: EntryUsage, ID: uint64(reg.key), Session: a.owners.people[reg.owner].key, Tokens: reg.tokens, Cost: reg.cost,
		})
	}
	clear(a.registers.raised)
	a.registers.raised = a.registers.raised[:0]
	out = append(out, a.lines.learned...)
	a.lines.learned = nil
	return out
}

// Learn takes in an entry of an earlier process. It comes before any unit.
func (a *Assembler) Learn(e Entry) {
	switch e.Kind {
	case EntryOwner:
		if a.owners.find(e.ID).n == 0 {
			a.give(e.ID, owner{n: a.owners.number(e.Session)})
		}
	case EntryUsage:
		k := registerKey(e.ID)
		var reg *register
		if n, ok := a.registers.m[k]; ok {
			reg = a.registers.at(n)
		} else {
			reg = a.registers.add(k, a.owners.number(e.Session), 0)
		}
		reg.tokens, reg.cost = larger(reg.tokens, e.Tokens), max(reg.cost, e.Cost)
	case EntryThread:
		a.lines.far[e.ID] = e.Session
	}
}

// Has reports whether the session is in memory.
func (a *Assembler) Has(key uint64) bool { return a.keys[key] != nil }

// Silent says whether what is folded from now on was there before the receiver was: it makes state and is
// counted as known, but nothing of it leaves.
func (a *Assembler) Silent(yes bool) { a.silent, a.muted = yes, yes }

// Rebuilt says that the sources of a session have been folded again to where they were.
func (a *Assembler) Rebuilt(key uint64) {
	s := a.keys[key]
	if s == nil {
		return
	}
	if !s.rebuilding {
		// Where only its later rows were folded again, an id that did not come with them is of an earlier one.
		s.memory.reborn = false
		return
	}
	had := s.memory.had
	for _, src := range s.sources {
		a.breakAgain(src)
	}
	s.resume()
	switch {
	case s.segments > max(had.Segments, 1):
		// It went on after what is remembered of it.
	case had.Closed && s.nothingOpen():
		s.dormant = true
	case had.Closed:
		s.shut()
		fallthrough
	default:
		s.broken = s.broken || had.Broken
	}
	if !s.lively { // those of the journal begin to be idle now: what brings more may have been waiting for us
		s.folded = had.Folded
	}
	a.looked = 0 // it may be due
	s.lively = s.lively || had.Live
	s.rebuilding = false
	a.rebuilt--
	st := &translate.Step{Metric: translate.MetricActive, Agent: s.agent}
	if s.activity(st) {
		a.out = append(a.out, translate.Output{Resource: s.resource(), Step: st})
	}
	s.touch()
}

// CloseAgain closes a session that is being rebuilt where it was closed before, by an event if broken.
func (a *Assembler) CloseAgain(key uint64, broken bool) {
	if s := a.keys[key]; s != nil {
		s.shut()
		s.broken = s.broken || broken
	}
}

// toldBefore reports whether a response left in an earlier life of a session that goes on without it.
func (s *session) toldBefore(id string) bool {
	k := &s.memory
	if !s.goesOn || k.had == nil || id == "" || len(k.known) == 0 {
		return false
	}
	for i := range k.had.Refs {
		trace := k.had.Refs[i].Trace
		if !trace.IsZero() && k.knows(spanKey(trace, ids.Span(trace, ids.KindResponse, id))) {
			return true
		}
	}
	return false
}

// resume completes the responses that the clock had completed: their later rows are told on their own.
func (s *session) resume() {
	for _, ag := range s.live() {
		resp := ag.cur
		if resp == nil || !resp.seg.keyed {
			continue
		}
		if n := resp.node; s.memory.knows(spanKey(n.seg.trace, n.span())) { // a copy: its id may still change
			s.complete(ag)
		}
	}
}

// Sessions has the keys of the sessions that the source feeds or fed.
func (s *Source) Sessions() []uint64 { return s.fed }

// feedsInto notes that rows of the source go into a session.
func (s *Source) feedsInto(ses *session) {
	of := s.origin()
	if !slices.Contains(of.fed, ses.key) {
		of.fed = append(of.fed, ses.key)
	}
	if !slices.Contains(ses.sources, of) && len(ses.sources) < maxFeeds {
		ses.sources = append(ses.sources, of)
	}
}

// origin is the source that the caller knows.
func (s *Source) origin() *Source {
	if s.of != nil {
		return s.of
	}
	return s
}

// Group gives the sessions that share sources with a session, directly or through others, and those sources.
func (a *Assembler) Group(key uint64) (keys []uint64, srcs []*Source) {
	first := a.keys[key]
	if first == nil {
		return nil, nil
	}
	seen := map[*session]bool{first: true}
	seenSrc := map[*Source]bool{}
	for queue := []*session{first}; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		keys = append(keys, s.key)
		for _, src := range s.sources {
			if seenSrc[src] {
				continue
			}
			seenSrc[src] = true
			srcs = append(srcs, src)
			for _, k := range src.fed {
				if o := a.keys[k]; o != nil && !seen[o] {
					seen[o] = true
					queue = append(queue, o)
				}
			}
		}
	}
	return keys, srcs
}

// Busy reports whether the session must not be forgotten: a live source still feeds it, or rows of its sources
// wait to be told where they belong.
func (a *Assembler) Busy(key uint64) bool {
	s := a.keys[key]
	if s == nil {
		return false
	}
	if s.rebuilding || len(s.waiting) > 0 {
		return true
	}
	for _, f := range s.feeds {
		if !f.ended && f.src.info.Live || len(f.src.pending) > 0 || f.src.lineage != nil && len(f.src.lineage.held) > 0 {
			return true
		}
	}
	for _, src := range a.lines.waiting {
		if slices.Contains(s.sources, src.origin()) {
			return true
		}
	}
	return false
}

// Home is the key of the session that a thread belongs to, false where that is not known.
func (a *Assembler) Home(agent, thread string) (key uint64, ok bool) {
	if home, ok := a.lines.homes[thread]; ok {
		return Key(agent, home), true
	}
	key, ok = a.lines.far[threadID(agent, thread)]
	return key, ok
}

// Lose ends an open session whose sources are gone. Spans of it left, so the roots that they lead to leave as
// well, telling nothing but when they were.
func (a *Assembler) Lose(m *Memory) Change {
	c := Change{Key: Key(m.Agent, m.ID), State: m.State}
	c.State.Closed, c.State.Due, c.State.Refs = true, 0, slices.Clone(m.Refs)
	emit := func(o translate.Output) {
		o.Resource = a.resource(m.Agent, m.Version)
		a.out = append(a.out, o)
	}
	step := func(st translate.Step) {
		st.Agent = m.Agent
		emit(translate.Output{Step: &st})
	}
	errType := ""
	if hasTerminal(m.Format) {
		errType = "incomplete_stream"
	}
	counted := sums{list: slices.Clone(m.Counted)}
	for i := range c.State.Refs {
		r := &c.State.Refs[i]
		key := spanKey(r.Trace, r.Root)
		if r.Quiet || r.Sent || r.Root.IsZero() || slices.Contains(m.Left, key) {
			continue
		}
		r.Sent = true
		from, to := r.First, r.Last
		if from < ordinalEnd || to < from {
			from, to = m.Folded, m.Folded
		}
		c.Left = append(c.Left, key)
		emit(translate.Output{Span: &translate.Span{
			Type: translate.SpanRoot, TraceID: r.Trace, SpanID: r.Root, Start: from, End: to, Session: m.ID, Agent: m.Agent,
			Error: errType != "", ErrType: errType,
			Root: &translate.RootAttrs{Format: m.Format, Outcome: translate.OutcomeIncomplete},
		}})
		step(translate.Step{Metric: translate.MetricSegments, Value: 1})
	}
	sessions := translate.Step{Metric: translate.MetricSessions, Value: 1, Label: translate.OutcomeIncomplete, ErrType: errType, Agent: m.Agent}
	if of := counted.at(seriesOf(&sessions)); len(c.Left) > 0 && of.N == 0 {
		of.N, of.Value = 1, 1
		step(sessions)
	}
	if of := counted.at(seriesOf(&translate.Step{Metric: translate.MetricActive, Agent: m.Agent})); of.Value > 0 {
		step(translate.Step{Metric: translate.MetricActive, Value: -of.Value})
		of.Value = 0
	}
	c.State.Counted = counted.list
	return c
}

// Dismiss closes a session and takes it out of memory. What still comes of it begins a new segment.
func (a *Assembler) Dismiss(key uint64) {
	if s := a.keys[key]; s != nil {
		a.evict(s)
	}
}

// Forget takes sessions out of memory without closing them. Their sources must not be stepped any more.
func (a *Assembler) Forget(keys []uint64) {
	for _, key := range keys {
		if s := a.keys[key]; s != nil {
			a.leave(s)
		}
	}
}

// Oldest gives the keys of the sessions in memory, the one that got a record longest ago first. Sessions may be
// forgotten meanwhile; where that takes more than the one that was given, it begins anew.
func (a *Assembler) Oldest() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for e := a.recent.Front(); e != nil; {
			next := e.Next()
			if !yield(e.Value.(*session).key) {
				return
			}
			if e = next; e != nil && e.Value.(*session).place == nil {
				e = a.recent.Front()
			}
		}
	}
}

// unlist takes a session out of the order of those in memory.
func (a *Assembler) unlist(s *session) {
	if i := slices.Index(a.order, s); i >= 0 {
		a.order = slices.Delete(a.order, i, i+1)
		a.recent.Remove(s.place)
	}
}

// leave takes a session out of memory. What is still to be told of it waits for Changes.
func (a *Assembler) leave(s *session) {
	a.unlist(s)
	for _, f := range s.feeds {
		delete(f.src.feeds, s)
		f.src.list = slices.DeleteFunc(f.src.list, func(o *feed) bool { return o == f })
		if f.src.session == s {
			f.src.session = nil
		}
	}
	a.waiting -= len(s.waiting)
	s.waiting = nil
	delete(a.sessions, sessionKey{s.agent, s.id})
	delete(a.keys, s.key)
	a.owners.leave(s, a.remembers())
	s.place = nil
	if !a.remembers() {
		return
	}
	if s.rebuilding {
		a.rebuilt--
	}
	for _, o := range a.order {
		if o.forked != nil && o.forked.s == s {
			o.forked = nil // it is found again by its key
		}
	}
	if s.touched {
		c := &Change{Key: s.key, State: s.state(), Left: s.memory.left}
		if s.rebuilding {
			c.State = *s.memory.had
			c.State.Counted = s.contributed()
		}
		a.leftover = append(a.leftover, c)
		a.gone[s.key] = c
	}
}

// silent reports whether an item is of what was there before the receiver was.
//
// What a unit tells is as silent as the rows that told of it, whatever row made it final.
func (g *segment) silent(it *item) bool {
	switch {
	case g.sending:
		return g.root.hush && !g.root.used
	case it.node == nil || it.out.Log != nil && !ofUnit(it.source):
		return g.s.a.muted
	}
	return it.node.hush
}

// ofUnit reports whether a log record is of a response, call or subagent, and not of one record.
func ofUnit(source string) bool {
	return strings.HasPrefix(source, "response/") || strings.HasPrefix(source, "call/") || strings.HasPrefix(source, "agent/")
}

// seen reports whether the segment's root has left or is to leave.
func (g *segment) seen() bool { return !g.quiet && !g.unsent && (!g.root.hush || g.root.used) }

// heard notes that something tells of a span that is not silent.
func (n *node) heard(a *Assembler) {
	if !a.muted {
		n.hush = false
	}
}

// silenced reports whether an item is held back because it is silent. What something points at that has left
// is not.
func (s *session) silenced(it *item) bool {
	switch {
	case it.out.Step != nil && it.out.Step.Metric == translate.MetricActive:
		if it.out.Step.Value > 0 {
			s.agedOut = it.silent
		}
		return s.agedOut
	case !it.silent:
		return false
	}
	return it.out.Span == nil || !it.node.used
}

// points notes what an output that leaves points at.
func (it *item) points() {
	switch {
	case it.out.Span != nil && it.parent != nil:
		it.parent.used = true
	case it.out.Log != nil:
		it.node.used = true
	}
}
