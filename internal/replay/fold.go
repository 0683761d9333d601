// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"time"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/ids"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

const (
	dueInterval = 250 * time.Millisecond
	parcelItems = 512 // outputs that wait for company before they go to the delivery
)

// folder folds batches into outputs, in the order of the sources. Everything stateful happens here, on
// one goroutine.
type folder struct {
	reading   *reading
	sessions  *session.Assembler
	parcels   chan<- []translate.Output
	progress  func(bytes int64)
	now       func() time.Time
	outcomes  batch.Outcomes
	errs      []error // of sources that could not be read to their end
	cancelled bool

	waiting []translate.Output // not yet a parcel
}

// run folds every source to its end, or until ctx ends, and closes all sessions.
func (f *folder) run(ctx context.Context) {
	defer close(f.parcels)
	for _, s := range f.reading.sources {
		if f.cancelled {
			break
		}
		f.reading.budget.fold(s.number)
		f.source(ctx, s)
	}
	f.sessions.Close()
	f.take(true)
}

func (f *folder) source(ctx context.Context, s *source) {
	var opened *session.Source
	derived := false
	fold := func(b *piece) {
		units := b.Wait()
		if opened == nil && b.Len() > 0 {
			opened = f.sessions.Open(session.SourceInfo{Format: s.judge.Format(), Agent: s.judge.Agent(), ModTime: s.modTime, Live: s.live})
		}
		// Units before the first record wait inside the assembler, so the id is in time.
		if line, ok := b.First(); ok && !derived {
			opened.Derive(ids.Session(s.judge.Agent(), line))
			derived = true
		}
		f.sessions.At(f.now().UnixNano())
		for i := range units {
			f.sessions.Step(opened, &units[i])
		}
		f.outcomes.Add(b.Outcomes())
		f.progress(b.Size)
		f.reading.done(s, b)
		f.take(s.live)
	}
	f.batches(ctx, s, fold)
	if opened != nil {
		f.sessions.End(opened)
		f.take(s.live)
	}
}

// batches gives the source's batches to fold until there are no more.
func (f *folder) batches(ctx context.Context, s *source, fold func(*piece)) {
	var due <-chan time.Time
	if s.live {
		tick := time.NewTicker(dueInterval)
		defer tick.Stop()
		due = tick.C
	}
	for {
		select {
		case b, more := <-s.batches:
			if !more {
				if s.err != nil {
					f.errs = append(f.errs, s.err)
				}
				return
			}
			fold(b)
		case <-due:
			f.sessions.Due(f.now().UnixNano())
			f.take(true)
		case <-ctx.Done():
			f.cancelled = true
			if s.live {
				drain(s, fold)
			}
			return
		}
	}
}

// drain folds what a live source gave before the interruption: its writer cannot give it again.
func drain(s *source, fold func(*piece)) {
	for {
		select {
		case b, more := <-s.batches:
			if !more {
				return
			}
			fold(b)
		default:
			return
		}
	}
}

// take collects what became final and hands it on: at once for live sources, else in larger parcels.
func (f *folder) take(flush bool) {
	f.waiting = append(f.waiting, f.sessions.Take()...)
	if len(f.waiting) >= parcelItems || flush && len(f.waiting) > 0 {
		f.parcels <- f.waiting
		f.waiting = nil
	}
}
