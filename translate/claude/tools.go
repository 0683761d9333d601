// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package claude

import (
	"math"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
	"github.com/otelcol-agents/otelcol-agents/translate/shell"
)

// arg is a member of a tool's input that some rule reads.
type arg uint8

const (
	aOther arg = iota
	aFilePath
	aFilePathCamel
	aPath
	aNotebookPath
	aNotebookPathCamel
	aOffset
	aStartLine
	aLimit
	aLineCount
	aPattern
	aQuery
	aGlob
	aCommand
	aCmd
	aSkill
	aSkillName
	aSubagentType
	aPrompt
	aBackground
	argCount
)

var argOf = map[string]arg{
	"file_path": aFilePath, "filePath": aFilePathCamel, "path": aPath,
	"notebook_path": aNotebookPath, "notebookPath": aNotebookPathCamel,
	"offset": aOffset, "start_line": aStartLine, "limit": aLimit, "line_count": aLineCount,
	"pattern": aPattern, "query": aQuery, "glob": aGlob,
	"command": aCommand, "cmd": aCmd, "skill": aSkill, "skill_name": aSkillName,
	"subagent_type": aSubagentType, "prompt": aPrompt, "run_in_background": aBackground,
}

// tool is one row of the tool table (event mapping, section 4.2). Of each list of keys the first
// present string wins.
type tool struct {
	kind         translate.OpKind
	path         []arg
	pathOptional bool
	query        []arg // required where there is one
	ranged       bool
	command      []arg // required where there is one: a shell command to classify
	skill        []arg // required where there is one
	launch       bool
	workflow     bool
}

var (
	writePath = []arg{aFilePath, aFilePathCamel, aPath}
	agentTool = tool{kind: translate.OpOrchestration, launch: true}
	writeTool = tool{kind: translate.OpWrite, path: writePath}
)

var tools = map[string]tool{
	"Read":             {kind: translate.OpRead, path: []arg{aFilePath, aPath}, ranged: true},
	"Write":            writeTool,
	"Edit":             writeTool,
	"MultiEdit":        writeTool,
	"NotebookEdit":     {kind: translate.OpWrite, path: append([]arg{aNotebookPath, aNotebookPathCamel}, writePath...)},
	"Grep":             {kind: translate.OpSearch, query: []arg{aPattern, aQuery}, path: []arg{aPath}, pathOptional: true},
	"Glob":             {kind: translate.OpSearch, query: []arg{aPattern, aGlob}, path: []arg{aPath}, pathOptional: true},
	"LS":               {kind: translate.OpList, path: []arg{aPath}, pathOptional: true},
	"Bash":             {kind: translate.OpCommand, command: []arg{aCommand, aCmd}},
	"Skill":            {kind: translate.OpSkill, skill: []arg{aSkill, aSkillName, aCommand}},
	"Agent":            agentTool,
	"Task":             agentTool,
	"Workflow":         {kind: translate.OpUnknown, workflow: true},
	"StructuredOutput": {kind: translate.OpNone},
}

type args [argCount]jsontok.Value

// first is the first of the keys that has a non-empty string.
func (in *args) first(keys []arg) jsontok.Value {
	for _, k := range keys {
		if decode.IsID(in[k]) {
			return in[k]
		}
	}
	return nil
}

// uint is the first of the keys that has a non-negative whole number.
func (in *args) uint(keys ...arg) (uint64, bool) {
	for _, k := range keys {
		if n, ok := in[k].Uint(); ok {
			return n, true
		}
	}
	return 0, false
}

// callAndOp are allocated together: nearly every call has one operation.
type callAndOp struct {
	call translate.Call
	op   [1]translate.Op
}

// readArgs reads the input of a call and returns the size of its compact JSON.
func (d *Decoder) readArgs(input *jsontok.Object) int {
	d.args = args{}
	if input.Kind() != jsontok.ObjectKind {
		return d.CompactLen(input.Value())
	}
	size, n := len("{}"), 0
	for o := input.Object(); o.Next(); n++ {
		v := o.Value()
		d.args[argOf[string(o.Name)]] = v
		size += o.NameSize() + len(":")
		if k := v.Kind(); k == jsontok.ObjectKind || k == jsontok.ArrayKind {
			size += d.CompactLen(v)
		} else {
			size += len(v)
		}
	}
	return size + max(n-1, 0) // and the commas
}

