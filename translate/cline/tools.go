// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package cline

import (
	"strings"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
	"github.com/otelcol-agents/otelcol-agents/translate/shell"
)

// maxOps bounds the operations of one call: a batch beyond it is no work of a model.
const maxOps = 1 << 10

// tools has what the calls of each tool do; nil operations are a call that cannot be classified.
var tools = map[string]func(*Decoder, jsontok.Value, object) []translate.Op{
	"run_commands":    (*Decoder).commands,
	"execute_command": (*Decoder).commands,
	"bash":            (*Decoder).commands,
	"read_files":      (*Decoder).reads,
	"read_file":       (*Decoder).reads,
	"editor":          (*Decoder).writes,
	"write_to_file":   (*Decoder).writes,
	"replace_in_file": (*Decoder).writes,
	"new_rule":        (*Decoder).writes,
	"apply_patch":     (*Decoder).patch,
	"search_files":    (*Decoder).searches,
	"search_codebase": (*Decoder).searches,
	"list_files":      (*Decoder).lists,
	"skills":          (*Decoder).skill,
	"use_skill":       (*Decoder).skill,
}

// call decodes a tool call from the event of its beginning or, where that was missed, of its end. What
// the call says about other agents goes to loop.
func (d *Decoder) call(e *inner, loop *translate.Loop) *translate.Call {
	input := e.get("input")
	size := input.CompactLen()
	c := &translate.Call{
		ID:       d.ID(e.get("toolCallId")),
		Name:     d.Name(e.get("toolName"), decode.MaxName),
		ArgBytes: size,
		Args:     d.JSON(input, size, d.Opt.Capture.ToolArguments),
		Type:     d.Label(e.get("type")),
		RawBytes: len(e.raw),
	}
	in := d.input.read(input)
	if classify := tools[c.Name]; classify != nil {
		c.Ops = classify(d, input, in)
	}
	if c.Ops == nil {
		c.Ops = []translate.Op{{Kind: translate.OpUnknown}}
		c.Keys, c.Raw = d.Keys(e.raw), d.RawJSON(e.raw)
	}
	d.delegation(c, in, loop)
	if server, tool, ok := strings.Cut(c.Name, "__"); ok && server != "" && tool != "" {
		c.MCPServer, c.MCPTool = server, tool
	}
	return c
}

// delegation says which agents a call sets to work.
func (d *Decoder) delegation(c *translate.Call, in object, loop *translate.Loop) {
	switch c.Name {
	case "spawn_agent":
		loop.Launches = true
	case "team_run_task":
		loop.Mate = d.Name(in.get("agentId"), decode.MaxName)
		loop.Background = in.is("runMode", "async")
	default:
		return
	}
	c.Launch = true
	c.Prompt = d.Text(in.get("task"), d.Opt.Capture.Prompts)
}

// commands are one command for each element of a list, else the one that a key has or that the input is.
func (d *Decoder) commands(input jsontok.Value, in object) []translate.Op {
	list := in.get("commands")
	if input.Kind() == jsontok.ArrayKind {
		list = input
	}
	switch list.Kind() {
	case jsontok.ArrayKind:
		var ops []translate.Op
		for a := list.Array(); a.Next() && len(ops) < maxOps; {
			if op, ok := d.command(a.Value()); ok {
				ops = append(ops, op)
			}
		}
		return ops
	case jsontok.ObjectKind, jsontok.String:
		return one(d.command(list))
	}
	return one(d.command(input))
}

func one(op translate.Op, ok bool) []translate.Op {
	if !ok {
		return nil
	}
	return []translate.Op{op}
}

// command classifies a command line, or the program and the arguments of one.
func (d *Decoder) command(v jsontok.Value) (translate.Op, bool) {
	if v.Kind() != jsontok.ObjectKind {
		s, _ := v.Text()
		return d.Command(s, shell.Classify(s)), s != ""
	}
	o := d.item.read(v)
	s, _ := o.text("command", "cmd", "script").Text()
	argv, ok := words(s, o.get("args"))
	switch {
	case s == "":
		return translate.Op{}, false
	case !ok:
		return d.Command(s, shell.Classify(s)), true
	}
	return d.Command(strings.Join(argv, " "), shell.ClassifyArgs(argv)), true
}

// words are a program and its arguments; ok is false where the arguments are no list of strings.
func words(program string, args jsontok.Value) (argv []string, ok bool) {
	if args.Kind() != jsontok.ArrayKind {
		return nil, false
	}
	argv = append(argv, program)
	for a := args.Array(); a.Next(); {
		s, ok := a.Value().Text()
		if !ok {
			return nil, false
		}
		argv = append(argv, s)
	}
	return argv, true
}

// The keys under which tools have what the mapping asks for (event mapping, section 8).
var (
	pathKeys       = []string{"path", "file_path", "filePath", "filepath", "abs_path", "absolutePath", "absolute_path", "source"}
	startKeys      = []string{"offset", "start_line", "startLine", "line"}
	endKeys        = []string{"end_line", "endLine"}
	lengthKeys     = []string{"limit", "line_count", "lineCount", "num_lines", "numLines"}
	queryKeys      = []string{"pattern", "query", "regex", "glob", "search", "searchText", "q"}
	searchPathKeys = []string{"path", "dir", "dir_path", "directory", "cwd", "scope"}
	listPathKeys   = []string{"path", "dir", "dir_path", "directory"}
	skillKeys      = []string{"name", "skill", "skill_name", "skillName"}
	skillPathKeys  = []string{"path", "file_path", "filePath", "skillPath"}
	skillDirKeys   = []string{"dir", "directory"}
)

