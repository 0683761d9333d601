// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/otlp"
)

// runSend delivers parcels in their order and commits them.
func (e *Engine) runSend() {
	for p := range e.parcels {
		parcels := e.gather(p)
		var outs []translate.Output
		for _, p := range parcels {
			outs = append(outs, p.outs...)
		}
		switch {
		case e.abandoned:
			// What comes later must not be committed either: its progress would stand for what was given up.
			e.abandon(outs)
		case !e.deliver(outs) || !e.commit(parcels, outs):
			e.abandoned = true
		}
		e.outstanding.Add(-int64(len(parcels)))
	}
}

// gather takes what already waits, so that a slow pipeline gets fewer, larger deliveries.
func (e *Engine) gather(first *parcel) []*parcel {
	parcels, n := []*parcel{first}, len(first.outs)
	for n < otlp.MaxItems {
		select {
		case p, ok := <-e.parcels:
			if !ok {
				return parcels
			}
			parcels, n = append(parcels, p), n+len(p.outs)
		default:
			return parcels
		}
	}
	return parcels
}

// deliver sends outputs in their order, children before their parents. It returns false when the engine
// gives up before everything was accepted or refused for good.
func (e *Engine) deliver(outs []translate.Output) bool {
	for len(outs) > 0 {
		n := otlp.Cut(outs)
		if !e.deliverTraces(outs[:n]) || !e.deliverLogs(outs[:n]) {
			e.abandon(outs)
			return false
		}
		outs = outs[n:]
	}
	return true
}

// commit is the one place where progress is made: after the delivery, in its order. It is false where the
// engine gave up before it was stored.
func (e *Engine) commit(parcels []*parcel, outs []translate.Output) bool {
	began := time.Now()
	var ops []ledger.Op
	for _, p := range parcels {
		ops = append(ops, p.ops...)
	}
	if !e.count(outs, ops) {
		return false
	}
	for _, p := range parcels {
		if p.piece == nil {
			continue
		}
		if p.piece.committed != nil {
			p.piece.committed(p.piece.Outcomes())
		}
		e.budget.Release(p.piece.charged)
		p.piece.Release()
	}
	e.committed.Store(parcels[len(parcels)-1].number)
	e.commits.Add(1)
	e.options.Reporter.Committed(len(parcels), time.Since(began))
	return true
}

// count adds to the totals and stores them with the rest. Nobody sees totals that are not stored.
func (e *Engine) count(outs []translate.Output, ops []ledger.Op) bool {
	e.totals.Lock()
	defer e.totals.Unlock()
	for i := range outs {
		if s := outs[i].Step; s != nil {
			e.options.Totals.Add(*s)
		}
	}
	ops = append(ops, e.saved()...)
	return len(ops) == 0 || e.insist(func() error { return e.options.Ledger.Commit(e.running, ops) })
}

// saved gives the totals that changed since they were stored. The lock of the totals is held.
func (e *Engine) saved() (ops []ledger.Op) {
	if !e.options.Durable {
		return nil
	}
	for _, s := range e.options.Totals.Save() {
		ops = append(ops, ledger.Op{Key: ledger.TotalKey(s.Key), Value: ledger.Seal(s.Value)})
	}
	return ops
}

// insist does something with the store until it succeeds; false when the engine gave up first.
func (e *Engine) insist(do func() error) bool {
	failed := false
	for pause := e.options.Backoff; ; pause = min(2*pause, e.options.MaxBackoff) {
		err := do()
		if err == nil {
			if failed {
				e.failing.Add(-1)
				e.options.Reporter.CommitRecovered()
			}
			return true
		}
		if e.running.Err() != nil {
			return false
		}
		if !failed {
			failed = true
			e.failing.Add(1)
		}
		e.options.Reporter.CommitFailed(err)
		if !sleep(e.running, pause/2+rand.N(pause/2+1)) {
			return false
		}
	}
}

// abandon counts what the end of the process leaves undelivered. Nothing of it is committed, so that with a
// store that stays it is not lost: the next process makes it again.
func (e *Engine) abandon(outs []translate.Output) {
	if e.options.Durable {
		return
	}
	var spans, logs int
	for i := range outs {
		switch {
		case outs[i].Span != nil:
			spans++
		case outs[i].Log != nil:
			logs++
		}
	}
	if e.options.Sink.Traces != nil && spans > 0 {
		e.drop(Traces, spans, errGaveUp)
		e.undelivered.Add(int64(spans))
	}
	if e.options.Sink.Logs != nil && logs > 0 {
		e.drop(Logs, logs, errGaveUp)
		e.undelivered.Add(int64(logs))
	}
}

func (e *Engine) drop(s Signal, items int, err error) { e.options.Reporter.Dropped(s, items, err) }

