// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package shell tells whether a shell command that an agent ran only reads one file, searches or lists.
package shell

import "strings"

// Kind is what a command does. The zero Kind, Command, is always a correct answer; the others are
// given only when every part of the command is understood.
type Kind uint8

// The kinds of events.md section 11.
const (
	Command Kind = iota // anything else, and whatever is not understood
	Read                // prints one file or a part of it
	Search              // looks for a pattern in contents or names
	List                // prints names of files or directories
)

// String is the name of the event: "command", "read", "search" or "list".
func (k Kind) String() string {
	switch k {
	case Read:
		return "read"
	case Search:
		return "search"
	case List:
		return "list"
	default:
		return "command"
	}
}

// Operation is the one thing that a command does. The zero Operation is a command that is not
// understood; a Command carries nothing else. Operations are equal when they do the same.
type Operation struct {
	Kind  Kind
	Path  string // as typed, or joined to the directory of a cd before it; "" = none, or several of a search
	Query string // pattern of a Search, several joined by a newline; "" for the other kinds
	Start int    // first line of a Read, from 1; 0 = unknown
	End   int    // last line of a Read, inclusive, never less than Start; 0 = unknown or the end of the file
}

// Bounds of what is looked at at all. Beyond them a command is a Command.
const (
	maxBytes    = 64 << 10 // longer commands are scripts, here-documents or data
	maxStages   = 256      // simple commands in one text
	maxWrappers = 4        // bash -c in bash -c …, events.md 11.3
)

// Classify says what a command line does that is handed to a shell (events.md 11). It is a pure
// function of its argument and may be called from several goroutines.
func Classify(command string) Operation {
	return classify(command, 0)
}

// ClassifyArgs says what an argument vector does. Its words are literal, whatever they contain: no
// shell sees them, unless the vector is a shell itself with a command line as its third word.
func ClassifyArgs(argv []string) Operation {
	size := 0
	for _, arg := range argv {
		size += len(arg) + 1
	}
	if len(argv) == 0 || size > maxBytes {
		return Operation{}
	}
	words := make([]word, len(argv))
	for i, arg := range argv {
		words[i] = word{text: arg}
	}
	return classifySegments([]segment{{stages: [][]word{words}}}, 0)
}

// classify is Classify inside the given number of wrappers.
func classify(command string, wrappers int) Operation {
	if len(command) > maxBytes || !plausible(command) {
		return Operation{}
	}
	segments, ok := parse(command)
	if !ok {
		return Operation{}
	}
	return classifySegments(segments, wrappers)
}

func classifySegments(segments []segment, wrappers int) Operation {
	if script, ok := wrapped(segments); ok {
		if wrappers == maxWrappers {
			return Operation{}
		}
		return classify(script, wrappers+1)
	}
	op, ok := only(segments)
	if !ok {
		return Operation{}
	}
	return op
}

// shells are the programs whose -c argument is classified in their place.
var shells = set("bash sh zsh")

// wrapped gives the command line of a whole command that is a shell with nothing but that line.
func wrapped(segments []segment) (string, bool) {
	if len(segments) != 1 || len(segments[0].stages) != 1 {
		return "", false
	}
	words := segments[0].stages[0]
	if len(words) != 3 || !shells[program(words)] {
		return "", false
	}
	flag, script := words[1].text, words[2]
	// The shell outside would replace a glob by names of files.
	if flag != "-c" && flag != "-lc" || script.glob {
		return "", false
	}
	return script.text, true
}

// program is the name that a simple command is looked up by, "" when it cannot be told.
func program(words []word) string {
	if words[0].glob {
		return ""
	}
	return base(words[0].text)
}

func base(path string) string {
	return path[strings.LastIndexByte(path, '/')+1:]
}

// set makes a lookup table of a list of names.
func set(names string) map[string]bool {
	m := make(map[string]bool)
	for name := range strings.FieldsSeq(names) {
		m[name] = true
	}
	return m
}
