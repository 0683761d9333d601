// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package ledger remembers what outlives a process: how far files are read, which sessions are open, what
// has left and what it counted. It holds hashes and ids, never content, but for the names of files.
//
// State is a fold of the input, and the input is still there: after a restart the files of a session are read
// again from their beginnings. What is remembered is what that needs: where the folding was, so that it is
// done silently up to there; which spans and log records left, so that they do not leave again; what was
// counted, so that it is not counted again.
//
// # Keys
//
//	v                    when counting began, whether the receiver has started, the largest ID of a file
//	f/<file>             a File: its name, how far it is read, the sessions in it
//	s/<session>          a session.State
//	e/<session>/<n>      8-byte keys of what left of the session
//	u/<n>                session.Entry values, of one day: whose an id is, and what a response used
//	m/<series>           the total of a metric series
//	j/<source>/<seq>     the journal of live sources, which nobody can read again
//
// Numbers in keys are hexadecimal and of fixed width. Values carry a version and a checksum, see Seal; those of
// m and j belong to other packages. Lists that grow, e and u, are cut into chunks of 4 KiB, of which only the
// last is rewritten. An s, f or u value lives for the Horizon, and longer if it is still of use: see Sweep.
//
// # Use
//
// Open reads the whole store, but for what left, and keeps the heads of sessions, the files and nothing else:
// Entries, Saved and Journal hand over what they have, once. From then on three kinds of goroutines use it.
// Those that follow files Claim them, and Begin stores where the first scan found them. The one that folds
// asks for sessions (Session, Recall) and makes operations of what became of them (Fold, Sweep). The one that
// delivers hands these to Commit after everything that was emitted with them was taken, in the order in which
// they were made; one Commit is one Batch of the store, so a process that is killed finds the one or the other
// side of it.
//
// What Fold was told is known at once, though not stored: the picture in memory is that of the fold, the store
// is that of the delivery, some turns behind. Recall puts the values in between on top of the store's.
//
// # Damage
//
// A value that cannot be read never stops anything: it is deleted, counted, and costs reading files again. The
// ids of what then leaves a second time are the same. Errors are those of the store only.
package ledger

import "context"

// Store is a key-value store whose Batch is atomic. Its methods may be called from several goroutines.
type Store interface {
	// Get gives nil for a key that is not there.
	Get(ctx context.Context, key string) ([]byte, error)
	Set(ctx context.Context, key string, value []byte) error
	Delete(ctx context.Context, key string) error
	// Batch does all of it or nothing.
	Batch(ctx context.Context, ops ...Op) error
	// Walk gives every key and value; the value is good during the call only.
	Walk(ctx context.Context, visit func(key string, value []byte) error) error
}

// Op is one change of a Batch. A nil Value deletes the key.
type Op struct {
	Key   string
	Value []byte
}

// FileID is the number of a followed file, whatever it is called. 0 is none.
type FileID uint64

// Mark is a hash of the N bytes before a position of a file. The zero Mark knows nothing.
type Mark struct {
	N   int
	Sum [32]byte
}

// Progress is how far a file was read, as its reader tells it with each batch.
type Progress struct {
	ID       FileID
	Path     string // resolved; the name in use
	Device   uint64 // both 0 where the system has no numbers for files
	Inode    uint64
	Epoch    uint32 // how often it was found rewritten
	Pos      int64  // everything before was handed over or passed over
	Start    int64  // what is before was there when the receiver first started, and is known but not sent
	Over     bool   // Pos is inside a line that is too long
	Head     Mark   // of the first bytes
	Frontier Mark   // of the bytes before Pos
	ModTime  int64  // Unix nanoseconds
	Began    int64  // time of its first record, Unix nanoseconds; 0 = not known
}
