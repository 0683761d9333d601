// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package cline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/cline"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

var everything = translate.Capture{
	Prompts: true, Responses: true, Reasoning: true, ToolArguments: true, ToolResults: true, Raw: true, Identity: true,
}

// fold reads lines as one source, each a second after the one before unless it tells its time.
func fold(format translate.Format, capture translate.Capture, lines []string) []translate.Output {
	d := cline.NewDecoder(decode.Options{Capture: capture, MaxContentBytes: 8192})
	cfg := session.NewConfig()
	cfg.Capture = capture
	a := session.New(cfg)
	src := a.Open(session.SourceInfo{Format: format, Agent: "cline", ModTime: 1_790_000_000_000_000_000, Derived: "derived"})
	for i, line := range lines {
		if !strings.Contains(line, `"ts":`) {
			line = fmt.Sprintf(`{"ts":"2026-10-12T09:%02d:%02dZ",%s`, i/60, i%60, line[1:])
		}
		for _, u := range d.Decode([]byte(line), nil) {
			a.Step(src, &u)
		}
	}
	a.End(src)
	a.Close()
	return a.Take()
}

// events lists the normalized events in short: what they are and, behind an @, the span they stand on.
func events(outs []translate.Output) []string {
	spans := map[translate.SpanID]string{}
	for i := range outs {
		if sp := outs[i].Span; sp != nil {
			spans[sp.SpanID] = map[translate.SpanType]string{
				translate.SpanRoot: "root", translate.SpanChat: "chat", translate.SpanTool: "tool", translate.SpanSubagent: "sub",
			}[sp.Type]
		}
	}
	var all []string
	for i := range outs {
		l := outs[i].Log
		if l == nil || l.Event == translate.EventSessionStart || l.Event == translate.EventSessionEnd {
			continue
		}
		all = append(all, event(l)+" @"+spans[l.SpanID])
	}
	slices.Sort(all)
	return all
}

