// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

// known is what a ledger would keep.
type known struct {
	sessions map[uint64]*Memory
	entries  []Entry
	rebuild  bool
}

func (k *known) recall(key uint64) *Memory {
	m := k.sessions[key]
	if m == nil {
		return nil
	}
	return &Memory{State: m.State, Left: slices.Clone(m.Left), Rebuild: k.rebuild}
}

func (k *known) take(a *Assembler) {
	for _, c := range a.Changes() {
		if k.sessions == nil {
			k.sessions = map[uint64]*Memory{}
		}
		m := k.sessions[c.Key]
		if m == nil {
			m = &Memory{}
			k.sessions[c.Key] = m
		}
		m.State, m.Left = c.State, append(m.Left, c.Left...)
	}
	k.entries = append(k.entries, a.Learned()...)
}

// life is an assembler that knows what earlier ones have sent.
func (k *known) life(cfg Config) *Assembler {
	cfg.Recall = k.recall
	a := New(cfg)
	for _, e := range k.entries {
		a.Learn(e)
	}
	return a
}

func give(a *Assembler, src *Source, units ...*translate.Decoded) []translate.Output {
	for _, u := range units {
		a.Step(src, u)
	}
	return a.Take()
}

func identifiedBy(uuid string, u *translate.Decoded) *translate.Decoded {
	u.Record.UUID = uuid
	return u
}

var s1 = Key("claude-code", "s1")

func TestKeysAreStored(t *testing.T) {
	assert.Equal(t, uint64(0xe079591c2a8d8638), Key("claude-code", "s1"), "what is stored must not change")
	assert.NotEqual(t, hash("ab", "c"), hash("a", "bc"))
	agent, id := strings.Repeat("a", 20), strings.Repeat("b", 36)
	assert.Zero(t, testing.AllocsPerRun(100, func() { hash("response", agent, id) }))
}

func TestSessionGoesOnWhenItsSourcesAreGone(t *testing.T) {
	k := &known{}
	a := k.life(env{}.config())
	outs := give(a, a.Open(env{}.source()), at(0, start()), at(1, prompt()), at(2, says("m1", 100, 10)), at(3, ends()))
	a.Close()
	outs = append(outs, a.Take()...)
	first := root(t, outs)
	k.take(a)
	st := k.sessions[s1].State
	assert.True(t, st.Closed)
	assert.Zero(t, st.Due)
	require.Len(t, st.Refs, 1)
	ref := st.Refs[0]
	assert.Equal(t, begin, ref.First)
	assert.Equal(t, first.TraceID, ref.Trace)
	assert.Equal(t, first.SpanID, ref.Root)
	assert.False(t, ref.Quiet)

	a = k.life(env{}.config())
	more := give(a, a.Open(env{}.source()), at(100, prompt()), at(101, says("m2", 7, 1)), at(102, ends()))
	a.Close()
	more = append(more, a.Take()...)
	second := root(t, more)
	assert.NotEqual(t, first.TraceID, second.TraceID)
	assert.Equal(t, []translate.Link{{TraceID: first.TraceID, SpanID: first.SpanID, Kind: translate.LinkContinues}}, second.Links)
	assert.InDelta(t, 1, sum(more, translate.MetricPrompts), 0, "what is new counts")
	assert.Zero(t, sum(more, translate.MetricSessions), "it is one session")
	assert.Zero(t, sum(append(outs, more...), translate.MetricActive))
	k.take(a)
	assert.Equal(t, 2, k.sessions[s1].Segments)
	assert.Len(t, k.sessions[s1].Refs, 2)
}

func TestRequestThatIsRepeatedWhenItsSessionIsGone(t *testing.T) {
	units := func(n int) []*translate.Decoded {
		all := []*translate.Decoded{at(0, start()), at(1, prompt()), at(2, says("m1", 10, 1)), at(3, ends()), at(4, prompt()), at(5, says("m2", 3, 1))}
		for i, u := range all {
			u.Record.Hash = uint64(i + 1)
		}
		return all[:n]
	}
	live := env{info: SourceInfo{Live: true}}
	k := &known{}
	a := k.life(live.config())
	src := a.Open(live.source())
	outs := give(a, src, units(4)...)
	a.Release(src)
	a.Close()
	outs = append(outs, a.Take()...)
	k.take(a)
	require.Len(t, k.sessions[s1].Hashes, 1)

	a = k.life(live.config())
	src = a.Open(live.source())
	assert.Empty(t, give(a, src, units(4)...), "it is known")
	a.Release(src)
	src = a.Open(live.source())
	outs = append(outs, give(a, src, units(6)...)...)
	a.Release(src)
	a.Close()
	outs = append(outs, a.Take()...)
	assert.InDelta(t, 2, sum(outs, translate.MetricPrompts), 0)
	assert.Len(t, spans(outs, translate.SpanChat), 2)
	assert.Len(t, spans(outs, translate.SpanRoot), 2)
}

