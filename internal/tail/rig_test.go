// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package tail

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/internal/engine"
	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testPoll = 250 * time.Millisecond

// rig drives a tailer step by step, with a clock of its own and the real file system.
type rig struct {
	testing.TB
	*Tailer
	dir    string
	reader *reader
	ledger *testLedger

	mu       sync.Mutex
	at       time.Time
	inputs   []*testInput
	reports  []string
	opens    int
	stats    int
	begins   []int // number of starting points of each Begin
	caught   int   // calls of CaughtUp
	held     bool  // commits wait for commit
	waiting  []func()
	failures map[string]error // by path, of stat, readDir and open
	lines    []string         // all, in the order in which they came
	oversize int64
	nuls     int64
	torn     int64
	size     int64
}

func newRig(tb testing.TB, cfg Config) *rig {
	r := &rig{TB: tb, dir: tb.TempDir(), at: time.Now(), failures: map[string]error{}}
	r.ledger = &testLedger{rig: r, files: map[ledger.FileID]ledger.Progress{}, claimed: map[ledger.FileID]bool{}, found: map[string][]ledger.FileID{}}
	if cfg.Include == nil {
		cfg.Include = []string{filepath.Join(r.dir, "**", "*.jsonl")}
	}
	if cfg.MaxLine == 0 {
		cfg.MaxLine = 1 << 20
	}
	cfg.PollInterval, cfg.Ledger = testPoll, r.ledger
	cfg.CaughtUp = func() { r.caught++ }
	r.launch(cfg)
	tb.Cleanup(func() { assert.NoError(tb, r.Shutdown(context.Background())) })
	return r
}

// launch makes the tailer of a process.
func (r *rig) launch(cfg Config) {
	r.Tailer = New(cfg, r.open, r)
	r.reader = &reader{t: r.Tailer}
	r.sys = system{
		now: func() time.Time { r.mu.Lock(); defer r.mu.Unlock(); return r.at },
		stat: func(path string) (fs.FileInfo, error) {
			r.stats++
			if err := r.failures[path]; err != nil {
				return nil, err
			}
			info, err := os.Stat(path)
			if err == nil && info.IsDir() {
				return youngDir{info, r.at}, nil
			}
			return info, err
		},
		readDir: func(path string) ([]fs.DirEntry, error) {
			if err := r.failures[path]; err != nil {
				return nil, err
			}
			return os.ReadDir(path)
		},
		open: func(path string) (*os.File, error) {
			r.opens++
			if err := r.failures[path]; err != nil {
				return nil, err
			}
			return open(path)
		},
		resolve: filepath.EvalSymlinks,
	}
	require.NoError(r, r.prepare())
}

// restart begins another process, after an orderly end of the one before or, with kill, without: then what
// was not committed is lost.
func (r *rig) restart(kill bool) {
	if kill {
		for _, f := range r.order {
			r.close(f)
		}
		r.waiting = nil
	} else {
		r.commit()
		require.NoError(r, r.Shutdown(r.Context()))
	}
	clear(r.ledger.claimed)
	r.ledger.next = 0
	for id := range r.ledger.files {
		r.ledger.next = max(r.ledger.next, id)
	}
	r.launch(r.cfg)
}

// testLedger keeps what was committed.
type testLedger struct {
	rig     *rig
	mu      sync.Mutex
	begun   bool
	fails   error // of Begin
	next    ledger.FileID
	files   map[ledger.FileID]ledger.Progress
	claimed map[ledger.FileID]bool
	found   map[string][]ledger.FileID // by path, and by numbers; with some that are so no more
}

func (l *testLedger) First() bool { return !l.begun }

func (l *testLedger) Claim(path string, dev, ino uint64) (ledger.Progress, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fits := func(p *ledger.Progress, id ledger.FileID) bool { return p.ID == id && id != 0 && !l.claimed[id] }
	for _, id := range l.found[path] {
		if p := l.files[id]; fits(&p, id) && p.Path == path {
			l.claimed[id] = true
			return p, true
		}
	}
	for _, id := range l.found[fmt.Sprint(dev, ino)] {
		if p := l.files[id]; fits(&p, id) && ino != 0 && p.Inode == ino && p.Device == dev {
			l.claimed[id] = true
			return p, true
		}
	}
	l.next++
	l.claimed[l.next] = true
	return ledger.Progress{ID: l.next}, false
}

