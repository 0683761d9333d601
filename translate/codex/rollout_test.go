// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package codex

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/decode/decodetest"
	"github.com/otelcol-agents/otelcol-agents/translate/redact"
)

const rowTime = `"timestamp":"2026-10-06T09:00:00Z"`

// rowOf is a row of a type with a payload.
func rowOf(typ, payload string) string {
	return `{` + rowTime + `,"type":"` + typ + `","payload":{` + payload + `}}`
}

func decodeRow(t *testing.T, opt Options, line string) *translate.Record {
	t.Helper()
	out := NewRolloutDecoder(opt).Decode([]byte(line), nil)
	require.Len(t, out, 1)
	require.NotNil(t, out[0].Record, "%s", line)
	return out[0].Record
}

var kindNames = map[translate.RolloutKind]string{
	translate.RolloutOther: "other", translate.RolloutMeta: "meta", translate.RolloutContext: "context",
	translate.RolloutTurn: "turn", translate.RolloutTurnEnd: "end", translate.RolloutTotal: "total",
	translate.RolloutUsage: "usage", translate.RolloutText: "text", translate.RolloutThought: "thought",
	translate.RolloutPrompt: "prompt", translate.RolloutCall: "call", translate.RolloutOutput: "output",
	translate.RolloutItem: "item", translate.RolloutActivity: "activity", translate.RolloutSearch: "search",
	translate.RolloutCompaction: "compaction", translate.RolloutReview: "review",
}

var opNames = map[translate.OpKind]string{
	translate.OpUnknown: "unknown", translate.OpNone: "none", translate.OpCommand: "command", translate.OpRead: "read",
	translate.OpWrite: "write", translate.OpSearch: "search", translate.OpList: "list", translate.OpOrchestration: "orchestration",
}

// telling is what a record says, in a few words.
func telling(r *translate.Record) string {
	ro := r.Rollout
	w := []string{kindNames[ro.Kind]}
	add := func(format string, args ...any) { w = append(w, fmt.Sprintf(format, args...)) }
	if m := ro.Meta; m != nil {
		add("id=%s parents=%s sub=%v type=%s forked=%s shared=%v first=%d by=%s", m.ID, strings.Join(m.Parents, "+"), m.Subagent, m.Type, m.Forked, m.Shared, m.First.V, m.Provider)
	}
	for _, v := range []struct{ name, value string }{
		{"turn", ro.Turn}, {"model", ro.Model}, {"id", ro.ID}, {"thread", ro.Thread}, {"process", ro.Process},
	} {
		if v.value != "" {
			add("%s=%s", v.name, v.value)
		}
	}
	if ro.Total != nil {
		add("total=%d/%d/%d/%d", ro.Total.Input.V, ro.Total.CacheRead.V, ro.Total.CacheWrite.V, ro.Total.Output.V)
	}
	if ro.Last != nil {
		add("last=%d/%d", ro.Last.Input.V, ro.Last.Output.V)
	}
	if r.Response != nil {
		for _, b := range r.Response.Blocks {
			add("%q", b.Text.Content)
		}
	}
	if r.Prompt != nil {
		add("%q", r.Prompt.Text.Content)
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		add("%s(%s)", c.Name, c.ID)
		if c.MCPServer != "" {
			add("mcp=%s/%s", c.MCPServer, c.MCPTool)
		}
		for _, op := range c.Ops {
			add("%s", strings.TrimSpace(opNames[op.Kind]+" "+op.Path.Content+op.Command.Content+op.Query.Content))
		}
	}
	for i := range r.Results {
		res := &r.Results[i]
		add("-> %s %s", res.CallID, res.Outcome)
		if res.ExitCode.OK {
			add("exit=%d", res.ExitCode.V)
		}
		if res.Duration.OK {
			add("took=%d", res.Duration.V)
		}
		if res.Added.OK {
			add("+%d-%d", res.Added.V, res.Removed.V)
		}
		for _, a := range res.Agents {
			add("agent=%s ended=%v failed=%v", a.ID, a.Ended, a.Failed)
		}
		if res.AgentID != "" {
			add("agent=%s", res.AgentID)
		}
	}
	if r.Terminal != nil {
		add("cancelled=%v failed=%v", r.Terminal.Cancelled, r.Terminal.Failed)
	}
	if r.Failure != nil {
		add("failure=%s", r.Failure.Type)
	}
	for _, u := range r.Unknowns {
		add("unknown:%s", u.Reason)
	}
	if r.UnknownType {
		add("new")
	}
	return strings.Join(w, " ")
}

