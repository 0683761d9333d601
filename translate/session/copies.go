// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package session

import "github.com/otelcol-agents/otelcol-agents/translate"

// maxOwned bounds the ids that are known to be a session's: at least as many as this, at most twice as
// many are remembered, the oldest go first. A copy of a row that was forgotten counts as new.
const maxOwned = 1 << 20

// owners knows which session a record or a response belongs to, since forks and resumed sessions copy
// rows of others. An id belongs to the session that has it first; which one that is, the order of the
// sources decides (telemetry contract, ruling 25).
//
// A session may leave memory and be rebuilt from its sources: then it has its ids once more in its new life,
// while other sessions' copies of them stay copies.
type owners struct {
	young, old map[uint64]owner // by hash of the id
	numbers    map[uint64]uint32
	people     []person // by number; 0 is nobody
	free       []uint32
	learned    []Entry
}

// owner is a session by its number, in one of its lives.
type owner struct {
	n    uint32
	life uint16
}

// person is a session that owns ids.
type person struct {
	key  uint64
	s    *session // nil = not in memory
	life uint16
}

func newOwners() owners {
	return owners{young: map[uint64]owner{}, numbers: map[uint64]uint32{}, people: make([]person, 1)}
}

// number is what the session is called among the owners.
func (o *owners) number(key uint64) uint32 {
	n := o.numbers[key]
	if n != 0 {
		return n
	}
	if last := len(o.free) - 1; last >= 0 {
		n, o.free = o.free[last], o.free[:last]
		o.people[n] = person{key: key}
	} else {
		n = uint32(len(o.people))
		o.people = append(o.people, person{key: key})
	}
	o.numbers[key] = n
	return n
}

func (o *owners) enter(s *session) {
	s.number = o.number(s.key)
	p := &o.people[s.number]
	if s.memory.reborn {
		p.life++
	}
	p.s, s.life = s, p.life
}

// leave takes the session out of memory. Where nothing is remembered of it, it comes back as another one.
func (o *owners) leave(s *session, remembered bool) {
	o.people[s.number].s = nil
	if !remembered {
		delete(o.numbers, s.key)
	}
}

// find is the session that has the id; the zero owner is nobody.
func (o *owners) find(id uint64) owner {
	w, ok := o.young[id]
	if !ok {
		w = o.old[id]
	}
	return w
}

// own gives the id to the session, unless another one has it, and returns whose it was before; 0 = nobody's.
func (a *Assembler) own(s *session, id uint64) uint32 {
	o := &a.owners
	w := o.find(id)
	switch {
	case w.n == 0:
		a.give(id, owner{s.number, s.life})
		if a.remembers() {
			o.learned = append(o.learned, Entry{Kind: EntryOwner, ID: id, Session: s.key})
		}
	case w.n == s.number && s.memory.reborn && w.life != s.life:
		w.life = s.life
		if _, ok := o.young[id]; ok {
			o.young[id] = w
		} else {
			o.old[id] = w
		}
		return 0
	}
	return w.n
}

func (a *Assembler) give(id uint64, w owner) {
	o := &a.owners
	if len(o.young) >= maxOwned {
		o.young, o.old = make(map[uint64]owner), o.young
		a.forgetPeople(w.n)
	}
	o.young[id] = w
}

// forgetPeople gives up the numbers of sessions that own nothing any more, but for one that is about to.
func (a *Assembler) forgetPeople(but uint32) {
	o := &a.owners
	used := make([]bool, len(o.people))
	used[but] = true
	for _, w := range o.old {
		used[w.n] = true
	}
	for _, c := range a.registers.chunks {
		for i := range c {
			used[c[i].owner] = true
		}
	}
	for n := 1; n < len(o.people); n++ {
		p := &o.people[n]
		if used[n] || p.s != nil || p.key == 0 {
			continue
		}
		if o.numbers[p.key] == uint32(n) {
			delete(o.numbers, p.key)
		}
		*p = person{}
		o.free = append(o.free, uint32(n))
	}
}

