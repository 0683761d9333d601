// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

var (
	kills  = flag.Int("kills", 20, "how often TestKilled kills each of its collectors")
	seed   = flag.Uint64("seed", 0, "of the load and the moments of the kills; 0 draws one")
	size   = flag.Int("size", 9, "generated sessions of each kind in the load")
	shared = flag.Int("shared", 0, "sessions of several files: 0 none, 1 their other files are there from the beginning, 2 all grow")
	given  = flag.String("bin", "", "a collector that is already built")
)

const tick = 50 * time.Millisecond

// longest is the longest that a session of the load may pause while its collector is killed n times: a kill and what is
// fed until the next take less than a second.
func longest(n int) time.Duration { return max(6*time.Second, time.Duration(n)*800*time.Millisecond) }

// patience is how long a run may take after its load until everything has come.
func patience() time.Duration { return longest(*kills) + time.Minute }

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "torture")
	if err != nil {
		panic(err)
	}
	buildDir = dir
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(dir)
		os.Exit(code)
	}))
}

var buildDir string

// binary is the collector, built once.
var binary = sync.OnceValues(func() (string, error) {
	if *given != "" {
		return filepath.Abs(*given)
	}
	path := filepath.Join(buildDir, "otelcol-agents")
	out, err := exec.Command("go", "build", "-o", path, "../../cmd/otelcol-agents").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the collector: %w: %s", err, out)
	}
	return path, nil
})

// lab is a load and what belongs to all runs of a test.
type lab struct {
	bin      string
	seed     uint64
	load     *Load
	idle     time.Duration // after which sessions are closed: longer than any pauses
	sessions []string      // that must have a root
}

// newLab makes a load for collectors that are killed n times.
func newLab(t *testing.T, pieces int, sockets bool, n int) *lab {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the real collector for many seconds")
	}
	l := &lab{seed: *seed, idle: longest(n)}
	if l.seed == 0 {
		l.seed = uint64(time.Now().UnixNano()) % 1e9
	}
	t.Logf("-seed %d", l.seed)
	var err error
	l.bin, err = binary()
	require.NoError(t, err)
	l.load, err = NewLoad(LoadOptions{
		Seed: l.seed, Testdata: filepath.Join("..", "..", "testdata"), Size: *size, Pieces: pieces, Sockets: sockets, Shared: Shared(*shared),
	})
	require.NoError(t, err)
	l.sessions = l.expected(t)
	return l
}

// expected asks replay which sessions the load has.
func (l *lab) expected(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	for i, s := range l.load.Sources {
		if s.Lane == Lossy {
			continue
		}
		path := filepath.Join(dir, s.Lane, s.Path)
		if s.Path == "" {
			path = filepath.Join(dir, s.Lane, "requests", fmt.Sprintf("%d.jsonl", i))
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, s.Data(), 0o600))
	}
	out, err := exec.CommandContext(t.Context(), l.bin, "replay", "--format", "json", dir).Output()
	require.NoError(t, err)
	var doc struct {
		Sessions []struct {
			ID string `json:"session_id"`
		} `json:"sessions"`
	}
	require.NoError(t, json.Unmarshal(out, &doc))
	ids := []string{}
	for _, s := range doc.Sessions {
		ids = append(ids, s.ID)
	}
	require.NotEmpty(t, ids)
	return ids
}

// run is a collector with its backend, its files and its clients.
type run struct {
	*lab
	name  string
	t     *testing.T
	sink  *Sink
	setup *Setup
	feed  *Feeder
	rand  *rand.Rand
	alive *Collector
	since time.Time
}

func (l *lab) run(t *testing.T, name string, change func(s *Setup)) *run {
	t.Helper()
	sink, err := NewSink(l.seed)
	require.NoError(t, err)
	r := &run{lab: l, name: name, t: t, sink: sink, since: time.Now(), rand: rand.New(rand.NewPCG(l.seed, uint64(len(name))))}
	dir := t.TempDir()
	r.setup = &Setup{Binary: l.bin, Dir: dir, Files: filepath.Join(dir, "files"), Backend: sink.URL, Idle: l.idle}
	if change != nil {
		change(r.setup)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()
		if r.alive != nil {
			_ = r.alive.Kill()
		}
		if r.feed != nil {
			_ = r.feed.Close()
		}
		assert.NoError(t, sink.Close())
	})
	require.NoError(t, os.MkdirAll(r.setup.Files, 0o700))
	r.feed, err = NewFeeder(ctx, l.load, r.setup)
	require.NoError(t, err)
	return r
}

