// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package agentstreamreceiver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/featuregate"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/xpdata/pref"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/otelcol-agents/otelcol-agents/receiver/agentstreamreceiver/internal/metadatatest"
)

// What plain-run.jsonl makes.
const (
	plainSpans   = 4 // two responses, a call, the session
	plainRecords = 8
	plainTokens  = 38555
	plainOK      = 10 // and one line of an unknown type
)

// checkPlain checks that the telemetry of one plain run arrived, each item once, in all three signals.
func checkPlain(t *testing.T, r *rig) {
	t.Helper()
	spans := r.spans()
	assert.Len(t, spans, plainSpans)
	for name, n := range spans {
		assert.Equal(t, 1, n, "%s came %d times", name, n)
	}
	assert.Equal(t, plainRecords, r.events.LogRecordCount())
	assert.Equal(t, int64(plainTokens), r.tokens())
}

// halves cuts a stream after the line that answers its tool call.
func halves(t *testing.T, text string) (open, rest string) {
	t.Helper()
	call := strings.Index(text, `"type":"tool_result"`)
	require.Positive(t, call)
	end := call + strings.Index(text[call:], "\n") + 1
	return text[:end], text[end:]
}

// TestTCP shows that what is final arrives while the session still runs.
func TestTCP(t *testing.T) {
	r := startRig(t, withTCP(newConfig()), nil)
	open, rest := halves(t, stream(t, "plain-run"))
	c := r.dial(t)
	_, err := io.WriteString(c, open)
	require.NoError(t, err)
	r.wait(t, "execute_tool", 1)
	assert.Zero(t, r.count("invoke_agent"))
	_, err = io.WriteString(c, rest)
	require.NoError(t, err)
	r.wait(t, "invoke_agent", 1)
	require.NoError(t, r.stop())
	checkPlain(t, r)
}

// TestTCPClose shows that the end of a connection ends its sessions, as do several on one of their own.
func TestTCPClose(t *testing.T) {
	cfg := withTCP(newConfig())
	cfg.Options.Session.Linger = time.Hour
	r := startRig(t, cfg, nil)
	open, _ := halves(t, stream(t, "plain-run"))
	r.send(t, open+strings.ReplaceAll(open, "b3693d9f-", "c3693d9f-"))
	r.wait(t, "invoke_agent", 2)
	require.NoError(t, r.stop())
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	r := startRig(t, withFiles(newConfig(), filepath.Join(dir, "**", "*.jsonl")), nil)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "project"), 0o700))
	f, err := os.Create(filepath.Join(dir, "project", "session.jsonl"))
	require.NoError(t, err)
	defer f.Close()
	open, rest := halves(t, stream(t, "plain-run"))
	_, err = f.WriteString(open + rest[:20]) // a line that is not complete yet
	require.NoError(t, err)
	r.wait(t, "execute_tool", 1)
	assert.Zero(t, r.count("invoke_agent"))
	_, err = f.WriteString(rest[20:])
	require.NoError(t, err)
	r.wait(t, "invoke_agent", 1)
	require.NoError(t, r.stop())
	checkPlain(t, r)
}

// TestFilesStartAtEnd shows that only what comes after the start is read of files that are there.
func TestFilesStartAtEnd(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "old.jsonl")
	require.NoError(t, os.WriteFile(old, []byte(stream(t, "plain-run")), 0o600))
	cfg := withFiles(newConfig(), filepath.Join(dir, "*.jsonl"))
	cfg.Files.Get().StartAt = StartAtEnd
	r := startRig(t, cfg, nil)
	f, err := os.OpenFile(old, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteString(strings.ReplaceAll(stream(t, "plain-run"), "b3693d9f-", "c3693d9f-"))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	r.wait(t, "invoke_agent", 1)
	require.NoError(t, r.stop())
	checkPlain(t, r)
}

type httpAnswer struct {
	Accepted int64            `json:"accepted"`
	Skipped  map[string]int64 `json:"skipped"`
	Error    string           `json:"error"`
}

func readAnswer(t *testing.T, resp *http.Response) (a httpAnswer) {
	t.Helper()
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&a))
	return a
}

