// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package claude

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/decode/decodetest"
	"github.com/otelcol-agents/otelcol-agents/translate/redact"
)

var everything = translate.Capture{
	Prompts: true, Responses: true, Reasoning: true, ToolArguments: true, ToolResults: true, Raw: true, Identity: true,
}

func decodeLine(t *testing.T, opt Options, line string) []translate.Decoded {
	t.Helper()
	return NewDecoder(opt).Decode([]byte(line), nil)
}

// one decodes a line that has one record.
func one(t *testing.T, opt Options, line string) *translate.Record {
	t.Helper()
	out := decodeLine(t, opt, line)
	if len(out) != 1 || out[0].Record == nil {
		t.Fatalf("%s: %d parts, no single record: %+v", line, len(out), out)
	}
	return out[0].Record
}

// payload names what a record carries.
func payload(rec *translate.Record) string {
	var names []string
	add := func(there bool, name string) {
		if there {
			names = append(names, name)
		}
	}
	add(rec.Start != nil, "start")
	add(rec.Response != nil, "response")
	add(rec.Chunk != nil, "chunk")
	add(rec.Prompt != nil, "prompt")
	add(rec.Interrupt, "interrupt")
	add(len(rec.Results) > 0, fmt.Sprintf("results:%d", len(rec.Results)))
	add(rec.Task != nil, "task")
	add(rec.Compaction, "compaction")
	add(rec.Retry != nil, "retry")
	add(rec.Denied != nil, "denied")
	add(rec.RateLimit != nil, "ratelimit")
	add(rec.Terminal != nil, "terminal")
	add(rec.Reset != nil, "reset")
	add(rec.Context != nil, "context")
	for _, u := range rec.Unknowns {
		names = append(names, "unknown:"+string(u.Reason))
	}
	add(rec.UnknownType, "unknowntype")
	return strings.Join(names, " ")
}

func assistantLine(blocks string) string {
	return `{"type":"assistant","session_id":"s","message":{"id":"m1","role":"assistant","model":"claude-x","content":[` + blocks + `]}}`
}

func userLine(content, more string) string {
	return `{"type":"user","session_id":"s","message":{"role":"user","content":` + content + `}` + more + `}`
}