// Nobody has asked for changes between: what the assembler has not told yet it knows itself.
func TestSessionThatMadeRoomGoesOn(t *testing.T) {
	cfg := env{}.config()
	cfg.MaxSessions = 1
	k := &known{}
	a := k.life(cfg)
	src := a.Open(env{}.source())
	for i, id := range []string{"s1", "s2", "s1", "s2"} {
		for _, u := range []*translate.Decoded{at(float64(10*i), start()), at(float64(10*i+1), says("m"+strconv.Itoa(i), 1, 1))} {
			u.Record.Session = id
			a.Step(src, u)
		}
	}
	a.Close()
	outs := a.Take()
	ids := map[translate.SpanID]bool{}
	for _, sp := range append(spans(outs, translate.SpanRoot), spans(outs, translate.SpanChat)...) {
		assert.False(t, ids[sp.SpanID])
		ids[sp.SpanID] = true
	}
	assert.Len(t, ids, 8)
	assert.Zero(t, sum(outs, translate.MetricActive))
	assert.InDelta(t, 2, sum(outs, translate.MetricSessions), 0)
	for _, r := range spans(outs, translate.SpanRoot)[2:] {
		assert.Len(t, r.Links, 1)
	}
	k.take(a)
	for _, m := range k.sessions {
		assert.Equal(t, 2, m.Segments)
		left := len(spans(outs, translate.SpanRoot))/2 + len(spans(outs, translate.SpanChat))/2
		for _, o := range outs {
			if o.Log != nil && o.Log.Session == m.ID {
				left++
			}
		}
		assert.Len(t, m.Left, left)
	}
}

func TestForkOfASessionThatIsNotInMemory(t *testing.T) {
	e := env{}
	info := e.source()
	info.Format = translate.FormatClaudeCodeTranscript
	rows := func(session string, own ...*translate.Decoded) []*translate.Decoded {
		all := []*translate.Decoded{identifiedBy("u1", at(0, prompt())), identifiedBy("u2", at(1, says("m1", 10, 1)))}
		all = append(all, own...)
		for _, u := range all {
			u.Record.Session = session
		}
		return all
	}
	fork := func(a *Assembler) *translate.Span {
		outs := give(a, a.Open(info), rows("s2", identifiedBy("u3", at(20, prompt())), identifiedBy("u4", at(21, says("m2", 5, 1))))...)
		a.Close()
		for _, r := range spans(append(outs, a.Take()...), translate.SpanRoot) {
			if r.Session == "s2" {
				return r
			}
		}
		return nil
	}
	whole := (&known{}).life(e.config())
	give(whole, whole.Open(info), rows("s1")...)
	want := fork(whole)
	require.Len(t, want.Links, 1)

	for _, rebuild := range []bool{false, true} {
		k := &known{rebuild: rebuild}
		a := k.life(e.config())
		give(a, a.Open(info), rows("s1")...)
		k.take(a)
		got := fork(k.life(e.config()))
		require.NotNil(t, got)
		assert.Equal(t, want.Links, got.Links)
		assert.Equal(t, want.Root, got.Root)
	}
}

