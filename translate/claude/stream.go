// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package claude

import (
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
)

// streamEvent decodes a partial message. Its deltas are restated by rows, so only what no row says is
// read: the beginning, the final usage and the end of a response.
func (d *Decoder) streamEvent(r *row, rec *translate.Record) bool {
	d.agent(r, rec)
	c := &translate.Chunk{}
	rec.Chunk = c
	if n, ok := decode.Millis(r.fields[fTTFT]); ok {
		c.TTFT = translate.Some(n)
	}
	var typ, message, delta, usage jsontok.Value
	for o := d.Object(r.fields[fEvent]); o.Next(); {
		switch string(o.Name) {
		case "type":
			typ = o.Value()
		case "message":
			message = o.Value()
		case "delta":
			delta = o.Value()
		case "usage":
			usage = o.Value()
		}
	}
	switch s, _ := typ.Plain(); string(s) {
	case "message_start":
		c.Kind = translate.ChunkStart
		d.message(message, &c.Response, false)
	case "message_delta":
		c.Kind = translate.ChunkDelta
		c.Response.Usage = d.usage(usage)
		for o := delta.Object(); o.Next(); {
			if string(o.Name) == "stop_reason" {
				c.Response.StopReason = d.Label(o.Value())
			}
		}
	case "message_stop":
		c.Kind = translate.ChunkStop
	}
	return true
}

// rateLimit decodes a statement about a rate limit.
func (d *Decoder) rateLimit(r *row, rec *translate.Record) bool {
	rec.RateLimit = &translate.RateLimit{}
	for o := r.fields[fRateLimit].Object(); o.Next(); {
		switch string(o.Name) {
		case "status":
			rec.RateLimit.Status = d.Label(o.Value())
		case "rateLimitType":
			rec.RateLimit.Type = d.Label(o.Value())
		case "utilization":
			rec.RateLimit.Utilization = amount(o.Value())
		}
	}
	return true
}

// reset decodes the end of a conversation by /clear. No event says so: it is unknown as well.
func (d *Decoder) reset(r *row, rec *translate.Record) bool {
	if id := d.SharedID(r.fields[fNewConversation]); id != "" {
		rec.Reset = &translate.Reset{Session: id}
	}
	rec.Unknowns = append(rec.Unknowns, d.unknownRecord(translate.UnknownRecordType, r, rec.Type))
	return true
}
