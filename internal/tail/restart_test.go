// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package tail

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/internal/engine"
	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
)

// TestRestart reads a file, ends the process, does something, and says what the next process reads.
func TestRestart(t *testing.T) {
	long := strings.Repeat("x", 32)
	type process struct {
		do    func(*rig) // before it begins
		lines []string
		pos   int64 // of a.jsonl in the ledger at its end
	}
	tail := func(r *rig) { // the unterminated tail is old enough
		r.poll()
		r.wait(tailAge)
	}
	for title, c := range map[string]struct {
		processes []process
		first     func(*rig) // in the first process, before its last look
		reports   []string
		epoch     uint32
		inputs    int
		opens     int // in the last process
		oversize  int64
		nuls      int64
	}{
		"nothing new": {
			processes: []process{
				{do: write("one\ntwo\n"), lines: []string{"one", "two"}, pos: 8},
				{pos: 8},
			},
			inputs: 1,
		},
		"appended while down": {
			processes: []process{
				{do: write("one\n"), lines: []string{"one"}, pos: 4},
				{do: add("two\n"), lines: []string{"two"}, pos: 8},
				{pos: 8},
				{do: add("three\n"), lines: []string{"three"}, pos: 14},
			},
			inputs: 3, opens: 1,
		},
		"a line that has begun": {
			processes: []process{
				{do: write("one\ntw"), lines: []string{"one"}, pos: 4},
				{pos: 4},
				{do: add("o\nthr"), lines: []string{"two"}, pos: 8},
				{do: add("ee\n"), lines: []string{"three"}, pos: 14},
			},
			inputs: 4, opens: 1,
		},
		"nothing but a line that has begun": {
			processes: []process{
				{do: write("on"), pos: 0},
				{do: add("e\n"), lines: []string{"one"}, pos: 4},
			},
			inputs: 2, opens: 2,
		},
		"carriage returns and a byte order mark": {
			processes: []process{
				{do: write("\xef\xbb\xbfa\r\nb\r"), lines: []string{"a"}, pos: 6},
				{do: add("\n\r\nc\r\n"), lines: []string{"b", "c"}, pos: 14},
			},
			inputs: 2, opens: 1,
		},
		"a byte order mark alone": {
			processes: []process{
				{do: write("\xef\xbb\xbf"), pos: 3},
				{do: add("a\n"), lines: []string{"a"}, pos: 5},
			},
			inputs: 2, opens: 1,
		},
		"zeros": {
			processes: []process{
				{do: write("a\n\x00\x00\x00"), lines: []string{"a"}, pos: 5},
				{do: add("\x00b\n"), lines: []string{"b"}, pos: 8},
			},
			inputs: 2, opens: 1, nuls: 4,
		},
		"inside a line that is too long": {
			processes: []process{
				{do: write("a\n" + long + long), lines: []string{"a"}, pos: 66},
				{do: add(long), pos: 98},
				{do: add(long), pos: 130},
				{do: add("\nb\n"), lines: []string{"b"}, pos: 133},
			},
			reports: []string{"oversize a.jsonl"}, inputs: 4, opens: 1, oversize: 1,
		},
		"an accepted tail and its line end": {
			first: tail,
			processes: []process{
				{do: write("{\"a\":1}\n{\"b\":2}"), lines: []string{`{"a":1}`, `{"b":2}`}, pos: 15},
				{pos: 15},
				{do: add("\n{\"c\":3}\n"), lines: []string{`{"c":3}`}, pos: 24},
			},
			inputs: 2, opens: 1,
		},
		"a tail that was not accepted yet": {
			processes: []process{
				{do: write("{\"a\":1}\n{\"b\":2}"), lines: []string{`{"a":1}`}, pos: 8},
				{do: func(r *rig) { r.wait(time.Hour) }, lines: []string{`{"b":2}`}, pos: 15},
			},
			inputs: 2, opens: 1,
		},
		"cut": {
			processes: []process{
				{do: write("one\ntwo\n"), lines: []string{"one", "two"}, pos: 8},
				{do: func(r *rig) { r.cut(name, 4) }, lines: []string{"one"}, pos: 4},
			},
			reports: []string{"mismatch a.jsonl"}, epoch: 1, inputs: 2, opens: 1,
		},
		"cut to nothing": {
			processes: []process{
				{do: write("one\ntwo\n"), lines: []string{"one", "two"}, pos: 8},
				{do: func(r *rig) { r.cut(name, 0) }, pos: 8},
				{do: add("three\nfour\n"), lines: []string{"three", "four"}, pos: 11},
			},
			reports: []string{"mismatch a.jsonl", "mismatch a.jsonl"}, epoch: 1, inputs: 4, opens: 1,
		},
		"replaced in place with the same size": {
			processes: []process{
				{do: write("one\ntwo\n"), lines: []string{"one", "two"}, pos: 8},
				{do: write("one\nsix\n"), lines: []string{"one", "six"}, pos: 8},
				{pos: 8},
			},
			reports: []string{"mismatch a.jsonl"}, epoch: 1, inputs: 2,
		},
		"replaced in place with more": {
			processes: []process{
				{do: write("one\ntw"), lines: []string{"one"}, pos: 4},
				{do: write("1\n2\n3\n4\n"), lines: []string{"1", "2", "3", "4"}, pos: 8},
			},
			reports: []string{"mismatch a.jsonl"}, epoch: 1, inputs: 3, opens: 1,
		},
		"replaced by more with the same head": {
			processes: []process{
				{do: write(strings.Repeat("same\n", 60) + "one\n"), lines: append(many("same", 60), "one"), pos: 304},
				{do: write(strings.Repeat("same\n", 60) + "2\n3\n4\n"), lines: append(many("same", 60), "2", "3", "4"), pos: 306},
			},
			reports: []string{"mismatch a.jsonl"}, epoch: 1, inputs: 3, opens: 1,
		},
		"replaced by the same, copied": {
			processes: []process{
				{do: write("one\ntwo\n"), lines: []string{"one", "two"}, pos: 8},
				{do: func(r *rig) { r.write("copy", "one\ntwo\nthree\n"); r.rename("copy", name) }, lines: []string{"three"}, pos: 14},
			},
			inputs: 2, opens: 1,
		},
		"touched": {
			processes: []process{
				{do: write("one\n"), lines: []string{"one"}, pos: 4},
				{do: func(r *rig) { r.touch(name) }, pos: 4},
			},
			inputs: 1, opens: 1,
		},
		"renamed and renamed back": {
			processes: []process{
				{do: write("one\ntw"), lines: []string{"one"}, pos: 4},
				{do: func(r *rig) { r.rename(name, "b.jsonl"); r.add("b.jsonl", "o\n") }, lines: []string{"two"}, pos: 8},
				{do: func(r *rig) { r.rename("b.jsonl", name) }, pos: 8},
				{do: add("three\n"), lines: []string{"three"}, pos: 14},
			},
			inputs: 3, opens: 1,
		},
		"deleted": {
			processes: []process{
				{do: write("one\n"), lines: []string{"one"}, pos: 4},
				{do: func(r *rig) { r.add(name, "two\n"); r.remove(name) }, pos: 4},
			},
			inputs: 1,
		},
	} {
		for _, kill := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, kill=%v", title, kill), func(t *testing.T) {
				r := newRig(t, Config{MaxLine: 32})
				for i, p := range c.processes {
					r.wait(testPoll)
					if i > 0 {
						r.restart(kill)
					}
					if p.do != nil {
						p.do(r)
					}
					r.opens = 0
					r.begin()
					if i == 0 && c.first != nil {
						c.first(r)
					}
					for range 2 {
						r.wait(testPoll)
						r.poll()
					}
					assert.Equal(t, p.lines, r.take(), "process %d", i)
					assert.Equal(t, p.pos, r.ledger.files[1].Pos, "process %d: position", i)
					assert.Equal(t, i+1, r.caught)
					r.reread()
				}
				assert.LessOrEqual(t, r.ledger.next, ledger.FileID(1))
				assert.Equal(t, c.reports, r.reports)
				assert.Equal(t, c.epoch, r.ledger.files[1].Epoch)
				assert.Len(t, r.inputs, c.inputs)
				assert.Equal(t, c.opens, r.opens-1, "opens, but for that of Reread")
				assert.Equal(t, c.oversize, r.oversize)
				assert.Equal(t, c.nuls, r.nuls)
			})
		}
	}
}

