// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package listen

import (
	"encoding/json"
	"net/http"
	"sync"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
)

// retryAfter is the pause, in seconds, that a refused client is asked for.
const retryAfter = "5"

// answer is the body of every answer. It never holds a part of what was sent.
type answer struct {
	Accepted int64            `json:"accepted"`
	Skipped  map[string]int64 `json:"skipped"` // without zeros
	Error    string           `json:"error,omitempty"`
}

func newAnswer(o *batch.Outcomes, text string) answer {
	a := answer{Accepted: o.OK(), Skipped: map[string]int64{}, Error: text}
	for reason, n := range o.Skipped() {
		if n > 0 {
			a.Skipped[string(reason)] = n
		}
	}
	return a
}

func (a answer) write(w http.ResponseWriter, status int) {
	body, err := json.Marshal(a)
	if err != nil {
		panic(err) // of numbers and strings
	}
	w.Header().Set("Content-Type", "application/json")
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.WriteHeader(status)
	// A client that does not take the answer repeats its request.
	_, _ = w.Write(append(body, '\n'))
}

// tally adds up what becomes of the batches of a request.
type tally struct {
	mu      sync.Mutex
	counts  batch.Outcomes
	pending int
	ended   bool
	settled chan struct{} // closed when the last batch of all is committed
}

func newTally() *tally { return &tally{settled: make(chan struct{})} }

// sent notes a batch before it goes on its way.
func (t *tally) sent() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pending++
}

// committed takes what became of a batch.
func (t *tally) committed(o *batch.Outcomes) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.Add(o)
	t.pending--
	t.settle()
}

// end says that no more batches come.
func (t *tally) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.settle()
}

func (t *tally) settle() {
	if t.ended && t.pending == 0 {
		close(t.settled)
	}
}

// result gives the counts so far, and whether they are all.
func (t *tally) result() (counts batch.Outcomes, all bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts, t.ended && t.pending == 0
}
