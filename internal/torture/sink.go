// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"compress/gzip"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// Trouble is how often, in a thousand requests, a sink misbehaves.
type Trouble struct {
	Refuse int           // answers 503 and keeps nothing
	Drop   int           // keeps the data and closes the connection without an answer
	Delay  int           // answers late
	Late   time.Duration // at most so late
}

// Sink is a backend for OTLP over HTTP that records what it gets.
type Sink struct {
	URL string
	// Recording has everything that was kept.
	Recording *Recording

	server  *http.Server
	serving sync.WaitGroup

	mu        sync.Mutex
	trouble   Trouble
	refusing  bool
	rand      *rand.Rand
	delivered chan struct{} // closed at the next delivery
}

// NewSink serves on a free port of the loopback interface.
func NewSink(seed uint64) (*Sink, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Sink{
		URL: "http://" + l.Addr().String(), Recording: NewRecording(),
		rand: rand.New(rand.NewPCG(seed, 0x73696e6b)), delivered: make(chan struct{}),
	}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	s.serving.Go(func() { _ = s.server.Serve(l) })
	return s, nil
}

// Close ends all connections and waits for the server.
func (s *Sink) Close() error {
	err := s.server.Close()
	s.serving.Wait()
	return err
}

// SetTrouble sets how the sink misbehaves from now on.
func (s *Sink) SetTrouble(t Trouble) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trouble = t
}

// Refuse makes the sink refuse everything, or end that.
func (s *Sink) Refuse(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusing = yes
}

// Delivered is closed when spans or log records are kept the next time, before they are answered for.
func (s *Sink) Delivered() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.delivered
}

func (s *Sink) plan() (refuse, drop bool, late time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	draw := s.rand.IntN(1000)
	switch t := s.trouble; {
	case s.refusing || draw < t.Refuse:
		refuse = true
	case draw < t.Refuse+t.Drop:
		drop = true
	case draw < t.Refuse+t.Drop+t.Delay:
		late = time.Duration(s.rand.Int64N(int64(t.Late) + 1))
	}
	return refuse, drop, late
}

// proto is a request or an answer of any signal.
type proto interface{ MarshalProto() ([]byte, error) }

func (s *Sink) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := read(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	refuse, drop, late := s.plan()
	if refuse {
		http.Error(w, "no", http.StatusServiceUnavailable)
		return
	}
	answer, err := s.keep(req.URL.Path, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if late > 0 && !pause(req.Context(), late) {
		return
	}
	if drop {
		panic(http.ErrAbortHandler)
	}
	out, err := answer.MarshalProto()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(out)
}

func read(req *http.Request) ([]byte, error) {
	if req.Header.Get("Content-Encoding") != "gzip" {
		return io.ReadAll(req.Body)
	}
	z, err := gzip.NewReader(req.Body)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

func (s *Sink) keep(path string, body []byte) (proto, error) {
	switch path {
	case "/v1/traces":
		r := ptraceotlp.NewExportRequest()
		if err := r.UnmarshalProto(body); err != nil {
			return nil, err
		}
		s.Recording.Traces(r.Traces())
		s.announce()
		return ptraceotlp.NewExportResponse(), nil
	case "/v1/logs":
		r := plogotlp.NewExportRequest()
		if err := r.UnmarshalProto(body); err != nil {
			return nil, err
		}
		s.Recording.Logs(r.Logs())
		s.announce()
		return plogotlp.NewExportResponse(), nil
	default:
		r := pmetricotlp.NewExportRequest()
		if err := r.UnmarshalProto(body); err != nil {
			return nil, err
		}
		s.Recording.Metrics(r.Metrics())
		return pmetricotlp.NewExportResponse(), nil
	}
}

func (s *Sink) announce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.delivered)
	s.delivered = make(chan struct{})
}

// pause waits, and says whether ctx let it.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
