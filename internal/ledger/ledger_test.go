// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func open(t testing.TB, store Store, now time.Time) *Ledger {
	t.Helper()
	l, err := Open(t.Context(), store, now)
	require.NoError(t, err)
	return l
}

// fold folds and commits.
func fold(t testing.TB, l *Ledger, changes []session.Change, entries []session.Entry, files ...File) {
	t.Helper()
	require.NoError(t, l.Commit(t.Context(), l.Fold(changes, entries, files...)))
}

func sweep(t testing.TB, l *Ledger, now time.Time, tracked func(FileID) bool) int {
	t.Helper()
	ops := l.Sweep(now, tracked)
	require.NoError(t, l.Commit(t.Context(), ops))
	return len(ops)
}

func recall(t testing.TB, l *Ledger, key uint64) *session.Memory {
	t.Helper()
	m, err := l.Recall(t.Context(), key)
	require.NoError(t, err)
	return m
}

func keys(t testing.TB, store Store) []string {
	t.Helper()
	var all []string
	require.NoError(t, store.Walk(t.Context(), func(key string, _ []byte) error {
		all = append(all, key)
		return nil
	}))
	return all
}

// change is a session that is closed or open and something of which left.
func change(key uint64, closed bool, left ...uint64) session.Change {
	return session.Change{Key: key, State: session.State{Agent: "claude", ID: "s", Closed: closed, Segments: 1}, Left: left}
}

func file(id FileID, path string, sessions ...uint64) File {
	return File{Progress: Progress{ID: id, Path: path, Device: 1, Inode: uint64(id)}, Sessions: sessions}
}

// faulty is a Store that fails when it is told to.
type faulty struct {
	Store
	batch, get, walk error
	batches          int
}

var errDisk = errors.New("the disk is full")

func (s *faulty) Batch(ctx context.Context, ops ...Op) error {
	if s.batch != nil {
		return s.batch
	}
	s.batches++
	return s.Store.Batch(ctx, ops...)
}

func (s *faulty) Get(ctx context.Context, key string) ([]byte, error) {
	if s.get != nil {
		return nil, s.get
	}
	return s.Store.Get(ctx, key)
}

func (s *faulty) Walk(ctx context.Context, visit func(string, []byte) error) error {
	if err := s.Store.Walk(ctx, visit); err != nil {
		return err
	}
	return s.walk
}

// backwards is a Store that walks from the last key to the first.
type backwards struct{ Store }

func (s backwards) Walk(ctx context.Context, visit func(string, []byte) error) error {
	type pair struct {
		key   string
		value []byte
	}
	var all []pair
	err := s.Store.Walk(ctx, func(key string, value []byte) error {
		all = append(all, pair{key, value})
		return nil
	})
	for _, p := range slices.Backward(all) {
		err = errors.Join(err, visit(p.key, p.value))
	}
	return err
}

func chance(r *rand.Rand) bool { return r.IntN(2) == 0 }

func number(r *rand.Rand) int64 { return int64(r.Uint64()) >> r.IntN(64) }

func text(r *rand.Rand) string {
	b := make([]byte, r.IntN(40))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}

func list(r *rand.Rand, most int) []uint64 {
	var l []uint64
	for range r.IntN(most) {
		l = append(l, r.Uint64())
	}
	return l
}

func randomTokens(r *rand.Rand) translate.Tokens {
	return translate.Tokens{Input: number(r), CacheRead: number(r), CacheWrite: number(r), Output: number(r), Reasoning: number(r)}
}

// randomState fills every field there is, so that none can be forgotten.
func randomState(r *rand.Rand) session.State {
	var s session.State
	fill(r, reflect.ValueOf(&s).Elem())
	return s
}

func fill(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i))
		}
	case reflect.Pointer:
		if chance(r) {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem())
		}
	case reflect.Slice:
		for range r.IntN(4) {
			one := reflect.New(v.Type().Elem()).Elem()
			fill(r, one)
			v.Set(reflect.Append(v, one))
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.String:
		v.SetString(text(r))
	case reflect.Bool:
		v.SetBool(chance(r))
	case reflect.Int:
		v.SetInt(int64(r.IntN(1000)))
	case reflect.Int64:
		v.SetInt(number(r))
	case reflect.Uint8:
		v.SetUint(r.Uint64() & 255)
	case reflect.Uint64:
		v.SetUint(r.Uint64())
	case reflect.Float64:
		v.SetFloat(r.NormFloat64())
	default:
		panic("nobody fills a " + v.Kind().String())
	}
}

func randomEntry(r *rand.Rand, sessions uint64) session.Entry {
	e := session.Entry{Kind: session.EntryKind(1 + r.IntN(3)), ID: r.Uint64(), Session: r.Uint64N(sessions)}
	if e.Kind == session.EntryUsage {
		e.Tokens, e.Cost = randomTokens(r), r.Float64()
	}
	return e
}

func randomMark(r *rand.Rand) (m Mark) {
	if m.N = r.IntN(257); m.N > 0 {
		for i := range m.Sum {
			m.Sum[i] = byte(r.Uint32())
		}
	}
	return m
}

func randomFile(r *rand.Rand, id FileID) File {
	return File{
		Progress: Progress{
			ID: id, Path: text(r), Device: r.Uint64(), Inode: r.Uint64(), Epoch: r.Uint32(), Pos: number(r) & (1<<63 - 1),
			Start: number(r) & (1<<63 - 1), Over: chance(r), Head: randomMark(r), Frontier: randomMark(r),
			ModTime: number(r), Began: number(r),
		},
		Format: translate.Format(text(r)), Agent: text(r), Sessions: list(r, 5), Seen: number(r),
	}
}
