// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"unicode/utf8"
)

// Saved is the stored form of a series.
type Saved struct {
	// Key is a hash of metric and labels, in hexadecimal digits. It is the same in every process.
	Key string
	// Value has the labels, what was counted and what was shown.
	Value []byte
}

// savedVersion is the first byte of a value.
const savedVersion = 1

// What stands in the flags of a value.
const (
	savedExt = 1 << iota
	savedSub
	savedMoved
	savedDirty
	savedFlags // none beyond
)

// Save gives the series that are not what the last Save said, in the order in which they are shown.
//
// Running totals that a Snapshot shows are to be saved before they are sent: else a process that ends in
// between is followed by one that shows what was shown before, and values fall. A window is saved as
// shown once it was Accepted: else a process that ends meanwhile takes with it what nobody took.
func (t *Totals) Save() []Saved {
	t.sort()
	var out []Saved
	for _, s := range t.order {
		if !s.unsaved {
			continue
		}
		s.unsaved = false
		if s.name == "" {
			s.name = s.key.hash()
		}
		out = append(out, Saved{Key: s.name, Value: s.save(t.opts.Delta)})
	}
	return out
}

// Accepted says that what the last Snapshot gave was accepted, or refused for good. Only windows need it.
func (t *Totals) Accepted() {
	if !t.opts.Delta {
		return
	}
	for _, s := range t.order {
		if s.end != s.takenEnd {
			s.take()
			s.unsaved = true // its next window starts where this one ended
		}
	}
}

func (s *series) take() {
	s.takenEnd = s.end
	s.taken.n, s.taken.sum, s.taken.last = s.sent.n, s.sent.sum, s.sent.last
	s.taken.buckets = append(s.taken.buckets[:0], s.sent.buckets...)
}

// Restore takes values that Save gave in another process, before the first step is added. It returns how
// many of them it cannot use. Series that are shown again begin with what they showed last.
func (t *Totals) Restore(values [][]byte) (bad int) {
	for _, v := range values {
		s, ok := load(v)
		switch {
		case !ok || t.series[s.key] != nil:
			bad++
		case s.key.in == inLegacyTokens && !t.opts.LegacyTokenUsage:
			// It is kept for the day when it is asked for again.
		default:
			t.put(s)
			t.known(&s.key)
			s.take()
			t.last = max(t.last, s.end)
		}
	}
	for _, s := range t.order {
		// What the last Snapshot showed may never have been sent: it is shown however long ago that was.
		s.moved = s.moved || s.end == t.last
	}
	return bad
}

// known has the limiters know the names of a restored series, also where there are more than they would
// let through now: what was shown goes on.
func (t *Totals) known(k *seriesKey) {
	t.models.know(k.model)
	t.tools.know(k.tool)
	t.errors.know(k.errType)
	if slices.Contains(instruments[k.in].labels, labelLimitType) {
		t.limits.know(k.value)
	}
}

// hash is the same for equal keys in every process and release: fields behind their lengths.
func (k *seriesKey) hash() string {
	sum := sha256.Sum256(k.append(nil))
	return hex.EncodeToString(sum[:16])
}

// append appends metric and labels. The metric has its name: numbers of instruments change from release to
// release.
func (k *seriesKey) append(b []byte) []byte {
	for _, f := range []string{instruments[k.in].name, k.agent, k.model, k.provider, k.tool, k.value, k.errType} {
		b = binary.AppendUvarint(b, uint64(len(f)))
		b = append(b, f...)
	}
	flags := byte(0)
	if k.ext {
		flags |= savedExt
	}
	if k.sub {
		flags |= savedSub
	}
	return append(b, flags)
}

