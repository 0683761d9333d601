// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

const (
	// DefaultMaxToolNames is the limit when MetricOptions name none.
	DefaultMaxToolNames = 100

	// Models, error types and rate limits come from the input, so each has a limit as well: a broken or
	// hostile stream must not make series without end. Real fleets stay far below.
	maxModels     = 100
	maxErrorTypes = 100
	maxLimits     = 20
)

// MetricOptions say how steps become series.
type MetricOptions struct {
	// ServiceName and ResourceAttributes are as in Options.
	ServiceName        string
	ResourceAttributes map[string]string
	// Start is the start time of every cumulative series, and of the first delta window, in Unix
	// nanoseconds: when counting began, kept over restarts by callers that keep their totals.
	Start int64
	// MaxToolNames is how many tool names become labels before the rest is "other"; names that came
	// first stay. 0 = DefaultMaxToolNames.
	MaxToolNames int
	// LegacyTokenUsage sends gen_ai.client.token.usage.
	LegacyTokenUsage bool
	// SeriesTTL is how long a series is sent without having moved. 0 = always.
	SeriesTTL time.Duration
	// Delta sends windows instead of running totals: gapless, each starts where the series' last one ended.
	Delta bool
}

// Totals add up steps into series and show them.
//
// Steps commute: the same set of steps gives the same totals in any order. That holds for sums of
// doubles too, since they are kept in fixed point. Two things depend on order: the last value of a
// gauge, and which names stay once a limit is reached.
//
// A series is announced before it is given: it first shows zero (or, after it was left out for
// SeriesTTL, what it last showed), and its value one Snapshot later. Without that, Prometheus and Datadog
// lose the first step. Pending tells that a further Snapshot is due.
//
// Totals belong to one goroutine; what Snapshot returns shares nothing with them.
type Totals struct {
	opts   MetricOptions
	static []translate.KeyValue
	tools  limiter
	models limiter
	errors limiter
	limits limiter

	series map[seriesKey]*series
	order  []*series // sorted unless unsorted is set
	// unsorted is set by a new series.
	unsorted bool
	last     int64 // time of the last Snapshot, Start before
}

// NewTotals are Totals without any series.
func NewTotals(opts MetricOptions) *Totals {
	if opts.MaxToolNames <= 0 {
		opts.MaxToolNames = DefaultMaxToolNames
	}
	return &Totals{
		opts:   opts,
		static: staticAttributes(opts.ResourceAttributes),
		tools:  limiter{max: opts.MaxToolNames, rest: labelOther},
		models: limiter{max: maxModels, rest: labelOther},
		errors: limiter{max: maxErrorTypes, rest: errorOther},
		limits: limiter{max: maxLimits, rest: labelOther},
		series: map[seriesKey]*series{},
		last:   opts.Start,
	}
}

// limiter lets the first max names through and calls all others rest.
type limiter struct {
	max  int
	rest string
	seen map[string]struct{}
}

func (l *limiter) name(s string) string {
	if s == "" {
		return ""
	}
	if _, ok := l.seen[s]; ok {
		return s
	}
	if len(l.seen) >= l.max {
		return l.rest
	}
	if l.seen == nil {
		l.seen = map[string]struct{}{}
	}
	l.seen[s] = struct{}{}
	return s
}

// know lets s through, whatever the limit is.
func (l *limiter) know(s string) {
	if s == "" || s == l.rest {
		return
	}
	if l.seen == nil {
		l.seen = map[string]struct{}{}
	}
	l.seen[s] = struct{}{}
}

// seriesKey is what tells series apart. Fields that the instrument has no label for are zero.
type seriesKey struct {
	in       instrumentID
	agent    string
	model    string
	provider string
	tool     string
	value    string // outcome, source, class or type: the one label of the instrument that has fixed values
	errType  string
	ext      bool
	sub      bool
}

// total is the value of a series.
type total struct {
	n       int64 // of int sums; count of histograms
	sum     fixed // of double sums and histograms
	last    float64
	buckets []uint64
}

// minus is what came after o.
func (a *total) minus(o *total) total {
	d := total{n: a.n - o.n, sum: a.sum.minus(o.sum), last: a.last}
	if a.buckets != nil {
		d.buckets = slices.Clone(a.buckets)
		for i := range o.buckets {
			d.buckets[i] -= o.buckets[i]
		}
	}
	return d
}

