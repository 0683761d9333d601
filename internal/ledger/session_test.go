// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

func upTo(n uint64) []uint64 {
	var l []uint64
	for i := range n {
		l = append(l, i)
	}
	return l
}

func TestRecallUnknown(t *testing.T) {
	l := open(t, NewMemory(), noon)
	require.Nil(t, recall(t, l, 5))
	fold(t, l, nil, nil, file(1, "/a", 5))
	require.Nil(t, recall(t, l, 5), "it is only named by a file")
	_, ok := l.Session(5)
	require.False(t, ok)
	require.Empty(t, maps.Collect(l.Sessions()))
}

// TestRecallUncommitted remembers what was folded, whatever is committed of it.
func TestRecallUncommitted(t *testing.T) {
	store := &faulty{Store: NewMemory()}
	l := open(t, store, noon)
	first := l.Fold(toList(change(5, false, 3, 1)), nil)
	require.Equal(t, []uint64{1, 3}, recall(t, l, 5).Left)

	closed := change(5, true, 2)
	second := l.Fold(toList(closed), nil)
	want := &session.Memory{State: closed.State, Left: []uint64{1, 2, 3}}
	require.Equal(t, want, recall(t, l, 5))

	require.NoError(t, l.Commit(t.Context(), first))
	require.Equal(t, want, recall(t, l, 5), "the first is in the store, the second is not")
	require.Equal(t, []uint64{1, 3}, recall(t, open(t, store, noon), 5).Left, "as after a kill")

	store.batch = errDisk
	require.ErrorIs(t, l.Commit(t.Context(), second), errDisk)
	require.Equal(t, want, recall(t, l, 5))
	store.batch = nil
	require.NoError(t, l.Commit(t.Context(), second))
	require.Empty(t, l.overlay.values)
	require.Equal(t, want, recall(t, l, 5))
	require.Equal(t, want, recall(t, open(t, store, noon), 5))
}

// TestOverlayIsNotDeceived folds a session that becomes again what it was.
func TestOverlayIsNotDeceived(t *testing.T) {
	l := open(t, NewMemory(), noon)
	was := l.Fold(toList(change(5, false)), nil)
	between := l.Fold(toList(change(5, true)), nil)
	again := l.Fold(toList(change(5, false)), nil)
	require.Equal(t, was, again)
	for _, ops := range [][]Op{was, between, again} {
		require.NoError(t, l.Commit(t.Context(), ops))
		require.False(t, recall(t, l, 5).Closed)
	}
	require.Empty(t, l.overlay.values)
}

func TestRecallFails(t *testing.T) {
	store := &faulty{Store: NewMemory()}
	l := open(t, store, noon)
	fold(t, l, toList(change(5, false, 1)), nil)
	store.get = errDisk
	_, err := l.Recall(t.Context(), 5)
	require.ErrorIs(t, err, errDisk)
	require.ErrorContains(t, err, "recall session 0000000000000005: ")
}

// TestLeftGrows lets more leave than a chunk holds, bit by bit.
func TestLeftGrows(t *testing.T) {
	store := NewMemory()
	l := open(t, store, noon)
	want := upTo(leftInChunk*3 + 7)
	for part := range slices.Chunk(want, 100) {
		fold(t, l, toList(change(5, false, part...)), nil)
	}
	require.Equal(t, []string{leftKey(5, 0), leftKey(5, 1), leftKey(5, 2), leftKey(5, 3), stateKey(5), keyVersion}, keys(t, store))
	require.Equal(t, want, recall(t, l, 5).Left)
	require.Equal(t, want, recall(t, open(t, store, noon), 5).Left)
}

