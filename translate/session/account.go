// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"slices"
	"sort"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/price"
)

// maxRegisters bounds the responses whose usage is remembered; beyond it the oldest are forgotten, and
// a copy of one of those would count again.
const maxRegisters = 1 << 20

// registerKey is a hash of agent, response id and, for a second model, its name.
type registerKey uint64

// register is what has been counted for one response: per class the maximum seen, whatever session,
// source or order it came in (telemetry contract, section 7).
type register struct {
	key    registerKey
	tokens translate.Tokens
	cost   float64 // USD, what was counted for it: a copy costs nothing either
	owner  uint32  // number of the session that counted first
	life   uint16  // of that session, see owners
	raised bool    // since Assembler.Learned
}

// chunk is how many registers are made and forgotten together. There is one pointer for all of them, so that
// a million of them cost the garbage collector nothing.
const chunk = 1 << 10

type registers struct {
	m      map[registerKey]uint32 // number of the register
	chunks [][]register
	first  uint32 // number of the first of those
	raised []*register
}

func (r *registers) get(k registerKey, s *session) *register {
	if n, ok := r.m[k]; ok {
		return r.at(n)
	}
	return r.add(k, s.number, s.life)
}

func (r *registers) at(n uint32) *register { return &r.chunks[(n-r.first)/chunk][n%chunk] }

func (r *registers) add(k registerKey, owner uint32, life uint16) *register {
	if len(r.m) >= maxRegisters {
		for i := range r.chunks[0] {
			delete(r.m, r.chunks[0][i].key)
		}
		r.chunks[0] = nil // responses in memory go on with theirs
		r.chunks = r.chunks[1:]
		r.first += chunk
	}
	last := len(r.chunks) - 1
	if last < 0 || len(r.chunks[last]) == chunk {
		r.chunks = append(r.chunks, make([]register, 0, chunk))
		last++
	}
	c := &r.chunks[last]
	r.m[k] = r.first + uint32(last)*chunk + uint32(len(*c))
	*c = append(*c, register{key: k, owner: owner, life: life})
	return &(*c)[len(*c)-1]
}

// counter is a response's register. A session that is rebuilt counts what it has told first again from
// nothing, in a register of its own, so that its sums become what they were.
type counter struct {
	*register
	all *register // of all sessions, where the other one is the response's own
}

// counter gives the response its register.
func (a *Assembler) counter(s *session, k registerKey) counter {
	reg := a.registers.get(k, s)
	if reg.owner != s.number || !s.memory.reborn || reg.life == s.life {
		return counter{register: reg}
	}
	reg.life = s.life
	return counter{register: &register{key: k}, all: reg}
}

// raise notes that the register rose.
func (a *Assembler) raise(c counter) {
	reg := c.register
	if c.all != nil {
		reg = c.all
		was := *reg
		reg.tokens, reg.cost = larger(reg.tokens, c.tokens), max(reg.cost, c.cost)
		if *reg == was {
			return
		}
	}
	if a.remembers() && !reg.raised {
		reg.raised = true
		a.registers.raised = append(a.registers.raised, reg)
	}
}

// usedModel is what a session has used of one model: s by its responses, t by accepted steps of running
// totals. The session contributes the larger of both, class by class (ruling 45), so that calls without
// a row count and rows that a total covers do not count again. A running total may cover responses of
// earlier segments, which is why this is the session's.
type usedModel struct {
	s, t translate.Tokens
	out  translate.Tokens // contributed so far
}

func (s *session) use(label string) *usedModel {
	u := s.used[label]
	if u == nil {
		u = &usedModel{}
		s.used[label] = u
	}
	return u
}

// account is what a segment has contributed, and what that cost.
type account struct {
	models map[string]*modelAccount
	list   []*modelAccount

	incomplete int64
	reported   translate.Opt[float64]
	told       bool // it is the sum of what responses reported: those without a report are estimated beside it
	closed     bool
}

type modelAccount struct {
	label    string
	raw      string           // a raw id of the model, for its provider
	out      translate.Tokens // contributed in this segment
	seen     translate.Tokens // of its responses, as far as they were new
	estimate float64
	priced   bool // some usage had a price
	unpriced bool // some had none
	reported float64
}

func newAccount() account { return account{models: map[string]*modelAccount{}} }

func (a *account) model(label, raw string) *modelAccount {
	m := a.models[label]
	if m == nil {
		m = &modelAccount{label: label, raw: raw}
		a.models[label] = m
		a.list = append(a.list, m)
	}
	return m
}

