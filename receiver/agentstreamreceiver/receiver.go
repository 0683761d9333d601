// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package agentstreamreceiver // import "github.com/otelcol-agents/otelcol-agents/receiver/agentstreamreceiver"

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.uber.org/zap"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/internal/engine"
	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
	"github.com/otelcol-agents/otelcol-agents/internal/listen"
	"github.com/otelcol-agents/otelcol-agents/internal/options"
	"github.com/otelcol-agents/otelcol-agents/internal/tail"
	"github.com/otelcol-agents/otelcol-agents/receiver/agentstreamreceiver/internal/metadata"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/otlp"
)

// Pauses between attempts to deliver. A backend that comes back is noticed within seconds.
const (
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 5 * time.Second
	// transportsTimeout bounds the handing over of what was read; the engine's own bound comes after it.
	transportsTimeout = 5 * time.Second
)

// agentStream is the receiver: transports in front of one engine.
type agentStream struct {
	cfg    *Config
	set    receiver.Settings
	next   consumers
	status func(*componentstatus.Event)

	// backoff and maxBackoff are the pauses between attempts; tests shorten them.
	backoff, maxBackoff time.Duration

	telemetry *metadata.TelemetryBuilder
	engine    *engine.Engine
	files     *tail.Tailer
	tcp       *listen.TCP
	http      *listen.HTTP

	connections connectionReporter
	reports     *engineReporter
	ledger      *ledger.Ledger

	store         ledger.Store                // without storage one that ends with the process
	closeStore    func(context.Context) error // nil until it is open
	ledgerEntries func() int64                // nil where there is none to count
}

func newReceiver(cfg *Config, set receiver.Settings) (*agentStream, error) {
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	if err != nil {
		return nil, fmt.Errorf("make the instruments of the receiver: %w", err)
	}
	r := &agentStream{
		cfg: cfg, set: set, telemetry: telemetry, status: func(*componentstatus.Event) {},
		backoff: firstBackoff, maxBackoff: maxBackoff,
	}
	r.connections.receiver = r
	r.reports = &engineReporter{receiver: r}
	return r, nil
}

// start makes the engine and then the transports, so that nothing comes before it can be taken. When a
// transport cannot start, what was started is stopped.
func (r *agentStream) start(ctx context.Context, host component.Host) error {
	var err error
	if r.store, r.closeStore, err = r.openStore(ctx, host); err != nil {
		return err
	}
	if err := r.startEngine(ctx); err != nil {
		return errors.Join(err, r.closeStore(ctx))
	}
	if err := errors.Join(r.startTransports(ctx, host), r.observe()); err != nil {
		err = errors.Join(err, r.shutdown(ctx))
		r.engine = nil // it has ended: the Shutdown that follows a failed start has nothing to do
		return err
	}
	r.told()
	return nil
}

func (r *agentStream) startEngine(ctx context.Context) error {
	book, err := ledger.Open(ctx, r.store, time.Now())
	if err != nil {
		return fmt.Errorf("read what is stored: %w", err)
	}
	opts, err := r.engineOptions()
	if err != nil {
		return err
	}
	opts.Ledger, opts.Durable = book, r.cfg.Storage != nil
	opts.Totals = r.totals(book)
	r.ledger, r.ledgerEntries = book, book.Size
	r.engine = engine.New(opts)
	r.engine.Start()
	return nil
}

// totals go on from what is stored.
func (r *agentStream) totals(book *ledger.Ledger) *otlp.Totals {
	c := &r.cfg.Options
	t := otlp.NewTotals(otlp.MetricOptions{
		ServiceName: c.ServiceName, ResourceAttributes: c.ResourceAttributes,
		Start: book.Start(), MaxToolNames: c.Metrics.MaxToolNames,
		LegacyTokenUsage: c.Metrics.LegacyTokenUsage, SeriesTTL: c.Metrics.SeriesTTL,
		Delta: c.Metrics.Temporality == options.TemporalityDelta,
	})
	var values [][]byte
	for _, value := range book.Saved(ledger.PrefixTotal) {
		values = append(values, value)
	}
	if bad := t.Restore(values); bad > 0 {
		r.reports.Damaged(bad)
	}
	return t
}

