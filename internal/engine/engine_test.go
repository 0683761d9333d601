// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/goleak"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/otlp"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is sink and reporter in one.
type recorder struct {
	mu      sync.Mutex
	spans   []string // names with ids
	logs    int
	points  []int64 // sums of agentstream.token.usage, one a snapshot
	dropped map[Signal]int
	retries int
	healed  int
	lines   batch.Outcomes
	commits int

	// refuse decides about each attempt at traces; nil accepts.
	refuse func(ptrace.Traces) error
}

func (r *recorder) sink() Sink {
	return Sink{
		Traces: func(_ context.Context, td ptrace.Traces) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.refuse != nil {
				if err := r.refuse(td); err != nil {
					return err
				}
			}
			for _, s := range spansOf(td) {
				r.spans = append(r.spans, s.Name()+" "+s.SpanID().String())
			}
			return nil
		},
		Logs: func(_ context.Context, ld plog.Logs) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.logs += ld.LogRecordCount()
			return nil
		},
		Metrics: func(_ context.Context, md pmetric.Metrics) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			var sum int64
			for _, rm := range md.ResourceMetrics().All() {
				for _, sm := range rm.ScopeMetrics().All() {
					for _, m := range sm.Metrics().All() {
						if m.Name() != "agentstream.token.usage" {
							continue
						}
						for _, p := range m.Sum().DataPoints().All() {
							sum += p.IntValue()
						}
					}
				}
			}
			r.points = append(r.points, sum)
			return nil
		},
	}
}

func (r *recorder) Folded(_ translate.Format, lines *batch.Outcomes, _, _ int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines.Add(lines)
}

func (r *recorder) Retrying(Signal, error, time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.retries++
}

func (r *recorder) Recovered(Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.healed++
}

func (r *recorder) Dropped(s Signal, items int, _ error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dropped == nil {
		r.dropped = map[Signal]int{}
	}
	r.dropped[s] += items
}

func (r *recorder) CommitFailed(error)                      {}
func (r *recorder) CommitRecovered()                        {}
func (r *recorder) Refolded(int64)                          {}
func (r *recorder) Unreadable(ledger.FileID, string, error) {}
func (r *recorder) Damaged(int)                             {}

func (r *recorder) Committed(parcels int, _ time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commits += parcels
}

func (r *recorder) committed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.commits
}

// roots counts the spans of sessions that arrived.
func (r *recorder) roots() int { return r.named("invoke_agent") }

func (r *recorder) named(prefix string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		if strings.HasPrefix(s, prefix) {
			n++
		}
	}
	return n
}

func spansOf(td ptrace.Traces) (spans []ptrace.Span) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				spans = append(spans, s)
			}
		}
	}
	return spans
}

// now is long after 2000, when the clock of these tests begins: no agent wrote then.
func now() time.Time { return time.Now().AddDate(26, 0, 0) }

func newEngine(r *recorder, change func(*Options)) *Engine {
	book, err := ledger.Open(context.Background(), ledger.NewMemory(), now())
	if err != nil {
		panic(err) // a map cannot fail
	}
	opts := Options{
		Batch:           batch.Options{Now: now},
		MaxLine:         1 << 20,
		Session:         session.NewConfig(),
		Builder:         otlp.NewBuilder(otlp.Options{}),
		Totals:          otlp.NewTotals(otlp.MetricOptions{Start: now().UnixNano()}),
		MetricsInterval: time.Hour,
		Ledger:          book,
		Sink:            r.sink(),
		Reporter:        r,
		Backoff:         10 * time.Millisecond,
		MaxBackoff:      time.Second,
	}
	if change != nil {
		change(&opts)
	}
	e := New(opts)
	e.Start()
	e.SetReread(nil)
	e.CaughtUp()
	return e
}

// The rows of a stream: n responses of session id, then perhaps its result.
func initRow(id string) string {
	return fmt.Sprintf(`{"type":"system","subtype":"init","session_id":%q,"model":"claude-sonnet-4-5","cwd":"/w","tools":["Bash"],"uuid":"i-%s"}`, id, id)
}

func answerRow(id string, n int) string {
	return fmt.Sprintf(`{"type":"assistant","session_id":%q,"uuid":"a-%s-%d","message":{"id":"m-%s-%d","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"x"}],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":2}}}`, id, id, n, id, n)
}

func resultRow(id string) string {
	return fmt.Sprintf(`{"type":"result","subtype":"success","is_error":false,"session_id":%q,"num_turns":1,"duration_ms":1,"uuid":"r-%s"}`, id, id)
}

// timed gives a row a time, in seconds of some minute.
func timed(sec int, row string) string {
	return fmt.Sprintf(`{"timestamp":"2026-01-01T00:00:%02dZ",%s`, sec, row[1:])
}

