// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package translate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelcol-agents/otelcol-agents/internal/lineage"
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/price"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

const transcriptsDir = "../testdata/transcripts"

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	open := func(path string) (io.ReadCloser, error) { return os.Open(path) }
	if line := lineage.Sidecar(path, open); line != nil {
		data = slices.Concat(line, []byte{'\n'}, data)
	}
	return data
}

// transcriptFolders has the files of the scenarios that need several, in the order in which they are read.
func transcriptFolders(t testing.TB) map[string][][]byte {
	t.Helper()
	entries, err := os.ReadDir(transcriptsDir)
	require.NoError(t, err)
	out := map[string][][]byte{}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		dir := filepath.Join(transcriptsDir, entry.Name())
		var paths []string
		require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if strings.HasSuffix(path, ".jsonl") {
				paths = append(paths, path)
			}
			return err
		}))
		files := map[string][]byte{}
		for _, p := range paths {
			files[p] = readFile(t, p)
		}
		slices.SortFunc(paths, func(a, b string) int {
			return lineage.Compare(lineage.Beginning(bytes.NewReader(files[a])), lineage.Beginning(bytes.NewReader(files[b])), a, b)
		})
		for _, p := range paths {
			out[entry.Name()] = append(out[entry.Name()], files[p])
		}
	}
	require.NotEmpty(t, out)
	return out
}

// transcripts has every scenario as one input: rows name their session and their agent, so that files may
// stand one behind the other.
func transcripts(t testing.TB) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	files, err := filepath.Glob(transcriptsDir + "/*.jsonl")
	require.NoError(t, err)
	for _, f := range files {
		out["transcripts/"+strings.TrimSuffix(filepath.Base(f), ".jsonl")] = readFile(t, f)
	}
	for name, files := range transcriptFolders(t) {
		out["transcripts/"+name] = bytes.Join(files, nil)
	}
	return out
}

// foldSources reads several sources, one after the other.
func foldSources(t testing.TB, set settings, sources ...[]byte) []translate.Output {
	t.Helper()
	cfg := session.NewConfig()
	cfg.Capture, cfg.Turn = set.capture, set.turn
	cfg.Prices = price.NewBook(price.Default())
	a := session.New(cfg)
	for _, data := range sources {
		read(t, a, data, set, false)
	}
	a.Close()
	return a.Take()
}

// spanIDs lists the spans, and what they hang below.
func spanIDs(outs []translate.Output) []string {
	var all []string
	for i := range outs {
		if sp := outs[i].Span; sp != nil {
			all = append(all, fmt.Sprintf("%x/%x below %x: %d", sp.TraceID, sp.SpanID, sp.ParentID, sp.Type))
		}
	}
	slices.Sort(all)
	return all
}

func tokenSum(outs []translate.Output) map[string]translate.Tokens {
	sum := map[string]translate.Tokens{}
	for i := range outs {
		if st := outs[i].Step; st != nil && st.Metric == translate.MetricTokens {
			was := sum[st.Model]
			was.Input += st.Tokens.Input
			was.CacheRead += st.Tokens.CacheRead
			was.CacheWrite += st.Tokens.CacheWrite
			was.Output += st.Tokens.Output
			sum[st.Model] = was
		}
	}
	return sum
}

func promptsIn(outs []translate.Output) (n int) {
	for i := range outs {
		if l := outs[i].Log; l != nil && l.Event == translate.EventPrompt {
			n++
		}
	}
	return n
}

// TestTranscriptTwice: what was read before says nothing new.
func TestTranscriptTwice(t *testing.T) {
	for name, data := range transcripts(t) {
		t.Run(name, func(t *testing.T) {
			once, twice := foldSources(t, settings{}, data), foldSources(t, settings{}, data, data)
			check(t, twice)
			assert.Equal(t, spanIDs(once), spanIDs(twice))
			assert.Equal(t, tokenSum(once), tokenSum(twice))
			assert.Equal(t, promptsIn(once), promptsIn(twice))
		})
	}
}

