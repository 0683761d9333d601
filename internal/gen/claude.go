// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"math/rand/v2"
	"strconv"
	"time"
)

// model is a model with its list prices in USD per million tokens.
type model struct {
	id                              string
	input, output, read, write5, hr float64
}

// Prices of the built-in catalogue at the time of writing; the totals in the stream only have to be plausible.
var (
	mainModel = model{id: "claude-sonnet-5", input: 2, output: 10, read: 0.2, write5: 2.5, hr: 4}
	subModel  = model{id: "claude-haiku-4-5-20251001", input: 1, output: 5, read: 0.1, write5: 1.25, hr: 2}
)

// tokens counts by class. Main agents write their cache for an hour, subagents for five minutes.
type tokens struct {
	input, output, read, write int
}

func (t *tokens) add(u tokens) {
	t.input += u.input
	t.output += u.output
	t.read += u.read
	t.write += u.write
}

func (t tokens) cost(m model, write float64) float64 {
	micro := float64(t.input)*m.input + float64(t.output)*m.output + float64(t.read)*m.read + float64(t.write)*write
	return micro / 1e6
}

type session struct {
	id             string
	left, turnLeft int
	results, calls int
	main, sub      tokens // running totals
	turn           tokens // of the main agent, since the last result
	context        int
	began          time.Time
}

// agent is who writes a row: the main agent has an empty parent.
type agent struct {
	parent, task, kind, description string
	context                         int
}

// use is a tool call that waits for its result.
type use struct {
	id, tool, path string
	kind           genre
}

var mainAgent = agent{}

const cwd = "/home/dev/weather-cli"

func (g *generator) newSession(lines int) *session {
	return &session{id: g.uuid(), left: lines, context: 14000}
}

// step writes the next rows of a session. It never writes more than the session has left, and leaves room for the
// result that ends it.
func (g *generator) step(s *session) {
	if s.turnLeft == 0 {
		s.turnLeft = turnLines/2 + g.rand.IntN(turnLines)
		// A rest too short for a turn of its own belongs to this one.
		if s.left-s.turnLeft < 8 {
			s.turnLeft = s.left
		}
		g.init(s)
		if s.turnLeft > 1 {
			g.prompt(s)
		}
		return
	}
	room := s.turnLeft - 1
	switch {
	case room == 0:
		g.result(s)
	case room >= g.rows(2)+subagentRows && g.rand.IntN(24) == 0:
		g.subagents(s)
	case room == g.rows(1):
		g.answerPrompt(s)
	case room < g.rows(3)+2:
		g.status(s)
	default:
		g.round(s, mainAgent)
	}
}

// rows is the largest number of rows that a response of n blocks of the main agent takes.
func (g *generator) rows(n int) int {
	if g.opts.Partial {
		return 3 + n*(3+maxDeltas)
	}
	return n
}

func (g *generator) tail(s *session) {
	g.str(`,"session_id":"`, s.id, `","uuid":"`, g.uuid(), `"`)
}

func (g *generator) init(s *session) {
	g.str(`{"type":"system","subtype":"init","cwd":"` + cwd + `"`)
	g.tail(s)
	g.str(`,"tools":["Task","Bash","Edit","Glob","Grep","NotebookEdit","Read","Skill","TodoWrite","WebFetch","WebSearch","Write"],` +
		`"mcp_servers":[{"name":"stations","status":"connected"}],"model":"` + mainModel.id + `","permissionMode":"acceptEdits",` +
		`"slash_commands":["compact","context","init","review"],"apiKeySource":"none","claude_code_version":"2.1.332",` +
		`"output_style":"default","agents":["Explore","general-purpose","Plan"],"skills":[],"plugins":[],"analytics_disabled":true,` +
		`"fast_mode_state":"off"}`)
	g.end(s)
}

func (g *generator) status(s *session) {
	g.str(`{"type":"system","subtype":"status","status":"requesting"`)
	g.tail(s)
	g.str(`}`)
	g.end(s)
}

func (g *generator) prompt(s *session) {
	g.tick()
	s.began = g.now
	g.fill(prose, 80+g.rand.IntN(400))
	g.str(`{"type":"user","message":{"role":"user","content":"`)
	g.buf = append(g.buf, g.text...)
	g.str(`"},"parent_tool_use_id":null`)
	g.tail(s)
	g.str(`,"timestamp":"`)
	g.time()
	g.str(`","isReplay":true}`)
	g.end(s)
}

