// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package cline

import (
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
)

// legacyRules has the records of the say/ask stream that an event stands for; what tools did is not
// among them.
var legacyRules = map[string]func(*Decoder, *row, *translate.Record){
	"say/text":              (*Decoder).legacyText,
	"say/completion_result": (*Decoder).completion,
	"ask/followup":          (*Decoder).legacyText,
	"say/reasoning":         (*Decoder).legacyReasoning,
	"say/error":             (*Decoder).legacyError,
	"ask/error":             (*Decoder).legacyError,
	"say/api_req_failed":    (*Decoder).legacyError,
	"ask/api_req_failed":    (*Decoder).legacyError,
}

// legacyUsage are the records with the usage of a request, as JSON in their text. They are reported as
// unknown all the same.
var legacyUsage = map[string]bool{"say/api_req_started": true, "say/subagent_usage": true}

// legacy decodes a record of the say/ask stream. A message is written again with the same ts while it
// grows; only its last form counts.
func (d *Decoder) legacy(r *row, rec *translate.Record) {
	rec.Subtype = d.Label(r.get(rec.Type))
	rec.Loop = &translate.Loop{}
	if r.get("partial").True() {
		return
	}
	kind := rec.Type + "/" + rec.Subtype
	id := ""
	if ts := r.get("ts"); ts.Kind() == jsontok.Number {
		id = string(ts) + "/" + kind
	}
	switch rule := legacyRules[kind]; {
	case rule != nil:
		rec.UUID = id
		rule(d, r, rec)
	case legacyUsage[kind]:
		d.request(r, rec, id)
		d.unmapped(r, rec)
	default:
		d.unmapped(r, rec)
	}
}

func (d *Decoder) legacyText(r *row, rec *translate.Record) {
	rec.Response = textRow(translate.BlockText, d.Text(r.get("text"), d.Opt.Capture.Responses))
	rec.Response.Model = d.legacyModel(r)
}

func (d *Decoder) legacyReasoning(r *row, rec *translate.Record) {
	rec.Response = textRow(translate.BlockThinking, d.Text(r.text("text", "reasoning"), d.Opt.Capture.Reasoning))
	rec.Response.Model = d.legacyModel(r)
}

// completion decodes the agent's own word that its task is done, the only end that this stream has.
func (d *Decoder) completion(r *row, rec *translate.Record) {
	d.legacyText(r, rec)
	rec.Terminal = &translate.Terminal{Subtype: rec.Subtype, Turns: translate.Some(int64(1))}
}

func (d *Decoder) legacyError(r *row, rec *translate.Record) {
	rec.Failure = &translate.Failure{Text: d.Text(r.get("text"), d.Opt.Capture.Responses)}
}

// request decodes a request to the model: first when it begins, then, with the same ts, with its usage.
func (d *Decoder) request(r *row, rec *translate.Record, id string) {
	o := d.nestedObject(r.get("text"))
	u := &translate.Usage{
		Input:      decode.Count(o.get("tokensIn")),
		CacheRead:  decode.Count(o.get("cacheReads")),
		CacheWrite: decode.Count(o.get("cacheWrites")),
		Output:     decode.Count(o.get("tokensOut")),
	}
	rec.Response = &translate.Response{Loose: true, Local: id, Model: d.legacyModel(r)}
	if u.Input.OK || u.Output.OK {
		rec.Response.Usage, rec.Response.Cost = u, amount(o.get("cost"))
	}
}

// nestedObject is the object that a string holds as JSON, empty when it holds none.
func (d *Decoder) nestedObject(v jsontok.Value) object {
	d.event = d.event[:0]
	s, _ := v.Text()
	d.nested.Split([]byte(s), func(p jsontok.Part) {
		if p.Kind == jsontok.PartObject && len(d.event) == 0 {
			d.event = append(d.event, p.Members[:min(len(p.Members), maxMembers)]...)
		}
	})
	return d.event
}

func (d *Decoder) legacyModel(r *row) string {
	return d.Name(d.item.read(r.get("modelInfo")).get("modelId"), decode.MaxName)
}
