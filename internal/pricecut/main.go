// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Command pricecut brings the built-in price catalogue up to date from a copy of LiteLLM's
// model_prices_and_context_window.json; docs/pricing.md says how it is used.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/otelcol-agents/otelcol-agents/translate/price"
)

func main() {
	from := flag.String("from", "", "a copy of model_prices_and_context_window.json")
	date := flag.String("date", "", "the day on which it was published, YYYY-MM-DD")
	into := flag.String("into", "translate/price", "the folder of model_prices.json and model_prices.date")
	flag.Parse()
	report, err := run(*from, *date, *into)
	if err != nil {
		fmt.Fprintln(os.Stderr, "pricecut:", err)
		os.Exit(1)
	}
	fmt.Println(report)
}

func run(from, date, into string) (string, error) {
	if from == "" {
		return "", errors.New("-from must name a file")
	}
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		return "", fmt.Errorf("-date must be YYYY-MM-DD, got %q", date)
	}
	full, err := os.ReadFile(from)
	if err != nil {
		return "", err
	}
	path := filepath.Join(into, "model_prices.json")
	old, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	now, report, err := cut(full, old)
	if err != nil {
		return "", fmt.Errorf("%s: %w", from, err)
	}
	if err := os.WriteFile(path, now, 0o644); err != nil { //nolint:gosec // a source file
		return "", err
	}
	return report, os.WriteFile(filepath.Join(into, "model_prices.date"), []byte(date+"\n"), 0o644) //nolint:gosec // a source file
}

type models map[string]map[string]json.RawMessage

var (
	// families are the models that agents are run with. The whole file has ten times as many.
	families = regexp.MustCompile(`^(claude-|codex-|gpt-|o[1-9]|gemini-|deepseek-|grok-|kimi-|glm-|minimax-)`)
	// makers are the path prefixes under which LiteLLM lists models that their makers serve themselves.
	makers = regexp.MustCompile(`^(anthropic|openai|gemini|deepseek|xai|moonshot|zai|minimax)/`)
	// kept are the fields beside prices.
	kept = map[string]bool{"litellm_provider": true, "max_input_tokens": true, "max_output_tokens": true, "mode": true, "provider_specific_entry": true}
)

// cut is what of the full file becomes the catalogue: chat models of the families, price fields. A
// model that the full file has no more keeps its old price: old transcripts are read as well.
func cut(full, old []byte) ([]byte, string, error) {
	var all, out models
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(full, &entries); err != nil {
		return nil, "", err
	}
	if err := json.Unmarshal(old, &out); err != nil {
		return nil, "", fmt.Errorf("the catalogue that is there: %w", err)
	}
	all = models{}
	for key, raw := range entries {
		var fields map[string]json.RawMessage
		if json.Unmarshal(raw, &fields) == nil && takes(key, fields) {
			all[key] = fields
		}
	}
	added, changed, seen := 0, 0, map[string]bool{}
	for key, fields := range all {
		name := makers.ReplaceAllString(key, "")
		if _, plain := all[name]; plain && name != key {
			continue // its own entry stands
		}
		seen[name] = true
		now := prices(fields)
		correct(name, now)
		switch before, ok := out[name]; {
		case !ok:
			added++
		case !same(before, now):
			changed++
		}
		out[name] = now
	}
	gone := 0
	for name := range out {
		if !seen[name] {
			gone++
		}
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", " ")
	if err := enc.Encode(out); err != nil {
		return nil, "", err
	}
	// It must be a catalogue before it becomes the one that is built in.
	if _, err := price.Parse(text.Bytes()); err != nil {
		return nil, "", err
	}
	return text.Bytes(), fmt.Sprintf("%d models: %d new, %d changed, %d kept that the file has no more", len(out), added, changed, gone), nil
}

func takes(key string, fields map[string]json.RawMessage) bool {
	if mode := string(fields["mode"]); mode != `"chat"` && mode != `"responses"` {
		return false
	}
	name := makers.ReplaceAllString(key, "")
	return families.MatchString(name) && !strings.Contains(name, "/") &&
		fields["input_cost_per_token"] != nil && fields["output_cost_per_token"] != nil
}

func prices(fields map[string]json.RawMessage) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for name, v := range fields {
		if kept[name] || strings.Contains(name, "cost") {
			out[name] = v
		}
	}
	return out
}

// correct sets right what the whole file has wrong for years: a one-hour cache write of a Claude model costs
// twice its input, for every model of theirs; two old ones stand there with the price of a third.
func correct(name string, fields map[string]json.RawMessage) {
	const input, hour = "input_cost_per_token", "cache_creation_input_token_cost_above_1hr"
	if !strings.HasPrefix(name, "claude-") || fields[hour] == nil {
		return
	}
	in, err := strconv.ParseFloat(string(fields[input]), 64)
	if err != nil {
		return // price.Parse says what is wrong
	}
	if stated, err := strconv.ParseFloat(string(fields[hour]), 64); err == nil && math.Abs(stated-2*in) > in/1e6 {
		fields[hour] = json.RawMessage(strconv.FormatFloat(2*in, 'g', -1, 64))
	}
}

func same(a, b map[string]json.RawMessage) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}
