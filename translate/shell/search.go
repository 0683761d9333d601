// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import "strings"

// searches classifies a program that looks for a pattern: the values of the flags with the given
// names, else its first operand. The other operands are what it looks through.
func searches(t flagTable, patterns ...string) classifier {
	return func(words []word) (operation, bool) {
		args, ok := t.parse(words)
		if !ok {
			return operation{}, false
		}
		return searchOf(args.values(patterns...), args.operands)
	}
}

// searchOf is the search for the patterns, or for the first operand when there are none. An empty
// query matches everything, and an event cannot say it: a search without a query is none.
func searchOf(patterns []string, operands []word) (operation, bool) {
	if len(patterns) == 0 && len(operands) > 0 {
		patterns, operands = []string{operands[0].text}, operands[1:]
	}
	query := strings.Join(patterns, "\n")
	if query == "" {
		return operation{}, false
	}
	op, ok := in(Search, operands)
	op.Query = query
	return op, ok
}

// in is an operation on the paths, of which standard input is none.
func in(kind Kind, paths []word) (operation, bool) {
	for _, p := range paths {
		if p.text == "-" {
			return operation{}, false
		}
	}
	op := operation{targets: len(paths)}
	op.Kind = kind
	if len(paths) == 1 {
		op.target = paths[0]
	}
	return op, true
}

// lists classifies a program that prints names.
func lists(t flagTable) classifier {
	return func(words []word) (operation, bool) {
		args, ok := t.parse(words)
		if !ok {
			return operation{}, false
		}
		return listOf(args.operands)
	}
}

// listOf is the list of at most one path.
func listOf(paths []word) (operation, bool) {
	if len(paths) > 1 {
		return operation{}, false
	}
	return in(List, paths)
}

func ripgrep(words []word) (operation, bool) {
	args, ok := rgFlags.parse(words)
	if !ok {
		return operation{}, false
	}
	if args.has("--files") {
		return listOf(args.operands)
	}
	return searchOf(args.values("-e", "--regexp"), args.operands)
}

var (
	gitGrep    = searches(gitGrepFlags, "-e")
	gitLsFiles = lists(lsFilesFlags)
)

func git(words []word) (operation, bool) {
	switch {
	case len(words) > 0 && words[0].text == "grep":
		return gitGrep(words[1:])
	case len(words) > 1 && words[0].text == "--no-pager" && words[1].text == "grep":
		return gitGrep(words[2:])
	case len(words) > 0 && words[0].text == "ls-files":
		return gitLsFiles(words[1:])
	}
	return operation{}, false
}

// fd lists where its pattern matches every name.
func fd(words []word) (operation, bool) {
	args, ok := fdFlags.parse(words)
	if !ok {
		return operation{}, false
	}
	operands := args.operands
	switch {
	case len(operands) == 0:
		return listOf(nil)
	case operands[0].text == "." || operands[0].text == "":
		return listOf(operands[1:])
	case len(operands) == 1 && strings.Contains(operands[0].text, "/"):
		return listOf(operands)
	}
	return searchOf(nil, operands)
}

// grepFilter is a grep that looks through its input only.
func grepFilter(words []word) bool {
	return grepFilterFlags.selects(words)
}

func rgFilter(words []word) bool {
	return rgFilterFlags.selects(words)
}

// Recursion is not for input: with it grep looks through the working directory. The values of
// --directories are not looked at, recurse is one of them.
var (
	grepFilterFlags = grepFlags.with("", "-r -R -d --recursive --dereference-recursive --files --directories")
	rgFilterFlags   = rgFlags.with("", "-r -R --files")
)

// selects reports whether the words are a pattern without a path.
func (t flagTable) selects(words []word) bool {
	args, ok := t.parse(words)
	if !ok {
		return false
	}
	if args.has("-e", "--regexp") {
		return len(args.operands) == 0
	}
	return len(args.operands) == 1
}
