// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mouth is a way in: rows of a session that come now.
type mouth struct {
	name       string
	transcript bool
	feed       func(l *lab, rows ...string)
}

func mouths() []mouth {
	return []mouth{
		{"transcript", true, func(l *lab, rows ...string) { l.add("p/s.jsonl", rows...) }},
		{"file", false, func(l *lab, rows ...string) { l.add("s.jsonl", rows...) }},
		{"request", false, func(l *lab, rows ...string) { l.post("s", rows...) }},
		{"connection", false, func(l *lab, rows ...string) {
			if len(l.conns) == 0 {
				l.dial()
			}
			l.conns[0].send(rows...)
		}},
	}
}

// after kills at the n-th time that the process comes to a point.
func after(p point) func(*event) bool { return func(e *event) bool { return e.point == p } }

// Whereever a process is killed between reading and metrics, and whoever brought the rows: what comes is what an
// undisturbed one sends.
func TestKilledBetweenReadingAndMetrics(t *testing.T) {
	for name, kills := range map[string]func(*event) bool{
		"folded, not delivered":                after(beforeTraces),
		"traces accepted, logs not":            after(afterTraces),
		"logs sent, not accepted":              after(beforeLogs),
		"all accepted, nothing stored":         func(e *event) bool { return e.point == beforeBatch && e.stores("s/") },
		"stored, nobody was told":              func(e *event) bool { return e.point == afterBatch && e.stores("s/") },
		"stored, not seen in metrics":          func(e *event) bool { return e.point == beforeBatch && !e.stores("s/") && e.stores("m/") },
		"about to be seen in metrics":          func(e *event) bool { return e.point == afterBatch && !e.stores("s/") && e.stores("m/") },
		"metrics sent, not accepted":           after(beforeMetrics),
		"metrics accepted, the answer is lost": after(afterMetrics),
	} {
		for _, m := range mouths() {
			t.Run(name+"/"+m.name, func(t *testing.T) {
				a := newAuthor("s", m.transcript)
				rows := append(a.begin(), a.turn(0)...)
				second, third := a.turn(1), append(a.turn(2), a.end()...)
				experiment(t, setup{}, rules{}, func(l *lab) {
					m.feed(l, rows...)
					l.run(moment)
					l.set(1, kills)
					m.feed(l, second...)
					l.until(2 * metrics)
					l.kill() // connections break
					l.start()
					l.run(moment)
					m.feed(l, third...)
					l.run(moment)
				})
			})
		}
	}
}

// A live source whose rows are in the journal only.
func TestKilledWithJournal(t *testing.T) {
	for _, m := range mouths()[2:] {
		for name, kills := range map[string]func(*event) bool{
			"journalled, not folded": func(e *event) bool { return e.point == afterBatch && e.stores("j/") },
			"about to be journalled": func(e *event) bool { return e.point == beforeBatch && e.stores("j/") },
		} {
			if m.name == "connection" && name == "about to be journalled" {
				continue // these rows are lost: the documented window
			}
			t.Run(m.name+"/"+name, func(t *testing.T) {
				a := newAuthor("s", false)
				first, second := append(a.begin(), a.turn(0)...), a.turn(1)
				d := experiment(t, setup{}, rules{}, func(l *lab) {
					m.feed(l, first...)
					l.run(moment)
					l.set(1, kills)
					m.feed(l, second...)
					l.until(moment)
					l.kill()
					l.start()
					l.run(moment)
					l.run(journalGone)
				})
				assert.Empty(t, d.disk.keys("j/"), "the journal of a session that left memory is not kept")
			})
		}
	}
}

func TestOpenSessions(t *testing.T) {
	for _, m := range mouths() {
		t.Run(m.name, func(t *testing.T) {
			for name, kill := range map[string]func(l *lab){
				"killed":  (*lab).kill,
				"stopped": (*lab).stop,
			} {
				t.Run(name, func(t *testing.T) {
					// Of three calls one was answered, one failed, and one is open; a prompt waits for its response.
					a := newAuthor("s", m.transcript)
					rows := append(a.begin(), a.turn(0)...)
					rows = append(rows, a.response("x", 3)...)
					results := a.results("x", 3)
					rows = append(rows, results[2], results[0])
					late, answer := results[1:2], a.response("y", 0)
					if m.name == "connection" {
						// It is over with its process, and what was open in it: whoever comes back begins anew.
						late, answer = a.begin(), append(a.turn(1), a.end()...)
					}
					d := experiment(t, setup{}, rules{}, func(l *lab) {
						m.feed(l, rows...)
						l.run(moment)
						kill(l)
						l.start()
						l.run(moment)
						m.feed(l, late...)
						l.run(moment)
						if m.name != "connection" {
							kill(l)
							l.start()
						}
						m.feed(l, answer...)
						l.run(moment)
						kill(l)
						l.start()
					})
					assert.Positive(t, d.backend.named("invoke_agent"))
				})
			}
		})
	}
}

