// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/otelcol-agents/otelcol-agents/internal/frame"
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/claude"
	"github.com/otelcol-agents/otelcol-agents/translate/cline"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/detect"
)

const (
	batchBytes   = 1 << 20
	maxReaders   = 4
	bytesAhead   = 64 << 20
	keptBatch    = 2 << 20   // largest buffer that is used again
	decoderLife  = time.Hour // a decoder's idea of "too late a time" ages
	futureRecord = 24 * time.Hour
)

// source is one input while it is read.
type source struct {
	input
	number  int
	batches chan *batch // in order; closed at the end of the source

	// Set before the first batch is sent.
	format translate.Format
	agent  string

	// Set before batches is closed.
	err error // why reading ended early
}

// batch is a run of lines of one source, decoded by whoever has time and folded in order.
type batch struct {
	source  *source
	buf     []byte  // the lines, back to back
	ends    []int   // end of each line in buf
	arrival []int64 // of each line, live sources only
	size    int64   // bytes of the source that it stands for, skipped ones included
	charged int64   // what it took of the budget
	over    int64   // lines over the limit

	units     []translate.Decoded
	unitEnds  []int // end of each line's units
	first     int   // first line that is a record, -1 without one
	skipped   skips
	decodedBy chan struct{} // closed when units are there
}

func (b *batch) line(i int) []byte {
	from := 0
	if i > 0 {
		from = b.ends[i-1]
	}
	return b.buf[from:b.ends[i]]
}

// reading reads and decodes sources ahead of the fold: files with up to four readers, decoding with one
// worker a processor. Decoders keep nothing from line to line, so the batches of one large file are
// decoded side by side too.
type reading struct {
	ctx     context.Context
	stop    context.CancelFunc
	sources []*source
	options decoding
	budget  *budget
	work    chan *batch
	pool    sync.Pool
	group   sync.WaitGroup // everything that is sure to end after stop
}

// decoding says how lines become units.
type decoding struct {
	maxLine int
	fixed   []translate.Format // the formats to choose between; nil = all
	keep    decode.Options
	now     func() time.Time
}

func newReading(ctx context.Context, inputs []input, opts decoding) *reading {
	workers := runtime.GOMAXPROCS(0)
	r := &reading{
		options: opts,
		budget:  newBudget(max(bytesAhead, 2*int64(opts.maxLine))),
		work:    make(chan *batch, workers),
	}
	r.ctx, r.stop = context.WithCancel(ctx)
	for i, in := range inputs {
		r.sources = append(r.sources, &source{input: in, number: i, batches: make(chan *batch, 2)})
	}
	for range workers {
		r.group.Go(r.decode)
	}
	r.group.Go(func() { r.start(min(workers, maxReaders)) })
	return r
}

