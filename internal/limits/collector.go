// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// collector is a running process of the distribution.
type collector struct {
	cmd     *exec.Cmd
	metrics string // address of its own metrics
	started time.Time
	ready   time.Duration // from start to "Everything is ready"
}

// usage is what the process has used.
type usage struct {
	cpu       time.Duration
	rss, peak int64 // bytes
}

// telemetry is the part of every configuration that lets us look inside.
const telemetry = `
  telemetry:
    metrics:
      readers:
        - pull: {exporter: {prometheus: {host: 127.0.0.1, port: %d}}}
`

// start runs the distribution with a configuration, whose service section must come last and is
// completed here.
func (l *lab) start(config string) (*collector, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	path := l.path("config.yaml")
	if l.pprof != "" {
		config = l.profiled(config)
	}
	if err := os.WriteFile(path, []byte(config+fmt.Sprintf(telemetry, port)), 0o600); err != nil {
		return nil, err
	}
	c := &collector{cmd: exec.Command(l.bin, "--config", path), metrics: fmt.Sprintf("127.0.0.1:%d", port), started: time.Now()}
	stderr, err := c.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	var said bytes.Buffer
	lines := bufio.NewScanner(io.TeeReader(stderr, &said))
	for lines.Scan() {
		if strings.Contains(lines.Text(), "Everything is ready") {
			c.ready = time.Since(c.started)
			go func() { _, _ = io.Copy(io.Discard, stderr) }()
			return c, nil
		}
	}
	_ = c.cmd.Wait()
	return nil, fmt.Errorf("the collector did not start: %s", tail(said.String(), 600))
}

// profiled adds profiles to a configuration.
func (l *lab) profiled(config string) string {
	pprof := fmt.Sprintf("pprof: {endpoint: %q}", l.pprof)
	if strings.Contains(config, "extensions: {") {
		return strings.Replace(strings.Replace(config, "extensions: {", "extensions: {"+pprof+", ", 1), "extensions: [", "extensions: [pprof, ", 1)
	}
	return strings.Replace("extensions: {"+pprof+"}\n"+config, "service:\n", "service:\n  extensions: [pprof]\n", 1)
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

func (c *collector) stop() error {
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return c.cmd.Wait()
}

// metric is the sum of a counter or gauge of the collector's own telemetry.
func (c *collector) metric(name string) float64 {
	resp, err := http.Get("http://" + c.metrics + "/metrics")
	if err != nil {
		return 0
	}
	defer func() { _ = resp.Body.Close() }()
	var sum float64
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		line := lines.Text()
		id, value, ok := strings.Cut(line, " ")
		if rest, labels := strings.CutPrefix(line, name+"{"); labels {
			_, value, ok = strings.Cut(rest, "} ")
			id = name
		}
		if ok && id == name {
			v, _ := strconv.ParseFloat(value, 64)
			sum += v
		}
	}
	return sum
}

// used reads what the process has used.
func (c *collector) used() (u usage, err error) {
	dir := fmt.Sprintf("/proc/%d/", c.cmd.Process.Pid)
	stat, err1 := os.ReadFile(dir + "stat")
	status, err2 := os.ReadFile(dir + "status")
	if err := errors.Join(err1, err2); err != nil {
		return u, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	for _, f := range fields[11:13] { // user and system time in hundredths of a second
		n, _ := strconv.ParseInt(f, 10, 64)
		u.cpu += time.Duration(n) * 10 * time.Millisecond
	}
	for line := range strings.Lines(string(status)) {
		var kib int64
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kib); n == 1 {
			u.rss = kib << 10
		}
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			u.peak = kib << 10
		}
	}
	return u, nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func mib(n int64) int64 { return n >> 20 }
