// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Rules say what two recordings may differ in, beyond what the lanes allow.
type Rules struct {
	// Restarted allows series to begin anew with another start time, as they do without a storage; their last values
	// must be equal all the same.
	Restarted bool
	// Once allows no duplicates at all: nothing went wrong between the collector and us.
	Once bool
}

// Report is how a recording differs from the one that it should be.
type Report struct {
	Spans, Logs, Series int
	Tokens              int64
	USD                 float64
	Duplicates          int // spans and log records that came again, the same byte for byte
	// Each problem is a line: what is missing, what came and should not have, what is not what it should be.
	Lost, Extra, Changed []string
	// Counters are problems of series: values, falls, starts.
	Counters []string
}

// OK says that there is no problem.
func (r *Report) OK() bool {
	return len(r.Lost)+len(r.Extra)+len(r.Changed)+len(r.Counters) == 0
}

// Err is nil or all problems, of each kind the first ten.
func (r *Report) Err() error {
	if r.OK() {
		return nil
	}
	var b strings.Builder
	for _, kind := range []struct {
		name string
		list []string
	}{{"lost", r.Lost}, {"extra", r.Extra}, {"changed", r.Changed}, {"counters", r.Counters}} {
		slices.Sort(kind.list)
		for i, line := range kind.list {
			if i == 10 {
				fmt.Fprintf(&b, "\n  %s: and %d more", kind.name, len(kind.list)-i)
				break
			}
			fmt.Fprintf(&b, "\n  %s: %s", kind.name, line)
		}
	}
	return errors.New("the recordings differ:" + b.String())
}

// String is one line of figures.
func (r *Report) String() string {
	return fmt.Sprintf("%d spans, %d logs, %d series, %d tokens, %.6f USD, %d duplicates, %d lost, %d extra, %d changed, %d wrong counters",
		r.Spans, r.Logs, r.Series, r.Tokens, r.USD, r.Duplicates, len(r.Lost), len(r.Extra), len(r.Changed), len(r.Counters))
}

// Compare holds got against want, which is what an undisturbed collector sent.
func Compare(want, got *Recording, rules Rules) *Report {
	want.mu.Lock()
	defer want.mu.Unlock()
	if got != want {
		got.mu.Lock()
		defer got.mu.Unlock()
	}
	r := &Report{Spans: len(got.spans), Logs: len(got.logs), Series: len(got.series)}
	r.Changed = append(r.Changed, got.bad...)
	r.items("span", want.spans, got.spans, rules)
	r.items("log", want.logs, got.logs, rules)
	r.units(want.spans, got.spans)
	r.series(want.series, got.series, rules)
	for _, s := range got.series {
		switch s.Name {
		case "agentstream.token.usage":
			r.Tokens += int64(s.last().Value)
		case "agentstream.cost.usd":
			r.USD += s.last().Value
		}
	}
	return r
}

func (r *Report) items(kind string, want, got map[string]*Item, rules Rules) {
	for id, w := range want {
		if got[id] == nil && w.Lane != Lossy {
			r.Lost = append(r.Lost, w.line(kind, id))
		}
	}
	for id, g := range got {
		r.Duplicates += g.Times - 1
		if rules.Once && g.Times > 1 {
			r.Extra = append(r.Extra, fmt.Sprintf("%s came %d times", g.line(kind, id), g.Times))
		}
		for _, v := range g.Variants {
			if a, b := g.content(), v.content(); a != b {
				r.Changed = append(r.Changed, g.line(kind, id)+" came again as another: "+difference(a, b))
			}
		}
		if g.Lane == Lossy {
			continue
		}
		w := want[id]
		if w == nil {
			r.Extra = append(r.Extra, g.line(kind, id))
			continue
		}
		if a, b := w.content(), g.content(); a != b {
			r.Changed = append(r.Changed, g.line(kind, id)+": "+difference(a, b))
		}
	}
}

func (i *Item) line(kind, id string) string {
	return fmt.Sprintf("%s %s %q of %s (%s)", kind, id, i.Name, i.Session, i.Lane)
}

// content is the part of an item that its lane answers for.
func (i *Item) content() string {
	if i.Lane == Exact {
		return i.Full
	}
	return i.Timeless
}

