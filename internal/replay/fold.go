// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"time"

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
	skipped   skips
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
	fold := func(b *batch) {
		if v == nil && len(b.ends) > 0 {
			v = f.voices(s)
		}
		for i := range b.ends {
			units := b.unitsOf(i)
			if anew := v.Fold(b.line(i), units, b.arrived(i)); anew != nil {
				b.skipped.move(reasons(units), reasons(anew))
			}
		}
		f.skipped.add(&b.skipped)
		f.progress(b.size)
		f.reading.done(b)
		f.take(s.live)
	}
	f.batches(ctx, s, fold)
	if v != nil {
		v.End()
		f.take(s.live)
	}
}

func (f *folder) voices(s *source) *voice.Voices {
	return voice.New(f.sessions, voice.Input{
		Info:  session.SourceInfo{Format: s.format, Agent: s.agent, ModTime: s.modTime, Live: s.live},
		Fixed: f.reading.options.fixed != nil,
		Decoder: func(format translate.Format) voice.Decoder {
			if decoders[format] == nil {
				return nil
			}
			return f.reading.decoder(format, f.now())
		},
	})
}

// batches gives the source's batches to fold until there are no more.
func (f *folder) batches(ctx context.Context, s *source, fold func(*batch)) {
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
			<-b.decodedBy
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
func drain(s *source, fold func(*batch)) {
	for {
		select {
		case b, more := <-s.batches:
			if !more {
				return
			}
			<-b.decodedBy
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