// lift counts what raises the larger of both sums, under the labels of the row that raised it and in
// its segment.
func (m *modelAccount) lift(g *segment, subagent bool) {
	u := g.s.use(m.label)
	want := larger(u.s, u.t)
	d := subTokens(want, u.out)
	if d == (translate.Tokens{}) {
		return
	}
	u.out = want
	m.out = addTokens(m.out, d)
	g.step(translate.Step{Metric: translate.MetricTokens, Tokens: d, Model: m.label, Provider: g.s.provider(m.raw), Subagent: subagent})
}

// label is the metric label of a raw model id.
func (a *Assembler) label(model string) string {
	if a.cfg.Prices == nil {
		return price.Label(model, nil)
	}
	return a.cfg.Prices.Label(model)
}

// count counts a response's usage as far as it is new.
func (a *Assembler) count(resp *response) {
	if !resp.has {
		return
	}
	s := resp.agent.s
	if resp.reg.register == nil {
		resp.reg = a.counter(s, s.registerKey(resp, ""))
	}
	a.countUsage(resp, resp.model, &resp.usage, resp.synthetic, resp.reg, &resp.cost, &resp.price)
	for _, it := range a.seconds(resp) {
		second := resp.second(it.model)
		if second.reg.register == nil {
			second.reg = a.counter(s, s.registerKey(resp, it.model))
		}
		second.requests = max(second.requests, it.requests)
		mergeUsage(&second.usage, &it.usage)
		a.countUsage(resp, it.model, &second.usage, second.requests > 1, second.reg, &second.cost, &second.price)
	}
}

// seconds is the usage of other models that the last row with iterations tells, one entry a model: each
// iteration is a request of its own, so those of one model add up before a maximum over rows is taken.
func (a *Assembler) seconds(resp *response) []iteration {
	var list []iteration
	for i := range resp.usage.Iterations {
		it := &resp.usage.Iterations[i]
		if it.Model == "" || a.label(it.Model) == a.label(resp.model) {
			continue
		}
		n := slices.IndexFunc(list, func(x iteration) bool { return x.model == it.Model })
		if n < 0 {
			n = len(list)
			list = append(list, iteration{model: it.Model})
		}
		list[n].requests++
		addUsage(&list[n].usage, &it.Usage)
	}
	return list
}

// seen notes in which process, and in which of its turns, a response with usage was seen.
func (resp *response) seen(p *running) {
	if resp.has && (resp.source != p || resp.turn != p.turn) {
		resp.source, resp.turn = p, p.turn
		p.seen = append(p.seen, resp)
	}
}

func (resp *response) second(model string) *iteration {
	for _, it := range resp.iters {
		if it.model == model {
			return it
		}
	}
	it := &iteration{model: model}
	resp.iters = append(resp.iters, it)
	return it
}

func (s *session) registerKey(resp *response, model string) registerKey {
	if resp.thread != "" {
		return registerKey(hash(s.agent, resp.thread, resp.key, model))
	}
	if resp.key != "" {
		return registerKey(hash(s.agent, resp.key, model))
	}
	return registerKey(hash(s.agent, s.id, resp.id, model))
}

// countUsage counts the usage of one model, and notes where its register rose.
func (a *Assembler) countUsage(resp *response, model string, u *translate.Usage, several bool, reg counter, cost *float64, state *priced) {
	tokens, usd := reg.tokens, reg.cost
	a.moveTo(resp, model, u, several, reg.register, cost, state)
	if reg.tokens != tokens || reg.cost != usd {
		a.raise(reg)
	}
}

// moveTo moves the register to usage, the segment's sums by the same, and the estimate to its price.
// several says that it is the usage of more than one request.
func (a *Assembler) moveTo(resp *response, model string, u *translate.Usage, several bool, reg *register, cost *float64, state *priced) {
	g := resp.seg
	m := g.acc.model(a.label(model), model)
	if m.raw == "" {
		m.raw = model
	}
	now := larger(disjoint(u), reg.tokens)
	if d := subTokens(now, reg.tokens); d != (translate.Tokens{}) {
		reg.tokens = now
		m.seen = addTokens(m.seen, d)
		used := g.s.use(m.label)
		used.s = addTokens(used.s, d)
		m.lift(g, !resp.agent.main)
	}
	if resp.told.OK {
		g.acc.tell(g, m, resp.told.V-reg.cost)
		reg.cost = resp.told.V
		*cost, *state = resp.told.V, priceTold
		return
	}
	if usd, ok := a.cost(model, u, several); ok {
		if usd > reg.cost {
			m.estimate += usd - reg.cost
			reg.cost = usd
		}
		*cost, *state = usd, priceKnown
		m.priced = true
	} else {
		*state = priceUnknown
		m.unpriced = true
	}
}

