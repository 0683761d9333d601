// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Setup is a collector that can be started again and again.
type Setup struct {
	// Binary is the program, Dir a folder of its own: configuration, and the database below.
	Binary, Dir string
	// Files is the folder of the growing files, with a folder for each lane.
	Files string
	// Backend is the URL of the sink.
	Backend string
	// Storage keeps progress in a database; Queue is a queue of the exporter in the same.
	Storage, Queue bool
	// Idle is session.idle_timeout and session.linger. It must be longer than any pause of the load.
	Idle time.Duration
	// Sockets listens for TCP and HTTP as well.
	Sockets bool
	// Session, Metrics and Files are more keys of those sections, as YAML flow: "trace: turn".
	Session, Metrics string
	// Wrap is a command that runs the program, with its arguments; empty for none.
	Wrap []string

	// Ports of HTTP for the exact and the untimed lane, and of TCP.
	ports map[string]int
}

// Database is the folder of the database.
func (s *Setup) Database() string { return filepath.Join(s.Dir, "db") }

// HTTP is where the requests of a lane go; TCP where connections do.
func (s *Setup) HTTP(lane string) string {
	return fmt.Sprintf("http://127.0.0.1:%d/v1/agentstream", s.ports[lane])
}

// TCP is the address of the lossy lane.
func (s *Setup) TCP() string { return fmt.Sprintf("127.0.0.1:%d", s.ports[Lossy]) }

// config writes the configuration. Ports are chosen once: a restarted collector listens where its clients know it.
func (s *Setup) config() (string, error) {
	if err := os.MkdirAll(s.Database(), 0o700); err != nil {
		return "", err
	}
	if s.ports == nil {
		s.ports = map[string]int{}
		for _, lane := range []string{Exact, Untimed, Lossy} {
			port, err := freePort()
			if err != nil {
				return "", err
			}
			s.ports[lane] = port
		}
	}
	var b strings.Builder
	more := func(keys string) string {
		if keys == "" {
			return ""
		}
		return ", " + keys
	}
	receiver := func(lane, name, sources string) {
		fmt.Fprintf(&b, "  %s:\n%s", name, sources)
		fmt.Fprintf(&b, "    resource_attributes: {%s: %s}\n", LaneKey, lane)
		fmt.Fprintf(&b, "    session: {idle_timeout: %s, linger: %s%s}\n", s.Idle, s.Idle, more(s.Session))
		fmt.Fprintf(&b, "    metrics: {interval: 500ms%s}\n", more(s.Metrics))
		if s.Storage {
			b.WriteString("    storage: file_storage\n")
		}
	}
	both := func(lane string) string {
		sources := fmt.Sprintf("    files: {include: [%q], start_at: beginning, poll_interval: 50ms}\n", filepath.Join(s.Files, lane)+"/**/*.jsonl")
		if s.Sockets {
			sources += fmt.Sprintf("    http: {endpoint: \"127.0.0.1:%d\"}\n", s.ports[lane])
		}
		return sources
	}
	b.WriteString("receivers:\n")
	receiver(Exact, "agent_stream", both(Exact))
	receiver(Untimed, "agent_stream/untimed", both(Untimed))
	names := "agent_stream, agent_stream/untimed"
	if s.Sockets {
		receiver(Lossy, "agent_stream/lossy", fmt.Sprintf("    tcp: {endpoint: \"127.0.0.1:%d\"}\n", s.ports[Lossy]))
		names += ", agent_stream/lossy"
	}
	queue, extensions := "{enabled: false}", ""
	if s.Queue {
		queue = "{enabled: true, storage: file_storage}"
	}
	fmt.Fprintf(&b, "exporters:\n  otlp_http:\n    endpoint: %s\n    compression: none\n    timeout: 10s\n    sending_queue: %s\n", s.Backend, queue)
	b.WriteString("    retry_on_failure: {initial_interval: 20ms, max_interval: 200ms, max_elapsed_time: 0}\n")
	if s.Storage || s.Queue {
		fmt.Fprintf(&b, "extensions:\n  file_storage: {directory: %q}\n", s.Database())
		extensions = "  extensions: [file_storage]\n"
	}
	b.WriteString("service:\n  telemetry: {metrics: {level: none}}\n" + extensions + "  pipelines:\n")
	for _, signal := range []string{"traces", "logs", "metrics"} {
		fmt.Fprintf(&b, "    %s: {receivers: [%s], exporters: [otlp_http]}\n", signal, names)
	}
	path := filepath.Join(s.Dir, "config.yaml")
	return path, os.WriteFile(path, []byte(b.String()), 0o600)
}