// call decodes a tool_use block; nil when it is malformed.
func (d *Decoder) call(p *parts) *translate.Call {
	if len(p.input) == 0 {
		return nil
	}
	c := d.newCall(p)
	if c == nil {
		return nil
	}
	in := &d.args
	c.Background = in[aBackground].True()
	t := tools[c.Name] // the zero row is OpUnknown
	c.Ops[0] = d.operation(t, in)
	c.Workflow = t.workflow
	if t.launch {
		c.Launch = true
		c.AgentType = d.Name(in[aSubagentType], decode.MaxName)
		c.Prompt = d.Text(in[aPrompt], d.Opt.Capture.Prompts)
	}
	if c.Ops[0].Kind == translate.OpUnknown {
		d.describe(c, p)
	}
	return c
}

// serverCall decodes a call that the provider runs itself; nil when it is malformed.
func (d *Decoder) serverCall(p *parts) *translate.Call {
	c := d.newCall(p)
	if c != nil {
		d.describe(c, p)
	}
	return c
}

// newCall is a call with one unknown operation; nil without an id and a name.
func (d *Decoder) newCall(p *parts) *translate.Call {
	if !decode.IsID(p.id) || !decode.IsID(p.name) {
		return nil
	}
	both := &callAndOp{}
	both.call = translate.Call{
		ID:       d.ID(p.id),
		Name:     d.Name(p.name, decode.MaxName),
		ArgBytes: p.argBytes,
		Args:     d.JSON(p.input, p.argBytes, d.Opt.Capture.ToolArguments),
		RawBytes: len(p.raw),
		Ops:      both.op[:],
	}
	return &both.call
}

// describe adds what an unknown call is reported with.
func (d *Decoder) describe(c *translate.Call, p *parts) {
	c.Keys = d.CollectedKeys()
	c.Raw = d.RawJSON(p.raw)
}

// operation is what a call does. A missing required key makes it unknown.
func (d *Decoder) operation(t tool, in *args) translate.Op {
	unknown := translate.Op{}
	op := translate.Op{Kind: t.kind}
	capture := d.Opt.Capture.ToolArguments
	if t.command != nil {
		v := in.first(t.command)
		if v == nil {
			return unknown
		}
		return d.command(v)
	}
	if t.skill != nil {
		v := in.first(t.skill)
		if v == nil {
			return unknown
		}
		op.Skill = firstWord(d.Name(v, decode.MaxName))
		return op
	}
	if t.query != nil {
		v := in.first(t.query)
		if v == nil {
			return unknown
		}
		if capture {
			op.Query = d.Text(v, true)
		}
	}
	if t.path != nil {
		v := in.first(t.path)
		if v == nil && !t.pathOptional {
			return unknown
		}
		op.Resolve = v != nil
		if capture {
			op.Path = d.Text(v, true)
		}
	}
	if t.ranged {
		op.Start, op.End = lineRange(in)
	}
	return op
}

// lineRange is the range of a read, inclusive at both ends. A length without a start is no range.
func lineRange(in *args) (start, end translate.Opt[int64]) {
	from, ok := in.uint(aOffset, aStartLine)
	if !ok {
		return start, end
	}
	start = translate.Some(clamp(from))
	if n, ok := in.uint(aLimit, aLineCount); ok {
		last := from + n
		if last < from {
			last = math.MaxUint64
		}
		if last > 0 {
			last--
		}
		end = translate.Some(clamp(last))
	}
	return start, end
}

func clamp(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// firstWord keeps arguments that were typed after a skill's name from leaving with it.
func firstWord(s string) string {
	for i := range len(s) {
		if s[i] <= ' ' {
			return s[:i]
		}
	}
	return s
}

// command classifies a shell command.
func (d *Decoder) command(v jsontok.Value) translate.Op {
	s, _ := v.Text()
	return d.Command(s, shell.Classify(s))
}
