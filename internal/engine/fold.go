// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"github.com/otelcol-agents/otelcol-agents/internal/voice"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

// runFold is the goroutine that owns every session. Its inputs are items and ticks.
func (e *Engine) runFold() {
	defer close(e.parcels)
	tick := time.NewTicker(tickInterval)
	defer tick.Stop()
	for {
		select {
		case it := <-e.items:
			e.foldItem(it)
		case <-tick.C:
			e.due()
		case <-e.ending:
			e.foldRest()
			return
		}
	}
}

// foldRest folds what inputs handed over before they ended, and closes every session.
func (e *Engine) foldRest() {
	for {
		select {
		case it := <-e.items:
			e.foldItem(it)
		default:
			e.sessions.Close()
			e.hand(nil)
			return
		}
	}
}

func (e *Engine) foldItem(it item) {
	e.sessions.At(e.clock.at)
	in := it.input
	if it.ended {
		e.end(in, it.ending)
		in.queued.Add(-1)
		e.hand(nil)
		return
	}
	p := it.piece
	p.Wait()
	if in.voices == nil {
		in.voices = voice.New(e.sessions, in.about())
	}
	in.voices.Modified(in.modified())
	for i := range p.Len() {
		if anew := in.voices.Fold(p.Line(i), p.Units(i), p.Arrived(i)); anew != nil {
			p.Again(i, anew)
		}
	}
	e.options.Reporter.Folded(p.Format(), p.Outcomes(), p.Size, p.NULs)
	in.queued.Add(-1)
	e.hand(p)
}

// about is what is known of the input once its format is decided.
func (in *Input) about() voice.Input {
	opts := &in.engine.options.Batch
	return voice.Input{
		Info: session.SourceInfo{
			Format: in.judge.Format(), Agent: in.judge.Agent(), ModTime: in.modified(),
			Live: in.source.Live, Caller: in.source.Caller, Behind: in.behind,
		},
		Fixed:   opts.Fixed != nil,
		Decoder: opts.Decoder,
	}
}

func (e *Engine) end(in *Input, how Ending) {
	switch {
	case in.voices == nil: // it brought nothing
	case how == Broken:
		in.voices.End()
	default:
		in.voices.Release()
	}
}

// due moves the clock and closes what it has made final.
func (e *Engine) due() {
	// Parcels that were there at the last tick and still are: the delivery stands.
	commits := e.commits.Load()
	stood := e.outstanding.Load() > 0 && commits == e.ticked
	e.ticked = commits
	e.sessions.Due(e.clock.advance(e.options.Batch.Now(), stood))
	e.hand(nil)
}

// hand passes on what became final, and the batch that it came from; the delivery commits both together.
func (e *Engine) hand(p *piece) {
	e.resident.Store(int64(e.sessions.Sessions()))
	e.evicted.Store(int64(e.sessions.Evicted()))
	outs := e.sessions.Take()
	if len(outs) == 0 && p == nil {
		return
	}
	e.outstanding.Add(1)
	e.parcels <- &parcel{outs: outs, piece: p}
}
