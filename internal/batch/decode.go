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
	"github.com/otelcol-agents/otelcol-agents/translate/cline"
	"github.com/otelcol-agents/otelcol-agents/translate/codex"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
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
	// Fixed are the formats between which a source's records choose, the best guess first. Nil: all.
	Fixed []translate.Format
	// Decode is what decoders keep of content; its MaxTime is set here.
	Decode decode.Options
	// MaxAge is the age from which records of files are counted as too old; 0 = none is.
	MaxAge time.Duration
	// Now is the clock that tells times in the future from others.
	Now func() time.Time
}

// decoders has what makes the decoder of each format.
var decoders = map[translate.Format]func(decode.Options) Decoder{
	translate.FormatClaudeCode:           func(o decode.Options) Decoder { return claude.NewDecoder(o) },
	translate.FormatClaudeCodeTranscript: func(o decode.Options) Decoder { return claude.NewTranscriptDecoder(o) },
	translate.FormatCline:                func(o decode.Options) Decoder { return cline.NewDecoder(o) },
	translate.FormatClineLegacy:          func(o decode.Options) Decoder { return cline.NewDecoder(o) },
	translate.FormatCodexExec:            func(o decode.Options) Decoder { return codex.NewDecoder(o) },
	translate.FormatCodexRollout:         func(o decode.Options) Decoder { return codex.NewRolloutDecoder(o) },
	translate.FormatGeneric:              func(o decode.Options) Decoder { return claude.NewGenericDecoder(o) },
}

// oldest is the earliest time that is not too old, in Unix nanoseconds; 0 = any.
func (o *Options) oldest(now time.Time) int64 {
	if o.MaxAge == 0 {
		return 0
	}
	return now.Add(-o.MaxAge).UnixNano()
}

// Decoder is a new decoder of a format, nil where there is none.
func (o *Options) Decoder(f translate.Format) Decoder {
	if decoders[f] == nil {
		return nil
	}
	opts := o.Decode
	opts.MaxTime = o.Now().Add(futureRecord).UnixNano()
	return decoders[f](opts)
}

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
	used := map[translate.Format]aged{}
	for {
		select {
		case <-d.ended:
			return
		case b := <-d.work:
			now := d.options.Now()
			dec, ok := used[b.format]
			if !ok || now.Sub(dec.since) > decoderLife {
				dec = aged{d.options.Decoder(b.format), now}
				used[b.format] = dec
			}
			b.decode(dec, d.options.oldest(now))
		}
	}
}
