// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"math"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/translate"
)

// document writes the result of --format json. The spans are written as they become final, before the
// other members of the object, so that memory does not go with their number.
type document struct {
	w     *bufio.Writer
	enc   *json.Encoder
	buf   bytes.Buffer
	spans int
	err   error // of the first write that failed
}

func newDocument(w io.Writer) *document {
	d := &document{w: bufio.NewWriterSize(w, 64<<10)}
	d.enc = json.NewEncoder(&d.buf)
	d.enc.SetEscapeHTML(false)
	d.write("{\"spans\": [")
	return d
}

// jsonSpan is one element of "spans".
type jsonSpan struct {
	TraceID    string         `json:"trace_id"`
	SpanID     string         `json:"span_id"`
	ParentID   string         `json:"parent_span_id"`
	Name       string         `json:"name"`
	Start      string         `json:"start"`
	End        string         `json:"end"`
	Status     string         `json:"status"`
	ErrorType  string         `json:"error_type,omitempty"`
	Attributes map[string]any `json:"attributes"`
}

type jsonTokens struct {
	Input      int64 `json:"input"`
	CacheRead  int64 `json:"cache_read"`
	CacheWrite int64 `json:"cache_write"`
	Output     int64 `json:"output"`
}

// jsonSession is one element of "sessions".
type jsonSession struct {
	SessionID          string                `json:"session_id"`
	Agent              string                `json:"agent"`
	Format             translate.Format      `json:"format"`
	Outcome            string                `json:"outcome"`
	ModelCalls         int64                 `json:"model_calls"`
	SubagentModelCalls int64                 `json:"subagent_model_calls"`
	ToolCalls          map[string]int64      `json:"tool_calls"`
	ToolOutcomes       map[string]int64      `json:"tool_outcomes"`
	Subagents          int64                 `json:"subagents"`
	Prompts            int64                 `json:"prompts"`
	Tokens             map[string]jsonTokens `json:"tokens"`
	CostUSD            *float64              `json:"cost_usd"`
	Start              string                `json:"start"`
	End                string                `json:"end"`
	Project            string                `json:"project"` // as in "projects"
}

// jsonGroup is one element of "projects" or "days".
type jsonGroup struct {
	Project  string `json:"project,omitempty"`
	Day      string `json:"day,omitempty"` // YYYY-MM-DD, UTC
	Sessions int64  `json:"sessions"`
	jsonTotals
}

// jsonModel is one element of "models".
type jsonModel struct {
	Model string `json:"model"`
	jsonTokens
	CostUSD        *float64 `json:"cost_usd"`
	UnpricedTokens int64    `json:"unpriced_tokens"` // a part of the four above
}

// jsonPrices says which catalogue the estimates are from.
type jsonPrices struct {
	Catalogue    string  `json:"catalogue"` // "built-in", or the name of the file
	Date         *string `json:"date"`      // null where it is not known
	ReportedUSD  float64 `json:"reported_usd"`
	EstimatedUSD float64 `json:"estimated_usd"`
}

type jsonTotals struct {
	Input      int64    `json:"input_tokens"`
	Output     int64    `json:"output_tokens"`
	CacheRead  int64    `json:"cache_read_tokens"`
	CacheWrite int64    `json:"cache_write_tokens"`
	CostUSD    *float64 `json:"cost_usd"`
}

const attrErrorType = "error.type"

// add writes the spans of one batch.
func (d *document) add(td ptrace.Traces) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				d.span(s)
			}
		}
	}
}

func (d *document) span(s ptrace.Span) {
	out := jsonSpan{
		TraceID: s.TraceID().String(), SpanID: s.SpanID().String(), ParentID: s.ParentSpanID().String(), Name: s.Name(),
		Start: clock(int64(s.StartTimestamp())), End: clock(int64(s.EndTimestamp())), Status: "unset",
		Attributes: s.Attributes().AsRaw(),
	}
	if s.Status().Code() == ptrace.StatusCodeError {
		out.Status = "error"
		if t, ok := s.Attributes().Get(attrErrorType); ok {
			out.ErrorType = t.AsString()
		}
	}
	if d.spans++; d.spans > 1 {
		d.write(",")
	}
	d.write("\n  ")
	d.value(out)
}

