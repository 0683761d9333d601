// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package agentstreamreceiver // import "github.com/otelcol-agents/otelcol-agents/receiver/agentstreamreceiver"

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/internal/engine"
	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
	"github.com/otelcol-agents/otelcol-agents/internal/listen"
	"github.com/otelcol-agents/otelcol-agents/translate"
)

// logEvery is the least time between two log lines about the same trouble.
const logEvery = 30 * time.Second

// observe has the gauges read what they show.
func (r *agentStream) observe() error {
	t := r.telemetry
	errs := []error{
		t.Observe(t.AgentStreamSessionsResident, r.engine.Sessions),
		t.Observe(t.AgentStreamSessionsEvicted, r.engine.Evicted),
	}
	if r.ledgerEntries != nil {
		errs = append(errs, t.Observe(t.AgentStreamLedgerEntries, r.ledgerEntries))
	}
	if r.files != nil {
		errs = append(errs,
			t.Observe(t.AgentStreamFilesTracked, r.files.Tracked),
			t.Observe(t.AgentStreamFilesOpen, r.files.Open),
			t.Observe(t.AgentStreamLagBytes, r.files.Lag))
	}
	if r.tcp != nil || r.http != nil {
		errs = append(errs, t.Observe(t.AgentStreamConnectionsActive, r.connections.active.Load))
	}
	return errors.Join(errs...)
}

// engineReporter tells of what the engine does.
type engineReporter struct {
	receiver *agentStream

	mu       sync.Mutex
	refused  map[engine.Signal]time.Time // when it was told last; without those that recovered
	dropped  map[engine.Signal]time.Time // when it was told last
	unstored time.Time                   // when a commit that failed was told last; zero once one succeeded
	unread   time.Time                   // when a file that cannot be folded again was told last
	damaged  int                         // stored values that could not be understood
	untold   time.Time                   // when these were told last
}

var _ engine.Reporter = (*engineReporter)(nil)

// Folded implements engine.Reporter.
func (e *engineReporter) Folded(format translate.Format, lines *batch.Outcomes, bytes, nuls int64) {
	ctx, t := context.Background(), e.receiver.telemetry
	records := func(outcome string, n int64) {
		if n > 0 {
			t.AgentStreamRecords.Add(ctx, n, metric.WithAttributes(
				attribute.String("outcome", outcome), attribute.String("format", string(format)),
			))
		}
	}
	records("ok", lines.OK())
	for reason, n := range lines.Skipped() {
		records(string(reason), n)
	}
	t.AgentStreamBytesRead.Add(ctx, bytes)
	if nuls > 0 {
		t.AgentStreamNulBytes.Add(ctx, nuls)
	}
}

func signalAttribute(s engine.Signal) metric.MeasurementOption {
	return metric.WithAttributes(attribute.String("signal", string(s)))
}

// Retrying implements engine.Reporter.
func (e *engineReporter) Retrying(s engine.Signal, err error, pause time.Duration) {
	r := e.receiver
	r.telemetry.AgentStreamRetries.Add(context.Background(), 1, signalAttribute(s))
	if !e.first(&e.refused, s) {
		return
	}
	r.status(componentstatus.NewRecoverableErrorEvent(err))
	r.set.Logger.Warn("the pipeline refuses; trying again until it accepts",
		zap.String("signal", string(s)), zap.Duration("pause", pause), zap.Error(err))
}

// first reports whether trouble with a signal is to be told now, and notes it in told.
func (e *engineReporter) first(told *map[engine.Signal]time.Time, s engine.Signal) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	if last, ok := (*told)[s]; ok && now.Sub(last) < logEvery {
		return false
	}
	if *told == nil {
		*told = map[engine.Signal]time.Time{}
	}
	(*told)[s] = now
	return true
}

// Recovered implements engine.Reporter.
func (e *engineReporter) Recovered(s engine.Signal) {
	e.mu.Lock()
	delete(e.refused, s)
	healthy := e.healthy()
	e.mu.Unlock()
	e.receiver.set.Logger.Info("the pipeline accepts again", zap.String("signal", string(s)))
	if healthy {
		e.receiver.status(componentstatus.NewEvent(componentstatus.StatusOK))
	}
}

// healthy reports whether nothing is refused and the latest commit was stored. The lock is held.
func (e *engineReporter) healthy() bool { return len(e.refused) == 0 && e.unstored.IsZero() }

// due reports whether trouble that was told at *last is to be told now, and notes it.
func (e *engineReporter) due(last *time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	if now.Sub(*last) < logEvery {
		return false
	}
	*last = now
	return true
}

// Dropped implements engine.Reporter. The metric tells of each; the log, which a pipeline that refuses
// everything would fill, now and then.
func (e *engineReporter) Dropped(s engine.Signal, items int, err error) {
	r := e.receiver
	r.telemetry.AgentStreamDroppedItems.Add(context.Background(), int64(items), signalAttribute(s))
	if !e.first(&e.dropped, s) {
		return
	}
	r.set.Logger.Error("telemetry is dropped; the metric dropped_items has all of it", zap.String("signal", string(s)), zap.Int("items", items), zap.Error(err))
}

