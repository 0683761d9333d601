// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"path"
	"strings"
)

// operation is an Operation before a cd: the words of its path operands are still apart.
type operation struct {
	Operation
	target  word // the path operand, when there is one
	targets int  // number of path operands
}

// dropped are the programs that only print their words or do nothing (events.md 11.4).
var dropped = set("true : echo printf")

// only is the one operation that the segments of a command have in common, false when a segment is
// not understood or there is not exactly one.
func only(segments []segment) (Operation, bool) {
	var (
		found Operation
		dir   string // where the cd before lead to, "" = the command's own directory
	)
	for _, s := range segments {
		if !filtered(s.stages[1:]) {
			return Operation{}, false
		}
		name := program(s.stages[0])
		switch {
		case dropped[name]:
			continue
		case s.prev == or:
			return Operation{}, false
		case name == "cd":
			var ok bool
			if dir, ok = s.changed(dir); !ok {
				return Operation{}, false
			}
			continue
		}
		op, ok := first(s.stages[0], dir)
		if !ok || found.Kind != Command && found != op {
			return Operation{}, false
		}
		found = op
	}
	return found, true
}

// filtered reports whether every stage passes on or selects from what comes in and does nothing else.
func filtered(stages [][]word) bool {
	for _, words := range stages {
		filter, ok := filters[program(words)]
		if !ok || !filter(words[1:]) {
			return false
		}
	}
	return true
}

// first is the operation of the first stage of a pipeline in dir.
func first(words []word, dir string) (Operation, bool) {
	classify, ok := operations[program(words)]
	if !ok {
		return Operation{}, false
	}
	op, ok := classify(words[1:])
	if !ok {
		return Operation{}, false
	}
	switch op.targets {
	case 1:
		op.Path, ok = join(dir, op.target)
	case 0:
		op.Path = dir
	}
	return op.Operation, ok
}

// changed is the directory after the cd that s is, false for a cd whose effect is not certain.
func (s segment) changed(dir string) (string, bool) {
	if len(s.stages) != 1 || s.next == none || s.next == or {
		return "", false
	}
	args := s.stages[0][1:]
	if len(args) > 0 && (args[0].text == "-L" || args[0].text == "-P") {
		args = args[1:]
	}
	ended := len(args) > 0 && args[0].text == "--"
	if ended {
		args = args[1:]
	}
	if len(args) != 1 {
		return "", false
	}
	to := args[0]
	if to.glob || to.text == "-" || !ended && strings.HasPrefix(to.text, "-") {
		return "", false
	}
	if dir == "" {
		dir = "."
	}
	to.text, dir = clean(to.text), clean(dir)
	return join(dir, to)
}

// join is the path that w means in dir; "" as dir leaves it as typed. It reports false for an empty
// path, which no program opens, and for a ~ whose meaning depends on more than the home directory.
func join(dir string, w word) (string, bool) {
	if w.text == "" {
		return "", false
	}
	if dir == "" || w.text[0] == '/' {
		return w.text, true
	}
	if w.text[0] == '~' {
		return w.text, w.tilde && (w.text == "~" || w.text[1] == '/')
	}
	return clean(dir + "/" + w.text), true
}

// clean is path.Clean that leaves a home directory in front alone: .. behind it leads to its parent.
func clean(p string) string {
	rest, home := strings.CutPrefix(p, "~/")
	switch {
	case p == "":
		return ""
	case !home:
		return path.Clean(p)
	}
	if rest = path.Clean("./" + rest); rest == "." {
		return "~"
	}
	return "~/" + rest
}
