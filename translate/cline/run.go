// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package cline

import (
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
)

// runStart decodes the beginning of a process, which --verbose alone shows.
func (d *Decoder) runStart(r *row, rec *translate.Record) {
	rec.Start = &translate.Start{Model: d.Name(r.get("modelId"), decode.MaxName), Provider: d.provider(r.get("providerId"))}
	d.unmapped(r, rec)
}

// providers has the names of Cline's providers that the GenAI conventions spell otherwise.
var providers = map[string]string{
	"bedrock": "aws.bedrock", "vertex": "gcp.vertex_ai", "gemini": "gcp.gemini", "openai-native": "openai",
	"openai-codex": "openai", "azure": "azure.ai.openai", "xai": "x_ai", "mistral": "mistral_ai", "claude-code": "anthropic",
}

func (d *Decoder) provider(v jsontok.Value) string {
	name := d.Label(v)
	if p := providers[name]; p != "" {
		return p
	}
	return name
}

// runResult decodes the end of a run. Its usage restates what usage events told, without the subagents:
// it counts nothing.
func (d *Decoder) runResult(r *row, rec *translate.Record) {
	reason := d.Label(r.get("finishReason"))
	model := d.item.read(r.get("model"))
	t := &translate.Terminal{
		Subtype:  reason,
		Reason:   reason,
		Model:    d.Name(model.get("id"), decode.MaxName),
		Provider: d.provider(model.get("provider")),
		// A run is a turn, whatever number of iterations it came to.
		Turns: translate.Some(int64(1)),
	}
	if n, ok := decode.Millis(r.get("durationMs")); ok {
		t.Duration = translate.Some(n)
	}
	switch reason {
	case "error", "mistake_limit", "max_iterations":
		t.Failed, t.IsError, t.ErrorType = true, true, reason
		t.Message = "run ended: " + reason
		if reason == "error" {
			// Only here the text is the error's, not the assistant's.
			t.Text = d.Text(r.get("text"), d.Opt.Capture.Responses)
		}
	case "aborted":
		t.Cancelled = true
	}
	rec.Terminal = t
}

// aborted decodes how a run was aborted: by a signal, or, from outside of the agent, at the limit of
// mistakes, which is nobody's doing.
func (d *Decoder) aborted(r *row, rec *translate.Record) {
	t := &translate.Terminal{Amends: true, Cancelled: true, Reason: d.Label(r.get("reason"))}
	if t.Reason == "external_abort" {
		t.Cancelled, t.Failed, t.ErrorType = false, true, t.Reason
	}
	rec.Subtype = t.Reason
	rec.Terminal = t
	d.unmapped(r, rec)
}
