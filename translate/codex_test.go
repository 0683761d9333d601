// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package translate_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/codex"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

var everything = translate.Capture{
	Prompts: true, Responses: true, Reasoning: true, ToolArguments: true, ToolResults: true, Raw: true,
}

// events tells the normalized events of a run, without its beginning and end.
func events(outs []translate.Output) []string {
	var all []string
	for i := range outs {
		l := outs[i].Log
		if l == nil || l.Event == translate.EventSessionStart || l.Event == translate.EventSessionEnd {
			continue
		}
		words := []string{string(l.Event)}
		add := func(ok bool, format string, v any) {
			if ok {
				words = append(words, fmt.Sprintf(format, v))
			}
		}
		add(l.Captured, "%q", l.Body)
		add(l.Command != "", "command=%q", l.Command)
		add(l.Path != "", "path=%q", l.Path)
		add(l.SkillPath != "", "skill=%q", l.SkillPath)
		add(l.Query != "", "query=%q", l.Query)
		add(l.StartLine.OK, "from=%d", l.StartLine.V)
		add(l.EndLine.OK, "to=%d", l.EndLine.V)
		add(l.Action != "", "%s", l.Action)
		add(l.SubagentID != "", "agent=%s", l.SubagentID)
		add(l.Reason != "", "%s", l.Reason)
		add(l.RecordType != "", "of %s", l.RecordType)
		add(l.Tool != "", "by %s", l.Tool)
		add(l.ExitCode.OK, "exit=%d", l.ExitCode.V)
		add(l.Success.OK, "success=%t", l.Success.V)
		add(l.Severity == translate.SeverityWarn, "%s", "WARN")
		add(l.Severity == translate.SeverityError, "%s", "ERROR")
		all = append(all, strings.Join(words, " "))
	}
	return all
}

// tools tells the tool calls of a run.
func tools(outs []translate.Output) []string {
	var all []string
	for i := range outs {
		if sp := outs[i].Span; sp != nil && sp.Tool != nil {
			all = append(all, strings.TrimSpace(sp.Tool.Name+" "+sp.Tool.Outcome+" "+sp.ErrType))
		}
	}
	return all
}

// turnOf is a whole run of one turn with the records between its beginning and its end.
func turnOf(records ...string) string {
	return strings.Join(slices.Concat(
		[]string{`{"type":"thread.started","thread_id":"th"}`, `{"type":"turn.started"}`}, records,
		[]string{`{"type":"turn.completed","usage":{"input_tokens":10,"output_tokens":1}}`},
	), "\n")
}

func completed(item string) string {
	return `{"type":"item.completed","item":{"id":"item_7",` + item + `}}`
}

func started(item string) string {
	return `{"type":"item.started","item":{"id":"item_7",` + item + `}}`
}

func command(line, rest string) string {
	return `"type":"command_execution","command":"` + line + `","aggregated_output":"out",` + rest
}

func collab(tool, states, rest string) string {
	return `"type":"collab_tool_call","tool":"` + tool + `","agents_states":{` + states + `},"status":"completed"` + rest
}

