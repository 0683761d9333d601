// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"slices"
	"strconv"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

// loops works out which agent a record is of in a stream that seldom says so (formats, Cline: subagents).
// What tells agents apart: records that name theirs stand right before some that do not; an agent goes
// from a request to its usage, its texts, its calls and the next request; and its usage is told with the
// sum of its run so far. With one agent there is nothing to work out.
type loops struct {
	main     *loop
	live     []*loop          // those that may write, in the order of their beginning
	ids      map[string]*loop // by the id that the stream gives them
	mainID   string
	mates    map[string]*loop // teammates at work, by name
	runs     map[string]int   // how often a teammate was set to work
	calls    map[string]*loop // who makes the open calls
	launches []launch         // open calls that start an agent, in their order
	named    *loop            // whom the record before named
	namedBy  translate.LoopKind
	n        int // records so far
}

// loop is one agent, a teammate once for each of its runs.
type loop struct {
	progress
	ref        translate.AgentRef
	callID     string // the call that started it
	background bool   // nobody waits for it
	at         int    // when it was heard of last
	announced  int    // calls that it is going to make
	since      int    // when it announced the next of them
	running    int    // calls that run; those that start an agent run beside others
	claimed    bool   // a record named it since its usage came
	counted    bool   // its end told the same sum
	over       bool   // it said that it has ended: only its last record is still to come
}

// progress is how far an agent has come, as its records without a name tell.
type progress struct {
	iteration int64
	asking    bool // a request is on its way
	between   bool // no request has begun, or all of the last is done
	texted    bool // the text, or the reasoning, of this request has been told
	thought   bool
	text      int // bytes of it that were told in pieces
	think     int
	sum       translate.Tokens
	answered  int // when its usage came
}

// fresh is an agent before its first request.
var fresh = progress{between: true}

// launch is an open call that starts an agent, or sets a teammate to work.
type launch struct {
	callID     string
	owner      *loop
	mate       string
	background bool
	started    *loop // what it started; nil until that is heard of
}

// waits reports whether a teammate is still to begin that nobody waits for: it may do so after the call
// that set it to work has returned.
func (c *launch) waits() bool { return c.background && c.started == nil }

func newLoops() *loops {
	main := &loop{progress: fresh}
	return &loops{
		main: main, live: []*loop{main}, ids: map[string]*loop{}, mates: map[string]*loop{},
		runs: map[string]int{}, calls: map[string]*loop{},
	}
}

// attribute notes what the record tells and says in it whose it is: lp's, if that is known already.
func (l *loops) attribute(rec *translate.Record, lp *loop) {
	k := rec.Loop
	l.n++
	if lp == nil {
		lp = l.find(k)
	}
	if step := loopSteps[k.Kind]; step != nil {
		step(l, lp, rec)
	}
	lp.at = l.n
	l.named, l.namedBy = nil, k.Kind
	if k.Kind >= translate.LoopStarted && k.Kind <= translate.LoopReturned {
		l.named = lp
	}
	rec.Agent = lp.ref
}

// find is the agent whose record it is.
func (l *loops) find(k *translate.Loop) *loop {
	switch {
	case k.Kind == translate.LoopMate:
		return l.main
	case k.Name != "":
		return l.mate(k.Name)
	case k.Agent != "":
		return l.byID(k)
	case k.Kind == translate.LoopResult:
		return l.returner(k)
	case k.Kind == translate.LoopIteration:
		return l.starter(k)
	case k.Kind == translate.LoopUpdate && l.calls[k.CallID] != nil:
		return l.calls[k.CallID]
	case len(l.live) == 1:
		return l.main
	}
	return l.guess(k)
}

// byID is the agent that a record names. One that another agent started is new; the first of the others
// is the main one.
func (l *loops) byID(k *translate.Loop) *loop {
	if lp := l.ids[k.Agent]; lp != nil {
		return lp
	}
	if k.Parent == "" {
		if l.mainID == "" {
			l.mainID, l.ids[k.Agent] = k.Agent, l.main
		}
		return l.main
	}
	owner := l.ids[k.Parent]
	if owner != nil && l.teamed(owner) {
		owner = l.mates[owner.ref.Type]
	}
	if owner == nil {
		owner = l.main
	}
	lp := l.begin(owner, k.Agent)
	l.ids[k.Agent] = lp
	return lp
}

