// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package session

import "github.com/otelcol-agents/otelcol-agents/translate"

// State is what is remembered of a session that is not in memory. It has no content.
type State struct {
	Agent, ID string
	Format    translate.Format // of its first source
	Version   string           // of the agent program
	Model     string           // with which it was started
	Provider  string           // as it was told then
	Closed    bool             // nothing of it is open: its roots are out
	Broken    bool             // it was closed by an event: the next row begins a new segment
	Live      bool             // a live source fed it, whose rows cannot be read again
	Folded    int64            // when its latest record was folded, by the clock of Assembler.At
	Due       int64            // when that clock closes it if nothing comes, Unix nanoseconds; 0 = it is closed
	Since     int64            // when its first record was folded, by the same clock: what was too old then stays so
	Segments  int              // begun so far
	Breaks    []Break
	Refs      []SegmentRef
	Counted   []Counted
	Used      []ModelUse
	Process   *ProcessTotals // of the process whose latest request is over; nil where none was told
	// Hashes are those of records without an id, one list a live source, in order: a request that is sent
	// again is known by them (ruling 44).
	Hashes [][]uint64
}

// ModelUse is what a session has used of one model (ruling 45).
type ModelUse struct {
	Label     string           // of the model
	Responses translate.Tokens // by its responses
	Totals    translate.Tokens // by accepted steps of running totals
	Out       translate.Tokens // what it contributed: the larger of both
}

// ProcessTotals are the running totals that a process told last: what it tells next is compared with them.
type ProcessTotals struct {
	Cost   float64 // USD
	Index  translate.Opt[int64]
	Models []ModelTotal
}

// ModelTotal is the running total of one model.
type ModelTotal struct {
	Label  string // of the model
	Tokens translate.Tokens
	Cost   float64 // USD
}

// SegmentRef is what links to a segment need.
type SegmentRef struct {
	First int64 // time of its first row
	Last  int64 // time of its latest row
	Trace translate.TraceID
	Root  translate.SpanID
	Quiet bool // nothing of it was sent
	Sent  bool // its root was
}

// Break is where the clock closed a session that went on: its records do not tell that.
type Break struct {
	Source uint64 // hash of the first record of the source that fed it
	Rows   int64  // of the source so far
}

// Counted is what a session has contributed to one metric series.
type Counted struct {
	Series uint64 // hash of metric and labels
	N      int64  // steps
	Value  float64
	Tokens translate.Tokens
}

// Memory is a State on its way back.
type Memory struct {
	State
	// Left are the keys of the spans and log records that left.
	Left []uint64
	// Rebuild says that the session's sources are about to be folded again from their beginnings, so that it
	// becomes what it was. Otherwise they are gone: it goes on in a new segment.
	Rebuild bool
	// From is what it goes on from where that is not State: rows that came after it are about to be folded
	// again, those before are gone. nil = State.
	From *State
}

// Change is what a session has become, and the keys of what left since it was last told.
type Change struct {
	Key   uint64 // see Key
	State State
	Left  []uint64
}

// EntryKind is what an Entry tells about its id.
type EntryKind uint8

// The kinds of entries.
const (
	EntryOwner  EntryKind = iota + 1 // a record or response belongs to the session
	EntryUsage                       // a response's usage was counted, for the session
	EntryThread                      // a thread belongs to the session
)

// Entry is a fact about an id that outlives the session. Of several entries of one kind and id, the first
// tells the session, of a thread the last, and the highest values count.
type Entry struct {
	Kind    EntryKind
	ID      uint64 // hash
	Session uint64 // see Key
	Tokens  translate.Tokens
	Cost    float64 // USD
}
