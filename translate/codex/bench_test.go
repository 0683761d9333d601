// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package codex

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode/decodetest"
)

// typicalLines is a mix as real streams have it: commands with their output, messages, patches.
func typicalLines() []byte {
	var b bytes.Buffer
	b.WriteString(`{"type":"thread.started","thread_id":"019b0000-0000-7000-8000-000000000001"}` + "\n")
	output := strings.Repeat(`func f(x int) int {\n\treturn x + 1 // \"quoted\"\n}\n`, 60)
	for i := range 200 {
		command := `"type":"command_execution","command":"/bin/bash -lc \"sed -n '1,220p' src/a.go\"","aggregated_output":`
		fmt.Fprintf(&b, `{"type":"item.started","item":{"id":"item_%d",%s"","exit_code":null,"status":"in_progress"}}`+"\n", 3*i, command)
		fmt.Fprintf(&b, `{"type":"item.completed","item":{"id":"item_%d",%s"%s","exit_code":0,"status":"completed"}}`+"\n", 3*i, command, output)
		fmt.Fprintf(&b, `{"type":"item.completed","item":{"id":"item_%d","type":"agent_message","text":"The handler keeps the offset of the last line."}}`+"\n", 3*i+1)
		fmt.Fprintf(&b, `{"type":"item.completed","item":{"id":"item_%d","type":"file_change","changes":[{"path":"/w/src/a.go","kind":"update"}],"status":"completed"}}`+"\n", 3*i+2)
	}
	return b.Bytes()
}

func BenchmarkDecode(b *testing.B) {
	data := typicalLines()
	for name, opt := range map[string]Options{
		"nothing":  {},
		"captured": {Capture: decodetest.Everything, MaxContentBytes: 8192},
	} {
		b.Run(name, func(b *testing.B) {
			d := NewDecoder(opt)
			var out []translate.Decoded
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				for line := range bytes.Lines(data) {
					out = d.Decode(line, out[:0])
				}
			}
		})
	}
}
