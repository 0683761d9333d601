// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"cmp"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

// Rows of a Codex rollout do not name their thread: its first row does. A forked thread's file, and that
// of a subagent that was given its parent's history, then repeat rows of the other thread. A subagent's
// thread belongs to the session of the thread that launched it, whose file may be read later.

const (
	// maxHeldRows bounds the rows that a source, and maxHeldTotal those that all sources, hold until the
	// thread is seen that launched theirs. Beyond that it is a session of its own.
	maxHeldRows  = 1 << 14
	maxHeldTotal = 1 << 16
	// inheritedWithin is how long it takes to write the rows that a thread inherits, for files whose turns
	// have no ids that tell it better: they are stamped anew, mostly within 50 ms.
	inheritedWithin = int64(time.Second)
)

// lineage is whose rows a source gives.
type lineage struct {
	thread   *translate.Thread
	began    int64 // when the thread began: what its ids tell, else its first row
	first    int64 // time of its first row
	inherits bool  // rows of another thread are being repeated
	own      bool  // a turn of its own was seen
	dated    bool  // the turns have ids that tell when they began
	held     []*translate.Record
	ended    bool  // the source gives no more
	since    int64 // when the first of those was held, by the clock of Assembler.At
}

// lines is where the threads of all sources belong.
type lines struct {
	homes   map[string]string   // thread → session
	alone   map[string]struct{} // subagents' threads that are sessions of their own
	far     map[uint64]uint64   // thread → session, by their hash and key: of earlier processes
	learned []Entry
	waiting []*Source // those that hold rows
	held    int
}

func newLines() lines {
	return lines{homes: map[string]string{}, alone: map[string]struct{}{}, far: map[uint64]uint64{}}
}

// place says in a rollout's row which session and agent it belongs to. It is false where that is not
// known yet: the row is held.
func (a *Assembler) place(src *Source, rec *translate.Record) bool {
	l := src.lineage
	if l == nil || len(l.held) > 0 && l.begins(rec.Rollout.Meta) {
		if l != nil {
			a.park(src)
		}
		l = &lineage{}
		src.lineage = l
	}
	l.follow(rec)
	if l.thread == nil {
		return true // nothing names the thread
	}
	if len(l.held) == 0 {
		if home, ok := a.home(src, l.thread); ok {
			a.put(src, l, rec, home)
			return true
		}
	}
	a.hold(src, rec)
	return false
}

// home is the session that a thread belongs to; ok is false while that is not known.
func (a *Assembler) home(src *Source, t *translate.Thread) (id string, ok bool) {
	if len(t.Parents) == 0 || a.alone(src.info.Agent, t.ID) {
		return t.ID, true
	}
	for _, p := range t.Parents {
		if home := a.homeOf(src.info.Agent, p); home != "" {
			return home, true
		}
		if a.sessions[sessionKey{src.info.Agent, p}] != nil {
			return p, true
		}
	}
	return "", false
}

// alone reports whether a subagent's thread is a session of its own.
func (a *Assembler) alone(agent, thread string) bool {
	if _, alone := a.lines.alone[thread]; alone {
		return true
	}
	return len(a.lines.far) > 0 && a.lines.far[aloneID(agent, thread)] != 0
}

// homeOf is the session that a thread belongs to, "" where that is not known.
func (a *Assembler) homeOf(agent, thread string) string {
	if home, ok := a.lines.homes[thread]; ok || len(a.lines.far) == 0 {
		return home
	}
	key, ok := a.lines.far[threadID(agent, thread)]
	switch {
	case !ok:
		return ""
	case key == Key(agent, thread):
		return thread
	case a.keys[key] != nil:
		return a.keys[key].id
	}
	if m := a.recall(key); m != nil {
		return m.ID
	}
	return ""
}

// threadID and aloneID are what entries of threads are known by: of those that have a home, and of those that
// were given up.
func threadID(agent, thread string) uint64 { return hash("thread", agent, thread) }
func aloneID(agent, thread string) uint64  { return hash("alone", agent, thread) }