func TestHTTP(t *testing.T) {
	cfg := withHTTP(newConfig())
	cfg.Options.Session.Linger = time.Hour
	r := startRig(t, cfg, nil)
	open, rest := halves(t, stream(t, "plain-run"))
	resp := r.post(t, open)
	assert.Equal(t, http.StatusOK, resp.StatusCode)
	assert.Equal(t, httpAnswer{Accepted: int64(strings.Count(open, "\n")), Skipped: map[string]int64{}}, readAnswer(t, resp))
	assert.Equal(t, 1, r.count("execute_tool"), "what is final was accepted before the answer")

	resp = r.post(t, rest)
	assert.Equal(t, http.StatusOK, resp.StatusCode)
	assert.Equal(t, httpAnswer{
		Accepted: int64(strings.Count(rest, "\n")) - 1, Skipped: map[string]int64{"unknown_type": 1},
	}, readAnswer(t, resp))
	assert.Zero(t, r.count("invoke_agent"), "the end of a request closes no session")

	resp = r.post(t, "nothing\n")
	assert.Equal(t, http.StatusBadRequest, resp.StatusCode)
	assert.Equal(t, map[string]int64{"not_json": 1}, readAnswer(t, resp).Skipped)

	require.NoError(t, r.stop(), "the end of the receiver does")
	checkPlain(t, r)
}

// TestTransient has each signal refused three times: everything arrives once.
func TestTransient(t *testing.T) {
	var traces, logs, metrics atomic.Int64
	r := startRig(t, withTCP(newConfig()), func(data any) error {
		var n int64
		switch data.(type) {
		case ptrace.Traces:
			n = traces.Add(1)
		case plog.Logs:
			n = logs.Add(1)
		case pmetric.Metrics:
			n = metrics.Add(1)
		}
		if n <= 3 {
			return errDataRefused
		}
		return nil
	})
	r.send(t, stream(t, "plain-run"))
	r.wait(t, "invoke_agent", 1)
	require.Eventually(t, func() bool { return r.tokens() == plainTokens }, patience, tick)
	metadatatest.AssertEqualAgentStreamRetries(t, r.tel, bySignal(3, 3, 3), metricdatatest.IgnoreTimestamp())
	require.NoError(t, r.stop())
	checkPlain(t, r)
	statuses := r.host.statuses()
	assert.Contains(t, statuses, componentstatus.StatusRecoverableError)
	assert.Equal(t, componentstatus.StatusOK, statuses[len(statuses)-1])
	_, err := r.tel.GetMetric("otelcol_agent_stream_dropped_items")
	require.Error(t, err, "nothing was dropped")
}

// TestPermanent has everything refused for good: it is counted, and progress is made.
func TestPermanent(t *testing.T) {
	r := startRig(t, withHTTP(withTCP(newConfig())), func(data any) error {
		if _, ok := data.(pmetric.Metrics); ok {
			return nil
		}
		return consumererror.NewPermanent(errors.New("never"))
	})
	r.send(t, stream(t, "plain-run"))
	require.Eventually(t, func() bool { return r.tokens() == plainTokens }, patience, tick)
	resp := r.post(t, strings.ReplaceAll(stream(t, "plain-run"), "b3693d9f-", "c3693d9f-"))
	assert.Equal(t, http.StatusOK, resp.StatusCode, "there is nothing to repeat")
	require.NoError(t, r.stop())
	assert.Empty(t, r.spans())
	assert.Zero(t, r.events.LogRecordCount())
	metadatatest.AssertEqualAgentStreamDroppedItems(t, r.tel,
		bySignal(2*plainSpans, 2*plainRecords, 0), metricdatatest.IgnoreTimestamp())
	_, err := r.tel.GetMetric("otelcol_agent_stream_retries")
	require.Error(t, err)
}

// TestPartial has half of each delivery accepted at a time: what was is not sent again.
func TestPartial(t *testing.T) {
	r := &rig{}
	again := errors.New("not all")
	r.decide = func(data any) error {
		switch data := data.(type) {
		case ptrace.Traces:
			if data.SpanCount() < 2 {
				return nil
			}
			took, left := ptrace.NewTraces(), ptrace.NewTraces()
			data.CopyTo(took)
			data.CopyTo(left)
			n := 0
			took.ResourceSpans().At(0).ScopeSpans().At(0).Spans().RemoveIf(func(ptrace.Span) bool { n++; return n%2 == 0 })
			n = 0
			left.ResourceSpans().At(0).ScopeSpans().At(0).Spans().RemoveIf(func(ptrace.Span) bool { n++; return n%2 == 1 })
			_ = r.traces.ConsumeTraces(t.Context(), took)
			return consumererror.NewTraces(again, left)
		case plog.Logs:
			if data.LogRecordCount() < 2 {
				return nil
			}
			took, left := plog.NewLogs(), plog.NewLogs()
			data.CopyTo(took)
			data.CopyTo(left)
			n := 0
			took.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().RemoveIf(func(plog.LogRecord) bool { n++; return n%2 == 0 })
			n = 0
			left.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().RemoveIf(func(plog.LogRecord) bool { n++; return n%2 == 1 })
			_ = r.events.ConsumeLogs(t.Context(), took)
			return consumererror.NewLogs(again, left)
		}
		return nil
	}
	r.begin(t, withTCP(newConfig()))
	r.send(t, stream(t, "plain-run"))
	r.wait(t, "invoke_agent", 1)
	require.NoError(t, r.stop())
	checkPlain(t, r)
}

