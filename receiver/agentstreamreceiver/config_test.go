// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package agentstreamreceiver

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/confignet"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configtls"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"

	"github.com/otelcol-agents/otelcol-agents/internal/options"
	"github.com/otelcol-agents/otelcol-agents/receiver/agentstreamreceiver/internal/metadata"
)

// load reads a section of testdata/config.yaml over the defaults.
func load(t *testing.T, name string) *Config {
	t.Helper()
	cm, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	require.NoError(t, err)
	require.True(t, cm.IsSet(component.NewIDWithName(metadata.Type, name).String()), "no section %q", name)
	sub, err := cm.Sub(component.NewIDWithName(metadata.Type, name).String())
	require.NoError(t, err)
	cfg := createDefaultConfig().(*Config)
	require.NoError(t, sub.Unmarshal(cfg))
	return cfg
}

// parse reads the body of a section over the defaults.
func parse(t *testing.T, body map[string]any) (*Config, error) {
	t.Helper()
	cfg := createDefaultConfig().(*Config)
	return cfg, confmap.NewFromStringMap(body).Unmarshal(cfg)
}

func TestDefaultConfig(t *testing.T) {
	cfg := createDefaultConfig()
	require.NoError(t, componenttest.CheckConfigStruct(cfg))
	assert.Equal(t, &Config{
		Options: options.NewDefaultConfig(),
		Files:   configoptional.Default(NewDefaultFilesConfig()),
		TCP:     configoptional.Default(NewDefaultTCPConfig()),
		HTTP:    configoptional.Default(NewDefaultHTTPConfig()),
	}, cfg)
	require.EqualError(t, confmap.Validate(cfg), "at least one of files, tcp and http must be set",
		"the defaults listen nowhere and read nothing")
}

func TestLoadEveryKey(t *testing.T) {
	cfg := load(t, "")
	require.NoError(t, confmap.Validate(cfg))
	want := createDefaultConfig().(*Config)
	want.Options = options.Config{
		Format:             "claude",
		ServiceName:        "my-agents",
		ResourceAttributes: map[string]string{"deployment.environment.name": "ci"},
		MaxLineSize:        1 << 20,
		Session: options.Session{
			Trace: "turn", IdleTimeout: 4 * time.Minute, Linger: 500 * time.Millisecond, MaxDuration: time.Hour,
			MaxSpans: 5, MaxResident: 5000,
		},
		Capture:             []string{"prompts", "responses", "reasoning", "tool_arguments", "tool_results", "raw", "identity"},
		MaxContentBytes:     100,
		Redact:              options.Redact{Patterns: []string{"secret-[0-9]+"}},
		SemanticConventions: "1.41",
		Metrics: options.Metrics{
			Interval: time.Second, Temporality: "delta", MaxToolNames: 3, SeriesTTL: time.Minute,
		},
		Pricing: options.Pricing{
			File: "testdata/prices.json", Models: map[string]string{"house": "house-model"}, WebSearchUSD: 0.02,
		},
	}
	want.Files = configoptional.Some(FilesConfig{
		Include: []string{"/var/log/agents/**/*.jsonl", "~/.claude/projects/**/*.jsonl"}, Exclude: []string{"**/old/**"},
		StartAt: StartAtBeginning, PollInterval: time.Second, MaxAge: 720 * time.Hour,
	})
	tls := configtls.NewDefaultServerConfig()
	tls.CertFile, tls.KeyFile, tls.ClientCAFile = "server.crt", "server.key", "ca.crt"
	want.TCP = configoptional.Some(TCPConfig{
		Address:        confignet.TCPAddrConfig{Endpoint: "localhost:14319", DialerConfig: confignet.DialerConfig{Timeout: time.Second}},
		MaxConnections: 7, IdleTimeout: time.Minute, TLS: configoptional.Some(tls),
	})
	http := NewDefaultHTTPConfig()
	http.ServerConfig.NetAddr.Endpoint = "localhost:14320"
	http.ServerConfig.MaxRequestBodySize = 1 << 20
	http.BaggageAttributes = []string{"team"}
	want.HTTP = configoptional.Some(http)
	id := component.MustNewIDWithName("file_storage", "agents")
	want.Storage = &id
	assert.Equal(t, want, cfg)
	assert.NotNil(t, cfg.TCP.Get().TLS.Get())
}