// begin adds an agent that owner started: by the first of its calls that has not started one yet.
func (l *loops) begin(owner *loop, id string) *loop {
	lp := &loop{ref: translate.AgentRef{ID: id}, progress: fresh}
	for i := range l.launches {
		if c := &l.launches[i]; c.owner == owner && c.mate == "" && c.started == nil {
			c.started, lp.callID, lp.ref.Parent = lp, c.callID, c.callID
			break
		}
	}
	l.live = append(l.live, lp)
	return lp
}

// mate is the run of a teammate that goes on, a new one if none does.
func (l *loops) mate(name string) *loop {
	if lp := l.mates[name]; lp != nil {
		return lp
	}
	lp := &loop{ref: translate.AgentRef{ID: name, Type: name}, progress: fresh}
	if l.runs[name]++; l.runs[name] > 1 {
		lp.ref.ID += "/" + strconv.Itoa(l.runs[name])
	}
	for i := range l.launches {
		if c := &l.launches[i]; c.mate == name && c.started == nil {
			c.started, lp.callID, lp.ref.Parent, lp.background = lp, c.callID, c.callID, c.background
			break
		}
	}
	l.mates[name] = lp
	l.live = append(l.live, lp)
	return lp
}

// end takes an agent out of those that may write.
func (l *loops) end(lp *loop) {
	if lp == l.main {
		*lp = loop{progress: fresh}
		clear(l.calls) // what is open now is never answered
		l.launches = slices.DeleteFunc(l.launches, func(c launch) bool { return !c.waits() })
		return
	}
	l.live = slices.DeleteFunc(l.live, func(o *loop) bool { return o == lp })
	for name, o := range l.mates {
		if o == lp {
			delete(l.mates, name)
		}
	}
}

// returner is the agent whose call ended: the record right before names it.
func (l *loops) returner(k *translate.Loop) *loop {
	if lp := l.before(translate.LoopReturned); lp != nil {
		k.Sure = true
		return lp
	}
	if lp := l.calls[k.CallID]; lp != nil {
		return lp
	}
	return l.main
}

// before is the agent that the record before named by one of the kinds, nil when it did not. A teammate
// is named by its own records.
func (l *loops) before(kinds ...translate.LoopKind) *loop {
	if l.named == nil || l.teamed(l.named) || !slices.Contains(kinds, l.namedBy) {
		return nil
	}
	return l.named
}

// teamed reports whether the agent is a teammate, which is called by its name.
func (l *loops) teamed(lp *loop) bool { return lp.ref.Type != "" }

// starter is the agent that begins a request: the one that has waited longest for its turn. A first
// request while a call that starts an agent has not started any is that agent's.
func (l *loops) starter(k *translate.Loop) *loop {
	next := func(lp *loop) bool { return lp.between && lp.iteration == k.Iteration-1 && !l.teamed(lp) }
	if lp := l.first(next, age); lp != nil {
		return lp
	}
	if k.Iteration == 1 {
		for i := range l.launches {
			if c := &l.launches[i]; c.mate == "" && c.started == nil {
				return l.begin(c.owner, "")
			}
		}
	}
	if lp := l.first(func(lp *loop) bool { return lp.between && !l.teamed(lp) }, age); lp != nil {
		return lp
	}
	return l.main
}

// guess is the agent that an earlier record tells, else the one whose state fits best.
func (l *loops) guess(k *translate.Loop) *loop {
	if lp := l.introduced(k); lp != nil {
		return lp
	}
	fits, order := l.fitting(k)
	for _, fit := range fits {
		if lp := l.first(fit, order); lp != nil {
			return lp
		}
	}
	return l.main
}

// introduced is the agent that said that such a record would come.
func (l *loops) introduced(k *translate.Loop) *loop {
	switch k.Kind {
	case translate.LoopCall:
		return l.caller(k)
	case translate.LoopError:
		return l.before(translate.LoopFailed)
	case translate.LoopDone:
		if lp := l.before(translate.LoopEnded, translate.LoopFailed); lp != nil {
			return lp
		}
		for _, lp := range l.live {
			if lp.over {
				return lp
			}
		}
	}
	return nil
}

