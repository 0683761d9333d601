// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// An agent's collector reads much once, at its start, and little from then on. The Go runtime keeps what the
// first reading took, and an idle process collects garbage every two minutes only. So while little is
// allocated, memory is given back to the system.
const (
	givesEvery = 30 * time.Second
	// idleAllocs is what an idle process allocates at most between two looks. One that works collects its
	// garbage by itself, and needs the memory that it has again at once.
	idleAllocs = 256 << 20
	// leastSpare is what is worth a collection; so is a quarter of what is in use, which is what makes it cost.
	leastSpare = 32 << 20
)

// heap is how the memory of the process is used, in bytes.
type heap struct {
	allocs  uint64 // allocated since the start
	objects uint64 // live ones and garbage
	live    uint64 // of them at the last collection
	free    uint64 // neither used nor given back
}

func readHeap() heap {
	s := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(s)
	return heap{allocs: s[0].Value.Uint64(), objects: s[1].Value.Uint64(), live: s[2].Value.Uint64(), free: s[3].Value.Uint64()}
}

// spares reports whether the process was idle since before and has memory to give back.
func (h heap) spares(before heap) bool {
	spare := h.free
	if h.objects > h.live {
		spare += h.objects - h.live
	}
	return h.allocs-before.allocs < idleAllocs && spare > max(leastSpare, h.live/4)
}

// giveBack gives memory back for as long as the process runs.
func giveBack() {
	before := readHeap()
	for range time.Tick(givesEvery) {
		now := readHeap()
		if now.spares(before) {
			debug.FreeOSMemory()
		}
		before = now
	}
}