// settle gives everything that is there its turns.
func (r *rig) settle() {
	for range 3 {
		r.wait(testPoll)
		r.poll()
	}
}

// TestRestartNames has more than one file or name.
func TestRestartNames(t *testing.T) {
	for title, c := range map[string]struct {
		up, down    func(*rig)
		first, then []string
		reports     []string
		records     int
	}{
		"hard link": {
			up:   func(r *rig) { r.write(name, "one\n"); r.link(name, "b.jsonl") },
			down: func(r *rig) { r.remove(name); r.add("b.jsonl", "two\n") },
			then: []string{"two"}, first: []string{"one"}, records: 1,
		},
		"hard link, both kept": {
			up:   func(r *rig) { r.write(name, "one\n"); r.link(name, "b.jsonl") },
			down: func(r *rig) { r.add("b.jsonl", "two\n") },
			then: []string{"two"}, first: []string{"one"}, records: 1,
		},
		"symlink": {
			up:   func(r *rig) { r.write("target", "one\n"); r.symlink("target", name) },
			down: func(r *rig) { r.add("target", "two\n"); r.symlink("target", "b.jsonl"); r.remove(name) },
			then: []string{"two"}, first: []string{"one"}, records: 1,
		},
		"symlink that leads elsewhere": {
			up:   func(r *rig) { r.write("target", "one\n"); r.symlink("target", name) },
			down: func(r *rig) { r.write("other", "one\nsix\n"); r.remove(name); r.symlink("other", name) },
			then: []string{"one", "six"}, first: []string{"one"}, records: 2,
		},
		"symlink to a directory": {
			up: func(r *rig) { r.write("x/"+name, "one\n"); r.symlink("x", "link") },
			down: func(r *rig) {
				r.remove("link")
				r.rename("x", "y")
				r.symlink("y", "x")
				r.add("y/"+name, "two\n")
			},
			then: []string{"two"}, first: []string{"one"}, records: 1,
		},
		"equal heads": {
			up: func(r *rig) {
				r.write(name, strings.Repeat("same\n", 60)+"a\n")
				r.write("b.jsonl", strings.Repeat("same\n", 60)+"b\n")
			},
			down:  func(r *rig) { r.add(name, "a2\n"); r.add("b.jsonl", "b2\n") },
			first: append(append(many("same", 60), "a"), append(many("same", 60), "b")...),
			then:  []string{"a2", "b2"}, records: 2,
		},
		"renamed, and another in its place": {
			up:   func(r *rig) { r.write(name, "one\n") },
			down: func(r *rig) { r.rename(name, "b.jsonl"); r.add("b.jsonl", "two\n"); r.write(name, "anew\n") },
			then: []string{"anew", "two"}, first: []string{"one"}, records: 2,
		},
		"names changed": {
			up: func(r *rig) { r.write(name, "one\n"); r.write("b.jsonl", "two\n") },
			down: func(r *rig) {
				r.rename(name, "x")
				r.rename("b.jsonl", name)
				r.rename("x", "b.jsonl")
				r.add(name, "more two\n")
				r.add("b.jsonl", "more one\n")
			},
			then: []string{"more one", "more two"}, first: []string{"one", "two"}, records: 2,
		},
		"renamed over another": {
			up:   func(r *rig) { r.write(name, "one\n"); r.write("b.jsonl", "two\n") },
			down: func(r *rig) { r.rename(name, "b.jsonl"); r.add("b.jsonl", "more\n") },
			then: []string{"more"}, first: []string{"one", "two"}, records: 2,
		},
		"a number given anew": {
			up: func(r *rig) { r.write(name, "one\n") },
			down: func(r *rig) {
				// As if the file was deleted and its number given to one with another name.
				r.rename(name, "b.jsonl")
				r.write("b.jsonl", "something else\n")
			},
			then: []string{"something else"}, first: []string{"one"}, reports: []string{"mismatch b.jsonl"}, records: 1,
		},
		"replaced while it was followed": {
			up: func(r *rig) {
				r.write(name, "one\n")
				r.settle()
				r.write("new", "six\nseven\n")
				r.rename("new", name)
			},
			down:  func(r *rig) { r.add(name, "eight\n") },
			first: []string{"one", "six", "seven"}, then: []string{"eight"}, records: 2,
		},
	} {
		for _, kill := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, kill=%v", title, kill), func(t *testing.T) {
				r := newRig(t, Config{})
				c.up(r)
				r.begin()
				r.settle()
				assert.ElementsMatch(t, c.first, r.take())
				r.restart(kill)
				r.wait(testPoll)
				c.down(r)
				r.begin()
				r.settle()
				assert.ElementsMatch(t, c.then, r.take())
				assert.Equal(t, c.reports, r.reports)
				assert.Len(t, r.ledger.files, c.records)
				for _, f := range r.order {
					assert.Equal(t, f.last, r.ledger.files[f.number])
				}
				r.reread()
				r.restart(kill)
				r.opens = 0
				r.begin()
				r.settle()
				assert.Empty(t, r.take())
				assert.Zero(t, r.opens)
			})
		}
	}
}