// TestCodexEvents has the rows of the event mapping, section 6.1.
func TestCodexEvents(t *testing.T) {
	for name, test := range map[string]struct {
		records []string
		events  []string
		tools   []string
	}{
		"thread.started, turn.started, turn.completed": {nil, nil, nil},
		"item.started of a message":                    {[]string{started(`"type":"agent_message","text":"so f"`)}, nil, nil},
		"item.updated of a known item":                 {[]string{`{"type":"item.updated","item":{"id":"item_7","type":"todo_list","items":[]}}`}, nil, nil},
		"item.updated of an unknown item":              {[]string{`{"type":"item.updated","item":{"id":"item_7","type":"picture"}}`}, []string{"unknown block of picture"}, nil},
		"error":                                        {[]string{`{"type":"error","message":"no more credits"}`}, []string{`error "no more credits" ERROR`}, nil},
		"error that is a retry notice":                 {[]string{`{"type":"error","message":"Reconnecting... 1/5 (cut)"}`}, []string{`error "Reconnecting... 1/5 (cut)" ERROR`}, nil},
		"error without a message":                      {[]string{`{"type":"error"}`}, []string{"error ERROR"}, nil},
		"item.completed without item":                  {[]string{`{"type":"item.completed"}`}, []string{"unknown record_type of item.completed"}, nil},
		"any other record":                             {[]string{`{"type":"turn.paused"}`}, []string{"unknown record_type of turn.paused"}, nil},

		"command":                 {[]string{completed(command("make", `"exit_code":0,"status":"completed"`))}, []string{`command command="make" by shell exit=0 success=true`}, []string{"shell ok"}},
		"command in a wrapper":    {[]string{completed(command("bash -lc 'make all'", `"exit_code":0,"status":"completed"`))}, []string{`command command="bash -lc 'make all'" by shell exit=0 success=true`}, []string{"shell ok"}},
		"command that failed":     {[]string{completed(command("make", `"exit_code":2,"status":"failed"`))}, []string{`command command="make" by shell exit=2 success=false WARN`}, []string{"shell error exit_code"}},
		"command that is a read":  {[]string{completed(command("/bin/bash -lc 'sed -n 3,9p a.md'", `"exit_code":0,"status":"completed"`))}, []string{`read path="a.md" from=3 to=9 by shell success=true`}, []string{"shell ok"}},
		"read that failed":        {[]string{completed(command("cat a.md", `"exit_code":1,"status":"failed"`))}, []string{`read path="a.md" by shell success=false WARN`}, []string{"shell error exit_code"}},
		"command that is search":  {[]string{completed(command("rg -n needle src", `"exit_code":1,"status":"failed"`))}, []string{`search path="src" query="needle" by shell success=false WARN`}, []string{"shell error exit_code"}},
		"command that is a list":  {[]string{completed(command("ls src", `"exit_code":0,"status":"completed"`))}, []string{`list path="src" by shell success=true`}, []string{"shell ok"}},
		"command as a vector":     {[]string{completed(`"type":"command_execution","command":["bash","-lc","cat a.md"],"exit_code":0,"status":"completed"`)}, []string{`read path="a.md" by shell success=true`}, []string{"shell ok"}},
		"command without a code":  {[]string{completed(command("make", `"exit_code":null,"status":"completed"`))}, []string{`command command="make" by shell`}, []string{"shell ok"}},
		"command, failed no code": {[]string{completed(command("make", `"exit_code":null,"status":"failed"`))}, []string{`command command="make" by shell WARN`}, []string{"shell error tool_error"}},
		"command declined":        {[]string{completed(command("rm -r x", `"exit_code":null,"status":"declined"`))}, []string{`command command="rm -r x" by shell success=false WARN`}, []string{"shell denied"}},
		"command killed":          {[]string{completed(command("make", `"exit_code":-1,"status":"failed"`))}, []string{`command command="make" by shell exit=-1 success=false WARN`}, []string{"shell killed killed"}},
		"command aborted":         {[]string{completed(`"type":"command_execution","command":"make","aggregated_output":"a\naborted by user","exit_code":-1,"status":"failed"`)}, []string{`command command="make" by shell exit=-1 success=false WARN`}, []string{"shell interrupted"}},
		"command, still running":  {[]string{started(command("make", `"exit_code":null,"status":"in_progress"`))}, []string{`command command="make" by shell`}, []string{"shell incomplete"}},
		"command, only updated":   {[]string{`{"type":"item.updated","item":{"id":"item_7",` + command("make", `"exit_code":null,"status":"in_progress"`) + `}}`}, []string{`command command="make" by shell`}, []string{"shell incomplete"}},
		"command without a line":  {[]string{completed(`"type":"command_execution","exit_code":0,"status":"completed"`)}, []string{"unknown tool of command_execution by shell success=true"}, []string{"shell ok"}},
		"command started as well": {
			[]string{started(command("make", `"exit_code":null,"status":"in_progress"`)), completed(command("make", `"exit_code":0,"status":"completed"`))},
			[]string{`command command="make" by shell exit=0 success=true`},
			[]string{"shell ok"},
		},
		"command told twice": {
			[]string{completed(command("make", `"exit_code":0,"status":"completed"`)), completed(command("make", `"exit_code":0,"status":"completed"`))},
			[]string{`command command="make" by shell exit=0 success=true`},
			[]string{"shell ok"},
		},

		"file_change": {
			[]string{completed(`"type":"file_change","changes":[{"path":"/w/a","kind":"add"},{"path":"b","kind":{"type":"update","move_path":"c"}}],"status":"completed"`)},
			[]string{`write path="/w/a" by apply_patch success=true`, `write path="b" by apply_patch success=true`},
			[]string{"apply_patch ok"},
		},
		"file_change that failed":  {[]string{completed(`"type":"file_change","changes":[{"path":"a","kind":"add"}],"status":"failed"`)}, []string{`write path="a" by apply_patch success=false WARN`}, []string{"apply_patch error tool_error"}},
		"file_change, no status":   {[]string{completed(`"type":"file_change","changes":[{"path":"a","kind":"add"}]`)}, []string{`write path="a" by apply_patch success=true`}, []string{"apply_patch ok"}},
		"file_change, empty":       {[]string{completed(`"type":"file_change","changes":[],"status":"completed"`)}, []string{"unknown tool of file_change by apply_patch success=true"}, []string{"apply_patch ok"}},
		"file_change, no changes":  {[]string{completed(`"type":"file_change","status":"failed"`)}, []string{"unknown tool of file_change by apply_patch success=false"}, []string{"apply_patch error tool_error"}},
		"file_change that is open": {[]string{started(`"type":"file_change","changes":[{"path":"a","kind":"add"}],"status":"in_progress"`)}, []string{`write path="a" by apply_patch`}, []string{"apply_patch incomplete"}},
		"agent_message":            {[]string{completed(`"type":"agent_message","text":"hello"`)}, []string{`agent "hello"`}, nil},
		"two agent_messages":       {[]string{completed(`"type":"agent_message","text":"one"`), completed(`"type":"agent_message","text":"two"`)}, []string{`agent "one"`, `agent "two"`}, nil},
		"reasoning":                {[]string{completed(`"type":"reasoning","text":"**hm**"`)}, []string{`reasoning "**hm**"`}, nil},
		"reasoning that is empty":  {[]string{completed(`"type":"reasoning","text":""`)}, nil, nil},
		"error item":               {[]string{completed(`"type":"error","message":"deprecated"`)}, []string{`error "deprecated" ERROR`}, nil},
		"error item, no message":   {[]string{completed(`"type":"error"`)}, []string{"error ERROR"}, nil},
		"spawn_agent":              {[]string{completed(collab("spawn_agent", `"a1":{"status":"pending_init"}`, `,"receiver_thread_ids":["a1"]`))}, []string{"orchestration subagent_started agent=a1", "orchestration subagent_completed agent=a1"}, []string{"spawn_agent ok"}},
		"spawn_agent, not started": {[]string{completed(collab("spawn_agent", `"a1":{"status":"errored"}`, ``))}, []string{"orchestration subagent_failed agent=a1 success=false WARN"}, []string{"spawn_agent ok"}},
		"spawn_agent that failed":  {[]string{completed(`"type":"collab_tool_call","tool":"spawn_agent","agents_states":{},"status":"failed"`)}, []string{"orchestration subagent_failed by spawn_agent success=false WARN"}, []string{"spawn_agent error tool_error"}},
		"spawn_agent, no state":    {[]string{completed(collab("spawn_agent", ``, ``))}, []string{"unknown tool of collab_tool_call by spawn_agent success=true"}, []string{"spawn_agent ok"}},
		"wait, completed":          {[]string{completed(collab("wait", `"a1":{"status":"completed","message":"done"}`, ``))}, []string{"orchestration subagent_completed agent=a1 success=true"}, []string{"wait ok"}},
		"wait, errored":            {[]string{completed(collab("wait", `"a1":{"status":"errored"}`, ``))}, []string{"orchestration subagent_failed agent=a1 success=false WARN"}, []string{"wait ok"}},
		"wait, interrupted":        {[]string{completed(collab("wait", `"a1":{"status":"interrupted"}`, ``))}, []string{"orchestration subagent_failed agent=a1 success=false WARN"}, []string{"wait ok"}},
		"wait, still running":      {[]string{completed(collab("wait", `"a1":{"status":"running"}`, ``))}, nil, []string{"wait ok"}},
		"wait without states":      {[]string{completed(collab("wait", ``, ``))}, []string{"unknown tool of collab_tool_call by wait success=true"}, []string{"wait ok"}},
		"close_agent, shutdown":    {[]string{completed(collab("close_agent", `"a1":{"status":"shutdown"}`, ``))}, []string{"orchestration subagent_failed agent=a1 success=false WARN"}, []string{"close_agent ok"}},
		"close_agent, not_found":   {[]string{completed(collab("close_agent", `"a1":{"status":"not_found"}`, ``))}, []string{"orchestration subagent_failed agent=a1 success=false WARN"}, []string{"close_agent ok"}},
		"send_input":               {[]string{completed(collab("send_input", `"a1":{"status":"running"}`, ``))}, []string{"unknown tool of collab_tool_call by send_input success=true"}, []string{"send_input ok"}},
		"mcp_tool_call":            {[]string{completed(`"type":"mcp_tool_call","server":"docs","tool":"find","arguments":{},"result":{"content":[]},"error":null,"status":"completed"`)}, []string{"unknown tool of mcp_tool_call by find success=true"}, []string{"find ok"}},
		"mcp_tool_call, error":     {[]string{completed(`"type":"mcp_tool_call","server":"docs","tool":"find","result":null,"error":{"message":"x"},"status":"failed"`)}, []string{"unknown tool of mcp_tool_call by find success=false"}, []string{"find error tool_error"}},
		"mcp_tool_call, isError":   {[]string{completed(`"type":"mcp_tool_call","server":"docs","tool":"find","result":{"content":[{"type":"text","text":"x"}]},"error":null,"status":"failed"`)}, []string{"unknown tool of mcp_tool_call by find success=false"}, []string{"find error tool_error"}},
		"mcp_tool_call, declined":  {[]string{completed(`"type":"mcp_tool_call","server":"docs","tool":"find","status":"declined"`)}, []string{"unknown tool of mcp_tool_call by find success=false"}, []string{"find denied"}},
		"web_search with two ids":  {[]string{completed(`"type":"web_search","id":"ws_1","query":"go","action":{}`)}, []string{"unknown tool of web_search by web_search success=true"}, []string{"web_search ok"}},
		"todo_list":                {[]string{started(`"type":"todo_list","items":[]`), completed(`"type":"todo_list","items":[]`)}, []string{"unknown block of todo_list"}, nil},
		"plan":                     {[]string{completed(`"type":"plan","text":"first"`)}, []string{"unknown block of plan"}, nil},
		"any other item":           {[]string{started(`"type":"picture"`), completed(`"type":"picture"`)}, []string{"unknown block of picture"}, nil},
		"call without an id":       {[]string{`{"type":"item.completed","item":{"type":"web_search"}}`}, []string{"unknown block of web_search"}, nil},
		"states told once an agent": {
			[]string{
				completed(collab("spawn_agent", `"a1":{"status":"pending_init"}`, ``)),
				`{"type":"item.completed","item":{"id":"item_8",` + collab("wait", `"a1":{"status":"completed"}`, ``) + `}}`,
				`{"type":"item.completed","item":{"id":"item_9",` + collab("close_agent", `"a1":{"status":"shutdown"}`, ``) + `}}`,
			},
			[]string{"orchestration subagent_started agent=a1", "orchestration subagent_completed agent=a1 success=true"},
			[]string{"spawn_agent ok", "wait ok", "close_agent ok"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			outs := fold(t, []byte(turnOf(test.records...)), settings{capture: everything})
			check(t, outs)
			assert.Equal(t, test.events, events(outs))
			assert.Equal(t, test.tools, tools(outs))
			assert.Equal(t, translate.OutcomeSuccess, roots(outs)[0].Root.Outcome, "no item decides the outcome")
		})
	}
	t.Run("turn.failed", func(t *testing.T) {
		lines := strings.Split(turnOf(), "\n")
		lines[2] = `{"type":"turn.failed","error":{"message":"no answer"}}`
		outs := fold(t, []byte(strings.Join(lines, "\n")), settings{capture: everything})
		assert.Equal(t, []string{`error "no answer" ERROR`}, events(outs))
		root := roots(outs)[0]
		assert.Equal(t, translate.OutcomeError, root.Root.Outcome)
		assert.Equal(t, "turn_failed", root.ErrType)
	})
}

