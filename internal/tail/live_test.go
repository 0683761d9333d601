// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package tail

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/internal/engine"
	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
)

var _ Input = (*engine.Input)(nil)

// TestLive runs the goroutines, with a real clock.
func TestLive(t *testing.T) {
	rig := newRig(t, Config{})
	rig.write("there.jsonl", "old\n")
	cfg := rig.cfg
	cfg.PollInterval, cfg.StartAtEnd = 5*time.Millisecond, true
	live := New(cfg, func(id ledger.FileID, epoch uint32) Input {
		rig.mu.Lock()
		defer rig.mu.Unlock()
		return rig.open(id, epoch)
	}, rig)
	require.NoError(t, live.Start(t.Context()))
	const files, rounds = 8, 20
	for i := range rounds {
		for j := range files {
			rig.add(fmt.Sprintf("%d.jsonl", j), fmt.Sprintf("%d-", i))
			rig.add(fmt.Sprintf("%d.jsonl", j), fmt.Sprintf("%d\n", j))
		}
		rig.add("there.jsonl", fmt.Sprintf("there-%d\n", i))
		_, _, _ = live.Tracked(), live.Open(), live.Lag()
	}
	came := func() int { rig.mu.Lock(); defer rig.mu.Unlock(); return len(rig.lines) }
	require.Eventually(t, func() bool { return came() == rounds*(files+1) }, 10*time.Second, 5*time.Millisecond)
	assert.Zero(t, live.Lag())
	assert.EqualValues(t, files+1, live.Tracked())
	require.NoError(t, live.Shutdown(t.Context()))
	require.NoError(t, live.Shutdown(t.Context()))
	assert.Zero(t, live.Open())
	var want []string
	for i := range rounds {
		want = append(want, fmt.Sprintf("there-%d", i))
		for j := range files {
			want = append(want, fmt.Sprintf("%d-%d", i, j))
		}
	}
	assert.ElementsMatch(t, want, rig.take())
	for _, in := range rig.inputs {
		assert.Equal(t, 1, in.ended)
	}
}

// blocked is an input whose pipeline takes nothing.
type blocked struct {
	testInput
	sending chan struct{}
	ended   chan error
}

func (in *blocked) Send(ctx context.Context, _ *batch.Batch, _ func(*batch.Outcomes)) error {
	in.sending <- struct{}{}
	<-ctx.Done()
	return ctx.Err()
}

func (in *blocked) End(ctx context.Context, _ engine.Ending) error {
	in.ended <- ctx.Err()
	return ctx.Err()
}

func TestShutdownOfABlockedPipeline(t *testing.T) {
	rig := newRig(t, Config{})
	rig.write(name, "one\n")
	in := &blocked{testInput: testInput{rig: rig}, sending: make(chan struct{}, 1), ended: make(chan error, 1)}
	live := New(rig.cfg, func(ledger.FileID, uint32) Input { return in }, rig)
	require.NoError(t, live.Start(t.Context()))
	<-in.sending
	assert.EqualValues(t, 4, live.Lag())
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, live.Shutdown(ctx), context.DeadlineExceeded)
	require.ErrorIs(t, <-in.ended, context.DeadlineExceeded)
	require.NoError(t, live.Shutdown(t.Context()))
}

func TestShutdownWithoutStart(t *testing.T) {
	live := New(Config{}, nil, nil)
	require.NoError(t, live.Shutdown(t.Context()))
	require.NoError(t, live.Shutdown(t.Context()))
}

func TestForgetful(t *testing.T) {
	l := Forgetful()
	assert.True(t, l.First())
	one, known := l.Claim("/a", 1, 2)
	assert.False(t, known)
	l.Unclaim(one.ID)
	two, known := l.Claim("/a", 1, 2)
	assert.False(t, known)
	assert.NotEqual(t, one.ID, two.ID)
	require.NoError(t, l.Begin(t.Context(), nil))
	assert.False(t, l.First())
}

func TestStartFails(t *testing.T) {
	live := New(Config{Include: []string{"/tmp/{a"}, Exclude: []string{""}}, nil, newRig(t, Config{}))
	require.ErrorIs(t, live.Start(t.Context()), errBadGlob)
	require.NoError(t, live.Shutdown(t.Context()))
}