// TestKillLosesWhatWasNotCommitted: the next process reads it again.
func TestKillLosesWhatWasNotCommitted(t *testing.T) {
	r := newRig(t, Config{})
	r.write(name, "one\n")
	r.begin()
	r.held = true
	r.wait(testPoll)
	r.add(name, "two\nthr")
	r.poll()
	assert.Equal(t, []string{"one", "two"}, r.take())
	assert.EqualValues(t, 4, r.ledger.files[1].Pos)
	r.restart(true)
	r.begin()
	assert.Equal(t, []string{"two"}, r.take())
	r.restart(false)
	r.add(name, "ee\n")
	r.begin()
	assert.Equal(t, []string{"three"}, r.take())
}

// TestLetGo: a file that comes back goes on, even where the ledger does not know yet how far it was read.
func TestLetGo(t *testing.T) {
	for _, held := range []bool{false, true} {
		t.Run(fmt.Sprintf("held=%v", held), func(t *testing.T) {
			r := newRig(t, Config{})
			r.write(name, "one\n")
			r.begin()
			r.held = held
			r.wait(testPoll)
			r.add(name, "two\n")
			for range 3 {
				r.poll()
				r.wait(time.Hour)
			}
			assert.Zero(t, r.Open())
			r.rename(name, "hidden")
			r.wait(coldEvery)
			r.settle()
			assert.Zero(t, r.Tracked())
			assert.Empty(t, r.ledger.claimed)
			assert.Equal(t, []engine.Ending{engine.Ended}, r.inputs[0].endings)
			r.rename("hidden", "b.jsonl")
			r.add("b.jsonl", "three\n")
			r.settle()
			assert.Equal(t, []string{"one", "two", "three"}, r.take())
			r.commit()
			r.write("c.jsonl", "c\n")
			r.settle()
			r.commit()
			assert.Empty(t, r.parted)
			assert.Equal(t, r.path("b.jsonl"), r.ledger.files[1].Path)
			assert.EqualValues(t, 14, r.ledger.files[1].Pos)
			assert.Len(t, r.ledger.files, 2)
		})
	}
}

