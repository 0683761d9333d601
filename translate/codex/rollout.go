// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package codex

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
)

// RolloutDecoder turns lines of a rollout, the file that Codex keeps of a thread, into records. It keeps
// no state from line to line except buffers and caches that change no result. It is not safe for
// concurrent use.
type RolloutDecoder struct {
	decode.Base
	nested jsontok.Splitter
	texts  []byte
}

// NewRolloutDecoder returns a decoder of rollouts.
func NewRolloutDecoder(opt Options) *RolloutDecoder {
	d := &RolloutDecoder{}
	d.Init(opt, d.object, knownRollout)
	return d
}

// Decode appends what line says to out and returns it, as Decoder.Decode does.
func (d *RolloutDecoder) Decode(line []byte, out []translate.Decoded) []translate.Decoded {
	return d.Line(line, out)
}

// members are the members of an object, in input order.
type members []jsontok.Member

// get is the value of a key, the last one where it comes again; nil when there is none.
func (m members) get(key string) jsontok.Value {
	for i := len(m) - 1; i >= 0; i-- {
		if string(m[i].Name) == key {
			return m[i].Value
		}
	}
	return nil
}

// first is the first of the keys that has a value.
func (m members) first(keys ...string) jsontok.Value {
	for _, k := range keys {
		if v := m.get(k); !v.Missing() {
			return v
		}
	}
	return nil
}

// is reports whether a key has this text.
func (m members) is(key, text string) bool {
	s, _ := m.get(key).Plain()
	return string(s) == text
}

// maxMembers bounds the members of one object that are read.
const maxMembers = 1 << 12

// open reads the members of an object; a value that is none has none.
func open(v jsontok.Value) members {
	var m members
	for o := v.Object(); o.Next() && len(m) < maxMembers; {
		m = append(m, jsontok.Member{Name: o.Name, Value: o.Value()})
	}
	return m
}

// entry is one row: its payload, and the item in that.
type entry struct {
	raw  jsontok.Value
	p    members // the payload
	item members // of an item_completed
	rec  *translate.Record
	ro   *translate.Rollout
	bad  bool // a field that others depend on has a wrong type
}

// rowRule decodes one type of row.
type rowRule func(*RolloutDecoder, *entry)

// rows has the rule of every type of row; those of response_item and event_msg look at the payload's type
// (event mapping, section 6.2).
var rows, responseItems, events, items map[string]rowRule

