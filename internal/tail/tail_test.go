// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package tail

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const name = "a.jsonl"

// step does something to the files, polls, and says what must have come of it.
type step struct {
	do    func(*rig)
	lines []string
	pos   int64 // of the file a.jsonl, also committed
	scan  int64 // what was looked through; 0 means pos
}

func add(text string) func(*rig)   { return func(r *rig) { r.add(name, text) } }
func write(text string) func(*rig) { return func(r *rig) { r.write(name, text) } }

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 32)
	for title, c := range map[string]struct {
		steps    []step
		reports  []string
		oversize int64
		nuls     int64
		torn     int64
		inputs   int
	}{
		"growth": {
			steps: []step{
				{do: write("one\n"), lines: []string{"one"}, pos: 4},
				{pos: 4},
				{do: add("two\nthree\n"), lines: []string{"two", "three"}, pos: 14},
				{do: add("fo"), pos: 14, scan: 16},
				{do: add("ur\nf"), lines: []string{"four"}, pos: 19, scan: 20},
			},
			inputs: 1,
		},
		"empty at first": {
			steps: []step{
				{do: write("")},
				{do: add("1\n"), lines: []string{"1"}, pos: 2},
			},
			inputs: 1,
		},
		"carriage returns, blank lines and other separators": {
			steps: []step{
				{do: write("a\r\n\r\n\n  \nb\u2028\rc\n"), lines: []string{"a", "b\u2028\rc"}, pos: 16},
				{do: add("d\r"), pos: 16, scan: 18},
				{do: add("\n"), lines: []string{"d"}, pos: 19},
			},
			inputs: 1,
		},
		"byte order mark": {
			steps: []step{
				{do: write("\xef"), pos: 0, scan: 1},
				{do: add("\xbb"), pos: 0, scan: 2},
				{do: add("\xbf"), pos: 3},
				{do: add("a\n\xef\xbb\xbfb\n"), lines: []string{"a", "\xef\xbb\xbfb"}, pos: 10},
			},
			inputs: 1,
		},
		"zeros": {
			steps: []step{
				{do: write("\x00\x00a\n\x00\x00\x00"), lines: []string{"a"}, pos: 7},
				{do: add("\x00b\x00c\n\x00\n"), lines: []string{"b\x00c"}, pos: 14},
			},
			nuls: 7, inputs: 1,
		},
		"just short enough": {
			steps: []step{
				{do: write(long + "\n" + long + "\r\n"), lines: []string{long, long}, pos: 67},
				{do: add(long), pos: 67, scan: 99},
				{do: add("\r"), pos: 67, scan: 100},
				{do: add("\n"), lines: []string{long}, pos: 101},
			},
			inputs: 1,
		},
		"byte order mark before a line that is just short enough": {
			steps: []step{
				{do: write("\xef\xbb"), scan: 2},
				{do: add("\xbf" + long + "\r"), pos: 3, scan: 36},
				{do: add("\n"), lines: []string{long}, pos: 37},
			},
			inputs: 1,
		},
		"too long": {
			steps: []step{
				{do: write("a\n" + long + "y\n" + long + "y\r\nb\n" + long + long + "\nc\n"), lines: []string{"a", "b", "c"}, pos: 140},
			},
			reports: []string{"oversize a.jsonl"}, oversize: 3, inputs: 1,
		},
		"too long over several polls": {
			steps: []step{
				{do: write("a\n" + long), lines: []string{"a"}, pos: 2, scan: 34},
				{do: add("y"), pos: 2, scan: 35},
				{do: add("y"), pos: 36},
				{do: add(long), pos: 68},
				{do: add("z\nb\n"), lines: []string{"b"}, pos: 72},
				{do: add(long + "yy"), pos: 106},
				{do: add("\n"), pos: 107},
			},
			reports: []string{"oversize a.jsonl"}, oversize: 2, inputs: 1,
		},
		"cut": {
			steps: []step{
				{do: write("one\ntwo\n"), lines: []string{"one", "two"}, pos: 8},
				{do: func(r *rig) { r.cut(name, 4) }, lines: []string{"one"}, pos: 4},
				{do: func(r *rig) { r.cut(name, 0) }, pos: 0},
				{do: add("new\n"), lines: []string{"new"}, pos: 4},
			},
			reports: []string{"mismatch a.jsonl", "mismatch a.jsonl"}, inputs: 3,
		},
		"cut in a line that has begun": {
			steps: []step{
				{do: write("one\ntwo"), lines: []string{"one"}, pos: 4, scan: 7},
				{do: func(r *rig) { r.cut(name, 5) }, pos: 4, scan: 5},
				{do: add("en\n"), lines: []string{"ten"}, pos: 8},
			},
			inputs: 1,
		},
		"replaced in place with the same size": {
			steps: []step{
				{do: write("one\ntwo\n"), lines: []string{"one", "two"}, pos: 8},
				{do: write("one\nsix\n"), lines: []string{"one", "six"}, pos: 8},
			},
			reports: []string{"mismatch a.jsonl"}, inputs: 2,
		},
		"replaced in place with more": {
			steps: []step{
				{do: write("one\ntw"), lines: []string{"one"}, pos: 4, scan: 6},
				{do: write("1\n2\n3\n4\n"), lines: []string{"1", "2", "3", "4"}, pos: 8},
			},
			reports: []string{"mismatch a.jsonl"}, torn: 1, inputs: 2,
		},
		"replaced before the first line has ended": {
			steps: []step{
				{do: write("one, two"), scan: 8},
				{do: write("1\n2\nthree"), lines: []string{"1", "2"}, pos: 4, scan: 9},
				{do: write("1\n2\n3\n4444"), lines: []string{"3"}, pos: 6, scan: 10},
			},
			inputs: 1,
		},
		"head changed": {
			steps: []step{
				{do: write("one\n" + strings.Repeat("same\n", 100)), lines: append([]string{"one"}, many("same", 100)...), pos: 504},
				{do: write("two\n" + strings.Repeat("same\n", 100)), lines: append([]string{"two"}, many("same", 100)...), pos: 504},
			},
			reports: []string{"mismatch a.jsonl"}, inputs: 2,
		},
		"renamed": {
			steps: []step{
				{do: write("one\ntw"), lines: []string{"one"}, pos: 4, scan: 6},
				{do: func(r *rig) {
					r.rename(name, "b.jsonl")
					r.add("b.jsonl", "o\n")
				}, lines: []string{"two"}},
				{do: func(r *rig) { r.rename("b.jsonl", name) }, pos: 8},
			},
			inputs: 1,
		},
		"moved out of sight and written": {
			steps: []step{
				{do: write("one\n"), lines: []string{"one"}, pos: 4},
				{do: func(r *rig) { r.rename(name, "gone") }},
				{do: func(r *rig) { r.add("gone", "two\n") }, lines: []string{"two"}},
				{do: func(r *rig) { r.rename("gone", name) }, pos: 8},
			},
			inputs: 1,
		},
		"deleted": {
			steps: []step{
				{do: write("one\ntw"), lines: []string{"one"}, pos: 4, scan: 6},
				{do: func(r *rig) { r.add(name, "o\nthr"); r.remove(name) }},
				{lines: []string{"two"}},
			},
			torn: 1, inputs: 1,
		},
		"deleted and made again": {
			steps: []step{
				{do: write("one\ntwo\n"), lines: []string{"one", "two"}, pos: 8},
				{do: func(r *rig) { r.remove(name); r.write(name, "one\nsix\n") }},
				{lines: []string{"one", "six"}, pos: 8},
				{do: add("seven\n"), lines: []string{"seven"}, pos: 14},
			},
			inputs: 2,
		},
		"replaced by renaming": {
			steps: []step{
				{do: write("one\ntwo\n"), lines: []string{"one", "two"}, pos: 8},
				{do: func(r *rig) { r.write("new", "one\ntwo\n3\n"); r.rename("new", name) }},
				{lines: []string{"one", "two", "3"}, pos: 10},
			},
			inputs: 2,
		},
		"unterminated object": {
			steps: []step{
				{do: write("{\"a\":1}\n{\"b\":{}}"), lines: []string{`{"a":1}`}, pos: 8, scan: 16},
				{do: func(r *rig) { r.wait(4 * time.Second) }, pos: 8, scan: 16},
				{do: func(r *rig) { r.wait(time.Second) }, lines: []string{`{"b":{}}`}, pos: 16},
				{do: add("\n{\"c\":1}\n"), lines: []string{`{"c":1}`}, pos: 25},
			},
			inputs: 1,
		},
		"unterminated, but not one object": {
			steps: []step{
				{do: write("{\"a\":"), pos: 0, scan: 5},
				{do: func(r *rig) { r.wait(time.Minute) }, scan: 5},
				{do: add("1}"), scan: 7},
				{do: func(r *rig) { r.wait(4 * time.Second) }, scan: 7},
				{do: add(" {"), scan: 9},
				{do: func(r *rig) { r.wait(time.Minute) }, scan: 9},
				{do: write("[1]"), scan: 3},
				{do: func(r *rig) { r.wait(time.Minute) }, scan: 3},
			},
			inputs: 1,
		},
	} {
		t.Run(title, func(t *testing.T) {
			r := newRig(t, Config{MaxLine: 32})
			for i, s := range c.steps {
				r.wait(testPoll)
				if s.do != nil {
					s.do(r)
				}
				r.poll()
				assert.Equal(t, s.lines, r.take(), "step %d", i)
				if f := r.file(name); f != nil {
					assert.Equal(t, s.pos, f.pos, "step %d: position", i)
					assert.Equal(t, max(s.pos, s.scan), f.scanned, "step %d: scanned", i)
					if f.stream != nil {
						assert.Equal(t, s.pos, f.stream.committed.Load(), "step %d: committed", i)
					}
				} else {
					assert.Zero(t, s.pos, "step %d: no file", i)
				}
			}
			assert.Equal(t, c.reports, r.reports)
			assert.Equal(t, c.oversize, r.oversize, "oversize")
			assert.Equal(t, c.nuls, r.nuls, "nuls")
			assert.Equal(t, c.torn, r.torn, "torn")
			assert.Len(t, r.inputs, c.inputs)
		})
	}
}

