// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package frame

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type framed struct {
	text       string
	start, end int64
	complete   bool
}

func readAll(t testing.TB, src io.Reader, limit int) ([]framed, *Reader) {
	t.Helper()
	f := NewReader(src, limit)
	var lines []framed
	var buf []byte
	for {
		out, line, err := f.Next(buf[:0])
		if errors.Is(err, io.EOF) {
			return lines, f
		}
		require.NoError(t, err)
		lines = append(lines, framed{string(out), line.Start, line.End, line.Complete})
		buf = out
	}
}

func TestLines(t *testing.T) {
	for name, tc := range map[string]struct {
		in       string
		limit    int
		want     []framed
		oversize int64
		nuls     int64
	}{
		"empty": {},
		"two": {
			in:   "a\nbc\n",
			want: []framed{{"a", 0, 2, true}, {"bc", 2, 5, true}},
		},
		"last without line feed": {
			in:   "a\nbc",
			want: []framed{{"a", 0, 2, true}, {"bc", 2, 4, false}},
		},
		"carriage returns": {
			in:   "a\r\n\r\nb\rc\n",
			want: []framed{{"a", 0, 3, true}, {"", 3, 5, true}, {"b\rc", 5, 9, true}},
		},
		"other line ends are text": {
			in:   "a\u2028b\u0085c\vd\n",
			want: []framed{{"a\u2028b\u0085c\vd", 0, 11, true}},
		},
		"byte order mark": {
			in:   "\xef\xbb\xbfa\n\xef\xbb\xbfb\n",
			want: []framed{{"a", 0, 5, true}, {"\xef\xbb\xbfb", 5, 10, true}},
		},
		"part of a mark": {
			in:   "\xef\xbbz",
			want: []framed{{"\xef\xbbz", 0, 3, false}},
		},
		"only a mark": {
			in:   "\xef\xbb\xbf",
			want: []framed{{"", 0, 3, false}},
		},
		"NUL runs": {
			in:   "a\n\x00\x00\x00b\x00c\n\x00",
			nuls: 4,
			want: []framed{{"a", 0, 2, true}, {"b\x00c", 2, 9, true}, {"", 9, 10, false}},
		},
		"limit": {
			in:       "abc\nabcd\nab\nabcde",
			limit:    3,
			oversize: 2,
			want:     []framed{{"abc", 0, 4, true}, {"ab", 9, 12, true}},
		},
		"the carriage return is no part of a line": {
			in:       "abc\r\nabcd\r\nabc\r",
			limit:    3,
			oversize: 2,
			want:     []framed{{"abc", 0, 5, true}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			limit := tc.limit
			if limit == 0 {
				limit = 1 << 20
			}
			for chunking, src := range map[string]io.Reader{
				"whole":       strings.NewReader(tc.in),
				"single":      iotest.OneByteReader(strings.NewReader(tc.in)),
				"end at once": iotest.DataErrReader(strings.NewReader(tc.in)),
			} {
				got, f := readAll(t, src, limit)
				assert.Equal(t, tc.want, got, chunking)
				assert.Equal(t, tc.oversize, f.Oversize(), chunking)
				assert.Equal(t, tc.nuls, f.NULs(), chunking)
				assert.Equal(t, int64(len(tc.in)), f.Offset(), chunking)
			}
		})
	}
}

func TestAppendsAndKeepsWhatWasThere(t *testing.T) {
	f := NewReader(strings.NewReader("one\ntoo long\ntwo\n"), 4)
	buf := []byte("x")
	buf, _, err := f.Next(buf)
	require.NoError(t, err)
	buf, _, err = f.Next(buf)
	require.NoError(t, err)
	buf, _, err = f.Next(buf)
	assert.Equal(t, io.EOF, err)
	assert.Equal(t, "xonetwo", string(buf))
}

func TestErrorOfTheSource(t *testing.T) {
	broken := errors.New("broken")
	f := NewReader(io.MultiReader(strings.NewReader("a\nhalf"), iotest.ErrReader(broken)), 10)
	out, _, err := f.Next(nil)
	require.NoError(t, err)
	assert.Equal(t, "a", string(out))
	out, _, err = f.Next(nil)
	require.ErrorIs(t, err, broken)
	assert.Empty(t, out, "half a line before an error is no line")
}

func TestWaiting(t *testing.T) {
	f := NewReader(strings.NewReader("a\nb\nc"), 10)
	assert.False(t, f.Waiting())
	_, _, err := f.Next(nil)
	require.NoError(t, err)
	assert.True(t, f.Waiting())
	_, _, err = f.Next(nil)
	require.NoError(t, err)
	assert.False(t, f.Waiting(), "an incomplete line does not wait")
}

// endless gives n bytes without a line feed.
type endless struct{ n int }

func (e *endless) Read(p []byte) (int, error) {
	if e.n == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.n)
	for i := range p[:n] {
		p[i] = 'x'
	}
	e.n -= n
	return n, nil
}

func TestOversizeIsNotHeld(t *testing.T) {
	f := NewReader(io.MultiReader(&endless{256 << 20}, strings.NewReader("\nok\n")), 1<<20)
	out, line, err := f.Next(nil)
	require.NoError(t, err)
	assert.Equal(t, "ok", string(out))
	assert.Equal(t, int64(256<<20+1), line.Start)
	assert.LessOrEqual(t, cap(out), 2<<20)
	assert.LessOrEqual(t, len(f.buf), maxBuffer)
}

