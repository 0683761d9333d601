// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package agentstreamreceiver

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelcol-agents/otelcol-agents/internal/listen"
	"github.com/otelcol-agents/otelcol-agents/receiver/agentstreamreceiver/internal/metadatatest"
)

// rig is a receiver in three pipelines.
type rig struct {
	cfg  *Config
	tel  *componenttest.Telemetry
	logs *observer.ObservedLogs
	host *statusHost
	in   *instance

	traces  consumertest.TracesSink
	events  consumertest.LogsSink
	metrics consumertest.MetricsSink
	// decide judges each delivery before the sinks take it; nil accepts.
	decide func(data any) error
	own    bool // decide gives the sinks what it accepts
	stop   func() error
}

// newConfig is a configuration for tests: everything is quick, nothing listens yet.
func newConfig() *Config {
	cfg := createDefaultConfig().(*Config)
	cfg.Options.Session.Linger = 10 * time.Millisecond
	cfg.Options.Metrics.Interval = 10 * time.Millisecond
	return cfg
}

func withTCP(cfg *Config) *Config {
	cfg.TCP.GetOrInsertDefault().Address.Endpoint = "127.0.0.1:0"
	return cfg
}

func withHTTP(cfg *Config) *Config {
	cfg.HTTP.GetOrInsertDefault().ServerConfig.NetAddr.Endpoint = "127.0.0.1:0"
	return cfg
}

func withFiles(cfg *Config, globs ...string) *Config {
	f := cfg.Files.GetOrInsertDefault()
	f.Include, f.StartAt, f.PollInterval = globs, StartAtBeginning, time.Millisecond
	return cfg
}

// startRig starts a receiver of cfg in three pipelines.
func startRig(t *testing.T, cfg *Config, decide func(data any) error) *rig {
	t.Helper()
	r := &rig{decide: decide}
	r.begin(t, cfg)
	return r
}

// begin starts the receiver.
func (r *rig) begin(t *testing.T, cfg *Config) {
	t.Helper()
	r.cfg, r.tel, r.host = cfg, componenttest.NewTelemetry(), &statusHost{}
	t.Cleanup(func() { assert.NoError(t, r.tel.Shutdown(context.Background())) })
	set := metadatatest.NewSettings(r.tel)
	var core zapcore.Core
	core, r.logs = observer.New(zap.DebugLevel)
	set.Logger = zap.New(core)
	for _, c := range createAll(t, set, cfg, r.consumers(t)) {
		r.in = c.(*instance)
		r.in.receiver.backoff, r.in.receiver.maxBackoff = time.Millisecond, 5*time.Millisecond
		require.NoError(t, c.Start(t.Context(), r.host))
	}
	r.stop = sync.OnceValue(func() error { return r.in.Shutdown(context.Background()) })
	t.Cleanup(func() { _ = r.stop() })
}

// createAll makes the receivers of the three signals.
func createAll(t *testing.T, set receiver.Settings, cfg *Config, next consumers) []component.Component {
	t.Helper()
	f := NewFactory()
	traces, err := f.CreateTraces(t.Context(), set, cfg, next.traces)
	require.NoError(t, err)
	logs, err := f.CreateLogs(t.Context(), set, cfg, next.logs)
	require.NoError(t, err)
	metrics, err := f.CreateMetrics(t.Context(), set, cfg, next.metrics)
	require.NoError(t, err)
	return []component.Component{traces, logs, metrics}
}

func (r *rig) consumers(t *testing.T) consumers {
	judge := func(data any) error {
		if r.decide == nil {
			return nil
		}
		return r.decide(data)
	}
	traces, err := consumer.NewTraces(func(ctx context.Context, td ptrace.Traces) error {
		if err := judge(td); err != nil || r.own {
			return err
		}
		return r.traces.ConsumeTraces(ctx, td)
	})
	require.NoError(t, err)
	logs, err := consumer.NewLogs(func(ctx context.Context, ld plog.Logs) error {
		if err := judge(ld); err != nil || r.own {
			return err
		}
		return r.events.ConsumeLogs(ctx, ld)
	})
	require.NoError(t, err)
	metrics, err := consumer.NewMetrics(func(ctx context.Context, md pmetric.Metrics) error {
		if err := judge(md); err != nil || r.own {
			return err
		}
		return r.metrics.ConsumeMetrics(ctx, md)
	})
	require.NoError(t, err)
	return consumers{traces: traces, logs: logs, metrics: metrics}
}

// spans are the spans that arrived, by id and name, with how often each came.
func (r *rig) spans() map[string]int {
	found := map[string]int{}
	for _, td := range r.traces.AllTraces() {
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					found[s.SpanID().String()+" "+s.Name()]++
				}
			}
		}
	}
	return found
}

// wait waits until so many spans arrived, of which n-th names begin with the given words.
func (r *rig) wait(t *testing.T, words string, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return r.count(words) >= n }, patience, tick, "%d of %q", n, words)
}

func (r *rig) count(words string) (n int) {
	for name := range r.spans() {
		if _, name, _ := strings.Cut(name, " "); strings.HasPrefix(name, words) {
			n++
		}
	}
	return n
}

// tokens is the sum of agentstream.token.usage in the latest snapshot.
func (r *rig) tokens() (sum int64) {
	all := r.metrics.AllMetrics()
	if len(all) == 0 {
		return 0
	}
	for _, rm := range all[len(all)-1].ResourceMetrics().All() {
		for _, sm := range rm.ScopeMetrics().All() {
			for _, m := range sm.Metrics().All() {
				if m.Name() == "agentstream.token.usage" {
					for _, p := range m.Sum().DataPoints().All() {
						sum += p.IntValue()
					}
				}
			}
		}
	}
	return sum
}

func (r *rig) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", r.in.receiver.tcp.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// send sends text on a connection of its own.
func (r *rig) send(t *testing.T, text string) {
	t.Helper()
	c := r.dial(t)
	_, err := c.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, c.Close())
}

func (r *rig) post(t *testing.T, body string) *http.Response {
	t.Helper()
	url := "http://" + r.in.receiver.http.Addr().String() + listen.Path
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport, Timeout: patience}).Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// stream is the stream of a session from the repository's test data.
func stream(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "claude", name+".jsonl"))
	require.NoError(t, err)
	return string(data)
}

// statusHost is a host that keeps what is reported to it.
type statusHost struct {
	mu     sync.Mutex
	events []*componentstatus.Event
}

var (
	_ component.Host           = (*statusHost)(nil)
	_ componentstatus.Reporter = (*statusHost)(nil)
)

func (*statusHost) GetExtensions() map[component.ID]component.Component { return nil }

func (h *statusHost) Report(e *componentstatus.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.events = append(h.events, e)
}

func (h *statusHost) statuses() (all []componentstatus.Status) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.events {
		all = append(all, e.Status())
	}
	return all
}

// errDataRefused is what memory_limiter says: try again.
var errDataRefused = errors.New("data refused due to high memory usage")
