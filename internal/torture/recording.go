// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// LaneKey is the resource attribute that says which lane something came from.
const LaneKey = "torture.lane"

// The lanes; see the package.
const (
	Exact   = "exact"
	Untimed = "untimed"
	Lossy   = "lossy"
)

// Item is a span or a log record.
type Item struct {
	Lane    string
	Name    string // of a span, or of an event
	Session string // the conversation id
	// Unit is what a span stands for, whatever trace it came to be in: its name with the id of its call or response.
	// It is empty for others and for log records.
	Unit string
	Root bool // a span without a parent
	// Full is the content, but for the observed time of a log record; Timeless is it without times.
	Full, Timeless string
	// Times is how often it came, Variants what it was when it did not come as before.
	Times    int
	Variants []Item
}

// Point is a data point. Of a histogram, Value is the sum.
type Point struct {
	Time, Start uint64
	Value       float64
	Count       uint64
	Buckets     []uint64
}

// Series is everything that came of a metric series.
type Series struct {
	Lane, Name string
	Kind       string // sum, gauge or histogram
	Monotonic  bool
	Cumulative bool
	Points     []Point // as they came
}

// Recording is what a backend got. It may be used by several goroutines.
type Recording struct {
	mu      sync.Mutex
	spans   map[string]*Item // by trace and span id
	logs    map[string]*Item // by log.record.uid
	series  map[string]*Series
	bad     []string
	exports map[string]int // requests by signal
}

// NewRecording is an empty one.
func NewRecording() *Recording {
	return &Recording{spans: map[string]*Item{}, logs: map[string]*Item{}, series: map[string]*Series{}, exports: map[string]int{}}
}

// Clone is a copy that can be changed without changing r.
func (r *Recording) Clone() *Recording {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := NewRecording()
	for id, s := range r.spans {
		c.spans[id] = s.clone()
	}
	for uid, l := range r.logs {
		c.logs[uid] = l.clone()
	}
	for key, s := range r.series {
		n := *s
		n.Points = slices.Clone(s.Points)
		c.series[key] = &n
	}
	c.bad = slices.Clone(r.bad)
	maps.Copy(c.exports, r.exports)
	return c
}

func (i *Item) clone() *Item {
	c := *i
	c.Variants = slices.Clone(i.Variants)
	return &c
}

// Exports is how many requests of a signal were recorded.
func (r *Recording) Exports(signal string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.exports[signal]
}

// Sizes are the numbers of different spans and log records.
func (r *Recording) Sizes() (spans, logs int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.spans), len(r.logs)
}

// Traces records a request.
func (r *Recording) Traces(td ptrace.Traces) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exports["traces"]++
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			head := map[string]any{
				"resource": raw(rs.Resource().Attributes()), "resource schema": rs.SchemaUrl(),
				"scope": ss.Scope().Name() + " " + ss.Scope().Version(), "schema": ss.SchemaUrl(),
			}
			for _, s := range ss.Spans().All() {
				r.keep(r.spans, s.TraceID().String()+"/"+s.SpanID().String(), spanItem(lane(rs.Resource()), head, s))
			}
		}
	}
}

// Logs records a request.
func (r *Recording) Logs(ld plog.Logs) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exports["logs"]++
	for _, rl := range ld.ResourceLogs().All() {
		for _, sl := range rl.ScopeLogs().All() {
			head := map[string]any{
				"resource": raw(rl.Resource().Attributes()), "resource schema": rl.SchemaUrl(),
				"scope": sl.Scope().Name() + " " + sl.Scope().Version(), "schema": sl.SchemaUrl(),
			}
			for _, l := range sl.LogRecords().All() {
				uid := text(l.Attributes(), "log.record.uid")
				if uid == "" {
					r.bad = append(r.bad, "a log record without uid: "+l.EventName())
					continue
				}
				r.keep(r.logs, uid, logItem(lane(rl.Resource()), head, l))
			}
		}
	}
}

