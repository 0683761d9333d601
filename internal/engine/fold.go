// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	"github.com/otelcol-agents/otelcol-agents/translate/ids"
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
	units := p.Wait()
	if in.opened == nil {
		in.opened = e.sessions.Open(in.info())
	}
	in.opened.Modified(in.modified())
	// Units before the first record wait inside the assembler, so the id is in time.
	if line, ok := p.First(); ok && !in.named {
		in.opened.Derive(ids.Session(in.judge.Agent(), line))
		in.named = true
	}
	for i := range units {
		e.sessions.Step(in.opened, &units[i])
	}
	e.options.Reporter.Folded(p.Format(), p.Outcomes(), p.Size, p.NULs)
	in.queued.Add(-1)
	e.hand(p)
}

// info is what the assembler is to know of the input; its format is decided.
func (in *Input) info() session.SourceInfo {
	return session.SourceInfo{
		Format: in.judge.Format(), Agent: in.judge.Agent(), ModTime: in.modified(),
		Live: in.source.Live, Caller: in.source.Caller, Behind: in.behind,
	}
}

func (e *Engine) end(in *Input, how Ending) {
	switch {
	case in.opened == nil: // it brought nothing
	case how == Broken:
		e.sessions.End(in.opened)
	default:
		e.sessions.Release(in.opened)
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
