// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package claude

import (
	"bytes"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
)

// synthetic is the model of rows that the agent program wrote itself.
const synthetic = "<synthetic>"

// maxBlocks bounds the blocks of one row; what comes after them is one unknown block.
const maxBlocks = 1 << 16

// assistant decodes a row of a response. One response is written as several rows, mostly one a block.
func (d *Decoder) assistant(r *row, rec *translate.Record) bool {
	d.agent(r, rec)
	resp := &translate.Response{}
	if d.message(r.fields[fMessage], resp, true) != jsontok.ArrayKind {
		return false
	}
	failed := !r.fields[fError].Missing() && !d.transcript
	resp.Synthetic = resp.Model == synthetic
	resp.APIError = r.fields[fAPIError].True() || resp.Synthetic && failed
	if resp.APIError {
		resp.Synthetic = true
		resp.Error = d.Label(r.fields[fError])
		resp.HTTPStatus = decode.HTTPStatus(r.fields[fAPIErrorStatus])
	}
	rec.Response = resp
	return true
}

// message fills resp from a message object and returns the kind of its content.
func (d *Decoder) message(v jsontok.Value, resp *translate.Response, blocks bool) (content jsontok.Kind) {
	for o := d.Object(v); o.Next(); {
		switch string(o.Name) {
		case "id":
			resp.ID = d.SharedID(o.Value())
		case "model":
			resp.Model = d.Name(o.Value(), decode.MaxName)
		case "stop_reason":
			resp.StopReason = d.Label(o.Value())
		case "usage":
			resp.Usage = d.usage(o.Value())
		case "content":
			content = o.Kind()
			if blocks {
				resp.Blocks = d.blocks(o.Array())
			}
		}
	}
	return content
}

// blocks decodes the content of a response.
func (d *Decoder) blocks(a jsontok.Array) []translate.Block {
	var blocks []translate.Block
	for n := 0; a.Next(); n++ {
		if n == maxBlocks {
			u := rest(a)
			return append(blocks, translate.Block{Kind: translate.BlockUnknown, Unknown: &u})
		}
		var p parts
		d.readBlock(&a, &p)
		if b, ok := d.block(&p); ok {
			blocks = append(blocks, b)
		}
	}
	return blocks
}

// rest reports what is left of an array, the current element included, as one unknown block.
func rest(a jsontok.Array) translate.Unknown {
	size := len(a.Value())
	for a.Next() {
		size += 1 + len(a.Value())
	}
	return translate.Unknown{Reason: translate.UnknownBlock, Bytes: size, Raw: translate.Text{Bytes: size}}
}

// parts are the members of a content block that some rule reads.
type parts struct {
	raw                                                                              jsontok.Value // the block
	typ, text, thinking, id, name, input, toolUseID, content, isError, toolUseResult jsontok.Value
	interrupted                                                                      bool
	argBytes                                                                         int // compact size of input
}

// readBlock reads the current element of a, with its keys and the arguments of a call.
func (d *Decoder) readBlock(a *jsontok.Array, p *parts) {
	d.ResetKeys()
	for o := a.Object(); o.Next(); {
		d.AddKey(o.Name)
		if string(o.Name) == "input" {
			p.argBytes = d.readArgs(&o)
		}
		p.read(&o)
	}
	p.raw = a.Value()
}

func (p *parts) read(o *jsontok.Object) {
	switch string(o.Name) {
	case "type":
		p.typ = o.Value()
	case "text":
		p.text = o.Value()
	case "thinking":
		p.thinking = o.Value()
	case "id":
		p.id = o.Value()
	case "name":
		p.name = o.Value()
	case "input":
		p.input = o.Value()
	case "tool_use_id":
		p.toolUseID = o.Value()
	case "content":
		p.content = o.Value()
	case "is_error":
		p.isError = o.Value()
	case "tool_use_result", "toolUseResult":
		p.toolUseResult = o.Value()
	case "is_interruption", "is_interrupted", "interrupted":
		p.interrupted = p.interrupted || o.Value().True()
	}
}

// block decodes one block; ok is false for blocks that are consumed without a trace.
func (d *Decoder) block(p *parts) (b translate.Block, ok bool) {
	typ, _ := p.typ.Plain()
	switch string(typ) {
	case "text":
		// An absent text is an empty one; one of another type is not understood.
		if p.text.Kind() == jsontok.String || p.text.Missing() {
			b = translate.Block{Kind: translate.BlockText, Text: d.Text(p.text, d.Opt.Capture.Responses)}
			return b, b.Text.Bytes > 0
		}
	case "thinking":
		if p.thinking.Kind() == jsontok.String || p.thinking.Missing() {
			b = translate.Block{Kind: translate.BlockThinking, Text: d.Text(p.thinking, d.Opt.Capture.Reasoning)}
			return b, b.Text.Bytes > 0
		}
	case "redacted_thinking":
		return b, false
	case "tool_use":
		if c := d.call(p); c != nil {
			return translate.Block{Kind: translate.BlockCall, Call: c}, true
		}
	case "server_tool_use", "mcp_tool_use":
		if c := d.serverCall(p); c != nil {
			return translate.Block{Kind: translate.BlockServerCall, Call: c}, true
		}
	default:
		if bytes.HasSuffix(typ, []byte("_tool_result")) && decode.IsID(p.toolUseID) {
			return translate.Block{Kind: translate.BlockServerResult, Result: d.serverResult(p)}, true
		}
	}
	u := d.unknownBlock(translate.UnknownBlock, p)
	return translate.Block{Kind: translate.BlockUnknown, Unknown: &u}, true
}