func many(line string, n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = line
	}
	return lines
}

func TestByteByByte(t *testing.T) {
	r := newRig(t, Config{MaxLine: 12})
	text := "\xef\xbb\xbf{\"a\":1}\r\n\x00\x00b\n\nthis is too long, by far\n{\"é\":\"\u2028\"}\n123456789012\r\n1234567890123\nend\n"
	var got []string
	for i := range len(text) {
		r.wait(testPoll)
		r.add(name, text[i:i+1])
		r.poll()
		f := r.file(name)
		require.Equal(t, int64(i+1), f.scanned)
		require.LessOrEqual(t, f.pos, f.scanned)
		got = append(got, r.take()...)
	}
	assert.Equal(t, []string{`{"a":1}`, "b", "{\"é\":\"\u2028\"}", "123456789012", "end"}, got)
	assert.Equal(t, int64(len(text)), r.size)
	assert.EqualValues(t, 2, r.oversize)
	assert.EqualValues(t, 2, r.nuls)
	assert.Equal(t, []string{"oversize a.jsonl"}, r.reports)
	assert.Len(t, r.inputs, 1)
}

func TestStartAtEnd(t *testing.T) {
	for title, c := range map[string]struct {
		there, added string
		pos          int64
		want         []string
	}{
		"whole lines":     {there: "old\n", pos: 4, added: "new\n", want: []string{"new"}},
		"empty":           {there: "", pos: 0, added: "new\n", want: []string{"new"}},
		"line half there": {there: "old\n{\"ne", pos: 4, added: "w\":1}\n", want: []string{`{"new":1}`}},
		"one half line":   {there: "{\"ne", pos: 0, added: "w\":1}\n", want: []string{`{"new":1}`}},
		"whole object":    {there: "old\n{\"old\":1}", pos: 13, added: "\nnew\n", want: []string{"new"}},
		"long line":       {there: "old\n" + strings.Repeat("x", 5000), pos: 5004, added: "x\nnew\n", want: []string{"new"}},
		"many blocks":     {there: "old\n" + strings.Repeat("x", 900) + "\n" + strings.Repeat("y", 1000), pos: 905, added: "\n", want: []string{strings.Repeat("y", 1000)}},
	} {
		t.Run(title, func(t *testing.T) {
			r := newRig(t, Config{StartAtEnd: true, MaxLine: 1000})
			r.write(name, c.there)
			r.begin()
			require.Empty(t, r.take())
			require.Empty(t, r.inputs)
			assert.Equal(t, c.pos, r.file(name).pos)
			assert.Equal(t, int64(len(c.there))-c.pos, r.Lag())
			r.wait(time.Minute)
			r.write("later.jsonl", "later\n")
			r.poll()
			assert.Equal(t, []string{"later"}, r.take(), "later files are read from 0")
			r.wait(coldEvery)
			r.add(name, c.added)
			r.poll()
			assert.Equal(t, c.want, r.take())
			assert.Zero(t, r.oversize)
			r.wait(time.Minute)
			r.write(name, "anew\n")
			r.poll()
			assert.Equal(t, []string{"anew"}, r.take(), "a rewritten file is read from 0")
		})
	}
}