func init() {
	rows = map[string]rowRule{
		"session_meta":                       (*RolloutDecoder).meta,
		"turn_context":                       (*RolloutDecoder).turnContext,
		"response_item":                      (*RolloutDecoder).responseItem,
		"event_msg":                          (*RolloutDecoder).event,
		"compacted":                          (*RolloutDecoder).compaction,
		"world_state":                        (*RolloutDecoder).consumed,
		"token_usage_record":                 (*RolloutDecoder).usageRecord,
		"inter_agent_communication_metadata": (*RolloutDecoder).consumed,
	}
	responseItems = map[string]rowRule{
		"message":                 (*RolloutDecoder).message,
		"agent_message":           (*RolloutDecoder).consumed,
		"additional_tools":        (*RolloutDecoder).consumed,
		"reasoning":               (*RolloutDecoder).reasoning,
		"local_shell_call":        (*RolloutDecoder).callRow,
		"function_call":           (*RolloutDecoder).callRow,
		"custom_tool_call":        (*RolloutDecoder).callRow,
		"tool_search_call":        (*RolloutDecoder).callRow,
		"function_call_output":    (*RolloutDecoder).output,
		"custom_tool_call_output": (*RolloutDecoder).output,
		"tool_search_output":      (*RolloutDecoder).output,
		"web_search_call":         (*RolloutDecoder).search,
		"image_generation_call":   (*RolloutDecoder).imageGeneration,
		"compaction":              (*RolloutDecoder).compaction,
		"other":                   (*RolloutDecoder).unmapped,
	}
	events = map[string]rowRule{
		"user_message":                 (*RolloutDecoder).userMessage,
		"agent_message":                (*RolloutDecoder).agentMessage,
		"agent_reasoning":              (*RolloutDecoder).agentReasoning,
		"token_count":                  (*RolloutDecoder).tokenCount,
		"task_started":                 (*RolloutDecoder).turnStarted,
		"turn_started":                 (*RolloutDecoder).turnStarted,
		"task_complete":                (*RolloutDecoder).turnComplete,
		"turn_complete":                (*RolloutDecoder).turnComplete,
		"turn_aborted":                 (*RolloutDecoder).turnAborted,
		"context_compacted":            (*RolloutDecoder).compaction,
		"thread_settings_applied":      (*RolloutDecoder).consumed,
		"thread_name_updated":          (*RolloutDecoder).consumed,
		"item_completed":               (*RolloutDecoder).itemCompleted,
		"error":                        (*RolloutDecoder).failureEvent,
		"exec_command_end":             (*RolloutDecoder).commandEnd,
		"patch_apply_end":              (*RolloutDecoder).patchEnd,
		"mcp_tool_call_end":            (*RolloutDecoder).mcpEnd,
		"view_image_tool_call":         (*RolloutDecoder).imageEnd,
		"web_search_end":               (*RolloutDecoder).search,
		"collab_agent_spawn_end":       (*RolloutDecoder).collabEvent,
		"collab_agent_interaction_end": (*RolloutDecoder).collabEvent,
		"collab_waiting_end":           (*RolloutDecoder).collabEvent,
		"collab_close_end":             (*RolloutDecoder).collabEvent,
		"collab_resume_end":            (*RolloutDecoder).collabEvent,
		"thread_rolled_back":           (*RolloutDecoder).unmapped,
		"entered_review_mode":          (*RolloutDecoder).review,
		"exited_review_mode":           (*RolloutDecoder).review,
	}
	items = map[string]rowRule{
		"UserMessage":         (*RolloutDecoder).userMessage,
		"AgentMessage":        (*RolloutDecoder).agentMessage,
		"Reasoning":           (*RolloutDecoder).reasoningItem,
		"CommandExecution":    (*RolloutDecoder).commandEnd,
		"FileChange":          (*RolloutDecoder).patchEnd,
		"McpToolCall":         (*RolloutDecoder).mcpEnd,
		"ImageView":           (*RolloutDecoder).imageEnd,
		"CollabAgentToolCall": (*RolloutDecoder).collabItem,
		"SubAgentActivity":    (*RolloutDecoder).activity,
		"WebSearch":           (*RolloutDecoder).search,
		"ContextCompaction":   (*RolloutDecoder).compaction,
		"EnteredReviewMode":   (*RolloutDecoder).review,
		"ExitedReviewMode":    (*RolloutDecoder).review,
		"Plan":                (*RolloutDecoder).unmapped,
	}
}

// knownRollout tells rows from payloads and other objects when a line is broken.
func knownRollout(m []jsontok.Member) bool {
	s, ok := members(m).get("type").Plain()
	if !ok {
		return false
	}
	if string(s) == decode.ContextType {
		return true
	}
	_, known := rows[string(s)]
	return known && members(m).get("payload") != nil
}

func (d *RolloutDecoder) object(p jsontok.Part) {
	m := members(p.Members)
	typ := m.get("type")
	if typ.Kind() != jsontok.String {
		d.BadShape(p.Bytes, "")
		return
	}
	rec := &translate.Record{Type: d.Label(typ), UUID: digest(p.Bytes)}
	if s, _ := typ.Plain(); string(s) == decode.ContextType {
		rec.Context = d.Context(m.get("traceparent"), m.get("attributes"))
		d.Record(rec)
		return
	}
	payload := m.get("payload")
	d.Scratch = typ.AppendText(d.Scratch[:0])
	rule, known := rows[string(d.Scratch)]
	if known && payload.Kind() != jsontok.ObjectKind {
		d.BadShape(p.Bytes, rec.Type)
		return
	}
	if v := m.get("timestamp"); !v.Missing() {
		t, ok := d.Time(v)
		rec.Time, rec.InvalidTime = t, !ok
	}
	rec.Rollout = &translate.Rollout{Ordinal: decode.Count(m.get("ordinal"))}
	e := &entry{raw: p.Bytes, p: open(payload), rec: rec, ro: rec.Rollout}
	if known {
		rule(d, e)
	} else {
		d.strange(e, translate.UnknownRecordType)
	}
	if e.bad {
		d.BadShape(p.Bytes, rec.Type)
		return
	}
	d.Record(rec)
}

