// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package tail follows files that agents append lines to, and hands complete lines over.
//
// Polling is the truth. A scan finds the names that match; a check looks at the files that are due, by
// stat alone, and queues those that have changed; up to four readers give queued files turns of a bounded
// size, one after the other, so that no file starves others. Files are never written, moved or deleted.
//
// Invariants: a file is one (device, inode), whatever its names; only complete lines are handed over, in
// order, each byte once, unless the file was rewritten, whereupon it is read from its beginning as another
// input; nothing of a line is kept between turns; positions count real bytes. That holds over restarts as
// far as the ledger remembers: every batch says where the file stands behind it.
package tail

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/internal/engine"
	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
)

const (
	readers     = 4
	defaultPoll = 250 * time.Millisecond
	// defaultOpen bounds the descriptors that are kept.
	defaultOpen = 256
	// scanEvery is the least time between two scans; a scan may take a share of the time, no more.
	scanEvery = time.Second
	scanShare = 20
	scanMax   = time.Minute
)

// Config says which files are followed, and how.
type Config struct {
	// Include and Exclude are glob patterns with **, ~ and {a,b}; see CheckGlob.
	Include, Exclude []string
	// StartAtEnd leaves out what files hold that the first scan ever finds, as Ledger.First tells. Later
	// ones are read from their beginning.
	StartAtEnd bool
	// PollInterval is the time between two looks at a file that was just written. Idle files are looked
	// at less often. 0 means 250 ms.
	PollInterval time.Duration
	// MaxLine is the longest line that is handed over, in bytes, line end not counted.
	MaxLine int
	// MaxOpen bounds the open descriptors; 0 means 256. It is at least the number of readers, 4.
	MaxOpen int
	// Ledger remembers how far files were read. It must not be nil; see Forgetful.
	Ledger Ledger
	// CaughtUp is called once, when every file that the first scan found was read up to its size then, or
	// could not be read; not if Shutdown comes before. It must not block. nil: nobody wants to know.
	CaughtUp func()
}

// Input is what a file's lines go into: an *engine.Input.
type Input interface {
	Send(ctx context.Context, b *batch.Batch, committed func(*batch.Outcomes)) error
	End(ctx context.Context, how engine.Ending) error
	Unread(yes bool)
	Modified(at int64)
}

// Reporter is told what happens. Its methods are called from several goroutines and must not block.
type Reporter interface {
	// GuardMismatch tells that a file is not what it was where it had been read, so that it is read again.
	GuardMismatch(path string)
	// Oversize tells of the first line of a file that was too long.
	Oversize(path string)
	// Unreadable tells of a file or directory, once until it can be read again.
	Unreadable(path string, err error)
	// NotRegular tells of a pipe, socket or device under a matching name, once.
	NotRegular(path string, mode fs.FileMode)
}

// Tailer follows files. Its gauges may be read at any time.
type Tailer struct {
	cfg    Config
	input  func(ledger.FileID, uint32) Input
	report Reporter
	sys    system
	walker walker          // of the scan
	warned map[string]bool // of the scan: names that cannot be read or are not regular files
	large  chan struct{}   // held while a reader holds a large line
	again  rereader

	mu       sync.Mutex
	wake     sync.Cond // of mu: there is work for a reader, or none any more
	files    map[identity]*file
	numbers  map[ledger.FileID]*file
	parted   map[ledger.FileID]parting
	order    []*file // all of files
	byPath   map[string]*file
	open     map[*file]struct{} // those with a descriptor, or about to have one
	queue    []*file
	turns    int64
	begun    int  // scans
	finished int  // latest scan that ended
	awaited  int  // files
	astray   bool // a file lost its last name: the next scan asks where known names lead, too
	stopping bool

	running context.Context // ends when what was read is given up
	giveUp  context.CancelFunc
	polling context.Context
	stop    context.CancelFunc
	group   sync.WaitGroup
}

// New is a tailer that was not started. open begins an input of a file; it must not block.
func New(cfg Config, open func(id ledger.FileID, epoch uint32) Input, report Reporter) *Tailer {
	if cfg.MaxOpen == 0 {
		cfg.MaxOpen = defaultOpen
	}
	cfg.MaxOpen = max(cfg.MaxOpen, readers)
	if cfg.PollInterval <= 0 {
		cfg.PollInterval = defaultPoll
	}
	t := &Tailer{
		cfg: cfg, input: open, report: report, sys: realSystem(),
		warned: map[string]bool{},
		large:  make(chan struct{}, 1),
		files:  map[identity]*file{}, numbers: map[ledger.FileID]*file{}, parted: map[ledger.FileID]parting{},
		byPath: map[string]*file{},
		open:   map[*file]struct{}{},
	}
	t.wake.L = &t.mu
	t.again.reader = reader{t: t, large: true}
	t.running, t.giveUp = context.WithCancel(context.Background())
	t.polling, t.stop = context.WithCancel(context.Background())
	return t
}

