// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
	"github.com/otelcol-agents/otelcol-agents/translate"
)

// Signal is one of the three kinds of telemetry.
type Signal string

// The signals.
const (
	Traces  Signal = "traces"
	Logs    Signal = "logs"
	Metrics Signal = "metrics"
)

// Sink takes telemetry. A nil function means that nobody wants the signal. An error is transient and the
// same data comes again, for ever, unless it is a *PermanentError or tells with a *PartialError what is
// left.
type Sink struct {
	Traces  func(context.Context, ptrace.Traces) error
	Logs    func(context.Context, plog.Logs) error
	Metrics func(context.Context, pmetric.Metrics) error
}

// PermanentError says that the data will never be accepted.
type PermanentError struct{ Err error }

func (e *PermanentError) Error() string { return fmt.Sprintf("permanent: %v", e.Err) }

// Unwrap gives the cause.
func (e *PermanentError) Unwrap() error { return e.Err }

// PartialError says which of the data is still to be accepted: spans by their ids, log records by their
// log.record.uid (see otlp.RecordUID). The rest was.
type PartialError struct {
	Err   error
	Spans map[translate.SpanID]struct{}
	Logs  map[[16]byte]struct{}
}

func (e *PartialError) Error() string { return fmt.Sprintf("partial: %v", e.Err) }

// Unwrap gives the cause.
func (e *PartialError) Unwrap() error { return e.Err }

// Reporter is told what happens. Its methods are called from several goroutines and must not block.
type Reporter interface {
	// Folded tells of a batch: its lines by outcome under the source's format, the bytes of the source
	// that it stands for, and the NUL bytes among them.
	Folded(format translate.Format, lines *batch.Outcomes, bytes, nuls int64)
	// Retrying tells that a delivery was refused and will be tried again after a pause.
	Retrying(signal Signal, err error, pause time.Duration)
	// Recovered tells that the delivery after refusals was accepted.
	Recovered(signal Signal)
	// Dropped tells of items that were refused for good or could not be delivered before the end.
	Dropped(signal Signal, items int, err error)
	// Committed tells of one commit: everything up to some parcel was accepted, and after took it was stored.
	Committed(parcels int, took time.Duration)
	// CommitFailed tells that a commit could not be stored and will be tried again: of each attempt.
	CommitFailed(err error)
	// CommitRecovered tells that the commit after failures was stored.
	CommitRecovered()
	// Refolded tells of bytes that were read once more, to rebuild a session that was not in memory.
	Refolded(bytes int64)
	// Unreadable tells of a file that a session cannot be rebuilt from: it is gone, or another one by now.
	Unreadable(file ledger.FileID, path string, err error)
	// Damaged tells of stored values that could not be understood, and are taken as absent.
	Damaged(n int)
}