func TestNames(t *testing.T) {
	r := newRig(t, Config{Exclude: []string{"**/skip/**"}})
	require.NoError(t, os.Mkdir(r.path("dir"), 0o755))
	r.write("dir/"+name, "one\n")
	require.NoError(t, os.Symlink(r.path("dir/"+name), r.path("link.jsonl")))
	require.NoError(t, os.Link(r.path("dir/"+name), r.path("second.jsonl")))
	require.NoError(t, os.Symlink(r.path("."), r.path("dir/loop")))
	require.NoError(t, os.Symlink(r.path("nowhere"), r.path("broken.jsonl")))
	require.NoError(t, os.MkdirAll(r.path("skip"), 0o755))
	r.write("skip/"+name, "skipped\n")
	r.write("other.txt", "other\n")
	r.poll()
	r.wait(testPoll)
	r.poll()
	assert.Equal(t, []string{"one"}, r.take())
	assert.EqualValues(t, 1, r.Tracked())
	assert.Empty(t, r.reports)
	assert.Len(t, r.file("link.jsonl").paths, 3)

	r.wait(testPoll)
	r.write("target", "new\n")
	r.remove("link.jsonl")
	require.NoError(t, os.Symlink(r.path("target"), r.path("link.jsonl")))
	r.poll()
	assert.Equal(t, []string{"new"}, r.take(), "a link is looked at at each scan")
	assert.EqualValues(t, 2, r.Tracked())

	r.wait(testPoll)
	r.remove("dir/" + name)
	r.add("second.jsonl", "two\n")
	r.poll()
	r.wait(testPoll)
	r.poll()
	assert.Equal(t, []string{"two"}, r.take(), "another name goes on")
	assert.EqualValues(t, 2, r.Tracked())
}

