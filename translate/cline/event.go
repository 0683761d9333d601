// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package cline

import (
	"strings"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
)

// hooks are the records that name their agent.
var hooks = map[string]translate.LoopKind{
	"agent_start":  translate.LoopStarted,
	"agent_resume": translate.LoopStarted,
	"agent_end":    translate.LoopEnded,
	"agent_error":  translate.LoopFailed,
	"agent_abort":  translate.LoopFailed,
	"tool_call":    translate.LoopAnnounced,
	"tool_result":  translate.LoopReturned,
}

func (d *Decoder) hook(r *row, rec *translate.Record) {
	name, _ := r.get("hookEventName").Plain()
	rec.Subtype = d.Label(r.get("hookEventName"))
	rec.Loop = &translate.Loop{
		Kind: hooks[string(name)], Agent: d.SharedID(r.get("agentId")), Parent: d.SharedID(r.get("parentAgentId")),
	}
}

// inner is an event of an agent's loop while it is decoded.
type inner struct {
	object
	raw jsontok.Value
	// mate is the teammate in whose name it comes. Its usage came before without one.
	mate string
}

// agentEvent decodes the event of an agent.
func (d *Decoder) agentEvent(r *row, rec *translate.Record) {
	raw := r.get("event")
	if raw.Kind() != jsontok.ObjectKind {
		rec.Loop = &translate.Loop{}
		d.unmapped(r, rec)
		return
	}
	d.innerEvent(&inner{object: d.event.read(raw), raw: raw}, rec)
}

// innerRules has the rule of every inner event that has one; the others are unknown.
var innerRules = map[string]func(*Decoder, *inner, *translate.Record){
	"iteration_start": (*Decoder).iterationStart,
	"iteration_end":   (*Decoder).iterationEnd,
	"content_start":   (*Decoder).contentStart,
	"content_update":  (*Decoder).contentUpdate,
	"content_end":     (*Decoder).contentEnd,
	"usage":           (*Decoder).usageEvent,
	"done":            (*Decoder).done,
	"error":           (*Decoder).innerError,
	"notice":          (*Decoder).unmappedEvent,
}

func (d *Decoder) innerEvent(e *inner, rec *translate.Record) {
	rec.Subtype = d.Label(e.get("type"))
	rec.Loop = &translate.Loop{
		Name: e.mate, Agent: d.SharedID(e.get("agentId")), Parent: d.SharedID(e.get("parentAgentId")),
	}
	typ, _ := e.get("type").Plain()
	rule, known := innerRules[string(typ)]
	if !known {
		rec.UnknownType = true
		d.unmappedEvent(e, rec)
		return
	}
	rule(d, e, rec)
}

// unmappedEvent reports an inner event that no event stands for.
func (d *Decoder) unmappedEvent(e *inner, rec *translate.Record) {
	rec.Unknowns = append(rec.Unknowns, d.Unknown(translate.UnknownSubtype, rec.Subtype, e.raw))
}

// unmappedContent reports content of a kind that no event stands for.
func (d *Decoder) unmappedContent(e *inner, rec *translate.Record) {
	rec.Unknowns = append(rec.Unknowns, d.Unknown(translate.UnknownBlock, d.Label(e.get("contentType")), e.raw))
}

func (d *Decoder) iterationStart(e *inner, rec *translate.Record) {
	rec.Loop.Kind = translate.LoopIteration
	rec.Loop.Iteration, _ = e.get("iteration").Int()
	rec.Chunk = &translate.Chunk{Kind: translate.ChunkNext}
}

func (d *Decoder) iterationEnd(e *inner, rec *translate.Record) {
	rec.Loop.Kind = translate.LoopIterationEnd
	rec.Loop.Iteration, _ = e.get("iteration").Int()
}

func (d *Decoder) done(e *inner, rec *translate.Record) {
	rec.Loop.Kind = translate.LoopDone
	rec.Loop.Sum = d.counts(d.item.read(e.get("usage")), "")
	rec.Chunk = &translate.Chunk{Kind: translate.ChunkStop}
}