// series is one label set of an instrument.
type series struct {
	key  seriesKey
	now  total
	sent total // what the last point said

	announced bool  // a point stands before the next value
	moved     bool  // since the last Snapshot
	dirty     bool  // now was not sent yet
	movedAt   int64 // time of the Snapshot that saw it move
	end       int64 // time of its last point, 0 before the first

	taken    total // as sent and end, of the last point that was accepted; of windows only
	takenEnd int64

	unsaved bool   // Save is to give it
	name    string // Saved.Key, "" before the first Save
}

func newSeries(k seriesKey) *series {
	s := &series{key: k}
	if b := instruments[k.in].buckets; b != nil {
		s.now.buckets = make([]uint64, len(b)+1)
		s.sent.buckets = make([]uint64, len(b)+1)
		s.taken.buckets = make([]uint64, len(b)+1)
	}
	return s
}

// Add counts a step. Steps without a metric, and values that no series can hold (negative or not
// finite where a sum only rises), are nothing.
func (t *Totals) Add(st translate.Step) {
	switch st.Metric {
	case translate.MetricTokens:
		k := st.Tokens
		t.count(inUsageInput, &st, "", k.InputTotal())
		t.count(inUsageOutput, &st, "", k.Output)
		t.count(inUsageCacheRead, &st, "", k.CacheRead)
		t.count(inUsageCacheWrite, &st, "", k.CacheWrite)
		t.count(inUsageReasoning, &st, "", k.Reasoning)
		t.count(inTokens, &st, "input", k.Input)
		t.count(inTokens, &st, "cache_read", k.CacheRead)
		t.count(inTokens, &st, "cache_write", k.CacheWrite)
		t.count(inTokens, &st, "output", k.Output)
	case translate.MetricResponseTokens:
		if t.opts.LegacyTokenUsage {
			// A step does not tell a class that was not reported from an empty one.
			if n := st.Tokens.InputTotal(); n > 0 {
				t.observe(inLegacyTokens, &st, "input", float64(n))
			}
			if n := st.Tokens.Output; n > 0 {
				t.observe(inLegacyTokens, &st, "output", float64(n))
			}
		}
	case translate.MetricCost:
		if rises(st.Value) {
			s := t.at(inCost, &st, st.Label)
			s.now.sum = s.now.sum.plus(toFixed(st.Value))
		}
	case translate.MetricUnpriced:
		t.add(inUnpriced, &st)
	case translate.MetricUsageIncomplete:
		t.add(inIncomplete, &st)
	case translate.MetricInferenceDuration:
		t.observe(inInferenceDuration, &st, "", st.Value)
	case translate.MetricAgentDuration:
		t.observe(inAgentDuration, &st, "", st.Value)
	case translate.MetricAgentCalls:
		t.observe(inAgentCalls, &st, "", st.Value)
	case translate.MetricAgentTools:
		t.observe(inAgentTools, &st, "", st.Value)
	case translate.MetricToolDuration:
		t.observe(inToolDuration, &st, "", st.Value)
	case translate.MetricToolCalls:
		t.add(inToolCalls, &st)
	case translate.MetricSessions:
		t.add(inSessions, &st)
	case translate.MetricSegments:
		t.add(inSegments, &st)
	case translate.MetricActive:
		t.at(inActive, &st, "").now.n += int64(st.Value)
	case translate.MetricPrompts:
		t.add(inPrompts, &st)
	case translate.MetricRetries:
		t.add(inRetries, &st)
	case translate.MetricDenials:
		t.add(inDenials, &st)
	case translate.MetricCompactions:
		t.add(inCompactions, &st)
	case translate.MetricLines:
		t.add(inLines, &st)
	case translate.MetricRateLimit:
		if finite(st.Value) {
			t.at(inRateLimit, &st, st.Label).now.last = st.Value
		}
	}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func rises(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }

// add counts the step's value in a sum of ints.
func (t *Totals) add(in instrumentID, st *translate.Step) {
	if rises(st.Value) {
		t.count(in, st, st.Label, int64(math.Round(st.Value)))
	}
}

// count adds n to a sum of ints. Nothing starts no series: a class of tokens that a model never
// uses is absent, not zero.
func (t *Totals) count(in instrumentID, st *translate.Step, value string, n int64) {
	if n > 0 {
		t.at(in, st, value).now.n += n
	}
}

// observe puts v into a histogram.
func (t *Totals) observe(in instrumentID, st *translate.Step, value string, v float64) {
	if !rises(v) {
		return
	}
	s := t.at(in, st, value)
	s.now.n++
	s.now.sum = s.now.sum.plus(toFixed(v))
	s.now.buckets[sort.SearchFloat64s(instruments[in].buckets, v)]++
}

// at is the series that a step moves.
func (t *Totals) at(in instrumentID, st *translate.Step, value string) *series {
	k := seriesKey{in: in}
	for _, l := range instruments[in].labels {
		switch l {
		case labelAgent:
			k.agent = st.Agent
		case labelModel:
			k.model = t.models.name(cmp.Or(st.Model, modelUnknown))
		case labelProvider:
			k.provider = st.Provider
		case labelTool:
			k.tool = t.tools.name(st.Tool)
		case labelToolType:
			k.ext = st.Extension
		case labelSubagent:
			k.sub = st.Subagent
		case labelErrorType:
			k.errType = t.errors.name(st.ErrType)
		case labelLimitType:
			k.value = t.limits.name(value)
		case labelTokenType, labelOwnTokenType, labelCostSource, labelToolOutcome, labelSessionOutcome, labelLineChange:
			k.value = value
		}
	}
	s := t.series[k]
	if s == nil {
		s = newSeries(k)
		t.put(s)
	}
	s.moved, s.dirty, s.unsaved = true, true, true
	return s
}

func (t *Totals) put(s *series) {
	t.series[s.key] = s
	t.order = append(t.order, s)
	t.unsorted = true
}

func (t *Totals) sort() {
	if t.unsorted {
		slices.SortFunc(t.order, t.compare)
		t.unsorted = false
	}
}

// Pending reports whether some series moved and its value is still to be shown.
func (t *Totals) Pending() bool {
	return slices.ContainsFunc(t.order, func(s *series) bool { return s.dirty })
}

// Snapshot shows every live series at now, in Unix nanoseconds. Points never go back in time: a now
// that is not after the last one (or after Start) is moved behind it. Every Snapshot counts as
// emitted; a caller whose emission is refused sends the same one again before it takes the next.
func (t *Totals) Snapshot(now int64) pmetric.Metrics {
	now = max(now, t.last+1)
	t.sort()
	md := pmetric.NewMetrics()
	w := writer{t: t, md: md, now: now}
	for _, s := range t.order {
		if s.moved {
			s.moved, s.movedAt, s.unsaved = false, now, true
		}
		if !s.dirty && t.opts.SeriesTTL > 0 && now-s.movedAt > int64(t.opts.SeriesTTL) {
			s.announced = false
			continue
		}
		give := s.announced || instruments[s.key.in].kind == gauge
		s.announced = true
		if !give {
			w.point(s, &s.sent)
			continue
		}
		w.point(s, &s.now)
		if s.dirty {
			s.dirty, s.unsaved = false, true
			s.sent.n, s.sent.sum, s.sent.last = s.now.n, s.now.sum, s.now.last
			copy(s.sent.buckets, s.now.buckets)
		}
	}
	t.last = now
	// A mutating consumer gets a copy of its own, and the caller's stays what it was for a retry.
	md.MarkReadOnly()
	return md
}

// Restamp gives all points of a snapshot another time, in Unix nanoseconds: that at which it is sent
// again. Only running totals may be moved in time.
func Restamp(md pmetric.Metrics, now int64) {
	at := pcommon.Timestamp(now)
	for _, rm := range md.ResourceMetrics().All() {
		for _, sm := range rm.ScopeMetrics().All() {
			for _, m := range sm.Metrics().All() {
				restamp(m, at)
			}
		}
	}
}

func restamp(m pmetric.Metric, at pcommon.Timestamp) {
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		for _, p := range m.Gauge().DataPoints().All() {
			p.SetTimestamp(at)
		}
	case pmetric.MetricTypeSum:
		for _, p := range m.Sum().DataPoints().All() {
			p.SetTimestamp(at)
		}
	case pmetric.MetricTypeHistogram:
		for _, p := range m.Histogram().DataPoints().All() {
			p.SetTimestamp(at)
		}
	}
}

