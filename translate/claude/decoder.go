// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package claude decodes what Claude Code prints with --output-format stream-json: one JSON object per
// line. It says what a record is, never what follows from it: pairing, nesting and counting are the
// session's.
package claude

import (
	"hash/maphash"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
	"github.com/otelcol-agents/otelcol-agents/translate/redact"
)

// Options say what a Decoder may keep. The zero Options keep no content at all.
type Options struct {
	Capture translate.Capture
	// MaxContentBytes is the limit of each captured text; 0 is no limit.
	MaxContentBytes int
	// Redactor is applied to every captured text and to every name. nil removes no secrets, only binary
	// data.
	Redactor *redact.Redactor
	// MaxTime is the latest time, in Unix nanoseconds, that a record may have; 0 is no limit. A decoder
	// has no clock: its caller knows what "now" is.
	MaxTime int64
}

// Decoder turns lines into records. It keeps no state from line to line except buffers and caches that
// change no result. It is not safe for concurrent use.
type Decoder struct {
	opt     Options
	records map[string]rule
	split   jsontok.Splitter
	row     row
	out     []translate.Decoded
	parts   int // parts of the current line

	names   map[string]string   // raw name → what is kept of it
	keySets map[string][]string // joined names → sorted keys
	scratch []byte

	// Of the block that was read last.
	keyBuf   []byte // its keys, each followed by a NUL
	keyCount int
	args     args

	texts  []jsontok.Value
	onPart func(jsontok.Part)
}

// NewDecoder returns a decoder of Claude Code's streams.
func NewDecoder(opt Options) *Decoder {
	d := newDecoder(opt, records)
	d.split.Known = knownRecord
	return d
}

// NewGenericDecoder returns a decoder of sources that no decoder knows: each JSON object with a type is
// an unknown record, text is a diagnostic, and only context lines are understood.
func NewGenericDecoder(opt Options) *Decoder {
	return newDecoder(opt, genericRecords)
}

func newDecoder(opt Options, records map[string]rule) *Decoder {
	d := &Decoder{opt: opt, records: records, names: map[string]string{}, keySets: map[string][]string{}}
	d.onPart = d.part
	return d
}

// hashSeed makes hashes of records comparable within this process; they never leave it.
var hashSeed = maphash.MakeSeed()

// maxParts bounds how many records one line may give; a line that has more gives one diagnostic for
// its rest. The shortest record has a dozen bytes, a Record several hundred: without a bound a line of
// the largest size would need gigabytes.
const maxParts = 1 << 16

// Decode appends what line says to out and returns it. The line may end in LF or CR and begin with a
// byte order mark. Decode never fails: what is no record becomes a diagnostic.
func (d *Decoder) Decode(line []byte, out []translate.Decoded) []translate.Decoded {
	d.out, d.parts = out, 0
	d.split.Split(line, d.onPart)
	out, d.out = d.out, nil
	d.args = args{}
	clear(d.texts[:cap(d.texts)])
	if cap(d.texts) > maxKept {
		d.texts = nil
	}
	if cap(d.scratch) > maxKept {
		d.scratch = nil
	}
	return out
}

// maxKept is how large a buffer may be to be kept from line to line.
const maxKept = 1 << 16

func (d *Decoder) part(p jsontok.Part) {
	if d.parts++; d.parts > maxParts {
		d.overflow(p)
		return
	}
	switch p.Kind {
	case jsontok.PartText:
		d.diagnose(translate.SkipNotJSON, p.Bytes, nil)
	case jsontok.PartTorn:
		d.diagnose(translate.SkipTorn, p.Bytes, nil)
	case jsontok.PartValues:
		u := d.unknown(translate.UnknownBadShape, "", p.Bytes)
		d.diagnose(translate.SkipBadShape, p.Bytes, &u)
	case jsontok.PartObject:
		d.object(p)
	}
}

// overflow adds p to the diagnostic for the rest of a line with too many parts.
func (d *Decoder) overflow(p jsontok.Part) {
	if d.parts == maxParts+1 {
		u := translate.Unknown{Reason: translate.UnknownBadShape}
		d.diagnose(translate.SkipBadShape, nil, &u)
	}
	last := d.out[len(d.out)-1].Diagnostic
	last.Text.Bytes += len(p.Bytes)
	last.Unknown.Bytes += len(p.Bytes)
	last.Unknown.Raw.Bytes = last.Unknown.Bytes
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
	d.scratch = r.fields[fType].AppendText(d.scratch[:0])
	rule, known := d.records[string(d.scratch)]
	rec := &translate.Record{}
	d.envelope(r, rec)
	if rec.UUID == "" {
		rec.Hash = maphash.Bytes(hashSeed, p.Bytes)
	}
	if !known {
		rec.UnknownType = true
		rec.Unknowns = append(rec.Unknowns, d.unknownRecord(translate.UnknownRecordType, r, rec.Type))
	} else if !rule(d, r, rec) {
		d.badShape(r)
		return
	}
	d.out = append(d.out, translate.Decoded{Record: rec})
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
	contextType:          (*Decoder).context,
}

var genericRecords = map[string]rule{contextType: (*Decoder).context}

const contextType = "agentstream.context"

// knownRecord tells records from blocks and other objects when a line is broken.
func knownRecord(members []jsontok.Member) bool {
	for _, m := range members {
		if string(m.Name) == "type" {
			s, ok := m.Value.Plain()
			_, known := records[string(s)]
			return ok && known
		}
	}
	return false
}

func (d *Decoder) badShape(r *row) {
	u := d.unknownRecord(translate.UnknownBadShape, r, d.label(r.fields[fType]))
	d.diagnose(translate.SkipBadShape, r.part.Bytes, &u)
}

func (d *Decoder) diagnose(skip translate.Skip, text []byte, u *translate.Unknown) {
	d.out = append(d.out, translate.Decoded{Diagnostic: &translate.Diagnostic{Skip: skip, Text: d.rawText(text), Unknown: u}})
}
