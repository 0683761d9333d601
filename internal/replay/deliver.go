// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/otlp"
)

// maxBody is how many bytes a request has before compression: the usual limit of receivers.
const maxBody = 4 << 20

// delivery turns outputs into requests and into the report. It is used by one goroutine.
type delivery struct {
	builder  *otlp.Builder
	totals   *otlp.Totals
	sender   *sender // nil = nothing is sent
	report   *report
	spans    func(ptrace.Traces) // takes the spans for the JSON document; may be nil
	interval time.Duration       // of metrics
	now      func() time.Time
	problem  func(error)
}

// run delivers parcels until there are no more, then the last metrics. ctx only ends the waiting
// between attempts to send.
func (d *delivery) run(ctx context.Context, parcels <-chan []translate.Output) {
	tick := time.NewTicker(d.interval)
	defer tick.Stop()
	for {
		select {
		case outs, more := <-parcels:
			if !more {
				d.metrics(ctx)
				// A series shows its beginning first, its value one snapshot later.
				for d.totals.Pending() && d.sender != nil {
					d.metrics(ctx)
				}
				return
			}
			d.parcel(ctx, gather(outs, parcels))
		case <-tick.C:
			d.metrics(ctx)
		}
	}
}

// gather adds what already waits, so that a slow backend gets fewer, larger requests.
func gather(outs []translate.Output, parcels <-chan []translate.Output) []translate.Output {
	for len(outs) < otlp.MaxItems {
		select {
		case more, ok := <-parcels:
			if !ok {
				return outs
			}
			outs = append(outs, more...)
		default:
			return outs
		}
	}
	return outs
}

func (d *delivery) parcel(ctx context.Context, outs []translate.Output) {
	for len(outs) > 0 {
		n := otlp.Cut(outs)
		d.piece(ctx, outs[:n])
		outs = outs[n:]
	}
}

func (d *delivery) piece(ctx context.Context, outs []translate.Output) {
	if d.sender != nil || d.spans != nil {
		td := d.builder.Traces(outs)
		if d.spans != nil {
			d.spans(td)
		}
		if d.sender != nil && td.SpanCount() > 0 {
			d.traces(ctx, td, outs)
		}
	}
	if d.sender != nil {
		d.logs(ctx, outs)
	}
	for i := range outs {
		d.report.add(&outs[i])
		if d.sender != nil && outs[i].Step != nil {
			d.totals.Add(*outs[i].Step)
		}
	}
}

// traces sends the spans. A body over the limit is halved; a single span goes whatever its size.
func (d *delivery) traces(ctx context.Context, td ptrace.Traces, outs []translate.Output) {
	n := td.SpanCount()
	if n == 0 {
		return
	}
	body, err := d.marshalTraces(td)
	switch {
	case err != nil:
		d.unmarshalable(traces, n, err)
	case len(body) > maxBody && n > 1:
		half := len(outs) / 2
		d.traces(ctx, d.builder.Traces(outs[:half]), outs[:half])
		d.traces(ctx, d.builder.Traces(outs[half:]), outs[half:])
	default:
		d.sender.send(ctx, traces, body, n)
	}
}

func (d *delivery) logs(ctx context.Context, outs []translate.Output) {
	ld := d.builder.Logs(outs, d.now().UnixNano())
	n := ld.LogRecordCount()
	if n == 0 {
		return
	}
	body, err := d.marshalLogs(ld)
	switch {
	case err != nil:
		d.unmarshalable(logs, n, err)
	case len(body) > maxBody && n > 1:
		half := len(outs) / 2
		d.logs(ctx, outs[:half])
		d.logs(ctx, outs[half:])
	default:
		d.sender.send(ctx, logs, body, n)
	}
}

func (d *delivery) metrics(ctx context.Context) {
	if d.sender == nil {
		return
	}
	md := d.totals.Snapshot(d.now().UnixNano())
	n := md.DataPointCount()
	if n == 0 {
		return
	}
	body, err := d.marshalMetrics(md)
	if err != nil {
		d.unmarshalable(metrics, n, err)
		return
	}
	d.sender.send(ctx, metrics, body, n)
}

func (d *delivery) unmarshalable(s signalKind, n int, err error) {
	d.sender.counts[s].Refused += int64(n)
	d.problem(fmt.Errorf("encode %d %s: %w", n, s.items(), err))
}

func (d *delivery) marshalTraces(td ptrace.Traces) ([]byte, error) {
	if d.sender.json {
		return new(ptrace.JSONMarshaler).MarshalTraces(td)
	}
	return new(ptrace.ProtoMarshaler).MarshalTraces(td)
}

func (d *delivery) marshalLogs(ld plog.Logs) ([]byte, error) {
	if d.sender.json {
		return new(plog.JSONMarshaler).MarshalLogs(ld)
	}
	return new(plog.ProtoMarshaler).MarshalLogs(ld)
}

func (d *delivery) marshalMetrics(md pmetric.Metrics) ([]byte, error) {
	if d.sender.json {
		return new(pmetric.JSONMarshaler).MarshalMetrics(md)
	}
	return new(pmetric.ProtoMarshaler).MarshalMetrics(md)
}