// end writes the rest of the object.
func (d *document) end(r *report, skipped *batch.Outcomes) error {
	d.write("\n ],\n \"sessions\": [")
	for i, s := range r.sorted() {
		if i > 0 {
			d.write(",")
		}
		d.write("\n  ")
		d.value(sessionObject(s))
	}
	g := r.grand()
	d.write("\n ],\n \"totals\": ")
	d.value(totalsObject(g.usage, g.cost))
	list := func(name string) func(any) {
		n := 0
		d.write(",\n \"" + name + "\": [")
		return func(v any) {
			if n++; n > 1 {
				d.write(",")
			}
			d.write("\n  ")
			d.value(v)
		}
	}
	add := list("projects")
	for _, name := range slices.Sorted(maps.Keys(g.projects)) {
		p := g.projects[name]
		add(jsonGroup{Project: name, Sessions: p.sessions, jsonTotals: totalsObject(p.usage, p.cost)})
	}
	d.write("\n ]")
	add = list("days")
	for _, day := range slices.Sorted(maps.Keys(g.days)) {
		s := g.days[day]
		add(jsonGroup{Day: day, Sessions: s.sessions, jsonTotals: totalsObject(s.usage, s.cost)})
	}
	d.write("\n ]")
	add = list("models")
	for _, name := range slices.Sorted(maps.Keys(g.models)) {
		add(modelObject(r, name, g.models[name]))
	}
	d.write("\n ],\n \"prices\": ")
	d.value(pricesObject(r))
	d.write(",\n \"skipped\": ")
	d.value(maps.Collect(skipped.Skipped()))
	d.write("\n}\n")
	if err := d.w.Flush(); d.err == nil {
		d.err = err
	}
	return d.err
}

func totalsObject(t translate.Tokens, cost translate.Opt[float64]) jsonTotals {
	return jsonTotals{t.InputTotal(), t.Output, t.CacheRead, t.CacheWrite, dollars(cost)}
}

func modelObject(r *report, name string, t translate.Tokens) jsonModel {
	out := jsonModel{
		Model: cmp.Or(name, "unknown"), jsonTokens: jsonTokens{t.Input, t.CacheRead, t.CacheWrite, t.Output}, UnpricedTokens: r.unpriced[name],
	}
	if usd, ok := r.costs[name]; ok {
		out.CostUSD = dollars(translate.Some(usd))
	}
	return out
}

func pricesObject(r *report) jsonPrices {
	out := jsonPrices{
		Catalogue: "built-in", Date: &r.pricing.date,
		ReportedUSD: *dollars(translate.Some(r.sources["reported"])), EstimatedUSD: *dollars(translate.Some(r.sources["estimated"])),
	}
	if r.pricing.file != "" {
		out.Catalogue, out.Date = r.pricing.file, nil
	}
	return out
}

func sessionObject(s *sessionReport) jsonSession {
	out := jsonSession{
		SessionID: s.id, Agent: s.agent, Format: s.format, Outcome: s.outcome,
		ModelCalls: s.calls - s.subcalls, SubagentModelCalls: s.subcalls, ToolCalls: s.tools, ToolOutcomes: s.outcomes,
		Subagents: s.subagents, Prompts: s.prompts, Tokens: map[string]jsonTokens{}, CostUSD: dollars(s.cost),
		Start: clock(s.start), End: clock(s.end), Project: s.project,
	}
	for model, t := range s.models {
		if model == "" {
			model = "unknown"
		}
		x := out.Tokens[model]
		out.Tokens[model] = jsonTokens{x.Input + t.Input, x.CacheRead + t.CacheRead, x.CacheWrite + t.CacheWrite, x.Output + t.Output}
	}
	return out
}

func (d *document) write(text string) {
	if _, err := d.w.WriteString(text); d.err == nil {
		d.err = err
	}
}

func (d *document) value(v any) {
	d.buf.Reset()
	err := d.enc.Encode(v)
	if err == nil {
		_, err = d.w.Write(bytes.TrimRight(d.buf.Bytes(), "\n"))
	}
	if d.err == nil {
		d.err = err
	}
}

// clock is a time as RFC 3339 in UTC.
func clock(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }

// dollars rounds away what adding binary fractions leaves behind the tenth digit.
func dollars(c translate.Opt[float64]) *float64 {
	if !c.OK {
		return nil
	}
	v := math.Round(c.V*1e10) / 1e10
	return &v
}