// file is an operation on the file that v names; ok is false for an empty name or none.
func (d *Decoder) file(kind translate.OpKind, v jsontok.Value) (translate.Op, bool) {
	op := translate.Op{Kind: kind, Resolve: true}
	if d.Opt.Capture.ToolArguments {
		op.Path = d.Text(v, true)
	}
	return op, decode.IsID(v)
}

// reads are one read for each file of a list, else of the file that the input names.
func (d *Decoder) reads(input jsontok.Value, in object) []translate.Op {
	if input.Kind() == jsontok.String {
		return one(d.file(translate.OpRead, input))
	}
	for _, key := range []string{"files", "file_paths", "paths"} {
		v := in.get(key)
		if key == "files" && (v.Kind() == jsontok.String || v.Kind() == jsontok.ObjectKind) {
			return one(d.read(v))
		}
		if v.Kind() != jsontok.ArrayKind {
			continue
		}
		var ops []translate.Op
		for a := v.Array(); a.Next() && len(ops) < maxOps; {
			if op, ok := d.read(a.Value()); ok {
				ops = append(ops, op)
			}
		}
		return ops
	}
	return one(d.readKeys(in))
}

// read is the read of one element of a list.
func (d *Decoder) read(v jsontok.Value) (translate.Op, bool) {
	if v.Kind() == jsontok.ObjectKind {
		return d.readKeys(d.item.read(v))
	}
	return d.file(translate.OpRead, v)
}

func (d *Decoder) readKeys(o object) (translate.Op, bool) {
	op, ok := d.file(translate.OpRead, o.text(pathKeys...))
	op.Start, op.End = lineRange(o)
	return op, ok
}

// lineRange is the range of a read, inclusive at both ends. A length without a start is no range.
func lineRange(o object) (start, end translate.Opt[int64]) {
	start, end = line(o, startKeys), line(o, endKeys)
	if n := line(o, lengthKeys); !end.OK && start.OK && n.OK {
		end = translate.Some(start.V + min(n.V-1, maxLine-start.V))
	}
	return start, end
}

// maxLine is the last line that a range may name.
const maxLine = 1 << 53

// line is the first of the keys that has a positive whole number.
func line(o object, keys []string) translate.Opt[int64] {
	for _, k := range keys {
		if n, ok := o.get(k).Uint(); ok && n > 0 {
			return translate.Some(int64(min(n, maxLine)))
		}
	}
	return translate.Opt[int64]{}
}

func (d *Decoder) writes(_ jsontok.Value, in object) []translate.Op {
	return one(d.file(translate.OpWrite, in.text(pathKeys...)))
}

// searches are one search for each entry of a list of queries, else the one that the input has.
func (d *Decoder) searches(input jsontok.Value, in object) []translate.Op {
	scope := in.text(searchPathKeys...)
	switch queries := in.get("queries"); {
	case input.Kind() == jsontok.String:
		return one(d.search(input, nil))
	case queries.Kind() == jsontok.String:
		return one(d.search(queries, scope))
	case queries.Kind() == jsontok.ArrayKind:
		var ops []translate.Op
		for a := queries.Array(); a.Next() && len(ops) < maxOps; {
			query, path := a.Value(), scope
			if query.Kind() == jsontok.ObjectKind {
				o := d.item.read(query)
				query = o.text(queryKeys...)
				if p := o.text(searchPathKeys...); p != nil {
					path = p
				}
			}
			if op, ok := d.search(query, path); ok {
				ops = append(ops, op)
			}
		}
		return ops
	}
	return one(d.search(in.text(queryKeys...), scope))
}

func (d *Decoder) search(query, path jsontok.Value) (translate.Op, bool) {
	op := translate.Op{Kind: translate.OpSearch, Resolve: path != nil}
	if d.Opt.Capture.ToolArguments {
		op.Query, op.Path = d.Text(query, true), d.Text(path, true)
	}
	return op, decode.IsID(query)
}

func (d *Decoder) lists(_ jsontok.Value, in object) []translate.Op {
	op, _ := d.file(translate.OpList, in.text(listPathKeys...))
	return []translate.Op{op}
}

// skill is named by itself, by its file or by its folder.
func (d *Decoder) skill(_ jsontok.Value, in object) []translate.Op {
	op := translate.Op{Kind: translate.OpSkill, Resolve: true, Skill: firstWord(d.Name(in.text(skillKeys...), decode.MaxName))}
	path, suffix := in.text(skillPathKeys...), ""
	if !decode.IsID(path) {
		path, suffix = in.text(skillDirKeys...), "/SKILL.md"
	}
	if op.Skill == "" && !decode.IsID(path) {
		return nil
	}
	if decode.IsID(path) && d.Opt.Capture.ToolArguments {
		s, _ := path.Text()
		op.Path = d.Content(s + suffix)
	}
	return []translate.Op{op}
}

// firstWord keeps arguments that were typed after a skill's name from leaving with it.
func firstWord(s string) string {
	for i := range len(s) {
		if s[i] <= ' ' {
			return s[:i]
		}
	}
	return s
}
