// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package voice folds an input in which several agents may speak: a log that two of them wrote into, a
// connection that goes from one to the next.
package voice

import (
	"slices"

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
//
// A line is first heard, then stepped. Many lines may be heard before the first of them is stepped, but
// they are stepped in the order in which they were heard. What is stepped needs no hearing where it was
// heard before, by other Voices of the same home: those of a process that is gone.
type Voices struct {
	sessions *session.Assembler
	input    Input
	// alone says that nobody else may speak: the format was demanded, or there is no decoder for the
	// agent that was found, whose records may look like another's.
	alone  bool
	home   *voice
	others []*voice // in the order of their first line
	speaks *voice   // of the line that was heard last
	units  []translate.Decoded
}

// Said is what one line says, and who says it: all that Step needs of it.
type Said struct {
	Format  translate.Format
	Agent   string
	Derived string // id of the session if the voice never names one; "" but for the voice's first record
	Units   []translate.Decoded
}

// voice is one agent in an input.
type voice struct {
	format  translate.Format
	agent   string
	source  *session.Source // nil before the first step of one of the others
	derived bool            // a record of it was heard
	decoder batch.Decoder   // of the others only
}

// New opens the source of the agent that the first records decided. For Step alone, Input.Decoder is not
// needed.
func New(a *session.Assembler, in Input) *Voices {
	v := &Voices{sessions: a, input: in}
	v.alone = in.Fixed || in.Decoder == nil || in.Info.Format == translate.FormatGeneric
	v.home = &voice{format: in.Info.Format, agent: in.Info.Agent}
	v.speaks = v.home
	v.open(v.home)
	return v
}

func (v *Voices) open(o *voice) {
	info := v.input.Info
	info.Format, info.Agent = o.format, o.agent
	o.source = v.sessions.Open(info)
}

// Hear finds out who speaks in a line that was decoded to units, and folds nothing. arrival is that of a
// live source, else 0. Where the line is another agent's, anew is what it was decoded to anew; else nil.
func (v *Voices) Hear(line []byte, units []translate.Decoded, arrival int64) (said Said, anew []translate.Decoded) {
	switch known, foreign := judge(units); {
	case known:
		v.speaks = v.home
	case foreign && !v.alone:
		if other := v.listen(line); other != nil {
			v.speaks = other
			anew = v.decode(other, line, arrival)
			units = anew
		}
	}
	said = Said{Format: v.speaks.format, Agent: v.speaks.agent, Units: units}
	if !v.speaks.derived && tells(units) {
		said.Derived = ids.Session(v.speaks.agent, line)
		v.speaks.derived = true
	}
	return said, anew
}

// Lines of another agent are decoded into pieces of memory for so many units, which are not used again:
// what was heard stays good.
const (
	unitsPiece = 64
	unitsSpare = 4 // more than nearly any line gives
)

func (v *Voices) decode(o *voice, line []byte, arrival int64) []translate.Decoded {
	if cap(v.units)-len(v.units) < unitsSpare {
		v.units = make([]translate.Decoded, 0, unitsPiece)
	}
	from := len(v.units)
	v.units = o.decoder.Decode(line, v.units)
	units := slices.Clip(v.units[from:])
	for i := range units {
		if r := units[i].Record; r != nil {
			r.Arrival = arrival
		}
	}
	return units
}

// tells reports whether there is a record among the units from which the id of a session is derived.
func tells(units []translate.Decoded) bool {
	return slices.ContainsFunc(units, func(d translate.Decoded) bool {
		return d.Record != nil && d.Record.Context == nil && d.Record.Sidecar == nil
	})
}

// Step folds what a line says. Units before the first record wait inside the assembler, so an id that is
// derived from that one is in time.
func (v *Voices) Step(said *Said) {
	o := v.voice(said)
	if o.source == nil {
		v.open(o)
	}
	if said.Derived != "" {
		o.source.Derive(said.Derived)
		o.derived = true
	}
	for i := range said.Units {
		v.sessions.Step(o.source, &said.Units[i])
	}
}

// Fold is Hear and Step.
func (v *Voices) Fold(line []byte, units []translate.Decoded, arrival int64) (anew []translate.Decoded) {
	said, anew := v.Hear(line, units, arrival)
	v.Step(&said)
	return anew
}

// voice is the one that said it. Voices that did not hear it may meet it here for the first time.
func (v *Voices) voice(said *Said) *voice {
	if said.Format == v.home.format {
		return v.home
	}
	return v.meet(said.Format, said.Agent)
}

// other is the one of the others that has the format; nil before its first line.
func (v *Voices) other(f translate.Format) *voice {
	for _, o := range v.others {
		if o.format == f {
			return o
		}
	}
	return nil
}

func (v *Voices) meet(f translate.Format, agent string) *voice {
	o := v.other(f)
	if o == nil {
		o = &voice{format: f, agent: agent}
		v.others = append(v.others, o)
	}
	return o
}

// Sources are those that were opened: first the one of the agent that the first records decided, then the
// others' in the order of their first line.
func (v *Voices) Sources() []*session.Source {
	var list []*session.Source
	v.each(func(s *session.Source) { list = append(list, s) })
	return list
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
		if o.source != nil {
			do(o.source)
		}
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
	if sure {
		if o := v.other(f); o != nil && o.decoder != nil {
			return o
		}
		if dec := v.input.Decoder(f); dec != nil {
			o := v.meet(f, detect.Agent(f))
			o.decoder = dec
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
