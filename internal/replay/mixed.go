// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/detect"
	"github.com/otelcol-agents/otelcol-agents/translate/ids"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

// voices folds one input in which several agents may speak: a log that two of them wrote into, a
// connection that goes from one to the next. Lines are decoded as the format that the first records
// decided; a line of which that decoder knows nothing is looked at again. Where it is another agent's
// without doubt, that agent speaks, until a line is the first one's again. Each has a source of its own,
// since the agent's name is part of its ids.
type voices struct {
	sessions *session.Assembler
	reading  *reading
	input    *source
	// alone says that nobody else may speak: the configuration says the format, or this release has no
	// decoder for the agent that was found, whose records may look like another's.
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
	decoder decoder // of the others only
}

func newVoices(f *folder, s *source) *voices {
	v := &voices{sessions: f.sessions, reading: f.reading, input: s}
	v.alone = f.reading.options.fixed != nil || s.format == translate.FormatGeneric
	v.home = v.open(s.format, s.agent)
	v.speaks = v.home
	return v
}

func (v *voices) open(format translate.Format, agent string) *voice {
	return &voice{format: format, agent: agent, source: v.sessions.Open(session.SourceInfo{
		Format: format, Agent: agent, ModTime: v.input.modTime, Live: v.input.live,
	})}
}

// fold folds the i-th line of a batch. What it counts differently from the decoding of the batch goes
// into skipped.
func (v *voices) fold(b *batch, i int, skipped *skips) {
	line, units := b.line(i), b.unitsOf(i)
	if !v.alone && foreign(units) {
		if other := v.listen(line); other != nil {
			was := reasons(units)
			units = other.decoder.Decode(line, v.units[:0])
			v.units = units
			b.stamp(i, units)
			skipped.move(was, reasons(units))
			v.speaks = other
		}
	} else if known(units) {
		v.speaks = v.home
	}
	v.speaks.step(v.sessions, line, units)
}

// step folds the units of one line. Units before the first record wait inside the assembler, so an id
// that is derived from that one is in time.
func (o *voice) step(a *session.Assembler, line []byte, units []translate.Decoded) {
	for j := range units {
		if r := units[j].Record; !o.derived && r != nil && r.Context == nil {
			o.source.Derive(ids.Session(o.agent, line))
			o.derived = true
		}
		a.Step(o.source, &units[j])
	}
}

// listen finds whose line it is that the input's own decoder does not know: the agent's whose records
// alone look so, else the one's that spoke last. It is nil for the input's own.
func (v *voices) listen(line []byte) *voice {
	var d detect.Detector
	f, sure := d.Observe(line)
	switch {
	case sure && f == v.home.format:
		v.speaks = v.home
		return nil
	case !sure || decoders[f] == nil:
		if v.speaks != v.home {
			return v.speaks
		}
		return nil
	}
	for _, o := range v.others {
		if o.format == f {
			return o
		}
	}
	o := v.open(f, detect.Agent(f))
	o.decoder = v.reading.decoder(f, v.reading.options.now())
	v.others = append(v.others, o)
	return o
}

// end ends every source.
func (v *voices) end() {
	v.sessions.End(v.home.source)
	for _, o := range v.others {
		v.sessions.End(o.source)
	}
}

// foreign reports whether a line has records, and none of a known type.
func foreign(units []translate.Decoded) bool {
	found := false
	for i := range units {
		if r := units[i].Record; r != nil {
			if !r.UnknownType || r.Context != nil {
				return false
			}
			found = true
		}
	}
	return found
}

// known reports whether a line has a record of a known type. A context line speaks for nobody.
func known(units []translate.Decoded) bool {
	for i := range units {
		if r := units[i].Record; r != nil && !r.UnknownType && r.Context == nil {
			return true
		}
	}
	return false
}
