// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

func all(FileID) bool { return true }

func TestSweepFiles(t *testing.T) {
	store := NewMemory()
	l := open(t, store, noon)
	fold(t, l, toList(change(5, true, 1), change(6, true, 1), change(7, false)), nil,
		file(1, "/a", 5), file(2, "/b", 6, 7), file(3, "/c"))
	_, known := l.Claim("/c", 1, 3)
	require.True(t, known)
	tracked := func(id FileID) bool { return id == 1 }

	require.Zero(t, sweep(t, l, noon.Add(day-time.Hour), tracked), "nothing is to be told")
	require.Equal(t, 2, sweep(t, l, noon.Add(day), tracked), "1 and 3 were seen")
	require.Zero(t, sweep(t, l, noon.Add(day+time.Hour), tracked))
	seen, _ := open(t, store, noon).File(3)
	require.Equal(t, noon.Add(day).UnixNano(), seen.Seen)

	sweep(t, l, noon.Add(Horizon), tracked)
	_, there := l.File(2)
	require.True(t, there)
	require.EqualValues(t, 6, l.Size())

	sweep(t, l, noon.Add(Horizon+time.Hour), tracked)
	require.EqualValues(t, 4, l.Size())
	for _, l := range []*Ledger{l, open(t, store, noon)} {
		_, there = l.File(2)
		require.False(t, there)
		require.NotNil(t, recall(t, l, 5), "a file that is there feeds it")
		require.Nil(t, recall(t, l, 6), "closed, and fed by nothing")
		require.NotNil(t, recall(t, l, 7), "open")
		s, _ := l.Session(7)
		require.Empty(t, s.Files)
	}
	require.NotContains(t, keys(t, store), leftKey(6, 0))
	require.Contains(t, keys(t, store), leftKey(5, 0))
}

// TestSweepSessionAgain begins a session anew that was forgotten a moment ago.
func TestSweepSessionAgain(t *testing.T) {
	store := NewMemory()
	l := open(t, store, noon)
	fold(t, l, toList(change(5, true, upTo(2*leftInChunk)...)), nil)
	late := noon.Add(Horizon + time.Hour)
	ops := l.Sweep(late, all)
	require.Len(t, ops, 3)
	require.Nil(t, recall(t, l, 5))
	ops = append(ops, l.Fold(toList(change(5, false, 7)), nil)...)
	require.Equal(t, []uint64{7}, recall(t, l, 5).Left)
	require.NoError(t, l.Commit(t.Context(), ops))
	require.Equal(t, []uint64{7}, recall(t, open(t, store, late), 5).Left)
	require.Equal(t, []string{leftKey(5, 0), stateKey(5), keyVersion}, keys(t, store))
}

// TestSweepRecalled keeps a session that somebody has asked for.
func TestSweepRecalled(t *testing.T) {
	store := NewMemory()
	fold(t, open(t, store, noon), toList(change(5, true)), nil)
	late := noon.Add(Horizon + time.Hour)
	l := open(t, store, late)
	recall(t, l, 5)
	require.Zero(t, sweep(t, l, late, all))
	require.NotNil(t, recall(t, l, 5))
}

// TestSweepBounded needs several calls for much, and comes to everything.
func TestSweepBounded(t *testing.T) {
	store := NewMemory()
	l := open(t, store, noon)
	const n = 2500
	var changes []session.Change
	var files []File
	for i := range uint64(n) {
		changes = append(changes, change(i, true, i))
		files = append(files, file(FileID(i+1), "/a"))
	}
	fold(t, l, changes, nil, files...)
	for d := range 40 {
		l.Sweep(noon.Add(time.Duration(d)*day), nil)
		fold(t, l, nil, owners(0, 1))
		if d > 20 {
			break
		}
	}
	late := noon.Add(3 * Horizon)
	calls := 0
	for l.Size() > 0 {
		require.LessOrEqual(t, sweep(t, l, late, nil), sweepKeys+2)
		calls++
		require.Less(t, calls, 20)
	}
	require.Greater(t, calls, 5)
	require.Equal(t, []string{keyVersion}, keys(t, store))
}

// TestSweepBeforeBegin does not write v, which Begin is about to write.
func TestSweepBeforeBegin(t *testing.T) {
	store := NewMemory()
	l := open(t, store, noon)
	fold(t, l, nil, nil, file(1, "/a"))
	late := noon.Add(2 * Horizon)
	ops := l.Sweep(late, nil)
	require.Equal(t, []Op{{Key: fileKey(1)}}, ops)
	require.NoError(t, l.Begin(t.Context(), nil))
	require.NoError(t, l.Commit(t.Context(), ops))
	require.False(t, open(t, store, late).First())
}

// Sessions that no file names can come in any number: the oldest closed ones are forgotten, open ones and those of
// files are not.
func TestBareSessionsAreBounded(t *testing.T) {
	store := NewMemory()
	l, err := Open(t.Context(), store, time.Unix(1, 0))
	require.NoError(t, err)
	state := func(id string, closed bool) session.State {
		return session.State{Agent: "a", ID: id, Closed: closed, Live: true, Segments: 1}
	}
	commit := func(ops []Op) { require.NoError(t, l.Commit(t.Context(), ops)) }
	commit(l.Fold([]session.Change{{Key: 1, State: state("open", false), Left: []uint64{7}}, {Key: 2, State: state("file", true)}}, nil,
		File{Progress: Progress{ID: 9, Path: "/f"}, Sessions: []uint64{2}}))
	for key := uint64(10); key < 10+MaxBare+100; key++ {
		commit(l.Fold([]session.Change{{Key: key, State: state("s", true), Left: []uint64{key}}}, nil))
	}
	again, err := Open(t.Context(), store, time.Unix(2, 0))
	require.NoError(t, err)
	n := 0
	for range again.Sessions() {
		n++
	}
	assert.Equal(t, MaxBare+2, n)
	for key, there := range map[uint64]bool{1: true, 2: true, 10: false, 109: false, 110: true} {
		_, known := again.Session(key)
		assert.Equal(t, there, known, "session %d", key)
	}
}