func (r *Recording) keep(all map[string]*Item, id string, item Item) {
	known := all[id]
	if known == nil {
		item.Times = 1
		all[id] = &item
		return
	}
	known.Times++
	if known.Full != item.Full && !slices.ContainsFunc(known.Variants, func(v Item) bool { return v.Full == item.Full }) {
		known.Variants = append(known.Variants, item)
	}
}

// Metrics records a request.
func (r *Recording) Metrics(md pmetric.Metrics) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exports["metrics"]++
	for _, rm := range md.ResourceMetrics().All() {
		resource, from := encode(raw(rm.Resource().Attributes())), lane(rm.Resource())
		for _, sm := range rm.ScopeMetrics().All() {
			scope := sm.Scope().Name() + " " + sm.Scope().Version()
			for _, m := range sm.Metrics().All() {
				series := func(kind string, monotonic bool, t pmetric.AggregationTemporality, labels pcommon.Map) *Series {
					key := strings.Join([]string{m.Name(), m.Unit(), encode(raw(labels)), resource, scope}, " ")
					s := r.series[key]
					if s == nil {
						s = &Series{
							Lane: from, Name: m.Name(), Kind: kind, Monotonic: monotonic,
							Cumulative: t != pmetric.AggregationTemporalityDelta,
						}
						r.series[key] = s
					}
					return s
				}
				numbers := func(kind string, monotonic bool, t pmetric.AggregationTemporality, points pmetric.NumberDataPointSlice) {
					for _, p := range points.All() {
						value := p.DoubleValue()
						if p.ValueType() == pmetric.NumberDataPointValueTypeInt {
							value = float64(p.IntValue())
						}
						s := series(kind, monotonic, t, p.Attributes())
						s.Points = append(s.Points, Point{Time: uint64(p.Timestamp()), Start: uint64(p.StartTimestamp()), Value: value})
					}
				}
				switch m.Type() {
				case pmetric.MetricTypeSum:
					numbers("sum", m.Sum().IsMonotonic(), m.Sum().AggregationTemporality(), m.Sum().DataPoints())
				case pmetric.MetricTypeGauge:
					numbers("gauge", false, pmetric.AggregationTemporalityUnspecified, m.Gauge().DataPoints())
				case pmetric.MetricTypeHistogram:
					for _, p := range m.Histogram().DataPoints().All() {
						s := series("histogram", true, m.Histogram().AggregationTemporality(), p.Attributes())
						s.Points = append(s.Points, Point{
							Time: uint64(p.Timestamp()), Start: uint64(p.StartTimestamp()),
							Value: p.Sum(), Count: p.Count(), Buckets: p.BucketCounts().AsRaw(),
						})
					}
				default:
					r.bad = append(r.bad, fmt.Sprintf("metric %s is a %s", m.Name(), m.Type()))
				}
			}
		}
	}
}

// Roots counts the root spans by session, of all lanes but those named.
func (r *Recording) Roots(but ...string) map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	roots := map[string]int{}
	for _, s := range r.spans {
		if s.Root && !slices.Contains(but, s.Lane) {
			roots[s.Session]++
		}
	}
	return roots
}

// Rootless are the traces of which a span came and no root.
func (r *Recording) Rootless() (traces []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rooted := map[string]bool{}
	for id, s := range r.spans {
		trace, _, _ := strings.Cut(id, "/")
		rooted[trace] = rooted[trace] || s.Root
	}
	for trace, yes := range rooted {
		if !yes {
			traces = append(traces, trace)
		}
	}
	slices.Sort(traces)
	return traces
}

// Last is the sum over the series of a metric of their last values.
func (r *Recording) Last(name string, lanes ...string) (sum float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.series {
		if s.Name == name && (len(lanes) == 0 || slices.Contains(lanes, s.Lane)) {
			sum += s.last().Value
		}
	}
	return sum
}

// last is the point with the latest time: a queue may deliver them in another order.
func (s *Series) last() (p Point) {
	for _, q := range s.Points {
		if q.Time >= p.Time {
			p = q
		}
	}
	return p
}

