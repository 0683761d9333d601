// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package metadatatest asserts what the receiver tells of itself.
package metadatatest // import "github.com/otelcol-agents/otelcol-agents/receiver/agentstreamreceiver/internal/metadatatest"

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/otelcol-agents/otelcol-agents/receiver/agentstreamreceiver/internal/metadata"
)

// NewSettings are settings of a receiver that tells tt of itself.
func NewSettings(tt *componenttest.Telemetry) receiver.Settings {
	set := receivertest.NewNopSettings(metadata.Type)
	set.ID = component.NewID(metadata.Type)
	set.TelemetrySettings = tt.NewTelemetrySettings()
	return set
}

// AssertEqualAgentStreamBytesRead asserts the points of otelcol_agent_stream_bytes_read.
func AssertEqualAgentStreamBytesRead(t *testing.T, tt *componenttest.Telemetry, dps []metricdata.DataPoint[int64], opts ...metricdatatest.Option) {
	t.Helper()
	assertEqual(t, tt, "otelcol_agent_stream_bytes_read", dps, opts...)
}

// AssertEqualAgentStreamCommitDuration asserts the points of otelcol_agent_stream_commit_duration.
func AssertEqualAgentStreamCommitDuration(t *testing.T, tt *componenttest.Telemetry, dps []metricdata.HistogramDataPoint[float64], opts ...metricdatatest.Option) {
	t.Helper()
	want := described(t, "otelcol_agent_stream_commit_duration")
	want.Data = metricdata.Histogram[float64]{Temporality: metricdata.CumulativeTemporality, DataPoints: dps}
	got, err := tt.GetMetric(want.Name)
	require.NoError(t, err)
	metricdatatest.AssertEqual(t, want, got, opts...)
}

// AssertEqualAgentStreamCommitFailures asserts the points of otelcol_agent_stream_commit_failures.
func AssertEqualAgentStreamCommitFailures(t *testing.T, tt *componenttest.Telemetry, dps []metricdata.DataPoint[int64], opts ...metricdatatest.Option) {
	t.Helper()
	assertEqual(t, tt, "otelcol_agent_stream_commit_failures", dps, opts...)
}

// AssertEqualAgentStreamCommits asserts the points of otelcol_agent_stream_commits.
func AssertEqualAgentStreamCommits(t *testing.T, tt *componenttest.Telemetry, dps []metricdata.DataPoint[int64], opts ...metricdatatest.Option) {
	t.Helper()
	assertEqual(t, tt, "otelcol_agent_stream_commits", dps, opts...)
}

// AssertEqualAgentStreamConnectionsActive asserts the points of otelcol_agent_stream_connections_active.
func AssertEqualAgentStreamConnectionsActive(t *testing.T, tt *componenttest.Telemetry, dps []metricdata.DataPoint[int64], opts ...metricdatatest.Option) {
	t.Helper()
	assertEqual(t, tt, "otelcol_agent_stream_connections_active", dps, opts...)
}

// AssertEqualAgentStreamConnectionsRefused asserts the points of otelcol_agent_stream_connections_refused.
func AssertEqualAgentStreamConnectionsRefused(t *testing.T, tt *componenttest.Telemetry, dps []metricdata.DataPoint[int64], opts ...metricdatatest.Option) {
	t.Helper()
	assertEqual(t, tt, "otelcol_agent_stream_connections_refused", dps, opts...)
}

// AssertEqualAgentStreamDroppedItems asserts the points of otelcol_agent_stream_dropped_items.
func AssertEqualAgentStreamDroppedItems(t *testing.T, tt *componenttest.Telemetry, dps []metricdata.DataPoint[int64], opts ...metricdatatest.Option) {
	t.Helper()
	assertEqual(t, tt, "otelcol_agent_stream_dropped_items", dps, opts...)
}

// AssertEqualAgentStreamFilesTracked asserts the points of otelcol_agent_stream_files_tracked.
func AssertEqualAgentStreamFilesTracked(t *testing.T, tt *componenttest.Telemetry, dps []metricdata.DataPoint[int64], opts ...metricdatatest.Option) {
	t.Helper()
	assertEqual(t, tt, "otelcol_agent_stream_files_tracked", dps, opts...)
}

// AssertEqualAgentStreamGuardMismatches asserts the points of otelcol_agent_stream_guard_mismatches.
func AssertEqualAgentStreamGuardMismatches(t *testing.T, tt *componenttest.Telemetry, dps []metricdata.DataPoint[int64], opts ...metricdatatest.Option) {
	t.Helper()
	assertEqual(t, tt, "otelcol_agent_stream_guard_mismatches", dps, opts...)
}

