// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package claude

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
)

// SidecarType is the type of the record that stands for the file beside a subagent's transcript; its
// member "sidecar" is what that file holds. Who reads the transcript puts it before the first row.
const SidecarType = "agentstream.sidecar"

// transcripts has the rule of every known type of a transcript's rows. Every other row is unknown.
var transcripts = map[string]rule{
	"assistant":        (*Decoder).assistant,
	"user":             (*Decoder).transcriptUser,
	"system":           (*Decoder).system,
	"queue-operation":  (*Decoder).queue,
	"attachment":       (*Decoder).attachment,
	"progress":         (*Decoder).progress,
	SidecarType:        (*Decoder).sidecar,
	decode.ContextType: (*Decoder).context,
}

// NewTranscriptDecoder returns a decoder of the transcripts that Claude Code keeps. Their rows have an
// envelope of their own around the messages of a stream, and tell subagents and tasks in other ways.
func NewTranscriptDecoder(opt Options) *Decoder {
	d := newDecoder(opt, transcripts, knownIn(transcripts))
	d.transcript = true
	return d
}

// sidechain fills whose record it is: rows of subagents are marked, and before 2.0 have no agent id. The
// id on a row of the main agent means another.
func (d *Decoder) sidechain(r *row, rec *translate.Record) {
	if !r.fields[fSidechain].True() {
		return
	}
	rec.Agent.Sidechain = true
	rec.Agent.ID = d.SharedID(r.fields[fAgentID])
	rec.Agent.Type = d.Name(r.fields[fAgentType], decode.MaxName)
	if rec.Agent.ID == "" {
		rec.Agent.After = d.ID(r.fields[fParentUUID])
	}
}

// transcriptUser decodes a user row, which may also notify of the ends of tasks.
func (d *Decoder) transcriptUser(r *row, rec *translate.Record) bool {
	if !d.user(r, rec) {
		return false
	}
	for _, v := range d.texts {
		d.notifications(v, rec)
	}
	return true
}

// queue decodes an operation on the texts that wait for the agent. What is put there is a notification of
// the program, or what a person typed during a turn.
func (d *Decoder) queue(r *row, rec *translate.Record) bool {
	op, _ := r.fields[fOperation].Plain()
	switch string(op) {
	case "enqueue":
		d.readTexts(r.fields[fContent])
		for _, v := range d.texts {
			d.notifications(v, rec)
		}
		rec.Queue = &translate.Queue{Op: translate.QueueAdd}
		if !d.taskText() {
			rec.Queue.Prompt, _ = d.prompt(true)
		}
		// Copies of the row differ in the session that they name.
		sum := sha256.Sum256(append(append(d.Scratch[:0], r.fields[fTime]...), r.fields[fContent]...))
		rec.UUID, rec.Hash = "enqueue/"+hex.EncodeToString(sum[:12]), 0
	case "dequeue":
		rec.Queue = &translate.Queue{Op: translate.QueueTake}
	case "remove":
		rec.Queue = &translate.Queue{Op: translate.QueueDeliver}
	default:
		rec.Unknowns = append(rec.Unknowns, d.unknownRecord(translate.UnknownRecordType, r, rec.Type))
	}
	return true
}

// readTexts takes the texts of a content, a string or a list of blocks.
func (d *Decoder) readTexts(content jsontok.Value) {
	d.texts = d.texts[:0]
	if content.Kind() == jsontok.String {
		d.texts = append(d.texts, content)
	}
	for a := content.Array(); a.Next() && len(d.texts) < maxBlocks; {
		for o := a.Object(); o.Next(); {
			if string(o.Name) == "text" && o.Kind() == jsontok.String {
				d.texts = append(d.texts, o.Value())
			}
		}
	}
}

// taskText reports whether what was queued is the JSON text with which 2.1.5x tells of a task.
func (d *Decoder) taskText() bool {
	if len(d.texts) != 1 {
		return false
	}
	var buf [8]byte
	head := bytes.TrimLeft(d.texts[0].Head(buf[:0], len(buf)-4), spaces)
	if len(head) == 0 || head[0] != '{' {
		return false
	}
	s, _ := d.texts[0].Text()
	return strings.Contains(s, `"task_id"`)
}

// attachment decodes what the program adds to a turn. Only the notifications in it mean something.
func (d *Decoder) attachment(r *row, rec *translate.Record) bool {
	rec.UnknownType = true
	rec.Unknowns = append(rec.Unknowns, d.unknownRecord(translate.UnknownRecordType, r, rec.Type))
	for o := r.fields[fAttachment].Object(); o.Next(); {
		if string(o.Name) == "prompt" {
			d.readTexts(o.Value())
			for _, v := range d.texts {
				d.notifications(v, rec)
			}
		}
	}
	return true
}