func TestFilesThatNeverGrowAgain(t *testing.T) {
	for name, m := range map[string]mouth{"transcript": mouths()[0], "file": mouths()[1], "request": mouths()[2]} {
		t.Run(name, func(t *testing.T) {
			a := newAuthor("s", m.transcript)
			rows := append(a.begin(), a.turn(0)...)
			d := experiment(t, setup{}, rules{}, func(l *lab) {
				m.feed(l, rows...)
				l.run(moment)
				l.kill()
				l.start()
			})
			assert.Equal(t, 1, d.backend.named("invoke_agent"))
		})
	}
}

func TestClosedByTheClock(t *testing.T) {
	for name, kills := range map[string]func(*event) bool{
		"delivered, not stored": func(e *event) bool { return e.point == afterTraces && e.brings("invoke_agent") },
		"not delivered":         func(e *event) bool { return e.point == beforeTraces && e.brings("invoke_agent") },
	} {
		for _, m := range mouths()[:3] {
			t.Run(name+"/"+m.name, func(t *testing.T) {
				rows := newAuthor("s", m.transcript).whole(2)
				experiment(t, setup{}, rules{}, func(l *lab) {
					m.feed(l, rows...)
					l.set(1, kills)
					l.until(idle + linger)
					l.start()
				})
			})
		}
	}
}

func TestRowsAfterAClose(t *testing.T) {
	for _, m := range mouths()[:3] {
		t.Run(m.name, func(t *testing.T) {
			a := newAuthor("s", m.transcript)
			first := a.whole(2)
			a.at = a.at.Add(3 * idle)
			second := append(append(append(a.begin(), a.turn(2)...), a.turn(3)...), a.end()...)
			experiment(t, setup{}, rules{}, func(l *lab) {
				m.feed(l, first...)
				l.run(3 * idle)
				l.kill()
				l.start()
				l.run(moment)
				m.feed(l, second...)
				l.run(moment)
				l.kill()
				l.start()
			})
		})
	}
}

func TestBackendDownForAnHour(t *testing.T) {
	for _, m := range mouths()[:3] {
		t.Run(m.name, func(t *testing.T) {
			a := newAuthor("s", m.transcript)
			first, second, third := append(a.begin(), a.turn(0)...), a.turn(1), append(a.turn(2), a.end()...)
			experiment(t, setup{}, rules{}, func(l *lab) {
				m.feed(l, first...)
				l.run(moment)
				l.down(true)
				m.feed(l, second...)
				if l.disturbed {
					l.run(40 * time.Minute)
					l.kill()
					l.start()
					l.run(20 * time.Minute)
					assert.Zero(l, l.backend.named("invoke_agent"), "nothing is closed meanwhile")
				}
				l.down(false)
				l.run(2 * moment)
				m.feed(l, third...)
				l.run(moment)
			})
		})
	}
}

func TestDatabaseDeleted(t *testing.T) {
	rows := newAuthor("s", true).whole(4)
	for name, tc := range map[string]struct {
		setup
		rules
	}{
		"start_at beginning": {},
		// What was there is known and not sent again, so the root that is sent knows less.
		"start_at end": {setup{atEnd: true}, rules{timeless: true, recounted: true, lossy: true}},
	} {
		t.Run(name, func(t *testing.T) {
			d := experiment(t, tc.setup, tc.rules, func(l *lab) {
				l.run(moment)
				l.add("p/s.jsonl", rows[:10]...)
				l.run(moment)
				l.kill()
				if l.disturbed {
					l.disk.mu.Lock()
					clear(l.disk.values)
					l.disk.mu.Unlock()
				}
				l.start()
				l.run(moment)
				l.add("p/s.jsonl", rows[10:]...)
				l.run(moment)
			})
			again := 0
			for _, it := range d.backend.spans {
				again += it.times - 1
			}
			assert.Equal(t, !tc.atEnd, again > 0)
			if tc.atEnd { // the one of which a part was there
				assert.Equal(t, 7, d.backend.named("chat"))
			}
		})
	}
}