// AssertEqualAgentStreamLagBytes asserts the points of otelcol_agent_stream_lag_bytes.
func AssertEqualAgentStreamLagBytes(t *testing.T, tt *componenttest.Telemetry, dps []metricdata.DataPoint[int64], opts ...metricdatatest.Option) {
	t.Helper()
	assertEqual(t, tt, "otelcol_agent_stream_lag_bytes", dps, opts...)
}

// AssertEqualAgentStreamLedgerEntries asserts the points of otelcol_agent_stream_ledger_entries.
func AssertEqualAgentStreamLedgerEntries(t *testing.T, tt *componenttest.Telemetry, dps []metricdata.DataPoint[int64], opts ...metricdatatest.Option) {
	t.Helper()
	assertEqual(t, tt, "otelcol_agent_stream_ledger_entries", dps, opts...)
}

// AssertEqualAgentStreamNulBytes asserts the points of otelcol_agent_stream_nul_bytes.
func AssertEqualAgentStreamNulBytes(t *testing.T, tt *componenttest.Telemetry, dps []metricdata.DataPoint[int64], opts ...metricdatatest.Option) {
	t.Helper()
	assertEqual(t, tt, "otelcol_agent_stream_nul_bytes", dps, opts...)
}

// AssertEqualAgentStreamRecords asserts the points of otelcol_agent_stream_records.
func AssertEqualAgentStreamRecords(t *testing.T, tt *componenttest.Telemetry, dps []metricdata.DataPoint[int64], opts ...metricdatatest.Option) {
	t.Helper()
	assertEqual(t, tt, "otelcol_agent_stream_records", dps, opts...)
}

// AssertEqualAgentStreamRefoldBytes asserts the points of otelcol_agent_stream_refold_bytes.
func AssertEqualAgentStreamRefoldBytes(t *testing.T, tt *componenttest.Telemetry, dps []metricdata.DataPoint[int64], opts ...metricdatatest.Option) {
	t.Helper()
	assertEqual(t, tt, "otelcol_agent_stream_refold_bytes", dps, opts...)
}

// AssertEqualAgentStreamRetries asserts the points of otelcol_agent_stream_retries.
func AssertEqualAgentStreamRetries(t *testing.T, tt *componenttest.Telemetry, dps []metricdata.DataPoint[int64], opts ...metricdatatest.Option) {
	t.Helper()
	assertEqual(t, tt, "otelcol_agent_stream_retries", dps, opts...)
}

// AssertEqualAgentStreamSessionsEvicted asserts the points of otelcol_agent_stream_sessions_evicted.
func AssertEqualAgentStreamSessionsEvicted(t *testing.T, tt *componenttest.Telemetry, dps []metricdata.DataPoint[int64], opts ...metricdatatest.Option) {
	t.Helper()
	assertEqual(t, tt, "otelcol_agent_stream_sessions_evicted", dps, opts...)
}

// AssertEqualAgentStreamSessionsResident asserts the points of otelcol_agent_stream_sessions_resident.
func AssertEqualAgentStreamSessionsResident(t *testing.T, tt *componenttest.Telemetry, dps []metricdata.DataPoint[int64], opts ...metricdatatest.Option) {
	t.Helper()
	assertEqual(t, tt, "otelcol_agent_stream_sessions_resident", dps, opts...)
}

// described is a metric without points.
func described(t *testing.T, name string) metricdata.Metrics {
	t.Helper()
	i := slices.IndexFunc(metadata.Instruments, func(i metadata.Instrument) bool { return i.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
	in := metadata.Instruments[i]
	return metricdata.Metrics{Name: in.Name, Description: in.Description, Unit: in.Unit}
}

// assertEqual compares a metric, its description included, with points.
func assertEqual(t *testing.T, tt *componenttest.Telemetry, name string, dps []metricdata.DataPoint[int64], opts ...metricdatatest.Option) {
	t.Helper()
	i := slices.IndexFunc(metadata.Instruments, func(i metadata.Instrument) bool { return i.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
	in := metadata.Instruments[i]
	want := described(t, name)
	if in.Kind == "gauge" {
		want.Data = metricdata.Gauge[int64]{DataPoints: dps}
	} else {
		want.Data = metricdata.Sum[int64]{
			Temporality: metricdata.CumulativeTemporality, IsMonotonic: in.Monotonic, DataPoints: dps,
		}
	}
	got, err := tt.GetMetric(name)
	require.NoError(t, err)
	metricdatatest.AssertEqual(t, want, got, opts...)
}
