// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/goleak"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/internal/engine"
	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
	"github.com/otelcol-agents/otelcol-agents/internal/options"
	"github.com/otelcol-agents/otelcol-agents/internal/tail"
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/otlp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	idle    = 2 * time.Minute
	linger  = 10 * time.Second
	metrics = 15 * time.Second
	// moment is enough for what was written to be read, folded, delivered and committed.
	moment = 3 * time.Second
	// journalGone is enough for a closed session to leave memory, and its journal with it.
	journalGone = 6 * time.Minute
)

// now is long after 2000, when the clock of these tests begins, and after all times of rows.
func now() time.Time { return time.Now().AddDate(26, 10, 19) }

// point is a place in the life of a process.
type point string

const (
	beforeTraces  point = "before traces"
	afterTraces   point = "after traces"
	beforeLogs    point = "before logs"
	afterLogs     point = "after logs"
	beforeBatch   point = "before batch"
	afterBatch    point = "after batch"
	beforeMetrics point = "before metrics"
	afterMetrics  point = "after metrics"
)

// event is that a process came to a point, with what.
type event struct {
	point point
	ops   []ledger.Op
	spans ptrace.Traces
}

func (e *event) String() string {
	var b strings.Builder
	b.WriteString(string(e.point))
	for _, op := range e.ops {
		fmt.Fprintf(&b, " %s:%d", op.Key[:min(len(op.Key), 20)], len(op.Value))
	}
	if e.spans != (ptrace.Traces{}) {
		for _, s := range spansOf(e.spans) {
			fmt.Fprintf(&b, " %s %s", s.Name(), s.SpanID())
		}
	}
	return b.String()
}

// stores reports whether the event is of a batch with a key that begins so.
func (e *event) stores(prefix string) bool {
	return slices.ContainsFunc(e.ops, func(op ledger.Op) bool { return op.Value != nil && strings.HasPrefix(op.Key, prefix) })
}

