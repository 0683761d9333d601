// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/otelcol-agents/otelcol-agents/internal/engine"
)

var (
	seeds = flag.Uint64("seeds", 0, "how many random programs to run, in place of the few of the table")
	seed  = flag.Uint64("seed", 0, "the one random program to run, with what it does")
)

// A program is what happens to agents and to the receiver, made at random. An undisturbed lab does what the agents
// do, at the same times: that is the model, and it says what must come.
type program struct {
	ops   []op
	rules rules
	names []string
}

type op struct {
	name string
	do   func(l *lab)
}

// composer makes a program.
type composer struct {
	*rand.Rand
	program
	actors  []*actor
	spent   time.Duration // since everybody was idle
	running bool
	wild    bool // files are cut and replaced, and connections break
}

// actor is a session, and where its rows go.
type actor struct {
	*author
	kind   kind
	file   string
	queue  []string // rows that are to be written
	half   string   // of a row, what is to be written of it
	turns  int
	wrote  time.Time
	opened bool
	begun  bool
	text   strings.Builder // all that was written to the file
}

type kind int

const (
	inTranscript kind = iota
	inFile
	inRequests
	inExec // codex exec, rows without ids
	inConnection
	kinds
)

func compose(seed uint64) program {
	c := &composer{Rand: rand.New(rand.NewPCG(seed, 0x6d6f64656c)), running: true}
	c.wild = c.IntN(4) == 0
	n := 2 + c.IntN(3)
	for i := range n {
		k := kind(c.IntN(int(kinds)))
		if k == inConnection && !c.wild {
			k = inFile
		}
		a := &actor{author: newAuthor(fmt.Sprintf("s%d-%d", seed, i), k == inTranscript), kind: k, file: fmt.Sprintf("f%d.jsonl", i)}
		a.tick = 10 * time.Millisecond // rows are written when they say, not before
		if k == inConnection {
			a.id = "tcp-" + a.id
		}
		if k == inFile && i > 0 && c.actors[i-1].kind == inFile {
			a.file = c.actors[i-1].file // two streams in one file
		}
		c.actors = append(c.actors, a)
	}
	c.rules.loose, c.rules.torn, c.rules.cut = c.wild, c.wild, true
	for range 20 + c.IntN(40) {
		c.step()
	}
	c.calm()
	for _, a := range c.actors {
		c.write(a, len(a.queue), false)
	}
	return c.program
}

func (c *composer) add(name string, do func(l *lab)) {
	c.ops = append(c.ops, op{name, do})
}

// disturb is what happens to the receiver only.
func (c *composer) disturb(name string, do func(l *lab)) {
	c.add(name, func(l *lab) {
		if l.disturbed {
			do(l)
		}
	})
}

func (c *composer) wait(d time.Duration) {
	c.spent += d
	for _, a := range c.actors {
		a.at = a.at.Add(d)
	}
	c.add(fmt.Sprint("wait ", d), func(l *lab) { l.run(d) })
}

// calm ends all disturbances and has the receiver catch up.
func (c *composer) calm() {
	c.disturb("calm", func(l *lab) {
		l.mu.Lock()
		l.trap = nil
		l.mu.Unlock()
		l.refusing(nil)
		l.disk.fill(false)
		l.start()
	})
	c.wait(12 * time.Second)
}

// pause has a time go by in which nothing is written, for rows as for the receiver.
func (c *composer) pause(d time.Duration) {
	c.calm()
	c.wait(d)
}

