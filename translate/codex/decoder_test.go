// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package codex

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode/decodetest"
	"github.com/otelcol-agents/otelcol-agents/translate/redact"
)

var some = translate.Some[int64]

// one decodes a line that has one record.
func one(t *testing.T, opt Options, line string) *translate.Record {
	t.Helper()
	out := NewDecoder(opt).Decode([]byte(line), nil)
	require.Len(t, out, 1, line)
	require.NotNil(t, out[0].Record, line)
	return out[0].Record
}

// block decodes a completed item that gives one block.
func block(t *testing.T, opt Options, item string) *translate.Block {
	t.Helper()
	rec := one(t, opt, `{"type":"item.completed","item":{"id":"item_1",`+item+`}}`)
	require.NotNil(t, rec.Response)
	assert.True(t, rec.Response.PerTurn)
	require.Len(t, rec.Response.Blocks, 1)
	return &rec.Response.Blocks[0]
}

func TestThread(t *testing.T) {
	rec := one(t, Options{}, `{"thread_id":"th-1","type":"thread.started"}`)
	assert.Equal(t, "th-1", rec.Session)
	assert.Equal(t, &translate.Start{}, rec.Start)
	assert.Equal(t, &translate.Turn{Process: true}, rec.Turn)
	assert.Equal(t, &translate.Turn{Begin: true}, one(t, Options{}, `{"type":"turn.started"}`).Turn)
	assert.Empty(t, one(t, Options{}, `{"type":"thread.started","thread_id":7}`).Session, "an id of a wrong type is none")
}

// TestTimes: the agent writes no time; one that somebody added counts.
func TestTimes(t *testing.T) {
	assert.Zero(t, one(t, Options{}, `{"type":"turn.started"}`).Time)
	assert.EqualValues(t, 1793527200e9, one(t, Options{}, `{"type":"turn.started","timestamp":"2026-11-01T10:00:00Z"}`).Time)
	assert.True(t, one(t, Options{}, `{"type":"turn.started","timestamp":"yesterday"}`).InvalidTime)
}

