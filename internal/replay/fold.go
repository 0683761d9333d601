// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"time"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/internal/voice"
	"github.com/otelcol-agents/otelcol-agents/translate"
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
	var v *voice.Voices
	fold := func(b *piece) {
		b.Wait()
		if v == nil && b.Len() > 0 {
			v = f.voices(s)
		}
		f.sessions.At(f.now().UnixNano())
		for i := range b.Len() {
			if anew := v.Fold(b.Line(i), b.Units(i), b.Arrived(i)); anew != nil {
				b.Again(i, anew)
			}
		}
		f.outcomes.Add(b.Outcomes())
		f.progress(b.Size)
		f.reading.done(s, b)
		f.take(s.live)
	}
	f.batches(ctx, s, fold)
	if v != nil {
		v.End()
		f.take(s.live)
	}
}

func (f *folder) voices(s *source) *voice.Voices {
	opts := &f.reading.options
	return voice.New(f.sessions, voice.Input{
		Info:    session.SourceInfo{Format: s.judge.Format(), Agent: s.judge.Agent(), ModTime: s.modTime, Live: s.live, Place: place(s.path)},
		Fixed:   opts.Fixed != nil,
		Decoder: opts.Decoder,
	})
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