// TestLeftAtOnce lets several chunks leave in one change, also exactly full ones.
func TestLeftAtOnce(t *testing.T) {
	for _, n := range []uint64{1, leftInChunk - 1, leftInChunk, leftInChunk + 1, 3 * leftInChunk} {
		l := open(t, NewMemory(), noon)
		want := upTo(n)
		fold(t, l, toList(change(5, false, want...)), nil)
		require.Equal(t, want, recall(t, l, 5).Left)
		want = append(want, n)
		fold(t, l, toList(change(5, false, n)), nil)
		require.Equal(t, want, recall(t, l, 5).Left)
		require.Equal(t, int(n/leftInChunk)+1, l.heads[5].chunks)
	}
}

// TestLeftGoesOn appends to the last chunk after a Recall, and begins a new one without.
func TestLeftGoesOn(t *testing.T) {
	store := NewMemory()
	fold(t, open(t, store, noon), toList(change(5, false, 1)), nil)
	l := open(t, store, noon)
	recall(t, l, 5)
	fold(t, l, toList(change(5, false, 2)), nil)
	require.Equal(t, []string{leftKey(5, 0), stateKey(5), keyVersion}, keys(t, store))
	l = open(t, store, noon)
	fold(t, l, toList(change(5, false, 3)), nil)
	require.Equal(t, []string{leftKey(5, 0), leftKey(5, 1), stateKey(5), keyVersion}, keys(t, store))
	require.Equal(t, []uint64{1, 2, 3}, recall(t, l, 5).Left)
}

// TestRecallLeavesValuesAlone goes on from a value that is not committed.
func TestRecallLeavesValuesAlone(t *testing.T) {
	store := NewMemory()
	l := open(t, store, noon)
	first := l.Fold(toList(change(5, false, 1)), nil)
	recall(t, l, 5)
	second := l.Fold(toList(change(5, false, 2)), nil)
	require.NoError(t, l.Commit(t.Context(), first))
	require.Equal(t, []uint64{1}, recall(t, open(t, store, noon), 5).Left)
	require.NoError(t, l.Commit(t.Context(), second))
	require.Equal(t, []uint64{1, 2}, recall(t, open(t, store, noon), 5).Left)
}

// TestTails folds more sessions than tails are kept of.
func TestTails(t *testing.T) {
	l := open(t, NewMemory(), noon)
	for round := range uint64(2) {
		for key := range uint64(3 * keptTails) {
			fold(t, l, toList(change(key, false, round)), nil)
		}
	}
	require.LessOrEqual(t, len(l.tails.young)+len(l.tails.old), 2*keptTails)
	for key := range uint64(3 * keptTails) {
		require.Equal(t, []uint64{0, 1}, recall(t, l, key).Left)
	}
}

// TestSessionsWhileFolding folds and sweeps while it goes over the sessions, and stops before their end.
func TestSessionsWhileFolding(t *testing.T) {
	l := open(t, NewMemory(), noon)
	fold(t, l, toList(change(5, false), change(6, true), change(7, false)), nil)
	var got []uint64
	for key := range l.Sessions() {
		got = append(got, key)
		fold(t, l, toList(change(8, false)), nil)
		sweep(t, l, noon.Add(2*Horizon), nil)
	}
	require.Equal(t, []uint64{5, 7}, got)
	for key := range l.Sessions() {
		require.Equal(t, uint64(5), key)
		break
	}
}

// TestFilesOfSessions follows the sessions of files.
func TestFilesOfSessions(t *testing.T) {
	store := NewMemory()
	l := open(t, store, noon)
	files := func(key uint64) []FileID {
		s, _ := l.Session(key)
		other, _ := open(t, store, noon).Session(key)
		require.Equal(t, s.Files, other.Files)
		return s.Files
	}
	fold(t, l, toList(change(5, false), change(6, false)), nil, file(2, "/b", 5, 6), file(1, "/a", 5))
	given, _ := l.Session(5)
	require.Equal(t, []FileID{1, 2}, files(5))
	require.Equal(t, []FileID{2}, files(6))
	fold(t, l, nil, nil, file(2, "/b", 6))
	require.Equal(t, []FileID{1}, files(5))
	require.Equal(t, []FileID{1, 2}, given.Files, "what was given does not change")
	fold(t, l, nil, nil, file(2, "/b"))
	require.Empty(t, files(6))
	fold(t, l, nil, nil, file(2, "/b", 7))
	require.Contains(t, l.heads, uint64(7))
	fold(t, l, nil, nil, file(2, "/b"))
	require.NotContains(t, l.heads, uint64(7), "nothing names it any more")
}