// TestTranscriptFilesInAnyOrder: the order of files changes neither ids nor totals. Only which of two
// sessions has what both of them hold depends on what is read first.
func TestTranscriptFilesInAnyOrder(t *testing.T) {
	const rounds = 24
	for name, files := range transcriptFolders(t) {
		for _, turn := range []bool{false, true} {
			t.Run(fmt.Sprint(name, turn), func(t *testing.T) {
				set := settings{turn: turn}
				want := foldSources(t, set, files...)
				check(t, want)
				rnd := rand.New(rand.NewPCG(1, uint64(len(name))))
				for range rounds {
					order := slices.Clone(files)
					rnd.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
					got := foldSources(t, set, order...)
					check(t, got)
					assert.Equal(t, tokenSum(want), tokenSum(got))
					if !strings.HasPrefix(name, "fork") {
						assert.Equal(t, promptsIn(want), promptsIn(got))
						assert.Equal(t, spanIDs(want), spanIDs(got))
					}
				}
			})
		}
	}
}

// asTranscript makes of a stream the files that the agent would have kept of the same session.
func asTranscript(t testing.TB, stream []byte) [][]byte {
	t.Helper()
	agents := map[string]string{} // by launching call
	files := map[string][]byte{}
	order := []string{""}
	for line := range bytes.Lines(stream) {
		var row map[string]any
		require.NoError(t, json.Unmarshal(line, &row))
		call, _ := row["parent_tool_use_id"].(string)
		if id, _ := row["tool_use_id"].(string); row["subtype"] == "task_started" && row["task_type"] == "local_agent" {
			agents[id], _ = row["task_id"].(string)
		}
		if row["type"] != "assistant" && row["type"] != "user" {
			continue
		}
		row["sessionId"], row["toolUseResult"], row["isSidechain"] = row["session_id"], row["tool_use_result"], call != ""
		if call != "" {
			require.Contains(t, agents, call)
			row["agentId"] = agents[call]
			if !slices.Contains(order, call) {
				order = append(order, call)
				files[call] = fmt.Appendf(nil, `{"type":"agentstream.sidecar","sidecar":{"toolUseId":%q}}`+"\n", call)
			}
		}
		for _, name := range []string{"session_id", "tool_use_result", "parent_tool_use_id", "task_description", "subagent_type"} {
			delete(row, name)
		}
		out, err := json.Marshal(row)
		require.NoError(t, err)
		files[call] = append(append(files[call], out...), '\n')
	}
	var all [][]byte
	for _, call := range order {
		all = append(all, files[call])
	}
	return all
}

// TestStreamAndTranscript: one session from both sources, whichever comes first, is what it is from one.
func TestStreamAndTranscript(t *testing.T) {
	for _, name := range []string{
		"plain-run", "several-results", "response-over-many-rows", "edits-with-patch", "exit-codes", "subagent-one", "subagents-parallel",
		"background-bash", "subagent-background", "mcp-tools", "skills", "cache-ttl-split", "interrupted-tool", "gap-makes-segment",
	} {
		t.Run(name, func(t *testing.T) {
			stream := readFile(t, "../testdata/claude/"+name+".jsonl")
			kept := asTranscript(t, stream)
			want := foldSources(t, settings{}, stream)
			for how, sources := range map[string][][]byte{
				"stream first":     append([][]byte{stream}, kept...),
				"transcript first": append(slices.Clone(kept), stream),
			} {
				got := foldSources(t, settings{}, sources...)
				check(t, got)
				assert.Equal(t, spanIDs(want), spanIDs(got), how)
				assert.Equal(t, tokenSum(want), tokenSum(got), how)
				assert.Equal(t, promptsIn(want), promptsIn(got), how)
			}
			var chats []string
			alone := foldSources(t, settings{}, kept...)
			check(t, alone)
			for _, id := range spanIDs(alone) {
				if !slices.Contains(spanIDs(want), id) {
					chats = append(chats, id)
				}
			}
			assert.Empty(t, chats, "the transcript alone gives other spans")
		})
	}
}

// TestBrokenStream: the transcript tells how a session ended whose stream broke off (ruling 37).
func TestBrokenStream(t *testing.T) {
	var stream []byte
	for line := range bytes.Lines(readFile(t, "../testdata/claude/plain-run.jsonl")) {
		if !bytes.Contains(line, []byte(`"type":"result"`)) {
			stream = append(stream, line...)
		}
	}
	outcome := func(sources ...[]byte) string {
		for _, out := range foldSources(t, settings{}, sources...) {
			if out.Span != nil && out.Span.Root != nil {
				return out.Span.Root.Outcome + " " + out.Span.ErrType
			}
		}
		return ""
	}
	kept := asTranscript(t, stream)
	assert.Equal(t, "incomplete incomplete_stream", outcome(stream))
	assert.Equal(t, "success ", outcome(kept...))
	assert.Equal(t, "success ", outcome(append([][]byte{stream}, kept...)...))
	assert.Equal(t, "success ", outcome(append(slices.Clone(kept), stream)...))
}