// TestRecords has the rows of the event mapping, section 4.1.
func TestRecords(t *testing.T) {
	for name, test := range map[string]struct{ line, want string }{
		"system init":                    {`{"type":"system","subtype":"init"}`, "start"},
		"system status":                  {`{"type":"system","subtype":"status","status":"requesting"}`, ""},
		"system thinking_tokens":         {`{"type":"system","subtype":"thinking_tokens"}`, ""},
		"system compact_boundary":        {`{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"auto"}}`, "compaction"},
		"system api_retry":               {`{"type":"system","subtype":"api_retry","attempt":1}`, "retry"},
		"system permission_denied":       {`{"type":"system","subtype":"permission_denied","tool_use_id":"t"}`, "denied"},
		"system task_started":            {`{"type":"system","subtype":"task_started","task_id":"x"}`, "task unknown:subtype"},
		"system task_progress":           {`{"type":"system","subtype":"task_progress","task_id":"x"}`, "task unknown:subtype unknowntype"},
		"system task_updated":            {`{"type":"system","subtype":"task_updated","task_id":"x"}`, "task unknown:subtype"},
		"system task_notification":       {`{"type":"system","subtype":"task_notification","task_id":"x"}`, "task unknown:subtype"},
		"system hook_started":            {`{"type":"system","subtype":"hook_started"}`, "unknown:subtype unknowntype"},
		"system background_tasks":        {`{"type":"system","subtype":"background_tasks_changed","tasks":[]}`, "unknown:subtype unknowntype"},
		"system task_summary":            {`{"type":"system","subtype":"task_summary","detail":null}`, "unknown:subtype unknowntype"},
		"system without subtype":         {`{"type":"system"}`, "unknown:subtype unknowntype"},
		"system with a subtype 5":        {`{"type":"system","subtype":5}`, "unknown:subtype unknowntype"},
		"assistant":                      {assistantLine(`{"type":"text","text":"a"}`), "response"},
		"assistant without blocks":       {assistantLine(``), "response"},
		"user prompt":                    {userLine(`"hi"`, ""), "prompt"},
		"user result":                    {userLine(`[{"type":"tool_result","tool_use_id":"t"}]`, ""), "results:1"},
		"user two results":               {userLine(`[{"type":"tool_result","tool_use_id":"t"},{"type":"tool_result","tool_use_id":"u"}]`, ""), "results:2"},
		"user result without id":         {userLine(`[{"type":"tool_result"}]`, ""), "unknown:block"},
		"user image":                     {userLine(`[{"type":"image"}]`, ""), "unknown:block"},
		"user document and prompt":       {userLine(`[{"type":"document"},{"type":"text","text":"hi"}]`, ""), "prompt unknown:block"},
		"user string element":            {userLine(`["x"]`, ""), "unknown:block"},
		"rate_limit_event":               {`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed"}}`, "ratelimit"},
		"rate_limit_event without info":  {`{"type":"rate_limit_event"}`, "ratelimit"},
		"result":                         {`{"type":"result","subtype":"success"}`, "terminal"},
		"stream_event":                   {`{"type":"stream_event","event":{"type":"ping"}}`, "chunk"},
		"conversation_reset":             {`{"type":"conversation_reset","new_conversation_id":"n"}`, "reset unknown:record_type"},
		"conversation_reset without id":  {`{"type":"conversation_reset"}`, "unknown:record_type"},
		"keep_alive":                     {`{"type":"keep_alive"}`, "unknown:record_type unknowntype"},
		"tool_progress":                  {`{"type":"tool_progress","tool_use_id":"t"}`, "unknown:record_type unknowntype"},
		"tool_use_summary":               {`{"type":"tool_use_summary"}`, "unknown:record_type unknowntype"},
		"control_response":               {`{"type":"control_response"}`, "unknown:record_type unknowntype"},
		"context":                        {`{"type":"agentstream.context"}`, "context"},
		"key order does not matter":      {`{"message":{"content":[],"id":"m"},"session_id":"s","type":"assistant"}`, "response"},
		"escaped names and values":       {`{"\u0074ype":"\u0073ystem","subtype":"status"}`, ""},
		"the last duplicate wins":        {`{"type":"user","type":"system","subtype":"init"}`, "start"},
		"a type that is an empty string": {`{"type":""}`, "unknown:record_type unknowntype"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := payload(one(t, Options{}, test.line)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestDiagnostics has lines, or parts of them, that are no records (rulings 19 and 34).
func TestDiagnostics(t *testing.T) {
	for name, test := range map[string]struct {
		line string
		want []translate.Skip
	}{
		"blank":                       {"  \r\n", nil},
		"text":                        {"npm warn", []translate.Skip{translate.SkipNotJSON}},
		"cut object":                  {`{"type":"user","mess`, []translate.Skip{translate.SkipTorn}},
		"array":                       {`[]`, []translate.Skip{translate.SkipBadShape}},
		"string":                      {`"a"`, []translate.Skip{translate.SkipBadShape}},
		"number":                      {`1`, []translate.Skip{translate.SkipBadShape}},
		"null":                        {`null`, []translate.Skip{translate.SkipBadShape}},
		"no type":                     {`{"a":1}`, []translate.Skip{translate.SkipBadShape}},
		"type is a number":            {`{"type":1}`, []translate.Skip{translate.SkipBadShape}},
		"type is null":                {`{"type":null}`, []translate.Skip{translate.SkipBadShape}},
		"assistant without message":   {`{"type":"assistant"}`, []translate.Skip{translate.SkipBadShape}},
		"message is a string":         {`{"type":"assistant","message":"x"}`, []translate.Skip{translate.SkipBadShape}},
		"assistant content a string":  {`{"type":"assistant","message":{"content":"x"}}`, []translate.Skip{translate.SkipBadShape}},
		"message as a character map":  {`{"type":"user","message":{"0":"h","1":"i"}}`, []translate.Skip{translate.SkipBadShape}},
		"user content an object":      {`{"type":"user","message":{"content":{}}}`, []translate.Skip{translate.SkipBadShape}},
		"user content null":           {`{"type":"user","message":{"content":null}}`, []translate.Skip{translate.SkipBadShape}},
		"cut record, then a good one": {`{"type":"user","message":{"con{"type":"system","subtype":"status"}`, []translate.Skip{translate.SkipTorn, ""}},
		"two records":                 {`{"type":"keep_alive"}{"type":"keep_alive"}`, []translate.Skip{"", ""}},
		"record, then text":           {`{"type":"keep_alive"} done`, []translate.Skip{"", translate.SkipNotJSON}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []translate.Skip
			for _, x := range decodeLine(t, Options{}, test.line) {
				if x.Diagnostic == nil {
					got = append(got, "")
					continue
				}
				got = append(got, x.Diagnostic.Skip)
				if u := x.Diagnostic.Unknown; (u != nil) != (x.Diagnostic.Skip == translate.SkipBadShape) {
					t.Errorf("%s: unknown %+v", x.Diagnostic.Skip, u)
				} else if u != nil && (u.Reason != translate.UnknownBadShape || u.Bytes == 0) {
					t.Errorf("unknown %+v", u)
				}
				if x.Diagnostic.Text.Bytes == 0 || x.Diagnostic.Text.Content != "" {
					t.Errorf("text %+v", x.Diagnostic.Text)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestEnvelope(t *testing.T) {
	rec := one(t, Options{}, `{"type":"assistant","session_id":"s","uuid":"u","timestamp":"2026-11-01T10:00:00.123+02:00",`+
		`"parent_tool_use_id":"p","agent_id":"a","subagent_type":"Explore","message":{"content":[]}}`)
	if rec.Session != "s" || rec.UUID != "u" || rec.Type != "assistant" || rec.InvalidTime ||
		rec.Agent != (translate.AgentRef{Parent: "p", ID: "a", Type: "Explore"}) {
		t.Errorf("%+v", rec)
	}
	if want := time.Date(2026, 11, 1, 8, 0, 0, 123e6, time.UTC).UnixNano(); rec.Time != want {
		t.Errorf("time %d, want %d", rec.Time, want)
	}
	// What task records name is the agent that they are about, not the one that they are of.
	rec = one(t, Options{}, `{"type":"system","subtype":"task_started","task_id":"x","subagent_type":"Explore"}`)
	if !rec.Agent.Main() || rec.Agent.Type != "" || rec.Task.AgentType != "Explore" {
		t.Errorf("%+v", rec)
	}
	// The spellings of transcripts.
	rec = one(t, Options{Capture: translate.Capture{Identity: true}}, `{"type":"user","sessionId":"s","agentId":"a","cwd":"/w","version":"2.1","gitBranch":"main","message":{"content":"x"}}`)
	if rec.Session != "s" || rec.Agent.ID != "a" || rec.CWD != "/w" || rec.Version != "2.1" || rec.Branch.Content != "main" || rec.Prompt != nil {
		t.Errorf("%+v", rec)
	}
}

func TestTimes(t *testing.T) {
	at := time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)
	limit := at.Add(24 * time.Hour)
	for value, want := range map[string]time.Time{
		`"2026-11-01T10:00:00Z"`:      at,
		`"2026-11-01T10:00:00.000Z"`:  at,
		`"2026-11-01T05:30:00-04:30"`: at,
		`"2026-11-01T12:00:00+0200"`:  at,
		`"2026-11-01T10:00:00"`:       at,
		`1793527200`:                  at,
		`"1793527200"`:                at,
		`1793527200000`:               at,
		`"1793527200000"`:             at,
		`1793527200.25`:               at.Add(250 * time.Millisecond),
		`1793527200000.5`:             at.Add(500 * time.Microsecond),
		`null`:                        {},
		`""`:                          {},
		`"yesterday"`:                 {},
		`"2026-13-01T10:00:00Z"`:      {},
		`"2019-12-31T23:59:59Z"`:      {},
		`"2026-11-02T10:00:01Z"`:      {},
		`"9999-01-01T00:00:00Z"`:      {},
		`0`:                           {},
		`-1`:                          {},
		`1e300`:                       {},
		`17935272000`:                 {},
		`1793527200000000000`:         {},
		`true`:                        {},
		`{}`:                          {},
	} {
		rec := one(t, Options{MaxTime: limit.UnixNano()}, `{"type":"keep_alive","timestamp":`+value+`}`)
		var got time.Time
		if rec.Time != 0 {
			got = time.Unix(0, rec.Time).UTC()
		}
		if !got.Equal(want) || rec.InvalidTime != (want.IsZero() && value != "null") {
			t.Errorf("%s: %v, invalid %v", value, got, rec.InvalidTime)
		}
	}
}

func TestNames(t *testing.T) {
	rec := one(t, Options{}, `{"type":"what is this?","subtype":"`+strings.Repeat("x", 500)+`"}`)
	if rec.Type != "" || len(rec.Subtype) != decode.MaxLabel {
		t.Errorf("type %q, subtype of %d bytes", rec.Type, len(rec.Subtype))
	}
	long := strings.Repeat("é", 400)
	a := one(t, Options{}, `{"type":"keep_alive","uuid":"`+long+`a"}`)
	b := one(t, Options{}, `{"type":"keep_alive","uuid":"`+long+`b"}`)
	if len(a.UUID) > decode.MaxID || a.UUID == b.UUID || a.UUID == "" {
		t.Errorf("ids %q %q", a.UUID, b.UUID)
	}
}

func TestSecretsAreNotKept(t *testing.T) {
	r, err := redact.New(true, []string{`CANARY-\w+`})
	if err != nil {
		t.Fatal(err)
	}
	const key = "CANARY-abc123"
	for _, line := range []string{
		`{"type":"` + key + `","subtype":"` + key + `","uuid":"` + key + `","` + key + `":1}`,
		`{"type":"system","subtype":"init","model":"` + key + `","session_id":"` + key + `","mcp_servers":[{"name":"` + key + `"}],"permissionMode":"` + key + `"}`,
		assistantLine(`{"type":"tool_use","id":"` + key + `","name":"` + key + `","input":{"command":"` + key + `"}}`),
		assistantLine(`{"type":"tool_use","id":"t","name":"Bash","input":{"command":"export A=` + key + `"}},{"type":"text","text":"` + key + `"},{"type":"` + key + `"}`),
		assistantLine(`{"type":"tool_use","id":"t","name":"Skill","input":{"skill":"` + key + `"}},{"type":"tool_use","id":"t","name":"Agent","input":{"subagent_type":"` + key + `","prompt":"` + key + `"}}`),
		userLine(`[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"Shell `+key+` is not running (status: failed)"}]`, `,"tool_use_result":{"agentType":"`+key+`","status":"`+key+`","file":{"filePath":"`+key+`"}}`),
		userLine(`"`+key+`"`, ""),
		`{"type":"result","subtype":"` + key + `","terminal_reason":"` + key + `","is_error":true,"errors":["` + key + `"],"modelUsage":{"` + key + `":{}},"permission_denials":["` + key + `"],"api_error_status":"` + key + `"}`,
		`{"type":"agentstream.context","attributes":{"` + key + `":"` + key + `"}}`,
		key + " text",
		`{"type":"` + key,
	} {
		for _, capture := range []translate.Capture{{}, everything} {
			for _, s := range decodetest.Strings(decodeLine(t, Options{Capture: capture, Redactor: r}, line)) {
				if strings.Contains(s, key) {
					t.Errorf("%s: kept %q", line, s)
				}
			}
		}
	}
}

func TestContext(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	rec := one(t, Options{}, `{"type":"agentstream.context","traceparent":"`+parent+`","attributes":{"z":"s","b":true,"i":7,"f":1.5,"g":2.0,"o":{},"n":null,"":1}}`)
	c := rec.Context
	if fmt.Sprintf("%x %x", c.TraceID, c.SpanID) != "4bf92f3577b34da6a3ce929d0e0e4736 00f067aa0ba902b7" {
		t.Errorf("%x %x", c.TraceID, c.SpanID)
	}
	want := []translate.KeyValue{{Key: "b", Value: true}, {Key: "f", Value: 1.5}, {Key: "g", Value: 2.0}, {Key: "i", Value: int64(7)}, {Key: "z", Value: "s"}}
	if !reflect.DeepEqual(c.Attributes, want) {
		t.Errorf("%+v", c.Attributes)
	}
}

func TestGenericDecoder(t *testing.T) {
	d := NewGenericDecoder(Options{})
	for line, want := range map[string]string{
		`{"type":"assistant","message":{"content":[]}}`: "unknown:record_type unknowntype",
		`{"type":"agentstream.context"}`:                "context",
	} {
		if got := payload(d.Decode([]byte(line), nil)[0].Record); got != want {
			t.Errorf("%s: %q", line, got)
		}
	}
	if out := d.Decode([]byte("text"), nil); out[0].Diagnostic.Skip != translate.SkipNotJSON {
		t.Errorf("%+v", out)
	}
}

func TestManyParts(t *testing.T) {
	line := strings.Repeat(`{"type":"a"}`, decode.MaxParts+1000)
	out := decodeLine(t, Options{}, line)
	if len(out) != decode.MaxParts+1 {
		t.Fatalf("%d parts", len(out))
	}
	if d := out[decode.MaxParts].Diagnostic; d == nil || d.Text.Bytes != 1000*len(`{"type":"a"}`) {
		t.Errorf("%+v", out[decode.MaxParts])
	}
}

func TestManyBlocks(t *testing.T) {
	const n = maxBlocks + 1000
	for _, line := range []string{
		assistantLine(strings.Repeat(`{},`, n-1) + `{}`),
		userLine(`[`+strings.Repeat(`{},`, n-1)+`{}]`, ""),
	} {
		begin := time.Now()
		rec := one(t, Options{}, line)
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("took %v", took)
		}
		var last translate.Unknown
		count := len(rec.Unknowns)
		if rec.Response != nil {
			count = len(rec.Response.Blocks)
			last = *rec.Response.Blocks[count-1].Unknown
		} else {
			last = rec.Unknowns[count-1]
		}
		if count != maxBlocks+1 || last.Bytes != 3*1000-1 {
			t.Errorf("%d blocks, the last of %d bytes", count, last.Bytes)
		}
	}
}

// fuzzSeeds has a line of each kind.
var fuzzSeeds = []string{
	`{"type":"system","subtype":"init","session_id":"s","cwd":"/w","model":"m","mcp_servers":[{"name":"a"},{"name":"ab"}],"permissionMode":"auto","claude_code_version":"2"}`,
	`{"type":"system","subtype":"task_progress","task_id":"x","workflow_progress":[{"type":"workflow_agent","agentId":"a","label":"L","state":"done","startedAt":1793527200000,"durationMs":5}]}`,
	`{"type":"system","subtype":"task_updated","task_id":"x","patch":{"status":"killed","end_time":1793527200000}}`,
	assistantLine(`{"type":"tool_use","id":"t","name":"Bash","input":{"command":"cd a && sed -n '1,5p' f"}},{"type":"thinking","thinking":"hm"},{"type":"text","text":"\ud83d"}`),
	assistantLine(`{"type":"tool_use","id":"t","name":"Read","input":{"file_path":"a","offset":18446744073709551615,"limit":3}},{"type":"server_tool_use","id":"x","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"x","content":[]}`),
	`{"type":"assistant","message":{"id":"m","model":"<synthetic>","content":[],"usage":{"input_tokens":-1,"iterations":[{"type":"advisor_message","model":"o","input_tokens":1}]}},"error":"rate_limit"}`,
	userLine(`[{"type":"tool_result","tool_use_id":"t","is_error":true,"content":"Exit code 2\nx"}]`, `,"tool_use_result":{"structuredPatch":[{"lines":["+a","-b"]}],"file":{"filePath":"a","startLine":3},"task":{"task_id":"x","status":"completed"}},"tool_result_meta":[{"id":"t","non_execution_kind":"user-rejected"}]`),
	userLine(`[{"type":"text","text":"<system-reminder>x</system-reminder>\nhello"},{"type":"text","text":"[Request interrupted by user]"}]`, `,"isReplay":true`),
	`{"type":"result","subtype":"error_max_turns","is_error":true,"errors":["x"],"modelUsage":{"m":{"inputTokens":1,"costUSD":0.5}},"permission_denials":[{"tool_use_id":"t"},"u"],"total_cost_usd":1,"api_error_status":529}`,
	`{"type":"stream_event","event":{"type":"message_start","message":{"id":"m","model":"x","usage":{"input_tokens":1}}},"ttft_ms":5}`,
	`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","utilization":0.9}}`,
	`{"type":"agentstream.context","traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01","attributes":{"a":1}}`,
	`{"type":"user","message":{"con{"type":"system","subtype":"status"}`,
	"npm warn \xff",
	`{"type":"x","type":"y","a":"` + "\xff" + `"}`,
}

func FuzzDecode(f *testing.F) {
	decodetest.Fuzz(f, fuzzSeeds, func(opt Options) decodetest.Decoder { return NewDecoder(opt) })
}

// TestLenientReadingIsTheSame reads each good line with a duplicate of a name that no rule reads, which
// forces the lenient reading.
func TestLenientReadingIsTheSame(t *testing.T) {
	opt := Options{Capture: everything}
	opt.Capture.Raw = false
	for _, line := range fuzzSeeds {
		if !strings.HasPrefix(line, `{"type"`) {
			continue
		}
		strict := decodeLine(t, opt, line[:len(line)-1]+`,"zz":1}`)
		lenient := decodeLine(t, opt, line[:len(line)-1]+`,"zz":1,"zz":1}`)
		for _, out := range [][]translate.Decoded{strict, lenient} {
			for _, x := range out {
				if x.Record != nil {
					// Sizes, keys and the hash of the whole record differ by the duplicate.
					x.Record.Hash = 0
					for i := range x.Record.Unknowns {
						x.Record.Unknowns[i] = translate.Unknown{Reason: x.Record.Unknowns[i].Reason}
					}
				} else {
					x.Diagnostic.Text = translate.Text{}
				}
			}
		}
		if !reflect.DeepEqual(strict, lenient) {
			t.Errorf("%s: strict %+v, lenient %+v", line, strict, lenient)
		}
	}
}
