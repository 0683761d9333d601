// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package codex decodes what codex exec --json prints: one JSON object per line, of threads, turns and
// items. It says what a record is, never what follows from it: pairing, turns and counting are the
// session's.
package codex

import (
	"strconv"
	"strings"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
)

// Options say what a Decoder may keep. The zero Options keep no content at all.
type Options = decode.Options

// Decoder turns lines into records. It keeps no state from line to line except buffers and caches that
// change no result. It is not safe for concurrent use.
type Decoder struct {
	decode.Base
}

// NewDecoder returns a decoder of the output of codex exec.
func NewDecoder(opt Options) *Decoder {
	d := &Decoder{}
	d.Init(opt, d.object, knownRecord)
	return d
}

// Decode appends what line says to out and returns it. The line may end in LF or CR and begin with a
// byte order mark. Decode never fails: what is no record becomes a diagnostic.
func (d *Decoder) Decode(line []byte, out []translate.Decoded) []translate.Decoded {
	return d.Line(line, out)
}

// row has the members of a record that some rule reads. They alias the line.
type row struct {
	raw                                                                   jsontok.Value
	typ, thread, time, usage, err, message, item, traceparent, attributes jsontok.Value
}

func (r *row) read(p jsontok.Part) {
	r.raw = p.Bytes
	for _, m := range p.Members {
		switch string(m.Name) {
		case "type":
			r.typ = m.Value
		case "thread_id":
			r.thread = m.Value
		case "timestamp":
			r.time = m.Value
		case "usage":
			r.usage = m.Value
		case "error":
			r.err = m.Value
		case "message":
			r.message = m.Value
		case "item":
			r.item = m.Value
		case "traceparent":
			r.traceparent = m.Value
		case "attributes":
			r.attributes = m.Value
		}
	}
}

// rule decodes one type of record.
type rule func(*Decoder, *row, *translate.Record)

// records has the rule of every known type (event mapping, section 6.1).
var records = map[string]rule{
	"thread.started":   (*Decoder).threadStarted,
	"turn.started":     (*Decoder).turnStarted,
	"turn.completed":   (*Decoder).turnCompleted,
	"turn.failed":      (*Decoder).turnFailed,
	"item.started":     (*Decoder).itemStarted,
	"item.updated":     (*Decoder).itemUpdated,
	"item.completed":   (*Decoder).itemCompleted,
	"error":            (*Decoder).errorRecord,
	decode.ContextType: (*Decoder).context,
}

// knownRecord tells records from items and other objects when a line is broken. The type error is an
// item's as well, but only items have an id.
func knownRecord(members []jsontok.Member) bool {
	known := false
	for _, m := range members {
		switch string(m.Name) {
		case "id":
			return false
		case "type":
			s, ok := m.Value.Plain()
			_, found := records[string(s)]
			known = ok && found
		}
	}
	return known
}

func (d *Decoder) object(p jsontok.Part) {
	var r row
	r.read(p)
	if r.typ.Kind() != jsontok.String {
		d.BadShape(p.Bytes, "")
		return
	}
	rec := &translate.Record{Type: d.Label(r.typ), Session: d.SharedID(r.thread), Hash: decode.Hash(p.Bytes)}
	if !r.time.Missing() {
		// The agent writes none; who adds one to each line knows when it was written.
		t, ok := d.Time(r.time)
		rec.Time, rec.InvalidTime = t, !ok
	}
	d.Scratch = r.typ.AppendText(d.Scratch[:0])
	if rule, known := records[string(d.Scratch)]; known {
		rule(d, &r, rec)
	} else {
		rec.UnknownType = true
		d.unmapped(&r, rec)
	}
	d.Record(rec)
}

// unmapped reports the whole record.
func (d *Decoder) unmapped(r *row, rec *translate.Record) {
	rec.Unknowns = append(rec.Unknowns, d.Unknown(translate.UnknownRecordType, rec.Type, r.raw))
}

func (d *Decoder) context(r *row, rec *translate.Record) {
	rec.Context = d.Context(r.traceparent, r.attributes)
}