// fitting is in which states an agent may be to write the record, the likeliest first, and which of several
// such agents is taken.
func (l *loops) fitting(k *translate.Loop) (fits []func(*loop) bool, order func(*loop) int) {
	asking := func(lp *loop) bool { return lp.asking }
	answered := func(lp *loop) bool { return !lp.asking && !lp.between }
	goesOn := func(lp *loop) bool { return l.goesOn(lp, k) }
	switch k.Kind {
	case translate.LoopDelta:
		return []func(*loop) bool{func(lp *loop) bool { return lp.asking && lp.text == k.Before }, asking}, age
	case translate.LoopThought:
		return []func(*loop) bool{func(lp *loop) bool { return lp.asking && lp.think > 0 }, asking}, age
	case translate.LoopUsage: // its text came just before
		return []func(*loop) bool{func(lp *loop) bool { return lp.asking && goesOn(lp) }, goesOn, asking}, recency
	case translate.LoopText, translate.LoopReasoning:
		whole := func(lp *loop) (bytes int, told bool) {
			if k.Kind == translate.LoopText {
				return lp.text, lp.texted
			}
			return lp.think, lp.thought
		}
		untold := func(lp *loop) bool { _, told := whole(lp); return answered(lp) && !told }
		same := func(lp *loop) bool { bytes, _ := whole(lp); return bytes == k.Bytes }
		return []func(*loop) bool{
			func(lp *loop) bool { return untold(lp) && same(lp) },
			func(lp *loop) bool { return asking(lp) && same(lp) },
			untold,
		}, age
	case translate.LoopCall:
		return []func(*loop) bool{answered}, recency
	case translate.LoopIterationEnd:
		return []func(*loop) bool{l.ends(k)}, recency
	case translate.LoopError:
		return []func(*loop) bool{asking}, age
	case translate.LoopDone:
		done := func(lp *loop) bool { return lp.between && lp.sum == k.Sum && lp.sum != (translate.Tokens{}) }
		return []func(*loop) bool{done}, recency
	}
	return nil, nil
}

// ends is what fits the end of a request.
func (l *loops) ends(k *translate.Loop) func(*loop) bool {
	return func(lp *loop) bool {
		return !lp.asking && !lp.between && lp.iteration == k.Iteration && !l.busy(lp) && lp.announced == 0
	}
}

// goesOn reports whether a usage goes on from the sum of the agent.
func (l *loops) goesOn(lp *loop, k *translate.Loop) bool {
	return k.Sum != (translate.Tokens{}) && addTokens(lp.sum, k.Own) == k.Sum
}

// caller is the agent that announced a call first and is free to make it; nil when none did.
func (l *loops) caller(k *translate.Loop) *loop {
	since := func(lp *loop) int { return lp.since }
	free := func(lp *loop) bool { return lp.announced > 0 && (k.Launches || !l.busy(lp)) }
	if lp := l.first(free, since); lp != nil {
		return lp
	}
	return l.first(func(lp *loop) bool { return lp.announced > 0 }, since)
}

// busy reports whether a call of the agent runs.
func (l *loops) busy(lp *loop) bool {
	return lp.running > 0 || slices.ContainsFunc(l.launches, func(c launch) bool { return c.owner == lp && c.mate == "" })
}

func age(lp *loop) int     { return lp.at }
func recency(lp *loop) int { return -lp.at }

// first is the agent that fits with the smallest number.
func (l *loops) first(fits func(*loop) bool, number func(*loop) int) *loop {
	var best *loop
	for _, lp := range l.live {
		if fits(lp) && !lp.over && !l.teamed(lp) && (best == nil || number(lp) < number(best)) {
			best = lp
		}
	}
	return best
}

// loopSteps is what each kind of record changes.
var loopSteps = [...]func(*loops, *loop, *translate.Record){
	translate.LoopStarted:      (*loops).started,
	translate.LoopEnded:        (*loops).ended,
	translate.LoopFailed:       (*loops).ended,
	translate.LoopAnnounced:    (*loops).announced,
	translate.LoopIteration:    (*loops).iteration,
	translate.LoopIterationEnd: (*loops).iterationEnd,
	translate.LoopDelta:        (*loops).piece,
	translate.LoopThought:      (*loops).piece,
	translate.LoopText:         (*loops).whole,
	translate.LoopReasoning:    (*loops).whole,
	translate.LoopUsage:        (*loops).usage,
	translate.LoopCall:         (*loops).called,
	translate.LoopResult:       (*loops).returned,
	translate.LoopDone:         (*loops).done,
	translate.LoopMate:         (*loops).joined,
	translate.LoopRun:          (*loops).run,
	translate.LoopRunEnd:       (*loops).runEnd,
}

