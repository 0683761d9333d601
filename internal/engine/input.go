// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
	"github.com/otelcol-agents/otelcol-agents/translate"
)

// settleAfter is how long lines wait for others to tell the format of their source.
const settleAfter = 2 * time.Second

// Source is what is known of an input before its first line.
type Source struct {
	// Live sources give their lines an arrival time: connections and requests. Files are not live.
	Live bool
	// Caller is what the headers of a request tell; nil without.
	Caller *translate.Context
	// Request says that the source is one of several that may feed a session one after the other, so that its
	// end, or that of the process, closes none.
	Request bool
	// File is the file that is read; 0 for others.
	File ledger.FileID
	// Epoch is Progress.Epoch of the file.
	Epoch uint32
}

// Input is one file, connection or request on its way into the engine. Batch, Send and End are for one
// goroutine.
type Input struct {
	engine *Engine
	source Source
	origin *origin // of the fold; nil before the first batch, and while its sessions are not in memory
	parked []item  // of the fold: what waits for sessions

	queued  atomic.Int64 // items that are not folded yet
	unread  atomic.Bool
	modTime atomic.Int64

	// lock guards what follows, which the timer shares with Send and End. It is a channel, because whoever
	// holds it may stand before a full engine, and the others' contexts must end their waiting for it.
	lock  chan struct{}
	judge *batch.Judge
	held  []*piece // until the format is known
	timer *time.Timer
}

// piece is a batch on its way, with what it took of the budget and whom to tell.
type piece struct {
	*batch.Batch
	charged   int64
	committed func(*batch.Outcomes)
	decoding  bool // it went to the decoders
}

// Open begins an input.
func (e *Engine) Open(src Source) *Input {
	in := &Input{engine: e, source: src, lock: make(chan struct{}, 1), judge: e.options.Batch.NewJudge()}
	if src.File != 0 {
		e.inputs.Store(src.File, in)
		if rec, ok := e.options.Ledger.File(src.File); ok && rec.Epoch == src.Epoch && rec.Format != "" {
			in.judge.Resume(rec.Format, rec.Agent)
		}
	}
	return in
}

// Send hands a batch over; it blocks while the engine holds too many bytes. committed, unless nil, is
// called once with what became of the lines (valid during the call), on a goroutine of the engine and not to block it, when
// everything that the batch made final was accepted downstream or refused for good. Where Send fails,
// because ctx ended, committed is never called.
func (in *Input) Send(ctx context.Context, b *batch.Batch, committed func(*batch.Outcomes)) error {
	p := &piece{Batch: b, committed: committed}
	p.charged = in.engine.cost(b)
	if err := in.engine.budget.Acquire(ctx, p.charged); err != nil {
		return err
	}
	if err := in.acquire(ctx); err != nil {
		in.engine.budget.Release(p.charged)
		return err
	}
	defer in.release()
	in.queued.Add(1)
	for i := range b.Len() {
		if in.judge.Settled() {
			break
		}
		in.judge.Observe(b.Line(i))
	}
	in.held = append(in.held, p)
	if b.Full() {
		in.judge.Settle()
	}
	if !in.judge.Settled() {
		if in.timer == nil {
			in.timer = time.AfterFunc(settleAfter, func() { _ = in.settle(in.engine.running) })
		}
		return nil
	}
	err := in.flush(ctx)
	if err != nil {
		p.committed = nil // it may still be folded, but its sender counts on nothing
	}
	return err
}

func (in *Input) acquire(ctx context.Context) error {
	select {
	case in.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (in *Input) release() { <-in.lock }

// settle ends the waiting for a decision about the format.
func (in *Input) settle(ctx context.Context) error {
	if err := in.acquire(ctx); err != nil {
		return err
	}
	defer in.release()
	in.judge.Settle()
	return in.flush(ctx)
}

// flush hands what was held to the decoders and, in order, to the fold. What it could not hand over stays.
func (in *Input) flush(ctx context.Context) error {
	if in.timer != nil {
		in.timer.Stop()
		in.timer = nil
	}
	for len(in.held) > 0 {
		p := in.held[0]
		if !p.decoding && !in.engine.decoders.Decode(ctx, p.Batch, in.judge.Format()) {
			return ctx.Err()
		}
		p.decoding = true
		if err := in.engine.enqueue(ctx, item{input: in, piece: p}); err != nil {
			return err
		}
		in.held[0] = nil
		in.held = in.held[1:]
	}
	in.held = nil // an idle input keeps nothing
	return nil
}

// Ending is how an input ends.
type Ending int

const (
	// Ended is an orderly end that leaves the input's sessions open: of a request, of a file.
	Ended Ending = iota
	// Broken closes the sessions that only this input was feeding: of a connection.
	Broken
	// Suspended is the end of the process: what can be read again, or was stored, goes on after it.
	Suspended
)

// End says that no more batches come. It must be called once, also after Send failed.
func (in *Input) End(ctx context.Context, how Ending) error {
	if in.source.File != 0 {
		in.engine.inputs.CompareAndDelete(in.source.File, in)
	}
	if how == Suspended && in.source.File != 0 && in.engine.options.Durable {
		return in.suspend(ctx)
	}
	if err := in.settle(ctx); err != nil {
		return err
	}
	in.queued.Add(1)
	return in.engine.enqueue(ctx, item{input: in, ending: how, ended: true})
}

// suspend leaves to the next process what still waits to be told by more lines what it is.
func (in *Input) suspend(ctx context.Context) error {
	if err := in.acquire(ctx); err != nil {
		return err
	}
	defer in.release()
	if in.timer != nil {
		in.timer.Stop()
	}
	for _, p := range in.held {
		in.engine.budget.Release(p.charged)
	}
	in.queued.Add(-int64(len(in.held)))
	in.held = nil
	return nil
}

// Unread says whether the input is known to have more to read. While it has, no session that it feeds is
// closed by the clock.
func (in *Input) Unread(yes bool) { in.unread.Store(yes) }

// Modified tells when the input was last written, in Unix nanoseconds: the end of sessions whose records
// carry no time. Live inputs need none.
func (in *Input) Modified(at int64) { in.modTime.Store(at) }

// modified is what Modified told, else the present: sessions must have an end.
func (in *Input) modified() int64 {
	if at := in.modTime.Load(); at != 0 {
		return at
	}
	return in.engine.options.Batch.Now().UnixNano()
}

// behind reports whether rows of the input are still on their way.
func (in *Input) behind() bool { return in.unread.Load() || in.queued.Load() > 0 }