// TestRows: every kind of row (formats, section 6.2; event mapping, section 6.2).
func TestRows(t *testing.T) {
	const patchText = `*** Begin Patch\n*** Update File: a.go\n*** Move to: b.go\n@@\n-x\n+y\n*** End Patch`
	message := func(role string) string {
		return `"type":"message","id":"m","role":"` + role + `","content":[{"type":"output_text","text":"a"},{"type":"output_text","text":"b"},{"type":"input_text","text":"c"}]`
	}
	ev := func(payload string) string { return rowOf("event_msg", payload) }
	ri := func(payload string) string { return rowOf("response_item", payload) }
	item := func(it string) string { return ev(`"type":"item_completed","thread_id":"t","item":{` + it + `}`) }
	for name, test := range map[string]struct{ line, want string }{
		"session_meta":                  {rowOf("session_meta", `"id":"t1","cwd":"/w","cli_version":"0.1","source":"cli","model_provider":"azure"`), "meta id=t1 parents= sub=false type= forked= shared=false first=0 by=azure.ai.openai"},
		"session_meta fork":             {rowOf("session_meta", `"id":"t1","forked_from_id":"t0"`), "meta id=t1 parents= sub=false type= forked=t0 shared=false first=0 by=openai"},
		"session_meta shared history":   {rowOf("session_meta", `"id":"t1","forked_from_id":"t0","history_base":{"thread_id":"t0"}`), "meta id=t1 parents= sub=false type= forked=t0 shared=true first=0 by=openai"},
		"session_meta subagent":         {rowOf("session_meta", `"id":"t1","session_id":"t0","source":{"subagent":{"thread_spawn":{"parent_thread_id":"tp","agent_role":"worker"}}},"subagent_history_start_ordinal":7`), "meta id=t1 parents=t0+tp sub=true type=worker forked= shared=false first=7 by=openai"},
		"session_meta review":           {rowOf("session_meta", `"id":"t1","parent_thread_id":"t0","source":{"subagent":"review"}`), "meta id=t1 parents=t0 sub=true type=review forked= shared=false first=0 by=openai"},
		"turn_context":                  {rowOf("turn_context", `"turn_id":"u","model":"gpt-5","cwd":"/w","approval_policy":"never"`), "context turn=u model=gpt-5"},
		"world_state":                   {rowOf("world_state", `"full":true`), "other"},
		"inter agent metadata":          {rowOf("inter_agent_communication_metadata", `"a":1`), "other"},
		"compacted":                     {rowOf("compacted", `"message":"m"`), "compaction"},
		"usage of a response":           {rowOf("token_usage_record", `"thread_id":"t","response_id":"r","usage":{"input_tokens":5,"cached_input_tokens":2,"output_tokens":1},"thread_token_usage":{"input_tokens":9,"output_tokens":3}`), "usage id=r thread=t total=9/0/0/3 last=5/1"},
		"usage without response":        {rowOf("token_usage_record", `"thread_id":"t","usage":{"input_tokens":5}`), "other thread=t"},
		"token_count":                   {ev(`"type":"token_count","info":{"total_token_usage":{"input_tokens":5,"cached_input_tokens":2,"cache_write_input_tokens":1,"output_tokens":1},"last_token_usage":{"input_tokens":3,"output_tokens":1}}`), "total total=5/2/1/1 last=3/1"},
		"token_count without info":      {ev(`"type":"token_count","info":null`), "other"},
		"task_started":                  {ev(`"type":"task_started","turn_id":"u"`), "turn turn=u"},
		"turn_started":                  {ev(`"type":"turn_started","turn_id":"u"`), "turn turn=u"},
		"task_complete":                 {ev(`"type":"task_complete","turn_id":"u","error":null`), "end cancelled=false failed=false"},
		"task_complete error":           {ev(`"type":"task_complete","error":{"message":"m","codex_error_info":{"http_error":{"code":1}}}`), "end cancelled=false failed=true failure=http_error"},
		"turn_aborted":                  {ev(`"type":"turn_aborted","reason":"interrupted"`), "end cancelled=true failed=false"},
		"error":                         {ev(`"type":"error","message":"unexpected status 503 x"`), "other failure=503"},
		"context_compacted":             {ev(`"type":"context_compacted"`), "compaction"},
		"thread_settings_applied":       {ev(`"type":"thread_settings_applied","thread_id":"t"`), "other thread=t"},
		"thread_name_updated":           {ev(`"type":"thread_name_updated","thread_name":"n"`), "other"},
		"entered_review_mode":           {ev(`"type":"entered_review_mode"`), "review unknown:subtype"},
		"thread_rolled_back":            {ev(`"type":"thread_rolled_back","num_turns":1`), "other unknown:subtype"},
		"unknown event":                 {ev(`"type":"tomorrow"`), "other unknown:subtype new"},
		"unknown row":                   {rowOf("tomorrow", `"a":1`), "other unknown:record_type new"},
		"unknown response_item":         {ri(`"type":"tomorrow"`), "other unknown:subtype new"},
		"user_message":                  {ev(`"type":"user_message","message":"hi"`), `prompt "hi"`},
		"UserMessage":                   {item(`"type":"UserMessage","id":"x","content":[{"type":"text","text":"h"},{"type":"image"},{"type":"text","text":"i"}]`), `prompt thread=t "hi"`},
		"message assistant":             {ri(message("assistant")), `text id=m "ab"`},
		"message user":                  {ri(message("user")), "other"},
		"message developer":             {ri(message("developer")), "other"},
		"agent_message event":           {ev(`"type":"agent_message","message":"hi"`), `text "hi"`},
		"AgentMessage":                  {item(`"type":"AgentMessage","id":"m","content":[{"type":"Text","text":"hi"}]`), `text id=m thread=t "hi"`},
		"AgentMessage text":             {item(`"type":"AgentMessage","id":"m","text":"hi"`), `text id=m thread=t "hi"`},
		"agent_message between agents":  {ri(`"type":"agent_message","author":"a","content":[]`), "other"},
		"additional_tools":              {ri(`"type":"additional_tools"`), "other"},
		"reasoning":                     {ri(`"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"content":null`), `thought id=r "ab"`},
		"reasoning content":             {ri(`"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"a"}]`), `thought "a"`},
		"reasoning encrypted":           {ri(`"type":"reasoning","summary":[],"encrypted_content":"x"`), "thought"},
		"agent_reasoning":               {ev(`"type":"agent_reasoning","text":"a"`), `thought "a"`},
		"Reasoning":                     {item(`"type":"Reasoning","id":"r","summary_text":["a"],"raw_content":[]`), `thought id=r thread=t "a"`},
		"compaction item":               {ri(`"type":"compaction","encrypted_content":"x"`), "compaction"},
		"ContextCompaction":             {item(`"type":"ContextCompaction","id":"c"`), "compaction thread=t"},
		"EnteredReviewMode":             {item(`"type":"EnteredReviewMode","id":"c"`), "review thread=t unknown:subtype"},
		"Plan":                          {item(`"type":"Plan","id":"c","text":"x"`), "other thread=t unknown:subtype"},
		"function_call command":         {ri(`"type":"function_call","name":"exec_command","call_id":"c","arguments":"{\"cmd\":\"cat a.go\"}"`), "call exec_command(c) read a.go"},
		"function_call vector":          {ri(`"type":"function_call","name":"shell","call_id":"c","arguments":"{\"command\":[\"bash\",\"-lc\",\"ls src\"]}"`), "call shell(c) list src"},
		"function_call no command":      {ri(`"type":"function_call","name":"shell","call_id":"c","arguments":"{}"`), "call shell(c) unknown"},
		"function_call bad arguments":   {ri(`"type":"function_call","name":"shell","call_id":"c","arguments":"{\"cmd\":"`), "call shell(c) unknown"},
		"function_call mcp":             {ri(`"type":"function_call","name":"lookup","namespace":"mcp__demo","call_id":"c","arguments":"{}"`), "call lookup(c) mcp=demo/lookup unknown"},
		"function_call spawn_agent":     {ri(`"type":"function_call","name":"spawn_agent","call_id":"c","arguments":"{\"message\":\"m\"}"`), "call spawn_agent(c) orchestration"},
		"function_call write_stdin":     {ri(`"type":"function_call","name":"write_stdin","call_id":"c","arguments":"{\"session_id\":7}"`), "call process=7 write_stdin(c) none"},
		"function_call apply_patch":     {ri(`"type":"function_call","name":"apply_patch","call_id":"c","arguments":"{\"input\":\"*** Add File: a.go\"}"`), "call apply_patch(c) write a.go"},
		"function_call without id":      {ri(`"type":"function_call","name":"shell"`), "other unknown:block"},
		"custom_tool_call patch":        {ri(`"type":"custom_tool_call","name":"apply_patch","call_id":"c","input":"` + patchText + `"`), "call apply_patch(c) write a.go write b.go"},
		"custom_tool_call script":       {ri(`"type":"custom_tool_call","name":"exec","call_id":"c","input":"text(1)"`), "call exec(c) unknown"},
		"local_shell_call":              {ri(`"type":"local_shell_call","call_id":"c","action":{"type":"exec","command":["cat","a"]}`), "call shell(c) read a"},
		"tool_search_call":              {ri(`"type":"tool_search_call","call_id":"c","arguments":{"query":"q"}`), "call tool_search(c) unknown"},
		"output":                        {ri(`"type":"function_call_output","call_id":"c","output":"x"`), "output -> c ok"},
		"output exited":                 {ri(`"type":"function_call_output","call_id":"c","output":"Chunk ID: 1\nProcess exited with code 3\nOutput:\nProcess exited with code 4"`), "output -> c error exit=3"},
		"output quotes a status":        {ri(`"type":"function_call_output","call_id":"c","output":"Wall time: 1 s\nOutput:\nProcess exited with code 4"`), "output -> c ok"},
		"output metadata":               {ri(`"type":"function_call_output","call_id":"c","output":"{\"output\":\"x\",\"metadata\":{\"exit_code\":2}}"`), "output -> c error exit=2"},
		"output runs on":                {ri(`"type":"function_call_output","call_id":"c","output":"Wall time: 1 s\nProcess running with session ID 8\nOutput:\n"`), "output process=8 -> c ok"},
		"output aborted":                {ri(`"type":"function_call_output","call_id":"c","output":"Wall time: 1 s\naborted by user"`), "output -> c interrupted"},
		"output rejected":               {ri(`"type":"function_call_output","call_id":"c","output":"exec command rejected by user"`), "output -> c denied"},
		"output of a failed patch":      {ri(`"type":"custom_tool_call_output","call_id":"c","output":"apply_patch verification failed: x"`), "output -> c error"},
		"output of a failed script":     {ri(`"type":"custom_tool_call_output","call_id":"c","output":[{"type":"input_text","text":"Script failed\n"},{"type":"input_text","text":"x"}]`), "output -> c error"},
		"output in content":             {ri(`"type":"function_call_output","call_id":"c","output":{"content":"Exit code: 1","success":false}`), "output -> c error exit=1"},
		"output names an agent":         {ri(`"type":"function_call_output","call_id":"c","output":"{\"agent_id\":\"t2\"}"`), "output -> c ok agent=t2"},
		"output without id":             {ri(`"type":"function_call_output","output":"x"`), "other unknown:block"},
		"tool_search_output":            {ri(`"type":"tool_search_output","call_id":"c","tools":[]`), "output -> c ok"},
		"CommandExecution":              {item(`"type":"CommandExecution","id":"c","command":["/bin/bash","-lc","ls"],"status":"failed","exit_code":2,"duration":{"secs":1,"nanos":5}`), "item thread=t shell(c) list -> c error exit=2 took=1000000005"},
		"CommandExecution killed":       {item(`"type":"CommandExecution","id":"c","command":["make"],"exit_code":-1,"aggregated_output":""`), "item thread=t shell(c) command make -> c killed exit=-1"},
		"CommandExecution aborted":      {item(`"type":"CommandExecution","id":"c","command":["make"],"exit_code":-1,"aggregated_output":"aborted by user"`), "item thread=t shell(c) command make -> c interrupted exit=-1"},
		"CommandExecution declined":     {item(`"type":"CommandExecution","id":"c","command":["make"],"status":"declined","exit_code":null`), "item thread=t shell(c) command make -> c denied"},
		"CommandExecution without id":   {item(`"type":"CommandExecution"`), "other thread=t unknown:block"},
		"exec_command_end":              {ev(`"type":"exec_command_end","call_id":"c","command":["ls"],"exit_code":0,"duration":{"secs":0,"nanos":7}`), "item shell(c) list -> c ok exit=0 took=7"},
		"FileChange":                    {item(`"type":"FileChange","id":"c","status":"completed","changes":{"/a":{"type":"update","unified_diff":"@@\n-x\n+y\n+z\n","move_path":"/b"},"/c":{"type":"add","content":"1\n2\n"},"/d":{"type":"delete","content":"1\n"}}`), "item thread=t apply_patch(c) write /a write /b write /c write /d -> c ok +4-2"},
		"FileChange failed":             {item(`"type":"FileChange","id":"c","status":"failed","changes":{}`), "item thread=t apply_patch(c) unknown -> c error"},
		"patch_apply_end":               {ev(`"type":"patch_apply_end","call_id":"c","success":false,"changes":{"/a":{"update":{"unified_diff":"@@\n-x\n","move_path":null}}}`), "item apply_patch(c) write /a -> c error +0-1"},
		"McpToolCall":                   {item(`"type":"McpToolCall","id":"c","server":"s","tool":"t","arguments":{},"status":"completed","result":{"content":[{"type":"text","text":"x"}]}`), "item thread=t t(c) mcp=s/t unknown -> c ok"},
		"McpToolCall error":             {item(`"type":"McpToolCall","id":"c","server":"s","tool":"t","status":"completed","result":{"content":[],"isError":true}`), "item thread=t t(c) mcp=s/t unknown -> c error"},
		"mcp_tool_call_end":             {ev(`"type":"mcp_tool_call_end","call_id":"c","invocation":{"server":"s","tool":"t"},"result":{"Ok":{"content":[]}}`), "item t(c) mcp=s/t unknown -> c ok"},
		"mcp_tool_call_end failed":      {ev(`"type":"mcp_tool_call_end","call_id":"c","invocation":{"server":"s","tool":"t"},"result":{"Err":"x"}`), "item t(c) mcp=s/t unknown -> c error"},
		"view_image_tool_call":          {ev(`"type":"view_image_tool_call","call_id":"c","path":"/a.png"`), "item view_image(c) unknown -> c ok"},
		"image_generation_call":         {ri(`"type":"image_generation_call","id":"c","status":"completed","result":"aGk="`), "item image_generation(c) unknown -> c ok"},
		"CollabAgentToolCall spawn":     {item(`"type":"CollabAgentToolCall","id":"c","tool":"spawn_agent","status":"completed","receiver_thread_ids":["t2"],"agents_states":{}`), "item thread=t spawn_agent(c) orchestration -> c ok agent=t2 ended=false failed=false"},
		"CollabAgentToolCall states":    {item(`"type":"CollabAgentToolCall","id":"c","tool":"wait","agents_states":{"t2":{"completed":"x"},"t3":"running","t4":{"errored":"y"}}`), "item thread=t wait(c) orchestration -> c ok agent=t2 ended=true failed=false agent=t3 ended=false failed=false agent=t4 ended=true failed=true"},
		"CollabAgentToolCall no states": {item(`"type":"CollabAgentToolCall","id":"c","tool":"wait","agents_states":{}`), "item thread=t wait(c) unknown -> c ok"},
		"collab_agent_spawn_end":        {ev(`"type":"collab_agent_spawn_end","call_id":"c","new_thread_id":"t2","status":"pending_init"`), "item spawn_agent(c) orchestration -> c ok agent=t2 ended=false failed=false"},
		"collab_agent_spawn_end failed": {ev(`"type":"collab_agent_spawn_end","call_id":"c","new_thread_id":null,"status":"not_found"`), "item spawn_agent(c) orchestration -> c error"},
		"collab_waiting_end":            {ev(`"type":"collab_waiting_end","call_id":"c","statuses":{"t2":{"completed":"x"}}`), "item wait(c) orchestration -> c ok agent=t2 ended=true failed=false"},
		"collab_close_end":              {ev(`"type":"collab_close_end","call_id":"c","receiver_thread_id":"t2","status":"shutdown"`), "item close_agent(c) orchestration -> c ok agent=t2 ended=true failed=true"},
		"SubAgentActivity":              {item(`"type":"SubAgentActivity","id":"c","kind":"started","agent_thread_id":"t2"`), "activity thread=t -> c  agent=t2 ended=false failed=false"},
		"SubAgentActivity completed":    {item(`"type":"SubAgentActivity","id":"x","kind":"completed","agent_thread_id":"t2"`), "activity thread=t -> x  agent=t2 ended=true failed=false"},
		"web_search_call":               {ri(`"type":"web_search_call","status":"completed","action":{"type":"search"}`), "search web_search() unknown"},
		"web_search_end":                {ev(`"type":"web_search_end","call_id":"w","query":"q"`), "search id=w web_search(w) unknown"},
		"WebSearch":                     {item(`"type":"WebSearch","id":"w","query":"q"`), "search id=w thread=t web_search(w) unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, telling(decodeRow(t, Options{Capture: decodetest.Everything}, test.line)))
		})
	}
}

