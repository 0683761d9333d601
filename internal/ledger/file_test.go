// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestClaim asks for files in a ledger that knows some.
func TestClaim(t *testing.T) {
	type ask struct {
		path          string
		device, inode uint64
		id            FileID
		known         bool
		unclaim       FileID // before
	}
	progress := func(id FileID, path string, device, inode uint64) File {
		return File{Progress: Progress{ID: id, Path: path, Device: device, Inode: inode, Pos: 100}}
	}
	tests := map[string]struct {
		known []File
		asks  []ask
	}{
		"unknown": {asks: []ask{{"/a", 1, 1, 1, false, 0}, {"/b", 1, 2, 2, false, 0}}},
		"the same": {[]File{progress(1, "/a", 1, 1), progress(2, "/b", 1, 2)}, []ask{
			{"/b", 1, 2, 2, true, 0},
			{"/a", 1, 1, 1, true, 0},
		}},
		"renamed":                   {[]File{progress(1, "/a", 1, 1)}, []ask{{"/b", 1, 1, 1, true, 0}}},
		"replaced under its name":   {[]File{progress(1, "/a", 1, 1)}, []ask{{"/a", 1, 9, 1, true, 0}}},
		"the same inode, elsewhere": {[]File{progress(1, "/a", 1, 1)}, []ask{{"/b", 2, 1, 2, false, 0}}},
		"renamed, and a new one under the name": {[]File{progress(1, "/a", 1, 1)}, []ask{
			{"/b", 1, 1, 1, true, 0},
			{"/a", 1, 2, 2, false, 0},
		}},
		"renamed, and the new one asks first": {[]File{progress(1, "/a", 1, 1)}, []ask{
			{"/a", 1, 2, 1, true, 0},
			{"/b", 1, 1, 2, false, 0},
		}},
		"the new one asks first and lets go": {[]File{progress(1, "/a", 1, 1)}, []ask{
			{"/a", 1, 2, 1, true, 0},
			{"/b", 1, 1, 1, true, 1},
			{"/a", 1, 2, 2, false, 0},
		}},
		"claimed already":                        {[]File{progress(1, "/a", 1, 1)}, []ask{{"/a", 1, 1, 1, true, 0}, {"/a", 1, 1, 2, false, 0}}},
		"claimed and let go":                     {[]File{progress(1, "/a", 1, 1)}, []ask{{"/a", 1, 1, 1, true, 0}, {"/a", 1, 1, 1, true, 1}}},
		"nothing came of it":                     {nil, []ask{{"/a", 1, 1, 1, false, 0}, {"/a", 1, 1, 2, false, 1}}},
		"no numbers":                             {[]File{progress(1, "/a", 0, 0)}, []ask{{"/b", 0, 0, 2, false, 0}, {"/a", 0, 0, 1, true, 0}}},
		"inode 0 of some device":                 {[]File{progress(1, "/a", 7, 0)}, []ask{{"/b", 7, 0, 1, true, 0}}},
		"two of one name, that with the numbers": {[]File{progress(1, "/a", 1, 1), progress(2, "/a", 1, 2)}, []ask{{"/a", 1, 1, 1, true, 0}}},
		"two of one name, the youngest":          {[]File{progress(1, "/a", 1, 1), progress(2, "/a", 1, 2)}, []ask{{"/a", 1, 3, 2, true, 0}}},
		"two of one name and numbers":            {[]File{progress(1, "/a", 1, 1), progress(2, "/a", 1, 1)}, []ask{{"/a", 1, 1, 2, true, 0}}},
		"the number of a file whose name another has": {[]File{progress(1, "/a", 1, 1), progress(2, "/a", 1, 2)}, []ask{
			{"/a", 1, 2, 2, true, 0},
			{"/b", 1, 1, 3, false, 0},
		}},
		"never a number below the largest": {[]File{progress(7, "/a", 1, 1)}, []ask{{"/b", 1, 2, 8, false, 0}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			store := NewMemory()
			fold(t, open(t, store, noon), nil, nil, tt.known...)
			l := open(t, store, noon)
			for i, a := range tt.asks {
				if a.unclaim != 0 {
					l.Unclaim(a.unclaim)
				}
				p, known := l.Claim(a.path, a.device, a.inode)
				require.Equal(t, a.id, p.ID, "ask %d", i)
				require.Equal(t, a.known, known, "ask %d", i)
				if known {
					require.EqualValues(t, 100, p.Pos)
				} else {
					require.Equal(t, Progress{ID: a.id, Path: a.path, Device: a.device, Inode: a.inode}, p)
				}
			}
		})
	}
}

