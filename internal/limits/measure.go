// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelcol-agents/otelcol-agents/internal/gen"
)

const patience = 5 * time.Minute

const nopPipelines = `
exporters: {nop: {}}
service:
  pipelines:
    traces: {receivers: [agent_stream], exporters: [nop]}
    logs: {receivers: [agent_stream], exporters: [nop]}
    metrics: {receivers: [agent_stream], exporters: [nop]}
`

// generate writes a stream of about so many bytes and returns its lines and its size.
func (l *lab) generate(path string, size int64) (lines int, written int64, err error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, 0, err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	lines = int(size/4400) + 2
	err = errors.Join(gen.Claude(w, gen.Options{Seed: 1, Lines: lines, Sessions: 4}), w.Flush(), f.Close())
	if err != nil {
		return 0, 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, 0, err
	}
	return lines, info.Size(), nil
}

// bigFile reads one large file, with agent_stream and with file_log and json_parser in turn.
func (l *lab) bigFile() error {
	path := l.path("large.jsonl")
	lines, size, err := l.generate(path, l.size)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(path) }()
	ours := fmt.Sprintf("receivers: {agent_stream: {files: {include: [%s], start_at: beginning}}}", path) + nopPipelines
	theirs := fmt.Sprintf(`
receivers:
  file_log:
    include: [%s]
    start_at: beginning
    max_log_size: 64MiB
    operators: [{type: json_parser}]
exporters: {nop: {}}
service:
  pipelines:
    logs: {receivers: [file_log], exporters: [nop]}
`, path)
	type run struct {
		wall time.Duration
		used usage
	}
	read := func(config, metric string, until float64) (r run, err error) {
		c, err := l.start(config)
		if err != nil {
			return r, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		err = wait(ctx, func() bool { return c.metric(metric) >= until })
		r.wall = time.Since(c.started) - c.ready
		used, err2 := c.used()
		r.used = used
		return r, errors.Join(err, err2, c.stop())
	}
	best := map[string]run{}
	for range 2 {
		for _, k := range []struct {
			name, config, metric string
			until                float64
		}{
			{"agent_stream", ours, "otelcol_agent_stream_bytes_read", float64(size)},
			{"file_log + json_parser", theirs, "otelcol_receiver_accepted_log_records", float64(lines)},
		} {
			r, err := read(k.config, k.metric, k.until)
			if err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
			if b, ok := best[k.name]; !ok || r.used.cpu < b.used.cpu {
				best[k.name] = r
			}
		}
	}
	for _, name := range []string{"agent_stream", "file_log + json_parser"} {
		r := best[name]
		l.report("file: %d MiB, %d lines, %s -> nop: %.0f MB/s, %.0f MB a CPU-second, peak RSS %d MiB", mib(size), lines, name,
			float64(size)/1e6/r.wall.Seconds(), float64(size)/1e6/r.used.cpu.Seconds(), mib(r.used.peak))
	}
	return nil
}

// bigLine reads a session with one line of 15 MB.
func (l *lab) bigLine() error {
	path := l.path("line.jsonl")
	rows := []string{
		`{"type":"system","subtype":"init","session_id":"s","model":"claude-sonnet-4-5","uuid":"i"}`,
		`{"type":"assistant","session_id":"s","uuid":"a","message":{"id":"m","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"cat big"}}],"usage":{"input_tokens":1,"output_tokens":1}}}`,
		`{"type":"user","session_id":"s","uuid":"u","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"` + strings.Repeat(`a line of text\n`, 15_000_000/16) + `"}]}}`,
		`{"type":"result","subtype":"success","is_error":false,"session_id":"s","num_turns":1,"duration_ms":1,"uuid":"r"}`,
	}
	text := strings.Join(rows, "\n") + "\n"
	c, err := l.start(fmt.Sprintf("receivers: {agent_stream: {files: {include: [%s], start_at: beginning}}}", l.path("*.jsonl")) + nopPipelines)
	if err != nil {
		return err
	}
	before, err := c.used()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return err
	}
	defer func() { _ = os.Remove(path) }()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err = wait(ctx, func() bool { return c.metric("otelcol_agent_stream_bytes_read") >= float64(len(text)) })
	took := time.Since(began)
	after, err2 := c.used()
	if err := errors.Join(err, err2, c.stop()); err != nil {
		return err
	}
	l.report("line: a tool result of %.1f MB in one line: read %.1f s after it was written, %d ms of CPU, RSS %d -> peak %d MiB",
		float64(len(rows[2]))/1e6, took.Seconds(), (after.cpu - before.cpu).Milliseconds(), mib(before.rss), mib(after.peak))
	return nil
}

