// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"math"
	"strconv"
	"strings"
)

// lines is a range of lines, both ends inclusive and counted from 1; 0 = unknown.
type lines struct {
	start, end int
}

// ranger gives the lines that a program prints of its only file, or false when the words say
// something that is not understood.
type ranger func(args arguments) (lines, bool)

// reads classifies a program that prints files.
func reads(t flagTable, printed ranger) classifier {
	return func(words []word) (operation, bool) {
		args, ok := t.parse(words)
		if !ok {
			return operation{}, false
		}
		at, ok := printed(args)
		if !ok {
			return operation{}, false
		}
		return readOf(args.operands, at)
	}
}

// readOf is the read of exactly one file.
func readOf(files []word, at lines) (operation, bool) {
	if len(files) != 1 || files[0].text == "-" || files[0].glob {
		return operation{}, false
	}
	op := operation{target: files[0], targets: 1}
	op.Kind, op.Start, op.End = Read, at.start, at.end
	return op, true
}

func wholeFile(arguments) (lines, bool) { return lines{}, true }

// pagerLines refuses +command, with which a pager runs more than one would see.
func pagerLines(args arguments) (lines, bool) {
	for _, operand := range args.operands {
		if strings.HasPrefix(operand.text, "+") {
			return lines{}, false
		}
	}
	return lines{}, true
}

// headLines: the last count wins, as in the program.
func headLines(args arguments) (lines, bool) {
	if args.has("-c", "--bytes") {
		return lines{}, true
	}
	counts := args.values("-n", "--lines", number)
	if len(counts) == 0 {
		return lines{1, 10}, true
	}
	count := counts[len(counts)-1]
	if butLast, ok := strings.CutPrefix(count, "-"); ok && isDigits(butLast) {
		return lines{start: 1}, true
	}
	if !isDigits(count) {
		return lines{}, false
	}
	if n := line(count); n > 0 {
		return lines{1, n}, true
	}
	return lines{}, true
}

// tailLines has a range only where the first line is counted from the beginning.
func tailLines(args arguments) (lines, bool) {
	counts := args.values("-n", "--lines", number)
	if len(counts) == 0 || args.has("-c", "--bytes") {
		return lines{}, true
	}
	count := counts[len(counts)-1]
	if from, ok := strings.CutPrefix(count, "+"); ok && isDigits(from) {
		return lines{start: line(from)}, true
	}
	return lines{}, isDigits(strings.TrimPrefix(count, "-"))
}

// batLines: several ranges, and forms that the page does not name, are a read of unknown lines.
func batLines(args arguments) (lines, bool) {
	ranges := args.values("-r", "--line-range")
	if len(ranges) != 1 {
		return lines{}, true
	}
	from, to, colon := strings.Cut(ranges[0], ":")
	more, relative := strings.CutPrefix(to, "+")
	switch {
	case !colon && isDigits(from):
		return between(line(from), line(from)), true
	case colon && from == "" && isDigits(to):
		return between(1, line(to)), true
	case colon && isDigits(from) && to == "":
		return lines{start: max(line(from), 0)}, true
	case colon && isDigits(from) && isDigits(to):
		return between(line(from), line(to)), true
	case relative && isDigits(from) && isDigits(more):
		return following(line(from), line(more)), true
	}
	return lines{}, true
}

// tooLarge is a number that does not fit: with it there is no range.
const tooLarge = -1

// line is the number that digits write.
func line(digits string) int {
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil {
		return tooLarge
	}
	return int(n)
}

// between is a range of two numbers; one that ends before it begins is its first line, as for sed.
func between(start, end int) lines {
	if start <= 0 || end < 0 {
		return lines{}
	}
	return lines{start, max(start, end)}
}

// following is a range of a line and a number of lines behind it.
func following(start, more int) lines {
	if start <= 0 || more < 0 || more > math.MaxInt32-start {
		return lines{}
	}
	return lines{start, start + more}
}

// sed understands the printing of one range of lines, nothing else.
func sed(words []word) (operation, bool) {
	files, at, ok := sedPrint(words)
	if !ok {
		return operation{}, false
	}
	return readOf(files, at)
}

func sedFilter(words []word) bool {
	files, _, ok := sedPrint(words)
	return ok && len(files) == 0
}

// sedAllowed are the only flags beside the script's with which sed just prints.
var sedAllowed = set("-n --quiet --silent -e --expression -E -r -s -u")

// sedPrint gives the files and the lines of a sed that prints one range.
func sedPrint(words []word) ([]word, lines, bool) {
	args, ok := sedFlags.parse(words)
	if !ok || !args.has("-n", "--quiet", "--silent") {
		return nil, lines{}, false
	}
	for _, f := range args.flags {
		if !sedAllowed[f.name] {
			return nil, lines{}, false
		}
	}
	files := args.operands
	scripts := args.values("-e", "--expression")
	if len(scripts) == 0 && len(files) > 0 && !files[0].glob {
		scripts, files = []string{files[0].text}, files[1:]
	}
	if len(scripts) != 1 {
		return nil, lines{}, false
	}
	at, ok := sedLines(scripts[0])
	return files, at, ok
}

// address is one end of a range of sed.
type address struct {
	kind addressKind
	line int
}

type addressKind uint8

const (
	noAddress addressKind = iota
	lineNumber
	lastLine
	pattern
)

// sedLines are the lines that a script of the forms of events.md 11.5 prints.
func sedLines(script string) (lines, bool) {
	from, rest := sedAddress(script)
	if rest == "p" {
		return between(from.line, from.line), from.kind == lineNumber && from.line != 0
	}
	rest, comma := strings.CutPrefix(rest, ",")
	if !comma || from.kind == noAddress {
		return lines{}, false
	}
	if more, ok := strings.CutPrefix(rest, "+"); ok {
		count, ok := strings.CutSuffix(more, "p")
		if !ok || !isDigits(count) || from.kind != lineNumber || from.line == 0 {
			return lines{}, false
		}
		return following(from.line, line(count)), true
	}
	to, rest := sedAddress(rest)
	switch {
	case rest != "p" || to.kind == noAddress:
		return lines{}, false
	case from.kind != lineNumber:
		return lines{}, true
	case from.line == 0: // sed has a line 0 only before a pattern
		return lines{}, to.kind == pattern
	case to.kind == lineNumber:
		return between(from.line, to.line), true
	default:
		return lines{start: max(from.line, 0)}, true
	}
}

// sedAddress is the address that a script begins with, and what is behind it.
func sedAddress(s string) (address, string) {
	switch {
	case s == "":
		return address{}, s
	case s[0] == '$':
		return address{kind: lastLine}, s[1:]
	case s[0] == '/':
		if n := sedPattern(s); n > 0 {
			return address{kind: pattern}, s[n:]
		}
		return address{}, s
	}
	n := 0
	for n < len(s) && isDigits(s[n:n+1]) {
		n++
	}
	if n == 0 {
		return address{}, s
	}
	return address{kind: lineNumber, line: line(s[:n])}, s[n:]
}

// sedPattern is the length of the /pattern/ that s begins with, 0 when it has no end.
func sedPattern(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '/':
			return i + 1
		case '\\':
			i++
		case '\n':
			return 0
		}
	}
	return 0
}
