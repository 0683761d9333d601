// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package listen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/otelcol-agents/otelcol-agents/internal/frame"
)

var (
	// errStopped ends a source because the listener stops.
	errStopped = errors.New("the receiver stops")
	// errIdle ends a source that completed no line for too long.
	errIdle = errors.New("no line was completed in time")
)

// source is a connection or a body on its way into a frame.Reader. It decides when to read: not after
// stop, not while others hold the places for long lines, and not for longer than the idle timeout.
type source struct {
	src         io.Reader
	setDeadline func(time.Time) error
	idle        time.Duration    // from one line to the next; 0: for ever, but for long lines
	closed      func(error) bool // whether an error of src means that the client went away
	places      *LongLines
	stopping    context.Context // ends when stop is called, at the latest

	unread func(bool)    // of the input
	frames *frame.Reader // of this source
	// fresh is set when a line was completed: its successor has all of the idle timeout.
	fresh    bool
	armed    bool
	oversize int64 // lines over the limit are lines too
	place    bool  // of places
	broken   error // what the client's going away looked like; nil after an orderly end

	mu      sync.Mutex // of the deadline
	stopped bool
	over    bool // nobody reads any more
}

// Read reads what is there. A client that went away is the end of the stream, as is one that closed.
func (s *source) Read(p []byte) (int, error) {
	if err := s.wait(); err != nil {
		return 0, err
	}
	if err := s.arm(); err != nil {
		return 0, err
	}
	n, err := s.src.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = s.cause(err)
	}
	return n, err
}

// wait takes a place for a line that gets long, and gives it back when nothing is held any more.
func (s *source) wait() error {
	_, held := s.frames.Unfinished()
	if held < longLine {
		s.leave()
		return nil
	}
	if s.place {
		return nil
	}
	s.unread(true)
	defer s.unread(false)
	if err := s.places.acquire(s.stopping); err != nil {
		return errStopped
	}
	s.place = true
	s.fresh = true // it was not the client who let us wait
	return nil
}

// leave gives the place for a long line back. The line is the engine's then, or nobody's.
func (s *source) leave() {
	if s.place {
		s.place = false
		s.fresh = true
		s.places.release()
	}
}

// arm sets the deadline for the next line when the one before was completed.
func (s *source) arm() error {
	if n := s.frames.Oversize(); n != s.oversize {
		s.oversize, s.fresh = n, true
	}
	if !s.fresh {
		return s.check()
	}
	s.fresh = false
	timeout := s.idle
	if timeout == 0 && s.place {
		timeout = longLineTimeout
	}
	if timeout == 0 {
		return s.disarm()
	}
	return s.deadline(time.Now().Add(timeout))
}

func (s *source) disarm() error {
	if !s.armed {
		return s.check()
	}
	err := s.deadline(time.Time{})
	s.armed = false
	return err
}

func (s *source) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return errStopped
	}
	return nil
}

// deadline sets one, unless the source was stopped: that deadline is the last.
func (s *source) deadline(at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return errStopped
	}
	s.armed = true
	// A source without deadlines is read without.
	_ = s.setDeadline(at)
	return nil
}

// cause tells the ends of a source apart.
func (s *source) cause(err error) error {
	if stop := s.check(); stop != nil {
		return stop
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errIdle
	}
	if s.closed(err) {
		s.broken = fmt.Errorf("the client went away: %w", err)
		return io.EOF
	}
	return err
}

// stop ends the reading. It may be called from any goroutine and more than once.
func (s *source) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped || s.over {
		return
	}
	s.stopped = true
	_ = s.setDeadline(time.Unix(1, 0))
}

// end says that nobody reads any more; stop does nothing from then on.
func (s *source) end() {
	s.leave()
	_ = s.disarm()
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
}
