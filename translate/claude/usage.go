// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package claude

import (
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
)

// usage reads a usage object of the Messages API; nil when no count is in it.
func (d *Decoder) usage(v jsontok.Value) *translate.Usage {
	if v.Kind() != jsontok.ObjectKind {
		return nil
	}
	u := &translate.Usage{}
	if !d.fillUsage(v, u, true) {
		return nil
	}
	return u
}

func (d *Decoder) fillUsage(v jsontok.Value, u *translate.Usage, iterations bool) bool {
	for o := v.Object(); o.Next(); {
		switch string(o.Name) {
		case "input_tokens":
			u.Input = decode.Count(o.Value())
		case "output_tokens":
			u.Output = decode.Count(o.Value())
		case "cache_read_input_tokens":
			u.CacheRead = decode.Count(o.Value())
		case "cache_creation_input_tokens":
			u.CacheWrite = decode.Count(o.Value())
		case "cache_creation":
			for c := o.Object(); c.Next(); {
				switch string(c.Name) {
				case "ephemeral_5m_input_tokens":
					u.CacheWrite5m = decode.Count(c.Value())
				case "ephemeral_1h_input_tokens":
					u.CacheWrite1h = decode.Count(c.Value())
				}
			}
		case "output_tokens_details":
			for c := o.Object(); c.Next(); {
				if string(c.Name) == "thinking_tokens" {
					u.Reasoning = decode.Count(c.Value())
				}
			}
		case "server_tool_use":
			for c := o.Object(); c.Next(); {
				if string(c.Name) == "web_search_requests" {
					u.WebSearches = decode.Count(c.Value())
				}
			}
		case "speed":
			u.Speed = d.Label(o.Value())
		case "iterations":
			if iterations {
				u.Iterations = d.iterations(o.Value())
			}
		}
	}
	return reported(u)
}

// iterations are the calls to other models. Those without a model are the response's own and already
// in its aggregate, so they say nothing.
func (d *Decoder) iterations(v jsontok.Value) []translate.Iteration {
	var all []translate.Iteration
	for a := v.Array(); a.Next(); {
		var it translate.Iteration
		for o := a.Object(); o.Next(); {
			switch string(o.Name) {
			case "type":
				it.Type = d.Label(o.Value())
			case "model":
				it.Model = d.Name(o.Value(), decode.MaxName)
			}
		}
		if it.Model != "" && d.fillUsage(a.Value(), &it.Usage, false) {
			all = append(all, it)
		}
	}
	return all
}

func reported(u *translate.Usage) bool {
	return u.Input.OK || u.Output.OK || u.CacheRead.OK || u.CacheWrite.OK || u.CacheWrite5m.OK || u.CacheWrite1h.OK ||
		u.Reasoning.OK || u.WebSearches.OK || len(u.Iterations) > 0
}

// modelUsage reads the running totals of the process, in input order.
func (d *Decoder) modelUsage(v jsontok.Value) []translate.ModelUsage {
	if v.Kind() != jsontok.ObjectKind {
		return nil
	}
	all := []translate.ModelUsage{}
	for o := v.Object(); o.Next(); {
		if o.Value().Kind() != jsontok.ObjectKind {
			continue
		}
		m := translate.ModelUsage{Model: decode.Bound(d.Redact(jsontok.Valid(o.Name)), decode.MaxName)}
		for c := o.Object(); c.Next(); {
			switch string(c.Name) {
			case "inputTokens":
				m.Usage.Input = decode.Count(c.Value())
			case "outputTokens":
				m.Usage.Output = decode.Count(c.Value())
			case "thinkingTokens":
				m.Usage.Reasoning = decode.Count(c.Value())
			case "cacheReadInputTokens":
				m.Usage.CacheRead = decode.Count(c.Value())
			case "cacheCreationInputTokens":
				m.Usage.CacheWrite = decode.Count(c.Value())
			case "cacheCreationEphemeral5mInputTokens":
				m.Usage.CacheWrite5m = decode.Count(c.Value())
			case "cacheCreationEphemeral1hInputTokens":
				m.Usage.CacheWrite1h = decode.Count(c.Value())
			case "webSearchRequests":
				m.Usage.WebSearches = decode.Count(c.Value())
			case "costUSD":
				m.Cost = amount(c.Value())
			}
		}
		all = append(all, m)
	}
	return all
}

// amount is a cost; a negative one was not reported.
func amount(v jsontok.Value) translate.Opt[float64] {
	f, ok := v.Float()
	if !ok || f < 0 {
		return translate.Opt[float64]{}
	}
	return translate.Some(f)
}
