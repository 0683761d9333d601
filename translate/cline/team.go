// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package cline

import (
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
)

// teamEvent decodes the event of a team. Those that are no teammate's work are reported as unknown, also
// where they tell something.
func (d *Decoder) teamEvent(r *row, rec *translate.Record) {
	raw := r.get("event")
	e := d.wrapped.read(raw)
	rec.Subtype = d.Label(e.get("type"))
	rec.Loop = &translate.Loop{Name: d.Name(e.get("agentId"), decode.MaxName)}
	typ, _ := e.get("type").Plain()
	switch kind := string(typ); {
	case kind == "agent_event" && rec.Loop.Name != "" && e.get("event").Kind() == jsontok.ObjectKind:
		own := e.get("event")
		d.innerEvent(&inner{object: d.event.read(own), raw: own, mate: rec.Loop.Name}, rec)
	case kind == "task_start" && rec.Loop.Name != "":
		rec.Loop.Kind = translate.LoopRun
	case kind == "task_end" && rec.Loop.Name != "":
		rec.Loop.Kind, rec.Loop.Failed = translate.LoopRunEnd, !e.is("status", "completed")
	case kind == "teammate_spawned":
		rec.Loop.Kind = translate.LoopMate
		rec.Loop.Agent = d.SharedID(d.item.read(e.get("teammate")).get("runtimeAgentId"))
		d.unmapped(r, rec)
	default:
		d.unmapped(r, rec)
	}
}
