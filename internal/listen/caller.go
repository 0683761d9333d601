// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package listen

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
)

// caller is what the headers of a request tell of who sends it: the span in traceparent and the listed
// members of baggage, within the limits of a context line. The header as a whole is bounded by its parser:
// 64 members, 8192 bytes. Invalid parts count as missing; nil when nothing is left.
func caller(header http.Header, members []string, redact func(string) string) *translate.Context {
	c := &translate.Context{}
	// Not the request's context: there the span of this server is.
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(header))
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		c.TraceID, c.SpanID = span.TraceID(), span.SpanID()
	}
	if len(members) > 0 {
		// What is wrong with single members does not take the others away.
		bag, _ := baggage.Parse(strings.Join(header.Values("baggage"), ","))
		for _, name := range slices.Compact(slices.Sorted(slices.Values(members))) {
			if bag.Member(name).Key() != name || name == "" || len(c.Attributes) == decode.MaxAttributes {
				continue
			}
			c.Attributes = append(c.Attributes, translate.KeyValue{Key: name, Value: bound(redact(bag.Member(name).Value()))})
		}
	}
	if c.TraceID == [16]byte{} && len(c.Attributes) == 0 {
		return nil
	}
	return c
}

// bound cuts an attribute to its limit; unlike a line's strings, a header's need not be UTF-8.
func bound(s string) string {
	return strings.ToValidUTF8(decode.Bound(s, decode.MaxAttributeBytes), "")
}
