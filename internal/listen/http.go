// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package listen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"

	"github.com/otelcol-agents/otelcol-agents/internal/engine"
)

// Path is where lines are posted to.
const Path = "/v1/agentstream"

const (
	// lingerTimeout is how long the rest of a body that was answered early is read and thrown away. Closed
	// at once, the connection would be reset, and with it the answer lost.
	lingerTimeout = time.Second
	// answerTimeout bounds the writing of an answer.
	answerTimeout = 10 * time.Second
	// closeTimeout bounds what Shutdown waits for connections to end by themselves.
	closeTimeout = 2 * time.Second
)

// HTTPConfig says where and how HTTP listens.
type HTTPConfig struct {
	// Server is the server's configuration; see NewDefaultServerConfig.
	Server confighttp.ServerConfig
	// BaggageAttributes are the members of the baggage header that become attributes of session roots.
	BaggageAttributes []string

	_ struct{}
}

// NewDefaultServerConfig returns a configuration for bodies that may never end: they have no limit and
// no deadline, and neither has what is written, since that deadline counts from the request's header.
func NewDefaultServerConfig() confighttp.ServerConfig {
	cfg := confighttp.NewDefaultServerConfig()
	cfg.NetAddr.Endpoint = "localhost:4320"
	cfg.ReadTimeout = 0
	cfg.ReadHeaderTimeout = handshakeTimeout // of TLS handshakes too
	cfg.WriteTimeout = 0
	cfg.MaxRequestBodySize = math.MaxInt64
	cfg.CompressionAlgorithms = []string{"", "gzip", "zstd"}
	return cfg
}

// HTTP takes lines from the bodies of POST requests and answers when everything that they made final
// was accepted. The end of a request closes no session; when the client goes away in its middle, it is
// like a connection that breaks.
type HTTP struct {
	config   HTTPConfig
	settings Settings
	server   *http.Server // set by Start
	listener net.Listener // set by Start

	running  context.Context // until the lines in hand are given up
	giveUp   context.CancelFunc
	stopping context.Context // until Stop begins
	stop     context.CancelFunc
	closing  context.Context // until Shutdown begins to answer
	close    context.CancelFunc
	serving  sync.WaitGroup // the accept loop
	inputs   sync.WaitGroup // requests whose input has not ended
	requests sync.WaitGroup // requests that are not answered
	unsent   atomic.Int64   // requests that could not hand over their last lines

	mu      sync.Mutex           // also of stop, so that inputs and requests do not grow after it
	sources map[*source]struct{} // that are read
}

// NewHTTP is an HTTP that was not started.
func NewHTTP(cfg HTTPConfig, set Settings) *HTTP {
	if cfg.Server.MaxRequestBodySize <= 0 {
		cfg.Server.MaxRequestBodySize = math.MaxInt64 // confighttp would take 20 MiB
	}
	if cfg.Server.CompressionAlgorithms == nil {
		cfg.Server.CompressionAlgorithms = NewDefaultServerConfig().CompressionAlgorithms
	}
	h := &HTTP{config: cfg, settings: set.withDefaults(), sources: map[*source]struct{}{}}
	h.running, h.giveUp = context.WithCancel(context.Background())
	h.stopping, h.stop = context.WithCancel(h.running)
	h.closing, h.close = context.WithCancel(context.Background())
	return h
}

// Start listens and serves. It is called at most once.
func (h *HTTP) Start(ctx context.Context, host component.Host, telemetry component.TelemetrySettings) error {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+Path, h.serve)
	opts := append(decoders(h.config.Server.CompressionAlgorithms), confighttp.WithErrorHandler(refuse))
	server, err := h.config.Server.ToServer(ctx, host.GetExtensions(), telemetry, mux, opts...)
	if err != nil {
		return fmt.Errorf("prepare HTTP on %s: %w", h.config.Server.NetAddr.Endpoint, err)
	}
	listener, err := h.config.Server.ToListener(ctx)
	if err != nil {
		return fmt.Errorf("listen for HTTP on %s: %w", h.config.Server.NetAddr.Endpoint, err)
	}
	server.Handler = early(server.Handler)
	h.server, h.listener = server, listener
	h.serving.Go(func() {
		if err := server.Serve(listener); h.stopping.Err() == nil {
			h.settings.Reporter.Failed(TransportHTTP, fmt.Errorf("serve HTTP on %s: %w", listener.Addr(), err))
		}
	})
	return nil
}

// Addr is the address that Start bound; nil before.
func (h *HTTP) Addr() net.Addr {
	if h.listener == nil {
		return nil
	}
	return h.listener.Addr()
}

// Stop stops accepting and reading, hands the complete lines that were read to their inputs and ends
// those. Their requests wait for their answers meanwhile. It gives lines up when ctx ends, at the latest
// after five seconds.
func (h *HTTP) Stop(ctx context.Context) error {
	h.mu.Lock()
	h.stop()
	for s := range h.sources {
		s.stop()
	}
	h.mu.Unlock()
	if h.server == nil {
		return nil
	}
	_ = h.listener.Close()
	h.serving.Wait()
	h.server.SetKeepAlivesEnabled(false)
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	giveUp := context.AfterFunc(ctx, h.giveUp)
	defer giveUp()
	// A middleware that hides the connection hides its deadlines, and nothing else wakes a reader.
	force := time.AfterFunc(drainTimeout+lingerTimeout, func() { _ = h.server.Close() })
	defer force.Stop()
	h.inputs.Wait()
	if n := h.unsent.Swap(0); n > 0 {
		return fmt.Errorf("end %d HTTP requests: %w", n, errors.Join(errGaveUp, ctx.Err()))
	}
	return nil
}

