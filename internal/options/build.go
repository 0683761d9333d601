// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/price"
	"github.com/otelcol-agents/otelcol-agents/translate/redact"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

// SessionConfig is the configuration of an assembler.
func (c *Config) SessionConfig() (session.Config, error) {
	capture, err := c.captured()
	if err != nil {
		return session.Config{}, err
	}
	catalogue, err := c.Pricing.catalogue()
	if err != nil {
		return session.Config{}, err
	}
	cfg := session.NewConfig()
	cfg.Turn = c.Session.Trace == TraceTurn
	cfg.IdleTimeout = c.Session.IdleTimeout
	cfg.Linger = c.Session.Linger
	cfg.MaxDuration = c.Session.MaxDuration
	cfg.MaxSpans = c.Session.MaxSpans
	cfg.MaxSessions = c.Session.MaxResident
	cfg.Capture = capture
	cfg.MaxContent = c.MaxContentBytes
	cfg.Prices = price.NewBook(catalogue)
	return cfg, nil
}

// Captured is the key "capture" as decoders take it. The configuration must be valid.
func (c *Config) Captured() translate.Capture {
	capture, _ := c.captured()
	return capture
}

// Redactor removes secrets from captured texts.
func (c *Config) Redactor() (*redact.Redactor, error) {
	return redact.New(c.Redact.Enabled, c.Redact.Patterns)
}

func (c *Pricing) catalogue() (*price.Catalogue, error) {
	prices := price.Default()
	if c.File != "" {
		data, err := os.ReadFile(c.File)
		if err != nil {
			// The path error repeats the path; only its cause is news.
			if path, ok := errors.AsType[*fs.PathError](err); ok {
				err = path.Err
			}
			return nil, fmt.Errorf("pricing.file must be a readable file, got %q: %w", c.File, err)
		}
		if prices, err = price.Parse(data); err != nil {
			return nil, fmt.Errorf("pricing.file must be a catalogue in LiteLLM's JSON shape, got %q: %w", c.File, err)
		}
	}
	return prices.With(price.Options{Models: c.Models, WebSearchUSD: c.WebSearchUSD}), nil
}