func TestSilent(t *testing.T) {
	silent := func(units ...*translate.Decoded) func(*Assembler, *Source) []translate.Output {
		return func(a *Assembler, src *Source) []translate.Output {
			a.Silent(true)
			outs := give(a, src, units...)
			a.Silent(false)
			return outs
		}
	}
	t.Run("a session that was over", func(t *testing.T) {
		k := &known{}
		a := k.life(env{}.config())
		src := a.Open(env{}.source())
		outs := silent(at(0, start()), at(1, calls("m1", "Bash:t1")), at(2, result("t1")), at(3, says("m2", 5, 1)), at(4, ends()))(a, src)
		a.Close()
		assert.Empty(t, append(outs, a.Take()...))
		k.take(a)
		assert.Empty(t, k.sessions[s1].Left)
		assert.Empty(t, k.sessions[s1].Counted)
		assert.NotEmpty(t, k.entries, "registers and owners are known")
	})
	t.Run("a session that goes on", func(t *testing.T) {
		a := (&known{}).life(env{}.config())
		src := a.Open(env{}.source())
		outs := silent(at(0, start()), at(1, prompt()), at(2, calls("m1", "Bash:t1", "Read:t2")), at(3, result("t1")))(a, src)
		outs = append(outs, give(a, src, at(4, result("t2")), at(5, says("m2", 5, 1)), at(6, ends()))...)
		a.Close()
		outs = append(outs, a.Take()...)
		assert.Len(t, spans(outs, translate.SpanTool), 1)
		tool(t, outs, "t2")
		chats := spans(outs, translate.SpanChat)
		require.Len(t, chats, 1)
		assert.Equal(t, "m2", chats[0].Chat.ResponseID)
		root(t, outs)
		assert.Zero(t, sum(outs, translate.MetricPrompts))
		assert.Zero(t, sum(outs, translate.MetricActive))
		var tokens int64
		for _, o := range outs {
			if o.Step != nil && o.Step.Metric == translate.MetricTokens {
				tokens += o.Step.Tokens.Input
			}
		}
		assert.EqualValues(t, 5, tokens)
	})
	t.Run("a segment that was over", func(t *testing.T) {
		a := (&known{}).life(env{}.config())
		src := a.Open(env{}.source())
		outs := silent(at(0, start()), at(1, prompt()), at(2, says("m1", 5, 1)), at(3, ends()))(a, src)
		outs = append(outs, give(a, src, at(9000, prompt()), at(9001, says("m2", 5, 1)), at(9002, ends()))...)
		a.Close()
		outs = append(outs, a.Take()...)
		assert.Len(t, spans(outs, translate.SpanChat), 1)
		assert.Empty(t, root(t, outs).Links, "nothing is there that a link could lead to")
		assert.InDelta(t, 1, sum(outs, translate.MetricSegments), 0)
	})
}

func TestTooOldIsDecidedOnce(t *testing.T) {
	cfg := env{}.config()
	cfg.MaxAge = time.Hour
	info := env{}.source()
	units := func() []*translate.Decoded {
		return []*translate.Decoded{
			at(0, start()), at(1, prompt()), at(2, says("m1", 100, 1)), at(3, ends()),
			at(4000, prompt()), at(4001, says("m2", 10, 1)), at(4002, ends()),
		}
	}
	k := &known{rebuild: true}
	a := k.life(cfg)
	a.At(begin + 4500*second)
	outs := give(a, a.Open(info), units()...)
	assert.InDelta(t, 1, sum(outs, translate.MetricPrompts), 0)
	k.take(a)

	a = k.life(cfg)
	a.At(begin + 9000*second) // by now all of it is too old
	src := a.Open(info)
	assert.Empty(t, give(a, src, units()...))
	a.Rebuilt(s1)
	assert.Empty(t, a.Take())
	outs = append(outs, give(a, src, at(9000, prompt()), at(9001, says("m3", 7, 1)), at(9002, ends()))...)
	a.Close()
	outs = append(outs, a.Take()...)
	assert.InDelta(t, 2, sum(outs, translate.MetricPrompts), 0, "what comes now counts")
	assert.Len(t, spans(outs, translate.SpanChat), 2)
	assert.Zero(t, sum(outs, translate.MetricActive))
}

func TestRebuiltIsWhatItWas(t *testing.T) {
	behind := func() bool { return false }
	info := env{}.source()
	info.Behind = behind
	units := func() []*translate.Decoded {
		return []*translate.Decoded{at(0, start()), at(1, prompt()), at(2, calls("m1", "Bash:t1"))}
	}
	k := &known{rebuild: true}
	a := k.life(env{}.config())
	a.At(modTime)
	outs := give(a, a.Open(info), units()...)
	k.take(a)
	assert.Empty(t, a.Changes(), "nothing changed since")
	st := k.sessions[s1].State
	assert.False(t, st.Closed)
	assert.Equal(t, modTime, st.Folded)
	assert.Equal(t, modTime, st.Since)
	a.Due(st.Due - 1)
	assert.Empty(t, spans(a.Take(), translate.SpanRoot))
	assert.Empty(t, a.Changes())

	t.Run("open", func(t *testing.T) {
		a := k.life(env{}.config())
		a.At(st.Due)
		src := a.Open(info)
		assert.Empty(t, give(a, src, units()...))
		a.Due(st.Due + int64(time.Hour))
		assert.Empty(t, a.Take(), "not before it is what it was")
		a.Rebuilt(s1)
		assert.Empty(t, a.Take(), "it is active already")
		a.Due(st.Due)
		all := append(slices.Clone(outs), a.Take()...)
		root(t, all)
		tool(t, all, "t1")
		assert.Zero(t, sum(all, translate.MetricActive))
	})
	t.Run("closed", func(t *testing.T) {
		closed := &known{rebuild: true, entries: k.entries, sessions: map[uint64]*Memory{s1: {State: st, Left: slices.Clone(k.sessions[s1].Left)}}}
		a.Due(st.Due)
		all := append(slices.Clone(outs), a.Take()...)
		closed.take(a)
		assert.True(t, closed.sessions[s1].Closed)
		a := closed.life(env{}.config())
		src := a.Open(info)
		give(a, src, units()...)
		a.Rebuilt(s1)
		assert.Empty(t, a.Take())
		all = append(all, give(a, src, at(5, result("t1")), at(6, says("m2", 1, 1)))...)
		a.Close()
		all = append(all, a.Take()...)
		assert.Len(t, spans(all, translate.SpanTool), 1)
		assert.Len(t, spans(all, translate.SpanChat), 2)
		root(t, all)
		assert.Zero(t, sum(all, translate.MetricActive))
	})
}

