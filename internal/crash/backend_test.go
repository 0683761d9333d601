// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// backend keeps everything that was accepted.
type backend struct {
	mu     sync.Mutex
	spans  map[string]*item // by trace and span id
	logs   map[string]*item // by log.record.uid
	series map[string]*series
	bad    []string // what must not come, whatever else comes
	// times has what depends on when something was read.
	untimed bool
}

type item struct {
	name    string
	content string
	parent  string // of a span
	links   []string
	times   int
}

type series struct {
	name      string
	monotonic bool
	gauge     bool
	start     uint64
	time      uint64
	value     float64
	count     uint64
	buckets   []uint64
}

func newBackend() *backend {
	return &backend{spans: map[string]*item{}, logs: map[string]*item{}, series: map[string]*series{}}
}

func (b *backend) keep(kind string, of map[string]*item, id string, it *item) {
	old := of[id]
	if old == nil {
		it.times = 1
		of[id] = it
		return
	}
	old.times++
	if old.content != it.content {
		b.bad = append(b.bad, fmt.Sprintf("%s %s %q came again as another: %s", kind, id, it.name, difference(old.content, it.content)))
	}
}

func difference(want, got string) string {
	n := 0
	for n < len(want) && n < len(got) && want[n] == got[n] {
		n++
	}
	around := func(s string) string { return s[max(0, n-80):min(len(s), n+120)] }
	return fmt.Sprintf("\n\twas …%s…\n\tis  …%s…", around(want), around(got))
}

func (b *backend) traces(td ptrace.Traces) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var m ptrace.JSONMarshaler
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				one := ptrace.NewTraces()
				r := one.ResourceSpans().AppendEmpty()
				rs.Resource().CopyTo(r.Resource())
				sc := r.ScopeSpans().AppendEmpty()
				ss.Scope().CopyTo(sc.Scope())
				s.CopyTo(sc.Spans().AppendEmpty())
				text, err := m.MarshalTraces(one)
				if err != nil {
					b.bad = append(b.bad, err.Error())
				}
				it := &item{name: s.Name(), content: string(text)}
				if !s.ParentSpanID().IsEmpty() {
					it.parent = s.TraceID().String() + s.ParentSpanID().String()
				}
				for _, l := range s.Links().All() {
					it.links = append(it.links, l.TraceID().String()+l.SpanID().String())
				}
				b.keep("span", b.spans, s.TraceID().String()+s.SpanID().String(), it)
			}
		}
	}
}

func (b *backend) records(ld plog.Logs) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var m plog.JSONMarshaler
	for _, rl := range ld.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			for _, l := range sl.LogRecords().All() {
				one := plog.NewLogs()
				r := one.ResourceLogs().AppendEmpty()
				rl.Resource().CopyTo(r.Resource())
				sc := r.ScopeLogs().AppendEmpty()
				sl.Scope().CopyTo(sc.Scope())
				rec := sc.LogRecords().AppendEmpty()
				l.CopyTo(rec)
				rec.SetObservedTimestamp(0)
				text, err := m.MarshalLogs(one)
				if err != nil {
					b.bad = append(b.bad, err.Error())
				}
				uid, _ := l.Attributes().Get("log.record.uid")
				b.keep("log", b.logs, uid.AsString(), &item{name: l.EventName(), content: string(text)})
			}
		}
	}
}

func (b *backend) metrics(md pmetric.Metrics) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, rm := range md.ResourceMetrics().All() {
		for _, sm := range rm.ScopeMetrics().All() {
			for _, m := range sm.Metrics().All() {
				switch m.Type() {
				case pmetric.MetricTypeSum:
					for _, p := range m.Sum().DataPoints().All() {
						b.number(m, p, &series{monotonic: m.Sum().IsMonotonic()})
					}
				case pmetric.MetricTypeGauge:
					for _, p := range m.Gauge().DataPoints().All() {
						b.number(m, p, &series{gauge: true})
					}
				case pmetric.MetricTypeHistogram:
					for _, p := range m.Histogram().DataPoints().All() {
						b.point(seriesKey(m.Name(), p.Attributes()), &series{
							name: m.Name(), monotonic: true, start: uint64(p.StartTimestamp()), time: uint64(p.Timestamp()),
							value: p.Sum(), count: p.Count(), buckets: p.BucketCounts().AsRaw(),
						})
					}
				default:
					b.bad = append(b.bad, fmt.Sprintf("metric %s is a %s", m.Name(), m.Type()))
				}
			}
		}
	}
}