func (r *run) start() {
	r.t.Helper()
	require.Nil(r.t, r.alive)
	c, err := r.setup.Start()
	require.NoError(r.t, err)
	r.alive = c
}

func (r *run) ready() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience())
	defer cancel()
	require.NoError(r.t, r.alive.Ready(ctx))
}

func (r *run) kill() {
	r.t.Helper()
	c := r.alive
	r.alive = nil
	require.NoError(r.t, c.Kill())
}

func (r *run) stop() {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience())
	defer cancel()
	c := r.alive
	r.alive = nil
	require.NoError(r.t, c.Stop(ctx))
}

// rest feeds what is left of the load, with short pauses.
func (r *run) rest() {
	r.t.Helper()
	for !r.feed.Done() {
		require.NoError(r.t, r.feed.Step())
		pause(r.t.Context(), time.Duration(r.rand.IntN(4))*time.Millisecond)
	}
	require.NoError(r.t, r.feed.Wait())
}

// await waits until what yields nothing, for as long as the patience lasts.
func (r *run) await(what func() string) {
	r.t.Helper()
	deadline := time.Now().Add(patience())
	for {
		missing := what()
		if missing == "" {
			return
		}
		if time.Now().After(deadline) {
			said := ""
			if r.alive != nil {
				said = r.alive.Said()
			}
			require.FailNow(r.t, r.name+": still missing after "+patience().String(), "%s\n%s", missing, said)
		}
		pause(r.t.Context(), tick)
	}
}

// closed waits until every session of the load is closed, and what counts them has been sent.
func (r *run) closed() {
	r.t.Helper()
	r.await(func() string {
		roots, open := r.sink.Recording.Roots(Lossy), []string{}
		for _, id := range r.sessions {
			if roots[id] == 0 {
				open = append(open, id)
			}
		}
		rootless, active := r.sink.Recording.Rootless(), r.sink.Recording.Last("agentstream.sessions.active")
		if len(open)+len(rootless) == 0 && active == 0 {
			return ""
		}
		return fmt.Sprintf("%d roots (such as that of %v), roots of %d traces (such as %v); %v sessions are active",
			len(open), open, len(rootless), rootless, active)
	})
	r.settle()
}

func first(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return list[0]
}

// settle waits for more snapshots of all receivers: whatever was counted before has been sent then.
func (r *run) settle() {
	r.t.Helper()
	r.snapshots(9)
}

func (r *run) snapshots(more int) {
	r.t.Helper()
	n := r.sink.Recording.Exports("metrics")
	r.await(func() string {
		if r.sink.Recording.Exports("metrics") >= n+more {
			return ""
		}
		return "metrics"
	})
}

// undisturbed runs the whole load without trouble.
func (r *run) undisturbed() *Recording {
	r.t.Helper()
	r.start()
	r.ready()
	r.rest()
	r.closed()
	// A stop ends sources, and what waited for more of them goes out; a kill does not.
	recording := r.sink.Recording.Clone()
	r.stop()
	r.say(Compare(recording, recording, Rules{}), 0)
	return recording
}

func (r *run) say(report *Report, n int) {
	r.t.Logf("%s: %d kills, %s, after %s", r.name, n, report, time.Since(r.since).Round(100*time.Millisecond))
}

