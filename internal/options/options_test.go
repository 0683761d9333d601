// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

func TestDefaultsAreValid(t *testing.T) {
	c := NewDefaultConfig()
	require.NoError(t, c.Check())
	assert.Nil(t, c.Fixed())
	s, err := c.SessionConfig()
	require.NoError(t, err)
	assert.False(t, s.Turn)
	assert.Equal(t, translate.Capture{}, s.Capture)
	assert.NotNil(t, s.Prices)
}

func TestParse(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "full.yaml"))
	require.NoError(t, err)
	c, err := Parse(data)
	require.NoError(t, err)
	assert.Equal(t, Config{
		Format:             "claude",
		ServiceName:        "my-agents",
		ResourceAttributes: map[string]string{"deployment.environment.name": "ci", "build": "7"},
		MaxLineSize:        1 << 20,
		Session: Session{
			Trace: "turn", IdleTimeout: 4 * time.Second, Linger: 500 * time.Millisecond, MaxDuration: time.Hour,
			MaxSpans: 5, MaxResident: 6,
		},
		Capture:             []string{"prompts", "raw"},
		MaxContentBytes:     100,
		Redact:              Redact{Enabled: true, Patterns: []string{"secret-[0-9]+"}},
		SemanticConventions: "1.41",
		Metrics: Metrics{
			Interval: time.Second, Temporality: "delta", MaxToolNames: 3, SeriesTTL: time.Minute,
		},
		Pricing: Pricing{Models: map[string]string{"house": "claude-opus-4-6"}, WebSearchUSD: 0.02},
	}, c)
	require.NoError(t, c.Check())
	assert.Equal(t, translate.Capture{Prompts: true, Raw: true}, c.Captured())
	assert.Equal(t, []translate.Format{translate.FormatClaudeCode, translate.FormatClaudeCodeTranscript}, c.Fixed())
	c.Format = "codex"
	require.NoError(t, c.Check())
	assert.Equal(t, []translate.Format{translate.FormatCodexExec, translate.FormatCodexRollout}, c.Fixed())
}

func TestParseKeepsDefaults(t *testing.T) {
	for name, text := range map[string]string{
		"empty":           "",
		"comment":         "# nothing\n",
		"transports only": "files: {include: [x], poll: 1}\ntcp:\nhttp: {endpoint: a}\nstorage: file_storage\n",
		"JSON":            "{}",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Parse([]byte(text))
			require.NoError(t, err)
			assert.Equal(t, NewDefaultConfig(), c)
		})
	}
	c, err := Parse([]byte("session: {linger: 1s}"))
	require.NoError(t, err)
	want := NewDefaultConfig()
	want.Session.Linger = time.Second
	assert.Equal(t, want, c)
}

func TestParseErrors(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"unknown key":        {"format: auto\ncaptures: [prompts]", `line 2: unknown key "captures"`},
		"unknown inner key":  {"session:\n  lingers: 1s", `line 2: unknown key "lingers"`},
		"two unknown keys":   {"a: 1\nb: 2", "line 1: unknown key \"a\"\nline 2: unknown key \"b\""},
		"list expected":      {"capture: prompts", "line 1: a list expected, got str `prompts`"},
		"mapping expected":   {"session: 3", "line 1: a mapping expected, got int `3`"},
		"number expected":    {"max_content_bytes: many", "line 1: a whole number expected, got str `many`"},
		"duration expected":  {"session: {linger: soon}", "line 1: a duration such as 30s expected, got str `soon`"},
		"size expected":      {"max_line_size: big", `line 1: a size must be a number of bytes such as 65536 or 64MiB, got "big"`},
		"no YAML":            {"a: [", "line 1"},
		"several documents":  {"format: auto\n---\nformat: auto", "one YAML document expected"},
		"the same key twice": {"format: auto\nformat: auto", `"format" already defined`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(tc.in))
			assert.ErrorContains(t, err, tc.want)
		})
	}
}