// Validate asks the program whether it takes the configuration.
func (s *Setup) Validate(ctx context.Context) error {
	config, err := s.config()
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, s.Binary, "validate", "--config", config).CombinedOutput()
	if err != nil {
		return fmt.Errorf("validate: %w: %s", err, out)
	}
	return nil
}

// Collector is a running process.
type Collector struct {
	cmd    *exec.Cmd
	ready  chan struct{} // closed when it said so
	exited chan struct{} // closed when it has been waited for
	err    error         // how it exited; read after exited

	mu   sync.Mutex
	said []string // its last lines
}

// Start starts a process; the caller kills or stops it.
func (s *Setup) Start() (*Collector, error) {
	config, err := s.config()
	if err != nil {
		return nil, err
	}
	args := append(append([]string{}, s.Wrap...), s.Binary, "--config", config)
	c := &Collector{cmd: exec.Command(args[0], args[1:]...), ready: make(chan struct{}), exited: make(chan struct{})}
	// A pipe of our own: Wait would close that of StderrPipe under the reader.
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c.cmd.Stderr = w
	err = c.cmd.Start()
	_ = w.Close()
	if err != nil {
		_ = r.Close()
		return nil, fmt.Errorf("start the collector: %w", err)
	}
	go func() {
		c.listen(r)
		_ = r.Close()
		c.err = c.cmd.Wait()
		close(c.exited)
	}()
	return c, nil
}

func (c *Collector) listen(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	ready := false
	for lines.Scan() {
		line := lines.Text()
		if !ready && strings.Contains(line, "Everything is ready") {
			ready = true
			close(c.ready)
		}
		c.mu.Lock()
		if c.said = append(c.said, line); len(c.said) > 200 {
			c.said = c.said[100:]
		}
		c.mu.Unlock()
	}
	_, _ = io.Copy(io.Discard, r)
}

// Said are the last lines of its log.
func (c *Collector) Said() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.said, "\n")
}

// Ready waits until the collector says that it is.
func (c *Collector) Ready(ctx context.Context) error {
	select {
	case <-c.ready:
		return nil
	case <-c.exited:
		return fmt.Errorf("the collector ended before it was ready: %w\n%s", c.err, c.Said())
	case <-ctx.Done():
		return fmt.Errorf("the collector is not ready: %w\n%s", ctx.Err(), c.Said())
	}
}

// Kill ends the process with SIGKILL and waits for it. A process that had ended by itself is an error.
func (c *Collector) Kill() error {
	select {
	case <-c.exited:
		return fmt.Errorf("the collector ended by itself: %w\n%s", errors.Join(c.err, io.EOF), c.Said())
	default:
	}
	err := c.cmd.Process.Kill()
	<-c.exited
	return err
}

// Stop ends the process with SIGTERM and waits for it, for as long as ctx lets it.
func (c *Collector) Stop(ctx context.Context) error {
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop the collector: %w", err)
	}
	select {
	case <-c.exited:
		return c.err
	case <-ctx.Done():
		_ = c.cmd.Process.Kill()
		<-c.exited
		return fmt.Errorf("the collector did not stop: %w\n%s", ctx.Err(), c.Said())
	}
}

// PID is the process's.
func (c *Collector) PID() int { return c.cmd.Process.Pid }

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port, nil
}