// killed runs the load while the collector is killed n times.
func (r *run) killed(n int) {
	r.t.Helper()
	// What is there from the beginning is read in its order once, before anything is killed.
	if slices.ContainsFunc(r.load.Sources, func(s *Source) bool { return s.Whole }) {
		r.start()
		r.ready()
		r.snapshots(3)
		r.kill()
		n--
	}
	r.sink.SetTrouble(Trouble{Refuse: 30, Drop: 30, Delay: 100, Late: 100 * time.Millisecond})
	ops := r.load.Ops()
	for k := range n {
		share := (k+1)*ops/n - r.feed.next
		down := r.rand.IntN(share/2 + 1)
		if r.rand.IntN(3) == 0 {
			down = 0
		}
		for range down {
			require.NoError(r.t, r.feed.Step())
		}
		r.start()
		early := r.rand.IntN(8) == 0
		if !early {
			r.ready()
		}
		moment, cancel := r.moment(early)
		for left := share - down; left > 0; left-- {
			require.NoError(r.t, r.feed.Step())
			pause(moment, time.Duration(r.rand.IntN(2*600/(share+1)+1))*time.Millisecond)
		}
		<-moment.Done()
		cancel()
		r.kill()
	}
	r.sink.SetTrouble(Trouble{})
	r.start()
	r.ready()
	r.rest()
}

// moment is when to kill: at a random time, or right after something was delivered, which is when there is something
// that was sent and not yet committed.
func (r *run) moment(early bool) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.t.Context())
	after := time.Duration(r.rand.IntN(700)) * time.Millisecond
	if early {
		after = time.Duration(r.rand.IntN(150)) * time.Millisecond
	}
	delivery, hit := r.rand.IntN(2) == 0, time.Duration(r.rand.IntN(5000))*time.Microsecond
	at, alive := r.sink.Delivered(), r.alive
	go func() {
		defer cancel()
		if !pause(ctx, after) {
			return
		}
		if !delivery {
			return
		}
		late := time.NewTimer(500 * time.Millisecond)
		defer late.Stop()
		if after > 0 {
			at = r.sink.Delivered()
		}
		select {
		case <-at:
			pause(ctx, hit)
		case <-late.C:
		case <-alive.exited:
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// same waits until got is what want is, and that it stays so.
func (r *run) same(want *Recording, rules Rules, n int) {
	r.t.Helper()
	var report *Report
	deadline := time.Now().Add(patience())
	for {
		report = Compare(want, r.sink.Recording, rules)
		// What is too much does not become less.
		if report.OK() || len(report.Extra)+len(report.Changed) > 0 || time.Now().After(deadline) {
			break
		}
		pause(r.t.Context(), 4*tick)
	}
	said := r.alive.Said()
	if report.OK() {
		r.settle()
		report = Compare(want, r.sink.Recording, rules)
		r.stop()
	}
	r.say(report, n)
	if !report.OK() {
		r.t.Logf("the collector said:\n%s", said)
	}
	require.NoError(r.t, report.Err())
}

// needsStorage skips a test as long as the receiver refuses its key.
func (l *lab) needsStorage(t *testing.T) {
	t.Helper()
	if !l.hasStorage(t) {
		t.Skip("the receiver has no storage yet")
	}
}

func (l *lab) hasStorage(t *testing.T) bool {
	t.Helper()
	dir := t.TempDir()
	s := &Setup{Binary: l.bin, Dir: dir, Files: dir, Backend: "http://127.0.0.1:1", Idle: l.idle, Storage: true}
	err := s.Validate(t.Context())
	if err != nil && strings.Contains(err.Error(), "storage is not yet supported") {
		return false
	}
	require.NoError(t, err)
	return true
}

// Two runs that nothing disturbs send the same: without this, a difference would say nothing.
func TestUndisturbed(t *testing.T) {
	l := newLab(t, 8, true, 0)
	var first, second *Recording
	t.Run("runs", func(t *testing.T) {
		t.Run("first", func(t *testing.T) {
			t.Parallel()
			first = l.run(t, "first", func(s *Setup) { s.Sockets = true }).undisturbed()
		})
		t.Run("second", func(t *testing.T) {
			t.Parallel()
			second = l.run(t, "second", func(s *Setup) { s.Sockets = true }).undisturbed()
		})
	})
	require.NotNil(t, first)
	require.NotNil(t, second)
	require.NoError(t, Compare(first, second, Rules{Once: true}).Err())
	require.NoError(t, Compare(second, first, Rules{Once: true}).Err())
}

// A collector with a database is killed again and again while files grow, requests are repeated and connections
// break, and the backend refuses, drops and delays now and then. What arrives is what arrives undisturbed.
func TestKilled(t *testing.T) {
	l := newLab(t, max(8, min(*kills/2, 60)), true, *kills)
	l.needsStorage(t)
	modes := map[string]func(s *Setup){
		"no queue":         func(s *Setup) { s.Sockets, s.Storage = true, true },
		"persistent queue": func(s *Setup) { s.Sockets, s.Storage, s.Queue = true, true, true },
	}
	l.against(t, modes, Rules{}, *kills)
}

// Without a database a restarted collector reads every file again from its beginning: everything comes again under
// the same ids with the same content, and counters begin anew and end where they should.
func TestKilledWithoutStorage(t *testing.T) {
	l := newLab(t, 8, false, min(*kills, 8))
	l.against(t, map[string]func(s *Setup){
		"nothing kept":     nil,
		"persistent queue": func(s *Setup) { s.Queue = true },
	}, Rules{Restarted: true}, min(*kills, 8))
}

// against runs a collector in each mode while it is killed, beside one that nothing disturbs.
func (l *lab) against(t *testing.T, modes map[string]func(s *Setup), rules Rules, n int) {
	t.Helper()
	var want *Recording
	known := make(chan struct{})
	t.Run("runs", func(t *testing.T) {
		var change func(s *Setup)
		for name, mode := range modes {
			change = mode
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				r := l.run(t, name, mode)
				r.killed(n)
				select {
				case <-known:
				case <-t.Context().Done():
				}
				require.NotNil(t, want, "there is nothing to compare with")
				r.same(want, rules, n)
			})
		}
		t.Run("undisturbed", func(t *testing.T) {
			t.Parallel()
			defer close(known)
			r := l.run(t, "undisturbed", func(s *Setup) {
				if change != nil {
					change(s)
				}
				s.Queue = false
			})
			recording := r.undisturbed()
			require.NoError(t, Compare(recording, recording, Rules{Once: true}).Err())
			want = recording
		})
	})
}

