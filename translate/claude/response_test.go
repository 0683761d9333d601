// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package claude

import (
	"reflect"
	"testing"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

// TestBlocks has the kinds of content blocks.
func TestBlocks(t *testing.T) {
	for name, test := range map[string]struct {
		block string
		want  translate.BlockKind
		gone  bool
	}{
		"text":                   {block: `{"type":"text","text":"a"}`, want: translate.BlockText},
		"empty text":             {block: `{"type":"text","text":""}`, gone: true},
		"text without text":      {block: `{"type":"text"}`, gone: true},
		"text of a wrong type":   {block: `{"type":"text","text":5}`, want: translate.BlockUnknown},
		"thinking":               {block: `{"type":"thinking","thinking":"a","signature":"x"}`, want: translate.BlockThinking},
		"empty thinking":         {block: `{"type":"thinking","thinking":"","signature":"x"}`, gone: true},
		"redacted thinking":      {block: `{"type":"redacted_thinking","data":"AAAA"}`, gone: true},
		"call":                   {block: `{"type":"tool_use","id":"t","name":"Bash","input":{}}`, want: translate.BlockCall},
		"server call":            {block: `{"type":"server_tool_use","id":"t","name":"web_search","input":{"query":"x"}}`, want: translate.BlockServerCall},
		"server call without id": {block: `{"type":"server_tool_use","name":"web_search"}`, want: translate.BlockUnknown},
		"server result":          {block: `{"type":"web_search_tool_result","tool_use_id":"t","content":[]}`, want: translate.BlockServerResult},
		"advisor result":         {block: `{"type":"advisor_tool_result","tool_use_id":"t"}`, want: translate.BlockServerResult},
		"result without id":      {block: `{"type":"web_search_tool_result"}`, want: translate.BlockUnknown},
		"image":                  {block: `{"type":"image","source":{}}`, want: translate.BlockUnknown},
		"new kind":               {block: `{"type":"hologram","z":1}`, want: translate.BlockUnknown},
		"no type":                {block: `{}`, want: translate.BlockUnknown},
		"no object":              {block: `"x"`, want: translate.BlockUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			blocks := one(t, Options{}, assistantLine(test.block)).Response.Blocks
			if test.gone {
				if len(blocks) != 0 {
					t.Errorf("%+v", blocks)
				}
				return
			}
			if len(blocks) != 1 || blocks[0].Kind != test.want {
				t.Fatalf("%+v", blocks)
			}
			if u := blocks[0].Unknown; test.want == translate.BlockUnknown && (u == nil || u.Reason != translate.UnknownBlock || u.Bytes != len(test.block)) {
				t.Errorf("%+v", u)
			}
		})
	}
	res := one(t, Options{}, assistantLine(`{"type":"web_search_tool_result","tool_use_id":"t","content":{"type":"web_search_tool_result_error"}}`)).Response.Blocks[0].Result
	if !res.IsError || res.CallID != "t" {
		t.Errorf("%+v", res)
	}
}

