// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package batch

import (
	"iter"
	"slices"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

// outcomes is the number of reasons for skipping, translate.Skips.
const outcomes = 7

// Outcomes counts lines by what became of them. The zero value counts none.
type Outcomes struct {
	ok      int64
	records int64
	skipped [outcomes]int64 // in the order of translate.Skips
}

// line is what became of one line. A reason counts once a line, however many parts of the line it stands
// for.
type line struct {
	record  bool
	skipped [outcomes]bool
}

func lineOf(units []translate.Decoded) (l line) {
	for i := range units {
		u := &units[i]
		switch {
		case u.Diagnostic != nil:
			l.skipped[index(u.Diagnostic.Skip)] = true
		case u.Record != nil && u.Record.Context == nil:
			l.record = true
			l.skipped[index(translate.SkipUnknownType)] = l.skipped[index(translate.SkipUnknownType)] || u.Record.UnknownType
			l.skipped[index(translate.SkipInvalidTime)] = l.skipped[index(translate.SkipInvalidTime)] || u.Record.InvalidTime
		}
	}
	return l
}

// count adds a line n times.
func (n *Outcomes) count(l line, times int64) {
	for i, yes := range l.skipped {
		if yes {
			n.skipped[i] += times
		}
	}
	if !l.record {
		return
	}
	n.records += times
	if !l.skipped[index(translate.SkipUnknownType)] && !l.skipped[index(translate.SkipInvalidTime)] && !l.skipped[index(translate.SkipTooOld)] {
		n.ok += times
	}
}

func index(s translate.Skip) int { return slices.Index(translate.Skips, s) }

// Add adds what o counted.
func (n *Outcomes) Add(o *Outcomes) {
	n.ok += o.ok
	n.records += o.records
	for i, c := range o.skipped {
		n.skipped[i] += c
	}
}

// OK is the number of lines that gave a record of a known type with a usable time, or none, on it.
func (n *Outcomes) OK() int64 { return n.ok }

// Records is the number of lines that gave a record of any kind.
func (n *Outcomes) Records() int64 { return n.records }

// Skipped gives every reason with its count, zeros included, in the order of translate.Skips.
func (n *Outcomes) Skipped() iter.Seq2[translate.Skip, int64] {
	return func(yield func(translate.Skip, int64) bool) {
		for i, c := range n.skipped {
			if !yield(translate.Skips[i], c) {
				return
			}
		}
	}
}

// Count notes n lines that were skipped for a reason.
func (n *Outcomes) Count(reason translate.Skip, lines int64) { n.skipped[index(reason)] += lines }

// Total is the number of lines with a reason.
func (n *Outcomes) Total() (total int64) {
	for _, c := range n.skipped {
		total += c
	}
	return total
}

// Lost is the number of lines that gave no record. Records of an unknown type, with a bad time or of too
// great an age count as what they are: a new version of an agent is no failure.
func (n *Outcomes) Lost() int64 {
	return n.Total() - n.skipped[index(translate.SkipUnknownType)] - n.skipped[index(translate.SkipInvalidTime)] -
		n.skipped[index(translate.SkipTooOld)]
}
