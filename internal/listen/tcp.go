// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/config/confignet"
	"go.opentelemetry.io/collector/config/configtls"
	"golang.org/x/net/netutil"

	"github.com/otelcol-agents/otelcol-agents/internal/engine"
)

// The pause after a failed accept doubles between these.
const (
	minAcceptPause = 5 * time.Millisecond
	maxAcceptPause = time.Second
)

// TCPConfig says where and how TCP listens.
type TCPConfig struct {
	// Address is where to listen.
	Address confignet.TCPAddrConfig
	// TLS is the server's side of TLS. Nil: plain TCP.
	TLS *configtls.ServerConfig
	// MaxConnections bounds the connections that are served at once; more wait in the backlog. Zero: no
	// bound.
	MaxConnections int
	// IdleTimeout closes a connection that completes no line for so long. Zero: never.
	IdleTimeout time.Duration

	_ struct{}
}

// TCP takes newline-delimited lines from connections, without a reply. A connection that ends closes
// the sessions that only it was feeding.
type TCP struct {
	config   TCPConfig
	settings Settings
	tls      *tls.Config   // nil for plain TCP; set by Start
	patience time.Duration // for a handshake
	listener net.Listener  // set by Start

	running  context.Context // until the lines in hand are given up
	giveUp   context.CancelFunc
	stopping context.Context // until Shutdown begins
	stop     context.CancelFunc
	group    sync.WaitGroup

	unsent atomic.Int64 // connections that could not hand over their last lines

	mu      sync.Mutex
	sources map[*source]struct{} // that are read
}

// NewTCP is a TCP that was not started.
func NewTCP(cfg TCPConfig, set Settings) *TCP {
	t := &TCP{config: cfg, settings: set.withDefaults(), patience: handshakeTimeout, sources: map[*source]struct{}{}}
	t.running, t.giveUp = context.WithCancel(context.Background())
	t.stopping, t.stop = context.WithCancel(t.running)
	return t
}

// Start listens and serves. It is called at most once.
func (t *TCP) Start(ctx context.Context) error {
	if t.config.TLS != nil {
		cfg, err := t.config.TLS.LoadTLSConfig(ctx)
		if err != nil {
			return fmt.Errorf("prepare TLS for TCP on %s: %w", t.config.Address.Endpoint, err)
		}
		t.tls = cfg
	}
	listener, err := t.config.Address.Listen(ctx)
	if err != nil {
		return fmt.Errorf("listen for TCP on %s: %w", t.config.Address.Endpoint, err)
	}
	t.serveOn(listener)
	return nil
}

func (t *TCP) serveOn(listener net.Listener) {
	if t.config.MaxConnections > 0 {
		listener = netutil.LimitListener(listener, t.config.MaxConnections)
	}
	t.listener = listener
	t.group.Go(t.accept)
}

// Addr is the address that Start bound; nil before.
func (t *TCP) Addr() net.Addr {
	if t.listener == nil {
		return nil
	}
	return t.listener.Addr()
}

// Shutdown stops accepting and reading, hands the complete lines that were read to their inputs, ends
// those, and waits for all of it. It gives lines up when ctx ends, at the latest after five seconds.
func (t *TCP) Shutdown(ctx context.Context) error {
	t.stop()
	if t.listener != nil {
		_ = t.listener.Close()
	}
	t.mu.Lock()
	for s := range t.sources {
		s.stop()
	}
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, t.giveUp)
	defer stop()
	t.group.Wait()
	t.giveUp()
	if n := t.unsent.Swap(0); n > 0 {
		return fmt.Errorf("end %d TCP connections: %w", n, errors.Join(errGaveUp, ctx.Err()))
	}
	return nil
}

// accept takes connections until Shutdown. Whatever fails meanwhile, a want of file descriptors before
// all, passes.
func (t *TCP) accept() {
	pause := minAcceptPause
	for {
		conn, err := t.listener.Accept()
		switch {
		case t.stopping.Err() != nil:
			if err == nil {
				_ = conn.Close()
			}
			return
		case err == nil:
			pause = minAcceptPause
			t.group.Go(func() { t.serve(conn) })
			continue
		}
		t.settings.Reporter.Failed(TransportTCP, fmt.Errorf("accept on %s: %w", t.config.Address.Endpoint, err))
		select {
		case <-time.After(pause):
			pause = min(2*pause, maxAcceptPause)
		case <-t.stopping.Done():
			return
		}
	}
}

// serve reads one connection to its end.
func (t *TCP) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	peer := conn.RemoteAddr()
	if t.tls != nil {
		secure := tls.Server(conn, t.tls)
		if err := t.handshake(secure); err != nil {
			if t.stopping.Err() == nil {
				t.settings.Reporter.Refused(TransportTCP, fmt.Errorf("TLS handshake with %s: %w", peer, err))
			}
			return
		}
		conn = secure
	}
	s := &source{
		src:         conn,
		setDeadline: conn.SetReadDeadline,
		idle:        t.config.IdleTimeout,
		closed:      wentAway,
		places:      t.settings.LongLines,
		stopping:    t.stopping,
	}
	t.settings.Reporter.Opened(TransportTCP)
	defer t.settings.Reporter.Closed(TransportTCP)
	in := t.settings.Opener.Open(engine.Source{Live: true})
	l := newLines(s, in, t.settings.MaxLine, t.settings.Now)
	t.track(s)
	err := l.run(t.running)
	t.forget(s)
	s.end()
	ended := in.End(t.running, engine.Broken)
	if ended != nil || errors.Is(err, errUnsent) {
		t.unsent.Add(1)
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, errStopped) {
		t.settings.Reporter.Failed(TransportTCP, fmt.Errorf("read lines of %s: %w", peer, err))
	}
}

func (t *TCP) handshake(conn *tls.Conn) error {
	ctx, cancel := context.WithTimeout(t.stopping, t.patience)
	defer cancel()
	return conn.HandshakeContext(ctx)
}

// track has Shutdown stop the source; at once, if it has begun.
func (t *TCP) track(s *source) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sources[s] = struct{}{}
	if t.stopping.Err() != nil {
		s.stop()
	}
}

func (t *TCP) forget(s *source) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.sources, s)
}

// wentAway reports whether a read failed because the peer reset the connection, or closed it without the
// farewell of TLS. For lines, which show their own ends, both are like a close. The systems' numbers for
// a reset differ, so it is any error of the read itself that is none of ours.
func wentAway(err error) bool {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return true
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "read" && !op.Timeout() && !errors.Is(err, net.ErrClosed)
}
