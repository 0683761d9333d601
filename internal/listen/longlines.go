// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package listen

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// longLine is how much of an incomplete line every source may hold.
	longLine = 1 << 20
	// longLines is how many sources may hold more, up to the limit of a line. It bounds the memory of
	// incomplete lines, which the budget of the engine does not know yet.
	longLines = 2
	// longLineTimeout bounds a line that holds a place, where nothing else bounds it: a body that stands
	// still must not keep the long lines of all others waiting.
	longLineTimeout = 5 * time.Minute
)

// LongLines lets two sources at a time hold more than 1 MiB of an incomplete line. The others are not
// read meanwhile. Nobody who has a place waits for another place, and what else he waits for, the
// budget of the engine, is given back by commits alone: there is no deadlock.
type LongLines struct{ places *semaphore.Weighted }

// NewLongLines is a LongLines with all places free.
func NewLongLines() *LongLines { return &LongLines{semaphore.NewWeighted(longLines)} }

func (l *LongLines) acquire(ctx context.Context) error { return l.places.Acquire(ctx, 1) }

func (l *LongLines) release() { l.places.Release(1) }
