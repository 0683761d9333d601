// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/translate"
)

const topTools = 12

// summary writes what stands below the trees.
func summary(w io.Writer, st *style, r *report, skipped *batch.Outcomes, snd *sender) error {
	var out strings.Builder
	g := r.grand()
	line := func(name, text string) {
		out.WriteString(st.bold(st.fit(name, 10)))
		out.WriteString(text)
		out.WriteByte('\n')
	}

	outcomes := map[string]int64{}
	for _, s := range r.sessions {
		outcomes[s.outcome]++
	}
	var list []string
	for _, o := range []string{translate.OutcomeSuccess, translate.OutcomeError, translate.OutcomeCancelled, translate.OutcomeIncomplete} {
		if n := outcomes[o]; n > 0 {
			list = append(list, grouped(n)+" "+o)
		}
	}
	text := grouped(int64(len(r.sessions)))
	if len(list) > 0 {
		text += "  (" + strings.Join(list, ", ") + ")"
	}
	line("sessions", text)
	text = grouped(r.spans)
	if r.roots > int64(len(r.sessions)) {
		text += "  in " + plural(r.roots, "trace segment")
	}
	if r.tree != nil {
		if n := r.tree.late(); n > 0 {
			text += "  (" + grouped(n) + " came after their session was closed)"
		}
	}
	line("spans", text)
	if len(g.models) > 0 {
		models(&out, st, r, &g)
	}
	if len(g.tools) > 0 {
		line("tools", toolList(g.tools))
	}
	if skipped.Total() > 0 {
		var reasons []string
		for reason, n := range skipped.Skipped() {
			if n > 0 {
				reasons = append(reasons, fmt.Sprintf("%s %s", grouped(n), reason))
			}
		}
		line("lines", st.yellow(strings.Join(reasons, ", ")))
	}
	if snd != nil {
		line("sent", sentText(st, snd))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// models writes the table of tokens and cost.
func models(out *strings.Builder, st *style, r *report, g *grand) {
	names := slices.Collect(maps.Keys(g.models))
	slices.SortFunc(names, func(a, b string) int {
		x, y := g.models[a], g.models[b]
		return cmp.Or(cmp.Compare(r.costs[b], r.costs[a]), cmp.Compare(y.InputTotal()+y.Output, x.InputTotal()+x.Output), cmp.Compare(a, b))
	})
	columns := []int{9, 12, 13, 9, 10}
	first := min(32, st.width-53)
	row := func(paint func(string) string, name string, cells ...string) {
		text := st.fit(name, first)
		var textSb87 strings.Builder
		for i, c := range cells {
			textSb87.WriteString(st.right(c, columns[i]))
		}
		text += textSb87.String()
		out.WriteString(paint(strings.TrimRight(text, " ")))
		out.WriteByte('\n')
	}
	plain := func(s string) string { return s }
	row(st.dim, "model", "input", "cache read", "cache write", "output", "cost")
	for _, name := range names {
		t := g.models[name]
		cost := "-"
		if c, ok := r.costs[name]; ok {
			cost = usd(c)
		}
		row(plain, cmp.Or(name, "unknown"), tokens(t.Input), tokens(t.CacheRead), tokens(t.CacheWrite), tokens(t.Output), cost)
	}
	cost := "-"
	if g.cost.OK {
		cost = usd(g.cost.V)
	}
	row(st.bold, "total", tokens(g.usage.Input), tokens(g.usage.CacheRead), tokens(g.usage.CacheWrite), tokens(g.usage.Output), cost)
}

func toolList(tools map[string]int64) string {
	names := slices.Collect(maps.Keys(tools))
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(tools[b], tools[a]), cmp.Compare(a, b))
	})
	var list []string
	var rest int64
	for i, name := range names {
		if i < topTools {
			list = append(list, printable(name)+" "+grouped(tools[name]))
		} else {
			rest += tools[name]
		}
	}
	if rest > 0 {
		list = append(list, "others "+grouped(rest))
	}
	return strings.Join(list, ", ")
}

func sentText(st *style, s *sender) string {
	var parts []string
	for sig := range signals {
		c := s.counts[sig]
		text := grouped(c.Accepted) + " " + sig.items()
		if n := c.failed(); n > 0 {
			var bad []string
			for _, f := range []struct {
				n    int64
				name string
			}{{c.Rejected, "rejected"}, {c.Refused, "refused"}, {c.Unsent, "not sent"}} {
				if f.n > 0 {
					bad = append(bad, grouped(f.n)+" "+f.name)
				}
			}
			text += st.red(" (" + strings.Join(bad, ", ") + ")")
		}
		parts = append(parts, text)
	}
	text := strings.Join(parts, ", ") + " to " + s.shown() + " in " + plural(s.requests, "request")
	if s.retries > 0 {
		text += fmt.Sprintf(" (%s repeated)", grouped(s.retries))
	}
	return text
}
