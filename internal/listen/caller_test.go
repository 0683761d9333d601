// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package listen

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
)

func TestCaller(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	trace := [16]byte{0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6, 0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36}
	span := [8]byte{0, 0xf0, 0x67, 0xaa, 0x0b, 0xa9, 0x02, 0xb7}
	linked := &translate.Context{TraceID: trace, SpanID: span}
	attributes := func(kv ...string) *translate.Context {
		c := &translate.Context{}
		for i := 0; i < len(kv); i += 2 {
			c.Attributes = append(c.Attributes, translate.KeyValue{Key: kv[i], Value: kv[i+1]})
		}
		return c
	}
	many := make([]string, 70)
	for i := range many {
		many[i] = fmt.Sprintf("k%d=v", i)
	}
	for name, tc := range map[string]struct {
		parent  string
		baggage []string
		members []string
		want    *translate.Context
	}{
		"nothing":                {},
		"traceparent":            {parent: parent, want: linked},
		"not sampled":            {parent: parent[:53] + "00", want: linked},
		"later version":          {parent: "cc" + parent[2:] + "-more", want: linked},
		"version ff":             {parent: "ff" + parent[2:]},
		"version 00 with more":   {parent: parent + "-more"},
		"upper case":             {parent: strings.ToUpper(parent)},
		"too short":              {parent: parent[:54]},
		"no hex":                 {parent: "00-4bf92f3577b34da6a3ce929d0e0e473x" + parent[35:]},
		"zero trace":             {parent: "00-00000000000000000000000000000000" + parent[35:]},
		"zero span":              {parent: parent[:36] + "0000000000000000-01"},
		"member":                 {baggage: []string{"k=v"}, members: []string{"k"}, want: attributes("k", "v")},
		"member not listed":      {baggage: []string{"k=v"}},
		"listed, not there":      {baggage: []string{"k=v"}, members: []string{"j", ""}},
		"sorted and once":        {baggage: []string{"b=1,a=2"}, members: []string{"b", "a", "b"}, want: attributes("a", "2", "b", "1")},
		"percent-decoded":        {baggage: []string{"k=a%20%C3%A4%2C%3D"}, members: []string{"k"}, want: attributes("k", "a ä,=")},
		"broken percent":         {baggage: []string{"k=%zz,j=1"}, members: []string{"k", "j"}, want: attributes("j", "1")},
		"not UTF-8":              {baggage: []string{"k=a%FFb"}, members: []string{"k"}, want: attributes("k", "a\uFFFDb")},
		"properties are dropped": {baggage: []string{"k = v ; ttl=1"}, members: []string{"k"}, want: attributes("k", "v")},
		"several headers":        {baggage: []string{"a=1", "b=2"}, members: []string{"a", "b"}, want: attributes("a", "1", "b", "2")},
		"last one wins":          {baggage: []string{"a=1,a=2"}, members: []string{"a"}, want: attributes("a", "2")},
		"too long a header":      {baggage: []string{"k=" + strings.Repeat("v", 8192)}, members: []string{"k"}},
		"too many members":       {baggage: []string{strings.Join(many, ",")}, members: []string{"k0", "k69"}, want: attributes("k0", "v")},
		"redacted":               {baggage: []string{"k=secret"}, members: []string{"k"}, want: attributes("k", "***")},
		"both": {
			parent: parent, baggage: []string{"k=v"}, members: []string{"k"},
			want: &translate.Context{TraceID: trace, SpanID: span, Attributes: attributes("k", "v").Attributes},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := http.Header{}
			if tc.parent != "" {
				h.Set("traceparent", tc.parent)
			}
			for _, b := range tc.baggage {
				h.Add("baggage", b)
			}
			got := caller(h, tc.members, func(s string) string { return strings.ReplaceAll(s, "secret", "***") })
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestBound(t *testing.T) {
	assert.Equal(t, "ä", bound("ä"))
	cut := bound("a" + strings.Repeat("ä", decode.MaxAttributeBytes))
	assert.Len(t, cut, decode.MaxAttributeBytes-1)
	assert.True(t, utf8.ValidString(cut))
}

// FuzzCaller feeds headers of any kind.
func FuzzCaller(f *testing.F) {
	f.Add("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "k=v;p,team=%41")
	f.Fuzz(func(t *testing.T, parent, bag string) {
		c := caller(http.Header{"Traceparent": {parent}, "Baggage": {bag}}, []string{"k", "team"}, func(s string) string { return s + s })
		if c == nil {
			return
		}
		for _, kv := range c.Attributes {
			if v := kv.Value.(string); len(v) > decode.MaxAttributeBytes || !utf8.ValidString(v) {
				t.Errorf("attribute %s has a bad value", kv.Key)
			}
		}
	})
}
