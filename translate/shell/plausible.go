// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import "strings"

// plausible is the cheap test before a command is parsed. It refuses what events.md 11.1 refuses
// and every command with a program that no table names, which are most of what agents run. What
// it lets pass has no construct that nests, so the parser's stack stays flat. It may let pass what
// is not understood, the syntax tree decides; it must not refuse what is.
func plausible(command string) bool {
	// A shell keeps a carriage return as part of the word and drops a NUL; the parser treats both
	// otherwise, so there is no reading to rely on.
	if strings.IndexByte(command, 0) >= 0 || strings.IndexByte(command, '\r') >= 0 {
		return false
	}
	stages := 1
	first := true // the next word names a program
	start := true // the next character begins a word
	for i := 0; i < len(command); {
		switch c := command[i]; c {
		case ' ', '\t':
			start = true
			i++
			continue
		case '\n', ';', '|', '&':
			n := operator(command[i:])
			if n == 0 {
				return false
			}
			if stages++; stages > maxStages {
				return false
			}
			first, start = true, true
			i += n
			continue
		case '#':
			if start {
				i += lineLength(command[i:])
				continue
			}
		case '\\':
			if strings.HasPrefix(command[i:], "\\\n") {
				i += 2 // joins two lines: neither begins nor ends a word
				continue
			}
		}
		if first && start && !plausibleProgram(command[i:]) {
			return false
		}
		if start {
			first, start = false, false
		}
		n := partLength(command[i:])
		if n == 0 {
			return false
		}
		i += n
	}
	return true
}

// operator is the length of the separator that s begins with, 0 for one that is not understood.
func operator(s string) int {
	var next byte
	if len(s) > 1 {
		next = s[1]
	}
	switch s[0] {
	case '\n':
		return 1
	case ';':
		if next == ';' || next == '&' || next == '|' {
			return 0
		}
		return 1
	case '|':
		if next == '|' {
			return 2
		}
		if next == '&' {
			return 0
		}
		return 1
	default: // '&': in the background unless doubled
		if next == '&' {
			return 2
		}
		return 0
	}
}

// lineLength is the number of bytes before the end of the line.
func lineLength(s string) int {
	if n := strings.IndexByte(s, '\n'); n >= 0 {
		return n
	}
	return len(s)
}

// longestProgram bounds the word that names a program; no system has longer paths.
const longestProgram = 4096

// plausibleProgram reports whether the word that s begins with may name a known program. A word
// with quotes may, and is no reserved word.
func plausibleProgram(s string) bool {
	before := "" // part of the word on the lines before
	for len(before) <= longestProgram {
		end := strings.IndexAny(s, " \t\n;|&<>()'\"\\")
		if end < 0 {
			return known[base(before+s)]
		}
		if joined := strings.HasPrefix(s[end:], "\\\n"); !joined {
			return strings.IndexByte("'\"\\", s[end]) >= 0 || known[base(before+s[:end])]
		}
		before += s[:end]
		s = s[end+2:]
	}
	return false
}

// partLength is the length of the quoted string, escape or plain character that s begins with, 0
// for one that is not understood.
func partLength(s string) int {
	switch s[0] {
	case '<', '>', '(', ')', '{', '}', '`':
		return 0
	case '\'':
		end := strings.IndexByte(s[1:], '\'')
		if end < 0 {
			return 0
		}
		return end + 2
	case '"':
		return doubleQuoted(s)
	case '\\':
		if len(s) == 1 {
			return 0
		}
		return 2
	case '$':
		if substitutes(s[1:]) || len(s) > 1 && (s[1] == '\'' || s[1] == '"') {
			return 0
		}
	}
	return 1
}

// doubleQuoted is the length of the string in double quotes that s begins with, 0 when it has no
// end or something is substituted in it.
func doubleQuoted(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		case '`':
			return 0
		case '$':
			if substitutes(s[i+1:]) {
				return 0
			}
		}
	}
	return 0
}

// substitutes reports whether a dollar before s is more than a dollar.
func substitutes(s string) bool {
	if s == "" {
		return false
	}
	switch c := s[0]; c {
	case '_', '{', '(', '@', '*', '#', '?', '$', '!', '-':
		return true
	case '[': // arithmetic in bash
		return true
	case '\\': // a joined line may bring any of the others
		return len(s) > 1 && s[1] == '\n'
	default:
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
	}
}