func TestRewritten(t *testing.T) {
	rows := newAuthor("s", true).whole(4)
	text := func(rows []string) string { return strings.Join(rows, "\n") + "\n" }
	// Where rows are gone the root knows less, and what was counted of them stands for what comes first.
	fewer := map[string]bool{"rows of the beginning are gone": true, "compacted, then more": true}
	for name, rewrite := range map[string]func(l *lab){
		"cut and written again": func(l *lab) {
			l.write("p/s.jsonl", "")
			l.run(moment)
			l.write("p/s.jsonl", text(rows))
		},
		"replaced": func(l *lab) {
			l.write("p/tmp", text(rows))
			l.rename("p/tmp", "p/s.jsonl")
		},
		"rows of the beginning are gone": func(l *lab) { l.write("p/s.jsonl", text(rows[4:])) },
		"compacted, then more":           func(l *lab) { l.write("p/s.jsonl", text(append(append([]string{}, rows[0]), rows[6:]...))) },
	} {
		for when, around := range map[string]func(l *lab, do func()){
			"alive": func(_ *lab, do func()) { do() },
			"killed": func(l *lab, do func()) {
				l.kill()
				l.start()
				l.run(moment)
				do()
				l.run(moment)
				l.kill()
				l.start()
			},
			"while down": func(l *lab, do func()) {
				if l.disturbed {
					l.kill()
				}
				do()
				l.start()
			},
		} {
			t.Run(name+"/"+when, func(t *testing.T) {
				r := rules{timeless: fewer[name], lossy: fewer[name]}
				experiment(t, setup{}, r, func(l *lab) {
					l.add("p/s.jsonl", rows[:10]...)
					l.run(moment)
					if !l.disturbed {
						l.add("p/s.jsonl", rows[10:]...)
						l.run(2 * moment)
						return
					}
					around(l, func() { rewrite(l) })
					l.run(moment)
				})
			})
		}
	}
}

func TestHalfARow(t *testing.T) {
	rows := newAuthor("s", true).whole(2)
	for _, at := range []int{1, 100, len(rows[5]) - 1, len(rows[5])} {
		experiment(t, setup{}, rules{}, func(l *lab) {
			l.add("p/s.jsonl", rows[:5]...)
			l.append("p/s.jsonl", rows[5][:at])
			l.run(2 * moment) // the end of a whole object is not waited for for ever
			l.kill()
			l.append("p/s.jsonl", rows[5][at:]+"\n")
			l.start()
			l.run(moment)
			l.add("p/s.jsonl", rows[6:]...)
			l.run(moment)
		})
	}
}

func TestStoreFull(t *testing.T) {
	for _, m := range mouths()[:3] {
		for name, then := range map[string]func(l *lab){
			"space comes back": func(*lab) {},
			"killed meanwhile": func(l *lab) { l.kill(); l.disk.fill(false); l.start() },
		} {
			t.Run(m.name+"/"+name, func(t *testing.T) {
				a := newAuthor("s", m.transcript)
				first, second, third := append(a.begin(), a.turn(0)...), a.turn(1), append(a.turn(2), a.end()...)
				experiment(t, setup{}, rules{}, func(l *lab) {
					m.feed(l, first...)
					l.run(moment)
					if l.disturbed {
						l.disk.fill(true)
					}
					before := maps.Clone(l.disk.values)
					m.feed(l, second...)
					l.run(moment)
					if l.disturbed {
						l.run(10 * time.Minute)
						require.Equal(l, before, l.disk.values)
						require.True(l, l.process.engine.Pressed())
						then(l)
					}
					l.disk.fill(false)
					l.run(2 * moment)
					m.feed(l, third...)
					l.run(moment)
				})
			})
		}
	}
}

