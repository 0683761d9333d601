// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package cline

import (
	"strconv"
	"strings"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
)

// toolEnd decodes the end of a call. It has the tool's name, seldom the input: the call as it restates it
// counts only where the beginning was missed.
func (d *Decoder) toolEnd(e *inner, rec *translate.Record) {
	named := decode.IsID(e.get("toolName"))
	if !named && !decode.IsID(e.get("toolCallId")) {
		d.unmappedEvent(e, rec)
		return
	}
	rec.Loop.Kind, rec.Loop.CallID = translate.LoopResult, d.ID(e.get("toolCallId"))
	res := translate.Result{CallID: rec.Loop.CallID}
	if named {
		res.Call = d.call(e, &translate.Loop{})
	} else {
		u := d.Unknown(translate.UnknownOrphan, rec.Subtype, e.raw)
		res.Unknown = &u
	}
	d.output(e.get("output"), &res, rec.Loop)
	if v := e.get("error"); !v.Missing() && string(v) != `""` {
		res.IsError, res.NoVerdict = true, false
		if res.Text.Bytes == 0 {
			res.Text = d.Text(v, d.Opt.Capture.ToolResults)
		}
	}
	if n, ok := decode.Millis(e.get("durationMs")); ok {
		res.Duration = translate.Some(n)
	}
	rec.Results = append(rec.Results, res)
}

// output reads what a tool gave: a text, the answer of one thing, or a list of answers.
func (d *Decoder) output(v jsontok.Value, res *translate.Result, loop *translate.Loop) {
	switch v.Kind() {
	case jsontok.ArrayKind:
		d.batch(v, res)
		return
	case jsontok.ObjectKind:
	default:
		res.NoVerdict = true
		res.Text = d.Text(v, d.Opt.Capture.ToolResults)
		return
	}
	o := d.item.read(v)
	results, usage, content := o.get("results"), o.get("usage"), o.get("content")
	success, known := o.get("success").Bool()
	isError, mcp := o.get("isError").Bool()
	finish := o.get("finishReason")
	failed := decode.IsID(o.get("error"))
	d.answer(o, v, res)
	switch {
	case known:
		res.IsError = !success
		d.exitStatus(o, res)
	case mcp:
		res.IsError = isError
	case finish.Kind() == jsontok.String:
		s, _ := finish.Plain()
		res.IsError = string(s) != "completed"
	case results.Kind() == jsontok.ArrayKind:
		d.batch(results, res)
	case failed:
		res.IsError = true
	default:
		res.NoVerdict = true
	}
	if content.Kind() == jsontok.ArrayKind {
		d.texts(content, res)
	}
	loop.Sum = d.counts(d.item.read(usage), "")
}

// answer is the text of an object: what it says, else what went wrong, else itself.
func (d *Decoder) answer(o object, v jsontok.Value, res *translate.Result) {
	for _, key := range []string{"result", "text", "error"} {
		if s := o.get(key); decode.IsID(s) {
			res.Text = d.Text(s, d.Opt.Capture.ToolResults)
			return
		}
	}
	if s := o.get("result"); s.Kind() == jsontok.String {
		return // it says nothing
	}
	res.Text = d.JSON(v, v.CompactLen(), d.Opt.Capture.ToolResults)
}

// batch reads a list of answers, one for each operation of the call.
func (d *Decoder) batch(v jsontok.Value, res *translate.Result) {
	var joined strings.Builder
	size := 0
	res.NoVerdict, res.Text = true, translate.Text{}
	for a := v.Array(); a.Next(); {
		var one translate.Result
		o := d.item.read(a.Value())
		d.answer(o, a.Value(), &one)
		size += one.Text.Bytes
		if s := one.Text.Content; s != "" && joined.Len() <= d.Opt.MaxContentBytes {
			if joined.Len() > 0 {
				joined.WriteByte('\n')
			}
			joined.WriteString(s)
		}
		success, _ := o.get("success").Bool()
		d.exitStatus(o, &one)
		res.IsError = res.IsError || !success
		res.NoVerdict = false
		if one.ExitCode.OK && !res.ExitCode.OK {
			res.ExitCode = one.ExitCode // of the call: the first that failed
		}
		if len(res.Items) < maxOps {
			res.Items = append(res.Items, translate.Item{Success: translate.Some(success), ExitCode: one.ExitCode})
		}
	}
	if d.Opt.Capture.ToolResults {
		res.Text = d.Cut(size, joined.String())
	}
	res.Text.Bytes = size
}

// exited is how the error of a command begins that ended with another exit status than 0.
const exited = "Command exited with code "

func (d *Decoder) exitStatus(o object, res *translate.Result) {
	var buf [64]byte
	head := string(o.get("error").Head(buf[:0], len(buf)-4))
	rest, ok := strings.CutPrefix(head, exited)
	if !ok {
		return
	}
	if n, err := strconv.ParseInt(strings.TrimRight(rest, ". \n"), 10, 32); err == nil {
		res.ExitCode = translate.Some(n)
	}
}

// texts is the text of an MCP tool's answer. Images and other binary parts are no text.
func (d *Decoder) texts(content jsontok.Value, res *translate.Result) {
	var joined strings.Builder
	size := 0
	for a := content.Array(); a.Next(); {
		text := d.item.read(a.Value()).get("text")
		if text.Kind() != jsontok.String {
			continue
		}
		size += text.Len()
		if s, _ := text.Text(); d.Opt.Capture.ToolResults {
			if joined.Len() > 0 {
				joined.WriteByte('\n')
			}
			joined.WriteString(s)
		}
	}
	res.Text = d.Content(joined.String())
	res.Text.Bytes = size
}
