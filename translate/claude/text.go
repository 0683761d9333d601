// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package claude

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"unicode/utf8"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
	"github.com/otelcol-agents/otelcol-agents/translate/redact"
)

// Limits of what is kept although nothing is captured, in bytes.
const (
	maxLabel = 128  // types, subtypes, statuses
	maxName  = 256  // models, tools, agents
	maxID    = 512  // ids
	maxPath  = 4096 // working directories; they leave only under capture identity
	maxKey   = 128  // keys of unknown objects
	maxKeys  = 64
)

// Limits of the caches; a stream that goes beyond them is only slower.
const (
	maxNames   = 1024
	maxKeySets = 256
)

// text is a text of the input: measured always, copied only if its kind is captured.
func (d *Decoder) text(v jsontok.Value, capture bool) translate.Text {
	if capture {
		s, _ := v.Text()
		return d.content(s)
	}
	return translate.Text{Bytes: v.Len()}
}

// content is a captured text. Redaction comes first: a secret that the limit cuts in two is none that
// a pattern would know.
func (d *Decoder) content(s string) translate.Text {
	if s == "" {
		return translate.Text{}
	}
	return d.cut(len(s), d.redact(s))
}

// cut is a redacted text of originally n bytes.
func (d *Decoder) cut(n int, s string) translate.Text {
	cut := false
	if d.opt.MaxContentBytes > 0 {
		s, cut = redact.Truncate(s, d.opt.MaxContentBytes)
	}
	return translate.Text{Bytes: n, Content: s, Cut: cut}
}

// rawText is a part of a line, for capture raw.
func (d *Decoder) rawText(b []byte) translate.Text {
	if !d.opt.Capture.Raw {
		return translate.Text{Bytes: len(b)}
	}
	t := d.content(jsontok.Valid(b))
	t.Bytes = len(b)
	return t
}

func (d *Decoder) redact(s string) string { return d.opt.Redactor.String(s) }

// name is a string that is no content but is exported as it is: valid, without secrets, bounded. Names
// repeat from row to row, so what becomes of one is remembered.
func (d *Decoder) name(v jsontok.Value, limit int) string {
	if v.Kind() != jsontok.String || len(v) == 2 {
		return ""
	}
	if len(v) > 4*limit {
		// Longer than any escaping of a name that is within the limit.
		d.scratch = v.Head(d.scratch[:0], 4*limit)
		return bound(d.redact(string(d.scratch)), limit)
	}
	s, ok := d.names[string(v)]
	if !ok {
		s, _ = v.Text()
		s = d.redact(s)
		d.remember(string(v), s)
	}
	return bound(s, limit)
}

func (d *Decoder) remember(key, s string) {
	if len(d.names) >= maxNames {
		clear(d.names)
	}
	d.names[key] = s
}

// label is a name that must look like an identifier to be kept: what else stands in its place may be
// anything, and types of records leave although nothing is captured.
func (d *Decoder) label(v jsontok.Value) string {
	s := d.name(v, maxLabel)
	if !isLabel(s) {
		return ""
	}
	return s
}

func isLabel(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '_', c == '.', c == ':', c == '/', c == '-':
		default:
			return false
		}
	}
	return true
}

// id is an id. Ids that differ must stay different, whatever is wrong with them: what is too long or
// would be redacted is replaced by a digest.
func (d *Decoder) id(v jsontok.Value) string {
	s, ok := v.Text()
	if !ok {
		return ""
	}
	if len(s) <= maxID && d.redact(s) == s {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(sum[:16])
}

// sharedID is an id that stands in many rows.
func (d *Decoder) sharedID(v jsontok.Value) string {
	if len(v) <= 2 || len(v) > maxID {
		return d.id(v)
	}
	// Ids and names share the cache: the key says which it is, a name's begins with a quote.
	d.scratch = append(append(d.scratch[:0], 'i'), v...)
	if s, ok := d.names[string(d.scratch)]; ok {
		return s
	}
	s := d.id(v)
	d.remember(string(d.scratch), s)
	return s
}

// bound cuts s to limit bytes on a character boundary.
func bound(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// unknown reports v, a block or some other value, as not mapped.
func (d *Decoder) unknown(reason translate.UnknownReason, typ string, v jsontok.Value) translate.Unknown {
	return translate.Unknown{Reason: reason, Type: typ, Bytes: len(v), Keys: d.keys(v), Raw: d.rawJSON(v)}
}

// unknownRecord reports a whole record as not mapped.
func (d *Decoder) unknownRecord(reason translate.UnknownReason, r *row, typ string) translate.Unknown {
	return d.unknown(reason, typ, r.part.Bytes)
}

// unknownBlock reports the block that was read last.
func (d *Decoder) unknownBlock(reason translate.UnknownReason, p *parts) translate.Unknown {
	return translate.Unknown{
		Reason: reason, Type: d.label(p.typ), Bytes: len(p.raw), Keys: d.collectedKeys(), Raw: d.rawJSON(p.raw),
	}
}

// keys are the sorted keys of an object.
func (d *Decoder) keys(v jsontok.Value) []string {
	d.keyBuf, d.keyCount = d.keyBuf[:0], 0
	for o := v.Object(); o.Next(); {
		d.addKey(o.Name)
	}
	return d.collectedKeys()
}

func (d *Decoder) addKey(name []byte) {
	if d.keyCount++; d.keyCount > maxKeys {
		return
	}
	d.keyBuf = append(d.keyBuf, name[:min(len(name), maxKey)]...)
	d.keyBuf = append(d.keyBuf, 0)
}

// collectedKeys are the keys that were added, sorted. Rows of one kind have the same keys, so the lists
// are shared: they must not be changed.
func (d *Decoder) collectedKeys() []string {
	if len(d.keyBuf) == 0 {
		return nil
	}
	if keys, ok := d.keySets[string(d.keyBuf)]; ok {
		return keys
	}
	keys := make([]string, 0, min(d.keyCount, maxKeys))
	for name := range bytes.SplitSeq(d.keyBuf[:len(d.keyBuf)-1], []byte{0}) {
		keys = append(keys, d.redact(jsontok.Valid(name)))
	}
	slices.Sort(keys)
	keys = slices.Clip(slices.Compact(keys))
	if len(d.keySets) >= maxKeySets {
		clear(d.keySets)
	}
	d.keySets[string(d.keyBuf)] = keys
	return keys
}

// rawJSON is a value for capture raw.
func (d *Decoder) rawJSON(v jsontok.Value) translate.Text {
	return d.json(v, len(v), d.opt.Capture.Raw)
}

// json is a value that leaves as JSON text; size is what is reported as its size.
func (d *Decoder) json(v jsontok.Value, size int, capture bool) translate.Text {
	if !capture {
		return translate.Text{Bytes: size}
	}
	return d.cut(size, jsontok.Valid(d.opt.Redactor.JSON(v.AppendCompact(nil))))
}
