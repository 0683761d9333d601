// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package claude

import (
	"fmt"
	"strings"
	"testing"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode/decodetest"
)

// oneRow decodes a row of a transcript.
func oneRow(t *testing.T, opt Options, line string) *translate.Record {
	t.Helper()
	out := NewTranscriptDecoder(opt).Decode([]byte(line), nil)
	if len(out) != 1 || out[0].Record == nil {
		t.Fatalf("%s: %d parts, no single record: %+v", line, len(out), out)
	}
	return out[0].Record
}

// rowPayload is payload with what only transcripts tell.
func rowPayload(rec *translate.Record) string {
	names := strings.Fields(payload(rec))
	for _, e := range rec.Ends {
		names = append(names, fmt.Sprintf("end:%s/%s/%s", e.TaskID, e.CallID, e.Status))
	}
	if q := rec.Queue; q != nil {
		names = append(names, fmt.Sprintf("queue:%d", q.Op))
		if q.Prompt != nil {
			names = append(names, fmt.Sprintf("queued:%d", q.Prompt.Text.Bytes))
		}
	}
	if rec.Sidecar != nil {
		names = append(names, fmt.Sprintf("sidecar:%s/%s", rec.Sidecar.AgentType, rec.Sidecar.CallID))
	}
	return strings.Join(names, " ")
}

func userRow(content, more string) string {
	return `{"type":"user","sessionId":"s","uuid":"u","timestamp":"2026-10-01T10:00:00Z","message":{"role":"user","content":` + content + `}` + more + `}`
}