// TestRowFacts: what a row says about the session beside its event.
func TestRowFacts(t *testing.T) {
	r := decodeRow(t, Options{}, `{`+rowTime+`,"ordinal":3,"type":"session_meta","payload":{"id":"t","cwd":"/w","cli_version":"0.171.0","timestamp":"2026-10-06T08:59:59Z","git":{"branch":"b"}}}`)
	assert.Equal(t, "/w", r.CWD)
	assert.Equal(t, "0.171.0", r.Version)
	assert.Zero(t, r.Branch, "only under capture identity")
	assert.Equal(t, translate.Some(int64(3)), r.Rollout.Ordinal)
	assert.Less(t, r.Rollout.Meta.Begun, r.Time)
	assert.Len(t, r.UUID, 32)
	again := decodeRow(t, Options{Capture: decodetest.Everything}, rowOf("session_meta", `"id":"t","git":{"branch":"b"}`))
	assert.Equal(t, "b", again.Branch.Content)
	assert.NotEqual(t, r.UUID, again.UUID)
	assert.Equal(t, "never", decodeRow(t, Options{}, rowOf("turn_context", `"approval_policy":"never"`)).PermissionMode)
	assert.True(t, decodeRow(t, Options{}, `{"timestamp":"soon","type":"world_state","payload":{}}`).InvalidTime)
}