// round writes one response with one or two tool calls, and their results.
func (g *generator) round(s *session, a agent) {
	calls := 1
	if g.rand.IntN(6) == 0 {
		calls = 2
	}
	var uses [2]use
	for i := range calls {
		uses[i] = g.newUse(a)
	}
	r := g.response(s, a, g.rand.IntN(7) == 0, g.rand.IntN(5) == 0 && calls == 1)
	for i := range calls {
		g.call(s, &r, uses[i], i == calls-1)
	}
	r.finish(g, s)
	// Parallel calls are answered in any order.
	if calls == 2 && g.rand.IntN(2) == 0 {
		uses[0], uses[1] = uses[1], uses[0]
	}
	for _, u := range uses[:calls] {
		g.answer(s, a, u)
	}
}

var toolMix = [...]struct {
	name string
	kind genre
}{
	{"Read", code},
	{"Read", code},
	{"Read", data},
	{"Bash", logs},
	{"Bash", code},
	{"Bash", data},
	{"Grep", listing},
	{"Edit", code},
	{"mcp__stations__query", data},
}

func (g *generator) newUse(a agent) use {
	n := len(toolMix)
	if a.parent != "" {
		n -= 2
	}
	m := toolMix[g.rand.IntN(n)]
	return use{
		id:   g.id("toolu_"),
		tool: m.name,
		kind: m.kind,
		path: cwd + "/" + pick(g.rand, dirs) + "/" + pick(g.rand, nouns) + "_" + pick(g.rand, nouns) + ".go",
	}
}

// maxDeltas bounds the deltas of a block.
const maxDeltas = 4

// reply is a response that is being written, one block a row.
type reply struct {
	id, request string
	usage       tokens
	from        agent
	blocks      int
	stop        string
}

func (g *generator) response(s *session, a agent, thinking, text bool) reply {
	u := tokens{input: 1 + g.rand.IntN(8), output: 40 + g.rand.IntN(500), write: 100 + g.rand.IntN(1500)}
	if a.parent == "" {
		u.read = s.context
		// A compaction now and then keeps the context below the window.
		if s.context += u.write; s.context > 160000 {
			s.context = 14000
		}
		s.main.add(u)
		s.turn.add(u)
		s.calls++
	} else {
		u.read = a.context
		s.sub.add(u)
	}
	r := reply{id: g.id("msg_"), request: g.id("req_"), usage: u, from: a, stop: "tool_use"}
	if g.partial(&r) {
		g.event(s, `{"type":"message_start","message":{"model":"`, mainModel.id, `","id":"`, r.id, `","type":"message","role":"assistant","content":[],"stop_reason":null,"stop_sequence":null,"usage":`)
		g.usage(u, false, 1)
		g.str(`}},"ttft_ms":`)
		g.int(300 + g.rand.IntN(1500))
		g.endEvent(s)
	}
	if thinking {
		g.block(s, &r, thinkingBlock, false, func() {
			g.str(`{"type":"thinking","thinking":"","signature":"`)
			for range 8 {
				g.str(g.id(""))
			}
			g.str(`=="}`)
		})
	}
	if text {
		g.say(s, &r, 60+g.rand.IntN(600), false)
	}
	return r
}

// say writes a block of visible text, which stays in g.text.
func (g *generator) say(s *session, r *reply, n int, last bool) {
	g.fill(prose, n)
	g.block(s, r, textBlock, last, func() {
		g.str(`{"type":"text","text":"`)
		g.buf = append(g.buf, g.text...)
		g.str(`"}`)
	})
}

// answerPrompt writes the response that ends a turn.
func (g *generator) answerPrompt(s *session) {
	r := g.response(s, mainAgent, false, false)
	r.stop = "end_turn"
	g.say(s, &r, 200+g.rand.IntN(800), true)
	r.finish(g, s)
}

func (g *generator) partial(r *reply) bool {
	return g.opts.Partial && r.from.parent == ""
}

func (g *generator) event(s *session, parts ...string) {
	g.str(`{"type":"stream_event","session_id":"`, s.id, `","parent_tool_use_id":null,"uuid":"`, g.uuid(), `","event":`)
	g.str(parts...)
}

func (g *generator) endEvent(s *session) {
	g.str(`}`)
	g.end(s)
}

func (r *reply) finish(g *generator, s *session) {
	if !g.partial(r) {
		return
	}
	g.event(s, `{"type":"message_delta","delta":{"stop_reason":"`, r.stop, `","stop_sequence":null},"usage":`)
	g.usage(r.usage, false, r.usage.output)
	g.str(`}`)
	g.endEvent(s)
	g.event(s, `{"type":"message_stop"}`)
	g.endEvent(s)
}

