// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"sync"
)

// budget bounds the bytes that are read ahead of the fold. The source that is being folded is never
// kept waiting by sources that were read ahead of it: with nothing of it in flight its next batch is
// let in over the limit, or the two would wait for each other.
type budget struct {
	mu      sync.Mutex
	freed   *sync.Cond
	limit   int64
	used    int64
	current int           // number of the source that is being folded
	held    map[int]int64 // bytes in flight by source
}

func newBudget(limit int64) *budget {
	b := &budget{limit: limit, held: map[int]int64{}}
	b.freed = sync.NewCond(&b.mu)
	return b
}

// acquire takes n bytes for a batch of a source; it returns false when ctx ends first.
func (b *budget) acquire(ctx context.Context, source int, n int64) bool {
	stop := context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.freed.Broadcast()
	})
	defer stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		if ctx.Err() != nil {
			return false
		}
		// A batch that is larger than the whole budget goes alone.
		if b.used == 0 || b.used+n <= b.limit || source == b.current && b.held[source] == 0 {
			b.used += n
			b.held[source] += n
			return true
		}
		b.freed.Wait()
	}
}

func (b *budget) release(source int, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	if b.held[source] -= n; b.held[source] == 0 {
		delete(b.held, source)
	}
	b.freed.Broadcast()
}

// fold says which source is being folded now.
func (b *budget) fold(source int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current = source
	b.freed.Broadcast()
}
