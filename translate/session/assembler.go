// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"container/list"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

// maxPending bounds the records that a source may hold before a session is known for them.
const maxPending = 64

// Assembler folds decoded units into outputs. It is not safe for concurrent use.
type Assembler struct {
	cfg       Config
	sessions  map[sessionKey]*session
	order     []*session          // in the order of their first record
	recent    list.List           // the same, the one that got a record last at the back
	now       int64               // see At
	looked    int64               // when Due looked at every session last; 0 = must at the next call
	idleAt    int64               // when the first of them is idle for too long
	dropped   map[uint64]struct{} // sessions that were closed to make room, where none is remembered
	keys      map[uint64]*session
	touched   []*session         // since Changes
	leftover  []*Change          // of sessions that left memory since then
	gone      map[uint64]*Change // the same
	silent    bool               // see Silent
	muted     bool               // what is folded now is
	rebuilt   int                // sessions that are being rebuilt
	resources map[translate.Resource]*translate.Resource
	registers registers
	lines     lines
	owners    owners
	waiting   int // rows that wait in sessions
	sources   int
	evicted   int // sessions that made room
	out       []translate.Output
}

type sessionKey struct{ agent, id string }

// New is an Assembler without sessions.
func New(cfg Config) *Assembler {
	return &Assembler{
		cfg:       cfg,
		sessions:  map[sessionKey]*session{},
		dropped:   map[uint64]struct{}{},
		keys:      map[uint64]*session{},
		gone:      map[uint64]*Change{},
		resources: map[translate.Resource]*translate.Resource{},
		registers: registers{m: map[registerKey]uint32{}},
		lines:     newLines(),
		owners:    newOwners(),
	}
}

// Source is one file, connection or request.
type Source struct {
	info    SourceInfo
	n       uint64
	feeds   map[*session]*feed
	list    []*feed // in the order of their first record
	session *session
	pending []translate.Decoded // before the first record that tells a session
	caller  *translate.Context
	sidecar *translate.Sidecar
	derived bool
	known   bool     // some record of the source told a time
	last    int64    // the latest one
	lineage *lineage // of rollouts
	of      *Source  // which it stands for
	mark    uint64   // hash of its first record
	rows    int64    // records so far
	fed     []uint64 // see Sessions
	// A process may go on in another session (/clear): its totals go on with it.
	inherit map[string]*running
}

// Open begins a source.
func (a *Assembler) Open(info SourceInfo) *Source {
	a.sources++
	return &Source{info: info, n: uint64(a.sources), feeds: map[*session]*feed{}, caller: info.Caller}
}

// Derive sets the id of the session if the source never names one. It counts until the first unit
// that has to know its session.
func (s *Source) Derive(id string) { s.info.Derived = id }

// Modified says when a growing file was last written, in Unix nanoseconds (see SourceInfo.ModTime).
func (s *Source) Modified(at int64) { s.info.ModTime = at }

// Step folds one decoded unit of the source.
func (a *Assembler) Step(src *Source, d *translate.Decoded) {
	rec := d.Record
	if rec != nil {
		rec.Silent = a.silent
	}
	if rec != nil && rec.Context != nil {
		src.caller = rec.Context
		return
	}
	if rec != nil && rec.Sidecar != nil {
		src.sidecar = rec.Sidecar
		return
	}
	if rec == nil {
		if src.session == nil {
			a.pend(src, d)
			return
		}
		src.feed(src.session).diagnostic(d.Diagnostic)
		return
	}
	a.breakAgain(src)
	src.count(rec)
	if rec.Rollout != nil && !a.place(src, rec) {
		return
	}
	a.fold(src, rec)
}

