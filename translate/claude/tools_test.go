// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package claude

import (
	"reflect"
	"testing"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

var some = translate.Some[int64]

func text(s string) translate.Text { return translate.Text{Bytes: len(s), Content: s} }

// TestTools has the rows of the tool mapping, section 4.2.
func TestTools(t *testing.T) {
	none := translate.Opt[int64]{}
	for name, test := range map[string]struct {
		tool, input string
		want        translate.Op
	}{
		"Read":                       {"Read", `{"file_path":"a.go"}`, translate.Op{Kind: translate.OpRead, Path: text("a.go"), Resolve: true}},
		"Read path":                  {"Read", `{"path":"a.go"}`, translate.Op{Kind: translate.OpRead, Path: text("a.go"), Resolve: true}},
		"Read range":                 {"Read", `{"file_path":"a","offset":10,"limit":5}`, translate.Op{Kind: translate.OpRead, Path: text("a"), Resolve: true, Start: some(10), End: some(14)}},
		"Read range, other names":    {"Read", `{"file_path":"a","start_line":10,"line_count":1}`, translate.Op{Kind: translate.OpRead, Path: text("a"), Resolve: true, Start: some(10), End: some(10)}},
		"Read from 0":                {"Read", `{"file_path":"a","offset":0}`, translate.Op{Kind: translate.OpRead, Path: text("a"), Resolve: true, Start: some(0)}},
		"Read nothing from 0":        {"Read", `{"file_path":"a","offset":0,"limit":0}`, translate.Op{Kind: translate.OpRead, Path: text("a"), Resolve: true, Start: some(0), End: some(0)}},
		"Read limit alone":           {"Read", `{"file_path":"a","limit":5}`, translate.Op{Kind: translate.OpRead, Path: text("a"), Resolve: true}},
		"Read saturates":             {"Read", `{"file_path":"a","offset":18446744073709551615,"limit":9}`, translate.Op{Kind: translate.OpRead, Path: text("a"), Resolve: true, Start: some(1<<63 - 1), End: some(1<<63 - 1)}},
		"Read float, negative, text": {"Read", `{"file_path":"a","offset":1.5,"start_line":"3","limit":-1}`, translate.Op{Kind: translate.OpRead, Path: text("a"), Resolve: true, Start: none}},
		"Read second spelling":       {"Read", `{"file_path":"a","offset":"x","start_line":3}`, translate.Op{Kind: translate.OpRead, Path: text("a"), Resolve: true, Start: some(3)}},
		"Read first string wins":     {"Read", `{"file_path":5,"path":"b"}`, translate.Op{Kind: translate.OpRead, Path: text("b"), Resolve: true}},
		"Read without path":          {"Read", `{"offset":1}`, translate.Op{}},
		"Read without object":        {"Read", `null`, translate.Op{}},
		"Write":                      {"Write", `{"file_path":"a","content":"x"}`, translate.Op{Kind: translate.OpWrite, Path: text("a"), Resolve: true}},
		"Edit":                       {"Edit", `{"filePath":"a"}`, translate.Op{Kind: translate.OpWrite, Path: text("a"), Resolve: true}},
		"MultiEdit":                  {"MultiEdit", `{"path":"a"}`, translate.Op{Kind: translate.OpWrite, Path: text("a"), Resolve: true}},
		"NotebookEdit":               {"NotebookEdit", `{"notebook_path":"n","file_path":"f"}`, translate.Op{Kind: translate.OpWrite, Path: text("n"), Resolve: true}},
		"NotebookEdit fallback":      {"NotebookEdit", `{"file_path":"f"}`, translate.Op{Kind: translate.OpWrite, Path: text("f"), Resolve: true}},
		"Grep":                       {"Grep", `{"pattern":"x","path":"src"}`, translate.Op{Kind: translate.OpSearch, Query: text("x"), Path: text("src"), Resolve: true}},
		"Grep query":                 {"Grep", `{"query":"x"}`, translate.Op{Kind: translate.OpSearch, Query: text("x")}},
		"Grep without pattern":       {"Grep", `{"path":"src"}`, translate.Op{}},
		"Glob":                       {"Glob", `{"pattern":"*.go"}`, translate.Op{Kind: translate.OpSearch, Query: text("*.go")}},
		"Glob glob":                  {"Glob", `{"glob":"*.go"}`, translate.Op{Kind: translate.OpSearch, Query: text("*.go")}},
		"LS":                         {"LS", `{"path":"d"}`, translate.Op{Kind: translate.OpList, Path: text("d"), Resolve: true}},
		"LS without path":            {"LS", `{}`, translate.Op{Kind: translate.OpList}},
		"Bash command":               {"Bash", `{"command":"npm test"}`, translate.Op{Kind: translate.OpCommand, Command: text("npm test")}},
		"Bash cmd":                   {"Bash", `{"cmd":"npm test"}`, translate.Op{Kind: translate.OpCommand, Command: text("npm test")}},
		"Bash read":                  {"Bash", `{"command":"sed -n '10,20p' a.go"}`, translate.Op{Kind: translate.OpRead, Path: text("a.go"), Start: some(10), End: some(20)}},
		"Bash search":                {"Bash", `{"command":"rg needle src"}`, translate.Op{Kind: translate.OpSearch, Query: text("needle"), Path: text("src")}},
		"Bash list":                  {"Bash", `{"command":"ls docs"}`, translate.Op{Kind: translate.OpList, Path: text("docs")}},
		"Bash without command":       {"Bash", `{}`, translate.Op{}},
		"Skill":                      {"Skill", `{"skill":"pdf"}`, translate.Op{Kind: translate.OpSkill, Skill: "pdf"}},
		"Skill with arguments":       {"Skill", `{"command":"pdf secret.pdf"}`, translate.Op{Kind: translate.OpSkill, Skill: "pdf"}},
		"Skill without name":         {"Skill", `{}`, translate.Op{}},
		"Agent":                      {"Agent", `{"prompt":"go","subagent_type":"Explore"}`, translate.Op{Kind: translate.OpOrchestration}},
		"Task":                       {"Task", `{"prompt":"go"}`, translate.Op{Kind: translate.OpOrchestration}},
		"StructuredOutput":           {"StructuredOutput", `{"a":1}`, translate.Op{Kind: translate.OpNone}},
		"Workflow":                   {"Workflow", `{"script":"x"}`, translate.Op{}},
		"TodoWrite":                  {"TodoWrite", `{"todos":[]}`, translate.Op{}},
		"MCP":                        {"mcp__docs__find", `{"path":"x"}`, translate.Op{}},
	} {
		t.Run(name, func(t *testing.T) {
			line := assistantLine(`{"type":"tool_use","id":"t1","name":"` + test.tool + `","input":` + test.input + `}`)
			c := one(t, Options{Capture: translate.Capture{ToolArguments: true}}, line).Response.Blocks[0].Call
			if len(c.Ops) != 1 || c.Ops[0] != test.want {
				t.Errorf("got  %+v\nwant %+v", c.Ops, test.want)
			}
			if c.ID != "t1" || c.Name != test.tool || c.ArgBytes != len(test.input) || c.Args.Content != test.input {
				t.Errorf("%+v", c)
			}
			if (c.Keys != nil) != (test.want.Kind == translate.OpUnknown) {
				t.Errorf("keys %q", c.Keys)
			}
			// Nothing of it leaves without capture, and what it is stays the same.
			bare := one(t, Options{}, line).Response.Blocks[0].Call.Ops[0]
			want := test.want
			want.Path, want.Query, want.Command = translate.Text{}, translate.Text{}, translate.Text{}
			if bare != want {
				t.Errorf("without capture %+v", bare)
			}
		})
	}
}

func TestCalls(t *testing.T) {
	block := func(b string) translate.Block {
		return one(t, Options{Capture: translate.Capture{Prompts: true}}, assistantLine(b)).Response.Blocks[0]
	}
	c := block(`{"type":"tool_use","id":"t","name":"Agent","input":{"prompt":"do it","subagent_type":"Explore","run_in_background":true}}`).Call
	if !c.Launch || c.AgentType != "Explore" || c.Prompt != text("do it") || !c.Background {
		t.Errorf("%+v", c)
	}
	if c = block(`{"type":"tool_use","id":"t","name":"Workflow","input":{}}`).Call; !c.Workflow || c.Launch {
		t.Errorf("%+v", c)
	}
	if c = block(`{"type":"tool_use","id":"t","name":"X","input":{ "a" : [ 1, 2 ], "b":"x y" }}`).Call; c.ArgBytes != len(`{"a":[1,2],"b":"x y"}`) {
		t.Errorf("%d bytes of arguments", c.ArgBytes)
	}
	for _, malformed := range []string{
		`{"type":"tool_use","name":"Bash","input":{}}`,
		`{"type":"tool_use","id":"t","input":{}}`,
		`{"type":"tool_use","id":"t","name":"Bash"}`,
		`{"type":"tool_use","id":5,"name":"Bash","input":{}}`,
		`{"type":"tool_use","id":"t","name":null,"input":{}}`,
	} {
		b := block(malformed)
		if b.Kind != translate.BlockUnknown || b.Unknown.Reason != translate.UnknownBlock || b.Unknown.Type != "tool_use" || b.Unknown.Bytes != len(malformed) {
			t.Errorf("%s: %+v", malformed, b)
		}
	}
}

// TestResults has what the results of tools say (event mapping, section 4.3; rulings 8, 10, 27, 28).
func TestResults(t *testing.T) {
	for name, test := range map[string]struct {
		block, beside string // members of the block; the structured result
		want          translate.Result
	}{
		"text":                {`"content":"ok\n"`, ``, translate.Result{Text: translate.Text{Bytes: 3}}},
		"no content":          {`"is_error":false`, ``, translate.Result{}},
		"blocks":              {`"content":[{"type":"text","text":"ab"},{"type":"image","source":{"data":"AAAA"}},{"type":"text","text":"é"}]`, ``, translate.Result{Text: translate.Text{Bytes: 4}}},
		"error":               {`"content":"no","is_error":true`, `"Error: no"`, translate.Result{IsError: true, Text: translate.Text{Bytes: 2}}},
		"exit code":           {`"content":"Exit code 127\nx","is_error":true`, ``, translate.Result{IsError: true, ExitCode: some(127), Text: translate.Text{Bytes: 15}}},
		"exit code, no error": {`"content":"Exit code 1"`, ``, translate.Result{Text: translate.Text{Bytes: 11}}},
		"exit code later":     {`"content":"x Exit code 1","is_error":true`, ``, translate.Result{IsError: true, Text: translate.Text{Bytes: 13}}},
		"exit code in blocks": {`"content":[{"type":"text","text":"Exit code 2"}],"is_error":true`, ``, translate.Result{IsError: true, ExitCode: some(2), Text: translate.Text{Bytes: 11}}},
		"interrupted, block":  {`"is_interrupted":true`, ``, translate.Result{Interrupted: true}},
		"interruption, block": {`"is_interruption":true`, ``, translate.Result{Interrupted: true}},
		"interrupted, beside": {`"content":""`, `{"interrupted":true}`, translate.Result{Interrupted: true}},
		"interrupted: false":  {`"content":""`, `{"interrupted":false,"is_interruption":"true"}`, translate.Result{}},
		"timeout":             {`"content":""`, `{"timedOutAfterMs":5000}`, translate.Result{TimedOut: true}},
		"no timeout":          {`"content":""`, `{"timedOutAfterMs":0}`, translate.Result{}},
		"duration":            {`"content":""`, `{"durationMs":12.5}`, translate.Result{Duration: some(12_500_000)}},
		"negative duration":   {`"content":""`, `{"durationMs":-1}`, translate.Result{}},
		"background":          {`"content":""`, `{"backgroundTaskId":"b1"}`, translate.Result{Async: true, TaskID: "b1"}},
		"background text":     {`"content":"Command running in background with ID: b1. Output is"`, ``, translate.Result{TaskID: "b1", Text: translate.Text{Bytes: 52}}},
		"async agent":         {`"content":""`, `{"status":"async_launched","agentId":"a1"}`, translate.Result{Async: true, AgentID: "a1", RanAgent: true, Status: "async_launched"}},
		"async flag":          {`"content":""`, `{"isAsync":true}`, translate.Result{Async: true}},
		"agent":               {`"content":[]`, `{"status":"completed","agentId":"a1","agentType":"Explore","totalTokens":5}`, translate.Result{AgentID: "a1", AgentType: "Explore", RanAgent: true, Status: "completed"}},
		"agent, totals alone": {`"content":[]`, `{"totalDurationMs":5}`, translate.Result{RanAgent: true}},
		"workflow":            {`"content":""`, `{"status":"async_launched","taskId":"w1"}`, translate.Result{Async: true, TaskID: "w1", Status: "async_launched"}},
		"edit":                {`"content":""`, `{"filePath":"a","structuredPatch":[{"lines":[" a","-b","+c","+","\\ No newline"]},{"lines":["-x"]}]}`, translate.Result{Added: some(2), Removed: some(2)}},
		"new file":            {`"content":""`, `{"type":"create","content":"a\nb\n","structuredPatch":[]}`, translate.Result{Added: some(2), Removed: some(0)}},
		"staged":              {`"content":""`, `{"type":"create","content":"a","structuredPatch":[],"staged":true}`, translate.Result{}},
		"TaskOutput":          {`"content":""`, `{"retrieval_status":"success","task":{"task_id":"x","status":"completed","exitCode":0}}`, translate.Result{Ends: &translate.TaskEnd{TaskID: "x", Status: "completed", ExitCode: some(0)}}},
		"TaskOutput, running": {`"content":""`, `{"task":{"task_id":"x","status":"running"}}`, translate.Result{}},
		"TaskCreate":          {`"content":""`, `{"task":{"id":"1","subject":"x"}}`, translate.Result{}},
		"BashOutput":          {`"content":""`, `{"shellId":"x","status":"failed","exitCode":3}`, translate.Result{Status: "failed", Ends: &translate.TaskEnd{TaskID: "x", Status: "failed", ExitCode: some(3)}}},
		"BashOutput, running": {`"content":""`, `{"shellId":"x","status":"running","exitCode":null}`, translate.Result{Status: "running"}},
		"KillShell":           {`"content":""`, `{"message":"killed","shell_id":"x"}`, translate.Result{Ends: &translate.TaskEnd{TaskID: "x", Status: "killed"}}},
		"KillShell, too late": {`"content":"Shell x1 is not running, so cannot be killed (status: failed)","is_error":true`, ``, translate.Result{IsError: true, Text: translate.Text{Bytes: 61}, Ends: &translate.TaskEnd{TaskID: "x1", Status: "failed"}}},
		"TaskStop":            {`"content":""`, `{"task_id":"x"}`, translate.Result{Ends: &translate.TaskEnd{TaskID: "x", Status: "stopped"}}},
		"file":                {`"content":""`, `{"type":"text","file":{"filePath":"/a","startLine":3,"content":"x"}}`, translate.Result{HasFile: true, FilePath: translate.Text{Bytes: 2}, FileStart: some(3)}},
		"file from 0":         {`"content":""`, `{"file":{"file_path":"/a","offset":0}}`, translate.Result{HasFile: true, FilePath: translate.Text{Bytes: 2}}},
		"file in the block":   {`"tool_use_result":{"file":{"path":"/a"}}`, ``, translate.Result{HasFile: true, FilePath: translate.Text{Bytes: 2}}},
		"image file":          {`"content":""`, `{"type":"image","file":{"base64":"AAAA","type":"image/png"}}`, translate.Result{}},
		"wrong types":         {`"content":5,"is_error":"yes"`, `{"durationMs":"x","agentId":7,"status":[],"structuredPatch":{},"file":"a","task":1}`, translate.Result{}},
	} {
		t.Run(name, func(t *testing.T) {
			beside := ""
			if test.beside != "" {
				beside = `,"tool_use_result":` + test.beside
			}
			rec := one(t, Options{}, userLine(`[{"type":"tool_result","tool_use_id":"t",`+test.block+`}]`, beside))
			got := rec.Results[0]
			if got.Unknown == nil || got.Unknown.Reason != translate.UnknownOrphan || got.Unknown.Type != "tool_result" {
				t.Errorf("unknown %+v", got.Unknown)
			}
			got.Unknown = nil
			test.want.CallID = "t"
			if (got.Ends == nil) != (test.want.Ends == nil) || got.Ends != nil && *got.Ends != *test.want.Ends {
				t.Errorf("ends %+v, want %+v", got.Ends, test.want.Ends)
			}
			got.Ends, test.want.Ends = nil, nil
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

func TestDenied(t *testing.T) {
	denied := func(block, more string) bool {
		return one(t, Options{}, userLine(`[{"type":"tool_result","tool_use_id":"t",`+block+`}]`, more)).Results[0].Denied
	}
	for _, beginning := range denials {
		if !denied(`"is_error":true,"content":"`+beginning+`x"`, "") {
			t.Errorf("%q is not denied", beginning)
		}
		if denied(`"content":"`+beginning+`x"`, "") {
			t.Errorf("%q is denied without an error", beginning)
		}
		if denied(`"is_error":true,"content":"x `+beginning+`"`, "") {
			t.Errorf("%q is denied in the middle", beginning)
		}
	}
	for kind, want := range map[string]bool{"permission-rule": true, "user-rejected": true, "hook": false} {
		if denied(`"content":"x"`, `,"tool_result_meta":[{"id":"t","non_execution_kind":"`+kind+`"}]`) != want {
			t.Errorf("%s: not %v", kind, want)
		}
	}
	if denied(`"content":"x"`, `,"tool_result_meta":[{"id":"u","non_execution_kind":"user-rejected"}]`) {
		t.Error("denied by the mark of another call")
	}
}

func TestResultContent(t *testing.T) {
	rec := one(t, Options{Capture: translate.Capture{ToolResults: true}},
		userLine(`[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}]`, ""))
	if got := rec.Results[0].Text; got.Bytes != 1 || got.Content != "a\n[image/png 3 bytes sha256:709e80c88487]" {
		t.Errorf("%+v", got)
	}
	// Which result the structured one belongs to is not guessed.
	rec = one(t, Options{}, userLine(`[{"type":"tool_result","tool_use_id":"t"},{"type":"tool_result","tool_use_id":"u"}]`, `,"tool_use_result":{"interrupted":true}`))
	if rec.Results[0].Interrupted || rec.Results[1].Interrupted {
		t.Errorf("%+v", rec.Results)
	}
}
