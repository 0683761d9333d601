// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

const (
	// leftInChunk is how many keys a value e/<session>/<n> holds.
	leftInChunk = chunkBytes / 8
	// maxLeftChunks is more than any session has; a key with a larger number is not ours.
	maxLeftChunks = 1 << 20
)

// Session is what is known of a session without looking into the store.
type Session struct {
	Agent, ID string
	Files     []FileID // that list it, in order; nil if none does; must not be changed
	Closed    bool
	Broken    bool
	Live      bool
	Due       int64
	Folded    int64
}

// head is a Session in memory. One that is not known is only named by a file.
type head struct {
	Session
	known   bool
	touched int64 // Unix nanoseconds, by the ledger's own clock
	chunks  int   // of its Left that were begun
	retired bool  // it is in Ledger.bare
}

// Session is what is known of a session; false if nothing is.
func (l *Ledger) Session(key uint64) (Session, bool) {
	h := l.heads[key]
	if h == nil || !h.known {
		return Session{}, false
	}
	return h.Session, true
}

// Sessions gives every session in the order of their keys. What is folded meanwhile may change what comes, and
// sessions that it begins do not come.
func (l *Ledger) Sessions() iter.Seq2[uint64, Session] {
	return func(yield func(uint64, Session) bool) {
		for _, key := range slices.Sorted(maps.Keys(l.heads)) {
			if h := l.heads[key]; h != nil && h.known && !yield(key, h.Session) {
				return
			}
		}
	}
}

func (l *Ledger) head(key uint64) *head {
	h := l.heads[key]
	if h == nil {
		h = new(head)
		l.heads[key] = h
	}
	return h
}

// know makes state what is known of the session.
func (l *Ledger) know(key uint64, state *session.State, touched int64) *head {
	h := l.head(key)
	if !h.known {
		h.known = true
		l.size.Add(1)
	}
	h.Agent, h.ID = l.intern(h.Agent, state.Agent), state.ID
	h.Closed, h.Broken, h.Live = state.Closed, state.Broken, state.Live
	h.Due, h.Folded, h.touched = state.Due, state.Folded, touched
	return h
}

// intern keeps one text of each agent's name.
func (l *Ledger) intern(before, agent string) string {
	if before == agent {
		return before
	}
	if same, ok := l.agents[agent]; ok {
		return same
	}
	l.agents[agent] = agent
	return agent
}

// Recall is what is remembered of a session, as it was last folded, committed or not; nil if nothing is.
// Left is sorted; Rebuild is left to the caller. What can no longer be read of it is counted in Damaged and
// forgotten.
func (l *Ledger) Recall(ctx context.Context, key uint64) (*session.Memory, error) {
	h := l.heads[key]
	if h == nil || !h.known {
		return nil, nil //nolint:nilnil // nothing is remembered, as session.Config.Recall wants it
	}
	value, err := l.get(ctx, stateKey(key))
	if err != nil {
		return nil, fmt.Errorf("recall session %016x: %w", key, err)
	}
	state, _, err := unsealState(value)
	if err != nil {
		l.damaged.Add(1)
		return nil, nil //nolint:nilnil // as above
	}
	m := &session.Memory{State: state}
	for n := range h.chunks {
		chunk := leftKey(key, n)
		value, err := l.get(ctx, chunk)
		if err != nil {
			return nil, fmt.Errorf("recall what left of session %016x: %w", key, err)
		}
		if value == nil {
			continue // was damaged once
		}
		body, left, err := unsealLeft(value, m.Left)
		if err != nil {
			l.damaged.Add(1)
			l.doomed = append(l.doomed, chunk)
			continue
		}
		m.Left = left
		if n == h.chunks-1 && len(body) < chunkBytes {
			l.tails.set(key, body) // it goes on growing
		}
	}
	slices.Sort(m.Left)
	m.Left = slices.Compact(m.Left)
	h.touched = l.now.Load()
	return m, nil
}

// foldChange appends what a change stores.
func (l *Ledger) foldChange(ops []Op, c *session.Change) []Op {
	now := l.now.Load()
	h := l.know(c.Key, &c.State, now)
	if len(c.Left) > 0 {
		ops = l.foldLeft(ops, h, c.Key, c.Left)
	}
	if h.Closed {
		l.tails.drop(c.Key)
	}
	return append(ops, Op{Key: stateKey(c.Key), Value: Seal(appendState(nil, &c.State, now))})
}

