// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package options is the part of the receiver's configuration that replay shares with it.
//
// The structs carry the tags of the collector's confmap and of plain YAML, so that both read the same
// keys. Each default stands once, in the NewDefault function of its struct.
package options

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/price"
	"github.com/otelcol-agents/otelcol-agents/translate/redact"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

// Config is how input is understood and what of it leaves.
type Config struct {
	// Format is an agent family, or "auto": each source is judged by its own records.
	Format string `mapstructure:"format" yaml:"format"`
	// ServiceName replaces the agent's name as service.name. Empty keeps the agent's name.
	ServiceName string `mapstructure:"service_name" yaml:"service_name"`
	// ResourceAttributes stand on the resource of every signal.
	ResourceAttributes map[string]string `mapstructure:"resource_attributes" yaml:"resource_attributes"`
	// MaxLineSize bounds a line, in bytes. A longer one is skipped without being held, and counted.
	MaxLineSize Size    `mapstructure:"max_line_size" yaml:"max_line_size"`
	Session     Session `mapstructure:"session" yaml:"session"`
	// Capture names the kinds of content that may leave. Empty lets none out.
	Capture []string `mapstructure:"capture" yaml:"capture"`
	// MaxContentBytes bounds each captured value, in bytes; what is over it is cut and marked.
	MaxContentBytes int    `mapstructure:"max_content_bytes" yaml:"max_content_bytes"`
	Redact          Redact `mapstructure:"redact" yaml:"redact"`
	// SemanticConventions is "latest", or "1.41" for backends that know the old attribute names only.
	SemanticConventions string  `mapstructure:"semantic_conventions" yaml:"semantic_conventions"`
	Metrics             Metrics `mapstructure:"metrics" yaml:"metrics"`
	Pricing             Pricing `mapstructure:"pricing" yaml:"pricing"`
}

// NewDefaultConfig returns the defaults of all keys.
func NewDefaultConfig() Config {
	return Config{
		Format:              FormatAuto,
		MaxLineSize:         64 << 20,
		Session:             NewDefaultSession(),
		MaxContentBytes:     8192,
		Redact:              NewDefaultRedact(),
		SemanticConventions: ConventionsLatest,
		Metrics:             NewDefaultMetrics(),
		Pricing:             NewDefaultPricing(),
	}
}

// Values of semantic_conventions.
const (
	ConventionsLatest = "latest"
	Conventions141    = "1.41"
)

// Limits that keep a typing error from asking for absurd amounts of memory.
const (
	minLineSize = 1 << 10
	maxLineSize = 1 << 30
	maxContent  = 16 << 20
)

// Check reports every problem of the configuration, the files that it names included. It is not called
// Validate, because the collector calls every method of that name that it finds in a configuration.
func (c *Config) Check() error {
	var p problems
	p.add(validFormat(c.Format))
	p.check(c.MaxLineSize >= minLineSize && c.MaxLineSize <= maxLineSize,
		"max_line_size must be between 1KiB and 1GiB, got %s", c.MaxLineSize)
	p.check(c.MaxContentBytes >= 1 && c.MaxContentBytes <= maxContent,
		"max_content_bytes must be between 1 and %d, got %d", maxContent, c.MaxContentBytes)
	p.check(c.SemanticConventions == ConventionsLatest || c.SemanticConventions == Conventions141,
		`semantic_conventions must be "latest" or "1.41", got %q`, c.SemanticConventions)
	_, unnamed := c.ResourceAttributes[""]
	p.check(!unnamed, "resource_attributes must have no empty name")
	_, err := c.captured()
	p.add(err)
	p.add(c.Session.check(), c.Redact.check(), c.Metrics.check(), c.Pricing.check())
	return p.join()
}

