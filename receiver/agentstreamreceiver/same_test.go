// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package agentstreamreceiver

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelcol-agents/otelcol-agents/internal/replay"
)

// TestSameSpansFromEverywhere: replay, a file that is followed, a connection and a request give the same
// spans of the same input.
func TestSameSpansFromEverywhere(t *testing.T) {
	files, err := filepath.Glob("../../testdata/*/*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		t.Run(filepath.Base(filepath.Dir(path))+"/"+name, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			want := replayed(t, path)
			for _, way := range []string{"file", "tcp", "http"} {
				if name == "partly-timed" && way != "file" {
					continue // its first response has no time: live, that is taken as written now, the rest as an old recording
				}
				t.Run(way, func(t *testing.T) {
					dir := t.TempDir()
					cfg := withHTTP(withTCP(withFiles(newConfig(), filepath.Join(dir, "*.jsonl"))))
					cfg.Options.Session.Linger = 10 * time.Second // as replay has it
					if strings.HasPrefix(name, "turn-mode") {
						cfg.Options.Session.Trace = "turn"
					}
					size := len(data)
					if way == "file" {
						require.NoError(t, os.WriteFile(filepath.Join(dir, "s.jsonl"), data, 0o600))
						size = bytes.LastIndexByte(data, '\n') + 1 // a torn line may still be finished
					}
					r := startRig(t, cfg, nil)
					switch way {
					case "tcp":
						r.send(t, string(data))
					case "http":
						r.post(t, string(data))
					}
					require.Eventually(t, func() bool { return r.bytesRead(t) >= int64(size) }, patience, tick)
					require.NoError(t, r.stop())
					assert.Equal(t, want, r.spans())
				})
			}
		})
	}
}

func (r *rig) bytesRead(t *testing.T) (sum int64) {
	t.Helper()
	m, err := r.tel.GetMetric("otelcol_agent_stream_bytes_read")
	if err != nil {
		return 0 // nothing was read yet
	}
	for _, p := range m.Data.(metricdata.Sum[int64]).DataPoints {
		sum += p.Value
	}
	return sum
}

// replayed are the spans that replay finds in a file, by id and name.
func replayed(t *testing.T, path string) map[string]int {
	t.Helper()
	args := []string{"--format", "json", path}
	if strings.HasPrefix(filepath.Base(path), "turn-mode") {
		config := filepath.Join(t.TempDir(), "turn.yaml")
		require.NoError(t, os.WriteFile(config, []byte("session: {trace: turn}"), 0o600))
		args = append([]string{"--receiver-config", config}, args...)
	}
	var stdout, stderr bytes.Buffer
	code := replay.Main(t.Context(), args, nil, &stdout, &stderr, replay.Env{Getenv: func(string) string { return "" }})
	require.Zero(t, code, stderr.String())
	var doc struct {
		Spans []struct {
			SpanID string `json:"span_id"`
			Name   string `json:"name"`
		} `json:"spans"`
	}
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &doc))
	found := map[string]int{}
	for _, s := range doc.Spans {
		found[s.SpanID+" "+s.Name]++
	}
	return found
}
