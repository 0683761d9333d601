// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package codex

import (
	"strconv"
	"strings"
	"time"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
	"github.com/otelcol-agents/otelcol-agents/translate/patch"
	"github.com/otelcol-agents/otelcol-agents/translate/redact"
	"github.com/otelcol-agents/otelcol-agents/translate/shell"
)

// shellTools are the functions that run a command.
var shellTools = map[string]bool{
	"shell": true, "exec_command": true, "shell_command": true, "local_shell": true, "local_shell_call": true,
	"container.exec": true, "bash": true,
}

// writeStdin is the function that asks a running process for more of its output.
const writeStdin = "write_stdin"

// newCall is the call of a row or item.
func (d *RolloutDecoder) newCall(e *entry, id jsontok.Value, name string) *translate.Call {
	e.rec.Calls = append(e.rec.Calls, translate.Call{
		ID: d.ID(id), Name: name, Type: e.rec.Subtype, RawBytes: len(e.raw), Ops: []translate.Op{{Kind: translate.OpUnknown}},
	})
	return &e.rec.Calls[len(e.rec.Calls)-1]
}

// unknown fills what is reported of a call that no event stands for.
func (d *RolloutDecoder) unknown(e *entry, c *translate.Call) {
	if c.Ops[0].Kind != translate.OpUnknown {
		return
	}
	d.ResetKeys()
	for _, m := range e.told() {
		d.AddKey(m.Name)
	}
	c.Keys, c.Raw = d.CollectedKeys(), d.RawJSON(e.raw)
}

// args sets the input of a call: the JSON that a string holds, or a value.
func (d *RolloutDecoder) args(c *translate.Call, v jsontok.Value) {
	text := v
	if v.Kind() == jsontok.String {
		s, _ := v.Text()
		text = jsontok.Value(s)
		if !d.isObject(s) {
			text = v
		}
	}
	c.ArgBytes = text.CompactLen()
	c.Args = d.JSON(text, c.ArgBytes, d.Opt.Capture.ToolArguments)
}

// isObject reports whether a text is one JSON object.
func (d *RolloutDecoder) isObject(s string) bool {
	parts, good := 0, false
	d.nested.Split([]byte(s), func(p jsontok.Part) {
		parts++
		good = p.Kind == jsontok.PartObject
	})
	return parts == 1 && good
}

// input is the object that a string holds as JSON, or that the value is.
func (d *RolloutDecoder) input(v jsontok.Value) members {
	if v.Kind() != jsontok.String {
		return open(v)
	}
	s, _ := v.Text()
	var m members
	d.nested.Split([]byte(s), func(p jsontok.Part) {
		if p.Kind == jsontok.PartObject && m == nil {
			m = append(m, p.Members...)
		}
	})
	return m
}

// callRow decodes a call as the model made it.
func (d *RolloutDecoder) callRow(e *entry) {
	id := e.p.get("call_id")
	if !decode.IsID(id) {
		id = e.p.get("id")
	}
	if !decode.IsID(id) {
		e.modelRow()
		d.report(e, translate.UnknownBlock)
		return
	}
	e.ro.Kind = translate.RolloutCall
	e.modelRow()
	name := d.Name(e.p.get("name"), decode.MaxName)
	switch {
	case name != "":
	case e.rec.Subtype == "local_shell_call":
		name = "shell"
	default:
		name = strings.TrimSuffix(e.rec.Subtype, "_call")
	}
	c := d.newCall(e, id, name)
	arguments := e.p.first("arguments", "input", "action")
	d.args(c, arguments)
	d.operations(e, c, arguments)
	if server, ok := strings.CutPrefix(d.Name(e.p.get("namespace"), decode.MaxName), "mcp__"); ok && server != "" {
		c.MCPServer, c.MCPTool = strings.TrimSuffix(server, "__"), name
	}
	d.unknown(e, c)
}

// operations sets what the call does.
func (d *RolloutDecoder) operations(e *entry, c *translate.Call, arguments jsontok.Value) {
	switch {
	case shellTools[c.Name]:
		in := d.input(arguments)
		d.command(c, in.first("command", "cmd"))
	case c.Name == writeStdin:
		// It has no event: the command is the one that it asks about.
		c.Ops = []translate.Op{{Kind: translate.OpNone}}
		e.ro.Process = d.scalar(d.input(arguments).get("session_id"))
	case c.Name == "apply_patch":
		d.patch(c, arguments)
	case c.Name == "spawn_agent":
		c.Launch = true
		c.Ops = []translate.Op{{Kind: translate.OpOrchestration}}
		c.Prompt = d.Text(d.input(arguments).first("message", "prompt", "task"), d.Opt.Capture.Prompts)
	}
}

