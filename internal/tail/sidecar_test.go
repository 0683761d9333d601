// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package tail

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSidecar: what stands beside a subagent's file comes before its first line, once for each reading.
func TestSidecar(t *testing.T) {
	const (
		agent   = "s/subagents/agent-a1.jsonl"
		sidecar = `{"type":"agentstream.sidecar","sidecar":{"agentType":"Explore"}}`
	)
	r := newRig(t, Config{})
	r.write("s/subagents/agent-a1.meta.json", "{\n \"agentType\": \"Explore\"\n}\n")
	r.write(agent, "on")
	r.poll()
	assert.Empty(t, r.take(), "nothing to introduce yet")
	r.wait(testPoll)
	r.add(agent, "e\n")
	r.poll()
	assert.Equal(t, []string{sidecar, "one"}, r.take())
	r.wait(testPoll)
	r.add(agent, "two\n")
	r.poll()
	assert.Equal(t, []string{"two"}, r.take())
	require.EqualValues(t, 8, r.file(agent).pos)

	r.wait(testPoll)
	r.write(agent, "three and more\n")
	r.poll()
	assert.Equal(t, []string{sidecar, "three and more"}, r.take(), "rewritten")
}

func TestOriginalsFirst(t *testing.T) {
	r := newRig(t, Config{})
	r.write("a.jsonl", `{"type":"user","timestamp":"2026-10-01T10:00:00Z","n":"fork"}`+"\n"+`{"type":"assistant","timestamp":"2026-10-01T12:00:00Z"}`+"\n")
	r.write("b.jsonl", `{"type":"user","timestamp":"2026-10-01T10:00:00Z","n":"origin"}`+"\n"+`{"type":"assistant","timestamp":"2026-10-01T10:00:02Z"}`+"\n")
	r.poll()
	lines := r.take()
	require.Len(t, lines, 4)
	assert.Contains(t, lines[0], "origin")
	assert.Contains(t, lines[2], "fork")
}
