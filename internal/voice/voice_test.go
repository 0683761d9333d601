// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package voice

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/ids"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

func options() *batch.Options {
	return &batch.Options{Now: func() time.Time { return time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC) }}
}

// lines are those of files of the test data, one after the other.
func lines(t testing.TB, names ...string) (all [][]byte) {
	t.Helper()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join("..", "..", "testdata", filepath.FromSlash(name)))
		require.NoError(t, err)
		all = append(all, bytes.Split(bytes.TrimSpace(text), []byte("\n"))...)
	}
	return all
}

// rig is an input without a reader.
type rig struct {
	sessions *session.Assembler
	info     session.SourceInfo
	voices   *Voices
	decoder  batch.Decoder
}

func newRig(all [][]byte) *rig {
	judge := options().NewJudge()
	for _, line := range all {
		judge.Observe(line)
	}
	judge.Settle()
	r := &rig{sessions: session.New(session.NewConfig())}
	r.info = session.SourceInfo{Format: judge.Format(), Agent: judge.Agent(), Live: true}
	r.voices = New(r.sessions, Input{Info: r.info, Decoder: options().Decoder})
	r.decoder = options().Decoder(judge.Format())
	return r
}

func (r *rig) decode(line []byte, arrival int64) []translate.Decoded {
	units := r.decoder.Decode(line, nil)
	for i := range units {
		if units[i].Record != nil {
			units[i].Record.Arrival = arrival
		}
	}
	return units
}

func (r *rig) hear(line []byte, arrival int64) Said {
	said, _ := r.voices.Hear(line, r.decode(line, arrival), arrival)
	return said
}

func (r *rig) end() []translate.Output {
	r.voices.End()
	r.sessions.Close()
	return r.sessions.Take()
}

func arrival(i int) int64 { return 1_790_000_000_000_000_000 + int64(i)*1_000_000_000 }

// mixtures are inputs in which one or several agents speak.
func mixtures(t testing.TB) map[string][][]byte {
	t.Helper()
	one, two := lines(t, "claude/subagent-one.jsonl"), lines(t, "codex/codex-items.jsonl")
	var turns [][]byte
	for i := range max(len(one), len(two)) {
		turns = append(turns, one[min(i, len(one)):min(i+1, len(one))]...)
		turns = append(turns, two[min(i, len(two)):min(i+1, len(two))]...)
	}
	return map[string][][]byte{
		"one agent":                   one,
		"no session is named":         lines(t, "claude/no-session-id.jsonl"),
		"no session and other agent":  lines(t, "claude/no-session-id.jsonl", "codex/codex-never-began.jsonl", "codex/codex-plain-run.jsonl"),
		"one after the other":         lines(t, "codex/codex-plain-run.jsonl", "claude/plain-run.jsonl"),
		"three, and the first again":  lines(t, "claude/plain-run.jsonl", "codex/codex-plain-run.jsonl", "cline/plain.jsonl", "claude/max-turns.jsonl"),
		"by turns":                    turns,
		"lines that nobody knows":     lines(t, "claude/unknown-records.jsonl", "codex/codex-odd-records.jsonl", "lines/text-between.jsonl"),
		"a context before the others": lines(t, "claude/context-line.jsonl", "codex/codex-plain-run.jsonl"),
	}
}

// TestHearingAhead hears lines in groups of any size before it steps them, and steps the same again
// without the lines, in another process.
func TestHearingAhead(t *testing.T) {
	for name, all := range mixtures(t) {
		t.Run(name, func(t *testing.T) {
			r := newRig(all)
			for i, line := range all {
				r.voices.Fold(line, r.decode(line, arrival(i)), arrival(i))
			}
			want := r.end()
			require.NotEmpty(t, want)
			for seed := range uint64(5) {
				random := rand.New(rand.NewPCG(seed, 7))
				ahead, twin := newRig(all), newRig(all)
				again := session.New(session.NewConfig())
				reopened := New(again, Input{Info: ahead.info})
				for i := 0; i < len(all); {
					var said, copies []Said
					for range 1 + random.IntN(20) {
						if i == len(all) {
							break
						}
						said = append(said, ahead.hear(all[i], arrival(i)))
						copies = append(copies, twin.hear(all[i], arrival(i))) // stepping writes into records
						i++
					}
					for k := range said {
						ahead.voices.Step(&said[k])
						reopened.Step(&copies[k])
					}
				}
				assert.Len(t, reopened.Sources(), len(ahead.voices.Sources()))
				require.Equal(t, want, ahead.end())
				reopened.End()
				again.Close()
				require.Equal(t, want, again.Take())
			}
		})
	}
}

// TestSaid shows who says what, and which records give a derived id.
func TestSaid(t *testing.T) {
	all := mixtures(t)["three, and the first again"]
	r := newRig(all)
	derived := map[string]string{}
	var order []string
	for i, line := range all {
		said := r.hear(line, arrival(i))
		if len(order) == 0 || order[len(order)-1] != said.Agent {
			order = append(order, said.Agent)
		}
		if said.Derived != "" {
			require.NotContains(t, derived, said.Agent, "the first record alone tells it")
			derived[said.Agent] = said.Derived
			assert.Equal(t, ids.Session(said.Agent, line), said.Derived)
		}
	}
	assert.Equal(t, []string{"claude-code", "codex", "cline", "claude-code"}, order)
	assert.Len(t, derived, 3)
	assert.Len(t, r.voices.Sources(), 1, "nothing was stepped")
}

func TestSources(t *testing.T) {
	all := mixtures(t)["three, and the first again"]
	r := newRig(all)
	first := r.voices.Sources()
	require.Len(t, first, 1)
	sources := first
	for i, line := range all {
		said := r.hear(line, arrival(i))
		r.voices.Step(&said)
		if now := r.voices.Sources(); len(now) > len(sources) {
			require.Equal(t, sources, now[:len(sources)], "the order stays")
			sources = now
		}
	}
	assert.Equal(t, first[0], sources[0])
	assert.Len(t, sources, 3)
}

// TestHeardUnitsStay hears many lines of another agent before the first is looked at.
func TestHeardUnitsStay(t *testing.T) {
	home := lines(t, "claude/plain-run.jsonl")
	foreign := lines(t, "codex/codex-items.jsonl", "codex/codex-subagents.jsonl", "codex/codex-timed.jsonl")
	r := newRig(slices.Concat(home, foreign))
	r.hear(home[0], 1)
	var said []Said
	for range 10 {
		for i, line := range foreign {
			said = append(said, r.hear(line, arrival(i)))
		}
	}
	dec := options().Decoder(translate.FormatCodexExec)
	for n := range said {
		i := n % len(foreign)
		want := dec.Decode(foreign[i], nil)
		for k := range want {
			if want[k].Record != nil {
				want[k].Record.Arrival = arrival(i)
			}
		}
		require.Equal(t, translate.FormatCodexExec, said[n].Format)
		require.Equal(t, want, said[n].Units)
	}
}

func TestHearingIsFree(t *testing.T) {
	r := newRig(lines(t, "claude/plain-run.jsonl"))
	var known [][]byte // the others are looked at again
	var units [][]translate.Decoded
	for i, line := range lines(t, "claude/plain-run.jsonl") {
		u := r.decode(line, arrival(i))
		r.voices.Hear(line, u, 1)
		if _, foreign := judge(u); !foreign {
			known, units = append(known, line), append(units, u)
		}
	}
	require.Greater(t, len(known), 5)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		for i, line := range known {
			r.voices.Hear(line, units[i], 1)
		}
	}))
}
