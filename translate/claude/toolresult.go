// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package claude

import (
	"bytes"
	"strings"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
	"github.com/otelcol-agents/otelcol-agents/translate/redact"
)

// denials are the beginnings of result texts that mean denied (telemetry contract, ruling 27).
var denials = []string{
	"The user doesn't want to proceed with this tool use",
	"The user doesn't want to take this action",
	"Permission to use ",
	"Permission prompt was aborted",
	"This command requires approval",
	"Claude requested permissions to ",
}

const (
	exitCode   = "Exit code "
	background = "Command running in background with ID: "
	notRunning = "Shell "
)

// toolResult decodes a tool_result block.
func (d *Decoder) toolResult(p *parts) translate.Result {
	res := translate.Result{
		CallID:      d.ID(p.toolUseID),
		IsError:     p.isError.True(),
		Interrupted: p.interrupted,
	}
	first := d.resultText(p.content, &res)
	var buf [192]byte
	head := first.Head(buf[:0], len(buf)-4)
	if res.IsError {
		d.errorText(string(head), &res)
	} else if id, ok := bytes.CutPrefix(head, []byte(background)); ok {
		// Only the task's id: that it is in the background is for structured marks to say.
		res.TaskID = d.word(string(id))
	}
	d.resultMetadata(p.toolUseResult, &res)
	u := d.unknownBlock(translate.UnknownOrphan, p)
	res.Unknown = &u
	return res
}

// resultText measures the text of a result and returns the string that it begins with. Images and
// other binary blocks are no text; where results are captured, a placeholder stands for them.
func (d *Decoder) resultText(content jsontok.Value, res *translate.Result) (first jsontok.Value) {
	capture := d.Opt.Capture.ToolResults
	if content.Kind() == jsontok.String {
		res.Text = d.Text(content, capture)
		return content
	}
	size := 0
	var joined strings.Builder
	add := func(s string) {
		if joined.Len() > 0 {
			joined.WriteByte('\n')
		}
		joined.WriteString(s)
	}
	for a := d.Array(content); a.Next(); {
		var p parts
		for o := a.Object(); o.Next(); {
			p.read(&o)
		}
		switch typ, _ := p.typ.Plain(); {
		case string(typ) == "text" && p.text.Kind() == jsontok.String:
			if first == nil {
				first = p.text
			}
			size += d.Len(p.text)
			if capture {
				s, _ := p.text.Text()
				add(s)
			}
		case capture:
			if s, ok := binary(a.Value()); ok {
				add(s)
			}
		}
	}
	res.Text.Bytes = size
	if capture {
		res.Text = d.Content(joined.String())
		res.Text.Bytes = size
	}
	return first
}

// binary is the placeholder of an image or a document.
func binary(v jsontok.Value) (string, bool) {
	var source jsontok.Value
	for o := v.Object(); o.Next(); {
		if string(o.Name) == "source" {
			source = o.Value()
		}
	}
	var mediaType, data jsontok.Value
	for o := source.Object(); o.Next(); {
		switch string(o.Name) {
		case "media_type":
			mediaType = o.Value()
		case "data":
			data = o.Value()
		}
	}
	if data.Kind() != jsontok.String {
		return "", false
	}
	m, _ := mediaType.Text()
	s, _ := data.Text()
	return redact.Binary(m, s), true
}

// errorText reads what only the text of an error says.
func (d *Decoder) errorText(head string, res *translate.Result) {
	for _, beginning := range denials {
		if strings.HasPrefix(head, beginning) {
			res.Denied = true
			return
		}
	}
	if rest, ok := strings.CutPrefix(head, exitCode); ok {
		if n, ok := leadingInt(rest); ok {
			res.ExitCode = translate.Some(n)
		}
		return
	}
	// "Shell X is not running, so cannot be killed (status: failed)": the answer to a late KillShell.
	if rest, ok := strings.CutPrefix(head, notRunning); ok {
		id, after, ok := strings.Cut(rest, " is not running")
		_, status, ok2 := strings.Cut(after, "(status: ")
		status, _, ok3 := strings.Cut(status, ")")
		if ok && ok2 && ok3 && terminal(status) && decode.IsLabel(id) {
			res.Ends = &translate.TaskEnd{TaskID: d.word(id), Status: status}
		}
	}
}

// leadingInt is the whole number that s begins with.
func leadingInt(s string) (n int64, ok bool) {
	i, sign := 0, int64(1)
	if strings.HasPrefix(s, "-") {
		i, sign = 1, -1
	}
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		if n = n*10 + int64(s[i]-'0'); n > 1<<32 {
			return 0, false
		}
		ok = true
	}
	return sign * n, ok
}

// word is the id that s begins with.
func (d *Decoder) word(s string) string {
	s = firstWord(s)
	s = strings.TrimRight(s, ".,")
	if s == "" || !decode.IsLabel(s) || d.Redact(s) != s {
		return ""
	}
	return s
}

// terminal reports whether a task with that status has ended.
func terminal(status string) bool {
	switch status {
	case "completed", "failed", "killed", "stopped":
		return true
	}
	return false
}

