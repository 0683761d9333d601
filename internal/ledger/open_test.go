// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

// filled is a store with keys of every kind: file 1 feeds sessions 5 and 6, file 2 session 6, file 3 session 7.
func filled(t testing.TB) Store {
	store := NewMemory()
	l := open(t, store, noon)
	require.NoError(t, l.Begin(t.Context(), nil))
	files := toList(file(1, "/a", 5, 6), file(2, "/b", 6), file(3, "/c", 7))
	for i := range files {
		files[i].Pos, files[i].Start = 10*int64(i+1), 10*int64(i+1)
	}
	fold(t, l, toList(change(5, false, 1, 2), change(6, true, 3), change(7, false)), owners(0, 3), files...)
	require.NoError(t, l.Commit(t.Context(), []Op{
		{Key: TotalKey("1"), Value: Seal([]byte("one"))},
		{Key: TotalKey("2"), Value: Seal([]byte("two"))},
		{Key: JournalKey(1, 1), Value: Seal([]byte("x"))},
		{Key: JournalKey(1, 2), Value: Seal([]byte("y"))},
	}))
	return store
}

// picture is all that a ledger knows.
type picture struct {
	first    bool
	start    int64
	damaged  int
	files    []FileID
	read     []int64
	sessions map[uint64]session.Memory
	fedBy    map[uint64][]FileID
	entries  int
	totals   []string
	journal  string
}

func look(t testing.TB, l *Ledger) picture {
	p := picture{first: l.First(), start: l.Start(), sessions: map[uint64]session.Memory{}, fedBy: map[uint64][]FileID{}}
	for key, s := range l.Sessions() {
		p.fedBy[key] = s.Files
		p.sessions[key] = *recall(t, l, key)
	}
	for id := range FileID(10) {
		if f, ok := l.File(id); ok {
			require.Equal(t, 10*int64(id), f.Start)
			p.files, p.read = append(p.files, id), append(p.read, f.Pos)
		}
	}
	p.entries = len(slices.Collect(l.Entries()))
	for _, value := range l.Saved(PrefixTotal) {
		p.totals = append(p.totals, string(value))
	}
	for j := range l.Journal() {
		p.journal += string(j.Value)
	}
	p.damaged = l.Damaged()
	return p
}

func TestOpenDamaged(t *testing.T) {
	later := noon.Add(time.Hour)
	whole := look(t, open(t, filled(t), later))
	require.Equal(t, []FileID{1, 2, 3}, whole.files)
	tests := map[string]func(*picture){
		keyVersion: func(p *picture) { p.start, p.totals = later.UnixNano(), nil },
		fileKey(1): func(p *picture) {
			p.files, p.fedBy[5], p.fedBy[6] = []FileID{2, 3}, nil, []FileID{2}
			p.read = []int64{20, 30}
		},
		stateKey(6): func(p *picture) {
			p.read = []int64{0, 0, 30}
			delete(p.sessions, 6)
			delete(p.fedBy, 6)
		},
		leftKey(5, 0): func(p *picture) {
			m := p.sessions[5]
			m.Left = nil
			p.sessions[5] = m
		},
		entryKey(0):      func(p *picture) { p.entries = 0 },
		TotalKey("1"):    func(p *picture) { p.start, p.totals = later.UnixNano(), nil },
		JournalKey(1, 1): func(p *picture) { p.journal = "y" },
	}
	for key, spoil := range tests {
		t.Run(strings.ReplaceAll(key, "/", " "), func(t *testing.T) {
			value, err := filled(t).Get(t.Context(), key)
			require.NoError(t, err)
			want := look(t, open(t, filled(t), later))
			spoil(&want)
			want.damaged = 1
			for name, damaged := range damages(value) {
				store := filled(t)
				require.NoError(t, store.Set(t.Context(), key, damaged))
				l := open(t, backwards{store}, later)
				got := look(t, l)
				require.Equal(t, want, got, name)
				sweep(t, l, later, func(FileID) bool { return true })
				l = open(t, store, later.Add(time.Hour))
				again := look(t, l)
				require.Zero(t, again.damaged, name)
				require.Equal(t, want.start, again.start)
				require.Len(t, again.sessions, len(want.sessions))
				require.Equal(t, want.files, again.files)
				require.Equal(t, want.read, again.read)
				p, known := l.Claim("/new", 9, 9)
				require.False(t, known)
				require.Equal(t, FileID(4), p.ID, "IDs are not given again")
			}
		})
	}
}

// TestOpenStrangeKeys opens a store with keys that are not ours.
func TestOpenStrangeKeys(t *testing.T) {
	tests := map[string]struct {
		key     string
		damaged int
	}{
		"empty":                     {"", 0},
		"of somebody else":          {"x/1", 0},
		"no number":                 {"f/", 1},
		"number in other digits":    {"f/1", 1},
		"file 0":                    {fileKey(0), 1},
		"session in capitals":       {"s/000000000000000A", 1},
		"left without a number":     {"e/0000000000000001", 1},
		"left with a huge number":   {"e/0000000000000001/ffffffff", 1},
		"entries without a number":  {"u/x", 1},
		"journal without a number":  {"j/0000000000000001", 1},
		"left of an unknown":        {leftKey(9, 2), 0},
		"total of some other shape": {"m/x", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			store := filled(t)
			require.NoError(t, store.Set(t.Context(), tt.key, Seal([]byte("12345678"))))
			l := open(t, store, noon)
			require.Equal(t, tt.damaged, l.Damaged())
			require.Equal(t, tt.damaged == 0 && !strings.HasPrefix(tt.key, prefixLeft), slices.Contains(keys(t, store), tt.key))
			require.Len(t, look(t, l).sessions, 3)
		})
	}
}

