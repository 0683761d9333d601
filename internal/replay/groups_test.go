// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

func TestPlace(t *testing.T) {
	for path, want := range map[string]string{
		"-":                       stdinPlace,
		"a.jsonl":                 ".",
		"/a.jsonl":                "/",
		"x/a.jsonl":               "x",
		"p/-home-dev-web/s.jsonl": "p/-home-dev-web",
		"p/-home-dev-web/s/subagents/agent-1.jsonl":              "p/-home-dev-web",
		"p/-home-dev-web/s/subagents/workflows/r1/agent-1.jsonl": "p/-home-dev-web",
		"c/sessions/2026/10/03/rollout-1.jsonl":                  "c/sessions",
		"c/sessions/26/10/03/rollout-1.jsonl":                    "c/sessions/26/10/03",
		"2026/10/03/rollout-1.jsonl":                             ".",
		"subagents/agent-1.jsonl":                                "subagents",
		"s/subagents/agent-1.jsonl":                              ".",
	} {
		assert.Equal(t, filepath.FromSlash(want), place(filepath.FromSlash(path)), path)
	}
}

func TestProjectNames(t *testing.T) {
	for name, tt := range map[string]struct {
		inputs []input
		want   []string
	}{
		"below a directory": {[]input{{path: "p/web/s.jsonl", root: "p"}, {path: "p/api/deep/s.jsonl", root: "p"}}, []string{"web", "api/deep"}},
		"in the directory":  {[]input{{path: "/var/log/s.jsonl", root: "/var/log"}}, []string{"log"}},
		"a file":            {[]input{{path: "/var/log/s.jsonl"}}, []string{"log"}},
		"standard input":    {[]input{{path: "-"}}, []string{"standard input"}},
		"of one name":       {[]input{{path: "a/web/s.jsonl", root: "a"}, {path: "b/web/s.jsonl", root: "b"}, {path: "b/api/s.jsonl", root: "b"}}, []string{"a/web", "b/web", "api"}},
		"by dates":          {[]input{{path: "c/sessions/2026/10/03/r.jsonl", root: "c/sessions/2026"}}, []string{"sessions"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := nameProjects(tt.inputs)
			for i, in := range tt.inputs {
				assert.Equal(t, tt.want[i], p.name(place(in.path), ""))
			}
			assert.Equal(t, "/home/dev/web", p.name(place(tt.inputs[0].path), "/home/dev/web"), "captured")
		})
	}
}

func TestDaysAddUpToTheRoot(t *testing.T) {
	const first, second = "2026-10-03", "2026-10-04"
	at := func(day string) int64 {
		d, err := time.Parse(time.DateOnly, day)
		require.NoError(t, err)
		return d.UnixNano()
	}
	chat := func(day string, in, read, out int64, cost float64) *translate.Span {
		return &translate.Span{Type: translate.SpanChat, End: at(day), Chat: &translate.ChatAttrs{
			Usage: translate.ChatUsage{Input: n64(in + read), CacheRead: n64(read), Output: n64(out)}, Cost: translate.Some(cost),
		}}
	}
	for name, tt := range map[string]struct {
		cost translate.Opt[float64]
		root translate.Tokens
		want string
	}{
		"equal":                {translate.Some(3.0), translate.Tokens{Input: 30, CacheRead: 6, Output: 3}, "10+2+1 $1.00, 20+4+2 $2.00"},
		"calls without a row":  {translate.Some(4.5), translate.Tokens{Input: 37, CacheRead: 6, Output: 5}, "10+2+1 $1.00, 27+4+4 $3.50"},
		"a report below":       {translate.Some(1.5), translate.Tokens{Input: 30, CacheRead: 6, Output: 3}, "10+2+1 $0.50, 20+4+2 $1.00"},
		"no cost":              {translate.Opt[float64]{}, translate.Tokens{Input: 30, CacheRead: 6, Output: 3}, "10+2+1 -, 20+4+2 -"},
		"fewer than its calls": {translate.Some(0.0), translate.Tokens{Input: 5}, "5+0+0 $0, 0+0+0 $0"},
	} {
		t.Run(name, func(t *testing.T) {
			d := groups{}
			d.chat(chat(first, 10, 2, 1, 1))
			d.chat(chat(second, 20, 4, 2, 2))
			d.settle(&translate.Span{End: at(second), Root: &translate.RootAttrs{Usage: translate.Some(tt.root), Cost: tt.cost}})
			var got []string
			for _, day := range []string{first, second} {
				s := d[day]
				got = append(got, fmt.Sprintf("%d+%d+%d %s", s.usage.Input, s.usage.CacheRead, s.usage.Output, costCell(s.cost)))
			}
			assert.Equal(t, tt.want, strings.Join(got, ", "))
		})
	}
}