// TestMaxAge: what is too old leaves nothing but what something younger points at.
func TestMaxAge(t *testing.T) {
	data := readFile(t, transcriptsDir+"/turn-mode-agents/s.jsonl")
	began := time.Date(2026, 10, 11, 9, 0, 0, 0, time.UTC)
	young := func(now time.Time, maxAge time.Duration, turn bool) []translate.Output {
		cfg := session.NewConfig()
		cfg.MaxAge, cfg.Turn = maxAge, turn
		a := session.New(cfg)
		a.At(now.UnixNano())
		read(t, a, data, settings{}, false)
		a.Close()
		return a.Take()
	}
	assert.Equal(t, spanIDs(young(began, 0, false)), spanIDs(young(began, time.Hour, false)), "nothing is old")
	assert.Empty(t, young(began.Add(24*time.Hour), time.Hour, false), "everything is")

	all, some := young(began, 0, true), young(began.Add(time.Hour), time.Hour-70*time.Second, true)
	check := func(outs []translate.Output) (spans, links int) {
		for i := range outs {
			if sp := outs[i].Span; sp != nil {
				spans++
				links += len(sp.Links)
			}
		}
		return spans, links
	}
	spans, links := check(all)
	assert.Equal(t, []int{9, 2}, []int{spans, links})
	spans, links = check(some)
	assert.Equal(t, []int{4, 1}, []int{spans, links}, "the last two turns, the first of which links to nothing")
}

// TestManyRowsWithoutALauncher: what waits for a launcher is bounded, and comes in its order.
func TestManyRowsWithoutALauncher(t *testing.T) {
	const rows = 1<<14 + 100
	var data []byte
	for i := range rows {
		data = fmt.Appendf(data, `{"type":"assistant","sessionId":"s","uuid":"u%d","isSidechain":true,"agentId":"a%d","timestamp":%q,"message":{"id":"m%d","model":"claude-sonnet-5","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`+"\n",
			i, i%2, time.Date(2026, 10, 20, 9, 0, 0, i*int(time.Millisecond), time.UTC).Format(time.RFC3339Nano), i)
	}
	cfg := session.NewConfig()
	a := session.New(cfg)
	read(t, a, data, settings{}, false)
	early := a.Take()
	require.NotEmpty(t, early, "nothing went out before the end")
	a.Close()
	outs := append(early, a.Take()...)
	assert.Len(t, slices.Compact(spanIDs(outs)), rows+3)
	last := int64(0)
	for i := range outs {
		if sp := outs[i].Span; sp != nil && sp.Chat != nil {
			require.LessOrEqual(t, last, sp.End)
			last = sp.End
		}
	}
	assert.EqualValues(t, rows, tokenSum(outs)["claude-sonnet-5"].Input)
}

// TestTranscriptRowsInAnyOrder: files grow side by side, and nobody says which is looked at first. What is final, and
// how a call ended, must not depend on it.
func TestTranscriptRowsInAnyOrder(t *testing.T) {
	const rounds = 24
	for name, files := range transcriptFolders(t) {
		if strings.HasPrefix(name, "fork") {
			continue // which of two sessions has what both hold, the order decides
		}
		t.Run(name, func(t *testing.T) {
			want := foldSources(t, settings{}, files...)
			rnd := rand.New(rand.NewPCG(2, uint64(len(name))))
			for range rounds {
				w := newWorld(t, files, settings{}, false)
				w.run(w.order(rnd, true), rnd)
				check(t, w.outs)
				assert.Equal(t, tokenSum(want), tokenSum(w.outs))
				assert.Equal(t, spanIDs(want), spanIDs(w.outs))
				assert.Equal(t, callOutcomes(want), callOutcomes(w.outs))
			}
		})
	}
}

// callOutcomes has how each call ended.
func callOutcomes(outs []translate.Output) map[string]string {
	all := map[string]string{}
	for i := range outs {
		if sp := outs[i].Span; sp != nil && sp.Tool != nil {
			all[sp.Tool.CallID] = sp.Tool.Outcome
		}
	}
	return all
}