func (g *generator) usage(u tokens, hour bool, output int) {
	five, one := u.write, 0
	if hour {
		five, one = 0, u.write
	}
	g.str(`{"input_tokens":`)
	g.int(u.input)
	g.str(`,"cache_creation_input_tokens":`)
	g.int(u.write)
	g.str(`,"cache_read_input_tokens":`)
	g.int(u.read)
	g.str(`,"cache_creation":{"ephemeral_5m_input_tokens":`)
	g.int(five)
	g.str(`,"ephemeral_1h_input_tokens":`)
	g.int(one)
	g.str(`},"output_tokens":`)
	g.int(output)
	g.str(`,"service_tier":"standard","inference_geo":"not_available"}`)
}

// blockKind is how the stream events of a block look: the block while it is still empty, and its deltas.
type blockKind struct {
	empty, delta string
}

var (
	textBlock     = blockKind{`{"type":"text","text":""}`, `{"type":"text_delta","text":"`}
	thinkingBlock = blockKind{`{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"`}
)

// block writes the row of one block, which body writes, with its stream events. Their deltas are of the right kind
// and size, but not the pieces of this very block.
func (g *generator) block(s *session, r *reply, kind blockKind, last bool, body func()) {
	g.tick()
	partial := g.partial(r)
	if partial {
		g.event(s, `{"type":"content_block_start","index":`)
		g.int(r.blocks)
		g.str(`,"content_block":`, kind.empty, `}`)
		g.endEvent(s)
		for range 1 + g.rand.IntN(maxDeltas) {
			g.event(s, `{"type":"content_block_delta","index":`)
			g.int(r.blocks)
			g.str(`,"delta":`, kind.delta, string(g.pool[prose][g.rand.IntN(poolLines)]), `"}}`)
			g.endEvent(s)
		}
	}
	m, sub := mainModel, r.from.parent != ""
	if sub {
		m = subModel
	}
	g.str(`{"type":"assistant","message":{"model":"`, m.id, `","id":"`, r.id, `","type":"message","role":"assistant","content":[`)
	body()
	g.str(`],"container":null,"stop_reason":`)
	output := 1 + g.rand.IntN(8)
	if last {
		g.str(`"`, r.stop, `"`)
		output = r.usage.output
	} else {
		g.str(`null`)
	}
	g.str(`,"stop_sequence":null,"stop_details":null,"usage":`)
	g.usage(r.usage, !sub, output)
	g.str(`,"diagnostics":null,"context_management":null},"parent_tool_use_id":`)
	g.parent(r.from)
	g.tail(s)
	g.str(`,"timestamp":"`)
	g.time()
	g.str(`","request_id":"`, r.request, `"}`)
	g.end(s)
	if partial {
		g.event(s, `{"type":"content_block_stop","index":`)
		g.int(r.blocks)
		g.str(`}`)
		g.endEvent(s)
	}
	r.blocks++
}

// parent writes the fields that say whose row it is.
func (g *generator) parent(a agent) {
	if a.parent == "" {
		g.str(`null`)
		return
	}
	g.str(`"`, a.parent, `","subagent_type":"`, a.kind, `","task_description":"`, a.description, `"`)
}

// tool writes the block of a tool call; input writes the members of its input.
func (g *generator) tool(s *session, r *reply, id, name string, last bool, input func()) {
	head := `{"type":"tool_use","id":"` + id + `","name":"` + name + `","input":{`
	const foot = `},"caller":{"type":"direct"}}`
	g.block(s, r, blockKind{head + foot, `{"type":"input_json_delta","partial_json":"`}, last, func() {
		g.str(head)
		input()
		g.str(foot)
	})
}

func (g *generator) call(s *session, r *reply, u use, last bool) {
	g.tool(s, r, u.id, u.tool, last, func() {
		switch u.tool {
		case "Read":
			g.str(`"file_path":"`, u.path, `"`)
			if g.rand.IntN(3) == 0 {
				g.str(`,"offset":`)
				g.int(1 + g.rand.IntN(400))
				g.str(`,"limit":200`)
			}
		case "Bash":
			g.str(`"command":"go test ./`, pick(g.rand, dirs), `/... -run \"^Test`, title(pick(g.rand, nouns)), `\" 2>&1 | tail -n 80","description":"Test the `, pick(g.rand, nouns), `"`)
		case "Grep":
			g.str(`"pattern":"\\b`, pick(g.rand, verbs), `\\(","path":"`+cwd+`","output_mode":"content"`)
		case "Edit":
			g.fill(code, 100+g.rand.IntN(700))
			g.str(`"file_path":"`, u.path, `","old_string":"`)
			g.buf = append(g.buf, g.text...)
			g.fill(code, 100+g.rand.IntN(900))
			g.str(`","new_string":"`)
			g.buf = append(g.buf, g.text...)
			g.str(`"`)
		default:
			g.str(`"sql":"select * from `, pick(g.rand, nouns), ` where place = '`, pick(g.rand, places), `'"`)
		}
	})
}

