// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package claude

import (
	"cmp"
	"slices"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
)

// subtypes has the rule of every known subtype of system records.
var subtypes = map[string]func(*Decoder, *row, *translate.Record){
	"init":              (*Decoder).start,
	"status":            (*Decoder).consume,
	"thinking_tokens":   (*Decoder).consume,
	"compact_boundary":  (*Decoder).compaction,
	"api_retry":         (*Decoder).retry,
	"permission_denied": (*Decoder).denied,
	"task_started":      (*Decoder).taskStarted,
	"task_progress":     (*Decoder).taskProgress,
	"task_updated":      (*Decoder).taskUpdated,
	"task_notification": (*Decoder).taskNotified,
}

func (d *Decoder) system(r *row, rec *translate.Record) bool {
	s, _ := r.fields[fSubtype].Plain()
	rule, ok := subtypes[string(s)]
	if !ok {
		rec.UnknownType = true
		d.unmapped(r, rec)
		return true
	}
	rule(d, r, rec)
	return true
}

func (d *Decoder) consume(*row, *translate.Record) {}

// unmapped reports a system record whose subtype has no rule.
func (d *Decoder) unmapped(r *row, rec *translate.Record) {
	rec.Unknowns = append(rec.Unknowns, d.unknownRecord(translate.UnknownSubtype, r, rec.Type))
}

// start decodes system/init. It comes again at each turn.
func (d *Decoder) start(r *row, rec *translate.Record) {
	rec.Start = &translate.Start{
		Model:          d.Name(r.fields[fModel], decode.MaxName),
		PermissionMode: d.Label(r.fields[fPermissionMode]),
	}
	for a := r.fields[fMCPServers].Array(); a.Next(); {
		for o := a.Object(); o.Next(); {
			if string(o.Name) != "name" {
				continue
			}
			if s := d.Name(o.Value(), decode.MaxName); s != "" {
				rec.MCP = append(rec.MCP, s)
			}
		}
	}
	// The longest first: a server name may begin with another one.
	slices.SortFunc(rec.MCP, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	rec.MCP = slices.Compact(rec.MCP)
}

func (d *Decoder) compaction(_ *row, rec *translate.Record) { rec.Compaction = true }

func (d *Decoder) retry(r *row, rec *translate.Record) {
	attempt, _ := r.fields[fAttempt].Int()
	rec.Retry = &translate.Retry{
		Attempt:    attempt,
		HTTPStatus: decode.HTTPStatus(r.fields[fErrorStatus]),
		Error:      d.Label(r.fields[fError]),
	}
}

func (d *Decoder) denied(r *row, rec *translate.Record) {
	rec.Agent.ID = d.SharedID(r.fields[fAgentID])
	rec.Denied = &translate.Denied{
		CallID: d.ID(r.fields[fToolUseID]),
		Tool:   d.Name(r.fields[fToolName], decode.MaxName),
	}
}

// task fills what the records about tasks share.
func (d *Decoder) task(kind translate.TaskKind, r *row, rec *translate.Record) *translate.Task {
	rec.Task = &translate.Task{
		Kind:      kind,
		ID:        d.ID(r.fields[fTaskID]),
		RunID:     d.ID(r.fields[fRunID]),
		CallID:    d.ID(r.fields[fToolUseID]),
		Type:      d.Label(r.fields[fTaskType]),
		AgentType: d.Name(r.fields[fAgentType], decode.MaxName),
		Quiet:     r.fields[fAmbient].True() || r.fields[fSkipTranscript].True(),
	}
	// Only the session knows whether a task is a subagent's: where it is, the record is mapped and the
	// session drops the unknown (event mapping, section 4.1).
	d.unmapped(r, rec)
	return rec.Task
}

func (d *Decoder) taskStarted(r *row, rec *translate.Record) {
	t := d.task(translate.TaskStarted, r, rec)
	t.Background = boolean(r.fields[fBackgrounded])
	t.Prompt = d.Text(r.fields[fPrompt], d.Opt.Capture.Prompts)
}

func (d *Decoder) taskProgress(r *row, rec *translate.Record) {
	t := d.task(translate.TaskProgress, r, rec)
	t.Workflow = d.workflow(r.fields[fWorkflow])
	rec.UnknownType = true
}

func (d *Decoder) taskUpdated(r *row, rec *translate.Record) {
	t := d.task(translate.TaskUpdated, r, rec)
	for o := r.fields[fPatch].Object(); o.Next(); {
		switch string(o.Name) {
		case "status":
			t.Status = d.Label(o.Value())
		case "end_time":
			t.EndTime, _ = d.Time(o.Value())
		case "is_backgrounded":
			t.Background = boolean(o.Value())
		}
	}
}

func (d *Decoder) taskNotified(r *row, rec *translate.Record) {
	t := d.task(translate.TaskNotified, r, rec)
	t.Status = d.Label(r.fields[fStatus])
}

// workflow reads the agents of a workflow (telemetry contract, ruling 47).
func (d *Decoder) workflow(v jsontok.Value) []translate.WorkflowAgent {
	var agents []translate.WorkflowAgent
	for a := v.Array(); a.Next(); {
		var w translate.WorkflowAgent
		agent := false
		for o := a.Object(); o.Next(); {
			switch string(o.Name) {
			case "type":
				s, _ := o.Value().Plain()
				agent = string(s) == "workflow_agent"
			case "agentId":
				w.ID = d.ID(o.Value())
			case "label":
				w.Label = d.Name(o.Value(), decode.MaxName)
			case "state":
				switch s, _ := o.Value().Plain(); string(s) {
				case "done", "completed":
					w.Done = true
				case "failed", "error", "killed":
					w.Done, w.Failed = true, true
				}
			case "startedAt":
				w.Start, _ = d.Time(o.Value())
			case "durationMs":
				w.Duration, _ = decode.Millis(o.Value())
			}
		}
		if agent && w.ID != "" {
			agents = append(agents, w)
		}
	}
	return agents
}

func boolean(v jsontok.Value) translate.Opt[bool] {
	b, ok := v.Bool()
	return translate.Opt[bool]{V: b, OK: ok}
}