// compare orders series by resource, metric and labels.
func (t *Totals) compare(a, b *series) int {
	x, y := &a.key, &b.key
	return cmp.Or(
		cmp.Compare(serviceName(t.opts.ServiceName, x.agent), serviceName(t.opts.ServiceName, y.agent)),
		cmp.Compare(x.in, y.in),
		cmp.Compare(x.agent, y.agent),
		cmp.Compare(x.model, y.model),
		cmp.Compare(x.provider, y.provider),
		cmp.Compare(x.tool, y.tool),
		cmp.Compare(x.value, y.value),
		cmp.Compare(x.errType, y.errType),
		compareBool(x.ext, y.ext),
		compareBool(x.sub, y.sub),
	)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// writer puts points, which come in the order of compare, below their resource and metric.
type writer struct {
	t       *Totals
	md      pmetric.Metrics
	now     int64
	open    bool
	service string
	in      instrumentID
	metrics pmetric.MetricSlice
	numbers pmetric.NumberDataPointSlice
	histos  pmetric.HistogramDataPointSlice
}

func (w *writer) point(s *series, value *total) {
	service := serviceName(w.t.opts.ServiceName, s.key.agent)
	if !w.open || service != w.service {
		// One resource per service and no version in it (telemetry contract, section 1).
		rm := w.md.ResourceMetrics().AppendEmpty()
		putResource(rm.Resource().Attributes(), service, "", w.t.static)
		sm := rm.ScopeMetrics().AppendEmpty()
		sm.Scope().SetName(ScopeName)
		sm.Scope().SetVersion(metricsScopeVersion)
		w.metrics, w.service = sm.Metrics(), service
		w.metric(s.key.in)
	} else if s.key.in != w.in {
		w.metric(s.key.in)
	}
	w.open = true

	in := &instruments[s.key.in]
	start := w.t.opts.Start
	if w.t.opts.Delta && in.kind != balance && in.kind != gauge {
		start = cmp.Or(s.end, w.t.last)
		window := value.minus(&s.sent)
		value = &window
	}
	s.end = w.now
	if in.kind == histogram {
		p := w.histos.AppendEmpty()
		p.SetStartTimestamp(pcommon.Timestamp(start))
		p.SetTimestamp(pcommon.Timestamp(w.now))
		p.SetCount(uint64(value.n))
		p.SetSum(value.sum.float())
		p.ExplicitBounds().FromRaw(in.buckets)
		p.BucketCounts().FromRaw(value.buckets)
		putLabels(p.Attributes(), in, &s.key)
		return
	}
	p := w.numbers.AppendEmpty()
	p.SetTimestamp(pcommon.Timestamp(w.now))
	switch {
	case in.kind == gauge:
		p.SetDoubleValue(value.last)
	case in.float:
		p.SetStartTimestamp(pcommon.Timestamp(start))
		p.SetDoubleValue(value.sum.float())
	default:
		p.SetStartTimestamp(pcommon.Timestamp(start))
		p.SetIntValue(value.n)
	}
	putLabels(p.Attributes(), in, &s.key)
}

// metric opens the metric of an instrument.
func (w *writer) metric(id instrumentID) {
	in := &instruments[id]
	w.in = id
	m := w.metrics.AppendEmpty()
	m.SetName(in.name)
	m.SetUnit(in.unit)
	m.SetDescription(in.about)
	temporality := pmetric.AggregationTemporalityCumulative
	if w.t.opts.Delta && in.kind != balance {
		temporality = pmetric.AggregationTemporalityDelta
	}
	switch in.kind {
	case gauge:
		w.numbers = m.SetEmptyGauge().DataPoints()
	case histogram:
		h := m.SetEmptyHistogram()
		h.SetAggregationTemporality(temporality)
		w.histos = h.DataPoints()
	default:
		s := m.SetEmptySum()
		s.SetAggregationTemporality(temporality)
		s.SetIsMonotonic(in.kind == counter)
		w.numbers = s.DataPoints()
	}
}

// putLabels writes the labels in the order of the instrument.
func putLabels(m pcommon.Map, in *instrument, k *seriesKey) {
	m.EnsureCapacity(len(in.labels))
	for _, l := range in.labels {
		key := labelTable[l].key
		switch l {
		case labelOperation:
			m.PutStr(key, opChat)
		case labelModality:
			m.PutStr(key, modalityUnknown)
		case labelAgent:
			putStr(m, key, k.agent)
		case labelModel:
			m.PutStr(key, k.model)
		case labelProvider:
			putStr(m, key, k.provider)
		case labelTool:
			putStr(m, key, k.tool)
		case labelToolType:
			m.PutStr(key, toolType(k.ext))
		case labelSubagent:
			m.PutBool(key, k.sub)
		case labelErrorType:
			putStr(m, key, k.errType)
		default:
			putStr(m, key, k.value)
		}
	}
}