// TestOpenFails tells the errors of the store.
func TestOpenFails(t *testing.T) {
	store := &faulty{Store: NewMemory(), walk: errDisk}
	_, err := Open(t.Context(), store, noon)
	require.ErrorIs(t, err, errDisk)
	require.ErrorContains(t, err, "read the ledger")

	store = &faulty{Store: NewMemory(), batch: errDisk}
	_, err = Open(t.Context(), store, noon)
	require.ErrorIs(t, err, errDisk)
	require.ErrorContains(t, err, "begin the ledger")

	store = &faulty{Store: filled(t), batch: errDisk}
	require.NoError(t, store.Set(t.Context(), stateKey(6), nil))
	require.NoError(t, store.Set(t.Context(), fileKey(1), []byte("?")))
	l, err := Open(t.Context(), store, noon)
	require.NoError(t, err, "a full disk does not keep it from starting")
	require.Equal(t, 1, l.Damaged())
}

// TestOpenWithoutVersion finds files of a receiver that has started, whatever became of v.
func TestOpenWithoutVersion(t *testing.T) {
	store := filled(t)
	require.NoError(t, store.Delete(t.Context(), keyVersion))
	l := open(t, store, noon.Add(time.Hour))
	require.False(t, l.First())
	require.Equal(t, noon.Add(time.Hour).UnixNano(), l.Start())
	require.Zero(t, l.Damaged())
	require.Contains(t, keys(t, store), keyVersion)
}

// TestRecallDamaged spoils values while the ledger is open.
func TestRecallDamaged(t *testing.T) {
	store := filled(t)
	l := open(t, store, noon)
	require.NoError(t, store.Set(t.Context(), leftKey(5, 0), []byte("?")))
	require.NoError(t, store.Set(t.Context(), stateKey(7), []byte("?")))
	require.Empty(t, recall(t, l, 5).Left)
	require.Nil(t, recall(t, l, 7))
	require.Equal(t, 2, l.Damaged())

	fold(t, l, toList(change(5, false, 9)), nil)
	sweep(t, l, noon, nil)
	require.Equal(t, []uint64{9}, recall(t, l, 5).Left, "it goes on in another chunk")
	require.NotContains(t, keys(t, store), leftKey(5, 0))
	require.Equal(t, []uint64{9}, recall(t, open(t, store, noon), 5).Left)
	require.Equal(t, 2, l.Damaged())
	l.Spoil()
	require.Equal(t, 3, l.Damaged())
}

func TestJournal(t *testing.T) {
	store := NewMemory()
	var want []Journaled
	for source := uint64(1); source < 300; source += 100 {
		for seq := range uint64(20) {
			value := []byte{byte(source), byte(seq)}
			require.NoError(t, store.Set(t.Context(), JournalKey(source, seq), Seal(value)))
			want = append(want, Journaled{Source: source, Seq: seq, Value: value})
		}
	}
	l := open(t, backwards{store}, noon)
	require.Equal(t, want, slices.Collect(l.Journal()))
	require.Empty(t, slices.Collect(l.Journal()))
	l = open(t, store, noon)
	for range l.Journal() {
		break
	}
	for range l.Saved(PrefixTotal) {
		break
	}
}

func TestCommit(t *testing.T) {
	store := &faulty{Store: NewMemory()}
	l := open(t, store, noon)
	before := store.batches
	require.NoError(t, l.Commit(t.Context(), nil))
	require.Equal(t, before, store.batches, "nothing to do")

	ops := []Op{
		{Key: "m/a", Value: []byte("1")},
		{Key: "m/b", Value: []byte("1")},
		{Key: "m/a", Value: []byte("2")},
		{Key: "m/b"},
		{Key: "m/c"},
		{Key: "m/c", Value: []byte("3")},
	}
	store.batch = errDisk
	err := l.Commit(t.Context(), ops)
	require.ErrorIs(t, err, errDisk)
	require.ErrorContains(t, err, "commit 3 keys to the ledger")
	store.batch = nil
	require.NoError(t, l.Commit(t.Context(), ops))
	require.Equal(t, before+1, store.batches)
	for key, want := range map[string]string{"m/a": "2", "m/b": "", "m/c": "3"} {
		got, err := store.Get(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
}

func TestMemory(t *testing.T) {
	ctx := context.Background()
	m := NewMemory()
	value := []byte("one")
	require.NoError(t, m.Set(ctx, "a", value))
	value[0] = '?'
	got, err := m.Get(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, "one", string(got))
	got[0] = '?'
	got, err = m.Get(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, "one", string(got))
	got, err = m.Get(ctx, "b")
	require.NoError(t, err)
	require.Nil(t, got)
	require.NoError(t, m.Batch(ctx, Op{Key: "b", Value: []byte{}}, Op{Key: "a"}))
	require.Equal(t, []string{"b"}, keys(t, m))
	require.NoError(t, m.Delete(ctx, "b"))
	require.Empty(t, keys(t, m))
	require.NoError(t, m.Set(ctx, "b", []byte("x")))
	stop := errors.New("stop")
	require.ErrorIs(t, m.Walk(ctx, func(string, []byte) error { return stop }), stop)
}