func spanItem(lane string, head map[string]any, s ptrace.Span) Item {
	content := maps.Clone(head)
	attrs := raw(s.Attributes())
	content["ids"] = []string{s.TraceID().String(), s.SpanID().String(), s.ParentSpanID().String(), s.TraceState().AsRaw()}
	content["name"], content["kind"], content["flags"] = s.Name(), s.Kind().String(), s.Flags()
	content["status"] = []string{s.Status().Code().String(), s.Status().Message()}
	content["dropped"] = []uint32{s.DroppedAttributesCount(), s.DroppedEventsCount(), s.DroppedLinksCount()}
	content["attributes"] = attrs
	links := []any{}
	for _, l := range s.Links().All() {
		links = append(links, []any{l.TraceID().String(), l.SpanID().String(), l.TraceState().AsRaw(), l.Flags(), raw(l.Attributes())})
	}
	content["links"] = links
	events, bare := []any{}, []any{}
	for _, e := range s.Events().All() {
		events = append(events, []any{e.Timestamp(), e.Name(), raw(e.Attributes())})
		bare = append(bare, []any{e.Name(), raw(e.Attributes())})
	}
	content["events"] = events
	content["times"] = []pcommon.Timestamp{s.StartTimestamp(), s.EndTimestamp()}
	item := Item{Lane: lane, Name: s.Name(), Session: text(s.Attributes(), "gen_ai.conversation.id"), Root: attrs["agentstream.session.outcome"] != nil}
	for _, key := range []string{"gen_ai.tool.call.id", "gen_ai.response.id"} {
		if id := text(s.Attributes(), key); id != "" {
			item.Unit = s.Name() + " " + id
		}
	}
	item.Full = encode(content)
	content["events"] = bare
	delete(content, "times")
	delete(attrs, "agentstream.time.estimated")
	item.Timeless = encode(content)
	return item
}

func logItem(lane string, head map[string]any, l plog.LogRecord) Item {
	content := maps.Clone(head)
	attrs := raw(l.Attributes())
	content["ids"] = []string{l.TraceID().String(), l.SpanID().String()}
	content["name"], content["flags"], content["dropped"] = l.EventName(), l.Flags(), l.DroppedAttributesCount()
	content["severity"] = []string{l.SeverityNumber().String(), l.SeverityText()}
	content["body"], content["attributes"] = value(l.Body()), attrs
	content["times"] = l.Timestamp()
	item := Item{Lane: lane, Name: l.EventName(), Session: text(l.Attributes(), "gen_ai.conversation.id")}
	item.Full = encode(content)
	delete(content, "times")
	delete(attrs, "agentstream.time.estimated")
	item.Timeless = encode(content)
	return item
}

func lane(r pcommon.Resource) string { return text(r.Attributes(), LaneKey) }

func text(m pcommon.Map, key string) string {
	v, ok := m.Get(key)
	if !ok || v.Type() != pcommon.ValueTypeStr {
		return ""
	}
	return v.Str()
}

func raw(m pcommon.Map) map[string]any {
	out := make(map[string]any, m.Len())
	for k, v := range m.All() {
		out[k] = value(v)
	}
	return out
}

// value keeps what JSON would not tell apart: a double from an integer.
func value(v pcommon.Value) any {
	switch v.Type() {
	case pcommon.ValueTypeDouble:
		// Sums in another order differ in the last digits.
		return map[string]any{"double": strconv.FormatFloat(v.Double(), 'g', 12, 64)}
	case pcommon.ValueTypeMap:
		return map[string]any{"map": raw(v.Map())}
	case pcommon.ValueTypeSlice:
		list := []any{}
		for _, e := range v.Slice().All() {
			list = append(list, value(e))
		}
		return list
	case pcommon.ValueTypeBytes:
		return map[string]any{"bytes": v.Bytes().AsRaw()}
	default:
		return v.AsRaw()
	}
}

// encode writes maps in the order of their keys.
func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error() // NaN; it compares as well as anything
	}
	return string(b)
}
