// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package codex

import (
	"strings"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
)

// collabItem decodes a call that starts, asks or ends subagents.
func (d *RolloutDecoder) collabItem(e *entry) {
	name := d.Name(e.item.get("tool"), decode.MaxName)
	c, res := d.ended(e, name)
	if c == nil {
		return
	}
	c.Launch = name == "spawn_agent"
	d.setInput(c, "prompt", e.item.get("prompt"))
	c.Prompt = d.Text(e.item.get("prompt"), d.Opt.Capture.Prompts)
	if e.item.is("status", "failed") {
		res.Outcome, res.Success = translate.ToolError, translate.Some(false)
	}
	d.states(res, e.item.get("agents_states"))
	if c.Launch && len(res.Agents) == 0 && res.Outcome == translate.ToolOK {
		for a := e.item.get("receiver_thread_ids").Array(); a.Next() && len(res.Agents) < maxList; {
			if decode.IsID(a.Value()) {
				res.Agents = append(res.Agents, translate.AgentState{ID: d.ID(a.Value())})
			}
		}
	}
	d.orchestrate(e, c, res)
}

// orchestrate says that the call is about subagents, where it says something about any.
func (d *RolloutDecoder) orchestrate(e *entry, c *translate.Call, res *translate.Result) {
	if c.Launch || len(res.Agents) > 0 {
		c.Ops = []translate.Op{{Kind: translate.OpOrchestration}}
	}
	d.unknown(e, c)
}

// states reads the states of subagents: a name, or an object under that name.
func (d *RolloutDecoder) states(res *translate.Result, v jsontok.Value) {
	for o := v.Object(); o.Next() && len(res.Agents) < maxList; {
		if len(o.Name) > 0 {
			st := state(o.Value())
			st.ID = d.IDText(jsontok.Valid(o.Name))
			res.Agents = append(res.Agents, st)
		}
	}
}

func state(v jsontok.Value) (st translate.AgentState) {
	name, _ := v.Plain()
	for o := v.Object(); o.Next(); {
		name = o.Name
		if string(o.Name) == "status" {
			name, _ = o.Value().Plain()
			break
		}
	}
	st.Ended, st.Failed = ended(string(name))
	return st
}

// collabNames are the calls whose ends these events tell.
var collabNames = map[string]string{
	"collab_agent_spawn_end": "spawn_agent", "collab_agent_interaction_end": "send_input", "collab_waiting_end": "wait",
	"collab_close_end": "close_agent", "collab_resume_end": "resume_agent",
}

// collabEvent decodes the same in the shape of older versions.
func (d *RolloutDecoder) collabEvent(e *entry) {
	name := collabNames[e.rec.Subtype]
	c, res := d.ended(e, name)
	if c == nil {
		return
	}
	c.Launch = name == "spawn_agent"
	d.setInput(c, "prompt", e.p.get("prompt"))
	c.Prompt = d.Text(e.p.get("prompt"), d.Opt.Capture.Prompts)
	d.states(res, e.p.get("statuses"))
	if id := e.p.first("new_thread_id", "receiver_thread_id"); decode.IsID(id) {
		st := state(e.p.get("status"))
		st.ID = d.ID(id)
		res.Agents = append(res.Agents, st)
	}
	if c.Launch && len(res.Agents) == 0 {
		res.Outcome, res.Success = translate.ToolError, translate.Some(false)
	}
	d.orchestrate(e, c, res)
}

// activity decodes that a subagent of the second kind started or ended. Its start has the id of the call.
func (d *RolloutDecoder) activity(e *entry) {
	id := e.item.get("agent_thread_id")
	kind, _ := e.item.get("kind").Plain()
	if !decode.IsID(id) {
		d.unmapped(e)
		return
	}
	st := translate.AgentState{ID: d.ID(id)}
	st.Ended, st.Failed = ended(strings.ToLower(string(kind)))
	e.ro.Kind = translate.RolloutActivity
	e.rec.Results = []translate.Result{{CallID: d.ID(e.item.get("id")), Agents: []translate.AgentState{st}}}
}
