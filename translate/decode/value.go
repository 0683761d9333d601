// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
	"github.com/otelcol-agents/otelcol-agents/translate/shell"
)

// Count is a count; one of a wrong type, or a negative one, was not reported.
func Count(v jsontok.Value) translate.Opt[int64] {
	n, ok := v.Int()
	if !ok || n < 0 {
		return translate.Opt[int64]{}
	}
	return translate.Some(n)
}

// IsID reports whether v is a string that is not empty.
func IsID(v jsontok.Value) bool { return v.Kind() == jsontok.String && len(v) > 2 }

// HTTPStatus is a status of three digits, as a number or as a string; 0 when v is none.
func HTTPStatus(v jsontok.Value) int {
	if s, ok := v.Plain(); ok {
		v = s
	}
	n, ok := v.Int()
	if !ok || n < 100 || n > 999 {
		return 0
	}
	return int(n)
}

var shellKinds = [...]translate.OpKind{
	shell.Command: translate.OpCommand,
	shell.Read:    translate.OpRead,
	shell.Search:  translate.OpSearch,
	shell.List:    translate.OpList,
}

// Command is the operation of a shell command that does what was classified. Its paths are as typed:
// the shell's directory is not known.
func (d *Base) Command(command string, does shell.Operation) translate.Op {
	op := translate.Op{Kind: shellKinds[does.Kind]}
	if does.Start > 0 {
		op.Start = translate.Some(int64(does.Start))
	}
	if does.End > 0 {
		op.End = translate.Some(int64(does.End))
	}
	if !d.Opt.Capture.ToolArguments {
		return op
	}
	op.Path, op.Query = d.Content(does.Path), d.Content(does.Query)
	if op.Kind == translate.OpCommand {
		op.Command = d.Content(command)
	}
	return op
}