func TestEqualHeads(t *testing.T) {
	r := newRig(t, Config{})
	head := strings.Repeat("the same\n", 200)
	r.write("a.jsonl", head+"a\n")
	r.write("b.jsonl", head+"b\n")
	r.poll()
	assert.Len(t, r.take(), 402)
	assert.Len(t, r.inputs, 2)
	assert.Empty(t, r.reports)
}

func TestOrder(t *testing.T) {
	r := newRig(t, Config{})
	r.write("d.jsonl", "no time d\n")
	r.write("a.jsonl", "{\"timestamp\":\"soon\"}\n{\"x\":\"timestamp\",\"timestamp\": \"2026-01-02T00:00:00+02:00\"}\n")
	r.write("b.jsonl", "{\"timestamp\":\"2026-01-01T23:00:00.5Z\"}\n")
	r.write("c.jsonl", "{\"timestamp\":\"2026-01-01T23:00:00.5Z\",\"c\":1}\n")
	r.write("e.jsonl", "no time e\n")
	r.poll()
	lines := r.take()
	require.Len(t, lines, 6)
	assert.Contains(t, lines[1], "+02:00")
	assert.NotContains(t, lines[2], `"c"`)
	assert.Contains(t, lines[3], `"c"`)
	assert.Equal(t, []string{"no time d", "no time e"}, lines[4:])
}