// foldLeft appends keys to the last chunk of the session if it is in memory, else to a new one.
func (l *Ledger) foldLeft(ops []Op, h *head, key uint64, left []uint64) []Op {
	tail, ok := l.tails.get(key)
	if !ok {
		h.chunks++
	}
	for {
		n := min(len(left), (chunkBytes-len(tail))/8)
		for _, id := range left[:n] {
			tail = appendFixed(tail, id)
		}
		ops = append(ops, Op{Key: leftKey(key, h.chunks-1), Value: Seal(tail)})
		if left = left[n:]; len(left) == 0 {
			break
		}
		tail = nil
		h.chunks++
	}
	if len(tail) == chunkBytes {
		l.tails.drop(key)
	} else {
		l.tails.set(key, tail)
	}
	return ops
}

func appendState(b []byte, s *session.State, touched int64) []byte {
	b = append(b, flag(s.Closed, stateClosed)|flag(s.Broken, stateBroken)|flag(s.Live, stateLive))
	b = appendString(b, s.Agent)
	b = appendString(b, s.ID)
	b = binary.AppendVarint(b, s.Folded)
	b = binary.AppendVarint(b, s.Due)
	b = binary.AppendVarint(b, touched)
	b = binary.AppendVarint(b, s.Since)
	for _, text := range []string{string(s.Format), s.Version, s.Model, s.Provider} {
		b = appendString(b, text)
	}
	b = binary.AppendUvarint(b, uint64(s.Segments)) //nolint:gosec // a number of segments
	b = binary.AppendUvarint(b, uint64(len(s.Breaks)))
	for _, at := range s.Breaks {
		b = binary.AppendVarint(appendFixed(b, at.Source), at.Rows)
	}
	b = binary.AppendUvarint(b, uint64(len(s.Refs)))
	for i := range s.Refs {
		ref := &s.Refs[i]
		b = append(b, flag(ref.Quiet, refQuiet)|flag(ref.Sent, refSent))
		b = binary.AppendVarint(b, ref.First)
		b = binary.AppendVarint(b, ref.Last)
		b = append(b, ref.Trace[:]...)
		b = append(b, ref.Root[:]...)
	}
	b = binary.AppendUvarint(b, uint64(len(s.Counted)))
	for i := range s.Counted {
		c := &s.Counted[i]
		b = appendFixed(b, c.Series)
		b = binary.AppendVarint(b, c.N)
		b = appendFloat(b, c.Value)
		b = appendTokens(b, &c.Tokens)
	}
	b = binary.AppendUvarint(b, uint64(len(s.Used)))
	for i := range s.Used {
		u := &s.Used[i]
		b = appendString(b, u.Label)
		b = appendTokens(appendTokens(appendTokens(b, &u.Responses), &u.Totals), &u.Out)
	}
	b = appendProcess(b, s.Process)
	b = binary.AppendUvarint(b, uint64(len(s.Hashes)))
	for _, list := range s.Hashes {
		b = appendFixeds(b, list)
	}
	return b
}

const (
	stateClosed = 1 << iota
	stateBroken
	stateLive

	refQuiet = 1
	refSent  = 2

	leastRef   = 1 + 1 + 1 + 16 + 8
	leastBreak = 8 + 1
	leastUse   = 1 + 3*tokenFields
	leastTotal = 1 + tokenFields + 8

	processTold  = 1
	processIndex = 2
	leastCounted = 8 + 1 + 8 + tokenFields
)

