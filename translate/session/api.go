// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"time"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/price"
)

// Defaults of the interface contract, section 2.
const (
	DefaultIdleTimeout = 30 * time.Minute
	DefaultLinger      = 10 * time.Second
	DefaultMaxDuration = 24 * time.Hour
	DefaultMaxSpans    = 10000
	DefaultMaxSessions = 10000
)

// Config is how sessions are cut and priced. NewConfig gives the defaults; no field has a useful zero.
type Config struct {
	Turn        bool          // one trace per human prompt instead of one per session
	IdleTimeout time.Duration // a gap between record times that is longer starts a new segment
	Linger      time.Duration // how long after a terminal record rows still join its segment
	MaxDuration time.Duration // longest segment, by record times
	MaxSpans    int           // most spans of a segment, its root not counted; also the bound of pending tables
	MaxSessions int           // most sessions kept in memory: beyond it the oldest is closed
	// MaxAge is how old spans, logs and counts of files may be to leave, by the clock of Assembler.At; what is
	// older feeds state and ledger only. 0 = any age.
	MaxAge     time.Duration
	Capture    translate.Capture
	MaxContent int         // bytes of a captured value that is joined from several rows
	Prices     *price.Book // nil = nothing has a price
	// Recall gives what is remembered of a session that is not in memory, nil for nothing. It is asked when one is
	// about to be made, and for what links to one. A nil Recall says that no session comes back: then nothing
	// is collected for it either.
	Recall func(key uint64) *Memory
}

// NewConfig is the default configuration.
func NewConfig() Config {
	return Config{
		IdleTimeout: DefaultIdleTimeout,
		Linger:      DefaultLinger,
		MaxDuration: DefaultMaxDuration,
		MaxSpans:    DefaultMaxSpans,
		MaxSessions: DefaultMaxSessions,
		MaxContent:  8192,
	}
}

// SourceInfo is what is known of a source before its first record.
type SourceInfo struct {
	Format  translate.Format
	Agent   string             // name of the agent, for ids and resources
	ModTime int64              // of a file, Unix nanoseconds: the end of a file without times. 0 = now does not matter: a live source
	Live    bool               // records carry arrival times
	Place   string             // what the caller calls the place of the source; told back in RootAttrs, never sent
	Derived string             // id of the session if the source never names one (ids.Session)
	Caller  *translate.Context // from a request's headers; nil = none
	// Behind reports whether units of the source are still on their way: its sessions are not closed by the
	// clock meanwhile. nil = never.
	Behind func() bool
}