func TestUsage(t *testing.T) {
	for name, test := range map[string]struct {
		usage string
		want  *translate.Total
	}{
		"all": {
			`{"input_tokens":100,"cached_input_tokens":60,"cache_write_input_tokens":5,"output_tokens":9,"reasoning_output_tokens":4,"total_tokens":109}`,
			&translate.Total{Input: some(100), CacheRead: some(60), CacheWrite: some(5), Output: some(9), Reasoning: some(4)},
		},
		"old versions":  {`{"input_tokens":100,"cached_input_tokens":60,"output_tokens":9}`, &translate.Total{Input: some(100), CacheRead: some(60), Output: some(9)}},
		"zeros":         {`{"input_tokens":0,"output_tokens":0}`, &translate.Total{Input: some(0), Output: some(0)}},
		"a wrong field": {`{"input_tokens":"many","output_tokens":9}`, &translate.Total{Output: some(9)}},
		"negative":      {`{"input_tokens":-4}`, nil},
		"empty":         {`{}`, nil},
		"null":          {`null`, nil},
		"a string":      {`"<redacted>"`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, typ := range []string{"turn.completed", "turn.failed"} {
				rec := one(t, Options{}, `{"type":"`+typ+`","usage":`+test.usage+`}`)
				require.NotNil(t, rec.Terminal)
				if test.want == nil {
					assert.Nil(t, rec.Response)
					continue
				}
				require.NotNil(t, rec.Response)
				assert.Equal(t, test.want, rec.Response.Total)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for name, test := range map[string]struct {
		message string
		typ     string
		retry   bool
	}{
		"words":                {`"you have hit your limit"`, "", false},
		"no string":            {`5`, "", false},
		"json of the API":      {`"{\"type\":\"error\",\"status\":400,\"error\":{}}"`, "400", false},
		"retry notice":         {`"Reconnecting... 1/5 (cut)"`, "", true},
		"retry with a status":  {`"Reconnecting... 2/5 (exceeded retry limit, last status: 429 Too Many Requests)"`, "429", true},
		"retry without number": {`"Reconnecting... soon"`, "", false},
		"unexpected status":    {`"unexpected status 401 Unauthorized: x"`, "401", false},
		"a longer number":      {`"unexpected status 40123"`, "", false},
		"a status of success":  {`"last status: 200"`, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			want := &translate.Failure{Type: test.typ, Retry: test.retry}
			got := one(t, Options{}, `{"type":"error","message":`+test.message+`}`).Failure
			got.Text = translate.Text{}
			assert.Equal(t, want, got)
			terminal := one(t, Options{}, `{"type":"turn.failed","error":{"message":`+test.message+`}}`).Terminal
			assert.True(t, terminal.Failed)
			if test.typ == "" {
				test.typ = "turn_failed"
			}
			assert.Equal(t, test.typ, terminal.ErrorType)
		})
	}
}

func TestCalls(t *testing.T) {
	all := Options{Capture: decodetest.Everything}
	for name, test := range map[string]struct {
		item            string
		id, tool        string
		server, mcpTool string
		args            string
		result          string
	}{
		"command":           {`"type":"command_execution","command":"ls  -l","aggregated_output":"a\n"`, "item_1", "shell", "", "", `{"command":"ls  -l"}`, "a\n"},
		"patch":             {`"type":"file_change","changes":[ {"path":"a", "kind":"add"} ]`, "item_1", "apply_patch", "", "", `{"changes":[{"path":"a","kind":"add"}]}`, ""},
		"mcp":               {`"type":"mcp_tool_call","server":"docs","tool":"find","arguments":{"q": "x"},"result":{"content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}`, "item_1", "find", "docs", "find", `{"q":"x"}`, "one\ntwo"},
		"mcp without tool":  {`"type":"mcp_tool_call","server":"docs"`, "item_1", "mcp_tool_call", "docs", "", "", ""},
		"mcp with an error": {`"type":"mcp_tool_call","server":"docs","tool":"find","error":{"message":"gone"}`, "item_1", "find", "docs", "find", "", "gone"},
		"error as a string": {`"type":"mcp_tool_call","server":"docs","tool":"find","error":"gone"`, "item_1", "find", "docs", "find", "", "gone"},
		"search":            {`"type":"web_search","id":"ws_1","query":"go","action":{"type":"search"}`, "ws_1", "web_search", "", "", `{"query":"go","action":{"type":"search"}}`, ""},
		"search, empty id":  {`"type":"web_search","id":"","query":"go"`, "item_1", "web_search", "", "", `{"query":"go"}`, ""},
		"agents":            {`"type":"collab_tool_call","tool":"wait","prompt":null,"receiver_thread_ids":["a"],"agents_states":{"a":{"status":"completed","message":"five"}}`, "item_1", "wait", "", "", `{"receiver_thread_ids":["a"]}`, "five"},
	} {
		t.Run(name, func(t *testing.T) {
			b := block(t, all, test.item)
			c, res := b.Call, b.Result
			require.NotNil(t, c)
			require.NotNil(t, res)
			assert.Equal(t, test.id, c.ID)
			assert.Equal(t, test.id, res.CallID)
			assert.Equal(t, test.tool, c.Name)
			assert.Equal(t, test.server, c.MCPServer)
			assert.Equal(t, test.mcpTool, c.MCPTool)
			assert.Equal(t, test.args, c.Args.Content)
			assert.Equal(t, test.result, res.Text.Content)

			bare := block(t, Options{}, test.item)
			assert.Empty(t, decodetest.Contents(bare), "nothing is captured")
			assert.Equal(t, len(test.args), bare.Call.ArgBytes)
			assert.Equal(t, c.ArgBytes, bare.Call.ArgBytes)
			assert.Equal(t, res.Text.Bytes, bare.Result.Text.Bytes)
		})
	}
}

func TestImagesOfMCP(t *testing.T) {
	item := `"type":"mcp_tool_call","server":"docs","tool":"draw","result":{"content":[{"type":"image","data":"aGVsbG8=","mimeType":"image/png"}]}`
	b := block(t, Options{Capture: decodetest.Everything}, item)
	assert.Equal(t, "[image/png 5 bytes sha256:2cf24dba5fb0]", b.Result.Text.Content)
}

func TestLineCounts(t *testing.T) {
	for name, test := range map[string]struct {
		changes        string
		added, removed translate.Opt[int64]
	}{
		"diffs":          {`[{"path":"a","diff":"@@ -1 +1,2 @@\n-x\n+y\n+z\n"},{"path":"b","diff":"@@ -1 +0,0 @@\n-x"}]`, some(2), some(2)},
		"one without":    {`[{"path":"a","diff":"@@ -1 +1,2 @@\n+y\n"},{"path":"b"}]`, translate.Opt[int64]{}, translate.Opt[int64]{}},
		"a whole file":   {`[{"path":"a","diff":"package a\n"}]`, translate.Opt[int64]{}, translate.Opt[int64]{}},
		"no changes":     {`[]`, translate.Opt[int64]{}, translate.Opt[int64]{}},
		"no list":        {`{}`, translate.Opt[int64]{}, translate.Opt[int64]{}},
		"diff no string": {`[{"path":"a","diff":{"@@":1}}]`, translate.Opt[int64]{}, translate.Opt[int64]{}},
	} {
		t.Run(name, func(t *testing.T) {
			res := block(t, Options{}, `"type":"file_change","changes":`+test.changes+`,"status":"completed"`).Result
			assert.Equal(t, test.added, res.Added)
			assert.Equal(t, test.removed, res.Removed)
		})
	}
}

func TestAgents(t *testing.T) {
	res := block(t, Options{}, `"type":"collab_tool_call","tool":"wait","agents_states":{"b":{"status":"errored"},"a":{"status":"completed"},"c":{"status":"running"},"d":null}`).Result
	assert.Equal(t, []translate.AgentState{{ID: "b", Ended: true, Failed: true}, {ID: "a", Ended: true}, {ID: "c"}, {ID: "d"}}, res.Agents)

	spawned := block(t, Options{}, `"type":"collab_tool_call","tool":"spawn_agent","receiver_thread_ids":["x",7],"agents_states":{}`)
	assert.True(t, spawned.Call.Launch)
	assert.Equal(t, translate.OpOrchestration, spawned.Call.Ops[0].Kind)
	assert.Equal(t, []translate.AgentState{{ID: "x"}}, spawned.Result.Agents)
}

// TestDiagnostics has lines, or parts of them, that are no records (rulings 19 and 34).
func TestDiagnostics(t *testing.T) {
	for name, test := range map[string]struct {
		line string
		want []translate.Skip
	}{
		"blank":                {"  \r\n", nil},
		"text":                 {"npm warn", []translate.Skip{translate.SkipNotJSON}},
		"cut object":           {`{"type":"item.completed","item":{"id":"i","type":"error","message":"m"}`, []translate.Skip{translate.SkipTorn}},
		"array":                {`[]`, []translate.Skip{translate.SkipBadShape}},
		"no type":              {`{"thread_id":"x"}`, []translate.Skip{translate.SkipBadShape}},
		"type is a number":     {`{"type":1}`, []translate.Skip{translate.SkipBadShape}},
		"two records":          {`{"type":"turn.started"}{"type":"turn.started"}`, []translate.Skip{"", ""}},
		"cut, then a good one": {`{"type":"item.completed","item":{"te{"type":"error","message":"m"}`, []translate.Skip{translate.SkipTorn, ""}},
		"id twice":             {`{"type":"item.completed","item":{"id":"item_1","type":"web_search","id":"ws"}}`, []translate.Skip{""}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []translate.Skip
			for _, x := range NewDecoder(Options{}).Decode([]byte(test.line), nil) {
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

func TestSecretsAreNotKept(t *testing.T) {
	r, err := redact.New(true, []string{`CANARY-\w+`})
	require.NoError(t, err)
	const key = "CANARY-abc123"
	for _, line := range []string{
		`{"type":"` + key + `","` + key + `":1}`,
		`{"type":"thread.started","thread_id":"` + key + `"}`,
		`{"type":"error","message":"` + key + `"}`,
		`{"type":"turn.failed","error":{"message":"` + key + `"}}`,
		`{"type":"item.completed","item":{"id":"` + key + `","type":"command_execution","command":"echo ` + key + `","aggregated_output":"` + key + `"}}`,
		`{"type":"item.completed","item":{"id":"i","type":"command_execution","command":["cat","` + key + `"]}}`,
		`{"type":"item.completed","item":{"id":"i","type":"file_change","changes":[{"path":"` + key + `"}]}}`,
		`{"type":"item.completed","item":{"id":"i","type":"mcp_tool_call","server":"` + key + `","tool":"` + key + `","arguments":{"` + key + `":"` + key + `"},"result":{"content":[{"text":"` + key + `"}]}}}`,
		`{"type":"item.completed","item":{"id":"i","type":"collab_tool_call","tool":"wait","prompt":"` + key + `","agents_states":{"` + key + `":{"status":"completed","message":"` + key + `"}}}}`,
		`{"type":"item.completed","item":{"id":"i","type":"agent_message","text":"` + key + `"}}`,
		`{"type":"item.completed","item":{"id":"i","type":"` + key + `","` + key + `":"` + key + `"}}`,
		key + " text",
	} {
		for _, capture := range []translate.Capture{{}, decodetest.Everything} {
			for _, s := range decodetest.Strings(NewDecoder(Options{Capture: capture, Redactor: r}).Decode([]byte(line), nil)) {
				assert.NotContains(t, s, key, line)
			}
		}
	}
}

// TestManyMembers: lists that are longer than what is read are cut, not refused.
func TestManyMembers(t *testing.T) {
	changes := strings.Repeat(`{"path":"a"},`, maxList+1)
	b := block(t, Options{}, `"type":"file_change","changes":[`+changes[:len(changes)-1]+`]`)
	assert.Len(t, b.Call.Ops, maxList)
	words := strings.Repeat(`"a",`, maxList+1)
	b = block(t, Options{}, `"type":"command_execution","command":[`+words[:len(words)-1]+`]`)
	assert.Equal(t, translate.OpUnknown, b.Call.Ops[0].Kind)
}

var fuzzSeeds = []string{
	`{"type":"thread.started","thread_id":"th"}`,
	`{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":1,"output_tokens":1}}`,
	`{"type":"turn.failed","error":{"message":"{\"status\":429}"}}`,
	`{"type":"error","message":"Reconnecting... 1/5"}`,
	`{"type":"item.completed","item":{"id":"i","type":"command_execution","command":"/bin/bash -lc 'sed -n 1,9p a'","aggregated_output":"x\naborted by user","exit_code":-1,"status":"failed"}}`,
	`{"type":"item.completed","item":{"id":"i","type":"command_execution","command":["rg","a\ud83d","src"],"status":"declined"}}`,
	`{"type":"item.completed","item":{"id":"i","type":"file_change","changes":[{"path":"a","kind":"add","diff":"@@\n+a"}],"status":"failed"}}`,
	`{"type":"item.completed","item":{"id":"i","type":"mcp_tool_call","server":"s","tool":"t","arguments":{"a":[1]},"result":{"content":[{"type":"image","data":"aGVsbG8=","mimeType":"image/png"},{"text":"x"}]},"error":null}}`,
	`{"type":"item.completed","item":{"id":"i","type":"web_search","id":"ws","query":"q","action":{}}}`,
	`{"type":"item.completed","item":{"id":"i","type":"collab_tool_call","tool":"spawn_agent","prompt":"p","receiver_thread_ids":["a"],"agents_states":{"a":{"status":"pending_init","message":"m"}}}}`,
	`{"type":"item.started","item":{"id":"i","type":"todo_list","items":[]}}`,
	`{"type":"item.completed","item":{"id":"i","type":"reasoning","text":"hm"}}`,
	`{"type":"agentstream.context","attributes":{"a":1}}`,
	"npm warn \xff",
}

func FuzzDecode(f *testing.F) {
	decodetest.Fuzz(f, fuzzSeeds, func(opt Options) decodetest.Decoder { return NewDecoder(opt) })
}
