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
type owners struct {
	young, old map[uint64]uint32 // by hash of the id: number of the session
	sessions   map[uint32]*session
	numbers    uint32
}

func newOwners() owners {
	return owners{young: map[uint64]uint32{}, sessions: map[uint32]*session{}}
}

func (o *owners) enter(s *session) {
	o.numbers++
	s.number = o.numbers
	o.sessions[s.number] = s
}

func (o *owners) leave(s *session) { delete(o.sessions, s.number) }

// find is the number of the session that has the id, 0 for none.
func (o *owners) find(id uint64) uint32 {
	n, ok := o.young[id]
	if !ok {
		n = o.old[id]
	}
	return n
}

// own gives the id to the session, unless another one has it, and returns whose it was before; 0 = nobody's.
func (o *owners) own(s *session, id uint64) uint32 {
	n := o.find(id)
	if n == 0 {
		if len(o.young) >= maxOwned {
			o.young, o.old = map[uint64]uint32{}, o.young
		}
		o.young[id] = s.number
	}
	return n
}

// repeats takes a record that came before, in this session or another, out of the way. What its response
// says about usage still counts: copies may know more.
func (s *session) repeats(f *feed, rec *translate.Record) bool {
	owner := uint32(0)
	if rec.UUID != "" && rec.Chunk == nil {
		owner = s.a.owners.own(s, hash(s.agent, rec.UUID))
	}
	known := owner != 0
	if rr := rec.Response; owner == 0 && identified(rr) {
		if owner = s.a.owners.own(s, hash("response", s.agent, rr.ID)); owner == s.number || s.a.owners.sessions[owner] == nil {
			return false // one of several rows, perhaps of a session that made room and goes on
		}
	}
	from := s.a.owners.sessions[owner]
	switch {
	case owner == 0:
		return false
	case owner != s.number && !f.transcript() && (from == nil || !from.transcribed):
		return false // only transcripts are copied into others
	case owner != s.number:
		s.copied(f, rec, from)
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
func (s *session) copied(f *feed, rec *translate.Record, from *session) {
	f.copies = true
	s.facts(rec)
	if rr := rec.Response; rr != nil {
		for i := range rr.Blocks {
			if c := rr.Blocks[i].Call; c != nil {
				s.finished[hash(c.ID)] = struct{}{} // a result that follows is none without a call
			}
		}
	}
	if from == nil {
		return // it is not in memory any more
	}
	from.again(f, rec)
	if s.cur == nil || s.cur.quiet {
		s.forked = from.segmentAt(rec.Time)
	}
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
		resp.seen(f.running)
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
