// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package listen

import (
	"context"
	"errors"
	"io"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/internal/engine"
	"github.com/otelcol-agents/otelcol-agents/translate"
)

func TestLines(t *testing.T) {
	reset := &net.OpError{Op: "read", Err: errors.New("reset")}
	longTail := `{"a":"` + strings.Repeat("b", 2<<20) + `"}`
	for name, tc := range map[string]struct {
		parts    []string
		err      error // io.EOF when nil
		keepTail bool
		maxLine  int
		want     []string
		batches  []int
		torn     int64
		oversize int64
		end      error
		broken   bool
	}{
		"nothing":                      {},
		"two in one read":              {parts: []string{"a\nb\n"}, want: []string{"a", "b"}, batches: []int{2}},
		"two in two reads":             {parts: []string{"a\n", "b\n"}, want: []string{"a", "b"}, batches: []int{1, 1}},
		"part of the next waits":       {parts: []string{"a\nb", "\n"}, want: []string{"a", "b"}, batches: []int{1, 1}},
		"carriage returns":             {parts: []string{"a\r\nb\r\n"}, want: []string{"a", "b"}, batches: []int{2}},
		"blank lines":                  {parts: []string{"\n\n a\n\r\n"}, want: []string{" a"}, batches: []int{1}},
		"tail that is an object":       {parts: []string{"a\n{\"b\"", ":1} "}, want: []string{"a", `{"b":1} `}, batches: []int{1, 1}},
		"long tail":                    {parts: []string{longTail}, want: []string{longTail}, batches: []int{1}},
		"tail that is part of one":     {parts: []string{"a\n{\"b\":"}, want: []string{"a"}, batches: []int{1, 0}, torn: 1},
		"tail that is two":             {parts: []string{"{}{}"}, batches: []int{0}, torn: 1},
		"tail that is an array":        {parts: []string{"[1]"}, batches: []int{0}, torn: 1},
		"blank tail":                   {parts: []string{"a\n \t"}, want: []string{"a"}, batches: []int{1, 0}},
		"tail of NULs":                 {parts: []string{"a\n\x00\x00"}, want: []string{"a"}, batches: []int{1, 0}},
		"kept tail":                    {parts: []string{"a\n{\"b\":"}, keepTail: true, want: []string{"a", `{"b":`}, batches: []int{1, 1}, torn: 1},
		"reset":                        {parts: []string{"a\nb"}, err: reset, want: []string{"a"}, batches: []int{1, 0}, torn: 1, broken: true},
		"reset behind an object":       {parts: []string{"a\n{}"}, err: reset, want: []string{"a", "{}"}, batches: []int{1, 1}, broken: true},
		"reset, tails are kept":        {parts: []string{"a\nb"}, err: reset, keepTail: true, want: []string{"a"}, batches: []int{1, 0}, torn: 1, broken: true},
		"no farewell":                  {parts: []string{"{}"}, err: io.ErrUnexpectedEOF, want: []string{"{}"}, batches: []int{1}, broken: true},
		"fault":                        {parts: []string{"a\n{}"}, err: io.ErrNoProgress, want: []string{"a"}, batches: []int{1, 0}, torn: 1, end: io.ErrNoProgress},
		"fault between lines":          {parts: []string{"a\n"}, err: io.ErrNoProgress, want: []string{"a"}, batches: []int{1}, end: io.ErrNoProgress},
		"our close":                    {parts: []string{"{}"}, err: &net.OpError{Op: "read", Err: net.ErrClosed}, batches: []int{0}, torn: 1, end: net.ErrClosed},
		"oversize":                     {parts: []string{"12345\n1234\n"}, maxLine: 4, want: []string{"1234"}, batches: []int{1}, oversize: 1},
		"oversize does not hold lines": {parts: []string{"a\n12345\n", "b\n"}, maxLine: 4, want: []string{"a", "b"}, batches: []int{1, 1}, oversize: 1},
		"only oversize":                {parts: []string{"12345\n"}, maxLine: 4, batches: []int{0}, oversize: 1},
		"oversize that breaks off":     {parts: []string{"12345"}, maxLine: 4, err: io.ErrNoProgress, batches: []int{0}, torn: 1, end: io.ErrNoProgress},
		"oversize tail":                {parts: []string{"12345"}, maxLine: 4, batches: []int{0}, oversize: 1},
		"full batches": {
			parts:   []string{strings.Repeat("a", 1<<20) + "\nb\n" + strings.Repeat("c", 1<<20) + "\n"},
			want:    []string{strings.Repeat("a", 1<<20), "b", strings.Repeat("c", 1<<20)},
			batches: []int{1, 1, 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newFakeEngine(t)
			if tc.err == nil {
				tc.err = io.EOF
			}
			if tc.maxLine == 0 {
				tc.maxLine = 4 << 20
			}
			var size int
			for _, p := range tc.parts {
				size += len(p)
			}
			s := &source{
				src:         &script{tc.parts, tc.err},
				setDeadline: func(time.Time) error { return nil },
				closed:      wentAway,
				places:      NewLongLines(),
				stopping:    t.Context(),
			}
			in := e.Open(engine.Source{}).(*fakeInput)
			l := newLines(s, in, tc.maxLine, time.Now)
			l.keepTail = tc.keepTail
			err := l.run(t.Context())
			s.end()
			if tc.end == nil {
				tc.end = io.EOF
			}
			require.ErrorIs(t, err, tc.end)
			assert.Equal(t, tc.broken, s.broken != nil)
			require.NoError(t, in.End(t.Context(), engine.Ended))
			got, _ := in.rest(t)
			assert.Equal(t, tc.want, got)
			close(in.batches)
			var batches []int
			for n := range in.batches {
				batches = append(batches, n)
			}
			assert.Equal(t, tc.batches, batches)
			assert.Equal(t, tc.torn, in.skipped(translate.SkipTorn))
			assert.Equal(t, tc.oversize, in.skipped(translate.SkipOversize))
			assert.Equal(t, int64(size), in.bytes)
			assert.False(t, in.unread.Load())
			assert.True(t, s.places.places.TryAcquire(longLines), "a place for long lines was kept")
		})
	}
}

func TestArrival(t *testing.T) {
	e := newFakeEngine(t)
	var now int64
	s := &source{
		src: &script{[]string{record("a") + "\n" + record("b") + "\n"}, io.EOF}, setDeadline: func(time.Time) error { return nil },
		closed: wentAway, places: NewLongLines(), stopping: t.Context(),
	}
	got := make(chan int64, 2)
	in := inputFunc(func(b *batch.Batch) {
		e.decoders.Decode(t.Context(), b, translate.FormatClaudeCode)
		b.Wait()
		for i := range b.Len() {
			got <- b.Units(i)[0].Record.Arrival
		}
	})
	l := newLines(s, in, math.MaxInt32, func() time.Time { now++; return time.Unix(0, now) })
	require.ErrorIs(t, l.run(t.Context()), io.EOF)
	assert.Equal(t, int64(1), <-got)
	assert.Equal(t, int64(2), <-got)
}

// inputFunc is an Input of batches only.
type inputFunc func(*batch.Batch)

func (f inputFunc) Send(_ context.Context, b *batch.Batch, _ func(*batch.Outcomes)) error {
	f(b)
	return nil
}
func (inputFunc) End(context.Context, engine.Ending) error { return nil }
func (inputFunc) Unread(bool)                              {}
