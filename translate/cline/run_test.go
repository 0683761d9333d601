// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package cline_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

// root is what the session's root says, in short.
func root(outs []translate.Output) string {
	var words []string
	for i := range outs {
		sp := outs[i].Span
		if sp == nil || sp.Root == nil {
			continue
		}
		r := sp.Root
		words = append(words, r.Outcome)
		add := func(there bool, format string, args ...any) {
			if there {
				words = append(words, fmt.Sprintf(format, args...))
			}
		}
		add(sp.ErrType != "", "%s", sp.ErrType)
		add(sp.Session != "derived", "session %s", sp.Session)
		add(r.LateID != "", "late %s", r.LateID)
		add(r.Model != "", "model %s", r.Model)
		add(r.ModelCalls > 0, "calls %d", r.ModelCalls)
		add(r.SubagentCalls > 0, "sub %d", r.SubagentCalls)
		add(r.Subagents > 0, "agents %d", r.Subagents)
		add(r.ToolCalls > 0, "tools %d", r.ToolCalls)
		u := r.Usage.V
		add(r.Usage.OK, "in %d/%d/%d out %d", u.Input, u.CacheRead, u.CacheWrite, u.Output)
		add(r.Cost.OK, "%s %.4f", r.CostSource, r.Cost.V)
		add(r.CostIncomplete, "unpriced")
		for _, m := range r.Models {
			add(true, "%s=%d", m.Model, m.Tokens.Output)
		}
	}
	return strings.Join(words, " ")
}

func finish(reason, more string) string {
	return `{"type":"run_result","finishReason":"` + reason + `"` + more + `}`
}

const named = `,"model":{"id":"m","provider":"p"}`

