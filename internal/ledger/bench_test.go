// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

// large is a store with 10,000 sessions of one file each and 1,000,000 entries.
func large(b *testing.B) Store {
	store := NewMemory()
	l := open(b, store, noon)
	require.NoError(b, l.Begin(b.Context(), nil))
	for i := range uint64(10_000) {
		c := session.Change{Key: i * 0x9e3779b97f4a7c15, State: session.State{
			Agent: "claude-code", ID: fmt.Sprintf("%08x-1111-2222-3333-444455556666", i), Closed: i%10 != 0, Segments: 1,
			Refs: make([]session.SegmentRef, 1), Counted: make([]session.Counted, 8), Folded: noon.UnixNano(),
		}, Left: upTo(300)}
		entries := make([]session.Entry, 100)
		for k := range entries {
			entries[k] = session.Entry{Kind: session.EntryOwner, ID: i*100 + uint64(k), Session: c.Key}
			if k%3 == 0 {
				entries[k].Kind = session.EntryUsage
				entries[k].Tokens = translate.Tokens{Input: 12, CacheRead: 34_567, CacheWrite: 890, Output: 1234}
				entries[k].Cost = 0.0123
			}
		}
		path := fmt.Sprintf("/home/somebody/.claude/projects/-home-somebody-work/%s.jsonl", c.State.ID)
		fold(b, l, toList(c), entries, file(FileID(i+1), path, c.Key))
	}
	return store
}

func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

func BenchmarkOpen(b *testing.B) {
	store := large(b)
	before := heap()
	b.ReportAllocs()
	for b.Loop() {
		l := open(b, store, noon)
		b.StopTimer()
		b.ReportMetric(heap()-before, "MB")
		n := 0
		for range l.Entries() {
			n++
		}
		require.Equal(b, 1_000_000, n)
		b.ReportMetric(heap()-before, "MB-without-entries")
		runtime.KeepAlive(l)
		b.StartTimer()
	}
}

// BenchmarkEntries hands over a million entries.
func BenchmarkEntries(b *testing.B) {
	store := large(b)
	for b.Loop() {
		b.StopTimer()
		l := open(b, store, noon)
		b.StartTimer()
		for e := range l.Entries() {
			_ = e
		}
	}
}

// BenchmarkCommit is what a live session costs with each batch: it, its file, and what it learned.
func BenchmarkCommit(b *testing.B) {
	l := open(b, NewMemory(), noon)
	c := session.Change{Key: 5, State: session.State{
		Agent: "claude-code", ID: "11111111-1111-2222-3333-444455556666", Segments: 1,
		Refs: make([]session.SegmentRef, 1), Counted: make([]session.Counted, 8), Folded: noon.UnixNano(),
	}}
	f := file(1, "/home/somebody/.claude/projects/-home-somebody-work/11111111-1111-2222-3333-444455556666.jsonl", 5)
	entries := owners(0, 3)
	id := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		id += 3
		c.Left = []uint64{id, id + 1, id + 2}
		f.Pos += 1000
		for i := range entries {
			entries[i].ID = id + uint64(i)
		}
		if err := l.Commit(b.Context(), l.Fold(slices.Clone(toList(c)), entries, f)); err != nil {
			b.Fatal(err)
		}
	}
}