// progress decodes what a running call tells. For a subagent that is a whole row of it (ruling 24).
func (d *Decoder) progress(r *row, rec *translate.Record) bool {
	var typ, message, id jsontok.Value
	for o := r.fields[fData].Object(); o.Next(); {
		switch string(o.Name) {
		case "type":
			typ = o.Value()
		case "message":
			message = o.Value()
		case "agentId":
			id = o.Value()
		}
	}
	var inner row
	for o := message.Object(); o.Next(); {
		inner.put(o.Name, o.Value())
	}
	kind, _ := typ.Plain()
	what, _ := inner.fields[fType].Plain()
	conversation := string(what) == "assistant" || string(what) == "user"
	if string(kind) != "agent_progress" || !conversation || !decode.IsID(id) {
		rec.UnknownType = true
		rec.Unknowns = append(rec.Unknowns, d.unknownRecord(translate.UnknownRecordType, r, rec.Type))
		return true
	}
	return d.agentRow(r, &inner, id, rec)
}

// agentRow decodes the row of a subagent that stands inside of another. That names its session.
func (d *Decoder) agentRow(outer, inner *row, id jsontok.Value, rec *translate.Record) bool {
	inner.part = outer.part
	session, t := rec.Session, rec.Time
	*rec = translate.Record{}
	d.envelope(inner, rec)
	rec.Session = session
	if rec.UUID == "" {
		rec.Hash = decode.Hash(outer.part.Bytes)
	}
	if rec.Time == 0 {
		rec.Time = t
	}
	rule := d.records[rec.Type]
	if rule == nil || !rule(d, inner, rec) {
		return false
	}
	rec.Agent = translate.AgentRef{
		Parent: d.SharedID(outer.fields[fProgressCall]), ID: d.SharedID(id), Type: rec.Agent.Type, Sidechain: true,
	}
	rec.Prompt = nil // what it was asked is its task
	return true
}

// sidecar decodes what the file beside a subagent's tells.
func (d *Decoder) sidecar(r *row, rec *translate.Record) bool {
	rec.Sidecar = &translate.Sidecar{}
	for o := r.fields[fSidecar].Object(); o.Next(); {
		switch string(o.Name) {
		case "agentType":
			rec.Sidecar.AgentType = d.Name(o.Value(), decode.MaxName)
		case "toolUseId":
			rec.Sidecar.CallID = d.SharedID(o.Value())
		}
	}
	return true
}

// maxNotifications bounds what one text may tell.
const maxNotifications = 1024

// notifications reads the ends of tasks that a text begins with. Elsewhere in a text it is quoted.
func (d *Decoder) notifications(v jsontok.Value, rec *translate.Record) {
	var buf [64]byte
	if head := bytes.TrimLeft(v.Head(buf[:0], len(buf)-4), spaces); len(head) == 0 || head[0] != '<' {
		return
	}
	s, _ := v.Text()
	for range maxNotifications {
		s = strings.TrimLeft(s, spaces)
		if s == "" || s[0] != '<' {
			return
		}
		name, ok := wrapper(s)
		if !ok {
			return
		}
		body, rest, _ := strings.Cut(s, "</"+name+">")
		if strings.HasSuffix(name, "-notification") {
			d.notification(body, rec)
		}
		s = rest
	}
}

// notification reads the end of a task. One without a status is none (ruling 28).
func (d *Decoder) notification(body string, rec *translate.Record) {
	end := translate.TaskEnd{Status: strings.TrimSpace(element(body, "status")), CallID: d.notified(body, "tool-use-id")}
	for _, name := range []string{"task-id", "agent-id", "shell-id"} {
		if end.TaskID = d.notified(body, name); end.TaskID != "" {
			break
		}
	}
	if terminal(end.Status) && (end.TaskID != "" || end.CallID != "") {
		rec.Ends = append(rec.Ends, end)
	}
}

// notified is the id in an element of a notification.
func (d *Decoder) notified(body, name string) string {
	return d.word(strings.TrimSpace(element(body, name)))
}

func element(s, name string) string {
	_, s, _ = strings.Cut(s, "<"+name+">")
	s, _, ok := strings.Cut(s, "</"+name+">")
	if !ok {
		return ""
	}
	return s
}