// note remembers where a thread belongs.
func (a *Assembler) note(agent, thread, home string) {
	l := &a.lines
	if l.homes[thread] == home {
		return
	}
	l.note(thread, home)
	if a.remembers() {
		l.learn(threadID(agent, thread), Key(agent, home))
	}
}

// learn remembers an entry of a thread, and that it is to be told.
func (l *lines) learn(id, session uint64) {
	if l.far[id] == session {
		return
	}
	if len(l.far) >= 2*maxHomes {
		clear(l.far)
	}
	l.far[id] = session
	l.learned = append(l.learned, Entry{Kind: EntryThread, ID: id, Session: session})
}

func (a *Assembler) put(src *Source, l *lineage, rec *translate.Record, home string) {
	a.note(src.info.Agent, l.thread.ID, home)
	ro := rec.Rollout
	rec.Session = home
	if ro.Thread != "" && ro.Thread != l.thread.ID {
		ro.Inherited = true // a copy of what another thread's file tells
	}
	ro.Thread = l.thread.ID
	if home == l.thread.ID {
		return
	}
	rec.Agent = translate.AgentRef{ID: l.thread.ID, Type: l.thread.Type}
	// What the session as a whole is like, the main thread tells.
	ro.CWD, rec.CWD, rec.PermissionMode = rec.CWD, "", ""
}

// maxHomes bounds the threads that are remembered. Beyond it all are forgotten but those of sessions in
// memory, which are found by their own ids.
const maxHomes = 1 << 16

func (l *lines) note(thread, home string) {
	if len(l.homes) >= maxHomes {
		clear(l.homes)
	}
	if len(l.alone) >= maxHomes {
		clear(l.alone)
	}
	l.homes[thread] = home
}

// follow notes which thread the source is in, and marks what that has inherited.
func (l *lineage) follow(rec *translate.Record) {
	ro := rec.Rollout
	switch m := ro.Meta; {
	case m == nil:
		if l.thread == nil && ro.Thread != "" {
			l.thread = &translate.Thread{ID: ro.Thread}
		}
	case !l.begins(m):
		l.inherits = l.inherits || m.ID != l.thread.ID
		if l.inherits || l.first != 0 {
			ro.Meta = nil
		}
	default:
		*l = lineage{thread: m, first: rec.Time}
		l.began = instant(m, rec.Time)
		l.inherits = m.Forked != "" && !m.Shared || m.First.OK
		ro.Begun = l.began
		return
	}
	l.settle(rec)
	ro.Inherited = l.inherits && !(l.thread.Subagent && ro.Kind == translate.RolloutTotal)
}

// begins reports whether the row that names a thread is the first of that thread's, and not one that the
// source's thread has inherited.
func (l *lineage) begins(m *translate.Thread) bool {
	switch {
	case m == nil:
		return false
	case l.thread == nil:
		return true
	case m.ID == l.thread.ID, l.inherits:
		return false
	}
	return l.own || !slices.Contains(l.thread.Parents, m.ID)
}

// settle notes where the inherited rows end.
func (l *lineage) settle(rec *translate.Record) {
	ro := rec.Rollout
	if l.thread == nil {
		return
	}
	own := false
	switch at, dated := uuidTime(ro.Turn); {
	case l.thread.First.OK && ro.Ordinal.OK:
		own = ro.Ordinal.V >= l.thread.First.V
	case dated:
		own = at >= l.began/int64(time.Millisecond)
		l.dated = true
	default:
		own = !l.dated && rec.Time > l.first+inheritedWithin
	}
	if own {
		l.inherits = false
		l.own = l.own || ro.Turn != ""
	}
}

// instant is when a thread began, in whole milliseconds.
func instant(m *translate.Thread, first int64) int64 {
	at := first
	if m.Begun != 0 && (at == 0 || m.Begun < at) {
		at = m.Begun
	}
	if ms, ok := uuidTime(m.ID); ok && (at == 0 || ms*int64(time.Millisecond) < at) {
		at = ms * int64(time.Millisecond)
	}
	return at
}