func (l *testLedger) Unclaim(id ledger.FileID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	assert.True(l.rig, l.claimed[id], "%d is not claimed", id)
	delete(l.claimed, id)
	if _, ok := l.files[id]; !ok && id == l.next {
		l.next--
	}
}

func (l *testLedger) Begin(_ context.Context, starts []ledger.Progress) error {
	if l.fails != nil {
		return l.fails
	}
	l.begun = true
	l.rig.begins = append(l.rig.begins, len(starts))
	for _, p := range starts {
		l.keep(p)
	}
	return nil
}

func (l *testLedger) keep(p ledger.Progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.files[p.ID] = p
	for _, key := range []string{p.Path, fmt.Sprint(p.Device, p.Inode)} {
		if !slices.Contains(l.found[key], p.ID) {
			l.found[key] = append(l.found[key], p.ID)
		}
	}
}

// youngDir keeps directories from being taken as unchanged: tests are faster than clocks of file systems.
type youngDir struct {
	fs.FileInfo
	at time.Time
}

func (d youngDir) ModTime() time.Time { return d.at }

func (r *rig) open(id ledger.FileID, epoch uint32) Input {
	in := &testInput{rig: r, id: id, epoch: epoch}
	r.inputs = append(r.inputs, in)
	return in
}

func (r *rig) say(kind, path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reports = append(r.reports, kind+" "+filepath.Base(path))
}

func (r *rig) GuardMismatch(path string)             { r.say("mismatch", path) }
func (r *rig) Oversize(path string)                  { r.say("oversize", path) }
func (r *rig) Unreadable(path string, _ error)       { r.say("unreadable", path) }
func (r *rig) NotRegular(path string, _ fs.FileMode) { r.say("not regular", path) }

// poll is one scan, one check and all turns that follow from them.
func (r *rig) poll() {
	r.scan(r.Context(), false)
	r.look()
}

func (r *rig) look() {
	r.check()
	for r.serve(r.reader) {
	}
}

func (r *rig) begin() {
	_, err := r.first(r.Context())
	require.NoError(r, err)
	r.look()
}

func (r *rig) wait(d time.Duration) { r.at = r.at.Add(d) }