// command sets the operation of a command that is given as a text or as an argument vector.
func (d *RolloutDecoder) command(c *translate.Call, v jsontok.Value) {
	switch v.Kind() {
	case jsontok.String:
		s, _ := v.Text()
		c.Ops = []translate.Op{d.Command(s, shell.Classify(s))}
	case jsontok.ArrayKind:
		if argv, ok := words(v); ok {
			c.Ops = []translate.Op{d.Command(strings.Join(argv, " "), shell.ClassifyArgs(argv))}
		}
	}
}

// patch sets one write for each file that a patch names.
func (d *RolloutDecoder) patch(c *translate.Call, v jsontok.Value) {
	body, _ := v.Text()
	if in := d.input(v); in != nil {
		if path := in.first("path", "file_path"); decode.IsID(path) {
			c.Ops = []translate.Op{{Kind: translate.OpWrite, Resolve: true, Path: d.Text(path, d.Opt.Capture.ToolArguments)}}
			return
		}
		body, _ = in.first("patch", "diff", "content", "input").Text()
	}
	d.writes(c, patch.Files(body))
}

func (d *RolloutDecoder) writes(c *translate.Call, files []string) {
	if len(files) == 0 {
		return
	}
	c.Ops = nil
	for _, path := range files[:min(len(files), maxList)] {
		op := translate.Op{Kind: translate.OpWrite, Resolve: true}
		if op.Path.Bytes = len(path); d.Opt.Capture.ToolArguments {
			op.Path = d.Content(path)
		}
		c.Ops = append(c.Ops, op)
	}
}

// scalar is a number or a text that stands for an id.
func (d *RolloutDecoder) scalar(v jsontok.Value) string {
	if n, ok := v.Int(); ok {
		return strconv.FormatInt(n, 10)
	}
	return d.ID(v)
}

// output decodes the output of a call, as the model gets it.
func (d *RolloutDecoder) output(e *entry) {
	id := e.p.get("call_id")
	if !decode.IsID(id) {
		d.report(e, translate.UnknownBlock)
		return
	}
	e.ro.Kind = translate.RolloutOutput
	text, size := d.outputText(e.p.get("output"))
	res := translate.Result{CallID: d.ID(id), Text: translate.Text{Bytes: size}}
	if d.Opt.Capture.ToolResults {
		res.Text = d.Content(text)
		res.Text.Bytes = size
	}
	d.verdict(e, &res, text)
	d.agentsOfOutput(&res, text)
	u := d.Unknown(translate.UnknownOrphan, e.rec.Subtype, e.raw)
	res.Unknown = &u
	e.rec.Results = []translate.Result{res}
}

// outputText is the text of an output: a string, the texts of a list, or the content of an object. size
// is that of its texts.
func (d *RolloutDecoder) outputText(v jsontok.Value) (text string, size int) {
	if m := open(v); m != nil {
		v = m.first("content", "output", "content_items")
	}
	if v.Kind() == jsontok.String {
		s, _ := v.Text()
		return s, len(s)
	}
	var parts []string
	for a := v.Array(); a.Next() && len(parts) < maxList; {
		part := open(a.Value())
		if s, ok := part.get("text").Text(); ok {
			parts = append(parts, s)
			size += len(s)
		} else if s, ok := part.get("image_url").Text(); ok {
			parts = append(parts, redact.Binary("image", s))
		}
	}
	return strings.Join(parts, "\n"), size
}

// How much of an output is searched for what Codex put before the output itself: up to the line that says
// where that begins. Commands stand before it in some versions; without such a line nothing long does.
const (
	maxHead   = 1 << 14
	plainHead = 400
)

// head is what Codex says about a call before its output. Outputs may quote such lines.
func head(text string) string {
	h, rest, ok := strings.Cut(text[:min(len(text), maxHead)], "\nOutput:\n")
	switch {
	case !ok:
		return text[:min(len(text), plainHead)]
	case strings.HasPrefix(rest, "Exit code: "): // a patch that was typed into a shell
		line, _, _ := strings.Cut(rest, "\n")
		return h + "\n" + line
	}
	return h
}

// failures begin the outputs of calls that failed without an exit status.
var failures = []string{
	"Script failed", "apply_patch verification failed", "failed in sandbox", "execution error", "write_stdin failed",
	"exec_command failed",
}

