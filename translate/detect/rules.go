// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package detect

import (
	"slices"
	"strings"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
)

// rule is one row of the detection table. A weak rule does not decide where another agent's records
// look the same.
type rule struct {
	format translate.Format
	weak   bool
	match  func(*facts) bool
}

var (
	rolloutTypes = []string{
		"session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state", "token_usage_record",
		"inter_agent_communication_metadata",
	}
	clineTypes = []string{
		"agent_event", "hook_event", "run_start", "run_result", "run_aborted", "run_abort_requested", "team_event",
		"team_restored", "zen_dispatched",
	}
	gooseTypes = []string{"notification", "model_change", "complete"}
	piTypes    = []string{
		"session", "agent_start", "agent_end", "turn_start", "turn_end", "message_start", "message_update", "message_end",
		"tool_execution_start", "tool_execution_update", "tool_execution_end", "compaction_start", "compaction_end",
		"auto_retry_start", "auto_retry_end",
	}
)

// rules is the detection table: the first rule that matches a record decides.
var rules = []rule{
	{format: translate.FormatCodexExec, match: func(f *facts) bool {
		return f.typ == "thread.started" || strings.HasPrefix(f.typ, "turn.") || strings.HasPrefix(f.typ, "item.")
	}},
	{format: translate.FormatCodexRollout, match: func(f *facts) bool {
		return f.timestamp && f.payload && slices.Contains(rolloutTypes, f.typ)
	}},
	{format: translate.FormatCline, match: func(f *facts) bool { return slices.Contains(clineTypes, f.typ) }},
	{format: translate.FormatClineLegacy, match: func(f *facts) bool {
		return (f.typ == "say" || f.typ == "ask") && f.tsNumber || f.first && f.typ == "task_started" && f.taskID
	}},
	{format: FormatCopilotCLI, match: func(f *facts) bool {
		return f.typ != "" && f.id && f.parentID && f.timestamp && f.data
	}},
	{format: FormatOpenCode, match: func(f *facts) bool { return f.sessionIDCapital }},
	{format: FormatCursor, match: func(f *facts) bool { return f.typ == "tool_call" && f.callID && f.toolCall }},
	{format: FormatDroid, match: func(f *facts) bool {
		return f.typ == "tool_call" && f.toolName && f.parameters || f.typ == "completion" && f.finalText
	}},
	{format: FormatQwenCode, match: func(f *facts) bool {
		return f.qwenVersion || f.typ == "system" && f.subtype == "init" && f.permissionMode
	}},
	{format: FormatAmp, match: func(f *facts) bool { return strings.HasPrefix(f.sessionID, "T-") }},
	{format: FormatGeminiCLI, match: func(f *facts) bool {
		return f.timestamp && (f.geminiToolName || f.toolID) || f.typ == "init" && f.sessionID != "" && f.model
	}},
	{format: FormatGoose, match: func(f *facts) bool {
		return f.typ == "message" && f.gooseContent || f.besideMessage && slices.Contains(gooseTypes, f.typ)
	}},
	{format: FormatPi, match: func(f *facts) bool { return slices.Contains(piTypes, f.typ) }},
	// A session file of Qwen Code passes for one of Claude Code; it has no decoder.
	{format: translate.FormatGeneric, match: func(f *facts) bool {
		return f.uuid && f.parentUUID && (f.messageParts || f.systemPayload || f.usageMetadata || f.provenance)
	}},
	{format: translate.FormatClaudeCodeTranscript, match: func(f *facts) bool {
		return f.sessionIDCamel && (f.uuid || f.message) || f.parentUUID || f.isSidechain
	}},
	{format: translate.FormatClaudeCode, match: func(f *facts) bool {
		return f.claudeVersion || f.sessionID != "" && f.uuid || f.typ == "result" && f.subtype != "" && f.usage
	}},
	{format: translate.FormatClaudeCode, weak: true, match: func(f *facts) bool {
		return (f.typ == "assistant" || f.typ == "user") && f.message || f.typ == "result" && f.subtype != ""
	}},
}

// facts are what the rules ask of one record.
type facts struct {
	typ, subtype, sessionID string

	first         bool // it is the source's first record
	besideMessage bool // a record of type message came before

	timestamp, payload, tsNumber, taskID, id, parentID, data, sessionIDCapital, callID, toolCall, toolName, parameters,
	finalText, qwenVersion, permissionMode, geminiToolName, toolID, model, message, messageParts, gooseContent, uuid,
	parentUUID, systemPayload, usageMetadata, provenance, sessionIDCamel, isSidechain, claudeVersion, tools, usage bool
}

func (f *facts) read(members []jsontok.Member) {
	*f = facts{}
	for _, m := range members {
		v := m.Value
		there := !v.Missing()
		object := v.Kind() == jsontok.ObjectKind
		switch string(m.Name) {
		case "type":
			f.typ, _ = shortText(v)
		case "subtype":
			f.subtype, _ = shortText(v)
		case "session_id":
			f.sessionID, _ = shortText(v)
		case "timestamp":
			f.timestamp = there
		case "payload":
			f.payload = object
		case "ts":
			f.tsNumber = v.Kind() == jsontok.Number
		case "taskId":
			f.taskID = there
		case "id":
			f.id = there
		case "parentId":
			f.parentID = true // null on the first record
		case "data":
			f.data = object
		case "sessionID":
			f.sessionIDCapital = v.Kind() == jsontok.String
		case "call_id":
			f.callID = there
		case "tool_call":
			f.toolCall = object
		case "toolName":
			f.toolName = there
		case "parameters":
			f.parameters = true
		case "finalText":
			f.finalText = true
		case "qwen_code_version":
			f.qwenVersion = there
		case "permission_mode":
			f.permissionMode = there
		case "tool_name":
			f.geminiToolName = there
		case "tool_id":
			f.toolID = there
		case "model":
			f.model = there
		case "message":
			f.readMessage(v)
		case "uuid":
			f.uuid = there
		case "parentUuid":
			f.parentUUID = true // null on the first row of a chain
		case "systemPayload":
			f.systemPayload = there
		case "usageMetadata":
			f.usageMetadata = there
		case "provenance":
			f.provenance = there
		case "sessionId":
			f.sessionIDCamel = v.Kind() == jsontok.String
		case "isSidechain":
			f.isSidechain = true
		case "claude_code_version":
			f.claudeVersion = there
		case "tools":
			f.tools = there
		case "usage", "modelUsage", "total_cost_usd":
			f.usage = true
		}
	}
}

func (f *facts) readMessage(v jsontok.Value) {
	f.message = v.Kind() == jsontok.ObjectKind
	for o := v.Object(); o.Next(); {
		switch string(o.Name) {
		case "parts":
			f.messageParts = o.Value().Kind() == jsontok.ArrayKind
		case "usageMetadata":
			f.usageMetadata = true
		case "content":
			for a := o.Array(); !f.gooseContent && a.Next(); {
				for b := a.Object(); b.Next(); {
					if string(b.Name) == "type" {
						typ, _ := shortText(b.Value())
						f.gooseContent = f.gooseContent || typ == "toolRequest" || typ == "toolResponse"
					}
				}
			}
		}
	}
}

// cursorInit reports whether the record is an init as Cursor writes it: Claude's, but without what
// Claude always has.
func (f *facts) cursorInit() bool {
	return f.typ == "system" && f.subtype == "init" && !f.uuid && !f.tools && !f.claudeVersion
}

// shortText is a text that some rule may compare; long ones are none of those.
func shortText(v jsontok.Value) (string, bool) {
	if len(v) > 256 {
		return "", false
	}
	return v.Text()
}