// Shutdown stops, answers the requests that still wait by what is known of them now, and closes all
// connections. Once the engine has ended, what is known is all that ever will be.
func (h *HTTP) Shutdown(ctx context.Context) error {
	err := h.Stop(ctx)
	h.close()
	h.giveUp()
	if h.server == nil {
		return err
	}
	h.requests.Wait()
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	if h.server.Shutdown(ctx) != nil {
		_ = h.server.Close()
	}
	return err
}

// serve takes the lines of one request.
func (h *HTTP) serve(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	s := &source{
		src:         r.Body,
		setDeadline: control.SetReadDeadline,
		closed:      abandoned,
		places:      h.settings.LongLines,
		stopping:    h.stopping,
	}
	if why := h.admit(s); why != nil {
		h.settings.Reporter.Refused(TransportHTTP, fmt.Errorf("request of %s: %w", r.RemoteAddr, why))
		refuse(w, r, why.Error(), http.StatusServiceUnavailable)
		return
	}
	defer h.requests.Done()
	counts := newTally()
	err := h.read(s, counts, r)
	broken := s.broken != nil
	if !errors.Is(err, errUnsent) && !broken {
		// Not until the request's context ends: net/http takes a client that closed its half of the
		// connection for one that has gone.
		select {
		case <-counts.settled:
		case <-h.closing.Done():
		}
	}
	outcomes, all := counts.result()
	status, text := verdict(err, broken, all, outcomes.Records() > 0)
	if errors.Is(err, io.EOF) && !broken {
		w.Header().Del("Connection") // which early may have set: the body was read to its end
	} else {
		hangUp(w, r)
	}
	_ = control.SetWriteDeadline(time.Now().Add(answerTimeout))
	newAnswer(&outcomes, text).write(w, status)
}

var (
	errPressed = errors.New("the pipeline is full or refuses: try again later")
	errAborted = errors.New("the body broke off")
)

// admit has Stop wait for the source's request and stop it, or says why there is no place for it.
func (h *HTTP) admit(s *source) error {
	if h.settings.Opener.Pressed() {
		return errPressed
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopping.Err() != nil {
		return errStopped
	}
	h.inputs.Add(1)
	h.requests.Add(1)
	h.sources[s] = struct{}{}
	return nil
}

// read hands the lines of a body to an input, and ends that.
func (h *HTTP) read(s *source, counts *tally, r *http.Request) error {
	defer h.inputs.Done()
	h.settings.Reporter.Opened(TransportHTTP)
	defer h.settings.Reporter.Closed(TransportHTTP)
	in := h.settings.Opener.Open(engine.Source{
		Live:    true,
		Request: true,
		Caller:  caller(r.Header, h.config.BaggageAttributes, h.settings.Redact),
	})
	l := newLines(s, in, h.settings.MaxLine, h.settings.Now)
	l.keepTail, l.sent, l.committed = true, counts.sent, counts.committed
	err := l.run(h.running)
	h.mu.Lock()
	delete(h.sources, s)
	h.mu.Unlock()
	s.end()
	ended := in.End(h.running, ending(s, err))
	counts.end()
	if ended != nil && !errors.Is(err, errUnsent) {
		err = fmt.Errorf("%w: %w", errUnsent, ended)
	}
	if errors.Is(err, errUnsent) {
		h.unsent.Add(1)
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, errStopped) {
		h.settings.Reporter.Failed(TransportHTTP, fmt.Errorf("read lines of %s: %w", r.RemoteAddr, err))
	}
	return err
}

// ending is how the input of a request ends whose reading ended with err.
func ending(s *source, err error) engine.Ending {
	switch {
	case s.broken != nil:
		return engine.Broken
	case errors.Is(err, errStopped), errors.Is(err, errUnsent):
		return engine.Suspended
	}
	return engine.Ended
}

// verdict is what a request is answered: err ended its body, all says whether everything of it is
// committed, records whether it held any.
func verdict(err error, broken, all, records bool) (status int, text string) {
	coding, isCoding := errors.AsType[*codingError](err)
	limit, isLimit := errors.AsType[*http.MaxBytesError](err)
	switch {
	case broken:
		return http.StatusBadRequest, errAborted.Error()
	case errors.Is(err, errUnsent), errors.Is(err, errStopped):
		return http.StatusServiceUnavailable, errStopped.Error()
	case errors.Is(err, errIdle):
		return http.StatusRequestTimeout, err.Error()
	case isLimit:
		return http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", limit.Limit)
	case isCoding:
		return http.StatusBadRequest, "the body is no valid " + coding.coding
	case !all:
		return http.StatusServiceUnavailable, "not everything was accepted downstream"
	case !records:
		return http.StatusBadRequest, "no line of the body is a usable record"
	}
	return http.StatusOK, ""
}

// abandoned reports whether the reading of a body failed because of who sends it, whatever that looks
// like: a reset, a chunk that is none, a stream that was cancelled.
func abandoned(err error) bool {
	if _, ok := errors.AsType[*codingError](err); ok {
		return false
	}
	_, ok := errors.AsType[*http.MaxBytesError](err)
	return !ok
}

// refuse answers a request whose body was not read.
func refuse(w http.ResponseWriter, r *http.Request, text string, status int) {
	hangUp(w, r)
	answer{Skipped: map[string]int64{}, Error: text}.write(w, status)
}

// hangUp has the connection of HTTP/1 closed after the answer. Otherwise net/http reads up to 256 KiB of
// the body before it writes the answer, and a body that is slow or endless would keep it for ever.
func hangUp(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close")
	}
}

// early lets bodies without an end be answered before it, also by those who stand before serve.
func early(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength < 0 {
			hangUp(w, r)
		}
		next.ServeHTTP(w, r)
		if w.Header().Get("Connection") == "close" {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(lingerTimeout))
		}
	})
}