func roots(outs []translate.Output) []*translate.Span {
	var all []*translate.Span
	for i := range outs {
		if sp := outs[i].Span; sp != nil && sp.Root != nil {
			all = append(all, sp)
		}
	}
	return all
}

// chats tells the usage of the model calls of a run.
func chats(outs []translate.Output) []string {
	var all []string
	for i := range outs {
		sp := outs[i].Span
		if sp == nil || sp.Chat == nil {
			continue
		}
		u := sp.Chat.Usage
		words := []string{}
		for _, f := range []struct {
			name string
			v    translate.Opt[int64]
		}{{"in", u.Input}, {"read", u.CacheRead}, {"write", u.CacheWrite}, {"out", u.Output}, {"think", u.Reasoning}} {
			if f.v.OK {
				words = append(words, fmt.Sprintf("%s=%d", f.name, f.v.V))
			}
		}
		if !sp.Chat.Synthetic {
			words = append(words, "not synthetic")
		}
		if sp.Chat.UsageIncomplete {
			words = append(words, "incomplete")
		}
		all = append(all, strings.Join(words, " "))
	}
	return all
}

const (
	thread = `{"type":"thread.started","thread_id":"th"}`
	begin  = `{"type":"turn.started"}`
	ls     = `{"type":"item.completed","item":{"id":"item_0","type":"command_execution","command":"ls","exit_code":0,"status":"completed"}}`
	ls2    = `{"type":"item.completed","item":{"id":"item_5","type":"command_execution","command":"ls","exit_code":0,"status":"completed"}}`
	failed = `{"type":"turn.failed","error":{"message":"m"}}`
)