// TestClaimFollows claims a file by what it was folded as last.
func TestClaimFollows(t *testing.T) {
	l := open(t, NewMemory(), noon)
	p, _ := l.Claim("/a", 1, 1)
	p.Path, p.Inode = "/b", 2
	fold(t, l, nil, nil, File{Progress: p})
	l.Unclaim(p.ID)
	_, known := l.Claim("/a", 1, 1)
	require.False(t, known)
	got, known := l.Claim("/c", 1, 2)
	require.True(t, known)
	require.Equal(t, p, got)
}

func TestBegin(t *testing.T) {
	store := &faulty{Store: NewMemory()}
	l := open(t, store, noon)
	require.True(t, l.First())
	a, _ := l.Claim("/a", 1, 1)
	b, _ := l.Claim("/b", 1, 2)
	a.Pos, a.Start = 7, 7

	store.batch = errDisk
	err := l.Begin(t.Context(), []Progress{a, b})
	require.ErrorIs(t, err, errDisk)
	require.ErrorContains(t, err, "store where 2 files begin")
	require.True(t, l.First())
	require.Zero(t, l.Size())

	store.batch = nil
	before := store.batches
	require.NoError(t, l.Begin(t.Context(), []Progress{a, b}))
	require.Equal(t, before+1, store.batches)
	require.False(t, l.First())
	require.EqualValues(t, 2, l.Size())
	_, known := l.Claim("/a", 1, 1)
	require.False(t, known, "it is still claimed")

	l = open(t, store, noon.Add(time.Hour))
	require.False(t, l.First())
	require.Equal(t, noon.UnixNano(), l.Start())
	got, known := l.Claim("/a", 1, 1)
	require.True(t, known)
	require.Equal(t, a, got)
}

// TestBeginNothing starts where there are no files yet.
func TestBeginNothing(t *testing.T) {
	store := NewMemory()
	require.NoError(t, open(t, store, noon).Begin(t.Context(), nil))
	require.False(t, open(t, store, noon).First())
}

// TestBeginKeeps does not take the sessions from a file.
func TestBeginKeeps(t *testing.T) {
	l := open(t, NewMemory(), noon)
	fold(t, l, nil, nil, File{Progress: Progress{ID: 1, Path: "/a"}, Agent: "x", Sessions: []uint64{5}})
	require.NoError(t, l.Begin(t.Context(), []Progress{{ID: 1, Path: "/a", Pos: 3}}))
	got, ok := l.File(1)
	require.True(t, ok)
	require.Equal(t, File{Progress: Progress{ID: 1, Path: "/a", Pos: 3}, Agent: "x", Sessions: []uint64{5}, Seen: noon.UnixNano()}, got)
}

// TestIDsAreNotGivenAgain forgets the file with the largest ID.
func TestIDsAreNotGivenAgain(t *testing.T) {
	store := NewMemory()
	l := open(t, store, noon)
	require.NoError(t, l.Begin(t.Context(), nil))
	fold(t, l, nil, nil, file(1, "/a"), file(5, "/b"))
	sweep(t, l, noon.Add(Horizon+time.Hour), func(id FileID) bool { return id == 1 })
	l = open(t, store, noon)
	_, ok := l.File(5)
	require.False(t, ok)
	p, _ := l.Claim("/c", 1, 9)
	require.Equal(t, FileID(6), p.ID)
}

// TestFilesTogether is for the race detector.
func TestFilesTogether(t *testing.T) {
	l := open(t, NewMemory(), noon)
	require.NoError(t, l.Begin(t.Context(), nil))
	var wg sync.WaitGroup
	ops := make(chan []Op, 100)
	for range 2 {
		wg.Go(func() {
			for i := range uint64(200) {
				p, _ := l.Claim("/a", 1, i)
				l.File(p.ID)
				l.First()
				l.Unclaim(p.ID)
			}
		})
	}
	wg.Go(func() {
		for batch := range ops {
			if err := l.Commit(t.Context(), batch); err != nil {
				t.Error(err)
			}
			l.Size()
		}
	})
	for i := range uint64(300) {
		c := change(i%5, i%7 == 0, i)
		ops <- l.Fold(toList(c), nil, file(FileID(1+i%9), "/a", i%5))
		recall(t, l, i%5)
		ops <- l.Sweep(noon, nil)
	}
	close(ops)
	wg.Wait()
}

func toList[T any](v ...T) []T { return v }
