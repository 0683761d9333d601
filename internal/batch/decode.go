// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package batch

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/claude"
)

const (
	decoderLife  = time.Hour // a decoder's idea of "too late a time" ages
	futureRecord = 24 * time.Hour
)

// Decoder makes units of a line.
type Decoder interface {
	Decode(line []byte, out []translate.Decoded) []translate.Decoded
}

// Options say how lines become units.
type Options struct {
	// Fixed is the format of every source. Empty: by detection.
	Fixed translate.Format
	// Claude is what decoders of Claude's format family need; its MaxTime is set here.
	Claude claude.Options
	// Now is the clock that tells times in the future from others.
	Now func() time.Time
}

func (o *Options) decoder(f translate.Format, now time.Time) Decoder {
	opts := o.Claude
	opts.MaxTime = now.Add(futureRecord).UnixNano()
	if f == translate.FormatClaudeCode {
		return claude.NewDecoder(opts)
	}
	return claude.NewGenericDecoder(opts)
}

func decodable(f translate.Format) bool { return f == translate.FormatClaudeCode }

// Decoders decode batches, one worker a processor. Decoders keep nothing from line to line, so the
// batches of one large file are decoded side by side too.
type Decoders struct {
	options Options
	work    chan *Batch
	group   sync.WaitGroup
	ended   chan struct{}
}

// NewDecoders starts the workers; Close ends them.
func NewDecoders(opts Options) *Decoders {
	workers := runtime.GOMAXPROCS(0)
	d := &Decoders{options: opts, work: make(chan *Batch, workers), ended: make(chan struct{})}
	for range workers {
		d.group.Go(d.run)
	}
	return d
}

// Close ends the workers and waits for them. What was not decoded yet never will be.
func (d *Decoders) Close() {
	close(d.ended)
	d.group.Wait()
}

// Decode has the batch decoded as format f. It blocks while all workers are busy, and returns false when
// ctx ends first.
func (d *Decoders) Decode(ctx context.Context, b *Batch, f translate.Format) bool {
	b.format = f
	select {
	case d.work <- b:
		return true
	case <-ctx.Done():
		return false
	}
}

func (d *Decoders) run() {
	type aged struct {
		Decoder
		since time.Time
	}
	decoders := map[translate.Format]aged{}
	for {
		select {
		case <-d.ended:
			return
		case b := <-d.work:
			now := d.options.Now()
			dec, ok := decoders[b.format]
			if !ok || now.Sub(dec.since) > decoderLife {
				dec = aged{d.options.decoder(b.format, now), now}
				decoders[b.format] = dec
			}
			b.decode(dec)
		}
	}
}
