// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Journaled is an entry of the journal of live sources.
type Journaled struct {
	Source, Seq uint64
	Value       []byte // unsealed
}

// Saved gives the keys that begin with prefix, PrefixTotal or a longer one, and the values that they had at
// Open, unsealed, in the order of the keys. It gives each once and does not keep it.
func (l *Ledger) Saved(prefix string) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		keys := slices.DeleteFunc(slices.Collect(maps.Keys(l.saved)), func(key string) bool { return !strings.HasPrefix(key, prefix) })
		slices.Sort(keys)
		for _, key := range keys {
			value := l.saved[key]
			delete(l.saved, key)
			if !yield(key, value) {
				return
			}
		}
	}
}

// Journal gives the journal as it was at Open, by source and number. It gives each entry once and does not
// keep it.
func (l *Ledger) Journal() iter.Seq[Journaled] {
	return func(yield func(Journaled) bool) {
		entries := l.journal
		l.journal = nil
		slices.SortFunc(entries, func(x, y Journaled) int {
			return cmp.Or(cmp.Compare(x.Source, y.Source), cmp.Compare(x.Seq, y.Seq))
		})
		for _, entry := range entries {
			if !yield(entry) {
				return
			}
		}
	}
}