func (c *composer) step() {
	if c.spent > 80*time.Second {
		for _, a := range c.actors {
			c.write(a, len(a.queue), false)
		}
		c.flush()
		c.pause(2*idle + 2*linger)
		for _, a := range c.actors {
			if a.begun && a.kind != inExec { // another process goes on
				a.queue = append(a.queue, a.begin()...)
			}
		}
		c.spent = 0
	}
	a := c.actors[c.IntN(len(c.actors))]
	switch n := c.IntN(100); {
	case n < 45:
		c.write(a, 1+c.IntN(6), c.IntN(4) == 0)
		c.wait(time.Duration(c.IntN(1500)) * time.Millisecond)
	case n < 50:
		c.end(a)
	case n < 58:
		at := 1 + c.IntN(12)
		c.disturb(fmt.Sprint("kill at event ", at), func(l *lab) { l.set(at, func(*event) bool { return true }) })
	case n < 63:
		c.disturb("kill", func(l *lab) {
			if l.process != nil {
				l.process.die()
			}
			l.bury()
		})
	case n < 66:
		c.disturb("stop", func(l *lab) {
			// Not with a backend that is away: that takes ten seconds, and rows would not be written when they say.
			l.refusing(nil)
			l.disk.fill(false)
			l.stop()
		})
	case n < 78:
		c.disturb("start", func(l *lab) { l.start() })
	case n < 82:
		every := 2 + c.IntN(3)
		v := verdict(1 + c.IntN(3))
		c.disturb(fmt.Sprintf("every %d. delivery has verdict %d", every, v), func(l *lab) {
			count := 0
			l.refusing(func(_ context.Context, s engine.Signal) verdict {
				if count++; count%every == 0 && (v != rejects || s != engine.Metrics) {
					return v
				}
				return accepts
			})
		})
	case n < 84:
		c.disturb("backend blocks", (*lab).block)
	case n < 86:
		c.disturb("backend is away", func(l *lab) { l.down(true) })
	case n < 90:
		c.disturb("backend is back", func(l *lab) { l.refusing(nil) })
	case n < 92:
		c.disturb("store is full", func(l *lab) { l.disk.fill(true) })
	case n < 95:
		c.disturb("store has room", func(l *lab) { l.disk.fill(false) })
	case n < 97:
		c.rename(a)
	default:
		if c.wild {
			c.destroy(a)
		}
	}
}

// more has the actor write further rows.
func (a *actor) more() {
	switch {
	case a.kind == inExec:
		a.exec()
	case a.begun:
		a.queue = append(a.queue, a.turn(a.turns)...)
		a.turns++
	default:
		a.begun = true
		a.queue = append(a.queue, a.begin()...)
	}
}

// exec is a turn of codex exec, whose rows have no ids but those of items.
func (a *actor) exec() {
	row := func(format string, args ...any) {
		a.at = a.at.Add(a.tick)
		a.queue = append(a.queue, fmt.Sprintf(`{"timestamp":%q,`, a.at.Format("2006-01-02T15:04:05.000Z"))+fmt.Sprintf(format, args...)+"}")
	}
	if !a.begun {
		a.begun = true
		row(`"type":"thread.started","thread_id":%q`, a.id)
	}
	row(`"type":"turn.started"`)
	row(`"type":"item.started","item":{"id":"item_%d","type":"command_execution","command":"true","exit_code":null,"status":"in_progress"}`, a.n)
	row(`"type":"item.completed","item":{"id":"item_%d","type":"command_execution","command":"true","aggregated_output":"ok","exit_code":0,"status":"completed"}`, a.n)
	row(`"type":"item.completed","item":{"id":"item_%d","type":"agent_message","text":"Done."}`, a.n+1)
	a.n += 2
	a.turns++
	row(`"type":"turn.completed","usage":{"input_tokens":%d,"cached_input_tokens":10,"output_tokens":%d}`, 100*a.turns, 10*a.turns)
}

// write writes rows, the last of them perhaps in part.
func (c *composer) write(a *actor, n int, part bool) {
	if d := a.at.Sub(a.wrote); a.kind == inExec && d > linger-3*time.Second && d < linger+3*time.Second {
		c.wait(6 * time.Second) // what comes after the linger is another turn, and whether it does must be clear
	}
	for len(a.queue) < n {
		a.more()
	}
	if a.kind == inExec {
		n, a.wrote = len(a.queue), a.at
	}
	if n == 0 && a.half == "" {
		return
	}
	rows := a.queue[:n]
	a.queue = a.queue[n:]
	switch a.kind {
	case inRequests:
		if len(rows) > 0 {
			c.add(fmt.Sprintf("%s posts %d rows", a.id, len(rows)), func(l *lab) { l.post(a.id, rows...) })
		}
	case inConnection:
		c.add(fmt.Sprintf("%s sends %d rows", a.id, len(rows)), func(l *lab) {
			if l.living() == nil {
				return
			}
			if l.tcp == nil || l.tcp.in == nil || l.tcp.p.dead.Load() {
				l.tcp = l.dial()
			}
			l.tcp.send(rows...)
		})
	default:
		c.halves(a) // nobody else writes into the middle of a row
		text := ""
		if len(rows) > 0 {
			text = strings.Join(rows, "\n") + "\n"
		}
		if part && len(rows) > 0 && a.kind != inExec { // the end of a turn is when it is whole
			cut := len(text) - 1 - c.IntN(len(rows[len(rows)-1]))
			text, a.half = text[:cut], text[cut:]
		}
		c.append(a, text)
	}
}