// repeats takes a record that came before, in this session or another, out of the way. What its response
// says about usage still counts: copies may know more.
func (s *session) repeats(f *feed, rec *translate.Record) bool {
	owner := uint32(0)
	// What only proves that a response is being written is too much to be remembered. A request that is sent again
	// has it behind what came after it.
	if rec.Chunk != nil && rec.Chunk.Kind == translate.ChunkOther {
		return rec.Time != 0 && rec.Time < s.latest
	}
	if rec.UUID != "" {
		owner = s.a.own(s, hash(s.agent, rec.UUID))
	}
	known := owner != 0
	if rr := rec.Response; owner == 0 && identified(rr) {
		owner = s.a.own(s, hash("response", s.agent, rr.ID))
		if owner == s.number || s.a.owners.people[owner].s == nil && !s.a.remembers() {
			return false // one of several rows, perhaps of a session that made room and goes on
		}
	}
	from := s.a.owners.people[owner].s
	switch {
	case owner == 0:
		return false
	case owner != s.number && !f.transcript() && (from == nil || !from.transcribed):
		return false // only transcripts are copied into others
	case owner != s.number:
		s.copied(f, rec, from, s.a.owners.people[owner].key)
	case known:
		s.again(f, rec)
		s.recall(f, rec)
	}
	return true
}

// identified reports whether a response is the same wherever its id occurs.
func identified(rr *translate.Response) bool {
	return rr != nil && rr.ID != "" && !rr.Synthetic && !rr.Loose && !rr.PerTurn
}

// copied folds a row of another session: it says nothing new, but where this session comes from.
func (s *session) copied(f *feed, rec *translate.Record, from *session, key uint64) {
	f.copies = true
	s.facts(rec)
	if rr := rec.Response; rr != nil {
		for i := range rr.Blocks {
			if c := rr.Blocks[i].Call; c != nil {
				s.finished[hash(c.ID)] = struct{}{} // a result that follows is none without a call
			}
		}
	}
	if from != nil {
		from.again(f, rec)
	}
	if s.cur != nil && !s.cur.quiet {
		return
	}
	switch {
	case from != nil:
		s.forked, s.copyOf = from.segmentAt(rec.Time), copyRef{key, rec.Time}
	case s.a.remembers():
		s.forked, s.copyOf = nil, copyRef{key, rec.Time}
	}
}

// copyRef is where a row was copied from.
type copyRef struct {
	session uint64
	at      int64
}

// copyLink is the link to what a session that begins with copies goes on from, nil where nothing of that left.
func (s *session) copyLink() *translate.Link {
	g := s.forked
	if g == nil && s.copyOf.session != 0 {
		if from := s.a.keys[s.copyOf.session]; from != nil {
			g = from.segmentAt(s.copyOf.at)
		}
	}
	if g != nil {
		if !g.seen() {
			return nil
		}
		return g.rootRef(translate.LinkForkedFrom)
	}
	if s.copyOf.session == 0 || !s.a.remembers() {
		return nil
	}
	var found *SegmentRef
	refs := s.a.refs(s.copyOf.session)
	for i := range refs {
		if found == nil || refs[i].First <= s.copyOf.at {
			found = &refs[i]
		}
	}
	return found.link(translate.LinkForkedFrom)
}

// again takes over what a repeated row knows better about its response.
func (s *session) again(f *feed, rec *translate.Record) {
	if !identified(rec.Response) {
		return
	}
	resp := s.responses[rec.Response.ID]
	if resp == nil {
		return
	}
	rr := rec.Response
	resp.nameModel(rr.Model)
	if rr.StopReason != "" {
		resp.stop = rr.StopReason
	}
	if rr.Usage != nil {
		resp.has = true
		mergeUsage(&resp.usage, rr.Usage)
		if resp.source != f.running { // else it is of the turn in which that process told it first
			resp.seen(f.running)
		}
		s.a.count(resp)
	}
}

// segmentAt is the last segment that began at or before t.
func (s *session) segmentAt(t int64) *segment {
	for i := len(s.segs) - 1; i > 0; i-- {
		if s.segs[i].first <= t {
			return s.segs[i]
		}
	}
	if len(s.segs) == 0 {
		return nil
	}
	return s.segs[0]
}