func (l *loops) started(lp *loop, rec *translate.Record) {
	ref, callID := lp.ref, lp.callID
	*lp = loop{ref: ref, callID: callID, progress: fresh}
	if lp == l.main || l.teamed(lp) {
		return
	}
	if !slices.Contains(l.live, lp) {
		l.live = append(l.live, lp) // it goes on after an end
	}
	rec.Task = &translate.Task{Kind: translate.TaskStarted, ID: ref.ID, CallID: callID, Type: agentTaskType}
}

// agentTaskType is the type of tasks that are agents.
const agentTaskType = "local_agent"

func (l *loops) ended(lp *loop, rec *translate.Record) {
	l.correct(lp, rec)
	if lp == l.main || l.teamed(lp) {
		return
	}
	lp.over = true
	rec.Task = &translate.Task{Kind: translate.TaskNotified, ID: lp.ref.ID, CallID: lp.callID, Type: agentTaskType, Status: "completed"}
	if rec.Loop.Kind == translate.LoopFailed {
		rec.Task.Status = "failed"
	}
}

// correct takes back that an answer was another agent's: of agents that ask at once, the one that goes on is
// the one that got an answer: the latest that no agent has gone on from.
func (l *loops) correct(lp *loop, rec *translate.Record) {
	if lp == l.main {
		return
	}
	if lp.asking {
		unclaimed := func(o *loop) bool {
			return o != l.main && !o.asking && !o.claimed && !l.busy(o) && o.iteration == lp.iteration
		}
		if o := l.first(unclaimed, func(o *loop) int { return -o.answered }); o != nil {
			lp.progress, o.progress = o.progress, lp.progress
			rec.Loop.Swaps = &o.ref
		}
	}
	lp.claimed = true
}

func (l *loops) announced(lp *loop, rec *translate.Record) {
	l.correct(lp, rec)
	if lp.announced++; lp.announced == 1 {
		lp.since = l.n
	}
}

func (l *loops) iteration(lp *loop, rec *translate.Record) {
	lp.iteration = rec.Loop.Iteration
	lp.asking, lp.between, lp.texted, lp.thought = true, false, false, false
	lp.text, lp.think, lp.announced, lp.running, lp.claimed = 0, 0, 0, 0, false
}

func (l *loops) iterationEnd(lp *loop, _ *translate.Record) {
	lp.between, lp.asking = true, false
}

func (l *loops) piece(lp *loop, rec *translate.Record) {
	if rec.Loop.Kind == translate.LoopThought {
		lp.think += rec.Loop.Bytes
	} else {
		lp.text += rec.Loop.Bytes
	}
}

func (l *loops) whole(lp *loop, rec *translate.Record) {
	if rec.Loop.Kind == translate.LoopReasoning {
		lp.thought = true
	} else {
		lp.texted = true
	}
}

func (l *loops) usage(lp *loop, rec *translate.Record) {
	lp.asking = false
	lp.sum = rec.Loop.Sum
	lp.answered = l.n
}

func (l *loops) called(lp *loop, rec *translate.Record) {
	k := rec.Loop
	if lp.announced > 0 {
		lp.announced--
		lp.since = l.n
	}
	if l.calls[k.CallID] != nil {
		return // the same call again
	}
	l.calls[k.CallID] = lp
	if k.Launches || k.Mate != "" {
		l.launches = append(l.launches, launch{callID: k.CallID, owner: lp, mate: k.Mate, background: k.Background})
	}
	if !k.Launches {
		lp.running++
	}
}

func (l *loops) returned(_ *loop, rec *translate.Record) {
	lp := l.calls[rec.Loop.CallID]
	if lp == nil {
		return
	}
	delete(l.calls, rec.Loop.CallID)
	i := slices.IndexFunc(l.launches, func(c launch) bool { return c.callID == rec.Loop.CallID })
	if i < 0 || l.launches[i].mate != "" {
		lp.running = max(0, lp.running-1)
	} else {
		l.relink(&l.launches[i], rec.Loop)
		if started := l.launches[i].started; started != nil {
			l.end(started)
		}
	}
	if i >= 0 && !l.launches[i].waits() {
		l.launches = slices.Delete(l.launches, i, i+1)
	}
}

// sameUse reports whether two sums tell the same; the cache is not always told.
func sameUse(a, b translate.Tokens) bool { return a.Input == b.Input && a.Output == b.Output }

