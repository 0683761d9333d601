// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package claude

import (
	"strconv"
	"strings"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
)

// result decodes the record that ends a turn.
func (d *Decoder) result(r *row, rec *translate.Record) bool {
	t := &translate.Terminal{
		Subtype: rec.Subtype,
		IsError: r.fields[fIsError].True(),
		Reason:  d.Label(r.fields[fTerminalReason]),
		Usage:   d.usage(r.fields[fUsage]),
		Models:  d.modelUsage(r.fields[fModelUsage]),
	}
	rec.Terminal = t
	t.Cancelled = strings.HasPrefix(t.Reason, "aborted_")
	if n, ok := decode.Millis(r.fields[fDuration]); ok {
		t.Duration = translate.Some(n)
	}
	if n, ok := decode.Millis(r.fields[fAPIDuration]); ok {
		t.APIDuration = translate.Some(n)
	}
	if n, ok := r.fields[fTurns].Int(); ok {
		t.Turns = translate.Some(n)
	}
	if n, ok := r.fields[fResultIndex].Int(); ok {
		t.Index = translate.Some(n)
	}
	for _, f := range []field{fCost, fCostAlias, fCostOld} {
		if t.Cost = amount(r.fields[f]); t.Cost.OK {
			break
		}
	}
	d.denials(r.fields[fDenials], t)
	d.failure(r, t)
	return true
}

// denials reads the list of denied calls: objects, in old versions strings.
func (d *Decoder) denials(v jsontok.Value, t *translate.Terminal) {
	for a := v.Array(); a.Next(); {
		t.DenialCount++
		id := a.Value()
		if id.Kind() == jsontok.ObjectKind {
			id = nil
			for o := a.Object(); o.Next(); {
				if string(o.Name) == "tool_use_id" {
					id = o.Value()
				}
			}
		} else if s, ok := id.Plain(); !ok || !decode.IsLabel(string(s)) {
			continue
		}
		if decode.IsID(id) {
			t.Denials = append(t.Denials, d.ID(id))
		}
	}
}

// failure decides whether the record reports an error, and says which (event mapping, row result).
func (d *Decoder) failure(r *row, t *translate.Terminal) {
	subtype := r.fields[fSubtype]
	s, _ := subtype.Plain()
	wrong := subtype.Kind() == jsontok.String && string(s) != "success" && string(s) != "completion"
	status := r.fields[fAPIErrorStatus]
	t.Failed = t.IsError || wrong || !status.Missing()
	if !t.Failed {
		return
	}
	var words []string
	if wrong {
		words = append(words, "subtype="+t.Subtype)
	}
	if t.IsError {
		words = append(words, "is_error=true")
	}
	if !status.Missing() {
		words = append(words, "api_error_status="+d.shortJSON(status))
	}
	t.Message = strings.Join(words, ",")

	code := decode.HTTPStatus(status)
	switch {
	case code != 0:
		t.ErrorType = strconv.Itoa(code)
	case wrong && t.Subtype != "":
		t.ErrorType = t.Subtype
	case t.Reason != "" && t.Reason != "completed":
		t.ErrorType = t.Reason
	default:
		t.ErrorType = "error"
	}
	d.errorWords(r, t)
}

// shortJSON is a JSON value that may stand in a message: a number, a literal, or a string that is an
// identifier. Anything else could be content, so only its kind is told.
func (d *Decoder) shortJSON(v jsontok.Value) string {
	switch v.Kind() {
	case jsontok.Number, jsontok.Bool:
		return decode.Bound(string(v), decode.MaxLabel)
	case jsontok.String:
		if s := d.Label(v); s != "" {
			return `"` + s + `"`
		}
		return `"…"`
	case jsontok.ArrayKind:
		return "[…]"
	default:
		return "{…}"
	}
}

// errorWords is the error's own text: errors, in old versions error, after a success with an error
// the result.
func (d *Decoder) errorWords(r *row, t *translate.Terminal) {
	capture := d.Opt.Capture.Responses
	if list := r.fields[fErrors]; list.Kind() == jsontok.ArrayKind {
		var joined []string
		size := 0
		for a := list.Array(); a.Next(); {
			if a.Value().Kind() != jsontok.String {
				continue
			}
			size += d.Len(a.Value())
			if capture {
				s, _ := a.Value().Text()
				joined = append(joined, s)
			}
		}
		t.Text = d.Content(strings.Join(joined, "\n"))
		t.Text.Bytes = size
		if size > 0 {
			return
		}
	}
	for _, f := range []field{fError, fResult} {
		if v := r.fields[f]; decode.IsID(v) {
			t.Text = d.Text(v, capture)
			return
		}
	}
}