// digest is what a row is known by that has no id: copies of a file have the same rows. It is the same
// in every process, since logs are named after it.
func digest(row []byte) string {
	sum := sha256.Sum256(row)
	return hex.EncodeToString(sum[:16])
}

func (d *RolloutDecoder) consumed(*entry) {}

// unmapped reports a row of a known type that no event stands for.
func (d *RolloutDecoder) unmapped(e *entry) { d.report(e, translate.UnknownSubtype) }

// strange reports a row of an unknown type.
func (d *RolloutDecoder) strange(e *entry, reason translate.UnknownReason) {
	e.rec.UnknownType = true
	d.report(e, reason)
}

func (d *RolloutDecoder) report(e *entry, reason translate.UnknownReason) {
	e.rec.Unknowns = append(e.rec.Unknowns, d.Unknown(reason, e.rec.Type, e.raw))
}

// inner decodes by the type of the payload or of the item in it.
func (d *RolloutDecoder) inner(e *entry, typ jsontok.Value, rules map[string]rowRule) {
	e.rec.Subtype = d.Label(typ)
	d.Scratch = typ.AppendText(d.Scratch[:0])
	rule, known := rules[string(d.Scratch)]
	switch {
	case !known:
		d.strange(e, translate.UnknownSubtype)
	default:
		rule(d, e)
	}
}

func (d *RolloutDecoder) responseItem(e *entry) {
	d.inner(e, e.p.get("type"), responseItems)
}

func (d *RolloutDecoder) event(e *entry) {
	e.ro.Shape = translate.ShapeEvent
	e.ro.Thread = d.SharedID(e.p.get("thread_id"))
	d.inner(e, e.p.get("type"), events)
}

func (d *RolloutDecoder) itemCompleted(e *entry) {
	e.ro.Shape = translate.ShapeItem
	e.item = open(e.p.get("item"))
	d.inner(e, e.item.get("type"), items)
}

// told is the object that tells of an event: the item, or the payload where there is none.
func (e *entry) told() members {
	if e.item != nil {
		return e.item
	}
	return e.p
}

// meta decodes the row that names a thread.
func (d *RolloutDecoder) meta(e *entry) {
	if !decode.IsID(e.p.get("id")) {
		e.bad = true
		return
	}
	t := &translate.Thread{
		ID: d.SharedID(e.p.get("id")), Forked: d.SharedID(e.p.get("forked_from_id")),
		First:    decode.Count(e.p.get("subagent_history_start_ordinal")),
		Shared:   !e.p.get("history_base").Missing() || !e.p.get("forked_from_ordinal_exclusive").Missing(),
		Provider: provider(d.Label(e.p.get("model_provider"))),
	}
	if at, ok := d.Time(e.p.get("timestamp")); ok {
		t.Begun = at
	}
	for o := e.p.get("source").Object(); o.Next(); {
		if string(o.Name) == "subagent" {
			t.Subagent = !o.Value().Missing()
			d.subagent(o.Value(), t)
		}
	}
	if t.Subagent {
		for _, key := range []string{"parent_thread_id", "session_id"} {
			if id := d.SharedID(e.p.get(key)); id != "" && id != t.ID {
				t.Parents = append([]string{id}, t.Parents...)
			}
		}
	}
	e.ro.Kind, e.ro.Meta = translate.RolloutMeta, t
	e.rec.CWD = d.Name(e.p.get("cwd"), decode.MaxPath)
	e.rec.Version = d.Name(e.p.get("cli_version"), decode.MaxName)
	if git := open(e.p.get("git")); git != nil && d.Opt.Capture.Identity {
		e.rec.Branch = d.Text(git.get("branch"), true)
	}
}

