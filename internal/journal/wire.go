// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"
	"math"

	"github.com/otelcol-agents/otelcol-agents/internal/voice"
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

// wire is an Entry in JSON: its zero fields are left out, and a context stands beside its record, since
// JSON does not tell the types of numbers.
type wire struct {
	Opening *opening
	Said    []said
	From    []session.State
}

type opening struct {
	Request bool
	Caller  *context
	Format  translate.Format
	Agent   string
}

// said has Format and Agent where they are not those of the one before.
type said struct {
	Format  translate.Format
	Agent   string
	Derived string
	Units   []unit
}

type unit struct {
	Record     *translate.Record
	Context    *context // of the record
	Diagnostic *translate.Diagnostic
}

type context struct {
	TraceID    [16]byte
	SpanID     [8]byte
	Attributes []attribute
}

// attribute has one of the values.
type attribute struct {
	Key    string
	String *string
	Bool   *bool
	Int    *int64
	Float  *uint64 // its bits
}

func toWire(e *Entry, keep translate.Capture) (wire, error) {
	w := wire{Said: make([]said, len(e.Said)), From: e.From}
	var format translate.Format
	var agent string
	if o := e.Opening; o != nil {
		w.Opening = &opening{Request: o.Request, Format: o.Format, Agent: o.Agent}
		var err error
		if w.Opening.Caller, err = toContext(o.Caller); err != nil {
			return w, err
		}
		format, agent = o.Format, o.Agent
	}
	n := 0
	for i := range e.Said {
		n += len(e.Said[i].Units)
	}
	units := make([]unit, 0, n)
	for i := range e.Said {
		s, to := &e.Said[i], &w.Said[i]
		if s.Format != format {
			to.Format, format = s.Format, s.Format
		}
		if s.Agent != agent {
			to.Agent, agent = s.Agent, s.Agent
		}
		to.Derived = s.Derived
		from := len(units)
		for k := range s.Units {
			u, err := toUnit(&s.Units[k], keep)
			if err != nil {
				return w, err
			}
			units = append(units, u)
		}
		to.Units = units[from:]
	}
	return w, nil
}

func toUnit(d *translate.Decoded, keep translate.Capture) (unit, error) {
	u := unit{Record: d.Record, Diagnostic: d.Diagnostic}
	if r := d.Record; r != nil {
		stay := r.CWD == "" || keep.Identity || keep.ToolArguments
		if r.Context == nil && stay {
			return u, nil
		}
		rec := *r
		if !stay {
			// It resolves captured paths and leaves under identity: nobody asks for it.
			rec.CWD = ""
		}
		var err error
		u.Context, err = toContext(r.Context)
		rec.Context = nil
		u.Record = &rec
		return u, err
	}
	return u, nil
}

func toContext(c *translate.Context) (*context, error) {
	if c == nil {
		return nil, nil
	}
	w := &context{TraceID: c.TraceID, SpanID: c.SpanID}
	if c.Attributes != nil {
		w.Attributes = make([]attribute, len(c.Attributes))
	}
	for i, kv := range c.Attributes {
		a := attribute{Key: kv.Key}
		switch v := kv.Value.(type) {
		case string:
			a.String = &v
		case bool:
			a.Bool = &v
		case int64:
			a.Int = &v
		case float64:
			bits := math.Float64bits(v)
			a.Float = &bits
		default:
			return nil, fmt.Errorf("attribute of type %T: %w", v, errValue)
		}
		w.Attributes[i] = a
	}
	return w, nil
}

func (w *wire) entry() (Entry, error) {
	e := Entry{From: w.From}
	var format translate.Format
	var agent string
	if o := w.Opening; o != nil {
		caller, err := o.Caller.context()
		if err != nil {
			return e, err
		}
		e.Opening = &Opening{Request: o.Request, Caller: caller, Format: o.Format, Agent: o.Agent}
		format, agent = o.Format, o.Agent
	}
	if len(w.Said) > 0 {
		e.Said = make([]voice.Said, len(w.Said))
	}
	for i := range w.Said {
		from, s := &w.Said[i], &e.Said[i]
		if from.Format != "" {
			format = from.Format
		}
		if from.Agent != "" {
			agent = from.Agent
		}
		*s = voice.Said{Format: format, Agent: agent, Derived: from.Derived}
		if len(from.Units) > 0 {
			s.Units = make([]translate.Decoded, len(from.Units))
		}
		for k := range from.Units {
			var err error
			if s.Units[k], err = from.Units[k].decoded(); err != nil {
				return e, err
			}
		}
	}
	return e, nil
}

func (u *unit) decoded() (translate.Decoded, error) {
	d := translate.Decoded{Record: u.Record, Diagnostic: u.Diagnostic}
	if (d.Record == nil) == (d.Diagnostic == nil) || u.Context != nil && d.Record == nil {
		return d, errUnit
	}
	if u.Context != nil {
		var err error
		d.Record.Context, err = u.Context.context()
		return d, err
	}
	return d, nil
}

func (c *context) context() (*translate.Context, error) {
	if c == nil {
		return nil, nil
	}
	out := &translate.Context{TraceID: c.TraceID, SpanID: c.SpanID}
	if c.Attributes != nil {
		out.Attributes = make([]translate.KeyValue, len(c.Attributes))
	}
	for i, a := range c.Attributes {
		kv := translate.KeyValue{Key: a.Key}
		switch {
		case a.String != nil:
			kv.Value = *a.String
		case a.Bool != nil:
			kv.Value = *a.Bool
		case a.Int != nil:
			kv.Value = *a.Int
		case a.Float != nil:
			kv.Value = math.Float64frombits(*a.Float)
		default:
			return nil, errValue
		}
		out.Attributes[i] = kv
	}
	return out, nil
}