// sink is an OTLP endpoint that can refuse. It keeps when spans came, by span id.
type sink struct {
	*httptest.Server
	refuse  atomic.Bool
	refused atomic.Int64
	mu      sync.Mutex
	spans   map[string]time.Time
	tops    int         // of them without a parent
	again   int         // spans that had come before
	came    chan string // span names, when somebody listens
}

func newSink() *sink {
	s := &sink{spans: map[string]time.Time{}, came: make(chan string, 1024)}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

func (s *sink) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if s.refuse.Load() || err != nil {
		s.refused.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	var doc struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []struct{ SpanID, ParentSpanID, Name string }
			}
		}
	}
	if strings.HasSuffix(r.URL.Path, "/traces") && json.Unmarshal(body, &doc) == nil {
		for _, rs := range doc.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				for _, sp := range ss.Spans {
					s.mu.Lock()
					if _, known := s.spans[sp.SpanID]; known {
						s.again++
					} else if sp.ParentSpanID == "" {
						s.tops++
					}
					s.spans[sp.SpanID] = time.Now()
					s.mu.Unlock()
					select {
					case s.came <- sp.Name:
					default:
					}
				}
			}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}")
}

func (s *sink) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.spans)
}

func (s *sink) roots() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tops
}

func (s *sink) repeated() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.again
}

func (s *sink) pipelines() string {
	return fmt.Sprintf(`
exporters:
  otlp_http: {endpoint: %q, encoding: json, compression: none, sending_queue: {enabled: false}, retry_on_failure: {enabled: false}}
service:
  pipelines:
    traces: {receivers: [agent_stream], exporters: [otlp_http]}
`, s.URL)
}

// latency is the time from a line's last byte to its span at an OTLP endpoint, while the session runs.
func (l *lab) latency() error {
	s := newSink()
	defer s.Close()
	port, err := freePort()
	if err != nil {
		return err
	}
	c, err := l.start(fmt.Sprintf("receivers: {agent_stream: {tcp: {endpoint: 127.0.0.1:%d}, files: {include: [%s], start_at: beginning}}}",
		port, l.path("latency*.jsonl")) + s.pipelines())
	if err != nil {
		return err
	}
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return errors.Join(err, c.stop())
	}
	file, err := os.Create(l.path("latency.jsonl"))
	if err != nil {
		return errors.Join(err, c.stop())
	}
	for name, w := range map[string]io.WriteCloser{"TCP": conn, "file, polled every 250ms": file} {
		took, err := s.calls(w, name[:3])
		if err = errors.Join(err, w.Close()); err != nil {
			return errors.Join(err, c.stop())
		}
		slices.SortFunc(took, cmp.Compare)
		l.report("latency: %s: last byte of a tool result -> its span at an OTLP endpoint: median %.1f ms, largest of %d %.1f ms",
			name, float64(took[len(took)/2].Microseconds())/1e3, len(took), float64(took[len(took)-1].Microseconds())/1e3)
	}
	return c.stop()
}

// calls writes tool calls and their results one by one and waits for the span of each.
func (s *sink) calls(w io.Writer, session string) (took []time.Duration, err error) {
	for i := range 40 {
		call := fmt.Sprintf(`{"type":"assistant","session_id":%[1]q,"uuid":"a%[1]s%[2]d","timestamp":%[3]q,"message":{"id":"m%[1]s%[2]d","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":"t%[1]s%[2]d","name":"Bash","input":{"command":"true"}}],"usage":{"input_tokens":1,"output_tokens":1}}}`+"\n",
			session, i, time.Now().UTC().Format(time.RFC3339Nano))
		result := fmt.Sprintf(`{"type":"user","session_id":%[1]q,"uuid":"u%[1]s%[2]d","timestamp":%[3]q,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%[1]s%[2]d","content":"ok"}]}}`+"\n",
			session, i, time.Now().UTC().Format(time.RFC3339Nano))
		if _, err := io.WriteString(w, call+result); err != nil {
			return nil, err
		}
		began := time.Now()
		timeout := time.After(30 * time.Second)
		for arrived := false; !arrived; {
			select {
			case name := <-s.came:
				arrived = strings.HasPrefix(name, "execute_tool")
			case <-timeout:
				return nil, errors.New("no span of a finished call")
			}
		}
		took = append(took, time.Since(began))
	}
	return took, nil
}