// brings reports whether it is of a span whose name begins so.
func (e *event) brings(name string) bool {
	return e.spans != (ptrace.Traces{}) &&
		slices.ContainsFunc(spansOf(e.spans), func(s ptrace.Span) bool { return strings.HasPrefix(s.Name(), name) })
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

// setup is how processes of a lab are configured.
type setup struct {
	atEnd    bool // start_at: end
	turn     bool // trace: turn
	resident int  // session.max_resident
	delta    bool
}

// lab is a place where processes live one after the other.
type lab struct {
	*testing.T
	setup
	dir     string
	disk    *disk
	backend *backend
	// disturbed says that processes are killed; without it kill and trap do nothing but break connections.
	disturbed bool

	mu   sync.Mutex
	trap func(*event) bool // true kills the process
	// refuse decides about what is sent; what it gives in place of an error is kept.
	refuse  func(context.Context, engine.Signal) verdict
	blocked chan struct{} // what the backend waits for; nil if it does not
	log     []string      // what was reported that might matter
	damaged int
	dropped int
	again   int64 // bytes that were read again
	evicted int64

	process *process // nil: down
	lives   int
	conns   []*conn
	tcp     *conn // of the model
	clients map[string]*client
	group   sync.WaitGroup // of clients
	// over is closed when processes come no more.
	over chan struct{}
}

// process is one life of the receiver.
type process struct {
	lab    *lab
	dead   atomic.Bool
	ending atomic.Bool
	engine *engine.Engine
	files  *tail.Tailer

	sending, answering       context.Context
	stopSending, stopAnswers context.CancelFunc
	inputs                   sync.WaitGroup
	closed                   bool // by the lab's lock: no inputs any more
	died, buried             chan struct{}
}

func newLab(t *testing.T, s setup, disturbed bool) *lab {
	l := &lab{
		T: t, setup: s, dir: t.TempDir(), disk: newDisk(), backend: newBackend(), disturbed: disturbed,
		clients: map[string]*client{}, over: make(chan struct{}),
	}
	return l
}

// at tells that the process came to a point, and whether it is dead there.
func (p *process) at(e event) bool {
	if p.dead.Load() {
		return true
	}
	l := p.lab
	if *events {
		l.say("life %d %s", l.lives, e.String())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.trap != nil && l.trap(&e) {
		l.trap = nil
		p.die()
	}
	return p.dead.Load()
}

func (p *process) die() {
	if p.dead.CompareAndSwap(false, true) {
		close(p.died)
	}
}

// set has a trap for the process, which kills it where it reports true for the n-th time. In an undisturbed lab
// there is none.
func (l *lab) set(n int, kills func(*event) bool) {
	if !l.disturbed {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trap = func(e *event) bool {
		if kills(e) {
			n--
		}
		return n == 0
	}
}

// sprung reports whether the trap killed somebody.
func (l *lab) sprung() bool { return l.process == nil || l.process.dead.Load() }

// verdict is what a backend says of what it is sent.
type verdict int

const (
	accepts verdict = iota
	refuses         // for now; nothing is kept
	rejects         // for ever, of some branch: the others keep it
	parts           // keeps a part and refuses the rest for now
)

func (l *lab) refusing(f func(context.Context, engine.Signal) verdict) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse = f
	if l.blocked != nil {
		close(l.blocked)
		l.blocked = nil
	}
}

// block has the backend take what it is sent and not answer, until it is told something else.
func (l *lab) block() {
	blocked := make(chan struct{})
	l.refusing(func(ctx context.Context, _ engine.Signal) verdict {
		select {
		case <-blocked:
			return accepts
		case <-ctx.Done():
			return refuses
		}
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.blocked = blocked
}

func (l *lab) down(yes bool) {
	if !l.disturbed {
		return
	}
	if !yes {
		l.refusing(nil)
		return
	}
	l.refusing(func(context.Context, engine.Signal) verdict { return refuses })
}

func (l *lab) verdict(ctx context.Context, s engine.Signal) verdict {
	l.mu.Lock()
	refuse := l.refuse
	l.mu.Unlock()
	if refuse == nil {
		return accepts
	}
	return refuse(ctx, s)
}

func (p *process) sink() engine.Sink {
	return engine.Sink{Traces: p.traces, Logs: p.logs, Metrics: p.metrics}
}

var (
	errAway   = errors.New("away")
	errBranch = &engine.PermanentError{Err: errors.New("one of several did not want it")}
)

func (p *process) traces(ctx context.Context, td ptrace.Traces) error {
	if p.at(event{point: beforeTraces, spans: td}) {
		return errDead
	}
	var err error
	switch p.lab.verdict(ctx, engine.Traces) {
	case refuses:
		return errAway
	case rejects:
		err = errBranch
	case parts:
		left := &engine.PartialError{Err: errAway, Spans: map[translate.SpanID]struct{}{}}
		td2 := ptrace.NewTraces()
		td.CopyTo(td2)
		for i, s := range spansOf(td) {
			if i%2 == 1 {
				left.Spans[translate.SpanID(s.SpanID())] = struct{}{}
			}
		}
		for _, rs := range td2.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				ss.Spans().RemoveIf(func(s ptrace.Span) bool { _, ok := left.Spans[translate.SpanID(s.SpanID())]; return ok })
			}
		}
		if td = td2; len(left.Spans) > 0 {
			err = left
		}
	}
	if p.dead.Load() {
		return errDead
	}
	p.lab.backend.traces(td)
	if p.at(event{point: afterTraces, spans: td}) {
		return errDead
	}
	return err
}

func (p *process) logs(ctx context.Context, ld plog.Logs) error {
	return p.deliver(ctx, engine.Logs, beforeLogs, afterLogs, func() { p.lab.backend.records(ld) })
}

func (p *process) metrics(ctx context.Context, md pmetric.Metrics) error {
	return p.deliver(ctx, engine.Metrics, beforeMetrics, afterMetrics, func() { p.lab.backend.metrics(md) })
}

// deliver gives the backend what it takes whole or not at all.
func (p *process) deliver(ctx context.Context, s engine.Signal, before, after point, keep func()) error {
	if p.at(event{point: before}) {
		return errDead
	}
	var err error
	switch p.lab.verdict(ctx, s) {
	case refuses, parts:
		return errAway
	case rejects:
		err = errBranch
	}
	if p.dead.Load() {
		return errDead
	}
	keep()
	if p.at(event{point: after}) {
		return errDead
	}
	return err
}

// start begins the next life. It may be a short one.
func (l *lab) start() {
	l.Helper()
	l.bury()
	if l.process != nil {
		return
	}
	l.lives++
	p := &process{lab: l, died: make(chan struct{}), buried: make(chan struct{})}
	p.sending, p.stopSending = context.WithCancel(context.Background())
	p.answering, p.stopAnswers = context.WithCancel(context.Background())
	book, err := ledger.Open(context.Background(), &store{disk: l.disk, process: p}, now())
	if err != nil {
		if p.dead.Load() {
			return
		}
		require.NoError(l, err)
	}
	l.note("damaged", book.Damaged())
	opts := l.options(p, book)
	p.engine = engine.New(opts)
	p.engine.Start()
	p.files = tail.New(tail.Config{
		Include: []string{filepath.Join(l.dir, "**", "*.jsonl")}, StartAtEnd: l.atEnd,
		MaxLine: 1 << 20, Ledger: book, CaughtUp: p.engine.CaughtUp,
	}, func(id ledger.FileID, epoch uint32) tail.Input {
		return p.engine.Open(engine.Source{File: id, Epoch: epoch})
	}, fileReports{l})
	p.engine.SetReread(p.files.Reread)
	l.setProcess(p)
	if err := p.files.Start(context.Background()); err != nil && !p.dead.Load() {
		require.NoError(l, err)
	}
	// What is dead is buried at once: it must not wait for anything.
	go func() {
		select {
		case <-p.died:
			if p.ending.CompareAndSwap(false, true) {
				p.end(true)
				close(p.buried)
			}
		case <-p.buried:
		}
	}()
}

func (l *lab) options(p *process, book *ledger.Ledger) engine.Options {
	c := options.NewDefaultConfig()
	if l.turn {
		c.Session.Trace = options.TraceTurn
	}
	c.Session.IdleTimeout, c.Session.Linger = idle, linger
	if l.resident > 0 {
		c.Session.MaxResident = l.resident
	}
	sessions, err := c.SessionConfig()
	require.NoError(l, err)
	redactor, err := c.Redactor()
	require.NoError(l, err)
	totals := otlp.NewTotals(otlp.MetricOptions{Start: book.Start(), Delta: l.delta})
	var values [][]byte
	for _, value := range book.Saved(ledger.PrefixTotal) {
		values = append(values, value)
	}
	l.note("damaged totals", totals.Restore(values))
	return engine.Options{
		Batch: batch.Options{
			Now:    now,
			Decode: decode.Options{Capture: c.Captured(), MaxContentBytes: c.MaxContentBytes, Redactor: redactor},
		},
		MaxLine: 1 << 20, Session: sessions, Ledger: book, Durable: true,
		Builder: otlp.NewBuilder(otlp.Options{}), Totals: totals, Delta: l.delta, MetricsInterval: metrics,
		Sink: p.sink(), Reporter: engineReports{l}, Backoff: 100 * time.Millisecond, MaxBackoff: 5 * time.Second,
	}
}

func (l *lab) setProcess(p *process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.process = p
}

func (l *lab) living() *process {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.process == nil || l.process.dead.Load() {
		return nil
	}
	return l.process
}

// kill ends the process at this moment. Connections break, also in an undisturbed lab.
func (l *lab) kill() {
	if l.disturbed && l.process != nil {
		l.process.die()
	}
	l.bury()
	for _, c := range l.conns {
		c.close()
	}
	l.conns = nil
}

// bury has nothing of a dead process stay.
func (l *lab) bury() {
	p := l.process
	if p == nil || !p.dead.Load() {
		return
	}
	<-p.buried
	l.setProcess(nil)
}

// stop ends the process in order.
func (l *lab) stop() {
	l.bury()
	for _, c := range l.conns {
		c.close()
	}
	l.conns = nil
	if !l.disturbed || l.process == nil {
		return
	}
	l.process.quit()
	l.setProcess(nil)
}

// quit ends a process in order.
func (p *process) quit() {
	if !p.ending.CompareAndSwap(false, true) {
		<-p.buried
		return
	}
	p.end(false) // it may be killed meanwhile
	p.dead.Store(true)
	close(p.buried)
	p.stopAnswers()
}

func (p *process) end(killed bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if killed {
		cancel()
	}
	defer p.stopAnswers()
	stop := context.AfterFunc(ctx, p.stopSending)
	defer stop()
	if killed {
		p.stopAnswers()
	}
	p.lab.mu.Lock()
	p.closed = true
	p.lab.mu.Unlock()
	p.inputs.Wait()
	err := p.files.Shutdown(ctx)
	if killed {
		_ = p.engine.Shutdown(ctx)
		p.stopSending()
		return
	}
	err = errors.Join(err, p.engine.Shutdown(context.Background()))
	p.stopSending()
	p.lab.say("shutdown: %v", err)
	p.lab.evicted += p.engine.Evicted()
}

// restart kills and starts.
func (l *lab) restart() {
	l.kill()
	l.start()
}

// run lets time pass, with whatever happens to the process meanwhile.
func (l *lab) run(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
	l.bury()
}

// until lets time pass until the trap has sprung, but not for long.
func (l *lab) until(d time.Duration) {
	l.Helper()
	if !l.disturbed {
		l.run(d)
		return
	}
	for end := time.Now().Add(d); time.Now().Before(end); {
		l.run(100 * time.Millisecond)
		if l.process == nil {
			l.run(time.Until(end))
			return
		}
	}
	l.Errorf("the process never came to where it was to be killed")
}

// finish has everything closed, in as many lives as that takes, and ends the last process in order.
func (l *lab) finish() {
	l.Helper()
	l.refusing(nil)
	l.disk.fill(false)
	live := func(d time.Duration) {
		for end := time.Now().Add(d); time.Now().Before(end); {
			l.start()
			l.run(min(moment, time.Until(end)))
		}
	}
	live(moment)
	for _, c := range l.conns {
		c.close()
	}
	for _, c := range l.clients {
		close(c.bodies)
	}
	live(10 * moment) // clients repeat
	live(2*idle + 2*linger)
	l.mu.Lock()
	l.trap = nil
	l.mu.Unlock()
	live(moment)
	require.NotNil(l, l.process)
	l.evicted += l.process.engine.Evicted()
	l.process.quit()
	l.setProcess(nil)
	close(l.over)
	l.group.Wait()
}

func (l *lab) say(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log = append(l.log, fmt.Sprintf("%s: ", time.Duration(time.Now().UnixNano()%int64(24*time.Hour)))+fmt.Sprintf(format, args...))
}

func (l *lab) note(what string, n int) {
	if n > 0 {
		l.say("%s: %d", what, n)
	}
}

// path is that of a file.
func (l *lab) path(name string) string { return filepath.Join(l.dir, filepath.FromSlash(name)) }

// touch gives a file the time of the lab.
func (l *lab) touch(name string) {
	at := now()
	require.NoError(l, os.Chtimes(l.path(name), at, at))
}

func (l *lab) write(name, text string) {
	l.Helper()
	require.NoError(l, os.MkdirAll(filepath.Dir(l.path(name)), 0o755))
	require.NoError(l, os.WriteFile(l.path(name), []byte(text), 0o600)) // keeps the inode
	l.touch(name)
}

func (l *lab) add(name string, rows ...string) {
	l.Helper()
	l.append(name, strings.Join(rows, "\n")+"\n")
}

func (l *lab) append(name, text string) {
	l.Helper()
	require.NoError(l, os.MkdirAll(filepath.Dir(l.path(name)), 0o755))
	h, err := os.OpenFile(l.path(name), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	require.NoError(l, err)
	_, err = h.WriteString(text)
	require.NoError(l, errors.Join(err, h.Close()))
	l.touch(name)
}

func (l *lab) rename(from, to string) { require.NoError(l, os.Rename(l.path(from), l.path(to))) }
func (l *lab) remove(name string)     { require.NoError(l, os.Remove(l.path(name))) }

// lines makes a batch of rows that come now.
func lines(rows ...string) *batch.Batch {
	b := batch.New()
	arrival := now().UnixNano()
	for _, row := range rows {
		b.Add(append(b.Buffer(), row...), arrival)
		b.Size += int64(len(row)) + 1
	}
	return b
}

// conn is a connection of TCP.
type conn struct {
	p  *process
	in *engine.Input
}

func (l *lab) dial() *conn {
	p := l.living()
	require.NotNil(l, p)
	c := &conn{p: p, in: p.engine.Open(engine.Source{Live: true})}
	l.conns = append(l.conns, c)
	return c
}

// send writes rows. What a dead process does not read is lost.
func (c *conn) send(rows ...string) {
	if !c.p.dead.Load() && c.in != nil {
		_ = c.in.Send(c.p.sending, lines(rows...), nil)
	}
}

func (c *conn) close() {
	if c.in != nil && !c.p.dead.Load() {
		_ = c.in.End(c.p.sending, engine.Broken)
	}
	c.in = nil
}

// client posts requests one after the other, each until it is answered.
type client struct {
	bodies chan []string
	posts  atomic.Int64 // attempts
	acked  atomic.Int64
}

// post has a client send rows in one request. A client is known by its name.
func (l *lab) post(name string, rows ...string) {
	c := l.clients[name]
	if c == nil {
		c = &client{bodies: make(chan []string, 1000)}
		l.clients[name] = c
		l.group.Go(func() { c.work(l) })
	}
	c.bodies <- rows
}

func (c *client) work(l *lab) {
	for body := range c.bodies {
		for {
			if p := l.living(); p != nil {
				c.posts.Add(1)
				if c.attempt(p, body) {
					c.acked.Add(1)
					break
				}
			}
			select {
			case <-time.After(500 * time.Millisecond):
			case <-l.over:
				l.Errorf("a request was never answered")
				return
			}
		}
	}
}

func (c *client) attempt(p *process, body []string) bool {
	l := p.lab
	l.mu.Lock()
	if p.closed {
		l.mu.Unlock()
		return false
	}
	p.inputs.Add(1)
	l.mu.Unlock()
	committed := make(chan struct{})
	in := p.engine.Open(engine.Source{Live: true, Request: true})
	err := in.Send(p.sending, lines(body...), func(*batch.Outcomes) { close(committed) })
	err = errors.Join(err, in.End(p.sending, engine.Ended))
	p.inputs.Done()
	if err != nil {
		return false
	}
	select {
	case <-committed:
		return !p.dead.Load()
	case <-p.answering.Done():
		select {
		case <-committed:
			return !p.dead.Load()
		default:
			return false
		}
	}
}

// engineReports keeps what might matter.
type engineReports struct{ *lab }

func (r engineReports) Folded(translate.Format, *batch.Outcomes, int64, int64) {}
func (r engineReports) Retrying(engine.Signal, error, time.Duration)           {}
func (r engineReports) Recovered(engine.Signal)                                {}
func (r engineReports) Committed(int, time.Duration)                           {}
func (r engineReports) CommitFailed(err error) {
	if !errors.Is(err, errDead) && !errors.Is(err, errFull) {
		r.say("commit failed: %v", err)
	}
}
func (r engineReports) CommitRecovered() { r.say("commits again") }
func (r engineReports) Refolded(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.again += n
}

func (r engineReports) Dropped(s engine.Signal, n int, err error) {
	if r.living() == nil {
		return
	}
	r.say("dropped %d of %s: %v", n, s, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropped += n
}

func (r engineReports) Unreadable(_ ledger.FileID, path string, err error) {
	r.say("%s cannot be read again: %v", filepath.Base(path), err)
}

func (r engineReports) Damaged(n int) {
	r.say("damaged: %d", n)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.damaged += n
}

type fileReports struct{ *lab }

func (r fileReports) GuardMismatch(path string) { r.say("%s was rewritten", filepath.Base(path)) }
func (r fileReports) Oversize(path string)      { r.say("%s has a long line", filepath.Base(path)) }
func (r fileReports) Unreadable(path string, err error) {
	r.say("%s cannot be read: %v", filepath.Base(path), err)
}

func (r fileReports) NotRegular(path string, _ fs.FileMode) {
	r.say("%s is no file", filepath.Base(path))
}

// experiment runs a play twice, undisturbed and disturbed, and compares.
func experiment(t *testing.T, s setup, r rules, play func(l *lab)) (disturbed *lab) {
	t.Helper()
	want := undisturbed(t, s, play)
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, s, true)
		l.start()
		play(l)
		l.finish()
		disturbed = l
		judge(t, want.backend, l, r)
	})
	return disturbed
}

func undisturbed(t *testing.T, s setup, play func(l *lab)) (l *lab) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l = newLab(t, s, false)
		l.start()
		play(l)
		l.finish()
		if len(l.backend.bad) > 0 {
			t.Fatalf("the undisturbed run: %s", strings.Join(l.backend.bad, "\n"))
		}
		for id, it := range l.backend.spans {
			if it.times > 1 {
				t.Fatalf("the undisturbed run sent %s %q twice", id, it.name)
			}
		}
	})
	return l
}

func judge(t *testing.T, want *backend, l *lab, r rules) {
	t.Helper()
	if len(want.spans) == 0 {
		t.Errorf("nothing was to be sent")
	}
	if diff := compare(want, l.backend, r); len(diff) > 0 {
		more := ""
		if len(diff) > 4 {
			diff, more = diff[:4], "\n…"
		}
		t.Errorf("%d lives:\n%s%s\nreported:\n%s", l.lives, strings.Join(diff, "\n"), more, strings.Join(l.log, "\n"))
	}
}
