// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package listen takes lines from TCP connections and from the bodies of HTTP requests, as they come.
//
// Whoever uses it has three duties. The engine runs before Start and ends after the inputs have: first
// TCP.Shutdown and HTTP.Stop, then Engine.Shutdown, then HTTP.Shutdown, which answers the requests whose
// lines the engine committed to its last. TCP and HTTP of one engine share one LongLines.
package listen

import (
	"context"
	"errors"
	"time"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/internal/engine"
)

const (
	// drainTimeout bounds what the end of the inputs waits for an engine that takes nothing: the context
	// of a collector's shutdown has no end, and the engine gives up only after its inputs ended.
	drainTimeout = 5 * time.Second
	// handshakeTimeout bounds a TLS handshake, so that a silent client does not hold a place.
	handshakeTimeout = 10 * time.Second
)

// Opener begins inputs: an engine.
type Opener interface {
	// Open begins an input.
	Open(src engine.Source) Input
	// Pressed reports whether new work had better wait outside.
	Pressed() bool
}

// Input is what an engine.Input is.
type Input interface {
	Send(ctx context.Context, b *batch.Batch, committed func(*batch.Outcomes)) error
	End(ctx context.Context, how engine.Ending) error
	Unread(yes bool)
}

// Engine makes an Opener of an engine.
func Engine(e *engine.Engine) Opener { return opener{e} }

type opener struct{ *engine.Engine }

func (o opener) Open(src engine.Source) Input { return o.Engine.Open(src) }

// Transport is a way in.
type Transport string

// The transports.
const (
	TransportTCP  Transport = "tcp"
	TransportHTTP Transport = "http"
)

// Reporter is told what happens. Its methods are called from many goroutines and must not block. Errors
// hold addresses and causes, never a part of what was sent.
type Reporter interface {
	// Opened and Closed tell of a TCP connection that is served and of an HTTP request whose body is read.
	Opened(t Transport)
	Closed(t Transport)
	// Refused tells of a connection or request that was turned away before its first line.
	Refused(t Transport, why error)
	// Failed tells of a connection or request that ended otherwise than by the will of its client, and of
	// a listener that cannot accept.
	Failed(t Transport, err error)
}

// Settings are what TCP and HTTP need besides their configuration.
type Settings struct {
	// Opener takes the lines.
	Opener Opener
	// Reporter is told what happens.
	Reporter Reporter
	// MaxLine is the longest line, in bytes; longer ones are counted and left out without being held.
	MaxLine int
	// LongLines bounds the memory of lines that are not complete yet. Nil: of this listener alone.
	LongLines *LongLines
	// Redact is applied to what headers bring. Nil: it stays as it is.
	Redact func(string) string
	// Now gives the time at which lines arrive. Nil: time.Now.
	Now func() time.Time

	_ struct{}
}

func (s Settings) withDefaults() Settings {
	if s.LongLines == nil {
		s.LongLines = NewLongLines()
	}
	if s.Redact == nil {
		s.Redact = func(text string) string { return text }
	}
	if s.Now == nil {
		s.Now = time.Now
	}
	return s
}

// errGaveUp is the cause of the end of inputs that could not hand over their last lines.
var errGaveUp = errors.New("the pipeline did not take their last lines in time")