// subagent reads what kind of subagent a thread is: a name, or an object under that name.
func (d *RolloutDecoder) subagent(v jsontok.Value, t *translate.Thread) {
	if v.Kind() == jsontok.String {
		t.Type = d.Name(v, decode.MaxName)
		return
	}
	for o := v.Object(); o.Next(); {
		if string(o.Name) != "thread_spawn" {
			continue
		}
		spawn := open(o.Value())
		t.Type = d.Name(spawn.get("agent_role"), decode.MaxName)
		if id := d.SharedID(spawn.get("parent_thread_id")); id != "" && id != t.ID {
			t.Parents = append(t.Parents, id)
		}
	}
}

// provider is the name of a provider in the GenAI conventions, where that differs from Codex's.
func provider(name string) string {
	switch name {
	case "":
		return "openai"
	case "azure":
		return "azure.ai.openai"
	case "amazon-bedrock":
		return "aws.bedrock"
	}
	return name
}

func (d *RolloutDecoder) turnContext(e *entry) {
	e.ro.Kind = translate.RolloutContext
	e.ro.Turn = d.SharedID(e.p.get("turn_id"))
	e.ro.Model = d.Name(e.p.get("model"), decode.MaxName)
	e.rec.CWD = d.Name(e.p.get("cwd"), decode.MaxPath)
	e.rec.PermissionMode = d.Label(e.p.get("approval_policy"))
}

func (d *RolloutDecoder) turnStarted(e *entry) {
	e.ro.Kind = translate.RolloutTurn
	e.ro.Turn = d.SharedID(e.p.get("turn_id"))
	e.rec.Turn = &translate.Turn{Begin: true}
}

func (d *RolloutDecoder) turnComplete(e *entry) {
	e.ro.Kind = translate.RolloutTurnEnd
	e.rec.Terminal = &translate.Terminal{}
	if v := e.p.get("error"); !v.Missing() {
		e.rec.Terminal.Failed = true
		e.rec.Failure = d.failure(errorMessage(v), errorClass(open(v)))
		e.rec.Terminal.ErrorType = e.rec.Failure.Type
	}
}

func (d *RolloutDecoder) turnAborted(e *entry) {
	e.ro.Kind = translate.RolloutTurnEnd
	e.rec.Terminal = &translate.Terminal{Cancelled: true, Reason: d.Label(e.p.get("reason"))}
	e.rec.Interrupt = true
}

func (d *RolloutDecoder) failureEvent(e *entry) {
	e.rec.Failure = d.failure(e.p.get("message"), errorClass(e.p))
}

// errorClass is what Codex calls the error: a name, or an object under that name.
func errorClass(m members) jsontok.Value {
	v := m.get("codex_error_info")
	for o := v.Object(); o.Next(); {
		return append(append(jsontok.Value{'"'}, o.Name...), '"')
	}
	return v
}

func (d *RolloutDecoder) failure(message, class jsontok.Value) *translate.Failure {
	f := &translate.Failure{Type: errorType(message), Text: d.Text(message, d.Opt.Capture.Responses)}
	if f.Type == "" {
		f.Type = d.Label(class)
	}
	return f
}

func (d *RolloutDecoder) compaction(e *entry) { e.ro.Kind = translate.RolloutCompaction }

func (d *RolloutDecoder) review(e *entry) {
	e.ro.Kind = translate.RolloutReview
	d.unmapped(e)
}

func (d *RolloutDecoder) tokenCount(e *entry) {
	info := open(e.p.get("info"))
	if total := runningTotal(info.get("total_token_usage")); total != nil {
		e.ro.Kind, e.ro.Total = translate.RolloutTotal, total
		e.ro.Last = runningTotal(info.get("last_token_usage"))
	}
}

// usageRecord decodes the usage of a response. Rows of older versions name no response: they are growing
// counts of a turn that token_count tells as well.
func (d *RolloutDecoder) usageRecord(e *entry) {
	e.ro.Thread = d.SharedID(e.p.get("thread_id"))
	usage := runningTotal(e.p.get("usage"))
	if !decode.IsID(e.p.get("response_id")) || usage == nil {
		return
	}
	e.ro.Kind, e.ro.ID = translate.RolloutUsage, d.ID(e.p.get("response_id"))
	e.ro.Total = runningTotal(e.p.get("thread_token_usage"))
	e.ro.Last = usage
}

