// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/internal/frame"
	"github.com/otelcol-agents/otelcol-agents/internal/gen"
)

// BenchmarkReplay measures the whole command on one file, on all cores, beside the framing of its lines.
func BenchmarkReplay(b *testing.B) {
	path := filepath.Join(b.TempDir(), "stream.jsonl")
	file, err := os.Create(path)
	require.NoError(b, err)
	require.NoError(b, gen.Claude(file, gen.Options{
		Seed: 1, Lines: 12000, Sessions: 4,
		StartTime: time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC),
	}))
	require.NoError(b, file.Close())
	info, err := os.Stat(path)
	require.NoError(b, err)

	b.Run("floor/frame", func(b *testing.B) {
		b.SetBytes(info.Size())
		b.ReportAllocs()
		for b.Loop() {
			file, err := os.Open(path)
			require.NoError(b, err)
			r := frame.NewReader(file, 64<<20)
			var line []byte
			for {
				line, _, err = r.Next(line[:0])
				if errors.Is(err, io.EOF) {
					break
				}
				require.NoError(b, err)
			}
			require.NoError(b, file.Close())
		}
	})
	for _, format := range []string{"summary", "tree", "json"} {
		b.Run(format, func(b *testing.B) {
			b.SetBytes(info.Size())
			b.ReportAllocs()
			for b.Loop() {
				var stderr bytes.Buffer
				code := Main(b.Context(), []string{"--format", format, path}, bytes.NewReader(nil), io.Discard, &stderr,
					Env{Program: "agentreplay", Getenv: func(string) string { return "" }})
				require.Zero(b, code, stderr.String())
			}
		})
	}
}
