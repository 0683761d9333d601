// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package translate_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/detect"
	"github.com/otelcol-agents/otelcol-agents/translate/ids"
	"github.com/otelcol-agents/otelcol-agents/translate/price"
	"github.com/otelcol-agents/otelcol-agents/translate/redact"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

// scenarios has the sources of every situation, several where it takes several.
func scenarios(t testing.TB) map[string][][]byte {
	t.Helper()
	out := map[string][][]byte{}
	for name, data := range situations(t) {
		out[name] = [][]byte{data}
	}
	maps.Copy(out, folders(t))
	for name, files := range transcriptFolders(t) {
		out["transcripts/"+name] = files
	}
	return out
}

// seeded is a source of random numbers that is the same for the same name.
func seeded(name string, n int) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(h.Sum64(), uint64(n)))
}

// stored is what a ledger would keep.
type stored struct {
	sessions map[uint64]*session.Memory
	entries  []session.Entry
	gone     bool // the sources cannot be read again
}

func newStored() *stored { return &stored{sessions: map[uint64]*session.Memory{}} }

func (m *stored) recall(key uint64) *session.Memory {
	known := m.sessions[key]
	if known == nil {
		return nil
	}
	return &session.Memory{State: known.State, Left: slices.Clone(known.Left), Rebuild: !m.gone}
}

func (m *stored) take(t testing.TB, a *session.Assembler) {
	t.Helper()
	for _, c := range a.Changes() {
		known := m.sessions[c.Key]
		if known == nil {
			known = &session.Memory{}
			m.sessions[c.Key] = known
		}
		assert.Equal(t, c.Key, session.Key(c.State.Agent, c.State.ID))
		known.State, known.Left = c.State, append(known.Left, c.Left...)
	}
	m.entries = append(m.entries, a.Learned()...)
}

// file is a source that is read line by line, and again.
type file struct {
	lines  [][]byte
	data   []byte
	format translate.Format
	read   int
	silent int // lines of it that were there before
	src    *session.Source
	dec    lineDecoder
	named  bool
}

func newFile(data []byte) *file {
	f := &file{data: data, format: formatOf(data)}
	for line := range bytes.SplitSeq(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), []byte("\n")) {
		if line = bytes.TrimSuffix(line, []byte("\r")); len(bytes.TrimSpace(line)) > 0 {
			f.lines = append(f.lines, line)
		}
	}
	return f
}

func (f *file) open(t testing.TB, a *session.Assembler, set settings) {
	t.Helper()
	red, err := redact.New(true, nil)
	require.NoError(t, err)
	f.dec = newDecoder(f.format, decode.Options{Capture: set.capture, MaxContentBytes: 8192, Redactor: red})
	f.src = a.Open(session.SourceInfo{
		Format: f.format, Agent: detect.Agent(f.format), ModTime: modTime, Behind: func() bool { return false },
	})
	f.named = false
}

func (f *file) step(a *session.Assembler, n int) {
	a.Silent(n < f.silent)
	defer a.Silent(false)
	for _, d := range f.dec.Decode(bytes.Clone(f.lines[n]), nil) {
		if r := d.Record; !f.named && r != nil && r.Context == nil && r.Sidecar == nil {
			f.src.Derive(ids.Session(detect.Agent(f.format), f.lines[n]))
			f.named = true
		}
		a.Step(f.src, &d)
	}
}

// world folds a scenario, and may lose its memory meanwhile.
type world struct {
	t     *testing.T
	set   settings
	files []*file
	cfg   session.Config
	a     *session.Assembler
	mem   *stored
	outs  []translate.Output
	now   int64
	// asItCame says that lines are read again in the order in which they came, not source by source.
	asItCame bool
}

func newWorld(t *testing.T, sources [][]byte, set settings, remembers bool) *world {
	t.Helper()
	w := &world{t: t, set: set, mem: newStored(), cfg: session.NewConfig(), now: modTime}
	w.cfg.Capture, w.cfg.Turn = set.capture, set.turn
	w.cfg.Prices = price.NewBook(price.Default())
	if remembers {
		w.cfg.Recall = w.mem.recall
	}
	for _, data := range sources {
		w.files = append(w.files, newFile(data))
	}
	w.begin()
	return w
}

func (w *world) begin() {
	w.a = session.New(w.cfg)
	for _, e := range w.mem.entries {
		w.a.Learn(e)
	}
	w.open()
}

func (w *world) open() {
	w.a.At(w.now)
	for _, f := range w.files {
		f.open(w.t, w.a, w.set)
	}
}

