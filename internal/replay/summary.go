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
	t := &table{out: &out, style: st}
	if len(g.models) > 0 {
		t.models(r, &g)
		t.projects(r, &g)
		t.days(&g)
		line("prices", r.catalogue())
		if len(r.unpriced) > 0 {
			line("unpriced", st.yellow(r.withoutPrice()))
		}
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