// relink corrects which agent a call started: its result tells what that agent used.
func (l *loops) relink(c *launch, k *translate.Loop) {
	if c.started == nil || k.Sum == (translate.Tokens{}) || sameUse(c.started.sum, k.Sum) {
		return
	}
	for i := range l.launches {
		o := &l.launches[i]
		if o.owner != c.owner || o.started == nil || !o.started.counted || !sameUse(o.started.sum, k.Sum) {
			continue
		}
		a, b := c.started, o.started
		c.started, o.started = b, a
		a.callID, b.callID = b.callID, a.callID
		a.ref.Parent, b.ref.Parent = b.ref.Parent, a.ref.Parent
		k.Relink = o.callID
		return
	}
}

func (l *loops) done(lp *loop, rec *translate.Record) {
	lp.counted = sameUse(lp.sum, rec.Loop.Sum)
	if !l.teamed(lp) {
		l.end(lp)
	}
}

// joined notes under which id the hooks of a teammate come.
func (l *loops) joined(_ *loop, rec *translate.Record) {
	if k := rec.Loop; k.Agent != "" && k.Name != "" {
		l.ids[k.Agent] = &loop{ref: translate.AgentRef{Type: k.Name}}
	}
}

func (l *loops) run(lp *loop, rec *translate.Record) {
	rec.Task = &translate.Task{
		Kind: translate.TaskStarted, ID: lp.ref.ID, CallID: lp.callID, Type: agentTaskType, AgentType: lp.ref.Type,
		Background: translate.Some(lp.background), Again: l.runs[lp.ref.Type] > 1,
	}
}

func (l *loops) runEnd(lp *loop, rec *translate.Record) {
	rec.Task = &translate.Task{
		Kind: translate.TaskNotified, ID: lp.ref.ID, CallID: lp.callID, Type: agentTaskType, AgentType: lp.ref.Type,
		Status: "completed", Again: l.runs[lp.ref.Type] > 1,
	}
	if rec.Loop.Failed {
		rec.Task.Status = "failed"
	}
	l.end(lp)
}

// doubtful reports whether a usage may be of several agents: of a teammate, which the next record names, or
// of any that asks and has the sum that it goes on from.
func (l *loops) doubtful(rec *translate.Record) bool {
	k := rec.Loop
	if k.Kind != translate.LoopUsage || k.Name != "" || k.Agent != "" {
		return false
	}
	return len(l.mates) > 0 || l.rivals(k) > 1
}

func (l *loops) rivals(k *translate.Loop) (n int) {
	for _, lp := range l.live {
		if l.mayAnswer(lp, k) {
			n++
		}
	}
	return n
}

func (l *loops) mayAnswer(lp *loop, k *translate.Loop) bool {
	return lp.asking && !lp.over && !l.teamed(lp) && l.goesOn(lp, k)
}

// maxWaited bounds the records for which a usage waits.
const maxWaited = 64

// resolve finds whose a doubtful usage is: a teammate's if the next record repeats it in its name, else of
// the agent whose whole text, next call or end follows. known is true with a nil loop where nothing better
// than a guess will come.
func (l *loops) resolve(usage, next *translate.Record, waited int) (lp *loop, known bool) {
	if next == nil || next.Loop == nil {
		return nil, true
	}
	a, b := usage.Loop, next.Loop
	if b.Kind == translate.LoopUsage && b.Name != "" && a.Own == b.Own && a.Sum == b.Sum {
		a.Name = b.Name
		return nil, true
	}
	if waited > maxWaited || l.rivals(a) < 2 {
		return nil, true
	}
	switch b.Kind {
	case translate.LoopText:
		return l.answeredBy(a, func(lp *loop) bool { return lp.text == b.Bytes })
	case translate.LoopReasoning:
		return l.answeredBy(a, func(lp *loop) bool { return lp.think == b.Bytes })
	case translate.LoopAnnounced, translate.LoopEnded, translate.LoopFailed:
		return l.answeredBy(a, func(lp *loop) bool { return lp == l.ids[b.Agent] })
	case translate.LoopIterationEnd:
		return nil, b.Name == "" && l.first(l.ends(b), recency) == nil // it follows an answer, if not this one another
	case translate.LoopCall:
		return nil, b.Name == "" && l.caller(b) == nil
	}
	return nil, false
}

// answeredBy is the only agent that the usage may be of and that fits.
func (l *loops) answeredBy(usage *translate.Loop, fits func(*loop) bool) (found *loop, known bool) {
	for _, lp := range l.live {
		if l.mayAnswer(lp, usage) && fits(lp) {
			if found != nil {
				return nil, false
			}
			found = lp
		}
	}
	return found, found != nil
}