func (w *world) take() {
	w.outs = append(w.outs, w.a.Take()...)
	if w.cfg.Recall != nil {
		w.mem.take(w.t, w.a)
	}
}

// reread folds what was read, source by source in some order, or as it came.
func (w *world) reread(rnd *rand.Rand, came []int) {
	if w.asItCame {
		read := make([]int, len(w.files))
		for _, i := range came {
			w.files[i].step(w.a, read[i])
			read[i]++
		}
	} else {
		for _, i := range rnd.Perm(len(w.files)) {
			for n := range w.files[i].read {
				w.files[i].step(w.a, n)
			}
		}
	}
	for _, key := range slices.Collect(w.a.Oldest()) {
		w.a.Rebuilt(key)
	}
	w.take()
}

// event is what happens at one point of a run.
type event struct {
	at     int  // after so many lines
	due    bool // the clock goes on by two hours
	lose   bool // the process ends and another one begins
	forget bool // its sessions leave memory
}

// run folds the lines of all files in the given order of files.
func (w *world) run(order []int, rnd *rand.Rand, events ...event) {
	for n := 0; n <= len(order); n++ {
		for _, e := range events {
			if e.at != n {
				continue
			}
			w.take()
			switch {
			case e.due:
				for range 2 { // the first may only find that nothing is unread
					w.now += int64(2 * time.Hour)
					w.a.Due(w.now)
				}
				w.take()
			case e.lose:
				w.begin()
				w.reread(rnd, order[:n])
			case e.forget:
				keys := slices.Collect(w.a.Oldest())
				if slices.ContainsFunc(keys, w.a.Busy) {
					continue
				}
				w.a.Forget(keys)
				assert.Empty(w.t, slices.Collect(w.a.Oldest()))
				w.open()
				w.reread(rnd, order[:n])
			}
		}
		if n == len(order) {
			break
		}
		f := w.files[order[n]]
		f.step(w.a, f.read)
		f.read++
	}
	for _, f := range w.files {
		w.a.End(f.src)
	}
	w.a.Close()
	w.take()
}

// order is an order in which the lines of the files may come.
func (w *world) order(rnd *rand.Rand, mixed bool) []int {
	var out []int
	for i, f := range w.files {
		for range f.lines {
			out = append(out, i)
		}
	}
	if mixed {
		rnd.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	}
	return out
}

// series are the labels of a step.
type series struct {
	metric                                  translate.Metric
	agent, model, provider, tool, label, er string
	extension, subagent                     bool
}

type amount struct {
	n      int
	value  float64
	tokens translate.Tokens
}

// summary is what a run has sent, in a form that can be compared.
type summary struct {
	spans, logs map[string]string
	steps       map[series]amount
}

func summarize(t testing.TB, outs []translate.Output) summary {
	t.Helper()
	s := summary{map[string]string{}, map[string]string{}, map[series]amount{}}
	for i := range outs {
		switch o := &outs[i]; {
		case o.Span != nil:
			id := fmt.Sprintf("%x/%x", o.Span.TraceID, o.Span.SpanID)
			assert.NotContains(t, s.spans, id, "a span twice")
			b, err := json.Marshal(o.Span)
			require.NoError(t, err)
			s.spans[id] = string(b)
		case o.Log != nil:
			id := fmt.Sprintf("%x", o.Log.UID)
			assert.NotContains(t, s.logs, id, "a log twice: %s", o.Log.Event)
			b, err := json.Marshal(o.Log)
			require.NoError(t, err)
			s.logs[id] = string(b)
		default:
			st := o.Step
			k := series{st.Metric, st.Agent, st.Model, st.Provider, st.Tool, st.Label, st.ErrType, st.Extension, st.Subagent}
			x := s.steps[k]
			if st.Metric != translate.MetricTokens && st.Metric != translate.MetricActive && st.Metric != translate.MetricCost {
				x.n++
			}
			x.value += st.Value
			x.tokens.Input += st.Tokens.Input
			x.tokens.CacheRead += st.Tokens.CacheRead
			x.tokens.CacheWrite += st.Tokens.CacheWrite
			x.tokens.Output += st.Tokens.Output
			x.tokens.Reasoning += st.Tokens.Reasoning
			s.steps[k] = x
		}
	}
	for k, x := range s.steps {
		x.value = float64(int64(x.value*1e9+0.5)) / 1e9
		s.steps[k] = x
	}
	return s
}

