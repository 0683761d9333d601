// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package agentstreamreceiver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pipeline"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"

	"github.com/otelcol-agents/otelcol-agents/receiver/agentstreamreceiver/internal/metadata"
)

func TestConsumeContract(t *testing.T) {
	for _, signal := range []pipeline.Signal{pipeline.SignalTraces, pipeline.SignalLogs} {
		t.Run(signal.String(), func(t *testing.T) {
			dir := t.TempDir()
			cfg := withFiles(newConfig(), filepath.Join(dir, "*.jsonl"))
			cfg.Options.Capture = []string{"responses"} // the ids of log records are their texts
			cfg.Options.Session.MaxSpans = 1 << 20
			receivertest.CheckConsumeContract(receivertest.CheckConsumeContractParams{
				T: t, Factory: contractFactory(), Signal: signal, Config: cfg,
				// The checker waits for five seconds and compares all ids every 10 ms of them: 10000 pass, but
				// not with the race detector on a machine that others use.
				Generator: &generator{t: t, dir: dir}, GenerateCount: 2000,
			})
		})
	}
}

// generator appends one response of a model at a time to a file.
type generator struct {
	t   *testing.T
	dir string

	mu       sync.Mutex
	file     *os.File
	files, n int
}

func (g *generator) Start() {
	g.files++
	var err error
	g.file, err = os.Create(filepath.Join(g.dir, fmt.Sprintf("%d.jsonl", g.files)))
	require.NoError(g.t, err)
}

func (g *generator) Stop() {
	require.NoError(g.t, g.file.Close())
	require.NoError(g.t, os.Remove(g.file.Name()))
}

func (g *generator) Generate() []receivertest.UniqueIDAttrVal {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n++
	id := fmt.Sprintf("msg_%d", g.n)
	_, err := fmt.Fprintf(g.file, `{"type":"assistant","session_id":"s%d","uuid":"u%d","timestamp":%q,"message":{"id":%q,"role":"assistant",`+
		`"model":"claude-sonnet-4-5","content":[{"type":"text","text":%q}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":2}}}`+"\n",
		g.files, g.n, time.Now().UTC().Format(time.RFC3339Nano), id, id)
	require.NoError(g.t, err)
	return []receivertest.UniqueIDAttrVal{receivertest.UniqueIDAttrVal(id)}
}

// contractFactory makes receivers whose consumers see what the generator counts, under its name.
func contractFactory() receiver.Factory {
	quick := func(c component.Component, err error) (*instance, error) {
		if err != nil {
			return nil, err
		}
		in := c.(*instance)
		in.receiver.backoff, in.receiver.maxBackoff = time.Millisecond, 10*time.Millisecond
		return in, nil
	}
	traces := func(ctx context.Context, set receiver.Settings, cfg component.Config, next consumer.Traces) (receiver.Traces, error) {
		only, err := consumer.NewTraces(func(ctx context.Context, td ptrace.Traces) error {
			if td = responseSpans(td); td.SpanCount() == 0 {
				return nil
			}
			return next.ConsumeTraces(ctx, td)
		})
		if err != nil {
			return nil, err
		}
		return quick(createTraces(ctx, set, cfg, only))
	}
	logs := func(ctx context.Context, set receiver.Settings, cfg component.Config, next consumer.Logs) (receiver.Logs, error) {
		only, err := consumer.NewLogs(func(ctx context.Context, ld plog.Logs) error {
			if ld = responseRecords(ld); ld.LogRecordCount() == 0 {
				return nil
			}
			return next.ConsumeLogs(ctx, ld)
		})
		if err != nil {
			return nil, err
		}
		return quick(createLogs(ctx, set, cfg, only))
	}
	return receiver.NewFactory(metadata.Type, createDefaultConfig,
		receiver.WithTraces(traces, metadata.TracesStability), receiver.WithLogs(logs, metadata.LogsStability))
}

func responseSpans(td ptrace.Traces) ptrace.Traces {
	own := ptrace.NewTraces()
	td.CopyTo(own)
	for _, rs := range own.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			ss.Spans().RemoveIf(func(s ptrace.Span) bool {
				id, ok := s.Attributes().Get("gen_ai.response.id")
				if ok {
					s.Attributes().PutStr(receivertest.UniqueIDAttrName, id.Str())
				}
				return !ok
			})
		}
	}
	return own
}

func responseRecords(ld plog.Logs) plog.Logs {
	own := plog.NewLogs()
	ld.CopyTo(own)
	for _, rl := range own.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			sl.LogRecords().RemoveIf(func(r plog.LogRecord) bool {
				if r.EventName() != "agentstream.agent" {
					return true
				}
				parts, _ := r.Body().Map().Get("parts")
				text, _ := parts.Slice().At(0).Map().Get("content")
				r.Attributes().PutStr(receivertest.UniqueIDAttrName, text.Str())
				return false
			})
		}
	}
	return own
}