// save is the stored form; of what was shown it has what was taken, if need be.
func (s *series) save(taken bool) []byte {
	shown, end := &s.sent, s.end
	if taken {
		shown, end = &s.taken, s.takenEnd
	}
	b := s.key.append([]byte{savedVersion})
	if s.moved {
		b[len(b)-1] |= savedMoved
	}
	if s.dirty {
		b[len(b)-1] |= savedDirty
	}
	b = binary.AppendVarint(b, s.movedAt)
	b = binary.AppendVarint(b, end)
	b = s.now.append(b, s.key.in)
	return shown.append(b, s.key.in)
}

// append appends what the instrument uses of a total.
func (a *total) append(b []byte, id instrumentID) []byte {
	in := &instruments[id]
	if in.kind == gauge {
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(a.last))
	}
	if in.kind == histogram || in.float {
		b = binary.LittleEndian.AppendUint64(b, a.sum.hi)
		b = binary.LittleEndian.AppendUint64(b, a.sum.lo)
	}
	if in.kind == histogram || !in.float {
		b = binary.AppendVarint(b, a.n)
	}
	for _, n := range a.buckets {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

func (a *total) equal(b *total) bool {
	return a.n == b.n && a.sum == b.sum && a.last == b.last && slices.Equal(a.buckets, b.buckets)
}

// load is the series of a value.
func load(v []byte) (*series, bool) {
	r := loader{rest: v, ok: true}
	if r.byte() != savedVersion {
		return nil, false
	}
	name := r.text()
	id := slices.IndexFunc(instruments[:], func(in instrument) bool { return in.name == name })
	if id < 0 {
		return nil, false
	}
	s := newSeries(seriesKey{
		in: instrumentID(id), agent: r.text(), model: r.text(), provider: r.text(), tool: r.text(), value: r.text(), errType: r.text(),
	})
	flags := r.byte()
	s.key.ext, s.key.sub = flags&savedExt != 0, flags&savedSub != 0
	s.moved, s.dirty = flags&savedMoved != 0, flags&savedDirty != 0
	s.movedAt, s.end = r.varint(), r.varint()
	r.total(&s.now, s.key.in)
	r.total(&s.sent, s.key.in)
	s.dirty = s.dirty || !s.now.equal(&s.sent)
	return s, r.ok && len(r.rest) == 0 && flags < savedFlags && s.sound()
}

// sound reports whether what was shown may come before what was counted.
func (s *series) sound() bool {
	switch instruments[s.key.in].kind {
	case gauge:
		return finite(s.now.last) && finite(s.sent.last)
	case balance:
		return true
	}
	a, b := &s.sent, &s.now
	for i := range a.buckets {
		if a.buckets[i] > b.buckets[i] {
			return false
		}
	}
	return a.n >= 0 && a.n <= b.n && (a.sum.hi < b.sum.hi || a.sum.hi == b.sum.hi && a.sum.lo <= b.sum.lo)
}

// loader reads a value. Once it is not ok, everything it gives is zero.
type loader struct {
	rest []byte
	ok   bool
}

// take takes n bytes, nil if there are not so many.
func (r *loader) take(n uint64) []byte {
	if !r.ok || n > uint64(len(r.rest)) {
		r.ok, r.rest = false, nil
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *loader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *loader) word() uint64 {
	if b := r.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *loader) uvarint() uint64 {
	n, size := binary.Uvarint(r.rest)
	if r.take(uint64(max(size, 0))); size <= 0 {
		r.ok = false
		return 0
	}
	return n
}

func (r *loader) varint() int64 {
	n := r.uvarint()
	return int64(n>>1) ^ -int64(n&1)
}

func (r *loader) text() string {
	b := r.take(r.uvarint())
	r.ok = r.ok && utf8.Valid(b)
	return string(b)
}

func (r *loader) total(a *total, id instrumentID) {
	in := &instruments[id]
	if in.kind == gauge {
		a.last = math.Float64frombits(r.word())
		return
	}
	if in.kind == histogram || in.float {
		a.sum = fixed{hi: r.word(), lo: r.word()}
	}
	if in.kind == histogram || !in.float {
		a.n = r.varint()
	}
	for i := range a.buckets {
		a.buckets[i] = r.uvarint()
	}
}
