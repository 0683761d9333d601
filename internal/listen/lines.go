// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package listen

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/internal/frame"
)

// keptLine is the largest buffer that a source keeps while it waits for its next line.
const keptLine = 64 << 10

// lines hands the lines of a source to an input.
type lines struct {
	source    *source
	frames    *frame.Reader
	input     Input
	committed func(*batch.Outcomes) // nil: nobody asks
	sent      func()                // nil or told of every batch, before it is sent
	now       func() time.Time
	// keepTail takes what follows the last line feed of a stream that ended in order for a line, whatever it
	// is. Otherwise it is one if it is a complete object, and else torn.
	keepTail bool

	spare    []byte // for the first line of a batch
	from     int64  // what batches before this one stood for
	oversize int64
	nuls     int64
}

func newLines(src *source, in Input, maxLine int, now func() time.Time) *lines {
	src.frames = frame.NewReader(src, maxLine)
	src.unread = in.Unread
	src.fresh = true
	return &lines{source: src, frames: src.frames, input: in, now: now}
}

// errUnsent is what lines could not be handed over for.
var errUnsent = errors.New("the lines were not taken")

// run sends lines until the source ends. It returns io.EOF after an orderly end and when the client
// went away, errUnsent when a batch was not taken, and otherwise why reading ended.
func (l *lines) run(ctx context.Context) error {
	for {
		// Only the first line of a batch is waited for, without holding a batch: an idle source costs
		// its small buffers and nothing more.
		buf, line, err := l.frames.Next(l.spare[:0])
		l.spare = buf
		b := batch.New()
		if err == nil {
			l.first(b, line)
		}
		for err == nil && !b.Full() && l.frames.Waiting() {
			if buf, line, err = l.frames.Next(b.Buffer()); err == nil {
				l.add(b, buf, line)
			}
		}
		if size, _ := l.frames.Unfinished(); err != nil && size > 0 {
			b.Torn++
		}
		if unsent := l.send(ctx, b); unsent != nil {
			return unsent
		}
		l.source.leave()
		if err != nil {
			return err
		}
	}
}

// first adds the first line of a batch, which stands in spare. A large one is given away, not copied.
func (l *lines) first(b *batch.Batch, line frame.Line) {
	buf := l.spare
	if len(buf) <= keptLine {
		buf = append(b.Buffer(), buf...)
	}
	if cap(l.spare) > keptLine {
		l.spare = nil
	}
	l.add(b, buf, line)
}

// add adds the line that stands in buf behind the lines of the batch.
func (l *lines) add(b *batch.Batch, buf []byte, line frame.Line) {
	l.source.fresh = true
	if text := buf[len(b.Buffer()):]; !line.Complete && !l.whole(text) {
		if len(bytes.TrimSpace(text)) > 0 {
			b.Torn++
		}
		return
	}
	b.Add(buf, l.now().UnixNano())
}

// whole reports whether what follows the last line feed is a line.
func (l *lines) whole(text []byte) bool {
	if l.keepTail && l.source.broken == nil {
		return true
	}
	text = bytes.TrimLeft(text, " \t\r")
	return len(text) > 0 && text[0] == '{' && json.Valid(text)
}

func (l *lines) send(ctx context.Context, b *batch.Batch) error {
	b.Size, l.from = l.frames.Offset()-l.from, l.frames.Offset()
	b.Oversize, l.oversize = l.frames.Oversize()-l.oversize, l.frames.Oversize()
	b.NULs, l.nuls = l.frames.NULs()-l.nuls, l.frames.NULs()
	if b.Empty() {
		b.Release()
		return nil
	}
	if l.sent != nil {
		l.sent()
	}
	// While the engine does not take the batch, what stands behind it is not read.
	l.input.Unread(true)
	defer l.input.Unread(false)
	if err := l.input.Send(ctx, b, l.committed); err != nil {
		return fmt.Errorf("%w: %w", errUnsent, err)
	}
	return nil
}
