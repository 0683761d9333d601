// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package ledger remembers what outlives a process: how far files are read, which sessions are open, what
// has left and what it counted. It holds hashes and ids, never content.
//
// Keys: v; f/<file>; s/<session>; e/<session>/<n>, ids that left; u/<n>, ids whose owner or usage is known;
// m/<series>; j/<source>/<seq>, the journal of live sources. Every value carries a version and a checksum.
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
