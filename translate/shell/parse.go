// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// word is a word after quotes and escapes are taken away.
type word struct {
	text  string
	glob  bool // has a *, ? or [ that the shell would expand
	tilde bool // begins with a ~ that the shell would expand
}

// segment is a pipeline between the separators of a command.
type segment struct {
	stages [][]word // simple commands, none without words
	prev   link     // what joins it to the segment before
	next   link     // what joins it to the segment behind
}

// link is what stands between two segments.
type link uint8

const (
	none link = iota // begin or end of the command
	then             // ; or newline
	and              // &&
	or               // ||
)

// parsers keeps parsers, whose buffers are larger than most commands.
var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

// parse gives the segments of a command, or false when it has anything else than simple commands
// of plain words, && || | ; newlines and comments.
func parse(command string) ([]segment, bool) {
	parser := parsers.Get().(*syntax.Parser)
	file, err := parser.Parse(strings.NewReader(command), "")
	parsers.Put(parser)
	if err != nil {
		return nil, false
	}
	var t tree
	for _, stmt := range file.Stmts {
		if !t.statement(stmt, then) {
			return nil, false
		}
	}
	t.link()
	return t.segments, len(t.segments) > 0
}

// tree collects the segments of a syntax tree. Its recursion is as deep as there are stages, which
// plausible has bounded.
type tree struct {
	segments []segment
}

// statement adds what a statement holds, joined by l to what was added before.
func (t *tree) statement(stmt *syntax.Stmt, l link) bool {
	if !isPlain(stmt) {
		return false
	}
	if binary, ok := stmt.Cmd.(*syntax.BinaryCmd); ok {
		switch binary.Op {
		case syntax.AndStmt:
			return t.statement(binary.X, l) && t.statement(binary.Y, and)
		case syntax.OrStmt:
			return t.statement(binary.X, l) && t.statement(binary.Y, or)
		}
	}
	t.segments = append(t.segments, segment{prev: l})
	return t.pipeline(stmt)
}

// pipeline adds the stages of a statement to the last segment.
func (t *tree) pipeline(stmt *syntax.Stmt) bool {
	if !isPlain(stmt) {
		return false
	}
	switch cmd := stmt.Cmd.(type) {
	case *syntax.BinaryCmd:
		return cmd.Op == syntax.Pipe && t.pipeline(cmd.X) && t.pipeline(cmd.Y)
	case *syntax.CallExpr:
		if len(cmd.Assigns) > 0 || len(cmd.Args) == 0 {
			return false
		}
		words := make([]word, len(cmd.Args))
		for i, arg := range cmd.Args {
			if !words[i].fill(arg) {
				return false
			}
		}
		last := &t.segments[len(t.segments)-1]
		last.stages = append(last.stages, words)
		return true
	default:
		return false
	}
}

// link tells every segment what follows it.
func (t *tree) link() {
	for i := range t.segments {
		if i == 0 {
			t.segments[i].prev = none
		} else {
			t.segments[i-1].next = t.segments[i].prev
		}
	}
}

// isPlain reports whether a statement is nothing more than its command.
func isPlain(s *syntax.Stmt) bool {
	return !s.Negated && !s.Background && !s.Coprocess && !s.Disown && len(s.Redirs) == 0
}

// fill sets w from a word of the syntax tree, or reports false when a part of it is substituted.
func (w *word) fill(from *syntax.Word) bool {
	var all strings.Builder
	for i, part := range from.Parts {
		var text string
		var ok bool
		switch part := part.(type) {
		case *syntax.Lit:
			w.tilde = w.tilde || i == 0 && strings.HasPrefix(part.Value, "~")
			text, ok = w.bare(part.Value)
		case *syntax.SglQuoted:
			text, ok = part.Value, !part.Dollar
		case *syntax.DblQuoted:
			text, ok = quoted(part)
		default:
			return false
		}
		if !ok {
			return false
		}
		if len(from.Parts) == 1 {
			w.text = text
			return true
		}
		all.WriteString(text)
	}
	w.text = all.String()
	return true
}

// bare takes the escapes away from text outside quotes and notes its globs.
func (w *word) bare(text string) (string, bool) {
	if strings.IndexByte(text, '\\') < 0 {
		w.glob = w.glob || strings.ContainsAny(text, "*?[")
		return text, !strings.ContainsAny(text, "(){}`")
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '*', '?', '[':
			w.glob = true
		case '(', ')', '{', '}', '`':
			return "", false
		case '\\':
			i++
			if i == len(text) {
				return "", false
			}
			if text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String(), true
}

// quoted is the text of a string in double quotes.
func quoted(q *syntax.DblQuoted) (string, bool) {
	if q.Dollar {
		return "", false
	}
	var all strings.Builder
	for _, part := range q.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			return "", false
		}
		all.WriteString(unescape(lit.Value))
	}
	return all.String(), true
}

// unescape takes away the backslashes that escape in double quotes; the others are text.
func unescape(text string) string {
	if strings.IndexByte(text, '\\') < 0 {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && strings.IndexByte("$`\"\\\n", text[i+1]) >= 0 {
			i++
			if text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