func TestNoAllocationPerLine(t *testing.T) {
	data := bytes.Repeat([]byte(strings.Repeat("x", 300)+"\n"), 4000)
	src := bytes.NewReader(data)
	f := NewReader(src, 1<<20)
	buf := make([]byte, 0, 1<<10)
	for range 3000 {
		buf, _, _ = f.Next(buf[:0])
	}
	allocs := testing.AllocsPerRun(500, func() { buf, _, _ = f.Next(buf[:0]) })
	assert.Zero(t, allocs)
}

// chunked gives the bytes in pieces whose sizes repeat a pattern.
type chunked struct {
	data, sizes []byte
	i           int
}

func (c *chunked) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := len(c.data)
	if len(c.sizes) > 0 {
		n = int(c.sizes[c.i%len(c.sizes)]) + 1
		c.i++
	}
	n = copy(p, c.data[:min(n, len(c.data))])
	c.data = c.data[n:]
	return n, nil
}

func FuzzAnyChunkingGivesTheSameLines(f *testing.F) {
	f.Add([]byte("a\r\nb\n\x00\x00c"), []byte{0, 3}, uint16(5))
	f.Add([]byte("\xef\xbb\xbf{}\n\n\r\n"), []byte{1}, uint16(1))
	f.Add(bytes.Repeat([]byte("xy"), 9000), []byte{255}, uint16(20000))
	f.Fuzz(func(t *testing.T, data, sizes []byte, limit uint16) {
		whole, a := readAll(t, bytes.NewReader(data), int(limit))
		parts, b := readAll(t, &chunked{data: data, sizes: sizes}, int(limit))
		assert.Equal(t, whole, parts)
		assert.Equal(t, a.Oversize(), b.Oversize())
		assert.Equal(t, a.NULs(), b.NULs())
		assert.Equal(t, int64(len(data)), a.Offset())
		assert.Equal(t, int64(len(data)), b.Offset())
		var end int64
		for _, l := range whole {
			assert.LessOrEqual(t, len(l.text), int(limit))
			assert.NotContains(t, l.text, "\n")
			assert.GreaterOrEqual(t, l.start, end)
			end = l.end
		}
		lines := int64(bytes.Count(data, []byte{'\n'}))
		if n := len(data); n > 0 && data[n-1] != '\n' {
			lines++
		}
		assert.Equal(t, lines, int64(len(whole))+a.Oversize())
	})
}

func BenchmarkReader(b *testing.B) {
	data := bytes.Repeat([]byte(strings.Repeat("x", 2000)+"\n"), 10000)
	b.Run("frame", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		buf := make([]byte, 0, 4<<10)
		for b.Loop() {
			f := NewReader(bytes.NewReader(data), 1<<20)
			for {
				out, _, err := f.Next(buf[:0])
				if err != nil {
					break
				}
				buf = out
			}
		}
	})
	b.Run("scan for line feeds", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			for rest := data; ; {
				i := bytes.IndexByte(rest, '\n')
				if i < 0 {
					break
				}
				rest = rest[i+1:]
			}
		}
	})
}

func TestWaitingWithinLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		buffered string
		want     bool
	}{
		"nothing":             {"", false},
		"part of a line":      {"12", false},
		"a line":              {"123\n", true},
		"an oversize line":    {"12345\n", false},
		"a line behind it":    {"12345\n1234\n", true},
		"part of one":         {"12345\n12", false},
		"two oversize lines":  {"12345\n12345\n", false},
		"nothing but newline": {"\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			f := NewReader(strings.NewReader("first\n"[:4]+"\n"+tc.buffered), 4)
			_, _, err := f.Next(nil)
			require.NoError(t, err)
			assert.Equal(t, tc.want, f.Waiting())
		})
	}
}

// asked calls back before each read.
type asked struct {
	io.Reader
	before func()
}

func (a asked) Read(p []byte) (int, error) {
	a.before()
	return a.Reader.Read(p)
}

func TestUnfinished(t *testing.T) {
	type state struct {
		size int64
		held int
	}
	var f *Reader
	var got []state
	src := asked{iotest.OneByteReader(strings.NewReader("ab\n\x00c1234\n12")), func() {
		size, held := f.Unfinished()
		got = append(got, state{size, held})
	}}
	f = NewReader(io.MultiReader(src, iotest.ErrReader(io.ErrNoProgress)), 2)
	out, _, err := f.Next([]byte("kept"))
	require.NoError(t, err)
	assert.Equal(t, "keptab", string(out))
	_, _, err = f.Next(nil)
	require.ErrorIs(t, err, io.ErrNoProgress)
	assert.Equal(t, []state{
		{0, 0}, // the byte order mark is looked for
		{1, 1},
		{2, 2},
		{0, 0},
		{0, 0},
		{1, 1},
		{2, 2},
		{3, 3},
		{4, 0},
		{5, 0},
		{0, 0},
		{1, 1},
		{2, 2},
	}, got)
	size, held := f.Unfinished()
	assert.Equal(t, state{2, 2}, state{size, held})
}

// TestOversizeCapacity shows that the buffer does not keep what a line took before it turned out too long.
func TestOversizeCapacity(t *testing.T) {
	const limit = 4 << 20
	f := NewReader(strings.NewReader(strings.Repeat("a", limit+2)+"\nb\n"), limit)
	out, _, err := f.Next([]byte("kept"))
	require.NoError(t, err)
	assert.Equal(t, "keptb", string(out))
	assert.Less(t, cap(out), 2*keptCapacity)
}