// Session says where sessions begin and end.
type Session struct {
	// Trace is "session" for one trace per session segment, "turn" for one per human prompt.
	Trace string `mapstructure:"trace" yaml:"trace"`
	// IdleTimeout closes a session without records; a longer gap between record times cuts it.
	IdleTimeout time.Duration `mapstructure:"idle_timeout" yaml:"idle_timeout"`
	// Linger is how long after a terminal record late records still join. Zero: not at all.
	Linger time.Duration `mapstructure:"linger" yaml:"linger"`
	// MaxDuration is the longest segment by record times: backends limit the age of a trace.
	MaxDuration time.Duration `mapstructure:"max_duration" yaml:"max_duration"`
	// MaxSpans bounds the spans of one segment: backends limit the size of a trace.
	MaxSpans int `mapstructure:"max_spans" yaml:"max_spans"`
	// MaxResident bounds the sessions in memory. Beyond it a receiver lets those of files go that were idle
	// longest, and folds them again when they go on. What cannot go, and in replay, is closed some way above
	// it; what still comes of that is a new, linkless segment.
	MaxResident int `mapstructure:"max_resident" yaml:"max_resident"`
}

// Values of session.trace.
const (
	TraceSession = "session"
	TraceTurn    = "turn"
)

// NewDefaultSession returns the defaults of the section "session".
func NewDefaultSession() Session {
	return Session{
		Trace:       TraceSession,
		IdleTimeout: session.DefaultIdleTimeout,
		Linger:      session.DefaultLinger,
		MaxDuration: session.DefaultMaxDuration,
		MaxSpans:    session.DefaultMaxSpans,
		MaxResident: 10000,
	}
}

// check reports every problem of the section.
func (s *Session) check() error {
	var p problems
	p.check(s.Trace == TraceSession || s.Trace == TraceTurn, `session.trace must be "session" or "turn", got %q`, s.Trace)
	p.check(s.IdleTimeout >= time.Millisecond, "session.idle_timeout must be at least 1ms, got %s", s.IdleTimeout)
	p.check(s.Linger >= 0, "session.linger must not be negative, got %s", s.Linger)
	p.check(s.MaxDuration >= time.Millisecond, "session.max_duration must be at least 1ms, got %s", s.MaxDuration)
	p.check(s.MaxSpans >= 1, "session.max_spans must be at least 1, got %d", s.MaxSpans)
	p.check(s.MaxResident >= 1, "session.max_resident must be at least 1, got %d", s.MaxResident)
	return p.join()
}

// Redact says which captured texts lose their secrets.
type Redact struct {
	// Enabled is on by default; off, captured content leaves as it is.
	Enabled bool `mapstructure:"enabled" yaml:"enabled"`
	// Patterns are regular expressions (RE2) for secrets besides the built-in ones.
	Patterns []string `mapstructure:"patterns" yaml:"patterns"`
}

// NewDefaultRedact returns the defaults of the section "redact".
func NewDefaultRedact() Redact { return Redact{Enabled: true} }

// check reports every problem of the section.
func (r *Redact) check() error {
	if _, err := redact.New(r.Enabled, r.Patterns); err != nil {
		return fmt.Errorf("redact.patterns must be regular expressions: %w", err)
	}
	return nil
}

// Metrics says how metrics are counted and sent.
type Metrics struct {
	// Interval between two emissions of all live series.
	Interval time.Duration `mapstructure:"interval" yaml:"interval"`
	// Temporality is "cumulative" or "delta".
	Temporality string `mapstructure:"temporality" yaml:"temporality"`
	// LegacyTokenUsage adds the histogram gen_ai.client.token.usage, which some backends price from.
	LegacyTokenUsage bool `mapstructure:"legacy_token_usage" yaml:"legacy_token_usage"`
	// MaxToolNames bounds the values of the tool label; further names count as "other".
	MaxToolNames int `mapstructure:"max_tool_names" yaml:"max_tool_names"`
	// SeriesTTL leaves out a series that did not move for so long, until it moves again.
	SeriesTTL time.Duration `mapstructure:"series_ttl" yaml:"series_ttl"`
}

// Values of metrics.temporality.
const (
	TemporalityCumulative = "cumulative"
	TemporalityDelta      = "delta"
)