// fold hands a record to the session that it names.
func (a *Assembler) fold(src *Source, rec *translate.Record) {
	switch {
	case rec.Session != "":
		if src.derived && src.session != nil && src.session.derived {
			// The id came too late: spans under the derived one may be out (formats: session identity).
			src.session.lateID = rec.Session
		} else {
			a.enter(src, rec.Session, false)
		}
	case src.session == nil && !acts(rec) && len(src.pending) < maxPending:
		a.pend(src, &translate.Decoded{Record: rec})
		return
	case src.session == nil:
		a.enter(src, src.info.Derived, true)
	}
	src.feed(src.session).record(rec)
}

// acts reports whether a record may make a span final, so that its session must be known.
func acts(rec *translate.Record) bool {
	return rec.Response != nil && !rec.Response.Loose || rec.Terminal != nil || len(rec.Results) > 0
}

func (a *Assembler) pend(src *Source, d *translate.Decoded) {
	if len(src.pending) < maxPending {
		src.pending = append(src.pending, *d)
	}
}

// enter makes the session the source's current one and folds what waited for it.
func (a *Assembler) enter(src *Source, id string, derived bool) {
	if src.session != nil && src.session.id == id {
		return
	}
	key := sessionKey{src.info.Agent, id}
	s := a.sessions[key]
	if s == nil {
		s = a.add(key, src)
	}
	s.derived = s.derived || derived
	src.derived = src.derived || derived
	src.session = s
	waiting := src.pending
	src.pending = nil
	for i := range waiting {
		if waiting[i].Record != nil {
			src.feed(s).record(waiting[i].Record)
		} else {
			src.feed(s).diagnostic(waiting[i].Diagnostic)
		}
	}
}

// add makes a session, and room for it where there are too many.
func (a *Assembler) add(key sessionKey, src *Source) *session {
	for len(a.order) >= max(1, a.cfg.MaxSessions) {
		a.evict(a.recent.Front().Value.(*session))
	}
	s := newSession(a, key, src)
	_, s.goesOn = a.dropped[s.key]
	s.remember(a.recall(s.key))
	if c := a.gone[s.key]; c != nil { // it comes back before anyone was told that it left
		s.memory.left, c.Left = c.Left, nil
		a.leftover = slices.DeleteFunc(a.leftover, func(o *Change) bool { return o == c })
		delete(a.gone, s.key)
		s.touch()
	}
	a.sessions[key], a.keys[s.key] = s, s
	a.owners.enter(s)
	a.order = append(a.order, s)
	s.moved, s.place = a.now, a.recent.PushBack(s)
	return s
}

// evict closes a session to make room.
func (a *Assembler) evict(s *session) {
	a.unlist(s)
	if !s.rebuilding { // else it is not what it was
		for _, f := range s.feeds {
			f.end()
		}
		s.settleTimes()
		s.close()
	}
	a.leave(s)
	if !a.remembers() {
		a.dropped[s.key] = struct{}{}
	}
	a.evicted++
}

func (s *Source) feed(ses *session) *feed {
	f := s.feeds[ses]
	if f == nil {
		s.feedsInto(ses)
		f = &feed{src: s, s: ses, running: cmp.Or(s.inherit[ses.id], ses.handed)}
		if f.running == nil {
			f.running = &running{}
		}
		ses.handed = nil
		s.feeds[ses] = f
		s.list = append(s.list, f)
		ses.feeds = append(ses.feeds, f)
	}
	return f
}

// Release says that the source gives no more units, and that nothing follows from it: requests end, and
// their sessions go on in others.
func (a *Assembler) Release(src *Source) {
	a.finish(src)
	for _, f := range src.list {
		if src.info.Live {
			f.s.hand(f)
		}
	}
}

func (a *Assembler) finish(src *Source) {
	if src.session == nil && len(src.pending) > 0 {
		a.enter(src, src.info.Derived, true)
	}
	for _, f := range src.list {
		f.end()
	}
	for _, f := range src.list {
		f.s.settleTimes()
	}
	if src.info.Live { // many requests may feed one session
		for _, f := range src.list {
			f.s.sources = slices.DeleteFunc(f.s.sources, func(o *Source) bool { return o == src })
		}
	}
	if src.lineage != nil {
		src.lineage.ended = true
	}
	if len(a.lines.waiting) > 0 {
		a.release(true)
	}
}