func TestStartAtEndOverRestarts(t *testing.T) {
	long := strings.Repeat("x", 40)
	for title, c := range map[string]struct {
		there, added string
		start        int64
		silent       []string
		want         []string
	}{
		"whole lines":     {there: "1\n2\n", start: 4, added: "new\n", silent: []string{"1", "2"}, want: []string{"new"}},
		"empty":           {there: "", added: "new\n", want: []string{"new"}},
		"half a line":     {there: "1\n{\"ne", start: 2, added: "w\":1}\n", silent: []string{"1"}, want: []string{`{"new":1}`}},
		"a whole object":  {there: "1\n{\"o\":1}", start: 9, added: "\nnew\n", silent: []string{"1", `{"o":1}`}, want: []string{"new"}},
		"in a long line":  {there: "1\n" + long, start: 42, added: "x\nnew\n", silent: []string{"1"}, want: []string{"new"}},
		"after long line": {there: "1\n" + long + "\n", start: 43, added: "new\n", silent: []string{"1"}, want: []string{"new"}},
	} {
		t.Run(title, func(t *testing.T) {
			r := newRig(t, Config{StartAtEnd: true, MaxLine: 32})
			r.write(name, c.there)
			r.begin()
			assert.Equal(t, []int{1}, r.begins)
			assert.Equal(t, 1, r.caught)
			p := r.ledger.files[1]
			assert.Equal(t, c.start, p.Start)
			assert.Equal(t, c.start, p.Pos)
			assert.Equal(t, r.path(name), p.Path)
			r.restart(true)
			r.write("later.jsonl", "later\n")
			r.begin()
			assert.Equal(t, []string{"later"}, r.take(), "files of later starts are read from 0")
			assert.Equal(t, []int{1}, r.begins)
			r.restart(true)
			r.wait(testPoll)
			r.add(name, c.added)
			r.begin()
			assert.Equal(t, c.want, r.take())
			p = r.ledger.files[1]
			assert.Equal(t, c.start, p.Start)
			assert.EqualValues(t, len(c.there+c.added), p.Pos)
			lines, silent, err := r.again(p)
			require.NoError(t, err)
			assert.Equal(t, c.silent, append([]string(nil), lines[:silent]...))
			assert.Equal(t, c.want, lines[silent:])
			r.restart(true)
			r.wait(testPoll)
			r.write(name, "anew, and by far more than there was of it before; "+long+long+"\nanew\n")
			r.begin()
			assert.Equal(t, []string{"anew"}, r.take(), "a rewritten file is read from 0")
			assert.Zero(t, r.ledger.files[1].Start)
			assert.EqualValues(t, 1, r.ledger.files[1].Epoch)
		})
	}
}

