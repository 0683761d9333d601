// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// limitFiles bounds the size of the files that a process may write, as a full disk would bound them together. Only
// the soft limit moves, so that it can be raised again.
func limitFiles(t *testing.T, pid int, size uint64) {
	t.Helper()
	limit := syscall.Rlimit{Cur: size, Max: math.MaxUint64}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_FSIZE, uintptr(unsafe.Pointer(&limit)), 0, 0, 0)
	require.Zero(t, errno, "prlimit: %s", errno)
}

// size is that of all databases.
func (s *Setup) size(t *testing.T) (largest uint64) {
	t.Helper()
	files, err := os.ReadDir(s.Database())
	require.NoError(t, err)
	for _, f := range files {
		info, err := f.Info()
		require.NoError(t, err)
		largest = max(largest, uint64(info.Size()))
	}
	return largest
}

// The database cannot grow while the load goes on: nothing is lost, and everything goes on by itself when it can.
// That progress stops meanwhile is a matter of how much space the database has left in its file; see the tests in
// process for that.
func TestDiskFull(t *testing.T) {
	l := newLab(t, 8, true, 20)
	l.needsStorage(t)
	// A write over the limit raises SIGXFSZ, of which the Go runtime would die; blocked, the write fails.
	env, err := exec.LookPath("env")
	if err != nil || exec.CommandContext(t.Context(), env, "--block-signal=XFSZ", "true").Run() != nil {
		t.Skip("env cannot block signals here")
	}
	want := l.run(t, "undisturbed", func(s *Setup) { s.Sockets = true }).undisturbed()

	r := l.run(t, "full", func(s *Setup) {
		s.Sockets, s.Storage, s.Wrap = true, true, []string{env, "--block-signal=XFSZ"}
	})
	r.start()
	r.ready()
	r.await(func() string {
		if _, err := os.Stat(filepath.Join(r.setup.Database())); err == nil && r.setup.size(t) > 0 {
			return ""
		}
		return "a database"
	})
	limitFiles(t, r.alive.PID(), r.setup.size(t))
	for r.feed.next < r.load.Ops()*3/4 {
		require.NoError(t, r.feed.Step())
		pause(t.Context(), 2*time.Millisecond)
	}
	// Long enough for several attempts to store something.
	pause(t.Context(), time.Second)
	select {
	case <-r.alive.exited:
		require.FailNow(t, "the collector ended", r.alive.Said())
	default:
	}
	limitFiles(t, r.alive.PID(), math.MaxUint64)
	r.rest()
	r.same(want, Rules{}, 0)
}
