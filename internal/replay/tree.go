// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"cmp"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

const (
	treeRows = 200 // rows of one tree; named in the help

	// Spans that are kept until their root comes. Children come before their parents, so more of them are
	// kept than are shown; launching calls and subagents, which others hang from, always are.
	keptLeaves = 2 * treeRows
	keptInner  = 5 * treeRows
	keptAll    = 200_000 // over all open sessions; beyond it leaves are only counted
)

// tree prints each segment of a session as soon as its root comes, which is last.
type tree struct {
	w      io.Writer
	style  *style
	before func() // called before something is printed
	open   map[treeKey]*pendingTree
	nodes  int
	err    error
}

// treeKey tells sessions apart that share a caller's trace.
type treeKey struct {
	trace   translate.TraceID
	session string
}

type pendingTree struct {
	nodes  []node
	leaves int
	inner  int
	total  int64
}

// node is what a row of a tree shows. Captured content stays out of it.
type node struct {
	id, parent translate.SpanID
	kind       translate.SpanType
	name       string
	start, end int64
	err        string
	model      string
	usage      translate.ChatUsage
	cost       translate.Opt[float64]
	tool       translate.OpKind
	outcome    string
	background bool
}

func newTree(w io.Writer, s *style, before func()) *tree {
	return &tree{w: w, style: s, before: before, open: map[treeKey]*pendingTree{}}
}

func (t *tree) add(s *translate.Span) {
	key := treeKey{s.TraceID, s.Session}
	p := t.open[key]
	if p == nil {
		p = &pendingTree{}
		t.open[key] = p
	}
	if s.Type == translate.SpanRoot {
		delete(t.open, key)
		t.nodes -= len(p.nodes)
		t.print(s, p)
		return
	}
	p.total++
	switch {
	case s.Type == translate.SpanSubagent || s.Tool != nil && s.Tool.Kind == translate.OpOrchestration:
		if p.inner >= keptInner {
			return
		}
		p.inner++
	case p.leaves >= keptLeaves || t.nodes >= keptAll:
		return
	default:
		p.leaves++
	}
	t.nodes++
	p.nodes = append(p.nodes, newNode(s))
}

// late is the number of spans that came after their session's tree, or without one.
func (t *tree) late() (n int64) {
	for _, p := range t.open {
		n += p.total
	}
	return n
}

func newNode(s *translate.Span) node {
	n := node{id: s.SpanID, parent: s.ParentID, kind: s.Type, start: s.Start, end: s.End, name: s.Agent}
	if s.Error {
		n.err = cmp.Or(s.ErrType, "error")
	}
	switch {
	case s.Chat != nil:
		n.name, n.model = "chat", s.Chat.Model
		n.usage, n.cost = s.Chat.Usage, s.Chat.Cost
	case s.Tool != nil:
		n.name, n.tool, n.outcome, n.background = s.Tool.Name, s.Tool.Kind, s.Tool.Outcome, s.Tool.Background
	case s.Subagent != nil:
		n.background = s.Subagent.Background
	}
	return n
}

func (t *tree) print(root *translate.Span, p *pendingTree) {
	var out strings.Builder
	t.header(&out, root)
	children := map[translate.SpanID][]int{}
	known := map[translate.SpanID]bool{}
	for i := range p.nodes {
		known[p.nodes[i].id] = true
	}
	for i := range p.nodes {
		parent := p.nodes[i].parent
		// What hangs from a span that was not kept is shown below the root rather than not at all.
		if !known[parent] || parent == p.nodes[i].id {
			parent = root.SpanID
		}
		children[parent] = append(children[parent], i)
	}
	for _, list := range children {
		slices.SortStableFunc(list, func(a, b int) int {
			x, y := &p.nodes[a], &p.nodes[b]
			return cmp.Or(cmp.Compare(x.start, y.start), cmp.Compare(x.end, y.end))
		})
	}
	w := rows{tree: t, out: &out, nodes: p.nodes, children: children, root: root, estimated: root.Root != nil && root.Root.TimeEstimated}
	w.below(root.SpanID, p.total)
	out.WriteByte('\n')
	if t.before != nil {
		t.before()
	}
	if _, err := io.WriteString(t.w, out.String()); t.err == nil {
		t.err = err
	}
}