// tell counts the cost that a response reported, as far as it is new.
func (a *account) tell(g *segment, m *modelAccount, usd float64) {
	a.told = true
	a.reported = translate.Some(a.reported.V + usd)
	m.reported += usd
	if usd > 0 {
		g.step(translate.Step{Metric: translate.MetricCost, Value: usd, Model: m.label, Provider: g.s.provider(m.raw), Label: "reported"})
	}
}

func (a *Assembler) cost(model string, u *translate.Usage, several bool) (float64, bool) {
	if a.cfg.Prices == nil || model == "" {
		return 0, false
	}
	write := cacheWrite(u)
	return a.cfg.Prices.Cost(model, price.Usage{
		Input: u.Input.V, CacheRead: u.CacheRead.V, CacheWrite1h: u.CacheWrite1h.V, CacheWrite5m: write - u.CacheWrite1h.V,
		Output: u.Output.V, WebSearches: u.WebSearches.V, Speed: u.Speed, Several: several,
	})
}

// rest estimates what totals have beyond the responses of a model, where no cost was reported: calls
// without a row and the rest of an output of which a row told only the placeholder. How many requests
// these were, how long their cache writes live and how fast they were is not known.
func (m *modelAccount) rest(a *Assembler) {
	t := subTokens(m.out, m.seen)
	if total(t) == 0 {
		return
	}
	raw := m.raw
	if raw == "" {
		raw = m.label
	}
	u := translate.Usage{
		Input: translate.Some(t.Input), CacheRead: translate.Some(t.CacheRead),
		CacheWrite: translate.Some(t.CacheWrite), Output: translate.Some(t.Output),
	}
	if usd, ok := a.cost(raw, &u, true); ok {
		m.estimate += usd
		m.priced = true
	} else {
		m.unpriced = true
	}
}

// running is the running totals of one process (formats: accounting rule 3). A baseline belongs to
// the source, not to the session: a process may go on in another session.
type running struct {
	tokens map[string]translate.Tokens
	costs  map[string]float64
	cost   float64
	known  bool // some total was accepted
	index  translate.Opt[int64]
	inits  int // start records since the last terminal record
	turn   int
	seen   []*response // responses of this turn
	// What segments that closed meanwhile counted as an estimate for responses of this turn: a report
	// that covers them adds only what exceeds it (ruling 48).
	counted map[string]float64
}

// step accepts a terminal record: what its totals add to the last accepted ones.
func (p *running) step(r *row, s *session) {
	t, g := plausible(r.rec.Terminal), r.g
	seen := p.seen
	p.seen, p.turn = nil, p.turn+1
	now, costs, order := p.totals(t, s.a)
	if p.known && !(t.Cost.OK && t.Cost.V != 0) && allZero(now) && (len(order) > 0 || t.Usage == nil || disjoint(t.Usage) == (translate.Tokens{})) {
		return // an all-zero record changes nothing
	}
	fresh := !p.known || t.Cost.OK && t.Cost.V < p.cost-1e-12
	switch {
	case len(order) > 0:
		fresh = fresh || p.fell(now) || !p.covers(now, seen, s.a)
	case t.Index.OK && p.index.OK:
		fresh = fresh || t.Index.V != p.index.V+1
	default:
		fresh = fresh || p.inits > 0
	}
	base, baseCosts, baseCost := p.tokens, p.costs, p.cost
	if fresh {
		base, baseCosts, baseCost = nil, nil, 0
	}
	for _, l := range order {
		m := g.acc.model(l.label, l.raw)
		used := s.use(l.label)
		used.t = addTokens(used.t, subTokens(now[l.label], base[l.label]))
		m.lift(g, false)
	}
	if len(order) > 0 {
		g.acc.incomplete = 0
		for _, other := range s.segs {
			if !other.sent {
				other.acc.incomplete = 0
			}
		}
		p.tokens = now
	} else {
		s.beyond(r, seen)
		if fresh {
			p.tokens = nil
		}
	}
	if t.Cost.OK {
		g.acc.report(g, t.Cost.V-baseCost, order, costs, baseCosts, s.lastModel(seen), p.counted)
		p.counted = nil
		p.cost = t.Cost.V
	}
	if costs != nil {
		p.costs = costs
	}
	p.known, p.index, p.inits = true, t.Index, 0
}

// estimated notes what a segment that closes counts as an estimate for responses of the open turn.
func (p *running) estimated(label string, g *segment) {
	for _, resp := range p.seen {
		if resp.seg != g || resp.price != priceKnown || g.s.a.label(resp.model) != label {
			continue
		}
		if p.counted == nil {
			p.counted = map[string]float64{}
		}
		p.counted[label] += resp.cost
	}
}