func TestDamaged(t *testing.T) {
	for prefix, tc := range map[string]struct {
		rules
		live bool
	}{
		"v":  {rules: rules{recounted: true}}, // counting begins anew
		"f/": {},
		// What was counted is not known any more, but for tokens, so that the root has only those that are new.
		"s/": {rules: rules{recounted: true, timeless: true}},
		"e/": {rules: rules{recounted: true}}, // what is counted with a span is so again with it
		"u/": {},
		"m/": {rules: rules{recounted: true}}, // the totals are gone
		"j/": {live: true, rules: rules{loose: true}},
	} {
		t.Run(strings.TrimSuffix(prefix, "/"), func(t *testing.T) {
			a := newAuthor("s", !tc.live)
			rows := a.whole(4)
			feed := mouths()[0].feed
			if tc.live {
				feed = mouths()[2].feed
			}
			d := experiment(t, setup{}, tc.rules, func(l *lab) {
				feed(l, rows[:12]...)
				l.run(2 * metrics)
				l.kill()
				if l.disturbed {
					require.Positive(l, l.disk.damage(prefix))
				}
				l.start()
				l.run(moment)
				feed(l, rows[12:]...)
				l.run(moment)
			})
			assert.Contains(t, strings.Join(d.log, "\n"), "damaged")
		})
	}
}

// between runs a play under one configuration as the undisturbed one, and under another as the disturbed one.
func between(t *testing.T, calm, wild setup, r rules, play func(l *lab)) (d *lab) {
	t.Helper()
	want := undisturbed(t, calm, play)
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, wild, true)
		l.start()
		play(l)
		l.finish()
		judge(t, want.backend, l, r)
		d = l
	})
	return d
}

func TestEvicted(t *testing.T) {
	authors := func() (rows [3][][]string) {
		for i, id := range []string{"a", "b", "c"} {
			a := newAuthor(id, true)
			for n := range 4 {
				rows[i] = append(rows[i], a.turn(n))
			}
		}
		return rows
	}
	rows := authors()
	name := func(i int) string { return "p/" + string(rune('a'+i)) + ".jsonl" }
	for what, play := range map[string]func(l *lab){
		"goes on": func(l *lab) {
			for n := range 4 {
				for i := range rows {
					l.add(name(i), rows[i][n]...)
					l.run(15 * time.Second)
				}
			}
		},
		"goes on after a kill": func(l *lab) {
			for n := range 4 {
				for i := range rows {
					l.add(name(i), rows[i][n]...)
					l.run(15 * time.Second)
				}
				l.kill()
				l.start()
			}
		},
		"is due": func(l *lab) {
			for i := range rows {
				l.add(name(i), rows[i][0]...)
			}
			l.run(moment)
		},
		"is due after a kill": func(l *lab) {
			for i := range rows {
				l.add(name(i), rows[i][0]...)
			}
			l.run(15 * time.Second)
			l.kill()
			l.start()
		},
	} {
		t.Run(what, func(t *testing.T) {
			d := between(t, setup{}, setup{resident: 1}, rules{}, play)
			assert.Positive(t, d.evicted)
			assert.Positive(t, d.again)
		})
	}
	t.Run("its file is deleted", func(t *testing.T) {
		// The root is there, though it knows little.
		d := between(t, setup{}, setup{resident: 1}, rules{loose: true}, func(l *lab) {
			for i := range rows {
				l.add(name(i), rows[i][0]...)
				l.run(15 * time.Second)
			}
			if l.disturbed {
				l.remove(name(0))
			}
		})
		assert.Equal(t, 3, d.backend.named("invoke_agent"))
	})
}

func TestStartAtEnd(t *testing.T) {
	rows := newAuthor("s", true).whole(4)
	for name, cut := range map[string]int{"between turns": 8, "in a response": 2, "in calls": 4} {
		t.Run(name, func(t *testing.T) {
			experiment(t, setup{atEnd: true}, rules{}, func(l *lab) {
				// The process of the lab has seen nothing yet: the first that sees files is the next one.
				l.kill()
				l.bury()
				if l.process != nil {
					l.process.quit()
					l.setProcess(nil)
				}
				l.disk.mu.Lock()
				clear(l.disk.values)
				l.disk.mu.Unlock()
				l.add("p/s.jsonl", rows[:cut]...)
				l.start()
				l.run(moment)
				l.kill()
				l.start()
				l.run(moment)
				l.add("p/s.jsonl", rows[cut:cut+3]...)
				l.run(moment)
				l.kill()
				l.start()
				l.run(moment)
				l.add("p/s.jsonl", rows[cut+3:]...)
				l.run(moment)
			})
		})
	}
}

