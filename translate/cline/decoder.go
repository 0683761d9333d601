// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package cline decodes what Cline prints with --json: the records of Cline 3.x and the say/ask stream of
// the versions before. It says what a record is, never what follows from it: whose record it is, which
// response it belongs to, pairing and counting are the session's.
package cline

import (
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
)

// Decoder turns lines into records, those of 3.x and those before alike: which of them a source has is
// its format's name, not its meaning. It keeps no state from line to line except buffers and caches that
// change no result. It is not safe for concurrent use.
type Decoder struct {
	decode.Base
	event   object // of the record that is decoded: its inner event
	wrapped object // and, in a team's record, the event within that
	input   object // of the call that was read last
	item    object // of a batch
	nested  jsontok.Splitter
}

// NewDecoder returns a decoder of Cline's streams.
func NewDecoder(opt decode.Options) *Decoder {
	d := &Decoder{}
	d.Init(opt, d.object, knownRecord)
	return d
}

// Decode appends what line says to out and returns it. The line may end in LF or CR and begin with a
// byte order mark. Decode never fails: what is no record becomes a diagnostic.
func (d *Decoder) Decode(line []byte, out []translate.Decoded) []translate.Decoded {
	out = d.Line(line, out)
	for _, o := range []*object{&d.event, &d.wrapped, &d.input, &d.item} {
		o.clear()
	}
	return out
}

// row is one record while it is decoded.
type row struct {
	object
	raw jsontok.Value
}

// object decodes one complete object.
func (d *Decoder) object(p jsontok.Part) {
	r := row{object: p.Members, raw: p.Bytes}
	typ := r.get("type")
	if typ.Kind() != jsontok.String {
		d.BadShape(p.Bytes, "")
		return
	}
	d.Scratch = typ.AppendText(d.Scratch[:0])
	rule, known := records[string(d.Scratch)]
	rec := &translate.Record{Hash: decode.Hash(p.Bytes), Type: d.Label(typ)}
	d.envelope(&r, rec)
	if known {
		rule(d, &r, rec)
	} else {
		rec.UnknownType = true
		d.unmapped(&r, rec)
	}
	d.Record(rec)
}

// envelope fills what every record may have. taskId names the conversation in memory, never the session.
func (d *Decoder) envelope(r *row, rec *translate.Record) {
	for _, key := range []string{"sessionId", "session_id", "id"} {
		if v := r.get(key); decode.IsID(v) {
			rec.Session = d.SharedID(v)
			break
		}
	}
	if v := r.get("ts"); !v.Missing() {
		t, ok := d.Time(v)
		rec.Time, rec.InvalidTime = t, !ok
	}
}

// rule decodes one type of record.
type rule func(*Decoder, *row, *translate.Record)

// records has the rule of every known type. Those of unmapped have no event of their own: they are
// reported as unknown, so that nothing of the stream is lost.
var records = map[string]rule{
	"hook_event":          (*Decoder).hook,
	"agent_event":         (*Decoder).agentEvent,
	"team_event":          (*Decoder).teamEvent,
	"run_start":           (*Decoder).runStart,
	"run_result":          (*Decoder).runResult,
	"run_aborted":         (*Decoder).aborted,
	"run_abort_requested": (*Decoder).aborted,
	"team_restored":       (*Decoder).unmapped,
	"zen_dispatched":      (*Decoder).unmapped,
	"error":               (*Decoder).failure,
	"zen_error":           (*Decoder).failure,
	"say":                 (*Decoder).legacy,
	"ask":                 (*Decoder).legacy,
	"task_started":        (*Decoder).unmapped,
	decode.ContextType:    (*Decoder).context,
}

// knownRecord tells records from other objects when a line is broken.
func knownRecord(members []jsontok.Member) bool {
	s, ok := object(members).get("type").Plain()
	if !ok {
		return false
	}
	_, known := records[string(s)]
	return known
}

func (d *Decoder) context(r *row, rec *translate.Record) {
	rec.Context = d.Context(r.get("traceparent"), r.get("attributes"))
}

// unmapped reports a whole record as one that no event stands for.
func (d *Decoder) unmapped(r *row, rec *translate.Record) {
	rec.Unknowns = append(rec.Unknowns, d.Unknown(translate.UnknownRecordType, rec.Type, r.raw))
}

// failure decodes the records that Cline writes to standard error.
func (d *Decoder) failure(r *row, rec *translate.Record) {
	rec.Failure = &translate.Failure{Text: d.Text(errorMessage(r.object), d.Opt.Capture.Responses)}
}

// errorMessage is the text of an error, wherever it stands.
func errorMessage(o object) jsontok.Value {
	err := o.get("error")
	for e := err.Object(); e.Next(); {
		if string(e.Name) == "message" && e.Kind() == jsontok.String {
			return e.Value()
		}
	}
	for _, v := range []jsontok.Value{o.get("message"), err} {
		if v.Kind() == jsontok.String {
			return v
		}
	}
	return nil
}
