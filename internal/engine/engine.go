// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package engine takes lines of many inputs and delivers the telemetry that they make.
//
// It has three stages. Inputs frame lines into batches, which are decoded in parallel; one goroutine
// folds them into outputs and owns every session; one goroutine delivers outputs and then commits: it
// tells the inputs, and only then counts. A blocked delivery blocks the fold, which blocks the inputs:
// nothing is dropped, and the bytes in flight are bounded.
//
// Invariants: emit before commit, in one order; state is a fold over the input and over decisions of
// the clock, and nothing else; sessions are closed by the clock only while nothing of them is on its
// way.
package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/otlp"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

const (
	minBudget = 64 << 20
	// queued bounds the batches between reading and folding; their bytes are bounded by the budget.
	queued = 16
	// parcelsQueued bounds what was folded and is not delivered. Small, so that a standing delivery
	// stands the fold, and with it the clock, at once.
	parcelsQueued = 4
	// DrainTimeout bounds what Shutdown waits for a delivery when its context has no earlier end: the
	// collector's has none, and a backend that is away must not keep a process from ending.
	DrainTimeout = 10 * time.Second
)

// Options are an engine's.
type Options struct {
	// Batch says how lines become records.
	Batch batch.Options
	// MaxLine is the longest line that inputs hand over, in bytes: what a single batch may need.
	MaxLine int
	// Session says where sessions begin and end. Its MaxSessions are those that stay in memory when others
	// come; its Recall is set here.
	Session session.Config
	// Ledger is what was stored, and where progress is.
	Ledger *ledger.Ledger
	// Durable says that the ledger outlives the process: what live sources bring is journalled, and what can
	// go on after the process stays open at its end.
	Durable bool
	// Builder and Totals make telemetry of what is final.
	Builder *otlp.Builder
	Totals  *otlp.Totals
	// Delta says that the totals give windows, which keep their times when they are sent again.
	Delta bool
	// MetricsInterval is the time between two snapshots of the totals.
	MetricsInterval time.Duration
	// Sink takes the telemetry.
	Sink Sink
	// Reporter is told what happens.
	Reporter Reporter
	// Backoff is the pause after the first refusal of a delivery; it doubles up to MaxBackoff.
	Backoff, MaxBackoff time.Duration
}

// Engine is the way from lines to telemetry. Start it before inputs send, end the inputs before Shutdown.
type Engine struct {
	options  Options
	budget   *semaphore.Weighted
	limit    int64
	decoders *batch.Decoders
	items    chan item
	parcels  chan *parcel
	loads    chan *load
	rereads  chan struct{} // closed when reread is set
	reread   Reread
	inputs   sync.Map // FileID → *Input that reads the file
	resident atomic.Int64
	evicted  atomic.Int64
	caughtUp atomic.Bool
	// againBudget bounds what is read again.
	againBudget *semaphore.Weighted

	running context.Context // until the engine gives up
	giveUp  context.CancelFunc
	ending  chan struct{} // closed when no more input comes
	fold    sync.WaitGroup
	load    sync.WaitGroup
	send    sync.WaitGroup
	meter   sync.WaitGroup

	totals      gate         // of options.Totals, which delivery and metrics share
	outstanding atomic.Int64 // parcels that are folded and not committed
	commits     atomic.Int64
	committed   atomic.Int64 // number of the latest parcel that is
	abandoned   bool         // of the delivery: nothing is committed any more
	failing     atomic.Int32 // signals whose latest delivery was refused; metrics hold nothing up
	undelivered atomic.Int64
}

// item is what inputs hand to the fold.
type item struct {
	input  *Input
	piece  *piece
	ended  bool
	ending Ending

	// Of files that are read again, in place of an input: a batch of one, that one is read, that all are.
	origin  *origin
	load    *load
	err     error
	modTime int64
	agent   string
}

// New is an engine that was not started.
func New(opts Options) *Engine {
	e := &Engine{
		options: opts,
		limit:   max(minBudget, 2*int64(opts.MaxLine)),
		items:   make(chan item, queued),
		parcels: make(chan *parcel, parcelsQueued),
		loads:   make(chan *load, 1),
		rereads: make(chan struct{}),
		ending:  make(chan struct{}),
		totals:  make(gate, 1),

		againBudget: semaphore.NewWeighted(againBudget),
	}
	e.budget = semaphore.NewWeighted(e.limit)
	e.running, e.giveUp = context.WithCancel(context.Background())
	return e
}

// Start begins to take batches.
func (e *Engine) Start() {
	e.decoders = batch.NewDecoders(e.options.Batch)
	e.fold.Go(e.newFolder().run)
	e.load.Go(e.runLoads)
	e.send.Go(e.runSend)
	if e.options.Sink.Metrics != nil {
		e.meter.Go(e.runMetrics)
	}
}

// Shutdown folds and delivers what came and the last metrics. Without Options.Durable it closes every session
// first. It gives up when ctx ends, at the latest after DrainTimeout; what was not delivered then is an error.
// It must be called once, after every input has ended.
func (e *Engine) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, DrainTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, e.giveUp)
	defer stop()
	close(e.ending)
	e.fold.Wait()
	e.send.Wait()
	e.decoders.Close()
	e.meter.Wait()
	e.giveUp()
	e.load.Wait()
	if n := e.undelivered.Load(); n > 0 {
		return fmt.Errorf("deliver %d spans, log records and data points before shutdown: %w", n, errors.Join(ctx.Err(), errGaveUp))
	}
	return nil
}

var (
	errGaveUp  = errors.New("the pipeline did not take them in time")
	errNoFiles = errors.New("no files are read")
)

// Pressed reports whether the pipeline refuses or is full, so that new work had better wait outside.
func (e *Engine) Pressed() bool {
	if e.failing.Load() > 0 {
		return true
	}
	if !e.budget.TryAcquire(1) {
		return true
	}
	e.budget.Release(1)
	return false
}

// Sessions is the number of sessions in memory.
func (e *Engine) Sessions() int64 { return e.resident.Load() }

// Evicted is the number of sessions that left memory, or were closed, to make room for others.
func (e *Engine) Evicted() int64 { return e.evicted.Load() }

// cost is what a batch takes of the budget. One that is larger than all of it goes alone.
func (e *Engine) cost(b *batch.Batch) int64 { return min(b.Cost(), e.limit) }

func (e *Engine) enqueue(ctx context.Context, it item) error {
	select {
	case e.items <- it:
		return nil
	default:
	}
	select {
	case e.items <- it:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// CaughtUp says that every file that was there at the start has been read. Nothing is closed by the clock
// before.
func (e *Engine) CaughtUp() { e.caughtUp.Store(true) }

// gate is a mutex for what waits for long: whoever has the totals may stand before a store that is full. Time in
// tests goes on while others wait for it, other than with a sync.Mutex.
type gate chan struct{}

func (g gate) Lock()   { g <- struct{}{} }
func (g gate) Unlock() { <-g }

// inputOf is the input that reads a file; nil for none.
func (e *Engine) inputOf(id ledger.FileID) *Input {
	in, _ := e.inputs.Load(id)
	i, _ := in.(*Input)
	return i
}

// parcel is what one turn of the fold made, the batch it came from (nil where it was the clock or an end),
// and what is to be stored of it.
type parcel struct {
	number int64
	outs   []translate.Output
	piece  *piece
	ops    []ledger.Op
}