// resultMetadata reads the structured result of a tool: {stdout, …} of a command, {file} of a read,
// {structuredPatch} of an edit, {agentId} of a subagent. Contents of files in it are never looked at.
func (d *Decoder) resultMetadata(v jsontok.Value, res *translate.Result) {
	var taskID, shellID, killed, status, task, exit, typ, content, patch, agentID jsontok.Value
	var totals, staged bool
	for o := d.Object(v); o.Next(); {
		switch string(o.Name) {
		case "is_interruption", "is_interrupted", "interrupted":
			res.Interrupted = res.Interrupted || o.Value().True()
		case "timedOutAfterMs":
			if f, ok := o.Value().Float(); ok && f > 0 {
				res.TimedOut = true
			}
		case "durationMs":
			if n, ok := decode.Millis(o.Value()); ok {
				res.Duration = translate.Some(n)
			}
		case "backgroundTaskId":
			if decode.IsID(o.Value()) {
				res.Async = true
				res.TaskID = d.ID(o.Value())
			}
		case "isAsync":
			res.Async = res.Async || o.Value().True()
		case "status":
			status = o.Value()
		case "taskId":
			if decode.IsID(o.Value()) {
				res.TaskID = d.ID(o.Value())
			}
		case "agentId":
			agentID = o.Value()
		case "agentType":
			res.AgentType = d.Name(o.Value(), decode.MaxName)
		case "totalTokens", "totalToolUseCount", "totalDurationMs":
			totals = totals || o.Value().Kind() == jsontok.Number
		case "task_id":
			taskID = o.Value()
		case "shellId":
			shellID = o.Value()
		case "shell_id":
			killed = o.Value()
		case "exitCode":
			exit = o.Value()
		case "task":
			task = o.Value()
		case "type":
			typ = o.Value()
		case "content":
			content = o.Value()
		case "structuredPatch":
			patch = o.Value()
		case "staged":
			staged = o.Value().True()
		case "file":
			d.fileMetadata(o.Value(), res)
		}
	}
	res.Status = d.Label(status)
	if res.Status == "async_launched" {
		res.Async = true
	}
	if decode.IsID(agentID) {
		res.AgentID = d.ID(agentID)
	}
	res.RanAgent = res.AgentID != "" || totals
	if !staged {
		lineCounts(typ, content, patch, res)
	}
	if end := d.taskEnd(taskID, shellID, killed, res.Status, task, exit); end != nil {
		res.Ends = end
	}
}

// fileMetadata keeps which file a read result is of, in case its call never comes.
func (d *Decoder) fileMetadata(v jsontok.Value, res *translate.Result) {
	var paths [3]jsontok.Value
	for o := d.Object(v); o.Next(); {
		switch string(o.Name) {
		case "file_path":
			paths[0] = o.Value()
		case "filePath":
			paths[1] = o.Value()
		case "path":
			paths[2] = o.Value()
		case "start_line", "startLine", "offset":
			if n, ok := o.Value().Uint(); ok && n > 0 {
				res.FileStart = translate.Some(clamp(n))
			}
		}
	}
	for _, p := range paths {
		if decode.IsID(p) {
			res.HasFile = true
			res.FilePath = d.Text(p, d.Opt.Capture.ToolArguments)
			return
		}
	}
}

// lineCounts counts the lines that an edit added and removed. A new file has no patch: all of its
// lines are added.
func lineCounts(typ, content, patch jsontok.Value, res *translate.Result) {
	if patch.Kind() != jsontok.ArrayKind {
		return
	}
	var added, removed int64
	hunks := 0
	for a := patch.Array(); a.Next(); hunks++ {
		for o := a.Object(); o.Next(); {
			if string(o.Name) != "lines" {
				continue
			}
			for l := o.Array(); l.Next(); {
				switch {
				case len(l.Value()) <= 2 || l.Value()[0] != '"':
				case l.Value()[1] == '+':
					added++
				case l.Value()[1] == '-':
					removed++
				}
			}
		}
	}
	if s, _ := typ.Plain(); hunks == 0 && string(s) == "create" {
		added = int64(content.Lines())
	}
	res.Added, res.Removed = translate.Some(added), translate.Some(removed)
}

// taskEnd reads the end of a background task from the result of the tool that asked about it or ended
// it (telemetry contract, ruling 28).
func (d *Decoder) taskEnd(taskID, shellID, killed jsontok.Value, status string, task, exit jsontok.Value) *translate.TaskEnd {
	end := translate.TaskEnd{Status: status}
	switch {
	case task.Kind() == jsontok.ObjectKind: // TaskOutput; TaskCreate's task has no task_id
		end.Status = ""
		for o := task.Object(); o.Next(); {
			switch string(o.Name) {
			case "task_id":
				taskID = o.Value()
			case "status":
				end.Status = d.Label(o.Value())
			case "exitCode":
				exit = o.Value()
			}
		}
		end.TaskID = d.ID(taskID)
	case decode.IsID(shellID): // BashOutput
		end.TaskID = d.ID(shellID)
	case decode.IsID(killed): // KillShell
		end.TaskID = d.ID(killed)
		if status == "" {
			end.Status = "killed"
		}
	case decode.IsID(taskID): // TaskStop
		end.TaskID = d.ID(taskID)
		if status == "" {
			end.Status = "stopped"
		}
	}
	if end.TaskID == "" || !terminal(end.Status) {
		return nil
	}
	if n, ok := exit.Int(); ok {
		end.ExitCode = translate.Some(n)
	}
	found := end // only an end is worth an allocation
	return &found
}

// serverResult decodes the result of a call that the provider ran.
func (d *Decoder) serverResult(p *parts) *translate.Result {
	res := &translate.Result{CallID: d.ID(p.toolUseID), IsError: p.isError.True()}
	d.resultText(p.content, res)
	for o := p.content.Object(); o.Next(); {
		if string(o.Name) == "type" {
			s, _ := o.Value().Plain()
			res.IsError = res.IsError || strings.HasSuffix(string(s), "_error")
		}
	}
	u := d.unknownBlock(translate.UnknownOrphan, p)
	res.Unknown = &u
	return res
}