// Committed implements engine.Reporter.
func (e *engineReporter) Committed(_ int, took time.Duration) {
	ctx, t := context.Background(), e.receiver.telemetry
	t.AgentStreamCommits.Add(ctx, 1)
	t.AgentStreamCommitDuration.Record(ctx, took.Seconds())
}

// CommitFailed implements engine.Reporter.
func (e *engineReporter) CommitFailed(err error) {
	r := e.receiver
	r.telemetry.AgentStreamCommitFailures.Add(context.Background(), 1)
	if !e.due(&e.unstored) {
		return
	}
	r.status(componentstatus.NewRecoverableErrorEvent(err))
	r.set.Logger.Warn("cannot store progress; nothing more is read until it can", zap.Error(err))
}

// CommitRecovered implements engine.Reporter.
func (e *engineReporter) CommitRecovered() {
	e.mu.Lock()
	e.unstored = time.Time{}
	healthy := e.healthy()
	e.mu.Unlock()
	e.receiver.set.Logger.Info("progress is stored again")
	if healthy {
		e.receiver.status(componentstatus.NewEvent(componentstatus.StatusOK))
	}
}

// Refolded implements engine.Reporter.
func (e *engineReporter) Refolded(bytes int64) {
	e.receiver.telemetry.AgentStreamRefoldBytes.Add(context.Background(), bytes)
}

// Unreadable implements engine.Reporter. A folder that is deleted has as many files as it likes, so the log
// names one now and then.
func (e *engineReporter) Unreadable(_ ledger.FileID, path string, err error) {
	if e.due(&e.unread) {
		e.receiver.set.Logger.Warn("a file of an open session cannot be read again; the session goes on without what it said",
			zap.String("path", path), zap.Error(err))
	}
}

// Damaged implements engine.Reporter.
func (e *engineReporter) Damaged(n int) {
	if n <= 0 {
		return
	}
	e.mu.Lock()
	e.damaged += n
	all := e.damaged
	e.mu.Unlock()
	if e.due(&e.untold) {
		e.receiver.set.Logger.Warn("stored values cannot be understood; what they stood for is read anew", zap.Int("values", all))
	}
}

// fileReporter tells of what the tailer finds. Paths go to the collector's own log only.
type fileReporter struct{ receiver *agentStream }

// GuardMismatch implements tail.Reporter.
func (f *fileReporter) GuardMismatch(path string) {
	f.receiver.telemetry.AgentStreamGuardMismatches.Add(context.Background(), 1)
	f.receiver.set.Logger.Warn("file was rewritten and is read from its beginning", zap.String("path", path))
}

// Oversize implements tail.Reporter.
func (f *fileReporter) Oversize(path string) {
	f.receiver.set.Logger.Warn("line is over max_line_size and is left out, as further ones of this file will be",
		zap.String("path", path), zap.Stringer("max_line_size", f.receiver.cfg.Options.MaxLineSize))
}

// Unreadable implements tail.Reporter.
func (f *fileReporter) Unreadable(path string, err error) {
	f.receiver.set.Logger.Warn("cannot read; trying again until it is readable", zap.String("path", path), zap.Error(err))
}

// NotRegular implements tail.Reporter.
func (f *fileReporter) NotRegular(path string, mode fs.FileMode) {
	f.receiver.set.Logger.Warn("not a regular file; left out", zap.String("path", path), zap.Stringer("mode", mode))
}

// connectionReporter tells of connections and requests.
type connectionReporter struct {
	receiver *agentStream
	active   atomic.Int64
	logged   atomic.Int64 // when trouble was told last, Unix nanoseconds
}

var _ listen.Reporter = (*connectionReporter)(nil)

// Opened implements listen.Reporter.
func (c *connectionReporter) Opened(listen.Transport) { c.active.Add(1) }

// Closed implements listen.Reporter.
func (c *connectionReporter) Closed(listen.Transport) { c.active.Add(-1) }

// Refused implements listen.Reporter.
func (c *connectionReporter) Refused(t listen.Transport, why error) {
	c.receiver.telemetry.AgentStreamConnectionsRefused.Add(context.Background(), 1,
		metric.WithAttributes(attribute.String("transport", string(t))))
	c.log("turned away", t, why)
}

// Failed implements listen.Reporter.
func (c *connectionReporter) Failed(t listen.Transport, err error) {
	c.log("connection failed", t, err)
}

// log tells of clients' trouble, now and then: anybody can make some.
func (c *connectionReporter) log(message string, t listen.Transport, err error) {
	now := time.Now().UnixNano()
	last := c.logged.Load()
	if now-last < int64(logEvery) || !c.logged.CompareAndSwap(last, now) {
		return
	}
	c.receiver.set.Logger.Warn(message, zap.String("transport", string(t)), zap.Error(err))
}