// maxCost and maxTokens are what one report may say at most: beyond them it is no measurement, and sums
// of it would overflow.
const (
	maxCost   = 1e9
	maxTokens = 1 << 48
)

// plausible leaves out costs that cannot be.
func plausible(t *translate.Terminal) *translate.Terminal {
	bad := func(c translate.Opt[float64]) bool { return c.OK && !(c.V >= 0 && c.V <= maxCost) }
	found := bad(t.Cost)
	for i := range t.Models {
		found = found || bad(t.Models[i].Cost)
	}
	if !found {
		return t
	}
	out := *t
	if bad(out.Cost) {
		out.Cost = translate.Opt[float64]{}
	}
	out.Models = slices.Clone(t.Models)
	for i := range out.Models {
		if bad(out.Models[i].Cost) {
			out.Models[i].Cost = translate.Opt[float64]{}
		}
	}
	return &out
}

type modelLabel struct{ label, raw string }

// totals adds the entries of one model, which may stand under several ids (ruling 13).
func (p *running) totals(t *translate.Terminal, a *Assembler) (map[string]translate.Tokens, map[string]float64, []modelLabel) {
	if len(t.Models) == 0 {
		return nil, nil, nil
	}
	now, costs := map[string]translate.Tokens{}, map[string]float64{}
	var order []modelLabel
	for i := range t.Models {
		mu := &t.Models[i]
		l := a.label(mu.Model)
		if _, ok := now[l]; !ok {
			order = append(order, modelLabel{l, mu.Model})
		}
		now[l] = addTokens(now[l], disjoint(&mu.Usage))
		if mu.Cost.OK {
			costs[l] += mu.Cost.V
		}
	}
	return now, costs, order
}

// fell reports whether a counter is below the last accepted one: a missing model is zero.
func (p *running) fell(now map[string]translate.Tokens) bool {
	for l, old := range p.tokens {
		n := now[l]
		if n.Input < old.Input || n.CacheRead < old.CacheRead || n.CacheWrite < old.CacheWrite || n.Output < old.Output {
			return true
		}
	}
	return false
}

// covers reports whether the step covers the responses seen since the last terminal record.
func (p *running) covers(now map[string]translate.Tokens, seen []*response, a *Assembler) bool {
	sums := map[string]translate.Tokens{}
	for _, resp := range seen {
		l := a.label(resp.model)
		sums[l] = addTokens(sums[l], disjoint(&resp.usage))
	}
	for l, u := range sums {
		n, ok := now[l]
		if !ok {
			continue
		}
		old := p.tokens[l]
		if n.Input-old.Input < u.Input || n.CacheRead-old.CacheRead < u.CacheRead ||
			n.CacheWrite-old.CacheWrite < u.CacheWrite || n.Output-old.Output < u.Output {
			return false
		}
	}
	return true
}

// beyond counts what a terminal record without totals by model has more than the turn's main
// responses (ruling 22).
func (s *session) beyond(r *row, seen []*response) {
	t := r.rec.Terminal
	if t.Usage == nil {
		return
	}
	told := disjoint(t.Usage)
	var mine translate.Tokens
	for _, resp := range seen {
		if resp.agent.main {
			mine = addTokens(mine, disjoint(&resp.usage))
		}
	}
	extra := subTokens(told, mine)
	if extra == (translate.Tokens{}) {
		return
	}
	raw := s.lastModel(seen)
	m := r.g.acc.model(s.a.label(raw), raw)
	used := s.use(m.label)
	used.s = addTokens(used.s, extra)
	m.lift(r.g, false)
}

// lastModel is the model of the turn's last main response, else the one the program started with.
func (s *session) lastModel(seen []*response) string {
	for _, s := range slices.Backward(seen) {
		if s.agent.main && s.model != "" {
			return s.model
		}
	}
	return s.initModel
}

// report counts a reported cost. Its parts by model are told beside it; where they disagree with the
// total, the total wins (ruling 17).
func (a *account) report(g *segment, step float64, order []modelLabel, costs, base map[string]float64, rest string, counted map[string]float64) {
	step = max(step, 0)
	a.reported = translate.Some(a.reported.V)
	type part struct {
		m   *modelAccount
		usd float64
	}
	var parts []part
	sum := 0.0
	for _, l := range order {
		if usd := costs[l.label] - base[l.label]; usd > 0 {
			parts = append(parts, part{a.model(l.label, l.raw), usd})
			sum += usd
		}
	}
	if left := step - sum; left > 1e-12 || len(parts) == 0 {
		parts = append(parts, part{a.model(g.s.a.label(rest), rest), max(left, 0)})
	} else if left < -1e-12 {
		for i := range parts {
			parts[i].usd *= step / sum
		}
	}
	for _, p := range parts {
		p.usd = max(0, p.usd-counted[p.m.label])
		a.reported.V += p.usd
		p.m.reported += p.usd
		if p.usd > 0 {
			g.step(translate.Step{Metric: translate.MetricCost, Value: p.usd, Model: p.m.label, Provider: g.s.provider(p.m.raw), Label: "reported"})
		}
	}
}