// NewDefaultMetrics returns the defaults of the section "metrics".
func NewDefaultMetrics() Metrics {
	return Metrics{
		Interval:         30 * time.Second,
		Temporality:      TemporalityCumulative,
		LegacyTokenUsage: true,
		MaxToolNames:     100,
		SeriesTTL:        24 * time.Hour,
	}
}

// check reports every problem of the section.
func (m *Metrics) check() error {
	var p problems
	p.check(m.Interval >= 10*time.Millisecond, "metrics.interval must be at least 10ms, got %s", m.Interval)
	p.check(m.Temporality == TemporalityCumulative || m.Temporality == TemporalityDelta,
		`metrics.temporality must be "cumulative" or "delta", got %q`, m.Temporality)
	p.check(m.MaxToolNames >= 1, "metrics.max_tool_names must be at least 1, got %d", m.MaxToolNames)
	p.check(m.SeriesTTL >= m.Interval, "metrics.series_ttl must not be shorter than metrics.interval, got %s", m.SeriesTTL)
	return p.join()
}

// Pricing says what tokens cost.
type Pricing struct {
	// File is a catalogue in LiteLLM's JSON shape. Empty: the built-in catalogue.
	File string `mapstructure:"file" yaml:"file"`
	// Models maps ARNs and house names to models of the catalogue.
	Models map[string]string `mapstructure:"models" yaml:"models"`
	// WebSearchUSD is the price of one web search request, in USD. Zero: free.
	WebSearchUSD float64 `mapstructure:"web_search_usd" yaml:"web_search_usd"`
}

// NewDefaultPricing returns the defaults of the section "pricing".
func NewDefaultPricing() Pricing { return Pricing{WebSearchUSD: price.DefaultWebSearchUSD} }

// check reports every problem of the section and reads the file that it names.
func (c *Pricing) check() error {
	var p problems
	_, err := c.catalogue()
	p.add(err)
	p.check(c.WebSearchUSD >= 0 && !math.IsInf(c.WebSearchUSD, 0), "pricing.web_search_usd must be a price in USD, 0 or more, got %v", c.WebSearchUSD)
	for _, alias := range slices.Sorted(maps.Keys(c.Models)) {
		p.check(alias != "" && c.Models[alias] != "", "pricing.models must map a name to a model of the catalogue, got %q: %q", alias, c.Models[alias])
	}
	return p.join()
}

// captures are the values of the key "capture" with what each opens.
var captures = []struct {
	name string
	set  func(*translate.Capture)
}{
	{"prompts", func(c *translate.Capture) { c.Prompts = true }},
	{"responses", func(c *translate.Capture) { c.Responses = true }},
	{"reasoning", func(c *translate.Capture) { c.Reasoning = true }},
	{"tool_arguments", func(c *translate.Capture) { c.ToolArguments = true }},
	{"tool_results", func(c *translate.Capture) { c.ToolResults = true }},
	{"raw", func(c *translate.Capture) { c.Raw = true }},
	{"identity", func(c *translate.Capture) { c.Identity = true }},
}

func (c *Config) captured() (translate.Capture, error) {
	var out translate.Capture
	var p problems
next:
	for _, name := range c.Capture {
		for _, k := range captures {
			if k.name == name {
				k.set(&out)
				continue next
			}
		}
		names := make([]string, len(captures))
		for i, k := range captures {
			names[i] = k.name
		}
		p.check(false, "capture must be a list of %s, got %q", strings.Join(names, ", "), name)
	}
	return out, p.join()
}

// problems collects what is wrong, so that one look at the messages is enough to mend all of it.
type problems []error

func (p *problems) add(errs ...error) {
	for _, err := range errs {
		if err != nil {
			*p = append(*p, err)
		}
	}
}

func (p *problems) check(ok bool, format string, args ...any) {
	if !ok {
		*p = append(*p, fmt.Errorf(format, args...))
	}
}

func (p *problems) join() error { return errors.Join(*p...) }
