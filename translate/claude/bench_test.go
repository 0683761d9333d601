// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package claude

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

// typicalLines is a mix as real streams have it, about 4 KB a line: rows of a response, calls, results
// with whole files beside them, partial messages, one terminal record.
func typicalLines() []byte {
	var b bytes.Buffer
	const function = "func f(x int) int {\\n\\treturn x + 1 // \\\"quoted\\\"\\n}\\n"
	code := strings.Repeat(function, 60)
	prose := strings.Repeat("The handler keeps the offset of the last complete line. ", 20)
	usage := `"usage":{"input_tokens":4,"cache_creation_input_tokens":4950,"cache_read_input_tokens":28275,` +
		`"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":4950},"output_tokens":16,"service_tier":"standard"}`
	envelope := `"parent_tool_use_id":null,"session_id":"0d9ab7f2-6a3c-4f0e-9a51-000000000001","uuid":"5a2e6c1e-0000-4000-8000-%012d","timestamp":"2026-11-01T10:%02d:%02d.000Z"`
	for i := range 200 {
		env := fmt.Sprintf(envelope, i, i/60, i%60)
		row := func(content string) {
			fmt.Fprintf(&b, `{"type":"assistant","message":{"model":"claude-sonnet-4-5-20250929","id":"msg_%06d","type":"message","role":"assistant",`+
				`"content":[%s],"stop_reason":null,"stop_sequence":null,%s},%s}`+"\n", i, content, usage, env)
		}
		row(fmt.Sprintf(`{"type":"text","text":"%s"}`, prose))
		row(fmt.Sprintf(`{"type":"tool_use","id":"toolu_%06da","name":"Edit","input":{"file_path":"/w/repo/a.go","old_string":"%s","new_string":"%s"}}`, i, function, code))
		fmt.Fprintf(&b, `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_%06da","type":"tool_result","content":"%s"}]},%s,`+
			`"tool_use_result":{"filePath":"/w/repo/a.go","oldString":"%s","newString":"%s","originalFile":"%s","structuredPatch":[{"oldStart":1,"oldLines":2,"newStart":1,"newLines":3,`+
			`"lines":[" a","-b","+c","+d"]}],"userModified":false,"replaceAll":false}}`+"\n", i, prose, env, function, code, code+code)
		row(fmt.Sprintf(`{"type":"tool_use","id":"toolu_%06db","name":"Bash","input":{"command":"cd /w/repo && go test ./...","description":"Run tests"}}`, i))
		fmt.Fprintf(&b, `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_%06db","type":"tool_result","content":"%s","is_error":false}]},%s,`+
			`"tool_use_result":{"stdout":"%s","stderr":"","interrupted":false,"isImage":false}}`+"\n", i, code, env, code)
		fmt.Fprintf(&b, `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"offset of"}},%s}`+"\n", env)
	}
	return b.Bytes()
}

func BenchmarkDecode(b *testing.B) {
	data := typicalLines()
	for name, opt := range map[string]Options{
		"nothing":  {},
		"captured": {Capture: translate.Capture{Prompts: true, Responses: true, Reasoning: true, ToolArguments: true, ToolResults: true}, MaxContentBytes: 8192},
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

// BenchmarkFloorTokens is a bare walk over all tokens of the same data: what any decoder on jsontext
// has to pay.
func BenchmarkFloorTokens(b *testing.B) {
	data := typicalLines()
	d := jsontext.NewDecoder(new(bytes.Buffer))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		for line := range bytes.Lines(data) {
			d.Reset(bytes.NewBuffer(line))
			for {
				if _, err := d.ReadToken(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}

// BenchmarkFloorNewlines only finds the lines.
func BenchmarkFloorNewlines(b *testing.B) {
	data := typicalLines()
	b.SetBytes(int64(len(data)))
	n := 0
	for b.Loop() {
		for line := range bytes.Lines(data) {
			n += len(line)
		}
	}
}