// TestBlocked has the pipeline refuse for a while: new requests are sent away, files and connections wait.
func TestBlocked(t *testing.T) {
	var away atomic.Bool
	away.Store(true)
	r := startRig(t, withHTTP(withTCP(newConfig())), func(any) error {
		if away.Load() {
			return errDataRefused
		}
		return nil
	})
	r.send(t, stream(t, "plain-run"))
	require.Eventually(t, func() bool { return r.in.receiver.engine.Pressed() }, patience, tick)
	resp := r.post(t, stream(t, "plain-run"))
	assert.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
	assert.NotEmpty(t, resp.Header.Get("Retry-After"))
	metadatatest.AssertEqualAgentStreamConnectionsRefused(t, r.tel, []metricdata.DataPoint[int64]{
		{Value: 1, Attributes: attribute.NewSet(attribute.String("transport", "http"))},
	}, metricdatatest.IgnoreTimestamp())
	assert.Empty(t, r.spans())
	away.Store(false)
	r.wait(t, "invoke_agent", 1)
	require.NoError(t, r.stop())
	checkPlain(t, r)
}

// TestShutdownWhileBlocked shows that what cannot be delivered is told, and that the end comes.
func TestShutdownWhileBlocked(t *testing.T) {
	r := startRig(t, withTCP(newConfig()), func(any) error { return errDataRefused })
	r.send(t, stream(t, "plain-run"))
	require.Eventually(t, func() bool { return r.in.receiver.engine.Pressed() }, patience, tick)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, r.in.Shutdown(ctx), "before shutdown")
	metadatatest.AssertEqualAgentStreamDroppedItems(t, r.tel,
		bySignal(plainSpans, plainRecords, 0), metricdatatest.IgnoreTimestamp())
}

// TestProtoPooling has pipelines give the data back to its pool after each call, as the collector does.
func TestProtoPooling(t *testing.T) {
	const gate = "pdata.useProtoPooling"
	require.NoError(t, featuregate.GlobalRegistry().Set(gate, true))
	t.Cleanup(func() { assert.NoError(t, featuregate.GlobalRegistry().Set(gate, false)) })
	var n atomic.Int64
	r := &rig{}
	refuse := func() error {
		if n.Add(1)%2 == 1 {
			return errDataRefused
		}
		return nil
	}
	r.decide = func(data any) error {
		err := refuse()
		switch data := data.(type) {
		case ptrace.Traces:
			pref.MarkPipelineOwnedTraces(data)
			if err == nil {
				own := ptrace.NewTraces()
				data.CopyTo(own)
				_ = r.traces.ConsumeTraces(t.Context(), own)
			}
			pref.UnrefTraces(data)
		case plog.Logs:
			pref.MarkPipelineOwnedLogs(data)
			if err == nil {
				own := plog.NewLogs()
				data.CopyTo(own)
				_ = r.events.ConsumeLogs(t.Context(), own)
			}
			pref.UnrefLogs(data)
		case pmetric.Metrics:
			pref.MarkPipelineOwnedMetrics(data)
			if err == nil {
				own := pmetric.NewMetrics()
				data.CopyTo(own)
				_ = r.metrics.ConsumeMetrics(t.Context(), own)
			}
			pref.UnrefMetrics(data)
		}
		return err
	}
	r.own = true
	r.begin(t, withTCP(newConfig()))
	r.send(t, stream(t, "plain-run"))
	r.wait(t, "invoke_agent", 1)
	require.NoError(t, r.stop())
	checkPlain(t, r)
}

