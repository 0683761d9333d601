// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

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
	if *long {
		stride = 1
	}
	t.Logf("%d spans, %d logs, %d series, %d events", len(want.backend.spans), len(want.backend.logs), len(want.backend.series), events)
	for n := 1; n <= events; n += stride {
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

func TestSweepFiles(t *testing.T) {
	for _, path := range []string{
		"transcripts/plain.jsonl", "transcripts/background.jsonl", "transcripts/resumed-in-place.jsonl",
		"claude/subagents-parallel.jsonl", "codex/codex-timed.jsonl", "rollouts/rollout-plain.jsonl", "rollouts/rollout-resumed.jsonl",
	} {
		t.Run(path, func(t *testing.T) {
			rows := rowsOf(t, path)
			sweep(t, setup{}, rules{}, 5, func(l *lab) { l.grow("a.jsonl", rows, 4) })
		})
	}
}
