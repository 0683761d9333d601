// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Command compare holds our sums of testdata/compare against those of ccusage and against sums made by
// hand, and writes what it found into docs/compared.md. It is run by "make compare", which fetches ccusage.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/otelcol-agents/otelcol-agents/internal/replay"
	"github.com/otelcol-agents/otelcol-agents/translate/price"
)

// sums are tokens in classes that add up, and cost; nil is unknown.
type sums struct {
	Input      int64    `json:"input"`
	Output     int64    `json:"output"`
	CacheRead  int64    `json:"cache_read"`
	CacheWrite int64    `json:"cache_write"`
	CostUSD    *float64 `json:"cost_usd"`
}

// expected is a case of expected.json: ours is what is billed, worked out by hand.
type expected struct {
	Ours             sums   `json:"ours"`
	CCUsage          *sums  `json:"ccusage"`            // its daily report; nil: as ours
	CCUsageBySession *sums  `json:"ccusage_by_session"` // its report by session; nil: as its daily one
	Reason           string `json:"reason"`
}

// tables are sums by name, of one program.
type tables struct {
	total                           sums
	models, days, sessions, project map[string]sums
}

func main() {
	program := flag.String("ccusage", "", "path of ccusage")
	data := flag.String("data", "testdata/compare", "folder of the cases")
	doc := flag.String("doc", "docs/compared.md", `document to write the table into; "" = none`)
	flag.Parse()
	if err := run(*program, *data, *doc, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(program, data, doc string, out io.Writer) error {
	text, err := os.ReadFile(filepath.Join(data, "expected.json"))
	if err != nil {
		return err
	}
	var cases map[string]expected
	if err := json.Unmarshal(text, &cases); err != nil {
		return fmt.Errorf("expected.json: %w", err)
	}
	program, err = filepath.Abs(program)
	if err != nil {
		return err
	}
	var rows strings.Builder
	failed := 0
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		c := cases[name]
		problems, err := compare(program, filepath.Join(data, name, "projects"), &c)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		verdict := "ok  "
		if len(problems) > 0 {
			verdict = "FAIL"
			failed++
		}
		_, _ = fmt.Fprintf(out, "%s %s\n", verdict, name)
		for _, p := range problems {
			_, _ = fmt.Fprintf(out, "     %s\n", p)
		}
		if c.CCUsage != nil {
			by := *c.CCUsage
			if c.CCUsageBySession != nil {
				by = *c.CCUsageBySession
			}
			_, _ = fmt.Fprintf(&rows, "| `%s` | %s | %s | %s | %s |\n", filepath.Base(name), show(c.Ours), show(*c.CCUsage), show(by), c.Reason)
		}
	}
	_, _ = fmt.Fprintf(out, "%d passed, %d failed\n", len(cases)-failed, failed)
	if doc != "" {
		if err := write(doc, rows.String()); err != nil {
			return err
		}
	}
	if failed > 0 {
		return errors.New("the sums are not as expected")
	}
	return nil
}

// compare checks one case: our sums are those by hand, those of ccusage are as the document says, and where
// nothing is said all reports of both agree.
func compare(program, tree string, c *expected) ([]string, error) {
	ours, err := replayed(tree)
	if err != nil {
		return nil, err
	}
	theirs, bySession, err := ccusage(program, tree)
	if err != nil {
		return nil, err
	}
	var problems []string
	check := func(what string, want, got sums) {
		if !equal(want, got) {
			problems = append(problems, fmt.Sprintf("%s: want %s, got %s", what, show(want), show(got)))
		}
	}
	check("ours, by hand", c.Ours, ours.total)
	if c.CCUsage != nil {
		check("ccusage daily", *c.CCUsage, theirs.total)
		if c.CCUsageBySession == nil {
			c.CCUsageBySession = c.CCUsage
		}
		check("ccusage session", *c.CCUsageBySession, bySession)
		return problems, nil
	}
	check("ccusage daily", c.Ours, theirs.total)
	check("ccusage session", c.Ours, bySession)
	for _, t := range []struct {
		what         string
		ours, theirs map[string]sums
	}{
		{"model", ours.models, theirs.models},
		{"day", ours.days, theirs.days},
		{"session", ours.sessions, theirs.sessions},
		{"project", ours.project, theirs.project},
	} {
		names := map[string]bool{}
		for name := range t.ours {
			names[name] = true
		}
		for name := range t.theirs {
			names[name] = true
		}
		for _, name := range slices.Sorted(maps.Keys(names)) {
			check(t.what+" "+name, t.theirs[name], t.ours[name])
		}
	}
	return problems, nil
}

func equal(a, b sums) bool {
	if (a.CostUSD == nil) != (b.CostUSD == nil) || a.CostUSD != nil && math.Abs(*a.CostUSD-*b.CostUSD) > 1e-9 {
		return false
	}
	a.CostUSD, b.CostUSD = nil, nil
	return a == b
}

func show(s sums) string {
	cost := "no cost"
	if s.CostUSD != nil {
		cost = "$" + strconv.FormatFloat(math.Abs(*s.CostUSD), 'f', -1, 64)
	}
	return fmt.Sprintf("%d + %d + %d → %d, %s", s.Input, s.CacheRead, s.CacheWrite, s.Output, cost)
}

// replayed are the sums of our own command.
func replayed(tree string) (*tables, error) {
	var stdout, stderr bytes.Buffer
	env := replay.Env{Program: "agentreplay", Getenv: func(string) string { return "" }}
	if code := replay.Main(context.Background(), []string{"--format", "json", tree}, strings.NewReader(""), &stdout, &stderr, env); code != replay.ExitOK {
		return nil, fmt.Errorf("replay: exit status %d: %s", code, stderr.String())
	}
	type totals struct {
		Input      int64    `json:"input_tokens"` // inclusive of cache
		Output     int64    `json:"output_tokens"`
		CacheRead  int64    `json:"cache_read_tokens"`
		CacheWrite int64    `json:"cache_write_tokens"`
		CostUSD    *float64 `json:"cost_usd"`
	}
	disjoint := func(t totals) sums {
		return sums{t.Input - t.CacheRead - t.CacheWrite, t.Output, t.CacheRead, t.CacheWrite, t.CostUSD}
	}
	var doc struct {
		Totals   totals `json:"totals"`
		Sessions []struct {
			ID      string          `json:"session_id"`
			Tokens  map[string]sums `json:"tokens"`
			CostUSD *float64        `json:"cost_usd"`
		} `json:"sessions"`
		Models []struct {
			Model string `json:"model"`
			sums
		} `json:"models"`
		Days []struct {
			Day string `json:"day"`
			totals
		} `json:"days"`
		Projects []struct {
			Project string `json:"project"`
			totals
		} `json:"projects"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &doc); err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	t := &tables{total: disjoint(doc.Totals), models: map[string]sums{}, days: map[string]sums{}, sessions: map[string]sums{}, project: map[string]sums{}}
	for _, m := range doc.Models {
		t.models[m.Model] = m.sums
	}
	for _, d := range doc.Days {
		t.days[d.Day] = disjoint(d.totals)
	}
	for _, p := range doc.Projects {
		t.project[p.Project] = disjoint(p.totals)
	}
	for _, s := range doc.Sessions {
		var sum sums
		for _, m := range s.Tokens {
			sum.add(m)
		}
		sum.CostUSD = s.CostUSD
		t.sessions[s.ID] = sum
	}
	return t, nil
}

func (s *sums) add(o sums) {
	s.Input += o.Input
	s.Output += o.Output
	s.CacheRead += o.CacheRead
	s.CacheWrite += o.CacheWrite
	if o.CostUSD != nil {
		cost := *o.CostUSD
		if s.CostUSD != nil {
			cost += *s.CostUSD
		}
		s.CostUSD = &cost
	}
}

// ccusage are the sums of its daily report, and the total of its report by session, over a home of which
// the tree is the folder of projects.
func ccusage(program, tree string) (*tables, sums, error) {
	home, err := os.MkdirTemp("", "compare")
	if err != nil {
		return nil, sums{}, err
	}
	defer func() { _ = os.RemoveAll(home) }()
	if err := os.CopyFS(filepath.Join(home, ".claude", "projects"), os.DirFS(tree)); err != nil {
		return nil, sums{}, err
	}
	type counts struct {
		Input      int64   `json:"inputTokens"`
		Output     int64   `json:"outputTokens"`
		CacheRead  int64   `json:"cacheReadTokens"`
		CacheWrite int64   `json:"cacheCreationTokens"`
		Cost       float64 `json:"totalCost"`
	}
	value := func(c counts) sums {
		return sums{c.Input, c.Output, c.CacheRead, c.CacheWrite, &c.Cost}
	}
	report := func(kind string, into any) error {
		cmd := exec.Command(program, "claude", kind, "--offline", "--json", "--timezone", "UTC") //nolint:gosec // the caller's program
		cmd.Env = append(os.Environ(), "HOME="+home, "CLAUDE_CONFIG_DIR="+filepath.Join(home, ".claude"))
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("ccusage %s: %w", kind, err)
		}
		if err := json.Unmarshal(out, into); err != nil {
			return fmt.Errorf("ccusage %s: %w", kind, err)
		}
		return nil
	}
	var daily struct {
		Totals counts `json:"totals"`
		Daily  []struct {
			Date string `json:"date"`
			counts
			Models []struct {
				Model string `json:"modelName"`
				counts
				Cost float64 `json:"cost"`
			} `json:"modelBreakdowns"`
		} `json:"daily"`
	}
	var by struct {
		Totals   counts `json:"totals"`
		Sessions []struct {
			ID      string `json:"sessionId"`
			Project string `json:"projectPath"`
			counts
		} `json:"sessions"`
	}
	if err := errors.Join(report("daily", &daily), report("session", &by)); err != nil {
		return nil, sums{}, err
	}
	t := &tables{total: value(daily.Totals), models: map[string]sums{}, days: map[string]sums{}, sessions: map[string]sums{}, project: map[string]sums{}}
	put := func(m map[string]sums, name string, s sums) {
		sum := m[name]
		sum.add(s)
		m[name] = sum
	}
	for _, d := range daily.Daily {
		put(t.days, d.Date, value(d.counts))
		for _, m := range d.Models {
			// It makes a model of its own out of fast mode.
			c := m.counts
			c.Cost = m.Cost
			put(t.models, price.Label(strings.TrimSuffix(m.Model, "-fast"), nil), value(c))
		}
	}
	for _, s := range by.Sessions {
		put(t.sessions, s.ID, value(s.counts))
		put(t.project, s.Project, value(s.counts))
	}
	return t, value(by.Totals), nil
}

const (
	begin = "<!-- made by make compare -->\n"
	end   = "<!-- end -->\n"
)

// write puts the rows of the table between the marks of the document.
func write(path, rows string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no place for the table", path)
	}
	const head = "| case | ours | ccusage daily | ccusage session | reason |\n|---|---|---|---|---|\n"
	return os.WriteFile(path, []byte(before+begin+head+rows+end+after), 0o644) //nolint:gosec // a document
}
