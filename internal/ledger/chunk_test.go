// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

func owners(from, to uint64) []session.Entry {
	var l []session.Entry
	for id := from; id < to; id++ {
		l = append(l, session.Entry{Kind: session.EntryOwner, ID: id, Session: id / 100})
	}
	return l
}

func entryKeys(t testing.TB, store Store) []string {
	return slices.DeleteFunc(keys(t, store), func(key string) bool { return !strings.HasPrefix(key, prefixEntry) })
}

// TestChunksGrow rewrites the last chunk until it is full.
func TestChunksGrow(t *testing.T) {
	store := NewMemory()
	l := open(t, store, noon)
	r := rand.New(rand.NewPCG(6, 7))
	var want []session.Entry
	for range 300 {
		var some []session.Entry
		for range 1 + r.IntN(5) {
			some = append(some, randomEntry(r, 5))
		}
		want = append(want, some...)
		ops := l.Fold(nil, some)
		require.LessOrEqual(t, len(ops), 2)
		require.NoError(t, l.Commit(t.Context(), ops))
	}
	all := entryKeys(t, store)
	require.Greater(t, len(all), 3)
	for i, key := range all {
		value, err := store.Get(t.Context(), key)
		require.NoError(t, err)
		require.LessOrEqual(t, len(value), chunkBytes+sealBytes)
		require.True(t, i == len(all)-1 || len(value) > chunkBytes-2*mostEntry, "%d bytes", len(value))
	}
	l = open(t, store, noon)
	fold(t, l, nil, owners(1, 2))
	require.Equal(t, all, entryKeys(t, store), "the last chunk goes on after a restart")
	want = append(want, owners(1, 2)...)
	require.Equal(t, want, slices.Collect(open(t, store, noon).Entries()))
}

// TestManyEntriesAtOnce fills several chunks in one turn.
func TestManyEntriesAtOnce(t *testing.T) {
	store := NewMemory()
	fold(t, open(t, store, noon), nil, owners(0, 5000))
	require.Equal(t, owners(0, 5000), slices.Collect(open(t, store, noon).Entries()))
}

func TestHorizon(t *testing.T) {
	store := NewMemory()
	l := open(t, store, noon)
	for d := range uint64(3) {
		sweep(t, l, noon.Add(time.Duration(d)*day), nil)
		fold(t, l, nil, owners(10*d, 10*d+10))
	}
	require.Len(t, entryKeys(t, store), 3, "a chunk a day")
	require.EqualValues(t, 30, l.Size())

	l = open(t, store, noon.Add(Horizon))
	require.Equal(t, owners(0, 30), slices.Collect(l.Entries()))

	l = open(t, store, noon.Add(Horizon+day))
	require.Equal(t, owners(10, 30), slices.Collect(l.Entries()))
	require.EqualValues(t, 20, l.Size())
	require.Len(t, entryKeys(t, store), 3)
	sweep(t, l, noon.Add(Horizon+day), nil)
	require.Len(t, entryKeys(t, store), 2)

	sweep(t, l, noon.Add(Horizon+2*day), nil)
	require.EqualValues(t, 10, l.Size())
	sweep(t, l, noon.Add(Horizon+3*day), nil)
	require.Zero(t, l.Size())
	require.Empty(t, entryKeys(t, store))
	fold(t, l, nil, owners(50, 51))
	require.Equal(t, owners(50, 51), slices.Collect(open(t, store, noon.Add(Horizon+3*day)).Entries()))
}

// TestClockBack learns when the clock was set back.
func TestClockBack(t *testing.T) {
	store := NewMemory()
	fold(t, open(t, store, noon), nil, owners(0, 10))
	fold(t, open(t, store, noon.Add(-3*day)), nil, owners(10, 20))
	require.Equal(t, owners(0, 20), slices.Collect(open(t, store, noon).Entries()))
	l := open(t, store, noon.Add(Horizon))
	require.Equal(t, owners(0, 10), slices.Collect(l.Entries()))
}

func TestCap(t *testing.T) {
	store := NewMemory()
	l := open(t, store, noon)
	const step = 1 << 16
	for from := uint64(0); from < MaxEntries+2*step; from += step {
		fold(t, l, nil, owners(from, from+step))
		require.LessOrEqual(t, l.Size(), int64(MaxEntries))
	}
	got := slices.Collect(open(t, store, noon).Entries())
	require.Len(t, got, int(l.Size()))
	require.Greater(t, len(got), MaxEntries-1000)
	require.Equal(t, uint64(MaxEntries+2*step-1), got[len(got)-1].ID, "the newest are kept")
	require.Len(t, entryKeys(t, store), len(l.chunks.list))
}

// TestEntriesStopped does not give anything twice.
func TestEntriesStopped(t *testing.T) {
	store := NewMemory()
	fold(t, open(t, store, noon), nil, owners(0, 2000))
	l := open(t, store, noon)
	for e := range l.Entries() {
		require.Zero(t, e.ID)
		break
	}
	for e := range l.Entries() {
		require.NotZero(t, e.ID)
	}
}
