// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package agentstreamreceiver // import "github.com/otelcol-agents/otelcol-agents/receiver/agentstreamreceiver"

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver/receiverhelper"

	"github.com/otelcol-agents/otelcol-agents/internal/engine"
	"github.com/otelcol-agents/otelcol-agents/receiver/agentstreamreceiver/internal/metadata"
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/otlp"
)

// consumers are the pipelines behind the receiver; nil where a signal has none.
type consumers struct {
	traces  consumer.Traces
	logs    consumer.Logs
	metrics consumer.Metrics
}

// sink hands telemetry to the pipelines and observes it.
func (c *consumers) sink(obs *receiverhelper.ObsReport) engine.Sink {
	var s engine.Sink
	format := metadata.Type.String()
	if next := c.traces; next != nil {
		s.Traces = func(ctx context.Context, td ptrace.Traces) error {
			n := td.SpanCount()
			ctx = obs.StartTracesOp(ctx)
			err := next.ConsumeTraces(ctx, td)
			obs.EndTracesOp(ctx, format, n, err)
			return verdict(err)
		}
	}
	if next := c.logs; next != nil {
		s.Logs = func(ctx context.Context, ld plog.Logs) error {
			n := ld.LogRecordCount()
			ctx = obs.StartLogsOp(ctx)
			err := next.ConsumeLogs(ctx, ld)
			obs.EndLogsOp(ctx, format, n, err)
			return verdict(err)
		}
	}
	if next := c.metrics; next != nil {
		s.Metrics = func(ctx context.Context, md pmetric.Metrics) error {
			n := md.DataPointCount()
			ctx = obs.StartMetricsOp(ctx)
			err := next.ConsumeMetrics(ctx, md)
			obs.EndMetricsOp(ctx, format, n, err)
			return verdict(err)
		}
	}
	return s
}

// verdict says in the engine's words what a pipeline's error means: refused for good, partly accepted,
// or, as everything else, to be tried again.
func verdict(err error) error {
	switch {
	case err == nil:
		return nil
	case permanent(err):
		return &engine.PermanentError{Err: err}
	case several(err):
		return err // what one branch accepted the others may not have
	}
	if left, ok := errors.AsType[consumererror.Traces](err); ok {
		return &engine.PartialError{Err: err, Spans: spanIDs(left.Data())}
	}
	if left, ok := errors.AsType[consumererror.Logs](err); ok {
		return &engine.PartialError{Err: err, Logs: recordUIDs(left.Data())}
	}
	return err
}

// permanent reports whether every branch refused for good: one that is to be tried again must not lose
// its data to another's verdict.
func permanent(err error) bool {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			if !permanent(one) {
				return false
			}
		}
		return true
	}
	inner := errors.Unwrap(err)
	if inner == nil || consumererror.IsPermanent(err) && !consumererror.IsPermanent(inner) {
		return consumererror.IsPermanent(err) // this error itself says so
	}
	return permanent(inner)
}

// several reports whether the error joins those of several branches.
func several(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			return len(joined.Unwrap()) > 0
		}
	}
	return false
}

func spanIDs(td ptrace.Traces) map[translate.SpanID]struct{} {
	ids := map[translate.SpanID]struct{}{}
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				ids[translate.SpanID(s.SpanID())] = struct{}{}
			}
		}
	}
	return ids
}

func recordUIDs(ld plog.Logs) map[[16]byte]struct{} {
	uids := map[[16]byte]struct{}{}
	for _, rl := range ld.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, r := range sl.LogRecords().All() {
				if uid, ok := otlp.RecordUID(r); ok {
					uids[uid] = struct{}{}
				}
			}
		}
	}
	return uids
}
