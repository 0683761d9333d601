// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package translate_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/internal/gen"
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/claude"
	"github.com/otelcol-agents/otelcol-agents/translate/otlp"
	"github.com/otelcol-agents/otelcol-agents/translate/price"
	"github.com/otelcol-agents/otelcol-agents/translate/redact"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

// stream is a realistic stream: see internal/gen for its mix.
func stream(b *testing.B) (data []byte, lines [][]byte) {
	b.Helper()
	var buf bytes.Buffer
	require.NoError(b, gen.Claude(&buf, gen.Options{
		Seed: 1, Lines: 4000, Sessions: 4,
		StartTime: time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC),
	}))
	data = buf.Bytes()
	return data, bytes.Split(bytes.TrimSpace(data), []byte("\n"))
}

func decoder(b *testing.B) *claude.Decoder {
	b.Helper()
	red, err := redact.New(true, nil)
	require.NoError(b, err)
	return claude.NewDecoder(claude.Options{MaxContentBytes: 8192, Redactor: red})
}

func assembler() *session.Assembler {
	cfg := session.NewConfig()
	cfg.Prices = price.NewBook(price.Default())
	return session.New(cfg)
}

// remembering is an assembler whose sessions may leave memory.
func remembering() *session.Assembler {
	cfg := session.NewConfig()
	cfg.Prices = price.NewBook(price.Default())
	cfg.Recall = func(uint64) *session.Memory { return nil }
	return session.New(cfg)
}

func perLine(b *testing.B, lines int) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(lines), "ns/line")
}

// BenchmarkStages measures the stages on one core, each beside its floor: what finding the lines costs,
// and what walking over the JSON tokens costs.
func BenchmarkStages(b *testing.B) {
	data, lines := stream(b)
	b.Run("floor/newlines", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			for rest := data; len(rest) > 0; {
				i := bytes.IndexByte(rest, '\n')
				if i < 0 {
					break
				}
				rest = rest[i+1:]
			}
		}
		perLine(b, len(lines))
	})
	b.Run("floor/tokens", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			var buf bytes.Buffer
			dec := jsontext.NewDecoder(&buf)
			for _, line := range lines {
				buf = *bytes.NewBuffer(line)
				dec.Reset(&buf)
				for {
					if _, err := dec.ReadToken(); errors.Is(err, io.EOF) {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
			}
		}
		perLine(b, len(lines))
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			dec := decoder(b)
			var units []translate.Decoded
			for _, line := range lines {
				units = dec.Decode(line, units[:0])
			}
		}
		perLine(b, len(lines))
	})
	units := decodeAll(b, lines)
	b.Run("fold", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			foldAll(units)
		}
		perLine(b, len(lines))
	})
	b.Run("fold/remembered", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			a := remembering()
			src := a.Open(session.SourceInfo{Format: translate.FormatClaudeCode, Agent: "claude-code", ModTime: modTime})
			for i := range units {
				a.Step(src, &units[i])
				if i%100 == 99 { // about a turn of the receiver
					a.Changes()
					a.Learned()
				}
			}
			a.End(src)
			a.Close()
		}
		perLine(b, len(lines))
	})
	b.Run("decode+fold", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			dec, a := decoder(b), assembler()
			src := a.Open(session.SourceInfo{Format: translate.FormatClaudeCode, Agent: "claude-code", ModTime: modTime})
			var units []translate.Decoded
			for _, line := range lines {
				units = dec.Decode(line, units[:0])
				for i := range units {
					a.Step(src, &units[i])
				}
				a.Take()
			}
			a.End(src)
			a.Close()
		}
		perLine(b, len(lines))
	})
	outs := foldAll(units)
	b.Run("output", func(b *testing.B) {
		builder := otlp.NewBuilder(otlp.Options{})
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			builder.Traces(outs)
			builder.Logs(outs, modTime)
			totals(outs).Snapshot(modTime + 1)
		}
		perLine(b, len(lines))
	})
}

func decodeAll(b *testing.B, lines [][]byte) []translate.Decoded {
	b.Helper()
	dec := decoder(b)
	var units []translate.Decoded
	for _, line := range lines {
		units = dec.Decode(line, units)
	}
	return units
}

func foldAll(units []translate.Decoded) []translate.Output {
	a := assembler()
	src := a.Open(session.SourceInfo{Format: translate.FormatClaudeCode, Agent: "claude-code", ModTime: modTime})
	for i := range units {
		a.Step(src, &units[i])
	}
	a.End(src)
	a.Close()
	return a.Take()
}

// BenchmarkResultSize shows that a tool result costs the walk over its bytes and no memory: B/op stays
// the same while the result grows.
func BenchmarkResultSize(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 16, 1 << 20} {
		line := []byte(`{"type":"user","session_id":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"` +
			string(bytes.Repeat([]byte(`some output of a tool\n`), size/23)) + `"}]},"uuid":"u"}`)
		b.Run(byteSize(size), func(b *testing.B) {
			dec := decoder(b)
			var units []translate.Decoded
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				units = dec.Decode(line, units[:0])
			}
		})
	}
}

func byteSize(n int) string {
	return map[int]string{1 << 10: "1KiB", 1 << 16: "64KiB", 1 << 20: "1MiB"}[n]
}
