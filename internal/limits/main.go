// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Command limits measures the figures of docs/limits.md: it runs the built distribution over inputs that
// it makes, and reads the process's own counters. The machine should be idle.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// measurement is one line, or a few, of the report.
type measurement struct {
	name string
	run  func(*lab) error
}

var measurements = []measurement{
	{"file", (*lab).bigFile},
	{"line", (*lab).bigLine},
	{"latency", (*lab).latency},
	{"connections", (*lab).idleConnections},
	{"files", (*lab).idleFiles},
	{"blocked", (*lab).blocked},
	{"idle", (*lab).idle},
	{"manyfiles", (*lab).manyFiles},
	{"restart", (*lab).restart},
	{"evicted", (*lab).evicted},
	{"commit", (*lab).commit},
}

func main() {
	if runtime.GOOS != "linux" {
		fmt.Fprintln(os.Stderr, "limits: reads /proc, so it runs on Linux only")
		os.Exit(2)
	}
	var names []string
	for _, m := range measurements {
		names = append(names, m.name)
	}
	bin := flag.String("bin", "bin/otelcol-agents", "the distribution to measure")
	only := flag.String("only", "", "measurements to run, with commas between them, of "+strings.Join(names, ", "))
	size := flag.Int64("mib", 2048, "size of the large file in MiB")
	rest := flag.Duration("rest", 60*time.Second, "how long idle states are watched, and how long the exporter is blocked")
	pprof := flag.String("pprof", "", "address at which what is measured serves profiles")
	flag.Parse()
	dir, err := os.MkdirTemp("", "limits")
	if err != nil {
		fmt.Fprintln(os.Stderr, "limits: make a folder:", err)
		os.Exit(1)
	}
	code := 0
	l := &lab{dir: dir, size: *size << 20, rest: *rest, pprof: *pprof}
	if l.bin, err = filepath.Abs(*bin); err != nil {
		fmt.Fprintln(os.Stderr, "limits:", err)
		code = 1
	}
	for _, m := range measurements {
		if code != 0 || *only != "" && !slices.Contains(strings.Split(*only, ","), m.name) {
			continue
		}
		if err := m.run(l); err != nil {
			fmt.Fprintf(os.Stderr, "limits: measure %s: %v\n", m.name, err)
			code = 1
		}
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// lab is where measurements are made.
type lab struct {
	bin  string
	dir  string
	size int64
	rest time.Duration

	pprof string
}

func (l *lab) report(format string, args ...any) { fmt.Printf(format+"\n", args...) }

func (l *lab) path(name string) string { return filepath.Join(l.dir, name) }

// wait calls done until it is true.
func wait(ctx context.Context, done func() bool) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
