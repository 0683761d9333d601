// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func open(t testing.TB, store Store, now time.Time) *Ledger {
	t.Helper()
	l, err := Open(t.Context(), store, now)
	require.NoError(t, err)
	return l
}

func TestFirstStart(t *testing.T) {
	store := NewMemory()
	l := open(t, store, noon)
	require.True(t, l.First())
	p, known := l.Claim("/a", 1, 2)
	require.False(t, known)
	require.Equal(t, Progress{ID: 1, Path: "/a", Device: 1, Inode: 2}, p)
	p.Pos, p.Start = 7, 7
	require.NoError(t, l.Begin(t.Context(), []Progress{p}))
	require.False(t, l.First())
	require.NoError(t, l.Commit(t.Context(), l.Fold([]session.Change{{Key: 5, State: session.State{ID: "x"}, Left: []uint64{3, 1}}}, nil,
		File{Progress: p, Sessions: []uint64{5}})))

	l = open(t, store, noon.Add(time.Hour))
	require.False(t, l.First())
	require.Equal(t, noon.UnixNano(), l.Start())
	again, known := l.Claim("/a", 1, 2)
	require.True(t, known)
	require.Equal(t, p, again)
	m, err := l.Recall(t.Context(), 5)
	require.NoError(t, err)
	require.Equal(t, &session.Memory{State: session.State{ID: "x"}, Left: []uint64{1, 3}}, m)
	s, ok := l.Session(5)
	require.True(t, ok)
	require.Equal(t, []FileID{1}, s.Files)
}