// deliverTraces sends the spans until they are accepted. Each attempt makes its data anew: downstream
// may have taken the last ones apart.
func (e *Engine) deliverTraces(outs []translate.Output) bool {
	if e.options.Sink.Traces == nil {
		return true
	}
	return e.retry(Traces, func(left *PartialError) (int, error) {
		td := e.options.Builder.Traces(only(outs, left))
		n := td.SpanCount()
		if n == 0 {
			return 0, nil
		}
		// Pipelines that change the data then get a copy of it, and others need none.
		td.MarkReadOnly()
		return n, e.options.Sink.Traces(e.running, td)
	})
}

func (e *Engine) deliverLogs(outs []translate.Output) bool {
	if e.options.Sink.Logs == nil {
		return true
	}
	return e.retry(Logs, func(left *PartialError) (int, error) {
		ld := e.options.Builder.Logs(only(outs, left), e.options.Batch.Now().UnixNano())
		n := ld.LogRecordCount()
		if n == 0 {
			return 0, nil
		}
		ld.MarkReadOnly()
		return n, e.options.Sink.Logs(e.running, ld)
	})
}

// only keeps the outputs that a partial refusal left over.
func only(outs []translate.Output, left *PartialError) []translate.Output {
	if left == nil {
		return outs
	}
	var some []translate.Output
	for i := range outs {
		keep := false
		switch o := &outs[i]; {
		case o.Span != nil:
			_, keep = left.Spans[o.Span.SpanID]
		case o.Log != nil:
			_, keep = left.Logs[o.Log.UID]
		}
		if keep {
			some = append(some, outs[i])
		}
	}
	return some
}

// retry attempts until the data is accepted or refused for good; false when the engine gave up first.
func (e *Engine) retry(s Signal, attempt func(left *PartialError) (int, error)) bool {
	var left *PartialError
	refused := false
	for pause := e.options.Backoff; ; pause = min(2*pause, e.options.MaxBackoff) {
		n, err := attempt(left)
		var permanent *PermanentError
		switch {
		case err == nil, errors.As(err, &permanent):
			if err != nil {
				e.drop(s, n, permanent.Err)
			}
			if refused {
				e.fails(s, -1)
				e.options.Reporter.Recovered(s)
			}
			return true
		case e.running.Err() != nil:
			return false
		}
		if partial, ok := errors.AsType[*PartialError](err); ok {
			left = partial
		}
		if !refused {
			e.fails(s, 1)
		}
		refused = true
		// Half of it is random, so that many collectors do not come back together.
		wait := pause/2 + rand.N(pause/2+1)
		e.options.Reporter.Retrying(s, err, wait)
		if !sleep(e.running, wait) {
			return false
		}
	}
}

func (e *Engine) fails(s Signal, change int32) {
	if s != Metrics {
		e.failing.Add(change)
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// runMetrics sends a snapshot of the totals every interval, on its own: a blocked delivery of spans stops
// new values, not the points.
func (e *Engine) runMetrics() {
	delivered := make(chan struct{})
	go func() {
		defer close(delivered)
		e.send.Wait()
	}()
	tick := time.NewTicker(e.options.MetricsInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if !e.snapshot() {
				return
			}
		case <-delivered:
			// A series shows its beginning first, its value one snapshot later.
			for more := true; more; more = e.pending() {
				if !e.snapshot() {
					return
				}
			}
			return
		}
	}
}

func (e *Engine) pending() bool {
	e.totals.Lock()
	defer e.totals.Unlock()
	return e.options.Totals.Pending()
}

// shown takes a snapshot and stores that it was taken, before anybody sees it: a process that comes after
// this one must not show less.
func (e *Engine) shown() (pmetric.Metrics, bool) {
	e.totals.Lock()
	defer e.totals.Unlock()
	md := e.options.Totals.Snapshot(e.options.Batch.Now().UnixNano())
	ops := e.saved()
	return md, len(ops) == 0 || e.insist(func() error { return e.options.Ledger.Commit(e.running, ops) })
}

func (e *Engine) snapshot() bool {
	md, ok := e.shown()
	if !ok {
		return false
	}
	n := md.DataPointCount()
	if n == 0 {
		return true
	}
	first := true
	ok = e.retry(Metrics, func(*PartialError) (int, error) {
		// Downstream may take apart what it gets.
		again := pmetric.NewMetrics()
		md.CopyTo(again)
		if !first && !e.options.Delta {
			otlp.Restamp(again, e.options.Batch.Now().UnixNano())
		}
		first = false
		return n, e.options.Sink.Metrics(e.running, again)
	})
	if !ok {
		if !e.options.Durable {
			e.drop(Metrics, n, errGaveUp)
			e.undelivered.Add(int64(n))
		}
		return false
	}
	return !e.options.Delta || e.accepted()
}

// accepted stores that windows were taken, so that they do not come again.
func (e *Engine) accepted() bool {
	e.totals.Lock()
	defer e.totals.Unlock()
	e.options.Totals.Accepted()
	ops := e.saved()
	return len(ops) == 0 || e.insist(func() error { return e.options.Ledger.Commit(e.running, ops) })
}
