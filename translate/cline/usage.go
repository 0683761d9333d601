// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package cline

import (
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
)

// usage reads the usage of one call; nil when no count is in it. Cline's input includes what was read
// from the cache and written to it.
func usage(o object) *translate.Usage {
	u := &translate.Usage{
		Input:      decode.Count(o.get("inputTokens")),
		CacheRead:  decode.Count(o.get("cacheReadTokens")),
		CacheWrite: decode.Count(o.get("cacheWriteTokens")),
		Output:     decode.Count(o.get("outputTokens")),
	}
	if !u.Input.OK && !u.CacheRead.OK && !u.CacheWrite.OK && !u.Output.OK {
		return nil
	}
	if u.Input.OK {
		u.Input.V = max(0, u.Input.V-u.CacheRead.V) // apart: both differences at once may overflow
		u.Input.V = max(0, u.Input.V-u.CacheWrite.V)
	}
	return u
}

// counts are the numbers of a usage as they are written, to know an agent by.
func (d *Decoder) counts(o object, prefix string) translate.Tokens {
	n := func(name string) int64 {
		if prefix != "" {
			name = prefix + string(name[0]-'a'+'A') + name[1:]
		}
		return decode.Count(o.get(name)).V
	}
	return translate.Tokens{
		Input: n("inputTokens"), CacheRead: n("cacheReadTokens"), CacheWrite: n("cacheWriteTokens"), Output: n("outputTokens"),
	}
}

// amount is a cost; a negative one was not reported.
func amount(v jsontok.Value) translate.Opt[float64] {
	f, ok := v.Float()
	if !ok || f < 0 {
		return translate.Opt[float64]{}
	}
	return translate.Some(f)
}