func TestExpand(t *testing.T) {
	t.Setenv("HOME", "/home/me")
	wd, err := os.Getwd()
	require.NoError(t, err)
	for text, want := range map[string]string{
		"~":                 "/home/me",
		"~/.claude/**/*.jl": "/home/me/.claude/**/*.jl",
		"/a//b/./*.x":       "/a/b/*.x",
		"~other/*":          filepath.Join(wd, "~other/*"),
		"x/*.jsonl":         filepath.Join(wd, "x/*.jsonl"),
	} {
		got, err := Expand(text)
		require.NoError(t, err)
		assert.Equal(t, want, got, text)
		require.NoError(t, CheckGlob(text))
	}
	for _, text := range []string{"", "[a", "/a/{b", `/a\`} {
		require.ErrorIs(t, CheckGlob(text), errBadGlob, text)
	}
}

func TestGlobs(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{
		"a.jsonl", "b.txt", "p/q/a.jsonl", "p/q/sub/agent-1.jsonl", "p/r/a.jsonl", "p/.hidden/a.jsonl", "p/r/x[1].jsonl", "s/t/a.jsonl",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, path), nil, 0o644))
	}
	for glob, want := range map[string]string{
		"**/*.jsonl":           "a.jsonl p/.hidden/a.jsonl p/q/a.jsonl p/q/sub/agent-1.jsonl p/r/a.jsonl p/r/x[1].jsonl s/t/a.jsonl",
		"*.jsonl":              "a.jsonl",
		"a.jsonl":              "a.jsonl",
		"p/*/a.jsonl":          "p/.hidden/a.jsonl p/q/a.jsonl p/r/a.jsonl",
		"**/q/**":              "p/q/a.jsonl p/q/sub/agent-1.jsonl",
		"**/q/**/agent-*":      "p/q/sub/agent-1.jsonl",
		"**/**/t/*":            "s/t/a.jsonl",
		"p/[qr]/a.{jsonl,txt}": "p/q/a.jsonl p/r/a.jsonl",
		"{p/q,s}/**/a.jsonl":   "p/q/a.jsonl s/t/a.jsonl",
		`p/r/x\[1\].jsonl`:     "p/r/x[1].jsonl",
		"p/*":                  "",
		"nowhere/*/a.jsonl":    "",
		"a.jsonl/*":            "",
	} {
		p, err := parse(filepath.Join(dir, glob))
		require.NoError(t, err)
		w := walker{sys: realSystem(), include: []pattern{p}, unreadable: func(path string, err error) { t.Error(path, err) }}
		for range 2 {
			var got []string
			for _, c := range w.candidates(time.Now()) {
				rel, _ := filepath.Rel(dir, c.path)
				if info, err := os.Stat(c.path); err == nil && info.Mode().IsRegular() {
					got = append(got, rel)
				}
			}
			assert.ElementsMatch(t, strings.Fields(want), got, glob)
		}
	}
}

func TestWalkerCache(t *testing.T) {
	dir := t.TempDir()
	reads := 0
	sys := realSystem()
	sys.readDir = func(path string) ([]os.DirEntry, error) { reads++; return os.ReadDir(path) }
	p, err := parse(filepath.Join(dir, "**", "*.jsonl"))
	require.NoError(t, err)
	w := walker{sys: sys, include: []pattern{p}}
	old := time.Now().Add(-time.Hour)
	create := func(path string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, path), nil, 0o644))
	}
	age := func(d time.Duration) {
		require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, _ error) error {
			if e.IsDir() {
				return os.Chtimes(path, old.Add(d), old.Add(d))
			}
			return nil
		}))
	}
	create("a/1.jsonl")
	create("b/1.jsonl")
	age(0)
	now := old.Add(time.Second)
	for i, s := range []struct {
		do    func()
		after time.Duration
		names int
		reads int
	}{
		{names: 2, reads: 3},
		{after: time.Second, names: 2, reads: 3}, // read too soon after the time of the directories
		{after: time.Second, names: 2, reads: 3},
		{after: time.Second, names: 2, reads: 0},
		{do: func() { create("a/2.jsonl"); age(0) }, after: time.Second, names: 2, reads: 0}, // hidden, as the time did not move
		{do: func() { age(time.Second) }, after: time.Second, names: 3, reads: 3},
		{do: func() { require.NoError(t, os.RemoveAll(filepath.Join(dir, "a"))); age(time.Minute) }, after: time.Hour, names: 1, reads: 2},
		{after: trusted, names: 1, reads: 2},
	} {
		if s.do != nil {
			s.do()
		}
		now = now.Add(s.after)
		reads = 0
		assert.Len(t, w.candidates(now), s.names, "walk %d", i)
		assert.Equal(t, s.reads, reads, "walk %d", i)
	}
	assert.Len(t, w.dirs, 2)
}

func BenchmarkRead(b *testing.B) {
	for _, size := range []int{200, 2000, 200000} {
		b.Run(fmt.Sprintf("line=%d", size), func(b *testing.B) {
			r := newRig(b, Config{})
			text := strings.Repeat(strings.Repeat("x", size-1)+"\n", 8<<20/size)
			r.write(name, text)
			live := New(r.cfg, func(ledger.FileID, uint32) Input { return discard{} }, r)
			live.sys = r.sys
			require.NoError(b, live.prepare())
			rd := &reader{t: live}
			live.scan(b.Context(), false)
			for live.serve(rd) {
			}
			f := live.byPath[r.path(name)]
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				live.mu.Lock()
				f.pos, f.scanned, f.frontier = 0, 0, mark{}
				live.enqueue(f)
				live.mu.Unlock()
				for live.serve(rd) {
				}
			}
			require.NoError(b, live.Shutdown(context.Background()))
		})
	}
}

func BenchmarkIdle(b *testing.B) {
	for _, files := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			r := newRig(b, Config{StartAtEnd: true})
			for i := range files {
				r.write(fmt.Sprintf("%d/%d.jsonl", i%100, i), "old\n")
			}
			r.wait(time.Hour)
			r.sys.stat = os.Stat // directories as they are
			r.walker.sys = r.sys
			r.begin()
			r.wait(coldEvery)
			r.poll()
			b.Run("check", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r.wait(testPoll)
					r.check()
				}
			})
			b.Run("scan", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r.scan(b.Context(), false)
				}
			})
		})
	}
}

// discard takes everything.
type discard struct{}

func (discard) Send(_ context.Context, b *batch.Batch, committed func(*batch.Outcomes)) error {
	b.Release()
	if committed != nil {
		committed(nil)
	}
	return nil
}
func (discard) End(context.Context, engine.Ending) error { return nil }
func (discard) Unread(bool)                              {}
func (discard) Modified(int64)                           {}