// TestSelfTelemetry compares what the receiver tells of itself with what was sent.
func TestSelfTelemetry(t *testing.T) {
	dir := t.TempDir()
	cfg := withFiles(withHTTP(withTCP(newConfig())), filepath.Join(dir, "*.jsonl"))
	cfg.Options.MaxLineSize = 16 << 10
	cfg.Options.Session.Linger = time.Hour
	r := startRig(t, cfg, nil)

	c := r.dial(t)
	text := stream(t, "plain-run") +
		"nonsense\n" + "nonsense\n" +
		`{"type":"user","session_id":"x","message":5}` + "\n" +
		strings.Repeat("x", 20<<10) + "\n" +
		strings.Repeat("\x00", 7) + `{"type":"user","session_id":"b3693d9f-2e64-4571-b039-b451ee6c08d5","timestamp":"never","message":{"role":"user","content":"x"}}` + "\n"
	_, err := io.WriteString(c, text)
	require.NoError(t, err)
	file := strings.ReplaceAll(stream(t, "plain-run"), "b3693d9f-", "c3693d9f-")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.jsonl"), []byte(file+`{"torn`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "empty.jsonl"), nil, 0o600))

	point := func(n int64) []metricdata.DataPoint[int64] { return []metricdata.DataPoint[int64]{{Value: n}} }
	when := metricdatatest.IgnoreTimestamp()
	require.Eventually(t, func() bool { return r.count("execute_tool") == 2 && value(r, "lag_bytes") == int64(len(`{"torn`)) }, patience, tick)
	metadatatest.AssertEqualAgentStreamConnectionsActive(t, r.tel, point(1), when)
	metadatatest.AssertEqualAgentStreamFilesTracked(t, r.tel, point(2), when)
	metadatatest.AssertEqualAgentStreamSessionsResident(t, r.tel, point(2), when)
	metadatatest.AssertEqualAgentStreamLagBytes(t, r.tel, point(int64(len(`{"torn`))), when)

	require.NoError(t, c.Close())
	require.Eventually(t, func() bool { return value(r, "connections_active") == 0 }, patience, tick)
	require.NoError(t, r.stop())
	outcome := func(name string, n int64) metricdata.DataPoint[int64] {
		return metricdata.DataPoint[int64]{Value: n, Attributes: attribute.NewSet(
			attribute.String("outcome", name), attribute.String("format", "claude_code"),
		)}
	}
	metadatatest.AssertEqualAgentStreamRecords(t, r.tel, []metricdata.DataPoint[int64]{
		outcome("ok", 2*plainOK), outcome("unknown_type", 2), outcome("not_json", 2), outcome("bad_shape", 1),
		outcome("oversize", 1), outcome("invalid_time", 1),
	}, when)
	metadatatest.AssertEqualAgentStreamBytesRead(t, r.tel, point(int64(len(text)+len(file))), when)
	metadatatest.AssertEqualAgentStreamNulBytes(t, r.tel, point(7), when)
	commits, err := r.tel.GetMetric("otelcol_agent_stream_commits")
	require.NoError(t, err)
	n := commits.Data.(metricdata.Sum[int64]).DataPoints[0].Value
	assert.Positive(t, n)
	metadatatest.AssertEqualAgentStreamCommits(t, r.tel, point(n), when)

	accepted, err := r.tel.GetMetric("otelcol_receiver_accepted_spans")
	require.NoError(t, err)
	assert.Equal(t, int64(r.traces.SpanCount()), accepted.Data.(metricdata.Sum[int64]).DataPoints[0].Value)
	accepted, err = r.tel.GetMetric("otelcol_receiver_accepted_log_records")
	require.NoError(t, err)
	assert.Equal(t, int64(r.events.LogRecordCount()), accepted.Data.(metricdata.Sum[int64]).DataPoints[0].Value)
}

// TestRewritten shows that a file that was replaced in place is read anew, and counted.
func TestRewritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(stream(t, "plain-run")), 0o600))
	r := startRig(t, withFiles(newConfig(), path), nil)
	r.wait(t, "invoke_agent", 1)
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(stream(t, "edits-with-patch"), "b3693d9f-", "c3693d9f-")), 0o600))
	r.wait(t, "invoke_agent", 2)
	require.NoError(t, r.stop())
	metadatatest.AssertEqualAgentStreamGuardMismatches(t, r.tel,
		[]metricdata.DataPoint[int64]{{Value: 1}}, metricdatatest.IgnoreTimestamp())
}

// value is the only point of a metric of the receiver; -1 when there is none.
func value(r *rig, name string) int64 {
	m, err := r.tel.GetMetric("otelcol_agent_stream_" + name)
	if err != nil {
		return -1
	}
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		return data.DataPoints[0].Value
	case metricdata.Gauge[int64]:
		return data.DataPoints[0].Value
	}
	return -1
}

func bySignal(traces, logs, metrics int64) (points []metricdata.DataPoint[int64]) {
	for name, n := range map[string]int64{"traces": traces, "logs": logs, "metrics": metrics} {
		if n > 0 {
			points = append(points, metricdata.DataPoint[int64]{Value: n, Attributes: attribute.NewSet(attribute.String("signal", name))})
		}
	}
	return points
}
