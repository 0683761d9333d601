// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package codex

import (
	"strings"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
	"github.com/otelcol-agents/otelcol-agents/translate/redact"
	"github.com/otelcol-agents/otelcol-agents/translate/shell"
)

// maxList bounds the changes of a patch, the agents of a call and the words of a command that are read.
const maxList = 1 << 12

// call decodes the call of an item. Its keys were collected when the item was read.
func (d *Decoder) call(k kind, it *item) *translate.Call {
	c := &translate.Call{ID: d.ID(it.id), Type: d.Label(it.typ), RawBytes: len(it.raw)}
	k.call(d, it, c)
	if c.Name == "" {
		c.Name = c.Type
	}
	if len(c.Ops) == 0 {
		c.Ops = []translate.Op{{Kind: translate.OpUnknown}}
	}
	if c.Ops[0].Kind == translate.OpUnknown {
		c.Keys, c.Raw = d.CollectedKeys(), d.RawJSON(it.raw)
	}
	return c
}

// member is a member of the input of a call.
type member struct {
	name  string
	value jsontok.Value
}

// input sets the input of a call that has no object for it: what the item says besides its state.
func (d *Decoder) input(c *translate.Call, members ...member) {
	size := len("{}")
	var text []byte
	for _, m := range members {
		if m.value.Missing() {
			continue
		}
		if size > len("{}") {
			size++ // the comma
		}
		size += len(m.name) + len(`"":`) + m.value.CompactLen()
		if d.Opt.Capture.ToolArguments {
			if len(text) > 0 {
				text = append(text, ',')
			}
			text = append(append(append(text, '"'), m.name...), `":`...)
			text = append(text, m.value...)
		}
	}
	c.ArgBytes = size
	text = append(append([]byte{'{'}, text...), '}')
	c.Args = d.JSON(text, size, d.Opt.Capture.ToolArguments)
}

func (d *Decoder) commandCall(it *item, c *translate.Call) {
	c.Name = "shell"
	d.input(c, member{"command", it.command})
	switch it.command.Kind() {
	case jsontok.String:
		s, _ := it.command.Text()
		c.Ops = []translate.Op{d.Command(s, shell.Classify(s))}
	case jsontok.ArrayKind:
		if argv, ok := words(it.command); ok {
			c.Ops = []translate.Op{d.Command(strings.Join(argv, " "), shell.ClassifyArgs(argv))}
		}
	}
}

// words are the words of an argument vector.
func words(v jsontok.Value) (argv []string, ok bool) {
	for a := v.Array(); a.Next(); {
		s, isText := a.Value().Text()
		if !isText || len(argv) == maxList {
			return nil, false
		}
		argv = append(argv, s)
	}
	return argv, len(argv) > 0
}

// patchCall decodes a change of files: one write a change, its path as given.
func (d *Decoder) patchCall(it *item, c *translate.Call) {
	c.Name = "apply_patch"
	d.input(c, member{"changes", it.changes})
	for a := it.changes.Array(); a.Next() && len(c.Ops) < maxList; {
		for o := a.Object(); o.Next(); {
			if string(o.Name) == "path" && decode.IsID(o.Value()) {
				c.Ops = append(c.Ops, translate.Op{
					Kind: translate.OpWrite, Path: d.Text(o.Value(), d.Opt.Capture.ToolArguments),
				})
			}
		}
	}
}

func (d *Decoder) mcpCall(it *item, c *translate.Call) {
	c.Name = d.Name(it.tool, decode.MaxName)
	c.MCPServer, c.MCPTool = d.Name(it.server, decode.MaxName), c.Name
	if !it.arguments.Missing() {
		c.ArgBytes = it.arguments.CompactLen()
		c.Args = d.JSON(it.arguments, c.ArgBytes, d.Opt.Capture.ToolArguments)
	}
}

func (d *Decoder) searchCall(it *item, c *translate.Call) {
	c.Name = "web_search"
	d.input(c, member{"query", it.query}, member{"action", it.action})
}

// collabCall decodes a call about subagents. What it says about them stands in its result; a call that
// says nothing about any is not understood.
func (d *Decoder) collabCall(it *item, c *translate.Call) {
	c.Name = d.Name(it.tool, decode.MaxName)
	d.input(c, member{"prompt", it.prompt}, member{"receiver_thread_ids", it.receivers})
	switch c.Name {
	case "spawn_agent":
		c.Launch = true
		c.Prompt = d.Text(it.prompt, d.Opt.Capture.Prompts)
		if isStatus(it, "failed") || isFilled(it.states) || isFilled(it.receivers) {
			c.Ops = []translate.Op{{Kind: translate.OpOrchestration}}
		}
	case "wait", "close_agent":
		if isFilled(it.states) {
			c.Ops = []translate.Op{{Kind: translate.OpOrchestration}}
		}
	}
}

// isFilled reports whether v is an object or an array that is not empty.
func isFilled(v jsontok.Value) bool {
	o, a := v.Object(), v.Array()
	return o.Next() || a.Next()
}

func isStatus(it *item, status string) bool {
	s, _ := it.status.Plain()
	return string(s) == status
}

