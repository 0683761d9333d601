// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package tail

import (
	"io/fs"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
)

// file is one file that is followed, under whatever names.
//
// It is idle, or queued for a turn, or in one. In a turn all but the first group of fields belong to the
// turn; else they, too, are guarded by Tailer.mu.
type file struct {
	id     identity
	number ledger.FileID // set before its first turn

	// Guarded by Tailer.mu always.
	paths   []string // names it was found under, the one in use first
	name    string   // the latest of them, for reports
	state   state
	size    int64     // as last seen
	modTime time.Time // as last seen
	changed time.Time // when it was last seen to be written
	next    time.Time // when to look at it again
	recheck bool      // have a turn although nothing seems to have changed
	try     bool      // have a turn for the unterminated tail
	lost    int       // number of scans begun when its last name went; 0 with a name
	gone    bool      // nothing more will come: read to the end and end its input
	used    int64     // number of its latest turn
	awaited bool      // it holds back Config.CaughtUp
	goal    int64     // the size up to which it does
	stream  *stream   // nil until there is something to read

	handle   *os.File // nil while cold
	pos      int64    // what is before was handed over or passed over
	scanned  int64    // no line feed is in [pos, scanned)
	over     bool     // pos is inside a line that is too long: pass over the rest of it
	tried    bool     // the tail up to scanned is no complete object
	head     mark     // of the first bytes
	frontier mark     // of the bytes before pos
	edge     mark     // of the bytes before scanned
	warned   bool     // of a line that was too long
	failing  bool     // of being unreadable

	epoch      uint32
	start      int64           // see ledger.Progress
	began      int64           // likewise; 0 = not known
	last       ledger.Progress // what was told last: at the claim, then with each batch
	resolvedOf string          // the name that last.Path is the resolved one of
	known      bool            // an earlier process, or an earlier following, had read of it
}

type state int

const (
	idle state = iota
	queued
	running
)

// stream is the file's way into the engine. A rewritten file begins a new one, which what is still to be
// committed of the old one does not touch.
type stream struct {
	Input
	introduced bool         // its first batch is out
	committed  atomic.Int64 // everything before was accepted, or refused for good
}

// Times after the latest change of a file.
const (
	hotFor  = 10 * time.Second // look at it at each poll, and keep its descriptor
	warmFor = time.Minute
	tailAge = 5 * time.Second // take an unterminated tail that is a complete object

	warmEvery = 2 * time.Second
	coldEvery = 10 * time.Second
)

// interval is the time until the next look at a file that was last written at changed.
func interval(poll time.Duration, now, changed time.Time) time.Duration {
	switch age := now.Sub(changed); {
	case age < hotFor:
		return poll
	case age < warmFor:
		return max(poll, warmEvery)
	default:
		return max(poll, coldEvery)
	}
}

// partial reports whether a line has begun that was not handed over.
func (f *file) partial() bool { return f.scanned > f.pos && !f.over }

// see notes how the file looks, and reports whether that is different from before.
func (f *file) see(info fs.FileInfo, now time.Time) bool {
	if info.Size() == f.size && info.ModTime().Equal(f.modTime) {
		return false
	}
	f.size, f.modTime, f.changed = info.Size(), info.ModTime(), now
	return true
}

// unnamed takes a name off; the next one is used.
func (f *file) unnamed(path string) {
	f.paths = slices.DeleteFunc(f.paths, func(p string) bool { return p == path })
	if len(f.paths) > 0 {
		f.name = f.paths[0]
	}
}