func (r *rig) path(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

// touch gives a file the time of the clock.
func (r *rig) touch(name string) { require.NoError(r, os.Chtimes(r.path(name), r.at, r.at)) }

func (r *rig) write(name, text string) {
	require.NoError(r, os.MkdirAll(filepath.Dir(r.path(name)), 0o755))
	require.NoError(r, os.WriteFile(r.path(name), []byte(text), 0o644)) // keeps the inode
	r.touch(name)
}

func (r *rig) add(name, text string) {
	h, err := os.OpenFile(r.path(name), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
	require.NoError(r, err)
	_, err = h.WriteString(text)
	require.NoError(r, err)
	require.NoError(r, h.Close())
	r.touch(name)
}

func (r *rig) cut(name string, size int64) {
	require.NoError(r, os.Truncate(r.path(name), size))
	r.touch(name)
}

func (r *rig) rename(from, to string) { require.NoError(r, os.Rename(r.path(from), r.path(to))) }
func (r *rig) remove(name string)     { require.NoError(r, os.Remove(r.path(name))) }

func (r *rig) link(old, name string) { require.NoError(r, os.Link(r.path(old), r.path(name))) }
func (r *rig) symlink(old, name string) {
	require.NoError(r, os.Symlink(r.path(old), r.path(name)))
}

// file is the one with a name.
func (r *rig) file(name string) *file { return r.byPath[r.path(name)] }

// take gives the lines since the last call.
func (r *rig) take() []string {
	l := r.lines
	r.lines = nil
	return l
}

func (r *rig) commit() {
	for _, done := range r.waiting {
		done()
	}
	r.waiting = nil
}

// testInput is an engine's input that keeps what it is sent.
type testInput struct {
	*rig
	id       ledger.FileID
	epoch    uint32
	lines    []string
	sizes    []int64
	unread   bool
	modified int64
	ended    int
	endings  []engine.Ending
}

func (in *testInput) Send(ctx context.Context, b *batch.Batch, committed func(*batch.Outcomes)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := in.rig
	r.mu.Lock()
	defer r.mu.Unlock()
	if in.ended > 0 {
		r.Errorf("sent after the end")
	}
	for i := range b.Len() {
		in.lines = append(in.lines, string(b.Line(i)))
	}
	r.lines = append(r.lines, in.lines[len(in.lines)-b.Len():]...)
	in.sizes = append(in.sizes, b.Size)
	r.size += b.Size
	r.oversize += b.Oversize
	r.nuls += b.NULs
	r.torn += b.Torn
	p := b.Progress
	if p.ID != in.id || p.Epoch != in.epoch || p.Path == "" || p.Pos < p.Start {
		r.Errorf("progress %+v of the input %d, %d", p, in.id, in.epoch)
	}
	b.Release()
	commit := func() {
		r.ledger.keep(p)
		if committed != nil {
			committed(nil)
		}
	}
	if r.held {
		r.waiting = append(r.waiting, commit)
	} else {
		commit()
	}
	return nil
}

func (in *testInput) End(ctx context.Context, how engine.Ending) error {
	in.ended++
	in.endings = append(in.endings, how)
	return ctx.Err()
}

func (in *testInput) Unread(yes bool)   { in.unread = yes }
func (in *testInput) Modified(at int64) { in.modified = at }

// reread reads every file that is there again, and compares that with what it holds.
func (r *rig) reread() {
	for id := range r.ledger.next {
		p, ok := r.ledger.files[id+1]
		if !ok {
			continue
		}
		got, silent, err := r.again(p)
		text, here := r.content(p)
		if !here || int64(len(text)) < p.Pos {
			require.Error(r, err)
			require.Empty(r, got)
			continue
		}
		if errors.Is(err, ErrChanged) {
			require.NotEqual(r, ledger.Mark(markOf(text[max(0, p.Pos-guardBytes):p.Pos])), p.Frontier)
			continue
		}
		require.NoError(r, err)
		want := framed(string(text[:p.Pos]), p.Over, r.cfg.MaxLine)
		require.Equal(r, want, got, "%+v", p)
		require.LessOrEqual(r, silent, len(want))
	}
}

// content is what the file holds that a progress is of.
func (r *rig) content(p ledger.Progress) ([]byte, bool) {
	names := []string{p.Path}
	if f := r.numbers[p.ID]; f != nil {
		names = f.paths
	}
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil {
			info, err := os.Stat(name)
			if f := r.numbers[p.ID]; err == nil && (f == nil || identify(name, info) == f.id) {
				return text, true
			}
		}
	}
	return nil, false
}

// again gives the lines of Reread, and how many of them were silent.
func (r *rig) again(p ledger.Progress) (lines []string, silent int, err error) {
	err = r.Reread(r.Context(), p.ID, p, func(b *batch.Batch, modTime int64) error {
		assert.Equal(r, p.ModTime, modTime)
		for i := range b.Len() {
			lines = append(lines, string(b.Line(i)))
		}
		if b.Silent {
			assert.Equal(r, silent, len(lines)-b.Len())
			silent += b.Len()
		}
		assert.Zero(r, b.Progress)
		b.Release()
		return nil
	})
	return lines, silent, err
}

// framed is a text's lines, found in another way.
func framed(text string, over bool, maxLine int) (lines []string) {
	all := strings.Split(strings.TrimPrefix(text, byteOrderMark), "\n")
	for i, l := range all {
		l = strings.TrimLeft(l, "\x00")
		if i < len(all)-1 {
			l = strings.TrimSuffix(l, "\r")
		} else if over {
			continue
		}
		if strings.TrimSpace(l) != "" && len(l) <= maxLine {
			lines = append(lines, l)
		}
	}
	return lines
}
