// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// sink is an OTLP/HTTP endpoint.
type sink struct {
	t      *testing.T
	server *httptest.Server
	// answer may write the answer to the n-th request; false = its content is not taken.
	answer func(w http.ResponseWriter, r *http.Request, n int) bool
	names  chan string

	mu          sync.Mutex
	requests    []*http.Request
	spans       []string
	logs        int
	inputTokens []int64
}

func newSink(t *testing.T) *sink {
	s := &sink{t: t, names: make(chan string, 1000)}
	s.server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.server.Close)
	return s
}

func (s *sink) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	zip, err := gzip.NewReader(r.Body)
	if !assert.NoError(s.t, err) {
		return
	}
	body, err := io.ReadAll(zip)
	if !assert.NoError(s.t, err) {
		return
	}
	s.requests = append(s.requests, r)
	if s.answer != nil && !s.answer(w, r, len(s.requests)) {
		return
	}
	kind := r.Header.Get("Content-Type")
	assert.Contains(s.t, []string{"application/json", "application/x-protobuf"}, kind)
	asJSON := kind == "application/json"
	switch path := r.URL.Path; {
	case strings.HasSuffix(path, "/v1/traces"):
		var td ptrace.Traces
		if asJSON {
			td, err = new(ptrace.JSONUnmarshaler).UnmarshalTraces(body)
		} else {
			td, err = new(ptrace.ProtoUnmarshaler).UnmarshalTraces(body)
		}
		if assert.NoError(s.t, err) {
			s.traces(td)
		}
	case strings.HasSuffix(path, "/v1/logs"):
		var ld plog.Logs
		if asJSON {
			ld, err = new(plog.JSONUnmarshaler).UnmarshalLogs(body)
		} else {
			ld, err = new(plog.ProtoUnmarshaler).UnmarshalLogs(body)
		}
		if assert.NoError(s.t, err) {
			s.logs += ld.LogRecordCount()
		}
	case strings.HasSuffix(path, "/v1/metrics"):
		var md pmetric.Metrics
		if asJSON {
			md, err = new(pmetric.JSONUnmarshaler).UnmarshalMetrics(body)
		} else {
			md, err = new(pmetric.ProtoUnmarshaler).UnmarshalMetrics(body)
		}
		if assert.NoError(s.t, err) {
			s.metrics(md)
		}
	default:
		assert.Fail(s.t, "request to "+path)
	}
}

func (s *sink) traces(td ptrace.Traces) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				s.spans = append(s.spans, span.Name())
				s.names <- span.Name()
			}
		}
	}
}

func (s *sink) metrics(md pmetric.Metrics) {
	for _, rm := range md.ResourceMetrics().All() {
		for _, sm := range rm.ScopeMetrics().All() {
			for _, m := range sm.Metrics().All() {
				if m.Name() == "gen_ai.client.inference.usage.input_tokens" {
					for _, p := range m.Sum().DataPoints().All() {
						s.inputTokens = append(s.inputTokens, p.IntValue())
					}
				}
			}
		}
	}
}

func (s *sink) spanNames() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.spans)
}

// await waits for the next span.
func (s *sink) await(t *testing.T) string {
	t.Helper()
	select {
	case name := <-s.names:
		return name
	case <-time.After(patience):
		require.Fail(t, "no span arrived")
		return ""
	}
}