// threadStarted decodes the first record of a process; a resumed thread has the same id in each.
func (d *Decoder) threadStarted(_ *row, rec *translate.Record) {
	rec.Start = &translate.Start{}
	rec.Turn = &translate.Turn{Process: true}
}

func (d *Decoder) turnStarted(_ *row, rec *translate.Record) {
	rec.Turn = &translate.Turn{Begin: true}
}

func (d *Decoder) turnCompleted(r *row, rec *translate.Record) {
	d.turnEnd(r, rec)
}

func (d *Decoder) turnFailed(r *row, rec *translate.Record) {
	t := d.turnEnd(r, rec)
	message := errorMessage(r.err)
	t.IsError, t.Failed, t.Message = true, true, "turn failed"
	t.Text = d.Text(message, d.Opt.Capture.Responses)
	if t.ErrorType = errorType(message); t.ErrorType == "" {
		t.ErrorType = "turn_failed"
	}
}

// turnEnd decodes what both ends of a turn have. The record speaks of one turn, whether or not it
// succeeded.
func (d *Decoder) turnEnd(r *row, rec *translate.Record) *translate.Terminal {
	rec.Terminal = &translate.Terminal{Turns: translate.Some(int64(1))}
	if total := runningTotal(r.usage); total != nil {
		rec.Response = &translate.Response{PerTurn: true, Total: total}
	}
	return rec.Terminal
}

// runningTotal reads usage, which is the running total of the thread; nil when no count is in it.
func runningTotal(v jsontok.Value) *translate.Total {
	t := &translate.Total{}
	found := false
	for o := v.Object(); o.Next(); {
		var field *translate.Opt[int64]
		switch string(o.Name) {
		case "input_tokens":
			field = &t.Input
		case "cached_input_tokens":
			field = &t.CacheRead
		case "cache_write_input_tokens":
			field = &t.CacheWrite
		case "output_tokens":
			field = &t.Output
		case "reasoning_output_tokens":
			field = &t.Reasoning
		default:
			continue
		}
		*field = decode.Count(o.Value())
		found = found || field.OK
	}
	if !found {
		return nil
	}
	return t
}

// errorRecord decodes an error that ends no turn: a notice, or what turn.failed says again.
func (d *Decoder) errorRecord(r *row, rec *translate.Record) {
	rec.Failure = d.failure(r.message)
}

func (d *Decoder) failure(message jsontok.Value) *translate.Failure {
	var buf [64]byte
	head := string(message.Head(buf[:0], len(buf)-4))
	return &translate.Failure{
		Type: errorType(message), Text: d.Text(message, d.Opt.Capture.Responses), Retry: isRetry(head),
	}
}

// errorMessage is the text of an error: an object's message, or the error itself.
func errorMessage(v jsontok.Value) jsontok.Value {
	if v.Kind() != jsontok.ObjectKind {
		return v
	}
	var message jsontok.Value
	for o := v.Object(); o.Next(); {
		if string(o.Name) == "message" {
			message = o.Value()
		}
	}
	return message
}

// isRetry reports whether a text begins as "Reconnecting... 1/5".
func isRetry(head string) bool {
	rest, ok := strings.CutPrefix(head, "Reconnecting... ")
	return ok && rest != "" && rest[0] >= '0' && rest[0] <= '9'
}

// maxErrorText is how much of an error's text is searched for a status.
const maxErrorText = 4096

// errorType is the HTTP status that the text of an error names, "" without one. The text itself is
// content: nothing else of it may become a label.
func errorType(message jsontok.Value) string {
	s := string(message.Head(nil, maxErrorText))
	for _, mark := range []string{`"status":`, "last status: ", "unexpected status ", "HTTP status "} {
		_, rest, ok := strings.Cut(s, mark)
		if !ok {
			continue
		}
		rest = strings.TrimLeft(rest, " ")
		if len(rest) < 3 || len(rest) > 3 && rest[3] >= '0' && rest[3] <= '9' {
			continue
		}
		if code := decode.HTTPStatus(jsontok.Value(rest[:3])); code >= 400 {
			return strconv.Itoa(code)
		}
	}
	return ""
}