// TestSameText: the shapes that repeat a text are known by it, whatever is captured.
func TestSameText(t *testing.T) {
	row := decodeRow(t, Options{}, rowOf("response_item", `"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]`))
	event := decodeRow(t, Options{Capture: decodetest.Everything}, rowOf("event_msg", `"type":"agent_message","message":"h\u0069"`))
	assert.Equal(t, row.Rollout.Parts, event.Rollout.Parts)
	parts := decodeRow(t, Options{}, rowOf("response_item", `"type":"reasoning","summary":[{"text":"a"},{"text":"b"}]`))
	assert.Equal(t, []uint64{decode.Hash([]byte("a")), decode.Hash([]byte("b"))}, parts.Rollout.Parts)
}

func TestBrokenRows(t *testing.T) {
	good := rowOf("event_msg", `"type":"task_started"`)
	for name, test := range map[string]struct {
		line string
		want []translate.Skip
	}{
		"text":                 {"npm warn", []translate.Skip{translate.SkipNotJSON}},
		"no type":              {`{"payload":{}}`, []translate.Skip{translate.SkipBadShape}},
		"payload is a text":    {`{"type":"event_msg","payload":"x"}`, []translate.Skip{translate.SkipBadShape}},
		"no payload":           {`{"type":"response_item"}`, []translate.Skip{translate.SkipBadShape}},
		"thread without id":    {rowOf("session_meta", `"id":7`), []translate.Skip{translate.SkipBadShape}},
		"array":                {`[1]`, []translate.Skip{translate.SkipBadShape}},
		"two rows":             {good + good, []translate.Skip{"", ""}},
		"half a row, then all": {good[:40] + good, []translate.Skip{translate.SkipTorn, ""}},
		"half a row":           {good[:60], []translate.Skip{translate.SkipTorn}},
		"context line":         {`{"type":"agentstream.context","attributes":{"a":1}}`, []translate.Skip{""}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []translate.Skip
			for _, x := range NewRolloutDecoder(Options{}).Decode([]byte(test.line), nil) {
				if x.Diagnostic != nil {
					got = append(got, x.Diagnostic.Skip)
				} else {
					got = append(got, "")
				}
			}
			assert.Equal(t, test.want, got)
		})
	}
}