// header is the line above a tree.
func (t *tree) header(out *strings.Builder, root *translate.Span) {
	st, a := t.style, root.Root
	if a == nil {
		a = &translate.RootAttrs{}
	}
	paint := st.green
	switch a.Outcome {
	case translate.OutcomeError:
		paint = st.red
	case translate.OutcomeCancelled, translate.OutcomeIncomplete:
		paint = st.yellow
	}
	outcome := a.Outcome
	if root.Error && root.ErrType != "" {
		outcome += " (" + root.ErrType + ")"
	}
	type part struct {
		text  string
		paint func(string) string
	}
	plain := func(s string) string { return s }
	length := span(root.End - root.Start)
	if a.TimeEstimated {
		length = "~" + length
	}
	var used, brief, cost string
	if a.Usage.OK {
		u := a.Usage.V
		brief = "in " + tokens(u.InputTotal())
		used = brief
		if cache := u.CacheRead + u.CacheWrite; cache > 0 {
			used += " (cache " + tokens(cache) + ")"
		}
		out := " out " + tokens(u.Output)
		if a.UsageIncomplete {
			out += "+" // at least so many
		}
		used, brief = used+out, brief+out
	}
	if a.Cost.OK {
		cost = usd(a.Cost.V)
		if a.CostIncomplete {
			cost += "+"
		}
		if a.CostSource == "estimated" {
			cost = "~" + cost
		}
	}
	parts := []part{
		{shortID(root.Session), st.bold},
		{root.Agent, st.bold},
		{a.Model, st.cyan},
		{outcome, paint},
		{length, plain},
		{used, plain},
		{cost, st.bold},
	}
	if len(root.Links) > 0 {
		text := "continued"
		if root.Links[0].Kind == translate.LinkForkedFrom {
			text = "fork"
		}
		parts = append(parts, part{text, st.dim})
	}
	width := func() int {
		n := 1
		for _, p := range parts {
			if p.text != "" {
				n += 3 + st.cells.StringWidth(printable(p.text))
			}
		}
		return n - 2
	}
	// What a narrow terminal can spare, in this order.
	for _, spare := range []struct {
		part int
		text string
	}{{5, brief}, {3, a.Outcome}, {2, ""}} {
		if width() > st.width {
			parts[spare.part].text = spare.text
		}
	}
	out.WriteString(paint("●"))
	left := st.width - 1
	for i, p := range parts {
		if p.text == "" {
			continue
		}
		sep := " · "
		if i == 0 {
			sep = " "
		}
		left -= st.cells.StringWidth(sep)
		if left < 2 {
			break
		}
		text := printable(p.text)
		if st.cells.StringWidth(text) > left {
			text = st.cells.Truncate(text, left, "…")
		}
		left -= st.cells.StringWidth(text)
		out.WriteString(sep + p.paint(text))
	}
	out.WriteByte('\n')
}

// shortID is enough of an id to find it again.
func shortID(id string) string {
	id = printable(id)
	r := []rune(id)
	if len(r) <= 12 {
		return id
	}
	return string(r[:8])
}

// rows writes the rows of one tree.
type rows struct {
	tree      *tree
	out       *strings.Builder
	nodes     []node
	children  map[translate.SpanID][]int
	root      *translate.Span
	estimated bool
	shown     int
}

func (r *rows) below(root translate.SpanID, total int64) {
	r.descend(root, "", 0)
	if rest := total - int64(r.shown); rest > 0 {
		r.out.WriteString(r.tree.style.dim("… " + plural(rest, "more span")))
		r.out.WriteByte('\n')
	}
}

func (r *rows) descend(id translate.SpanID, prefix string, depth int) {
	list := r.children[id]
	for i, n := range list {
		if r.shown >= treeRows {
			return
		}
		branch, inner := "├─ ", "│  "
		if i == len(list)-1 {
			branch, inner = "└─ ", "   "
		}
		r.shown++
		r.row(&r.nodes[n], prefix+branch)
		if depth < treeRows { // a cycle of parents cannot be reached from the root; this is the belt to it
			r.descend(r.nodes[n].id, prefix+inner, depth+1)
		}
	}
}

