// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package decode has what decoders of all formats share: how a line becomes parts, and how names, texts,
// times and unknown values are kept. What a record means is each decoder's own.
package decode

import (
	"github.com/cespare/xxhash/v2"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
	"github.com/otelcol-agents/otelcol-agents/translate/redact"
)

// Options say what a decoder may keep. The zero Options keep no content at all.
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

// Base is embedded by decoders. It keeps no state from line to line except buffers and caches that
// change no result. It is not safe for concurrent use. Init makes it ready.
type Base struct {
	Opt Options
	// Scratch is for texts that are only looked up; any method of Base may overwrite it.
	Scratch []byte

	split  jsontok.Splitter
	object func(jsontok.Part)
	onPart func(jsontok.Part)
	out    []translate.Decoded
	parts  int // parts of the current line

	names   map[string]string   // raw name → what is kept of it
	keySets map[string][]string // joined names → sorted keys

	keyBuf   []byte // the keys that were added, each followed by a NUL
	keyCount int
}

// Init sets what a line is decoded with: object is called for every complete object; known tells
// records from blocks and other objects where a line is broken, nil takes none of them for one.
func (d *Base) Init(opt Options, object func(jsontok.Part), known func([]jsontok.Member) bool) {
	*d = Base{Opt: opt, object: object, names: map[string]string{}, keySets: map[string][]string{}}
	d.split.Known = known
	d.onPart = d.part
}

// Hash is what a record without an id is known by. It is the same in every process, since such hashes are stored.
func Hash(record []byte) uint64 { return xxhash.Sum64(record) }

// MaxParts bounds how many records one line may give; a line that has more gives one diagnostic for
// its rest. The shortest record has a dozen bytes, a Record several hundred: without a bound a line of
// the largest size would need gigabytes.
const MaxParts = 1 << 16

// MaxKept is how large a buffer may be to be kept from line to line.
const MaxKept = 1 << 16

// Line appends what line says to out and returns it. The line may end in LF or CR and begin with a
// byte order mark. Line never fails: what is no record becomes a diagnostic.
func (d *Base) Line(line []byte, out []translate.Decoded) []translate.Decoded {
	d.out, d.parts = out, 0
	d.split.Split(line, d.onPart)
	out, d.out = d.out, nil
	if cap(d.Scratch) > MaxKept {
		d.Scratch = nil
	}
	return out
}

// Object, Array and Len are those of v, faster for values of the current line.
func (d *Base) Object(v jsontok.Value) jsontok.Object { return d.split.Index().Object(v) }

// Array is described at Object.
func (d *Base) Array(v jsontok.Value) jsontok.Array { return d.split.Index().Array(v) }

// Len is described at Object.
func (d *Base) Len(v jsontok.Value) int { return d.split.Index().Len(v) }

// CompactLen is described at Object.
func (d *Base) CompactLen(v jsontok.Value) int { return d.split.Index().CompactLen(v) }

func (d *Base) part(p jsontok.Part) {
	if d.parts++; d.parts > MaxParts {
		d.overflow(p)
		return
	}
	switch p.Kind {
	case jsontok.PartText:
		d.diagnose(translate.SkipNotJSON, p.Bytes, nil)
	case jsontok.PartTorn:
		d.diagnose(translate.SkipTorn, p.Bytes, nil)
	case jsontok.PartValues:
		d.BadShape(p.Bytes, "")
	case jsontok.PartObject:
		d.object(p)
	}
}

// overflow adds p to the diagnostic for the rest of a line with too many parts.
func (d *Base) overflow(p jsontok.Part) {
	if d.parts == MaxParts+1 {
		u := translate.Unknown{Reason: translate.UnknownBadShape}
		d.diagnose(translate.SkipBadShape, nil, &u)
	}
	last := d.out[len(d.out)-1].Diagnostic
	last.Text.Bytes += len(p.Bytes)
	last.Unknown.Bytes += len(p.Bytes)
	last.Unknown.Raw.Bytes = last.Unknown.Bytes
}

// Record appends rec to what the line gave.
func (d *Base) Record(rec *translate.Record) {
	d.out = append(d.out, translate.Decoded{Record: rec})
}

// BadShape reports a value that is no record, or one in which a load-bearing field has a wrong type
// (telemetry contract, ruling 34). typ is its type, if it has one.
func (d *Base) BadShape(v []byte, typ string) {
	u := d.Unknown(translate.UnknownBadShape, typ, v)
	d.diagnose(translate.SkipBadShape, v, &u)
}

func (d *Base) diagnose(skip translate.Skip, text []byte, u *translate.Unknown) {
	d.out = append(d.out, translate.Decoded{Diagnostic: &translate.Diagnostic{
		Skip: skip, Text: d.RawText(text), Unknown: u, Hash: Hash(text),
	}})
}
