// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package gen writes agent streams that look like real ones, for benchmarks and load tests.
//
// What it writes depends on its options and nothing else: neither on the clock nor on the machine.
package gen

import (
	"bufio"
	"errors"
	"io"
	"math/rand/v2"
	"strconv"
	"time"
)

// Options say what to write.
type Options struct {
	// Seed chooses the content. The same options give the same bytes.
	Seed uint64
	// Lines is the number of lines of the whole stream. It must be at least two per session.
	Lines int
	// Sessions is the number of sessions whose lines are interleaved; zero means one. Memory grows with it, and
	// with nothing else.
	Sessions int
	// ResultBytes is the mean size in bytes of the text of a tool result, as it stands in the stream; zero means
	// 5000, at which a line has 4.4 KB on average. One result in a hundred and fifty has about 100 KB whatever
	// the mean is.
	ResultBytes int
	// StartTime is the time of the first record; zero means 2026-10-01T08:00:00Z. Times rise over the whole
	// stream, and the main agent of a session goes on at most a few seconds after a result.
	StartTime time.Time
	// Partial adds the stream_event rows of --include-partial-messages to the responses of main agents. They
	// count as lines, and are short.
	Partial bool
}

const (
	defaultResultBytes = 5000
	hugeResultBytes    = 100 << 10
	hugeOneIn          = 150
	turnLines          = 200
)

// defaultStart is far enough in the past that no reader takes it for an impossible time.
var defaultStart = time.Date(2026, time.October, 1, 8, 0, 0, 0, time.UTC)

// Claude writes the stream-json output of Claude Code: sessions of turns of about two hundred lines, each turn a
// replayed prompt, responses with tool calls and their results, subagents, and a result with running totals that
// agree with the usage of the rows. Every session ends with a result.
func Claude(w io.Writer, o Options) error {
	if o.Sessions == 0 {
		o.Sessions = 1
	}
	if o.ResultBytes == 0 {
		o.ResultBytes = defaultResultBytes
	}
	if o.StartTime.IsZero() {
		o.StartTime = defaultStart
	}
	switch {
	case o.Sessions < 0 || o.ResultBytes < 0:
		return errors.New("sessions and result bytes must not be negative")
	case o.Lines < 2*o.Sessions:
		return errors.New("a session needs at least two lines")
	}
	g := newGenerator(bufio.NewWriterSize(w, 256<<10), o)
	sessions := make([]*session, o.Sessions)
	for i := range sessions {
		n := o.Lines / o.Sessions
		if i < o.Lines%o.Sessions {
			n++
		}
		sessions[i] = g.newSession(n)
	}
	for len(sessions) > 0 {
		open := sessions[:0]
		for _, s := range sessions {
			g.step(s)
			if g.err != nil {
				return g.err
			}
			if s.left > 0 {
				open = append(open, s)
			}
		}
		sessions = open
	}
	return g.w.Flush()
}

// generator holds what all sessions of a stream share.
type generator struct {
	w    *bufio.Writer
	err  error
	rand *rand.Rand
	opts Options
	pool *pool
	now  time.Time
	// pace is the longest step of the clock between two rows. All sessions share the clock, so it shrinks with
	// their number: a session's pauses must not depend on it, or they would cut it into segments.
	pace time.Duration
	buf  []byte
	text []byte
	lits []line
}

func newGenerator(w *bufio.Writer, o Options) *generator {
	r := rand.New(rand.NewPCG(o.Seed, 0x61676e747374726d))
	return &generator{
		w:    w,
		rand: r,
		opts: o,
		pool: newPool(r),
		now:  o.StartTime.UTC(),
		pace: max(400*time.Millisecond/time.Duration(o.Sessions), time.Microsecond),
	}
}

func (g *generator) tick() {
	g.now = g.now.Add(time.Duration(g.rand.Int64N(int64(g.pace)) + 1))
}

// end writes the line in buf.
func (g *generator) end(s *session) {
	g.buf = append(g.buf, '\n')
	if g.err == nil {
		_, g.err = g.w.Write(g.buf)
	}
	g.buf = g.buf[:0]
	s.left--
	s.turnLeft--
}

func (g *generator) str(parts ...string) {
	for _, p := range parts {
		g.buf = append(g.buf, p...)
	}
}

func (g *generator) int(n int) {
	g.buf = strconv.AppendInt(g.buf, int64(n), 10)
}

func (g *generator) usd(v float64) {
	g.buf = strconv.AppendFloat(g.buf, v, 'f', -1, 64)
}

const (
	hexDigits    = "0123456789abcdef"
	base62Digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// uuid returns a random UUID of version 4.
func (g *generator) uuid() string {
	var b [36]byte
	hi, lo := g.rand.Uint64(), g.rand.Uint64()
	for i := range b {
		switch i {
		case 8, 13, 18, 23:
			b[i] = '-'
			continue
		}
		b[i] = hexDigits[hi&15]
		hi, lo = hi>>4|lo<<60, lo>>4
	}
	b[14] = '4'
	b[19] = "89ab"[g.rand.IntN(4)]
	return string(b[:])
}

// id returns an identifier in the manner of the API: a prefix and 22 random characters.
func (g *generator) id(prefix string) string {
	b := make([]byte, 0, len(prefix)+24)
	b = append(b, prefix...)
	b = append(b, "01"...)
	var bits uint64
	for i := range 22 {
		if i%10 == 0 {
			bits = g.rand.Uint64()
		}
		b = append(b, base62Digits[bits%62])
		bits /= 62
	}
	return string(b)
}

func (g *generator) time() {
	g.buf = g.now.AppendFormat(g.buf, "2006-01-02T15:04:05.000Z")
}

// size draws the size of a result's text: most are small, the mean is that of the options.
func (g *generator) size() int {
	if g.rand.IntN(hugeOneIn) == 0 {
		return hugeResultBytes + g.rand.IntN(hugeResultBytes/8)
	}
	rest := max(float64(g.opts.ResultBytes)-float64(hugeResultBytes)/hugeOneIn, float64(g.opts.ResultBytes)/4)
	return 20 + int(g.rand.ExpFloat64()*rest)
}

// fill puts lines of a genre into lits and, escaped and joined, into text, until it has at least n bytes.
func (g *generator) fill(kind genre, n int) {
	g.text, g.lits = g.text[:0], g.lits[:0]
	lines := g.pool[kind]
	for at := g.rand.IntN(len(lines)); ; {
		g.text = append(g.text, lines[at]...)
		g.lits = append(g.lits, lines[at])
		if len(g.text) >= n {
			return
		}
		g.text = append(g.text, `\n`...)
		// Neighbours mostly stay neighbours, as in the files of a real tree.
		if at++; at == len(lines) || g.rand.IntN(64) == 0 {
			at = g.rand.IntN(len(lines))
		}
	}
}