func send(t *testing.T, in *Input, committed func(*batch.Outcomes), rows ...string) {
	t.Helper()
	require.NoError(t, in.Send(t.Context(), lines(in.source.Live, rows...), committed))
}

func lines(live bool, rows ...string) *batch.Batch {
	b := batch.New()
	var arrival int64
	if live {
		arrival = now().UnixNano()
	}
	for _, row := range rows {
		b.Add(append(b.Buffer(), row...), arrival)
		b.Size += int64(len(row)) + 1
	}
	return b
}

func stop(t *testing.T, e *Engine) {
	t.Helper()
	require.NoError(t, e.Shutdown(t.Context()))
}

func TestCommitFollowsDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		e := newEngine(r, nil)
		in := e.Open(Source{Live: true})
		var told batch.Outcomes
		var chats int
		send(t, in, func(o *batch.Outcomes) { told, chats = *o, r.named("chat") },
			initRow("s"), answerRow("s", 1), "nonsense", answerRow("s", 2), resultRow("s"))
		synctest.Wait()
		assert.Equal(t, 2, chats, "the calls were out before the commit")
		assert.EqualValues(t, 4, told.OK())
		assert.EqualValues(t, 1, told.Lost())
		assert.Zero(t, r.roots(), "the linger runs")
		require.NoError(t, in.End(t.Context(), Ended))
		time.Sleep(11 * time.Second)
		assert.Equal(t, 1, r.roots())
		stop(t, e)
		assert.EqualValues(t, 4, r.lines.OK())
		assert.Equal(t, []int64{0, 10}, r.points, "a zero point comes first")
	})
}

func TestBrokenInputClosesItsSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		e := newEngine(r, nil)
		in := e.Open(Source{Live: true})
		send(t, in, nil, initRow("s"), answerRow("s", 1))
		require.NoError(t, in.End(t.Context(), Broken))
		synctest.Wait()
		assert.Equal(t, 1, r.roots())
		assert.Equal(t, 1, r.named("chat"))
		stop(t, e)
	})
}

func TestOutageClosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		var down atomic.Bool
		down.Store(true)
		r.refuse = func(ptrace.Traces) error {
			if down.Load() {
				return errors.New("away")
			}
			return nil
		}
		e := newEngine(r, func(o *Options) { o.Session.IdleTimeout = 10 * time.Second })
		in := e.Open(Source{})
		in.Modified(now().UnixNano())
		send(t, in, nil, timed(0, initRow("s")), timed(1, answerRow("s", 1)), timed(2, answerRow("s", 2)))
		time.Sleep(time.Hour)
		assert.Zero(t, r.named(""))
		assert.True(t, e.Pressed())
		down.Store(false)
		time.Sleep(5 * time.Second)
		assert.False(t, e.Pressed())
		send(t, in, nil, timed(3, answerRow("s", 3)), timed(4, resultRow("s")))
		time.Sleep(20 * time.Second)
		assert.Equal(t, 1, r.roots(), "the session was not closed in between")
		assert.Equal(t, 3, r.named("chat"))
		require.NoError(t, in.End(t.Context(), Ended))
		stop(t, e)
		assert.Positive(t, r.retries)
		assert.Equal(t, 1, r.healed)
	})
}

func TestUnreadBytesHoldTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		e := newEngine(r, nil)
		in := e.Open(Source{})
		in.Unread(true)
		send(t, in, nil, initRow("s"), answerRow("s", 1), resultRow("s"))
		time.Sleep(time.Hour)
		assert.Zero(t, r.roots())
		in.Unread(false)
		time.Sleep(15 * time.Second)
		assert.Equal(t, 1, r.roots())
		require.NoError(t, in.End(t.Context(), Ended))
		stop(t, e)
	})
}

func TestRefusals(t *testing.T) {
	rows := []string{initRow("s"), answerRow("s", 1), answerRow("s", 2), answerRow("s", 3)}
	for name, tc := range map[string]struct {
		refuse  func(attempt int, td ptrace.Traces) error
		chats   int
		dropped int
		retries int
	}{
		"none":      {func(int, ptrace.Traces) error { return nil }, 3, 0, 0},
		"transient": {func(n int, _ ptrace.Traces) error { return unless(n > 3, errors.New("busy")) }, 3, 0, 3},
		"permanent": {func(n int, _ ptrace.Traces) error { return unless(n > 1, &PermanentError{errors.New("no")}) }, 1, 2, 0},
		"wrapped permanent": {func(n int, _ ptrace.Traces) error {
			return unless(n > 1, fmt.Errorf("pipeline: %w", &PermanentError{errors.New("no")}))
		}, 1, 2, 0},
		"partial": {func(n int, td ptrace.Traces) error {
			if n > 1 {
				return nil
			}
			last := spansOf(td)[td.SpanCount()-1]
			return &PartialError{Err: errors.New("some"), Spans: map[translate.SpanID]struct{}{translate.SpanID(last.SpanID()): {}}}
		}, 2, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &recorder{}
				attempts := 0
				r.refuse = func(td ptrace.Traces) error {
					attempts++
					return tc.refuse(attempts, td)
				}
				e := newEngine(r, nil)
				in := e.Open(Source{Live: true})
				committed := false
				send(t, in, func(*batch.Outcomes) { committed = true }, rows...)
				time.Sleep(time.Minute)
				synctest.Wait()
				assert.True(t, committed)
				require.NoError(t, in.End(t.Context(), Broken))
				stop(t, e)
				assert.Equal(t, tc.chats, r.named("chat"))
				assert.Equal(t, tc.dropped, r.dropped[Traces])
				assert.Equal(t, tc.retries, r.retries)
			})
		})
	}
}