func TestFairness(t *testing.T) {
	r := newRig(t, Config{MaxLine: 8 << 20})
	line := strings.Repeat("x", 1000) + "\n"
	r.write("a.jsonl", strings.Repeat(line, 5000))
	r.write("b.jsonl", strings.Repeat("y", 3<<20)+"\n"+line)
	r.write("c.jsonl", "c\n")
	r.scan(r.Context(), false)
	for _, in := range r.inputs {
		assert.True(t, in.unread)
	}
	var turns []int
	for r.serve(r.reader) {
		turns = append(turns, len(r.take()))
	}
	// A turn of a is 1 MiB, the first of b one line of any length, c does not wait for either.
	assert.Equal(t, []int{1048, 1, 1, 1048, 1, 1048, 1048, 808}, turns)
	assert.Zero(t, r.Lag())
	for _, in := range r.inputs {
		assert.False(t, in.unread)
	}
}

func TestLongLineMemory(t *testing.T) {
	r := newRig(t, Config{MaxLine: 1 << 10})
	h, err := os.Create(r.path(name))
	require.NoError(t, err)
	_, err = h.WriteString("{")
	require.NoError(t, err)
	// A hole: 256 MiB of zeros inside a line.
	require.NoError(t, h.Truncate(1<<28))
	_, err = h.WriteAt([]byte("\nnext\n"), 1<<28)
	require.NoError(t, err)
	require.NoError(t, h.Close())
	r.scan(r.Context(), false)
	require.True(t, r.serve(r.reader))
	allocs := testing.AllocsPerRun(50, func() { r.serve(r.reader) })
	assert.Less(t, allocs, 20.)
	r.look()
	assert.Equal(t, []string{"next"}, r.take())
	assert.EqualValues(t, 1, r.oversize)
	assert.Equal(t, int64(1<<28+6), r.file(name).pos)
}

func TestUnreadable(t *testing.T) {
	r := newRig(t, Config{})
	require.NoError(t, os.Mkdir(r.path("dir"), 0o755))
	r.write("dir/"+name, "one\n")
	r.poll()
	require.Equal(t, []string{"one"}, r.take())

	r.failures[r.path("dir")] = os.ErrPermission
	r.failures[r.path("dir/"+name)] = os.ErrPermission
	for range 5 {
		r.wait(time.Second)
		r.poll()
	}
	assert.Equal(t, []string{"unreadable dir"}, r.reports)
	assert.EqualValues(t, 1, r.Tracked())
	assert.Zero(t, r.inputs[0].ended)
	clear(r.failures)
	r.add("dir/"+name, "two\n")
	r.write("dir/new.jsonl", "new\n")
	for range 5 {
		r.wait(time.Second)
		r.poll()
	}
	assert.ElementsMatch(t, []string{"new", "two"}, r.take())

	r.write("b.jsonl", "b\n")
	r.failures[r.path("b.jsonl")] = os.ErrPermission
	for range 5 {
		r.wait(time.Second)
		r.poll()
	}
	assert.Equal(t, []string{"unreadable dir", "unreadable b.jsonl"}, r.reports)
	clear(r.failures)
	for range 5 {
		r.wait(time.Second)
		r.poll()
	}
	assert.Equal(t, []string{"b"}, r.take())

	// It can be seen, but not opened.
	r.write("c.jsonl", "c\n")
	open := r.sys.open
	r.sys.open = func(string) (*os.File, error) { return nil, os.ErrPermission }
	for range 5 {
		r.wait(time.Second)
		r.poll()
	}
	assert.Equal(t, []string{"unreadable dir", "unreadable b.jsonl", "unreadable c.jsonl"}, r.reports)
	r.sys.open = open
	r.wait(warmEvery)
	r.poll()
	assert.Equal(t, []string{"c"}, r.take())
}

