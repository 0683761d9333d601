// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package batch carries lines of a source from whoever reads them to the goroutine that folds them,
// decoded on the way by whoever has time.
package batch

import (
	"bytes"
	"sync"

	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
	"github.com/otelcol-agents/otelcol-agents/translate"
)

const (
	// Bytes is the size from which a batch is full. A batch holds at least one line, of any size.
	Bytes = 1 << 20
	// keptBytes is the largest buffer that is used again: a huge line must not be paid for ever.
	keptBytes = 2 << 20
)

// Batch is a run of lines of one source. Its reader fills it with Add; once it went to Decoders.Decode,
// Wait gives its units, line by line.
type Batch struct {
	// Size is how many bytes of the source the batch stands for, skipped ones included.
	Size int64
	// Oversize is the number of lines over the limit that were left out.
	Oversize int64
	// NULs is the number of NUL bytes that were left out.
	NULs int64
	// Torn is the number of lines that broke off.
	Torn int64
	// Progress is how far its file is read with it; of no file if its ID is 0.
	Progress ledger.Progress
	// Silent says that its lines are known but not to be sent: they were there before the receiver was.
	Silent bool

	buf     []byte  // the lines, back to back
	ends    []int   // end of each line in buf
	arrival []int64 // of each line; empty for sources whose lines have no arrival time

	format   translate.Format
	units    []translate.Decoded
	unitEnds []int // end of each line's units
	outcomes Outcomes
	decoded  chan struct{} // closed when units are there
}

var pool = sync.Pool{New: func() any { return new(Batch) }}

// New gives an empty batch.
func New() *Batch {
	b := pool.Get().(*Batch)
	b.decoded = make(chan struct{})
	return b
}

// Release gives the batch's memory back; nothing of it may be used afterwards, the decoded records
// excepted.
func (b *Batch) Release() {
	if cap(b.buf) > keptBytes {
		return
	}
	clear(b.units)
	*b = Batch{buf: b.buf[:0], ends: b.ends[:0], arrival: b.arrival[:0], units: b.units[:0], unitEnds: b.unitEnds[:0]}
	pool.Put(b)
}

// Buffer is what the next line is to be appended to, for Add.
func (b *Batch) Buffer() []byte { return b.buf }

// Add takes buf, which is Buffer with one more line behind it. A blank line is left out. arrival is when
// it came, in Unix nanoseconds; 0 for lines of files, in which case all lines of the batch have none.
// It returns the line.
func (b *Batch) Add(buf []byte, arrival int64) []byte {
	from := len(b.buf)
	line := buf[from:]
	if len(bytes.TrimSpace(line)) == 0 {
		b.buf = buf[:from] // what it grew to is kept
		return nil
	}
	b.buf = buf
	b.ends = append(b.ends, len(buf))
	if arrival != 0 {
		b.arrival = append(b.arrival, arrival)
	}
	return line
}

// Clear leaves the lines out; what is to be counted stays.
func (b *Batch) Clear() { b.buf, b.ends, b.arrival = b.buf[:0], b.ends[:0], b.arrival[:0] }

// Len is the number of lines.
func (b *Batch) Len() int { return len(b.ends) }

// Empty reports whether the batch says nothing at all: no lines, and nothing to count.
func (b *Batch) Empty() bool {
	return len(b.ends) == 0 && b.Size == 0 && b.Oversize == 0 && b.NULs == 0 && b.Torn == 0
}

// Full reports whether the batch should go on its way.
func (b *Batch) Full() bool { return len(b.buf) >= Bytes }

// Cost is the memory that the batch's lines take, in bytes.
func (b *Batch) Cost() int64 { return int64(cap(b.buf)) }

// Line is the i-th line.
func (b *Batch) Line(i int) []byte {
	from := 0
	if i > 0 {
		from = b.ends[i-1]
	}
	return b.buf[from:b.ends[i]]
}

// Wait blocks until the batch is decoded.
func (b *Batch) Wait() { <-b.decoded }

// Units is what the i-th line was decoded to. The batch must be decoded.
func (b *Batch) Units(i int) []translate.Decoded {
	from := 0
	if i > 0 {
		from = b.unitEnds[i-1]
	}
	return b.units[from:b.unitEnds[i]]
}

// Arrived is when the i-th line came, in Unix nanoseconds; 0 for a line of a file.
func (b *Batch) Arrived(i int) int64 {
	if len(b.arrival) == 0 {
		return 0
	}
	return b.arrival[i]
}

// Again says that the i-th line was decoded anew, by another decoder: it counts as that tells.
func (b *Batch) Again(i int, anew []translate.Decoded) {
	b.outcomes.count(lineOf(b.Units(i)), -1)
	b.outcomes.count(lineOf(anew), 1)
}

// Outcomes says what became of the lines. The batch must be decoded.
func (b *Batch) Outcomes() *Outcomes { return &b.outcomes }

// Format is that of the decoder that decoded it.
func (b *Batch) Format() translate.Format { return b.format }

// older reports whether one of the units has a time before oldest.
func older(units []translate.Decoded, oldest int64) bool {
	for i := range units {
		if r := units[i].Record; r != nil && r.Time != 0 && r.Time < oldest {
			return true
		}
	}
	return false
}

func (b *Batch) decode(d Decoder, oldest int64) {
	b.outcomes.Count(translate.SkipOversize, b.Oversize)
	b.outcomes.Count(translate.SkipTorn, b.Torn)
	for i := range b.ends {
		from := len(b.units)
		b.units = d.Decode(b.Line(i), b.units)
		b.unitEnds = append(b.unitEnds, len(b.units))
		units := b.units[from:]
		for k := range units {
			if r := units[k].Record; r != nil {
				r.Arrival = b.Arrived(i)
			}
		}
		l := lineOf(units)
		l.skipped[index(translate.SkipTooOld)] = b.Arrived(i) == 0 && older(units, oldest)
		b.outcomes.count(l, 1)
	}
	close(b.decoded)
}
