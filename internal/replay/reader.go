// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/internal/frame"
	"github.com/otelcol-agents/otelcol-agents/internal/lineage"
)

const (
	maxReaders = 4
	bytesAhead = 64 << 20
)

// source is one input while it is read.
type source struct {
	input
	number  int
	judge   *batch.Judge // settled before the first batch is sent
	batches chan *piece  // in order; closed at the end of the source

	// Set before batches is closed.
	err error // why reading ended early
}

// piece is a batch of a source with what it took of the budget.
type piece struct {
	*batch.Batch
	charged int64
}

// reading reads and decodes sources ahead of the fold: files with up to four readers.
type reading struct {
	ctx      context.Context
	stop     context.CancelFunc
	sources  []*source
	maxLine  int
	options  batch.Options
	budget   *budget
	decoders *batch.Decoders
	group    sync.WaitGroup // every reader that is sure to end after stop
}

func newReading(ctx context.Context, inputs []input, maxLine int, opts batch.Options) *reading {
	r := &reading{
		maxLine:  maxLine,
		options:  opts,
		budget:   newBudget(max(bytesAhead, 2*int64(maxLine))),
		decoders: batch.NewDecoders(opts),
	}
	r.ctx, r.stop = context.WithCancel(ctx)
	for i, in := range inputs {
		r.sources = append(r.sources, &source{input: in, number: i, judge: opts.NewJudge(), batches: make(chan *piece, 2)})
	}
	r.group.Go(func() { r.start(min(runtime.GOMAXPROCS(0), maxReaders)) })
	return r
}

// close ends reading and waits for all goroutines but those that stand in a read of a pipe, which
// nothing but the writer of that pipe can end.
func (r *reading) close() {
	r.stop()
	r.group.Wait()
	r.decoders.Close()
}

// start begins to read the sources in their order, a few at a time.
func (r *reading) start(readers int) {
	slots := make(chan struct{}, readers)
	for _, s := range r.sources {
		select {
		case slots <- struct{}{}:
		case <-r.ctx.Done():
			return
		}
		read := func() {
			defer func() { <-slots }()
			defer close(s.batches)
			s.err = r.read(s)
		}
		if s.live {
			go read()
		} else {
			r.group.Go(read)
		}
	}
}

// read frames a source into batches until its end.
func (r *reading) read(s *source) (err error) {
	f, err := s.open()
	if err != nil {
		return fmt.Errorf("read %s: %w", s.path, cause(err))
	}
	defer func() { _ = f.Close() }()
	lines := frame.NewReader(f, r.maxLine)
	b := batch.New()
	if !s.live {
		if line := lineage.Sidecar(s.path, openFile); line != nil {
			s.judge.Observe(b.Add(append(b.Buffer(), line...), 0))
		}
	}
	var from, over int64
	for {
		if b == nil {
			b = batch.New()
		}
		buf, _, err := lines.Next(b.Buffer())
		var arrival int64
		if s.live {
			arrival = r.options.Now().UnixNano()
		}
		if line := b.Add(buf, arrival); line != nil {
			s.judge.Observe(line)
		}
		switch {
		case err != nil || b.Full():
			s.judge.Settle()
		case !s.live || lines.Waiting() || !s.judge.Settled():
			continue
		}
		b.Size, from = lines.Offset()-from, lines.Offset()
		b.Oversize, over = lines.Oversize()-over, lines.Oversize()
		if !r.send(s, b) {
			return r.ctx.Err()
		}
		b = nil
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read %s at offset %d: %w", s.path, lines.Offset(), cause(err))
		}
	}
}

func openFile(path string) (io.ReadCloser, error) { return os.Open(path) }

// send hands a batch to the decoders and, in order, to the fold.
func (r *reading) send(s *source, b *batch.Batch) bool {
	p := &piece{b, b.Cost()}
	if !r.budget.acquire(r.ctx, s.number, p.charged) || !r.decoders.Decode(r.ctx, b, s.judge.Format()) {
		return false
	}
	select {
	case s.batches <- p:
		return true
	case <-r.ctx.Done():
		return false
	}
}

// done gives a folded batch's memory back.
func (r *reading) done(s *source, p *piece) {
	r.budget.release(s.number, p.charged)
	p.Release()
}
