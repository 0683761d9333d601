// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package price

import (
	_ "embed" // the catalogue
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The catalogue is an extract of BerriAI/litellm model_prices_and_context_window.json (MIT): chat
// models and price fields. Both files are written by internal/pricecut.
//
//go:embed model_prices.json
var embedded []byte

//go:embed model_prices.date
var date string

// Date is the day, YYYY-MM-DD, on which the prices of the built-in catalogue were published.
func Date() string { return strings.TrimSpace(date) }

// Default is the built-in catalogue under default options. It is parsed at the first call.
func Default() *Catalogue { return builtin() }

var builtin = sync.OnceValue(func() *Catalogue {
	c, err := Parse(embedded)
	if err != nil {
		panic("built-in price catalogue: " + err.Error()) // a test parses it
	}
	return c
})

// The price fields of LiteLLM's shape, in USD per token.
const (
	fieldInput     = "input_cost_per_token"
	fieldOutput    = "output_cost_per_token"
	fieldCacheRead = "cache_read_input_token_cost"
	fieldWrite5m   = "cache_creation_input_token_cost"
	fieldWrite1h   = "cache_creation_input_token_cost_above_1hr"
	fieldSpecific  = "provider_specific_entry"

	// sampleModel is LiteLLM's description of its own fields.
	sampleModel = "sample_spec"
)

// Parse reads a catalogue in LiteLLM's JSON shape: an object from model to its prices. A model without
// a price for input and for output (an image model, tiered prices only) is left out, so it stays
// unpriced; fields that are no price are not looked at. An error names the model and the field.
//
// Prices that the catalogue does not state:
//
//   - cache read and 5-minute cache write: the input price, since then the vendor bills them as input;
//   - 1-hour cache write: twice the input price for Claude models, the vendor's own rule, else the
//     5-minute price;
//   - long context ("…_above_200k_tokens" with any number): a cache price follows the input price in
//     proportion, the output price stays.
func Parse(data []byte) (*Catalogue, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, fmt.Errorf("price catalogue: %w", located(err))
	}
	if raw == nil {
		return nil, errors.New("price catalogue: must be an object from model to prices, got null")
	}
	c := &Catalogue{
		models:     make(map[string]*entry, len(raw)),
		normalized: make(map[string]*entry, len(raw)),
		webSearch:  DefaultWebSearchUSD,
	}
	names := make([]string, 0, len(raw))
	for name := range raw {
		names = append(names, name)
	}
	slices.Sort(names) // the first error and the choice below must not hang on map order
	chosen := make(map[string]string, len(raw))
	for _, name := range names {
		if name == sampleModel || name == "" {
			continue
		}
		e, err := parseEntry(name, raw[name])
		if err != nil {
			return nil, fmt.Errorf("price catalogue: model %q: %w", name, err)
		}
		if e == nil {
			continue
		}
		c.models[name] = e
		n := Normalize(name)
		if old, ok := chosen[n]; !ok || plainer(name, old) {
			chosen[n] = name
			c.normalized[n] = e
		}
	}
	if len(c.models) == 0 {
		return nil, fmt.Errorf("price catalogue: no model has both %s and %s", fieldInput, fieldOutput)
	}
	return c, nil
}

// plainer reports whether key a stands better than key b for the normalized name of both: the name
// itself, then a snapshot of it, the latest first, then a provider's spelling, the shortest first.
func plainer(a, b string) bool {
	ra, rb := rank(a), rank(b)
	switch {
	case ra != rb:
		return ra < rb
	case ra < 2:
		return a > b // keys of one model differ in their date
	case len(a) != len(b):
		return len(a) < len(b)
	default:
		return a < b
	}
}

func rank(key string) int {
	switch key {
	case Normalize(key):
		return 0
	case undecorate(key):
		return 1
	default:
		return 2
	}
}

func located(err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%w, at byte %d", err, syntax.Offset)
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("must be an object from model to prices, got %s", kind.Value)
	}
	return err
}