// The database is deleted between two runs: the files are read again from their beginning, and everything comes again
// under the same ids with the same content, times of untimed sessions included, since their files did not change.
func TestDatabaseDeleted(t *testing.T) {
	l := newLab(t, 1, false, 0)
	storage := l.hasStorage(t)
	first := l.run(t, "first", func(s *Setup) { s.Storage = storage })
	first.rest()
	first.start()
	first.closed()
	want := first.sink.Recording.Clone()
	first.stop()
	require.NoError(t, os.RemoveAll(first.setup.Database()))
	second := l.run(t, "second", func(s *Setup) {
		s.Storage, s.Dir, s.Files = storage, first.setup.Dir, first.setup.Files
	})
	second.start()
	second.closed()
	second.same(want, Rules{Restarted: true, Once: true}, 0)
}

// A collector that stops and starts again with its database sends nothing twice, and reads nothing that it does not
// need.
func TestStopped(t *testing.T) {
	l := newLab(t, 8, false, 10)
	l.needsStorage(t)
	r := l.run(t, "stopped", func(s *Setup) { s.Storage = true })
	half := l.load.Ops() / 2
	r.start()
	r.ready()
	for range half {
		require.NoError(t, r.feed.Step())
	}
	r.settle()
	r.stop()
	r.start()
	r.ready()
	r.rest()
	r.closed()
	r.stop()
	spans, logs := r.sink.Recording.Sizes()
	exports := r.sink.Recording.Exports("traces")
	r.start()
	r.ready()
	r.settle()
	again, logsAgain := r.sink.Recording.Sizes()
	assert.Equal(t, []int{spans, logs, exports}, []int{again, logsAgain, r.sink.Recording.Exports("traces")}, "after everything was committed")
	want := l.run(t, "undisturbed", nil).undisturbed()
	r.same(want, Rules{Once: true}, 0)
}
