// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package agentstreamreceiver

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// TestMixedFolder: files of several agents go through one receiver, each under its own agent's name.
func TestMixedFolder(t *testing.T) {
	dir := t.TempDir()
	for name, from := range map[string]string{
		"a.jsonl": "claude/web-search.jsonl", "b.jsonl": "codex/codex-plain-run.jsonl", "c.jsonl": "cline/plain.jsonl",
	} {
		data, err := os.ReadFile(filepath.Join("..", "..", "testdata", from))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	r := startRig(t, withFiles(newConfig(), filepath.Join(dir, "*.jsonl")), nil)
	r.wait(t, "invoke_agent", 3)
	require.NoError(t, r.stop())

	text := func(m pcommon.Map, key string) string {
		v, _ := m.Get(key)
		return v.AsString()
	}
	spans, services, counted := map[string]int{}, map[string]int{}, map[string]int{}
	for _, td := range r.traces.AllTraces() {
		for _, rs := range td.ResourceSpans().All() {
			service := text(rs.Resource().Attributes(), "service.name")
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					agent := text(s.Attributes(), "gen_ai.agent.name")
					spans[agent]++
					services[service]++
					if agent != service && s.ParentSpanID().IsEmpty() {
						t.Errorf("%s of %s stands under service %s", s.Name(), agent, service)
					}
				}
			}
		}
	}
	last := r.metrics.AllMetrics()[len(r.metrics.AllMetrics())-1]
	for _, rm := range last.ResourceMetrics().All() {
		for _, sm := range rm.ScopeMetrics().All() {
			for _, m := range sm.Metrics().All() {
				if m.Type() == pmetric.MetricTypeSum && m.Name() == "agentstream.sessions" {
					for _, p := range m.Sum().DataPoints().All() {
						counted[text(p.Attributes(), "gen_ai.agent.name")] += int(p.IntValue())
					}
				}
			}
		}
	}
	for _, agent := range []string{"claude-code", "codex", "cline"} {
		assert.Positive(t, spans[agent], agent)
		assert.Positive(t, services[agent], agent)
	}
	assert.Equal(t, map[string]int{"claude-code": 1, "codex": 1, "cline": 1}, counted)
}