// close settles what only the end decides: the estimate where nothing was reported, what has no price,
// and responses whose usage stayed incomplete.
func (a *account) close(g *segment) {
	if a.closed {
		return
	}
	a.closed = true
	for _, m := range a.list {
		if a.reported.OK && !a.told {
			continue
		}
		m.rest(g.s.a)
		if m.priced && m.estimate > 0 {
			for _, f := range g.s.feeds {
				f.running.estimated(m.label, g)
			}
			g.stepOf(&g.root, translate.Step{Metric: translate.MetricCost, Value: m.estimate, Model: m.label, Provider: g.s.provider(m.raw), Label: "estimated"})
		}
		if m.unpriced && m.reported == 0 {
			if n := total(m.out); n > 0 {
				g.stepOf(&g.root, translate.Step{Metric: translate.MetricUnpriced, Value: float64(n), Model: m.label})
			}
		}
	}
	if a.incomplete > 0 {
		g.stepOf(&g.root, translate.Step{Metric: translate.MetricUsageIncomplete, Value: float64(a.incomplete)})
	}
}

// fill puts the segment's totals on its root.
func (a *account) fill(r *translate.RootAttrs) {
	var sum translate.Tokens
	estimate, priced, unpriced := 0.0, false, false
	explained := 0.0
	for _, m := range a.list {
		sum = addTokens(sum, m.out)
		estimate += m.estimate
		priced = priced || m.priced
		unpriced = unpriced || m.unpriced
		if m.priced || !m.unpriced {
			explained += m.estimate
		} else {
			explained += m.reported // nothing to compare with: its own report is all there is
		}
		if m.out != (translate.Tokens{}) {
			r.Models = append(r.Models, translate.ModelTokens{Model: m.label, Tokens: m.out})
		}
	}
	sort.Slice(r.Models, func(i, j int) bool { return r.Models[i].Model < r.Models[j].Model })
	if len(a.list) > 0 {
		r.Usage = translate.Some(sum)
	}
	r.UsageIncomplete = a.incomplete > 0
	switch {
	case a.told:
		r.Cost, r.CostSource = translate.Some(a.reported.V+estimate), "reported"
		if estimate > 0 {
			r.CostSource = "estimated"
		}
		r.CostIncomplete = unpriced
	case a.reported.OK:
		r.Cost, r.CostSource = a.reported, "reported"
		if left := a.reported.V - explained; left > 1e-9 {
			r.Unattributed = translate.Some(left)
		}
	case priced:
		r.Cost, r.CostSource = translate.Some(estimate), "estimated"
		r.CostIncomplete = unpriced
	default:
		r.CostIncomplete = unpriced
	}
}

func addTokens(a, b translate.Tokens) translate.Tokens {
	return translate.Tokens{
		Input: a.Input + b.Input, CacheRead: a.CacheRead + b.CacheRead, CacheWrite: a.CacheWrite + b.CacheWrite,
		Output: a.Output + b.Output, Reasoning: a.Reasoning + b.Reasoning,
	}
}

// subTokens is a-b, class by class, never negative.
func subTokens(a, b translate.Tokens) translate.Tokens {
	return translate.Tokens{
		Input: max(0, a.Input-b.Input), CacheRead: max(0, a.CacheRead-b.CacheRead),
		CacheWrite: max(0, a.CacheWrite-b.CacheWrite), Output: max(0, a.Output-b.Output), Reasoning: max(0, a.Reasoning-b.Reasoning),
	}
}

func larger(a, b translate.Tokens) translate.Tokens {
	return translate.Tokens{
		Input: max(a.Input, b.Input), CacheRead: max(a.CacheRead, b.CacheRead),
		CacheWrite: max(a.CacheWrite, b.CacheWrite), Output: max(a.Output, b.Output), Reasoning: max(a.Reasoning, b.Reasoning),
	}
}

func total(t translate.Tokens) int64 { return t.Input + t.CacheRead + t.CacheWrite + t.Output }

func allZero(m map[string]translate.Tokens) bool {
	for _, t := range m {
		if t != (translate.Tokens{}) {
			return false
		}
	}
	return true
}