func TestSyntheticRows(t *testing.T) {
	row := func(model, more string) *translate.Response {
		return one(t, Options{}, `{"type":"assistant","message":{"id":"m","model":"`+model+`","content":[{"type":"text","text":"x"}]}`+more+`}`).Response
	}
	for name, test := range map[string]struct {
		model, more         string
		synthetic, apiError bool
		class               string
		status              int
	}{
		"model":                   {model: "claude-x"},
		"model with error":        {model: "claude-x", more: `,"error":"rate_limit"`},
		"filler":                  {model: synthetic, synthetic: true},
		"error null":              {model: synthetic, more: `,"error":null`, synthetic: true},
		"error":                   {model: synthetic, more: `,"error":"rate_limit"`, synthetic: true, apiError: true, class: "rate_limit"},
		"flag":                    {model: "claude-x", more: `,"is_api_error_message":true`, synthetic: true, apiError: true},
		"flag of transcripts":     {model: synthetic, more: `,"isApiErrorMessage":true,"apiErrorStatus":529`, synthetic: true, apiError: true, status: 529},
		"error that is a message": {model: synthetic, more: `,"error":"what went wrong here"`, synthetic: true, apiError: true},
	} {
		got := row(test.model, test.more)
		if got.Synthetic != test.synthetic || got.APIError != test.apiError || got.Error != test.class || got.HTTPStatus != test.status {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestUsage(t *testing.T) {
	for name, test := range map[string]struct {
		usage string
		want  *translate.Usage
	}{
		"absent":   {``, nil},
		"null":     {`null`, nil},
		"redacted": {`"<redacted>"`, nil},
		"empty":    {`{}`, nil},
		"zero":     {`{"input_tokens":0}`, &translate.Usage{Input: some(0)}},
		"negative": {`{"input_tokens":-5,"output_tokens":2}`, &translate.Usage{Output: some(2)}},
		"wrong":    {`{"input_tokens":"5","output_tokens":1.5,"cache_read_input_tokens":2.0}`, &translate.Usage{CacheRead: some(2)}},
		"all": {
			`{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":3,"cache_creation_input_tokens":4,` +
				`"cache_creation":{"ephemeral_5m_input_tokens":1,"ephemeral_1h_input_tokens":3},"output_tokens_details":{"thinking_tokens":5},` +
				`"server_tool_use":{"web_search_requests":6},"speed":"fast","service_tier":"x",` +
				`"iterations":[{"type":"message","input_tokens":1},{"type":"advisor_message","model":"o","input_tokens":7,"output_tokens":8}]}`,
			&translate.Usage{
				Input: some(1), Output: some(2), CacheRead: some(3), CacheWrite: some(4), CacheWrite5m: some(1), CacheWrite1h: some(3),
				Reasoning: some(5), WebSearches: some(6), Speed: "fast",
				Iterations: []translate.Iteration{{Type: "advisor_message", Model: "o", Usage: translate.Usage{Input: some(7), Output: some(8)}}},
			},
		},
	} {
		usage := test.usage
		if usage != "" {
			usage = `,"usage":` + usage
		}
		got := one(t, Options{}, `{"type":"assistant","message":{"content":[]`+usage+`}}`).Response.Usage
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}

func TestChunks(t *testing.T) {
	chunk := func(event string) *translate.Chunk {
		return one(t, Options{}, `{"type":"stream_event","ttft_ms":521,"parent_tool_use_id":"p","event":`+event+`}`).Chunk
	}
	c := chunk(`{"type":"message_start","message":{"id":"m","model":"x","content":[],"stop_reason":null,"usage":{"input_tokens":2,"output_tokens":16}}}`)
	want := &translate.Chunk{Kind: translate.ChunkStart, TTFT: some(521e6), Response: translate.Response{ID: "m", Model: "x", Usage: &translate.Usage{Input: some(2), Output: some(16)}}}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("%+v", c)
	}
	c = chunk(`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":108}}`)
	want = &translate.Chunk{Kind: translate.ChunkDelta, TTFT: some(521e6), Response: translate.Response{StopReason: "tool_use", Usage: &translate.Usage{Output: some(108)}}}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("%+v", c)
	}
	for event, kind := range map[string]translate.ChunkKind{
		`{"type":"message_stop"}`: translate.ChunkStop, `{"type":"content_block_delta"}`: translate.ChunkOther, `null`: translate.ChunkOther, `5`: translate.ChunkOther,
	} {
		if c := chunk(event); c.Kind != kind {
			t.Errorf("%s: %+v", event, c)
		}
	}
}

// TestTerminals has the row result of the event mapping.
func TestTerminals(t *testing.T) {
	for name, test := range map[string]struct {
		fields             string
		failed, cancelled  bool
		message, errorType string
		text               int
	}{
		"success":               {fields: `"subtype":"success","is_error":false,"result":"ok"`},
		"status null":           {fields: `"subtype":"success","is_error":false,"api_error_status":null`},
		"completion":            {fields: `"subtype":"completion"`},
		"no subtype":            {fields: `"is_error":false`},
		"http":                  {fields: `"subtype":"success","is_error":true,"api_error_status":401,"result":"no key","terminal_reason":"api_error"`, failed: true, message: "is_error=true,api_error_status=401", errorType: "401", text: 6},
		"error without status":  {fields: `"subtype":"success","is_error":true,"terminal_reason":"prompt_too_long"`, failed: true, message: "is_error=true", errorType: "prompt_too_long"},
		"error without reason":  {fields: `"subtype":"success","is_error":true`, failed: true, message: "is_error=true", errorType: "error"},
		"max turns":             {fields: `"subtype":"error_max_turns","is_error":true,"terminal_reason":"max_turns","errors":["a","bc"]`, failed: true, message: "subtype=error_max_turns,is_error=true", errorType: "error_max_turns", text: 3},
		"subtype alone":         {fields: `"subtype":"error_during_execution"`, failed: true, message: "subtype=error_during_execution", errorType: "error_during_execution"},
		"interrupted":           {fields: `"subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming"`, failed: true, cancelled: true, message: "subtype=error_during_execution,is_error=true", errorType: "error_during_execution"},
		"interrupted in a tool": {fields: `"subtype":"success","terminal_reason":"aborted_tools"`, cancelled: true},
		"legacy error":          {fields: `"subtype":"error","is_error":true,"error":"Permission denied"`, failed: true, message: "subtype=error,is_error=true", errorType: "error", text: 17},
		"status of a text":      {fields: `"subtype":"success","api_error_status":"it went wrong"`, failed: true, message: `api_error_status="…"`, errorType: "error"},
		"status of an object":   {fields: `"subtype":"success","api_error_status":{"a":1}`, failed: true, message: `api_error_status={…}`, errorType: "error"},
		"subtype of a text":     {fields: `"subtype":"what went wrong"`, failed: true, message: `subtype=`, errorType: "error"},
	} {
		t.Run(name, func(t *testing.T) {
			got := one(t, Options{}, `{"type":"result",`+test.fields+`}`).Terminal
			if got.Failed != test.failed || got.Cancelled != test.cancelled || got.Message != test.message || got.ErrorType != test.errorType || got.Text != (translate.Text{Bytes: test.text}) {
				t.Errorf("%+v", got)
			}
		})
	}
	got := one(t, Options{Capture: translate.Capture{Responses: true}}, `{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":-1,"duration_ms":1500,"duration_api_ms":900.5,`+
		`"cost_usd":0.25,"result_index":2,"errors":["a","b"],"usage":{"input_tokens":3},"permission_denials":[{"tool_use_id":"t1"},"t2","not an id",5],`+
		`"modelUsage":{"b":{"inputTokens":1,"outputTokens":2,"cacheReadInputTokens":3,"cacheCreationInputTokens":4,"thinkingTokens":5,"webSearchRequests":6,"costUSD":0.5},"a":{}}}`).Terminal
	want := &translate.Terminal{
		Subtype: "error_max_turns", IsError: true, Failed: true, Message: "subtype=error_max_turns,is_error=true", ErrorType: "error_max_turns",
		Text: translate.Text{Bytes: 2, Content: "a\nb"}, Duration: some(15e8), APIDuration: some(900_500_000), Turns: some(-1), Cost: translate.Some(0.25),
		Usage: &translate.Usage{Input: some(3)}, Denials: []string{"t1", "t2"}, DenialCount: 4, Index: some(2),
		Models: []translate.ModelUsage{{Model: "b", Cost: translate.Some(0.5), Usage: translate.Usage{
			Input: some(1), Output: some(2), CacheRead: some(3), CacheWrite: some(4), Reasoning: some(5), WebSearches: some(6),
		}}, {Model: "a"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestSystemRecords(t *testing.T) {
	rec := one(t, Options{}, `{"type":"system","subtype":"init","model":"m","permissionMode":"auto","cwd":"/w","claude_code_version":"2.1","mcp_servers":[{"name":"a"},{"name":"abc","status":"x"},{"name":"a"},{"name":5},"x"]}`)
	if *rec.Start != (translate.Start{Model: "m", PermissionMode: "auto"}) || rec.CWD != "/w" || rec.Version != "2.1" || !reflect.DeepEqual(rec.MCP, []string{"abc", "a"}) {
		t.Errorf("%+v %+v", rec, rec.Start)
	}
	rec = one(t, Options{}, `{"type":"system","subtype":"api_retry","attempt":2,"error_status":null,"error":"rate_limit"}`)
	if *rec.Retry != (translate.Retry{Attempt: 2, Error: "rate_limit"}) {
		t.Errorf("%+v", rec.Retry)
	}
	rec = one(t, Options{}, `{"type":"system","subtype":"permission_denied","tool_name":"Bash","tool_use_id":"t","agent_id":"a"}`)
	if *rec.Denied != (translate.Denied{CallID: "t", Tool: "Bash"}) || rec.Agent.ID != "a" {
		t.Errorf("%+v", rec)
	}
	rec = one(t, Options{Capture: translate.Capture{Prompts: true}}, `{"type":"system","subtype":"task_started","task_id":"x","run_id":"r","tool_use_id":"t","task_type":"local_agent","is_backgrounded":false,"prompt":"go","ambient":true}`)
	if want := (translate.Task{ID: "x", RunID: "r", CallID: "t", Type: "local_agent", Background: translate.Some(false), Prompt: text("go"), Quiet: true}); !reflect.DeepEqual(*rec.Task, want) {
		t.Errorf("%+v", rec.Task)
	}
	rec = one(t, Options{}, `{"type":"system","subtype":"task_updated","task_id":"x","patch":{"status":"killed","end_time":1793527200000,"is_backgrounded":true}}`)
	if want := (translate.Task{Kind: translate.TaskUpdated, ID: "x", Status: "killed", EndTime: 1793527200e9, Background: translate.Some(true)}); !reflect.DeepEqual(*rec.Task, want) {
		t.Errorf("%+v", rec.Task)
	}
	rec = one(t, Options{}, `{"type":"system","subtype":"task_progress","task_id":"x","workflow_progress":[{"type":"workflow_phase","index":0},`+
		`{"type":"workflow_agent","agentId":"a","label":"L","state":"done","startedAt":1793527200000,"durationMs":5},{"type":"workflow_agent","agentId":"b","state":"progress"}]}`)
	if want := []translate.WorkflowAgent{{ID: "a", Label: "L", Done: true, Start: 1793527200e9, Duration: 5e6}, {ID: "b"}}; !reflect.DeepEqual(rec.Task.Workflow, want) {
		t.Errorf("%+v", rec.Task.Workflow)
	}
	rec = one(t, Options{}, `{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","rateLimitType":"five_hour","utilization":0.9}}`)
	if *rec.RateLimit != (translate.RateLimit{Status: "allowed_warning", Type: "five_hour", Utilization: translate.Some(0.9)}) {
		t.Errorf("%+v", rec.RateLimit)
	}
}