func (r *agentStream) engineOptions() (engine.Options, error) {
	c := &r.cfg.Options
	sessions, err := c.SessionConfig()
	if err != nil {
		return engine.Options{}, err
	}
	redactor, err := c.Redactor()
	if err != nil {
		return engine.Options{}, err
	}
	obs, err := receiverhelper.NewObsReport(receiverhelper.ObsReportSettings{
		ReceiverID: r.set.ID, LongLivedCtx: true, ReceiverCreateSettings: r.set,
	})
	if err != nil {
		return engine.Options{}, fmt.Errorf("make the observer of the receiver: %w", err)
	}
	now := time.Now
	var maxAge time.Duration
	if files := r.cfg.Files.Get(); files != nil {
		maxAge = files.MaxAge
	}
	sessions.MaxAge = maxAge
	return engine.Options{
		Batch: batch.Options{
			Fixed:  c.Fixed(),
			Now:    now,
			MaxAge: maxAge,
			Decode: decode.Options{
				Capture: c.Captured(), MaxContentBytes: c.MaxContentBytes, Redactor: redactor,
			},
		},
		MaxLine: int(c.MaxLineSize),
		Session: sessions,
		Builder: otlp.NewBuilder(otlp.Options{
			ServiceName: c.ServiceName, ResourceAttributes: c.ResourceAttributes,
			SemConv141: c.SemanticConventions == options.Conventions141, Version: r.set.BuildInfo.Version,
		}),
		Delta:           c.Metrics.Temporality == options.TemporalityDelta,
		MetricsInterval: c.Metrics.Interval,
		Sink:            r.next.sink(obs),
		Reporter:        r.reports,
		Backoff:         r.backoff,
		MaxBackoff:      r.maxBackoff,
	}, nil
}

// startTransports opens the ways in, files first: their starting points are fixed before anything else
// says that the receiver is ready.
func (r *agentStream) startTransports(ctx context.Context, host component.Host) error {
	maxLine := int(r.cfg.Options.MaxLineSize)
	if c := r.cfg.Files.Get(); c != nil {
		files := tail.New(tail.Config{
			Include: c.Include, Exclude: c.Exclude, StartAtEnd: c.StartAt == StartAtEnd,
			PollInterval: c.PollInterval, MaxLine: maxLine, Ledger: r.ledger, CaughtUp: r.engine.CaughtUp,
		}, func(id ledger.FileID, epoch uint32) tail.Input {
			return r.engine.Open(engine.Source{File: id, Epoch: epoch})
		}, &fileReporter{r})
		r.files = files
		r.engine.SetReread(files.Reread)
		if err := files.Start(ctx); err != nil {
			return fmt.Errorf("start reading files: %w", err)
		}
	} else {
		r.engine.SetReread(nil)
		r.engine.CaughtUp()
	}
	redactor, err := r.cfg.Options.Redactor()
	if err != nil {
		return err
	}
	settings := listen.Settings{
		Opener: listen.Engine(r.engine), Reporter: &r.connections, MaxLine: maxLine,
		LongLines: listen.NewLongLines(), Redact: redactor.String,
	}
	if c := r.cfg.TCP.Get(); c != nil {
		r.tcp = listen.NewTCP(listen.TCPConfig{
			Address: c.Address, TLS: c.TLS.Get(), MaxConnections: c.MaxConnections, IdleTimeout: c.IdleTimeout,
		}, settings)
		if err := r.tcp.Start(ctx); err != nil {
			return err
		}
	}
	if c := r.cfg.HTTP.Get(); c != nil {
		r.http = listen.NewHTTP(listen.HTTPConfig{Server: c.ServerConfig, BaggageAttributes: c.BaggageAttributes}, settings)
		if err := r.http.Start(ctx, host, r.set.TelemetrySettings); err != nil {
			return err
		}
	}
	return nil
}

// shutdown ends the transports first, so that what they hold still goes through the engine. Requests get
// their answers last: the engine's end decides them.
func (r *agentStream) shutdown(ctx context.Context) error {
	if r.engine == nil {
		return nil
	}
	errs := []error{r.stopTransports(ctx)}
	errs = append(errs, r.engine.Shutdown(ctx))
	if r.http != nil {
		errs = append(errs, r.http.Shutdown(ctx))
	}
	r.telemetry.Shutdown()
	errs = append(errs, r.closeStore(ctx))
	return errors.Join(errs...)
}

// stopTransports ends the inputs, all at once: a pipeline that takes nothing holds each of them up for as
// long as it may.
func (r *agentStream) stopTransports(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, transportsTimeout)
	defer cancel()
	var stops []func(context.Context) error
	if r.http != nil {
		stops = append(stops, r.http.Stop)
	}
	if r.tcp != nil {
		stops = append(stops, r.tcp.Shutdown)
	}
	if r.files != nil {
		stops = append(stops, r.files.Shutdown)
	}
	errs := make([]error, len(stops))
	var group sync.WaitGroup
	for i, stop := range stops {
		group.Go(func() { errs[i] = stop(ctx) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// told says at the start what is read. Paths are the operator's own words here, not content.
func (r *agentStream) told() {
	fields := []zap.Field{}
	if f := r.cfg.Files.Get(); f != nil {
		fields = append(fields, zap.Strings("files", f.Include), zap.String("start_at", f.StartAt), zap.Int64("files_found", r.files.Tracked()))
	}
	if r.tcp != nil {
		fields = append(fields, zap.Stringer("tcp", r.tcp.Addr()))
	}
	if r.http != nil {
		fields = append(fields, zap.Stringer("http", r.http.Addr()))
	}
	if r.cfg.Storage != nil {
		fields = append(fields, zap.Stringer("storage", r.cfg.Storage))
	}
	r.set.Logger.Info("reading agent streams", fields...)
}