func says(text string) string {
	return `{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"` + text + `"}}`
}

func ends(in, cached, out int) string {
	return fmt.Sprintf(`{"type":"turn.completed","usage":{"input_tokens":%d,"cached_input_tokens":%d,"output_tokens":%d}}`, in, cached, out)
}

// TestCodexSources folds several sources of one thread, one after the other (rulings 26 and 44).
func TestCodexSources(t *testing.T) {
	for name, test := range map[string]struct {
		sources [][]string
		chats   []string
		tools   []string
		outcome string
		file    bool // a connection that closes would close the session in between
	}{
		"one turn":                        {[][]string{{thread, begin, ls, ends(100, 40, 7)}}, []string{"in=100 read=40 out=7"}, []string{"shell ok"}, "success", false},
		"usage that is a running total":   {[][]string{{thread, begin, says("a"), ends(100, 0, 7), begin, says("b"), ends(250, 90, 9)}}, []string{"in=100 read=0 out=7", "in=150 read=90 out=2"}, nil, "success", false},
		"more from the cache than read":   {[][]string{{thread, begin, says("a"), ends(100, 0, 7), begin, says("b"), ends(150, 90, 9)}}, []string{"in=100 read=0 out=7", "in=90 read=90 out=2"}, nil, "success", false},
		"a decrease is a reset":           {[][]string{{thread, begin, ends(100, 0, 7), begin, ends(30, 10, 2), begin, ends(50, 10, 3)}}, []string{"in=100 read=0 out=7", "in=30 read=10 out=2", "in=20 read=0 out=1"}, nil, "success", false},
		"a turn that failed has no usage": {[][]string{{thread, begin, says("a"), ends(100, 0, 7), begin, says("b"), failed, begin, says("c"), ends(130, 0, 9)}}, []string{"in=100 read=0 out=7", "incomplete", "in=30 read=0 out=2"}, nil, "success", false},
		"a turn that failed at once":      {[][]string{{thread, begin, failed}}, nil, nil, "error", false},
		"a failure after a success":       {[][]string{{thread, begin, says("a"), ends(100, 0, 7), begin, failed}}, []string{"in=100 read=0 out=7"}, nil, "error", false},
		"a turn that never ended":         {[][]string{{thread, begin, says("a"), ends(100, 0, 7), begin, says("b")}}, []string{"in=100 read=0 out=7", "incomplete"}, nil, "incomplete", false},
		"a review tells zeros":            {[][]string{{thread, begin, says("a"), ends(0, 0, 0)}}, []string{"in=0 read=0 out=0"}, nil, "success", false},
		"nothing but a thread":            {[][]string{{thread}}, nil, nil, "incomplete", false},
		"items without a turn":            {[][]string{{thread, ls, ends(10, 0, 1), says("late")}}, []string{"in=10 read=0 out=1"}, []string{"shell ok"}, "success", false},
		"usage without a turn":            {[][]string{{thread, ends(10, 0, 1), ends(30, 0, 2)}}, []string{"in=10 read=0 out=1", "in=20 read=0 out=1"}, nil, "success", false},

		"the same source again":   {[][]string{{thread, begin, ls, ends(100, 0, 7)}, {thread, begin, ls, ends(100, 0, 7)}}, []string{"in=100 read=0 out=7"}, []string{"shell ok"}, "success", false},
		"a copy that goes on":     {[][]string{{thread, begin, ls, ends(100, 0, 7)}, {thread, begin, ls, ends(100, 0, 7), thread, begin, ls, ends(130, 0, 9)}}, []string{"in=100 read=0 out=7", "in=30 read=0 out=2"}, []string{"shell ok", "shell ok"}, "success", false},
		"a copy that ends a turn": {[][]string{{thread, begin, ls}, {thread, begin, ls, ends(100, 0, 7)}}, []string{"in=100 read=0 out=7"}, []string{"shell ok"}, "success", true},
		"a copy that ends a call": {
			[][]string{
				{thread, begin, `{"type":"item.started","item":{"id":"item_0","type":"command_execution","command":"ls","status":"in_progress"}}`},
				{thread, begin, `{"type":"item.started","item":{"id":"item_0","type":"command_execution","command":"ls","status":"in_progress"}}`, ls, ends(100, 0, 7)},
			},
			[]string{"in=100 read=0 out=7"},
			[]string{"shell ok"},
			"success", true,
		},
		"a resumed thread":               {[][]string{{thread, begin, ls, ends(100, 0, 7)}, {thread, begin, ls, ends(130, 0, 9)}}, []string{"in=100 read=0 out=7", "in=30 read=0 out=2"}, []string{"shell ok", "shell ok"}, "success", false},
		"two runs that begin alike":      {[][]string{{thread, begin, ls, says("a"), ends(100, 0, 7)}, {thread, begin, ls, says("b"), ends(130, 0, 9)}}, []string{"in=100 read=0 out=7", "in=30 read=0 out=2"}, []string{"shell ok", "shell ok"}, "success", false},
		"a run that differs at once":     {[][]string{{thread, begin, says("a"), ends(100, 0, 7)}, {thread, says("b"), ends(130, 0, 9)}}, []string{"in=100 read=0 out=7", "in=30 read=0 out=2"}, nil, "success", false},
		"a later turn differs":           {[][]string{{thread, begin, ls, ends(100, 0, 7), begin, ls2, ends(150, 0, 8)}, {thread, begin, ls, ends(100, 0, 7), begin, ls2, ends(160, 0, 9)}}, []string{"in=100 read=0 out=7", "in=50 read=0 out=1", "in=10 read=0 out=1"}, []string{"shell ok", "shell ok", "shell ok"}, "success", false},
		"the later source comes first":   {[][]string{{thread, begin, says("b"), ends(130, 0, 9)}, {thread, begin, says("a"), ends(100, 0, 7)}}, []string{"in=130 read=0 out=9", "in=0 read=0 out=0"}, nil, "success", false},
		"a killed run and a resumed one": {[][]string{{thread, begin, says("a")}, {thread, begin, says("b"), ends(130, 0, 9)}}, []string{"incomplete", "in=130 read=0 out=9"}, nil, "success", false},
		"a third run follows the second": {[][]string{{thread, begin, says("a"), ends(100, 0, 7)}, {thread, begin, says("b"), ends(130, 0, 9)}, {thread, begin, says("b"), ends(130, 0, 9)}}, []string{"in=100 read=0 out=7", "in=30 read=0 out=2"}, nil, "success", false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, live := range []bool{false, true} {
				if live && test.file {
					continue
				}
				a := session.New(session.NewConfig())
				for _, lines := range test.sources {
					read(t, a, []byte(strings.Join(lines, "\n")), settings{}, live)
				}
				a.Close()
				outs := a.Take()
				check(t, outs)
				assert.ElementsMatch(t, test.chats, chats(outs), "live: %t", live)
				assert.Equal(t, test.tools, tools(outs))
				all := roots(outs)
				require.NotEmpty(t, all)
				assert.Equal(t, test.outcome, all[len(all)-1].Root.Outcome)
			}
		})
	}
}