// answer writes the row of a call's result: the text for the model, and beside the message the tool's own result,
// which only main agents' rows have.
func (g *generator) answer(s *session, a agent, u use) {
	g.tick()
	g.fill(u.kind, g.size())
	failed := u.tool == "Bash" && g.rand.IntN(9) == 0
	g.str(`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"`, u.id, `","type":"tool_result","content":`)
	switch {
	case failed:
		g.str(`"Exit code 1\n`)
		g.buf = append(g.buf, g.text...)
		g.str(`","is_error":true`)
	case u.tool == "Read":
		g.str(`"`)
		g.numbered()
		g.str(`"`)
	case u.tool == "Edit":
		g.str(`"The file `, u.path, ` has been updated successfully."`)
	case u.tool == "Bash" || u.tool == "Grep":
		g.str(`"`)
		g.buf = append(g.buf, g.text...)
		g.str(`"`)
	default:
		g.str(`[{"type":"text","text":"`)
		g.buf = append(g.buf, g.text...)
		g.str(`"}]`)
	}
	g.str(`}]},"parent_tool_use_id":`)
	g.parent(a)
	g.tail(s)
	g.str(`,"timestamp":"`)
	g.time()
	g.str(`"`)
	if a.parent == "" {
		g.str(`,"tool_use_result":`)
		g.own(u, failed)
	}
	g.str(`}`)
	g.end(s)
}

// numbered writes the lines as Read shows them.
func (g *generator) numbered() {
	for i, l := range g.lits {
		if i > 0 {
			g.str(`\n`)
		}
		g.int(i + 1)
		g.str(`\t`, string(l))
	}
}

// own writes the value of tool_use_result.
func (g *generator) own(u use, failed bool) {
	n := strconv.Itoa(len(g.lits))
	switch {
	case failed:
		g.str(`"Error: Exit code 1\n`)
		g.buf = append(g.buf, g.text...)
		g.str(`"`)
	case u.tool == "Read":
		g.str(`{"type":"text","file":{"filePath":"`, u.path, `","content":"`)
		g.buf = append(g.buf, g.text...)
		g.str(`","numLines":`, n, `,"startLine":1,"totalLines":`, n, `}}`)
	case u.tool == "Bash":
		g.str(`{"stdout":"`)
		g.buf = append(g.buf, g.text...)
		g.str(`","stderr":"","interrupted":false,"isImage":false,"noOutputExpected":false}`)
	case u.tool == "Grep":
		g.str(`{"mode":"content","numFiles":0,"filenames":[],"content":"`)
		g.buf = append(g.buf, g.text...)
		g.str(`","numLines":`, n, `}`)
	case u.tool == "Edit":
		g.str(`{"filePath":"`, u.path, `","oldString":"`, string(g.lits[0]), `","newString":"`, string(g.lits[len(g.lits)-1]), `","originalFile":"`)
		g.buf = append(g.buf, g.text...)
		g.str(`","structuredPatch":[{"oldStart":1,"oldLines":6,"newStart":1,"newLines":7,"lines":[`)
		for i := range 8 {
			if i > 0 {
				g.str(`,`)
			}
			g.str(`"`, " - ++   "[i:i+1], string(g.lits[i%len(g.lits)]), `"`)
		}
		g.str(`]}],"userModified":false,"replaceAll":false}`)
	default:
		g.str(`[{"type":"text","text":"`)
		g.buf = append(g.buf, g.text...)
		g.str(`"}]`)
	}
}

// subagentRows is the largest number of rows that subagents writes beside the response that launches them: two
// starts, six rounds of up to five rows, two reports of three.
const subagentRows = 2 + 6*5 + 2*3

