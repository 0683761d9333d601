// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package price says what the usage of a model response costs, and under which name a model is counted.
package price

import (
	"maps"
	"strings"
)

// DefaultWebSearchUSD is the price of one web search request in USD when nothing else is configured.
const DefaultWebSearchUSD = 0.01

// Usage is what one request used, in tokens. The classes are disjoint: adding them gives what is
// billed. Negative counts count as zero.
type Usage struct {
	Input        int64 // uncached input
	CacheRead    int64
	CacheWrite5m int64 // also what is left of an aggregate that its split does not explain
	CacheWrite1h int64
	Output       int64  // includes reasoning
	WebSearches  int64  // requests, not tokens
	Speed        string // as the response says it; only "fast" may change the price
	// Several says that the counts are those of more than one request. How long each was is then not known,
	// and long context is billed per request: the base price stands.
	Several bool
}

// Options are an operator's words on prices. The zero Options have no aliases and free web searches.
type Options struct {
	// Models maps what a response may call its model (an ARN, a house name; raw or normalized) to a
	// model of the catalogue. One step only: an alias of an alias is not followed.
	Models map[string]string
	// WebSearchUSD is the price of one web search request in USD. Zero is free, not the default.
	WebSearchUSD float64
}

// Catalogue holds prices per model. It is immutable and safe for concurrent use.
type Catalogue struct {
	models     map[string]*entry // by the catalogue's own key
	normalized map[string]*entry // by Normalize of the key
	aliases    map[string]string
	webSearch  float64
}

// rates are USD per token.
type rates struct {
	input, cacheRead, write5m, write1h, output float64
}

// tier is the price of a request whose whole input exceeds a number of tokens.
type tier struct {
	above float64
	rates rates
}

type entry struct {
	base  rates
	tiers []tier  // by threshold, ascending
	fast  float64 // multiplier of speed "fast"; 1 where the vendor has none
}

// With returns the same prices under other options.
func (c *Catalogue) With(opts Options) *Catalogue {
	d := *c
	d.aliases = maps.Clone(opts.Models)
	d.webSearch = opts.WebSearchUSD
	return &d
}

// Has reports whether the model has a price.
func (c *Catalogue) Has(model string) bool { return c.find(model) != nil }

// Cost is the estimate in USD (telemetry contract, section 7). It is false for a model without a
// price: there is no default, and the caller counts the tokens as unpriced.
//
// The look-up takes the first that is known of: the alias of the raw id, the alias of the normalized
// id, the raw id, the id without its provider's decoration, the normalized id (ruling 13). Aliases come
// before the catalogue because Label, which has no catalogue, must name the model that was priced.
//
// When the input of the request, cache included, exceeds the threshold of a long-context price, every
// token of the request is billed at that price, as the vendors do it.
func (c *Catalogue) Cost(model string, u Usage) (usd float64, ok bool) {
	return c.cost(c.find(model), u)
}

func (c *Catalogue) cost(e *entry, u Usage) (float64, bool) {
	if e == nil {
		return 0, false
	}
	in, read, out := tokens(u.Input), tokens(u.CacheRead), tokens(u.Output)
	w5, w1 := tokens(u.CacheWrite5m), tokens(u.CacheWrite1h)
	r := &e.base
	for i := range e.tiers {
		if !u.Several && in+read+w5+w1 > e.tiers[i].above {
			r = &e.tiers[i].rates
		}
	}
	// The order of the sum is fixed, and each product is rounded by its conversion: without it some
	// architectures fuse the multiplication into the addition and end on another last digit.
	usd := float64(in * r.input)
	usd += float64(read * r.cacheRead)
	usd += float64(w5 * r.write5m)
	usd += float64(w1 * r.write1h)
	usd += float64(out * r.output)
	if u.Speed == "fast" {
		usd = float64(usd * e.fast)
	}
	// A search is billed per request, whatever the speed of the tokens.
	usd += float64(tokens(u.WebSearches) * c.webSearch)
	return usd, true
}

func tokens(n int64) float64 { return float64(max(n, 0)) }

func (c *Catalogue) find(model string) *entry {
	if to, ok := alias(model, c.aliases); ok {
		return c.priced(to)
	}
	return c.priced(model)
}

func (c *Catalogue) priced(model string) *entry {
	if model == "" {
		return nil
	}
	if e := c.models[model]; e != nil {
		return e
	}
	bare := undecorate(model)
	if e := c.models[bare]; e != nil {
		return e
	}
	return c.normalized[Normalize(bare)]
}

// Label is the model label of metrics under the catalogue's aliases, see the function Label.
func (c *Catalogue) Label(model string) string { return Label(model, c.aliases) }

const bookSize = 1024 // resolutions kept; agents use a handful of models

type resolution struct {
	entry *entry
	label string
}

// Book is a Catalogue that remembers what it resolved, so that a repeated look-up allocates nothing.
// It is not safe for concurrent use; many Books may share one Catalogue. Its memory is bounded.
type Book struct {
	c    *Catalogue
	seen map[string]resolution
}

// NewBook returns an empty Book over c.
func NewBook(c *Catalogue) *Book { return &Book{c: c, seen: map[string]resolution{}} }

// Cost is Catalogue.Cost.
func (b *Book) Cost(model string, u Usage) (usd float64, ok bool) {
	return b.c.cost(b.resolve(model).entry, u)
}

// Label is Catalogue.Label.
func (b *Book) Label(model string) string { return b.resolve(model).label }

func (b *Book) resolve(model string) resolution {
	if r, ok := b.seen[model]; ok {
		return r
	}
	r := resolution{entry: b.c.find(model), label: strings.Clone(b.c.Label(model))}
	if len(model) <= maxName {
		if len(b.seen) >= bookSize {
			clear(b.seen)
		}
		// The id is a part of a line that must not be kept alive by it.
		b.seen[strings.Clone(model)] = r
	}
	return r
}