// End says that the source gives no more units. What a live source alone was feeding is closed.
func (a *Assembler) End(src *Source) {
	a.finish(src)
	if !src.info.Live {
		return
	}
	for _, f := range src.list {
		if f.running.known {
			f.s.handed = f.running // a client whose connection broke goes on in another one
		}
		if !f.s.fed() {
			f.s.close()
			f.s.broken = true
			f.s.touch()
		}
	}
}

// Close closes every session: the end of all input.
func (a *Assembler) Close() {
	a.releaseAll()
	for _, s := range a.order {
		if s.rebuilding {
			continue // it is not what it was
		}
		for _, f := range s.feeds {
			f.end()
		}
		s.settleTimes()
		s.close()
	}
}

// At sets the time at which the following units are folded, in Unix nanoseconds. Only Due looks at it:
// times of spans come from records. Callers may stop this clock while they hold units back.
func (a *Assembler) At(now int64) { a.now = now }

// Due is At, and closes what that clock has made final: responses that have a stop reason, and sessions
// whose linger or idle timeout is over. A session waits as long as a source of it is behind. Sources
// that are neither live nor have SourceInfo.Behind are files that are read once: the end of the input
// closes their sessions.
func (a *Assembler) Due(now int64) {
	a.now = now
	a.release(false)
	a.expire(now)
	if since := now - a.looked; since >= 0 && since < int64(coldEvery) && now <= a.idleAt {
		a.dueLately(now)
		return
	}
	a.looked, a.idleAt = now, math.MaxInt64
	for _, s := range a.order {
		s.due(now)
		if at := s.folded + int64(a.cfg.IdleTimeout); at >= now {
			a.idleAt = min(a.idleAt, at)
		}
	}
}

// coldEvery is the time between two looks at sessions of which nothing came for so long that their linger is
// over: there may be thousands of them, and nothing but the idle timeout happens to them, when that is known.
const coldEvery = 2 * time.Second

// dueLately looks at the other sessions.
func (a *Assembler) dueLately(now int64) {
	warm := int64(a.cfg.Linger + 2*coldEvery)
	e := a.recent.Back()
	for e != nil && now-e.Value.(*session).moved <= warm {
		e = e.Prev()
	}
	if e == nil {
		e = a.recent.Front()
	} else {
		e = e.Next()
	}
	for e != nil {
		next := e.Next()
		e.Value.(*session).due(now)
		e = next
	}
}

// Sessions is the number of sessions in memory.
func (a *Assembler) Sessions() int { return len(a.order) }

// Evicted is the number of sessions that were closed to make room for others.
func (a *Assembler) Evicted() int { return a.evicted }

// Take gives what became final since the last Take, in order. The slice is the caller's.
func (a *Assembler) Take() []translate.Output {
	out := a.out
	a.out = nil
	return out
}

// resource gives the one Resource of an agent and version.
func (a *Assembler) resource(agent, version string) *translate.Resource {
	key := translate.Resource{Agent: agent, Version: version}
	r := a.resources[key]
	if r == nil {
		r = &key
		a.resources[key] = r
	}
	return r
}

// hasTerminal reports whether a format ends its turns with a record of their own (ruling 42).
func hasTerminal(f translate.Format) bool {
	return !strings.HasSuffix(string(f), "_transcript") && f != translate.FormatClineLegacy && f != translate.FormatCodexRollout
}

// tellsDenials reports whether terminal records may explain error results as denied (ruling 27).
func tellsDenials(f translate.Format) bool { return hasTerminal(f) && f != translate.FormatCline }

// ownRecords reports whether every record of a format is the agent's own, so that no session of it is a
// ghost (ruling 25).
func ownRecords(f translate.Format) bool {
	return f == translate.FormatCline || f == translate.FormatClineLegacy
}