// difference is where two texts begin to differ, and what stands around it.
func difference(want, got string) string {
	n := 0
	for n < len(want) && n < len(got) && want[n] == got[n] {
		n++
	}
	around := func(s string) string { return s[max(0, n-60):min(len(s), n+100)] }
	return fmt.Sprintf("want …%s… got …%s…", around(want), around(got))
}

// units holds the lossy lane to its promise: what came is part of what there was to come, once. The ids of spans may
// differ, since a connection that broke cut its session into segments.
func (r *Report) units(want, got map[string]*Item) {
	known := map[string]bool{}
	for _, s := range want {
		if s.Lane == Lossy {
			known[s.Unit] = true
		}
	}
	seen := map[string]string{}
	for id, s := range got {
		if s.Lane != Lossy || s.Unit == "" {
			continue
		}
		if !known[s.Unit] {
			r.Extra = append(r.Extra, s.line("span", id))
		}
		if other := seen[s.Unit]; other != "" {
			r.Extra = append(r.Extra, s.line("span", id)+" is there as "+other+" too")
		}
		seen[s.Unit] = id
	}
}

func (r *Report) series(want, got map[string]*Series, rules Rules) {
	bad := func(key, format string, args ...any) {
		r.Counters = append(r.Counters, key+": "+fmt.Sprintf(format, args...))
	}
	for key, w := range want {
		if got[key] == nil && w.compared() {
			bad(key, "lost, want %v", w.last())
		}
	}
	for key, g := range got {
		g.check(func(format string, args ...any) { bad(key, format, args...) }, rules)
		w := want[key]
		switch {
		case !g.compared():
			continue
		case w == nil:
			bad(key, "extra, got %v", g.last())
			continue
		case w.Kind != g.Kind || w.Monotonic != g.Monotonic || w.Cumulative != g.Cumulative:
			bad(key, "another kind of series")
		}
		a, b := w.last(), g.last()
		if !near(a.Value, b.Value) || a.Count != b.Count || !slices.Equal(a.Buckets, b.Buckets) {
			bad(key, "want %v count %d %v, got %v count %d %v", a.Value, a.Count, a.Buckets, b.Value, b.Count, b.Buckets)
		}
	}
	if totals(got, Lossy) > totals(want, Lossy) {
		bad("lossy lane", "more tokens than there were: %v instead of %v", totals(got, Lossy), totals(want, Lossy))
	}
}

func totals(all map[string]*Series, lane string) (sum float64) {
	for _, s := range all {
		if s.Lane == lane && s.Name == "agentstream.token.usage" {
			sum += s.last().Value
		}
	}
	return sum
}

// compared says whether two runs must end at the same value. Without times of their own, durations are those of two
// runs; a gauge shows whatever was read last.
func (s *Series) compared() bool {
	return s.Lane != Lossy && s.Kind != "gauge" && (s.Lane == Exact || !strings.HasSuffix(s.Name, ".duration"))
}

// check looks for what must not be in a series whatever its values are.
func (s *Series) check(bad func(format string, args ...any), rules Rules) {
	if !s.Cumulative || s.Kind == "gauge" {
		return
	}
	points := slices.SortedStableFunc(slices.Values(s.Points), func(a, b Point) int { return cmp.Compare(a.Time, b.Time) })
	last := map[uint64]Point{} // by start
	for _, p := range points {
		before, known := last[p.Start]
		switch {
		case !known && len(last) > 0 && !rules.Restarted:
			bad("start time changed to %d from %v", p.Start, slices.Collect(maps.Keys(last)))
		case !known && s.Monotonic && (p.Value != 0 || p.Count != 0):
			bad("begins with %v, not with zero", p.Value)
		case known && s.Monotonic && (p.Value < before.Value-1e-12 || p.Count < before.Count || fell(before.Buckets, p.Buckets)):
			bad("fell from %v count %d to %v count %d", before.Value, before.Count, p.Value, p.Count)
		case known && p.Time == before.Time && p.Value != before.Value:
			bad("two values at one time: %v and %v", before.Value, p.Value)
		}
		last[p.Start] = p
	}
}

func fell(before, now []uint64) bool {
	for i := range min(len(before), len(now)) {
		if now[i] < before[i] {
			return true
		}
	}
	return len(before) != len(now)
}

// near is within 1e-9, which is what the contract demands of costs; sums of many seconds get as many digits.
func near(a, b float64) bool {
	return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b))
}
