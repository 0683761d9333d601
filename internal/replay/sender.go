// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/klauspost/compress/gzip"
)

const (
	firstBackoff   = 200 * time.Millisecond
	maxBackoff     = 10 * time.Second
	minPause       = 10 * time.Millisecond
	attemptTimeout = 30 * time.Second // of one request, under --timeout
	liveProbe      = 5 * time.Second  // between attempts of a live source whose backend is away
	maxAnswer      = 64 << 10         // bytes of an answer that are read
)

// signalKind is one of the three kinds of telemetry.
type signalKind int

const (
	traces signalKind = iota
	logs
	metrics
	signals
)

func (s signalKind) path() string { return [...]string{"/v1/traces", "/v1/logs", "/v1/metrics"}[s] }
func (s signalKind) items() string {
	return [...]string{"spans", "log records", "data points"}[s]
}

// sent counts items of one signal by what became of them.
type sent struct {
	Accepted int64
	Rejected int64 // by a partial success
	Refused  int64 // by a permanent error
	Unsent   int64 // given up
}

func (s sent) failed() int64 { return s.Rejected + s.Refused + s.Unsent }

// sender posts OTLP bodies in order, one at a time: a backend sees children and parents, zero points and
// values in the order in which they were made. It is used by one goroutine.
type sender struct {
	base    string
	json    bool
	header  http.Header
	timeout time.Duration // without an accepted request, until a body is given up
	live    bool          // goes on trying after it gave up: a pipe outlives an outage
	client  *http.Client
	report  func(error) // tells a problem at once

	// wait sleeps; tests replace it.
	wait func(ctx context.Context, d time.Duration) error
	now  func() time.Time

	zip      *gzip.Writer
	body     bytes.Buffer
	counts   [signals]sent
	requests int64
	retries  int64
	away     time.Time // when the backend was given up; zero while it answers
}

func newSender(s *settings, live bool, report func(error)) *sender {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 2
	return &sender{
		base: s.to, json: s.otlpJSON, header: s.header, timeout: s.timeout, live: live, report: report,
		client: &http.Client{
			Transport: transport,
			// A followed redirect may turn a POST into a GET whose 200 means nothing.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		wait: sleep,
		now:  time.Now,
		zip:  gzip.NewWriter(io.Discard),
	}
}

func (s *sender) close() { s.client.CloseIdleConnections() }

// failed reports whether anything did not arrive.
func (s *sender) failed() bool {
	for _, c := range s.counts {
		if c.failed() > 0 {
			return true
		}
	}
	return false
}

// send posts one body of n items until it is accepted, permanently refused or given up. What became of
// it is counted and, when it is bad, reported.
func (s *sender) send(ctx context.Context, sig signalKind, body []byte, n int) {
	count := &s.counts[sig]
	if !s.away.IsZero() && (!s.live || s.now().Sub(s.away) < liveProbe) {
		count.Unsent += int64(n)
		return
	}
	s.compress(body)
	began := s.now()
	backoff := firstBackoff
	for {
		result := s.attempt(ctx, sig, s.timeout-s.now().Sub(began))
		s.requests++
		switch {
		case result.err == nil:
			s.away = time.Time{}
			rejected := min(max(result.rejected, 0), int64(n))
			count.Accepted += int64(n) - rejected
			count.Rejected += rejected
			if rejected > 0 {
				s.report(fmt.Errorf("send to %s%s: %d of %d %s rejected%s", s.shown(), sig.path(), rejected, n, sig.items(), colon(result.message)))
			}
			return
		case !result.retry:
			s.away = time.Time{} // it answers
			count.Refused += int64(n)
			s.report(fmt.Errorf("send to %s%s: %d %s refused: %w", s.shown(), sig.path(), n, sig.items(), result.err))
			return
		}
		pause := result.after
		if pause == 0 {
			// Half of it is random, so that many replays do not come back together.
			pause = backoff/2 + rand.N(backoff/2+1)
			backoff = min(backoff*2, maxBackoff)
		}
		left := s.timeout - s.now().Sub(began)
		if result.after == 0 && pause >= left {
			pause = left * 3 / 4 // a last try before the time is over
			if pause < minPause {
				pause = left
			}
		}
		if !s.away.IsZero() || pause >= left || s.wait(ctx, pause) != nil {
			if s.away.IsZero() {
				s.report(fmt.Errorf("send to %s%s: gave up after %s: %w", s.shown(), sig.path(), s.now().Sub(began).Round(time.Millisecond), result.err))
			}
			s.away = s.now()
			count.Unsent += int64(n)
			return
		}
		s.retries++
	}
}

// shown is the endpoint without a password in it.
func (s *sender) shown() string {
	if u, err := url.Parse(s.base); err == nil {
		return u.Redacted()
	}
	return "the endpoint"
}

type attemptResult struct {
	err      error // nil = accepted
	retry    bool
	after    time.Duration // what the server asks to wait; 0 = it does not say
	rejected int64
	message  string
}

func (s *sender) attempt(ctx context.Context, sig signalKind, left time.Duration) attemptResult {
	ctx, cancel := context.WithTimeout(ctx, min(max(left, time.Millisecond), attemptTimeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+sig.path(), bytes.NewReader(s.body.Bytes()))
	if err != nil {
		return attemptResult{err: err}
	}
	req.Header.Set("User-Agent", "otelcol-agents-replay")
	maps.Copy(req.Header, s.header)
	if host := s.header.Get("Host"); host != "" {
		req.Host = host
	}
	req.Header.Set("Content-Encoding", "gzip")
	req.Header.Set("Content-Type", "application/x-protobuf")
	if s.json {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.client.Do(req)
	if err != nil {
		// The URL is in the message already.
		if about, ok := errors.AsType[*url.Error](err); ok {
			err = about.Err
		}
		return attemptResult{err: err, retry: true}
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	kind := resp.Header.Get("Content-Type")
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		// The status is the answer: a body that breaks off must not have the batch sent twice.
		if err != nil {
			return attemptResult{}
		}
		rejected, message := partialSuccess(kind, answer)
		return attemptResult{rejected: rejected, message: message}
	}
	result := attemptResult{err: fmt.Errorf("status %s%s", resp.Status, colon(serverMessage(kind, answer)))}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		result.retry = true
		result.after = s.retryAfter(resp.Header.Get("Retry-After"))
	}
	return result
}

// retryAfter reads the header of that name: seconds or a date.
func (s *sender) retryAfter(text string) time.Duration {
	if n, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(max(n, 0), 24*3600)) * time.Second
	}
	if t, err := http.ParseTime(text); err == nil {
		return max(t.Sub(s.now()), 0)
	}
	return 0
}

func (s *sender) compress(body []byte) {
	s.body.Reset()
	s.zip.Reset(&s.body)
	// A bytes.Buffer never fails.
	_, _ = s.zip.Write(body)
	_ = s.zip.Close()
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}