// mixed is a directory with three projects, two agents and three days; a model has no price.
func mixed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for to, from := range map[string]string{
		"-home-dev-payments-service-and-its-migrations/a.jsonl": "sessions/payments-migration",
		"-home-dev-weather-cli/b.jsonl":                         "sessions/weather-cli-refactor",
		"-home-dev-weather-cli/c.jsonl":                         "claude/opaque-arn-model",
		"cline/d.jsonl":                                         "cline/plain",
	} {
		data, err := os.ReadFile("../../testdata/" + from + ".jsonl")
		require.NoError(t, err)
		write(t, filepath.Join(dir, to), string(data))
	}
	return dir
}

func TestGroupsGolden(t *testing.T) {
	dir := mixed(t)
	for _, format := range []string{"summary", "tree"} {
		var stdout, stderr bytes.Buffer
		getenv := func(key string) string { return map[string]string{"COLUMNS": "80"}[key] }
		require.Equal(t, ExitOK, Main(t.Context(), []string{"--format", format, dir}, strings.NewReader(""), &stdout, &stderr, Env{Program: "agentreplay", Getenv: getenv}))
		_, got, _ := strings.Cut("\n"+stdout.String(), "\nsessions  ")
		got = "sessions  " + got
		path := filepath.Join("testdata", "groups-"+format+".txt")
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, string(want), got)
		table, _, _ := strings.Cut(got, "prices ")
		for line := range strings.Lines(table) {
			assert.LessOrEqual(t, newStyle(80, false).cells.StringWidth(strings.TrimRight(line, "\n")), 80, line)
		}
	}
}

func TestGroupsOfTheDocument(t *testing.T) {
	dir := mixed(t)
	config := write(t, filepath.Join(t.TempDir(), "identity.yaml"), "capture: [identity]\n")
	prices := write(t, filepath.Join(t.TempDir(), "prices.json"), `{"house": {"input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6}}`)
	priced := write(t, filepath.Join(t.TempDir(), "prices.yaml"), "pricing: {file: "+prices+"}\n")
	for name, tt := range map[string]struct {
		args      []string
		projects  []string
		catalogue string
	}{
		"folders": {nil, []string{"-home-dev-payments-service-and-its-migrations 1", "-home-dev-weather-cli 2", "cline 1"}, "built-in"},
		"working directories": {
			[]string{"--receiver-config", config},
			[]string{"/home/dev/weather-cli 2", "/srv/src/payments 1", "cline 1"},
			"built-in",
		},
		"own prices": {[]string{"--receiver-config", priced}, []string{"-home-dev-payments-service-and-its-migrations 1", "-home-dev-weather-cli 2", "cline 1"}, "prices.json"},
	} {
		t.Run(name, func(t *testing.T) {
			got := replay(t, nil, append(tt.args, "--format", "json", dir)...)
			require.Equal(t, ExitOK, got.code, got.stderr)
			if tt.args == nil || tt.catalogue != "built-in" {
				assert.NotContains(t, got.stdout, "/srv/src", "a working directory is identity")
			}
			var doc struct {
				Spans    json.RawMessage
				Sessions []jsonSession
				Totals   jsonTotals
				Projects []jsonGroup
				Days     []jsonGroup
				Models   []jsonModel
				Prices   jsonPrices
			}
			require.NoError(t, json.Unmarshal([]byte(got.stdout), &doc))
			assert.NotContains(t, string(doc.Spans), "-home-dev", "no folder is on a span")
			var projects []string
			for _, p := range doc.Projects {
				projects = append(projects, fmt.Sprintf("%s %d", p.Project, p.Sessions))
			}
			assert.Equal(t, tt.projects, projects)
			assert.Equal(t, tt.catalogue, doc.Prices.Catalogue)
			assert.Equal(t, tt.catalogue == "built-in", doc.Prices.Date != nil)
			assert.Len(t, doc.Days, 4)
			for what, list := range map[string][]jsonGroup{"projects": doc.Projects, "days": doc.Days} {
				var sum jsonTotals
				cost := 0.0
				for _, g := range list {
					sum.Input += g.Input
					sum.Output += g.Output
					sum.CacheRead += g.CacheRead
					sum.CacheWrite += g.CacheWrite
					if g.CostUSD != nil {
						cost += *g.CostUSD
					}
				}
				assert.InDelta(t, *doc.Totals.CostUSD, cost, 1e-9, what)
				want := doc.Totals
				want.CostUSD = nil
				assert.Equal(t, want, sum, what)
			}
			var unpriced int64
			cost := 0.0
			for _, m := range doc.Models {
				unpriced += m.UnpricedTokens
				if m.CostUSD != nil {
					cost += *m.CostUSD
				}
			}
			assert.EqualValues(t, 37926, unpriced)
			assert.InDelta(t, *doc.Totals.CostUSD, cost, 1e-9)
			assert.InDelta(t, doc.Prices.ReportedUSD+doc.Prices.EstimatedUSD, cost, 1e-9)
		})
	}
}