func TestBegin(t *testing.T) {
	r := newRig(t, Config{})
	r.write(name, "one\n")
	r.begin()
	assert.Equal(t, []int{0}, r.begins)
	assert.False(t, r.ledger.First())
	r.restart(false)
	r.begin()
	assert.Equal(t, []int{0}, r.begins)

	r = newRig(t, Config{StartAtEnd: true})
	r.write(name, "one\n")
	r.ledger.fails = errors.New("disk full")
	require.ErrorIs(t, r.Start(t.Context()), r.ledger.fails)
	assert.Empty(t, r.inputs)
	assert.Zero(t, r.caught)
}

// TestManyKnown: nothing new costs a stat a file, and no descriptor.
func TestManyKnown(t *testing.T) {
	const files = 10000
	r := newRig(t, Config{})
	old := r.at
	for i := range files {
		r.write(fmt.Sprintf("%d/%d.jsonl", i%100, i), "old\n")
	}
	r.wait(time.Hour)
	r.begin()
	require.Len(t, r.take(), files)
	r.restart(true)
	r.opens, r.stats = 0, 0
	resolves := 0
	r.sys.resolve = func(path string) (string, error) { resolves++; return path, nil }
	r.begin()
	assert.Zero(t, r.opens)
	assert.LessOrEqual(t, r.stats, files+101, "and one for each directory")
	assert.Equal(t, 100, resolves)
	assert.Equal(t, 2, r.caught)
	assert.Len(t, r.inputs, files)
	assert.Zero(t, r.Lag())
	r.add("7/7.jsonl", "new\n")
	require.NoError(t, os.Chtimes(r.path("7/7.jsonl"), old, old))
	r.wait(coldEvery)
	r.look()
	assert.Equal(t, []string{"new"}, r.take())
	assert.Equal(t, 1, r.opens)
}

