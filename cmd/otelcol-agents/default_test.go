// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.yaml.in/yaml/v3"
)

func TestParseHeaders(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want map[string]string
		bad  string // what the error says, which is never the value
	}{
		"none":                   {want: map[string]string{}},
		"one":                    {text: "api-key=k", want: map[string]string{"api-key": "k"}},
		"several, with spaces":   {text: " a = 1 , b=2,", want: map[string]string{"a": "1", "b": "2"}},
		"percent-encoded":        {text: "Authorization=Bearer%20a%2Cb%3D", want: map[string]string{"Authorization": "Bearer a,b="}},
		"equals sign in a value": {text: "Authorization=Basic dTpw==", want: map[string]string{"Authorization": "Basic dTpw=="}},
		"plus is itself":         {text: "a=1+1", want: map[string]string{"a": "1+1"}},
		"dollar":                 {text: "a=p$ss${env:HOME}$$", want: map[string]string{"a": "p$ss${env:HOME}$$"}},
		"empty value":            {text: "a=", want: map[string]string{"a": ""}},
		"no equals sign":         {text: "a=1,s3cret", bad: "number 2"},
		"no key":                 {text: "=s3cret", bad: "number 1"},
		"broken escape":          {text: "a=s3cret%zz", bad: "number 1"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseHeaders(tt.text)
			if tt.bad != "" {
				require.ErrorContains(t, err, tt.bad)
				assert.NotContains(t, err.Error(), "s3cret")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestOTLPConfig(t *testing.T) {
	for name, tt := range map[string]struct {
		endpoint, protocol string
		headers            map[string]string
		want               string // the exporters, as the collector reads them
		bad                string
	}{
		"http": {
			endpoint: "http://localhost:4318", protocol: "",
			want: "otlp_http: {endpoint: 'http://localhost:4318', retry_on_failure: {max_elapsed_time: 1m}, sending_queue: {enabled: false}}",
		},
		"headers": {
			endpoint: "https://c:4318", protocol: "http/protobuf", headers: map[string]string{"k": "p$ss"},
			want: "otlp_http: {endpoint: 'https://c:4318', headers: {k: p$$ss}, retry_on_failure: {max_elapsed_time: 1m}, sending_queue: {enabled: false}}",
		},
		"json": {
			endpoint: "https://c:4318", protocol: "http/json",
			want: "otlp_http: {endpoint: 'https://c:4318', encoding: json, retry_on_failure: {max_elapsed_time: 1m}, sending_queue: {enabled: false}}",
		},
		"grpc": {
			endpoint: "http://localhost:4317", protocol: "grpc",
			want: "otlp_grpc: {endpoint: 'http://localhost:4317', retry_on_failure: {max_elapsed_time: 1m}, sending_queue: {enabled: false}, tls: {insecure: true}}",
		},
		"grpc over TLS": {
			endpoint: "https://c:4317", protocol: "grpc",
			want: "otlp_grpc: {endpoint: 'https://c:4317', retry_on_failure: {max_elapsed_time: 1m}, sending_queue: {enabled: false}, tls: {insecure: false}}",
		},
		"unknown protocol": {endpoint: "http://localhost:4318", protocol: "thrift", bad: `OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf, http/json or grpc, got "thrift"`},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := otlpConfig(tt.endpoint, tt.headers, tt.protocol)
			if tt.bad != "" {
				require.EqualError(t, err, tt.bad)
				return
			}
			require.NoError(t, err)
			var got struct {
				Exporters map[string]any `yaml:"exporters"`
				Service   struct {
					Pipelines map[string]struct {
						Exporters []string `yaml:"exporters"`
					} `yaml:"pipelines"`
				} `yaml:"service"`
			}
			require.NoError(t, yaml.Unmarshal([]byte(text), &got))
			var want map[string]any
			require.NoError(t, yaml.Unmarshal([]byte(tt.want), &want))
			assert.Equal(t, want, got.Exporters)
			for _, signal := range []string{"traces", "logs", "metrics"} {
				// Lists are replaced, not joined: what the embedded configuration shows must stand here too.
				assert.Len(t, got.Service.Pipelines[signal].Exporters, 2, signal)
			}
		})
	}
}

func TestTell(t *testing.T) {
	for name, tt := range map[string]struct {
		env   map[string]string
		sends string
	}{
		"nowhere": {sends: "nowhere else; set OTEL_EXPORTER_OTLP_ENDPOINT"},
		"http":    {env: map[string]string{envEndpoint: "http://c:4318"}, sends: "http://c:4318\n"},
		"grpc":    {env: map[string]string{envEndpoint: "http://c:4317", envProtocol: "grpc"}, sends: "http://c:4317\n"},
		"secrets": {
			env:   map[string]string{envEndpoint: "https://u:s3cret@c/$x", envHeaders: "k=s3cret"},
			sends: "https://u:xxxxx@c/$x\n",
		},
		"no URL": {env: map[string]string{envEndpoint: "ht tp://s3cret"}, sends: "the endpoint of OTEL_EXPORTER_OTLP_ENDPOINT\n"},
	} {
		t.Run(name, func(t *testing.T) {
			home := filepath.Join(t.TempDir(), "$me")
			uris, err := defaultURIs(environ(home, tt.env))
			require.NoError(t, err)
			c, err := readEmbedded(uris)
			require.NoError(t, err)
			var out strings.Builder
			require.NoError(t, tell(&out, c))
			for _, text := range []string{
				"~/.claude/projects/**/*.jsonl", "~/.codex/sessions/**/*.jsonl", "| nc -N localhost 4319\n",
				"http://localhost:4320/v1/agentstream", "http://localhost:9464/metrics", "sends     " + tt.sends,
				"keeps     its progress in " + filepath.Join(home, "state", "otelcol-agents") + "\n",
			} {
				assert.Contains(t, out.String(), text)
			}
			assert.NotContains(t, out.String(), "s3cret")
		})
	}
	t.Run("writer", func(t *testing.T) {
		require.ErrorIs(t, tell(failing{}, &embedded{}), io.ErrClosedPipe)
	})
	t.Run("no YAML", func(t *testing.T) {
		_, err := readEmbedded([]string{"yaml:\t"})
		require.ErrorContains(t, err, "read the embedded configuration")
	})
}

// environ is an environment with a place for state below home, and env.
func environ(home string, env map[string]string) func(string) string {
	all := map[string]string{
		"HOME": home, "XDG_STATE_HOME": filepath.Join(home, "state"), "LOCALAPPDATA": filepath.Join(home, "state"),
	}
	maps.Copy(all, env)
	return func(k string) string { return all[k] }
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// sink is an OTLP/HTTP endpoint that keeps what it gets.
type sink struct {
	*httptest.Server
	mu      sync.Mutex
	headers []http.Header
	spans   []ptrace.Span
	logs    int
	metrics map[string]bool
}

func newSink(t *testing.T) *sink {
	s := &sink{metrics: map[string]bool{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.take(r); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *sink) take(r *http.Request) error {
	reader := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			return err
		}
		reader = unzipped
	}
	body, err := io.ReadAll(reader)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.headers = append(s.headers, r.Header)
	switch r.URL.Path {
	case "/v1/traces":
		td, err := (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(body)
		if err != nil {
			return err
		}
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, span := range ss.Spans().All() {
					s.spans = append(s.spans, span)
				}
			}
		}
	case "/v1/logs":
		ld, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(body)
		if err != nil {
			return err
		}
		s.logs += ld.LogRecordCount()
	case "/v1/metrics":
		md, err := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(body)
		if err != nil {
			return err
		}
		for _, rm := range md.ResourceMetrics().All() {
			for _, sm := range rm.ScopeMetrics().All() {
				for _, m := range sm.Metrics().All() {
					s.metrics[m.Name()] = true
				}
			}
		}
	default:
		return errors.New("unexpected path " + r.URL.Path)
	}
	return nil
}

func (s *sink) span(name string) (ptrace.Span, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, span := range s.spans {
		if span.Name() == name {
			return span, true
		}
	}
	return ptrace.Span{}, false
}

// freePorts are addresses of the loopback that nobody listens on.
func freePorts(t *testing.T, n int) []string {
	t.Helper()
	out := make([]string, n)
	for i := range out {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer func() { assert.NoError(t, l.Close()) }()
		out[i] = l.Addr().String()
	}
	return out
}

// A collector with the embedded configuration, in this process: only its ports and the interval of its
// metrics are others.
func TestEmbeddedDefault(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	t.Setenv("LOCALAPPDATA", filepath.Join(home, "state"))
	backend := newSink(t)
	env := map[string]string{
		envEndpoint: backend.URL,
		envHeaders:  "x-plain=one,x-encoded=a%20b%2Cc%3Dd,x-dollar=p$ss${env:HOME}$$",
	}
	set, err := settings(environ(home, env))
	require.NoError(t, err)
	ports := freePorts(t, 3)
	tcp, web, prom := ports[0], ports[1], ports[2]
	substitute := strings.NewReplacer("localhost:4319", tcp, "localhost:4320", web, "localhost:9464", prom, "interval: 5s", "interval: 50ms")
	uris := set.ConfigProviderSettings.ResolverSettings.URIs
	require.Len(t, uris, 3)
	uris[0] = substitute.Replace(uris[0])
	set.DisableGracefulShutdown = true // no signal handlers in a test
	set.LoggingOptions = []zap.Option{zap.WrapCore(func(zapcore.Core) zapcore.Core { return zapcore.NewNopCore() })}
	col, err := otelcol.NewCollector(set)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- col.Run(context.WithoutCancel(t.Context())) }()
	stopped := false
	stop := func() {
		if !stopped {
			stopped = true
			col.Shutdown()
			require.NoError(t, <-done)
		}
	}
	defer stop()
	require.Eventually(t, func() bool {
		select {
		case err := <-done:
			done <- err
			return true
		default:
			return col.GetState() == otelcol.StateRunning
		}
	}, 30*time.Second, 5*time.Millisecond)
	require.Equal(t, otelcol.StateRunning, col.GetState(), "the collector did not start")

	stream, err := os.ReadFile("../../testdata/claude/plain-run.jsonl")
	require.NoError(t, err)
	conn, err := net.Dial("tcp", tcp)
	require.NoError(t, err)
	_, err = conn.Write(stream)
	require.NoError(t, err)
	require.NoError(t, conn.Close())

	// The connection's end closes its session: the root comes without the linger.
	const root = "invoke_agent claude-code"
	require.Eventually(t, func() bool { _, ok := backend.span(root); return ok }, 10*time.Second, 5*time.Millisecond)
	span, _ := backend.span(root)
	assert.True(t, span.ParentSpanID().IsEmpty())
	id, _ := span.Attributes().Get("session.id")
	assert.Equal(t, "b3693d9f-2e64-4571-b039-b451ee6c08d5", id.Str())
	require.Eventually(t, func() bool {
		backend.mu.Lock()
		defer backend.mu.Unlock()
		return backend.logs > 0 && backend.metrics["agentstream.token.usage"]
	}, 10*time.Second, 5*time.Millisecond)
	backend.mu.Lock()
	for _, h := range backend.headers {
		assert.Equal(t, "one", h.Get("x-plain"))
		assert.Equal(t, "a b,c=d", h.Get("x-encoded"))
		assert.Equal(t, "p$ss${env:HOME}$$", h.Get("x-dollar"))
		assert.Equal(t, "application/x-protobuf", h.Get("Content-Type"))
	}
	backend.mu.Unlock()

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		resp, err := client.Get("http://" + prom + "/metrics")
		if !assert.NoError(c, err) {
			return
		}
		body, err := io.ReadAll(resp.Body)
		assert.NoError(c, errors.Join(err, resp.Body.Close()))
		assert.Contains(c, string(body), "agentstream_token_usage_total{")
		assert.Contains(c, string(body), "agentstream_cost_usd")
	}, 10*time.Second, 20*time.Millisecond)

	// HTTP takes the same stream; its spans are the same ones.
	resp, err := client.Post("http://"+web+"/v1/agentstream", "application/x-ndjson", bytes.NewReader(stream))
	require.NoError(t, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, http.StatusOK, resp.StatusCode, string(body))

	state, err := stateDirectory(runtime.GOOS, environ(home, nil))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(state, home), state)
	info, err := os.Stat(state)
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		assert.Equal(t, os.FileMode(0o700), info.Mode().Perm(), "nobody else may look")
	}
	stored, err := filepath.Glob(filepath.Join(state, "*"))
	require.NoError(t, err)
	assert.Equal(t, []string{filepath.Join(state, "receiver_agent_stream_")}, stored, "no exporter has a queue there")

	stop()
	assert.Equal(t, otelcol.StateClosed, col.GetState())
	for _, addr := range ports {
		_, err := net.Dial("tcp", addr)
		assert.Error(t, err, "%s is still served", addr)
	}
}
