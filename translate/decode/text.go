// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package decode

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
	MaxLabel = 128  // types, subtypes, statuses
	MaxName  = 256  // models, tools, agents
	MaxID    = 512  // ids; of longer ones a digest is kept
	MaxPath  = 4096 // working directories; they leave only under capture identity
	maxKey   = 128  // keys of unknown objects
	maxKeys  = 64
)

// Limits of the caches; a stream that goes beyond them is only slower.
const (
	maxNames   = 1024
	maxKeySets = 256
)

// Text is a text of the input: measured always, copied only if its kind is captured.
func (d *Base) Text(v jsontok.Value, capture bool) translate.Text {
	if capture {
		s, _ := v.Text()
		return d.Content(s)
	}
	return translate.Text{Bytes: d.Len(v)}
}

// Content is a captured text. Redaction comes first: a secret that the limit cuts in two is none that
// a pattern would know.
func (d *Base) Content(s string) translate.Text {
	if s == "" {
		return translate.Text{}
	}
	return d.Cut(len(s), d.Redact(s))
}

// Cut is a redacted text of originally n bytes.
func (d *Base) Cut(n int, s string) translate.Text {
	cut := false
	if d.Opt.MaxContentBytes > 0 {
		s, cut = redact.Truncate(s, d.Opt.MaxContentBytes)
	}
	return translate.Text{Bytes: n, Content: s, Cut: cut}
}

// RawText is a part of a line, for capture raw.
func (d *Base) RawText(b []byte) translate.Text {
	if !d.Opt.Capture.Raw {
		return translate.Text{Bytes: len(b)}
	}
	t := d.Content(jsontok.Valid(b))
	t.Bytes = len(b)
	return t
}

// Redact removes secrets and binary data from s.
func (d *Base) Redact(s string) string { return d.Opt.Redactor.String(s) }

// Name is a string that is no content but is exported as it is: valid, without secrets, bounded. Names
// repeat from row to row, so what becomes of one is remembered.
func (d *Base) Name(v jsontok.Value, limit int) string {
	if v.Kind() != jsontok.String || len(v) == 2 {
		return ""
	}
	if len(v) > 4*limit {
		// Longer than any escaping of a name that is within the limit.
		d.Scratch = v.Head(d.Scratch[:0], 4*limit)
		return Bound(d.Redact(string(d.Scratch)), limit)
	}
	s, ok := d.names[string(v)]
	if !ok {
		s, _ = v.Text()
		s = d.Redact(s)
		d.remember(string(v), s)
	}
	return Bound(s, limit)
}

func (d *Base) remember(key, s string) {
	if len(d.names) >= maxNames {
		clear(d.names)
	}
	d.names[key] = s
}

// Label is a name that must look like an identifier to be kept: what else stands in its place may be
// anything, and types of records leave although nothing is captured.
func (d *Base) Label(v jsontok.Value) string {
	s := d.Name(v, MaxLabel)
	if !IsLabel(s) {
		return ""
	}
	return s
}

// IsLabel reports whether s looks like an identifier, so that it may leave although nothing is captured.
func IsLabel(s string) bool {
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

// ID is an id. Ids that differ must stay different, whatever is wrong with them: what is too long or
// would be redacted is replaced by a digest.
func (d *Base) ID(v jsontok.Value) string {
	s, ok := v.Text()
	if !ok {
		return ""
	}
	return d.IDText(s)
}

// IDText is an id that is given as text.
func (d *Base) IDText(s string) string {
	if len(s) <= MaxID && d.Redact(s) == s {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(sum[:16])
}

// SharedID is an id that stands in many rows.
func (d *Base) SharedID(v jsontok.Value) string {
	if len(v) <= 2 || len(v) > MaxID {
		return d.ID(v)
	}
	// Ids and names share the cache: the key says which it is, a name's begins with a quote.
	d.Scratch = append(append(d.Scratch[:0], 'i'), v...)
	if s, ok := d.names[string(d.Scratch)]; ok {
		return s
	}
	s := d.ID(v)
	d.remember(string(d.Scratch), s)
	return s
}

// Bound cuts s to limit bytes on a character boundary.
func Bound(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// Unknown reports v, a block or some other value, as not mapped.
func (d *Base) Unknown(reason translate.UnknownReason, typ string, v jsontok.Value) translate.Unknown {
	return translate.Unknown{Reason: reason, Type: typ, Bytes: len(v), Keys: d.Keys(v), Raw: d.RawJSON(v)}
}

// Keys are the sorted keys of an object.
func (d *Base) Keys(v jsontok.Value) []string {
	d.keyBuf, d.keyCount = d.keyBuf[:0], 0
	for o := d.Object(v); o.Next(); {
		d.AddKey(o.Name)
	}
	return d.CollectedKeys()
}

// ResetKeys begins a new list of keys.
func (d *Base) ResetKeys() { d.keyBuf, d.keyCount = d.keyBuf[:0], 0 }

// AddKey adds a key to the list that CollectedKeys gives.
func (d *Base) AddKey(name []byte) {
	if d.keyCount++; d.keyCount > maxKeys {
		return
	}
	d.keyBuf = append(d.keyBuf, name[:min(len(name), maxKey)]...)
	d.keyBuf = append(d.keyBuf, 0)
}

// CollectedKeys are the keys that were added, sorted. Rows of one kind have the same keys, so the lists
// are shared: they must not be changed.
func (d *Base) CollectedKeys() []string {
	if len(d.keyBuf) == 0 {
		return nil
	}
	if keys, ok := d.keySets[string(d.keyBuf)]; ok {
		return keys
	}
	keys := make([]string, 0, min(d.keyCount, maxKeys))
	for name := range bytes.SplitSeq(d.keyBuf[:len(d.keyBuf)-1], []byte{0}) {
		keys = append(keys, d.Redact(jsontok.Valid(name)))
	}
	slices.Sort(keys)
	keys = slices.Clip(slices.Compact(keys))
	if len(d.keySets) >= maxKeySets {
		clear(d.keySets)
	}
	d.keySets[string(d.keyBuf)] = keys
	return keys
}

// RawJSON is a value for capture raw.
func (d *Base) RawJSON(v jsontok.Value) translate.Text {
	return d.JSON(v, len(v), d.Opt.Capture.Raw)
}

// JSON is a value that leaves as JSON text; size is what is reported as its size.
func (d *Base) JSON(v jsontok.Value, size int, capture bool) translate.Text {
	if !capture {
		return translate.Text{Bytes: size}
	}
	return d.Cut(size, jsontok.Valid(d.Opt.Redactor.JSON(v.AppendCompact(nil))))
}
