// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

// What a table shows at most; the rest is added up in one row.
const (
	topProjects = 20
	topSessions = 10 // of one project
	lastDays    = 31
)

// table writes rows of a name, token classes and cost.
type table struct {
	out   *strings.Builder
	style *style
}

func (t *table) row(paint func(string) string, name string, cells ...string) {
	columns := []int{9, 12, 13, 9, 10}
	var text strings.Builder
	text.WriteString(t.style.fit(name, t.first()))
	for i, c := range cells {
		text.WriteString(t.style.right(c, columns[i]))
	}
	t.out.WriteString(paint(strings.TrimRight(text.String(), " ")))
	t.out.WriteByte('\n')
}

// first is the width of the names.
func (t *table) first() int { return min(32, t.style.width-53) }

func (t *table) head(name string) {
	t.row(t.style.dim, name, "input", "cache read", "cache write", "output", "cost")
}

func (t *table) sums(paint func(string) string, name string, u translate.Tokens, cost string) {
	t.row(paint, name, tokens(u.Input), tokens(u.CacheRead), tokens(u.CacheWrite), tokens(u.Output), cost)
}

// counted writes sums with a number of sessions beside the name. A name that is too long for its column
// gets a line of its own: the folders of one home begin alike, and their ends are what tells them apart.
func (t *table) counted(paint func(string) string, name string, sessions int64, s *sums) {
	const number = 10
	w := t.first() - number
	name = printable(name)
	if n := t.style.cells.StringWidth(name); n > w {
		if n > t.style.width {
			name = t.style.cells.TruncateLeft(name, n-t.style.width+1, "…")
		}
		t.out.WriteString(paint(name))
		t.out.WriteByte('\n')
		name = ""
	}
	t.sums(paint, t.style.cells.FillRight(name, w)+t.style.right(grouped(sessions), number), s.usage, costCell(s.cost))
}

// headCounted is the head of such rows.
func (t *table) headCounted(name string) {
	t.head(t.style.fit(name, t.first()-8) + "sessions")
}

func plain(s string) string { return s }

func costCell(c translate.Opt[float64]) string {
	if !c.OK {
		return "-"
	}
	return usd(c.V)
}

// models writes the table of tokens and cost by model.
func (t *table) models(r *report, g *grand) {
	names := slices.Collect(maps.Keys(g.models))
	slices.SortFunc(names, func(a, b string) int {
		x, y := g.models[a], g.models[b]
		return cmp.Or(cmp.Compare(r.costs[b], r.costs[a]), cmp.Compare(y.InputTotal()+y.Output, x.InputTotal()+x.Output), cmp.Compare(a, b))
	})
	t.head("model")
	for _, name := range names {
		cost := "-"
		if c, ok := r.costs[name]; ok {
			cost = usd(c)
		}
		t.sums(plain, cmp.Or(name, "unknown"), g.models[name], cost)
	}
	cost := costCell(g.cost)
	if g.cost.OK && len(r.unpriced) > 0 {
		cost += "+" // at least so much
	}
	t.sums(t.style.bold, "total", g.usage, cost)
}

// projects writes the sums by project where there are several, the costliest first; with the sessions of
// each where no trees stand above.
func (t *table) projects(r *report, g *grand) {
	if len(g.projects) < 2 {
		return
	}
	names := g.projects.costliest()
	t.headCounted("project")
	sessions := map[string][]*sessionReport{}
	if r.tree == nil {
		for _, s := range r.sorted() {
			sessions[s.project] = append(sessions[s.project], s)
		}
	}
	var rest sums
	for i, name := range names {
		p := g.projects[name]
		if i >= topProjects {
			rest.sessions += p.sessions
			rest.add(p.usage, p.cost)
			continue
		}
		t.counted(plain, name, p.sessions, p)
		t.sessions(sessions[name])
	}
	if n := len(names) - topProjects; n > 0 {
		t.counted(t.style.dim, grouped(int64(n))+" others", rest.sessions, &rest)
	}
}

// sessions writes the last sessions of a project, one a line.
func (t *table) sessions(list []*sessionReport) {
	if n := len(list) - topSessions; n > 0 {
		var rest sums
		for _, s := range list[:n] {
			rest.add(s.usage, s.cost)
		}
		t.sums(t.style.dim, "  "+plural(int64(n), "session")+" before", rest.usage, costCell(rest.cost))
		list = list[n:]
	}
	for _, s := range list {
		at := time.Unix(0, s.start).UTC().Format("01-02 15:04")
		t.sums(t.style.dim, fmt.Sprintf("  %s  %s", t.style.fit(shortID(s.id), 12), at), s.usage, costCell(s.cost))
	}
}

// days writes the sums by day where there are several, in UTC.
func (t *table) days(g *grand) {
	if len(g.days) < 2 {
		return
	}
	list := slices.Sorted(maps.Keys(g.days))
	t.headCounted("day (UTC)")
	if n := len(list) - lastDays; n > 0 {
		var rest sums
		for _, day := range list[:n] {
			rest.add(g.days[day].usage, g.days[day].cost)
		}
		t.sums(t.style.dim, plural(int64(n), "day")+" before", rest.usage, costCell(rest.cost))
		list = list[n:]
	}
	for _, day := range list {
		d := g.days[day]
		t.counted(plain, day, d.sessions, d)
	}
}

// costliest gives the names by cost, then by tokens, then by name.
func (g groups) costliest() []string {
	names := slices.Collect(maps.Keys(g))
	slices.SortFunc(names, func(a, b string) int {
		x, y := g[a], g[b]
		return cmp.Or(cmp.Compare(y.cost.V, x.cost.V), cmp.Compare(y.usage.InputTotal()+y.usage.Output, x.usage.InputTotal()+x.usage.Output), cmp.Compare(a, b))
	})
	return names
}

// catalogue says where the prices of estimates come from, and how much of the cost they are.
func (r *report) catalogue() string {
	text := "built-in catalogue of " + r.pricing.date
	if r.pricing.file != "" {
		text = "catalogue " + printable(r.pricing.file)
	}
	var parts []string
	if c, ok := r.sources["reported"]; ok {
		parts = append(parts, usd(c)+" reported")
	}
	if c, ok := r.sources["estimated"]; ok {
		parts = append(parts, usd(c)+" estimated")
	}
	if len(parts) > 0 {
		text += "  (" + strings.Join(parts, ", ") + ")"
	}
	return text
}

// withoutPrice lists the models that are in no cost.
func (r *report) withoutPrice() string {
	names := slices.Collect(maps.Keys(r.unpriced))
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(r.unpriced[b], r.unpriced[a]), cmp.Compare(a, b))
	})
	var list []string
	for _, name := range names {
		list = append(list, printable(cmp.Or(name, "unknown"))+" "+tokens(r.unpriced[name])+" tokens")
	}
	return strings.Join(list, ", ")
}