func TestTurns(t *testing.T) {
	for _, m := range mouths()[:3] {
		t.Run(m.name, func(t *testing.T) {
			a := newAuthor("s", m.transcript)
			first, rest := a.begin(), [][]string{a.turn(0), a.turn(1), a.turn(2), a.end()}
			sweep(t, setup{turn: true}, rules{}, 7, func(l *lab) {
				m.feed(l, first...)
				for _, rows := range rest {
					if len(rows) > 0 {
						m.feed(l, rows...)
					}
					l.run(time.Second)
					l.start()
				}
			})
		})
	}
}

// Threads of Codex: a parent and its children, each in a file of its own.
func TestThreads(t *testing.T) {
	files := []string{"1-parent", "2-counts", "3-reviews", "4-checks"}
	rows := map[string][]string{}
	for _, f := range files {
		rows[f] = rowsOf(t, "rollouts/subagents/"+f+".jsonl")
	}
	play := func(l *lab) {
		for part := range 4 {
			for _, f := range files {
				n := len(rows[f])
				l.add("s/"+f+".jsonl", rows[f][part*n/4:(part+1)*n/4]...)
			}
			l.run(time.Second)
			l.start()
		}
	}
	// Open: where a thread begins depends on what is read first, its first row or what launched it, and so does the last
	// digit of a sum of costs. What was sent and not stored may come again with another.
	sweep(t, setup{}, rules{timeless: true, anyAgent: true, torn: true}, 7, play)
	t.Run("one after the other", func(t *testing.T) {
		experiment(t, setup{}, rules{}, func(l *lab) {
			for _, f := range files {
				l.add("s/"+f+".jsonl", rows[f]...)
				l.run(moment)
				l.kill()
				l.start()
			}
		})
	})
}

func TestForkAfterARestart(t *testing.T) {
	for _, folder := range []string{"transcripts/fork", "rollouts/fork-replayed", "rollouts/fork-shared"} {
		t.Run(folder, func(t *testing.T) {
			names := map[string][2]string{
				"transcripts/fork":       {"a-origin", "b-fork"},
				"rollouts/fork-replayed": {"1-origin", "2-fork"},
				"rollouts/fork-shared":   {"1-origin", "2-fork"},
			}[folder]
			origin, fork := rowsOf(t, folder+"/"+names[0]+".jsonl"), rowsOf(t, folder+"/"+names[1]+".jsonl")
			for name, wait := range map[string]time.Duration{"open": moment, "closed": 2 * idle} {
				t.Run(name, func(t *testing.T) {
					d := experiment(t, setup{}, rules{}, func(l *lab) {
						l.add("f/a.jsonl", origin...)
						l.run(wait)
						l.kill()
						l.start()
						l.run(moment)
						l.add("f/b.jsonl", fork...)
						l.run(moment)
						l.kill()
						l.start()
					})
					links := 0
					for _, it := range d.backend.spans {
						links += len(it.links)
					}
					assert.Positive(t, links)
				})
			}
		})
	}
}

// A session that a connection and a file tell of.
func TestStreamAndRollout(t *testing.T) {
	stream, rollout := rowsOf(t, "rollouts/with-stream/1-stream.jsonl"), rowsOf(t, "rollouts/with-stream/2-rollout.jsonl")
	a, b := newAuthor("s", false), newAuthor("s", true)
	for name, pair := range map[string][2][]string{"codex": {stream, rollout}, "claude": {a.whole(2), b.whole(2)}} {
		r := rules{}
		for _, m := range mouths()[2:] {
			t.Run(name+"/"+m.name, func(t *testing.T) {
				r := r
				if name == "codex" && m.name == "connection" {
					// The kill breaks the connection, which cuts the session: what the file tells lies behind the cut.
					r.loose = true
				}
				experiment(t, setup{}, r, func(l *lab) {
					m.feed(l, pair[0]...)
					l.run(moment)
					l.kill()
					l.start()
					l.run(moment)
					l.add("r/s.jsonl", pair[1]...)
					l.run(moment)
					l.kill()
					l.start()
				})
			})
			t.Run(name+"/"+m.name+"/the file first", func(t *testing.T) {
				experiment(t, setup{}, r, func(l *lab) {
					l.add("r/s.jsonl", pair[1]...)
					l.run(moment)
					l.kill()
					l.start()
					l.run(moment)
					m.feed(l, pair[0]...)
					l.run(moment)
					l.kill()
					l.start()
				})
			})
		}
	}
}