func TestCaughtUp(t *testing.T) {
	line := strings.Repeat("x", 1000) + "\n"
	for title, c := range map[string]struct {
		do    func(*rig)
		turns []bool // whether it was caught up after each turn
	}{
		"no files":  {do: func(*rig) {}},
		"no bytes":  {do: write("")},
		"one turn":  {do: write(line), turns: []bool{true}},
		"several":   {do: func(r *rig) { r.write(name, strings.Repeat(line, 2000)); r.write("b.jsonl", line) }, turns: []bool{false, false, true}},
		"half line": {do: write("half"), turns: []bool{true}},
	} {
		t.Run(title, func(t *testing.T) {
			r := newRig(t, Config{})
			c.do(r)
			_, err := r.first(t.Context())
			require.NoError(t, err)
			assert.Equal(t, len(c.turns) == 0, r.caught == 1)
			for _, want := range c.turns {
				require.True(t, r.serve(r.reader))
				assert.Equal(t, want, r.caught == 1)
			}
			r.wait(testPoll)
			r.write("later.jsonl", line)
			r.settle()
			assert.Equal(t, 1, r.caught)
		})
	}

	r := newRig(t, Config{})
	r.write(name, "gone\n")
	r.write("b.jsonl", "locked\n")
	r.write("c.jsonl", strings.Repeat(line, 1100))
	_, err := r.first(t.Context())
	require.NoError(t, err)
	r.remove(name)
	r.failures[r.path("b.jsonl")] = fs.ErrPermission
	require.True(t, r.serve(r.reader))
	require.True(t, r.serve(r.reader))
	require.True(t, r.serve(r.reader))
	assert.Zero(t, r.caught)
	r.add("c.jsonl", strings.Repeat(line, 3000))
	require.True(t, r.serve(r.reader))
	assert.Equal(t, 1, r.caught, "what was added since does not count")
}

func TestSuspended(t *testing.T) {
	r := newRig(t, Config{})
	r.write(name, "one\ntw")
	r.begin()
	require.NoError(t, r.Shutdown(t.Context()))
	assert.Equal(t, []engine.Ending{engine.Suspended}, r.inputs[0].endings)
	assert.Zero(t, r.torn)
	r.restart(true)
	r.add(name, "o\n")
	r.begin()
	assert.Equal(t, []string{"one", "two"}, r.take())
}

func TestProgress(t *testing.T) {
	r := newRig(t, Config{})
	text := `{"timestamp":"2026-10-01T10:00:00Z"}` + "\n" + strings.Repeat("more and more\n", 200)
	began := time.Date(2026, 10, 1, 10, 0, 0, 0, time.UTC).UnixNano()
	r.write(name, "")
	for i := range len(text) {
		r.wait(testPoll)
		r.add(name, text[i:i+1])
		r.poll()
		if text[i] != '\n' {
			continue
		}
		info, err := os.Stat(r.path(name))
		require.NoError(t, err)
		id := identify(name, info)
		require.Equal(t, ledger.Progress{
			ID: 1, Path: r.path(name), Device: id.device, Inode: id.inode, Pos: int64(i + 1),
			Head:     ledger.Mark(markOf([]byte(text[:min(i+1, guardBytes)]))),
			Frontier: ledger.Mark(markOf([]byte(text[max(0, i+1-guardBytes) : i+1]))),
			ModTime:  r.at.UnixNano(), Began: began,
		}, r.ledger.files[1])
	}
}