// close ends reading and waits for all goroutines but those that stand in a read of a pipe, which
// nothing but the writer of that pipe can end.
func (r *reading) close() {
	r.stop()
	r.group.Wait()
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
	lines := frame.NewReader(f, r.options.maxLine)
	judge := r.judge(s)
	var b *batch
	var from, over int64
	for {
		if b == nil {
			b = r.batch(s)
		}
		start := len(b.buf)
		buf, _, err := lines.Next(b.buf)
		b.buf = buf
		if err == nil && len(bytes.TrimSpace(buf[start:])) > 0 {
			b.ends = append(b.ends, len(buf))
			if s.live {
				b.arrival = append(b.arrival, r.options.now().UnixNano())
			}
			judge.observe(buf[start:])
		} else {
			b.buf = b.buf[:start]
		}
		full := len(b.buf) >= batchBytes
		switch {
		case err != nil || full:
			judge.settle()
		case !s.live || lines.Waiting() || !judge.settled:
			continue
		}
		b.size, from = lines.Offset()-from, lines.Offset()
		b.over, over = lines.Oversize()-over, lines.Oversize()
		if !r.send(b) {
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

// judge decides a source's format from its first lines.
type judge struct {
	source   *source
	fixed    []translate.Format
	detector detect.Detector
	settled  bool
}

func (r *reading) judge(s *source) *judge {
	j := &judge{source: s, fixed: r.options.fixed}
	if len(j.fixed) == 1 {
		j.set(j.fixed[0])
	}
	return j
}

func (j *judge) observe(line []byte) {
	if j.settled {
		return
	}
	if f, ok := j.detector.Observe(line); ok {
		j.set(f)
	}
}

// settle takes the best guess when nothing more is to be waited for.
func (j *judge) settle() {
	if !j.settled {
		j.set(j.detector.Guess())
	}
}

func (j *judge) set(f translate.Format) {
	if j.fixed != nil && !slices.Contains(j.fixed, f) {
		f = j.fixed[0]
	}
	j.settled = true
	j.source.agent = detect.Agent(f)
	if decoders[f] == nil {
		f = translate.FormatGeneric
	}
	j.source.format = f
}

// send hands a batch to the decoders and, in order, to the fold.
func (r *reading) send(b *batch) bool {
	b.charged = int64(cap(b.buf))
	if !r.budget.acquire(r.ctx, b.source.number, b.charged) {
		return false
	}
	select {
	case r.work <- b:
	case <-r.ctx.Done():
		return false
	}
	select {
	case b.source.batches <- b:
		return true
	case <-r.ctx.Done():
		return false
	}
}

func (r *reading) batch(s *source) *batch {
	b, _ := r.pool.Get().(*batch)
	if b == nil {
		b = &batch{}
	}
	b.source, b.decodedBy = s, make(chan struct{})
	return b
}

// done gives a folded batch's memory back.
func (r *reading) done(b *batch) {
	r.budget.release(b.source.number, b.charged)
	if cap(b.buf) > keptBatch {
		return // a huge line must not be paid for ever
	}
	clear(b.units)
	*b = batch{buf: b.buf[:0], ends: b.ends[:0], arrival: b.arrival[:0], units: b.units[:0], unitEnds: b.unitEnds[:0]}
	r.pool.Put(b)
}

type decoder interface {
	Decode(line []byte, out []translate.Decoded) []translate.Decoded
}

// decoders has what makes the decoder of each format.
var decoders = map[translate.Format]func(decode.Options) decoder{
	translate.FormatClaudeCode:  func(o decode.Options) decoder { return claude.NewDecoder(o) },
	translate.FormatCline:       func(o decode.Options) decoder { return cline.NewDecoder(o) },
	translate.FormatClineLegacy: func(o decode.Options) decoder { return cline.NewDecoder(o) },
	translate.FormatGeneric:     func(o decode.Options) decoder { return claude.NewGenericDecoder(o) },
}

func (r *reading) decoder(f translate.Format, now time.Time) decoder {
	opts := r.options.keep
	opts.MaxTime = now.Add(futureRecord).UnixNano()
	return decoders[f](opts)
}

// decode works on batches until reading ends.
func (r *reading) decode() {
	type aged struct {
		decoder
		since time.Time
	}
	used := map[translate.Format]aged{}
	for {
		select {
		case <-r.ctx.Done():
			return
		case b := <-r.work:
			now := r.options.now()
			d, ok := used[b.source.format]
			if !ok || now.Sub(d.since) > decoderLife {
				d = aged{r.decoder(b.source.format, now), now}
				used[b.source.format] = d
			}
			b.decode(d)
			close(b.decodedBy)
		}
	}
}

func (b *batch) decode(d decoder) {
	b.first = -1
	b.skipped[skipIndex(translate.SkipOversize)] = b.over
	for i := range b.ends {
		from := len(b.units)
		b.units = d.Decode(b.line(i), b.units)
		b.unitEnds = append(b.unitEnds, len(b.units))
		var seen [len(skips{})]bool
		for _, u := range b.units[from:] {
			switch {
			case u.Diagnostic != nil:
				seen[skipIndex(u.Diagnostic.Skip)] = true
			case u.Record != nil:
				if b.first < 0 && u.Record.Context == nil {
					b.first = i
				}
				if u.Record.UnknownType {
					seen[skipIndex(translate.SkipUnknownType)] = true
				}
				if u.Record.InvalidTime {
					seen[skipIndex(translate.SkipInvalidTime)] = true
				}
				if b.source.live {
					u.Record.Arrival = b.arrival[i]
				}
			}
		}
		// A reason counts once a line, however many parts of the line it stands for.
		for reason, yes := range seen {
			if yes {
				b.skipped[reason]++
			}
		}
	}
}

// skips counts lines by reason, in the order of translate.Skips.
type skips [7]int64

func skipIndex(s translate.Skip) int { return slices.Index(translate.Skips, s) }

func (s *skips) add(o *skips) {
	for i, n := range o {
		s[i] += n
	}
}

func (s *skips) total() (n int64) {
	for _, c := range s {
		n += c
	}
	return n
}

// lost counts the lines that gave no record. Records of an unknown type and records with a bad time
// count as what they are: a new version of an agent is no failure.
func (s *skips) lost() (n int64) {
	for i, c := range s {
		if r := translate.Skips[i]; r != translate.SkipUnknownType && r != translate.SkipInvalidTime {
			n += c
		}
	}
	return n
}