// subagents writes two parallel agents from their launch to their reports, with interleaved rows.
func (g *generator) subagents(s *session) {
	var agents [2]agent
	r := g.response(s, mainAgent, false, false)
	for i := range agents {
		a := agent{
			parent:      g.id("toolu_"),
			task:        taskID(g.rand),
			kind:        []string{"Explore", "general-purpose"}[i],
			description: title(pick(g.rand, verbs)) + " the " + pick(g.rand, nouns),
			context:     4800,
		}
		agents[i] = a
		g.tool(s, &r, a.parent, "Agent", i == len(agents)-1, func() {
			g.str(`"description":"`, a.description, `","prompt":"`, a.description, `.","subagent_type":"`, a.kind, `"`)
		})
	}
	r.finish(g, s)
	for _, a := range agents {
		g.str(`{"type":"system","subtype":"task_started","task_id":"`, a.task, `","tool_use_id":"`, a.parent, `","description":"`, a.description,
			`","subagent_type":"`, a.kind, `","is_backgrounded":false,"spawn_depth":1,"task_type":"local_agent","prompt":"`, a.description, `."`)
		g.tail(s)
		g.str(`}`)
		g.end(s)
	}
	for range 2 + g.rand.IntN(2) {
		for _, a := range agents {
			g.round(s, a)
		}
	}
	for _, a := range agents {
		g.report(s, a)
	}
}

func taskID(r *rand.Rand) string {
	return "a" + strconv.FormatUint(r.Uint64()|1<<63, 16)
}

// report ends a subagent: its last words, its task's end and the result of the call that launched it.
func (g *generator) report(s *session, a agent) {
	r := g.response(s, a, false, false)
	r.stop = "end_turn"
	g.say(s, &r, 300+g.rand.IntN(1200), true)
	g.tick()
	g.str(`{"type":"system","subtype":"task_notification","task_id":"`, a.task, `","tool_use_id":"`, a.parent,
		`","status":"completed","output_file":"","summary":"`, a.description, `","usage":{"total_tokens":9000,"tool_uses":3,"duration_ms":4000}`)
	g.tail(s)
	g.str(`}`)
	g.end(s)
	g.str(`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"`, a.parent, `","type":"tool_result","content":[{"type":"text","text":"`)
	g.buf = append(g.buf, g.text...)
	g.str(`"}]}]},"parent_tool_use_id":null`)
	g.tail(s)
	g.str(`,"timestamp":"`)
	g.time()
	g.str(`","tool_use_result":{"status":"completed","agentId":"`, a.task, `","agentType":"`, a.kind, `","prompt":"`, a.description, `.","content":[{"type":"text","text":"`)
	g.buf = append(g.buf, g.text...)
	g.str(`"}],"resolvedModel":"` + subModel.id + `","totalDurationMs":4000,"totalTokens":9000,"totalToolUseCount":3}}`)
	g.end(s)
}

func (g *generator) result(s *session) {
	// A title, which no row shows.
	s.sub.add(tokens{input: 600 + g.rand.IntN(100), output: 10 + g.rand.IntN(10)})
	main, sub := s.main.cost(mainModel, mainModel.hr), s.sub.cost(subModel, subModel.write5)
	g.fill(prose, 200+g.rand.IntN(800))
	g.str(`{"is_error":false,"api_error_status":null,"result":"`)
	g.buf = append(g.buf, g.text...)
	g.str(`","type":"result","subtype":"success","stop_reason":"end_turn","terminal_reason":"completed","num_turns":`)
	g.int(s.calls)
	ms := int(g.now.Sub(s.began).Milliseconds())
	if s.began.IsZero() {
		ms = 0
	}
	g.str(`,"duration_ms":`)
	g.int(ms)
	g.str(`,"duration_api_ms":`)
	g.int(ms * 4 / 5)
	g.str(`,"total_cost_usd":`)
	g.usd(main + sub)
	g.str(`,"usage":`)
	g.usage(s.turn, true, s.turn.output)
	g.str(`,"modelUsage":{`)
	g.modelUsage(mainModel, s.main, main)
	g.str(`,`)
	g.modelUsage(subModel, s.sub, sub)
	g.str(`},"permission_denials":[],"fast_mode_state":"off","queued_turn_count":0,"result_index":`)
	g.int(s.results)
	g.tail(s)
	g.str(`}`)
	g.end(s)
	s.results++
	s.calls = 0
	s.turn = tokens{}
	s.began = time.Time{}
}

func (g *generator) modelUsage(m model, t tokens, usd float64) {
	g.str(`"`, m.id, `":{"inputTokens":`)
	g.int(t.input)
	g.str(`,"outputTokens":`)
	g.int(t.output)
	g.str(`,"cacheReadInputTokens":`)
	g.int(t.read)
	g.str(`,"cacheCreationInputTokens":`)
	g.int(t.write)
	g.str(`,"webSearchRequests":0,"costUSD":`)
	g.usd(usd)
	g.str(`,"contextWindow":200000,"maxOutputTokens":64000,"thinkingTokens":0,"provider":"firstParty","costBasis":"list"}`)
}