func TestQuietSessionIsDoneWhenItWasIdle(t *testing.T) {
	info := env{}.source()
	info.Behind = func() bool { return false }
	k := &known{rebuild: true}
	a := k.life(env{}.config())
	a.At(modTime)
	src := a.Open(info)
	assert.Empty(t, give(a, src, at(0, prompt())))
	k.take(a)
	st := k.sessions[s1].State
	assert.False(t, st.Closed)
	a.Due(st.Due)
	k.take(a)
	assert.True(t, k.sessions[s1].Closed)
	outs := give(a, src, at(5, says("m1", 1, 1)))
	assert.Len(t, logs(outs, translate.EventPrompt), 1, "it is in memory still")
	k.take(a)
	assert.False(t, k.sessions[s1].Closed)
}

func TestOldestWhileSessionsGo(t *testing.T) {
	for name, forgets := range map[string]func(key uint64) []uint64{
		"one by one": func(key uint64) []uint64 { return []uint64{key} },
		"in pairs": func(key uint64) []uint64 { // with the next one
			for i := range 6 {
				if Key("claude-code", itoa(i)) == key {
					return []uint64{key, Key("claude-code", itoa(i+1))}
				}
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := (&known{}).life(env{}.config())
			for i := range 6 {
				u := at(float64(i), says("m"+itoa(i), 1, 1))
				u.Record.Session = itoa(i)
				give(a, a.Open(env{}.source()), u)
			}
			kept := Key("claude-code", "0") // what cannot go does not hold up the others
			for key := range a.Oldest() {
				if key != kept {
					a.Forget(forgets(key))
				}
			}
			assert.Equal(t, []uint64{kept}, slices.Collect(a.Oldest()))
		})
	}
}

func TestGroups(t *testing.T) {
	k := &known{rebuild: true}
	a := k.life(env{}.config())
	of := func(id string, u *translate.Decoded) *translate.Decoded {
		u.Record.Session = id
		return u
	}
	shared, other, live := a.Open(env{}.source()), a.Open(env{}.source()), a.Open(env{info: SourceInfo{Live: true}}.source())
	give(a, shared, of("s1", at(0, says("m1", 1, 1))), of("s2", at(1, says("m2", 1, 1))))
	give(a, other, of("s2", at(2, says("m3", 1, 1))))
	give(a, live, of("s3", at(3, says("m4", 1, 1))))
	s2, s3 := Key("claude-code", "s2"), Key("claude-code", "s3")
	assert.Equal(t, []uint64{s1, s2}, shared.Sessions())
	assert.Equal(t, []uint64{s1, s2, s3}, slices.Collect(a.Oldest()))
	keys, srcs := a.Group(s1)
	assert.ElementsMatch(t, []uint64{s1, s2}, keys)
	assert.ElementsMatch(t, []*Source{shared, other}, srcs)
	keys, srcs = a.Group(s3)
	assert.Equal(t, []uint64{s3}, keys)
	assert.Equal(t, []*Source{live}, srcs)
	assert.False(t, a.Busy(s1))
	assert.True(t, a.Busy(s3), "what is said live is not read again")
	a.End(live)
	assert.False(t, a.Busy(s3))

	a.Forget([]uint64{s1, s2})
	assert.False(t, a.Has(s1))
	assert.True(t, a.Has(s3))
	assert.Equal(t, 1, a.Sessions())
	k.take(a)
	assert.Len(t, k.sessions, 3)
	assert.False(t, k.sessions[s1].Closed)
	keys, srcs = a.Group(s1)
	assert.Empty(t, keys)
	assert.Empty(t, srcs)
}