func TestSectionsWithoutValue(t *testing.T) {
	t.Run("tcp and http", func(t *testing.T) {
		cfg := load(t, "listeners")
		require.NoError(t, confmap.Validate(cfg))
		require.NotNil(t, cfg.TCP.Get())
		assert.Equal(t, NewDefaultTCPConfig(), *cfg.TCP.Get())
		assert.Nil(t, cfg.TCP.Get().TLS.Get())
		require.NotNil(t, cfg.HTTP.Get())
		assert.Equal(t, NewDefaultHTTPConfig(), *cfg.HTTP.Get())
		assert.Equal(t, int64(math.MaxInt64), cfg.HTTP.Get().ServerConfig.MaxRequestBodySize)
		assert.False(t, cfg.Files.HasValue())
	})
	t.Run("tls", func(t *testing.T) {
		cfg := load(t, "empty_tls")
		require.NoError(t, confmap.Validate(cfg))
		assert.Nil(t, cfg.TCP.Get().TLS.Get(), "an empty section asks for nothing")
	})
	t.Run("files", func(t *testing.T) {
		cfg := load(t, "files_without_include")
		require.ErrorContains(t, confmap.Validate(cfg), "files.include must name at least one glob")
		assert.Equal(t, NewDefaultFilesConfig(), *cfg.Files.Get())
	})
	t.Run("all of it", func(t *testing.T) {
		require.ErrorContains(t, confmap.Validate(load(t, "nothing")), "at least one of files, tcp and http must be set")
	})
}

func TestUnknownKeys(t *testing.T) {
	for name, body := range map[string]map[string]any{
		"top level":  {"tcp": nil, "nonsense": 1},
		"in files":   {"files": map[string]any{"include": []any{"*"}, "nonsense": 1}},
		"in tcp":     {"tcp": map[string]any{"nonsense": 1}},
		"in tls":     {"tcp": map[string]any{"tls": map[string]any{"nonsense": 1}}},
		"in http":    {"http": map[string]any{"nonsense": 1}},
		"in session": {"tcp": nil, "session": map[string]any{"nonsense": 1}},
		"in redact":  {"tcp": nil, "redact": map[string]any{"nonsense": 1}},
		"in metrics": {"tcp": nil, "metrics": map[string]any{"nonsense": 1}},
		"in pricing": {"tcp": nil, "pricing": map[string]any{"nonsense": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(t, body)
			require.ErrorContains(t, err, "nonsense")
		})
	}
}

