// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package agentstreamreceiver

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelcol-agents/otelcol-agents/internal/engine"
	"github.com/otelcol-agents/otelcol-agents/receiver/agentstreamreceiver/internal/metadatatest"
)

// reporting is a reporter without an engine.
type reporting struct {
	engineReporter
	tel      *componenttest.Telemetry
	logs     *observer.ObservedLogs
	statuses []componentstatus.Status
}

func newReporting(t *testing.T) *reporting {
	t.Helper()
	r := &reporting{tel: componenttest.NewTelemetry()}
	t.Cleanup(func() { assert.NoError(t, r.tel.Shutdown(context.Background())) })
	set := metadatatest.NewSettings(r.tel)
	core, logs := observer.New(zap.DebugLevel)
	set.Logger, r.logs = zap.New(core), logs
	rcv, err := newReceiver(newConfig(), set)
	require.NoError(t, err)
	rcv.status = func(e *componentstatus.Event) { r.statuses = append(r.statuses, e.Status()) }
	r.receiver = rcv
	return r
}

// TestStorageTrouble shows when a disk that is full is told of, and when it is over.
func TestStorageTrouble(t *testing.T) {
	const bad, good = componentstatus.StatusRecoverableError, componentstatus.StatusOK
	full, away := errors.New("full"), errors.New("away")
	for name, tt := range map[string]struct {
		happens  func(r *reporting)
		statuses []componentstatus.Status
		warnings int
		failures int64
	}{
		"over at once": {
			happens:  func(r *reporting) { r.CommitFailed(full); r.CommitRecovered() },
			statuses: []componentstatus.Status{bad, good}, warnings: 1, failures: 1,
		},
		"many attempts": {
			happens: func(r *reporting) {
				for range 61 {
					r.CommitFailed(full)
					time.Sleep(time.Second)
				}
				r.CommitRecovered()
			},
			statuses: []componentstatus.Status{bad, bad, bad, good}, warnings: 3, failures: 61,
		},
		"the pipeline refuses meanwhile": {
			happens: func(r *reporting) {
				r.Retrying(engine.Traces, away, time.Second)
				r.CommitFailed(full)
				r.Recovered(engine.Traces)
				r.CommitRecovered()
			},
			statuses: []componentstatus.Status{bad, bad, good}, warnings: 2, failures: 1,
		},
		"the pipeline refuses longer": {
			happens: func(r *reporting) {
				r.CommitFailed(full)
				r.Retrying(engine.Traces, away, time.Second)
				r.CommitRecovered()
				r.Recovered(engine.Traces)
			},
			statuses: []componentstatus.Status{bad, bad, good}, warnings: 2, failures: 1,
		},
		"again": {
			happens: func(r *reporting) {
				r.CommitFailed(full)
				r.CommitRecovered()
				r.CommitFailed(full)
			},
			statuses: []componentstatus.Status{bad, good, bad}, warnings: 2, failures: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newReporting(t)
				tt.happens(r)
				assert.Equal(t, tt.statuses, r.statuses)
				assert.Equal(t, tt.warnings, r.logs.FilterLevelExact(zap.WarnLevel).Len())
				metadatatest.AssertEqualAgentStreamCommitFailures(t, r.tel,
					[]metricdata.DataPoint[int64]{{Value: tt.failures}}, metricdatatest.IgnoreTimestamp())
			})
		})
	}
}

// TestCommitDuration shows what is counted of commits and of what is read once more.
func TestCommitDuration(t *testing.T) {
	r := newReporting(t)
	r.Committed(3, 2*time.Millisecond)
	r.Committed(1, 2*time.Second)
	r.Refolded(7)
	r.Refolded(5)
	points := func(n int64) []metricdata.DataPoint[int64] { return []metricdata.DataPoint[int64]{{Value: n}} }
	metadatatest.AssertEqualAgentStreamCommits(t, r.tel, points(2), metricdatatest.IgnoreTimestamp())
	metadatatest.AssertEqualAgentStreamRefoldBytes(t, r.tel, points(12), metricdatatest.IgnoreTimestamp())
	got, err := r.tel.GetMetric("otelcol_agent_stream_commit_duration")
	require.NoError(t, err)
	metadatatest.AssertEqualAgentStreamCommitDuration(t, r.tel, got.Data.(metricdata.Histogram[float64]).DataPoints, metricdatatest.IgnoreTimestamp())
	p := got.Data.(metricdata.Histogram[float64]).DataPoints[0]
	assert.Equal(t, uint64(2), p.Count)
	assert.InDelta(t, 2.002, p.Sum, 1e-9)
}

// TestStorageWarnings shows how often the log tells what else goes wrong with stored progress.
func TestStorageWarnings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReporting(t)
		for range 5 {
			r.Unreadable(1, "/x/a.jsonl", errors.New("gone"))
			r.Damaged(2)
			r.Damaged(0)
		}
		require.Equal(t, 2, r.logs.Len())
		time.Sleep(logEvery)
		r.Unreadable(2, "/x/b.jsonl", errors.New("gone"))
		r.Damaged(1)
		all := r.logs.All()
		require.Len(t, all, 4)
		assert.Equal(t, "/x/b.jsonl", all[2].ContextMap()["path"])
		assert.Equal(t, int64(11), all[3].ContextMap()["values"], "all of them so far")
		assert.Empty(t, r.statuses)
	})
}

// TestLedgerEntries shows that the ledger's size is told where there is one.
func TestLedgerEntries(t *testing.T) {
	r := newReporting(t)
	r.receiver.engine = engine.New(engine.Options{})
	r.receiver.ledgerEntries = func() int64 { return 42 }
	require.NoError(t, r.receiver.observe())
	metadatatest.AssertEqualAgentStreamLedgerEntries(t, r.tel,
		[]metricdata.DataPoint[int64]{{Value: 42}}, metricdatatest.IgnoreTimestamp())
	metadatatest.AssertEqualAgentStreamSessionsEvicted(t, r.tel,
		[]metricdata.DataPoint[int64]{{}}, metricdatatest.IgnoreTimestamp())
	r.receiver.telemetry.Shutdown()
}