func TestCheck(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "prices.json")
	require.NoError(t, os.WriteFile(bad, []byte("[]"), 0o600))
	for name, tc := range map[string]struct {
		set  func(*Config)
		want string
	}{
		"format":          {func(c *Config) { c.Format = "clod" }, `format must be one of auto, claude, claude_code, cline, codex, got "clod"`},
		"format to come":  {func(c *Config) { c.Format = "gemini" }, `format "gemini" has no decoder in this release`},
		"line size":       {func(c *Config) { c.MaxLineSize = 10 }, "max_line_size must be between 1KiB and 1GiB, got 10"},
		"content":         {func(c *Config) { c.MaxContentBytes = 0 }, "max_content_bytes must be between"},
		"conventions":     {func(c *Config) { c.SemanticConventions = "1.40" }, `semantic_conventions must be "latest" or "1.41", got "1.40"`},
		"attribute":       {func(c *Config) { c.ResourceAttributes = map[string]string{"": "x"} }, "resource_attributes must have no empty name"},
		"capture":         {func(c *Config) { c.Capture = []string{"everything"} }, `capture must be a list of prompts, responses, reasoning, tool_arguments, tool_results, raw, identity, got "everything"`},
		"trace":           {func(c *Config) { c.Session.Trace = "prompt" }, `session.trace must be "session" or "turn", got "prompt"`},
		"idle timeout":    {func(c *Config) { c.Session.IdleTimeout = 0 }, "session.idle_timeout must be at least 1ms, got 0s"},
		"linger":          {func(c *Config) { c.Session.Linger = -1 }, "session.linger must not be negative, got -1ns"},
		"max duration":    {func(c *Config) { c.Session.MaxDuration = 0 }, "session.max_duration"},
		"max spans":       {func(c *Config) { c.Session.MaxSpans = 0 }, "session.max_spans must be at least 1, got 0"},
		"max resident":    {func(c *Config) { c.Session.MaxResident = 0 }, "session.max_resident"},
		"pattern":         {func(c *Config) { c.Redact.Patterns = []string{"("} }, "redact.patterns must be regular expressions"},
		"interval":        {func(c *Config) { c.Metrics.Interval = 0 }, "metrics.interval"},
		"temporality":     {func(c *Config) { c.Metrics.Temporality = "rate" }, `metrics.temporality must be "cumulative" or "delta", got "rate"`},
		"tool names":      {func(c *Config) { c.Metrics.MaxToolNames = 0 }, "metrics.max_tool_names"},
		"series TTL":      {func(c *Config) { c.Metrics.SeriesTTL = 1 }, "metrics.series_ttl must not be shorter than metrics.interval"},
		"no price file":   {func(c *Config) { c.Pricing.File = "no-such-prices.json" }, `pricing.file must be a readable file, got "no-such-prices.json": no such file`},
		"bad price file":  {func(c *Config) { c.Pricing.File = bad }, "pricing.file must be a catalogue in LiteLLM's JSON shape, got"},
		"web search":      {func(c *Config) { c.Pricing.WebSearchUSD = -1 }, "pricing.web_search_usd"},
		"alias of nobody": {func(c *Config) { c.Pricing.Models = map[string]string{"a": ""} }, "pricing.models"},
	} {
		t.Run(name, func(t *testing.T) {
			c := NewDefaultConfig()
			tc.set(&c)
			assert.ErrorContains(t, c.Check(), tc.want)
		})
	}
}

func TestCheckReportsAllProblems(t *testing.T) {
	c := NewDefaultConfig()
	c.Format, c.Session.MaxSpans, c.Pricing.File = "x", 0, "no-such-prices.json"
	err := c.Check()
	for _, key := range []string{"format", "session.max_spans", "pricing.file"} {
		assert.ErrorContains(t, err, key)
	}
}

func TestSize(t *testing.T) {
	for text, want := range map[string]Size{
		"0": 0, "10": 10, "64MiB": 64 << 20, "1 KiB": 1024, "1.5MB": 1500000, "2GiB": 2 << 30, "7B": 7, "3kB": 3000,
	} {
		var s Size
		require.NoError(t, s.UnmarshalText([]byte(text)), text)
		assert.Equal(t, want, s, text)
		var again Size
		require.NoError(t, again.UnmarshalText([]byte(s.String())))
		assert.Equal(t, s, again)
	}
	for _, text := range []string{"", "MiB", "-1", "1TiBx", "NaN", "1e300", "64 mib"} {
		var s Size
		assert.Error(t, s.UnmarshalText([]byte(text)), text)
	}
}

func TestFixed(t *testing.T) {
	for name, want := range map[string][]translate.Format{
		"auto":        nil,
		"claude":      {translate.FormatClaudeCode, translate.FormatClaudeCodeTranscript},
		"claude_code": {translate.FormatClaudeCode, translate.FormatClaudeCodeTranscript},
		"cline":       {translate.FormatCline, translate.FormatClineLegacy},
		"codex":       {translate.FormatCodexExec, translate.FormatCodexRollout},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, want, (&Config{Format: name}).Fixed())
		})
	}
}