func (b *backend) number(m pmetric.Metric, p pmetric.NumberDataPoint, s *series) {
	s.name, s.start, s.time = m.Name(), uint64(p.StartTimestamp()), uint64(p.Timestamp())
	if s.value = p.DoubleValue(); p.ValueType() == pmetric.NumberDataPointValueTypeInt {
		s.value = float64(p.IntValue())
	}
	b.point(seriesKey(m.Name(), p.Attributes()), s)
}

func seriesKey(name string, attrs pcommon.Map) string {
	var list []string
	for k, v := range attrs.All() {
		list = append(list, k+"="+v.AsString())
	}
	slices.Sort(list)
	return name + "{" + strings.Join(list, ",") + "}"
}

func (b *backend) point(key string, s *series) {
	old := b.series[key]
	b.series[key] = s
	if s.gauge {
		return
	}
	switch {
	case old == nil || old.start != s.start:
		if old != nil && s.start < old.start {
			b.bad = append(b.bad, key+" began before it had begun")
		}
		if s.monotonic && (s.value != 0 || s.count != 0) {
			b.bad = append(b.bad, fmt.Sprintf("%s begins with %v", key, s.value))
		}
	case s.time < old.time:
		b.bad = append(b.bad, key+" goes back in time")
	case s.monotonic && (s.value < old.value-1e-12 || s.count < old.count || fell(old.buckets, s.buckets)):
		b.bad = append(b.bad, fmt.Sprintf("%s fell from %v, %d to %v, %d", key, old.value, old.count, s.value, s.count))
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

// rules are what a disturbed run may differ in from the undisturbed one.
type rules struct {
	// timeless compares ids only: what was read at another time has another time.
	timeless bool
	// restarted compares the last values of series with no regard to when they began.
	recounted bool // totals may be larger: what was known of them is gone
	// lossy allows for spans and logs that did not come.
	lossy bool
	// anyAgent does not ask which agent, the main one or a subagent, a count is of.
	anyAgent bool
	// loose asks for nothing but parents, and for not more tokens than there are.
	loose bool
	// torn says that rows were destroyed: what they told may have been sent without them since.
	torn bool
}

// compare says how got differs from want.
func compare(want, got *backend, r rules) (diff []string) {
	bad := func(format string, args ...any) { diff = append(diff, fmt.Sprintf(format, args...)) }
	diff = append(diff, slices.DeleteFunc(slices.Clone(got.bad), func(s string) bool { return r.torn && strings.Contains(s, " came again as another") })...)
	items := func(kind string, want, got map[string]*item) {
		for _, id := range sorted(want) {
			w, g := want[id], got[id]
			switch {
			case g == nil && r.lossy:
			case g == nil:
				bad("%s %s %q was lost: %s", kind, id, w.name, short(w.content))
			case !r.timeless && w.content != g.content:
				bad("%s %s %q of %s changed: %s", kind, id, w.name, sessionID.FindString(w.content), difference(w.content, g.content))
			case w.name != g.name || w.parent != g.parent || !slices.Equal(w.links, g.links):
				bad("%s %s %q, parent %s, links %v, changed: %q, %s, %v", kind, id, w.name, w.parent, w.links, g.name, g.parent, g.links)
			}
		}
		for _, id := range sorted(got) {
			if want[id] == nil {
				bad("%s %s %q should not be there: %s", kind, id, got[id].name, short(got[id].content))
			}
		}
	}
	if r.loose {
		for _, id := range sorted(got.spans) {
			if p := got.spans[id].parent; p != "" && got.spans[p] == nil {
				bad("span %s %q has no parent", id, got.spans[id].name)
			}
		}
		if w, g := want.total("agentstream.token.usage"), got.total("agentstream.token.usage"); g > w && !slices.ContainsFunc(got.twice(), overConnections) {
			bad("%v tokens are counted, of %v; told twice: %v", g, w, got.twice())
		}
		return diff
	}
	items("span", want.spans, got.spans)
	items("log", want.logs, got.logs)
	for _, id := range sorted(got.spans) {
		if p := got.spans[id].parent; p != "" && got.spans[p] == nil && (want.spans[id] == nil || want.spans[p] != nil) {
			bad("span %s %q has no parent", id, got.spans[id].name)
		}
	}
	if r.recounted {
		return diff
	}
	if r.anyAgent {
		want, got = want.merged(), got.merged()
	}
	for _, key := range sorted(want.series) {
		w, g := want.series[key], got.series[key]
		switch {
		case w.gauge, r.timeless && strings.HasSuffix(w.name, "duration"):
		case g == nil && r.lossy:
		case g == nil:
			bad("series %s was lost: %v, %d", key, w.value, w.count)
		case r.lossy && g.value <= w.value+1e-9 && g.count <= w.count:
		case !near(w.value, g.value) || w.count != g.count || !slices.Equal(w.buckets, g.buckets):
			bad("series %s is %v, %d, not %v, %d", key, g.value, g.count, w.value, w.count)
		}
	}
	for _, key := range sorted(got.series) {
		if g := got.series[key]; want.series[key] == nil && (g.value != 0 || g.count != 0) {
			bad("series %s should not be there: %v, %d", key, g.value, g.count)
		}
	}
	return diff
}

var sessionID = regexp.MustCompile(`"gen_ai.conversation.id","value":\{"stringValue":"([^"]+)"`)

var responseID = regexp.MustCompile(`"gen_ai.response.id","value":\{"stringValue":"([^"]+)"`)

// twice has the responses that several spans tell.
func (b *backend) twice() (ids []string) {
	seen := map[string]string{}
	for _, id := range sorted(b.spans) {
		if m := responseID.FindStringSubmatch(b.spans[id].content); m != nil {
			if other := seen[m[1]]; other != "" {
				ids = append(ids, m[1]+" by "+other+" and "+id)
			}
			seen[m[1]] = id
		}
	}
	return ids
}

// overConnections says that a response came over connections, of which one broke in the middle of it. What comes
// over the next one is told anew, and where that is in the journal when a process ends, it is counted anew.
func overConnections(response string) bool { return strings.HasPrefix(response, "msg-tcp") }

// merged has the sums of series that differ only in who is counted.
func (b *backend) merged() *backend {
	out := newBackend()
	for key, s := range b.series {
		key = strings.NewReplacer("agentstream.subagent=false", "", "agentstream.subagent=true", "").Replace(key)
		sum := *s
		if old := out.series[key]; old != nil {
			sum.value, sum.count = sum.value+old.value, sum.count+old.count
		}
		out.series[key] = &sum
	}
	return out
}

func short(s string) string {
	if i := strings.Index(s, `"scopeSpans"`); i > 0 {
		s = s[i:]
	}
	return s[:min(len(s), 500)]
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, cmp.Compare[string])
	return keys
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

// total is the sum of all series of a name.
func (b *backend) total(name string) (sum float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.series {
		if s.name == name {
			sum += s.value
		}
	}
	return sum
}

// named counts the spans whose name begins so.
func (b *backend) named(prefix string) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.spans {
		if strings.HasPrefix(s.name, prefix) {
			n++
		}
	}
	return n
}

func unhex(id string) (out []byte) {
	out, _ = hex.DecodeString(id)
	return out
}
