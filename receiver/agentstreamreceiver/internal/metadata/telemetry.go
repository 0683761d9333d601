// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package metadata // import "github.com/otelcol-agents/otelcol-agents/receiver/agentstreamreceiver/internal/metadata"

import (
	"context"
	"errors"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/metric"
)

// Meter is the meter of the receiver's own telemetry.
func Meter(settings component.TelemetrySettings) metric.Meter {
	return settings.MeterProvider.Meter(ScopeName)
}

// TelemetryBuilder has the instruments of the receiver's own telemetry.
type TelemetryBuilder struct {
	meter         metric.Meter
	mu            sync.Mutex
	registrations []metric.Registration

	AgentStreamRecords            metric.Int64Counter
	AgentStreamBytesRead          metric.Int64Counter
	AgentStreamNulBytes           metric.Int64Counter
	AgentStreamConnectionsRefused metric.Int64Counter
	AgentStreamCommits            metric.Int64Counter
	AgentStreamCommitDuration     metric.Float64Histogram
	AgentStreamCommitFailures     metric.Int64Counter
	AgentStreamRefoldBytes        metric.Int64Counter
	AgentStreamRetries            metric.Int64Counter
	AgentStreamDroppedItems       metric.Int64Counter
	AgentStreamGuardMismatches    metric.Int64Counter

	AgentStreamFilesTracked      metric.Int64ObservableUpDownCounter
	AgentStreamFilesOpen         metric.Int64ObservableUpDownCounter
	AgentStreamLagBytes          metric.Int64ObservableGauge
	AgentStreamLedgerEntries     metric.Int64ObservableGauge
	AgentStreamConnectionsActive metric.Int64ObservableUpDownCounter
	AgentStreamSessionsResident  metric.Int64ObservableUpDownCounter
	AgentStreamSessionsEvicted   metric.Int64ObservableCounter
}

// Instrument is one metric of the receiver's own telemetry, as metadata.yaml describes it.
type Instrument struct {
	Name, Description, Unit string
	Kind                    string // sum, gauge or histogram
	Monotonic, Async        bool
}

// Instruments are all of them, in the order of metadata.yaml.
var Instruments = []Instrument{
	{"otelcol_agent_stream_bytes_read", "Bytes of input that were read, skipped ones included. [Alpha]", "By", "sum", true, false},
	{"otelcol_agent_stream_commit_duration", "Time that a commit took, with what it stored. [Alpha]", "s", "histogram", false, false},
	{"otelcol_agent_stream_commit_failures", "Commits that could not be stored and are tried again. [Alpha]", "{commit}", "sum", true, false},
	{"otelcol_agent_stream_commits", "Commits: everything up to some point of the input was accepted downstream. [Alpha]", "{commit}", "sum", true, false},
	{"otelcol_agent_stream_connections_active", "TCP connections that are served, and HTTP requests whose body is read. [Alpha]", "{connection}", "sum", false, true},
	{"otelcol_agent_stream_connections_refused", "Connections that were turned away: a failed TLS handshake, or a request while the pipeline refuses. [Alpha]", "{connection}", "sum", true, false},
	{"otelcol_agent_stream_dropped_items", "Spans, log records and data points that were refused for good, or not delivered before the end. [Alpha]", "{item}", "sum", true, false},
	{"otelcol_agent_stream_files_open", "Files with an open descriptor. [Alpha]", "{file}", "sum", false, true},
	{"otelcol_agent_stream_files_tracked", "Files that are watched. [Alpha]", "{file}", "sum", false, true},
	{"otelcol_agent_stream_guard_mismatches", "Files that were found rewritten and are read anew. [Alpha]", "{file}", "sum", true, false},
	{"otelcol_agent_stream_lag_bytes", "Bytes of watched files that are known and not committed. [Alpha]", "By", "gauge", false, true},
	{"otelcol_agent_stream_ledger_entries", "Entries of the ledger: ids of records and responses over all sessions, files and sessions. [Alpha]", "{entry}", "gauge", false, true},
	{"otelcol_agent_stream_nul_bytes", "NUL bytes before lines, left out. [Alpha]", "By", "sum", true, false},
	{"otelcol_agent_stream_records", "Lines by what became of them. [Alpha]", "{record}", "sum", true, false},
	{"otelcol_agent_stream_refold_bytes", "Bytes that were read once more, to rebuild sessions after a restart or an eviction. [Alpha]", "By", "sum", true, false},
	{"otelcol_agent_stream_retries", "Deliveries that were refused and are tried again. [Alpha]", "{retry}", "sum", true, false},
	{"otelcol_agent_stream_sessions_evicted", "Sessions that left memory, or were closed, to make room for others. [Alpha]", "{session}", "sum", true, true},
	{"otelcol_agent_stream_sessions_resident", "Sessions in memory. [Alpha]", "{session}", "sum", false, true},
}

