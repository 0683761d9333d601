// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package listen

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/internal/engine"
	"github.com/otelcol-agents/otelcol-agents/translate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is what tests wait for things that are sure to come.
const patience = 20 * time.Second

// record is a line that gives one record; its prompt tells it from others.
func record(prompt string) string {
	return fmt.Sprintf(`{"type":"user","sessionId":"s","message":{"role":"user","content":%q}}`, prompt)
}

// fakeEngine takes lines like an engine.
type fakeEngine struct {
	decoders *batch.Decoders
	pressed  atomic.Bool
	opened   chan *fakeInput
	// take, unless nil, lets one Send through for each value.
	take chan struct{}
	// commit, unless nil, lets one batch be committed for each value.
	commit chan struct{}
	group  sync.WaitGroup
	ended  context.Context
}

func newFakeEngine(t testing.TB) *fakeEngine {
	e := &fakeEngine{
		decoders: batch.NewDecoders(batch.Options{Now: time.Now}),
		opened:   make(chan *fakeInput, 2000),
	}
	var cancel context.CancelFunc
	e.ended, cancel = context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()
		e.group.Wait()
		e.decoders.Close()
	})
	return e
}

func (e *fakeEngine) Pressed() bool { return e.pressed.Load() }

func (e *fakeEngine) Open(src engine.Source) Input {
	in := &fakeInput{
		engine: e, source: src,
		lines: make(chan string, 1<<16), batches: make(chan int, 1<<16), ended: make(chan engine.Ending, 2),
		sending: make(chan struct{}, 1<<16),
	}
	e.opened <- in
	return in
}

// input is the next one that was opened.
func (e *fakeEngine) input(t testing.TB) *fakeInput {
	t.Helper()
	return receive(t, e.opened)
}

type fakeInput struct {
	engine  *fakeEngine
	source  engine.Source
	lines   chan string
	batches chan int // their numbers of lines
	sending chan struct{}
	ended   chan engine.Ending
	unread  atomic.Bool

	mu     sync.Mutex
	counts batch.Outcomes
	bytes  int64
	nuls   int64
}

func (in *fakeInput) Send(ctx context.Context, b *batch.Batch, committed func(*batch.Outcomes)) error {
	in.sending <- struct{}{}
	if in.engine.take != nil {
		select {
		case <-in.engine.take:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if !in.engine.decoders.Decode(ctx, b, translate.FormatClaudeCode) {
		return ctx.Err()
	}
	b.Wait()
	in.mu.Lock()
	in.counts.Add(b.Outcomes())
	in.bytes += b.Size
	in.nuls += b.NULs
	in.mu.Unlock()
	in.batches <- b.Len()
	for i := range b.Len() {
		in.lines <- string(b.Line(i))
	}
	outcomes := *b.Outcomes()
	b.Release()
	if committed == nil {
		return nil
	}
	in.engine.group.Go(func() {
		if in.engine.commit != nil {
			select {
			case <-in.engine.commit:
			case <-in.engine.ended.Done():
				return
			}
		}
		committed(&outcomes)
	})
	return nil
}

func (in *fakeInput) End(ctx context.Context, how engine.Ending) error {
	in.ended <- how
	close(in.lines)
	return ctx.Err()
}

func (in *fakeInput) Unread(yes bool) { in.unread.Store(yes) }

// rest waits for the end and gives the lines that were not received.
func (in *fakeInput) rest(t testing.TB) (lines []string, how engine.Ending) {
	t.Helper()
	how = receive(t, in.ended)
	for line := range in.lines {
		lines = append(lines, line)
	}
	return lines, how
}

// skipped gives the count of a reason.
func (in *fakeInput) skipped(reason translate.Skip) int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	for r, n := range in.counts.Skipped() {
		if r == reason {
			return n
		}
	}
	return 0
}

func receive[T any](t testing.TB, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		require.Fail(t, "nothing came")
	}
	return v
}

// fakeReporter counts what it is told.
type fakeReporter struct {
	mu           sync.Mutex
	active, most int
	openings     int
	refused      []error
	failed       []error
	told         chan error // of refused and failed
	closed       chan struct{}
}

func newFakeReporter() *fakeReporter {
	return &fakeReporter{told: make(chan error, 1<<12), closed: make(chan struct{}, 1<<12)}
}

func (r *fakeReporter) Opened(Transport) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.openings++
	r.active++
	r.most = max(r.most, r.active)
}

func (r *fakeReporter) Closed(Transport) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active--
	r.closed <- struct{}{}
}

func (r *fakeReporter) Refused(_ Transport, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = append(r.refused, err)
	r.told <- err
}

func (r *fakeReporter) Failed(_ Transport, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, err)
	r.told <- err
}

func (r *fakeReporter) numbers() (active, most, refused, failed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.active, r.most, len(r.refused), len(r.failed)
}

func settings(e Opener, r Reporter) Settings {
	return Settings{Opener: e, Reporter: r, MaxLine: 64 << 20}
}

// pipes is a listener of net.Pipe connections. What is written to those was read when Write returns.
type pipes struct {
	conns  chan net.Conn
	errs   chan error
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes {
	return &pipes{conns: make(chan net.Conn), errs: make(chan error), closed: make(chan struct{})}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case err := <-p.errs:
		return nil, err
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

// script is a source that gives its parts one by one, then an error.
type script struct {
	parts []string
	err   error
}

func (s *script) Read(p []byte) (int, error) {
	if len(s.parts) == 0 {
		return 0, s.err
	}
	n := copy(p, s.parts[0])
	if s.parts[0] = s.parts[0][n:]; s.parts[0] == "" {
		s.parts = s.parts[1:]
	}
	return n, nil
}

var floodBlock = bytes.Repeat([]byte("a"), 256<<10)

// flood is a source of n bytes without a line feed, then of a tail.
type flood struct {
	n    int64
	tail io.Reader
}

func (f *flood) Read(p []byte) (int, error) {
	if f.n == 0 {
		return f.tail.Read(p)
	}
	p = p[:min(int64(len(p)), f.n)]
	n := copy(p, floodBlock)
	f.n -= int64(n)
	return n, nil
}