// Columns: label, bar, duration, details.
func (r *rows) row(n *node, prefix string) {
	st := r.tree.style
	bar := min(st.width/5, 40)
	const duration, details = 7, 26
	label := st.width - bar - duration - details - 3

	paint, glyph := st.blue, '█'
	switch n.kind {
	case translate.SpanChat:
		paint = st.cyan
	case translate.SpanTool:
		paint, glyph = st.green, '▓'
	case translate.SpanSubagent:
		paint, glyph = st.magenta, '▒'
	}
	mark := paint
	switch {
	case n.err != "":
		mark = st.red
	case n.outcome == translate.ToolDenied, n.outcome == translate.ToolInterrupted, n.outcome == translate.ToolIncomplete:
		mark = st.yellow
	}
	length := span(n.end - n.start)
	if r.estimated {
		length = "~" + length
	}
	// Deep trees keep room for names: the branches are cut, not the names.
	if room := label * 2 / 3; st.cells.StringWidth(prefix) > room {
		prefix = "…" + string([]rune(prefix)[len([]rune(prefix))-room+1:])
	}
	name := n.name
	switch n.kind {
	case translate.SpanChat:
		name = strings.TrimSpace("chat " + n.model)
	case translate.SpanSubagent:
		name = "agent " + n.name
	}
	text := st.fit(prefix+printable(name), label)
	if st.colours {
		text = st.dim(prefix) + mark(strings.TrimPrefix(text, prefix))
	}
	r.out.WriteString(text)
	r.out.WriteByte(' ')
	r.out.WriteString(mark(r.bar(n, bar, glyph)))
	r.out.WriteByte(' ')
	r.out.WriteString(st.right(length, duration))
	if d := n.details(); d != "" {
		d = printable(d)
		if st.cells.StringWidth(d) > details {
			d = st.cells.Truncate(d, details, "…")
		}
		r.out.WriteByte(' ')
		if n.err != "" || n.outcome != "" && n.outcome != translate.ToolOK {
			d = mark(d)
		}
		r.out.WriteString(d)
	}
	r.out.WriteByte('\n')
}

// bar draws when the span ran within its root.
func (r *rows) bar(n *node, width int, glyph rune) string {
	cells := slices.Repeat([]rune{' '}, width)
	total := float64(r.root.End - r.root.Start)
	at := func(t int64) float64 {
		if total <= 0 {
			return 0
		}
		return min(max(float64(t-r.root.Start)/total, 0), 1) * float64(width)
	}
	from, to := at(n.start), at(n.end)
	first := min(int(from), width-1)
	last := min(int(math.Ceil(to)), width)
	if to-from < 0.5 {
		// Less than half a cell: a thin mark where it was.
		cells[first] = '▏'
		return string(cells)
	}
	for i := first; i < max(last, first+1); i++ {
		cells[i] = glyph
	}
	return string(cells)
}

var kindNames = map[translate.OpKind]string{
	translate.OpCommand: "command", translate.OpRead: "read", translate.OpWrite: "write", translate.OpSearch: "search",
	translate.OpList: "list", translate.OpSkill: "skill", translate.OpOrchestration: "orchestration",
}

// details is the last column.
func (n *node) details() string {
	var parts []string
	switch n.kind {
	case translate.SpanChat:
		if n.usage.Input.OK || n.usage.Output.OK {
			parts = append(parts, tokens(n.usage.Input.V)+"→"+tokens(n.usage.Output.V))
		}
		if n.cost.OK {
			parts = append(parts, usd(n.cost.V))
		}
	case translate.SpanTool:
		if kind := kindNames[n.tool]; kind != "" {
			parts = append(parts, kind)
		}
		if n.outcome != "" && n.outcome != translate.ToolOK {
			parts = append(parts, n.outcome)
		}
	}
	if n.err != "" && n.err != n.outcome && n.err != "tool_error" {
		parts = append(parts, n.err)
	}
	if n.background {
		parts = append(parts, "background")
	}
	return strings.Join(parts, " ")
}
