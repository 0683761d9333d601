// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package cline

import (
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
	"github.com/otelcol-agents/otelcol-agents/translate/patch"
)

// patch is one write for each file that a patch names, or of the file that the input names.
func (d *Decoder) patch(input jsontok.Value, in object) []translate.Op {
	if path := in.text(pathKeys...); decode.IsID(path) {
		return one(d.file(translate.OpWrite, path))
	}
	body := input
	if input.Kind() != jsontok.String {
		body = in.text("patch", "diff", "content", "input")
	}
	s, _ := body.Text()
	var ops []translate.Op
	for _, path := range patch.Files(s) {
		if len(ops) == maxOps {
			break
		}
		op := translate.Op{Kind: translate.OpWrite, Resolve: true}
		if d.Opt.Capture.ToolArguments {
			op.Path = d.Content(path)
		}
		ops = append(ops, op)
	}
	return ops
}
