// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFormats has which decoder reads a file, by its records and by what --agent demands.
func TestFormats(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"claude": write(t, filepath.Join(dir, "claude.jsonl"), stream),
		"cline": write(t, filepath.Join(dir, "cline.jsonl"),
			`{"ts":"2026-10-12T09:00:00Z","type":"run_result","finishReason":"completed"}`+"\n"),
		"legacy": write(t, filepath.Join(dir, "legacy.jsonl"),
			`{"ts":1793527201000,"type":"say","say":"completion_result","text":"x"}`+"\n"),
	}
	for name, tc := range map[string]struct {
		agent, file string
		want        string // "" = no session
	}{
		"claude by its records":             {"auto", "claude", "claude_code"},
		"cline by its records":              {"auto", "cline", "cline"},
		"legacy cline by its records":       {"auto", "legacy", "cline_legacy"},
		"cline demanded":                    {"cline", "cline", "cline"},
		"legacy cline within the family":    {"cline", "legacy", "cline_legacy"},
		"claude demanded of a cline file":   {"claude", "cline", ""},
		"cline demanded of a claude stream": {"cline", "claude", "cline"},
	} {
		t.Run(name, func(t *testing.T) {
			out := replay(t, nil, "--format", "json", "--agent", tc.agent, files[tc.file])
			require.Equal(t, ExitOK, out.code, out.stderr)
			var doc struct{ Sessions []struct{ Format string } }
			require.NoError(t, json.Unmarshal([]byte(out.stdout), &doc))
			if tc.want == "" {
				assert.Empty(t, doc.Sessions)
				return
			}
			require.Len(t, doc.Sessions, 1)
			assert.Equal(t, tc.want, doc.Sessions[0].Format)
		})
	}
}