func event(l *translate.Log) string {
	words := []string{strings.TrimPrefix(string(l.Event), "agentstream.")}
	add := func(there bool, format string, args ...any) {
		if there {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	add(l.Captured, "%s", l.Body)
	add(l.Event == translate.EventError, "%s", l.ErrType)
	add(l.Event == translate.EventError && !l.Captured, "(%s)", l.Body)
	add(l.Reason != "", "%s", l.Reason)
	record := strings.Trim(l.RecordType+"/"+l.RecordSubtype, "/")
	add(record != "" && l.Reason != translate.UnknownTool, "%s", record)
	add(l.Reason == translate.UnknownTool, "%s", l.Tool)
	add(l.Action != "", "%s %s %s", l.Action, l.SubagentID, l.SubagentType)
	for _, s := range []string{l.Command, l.Query, l.Path, l.Skill, l.SkillPath} {
		add(s != "", "%s", s)
	}
	add(l.StartLine.OK, "%d-%d", l.StartLine.V, l.EndLine.V)
	add(l.Success.OK && l.Success.V, "ok")
	add(l.Success.OK && !l.Success.V, "failed")
	add(l.ExitCode.OK, "exit %d", l.ExitCode.V)
	return strings.Join(words, " ")
}

func inner(event string) string { return `{"type":"agent_event","event":` + event + `}` }

// call is the two records of a call with the given tool, input and end.
func call(tool, input, end string) []string {
	return []string{
		inner(`{"type":"content_start","contentType":"tool","toolName":"` + tool + `","toolCallId":"c","input":` + input + `}`),
		inner(`{"type":"content_end","contentType":"tool","toolName":"` + tool + `","toolCallId":"c",` + end + `}`),
	}
}

func end(contentType, more string) string {
	return inner(`{"type":"content_end","contentType":"` + contentType + `"` + more + `}`)
}

const usage = `{"type":"agent_event","event":{"type":"usage","inputTokens":10,"outputTokens":5}}`

type mapping struct {
	lines []string
	want  []string
}

func (m mapping) check(t *testing.T, format translate.Format) {
	t.Helper()
	want := slices.Sorted(slices.Values(m.want))
	if got := events(fold(format, everything, m.lines)); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestRecords has the rows of the record mapping (event mapping, section 5).
func TestRecords(t *testing.T) {
	for name, test := range map[string]mapping{
		"hook_event": {[]string{`{"type":"hook_event","hookEventName":"prompt_submit","agentId":"a"}`}, nil},
		"hook_event agent_start of a subagent": {
			[]string{
				`{"type":"hook_event","hookEventName":"agent_start","agentId":"a","parentAgentId":null}`,
				`{"type":"hook_event","hookEventName":"agent_start","agentId":"b","parentAgentId":"a"}`,
				`{"type":"hook_event","hookEventName":"agent_end","agentId":"b","parentAgentId":"a"}`,
			},
			[]string{"orchestration subagent_started b subagent @sub", "orchestration subagent_completed b subagent ok @sub"},
		},
		"hook_event agent_error of a subagent": {
			[]string{
				`{"type":"hook_event","hookEventName":"agent_start","agentId":"b","parentAgentId":"a"}`,
				`{"type":"hook_event","hookEventName":"agent_error","agentId":"b","parentAgentId":"a"}`,
			},
			[]string{"orchestration subagent_started b subagent @sub", "orchestration subagent_failed b subagent failed @sub"},
		},
		"hook_event agent_start again": {
			[]string{
				`{"type":"hook_event","hookEventName":"agent_start","agentId":"b","parentAgentId":"a"}`,
				`{"type":"hook_event","hookEventName":"agent_resume","agentId":"b","parentAgentId":"a"}`,
			},
			[]string{"orchestration subagent_started b subagent @sub", "orchestration subagent_completed b subagent @sub"},
		},
		"run_result":               {[]string{`{"type":"run_result","finishReason":"completed","text":"fine"}`}, nil},
		"run_result error":         {[]string{`{"type":"run_result","finishReason":"error","text":"no key"}`}, []string{"error no key error @root"}},
		"run_result mistake_limit": {[]string{`{"type":"run_result","finishReason":"mistake_limit","text":"a text"}`}, []string{"error mistake_limit (run ended: mistake_limit) @root"}},
		"run_result max_iterations": {
			[]string{`{"type":"run_result","finishReason":"max_iterations","text":"a text"}`},
			[]string{"error max_iterations (run ended: max_iterations) @root"},
		},
		"run_result aborted":                      {[]string{`{"type":"run_result","finishReason":"aborted"}`}, nil},
		"agent_event without event":               {[]string{`{"type":"agent_event"}`}, []string{"unknown record_type agent_event @root"}},
		"agent_event with an event of wrong type": {[]string{`{"type":"agent_event","event":"x"}`}, []string{"unknown record_type agent_event @root"}},
		"iteration_start":                         {[]string{inner(`{"type":"iteration_start","iteration":1}`)}, nil},
		"iteration_end":                           {[]string{inner(`{"type":"iteration_end","iteration":1,"hadToolCalls":false}`)}, nil},
		"usage":                                   {[]string{usage}, nil},
		"done":                                    {[]string{inner(`{"type":"done","reason":"completed","text":"x","usage":{"inputTokens":1}}`)}, nil},
		"content_start of a text":                 {[]string{inner(`{"type":"content_start","contentType":"text","text":"Hel","accumulated":"Hel"}`)}, nil},
		"content_start of reasoning":              {[]string{inner(`{"type":"content_start","contentType":"reasoning","reasoning":"Hm"}`)}, nil},
		"content_start of another kind":           {[]string{inner(`{"type":"content_start","contentType":"media"}`)}, nil},
		"content_start of a tool without id":      {[]string{inner(`{"type":"content_start","contentType":"tool","toolName":"bash"}`)}, nil},
		"content_start of a tool without name":    {[]string{inner(`{"type":"content_start","contentType":"tool","toolCallId":"c"}`)}, nil},
		"content_start of a tool, never ended": {
			[]string{inner(`{"type":"content_start","contentType":"tool","toolName":"bash","toolCallId":"c","input":{"command":"make"}}`)},
			[]string{"command make @tool"},
		},
		"content_end text":                       {[]string{usage, end("text", `,"text":"Hello"`)}, []string{"agent Hello @chat"}},
		"content_end text before its usage":      {[]string{end("text", `,"text":"Hello"`), usage}, []string{"agent Hello @chat"}},
		"content_end text without any usage":     {[]string{end("text", `,"text":"Hello"`)}, []string{"agent Hello @root"}},
		"content_end text in content":            {[]string{usage, end("text", `,"content":"Hello"`)}, []string{"agent Hello @chat"}},
		"content_end text that is empty":         {[]string{usage, end("text", `,"text":"","content":"Hello"`)}, nil},
		"content_end text that is no string":     {[]string{usage, end("text", `,"text":5,"content":"Hello"`)}, []string{"agent Hello @chat"}},
		"content_end text without a text":        {[]string{usage, end("text", ``)}, nil},
		"content_end reasoning":                  {[]string{usage, end("reasoning", `,"reasoning":"Hm"`)}, []string{"reasoning Hm @chat"}},
		"content_end reasoning in text":          {[]string{usage, end("reasoning", `,"text":"Hm"`)}, []string{"reasoning Hm @chat"}},
		"content_end reasoning in content":       {[]string{usage, end("reasoning", `,"content":"Hm"`)}, []string{"reasoning Hm @chat"}},
		"content_end reasoning that is empty":    {[]string{usage, end("reasoning", `,"reasoning":"","text":"Hm"`)}, nil},
		"content_end thinking":                   {[]string{usage, end("thinking", `,"text":"Hm"`)}, []string{"reasoning Hm @chat"}},
		"content_end of another kind":            {[]string{end("media", `,"media":{}`)}, []string{"unknown block media @root"}},
		"content_end without a kind":             {[]string{inner(`{"type":"content_end"}`)}, []string{"unknown block @root"}},
		"content_update of a tool":               {[]string{inner(`{"type":"content_update","contentType":"tool","toolCallId":"c","update":{}}`)}, nil},
		"content_update of a tool without id":    {[]string{inner(`{"type":"content_update","contentType":"tool"}`)}, []string{"unknown subtype agent_event/content_update @root"}},
		"content_update of another kind":         {[]string{inner(`{"type":"content_update","contentType":"text"}`)}, []string{"unknown subtype agent_event/content_update @root"}},
		"inner error":                            {[]string{inner(`{"type":"error","error":{"name":"E","message":"no answer"},"errorClass":"auth","recoverable":false}`)}, []string{"error no answer auth @root"}},
		"inner error without words":              {[]string{inner(`{"type":"error"}`)}, []string{"error error (cline reported an error) @root"}},
		"inner error that repeats refused calls": {[]string{inner(`{"type":"error","error":{"message":"2 tool call(s) failed: [x] y"},"recoverable":true}`)}, nil},
		"inner error of refused calls that is not recoverable": {
			[]string{inner(`{"type":"error","error":{"message":"2 tool call(s) failed: [x] y"},"recoverable":false}`)},
			[]string{"error 2 tool call(s) failed: [x] y error @root"},
		},
		"inner error that is recoverable": {
			[]string{inner(`{"type":"error","error":{"message":"tool call(s) failed: x"},"recoverable":true}`)},
			[]string{"error tool call(s) failed: x error @root"},
		},
		"notice":                   {[]string{inner(`{"type":"notice","noticeType":"status","message":"m"}`)}, []string{"unknown subtype agent_event/notice @root"}},
		"any other inner event":    {[]string{inner(`{"type":"weather"}`)}, []string{"unknown subtype agent_event/weather @root"}},
		"inner event without type": {[]string{inner(`{}`)}, []string{"unknown subtype agent_event @root"}},
		"team_event agent_event": {
			[]string{`{"type":"team_event","event":{"type":"agent_event","agentId":"mate","event":{"type":"content_end","contentType":"text","text":"Hi"}}}`},
			[]string{"agent Hi @sub", "orchestration subagent_started mate mate @sub", "orchestration subagent_completed mate mate @sub"},
		},
		"team_event agent_event usage": {
			[]string{`{"type":"team_event","event":{"type":"agent_event","agentId":"mate","event":{"type":"usage","inputTokens":7}}}`},
			[]string{"orchestration subagent_started mate mate @sub", "orchestration subagent_completed mate mate @sub"},
		},
		"team_event task_start and task_end": {
			[]string{
				`{"type":"team_event","event":{"type":"task_start","agentId":"mate","message":"m"}}`,
				`{"type":"team_event","event":{"type":"task_end","agentId":"mate","status":"completed"}}`,
			},
			[]string{"orchestration subagent_started mate mate @sub", "orchestration subagent_completed mate mate ok @sub"},
		},
		"team_event task_end that failed": {
			[]string{
				`{"type":"team_event","event":{"type":"task_start","agentId":"mate","message":"m"}}`,
				`{"type":"team_event","event":{"type":"task_end","agentId":"mate","status":"failed"}}`,
			},
			[]string{"orchestration subagent_started mate mate @sub", "orchestration subagent_failed mate mate failed @sub"},
		},
		"team_event one pair per run": {
			[]string{
				`{"type":"team_event","event":{"type":"task_start","agentId":"mate"}}`,
				`{"type":"team_event","event":{"type":"task_end","agentId":"mate","status":"completed"}}`,
				`{"type":"team_event","event":{"type":"task_start","agentId":"mate"}}`,
				`{"type":"team_event","event":{"type":"task_end","agentId":"mate","status":"completed"}}`,
			},
			[]string{
				"orchestration subagent_started mate mate @sub", "orchestration subagent_completed mate mate ok @sub",
				"orchestration subagent_started mate/2 mate @sub", "orchestration subagent_completed mate/2 mate ok @sub",
			},
		},
		"team_event teammate_spawned": {[]string{`{"type":"team_event","event":{"type":"teammate_spawned","agentId":"m","teammate":{}}}`}, []string{"unknown record_type team_event/teammate_spawned @root"}},
		"team_event of another kind":  {[]string{`{"type":"team_event","event":{"type":"run_queued"}}`}, []string{"unknown record_type team_event/run_queued @root"}},
		"team_event without event":    {[]string{`{"type":"team_event"}`}, []string{"unknown record_type team_event @root"}},
		"error":                       {[]string{`{"type":"error","message":"no home"}`}, []string{"error no home error @root"}},
		"zen_error":                   {[]string{`{"type":"zen_error","message":"no hub"}`}, []string{"error no hub error @root"}},
		"run_start":                   {[]string{`{"type":"run_start","modelId":"m"}`}, []string{"unknown record_type run_start @root"}},
		"run_aborted":                 {[]string{`{"type":"run_aborted","reason":"local_abort"}`}, []string{"unknown record_type run_aborted/local_abort @root"}},
		"run_abort_requested":         {[]string{`{"type":"run_abort_requested","reason":"sigint"}`}, []string{"unknown record_type run_abort_requested/sigint @root"}},
		"team_restored":               {[]string{`{"type":"team_restored","teamName":"t"}`}, []string{"unknown record_type team_restored @root"}},
		"zen_dispatched":              {[]string{`{"type":"zen_dispatched","hubUrl":"u"}`}, []string{"unknown record_type zen_dispatched @root"}},
		"any other type":              {[]string{`{"type":"martian"}`}, []string{"unknown record_type martian @root"}},
	} {
		t.Run(name, func(t *testing.T) { test.check(t, translate.FormatCline) })
	}
}

// TestLegacy has the rows of the say/ask stream.
func TestLegacy(t *testing.T) {
	for name, test := range map[string]mapping{
		"say text":                    {[]string{`{"type":"say","say":"text","text":"Hi","ts":1793527201000}`}, []string{"agent Hi @root"}},
		"say text that is empty":      {[]string{`{"type":"say","say":"text","text":"","ts":1793527201000}`}, nil},
		"say text without a text":     {[]string{`{"type":"say","say":"text","ts":1793527201000}`}, nil},
		"say completion_result":       {[]string{`{"type":"say","say":"completion_result","text":"Done","ts":1793527201000}`}, []string{"agent Done @root"}},
		"ask followup":                {[]string{`{"type":"ask","ask":"followup","text":"{\"question\":\"?\"}","ts":1793527201000}`}, []string{`agent {"question":"?"} @root`}},
		"say reasoning":               {[]string{`{"type":"say","say":"reasoning","text":"Hm","ts":1793527201000}`}, []string{"reasoning Hm @root"}},
		"say reasoning, other key":    {[]string{`{"type":"say","say":"reasoning","reasoning":"Hm","ts":1793527201000}`}, []string{"reasoning Hm @root"}},
		"say reasoning that is empty": {[]string{`{"type":"say","say":"reasoning","text":"","ts":1793527201000}`}, nil},
		"say error":                   {[]string{`{"type":"say","say":"error","text":"boom","ts":1793527201000}`}, []string{"error boom error @root"}},
		"say error without words":     {[]string{`{"type":"say","say":"error","ts":1793527201000}`}, []string{"error error (cline reported an error) @root"}},
		"ask error":                   {[]string{`{"type":"ask","ask":"error","text":"boom","ts":1793527201000}`}, []string{"error boom error @root"}},
		"say api_req_failed":          {[]string{`{"type":"say","say":"api_req_failed","text":"429","ts":1793527201000}`}, []string{"error 429 error @root"}},
		"ask api_req_failed":          {[]string{`{"type":"ask","ask":"api_req_failed","text":"429","ts":1793527201000}`}, []string{"error 429 error @root"}},
		"a record that is partial":    {[]string{`{"type":"say","say":"text","text":"H","partial":true,"ts":1793527201000}`}, nil},
		"the same message again": {
			[]string{
				`{"type":"say","say":"text","text":"H","partial":true,"ts":1793527201000}`,
				`{"type":"say","say":"text","text":"Hi","partial":false,"ts":1793527201000}`,
				`{"type":"say","say":"text","text":"Hi","ts":1793527201000}`,
			},
			[]string{"agent Hi @root"},
		},
		"two messages of one time": {
			[]string{
				`{"type":"say","say":"text","text":"Hi","ts":1793527201000}`,
				`{"type":"say","say":"reasoning","text":"Hm","ts":1793527201000}`,
			},
			[]string{"agent Hi @root", "reasoning Hm @root"},
		},
		"texts of a request with usage": {
			[]string{
				`{"type":"say","say":"api_req_started","text":"{}","ts":1793527201000}`,
				`{"type":"say","say":"text","text":"Hi","ts":1793527202000}`,
				`{"type":"say","say":"api_req_started","text":"{\"tokensIn\":5,\"tokensOut\":3}","ts":1793527201000}`,
			},
			[]string{"agent Hi @chat", "unknown record_type say/api_req_started @root", "unknown record_type say/api_req_started @root"},
		},
		"say tool":              {[]string{`{"type":"say","say":"tool","text":"{\"tool\":\"readFile\",\"path\":\"a\"}","ts":1793527201000}`}, []string{"unknown record_type say/tool @root"}},
		"ask tool":              {[]string{`{"type":"ask","ask":"tool","text":"{}","ts":1793527201000}`}, []string{"unknown record_type ask/tool @root"}},
		"say command":           {[]string{`{"type":"say","say":"command","text":"make","ts":1793527201000}`}, []string{"unknown record_type say/command @root"}},
		"ask command":           {[]string{`{"type":"ask","ask":"command","text":"make","ts":1793527201000}`}, []string{"unknown record_type ask/command @root"}},
		"ask completion_result": {[]string{`{"type":"ask","ask":"completion_result","ts":1793527201000}`}, []string{"unknown record_type ask/completion_result @root"}},
		"ask plan_mode_respond": {[]string{`{"type":"ask","ask":"plan_mode_respond","text":"{}","ts":1793527201000}`}, []string{"unknown record_type ask/plan_mode_respond @root"}},
		"say api_req_finished":  {[]string{`{"type":"say","say":"api_req_finished","ts":1793527201000}`}, []string{"unknown record_type say/api_req_finished @root"}},
		"say without a kind":    {[]string{`{"type":"say","ts":1793527201000}`}, []string{"unknown record_type say @root"}},
		"task_started":          {[]string{`{"type":"task_started","taskId":"x"}`}, []string{"unknown record_type task_started @root"}},
	} {
		t.Run(name, func(t *testing.T) { test.check(t, translate.FormatClineLegacy) })
	}
}

const good = `"output":{"success":true}`

// TestTools has the rows of the tool table and the shapes that inputs take.
func TestTools(t *testing.T) {
	for name, test := range map[string]struct {
		tool, input, end string
		want             []string
	}{
		"run_commands":                     {"run_commands", `{"commands":["make"]}`, good, []string{"command make ok @tool"}},
		"execute_command":                  {"execute_command", `{"command":"make"}`, good, []string{"command make ok @tool"}},
		"bash":                             {"bash", `{"cmd":"make"}`, good, []string{"command make ok @tool"}},
		"a script":                         {"bash", `{"script":"make"}`, good, []string{"command make ok @tool"}},
		"a bare command":                   {"bash", `"make"`, good, []string{"command make ok @tool"}},
		"commands as a string":             {"run_commands", `{"commands":"make"}`, good, []string{"command make ok @tool"}},
		"commands as an object":            {"run_commands", `{"commands":{"command":"go","args":["build"]}}`, good, []string{"command go build ok @tool"}},
		"a bare list of commands":          {"run_commands", `["make"]`, good, []string{"command make ok @tool"}},
		"one event for each command":       {"run_commands", `{"commands":["make","ls src"]}`, good, []string{"command make ok @tool", "list src ok @tool"}},
		"a program with arguments":         {"run_commands", `{"commands":[{"command":"cat","args":["a b; c"]}]}`, good, []string{"read a b; c ok @tool"}},
		"a command in an object":           {"run_commands", `{"commands":[{"command":"cat a | head -3"}]}`, good, []string{"read a ok @tool"}},
		"arguments that are no strings":    {"run_commands", `{"commands":[{"command":"make","args":[1]}]}`, good, []string{"command make ok @tool"}},
		"empty commands are left out":      {"run_commands", `{"commands":["",7,"make"]}`, good, []string{"command make ok @tool"}},
		"no command at all":                {"run_commands", `{"commands":[]}`, good, []string{"unknown tool run_commands ok @tool"}},
		"a command that is a number":       {"run_commands", `{"commands":7}`, good, []string{"unknown tool run_commands ok @tool"}},
		"read_files":                       {"read_files", `{"files":["/w/a"]}`, good, []string{"read /w/a ok @tool"}},
		"read_file":                        {"read_file", `{"path":"/w/a"}`, good, []string{"read /w/a ok @tool"}},
		"one event for each file":          {"read_files", `{"files":["/w/a",{"path":"/w/b"},{"file_path":"/w/c"},{"filePath":"/w/d"}]}`, good, []string{"read /w/a ok @tool", "read /w/b ok @tool", "read /w/c ok @tool", "read /w/d ok @tool"}},
		"file_paths":                       {"read_files", `{"file_paths":["/w/a"]}`, good, []string{"read /w/a ok @tool"}},
		"paths":                            {"read_files", `{"paths":["/w/a"]}`, good, []string{"read /w/a ok @tool"}},
		"a bare file":                      {"read_files", `"/w/a"`, good, []string{"read /w/a ok @tool"}},
		"files as a string":                {"read_files", `{"files":"/w/a"}`, good, []string{"read /w/a ok @tool"}},
		"a range":                          {"read_files", `{"files":[{"path":"/w/a","start_line":5,"end_line":9}]}`, good, []string{"read /w/a 5-9 ok @tool"}},
		"a range by its length":            {"read_file", `{"path":"/w/a","offset":5,"limit":5}`, good, []string{"read /w/a 5-9 ok @tool"}},
		"a length alone is no range":       {"read_file", `{"path":"/w/a","limit":5}`, good, []string{"read /w/a ok @tool"}},
		"a range that is no number":        {"read_file", `{"path":"/w/a","offset":"5"}`, good, []string{"read /w/a ok @tool"}},
		"no file":                          {"read_files", `{"files":[]}`, good, []string{"unknown tool read_files ok @tool"}},
		"an empty path hides later keys":   {"read_file", `{"path":"","file_path":"/w/a"}`, good, []string{"unknown tool read_file ok @tool"}},
		"editor":                           {"editor", `{"path":"/w/a","new_text":"x"}`, good, []string{"write /w/a ok @tool"}},
		"write_to_file":                    {"write_to_file", `{"filePath":"/w/a"}`, good, []string{"write /w/a ok @tool"}},
		"replace_in_file":                  {"replace_in_file", `{"absolutePath":"/w/a"}`, good, []string{"write /w/a ok @tool"}},
		"new_rule":                         {"new_rule", `{"source":"/w/a"}`, good, []string{"write /w/a ok @tool"}},
		"editor without a path":            {"editor", `{"new_text":"x"}`, good, []string{"unknown tool editor ok @tool"}},
		"apply_patch":                      {"apply_patch", `{"input":"*** Add File: a\n+x\n*** Update File: b\n*** Move to: c\n*** Delete File: d"}`, good, []string{"write a ok @tool", "write b ok @tool", "write c ok @tool", "write d ok @tool"}},
		"apply_patch, bare":                {"apply_patch", `"*** Add File: a\n"`, good, []string{"write a ok @tool"}},
		"apply_patch, patch":               {"apply_patch", `{"patch":"*** Add File: a\n"}`, good, []string{"write a ok @tool"}},
		"apply_patch, diff":                {"apply_patch", `{"diff":"*** Add File: a\n"}`, good, []string{"write a ok @tool"}},
		"apply_patch, content":             {"apply_patch", `{"content":"*** Add File: a\n"}`, good, []string{"write a ok @tool"}},
		"apply_patch with a path":          {"apply_patch", `{"path":"/w/z","patch":"*** Add File: a\n"}`, good, []string{"write /w/z ok @tool"}},
		"apply_patch quotes a marker":      {"apply_patch", `{"input":"*** Update File: a\n *** Update File: b\n"}`, good, []string{"write a ok @tool"}},
		"apply_patch without a marker":     {"apply_patch", `{"input":"nothing"}`, good, []string{"unknown tool apply_patch ok @tool"}},
		"search_files":                     {"search_files", `{"regex":"x","path":"/w"}`, good, []string{"search x /w ok @tool"}},
		"search_codebase":                  {"search_codebase", `{"query":"x"}`, good, []string{"search x ok @tool"}},
		"one event for each query":         {"search_codebase", `{"queries":["x","y"]}`, good, []string{"search x ok @tool", "search y ok @tool"}},
		"queries as a string":              {"search_codebase", `{"queries":"x"}`, good, []string{"search x ok @tool"}},
		"queries as objects":               {"search_codebase", `{"path":"/v","queries":[{"query":"x","path":"/w"},{"pattern":"y"}]}`, good, []string{"search x /w ok @tool", "search y /v ok @tool"}},
		"a bare query":                     {"search_codebase", `"x"`, good, []string{"search x ok @tool"}},
		"search without a query":           {"search_files", `{"path":"/w"}`, good, []string{"unknown tool search_files ok @tool"}},
		"list_files":                       {"list_files", `{"path":"/w"}`, good, []string{"list /w ok @tool"}},
		"list_files in a directory":        {"list_files", `{"dir_path":"/w"}`, good, []string{"list /w ok @tool"}},
		"list_files without a path":        {"list_files", `{}`, good, []string{"list ok @tool"}},
		"skills":                           {"skills", `{"skill":"pdf","args":"x"}`, good, []string{"skill pdf skills/pdf/SKILL.md ok @tool"}},
		"use_skill":                        {"use_skill", `{"skill_name":"pdf"}`, good, []string{"skill pdf skills/pdf/SKILL.md ok @tool"}},
		"skill with arguments in its name": {"skills", `{"name":"pdf secret.pdf"}`, good, []string{"skill pdf skills/pdf/SKILL.md ok @tool"}},
		"skill by its path":                {"use_skill", `{"path":"/s/pdf/SKILL.md"}`, good, []string{"skill /s/pdf/SKILL.md ok @tool"}},
		"skill by its folder":              {"use_skill", `{"name":"pdf","directory":"/s/pdf"}`, good, []string{"skill pdf /s/pdf/SKILL.md ok @tool"}},
		"skill without a name":             {"skills", `{"args":"x"}`, good, []string{"unknown tool skills ok @tool"}},
		"fetch_web_content":                {"fetch_web_content", `{"requests":[]}`, good, []string{"unknown tool fetch_web_content ok @tool"}},
		"ask_question":                     {"ask_question", `{"question":"?"}`, `"output":"red"`, []string{"unknown tool ask_question @tool"}},
		"submit_and_exit":                  {"submit_and_exit", `{"summary":"s"}`, `"output":"ok"`, []string{"unknown tool submit_and_exit @tool"}},
		"spawn_agent":                      {"spawn_agent", `{"task":"t"}`, `"output":{"text":"x","finishReason":"completed"}`, []string{"unknown tool spawn_agent ok @tool"}},
		"team tools":                       {"team_status", `{}`, `"output":{"teamId":"t"}`, []string{"unknown tool team_status @tool"}},
		"MCP tools":                        {"demo__lookup", `{"key":"a"}`, `"output":{"content":[],"isError":false}`, []string{"unknown tool demo__lookup ok @tool"}},
	} {
		t.Run(name, func(t *testing.T) {
			mapping{call(test.tool, test.input, test.end), test.want}.check(t, translate.FormatCline)
		})
	}
}

// TestSuccess has the rules of a tool's success.
func TestSuccess(t *testing.T) {
	const one, two = `{"commands":["make"]}`, `{"commands":["make","make x"]}`
	for name, test := range map[string]struct {
		input, end string
		want       []string
	}{
		"the flag says yes":               {one, `"output":{"success":true}`, []string{"command make ok @tool"}},
		"the flag says no":                {one, `"output":{"success":false}`, []string{"command make failed @tool"}},
		"the flag is before an MCP error": {one, `"output":{"success":true,"isError":true}`, []string{"command make ok @tool"}},
		"an MCP error":                    {one, `"output":{"isError":true,"content":[]}`, []string{"command make failed @tool"}},
		"no MCP error":                    {one, `"output":{"isError":false,"content":[]}`, []string{"command make ok @tool"}},
		"an agent completed":              {one, `"output":{"finishReason":"completed"}`, []string{"command make ok @tool"}},
		"an agent failed":                 {one, `"output":{"finishReason":"error"}`, []string{"command make failed @tool"}},
		"a batch, all good":               {two, `"output":[{"success":true},{"success":true}]`, []string{"command make ok @tool", "command make x ok @tool"}},
		"a batch in results":              {two, `"output":{"results":[{"success":true},{"success":true}]}`, []string{"command make ok @tool", "command make x ok @tool"}},
		"a batch, one bad":                {two, `"output":[{"success":true},{"success":false}]`, []string{"command make ok @tool", "command make x failed @tool"}},
		"an item without the flag":        {two, `"output":[{"success":true},{}]`, []string{"command make ok @tool", "command make x failed @tool"}},
		"an item that is no object":       {two, `"output":[{"success":true},"x"]`, []string{"command make ok @tool", "command make x failed @tool"}},
		"a batch of another length":       {two, `"output":[{"success":true},{"success":true},{"success":false}]`, []string{"command make failed @tool", "command make x failed @tool"}},
		"an exit status":                  {two, `"output":[{"success":false,"error":"Command exited with code 3"},{"success":true}]`, []string{"command make failed exit 3 @tool", "command make x ok @tool"}},
		"an exit status of one object":    {one, `"output":{"success":false,"error":"Command exited with code 2"}`, []string{"command make failed exit 2 @tool"}},
		"another error":                   {one, `"output":[{"success":false,"error":"exit 1"}]`, []string{"command make failed @tool"}},
		"an empty batch":                  {one, `"output":[]`, []string{"command make @tool"}},
		"a plain string":                  {one, `"output":"done"`, []string{"command make @tool"}},
		"an object without flags":         {one, `"output":{"a":1}`, []string{"command make @tool"}},
		"an object with an error":         {one, `"output":{"error":"Invalid input"}`, []string{"command make failed @tool"}},
		"no output":                       {one, `"durationMs":5`, []string{"command make @tool"}},
		"an error beside a good output":   {one, `"output":{"success":true},"error":"disk full"`, []string{"command make failed @tool"}},
		"an error that is empty":          {one, `"output":{"success":true},"error":""`, []string{"command make ok @tool"}},
		"an error that is null":           {one, `"output":"x","error":null`, []string{"command make @tool"}},
	} {
		t.Run(name, func(t *testing.T) {
			mapping{call("bash", test.input, test.end), test.want}.check(t, translate.FormatCline)
		})
	}
}

// TestPairing has calls whose beginning was missed or comes more than once.
func TestPairing(t *testing.T) {
	begin := inner(`{"type":"content_start","contentType":"tool","toolName":"bash","toolCallId":"c","input":{"command":"make"}}`)
	ended := end("tool", `,"toolName":"bash","toolCallId":"c","output":{"success":true}`)
	for name, test := range map[string]mapping{
		"a missed beginning": {
			[]string{end("tool", `,"toolName":"bash","toolCallId":"c","input":{"command":"make"},"output":{"success":true}`)},
			[]string{"command make ok @tool"},
		},
		"without an id": {
			[]string{end("tool", `,"toolName":"bash","input":{"command":"make"},"output":{"success":false}`)},
			[]string{"command make failed @tool"},
		},
		"twice without an id": {
			[]string{end("tool", `,"toolName":"list_files","output":"x"`), end("tool", `,"toolName":"list_files","output":"y"`)},
			[]string{"list @tool", "list @tool"},
		},
		"without an input":           {[]string{end("tool", `,"toolName":"bash","toolCallId":"c","output":"x"`)}, []string{"unknown tool bash @tool"}},
		"without a name":             {[]string{end("tool", `,"toolCallId":"c","output":"x"`)}, []string{"unknown orphan_tool_result tool_result @root"}},
		"without a name and an id":   {[]string{end("tool", `,"output":"x"`)}, []string{"unknown subtype agent_event/content_end @root"}},
		"the end again":              {[]string{begin, ended, ended}, []string{"command make ok @tool"}},
		"the beginning again":        {[]string{begin, begin, ended}, []string{"command make ok @tool"}},
		"the id again":               {[]string{begin, ended, begin, ended}, []string{"command make ok @tool", "command make ok @tool"}},
		"an open call keeps its id":  {[]string{begin, end("tool", `,"toolCallId":"c","output":{"success":true}`)}, []string{"command make ok @tool"}},
		"input null of a known tool": {call("list_files", "null", good), []string{"list ok @tool"}},
	} {
		t.Run(name, func(t *testing.T) { test.check(t, translate.FormatCline) })
	}
}

// TestKeys has every key under which an input may have what a tool works on (event mapping, section 8).
func TestKeys(t *testing.T) {
	for rule, test := range map[string]struct{ tool, keys, input, want string }{
		"path":        {"read_file", "path file_path filePath filepath abs_path absolutePath absolute_path source", `{"KEY":"/w/a"}`, "read /w/a ok @tool"},
		"read start":  {"read_file", "offset start_line startLine line", `{"path":"/w/a","KEY":3,"end_line":9}`, "read /w/a 3-9 ok @tool"},
		"read end":    {"read_file", "end_line endLine", `{"path":"/w/a","line":3,"KEY":9}`, "read /w/a 3-9 ok @tool"},
		"read length": {"read_file", "limit line_count lineCount num_lines numLines", `{"path":"/w/a","line":3,"KEY":7}`, "read /w/a 3-9 ok @tool"},
		"query":       {"search_files", "pattern query regex glob search searchText q", `{"KEY":"x"}`, "search x ok @tool"},
		"search path": {"search_files", "path dir dir_path directory cwd scope", `{"regex":"x","KEY":"/w"}`, "search x /w ok @tool"},
		"list path":   {"list_files", "path dir dir_path directory", `{"KEY":"/w"}`, "list /w ok @tool"},
		"command":     {"bash", "command cmd script", `{"KEY":"make"}`, "command make ok @tool"},
		"skill name":  {"skills", "name skill skill_name skillName", `{"KEY":"pdf"}`, "skill pdf skills/pdf/SKILL.md ok @tool"},
		"skill path":  {"skills", "path file_path filePath skillPath", `{"name":"pdf","KEY":"/s/p.md"}`, "skill pdf /s/p.md ok @tool"},
		"skill dir":   {"skills", "dir directory", `{"name":"pdf","KEY":"/s"}`, "skill pdf /s/SKILL.md ok @tool"},
		"patch":       {"apply_patch", "patch diff content input", `{"KEY":"*** Add File: /w/a"}`, "write /w/a ok @tool"},
		"files":       {"read_files", "files file_paths paths", `{"KEY":["/w/a"]}`, "read /w/a ok @tool"},
	} {
		for key := range strings.FieldsSeq(test.keys) {
			t.Run(rule+" in "+key, func(t *testing.T) {
				input := strings.ReplaceAll(test.input, "KEY", key)
				mapping{call(test.tool, input, good), []string{test.want}}.check(t, translate.FormatCline)
			})
		}
	}
}