func TestReread(t *testing.T) {
	r := newRig(t, Config{MaxLine: 3 << 20})
	const agent = "s/subagents/agent-a1.jsonl"
	const sidecar = `{"type":"agentstream.sidecar","sidecar":{"agentType":"Explore"}}`
	r.write("s/subagents/agent-a1.meta.json", `{"agentType":"Explore"}`)
	line := strings.Repeat("x", 1000) + "\n"
	r.write(agent, strings.Repeat(line, 3000)+strings.Repeat("y", 2<<20)+"\n")
	r.begin()
	r.settle()
	lines := r.take()
	require.Len(t, lines, 3002)
	p := r.ledger.files[1]
	got, silent, err := r.again(p)
	require.NoError(t, err)
	assert.Zero(t, silent)
	assert.Equal(t, lines, got)
	assert.JSONEq(t, sidecar, got[0])

	p.Start = 2000 * int64(len(line))
	var batches, silents, size int64
	require.NoError(t, r.Reread(t.Context(), 1, p, func(b *batch.Batch, _ int64) error {
		batches, size = batches+1, size+b.Size
		if b.Silent {
			silents++
			assert.LessOrEqual(t, size, p.Start)
		}
		for i := range b.Len() {
			assert.Less(t, int64(len(b.Line(i))), int64(3<<20))
		}
		b.Release()
		return nil
	}))
	assert.Equal(t, p.Pos, size)
	assert.EqualValues(t, 2, silents)
	assert.EqualValues(t, 3, batches)

	// It ends with what its caller says, and with the context.
	full := errors.New("full")
	require.ErrorIs(t, r.Reread(t.Context(), 1, p, func(b *batch.Batch, _ int64) error { b.Release(); return full }), full)
	ctx, cancel := context.WithCancel(t.Context())
	require.ErrorIs(t, r.Reread(ctx, 1, p, func(b *batch.Batch, _ int64) error { b.Release(); cancel(); return nil }), context.Canceled)

	// Its following is not disturbed, nor does growth disturb it.
	r.wait(testPoll)
	r.add(agent, "more\n")
	got, _, err = r.again(p)
	require.NoError(t, err)
	assert.Equal(t, lines, got)
	r.poll()
	assert.Equal(t, []string{"more"}, r.take())

	// Renamed, out of sight, and gone.
	r.rename(agent, "b.jsonl")
	r.settle()
	_, _, err = r.again(p)
	require.NoError(t, err)
	r.rename("b.jsonl", "hidden")
	r.settle()
	_, _, err = r.again(p)
	require.NoError(t, err, "it is still open")
	for range 2 {
		r.wait(time.Hour)
		r.poll()
	}
	assert.Zero(t, r.Tracked())
	_, _, err = r.again(p)
	require.ErrorIs(t, err, ErrGone)
	p.Path = r.path("hidden")
	_, _, err = r.again(p)
	require.NoError(t, err, "not followed")

	// Cut while it is read.
	err = r.Reread(t.Context(), 1, p, func(b *batch.Batch, _ int64) error { b.Release(); r.cut("hidden", 100); return nil })
	require.ErrorIs(t, err, ErrChanged)
	for _, text := range []string{"", "other\n", strings.Repeat("z", int(p.Pos))} {
		r.write("hidden", text)
		got, _, err = r.again(p)
		require.ErrorIs(t, err, ErrChanged)
		assert.Empty(t, got)
	}
}