func parseEntry(name string, raw json.RawMessage) (*entry, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, fmt.Errorf("must be an object, got %s", kindOf(raw))
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	base, err := parsePrices(fields, "")
	if err != nil {
		return nil, err
	}
	if !base.input.ok || !base.output.ok {
		return nil, nil
	}
	e := &entry{fast: 1, base: base.resolve(name)}

	var above []int64
	for field := range fields {
		if k, ok := threshold(field); ok && !slices.Contains(above, k) {
			above = append(above, k)
		}
	}
	slices.Sort(above)
	for _, k := range above {
		long, err := parsePrices(fields, fmt.Sprintf("_above_%dk_tokens", k))
		if err != nil {
			return nil, err
		}
		e.tiers = append(e.tiers, tier{above: float64(k) * 1000, rates: long.over(e.base)})
	}

	if spec := fields[fieldSpecific]; len(spec) > 0 && spec[0] == '{' {
		var specific map[string]json.RawMessage
		if err := json.Unmarshal(spec, &specific); err != nil {
			return nil, fmt.Errorf("%s: %w", fieldSpecific, err)
		}
		fast, err := parsePrice(specific, "fast")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", fieldSpecific, err)
		}
		if fast.ok {
			e.fast = fast.usd
		}
	}
	return e, nil
}

// threshold reads N from input_cost_per_token_above_Nk_tokens: without a long-context price of the
// input a tier is none.
func threshold(field string) (int64, bool) {
	n, ok := strings.CutPrefix(field, fieldInput+"_above_")
	if !ok {
		return 0, false
	}
	if n, ok = strings.CutSuffix(n, "k_tokens"); !ok || n == "" || n[0] < '1' || n[0] > '9' {
		return 0, false
	}
	k, err := strconv.ParseInt(n, 10, 32)
	return k, err == nil
}

type price struct {
	usd float64
	ok  bool
}

func (p price) or(usd float64) float64 {
	if p.ok {
		return p.usd
	}
	return usd
}

type prices struct {
	input, cacheRead, write5m, write1h, output price
}

func parsePrices(fields map[string]json.RawMessage, suffix string) (prices, error) {
	var p prices
	for _, f := range []struct {
		name string
		to   *price
	}{
		{fieldInput, &p.input},
		{fieldOutput, &p.output},
		{fieldCacheRead, &p.cacheRead},
		{fieldWrite5m, &p.write5m},
		{fieldWrite1h, &p.write1h},
	} {
		var err error
		if *f.to, err = parsePrice(fields, f.name+suffix); err != nil {
			return prices{}, err
		}
	}
	return p, nil
}

func parsePrice(fields map[string]json.RawMessage, name string) (price, error) {
	raw := fields[name]
	if len(raw) == 0 || string(raw) == "null" {
		return price{}, nil
	}
	usd, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || usd < 0 || math.IsInf(usd, 0) || math.IsNaN(usd) {
		return price{}, fmt.Errorf("%s: must be a number, zero or more, got %s", name, kindOf(raw))
	}
	return price{usd: usd, ok: true}, nil
}

func (p prices) resolve(name string) rates {
	r := rates{input: p.input.usd, output: p.output.usd}
	r.cacheRead = p.cacheRead.or(r.input)
	r.write5m = p.write5m.or(r.input)
	hour := r.write5m
	if strings.Contains(name, "claude") {
		hour = 2 * r.input
	}
	r.write1h = p.write1h.or(hour)
	return r
}

func (p prices) over(base rates) rates {
	factor := 1.0
	if base.input > 0 {
		factor = p.input.or(base.input) / base.input
	}
	return rates{
		input:     p.input.or(base.input),
		cacheRead: p.cacheRead.or(base.cacheRead * factor),
		write5m:   p.write5m.or(base.write5m * factor),
		write1h:   p.write1h.or(base.write1h * factor),
		output:    p.output.or(base.output),
	}
}

func kindOf(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		if len(raw) > 32 {
			raw = raw[:32]
		}
		return string(raw)
	}
}