// contentStart decodes the beginning of a call. Pieces of a text only prove that the response runs: its
// end has the whole.
func (d *Decoder) contentStart(e *inner, rec *translate.Record) {
	switch kind, _ := e.get("contentType").Plain(); string(kind) {
	case "tool":
		if decode.IsID(e.get("toolCallId")) && decode.IsID(e.get("toolName")) {
			c := d.call(e, rec.Loop)
			rec.Loop.Kind, rec.Loop.CallID = translate.LoopCall, c.ID
			rec.Calls = append(rec.Calls, *c)
		}
	case "text":
		rec.Loop.Kind, rec.Loop.Bytes, rec.Loop.Before = translate.LoopDelta, e.get("text").Len(), -1
		if all := e.get("accumulated"); all.Kind() == jsontok.String {
			rec.Loop.Before = max(0, all.Len()-rec.Loop.Bytes)
		}
		rec.Response = &translate.Response{Loose: true}
	case "reasoning", "thinking":
		rec.Loop.Kind, rec.Loop.Bytes = translate.LoopThought, e.get("reasoning").Len()
		rec.Response = &translate.Response{Loose: true}
	}
}

// contentUpdate decodes what a running tool has to show so far: its end has all of it.
func (d *Decoder) contentUpdate(e *inner, rec *translate.Record) {
	if !e.is("contentType", "tool") || !decode.IsID(e.get("toolCallId")) {
		d.unmappedEvent(e, rec)
		return
	}
	rec.Loop.Kind, rec.Loop.CallID = translate.LoopUpdate, d.ID(e.get("toolCallId"))
}

func (d *Decoder) contentEnd(e *inner, rec *translate.Record) {
	switch kind, _ := e.get("contentType").Plain(); string(kind) {
	case "text":
		rec.Loop.Kind = translate.LoopText
		d.textEnd(rec, translate.BlockText, e.text("text", "content"), d.Opt.Capture.Responses)
	case "reasoning", "thinking":
		rec.Loop.Kind = translate.LoopReasoning
		d.textEnd(rec, translate.BlockThinking, e.text("reasoning", "text", "content"), d.Opt.Capture.Reasoning)
	case "tool":
		d.toolEnd(e, rec)
	default:
		d.unmappedContent(e, rec)
	}
}

func (d *Decoder) textEnd(rec *translate.Record, kind translate.BlockKind, v jsontok.Value, capture bool) {
	rec.Loop.Bytes = v.Len()
	rec.Response = textRow(kind, d.Text(v, capture))
}

// textRow is the row of a response that is one text, an empty one without a block.
func textRow(kind translate.BlockKind, t translate.Text) *translate.Response {
	resp := &translate.Response{Loose: true}
	if t.Bytes > 0 {
		resp.Blocks = []translate.Block{{Kind: kind, Text: t}}
	}
	return resp
}

// usageEvent decodes the usage of one call. That of a teammate comes a second time in the teammate's
// name, which tells whose it was and counts nothing.
func (d *Decoder) usageEvent(e *inner, rec *translate.Record) {
	rec.Loop.Kind = translate.LoopUsage
	rec.Loop.Own, rec.Loop.Sum = d.counts(e.object, ""), d.counts(e.object, "total")
	if e.mate != "" {
		return
	}
	rec.Response = &translate.Response{Loose: true, Usage: usage(e.object), Cost: amount(e.get("cost"))}
}

// repeats is how the error begins that only says again that calls were refused.
const repeats = " tool call(s) failed:"

func (d *Decoder) innerError(e *inner, rec *translate.Record) {
	rec.Loop.Kind = translate.LoopError
	message := errorMessage(e.object)
	var buf [64]byte
	head := string(message.Head(buf[:0], len(buf)-4))
	rest := strings.TrimLeft(head, "0123456789")
	if e.get("recoverable").True() && len(rest) < len(head) && strings.HasPrefix(rest, repeats) {
		return
	}
	rec.Failure = &translate.Failure{
		Type: d.Label(e.get("errorClass")), Text: d.Text(message, d.Opt.Capture.Responses),
	}
}