// verdict sets how the call ended, as far as the output tells.
func (d *RolloutDecoder) verdict(e *entry, res *translate.Result, text string) {
	h := head(text)
	code, exited := d.exitCode(h, text)
	if id, ok := lineValue(h, "Process running with session ID "); ok && !exited {
		e.ro.Process = d.IDText(id)
	}
	res.Outcome = translate.ToolOK
	switch {
	case abortedText(h):
		res.Outcome = translate.ToolInterrupted
	case strings.Contains(h[:min(len(h), 120)], "rejected by user"):
		res.Outcome, res.Denied = translate.ToolDenied, true
	case exited:
		res.ExitCode = translate.Some(code)
		res.Outcome = exitOutcome(code)
	default:
		for _, f := range failures {
			if strings.HasPrefix(h, f) {
				res.Outcome = translate.ToolError
			}
		}
	}
	res.Success = translate.Some(res.Outcome == translate.ToolOK)
}

func exitOutcome(code int64) string {
	switch code {
	case 0:
		return translate.ToolOK
	case -1:
		return translate.ToolKilled
	}
	return translate.ToolError
}

func abortedText(s string) bool {
	const mark = "aborted by user"
	return strings.HasPrefix(s, mark) || strings.Contains(s, "\n"+mark)
}

// exitCode is the exit status that the head of an output states, or the metadata beside it.
func (d *RolloutDecoder) exitCode(h, text string) (int64, bool) {
	for _, mark := range []string{"Process exited with code ", "Exit code: "} {
		if s, ok := lineValue(h, mark); ok {
			if n, err := strconv.ParseInt(s, 10, 64); err == nil {
				return n, true
			}
		}
	}
	if !strings.HasPrefix(text, "{") {
		return 0, false
	}
	return d.metadataCode(text)
}

// metadataCode reads {"output":…,"metadata":{"exit_code":…}}.
func (d *RolloutDecoder) metadataCode(text string) (code int64, ok bool) {
	d.nested.Split([]byte(text), func(p jsontok.Part) {
		if p.Kind == jsontok.PartObject {
			code, ok = open(members(p.Members).get("metadata")).get("exit_code").Int()
		}
	})
	return code, ok
}

// lineValue is the first word behind a mark at the beginning of a line.
func lineValue(s, mark string) (string, bool) {
	rest, ok := strings.CutPrefix(s, mark)
	if !ok {
		if _, rest, ok = strings.Cut(s, "\n"+mark); !ok {
			return "", false
		}
	}
	if i := strings.IndexAny(rest, " \r\n"); i >= 0 {
		rest = rest[:i]
	}
	return rest, rest != ""
}

// agentsOfOutput reads which subagent a call has started, or how those are that it waited for, as versions
// without items for it tell. Whether the call is of that kind, only the call tells.
func (d *RolloutDecoder) agentsOfOutput(res *translate.Result, text string) {
	if !strings.HasPrefix(text, `{"agent_id":`) && !strings.HasPrefix(text, `{"status":{`) {
		return
	}
	d.nested.Split([]byte(text), func(p jsontok.Part) {
		m := members(p.Members)
		if id := m.get("agent_id"); p.Kind == jsontok.PartObject && decode.IsID(id) {
			res.AgentID = d.ID(id)
		}
		d.states(res, m.get("status"))
	})
}

// ended begins a RolloutItem: a call that is told with its end.
func (d *RolloutDecoder) ended(e *entry, name string) (*translate.Call, *translate.Result) {
	id := e.told().first("call_id", "id")
	if !decode.IsID(id) {
		d.report(e, translate.UnknownBlock)
		return nil, nil
	}
	e.ro.Kind = translate.RolloutItem
	c := d.newCall(e, id, name)
	e.rec.Results = []translate.Result{{CallID: c.ID, Outcome: translate.ToolOK, Success: translate.Some(true)}}
	res := &e.rec.Results[0]
	if n, ok := duration(e.told().get("duration")); ok {
		res.Duration = translate.Some(n)
	}
	return c, res
}

// duration reads {"secs":…,"nanos":…}.
func duration(v jsontok.Value) (int64, bool) {
	m := open(v)
	secs, ok := m.get("secs").Int()
	nanos, _ := m.get("nanos").Int()
	if !ok || secs < 0 || secs > 1e9 || nanos < 0 || nanos > 1e9 {
		return 0, false
	}
	return secs*int64(time.Second) + nanos, true
}

// commandEnd decodes the end of a command.
func (d *RolloutDecoder) commandEnd(e *entry) {
	c, res := d.ended(e, "shell")
	if c == nil {
		return
	}
	m := e.told()
	d.setInput(c, "command", m.get("command"))
	d.command(c, m.get("command"))
	d.unknown(e, c)
	it := item{status: m.get("status"), exitCode: m.get("exit_code"), output: m.first("aggregated_output", "stdout")}
	res.Outcome = outcome(&it)
	res.Denied = res.Outcome == translate.ToolDenied
	res.Success = translate.Some(res.Outcome == translate.ToolOK)
	commandVerdict(&it, res)
	res.Text = d.Text(it.output, d.Opt.Capture.ToolResults)
}