func TestMaxOpen(t *testing.T) {
	r := newRig(t, Config{MaxOpen: 5})
	most := int64(0)
	for round := range 3 {
		for i := range 20 {
			r.add(fmt.Sprintf("%d.jsonl", i), fmt.Sprintf("%d of %d\n", round, i))
		}
		r.scan(r.Context(), false)
		r.check()
		for r.serve(r.reader) {
			most = max(most, r.Open())
		}
		assert.Len(t, r.take(), 20)
		r.wait(testPoll)
	}
	assert.EqualValues(t, 5, most)
	fds, err := os.ReadDir("/proc/self/fd")
	if err == nil {
		assert.Less(t, len(fds), 30)
	}
	r.look() // once more, as the last write is that young
	r.wait(hotFor)
	r.look()
	assert.Zero(t, r.Open(), "cold files are closed")
	assert.Empty(t, r.reports)
}

func TestIdleFiles(t *testing.T) {
	r := newRig(t, Config{StartAtEnd: true})
	old := r.at
	for i := range 1000 {
		r.write(fmt.Sprintf("%d.jsonl", i), "old\n")
	}
	r.wait(time.Hour)
	r.begin()
	assert.EqualValues(t, 1000, r.Tracked())
	assert.Zero(t, r.Open())
	assert.Empty(t, r.inputs)
	r.opens, r.stats = 0, 0
	for range 40 * 4 {
		r.wait(testPoll)
		r.look()
	}
	assert.Zero(t, r.opens)
	assert.Equal(t, 4000, r.stats, "each file once in 10 s")
	r.add("7.jsonl", "new\n")
	require.NoError(t, os.Chtimes(r.path("7.jsonl"), old, old))
	r.wait(coldEvery)
	r.look()
	assert.Equal(t, []string{"new"}, r.take())
	assert.Equal(t, 1, r.opens)
}

func TestCommitted(t *testing.T) {
	r := newRig(t, Config{})
	r.held = true
	r.write(name, "one\ntwo\nthr")
	r.poll()
	f := r.file(name)
	assert.Equal(t, int64(8), f.pos)
	assert.Zero(t, f.stream.committed.Load())
	assert.EqualValues(t, 11, r.Lag())
	r.commit()
	assert.EqualValues(t, 3, r.Lag())

	// What is committed of a file that was rewritten meanwhile says nothing about the new one.
	r.wait(testPoll)
	r.add(name, "ee\n")
	r.poll()
	r.wait(testPoll)
	r.write(name, "anew, anew, anew\n")
	old := r.waiting
	r.waiting = nil
	r.poll()
	for _, done := range old {
		done()
	}
	assert.Zero(t, f.stream.committed.Load())
	assert.EqualValues(t, 17, r.Lag())
	r.commit()
	assert.Zero(t, r.Lag())
	assert.Equal(t, 1, r.inputs[0].ended)
	assert.Equal(t, r.at.UnixNano(), r.inputs[1].modified)
}

func TestColdRename(t *testing.T) {
	r := newRig(t, Config{})
	r.write(name, "one\ntwo\n")
	r.write("b.jsonl", "b\n")
	r.poll()
	r.wait(testPoll)
	r.poll()
	r.wait(time.Hour)
	r.poll()
	require.Zero(t, r.Open())
	require.Len(t, r.take(), 3)

	r.rename(name, "c.jsonl")
	r.add("c.jsonl", "three\n")
	r.poll()
	assert.Equal(t, []string{"three"}, r.take(), "a closed file is known by its number and its bytes")
	assert.Empty(t, r.reports)

	// As if the number of a deleted file had been given to another one.
	r.wait(time.Hour)
	r.look()
	r.wait(time.Hour)
	r.look()
	require.Zero(t, r.Open())
	r.rename("c.jsonl", "d.jsonl")
	r.write("d.jsonl", "something else altogether\n")
	r.poll()
	assert.Equal(t, []string{"something else altogether"}, r.take())
	assert.Equal(t, []string{"mismatch d.jsonl"}, r.reports)

	// Two files change names at once.
	r.wait(time.Hour)
	r.rename("d.jsonl", "x")
	r.rename("b.jsonl", "d.jsonl")
	r.rename("x", "b.jsonl")
	for range 3 {
		r.wait(testPoll)
		r.poll()
	}
	r.wait(coldEvery)
	r.add("b.jsonl", "more\n")
	r.add("d.jsonl", "more b\n")
	r.poll()
	assert.ElementsMatch(t, []string{"more", "more b"}, r.take())
	assert.EqualValues(t, 2, r.Tracked())
}