func TestLearnedOnce(t *testing.T) {
	k := &known{rebuild: true}
	a := k.life(env{}.config())
	units := func() []*translate.Decoded {
		return []*translate.Decoded{identifiedBy("u1", at(0, start())), identifiedBy("u2", at(1, says("m1", 5, 1)))}
	}
	give(a, a.Open(env{}.source()), units()...)
	k.take(a)
	kinds := map[EntryKind]int{}
	for _, e := range k.entries {
		kinds[e.Kind]++
		assert.Equal(t, s1, e.Session)
	}
	assert.Equal(t, map[EntryKind]int{EntryOwner: 3, EntryUsage: 1}, kinds)
	a = k.life(env{}.config())
	give(a, a.Open(env{}.source()), units()...)
	a.Rebuilt(s1)
	assert.Empty(t, a.Learned(), "nothing is new")
}

func TestManySeries(t *testing.T) {
	var c sums
	for i := range uint64(3 * maxSeries) {
		c.at(i+1).N++
	}
	assert.Len(t, c.list, maxSeries+1)
	assert.EqualValues(t, 1, c.find(5).N)
	assert.EqualValues(t, 2*maxSeries, c.find(3*maxSeries).N, "what is beyond shares one")
}

func TestRegistersOfLongAgoAreForgotten(t *testing.T) {
	r := registers{m: map[registerKey]uint32{}}
	s := &session{number: 1}
	old := r.get(1, s)
	for i := range uint64(maxRegisters) {
		r.get(registerKey(i+2), s).cost = float64(i + 2)
	}
	assert.Equal(t, registerKey(1), old.key, "who has it keeps it")
	assert.NotSame(t, old, r.get(1, s))
	assert.InDelta(t, float64(maxRegisters), r.get(maxRegisters, s).cost, 0)
	assert.LessOrEqual(t, len(r.m), maxRegisters)
}

// A sum is let out in part where a part of it was counted: per class of tokens.
func TestCountedInPart(t *testing.T) {
	k := &known{rebuild: true}
	a := k.life(env{}.config())
	outs := give(a, a.Open(env{}.source()), at(0, start()), at(1, says("m1", 100, 10)))
	k.take(a)
	a = k.life(env{}.config())
	src := a.Open(env{}.source())
	grown := at(1, says("m1", 100, 25))
	outs = append(outs, give(a, src, at(0, start()), grown)...)
	a.Rebuilt(s1)
	outs = append(outs, give(a, src, at(2, says("m2", 1, 2)))...)
	var got translate.Tokens
	for _, o := range outs {
		if o.Step != nil && o.Step.Metric == translate.MetricTokens {
			got = addTokens(got, o.Step.Tokens)
		}
	}
	assert.Equal(t, translate.Tokens{Input: 101, Output: 27}, got)
}

// A session that is forgotten while it is rebuilt stays what was known of it.
func TestForgottenWhileRebuilt(t *testing.T) {
	k := &known{rebuild: true}
	a := k.life(env{}.config())
	units := func() []*translate.Decoded {
		return []*translate.Decoded{at(0, start()), at(1, says("m1", 100, 10)), at(2, says("m2", 1, 1))}
	}
	give(a, a.Open(env{}.source()), units()...)
	k.take(a)
	before := k.sessions[s1].State
	a = k.life(env{}.config())
	give(a, a.Open(env{}.source()), units()[:2]...)
	assert.True(t, a.Busy(s1))
	assert.Empty(t, a.Changes())
	a.Forget([]uint64{s1})
	k.take(a)
	assert.Equal(t, before, k.sessions[s1].State)
	a.Close()
	assert.Empty(t, a.Take())
}

// The owner of an id may be forgotten, and with it what it was called; others go on under their own.
func TestPeopleAreForgotten(t *testing.T) {
	a := (&known{}).life(env{}.config())
	for n := range uint64(4) {
		a.Learn(Entry{Kind: EntryOwner, ID: n + 1, Session: n + 100})
	}
	o := &a.owners
	o.young, o.old = map[uint64]owner{}, o.young
	delete(o.old, 2)
	a.forgetPeople(o.numbers[103])
	assert.Len(t, o.numbers, 3)
	assert.Equal(t, uint32(2), o.number(200), "the number is free")
	assert.Equal(t, uint64(102), o.people[o.find(3).n].key)
}
