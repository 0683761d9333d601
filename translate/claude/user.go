// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package claude

import (
	"bytes"
	"strings"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
)

// user decodes a user row: results of tools, a prompt, an interruption, or text that the agent program
// injected.
func (d *Decoder) user(r *row, rec *translate.Record) bool {
	d.agent(r, rec)
	var content jsontok.Kind
	for o := d.Object(r.fields[fMessage]); o.Next(); {
		if string(o.Name) != "content" {
			continue
		}
		content = o.Kind()
		d.texts, d.media, rec.Results, rec.Unknowns = d.texts[:0], false, nil, nil
		if content == jsontok.String {
			d.texts = append(d.texts, o.Value())
		} else {
			d.userBlocks(rec, o.Array())
		}
	}
	if content != jsontok.String && content != jsontok.ArrayKind {
		return false
	}
	// What stands beside the message belongs to the row's result, where there is no doubt which one.
	if len(rec.Results) == 1 {
		d.resultMetadata(r.fields[fToolUseResult], &rec.Results[0])
	}
	d.resultMeta(r.fields[fToolResultMeta], rec.Results)
	d.judge(r, rec)
	return true
}

// userBlocks decodes the blocks of a user row; its texts are left to judge.
func (d *Decoder) userBlocks(rec *translate.Record, a jsontok.Array) {
	for n := 0; a.Next(); n++ {
		if n == maxBlocks {
			rec.Unknowns = append(rec.Unknowns, rest(a))
			return
		}
		var p parts
		d.readBlock(&a, &p)
		typ, _ := p.typ.Plain()
		switch {
		case string(typ) == "tool_result" && decode.IsID(p.toolUseID):
			rec.Results = append(rec.Results, d.toolResult(&p))
		case string(typ) == "text" && p.text.Kind() == jsontok.String:
			d.texts = append(d.texts, p.text)
		default:
			d.media = d.media || string(typ) == "image" || string(typ) == "document"
			rec.Unknowns = append(rec.Unknowns, d.unknownBlock(translate.UnknownBlock, &p))
		}
	}
}

// resultMeta marks the results of calls that were never executed.
func (d *Decoder) resultMeta(v jsontok.Value, results []translate.Result) {
	if len(results) == 0 {
		return
	}
	var denied map[string]bool
	for a := v.Array(); a.Next(); {
		var id, kind jsontok.Value
		for o := a.Object(); o.Next(); {
			switch string(o.Name) {
			case "id":
				id = o.Value()
			case "non_execution_kind":
				kind = o.Value()
			}
		}
		if s, _ := kind.Plain(); decode.IsID(id) && (string(s) == "permission-rule" || string(s) == "user-rejected") {
			if denied == nil {
				denied = map[string]bool{}
			}
			denied[d.ID(id)] = true
		}
	}
	for i := range results {
		if denied[results[i].CallID] {
			results[i].Denied = true
		}
	}
}

// judge finds the prompt or the interruption in the texts of a user row (telemetry contract, ruling 32).
func (d *Decoder) judge(r *row, rec *translate.Record) {
	human := len(rec.Results) == 0 && d.fromPerson(r, rec)
	rec.Prompt, rec.Interrupt = d.prompt(human)
	if d.transcript && human && d.media && len(d.texts) == 0 {
		rec.Prompt = &translate.Prompt{} // a picture alone asks, too
	}
	if rec.Prompt != nil {
		rec.Prompt.Replay = r.fields[fReplay].True()
	}
}

// prompt is what is left of the texts that were read when all is cut off that no person wrote; nil if that
// is nothing. Texts that are no person's may still tell an interruption.
func (d *Decoder) prompt(human bool) (prompt *translate.Prompt, interrupt bool) {
	var joined strings.Builder
	size, found := 0, false
	for _, v := range d.texts {
		s, whole, verdict := d.judgeText(v)
		switch verdict {
		case isInterruption:
			interrupt = true
		case isPrompt:
			if !human {
				continue
			}
			n := len(s)
			if whole {
				n = d.Len(v)
			}
			if d.Opt.Capture.Prompts {
				if whole {
					s, _ = v.Text()
				}
				if found {
					joined.WriteByte('\n')
				}
				joined.WriteString(s)
			}
			size += n
			found = true
		}
	}
	if !found {
		return nil, interrupt
	}
	prompt = &translate.Prompt{Text: translate.Text{Bytes: size}}
	if d.Opt.Capture.Prompts {
		prompt.Text = d.Content(joined.String())
		prompt.Text.Bytes = size
	}
	return prompt, interrupt
}

// fromPerson reports whether the envelope of a user row lets its text be a person's.
func (d *Decoder) fromPerson(r *row, rec *translate.Record) bool {
	for _, f := range []field{fSynthetic, fMeta, fCompactSummary, fSidechain} {
		if r.fields[f].True() {
			return false
		}
	}
	if !rec.Agent.Main() || !r.fields[fSourceTool].Missing() {
		return false
	}
	for o := r.fields[fOrigin].Object(); o.Next(); {
		if string(o.Name) == "kind" && o.Value().Kind() == jsontok.String {
			s, _ := o.Value().Plain()
			return string(s) == "human"
		}
	}
	return true
}

type verdict uint8

const (
	isNeither verdict = iota
	isPrompt
	isInterruption
)

const interruption = "[Request interrupted by user"

// judgeText judges one text block. It reads the whole text only where its beginning makes that
// necessary; whole says that s was not filled because the prompt is the whole text.
func (d *Decoder) judgeText(v jsontok.Value) (s string, whole bool, _ verdict) {
	var buf [64]byte
	head := bytes.TrimLeft(v.Head(buf[:0], len(buf)-4), spaces)
	switch {
	case len(head) == 0 && d.Len(v) <= len(buf)-4:
		return "", false, isNeither
	case len(head) > 0 && head[0] != '<' && head[0] != '[' && head[0] != 'U':
		return "", true, isPrompt
	}
	s, _ = v.Text()
	return judgeString(s)
}

const spaces = " \t\r\n"

func judgeString(s string) (rest string, whole bool, _ verdict) {
	rest = s
	for {
		rest = strings.TrimLeft(rest, spaces)
		switch {
		case rest == "":
			return "", false, isNeither
		case strings.HasPrefix(rest, interruption+"]"), strings.HasPrefix(rest, interruption+" for tool use]"):
			return "", false, isInterruption
		case strings.HasPrefix(rest, "Unknown skill: "):
			return "", false, isNeither
		case strings.HasPrefix(rest, "<command-name>"):
			return "", false, isNeither
		case rest[0] != '<':
			return rest, false, isPrompt
		}
		name, ok := wrapper(rest)
		if !ok {
			return rest, false, isPrompt
		}
		_, after, ok := strings.Cut(rest, "</"+name+">")
		if !ok {
			return "", false, isNeither
		}
		rest = after
	}
}

// wrappers are elements that agents put around injected text; a name that ends in a dash or an
// underscore stands for all names that begin so.
var wrappers = []string{
	"system-reminder", "bash-input", "bash-stdout", "bash-stderr", "local-command-", "ide_",
	"agent-notification", "bash-notification", "task-notification",
}

// wrapper is the name of the wrapper element that s begins with.
func wrapper(s string) (name string, ok bool) {
	end := strings.IndexAny(s[:min(len(s), 64)], "> \n")
	if end < 0 {
		return "", false
	}
	name = s[1:end]
	for _, w := range wrappers {
		if name == w || strings.HasPrefix(name, w) && (strings.HasSuffix(w, "-") || strings.HasSuffix(w, "_")) {
			return name, true
		}
	}
	return "", false
}
