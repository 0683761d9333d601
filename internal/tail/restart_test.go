// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package tail

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

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
