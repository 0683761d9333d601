// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package tail

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
)

func TestNotRegular(t *testing.T) {
	r := newRig(t, Config{})
	require.NoError(t, syscall.Mkfifo(r.path("pipe.jsonl"), 0o644))
	require.NoError(t, os.Mkdir(r.path("dir.jsonl"), 0o755))
	for range 3 {
		r.wait(time.Second)
		r.poll()
	}
	assert.Equal(t, []string{"not regular pipe.jsonl"}, r.reports)
	assert.Zero(t, r.opens)
	assert.Zero(t, r.Tracked())
}

// BenchmarkFollow tells which share of one processor it takes to follow 10,000 files of 20 KB of which 20
// are written each 250 ms, the writing included.
func BenchmarkFollow(b *testing.B) {
	const files, hot = 10000, 20
	for _, writes := range []int{0, hot} {
		b.Run(fmt.Sprintf("hot=%d", writes), func(b *testing.B) {
			r := newRig(b, Config{StartAtEnd: true})
			for i := range files {
				path := fmt.Sprintf("%d/%d.jsonl", i%100, i)
				r.write(path, "")
				require.NoError(b, os.Truncate(r.path(path), 20<<10)) // a hole
				r.add(path, "\n")
				require.NoError(b, os.Chtimes(r.path(path), r.at.Add(-time.Hour), r.at.Add(-time.Hour)))
			}
			cfg := r.cfg
			cfg.PollInterval, cfg.CaughtUp = 0, nil
			live := New(cfg, func(ledger.FileID, uint32) Input { return discard{} }, r)
			require.NoError(b, live.Start(b.Context()))
			cpu := func() time.Duration {
				var u syscall.Rusage
				require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
				return time.Duration(u.Utime.Nano() + u.Stime.Nano())
			}
			used, began := cpu(), time.Now()
			for b.Loop() {
				for i := range writes {
					r.add(fmt.Sprintf("%d/%d.jsonl", i%100, i), "{\"n\":1}\n")
				}
				<-time.After(defaultPoll)
			}
			b.ReportMetric(100*float64(cpu()-used)/float64(time.Since(began)), "%cpu")
			b.StopTimer()
			require.NoError(b, live.Shutdown(b.Context()))
		})
	}
}