// TestRuns has what a run comes to: outcome, session, model, tokens and cost.
func TestRuns(t *testing.T) {
	use := func(numbers string) string { return inner(`{"type":"usage",` + numbers + `}`) }
	for name, test := range map[string]struct {
		lines []string
		want  string
	}{
		"completed":                         {[]string{finish("completed", "")}, "success"},
		"error":                             {[]string{finish("error", "")}, "error error"},
		"max_iterations":                    {[]string{finish("max_iterations", "")}, "error max_iterations"},
		"mistake_limit":                     {[]string{finish("mistake_limit", "")}, "error mistake_limit"},
		"aborted":                           {[]string{finish("aborted", "")}, "cancelled"},
		"aborted by a signal":               {[]string{finish("aborted", ""), `{"type":"run_aborted","reason":"local_abort"}`}, "cancelled"},
		"aborted from outside":              {[]string{finish("aborted", ""), `{"type":"run_aborted","reason":"external_abort"}`}, "error external_abort"},
		"completed, then abort":             {[]string{finish("completed", ""), `{"type":"run_aborted","reason":"local_abort"}`}, "success"},
		"completed, then an external abort": {[]string{finish("completed", ""), `{"type":"run_aborted","reason":"external_abort"}`}, "success"},
		"an abort without a result":         {[]string{`{"type":"run_aborted","reason":"local_abort"}`}, "cancelled"},
		"an external abort alone":           {[]string{`{"type":"run_aborted","reason":"external_abort"}`}, "error external_abort"},
		"a signal, then the end":            {[]string{`{"type":"run_abort_requested","reason":"sigterm"}`, finish("completed", "")}, "success"},
		"a signal and nothing more":         {[]string{`{"type":"run_abort_requested","reason":"sigint"}`}, "cancelled"},
		"no end":                            {[]string{usage}, "incomplete incomplete_stream calls 1 in 10/0/0 out 5 unpriced unknown=5"},
		"an error after a success":          {[]string{finish("completed", ""), finish("error", "")}, "error error"},
		"no answer at all":                  {[]string{inner(`{"type":"iteration_start","iteration":1}`)}, "incomplete incomplete_stream"},

		"the session in sessionId":  {[]string{`{"type":"run_start","sessionId":"s9"}`, finish("completed", "")}, "success session s9"},
		"the session in session_id": {[]string{`{"type":"run_start","session_id":"s9"}`, finish("completed", "")}, "success session s9"},
		"the session in id":         {[]string{`{"type":"run_start","id":"s9"}`, finish("completed", "")}, "success session s9"},
		"the first of these wins":   {[]string{`{"type":"run_start","id":"s7","session_id":"s8","sessionId":"s9"}`, finish("completed", "")}, "success session s9"},
		"an empty one does not":     {[]string{`{"type":"run_start","session_id":"s8","sessionId":""}`, finish("completed", "")}, "success session s8"},
		"taskId is no session":      {[]string{`{"type":"hook_event","taskId":"conv_1","task_id":"conv_2"}`, finish("completed", "")}, "success"},
		"an id within an event":     {[]string{inner(`{"type":"iteration_start","id":"x","sessionId":"y"}`), finish("completed", "")}, "success"},
		"an id after some records":  {[]string{usage, `{"type":"run_start","sessionId":"s9"}`}, "incomplete incomplete_stream session s9 calls 1 in 10/0/0 out 5 unpriced unknown=5"},
		"an id that comes too late": {[]string{usage, finish("completed", ""), `{"type":"zen_dispatched","sessionId":"s9"}`}, "success late s9 calls 1 in 10/0/0 out 5 unpriced unknown=5"},

		"the model of run_result":          {[]string{usage, finish("completed", named)}, "success model m calls 1 in 10/0/0 out 5 unpriced m=5"},
		"the model of run_start":           {[]string{`{"type":"run_start","modelId":"m"}`, usage}, "incomplete incomplete_stream model m calls 1 in 10/0/0 out 5 unpriced m=5"},
		"two runs with two models":         {[]string{usage, finish("completed", named), usage, finish("completed", `,"model":{"id":"n"}`)}, "success calls 2 in 20/0/0 out 10 unpriced m=5 n=5"},
		"input includes the cache":         {[]string{use(`"inputTokens":100,"outputTokens":9,"cacheReadTokens":60,"cacheWriteTokens":30`)}, "incomplete incomplete_stream calls 1 in 10/60/30 out 9 unpriced unknown=9"},
		"input below the cache":            {[]string{use(`"inputTokens":10,"outputTokens":9,"cacheReadTokens":60`)}, "incomplete incomplete_stream calls 1 in 0/60/0 out 9 unpriced unknown=9"},
		"one call for each usage":          {[]string{usage, usage, usage}, "incomplete incomplete_stream calls 3 in 30/0/0 out 15 unpriced unknown=15"},
		"totals are no usage":              {[]string{use(`"inputTokens":10,"outputTokens":5,"totalInputTokens":999,"totalOutputTokens":999,"totalCost":9`), inner(`{"type":"done","usage":{"inputTokens":999}}`), finish("completed", `,"usage":{"inputTokens":999,"totalCost":9},"aggregateUsage":{"inputTokens":999}`)}, "success calls 1 in 10/0/0 out 5 unpriced unknown=5"},
		"usage that is no number":          {[]string{use(`"inputTokens":"<redacted>","outputTokens":null`)}, "incomplete incomplete_stream"},
		"reported costs":                   {[]string{use(`"inputTokens":10,"cost":0.25`), use(`"inputTokens":10,"cost":0.5`), finish("completed", named)}, "success model m calls 2 in 20/0/0 out 0 reported 0.7500 m=0"},
		"a reported cost of zero":          {[]string{use(`"inputTokens":10,"cost":0`)}, "incomplete incomplete_stream calls 1 in 10/0/0 out 0 reported 0.0000 unknown=0"},
		"a total of zero is no cost":       {[]string{use(`"inputTokens":10,"totalCost":0`)}, "incomplete incomplete_stream calls 1 in 10/0/0 out 0 unpriced unknown=0"},
		"a cost that cannot be":            {[]string{use(`"inputTokens":10,"cost":-1`)}, "incomplete incomplete_stream calls 1 in 10/0/0 out 0 unpriced unknown=0"},
		"a text without usage is no call":  {[]string{end("text", `,"text":"Hello"`), finish("error", "")}, "error error"},
		"the second answer has no usage":   {[]string{inner(`{"type":"iteration_start","iteration":1}`), usage, inner(`{"type":"iteration_start","iteration":2}`), end("text", `,"text":"cut"`), finish("error", "")}, "error error calls 1 in 10/0/0 out 5 unpriced unknown=5"},
		"a teammate's usage comes twice":   {[]string{`{"type":"team_event","event":{"type":"task_start","agentId":"mate"}}`, usage, `{"type":"team_event","event":{"type":"agent_event","agentId":"mate","event":{"type":"usage","inputTokens":10,"outputTokens":5}}}`}, "incomplete incomplete_stream calls 1 sub 1 agents 1 in 10/0/0 out 5 unpriced unknown=5"},
		"the lead's usage beside a mate's": {[]string{`{"type":"team_event","event":{"type":"task_start","agentId":"mate"}}`, usage, finish("completed", "")}, "success calls 1 agents 1 in 10/0/0 out 5 unpriced unknown=5"},
		"the last usage beside a mate":     {[]string{`{"type":"team_event","event":{"type":"task_start","agentId":"mate"}}`, usage}, "incomplete incomplete_stream calls 1 agents 1 in 10/0/0 out 5 unpriced unknown=5"},
		"runs of one teammate are one agent": {[]string{
			`{"type":"team_event","event":{"type":"task_start","agentId":"mate"}}`, `{"type":"team_event","event":{"type":"task_end","agentId":"mate","status":"completed"}}`,
			`{"type":"team_event","event":{"type":"task_start","agentId":"mate"}}`, `{"type":"team_event","event":{"type":"task_end","agentId":"mate","status":"completed"}}`,
		}, "incomplete incomplete_stream agents 1"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := root(fold(translate.FormatCline, translate.Capture{}, test.lines)); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// TestLegacyRuns has the same for the say/ask stream.
func TestLegacyRuns(t *testing.T) {
	request := func(ts int, text string) string {
		return fmt.Sprintf(`{"type":"say","say":"api_req_started","ts":%d,"text":%q}`, 1793527201000+ts, text)
	}
	say := func(ts int, kind string) string {
		return fmt.Sprintf(`{"type":"say","say":%q,"ts":%d,"text":"x","modelInfo":{"modelId":"m"}}`, kind, 1793527201000+ts)
	}
	for name, test := range map[string]struct {
		lines []string
		want  string
	}{
		"a completion":               {[]string{say(0, "completion_result")}, "success"},
		"no completion":              {[]string{say(0, "text")}, "incomplete"},
		"usage that comes again":     {[]string{request(0, `{}`), request(0, `{"tokensIn":5,"tokensOut":3,"cacheReads":2,"cacheWrites":1,"cost":0.5}`)}, "incomplete calls 1 in 5/2/1 out 3 reported 0.5000 unknown=3"},
		"the same usage twice":       {[]string{request(0, `{"tokensIn":5,"tokensOut":3,"cost":0.5}`), request(0, `{"tokensIn":5,"tokensOut":3,"cost":0.5}`)}, "incomplete calls 1 in 5/0/0 out 3 reported 0.5000 unknown=3"},
		"two requests":               {[]string{request(0, `{"tokensIn":5,"tokensOut":3}`), request(1, `{"tokensIn":7,"tokensOut":1}`)}, "incomplete calls 2 in 12/0/0 out 4 unpriced unknown=4"},
		"usage after the next began": {[]string{request(0, `{}`), request(1, `{}`), request(0, `{"tokensIn":5,"tokensOut":3}`)}, "incomplete calls 1 in 5/0/0 out 3 unpriced unknown=3"},
		"a request that never ended": {[]string{request(0, `{"request":"x"}`)}, "incomplete"},
		"usage that is no JSON":      {[]string{request(0, `tokensIn`)}, "incomplete"},
		"the model of a message":     {[]string{request(0, `{}`), say(5, "text"), request(0, `{"tokensIn":5,"tokensOut":3}`)}, "incomplete model m calls 1 in 5/0/0 out 3 unpriced m=3"},
		"usage after the completion": {[]string{request(0, `{}`), say(5, "completion_result"), request(0, `{"tokensIn":5,"tokensOut":3}`)}, "success model m calls 1 in 5/0/0 out 3 unpriced m=3"},
		"usage of subagents":         {[]string{`{"type":"say","say":"subagent_usage","ts":1793527201000,"text":"{\"tokensIn\":5,\"tokensOut\":3,\"cost\":0.5}"}`}, "incomplete calls 1 in 5/0/0 out 3 reported 0.5000 unknown=3"},
		"taskId is no session":       {[]string{`{"type":"task_started","taskId":"t"}`, say(0, "completion_result")}, "success"},
		"an id of the session":       {[]string{`{"type":"task_started","taskId":"t","sessionId":"s9"}`, say(0, "completion_result")}, "success session s9"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := root(fold(translate.FormatClineLegacy, translate.Capture{}, test.lines)); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

// TestTimes has where calls and responses begin and end, in seconds after the first record.
func TestTimes(t *testing.T) {
	lines := []string{
		inner(`{"type":"iteration_start","iteration":1}`),                                     // 0
		inner(`{"type":"content_start","contentType":"text","text":"Hi","accumulated":"Hi"}`), // 1
		usage,                       // 2
		end("text", `,"text":"Hi"`), // 3
		inner(`{"type":"content_start","contentType":"tool","toolName":"bash","toolCallId":"c","input":{"command":"x"}}`), // 4
		inner(`{"type":"content_update","contentType":"tool","toolCallId":"c","update":{}}`),                              // 5
		end("tool", `,"toolName":"bash","toolCallId":"c","output":{"success":true},"durationMs":1500`),                    // 6
		inner(`{"type":"iteration_start","iteration":2}`),                                                                 // 7
		`{"type":"hook_event","hookEventName":"prompt_submit","agentId":"a"}`,                                             // 8
		usage, // 9
		end("tool", `,"toolName":"bash","toolCallId":"d","output":{"success":true},"durationMs":2500`), // 10: its beginning was missed
		finish("completed", named), // 11
	}
	var got []string
	outs := fold(translate.FormatCline, translate.Capture{}, lines)
	var begin int64
	for i := range outs {
		if sp := outs[i].Span; sp != nil && sp.Root != nil {
			begin = sp.Start
		}
	}
	for i := range outs {
		if sp := outs[i].Span; sp != nil {
			kind := map[translate.SpanType]string{translate.SpanRoot: "root", translate.SpanChat: "chat", translate.SpanTool: "tool"}[sp.Type]
			got = append(got, fmt.Sprintf("%s %.1f-%.1f", kind, float64(sp.Start-begin)/1e9, float64(sp.End-begin)/1e9))
		}
	}
	slices.Sort(got)
	want := []string{"chat 0.0-3.0", "chat 7.0-9.0", "root 0.0-11.0", "tool 4.0-6.0", "tool 7.5-10.0"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