// TestFileIsCopied folds a list that its owner goes on with.
func TestFileIsCopied(t *testing.T) {
	l := open(t, NewMemory(), noon)
	sessions := []uint64{5}
	fold(t, l, nil, nil, file(1, "/a", sessions...))
	sessions[0] = 6
	f, ok := l.File(1)
	require.True(t, ok)
	require.Equal(t, []uint64{5}, f.Sessions)
}

// TestSameAfterRestart folds at random, commits in part at random, restarts at random, and compares with
// what it did.
func TestSameAfterRestart(t *testing.T) {
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 5))
		store := NewMemory()
		l := open(t, store, noon)
		states, left := map[uint64]session.State{}, map[uint64]map[uint64]bool{}
		files := map[FileID]File{}
		var entries []session.Entry
		var pending []Op
		for step := range 300 {
			now := noon.Add(time.Duration(step) * time.Minute)
			pending = append(pending, l.Sweep(now, func(FileID) bool { return true })...)
			var changes []session.Change
			var learned []session.Entry
			var turned []File
			for range r.IntN(3) {
				c := session.Change{Key: r.Uint64N(6), State: randomState(r), Left: list(r, 200)}
				states[c.Key] = c.State
				for _, id := range c.Left {
					if left[c.Key] == nil {
						left[c.Key] = map[uint64]bool{}
					}
					left[c.Key][id] = true
				}
				changes = append(changes, c)
			}
			for range r.IntN(20) {
				learned = append(learned, randomEntry(r, 6))
			}
			for range r.IntN(3) {
				f := randomFile(r, FileID(1+r.Uint64N(5)))
				for i := range f.Sessions {
					f.Sessions[i] %= 8
				}
				slices.Sort(f.Sessions)
				f.Sessions = slices.Compact(f.Sessions)
				turned = append(turned, f)
				f.Seen = now.UnixNano()
				files[f.ID] = f
			}
			entries = append(entries, learned...)
			pending = append(pending, l.Fold(changes, learned, turned...)...)
			if r.IntN(3) == 0 {
				require.NoError(t, l.Commit(t.Context(), pending))
				pending = nil
			}
			if r.IntN(10) == 0 {
				require.NoError(t, l.Commit(t.Context(), pending))
				pending = nil
				if chance(r) {
					l = open(t, store, now)
				} else {
					l = open(t, backwards{store}, now)
				}
				require.Equal(t, entries, slices.Collect(l.Entries()))
				require.Empty(t, slices.Collect(l.Entries()))
			}
			for key, state := range states {
				if r.IntN(4) > 0 {
					continue
				}
				want := &session.Memory{State: state, Left: slices.Sorted(maps.Keys(left[key]))}
				require.Equal(t, want, recall(t, l, key))
			}
			require.EqualValues(t, len(states)+len(files)+len(entries), l.Size())
			heads := maps.Collect(l.Sessions())
			require.Len(t, heads, len(states))
			for key, head := range heads {
				s := states[key]
				var in []FileID
				for id, f := range files {
					if slices.Contains(f.Sessions, key) {
						in = append(in, id)
					}
				}
				slices.Sort(in)
				require.ElementsMatch(t, in, head.Files)
				require.True(t, slices.IsSorted(head.Files))
				head.Files = nil
				require.Equal(t, Session{Agent: s.Agent, ID: s.ID, Closed: s.Closed, Broken: s.Broken, Live: s.Live, Due: s.Due, Folded: s.Folded}, head)
			}
			for id, f := range files {
				got, ok := l.File(id)
				require.True(t, ok)
				require.Equal(t, f, got)
			}
		}
		require.Zero(t, l.Damaged())
	}
}
