// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package claude decodes what Claude Code prints with --output-format stream-json, and the transcripts
// that it keeps: one JSON object per line. It says what a record is, never what follows from it: pairing,
// nesting and counting are the session's.
package claude

import (
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
)

// Options say what a Decoder may keep. The zero Options keep no content at all.
type Options = decode.Options

// Decoder turns lines into records. It keeps no state from line to line except buffers and caches that
// change no result. It is not safe for concurrent use.
type Decoder struct {
	decode.Base
	records    map[string]rule
	transcript bool // rows are those of a transcript
	row        row

	args  args // of the block that was read last
	texts []jsontok.Value
	media bool // of the texts: an image or a document stood beside them
}

// NewDecoder returns a decoder of Claude Code's streams.
func NewDecoder(opt Options) *Decoder { return newDecoder(opt, records, knownIn(records)) }

// NewGenericDecoder returns a decoder of sources that no decoder knows: each JSON object with a type is
// an unknown record, text is a diagnostic, and only context lines are understood.
func NewGenericDecoder(opt Options) *Decoder { return newDecoder(opt, genericRecords, nil) }

func newDecoder(opt Options, records map[string]rule, known func([]jsontok.Member) bool) *Decoder {
	d := &Decoder{records: records}
	d.Init(opt, d.object, known)
	return d
}

// Decode appends what line says to out and returns it. The line may end in LF or CR and begin with a
// byte order mark. Decode never fails: what is no record becomes a diagnostic.
func (d *Decoder) Decode(line []byte, out []translate.Decoded) []translate.Decoded {
	out = d.Line(line, out)
	d.args, d.media = args{}, false
	clear(d.texts[:cap(d.texts)])
	if cap(d.texts) > decode.MaxKept {
		d.texts = nil
	}
	return out
}

// object decodes one complete object.
func (d *Decoder) object(p jsontok.Part) {
	r := &d.row
	r.read(p)
	defer r.clear()
	if r.fields[fType].Kind() != jsontok.String {
		d.badShape(r)
		return
	}
	d.Scratch = r.fields[fType].AppendText(d.Scratch[:0])
	rule, known := d.records[string(d.Scratch)]
	rec := &translate.Record{}
	d.envelope(r, rec)
	if rec.UUID == "" {
		rec.Hash = decode.Hash(p.Bytes)
	}
	if !known {
		rec.UnknownType = true
		rec.Unknowns = append(rec.Unknowns, d.unknownRecord(translate.UnknownRecordType, r, rec.Type))
	} else if !rule(d, r, rec) {
		d.badShape(r)
		return
	}
	d.Record(rec)
}

// rule decodes one type of record. It returns false where it finds a load-bearing field of the wrong
// type (telemetry contract, ruling 34).
type rule func(*Decoder, *row, *translate.Record) bool

// records has the rule of every known type.
var records = map[string]rule{
	"assistant":          (*Decoder).assistant,
	"user":               (*Decoder).user,
	"system":             (*Decoder).system,
	"result":             (*Decoder).result,
	"stream_event":       (*Decoder).streamEvent,
	"rate_limit_event":   (*Decoder).rateLimit,
	"conversation_reset": (*Decoder).reset,
	decode.ContextType:   (*Decoder).context,
}

var genericRecords = map[string]rule{decode.ContextType: (*Decoder).context, SidecarType: (*Decoder).sidecar}

// knownIn tells records from blocks and other objects when a line is broken.
func knownIn(records map[string]rule) func([]jsontok.Member) bool {
	return func(members []jsontok.Member) bool {
		for _, m := range members {
			if string(m.Name) == "type" {
				s, ok := m.Value.Plain()
				_, known := records[string(s)]
				return ok && known
			}
		}
		return false
	}
}

func (d *Decoder) badShape(r *row) { d.BadShape(r.part.Bytes, d.Label(r.fields[fType])) }

// context decodes a caller's context line.
func (d *Decoder) context(r *row, rec *translate.Record) bool {
	rec.Context = d.Context(r.fields[fTraceparent], r.fields[fAttributes])
	return true
}

// unknownRecord reports a whole record as not mapped.
func (d *Decoder) unknownRecord(reason translate.UnknownReason, r *row, typ string) translate.Unknown {
	return d.Unknown(reason, typ, r.part.Bytes)
}

// unknownBlock reports the block that was read last.
func (d *Decoder) unknownBlock(reason translate.UnknownReason, p *parts) translate.Unknown {
	return translate.Unknown{
		Reason: reason, Type: d.Label(p.typ), Bytes: len(p.raw), Keys: d.CollectedKeys(), Raw: d.RawJSON(p.raw),
	}
}