// halves completes the rows that were begun in the actor's file.
func (c *composer) halves(a *actor) {
	for _, o := range c.actors {
		if o.file == a.file && o.half != "" {
			text := o.half
			o.half = ""
			c.append(o, text)
		}
	}
}

func (c *composer) append(a *actor, text string) {
	if text == "" {
		return
	}
	file := a.file
	c.whole(a).text.WriteString(text)
	c.add(fmt.Sprintf("%s gets %d bytes of %s", file, len(text), a.id), func(l *lab) { l.append(file, text) })
}

// whole is the actor that keeps the text of a file that several write to.
func (c *composer) whole(a *actor) *actor {
	for _, o := range c.actors {
		if o.file == a.file {
			return o
		}
	}
	return a
}

// flush completes all rows that were begun.
func (c *composer) flush() {
	for _, a := range c.actors {
		c.halves(a)
	}
}

// end is the end of a run; its session lingers, and nothing comes meanwhile.
func (c *composer) end(a *actor) {
	if !a.begun || a.kind == inExec || a.transcript {
		return
	}
	c.write(a, len(a.queue), false)
	a.queue = append(a.queue, a.author.end()...)
	c.write(a, len(a.queue), false)
	c.flush()
	c.pause(2 * linger)
	a.queue = append(a.queue, a.begin()...)
}

func (c *composer) rename(a *actor) {
	if a.kind == inRequests || a.kind == inConnection || c.whole(a).text.Len() == 0 {
		return
	}
	from, to := a.file, fmt.Sprintf("r%d-%s", len(c.ops), a.file)
	for _, o := range c.actors {
		if o.file == from {
			o.file = to
		}
	}
	c.add("rename "+from, func(l *lab) { _ = os.Rename(l.path(from), l.path(to)) }) // it may be deleted
}

func (c *composer) destroy(a *actor) {
	if a.kind == inRequests || a.kind == inConnection || c.whole(a).text.Len() == 0 {
		return
	}
	c.flush()
	file, text := a.file, c.whole(a).text.String()
	lines := strings.SplitAfter(text, "\n")
	n := c.IntN(5)
	if a.kind == inExec {
		n = 1 + n%2 // without its beginning it is another session
	}
	switch n {
	case 0:
		c.disturb("cut "+file, func(l *lab) { l.write(file, "") })
	case 1:
		c.disturb("write again "+file, func(l *lab) { l.write(file, text) })
	case 2:
		c.disturb("replace "+file, func(l *lab) {
			l.write("tmp", text)
			l.rename("tmp", file)
		})
	case 3:
		some := strings.Join(lines[len(lines)/2:], "")
		c.disturb("half of "+file, func(l *lab) { l.write(file, some) })
	case 4:
		c.disturb("delete "+file, func(l *lab) {
			if err := os.Remove(l.path(file)); err != nil {
				l.Log(err)
			}
		})
	}
}

func (p *program) play(l *lab) {
	for _, o := range p.ops {
		if *seed != 0 && l.disturbed {
			l.say("-- %s", o.name)
		}
		o.do(l)
		synctest.Wait()
		l.bury()
	}
}

func try(t *testing.T, n uint64) {
	t.Helper()
	p := compose(n)
	experiment(t, setup{}, p.rules, p.play)
}

func TestModel(t *testing.T) {
	from, n := uint64(1), uint64(40)
	switch {
	case *seed != 0:
		from, n = *seed, 1
	case *seeds != 0:
		n = *seeds
	}
	for s := from; s < from+n; s++ {
		t.Run(fmt.Sprint("seed=", s), func(t *testing.T) {
			t.Parallel()
			try(t, s)
		})
	}
}

func FuzzOps(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, n uint64) { try(t, n) })
}