// Start scans for files and begins to follow them. When it returns, StartAtEnd has had its effect, and the
// ledger keeps it. ctx is for the scan.
func (t *Tailer) Start(ctx context.Context) error {
	if err := t.prepare(); err != nil {
		return err
	}
	took, err := t.first(ctx)
	if err != nil {
		return err
	}
	t.group.Go(func() { t.runScans(took) })
	t.group.Go(t.runChecks)
	for range readers {
		t.group.Go(t.runReader)
	}
	return nil
}

// first is the first scan.
func (t *Tailer) first(ctx context.Context) (took time.Duration, err error) {
	anew := t.cfg.Ledger.First()
	took, starts := t.scan(ctx, anew && t.cfg.StartAtEnd)
	if err := ctx.Err(); err != nil {
		return took, err
	}
	if anew {
		if err := t.cfg.Ledger.Begin(ctx, starts); err != nil {
			return took, fmt.Errorf("store where reading of %d files begins: %w", len(starts), err)
		}
	}
	t.mu.Lock()
	for _, f := range t.queue {
		f.awaited, f.goal = true, f.size
	}
	t.awaited = len(t.queue)
	t.mu.Unlock()
	if len(t.queue) == 0 {
		t.caughtUp()
	}
	return took, nil
}

func (t *Tailer) caughtUp() {
	if t.cfg.CaughtUp != nil {
		t.cfg.CaughtUp()
	}
}

func (t *Tailer) prepare() error {
	t.walker.sys, t.walker.unreadable = t.sys, t.report.Unreadable
	var errs []error
	for _, text := range t.cfg.Include {
		p, err := parse(text)
		errs = append(errs, err)
		t.walker.include = append(t.walker.include, p)
	}
	for _, text := range t.cfg.Exclude {
		abs, err := Expand(text)
		errs = append(errs, err)
		if strings.HasPrefix(text, "**") {
			abs = text
		}
		t.walker.exclude = append(t.walker.exclude, abs)
	}
	return errors.Join(errs...)
}

// Shutdown ends the following of files. What was read is handed over until ctx ends, or for
// engine.DrainTimeout if it has no end; then every input is suspended: what was not read is for the next
// start. It may be called without Start, and again.
func (t *Tailer) Shutdown(ctx context.Context) error {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, engine.DrainTimeout)
		defer cancel()
	}
	defer context.AfterFunc(ctx, t.giveUp)()
	t.mu.Lock()
	t.stopping = true
	t.mu.Unlock()
	t.stop()
	t.wake.Broadcast()
	t.group.Wait()
	t.mu.Lock()
	var streams []*stream
	for _, f := range t.order {
		t.close(f)
		if f.stream != nil {
			streams = append(streams, f.stream)
			f.stream = nil
		}
	}
	t.mu.Unlock()
	var failed int
	var last error
	for _, s := range streams {
		if err := s.End(ctx, engine.Suspended); err != nil {
			failed, last = failed+1, err
		}
	}
	t.giveUp()
	if failed > 0 {
		return fmt.Errorf("end the inputs of %d files before shutdown: %w", failed, last)
	}
	return nil
}

// Tracked is the number of files that are followed.
func (t *Tailer) Tracked() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return int64(len(t.files))
}

// Open is the number of descriptors.
func (t *Tailer) Open() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return int64(len(t.open))
}

// Lag is the number of bytes that are known of and not committed.
func (t *Tailer) Lag() (lag int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.order {
		switch {
		case f.stream != nil:
			lag += max(0, f.size-f.stream.committed.Load())
		case f.state != running:
			lag += max(0, f.size-f.pos)
		}
	}
	return lag
}

func (t *Tailer) runScans(took time.Duration) {
	for {
		pause := min(max(t.cfg.PollInterval, scanEvery, scanShare*took), max(scanMax, t.cfg.PollInterval))
		select {
		case <-time.After(pause):
		case <-t.polling.Done():
			return
		}
		took, _ = t.scan(t.polling, false)
	}
}

func (t *Tailer) runChecks() {
	tick := time.NewTicker(t.cfg.PollInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			t.check()
		case <-t.polling.Done():
			return
		}
	}
}

func (t *Tailer) runReader() {
	r := &reader{t: t}
	for {
		t.mu.Lock()
		for len(t.queue) == 0 && !t.stopping {
			t.wake.Wait()
		}
		if t.stopping {
			t.mu.Unlock()
			return
		}
		t.mu.Unlock()
		t.serve(r)
	}
}