// CommitBounds are the boundaries of commit_duration: from a write into the page cache to a disk that is
// overwhelmed.
var CommitBounds = []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

func instrument(name string) Instrument {
	for _, i := range Instruments {
		if i.Name == "otelcol_agent_stream_"+name {
			return i
		}
	}
	panic("metadata: unknown instrument " + name)
}

// NewTelemetryBuilder makes all instruments.
func NewTelemetryBuilder(settings component.TelemetrySettings) (*TelemetryBuilder, error) {
	b := &TelemetryBuilder{meter: Meter(settings)}
	var errs error
	counter := func(name string) metric.Int64Counter {
		i := instrument(name)
		c, err := b.meter.Int64Counter(i.Name, metric.WithDescription(i.Description), metric.WithUnit(i.Unit))
		errs = errors.Join(errs, err)
		return c
	}
	level := func(name string) metric.Int64ObservableUpDownCounter {
		i := instrument(name)
		c, err := b.meter.Int64ObservableUpDownCounter(i.Name, metric.WithDescription(i.Description), metric.WithUnit(i.Unit))
		errs = errors.Join(errs, err)
		return c
	}
	b.AgentStreamRecords = counter("records")
	b.AgentStreamBytesRead = counter("bytes_read")
	b.AgentStreamNulBytes = counter("nul_bytes")
	b.AgentStreamConnectionsRefused = counter("connections_refused")
	b.AgentStreamCommits = counter("commits")
	b.AgentStreamCommitFailures = counter("commit_failures")
	b.AgentStreamRefoldBytes = counter("refold_bytes")
	b.AgentStreamRetries = counter("retries")
	b.AgentStreamDroppedItems = counter("dropped_items")
	b.AgentStreamGuardMismatches = counter("guard_mismatches")
	b.AgentStreamFilesTracked = level("files_tracked")
	b.AgentStreamFilesOpen = level("files_open")
	b.AgentStreamConnectionsActive = level("connections_active")
	b.AgentStreamSessionsResident = level("sessions_resident")
	gauge := func(name string) metric.Int64ObservableGauge {
		i := instrument(name)
		g, err := b.meter.Int64ObservableGauge(i.Name, metric.WithDescription(i.Description), metric.WithUnit(i.Unit))
		errs = errors.Join(errs, err)
		return g
	}
	b.AgentStreamLagBytes = gauge("lag_bytes")
	b.AgentStreamLedgerEntries = gauge("ledger_entries")
	took := instrument("commit_duration")
	duration, err := b.meter.Float64Histogram(took.Name, metric.WithDescription(took.Description), metric.WithUnit(took.Unit),
		metric.WithExplicitBucketBoundaries(CommitBounds...))
	b.AgentStreamCommitDuration = duration
	evicted := instrument("sessions_evicted")
	total, err2 := b.meter.Int64ObservableCounter(evicted.Name, metric.WithDescription(evicted.Description), metric.WithUnit(evicted.Unit))
	b.AgentStreamSessionsEvicted = total
	return b, errors.Join(errs, err, err2)
}

// Observe has an asynchronous instrument read value whenever telemetry is collected, until Shutdown.
func (b *TelemetryBuilder) Observe(in metric.Int64Observable, value func() int64) error {
	reg, err := b.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		o.ObserveInt64(in, value())
		return nil
	}, in)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.registrations = append(b.registrations, reg)
	return nil
}

// Shutdown ends the observing.
func (b *TelemetryBuilder) Shutdown() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, reg := range b.registrations {
		_ = reg.Unregister() // it cannot fail for a registration of its own
	}
	b.registrations = nil
}