// TestRows has the row kinds of the format reference, section 3.
func TestRows(t *testing.T) {
	answer := `{"id":"m1","model":"claude-x","content":[{"type":"text","text":"a"}]}`
	filler := `{"id":"x","model":"<synthetic>","content":[{"type":"text","text":"No response requested."}]}`
	result := `[{"type":"tool_result","tool_use_id":"t1","content":"x"}]`
	done := `<task-notification>\n<task-id>b1</task-id>\n<tool-use-id>t1</tool-use-id>\n<status>completed</status>\n<summary>x</summary>\n</task-notification>`
	for name, test := range map[string]struct{ line, want string }{
		"assistant":                     {`{"type":"assistant","sessionId":"s","message":` + answer + `}`, "response"},
		"assistant, content a string":   {`{"type":"assistant","sessionId":"s","message":{"content":"x"}}`, "bad shape"},
		"assistant, a character map":    {`{"type":"assistant","sessionId":"s","message":{"0":"{","1":"}"}}`, "bad shape"},
		"API error":                     {`{"type":"assistant","isApiErrorMessage":true,"error":"rate_limit","message":` + filler + `}`, "response error:rate_limit"},
		"filler":                        {`{"type":"assistant","message":` + filler + `}`, "response synthetic"},
		"filler with a field error":     {`{"type":"assistant","error":"unknown","message":` + filler + `}`, "response synthetic"},
		"prompt":                        {userRow(`"do it"`, ``), "prompt"},
		"prompt of blocks":              {userRow(`[{"type":"text","text":"<ide_opened_file>x</ide_opened_file>"},{"type":"text","text":"do it"}]`, ``), "prompt"},
		"prompt after a reminder":       {userRow(`"<system-reminder>x</system-reminder>\ndo it"`, ``), "prompt"},
		"only a reminder":               {userRow(`"<system-reminder>x</system-reminder>"`, ``), ""},
		"only an image":                 {userRow(`[{"type":"image","source":{}}]`, ``), "prompt unknown:block"},
		"slash command":                 {userRow(`"<command-message>review</command-message>\n<command-name>/review</command-name>"`, ``), "prompt"},
		"local command":                 {userRow(`"<command-name>/clear</command-name>"`, ``), ""},
		"output of a local command":     {userRow(`"<local-command-stdout>x</local-command-stdout>"`, ``), ""},
		"caveat":                        {userRow(`"<local-command-caveat>x</local-command-caveat>"`, `,"isMeta":true`), ""},
		"shell line":                    {userRow(`"<bash-input>ls</bash-input>"`, ``), ""},
		"output of a shell line":        {userRow(`"<bash-stdout>x</bash-stdout><bash-stderr></bash-stderr>"`, ``), ""},
		"mistyped skill":                {userRow(`"Unknown skill: x"`, ``), ""},
		"interruption":                  {userRow(`[{"type":"text","text":"[Request interrupted by user for tool use]"}]`, ``), "interrupt"},
		"meta":                          {userRow(`"x"`, `,"isMeta":true`), ""},
		"summary of a compaction":       {userRow(`"x"`, `,"isCompactSummary":true`), ""},
		"text of a skill":               {userRow(`"x"`, `,"sourceToolUseID":"t1"`), ""},
		"of another origin":             {userRow(`"x"`, `,"origin":{"kind":"peer"}`), ""},
		"of a person":                   {userRow(`"x"`, `,"origin":{"kind":"human"}`), "prompt"},
		"task of a subagent":            {userRow(`"x"`, `,"isSidechain":true,"agentId":"a1"`), ""},
		"result":                        {userRow(result, `,"toolUseResult":{"agentId":"a1"}`), "results:1"},
		"user without a message":        {`{"type":"user","sessionId":"s"}`, "bad shape"},
		"notification":                  {userRow(`"`+done+`"`, `,"origin":{"kind":"task-notification"}`), "end:b1/t1/completed"},
		"two notifications":             {userRow(`"`+done+`\n`+strings.ReplaceAll(done, "b1", "b2")+`"`, ``), "end:b1/t1/completed end:b2/t1/completed"},
		"notification of an event":      {userRow(`"<task-notification><task-id>b1</task-id><event>line</event></task-notification>"`, ``), ""},
		"notification of an agent":      {userRow(`"<agent-notification><agent-id>a1</agent-id><status>failed</status></agent-notification>"`, ``), "end:a1//failed"},
		"notification of a shell":       {userRow(`"<bash-notification><shell-id>b1</shell-id><status>killed</status></bash-notification>"`, ``), "end:b1//killed"},
		"quoted notification":           {userRow(`"see `+done+`"`, ``), "prompt"},
		"quoted in a result":            {userRow(`[{"type":"tool_result","tool_use_id":"t1","content":"`+done+`"}]`, ``), "results:1"},
		"compaction":                    {`{"type":"system","subtype":"compact_boundary","sessionId":"s","compactMetadata":{"trigger":"auto","preTokens":9}}`, "compaction"},
		"system, other":                 {`{"type":"system","subtype":"turn_duration","sessionId":"s","durationMs":5}`, "unknown:subtype unknowntype"},
		"enqueue a prompt":              {`{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"and this"}`, "queue:0 queued:8"},
		"enqueue blocks":                {`{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":[{"type":"text","text":"and this"}]}`, "queue:0 queued:8"},
		"enqueue a notification":        {`{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"` + done + `"}`, "end:b1/t1/completed queue:0"},
		"enqueue a task":                {`{"type":"queue-operation","operation":"enqueue","sessionId":"s","content":"{\"task_id\":\"b1\",\"description\":\"x\"}"}`, "queue:0"},
		"enqueue nothing":               {`{"type":"queue-operation","operation":"enqueue","sessionId":"s"}`, "queue:0"},
		"dequeue":                       {`{"type":"queue-operation","operation":"dequeue","sessionId":"s"}`, "queue:1"},
		"remove":                        {`{"type":"queue-operation","operation":"remove","sessionId":"s"}`, "queue:2"},
		"queue, other":                  {`{"type":"queue-operation","operation":"popAll","sessionId":"s"}`, "unknown:record_type"},
		"attachment":                    {`{"type":"attachment","sessionId":"s","attachment":{"type":"skill_listing","content":"x"}}`, "unknown:record_type unknowntype"},
		"attachment with an end":        {`{"type":"attachment","sessionId":"s","attachment":{"type":"queued_command","commandMode":"task-notification","prompt":"` + done + `"}}`, "unknown:record_type unknowntype end:b1/t1/completed"},
		"progress of a hook":            {`{"type":"progress","sessionId":"s","data":{"type":"hook_progress"}}`, "unknown:record_type unknowntype"},
		"progress of an agent":          {`{"type":"progress","sessionId":"s","parentToolUseID":"t1","data":{"type":"agent_progress","agentId":"a1","message":{"type":"assistant","uuid":"u","message":` + answer + `}}}`, "response"},
		"progress of an agent, task":    {`{"type":"progress","sessionId":"s","data":{"type":"agent_progress","agentId":"a1","message":` + userRow(`"x"`, ``) + `}}`, ""},
		"progress of an agent, result":  {`{"type":"progress","sessionId":"s","data":{"type":"agent_progress","agentId":"a1","message":` + userRow(result, ``) + `}}`, "results:1"},
		"progress of an agent, no id":   {`{"type":"progress","sessionId":"s","data":{"type":"agent_progress","message":` + userRow(`"x"`, ``) + `}}`, "unknown:record_type unknowntype"},
		"progress of an agent, no row":  {`{"type":"progress","sessionId":"s","data":{"type":"agent_progress","agentId":"a1","message":"x"}}`, "unknown:record_type unknowntype"},
		"progress of an agent, shape":   {`{"type":"progress","sessionId":"s","data":{"type":"agent_progress","agentId":"a1","message":{"type":"user","message":7}}}`, "bad shape"},
		"summary":                       {`{"type":"summary","summary":"x","leafUuid":"u"}`, "unknown:record_type unknowntype"},
		"history of files":              {`{"type":"file-history-snapshot","messageId":"u","snapshot":{}}`, "unknown:record_type unknowntype"},
		"title":                         {`{"type":"ai-title","aiTitle":"x","sessionId":"s"}`, "unknown:record_type unknowntype"},
		"result of a stream":            {`{"type":"result","subtype":"success","session_id":"s"}`, "unknown:record_type unknowntype"},
		"sidecar":                       {`{"type":"agentstream.sidecar","sidecar":{"agentType":"Explore","toolUseId":"t1","spawnDepth":1}}`, "sidecar:Explore/t1"},
		"sidecar of another shape":      {`{"type":"agentstream.sidecar","sidecar":[1]}`, "sidecar:/"},
		"context":                       {`{"type":"agentstream.context"}`, "context"},
		"ends of a task, in the result": {userRow(result, `,"toolUseResult":{"task":{"task_id":"b1","status":"completed"}}`), "results:1"},
	} {
		t.Run(name, func(t *testing.T) {
			out := NewTranscriptDecoder(Options{}).Decode([]byte(test.line), nil)
			if len(out) != 1 {
				t.Fatalf("%d parts", len(out))
			}
			got := "bad shape"
			if rec := out[0].Record; rec != nil {
				got = rowPayload(rec)
				if rr := rec.Response; rr != nil && rr.APIError {
					got += " error:" + rr.Error
				} else if rr != nil && rr.Synthetic {
					got += " synthetic"
				}
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestRowsOfAgents(t *testing.T) {
	message := `,"message":{"id":"m1","model":"claude-x","content":[]}}`
	inner := `{"type":"assistant","uuid":"u2","isSidechain":true,"agentId":"other","timestamp":"2026-10-01T10:00:05Z"` + message
	for name, test := range map[string]struct {
		line string
		want translate.AgentRef
	}{
		"main":                 {`{"type":"assistant","isSidechain":false,"agentId":"a1"` + message, translate.AgentRef{}},
		"subagent":             {`{"type":"assistant","isSidechain":true,"agentId":"a1","parentUuid":"u0"` + message, translate.AgentRef{ID: "a1", Sidechain: true}},
		"first row of a chain": {`{"type":"assistant","isSidechain":true,"parentUuid":null` + message, translate.AgentRef{Sidechain: true}},
		"row of a chain":       {`{"type":"assistant","isSidechain":true,"parentUuid":"u0"` + message, translate.AgentRef{Sidechain: true, After: "u0"}},
		"progress": {
			`{"type":"progress","sessionId":"s","uuid":"u1","timestamp":"2026-10-01T10:00:06Z","parentToolUseID":"t1","data":{"type":"agent_progress","agentId":"a1","message":` + inner + `}}`,
			translate.AgentRef{Parent: "t1", ID: "a1", Sidechain: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			rec := oneRow(t, Options{}, test.line)
			if rec.Agent != test.want {
				t.Errorf("got %+v", rec.Agent)
			}
		})
	}
	rec := oneRow(t, Options{}, `{"type":"progress","sessionId":"s","uuid":"u1","timestamp":"2026-10-01T10:00:06Z","data":{"type":"agent_progress","agentId":"a1","message":`+inner+`}}`)
	if rec.UUID != "u2" || rec.Session != "s" || rec.Time%1e10 != 5e9 {
		t.Errorf("%q %q %d: not the row inside, in the session outside", rec.UUID, rec.Session, rec.Time)
	}
}

// TestCopiedEntries: a fork names its own session in the rows that it copies.
func TestCopiedEntries(t *testing.T) {
	row := `{"type":"queue-operation","operation":"enqueue","timestamp":"2026-10-01T10:00:00Z","sessionId":"%s","content":"%s"}`
	id := func(session, text string) string { return oneRow(t, Options{}, fmt.Sprintf(row, session, text)).UUID }
	if id("a", "x") != id("b", "x") || id("a", "x") == id("a", "y") {
		t.Error(id("a", "x"), id("b", "x"), id("a", "y"))
	}
}

// TestRowsKeepNoContent: nothing of a row's texts is kept unless it is captured.
func TestRowsKeepNoContent(t *testing.T) {
	for _, line := range []string{
		`{"type":"queue-operation","operation":"enqueue","content":"canary"}`,
		`{"type":"attachment","attachment":{"type":"x","prompt":"canary"}}`,
		`{"type":"summary","summary":"canary"}`,
		`{"type":"progress","data":{"type":"agent_progress","agentId":"a","prompt":"canary","message":` + userRow(`"canary"`, `,"cwd":null`) + `}}`,
		userRow(`"<task-notification><task-id>can ary</task-id><status>completed</status><summary>canary</summary></task-notification>"`, ``),
	} {
		if got := strings.Join(decodetest.Strings(NewTranscriptDecoder(Options{}).Decode([]byte(line), nil)), "\n"); strings.Contains(got, "canary") || strings.Contains(got, "can ary") {
			t.Errorf("%s\n%s", line, got)
		}
	}
}

func FuzzTranscript(f *testing.F) {
	decodetest.Fuzz(f, []string{
		userRow(`"x"`, `,"isSidechain":true,"parentUuid":"u0"`),
		userRow(`"<task-notification><task-id>b1</task-id><status>completed</status></task-notification>"`, ``),
		`{"type":"queue-operation","operation":"enqueue","content":"{\"task_id\":1}"}`,
		`{"type":"progress","data":{"type":"agent_progress","agentId":"a1","message":{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]}}}}`,
		`{"type":"progress","data":{"type":"agent_progress","agentId":"a1","message":{"type":"progress","data":{}}}}`,
		`{"type":"agentstream.sidecar","sidecar":{"agentType":"x"}}`,
		`{"type":"attachment","attachment":{"prompt":"<task-notification>"}}`,
	}, func(opt Options) decodetest.Decoder { return NewTranscriptDecoder(opt) })
}