// differences tells in which fields two values differ.
func differences(path string, want, got any) []string {
	if m, ok := want.(map[string]any); ok {
		if o, ok := got.(map[string]any); ok {
			var out []string
			for _, k := range slices.Sorted(maps.Keys(m)) {
				out = append(out, differences(path+"."+k, m[k], o[k])...)
			}
			return out
		}
	}
	if a, b := fmt.Sprint(want), fmt.Sprint(got); a != b {
		return []string{fmt.Sprintf("%s: %.200s, now %.200s", path, a, b)}
	}
	return nil
}

// compare tells in what two maps of outputs differ.
func compare(what string, want, got map[string]string) (out []string) {
	parse := func(s string) (v map[string]any) {
		_ = json.Unmarshal([]byte(s), &v)
		return v
	}
	for _, id := range slices.Sorted(maps.Keys(want)) {
		if _, ok := got[id]; !ok {
			out = append(out, fmt.Sprintf("%s is missing: %s %.1000s", what, id, want[id]))
		} else if want[id] != got[id] {
			v := parse(want[id])
			for _, d := range differences("", v, parse(got[id])) {
				out = append(out, fmt.Sprintf("%s %v%v %s differs: %s", what, v["Type"], v["Event"], id, d))
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[id]; !ok {
			out = append(out, fmt.Sprintf("%s is new: %.1000s", what, got[id]))
		}
	}
	return out
}

// compareRuns tells in what two runs differ.
func compareRuns(want, got summary) []string {
	out := append(compare("span", want.spans, got.spans), compare("log", want.logs, got.logs)...)
	for k, x := range want.steps {
		if y := got.steps[k]; x != y {
			out = append(out, fmt.Sprintf("step %+v: %+v, now %+v", k, x, y))
		}
	}
	for k, y := range got.steps {
		if _, ok := want.steps[k]; !ok && y != (amount{}) {
			out = append(out, fmt.Sprintf("step %+v is new: %+v", k, y))
		}
	}
	return out
}

// TestRecallUndisturbed shows that it costs nothing of what leaves to remember sessions.
func TestRecallUndisturbed(t *testing.T) {
	for name, sources := range scenarios(t) {
		t.Run(name, func(t *testing.T) {
			plain := newWorld(t, sources, settingsOf(name), false)
			order := plain.order(seeded(name, 0), false)
			plain.run(order, nil)
			w := newWorld(t, sources, settingsOf(name), true)
			w.run(order, nil)
			assert.Empty(t, compareRuns(summarize(t, plain.outs), summarize(t, w.outs)))
			for _, m := range w.mem.sessions {
				assert.True(t, m.Closed || len(m.Left) == 0, m.ID)
			}
		})
	}
}

// loose leaves out of a summary what the order of the sources decides: content, times, and which row raised a sum.
func (s summary) loose() summary {
	out := summary{map[string]string{}, map[string]string{}, map[series]amount{}}
	for id := range s.spans {
		out.spans[id] = ""
	}
	for id, log := range s.logs {
		if !strings.Contains(log, `"Event":"orchestration"`) { // by the agent, or else by the call that launched it
			out.logs[id] = ""
		}
	}
	for k, x := range s.steps {
		if slices.Contains([]translate.Metric{
			translate.MetricInferenceDuration, translate.MetricAgentDuration, translate.MetricToolDuration, translate.MetricAgentTools,
		}, k.metric) {
			continue
		}
		k = series{metric: k.metric, agent: k.agent, model: k.model}
		was := out.steps[k]
		x.n, x.value = x.n+was.n, x.value+was.value
		x.tokens.Input += was.tokens.Input
		x.tokens.CacheRead += was.tokens.CacheRead
		x.tokens.CacheWrite += was.tokens.CacheWrite
		x.tokens.Output += was.tokens.Output
		x.tokens.Reasoning += was.tokens.Reasoning
		out.steps[k] = x
	}
	return out
}

// ordered are the scenarios whose content depends on the order in which their sources are read, or on when the
// clock found nothing unread. What left stays as it was; what has not left yet is told as the later order has it.
var ordered = map[string]string{
	"rollout-archived-copy":           "a row is of the file that is read first",
	"rollout-subagent-alone":          "the session begins with the row that is read first: it does not wait for its parent again",
	"transcripts/turn-mode-agents":    "a subagent without a launcher is closed as what is known of it by then",
	"rollout-subagent-with-history":   "the session begins with the row that is read first",
	"rollout-subagents":               "a subagent begins with the first that tells of it: its launcher or its own file",
	"transcripts/agent-in-background": "a call of a subagent that ends by its launcher's word is incomplete if its result was not read yet",
	"transcripts/agent-progress":      "a subagent begins with the first that tells of it: its launcher or its own file",
	"transcripts/subagents":           "a call of a subagent that ends by its launcher's word is incomplete if its result was not read yet",
}

// inOrder are the scenarios whose sources are read again in the order in which they were read first.
var inOrder = map[string]string{
	"rollout-with-stream":        "stream and rollout tell the same calls under different ids: the first one that is read names them",
	"transcripts/fork-restamped": "rows without an id are named after their place among all rows of the session",
}

// unclocked are the scenarios that the clock does not close in the middle.
var unclocked = map[string]string{
	"rollout-subagent-alone":        "a thread whose parent was not read far enough by then is given up",
	"rollout-subagent-with-history": "the same",
	"rollout-subagents":             "the same",
	"rollout-archived-copy":         "a response of a rollout that is closed before its id was told goes by another one",
}

var recallRuns = flag.Int("recall-runs", 12, "how often memory is lost in every scenario")

// TestRecall loses memory at random points of every scenario, and folds the sources again in another order: what
// leaves in all lives is what leaves in one.
func TestRecall(t *testing.T) {
	for name, sources := range scenarios(t) {
		t.Run(name, func(t *testing.T) {
			for n := range *recallRuns {
				rnd := seeded(name, n)
				plain := newWorld(t, sources, settingsOf(name), false)
				order := plain.order(rnd, n%2 == 1)
				at := func() int { return rnd.IntN(len(order) + 1) }
				var common, events []event
				if n%4 >= 2 && unclocked[name] == "" {
					common = append(common, event{at: at(), due: true})
				}
				for range 1 + n/6 {
					events = append(events, event{at: at(), lose: n%3 != 0, forget: n%3 == 0})
				}
				plain.run(order, nil, common...)
				w := newWorld(t, sources, settingsOf(name), true)
				w.asItCame = inOrder[name] != "" || n%5 == 4
				w.run(order, rnd, append(slices.Clone(common), events...)...)
				want, got := summarize(t, plain.outs), summarize(t, w.outs)
				if ordered[name] != "" {
					want, got = want.loose(), got.loose()
				}
				for _, d := range compareRuns(want, got) {
					t.Errorf("run %d of %d lines, mixed %t, %+v, %+v: %s", n, len(order), n%2 == 1, common, events, d)
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}

// TestRecallSilent is TestRecall for files that were there, in part, before anybody read them.
func TestRecallSilent(t *testing.T) {
	for name, sources := range scenarios(t) {
		t.Run(name, func(t *testing.T) {
			for n := range *recallRuns {
				rnd := seeded(name, n)
				plain, w := newWorld(t, sources, settingsOf(name), false), newWorld(t, sources, settingsOf(name), true)
				for i, f := range plain.files {
					f.silent = rnd.IntN(len(f.lines) + 1)
					w.files[i].silent = f.silent
				}
				order := plain.order(rnd, false)
				var events []event
				for range 1 + n%3 {
					events = append(events, event{at: rnd.IntN(len(order) + 1), lose: true})
				}
				plain.run(order, nil)
				// What one file tells silently, and another one does not, is as silent as the first has it.
				w.asItCame = inOrder[name] != "" || ordered[name] != "" || n%2 == 0
				w.run(order, rnd, events...)
				want, got := summarize(t, plain.outs), summarize(t, w.outs)
				if ordered[name] != "" {
					want, got = want.loose(), got.loose()
				}
				for _, d := range compareRuns(want, got) {
					t.Errorf("run %d of %d lines, %+v: %s", n, len(order), events, d)
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}

// TestThreadOfASessionThatIsNotInMemory: a subagent's file goes into its parent's session in any process, whatever
// is in memory there.
func TestThreadOfASessionThatIsNotInMemory(t *testing.T) {
	sources := folders(t)["rollout-subagents"]
	plain := newWorld(t, sources, settings{}, false)
	plain.run(plain.order(nil, false), nil)
	homes := map[string]bool{}
	for _, o := range plain.outs {
		if o.Span != nil {
			homes[o.Span.Session] = true
		}
	}
	w := newWorld(t, sources, settings{}, true)
	for _, f := range w.files {
		for n := range f.lines[:len(f.lines)/2] {
			f.step(w.a, n)
			f.read++
		}
	}
	w.take()
	for i := range w.files {
		w.begin()
		for n := range w.files[i].read {
			w.files[i].step(w.a, n)
		}
		for key := range w.a.Oldest() {
			assert.True(t, homes[w.mem.sessions[key].ID], "file %d belongs to one of the sessions", i)
		}
	}
}