// setInput makes an object of one member the input of a call.
func (d *RolloutDecoder) setInput(c *translate.Call, name string, v jsontok.Value) {
	if v.Missing() {
		c.ArgBytes = len("{}")
		return
	}
	object := append(append(append(jsontok.Value(`{"`), name...), `":`...), v...)
	d.args(c, append(object, '}'))
}

// patchEnd decodes the end of a change of files.
func (d *RolloutDecoder) patchEnd(e *entry) {
	c, res := d.ended(e, "apply_patch")
	if c == nil {
		return
	}
	m := e.told()
	d.setInput(c, "changes", m.get("changes"))
	var files []string
	var added, removed int64
	for o := m.get("changes").Object(); o.Next() && len(files) < maxList; {
		change := open(o.Value())
		files = append(files, jsontok.Valid(o.Name))
		kind := change
		if !decode.IsID(change.get("type")) && len(change) == 1 {
			kind = open(change[0].Value) // {"update":{"unified_diff":…}}
		}
		if to, ok := kind.get("move_path").Text(); ok && to != "" {
			files = append(files, to)
		}
		plus, minus := changeLines(change, kind)
		added, removed = added+plus, removed+minus
	}
	d.writes(c, files)
	d.unknown(e, c)
	it := item{status: m.get("status"), success: m.get("success")}
	res.Outcome = outcome(&it)
	res.Denied = res.Outcome == translate.ToolDenied
	res.Success = translate.Some(res.Outcome == translate.ToolOK)
	if len(files) > 0 {
		res.Added, res.Removed = translate.Some(added), translate.Some(removed)
	}
	res.Text = d.Text(m.get("stdout"), d.Opt.Capture.ToolResults)
}

// changeLines counts the lines that a change of one file adds and removes.
func changeLines(change, kind members) (added, removed int64) {
	if diff, ok := kind.get("unified_diff").Text(); ok {
		return changedLines(diff)
	}
	lines := int64(kind.get("content").Lines())
	if change.is("type", "delete") || !change.get("delete").Missing() {
		return 0, lines
	}
	return lines, 0
}

// mcpEnd decodes the end of a call of an MCP tool.
func (d *RolloutDecoder) mcpEnd(e *entry) {
	m := e.told()
	if invocation := open(m.get("invocation")); invocation != nil {
		m = append(append(members(nil), m...), invocation...)
	}
	c, res := d.ended(e, d.Name(m.get("tool"), decode.MaxName))
	if c == nil {
		return
	}
	c.MCPServer, c.MCPTool = d.Name(m.get("server"), decode.MaxName), c.Name
	d.args(c, m.get("arguments"))
	d.unknown(e, c)
	result := m.get("result")
	wrapped := open(result)
	failed := m.is("status", "failed") || !m.get("error").Missing() || !wrapped.get("Err").Missing()
	if ok := wrapped.get("Ok"); !ok.Missing() {
		result, wrapped = ok, open(ok)
	}
	failed = failed || wrapped.get("isError").True() || wrapped.get("is_error").True()
	if failed {
		res.Outcome, res.Success = translate.ToolError, translate.Some(false)
	}
	text, size := d.outputText(result)
	res.Text = translate.Text{Bytes: size}
	if d.Opt.Capture.ToolResults {
		res.Text = d.Content(text)
		res.Text.Bytes = size
	}
}

// imageEnd decodes that an image was looked at; the call itself says so too.
func (d *RolloutDecoder) imageEnd(e *entry) {
	c, _ := d.ended(e, "view_image")
	if c != nil {
		d.setInput(c, "path", e.told().get("path"))
		d.unknown(e, c)
	}
}

func (d *RolloutDecoder) imageGeneration(e *entry) {
	c, res := d.ended(e, "image_generation")
	e.modelRow()
	if c != nil {
		d.setInput(c, "revised_prompt", e.p.get("revised_prompt"))
		d.unknown(e, c)
		if e.p.is("status", "failed") {
			res.Outcome, res.Success = translate.ToolError, translate.Some(false)
		}
	}
}

// search decodes a web search, which a row and an event tell.
func (d *RolloutDecoder) search(e *entry) {
	e.ro.Kind = translate.RolloutSearch
	id := e.told().first("call_id", "id")
	e.ro.ID = d.ID(id)
	c := d.newCall(e, id, "web_search")
	for _, key := range []string{"action", "query"} {
		if v := e.told().get(key); !v.Missing() {
			d.setInput(c, key, v)
			break
		}
	}
	d.unknown(e, c)
	if e.ro.Shape == translate.ShapeRow {
		e.modelRow()
	}
}