var rowSeeds = []string{
	rowOf("session_meta", `"id":"KEY","source":{"subagent":{"thread_spawn":{"parent_thread_id":"KEY","agent_role":"KEY"}}},"cwd":"KEY","git":{"branch":"KEY"},"model_provider":"KEY"`),
	rowOf("turn_context", `"turn_id":"KEY","model":"KEY","cwd":"KEY"`),
	rowOf("response_item", `"type":"message","id":"KEY","role":"assistant","content":[{"type":"output_text","text":"KEY"}]`),
	rowOf("response_item", `"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"KEY"}]`),
	rowOf("response_item", `"type":"function_call","name":"KEY","call_id":"KEY","arguments":"{\"KEY\":\"KEY\"}"`),
	rowOf("response_item", `"type":"function_call","name":"shell","call_id":"c","arguments":"{\"command\":[\"cat\",\"KEY\"]}"`),
	rowOf("response_item", `"type":"custom_tool_call","name":"apply_patch","call_id":"c","input":"*** Add File: KEY\n+KEY"`),
	rowOf("response_item", `"type":"function_call_output","call_id":"c","output":"Process exited with code 1\nOutput:\nKEY"`),
	rowOf("response_item", `"type":"function_call_output","call_id":"c","output":"Process running with session ID KEY"`),
	rowOf("response_item", `"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"data:image/png;base64,aGVsbG8="}]`),
	rowOf("response_item", `"type":"web_search_call","id":"KEY","action":{"query":"KEY"}`),
	rowOf("event_msg", `"type":"user_message","message":"KEY"`),
	rowOf("event_msg", `"type":"error","message":"KEY","codex_error_info":"KEY"`),
	rowOf("event_msg", `"type":"task_complete","error":{"message":"KEY"}`),
	rowOf("event_msg", `"type":"mcp_tool_call_end","call_id":"c","invocation":{"server":"KEY","tool":"KEY","arguments":{"KEY":"KEY"}},"result":{"Ok":{"content":[{"text":"KEY"}]}}`),
	rowOf("event_msg", `"type":"item_completed","thread_id":"KEY","item":{"type":"CommandExecution","id":"c","command":["echo","KEY"],"aggregated_output":"KEY","exit_code":1,"duration":{"secs":1,"nanos":2}}`),
	rowOf("event_msg", `"type":"item_completed","item":{"type":"FileChange","id":"c","changes":{"KEY":{"type":"update","unified_diff":"@@\n+KEY","move_path":"KEY"}}}`),
	rowOf("event_msg", `"type":"item_completed","item":{"type":"CollabAgentToolCall","id":"c","tool":"wait","prompt":"KEY","agents_states":{"KEY":{"completed":"KEY"}}}`),
	rowOf("token_usage_record", `"thread_id":"KEY","response_id":"KEY","usage":{"input_tokens":1}`),
	rowOf("KEY", `"KEY":"KEY"`),
	`{"type":"event_msg","payload":"KEY"}`,
	"KEY text \xff",
}

func TestSecretsOfRowsAreNotKept(t *testing.T) {
	r, err := redact.New(true, []string{`CANARY-\w+`})
	require.NoError(t, err)
	const key = "CANARY-abc123"
	for _, seed := range rowSeeds {
		line := strings.ReplaceAll(seed, "KEY", key)
		for _, capture := range []translate.Capture{{}, decodetest.Everything} {
			for _, s := range decodetest.Strings(NewRolloutDecoder(Options{Capture: capture, Redactor: r}).Decode([]byte(line), nil)) {
				assert.NotContains(t, s, key, line)
			}
		}
	}
}

func FuzzRollout(f *testing.F) {
	decodetest.Fuzz(f, rowSeeds, func(opt Options) decodetest.Decoder { return NewRolloutDecoder(opt) })
}
