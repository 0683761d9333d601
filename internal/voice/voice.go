// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package voice folds an input in which several agents may speak: a log that two of them wrote into, a
// connection that goes from one to the next.
package voice

import (
	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/detect"
	"github.com/otelcol-agents/otelcol-agents/translate/ids"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

// Input says what is known of an input before its first line.
type Input struct {
	Info session.SourceInfo // of the agent that the first records decided
	// Fixed says that the format was demanded: nobody else speaks.
	Fixed bool
	// Decoder makes the decoder of a format, nil where there is none.
	Decoder func(translate.Format) batch.Decoder
}

// Voices are the agents of one input. Lines come decoded as the format that the first records decided;
// a line of which that decoder knows nothing is looked at again. Where it is another agent's without
// doubt, that agent speaks, until a line is the first one's again. Each agent has a source of its own,
// since its name is part of its ids. Voices are not safe for concurrent use.
type Voices struct {
	sessions *session.Assembler
	input    Input
	// alone says that nobody else may speak: the format was demanded, or there is no decoder for the
	// agent that was found, whose records may look like another's.
	alone  bool
	home   *voice
	others []*voice // in the order of their first line
	speaks *voice
	units  []translate.Decoded
}

// voice is one agent in an input.
type voice struct {
	format  translate.Format
	agent   string
	source  *session.Source
	derived bool
	decoder batch.Decoder // of the others only
}

// New opens the source of the agent that the first records decided.
func New(a *session.Assembler, in Input) *Voices {
	v := &Voices{sessions: a, input: in, alone: in.Fixed || in.Info.Format == translate.FormatGeneric}
	v.home = v.open(in.Info.Format, in.Info.Agent)
	v.speaks = v.home
	return v
}

func (v *Voices) open(format translate.Format, agent string) *voice {
	info := v.input.Info
	info.Format, info.Agent = format, agent
	return &voice{format: format, agent: agent, source: v.sessions.Open(info)}
}

// Fold folds a line and what it was decoded to. arrival is that of a live source, else 0. Where the line
// is another agent's, it returns what it was decoded to anew, good until the next call; else nil.
func (v *Voices) Fold(line []byte, units []translate.Decoded, arrival int64) (anew []translate.Decoded) {
	switch known, foreign := judge(units); {
	case known:
		v.speaks = v.home
	case foreign && !v.alone:
		if other := v.listen(line); other != nil {
			v.units = other.decoder.Decode(line, v.units[:0])
			anew, units, v.speaks = v.units, v.units, other
			for i := range units {
				if r := units[i].Record; r != nil {
					r.Arrival = arrival
				}
			}
		}
	}
	v.speaks.step(v.sessions, line, units)
	return anew
}

// End ends every source, and closes the sessions that live ones alone were feeding.
func (v *Voices) End() { v.each(v.sessions.End) }

// Release ends every source and closes nothing.
func (v *Voices) Release() { v.each(v.sessions.Release) }

// Modified says when a growing file was last written, in Unix nanoseconds.
func (v *Voices) Modified(at int64) {
	v.input.Info.ModTime = at
	v.each(func(s *session.Source) { s.Modified(at) })
}

func (v *Voices) each(do func(*session.Source)) {
	do(v.home.source)
	for _, o := range v.others {
		do(o.source)
	}
}

// step folds the units of one line. Units before the first record wait inside the assembler, so an id
// that is derived from that one is in time.
func (o *voice) step(a *session.Assembler, line []byte, units []translate.Decoded) {
	for i := range units {
		if r := units[i].Record; !o.derived && r != nil && r.Context == nil && r.Sidecar == nil {
			o.source.Derive(ids.Session(o.agent, line))
			o.derived = true
		}
		a.Step(o.source, &units[i])
	}
}

// listen finds whose line it is that the input's own decoder does not know: the agent's whose records
// alone look so, else the one's that spoke last. It is nil for the input's own.
func (v *Voices) listen(line []byte) *voice {
	var d detect.Detector
	f, sure := d.Observe(line)
	if sure && f == v.home.format {
		v.speaks = v.home
		return nil
	}
	for _, o := range v.others {
		if sure && o.format == f {
			return o
		}
	}
	if sure {
		if dec := v.input.Decoder(f); dec != nil {
			o := v.open(f, detect.Agent(f))
			o.decoder = dec
			v.others = append(v.others, o)
			return o
		}
	}
	if v.speaks == v.home {
		return nil
	}
	return v.speaks
}

// judge tells whether a line has a record of a known type, and whether it has records, but none of
// those. A context line speaks for nobody.
func judge(units []translate.Decoded) (known, foreign bool) {
	for i := range units {
		r := units[i].Record
		switch {
		case r == nil:
		case r.Context != nil:
			return false, false
		case r.UnknownType:
			foreign = true
		default:
			known = true
		}
	}
	return known, foreign && !known
}