func unless(ok bool, err error) error {
	if ok {
		return nil
	}
	return err
}

func TestShutdownClosesAndDelivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		e := newEngine(r, nil)
		in := e.Open(Source{})
		send(t, in, nil, initRow("s"), answerRow("s", 1))
		require.NoError(t, in.End(t.Context(), Ended))
		stop(t, e)
		assert.Equal(t, 1, r.roots())
		assert.Equal(t, []int64{0, 5}, r.points)
	})
}

func TestShutdownGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{refuse: func(ptrace.Traces) error { return errors.New("away") }}
		e := newEngine(r, nil)
		in := e.Open(Source{Live: true})
		committed := false
		send(t, in, func(*batch.Outcomes) { committed = true }, initRow("s"), answerRow("s", 1), answerRow("s", 2))
		require.NoError(t, in.End(t.Context(), Ended))
		began := time.Now()
		err := e.Shutdown(context.Background())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "before shutdown")
		assert.Equal(t, DrainTimeout, time.Since(began))
		assert.False(t, committed, "nothing is committed that was not accepted")
		assert.Equal(t, 3, r.dropped[Traces])
	})
}

func TestBackPressureStandsInputs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{refuse: func(ptrace.Traces) error { return errors.New("away") }}
		e := newEngine(r, nil)
		in := e.Open(Source{Live: true})
		send(t, in, nil, initRow("s"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		row := answerRow("s", 1)
		pad := strings.Repeat(" ", 1<<20-len(row))
		sent := 0
		var err error
		for err == nil {
			err = in.Send(ctx, lines(true, answerRow("s", sent)+pad), nil)
			sent++
		}
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Less(t, sent, minBudget>>20, "what is let in is bounded")
		ending, done := context.WithTimeout(t.Context(), time.Second)
		defer done()
		require.ErrorIs(t, in.End(ending, Ended), context.DeadlineExceeded)
		require.Error(t, e.Shutdown(t.Context()))
	})
}

func TestFormatIsSettledInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		e := newEngine(r, nil)
		in := e.Open(Source{Live: true})
		send(t, in, nil, `{"type":"agentstream.context","attributes":{"k":"v"}}`)
		synctest.Wait()
		assert.Zero(t, r.committed(), "nothing tells the format yet")
		time.Sleep(settleAfter)
		synctest.Wait()
		assert.Equal(t, 1, r.committed())
		require.NoError(t, in.End(t.Context(), Broken))
		stop(t, e)
	})
}

func TestSeveralInputsAtOnce(t *testing.T) {
	r := &recorder{}
	e := newEngine(r, nil)
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			in := e.Open(Source{Live: true})
			id := fmt.Sprint("s", i)
			for n := range 50 {
				assert.NoError(t, in.Send(t.Context(), lines(true, initRow(id), answerRow(id, n)), nil))
			}
			assert.NoError(t, in.End(t.Context(), Broken))
		})
	}
	group.Wait()
	stop(t, e)
	assert.Equal(t, 20, r.roots())
	assert.Equal(t, 1000, r.named("chat"))
	assert.Equal(t, int64(5000), r.points[len(r.points)-1])
}

func BenchmarkEngine(b *testing.B) {
	r := &recorder{}
	e := newEngine(r, func(o *Options) {
		o.Sink = Sink{Traces: func(context.Context, ptrace.Traces) error { return nil }}
	})
	in := e.Open(Source{Live: true})
	rows := []string{initRow("s")}
	for n := range 500 {
		rows = append(rows, answerRow("s", n)+strings.Repeat(" ", 1024))
	}
	size := 0
	for _, row := range rows {
		size += len(row) + 1
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if err := in.Send(b.Context(), lines(true, rows...), nil); err != nil {
			b.Fatal(err)
		}
	}
	if err := errors.Join(in.End(b.Context(), Broken), e.Shutdown(b.Context())); err != nil {
		b.Fatal(err)
	}
}
