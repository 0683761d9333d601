// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package claude

import (
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
)

// row is one record while it is decoded. Its values alias the line.
type row struct {
	part   jsontok.Part
	fields [fieldCount]jsontok.Value
	set    []field // the fields that have a value: few of many, so only these are cleared
}

func (r *row) read(p jsontok.Part) {
	r.part = p
	for _, m := range p.Members {
		r.put(m.Name, m.Value)
	}
}

// put takes a member. A later duplicate overwrites, as in the agent's own reading of JSON.
func (r *row) put(name []byte, v jsontok.Value) {
	if f := fieldOf[string(name)]; f != fOther {
		if r.fields[f] == nil {
			r.set = append(r.set, f)
		}
		r.fields[f] = v
	}
}

func (r *row) clear() {
	for _, f := range r.set {
		r.fields[f] = nil
	}
	r.set = r.set[:0]
	r.part = jsontok.Part{}
}

type field uint8

// The members of records that some rule reads. fOther stands for all others.
const (
	fOther field = iota
	fType
	fSubtype
	fSession
	fUUID
	fTime
	fParent
	fAgentID
	fAgentType
	fCWD
	fVersion
	fBranch
	fPermissionMode
	fModel
	fMCPServers
	fMessage
	fError
	fAPIError
	fAPIErrorStatus
	fReplay
	fSynthetic
	fMeta
	fCompactSummary
	fSidechain
	fSourceTool
	fOrigin
	fToolUseResult
	fToolResultMeta
	fEvent
	fTTFT
	fRateLimit
	fNewConversation
	fTraceparent
	fAttributes
	fAttempt
	fErrorStatus
	fToolName
	fToolUseID
	fTaskID
	fRunID
	fTaskType
	fStatus
	fPatch
	fPrompt
	fBackgrounded
	fAmbient
	fSkipTranscript
	fWorkflow
	fIsError
	fTerminalReason
	fDuration
	fAPIDuration
	fTurns
	fCost
	fCostAlias
	fCostOld
	fUsage
	fModelUsage
	fDenials
	fResultIndex
	fErrors
	fResult
	fParentUUID
	fOperation
	fContent
	fAttachment
	fData
	fProgressCall
	fSidecar
	fieldCount
)

// fieldOf has the spellings of streams and, where they differ, of transcripts.
var fieldOf = map[string]field{
	"type": fType, "subtype": fSubtype,
	"session_id": fSession, "sessionId": fSession,
	"uuid": fUUID, "timestamp": fTime,
	"parent_tool_use_id": fParent, "parentToolUseId": fParent,
	"agent_id": fAgentID, "agentId": fAgentID,
	"subagent_type": fAgentType, "subagentType": fAgentType,
	"cwd": fCWD, "version": fVersion, "claude_code_version": fVersion, "gitBranch": fBranch,
	"permissionMode": fPermissionMode, "model": fModel, "mcp_servers": fMCPServers,
	"message": fMessage, "error": fError,
	"is_api_error_message": fAPIError, "isApiErrorMessage": fAPIError,
	"api_error_status": fAPIErrorStatus, "apiErrorStatus": fAPIErrorStatus,
	"isReplay": fReplay, "isSynthetic": fSynthetic, "isMeta": fMeta, "isCompactSummary": fCompactSummary,
	"isSidechain": fSidechain, "sourceToolUseID": fSourceTool, "origin": fOrigin,
	"tool_use_result": fToolUseResult, "toolUseResult": fToolUseResult, "tool_result_meta": fToolResultMeta,
	"event": fEvent, "ttft_ms": fTTFT, "rate_limit_info": fRateLimit, "new_conversation_id": fNewConversation,
	"traceparent": fTraceparent, "attributes": fAttributes,
	"attempt": fAttempt, "error_status": fErrorStatus,
	"tool_name": fToolName, "tool_use_id": fToolUseID,
	"task_id": fTaskID, "run_id": fRunID, "task_type": fTaskType, "status": fStatus, "patch": fPatch, "prompt": fPrompt,
	"is_backgrounded": fBackgrounded, "ambient": fAmbient, "skip_transcript": fSkipTranscript, "workflow_progress": fWorkflow,
	"is_error": fIsError, "terminal_reason": fTerminalReason,
	"duration_ms": fDuration, "duration_api_ms": fAPIDuration, "num_turns": fTurns,
	"total_cost_usd": fCost, "cost_usd": fCostAlias, "total_cost": fCostOld,
	"usage": fUsage, "modelUsage": fModelUsage, "permission_denials": fDenials, "result_index": fResultIndex,
	"errors": fErrors, "result": fResult,
	"parentUuid": fParentUUID, "operation": fOperation, "content": fContent, "attachment": fAttachment,
	"data": fData, "parentToolUseID": fProgressCall, "sidecar": fSidecar,
}

// envelope fills what every record may have.
func (d *Decoder) envelope(r *row, rec *translate.Record) {
	rec.Type = d.Label(r.fields[fType])
	rec.Subtype = d.Label(r.fields[fSubtype])
	rec.Session = d.SharedID(r.fields[fSession])
	rec.UUID = d.ID(r.fields[fUUID])
	rec.CWD = d.Name(r.fields[fCWD], decode.MaxPath)
	rec.Version = d.Name(r.fields[fVersion], decode.MaxName)
	rec.PermissionMode = d.Label(r.fields[fPermissionMode])
	rec.Branch = d.Text(r.fields[fBranch], d.Opt.Capture.Identity)
	if v := r.fields[fTime]; !v.Missing() {
		t, ok := d.Time(v)
		rec.Time, rec.InvalidTime = t, !ok
	}
	rec.Agent.Parent = d.SharedID(r.fields[fParent])
}

// agent fills whose record it is, for the types of records in which these fields say that. In records
// about tasks the same names mean the agent that the record is about.
func (d *Decoder) agent(r *row, rec *translate.Record) {
	if d.transcript {
		d.sidechain(r, rec)
		return
	}
	rec.Agent.ID = d.SharedID(r.fields[fAgentID])
	rec.Agent.Type = d.Name(r.fields[fAgentType], decode.MaxName)
}
