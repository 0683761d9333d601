// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package codex

import (
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
)

// item has the members of an item that some rule reads.
type item struct {
	raw jsontok.Value
	id, typ, text, message, status, command, output, exitCode, success, changes, server, tool, arguments, result,
	err, query, action, prompt, receivers, states jsontok.Value
}

// readItem reads the item of a record and collects its keys; ok is false where there is none.
func (d *Decoder) readItem(r *row) (it item, ok bool) {
	if r.item.Kind() != jsontok.ObjectKind {
		return it, false
	}
	it.raw = r.item
	d.ResetKeys()
	for o := r.item.Object(); o.Next(); {
		d.AddKey(o.Name)
		it.read(string(o.Name), o.Value())
	}
	return it, true
}

func (it *item) read(name string, v jsontok.Value) {
	switch name {
	case "id":
		// A web search has the key twice: its place in the process, then the API's own id. The last one
		// counts, unless it is empty.
		if it.id == nil || decode.IsID(v) {
			it.id = v
		}
	case "type":
		it.typ = v
	case "text":
		it.text = v
	case "message":
		it.message = v
	case "status":
		it.status = v
	case "command":
		it.command = v
	case "aggregated_output":
		it.output = v
	case "exit_code":
		it.exitCode = v
	case "success":
		it.success = v
	case "changes":
		it.changes = v
	case "server":
		it.server = v
	case "tool":
		it.tool = v
	case "arguments":
		it.arguments = v
	case "result":
		it.result = v
	case "error":
		it.err = v
	case "query":
		it.query = v
	case "action":
		it.action = v
	case "prompt":
		it.prompt = v
	case "receiver_thread_ids":
		it.receivers = v
	case "agents_states":
		it.states = v
	}
}

// kind says what becomes of an item of one type. Exactly one of block and call is set, or none for an
// error.
type kind struct {
	block func(*Decoder, *item) (translate.Block, bool)
	call  func(*Decoder, *item, *translate.Call)
}

// kinds has every known type of item (event mapping, section 6.1).
var kinds = map[string]kind{
	"agent_message":     {block: (*Decoder).agentMessage},
	"reasoning":         {block: (*Decoder).reasoning},
	"todo_list":         {block: (*Decoder).unknownItem},
	"plan":              {block: (*Decoder).unknownItem},
	"command_execution": {call: (*Decoder).commandCall},
	"file_change":       {call: (*Decoder).patchCall},
	"mcp_tool_call":     {call: (*Decoder).mcpCall},
	"web_search":        {call: (*Decoder).searchCall},
	"collab_tool_call":  {call: (*Decoder).collabCall},
	"error":             {},
}

// kindOf is what is known of the item's type.
func (d *Decoder) kindOf(it *item) (kind, bool) {
	d.Scratch = it.typ.AppendText(d.Scratch[:0])
	k, known := kinds[string(d.Scratch)]
	return k, known
}

// itemStarted decodes the beginning of an item. Only a call is more than its end tells again: the turn
// may end, or the process, before the call does.
func (d *Decoder) itemStarted(r *row, rec *translate.Record) {
	it, ok := d.readItem(r)
	if k, known := d.kindOf(&it); ok && known {
		d.unfinished(k, &it, rec)
	}
}

// itemUpdated decodes what an item is like meanwhile; its end will tell it again.
func (d *Decoder) itemUpdated(r *row, rec *translate.Record) {
	it, ok := d.readItem(r)
	k, known := d.kindOf(&it)
	switch {
	case !ok:
		d.unmapped(r, rec)
	case !known:
		d.strange(&it, rec)
	default:
		d.unfinished(k, &it, rec)
	}
}

// unfinished tells of an item that a model made that it exists, and of a call which.
func (d *Decoder) unfinished(k kind, it *item, rec *translate.Record) {
	if k.block == nil && k.call == nil {
		return
	}
	rec.Response = &translate.Response{PerTurn: true}
	if k.call != nil && decode.IsID(it.id) {
		rec.Response.Blocks = []translate.Block{{Kind: translate.BlockCall, Call: d.call(k, it)}}
	}
}

func (d *Decoder) itemCompleted(r *row, rec *translate.Record) {
	it, ok := d.readItem(r)
	if !ok {
		d.unmapped(r, rec)
		return
	}
	k, known := d.kindOf(&it)
	switch {
	case !known:
		d.strange(&it, rec)
	case k.call != nil:
		rec.Response = &translate.Response{PerTurn: true, Blocks: []translate.Block{d.callBlock(k, &it)}}
	case k.block != nil:
		rec.Response = &translate.Response{PerTurn: true}
		if b, ok := k.block(d, &it); ok {
			rec.Response.Blocks = []translate.Block{b}
		}
	default:
		rec.Failure = d.failure(it.message)
	}
}

// strange reports an item of a type that is not known. Whether a model made it is not known either: it
// belongs to no turn.
func (d *Decoder) strange(it *item, rec *translate.Record) {
	rec.UnknownType = true
	rec.Subtype = d.Label(it.typ)
	rec.Unknowns = append(rec.Unknowns, d.unknownOf(it))
}

func (d *Decoder) unknownOf(it *item) translate.Unknown {
	return translate.Unknown{
		Reason: translate.UnknownBlock, Type: d.Label(it.typ), Bytes: len(it.raw), Keys: d.CollectedKeys(), Raw: d.RawJSON(it.raw),
	}
}

func (d *Decoder) unknownItem(it *item) (translate.Block, bool) {
	u := d.unknownOf(it)
	return translate.Block{Kind: translate.BlockUnknown, Unknown: &u}, true
}

func (d *Decoder) agentMessage(it *item) (translate.Block, bool) {
	b := translate.Block{Kind: translate.BlockText, Text: d.Text(it.text, d.Opt.Capture.Responses)}
	return b, b.Text.Bytes > 0
}

func (d *Decoder) reasoning(it *item) (translate.Block, bool) {
	b := translate.Block{Kind: translate.BlockThinking, Text: d.Text(it.text, d.Opt.Capture.Reasoning)}
	return b, b.Text.Bytes > 0
}

// callBlock decodes a completed call with its result. Without an id no later row could be its own, so
// it is no call at all (telemetry contract, ruling 34).
func (d *Decoder) callBlock(k kind, it *item) translate.Block {
	if !decode.IsID(it.id) {
		b, _ := d.unknownItem(it)
		return b
	}
	return translate.Block{Kind: translate.BlockCall, Call: d.call(k, it), Result: d.result(it)}
}