func TestWrongTypes(t *testing.T) {
	for name, tt := range map[string]struct {
		body map[string]any
		want string
	}{
		"size":     {map[string]any{"max_line_size": "many"}, "max_line_size"},
		"duration": {map[string]any{"files": map[string]any{"poll_interval": "soon"}}, "poll_interval"},
		"number":   {map[string]any{"tcp": map[string]any{"max_connections": "x"}}, "max_connections"},
		"list":     {map[string]any{"capture": map[string]any{"a": 1}}, "capture"},
		"id":       {map[string]any{"storage": "file storage"}, "storage"},
		"no id":    {map[string]any{"storage": ""}, "storage"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(t, tt.body)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[any]options.Size{"64KiB": 64 << 10, "1MB": 1000000, 65536: 65536} {
		cfg, err := parse(t, map[string]any{"max_line_size": text})
		require.NoError(t, err)
		assert.Equal(t, want, cfg.Options.MaxLineSize)
	}
}

// TestValidate breaks one rule at a time in a configuration that is valid otherwise.
func TestValidate(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Config)
		want   string // empty: still valid
	}{
		"valid":                    {func(*Config) {}, ""},
		"format":                   {func(c *Config) { c.Options.Format = "cobol" }, `format must be one of`},
		"format without a decoder": {func(c *Config) { c.Options.Format = "goose" }, `format "goose" has no decoder`},
		"unnamed attribute":        {func(c *Config) { c.Options.ResourceAttributes = map[string]string{"": "x"} }, "resource_attributes must have no empty name"},
		"line size":                {func(c *Config) { c.Options.MaxLineSize = 1 }, "max_line_size must be between 1KiB and 1GiB"},
		"line size, large":         {func(c *Config) { c.Options.MaxLineSize = 2 << 30 }, "max_line_size must be between 1KiB and 1GiB"},
		"capture":                  {func(c *Config) { c.Options.Capture = []string{"everything"} }, `capture must be a list of`},
		"content":                  {func(c *Config) { c.Options.MaxContentBytes = 0 }, "max_content_bytes must be between"},
		"patterns":                 {func(c *Config) { c.Options.Redact.Patterns = []string{"("} }, "redact.patterns must be regular expressions"},
		"conventions":              {func(c *Config) { c.Options.SemanticConventions = "1.0" }, "semantic_conventions must be"},
		"trace":                    {func(c *Config) { c.Options.Session.Trace = "span" }, "session.trace must be"},
		"session idle":             {func(c *Config) { c.Options.Session.IdleTimeout = 0 }, "session.idle_timeout must be"},
		"linger":                   {func(c *Config) { c.Options.Session.Linger = -1 }, "session.linger must not be negative"},
		"no linger":                {func(c *Config) { c.Options.Session.Linger = 0 }, ""},
		"duration":                 {func(c *Config) { c.Options.Session.MaxDuration = 0 }, "session.max_duration must be"},
		"spans":                    {func(c *Config) { c.Options.Session.MaxSpans = 0 }, "session.max_spans must be"},
		"resident":                 {func(c *Config) { c.Options.Session.MaxResident = 0 }, "session.max_resident must be"},
		"interval":                 {func(c *Config) { c.Options.Metrics.Interval = 0 }, "metrics.interval must be"},
		"temporality":              {func(c *Config) { c.Options.Metrics.Temporality = "both" }, "metrics.temporality must be"},
		"tool names":               {func(c *Config) { c.Options.Metrics.MaxToolNames = 0 }, "metrics.max_tool_names must be"},
		"series":                   {func(c *Config) { c.Options.Metrics.SeriesTTL = 0 }, "metrics.series_ttl must not be shorter"},
		"price file":               {func(c *Config) { c.Options.Pricing.File = "testdata/none.json" }, "pricing.file must be a readable file"},
		"price catalogue":          {func(c *Config) { c.Options.Pricing.File = "metadata.yaml" }, "pricing.file must be a catalogue"},
		"alias":                    {func(c *Config) { c.Options.Pricing.Models = map[string]string{"a": ""} }, "pricing.models must map"},
		"search price":             {func(c *Config) { c.Options.Pricing.WebSearchUSD = math.NaN() }, "pricing.web_search_usd must be"},
		"no glob":                  {func(c *Config) { c.Files.Get().Include = nil }, "files.include must name at least one glob"},
		"glob":                     {func(c *Config) { c.Files.Get().Include = []string{"[a"} }, `files.include must be globs, got "[a"`},
		"excluding glob":           {func(c *Config) { c.Files.Get().Exclude = []string{"{a"} }, `files.exclude must be globs, got "{a"`},
		"start":                    {func(c *Config) { c.Files.Get().StartAt = "middle" }, `files.start_at must be "beginning" or "end", got "middle"`},
		"poll":                     {func(c *Config) { c.Files.Get().PollInterval = time.Microsecond }, "files.poll_interval must be at least 1ms, got 1µs"},
		"age":                      {func(c *Config) { c.Files.Get().MaxAge = -time.Hour }, "files.max_age must not be negative, got -1h0m0s"},
		"tcp endpoint":             {func(c *Config) { c.TCP.Get().Address.Endpoint = "4319" }, `tcp.endpoint must be host:port, got "4319": missing port`},
		"tcp port":                 {func(c *Config) { c.TCP.Get().Address.Endpoint = "localhost:" }, "tcp.endpoint must be host:port"},
		"connections":              {func(c *Config) { c.TCP.Get().MaxConnections = 0 }, "tcp.max_connections must be at least 1, got 0"},
		"tcp idle":                 {func(c *Config) { c.TCP.Get().IdleTimeout = 0 }, "tcp.idle_timeout must be positive, got 0s"},
		"http endpoint":            {func(c *Config) { c.HTTP.Get().ServerConfig.NetAddr.Endpoint = "x" }, `http.endpoint must be host:port, got "x"`},
		"baggage":                  {func(c *Config) { c.HTTP.Get().BaggageAttributes = []string{""} }, "http.baggage_attributes must have no empty name"},
		"one port for two":         {func(c *Config) { c.HTTP.Get().ServerConfig.NetAddr.Endpoint = c.TCP.Get().Address.Endpoint }, "tcp.endpoint and http.endpoint must differ"},
		"any port for two": {func(c *Config) {
			c.HTTP.Get().ServerConfig.NetAddr.Endpoint = "localhost:0"
			c.TCP.Get().Address.Endpoint = "localhost:0"
		}, ""},
		"storage":                   {func(c *Config) { id := component.MustNewID("file_storage"); c.Storage = &id }, ""},
		"empty storage":             {func(c *Config) { c.Storage = &component.ID{} }, "storage must be the id of a storage extension"},
		"few resident":              {func(c *Config) { c.Options.Session.MaxResident = 1 }, ""},
		"tls without a certificate": {func(c *Config) { c.TCP.Get().TLS.GetOrInsertDefault().CertFile = "x" }, "tls"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := parse(t, map[string]any{"files": map[string]any{"include": []any{"/x/*.jsonl"}}, "tcp": nil, "http": nil})
			require.NoError(t, err)
			tt.change(cfg)
			err = confmap.Validate(cfg)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestValidateTellsAllProblems(t *testing.T) {
	cfg, err := parse(t, map[string]any{
		"format": "cobol", "capture": []any{"everything"},
		"session": map[string]any{"linger": "-1s", "max_spans": 0},
		"files":   map[string]any{"start_at": "middle", "poll_interval": "0s"},
		"tcp":     map[string]any{"endpoint": "nowhere", "max_connections": -1},
		"http":    map[string]any{"endpoint": "nowhere", "baggage_attributes": []any{""}},
	})
	require.NoError(t, err)
	cfg.Storage = &component.ID{}
	err = confmap.Validate(cfg)
	require.Error(t, err)
	for _, key := range []string{
		"format ", "capture ", "session.linger ", "session.max_spans ", "files.include ", "files.start_at ", "files.poll_interval ",
		"tcp.endpoint ", "tcp.max_connections ", "http.endpoint ", "http.baggage_attributes ", "storage ",
	} {
		assert.Contains(t, err.Error(), key)
	}
	assert.Equal(t, 1, strings.Count(err.Error(), "tcp.max_connections"), "each problem once")
}

func TestDisabledSections(t *testing.T) {
	cfg, err := parse(t, map[string]any{"tcp": nil, "http": map[string]any{"enabled": false}})
	require.NoError(t, err)
	require.NoError(t, confmap.Validate(cfg))
	assert.True(t, cfg.TCP.HasValue())
	assert.False(t, cfg.HTTP.HasValue())
}
