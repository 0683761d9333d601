// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
)

// Limits of what a caller may add to session roots, by a context line or by a request's baggage.
const (
	MaxAttributes     = 128
	MaxAttributeBytes = 4096 // of a value
)

// ContextType is the type of a caller's context line. It is no record of a session.
const ContextType = "agentstream.context"

// Context decodes a caller's context line from its two members.
func (d *Base) Context(parent, attributes jsontok.Value) *translate.Context {
	c := &translate.Context{}
	if s, ok := parent.Plain(); ok {
		c.TraceID, c.SpanID, _ = traceparent(string(s))
	}
	for o := attributes.Object(); o.Next() && len(c.Attributes) < MaxAttributes; {
		kv := translate.KeyValue{Key: Bound(d.Redact(jsontok.Valid(o.Name)), maxKey)}
		switch o.Value().Kind() {
		case jsontok.String:
			s, _ := o.Value().Text()
			kv.Value = Bound(d.Redact(s), MaxAttributeBytes)
		case jsontok.Bool:
			kv.Value = o.Value().True()
		case jsontok.Number:
			// 1.0 stays a double: the caller wrote it so.
			if n, ok := o.Value().Int(); ok && !bytes.ContainsAny(o.Value(), ".eE") {
				kv.Value = n
			} else if f, ok := o.Value().Float(); ok {
				kv.Value = f
			}
		}
		if kv.Key != "" && kv.Value != nil {
			c.Attributes = append(c.Attributes, kv)
		}
	}
	// Stable, and the last of equal keys wins, as everywhere.
	slices.SortStableFunc(c.Attributes, func(a, b translate.KeyValue) int { return strings.Compare(a.Key, b.Key) })
	slices.Reverse(c.Attributes)
	c.Attributes = slices.CompactFunc(c.Attributes, func(a, b translate.KeyValue) bool { return a.Key == b.Key })
	slices.Reverse(c.Attributes)
	return c
}

// traceparent parses a W3C trace context header. Later versions may append fields; version ff, upper
// case and ids of zeros are invalid.
func traceparent(s string) (trace [16]byte, span [8]byte, ok bool) {
	if len(s) < 55 || s[2] != '-' || s[35] != '-' || s[52] != '-' || s[:2] == "ff" || strings.ToLower(s) != s ||
		len(s) > 55 && (s[:2] == "00" || s[55] != '-') {
		return trace, span, false
	}
	var version, flags [1]byte
	for _, part := range []struct {
		dst []byte
		src string
	}{{version[:], s[:2]}, {trace[:], s[3:35]}, {span[:], s[36:52]}, {flags[:], s[53:55]}} {
		if _, err := hex.Decode(part.dst, []byte(part.src)); err != nil {
			return [16]byte{}, [8]byte{}, false
		}
	}
	if trace == [16]byte{} || span == [8]byte{} {
		return [16]byte{}, [8]byte{}, false
	}
	return trace, span, true
}