// uuidTime is the time in a UUID of version 7, in milliseconds.
func uuidTime(id string) (ms int64, ok bool) {
	if len(id) != 36 || id[14] != '7' {
		return 0, false
	}
	b, err := hex.DecodeString(strings.ReplaceAll(id[:13], "-", ""))
	if err != nil {
		return 0, false
	}
	for _, c := range b {
		ms = ms<<8 | int64(c)
	}
	return ms, true
}

func (a *Assembler) hold(src *Source, rec *translate.Record) {
	l := src.lineage
	if len(l.held) == 0 {
		l.since = a.now
		a.lines.waiting = append(a.lines.waiting, src)
	}
	l.held = append(l.held, rec)
	a.lines.held++
	if len(l.held) > maxHeldRows || a.lines.held > maxHeldTotal {
		a.giveUp(src)
	}
}

// park lets the source go on with another thread while the rows of its own still wait.
func (a *Assembler) park(src *Source) {
	waits := a.Open(src.info)
	waits.of = src.origin()
	waits.caller, waits.lineage = src.caller, src.lineage
	waits.lineage.ended = true
	a.lines.waiting[slices.Index(a.lines.waiting, src)] = waits
}

// giveUp makes the thread of a source a session of its own.
func (a *Assembler) giveUp(src *Source) {
	id, agent := src.lineage.thread.ID, src.info.Agent
	a.lines.alone[id] = struct{}{}
	if a.remembers() {
		a.lines.learn(aloneID(agent, id), Key(agent, id))
	}
	src.lineage.thread.Parents = nil
	a.letGo(src)
}

// letGo folds what the source holds.
func (a *Assembler) letGo(src *Source) {
	l := src.lineage
	held := l.held
	l.held = nil
	a.lines.held -= len(held)
	a.lines.waiting = slices.DeleteFunc(a.lines.waiting, func(s *Source) bool { return s == src })
	home, _ := a.home(src, l.thread)
	for _, rec := range held {
		a.put(src, l, rec, home)
		a.fold(src, rec)
	}
	if l.ended {
		a.finish(src)
	}
}

// release folds the rows of threads that waited for the one that was seen now. Its segments must reach
// up to their time, unless nothing more of it is to come.
func (a *Assembler) release(over bool) {
	for i := 0; i < len(a.lines.waiting); {
		src := a.lines.waiting[i]
		home, ok := a.home(src, src.lineage.thread)
		s := a.sessions[sessionKey{src.info.Agent, home}]
		if !ok || s == nil || !over && s.latest < src.lineage.held[0].Time {
			i++
			continue
		}
		a.letGo(src)
		i = 0
	}
}

// releaseAll folds what is held although the parents never came: the end of all input.
func (a *Assembler) releaseAll() {
	for a.release(true); len(a.lines.waiting) > 0; a.release(true) {
		a.giveUp(a.orphan())
	}
}

// orphan is the waiting source whose thread no other waiting one has launched; the earliest of several.
func (a *Assembler) orphan() *Source {
	waits := map[string]bool{}
	for _, src := range a.lines.waiting {
		waits[src.lineage.thread.ID] = true
	}
	var best *Source
	better := func(x, y *Source) bool {
		l, o := x.lineage, y.lineage
		child := func(l *lineage) int {
			if slices.ContainsFunc(l.thread.Parents, func(p string) bool { return waits[p] }) {
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(child(l), child(o)), cmp.Compare(l.first, o.first), strings.Compare(l.thread.ID, o.thread.ID)) < 0
	}
	for _, src := range a.lines.waiting {
		if best == nil || better(src, best) {
			best = src
		}
	}
	return best
}

// expire gives up waiting for threads that did not show up within the idle timeout.
func (a *Assembler) expire(now int64) {
	for _, src := range slices.Clone(a.lines.waiting) {
		if len(src.lineage.held) > 0 && now-src.lineage.since > int64(a.cfg.IdleTimeout) {
			a.giveUp(src)
		}
	}
}
