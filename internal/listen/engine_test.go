// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package listen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/internal/engine"
	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/otlp"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

// later is long after 2000, when the clocks of bubbles begin: no agent wrote then.
func later() time.Time {
	if now := time.Now(); now.Year() > 2020 {
		return now
	}
	return time.Now().AddDate(26, 0, 0)
}

// backend takes spans, or not.
type backend struct {
	spans atomic.Int64
	roots atomic.Int64
	away  atomic.Bool
}

func (b *backend) Folded(translate.Format, *batch.Outcomes, int64, int64) {}
func (b *backend) Retrying(engine.Signal, error, time.Duration)           {}
func (b *backend) Recovered(engine.Signal)                                {}
func (b *backend) Dropped(engine.Signal, int, error)                      {}
func (b *backend) Committed(int, time.Duration)                           {}
func (b *backend) CommitFailed(error)                                     {}
func (b *backend) CommitRecovered()                                       {}
func (b *backend) Refolded(int64)                                         {}
func (b *backend) Unreadable(ledger.FileID, string, error)                {}
func (b *backend) Damaged(int)                                            {}

func (b *backend) traces(_ context.Context, td ptrace.Traces) error {
	if b.away.Load() {
		return errors.New("away")
	}
	b.spans.Add(int64(td.SpanCount()))
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				if s.ParentSpanID().IsEmpty() {
					b.roots.Add(1)
				}
			}
		}
	}
	return nil
}

func startEngine(b *backend) *engine.Engine {
	book, err := ledger.Open(context.Background(), ledger.NewMemory(), later())
	if err != nil {
		panic(err) // a map cannot fail
	}
	e := engine.New(engine.Options{
		Batch:           batch.Options{Now: later},
		MaxLine:         1 << 20,
		Session:         session.NewConfig(),
		Builder:         otlp.NewBuilder(otlp.Options{}),
		Totals:          otlp.NewTotals(otlp.MetricOptions{Start: later().UnixNano()}),
		MetricsInterval: time.Hour,
		Ledger:          book,
		Sink:            engine.Sink{Traces: b.traces},
		Reporter:        b,
		Backoff:         10 * time.Millisecond,
		MaxBackoff:      10 * time.Millisecond,
	})
	e.Start()
	e.SetReread(nil)
	e.CaughtUp()
	return e
}

const run = `{"type":"system","subtype":"init","session_id":"s","model":"claude-sonnet-4-5","cwd":"/w","tools":["Bash"],"uuid":"i"}
{"type":"assistant","session_id":"s","uuid":"a","message":{"id":"m","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":2}}}
`

// TestEngine shows the whole way with a real engine: by TCP, whose end closes the session, and by HTTP.
func TestEngine(t *testing.T) {
	b := &backend{}
	e := startEngine(b)
	set := settings(Engine(e), newFakeReporter())
	tcp := startTCP(t, tcpConfig(), set.Opener, set.Reporter)
	h := NewHTTP(httpConfig(), set)
	require.NoError(t, h.Start(t.Context(), componenttest.NewNopHost(), componenttest.NewNopTelemetrySettings()))
	c := dialTCP(t, tcp)
	write(t, c, run)
	require.NoError(t, c.Close())
	require.Eventually(t, func() bool { return b.roots.Load() == 1 }, patience, time.Millisecond)

	s := &server{HTTP: h, url: "http://" + h.Addr().String() + Path}
	s.client = newClient(t)
	got := s.post(t, strings.NewReader(strings.ReplaceAll(run, `"s"`, `"other"`)))
	assert.Equal(t, 200, got.status)
	assert.Equal(t, int64(2), got.Accepted)
	assert.Equal(t, int64(1), b.roots.Load(), "the end of a request closes no session")

	require.NoError(t, tcp.Shutdown(t.Context()))
	require.NoError(t, h.Stop(t.Context()))
	require.NoError(t, e.Shutdown(t.Context()))
	require.NoError(t, h.Shutdown(t.Context()))
	assert.Equal(t, int64(2), b.roots.Load())
}

// TestEngineAway shows that a backend that is away holds back senders, and no shutdown.
func TestEngineAway(t *testing.T) {
	for range 20 { // what a select chooses is chance
		synctest.Test(t, func(t *testing.T) {
			b := &backend{}
			b.away.Store(true)
			e := startEngine(b)
			s := NewTCP(tcpConfig(), settings(Engine(e), newFakeReporter()))
			p := newPipes()
			s.serveOn(p)
			var group sync.WaitGroup
			const answer = `{"type":"assistant","session_id":"s-%d","uuid":"a-%d","message":{"id":"m-%d-%d","role":"assistant",` +
				`"model":"claude-sonnet-4-5","content":[{"type":"text","text":"x"}],"stop_reason":null,` +
				`"usage":{"input_tokens":3,"output_tokens":2}}}` + "\n"
			// Ninety, because some batches fit between reading and folding; and some of a format that
			// is not decided yet.
			for i := range 90 {
				c := p.dial()
				group.Go(func() {
					for n := range 10 {
						// A response is final when the next one of its session comes.
						text := fmt.Sprintf(answer, i, n, i, n)
						if i%3 == 2 {
							text = "undecided\n"
						}
						if _, err := io.WriteString(c, text); err != nil {
							break
						}
					}
					_, _ = c.Read(make([]byte, 1))
					_ = c.Close()
				})
			}
			time.Sleep(time.Minute)
			begin := time.Now()
			require.ErrorIs(t, s.Shutdown(context.Background()), errGaveUp)
			assert.LessOrEqual(t, time.Since(begin), drainTimeout)
			require.Error(t, e.Shutdown(context.Background()))
			group.Wait()
		})
	}
}