// watch says what a collector uses while nothing happens.
func (l *lab) watch(c *collector) (share float64, u usage, err error) {
	before, err := c.used()
	if err != nil {
		return 0, u, err
	}
	time.Sleep(l.rest)
	u, err = c.used()
	return (u.cpu - before.cpu).Seconds() / l.rest.Seconds() * 100, u, err
}

func (l *lab) idleConnections() error {
	port, err := freePort()
	if err != nil {
		return err
	}
	c, err := l.start(fmt.Sprintf("receivers: {agent_stream: {tcp: {endpoint: 127.0.0.1:%d}}}", port) + nopPipelines)
	if err != nil {
		return err
	}
	before, err := c.used()
	if err != nil {
		return err
	}
	for range 100 {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return errors.Join(err, c.stop())
		}
		defer func() { _ = conn.Close() }()
		if _, err := io.WriteString(conn, `{"type":"system","subtype":"init","session_id":"`+conn.LocalAddr().String()+"\"}\n"); err != nil {
			return errors.Join(err, c.stop())
		}
	}
	share, u, err := l.watch(c)
	l.report("connections: 100 idle TCP connections with a session each: %.2f %% of a core, RSS %d -> %d MiB", share, mib(before.rss), mib(u.rss))
	return errors.Join(err, c.stop())
}

func (l *lab) idleFiles() error {
	dir := l.path("idle")
	for i := range 1000 {
		sub := fmt.Sprintf("%s/%d", dir, i%50)
		if err := os.MkdirAll(sub, 0o700); err != nil {
			return err
		}
		var text bytes.Buffer
		if err := gen.Claude(&text, gen.Options{Seed: uint64(i), Lines: 5}); err != nil {
			return err
		}
		if err := os.WriteFile(fmt.Sprintf("%s/%d.jsonl", sub, i), text.Bytes(), 0o600); err != nil {
			return err
		}
	}
	c, err := l.start(fmt.Sprintf("receivers: {agent_stream: {files: {include: [%s/**/*.jsonl]}}}", dir) + nopPipelines)
	if err != nil {
		return err
	}
	share, u, err := l.watch(c)
	l.report("files: 1,000 idle files in 50 folders: %.2f %% of a core, RSS %d MiB, %.0f open descriptors, ready after %.1f s",
		share, mib(u.rss), c.metric("otelcol_agent_stream_files_open"), c.ready.Seconds())
	return errors.Join(err, c.stop())
}

// blocked reads a file and a connection while the exporter refuses, then counts what arrived.
func (l *lab) blocked() error {
	path := l.path("blocked.jsonl")
	_, size, err := l.generate(path, 200<<20)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(path) }()
	var want int
	var peak int64
	var back time.Duration
	for _, refuse := range []bool{false, true} {
		s := newSink()
		s.refuse.Store(refuse)
		c, err := l.start(fmt.Sprintf("receivers: {agent_stream: {files: {include: [%s], start_at: beginning}, session: {linger: 1s}}}", path) + s.pipelines())
		if err != nil {
			return err
		}
		began := time.Now()
		if refuse {
			time.Sleep(l.rest)
			s.refuse.Store(false)
			began = time.Now()
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		err = wait(ctx, func() bool {
			return c.metric("otelcol_agent_stream_bytes_read") >= float64(size) && (!refuse || s.count() >= want)
		})
		cancel()
		back = time.Since(began)
		u, err2 := c.used()
		peak = u.peak
		if err := errors.Join(err, err2, c.stop()); err != nil {
			return err
		}
		if !refuse {
			want = s.count()
		} else {
			l.report("blocked: %d MiB of input, exporter refusing for %s: peak RSS %d MiB, all %d spans %.1f s after it accepts again (%d of %d arrived)",
				mib(size), l.rest, mib(peak), want, back.Seconds(), s.count(), want)
		}
		s.Close()
	}
	return nil
}

func (l *lab) idle() error {
	port, err := freePort()
	if err != nil {
		return err
	}
	c, err := l.start(fmt.Sprintf("receivers: {agent_stream: {files: {include: [%s]}, tcp: {endpoint: 127.0.0.1:%d}}}", l.path("none*.jsonl"), port) + nopPipelines)
	if err != nil {
		return err
	}
	share, u, err := l.watch(c)
	l.report("idle: nothing to do: %.2f %% of a core, RSS %d MiB, ready after %.2f s", share, mib(u.rss), c.ready.Seconds())
	return errors.Join(err, c.stop())
}