func decodeState(body []byte) (s session.State, touched int64, err error) {
	r := reader{b: body}
	flags := r.flags(stateClosed | stateBroken | stateLive)
	s.Closed, s.Broken, s.Live = flags&stateClosed != 0, flags&stateBroken != 0, flags&stateLive != 0
	s.Agent, s.ID = r.string(), r.string()
	s.Folded, s.Due, touched = r.varint(), r.varint(), r.varint()
	s.Since, s.Format = r.varint(), translate.Format(r.string())
	s.Version, s.Model, s.Provider = r.string(), r.string(), r.string()
	s.Segments = int(r.limited(math.MaxInt32)) //nolint:gosec // limited
	if n := r.count(leastBreak); n > 0 {
		s.Breaks = make([]session.Break, n)
		for i := range s.Breaks {
			s.Breaks[i] = session.Break{Source: r.fixed(), Rows: r.varint()}
		}
	}
	if n := r.count(leastRef); n > 0 {
		s.Refs = make([]session.SegmentRef, n)
		for i := range s.Refs {
			ref := &s.Refs[i]
			flags := r.flags(refQuiet | refSent)
			ref.Quiet, ref.Sent = flags&refQuiet != 0, flags&refSent != 0
			ref.First, ref.Last = r.varint(), r.varint()
			copy(ref.Trace[:], r.take(len(ref.Trace)))
			copy(ref.Root[:], r.take(len(ref.Root)))
		}
	}
	if n := r.count(leastCounted); n > 0 {
		s.Counted = make([]session.Counted, n)
		for i := range s.Counted {
			s.Counted[i] = session.Counted{Series: r.fixed(), N: r.varint(), Value: r.float(), Tokens: readTokens(&r)}
		}
	}
	if n := r.count(leastUse); n > 0 {
		s.Used = make([]session.ModelUse, n)
		for i := range s.Used {
			s.Used[i] = session.ModelUse{Label: r.string(), Responses: readTokens(&r), Totals: readTokens(&r), Out: readTokens(&r)}
		}
	}
	s.Process = readProcess(&r)
	if n := r.count(1); n > 0 {
		for range n {
			s.Hashes = append(s.Hashes, r.fixeds())
		}
	}
	if err := r.end(); err != nil {
		return session.State{}, 0, err
	}
	return s, touched, nil
}

func appendProcess(b []byte, p *session.ProcessTotals) []byte {
	if p == nil {
		return append(b, 0)
	}
	b = append(b, processTold|flag(p.Index.OK, processIndex))
	b = appendFloat(b, p.Cost)
	b = binary.AppendVarint(b, p.Index.V)
	b = binary.AppendUvarint(b, uint64(len(p.Models)))
	for i := range p.Models {
		m := &p.Models[i]
		b = appendFloat(appendTokens(appendString(b, m.Label), &m.Tokens), m.Cost)
	}
	return b
}

func readProcess(r *reader) *session.ProcessTotals {
	flags := r.flags(processTold | processIndex)
	if flags == 0 {
		return nil
	}
	p := &session.ProcessTotals{Cost: r.float(), Index: translate.Opt[int64]{V: r.varint(), OK: flags&processIndex != 0}}
	if n := r.count(leastTotal); n > 0 {
		p.Models = make([]session.ModelTotal, n)
		for i := range p.Models {
			p.Models[i] = session.ModelTotal{Label: r.string(), Tokens: readTokens(r), Cost: r.float()}
		}
	}
	return p
}

func unsealState(value []byte) (s session.State, touched int64, err error) {
	body, err := Unseal(value)
	if err != nil {
		return s, 0, err
	}
	return decodeState(body)
}

// unsealLeft appends the keys of a chunk to list.
func unsealLeft(value []byte, list []uint64) (body []byte, _ []uint64, err error) {
	body, err = Unseal(value)
	if err != nil {
		return nil, list, err
	}
	if len(body)%8 != 0 {
		return nil, list, errShort
	}
	r := reader{b: body}
	list = slices.Grow(list, len(body)/8)
	for len(r.b) > 0 {
		list = append(list, r.fixed())
	}
	return body, list, nil
}

// keptTails is how many growing chunks are kept at least, at most twice as many: a session that goes on and
// is not among them begins another chunk.
const keptTails = 1024

// tails are the growing chunks of the sessions that were folded last. What was not used while keptTails
// others were is forgotten.
type tails struct{ young, old map[uint64][]byte }

func (t *tails) get(key uint64) ([]byte, bool) {
	if body, ok := t.young[key]; ok {
		return body, true
	}
	body, ok := t.old[key]
	return body, ok
}

func (t *tails) set(key uint64, body []byte) {
	if t.young == nil || len(t.young) >= keptTails {
		t.young, t.old = map[uint64][]byte{}, t.young
	}
	delete(t.old, key)
	t.young[key] = body
}

func (t *tails) drop(key uint64) {
	delete(t.young, key)
	delete(t.old, key)
}
