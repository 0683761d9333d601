// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/internal/replay"
)

// The README shows what its first command prints: every line of it, in order, with gaps marked.
func TestReadmeShowsTheRealOutput(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, block, ok := strings.Cut(string(readme), "$ go run ./cmd/agentreplay testdata/sessions\n")
	require.True(t, ok)
	block, _, ok = strings.Cut(block, "```")
	require.True(t, ok)

	var stdout, stderr bytes.Buffer
	code := replay.Main(t.Context(), []string{"../../testdata/sessions"}, strings.NewReader(""), &stdout, &stderr,
		replay.Env{Program: "agentreplay", Getenv: func(string) string { return "" }})
	require.Zero(t, code, stderr.String())
	out := stdout.String()
	for line := range strings.Lines(block) {
		if strings.TrimSpace(line) == "…" {
			continue
		}
		_, rest, found := strings.Cut(out, line)
		if !assert.True(t, found, "not in the output, or not in this order: %q", line) {
			return
		}
		out = rest
	}
}