// modelRow says that the row belongs to the response that its agent is writing.
func (e *entry) modelRow(blocks ...translate.Block) {
	e.rec.Response = &translate.Response{Loose: true, Blocks: blocks}
}

// message decodes a message of the conversation. Those of users also hold what the program put in: the
// prompts among them are told by events.
func (d *RolloutDecoder) message(e *entry) {
	if !e.p.is("role", "assistant") {
		return
	}
	d.say(e, e.p.get("content"), "output_text")
}

func (d *RolloutDecoder) agentMessage(e *entry) {
	if e.item != nil {
		content := e.item.get("content")
		if content.Missing() {
			content = e.item.get("text")
		}
		d.say(e, content, "Text")
		return
	}
	d.say(e, e.p.get("message"), "")
}

func (d *RolloutDecoder) say(e *entry, content jsontok.Value, typ string) {
	e.ro.Kind, e.ro.ID = translate.RolloutText, d.ID(e.told().get("id"))
	text := d.joined(content, typ, "text", d.Opt.Capture.Responses, e.ro, true)
	e.modelRow(translate.Block{Kind: translate.BlockText, Text: text})
	if text.Bytes == 0 {
		e.rec.Response.Blocks = nil
	}
}

// joined is the text of a string, or of the parts of a type in a list. What the parts are known by is
// noted in ro; whole says that they are one text.
func (d *RolloutDecoder) joined(v jsontok.Value, typ, key string, capture bool, ro *translate.Rollout, whole bool) translate.Text {
	d.texts = d.texts[:0]
	note := func(from int) {
		if len(d.texts) > from {
			ro.Parts = append(ro.Parts, decode.Hash(d.texts[from:]))
		}
	}
	if v.Kind() == jsontok.String {
		d.texts = v.AppendText(d.texts)
		note(0)
	}
	n := 0
	for a := v.Array(); a.Next() && n < maxList; n++ {
		from := len(d.texts)
		if part := a.Value(); part.Kind() == jsontok.String {
			d.texts = part.AppendText(d.texts)
		} else if b := open(part); typ == "" || b.is("type", typ) {
			d.texts = b.get(key).AppendText(d.texts)
		}
		if !whole {
			note(from)
		}
	}
	if whole && v.Kind() == jsontok.ArrayKind {
		note(0)
	}
	text := translate.Text{Bytes: len(d.texts)}
	if capture {
		text = d.Content(string(d.texts))
	}
	if cap(d.texts) > decode.MaxKept {
		d.texts = nil
	}
	return text
}

func (d *RolloutDecoder) reasoning(e *entry) {
	d.think(e, e.p.get("summary"), e.p.get("content"))
}

func (d *RolloutDecoder) reasoningItem(e *entry) {
	d.think(e, e.item.get("summary_text"), e.item.get("raw_content"))
}

func (d *RolloutDecoder) agentReasoning(e *entry) {
	d.think(e, e.p.get("text"), nil)
}

// think decodes reasoning: its summary, else the text itself where that is readable.
func (d *RolloutDecoder) think(e *entry, summary, content jsontok.Value) {
	e.ro.Kind, e.ro.ID = translate.RolloutThought, d.ID(e.told().get("id"))
	text := d.joined(summary, "", "text", d.Opt.Capture.Reasoning, e.ro, false)
	if text.Bytes == 0 {
		text = d.joined(content, "", "text", d.Opt.Capture.Reasoning, e.ro, false)
	}
	e.modelRow()
	if text.Bytes > 0 {
		e.rec.Response.Blocks = []translate.Block{{Kind: translate.BlockThinking, Text: text}}
	}
}

func (d *RolloutDecoder) userMessage(e *entry) {
	content := e.p.get("message")
	if e.item != nil {
		content = e.item.get("content")
	}
	e.ro.Kind = translate.RolloutPrompt
	e.rec.Prompt = &translate.Prompt{Text: d.joined(content, "text", "text", d.Opt.Capture.Prompts, e.ro, true)}
}
