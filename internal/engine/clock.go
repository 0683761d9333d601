// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import "time"

// tickInterval is how often the clock looks for what it closes.
const tickInterval = 250 * time.Millisecond

// clock is the time by which sessions linger and idle. It stands still while the delivery does: an
// outage must not close sessions whose next row has been waiting all the while.
type clock struct {
	at   int64 // what it shows, Unix nanoseconds
	wall time.Time
}

func (c *clock) start(now time.Time) { c.at, c.wall = now.UnixNano(), now }

// advance moves the clock with the wall clock, unless the delivery stood since the last call. A step is
// at most two ticks: a longer one means that the process or its fold was standing.
func (c *clock) advance(now time.Time, stood bool) int64 {
	step := now.Sub(c.wall)
	c.wall = now
	if !stood && step > 0 {
		c.at += int64(min(step, 2*tickInterval))
	}
	return c.at
}