// TestCodexBrokenConnection: a client that lost its connection sends its stream again; what is new goes
// into a trace of its own that continues the first.
func TestCodexBrokenConnection(t *testing.T) {
	a := session.New(session.NewConfig())
	started := `{"type":"item.started","item":{"id":"item_0","type":"command_execution","command":"ls","status":"in_progress"}}`
	read(t, a, []byte(strings.Join([]string{thread, begin, started}, "\n")), settings{}, true)
	read(t, a, []byte(strings.Join([]string{thread, begin, started, ls, says("a"), ends(100, 0, 7)}, "\n")), settings{}, true)
	a.Close()
	outs := a.Take()
	check(t, outs)
	assert.Equal(t, []string{"incomplete", "in=100 read=0 out=7"}, chats(outs))
	assert.Equal(t, []string{"shell incomplete"}, tools(outs))
	all := roots(outs)
	require.Len(t, all, 2)
	assert.Equal(t, translate.OutcomeIncomplete, all[0].Root.Outcome)
	assert.Equal(t, translate.OutcomeSuccess, all[1].Root.Outcome)
	require.Len(t, all[1].Links, 1)
	assert.Equal(t, all[0].SpanID, all[1].Links[0].SpanID)
}

// TestCodexLiveTimes: arrival times are measured ones; the time of a turn is not that of a model.
func TestCodexLiveTimes(t *testing.T) {
	a := session.New(session.NewConfig())
	read(t, a, []byte(strings.Join([]string{thread, begin, ls, ends(100, 0, 7)}, "\n")), settings{}, true)
	a.Close()
	outs := a.Take()
	root := roots(outs)[0]
	assert.False(t, root.Root.TimeEstimated)
	assert.EqualValues(t, 3e9, root.End-root.Start)
	for i := range outs {
		if sp := outs[i].Span; sp != nil && sp.Chat != nil {
			assert.EqualValues(t, 2e9, sp.End-sp.Start, "from the turn's beginning to its end")
			assert.Equal(t, "openai", sp.Chat.Provider)
		}
		if st := outs[i].Step; st != nil {
			assert.NotEqual(t, translate.MetricInferenceDuration, st.Metric)
		}
	}
}

