// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"
	"time"
)

func generate(t testing.TB, o Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Claude(&b, o); err != nil {
		t.Fatalf("Claude(%+v): %v", o, err)
	}
	return b.Bytes()
}

func TestClaudeIsDeterministic(t *testing.T) {
	o := Options{Seed: 7, Lines: 2000, Sessions: 3, Partial: true}
	first := generate(t, o)
	if !bytes.Equal(first, generate(t, o)) {
		t.Error("the same options gave other bytes")
	}
	o.Seed++
	if bytes.Equal(first, generate(t, o)) {
		t.Error("another seed gave the same bytes")
	}
}

// TestClaudeShape keeps the mix near that of the recordings that the benchmarks stand for.
func TestClaudeShape(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3} {
		b := generate(t, Options{Seed: seed, Lines: 10000, Sessions: 2})
		average := float64(len(b)) / 10000
		share := float64(bytes.Count(b, []byte{'\\'})) / float64(len(b))
		if average < 3900 || average > 4900 {
			t.Errorf("seed %d: average line of %.0f bytes, want about 4400", seed, average)
		}
		if share < 0.07 || share > 0.086 {
			t.Errorf("seed %d: %.2f %% backslashes, want about 7.8", seed, 100*share)
		}
		longest := 0
		for line := range bytes.Lines(b) {
			longest = max(longest, len(line))
		}
		if longest < 100<<10 || longest > 512<<10 {
			t.Errorf("seed %d: longest line of %d bytes", seed, longest)
		}
	}
}

func TestClaudeResultBytes(t *testing.T) {
	small, large := generate(t, Options{Lines: 4000, ResultBytes: 500}), generate(t, Options{Lines: 4000, ResultBytes: 20000})
	if len(large) < 6*len(small) {
		t.Errorf("%d bytes with results of 20000, %d with 500", len(large), len(small))
	}
}

// row is what the tests read of a line.
type row struct {
	Type, Subtype string
	UUID          string    `json:"uuid"`
	Session       string    `json:"session_id"`
	Parent        *string   `json:"parent_tool_use_id"`
	Timestamp     time.Time `json:"timestamp"`
	Message       struct {
		ID, Model string
		Content   json.RawMessage
		Usage     *struct {
			Input  int `json:"input_tokens"`
			Output int `json:"output_tokens"`
			Read   int `json:"cache_read_input_tokens"`
			Write  int `json:"cache_creation_input_tokens"`
		}
	}
	Index      int `json:"result_index"`
	ModelUsage map[string]struct {
		InputTokens, OutputTokens, CacheReadInputTokens, CacheCreationInputTokens int
	}
}

type block struct {
	Type, ID string
	UseID    string `json:"tool_use_id"`
}

func TestClaudeIsAStream(t *testing.T) {
	tests := map[string]Options{
		"smallest":     {Seed: 1, Lines: 2},
		"short":        {Seed: 1, Lines: 9, Sessions: 3},
		"one session":  {Seed: 1, Lines: 3000},
		"many":         {Seed: 2, Lines: 3001, Sessions: 8},
		"partial":      {Seed: 3, Lines: 3000, Sessions: 2, Partial: true},
		"chosen start": {Seed: 4, Lines: 400, StartTime: time.Date(2026, 10, 20, 6, 0, 0, 0, time.FixedZone("", 7200))},
	}
	for name, o := range tests {
		t.Run(name, func(t *testing.T) {
			check(t, o, generate(t, o))
		})
	}
}

