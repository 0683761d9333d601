// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/translate/price"
)

const full = `{
	"sample_spec": {"mode": "one of: chat, embedding", "input_cost_per_token": 0.0},
	"claude-next-9": {"mode": "chat", "litellm_provider": "anthropic", "input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06, "supports_vision": true,
		"provider_specific_entry": {"fast": 2.0}},
	"claude-old-1": {"mode": "chat", "input_cost_per_token": 3e-06, "output_cost_per_token": 4e-06, "cache_creation_input_token_cost_above_1hr": 9e-07},
	"anthropic/claude-old-1": {"mode": "chat", "input_cost_per_token": 9e-06, "output_cost_per_token": 9e-06},
	"xai/grok-9": {"mode": "chat", "input_cost_per_token": 5e-06, "output_cost_per_token": 6e-06},
	"eu.anthropic.claude-next-9-v1:0": {"mode": "chat", "input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06},
	"gpt-image-9": {"mode": "image_generation", "input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06},
	"gpt-9-tiers": {"mode": "chat", "tiered_pricing": [{"range": [0, 1]}]},
	"gpt-9-broken": ["chat"]
}`

func TestCut(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "full.json")
	require.NoError(t, os.WriteFile(file, []byte(full), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model_prices.json"), []byte(
		`{"claude-old-1": {"input_cost_per_token": 1, "output_cost_per_token": 1}, "claude-gone": {"input_cost_per_token": 1, "output_cost_per_token": 1}}`,
	), 0o600))
	report, err := run(file, "2027-01-31", dir)
	require.NoError(t, err)
	assert.Equal(t, "4 models: 2 new, 1 changed, 1 kept that the file has no more", report)

	date, err := os.ReadFile(filepath.Join(dir, "model_prices.date"))
	require.NoError(t, err)
	assert.Equal(t, "2027-01-31\n", string(date))
	now, err := os.ReadFile(filepath.Join(dir, "model_prices.json"))
	require.NoError(t, err)
	assert.NotContains(t, string(now), "supports_vision")
	c, err := price.Parse(now)
	require.NoError(t, err)
	for model, want := range map[string]float64{"claude-next-9": 1e-6, "claude-old-1": 3e-6, "grok-9": 5e-6, "claude-gone": 1} {
		usd, ok := c.Cost(model, price.Usage{Input: 1})
		assert.True(t, ok, model)
		assert.InDelta(t, want, usd, 1e-15, model)
	}
	assert.False(t, c.Has("gpt-image-9"))
	usd, _ := c.Cost("claude-old-1", price.Usage{CacheWrite1h: 1})
	assert.InDelta(t, 6e-6, usd, 1e-15, "twice the input")
}

// The catalogue that is built in is what the command writes: cutting it changes nothing.
func TestCutOfTheBuiltIn(t *testing.T) {
	data, err := os.ReadFile("../../translate/price/model_prices.json")
	require.NoError(t, err)
	now, report, err := cut(data, data)
	require.NoError(t, err)
	assert.Contains(t, report, "models: 0 new, 0 changed, 0 kept that the file has no more")
	assert.JSONEq(t, string(data), string(now))
}

func TestRefused(t *testing.T) {
	for name, tt := range map[string]struct{ from, date, want string }{
		"no file":        {"", "2027-01-31", "-from must name a file"},
		"no date":        {"x", "", `-date must be YYYY-MM-DD, got ""`},
		"no day":         {"x", "2027-02-30", `-date must be YYYY-MM-DD, got "2027-02-30"`},
		"file not there": {filepath.Join(t.TempDir(), "x"), "2027-01-31", "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(tt.from, tt.date, t.TempDir())
			require.ErrorContains(t, err, tt.want)
		})
	}
}