// TestCodexAnyRecords folds random records from several sources: whatever comes, ids are unique, every
// parent is sent and the tokens add up.
func TestCodexAnyRecords(t *testing.T) {
	pool := []string{
		thread, begin, ls, ls2, failed, says("a"), ends(100, 40, 7), ends(130, 50, 9), ends(30, 0, 1), `{"type":"turn.completed"}`,
		`{"type":"thread.started","thread_id":"other"}`,
		`{"type":"item.started","item":{"id":"item_0","type":"command_execution","command":"ls","status":"in_progress"}}`,
		`{"type":"item.completed","item":{"id":"item_0","type":"command_execution","command":"ls","exit_code":null,"status":"declined"}}`,
		`{"type":"item.started","item":{"id":"item_7","type":"collab_tool_call","tool":"spawn_agent","agents_states":{}}}`,
		completed(collab("spawn_agent", `"a1":{"status":"pending_init"}`, ``)),
		`{"type":"item.completed","item":{"id":"item_8",` + collab("spawn_agent", `"a1":{"status":"pending_init"},"a2":{"status":"errored"}`, ``) + `}}`,
		`{"type":"item.completed","item":{"id":"item_9",` + collab("wait", `"a1":{"status":"completed"},"a3":{"status":"shutdown"}`, ``) + `}}`,
		completed(`"type":"todo_list","items":[]`), `{"type":"error","message":"Reconnecting... 1/2"}`, "no json", `{"type":"what"}`,
	}
	for seed := range uint64(1500) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		cfg := session.NewConfig()
		cfg.Turn = rnd.IntN(3) == 0
		run := func() []translate.Output {
			a := session.New(cfg)
			src := rand.New(rand.NewPCG(seed, 8))
			var earlier []string
			for range 1 + src.IntN(3) {
				lines := slices.Clone(earlier[:src.IntN(len(earlier)+1)])
				for range src.IntN(12) {
					lines = append(lines, pool[src.IntN(len(pool))])
				}
				read(t, a, []byte(strings.Join(append([]string{begin}, lines...), "\n")), settings{turn: cfg.Turn}, seed%2 == 0)
				earlier = lines
			}
			a.Close()
			return a.Take()
		}
		outs := run()
		check(t, outs)
		if !assert.Equal(t, render(t, outs), render(t, run()), "a second run differs") || t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestCodexSourcesOutOfOrder: the root covers files that were written in another order than they are read.
func TestCodexSourcesOutOfOrder(t *testing.T) {
	var want []int64
	for _, files := range [][]int64{{0, 60, 120}, {120, 60, 0}, {60, 0, 120}} {
		a := session.New(session.NewConfig())
		for i, at := range files {
			src := a.Open(session.SourceInfo{Format: translate.FormatCodexExec, Agent: "codex", ModTime: modTime + at*1e9})
			dec := codex.NewDecoder(decode.Options{})
			for _, line := range []string{thread, begin, says(fmt.Sprint(i)), ends(100*(i+1), 0, i)} {
				units := dec.Decode([]byte(line), nil)
				a.Step(src, &units[0])
			}
			a.End(src)
		}
		a.Close()
		outs := a.Take()
		check(t, outs)
		root := roots(outs)[0]
		want = append(want, root.Start-modTime, root.End-modTime)
	}
	assert.Equal(t, []int64{0, 120e9, 0, 120e9, 0, 120e9}, want)
}

// TestCodexTimedCopies: with times, a source is a copy up to the record that differs (ruling 44).
func TestCodexTimedCopies(t *testing.T) {
	timed := func(lines ...string) []byte {
		for i := range lines {
			lines[i] = fmt.Sprintf(`{"timestamp":"2026-10-20T08:00:%02dZ",%s`, i, lines[i][1:])
		}
		return []byte(strings.Join(lines, "\n"))
	}
	a := session.New(session.NewConfig())
	read(t, a, timed(thread, begin, ls, says("a"), ends(100, 0, 7)), settings{}, false)
	read(t, a, timed(thread, begin, ls, says("b"), ends(130, 0, 9)), settings{}, false)
	a.Close()
	outs := a.Take()
	check(t, outs)
	assert.Equal(t, []string{"shell ok"}, tools(outs))
	assert.Equal(t, []string{"in=100 read=0 out=7", "in=30 read=0 out=2"}, chats(outs))
}
