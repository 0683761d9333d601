// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"flag"
	"hash/fnv"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var events = flag.Bool("events", false, "tell what processes come to")

var long = flag.Bool("long", false, "kill at every event instead of at a few")

const testdata = "../../testdata"

// rowsOf are the lines of a file of testdata.
func rowsOf(t testing.TB, path string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(testdata, filepath.FromSlash(path)))
	require.NoError(t, err)
	return strings.Split(strings.TrimRight(string(data), "\n"), "\n")
}

// sweep kills a play at every event that its undisturbed run has, each in a run of its own, and starts another
// process at once. stride > 1 leaves events out.
func sweep(t *testing.T, s setup, r rules, stride int, play func(l *lab)) {
	t.Helper()
	events := 0
	var want *lab
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, s, false)
		l.trap = func(*event) bool { events++; return false }
		l.start()
		play(l)
		l.finish()
		want = l
	})
	require.Empty(t, want.backend.bad)
	first := 1
	if *long {
		stride = 1
	} else { // not the same ones everywhere
		h := fnv.New32a()
		_, _ = h.Write([]byte(t.Name()))
		first = 1 + int(h.Sum32()%uint32(min(stride, events)))
	}
	t.Logf("%d spans, %d logs, %d series, %d events", len(want.backend.spans), len(want.backend.logs), len(want.backend.series), events)
	for n := first; n <= events; n += stride {
		synctest.Test(t, func(t *testing.T) {
			l := newLab(t, s, true)
			where := point("")
			l.set(n, func(e *event) bool { where = e.point; return true })
			l.start()
			play(l)
			l.finish()
			judge(t, want.backend, l, r)
			if t.Failed() {
				t.Logf("killed at event %d, %s", n, where)
			}
		})
		if t.Failed() {
			return
		}
	}
}

// grow appends rows to a file, some at a time; processes that were killed are followed by others.
func (l *lab) grow(name string, rows []string, some int) {
	for len(rows) > 0 {
		n := min(some, len(rows))
		l.add(name, rows[:n]...)
		rows = rows[n:]
		l.run(time.Second)
		l.start()
	}
}

// single are the files of testdata that are a session, or several, by themselves.
func single(t testing.TB) (paths []string) {
	for _, folder := range []string{"claude", "cline", "codex", "rollouts", "sessions", "transcripts"} {
		entries, err := os.ReadDir(filepath.Join(testdata, folder))
		require.NoError(t, err)
		for _, e := range entries {
			// Of some nothing is known that would be sent.
			if strings.HasSuffix(e.Name(), ".jsonl") && e.Name() != "interrupted.jsonl" && e.Name() != "legacy-errors.jsonl" {
				paths = append(paths, folder+"/"+e.Name())
			}
		}
	}
	return paths
}

func (l *lab) splash(name string, rows []string, some int) {
	for len(rows) > 0 {
		n := min(some, len(rows))
		l.post(name, rows[:n]...)
		rows = rows[n:]
		l.run(time.Second)
		l.start()
	}
}

func TestSweepFiles(t *testing.T) {
	for _, path := range single(t) {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			rows := rowsOf(t, path)
			some := max(3, len(rows)/8)
			sweep(t, setup{}, rules{timeless: !timed(rows)}, 47, func(l *lab) { l.grow("a.jsonl", rows, some) })
		})
	}
}

func TestSweepRequests(t *testing.T) {
	for _, path := range single(t) {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			rows := rowsOf(t, path)
			sweep(t, setup{}, rules{timeless: !timed(rows)}, 47, func(l *lab) { l.splash("a", rows, portion(path, rows)) })
		})
	}
}

// A request that is sent again, acknowledged or not, changes nothing.
func TestRepeatedRequests(t *testing.T) {
	for _, path := range single(t) {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			rows := rowsOf(t, path)
			experiment(t, setup{}, rules{timeless: !timed(rows)}, func(l *lab) {
				rest, some := rows, portion(path, rows)
				for len(rest) > 0 {
					n := min(some, len(rest))
					l.post("a", rest[:n]...)
					if l.disturbed {
						l.post("a", rest[:n]...)
					}
					rest = rest[n:]
					l.run(time.Second)
				}
			})
		})
	}
}

// portion is how many rows are sent in one request.
func portion(path string, rows []string) int {
	if !strings.HasPrefix(path, "claude/") || !strings.Contains(strings.Join(rows, ""), "session_id") {
		return len(rows) // only its beginning tells which session it is
	}
	return max(3, len(rows)/8)
}

var rowTime = regexp.MustCompile(`"(timestamp|ts)":`)

func timed(rows []string) bool {
	for _, row := range rows {
		if strings.TrimSpace(row) != "" && !rowTime.MatchString(row) {
			return false
		}
	}
	return true
}