// result decodes the end of a call.
func (d *Decoder) result(it *item) *translate.Result {
	res := &translate.Result{CallID: d.ID(it.id), Outcome: outcome(it)}
	res.Denied = res.Outcome == translate.ToolDenied
	res.Success = translate.Some(res.Outcome == translate.ToolOK)
	switch typ, _ := it.typ.Plain(); string(typ) {
	case "command_execution":
		res.Text = d.Text(it.output, d.Opt.Capture.ToolResults)
		commandVerdict(it, res)
	case "file_change":
		res.Success.V = !isStatus(it, "failed") && !res.Denied
		d.lineCounts(it, res)
	case "mcp_tool_call":
		res.Text = d.mcpText(it)
	case "collab_tool_call":
		d.agents(it, res)
	}
	return res
}

// commandVerdict sets what a command's exit code says. A command that was never run or whose code is
// not told has no verdict, only an outcome.
func commandVerdict(it *item, res *translate.Result) {
	code, ok := it.exitCode.Int()
	switch {
	case ok:
		res.ExitCode = translate.Some(code)
		res.Success = translate.Some(code == 0)
	case !res.Denied:
		res.Success = translate.Opt[bool]{}
	}
}

// outcome is how a call ended (telemetry contract 3.3, ruling 31).
func outcome(it *item) string {
	code, hasCode := it.exitCode.Int()
	failed, told := it.success.Bool()
	switch {
	case isStatus(it, "declined"):
		return translate.ToolDenied
	case hasCode && code == -1 && aborted(it.output):
		return translate.ToolInterrupted
	case hasCode && code == -1:
		return translate.ToolKilled
	case isStatus(it, "failed"), hasCode && code != 0, !it.err.Missing(), told && !failed:
		return translate.ToolError
	}
	return translate.ToolOK
}

// aborted reports whether an output has a line that says that the user ended the command.
func aborted(output jsontok.Value) bool {
	const mark = "aborted by user"
	s, _ := output.Text()
	return strings.HasPrefix(s, mark) || strings.Contains(s, "\n"+mark)
}

// lineCounts counts added and removed lines where every change has a unified diff. The content of a
// new file is no diff.
func (d *Decoder) lineCounts(it *item, res *translate.Result) {
	var added, removed int64
	for a := it.changes.Array(); a.Next(); {
		found := false
		for o := a.Object(); o.Next(); {
			if string(o.Name) == "diff" {
				s, _ := o.Value().Text()
				found = strings.HasPrefix(s, "@@")
				plus, minus := changedLines(s)
				added, removed = added+plus, removed+minus
			}
		}
		if !found {
			return
		}
	}
	if len(it.changes) > len("[]") {
		res.Added, res.Removed = translate.Some(added), translate.Some(removed)
	}
}

func changedLines(diff string) (added, removed int64) {
	for line := range strings.SplitSeq(diff, "\n") {
		switch {
		case strings.HasPrefix(line, "+"):
			added++
		case strings.HasPrefix(line, "-"):
			removed++
		}
	}
	return added, removed
}

// mcpText is the text of an MCP result, or the error that stands in its place.
func (d *Decoder) mcpText(it *item) translate.Text {
	capture := d.Opt.Capture.ToolResults
	if !it.err.Missing() {
		return d.Text(errorMessage(it.err), capture)
	}
	size := 0
	var joined []string
	for o := it.result.Object(); o.Next(); {
		if string(o.Name) != "content" {
			continue
		}
		for a := o.Array(); a.Next(); {
			var text, data, media jsontok.Value
			for b := a.Object(); b.Next(); {
				switch string(b.Name) {
				case "text":
					text = b.Value()
				case "data":
					data = b.Value()
				case "mimeType":
					media = b.Value()
				}
			}
			size += text.Len()
			if !capture {
				continue
			}
			if s, ok := text.Text(); ok {
				joined = append(joined, s)
			} else if s, ok := data.Text(); ok {
				m, _ := media.Text()
				joined = append(joined, redact.Binary(m, s))
			}
		}
	}
	t := d.Content(strings.Join(joined, "\n"))
	t.Bytes = size
	return t
}

// agents reads what a call says about subagents: their states, and which one it started.
func (d *Decoder) agents(it *item, res *translate.Result) {
	capture := d.Opt.Capture.ToolResults
	size := 0
	var joined []string
	for o := it.states.Object(); o.Next() && len(res.Agents) < maxList; {
		if len(o.Name) == 0 {
			continue
		}
		st := translate.AgentState{ID: d.IDText(jsontok.Valid(o.Name))}
		for b := o.Object(); b.Next(); {
			switch string(b.Name) {
			case "status":
				s, _ := b.Value().Plain()
				st.Ended, st.Failed = ended(string(s))
			case "message":
				size += b.Value().Len()
				if s, ok := b.Value().Text(); ok && capture {
					joined = append(joined, s)
				}
			}
		}
		res.Agents = append(res.Agents, st)
	}
	if len(res.Agents) == 0 && res.Outcome == translate.ToolOK {
		for a := it.receivers.Array(); a.Next() && len(res.Agents) < maxList; {
			if decode.IsID(a.Value()) {
				res.Agents = append(res.Agents, translate.AgentState{ID: d.ID(a.Value())})
			}
		}
	}
	res.Text = d.Content(strings.Join(joined, "\n"))
	res.Text.Bytes = size
}

// ended reports whether a subagent in that state has ended, and whether badly.
func ended(state string) (ended, failed bool) {
	switch state {
	case "completed":
		return true, false
	case "errored", "shutdown", "not_found", "interrupted":
		return true, true
	}
	return false, false
}