func check(t *testing.T, o Options, stream []byte) {
	t.Helper()
	type usage [4]int
	var (
		lines   int
		clock   time.Time
		uuids   = map[string]bool{}
		open    = map[string]bool{}
		ended   = map[string]bool{}
		results = map[string]int{}
		seen    = map[string]map[string]usage{} // by session and message id
		models  = map[string]string{}
	)
	for line := range bytes.Lines(stream) {
		lines++
		var r row
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("line %d: %v", lines, err)
		}
		if r.Session == "" || r.UUID == "" || uuids[r.UUID] {
			t.Fatalf("line %d: session %q, uuid %q missing or seen before", lines, r.Session, r.UUID)
		}
		uuids[r.UUID] = true
		if !r.Timestamp.IsZero() {
			if r.Timestamp.Before(clock) {
				t.Fatalf("line %d: %v is before %v", lines, r.Timestamp, clock)
			}
			if clock.IsZero() && !o.StartTime.IsZero() && r.Timestamp.Sub(o.StartTime) > time.Second {
				t.Errorf("the first record is at %v, want %v", r.Timestamp, o.StartTime)
			}
			clock = r.Timestamp
		}
		ended[r.Session] = r.Type == "result"
		var blocks []block
		switch r.Type {
		case "assistant", "user":
			if r.Message.Content[0] == '[' {
				if err := json.Unmarshal(r.Message.Content, &blocks); err != nil {
					t.Fatalf("line %d: %v", lines, err)
				}
			}
		case "result":
			if r.Index != results[r.Session] {
				t.Errorf("line %d: result_index %d, want %d", lines, r.Index, results[r.Session])
			}
			results[r.Session]++
			sums := map[string]usage{}
			for id, u := range seen[r.Session] {
				s := sums[models[id]]
				for i := range u {
					s[i] += u[i]
				}
				sums[models[id]] = s
			}
			for m, s := range sums {
				u := r.ModelUsage[m]
				total := usage{u.InputTokens, u.OutputTokens, u.CacheReadInputTokens, u.CacheCreationInputTokens}
				if m == mainModel.id && total != s {
					t.Errorf("line %d: totals of %s are %v, its rows say %v", lines, m, total, s)
				}
				for i := range s {
					if total[i] < s[i] {
						t.Errorf("line %d: totals of %s are %v, less than its rows' %v", lines, m, total, s)
					}
				}
			}
		}
		for _, b := range blocks {
			switch b.Type {
			case "tool_use":
				if open[b.ID] {
					t.Errorf("line %d: %s is called twice", lines, b.ID)
				}
				open[b.ID] = true
			case "tool_result":
				if !open[b.UseID] {
					t.Errorf("line %d: result of %s, which is not open", lines, b.UseID)
				}
				delete(open, b.UseID)
			}
		}
		if u := r.Message.Usage; u != nil {
			if seen[r.Session] == nil {
				seen[r.Session] = map[string]usage{}
			}
			old := seen[r.Session][r.Message.ID]
			seen[r.Session][r.Message.ID] = usage{u.Input, max(old[1], u.Output), u.Read, u.Write}
			models[r.Message.ID] = r.Message.Model
		}
	}
	if lines != o.Lines {
		t.Errorf("%d lines, want %d", lines, o.Lines)
	}
	if len(open) > 0 {
		t.Errorf("%d calls without a result", len(open))
	}
	if len(ended) != max(o.Sessions, 1) {
		t.Errorf("%d sessions, want %d", len(ended), max(o.Sessions, 1))
	}
	for id, end := range ended {
		if !end {
			t.Errorf("session %s does not end with a result", id)
		}
	}
}

func TestClaudeRefuses(t *testing.T) {
	for name, o := range map[string]Options{
		"too few lines":         {Lines: 5, Sessions: 3},
		"negative sessions":     {Lines: 10, Sessions: -1},
		"negative result bytes": {Lines: 10, ResultBytes: -1},
	} {
		if err := Claude(io.Discard, o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestClaudeReportsWriteErrors(t *testing.T) {
	r, w := io.Pipe()
	if err := r.CloseWithError(io.ErrShortWrite); err != nil {
		t.Fatal(err)
	}
	if err := Claude(w, Options{Lines: 1000}); err == nil {
		t.Error("no error from a writer that refuses")
	}
}

type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func BenchmarkClaude(b *testing.B) {
	for b.Loop() {
		var n counter
		if err := Claude(&n, Options{Seed: 1, Lines: 20000, Sessions: 4}); err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(n))
	}
	b.ReportAllocs()
}
