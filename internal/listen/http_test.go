// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package listen

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/extension/extensionauth"

	"github.com/otelcol-agents/otelcol-agents/internal/engine"
	"github.com/otelcol-agents/otelcol-agents/translate"
)

func httpConfig() HTTPConfig {
	cfg := HTTPConfig{Server: NewDefaultServerConfig()}
	cfg.Server.NetAddr.Endpoint = "127.0.0.1:0"
	return cfg
}

// server is an HTTP with what tests ask of it.
type server struct {
	*HTTP
	e      *fakeEngine
	r      *fakeReporter
	client *http.Client
	url    string
	two    bool // HTTP/2
}

func startHTTP(t testing.TB, change func(*HTTPConfig, *Settings)) *server {
	t.Helper()
	return startHTTPOn(t, componenttest.NewNopHost(), change)
}

func startHTTPOn(t testing.TB, host component.Host, change func(*HTTPConfig, *Settings)) *server {
	t.Helper()
	s := &server{e: newFakeEngine(t), r: newFakeReporter()}
	cfg, set := httpConfig(), settings(s.e, s.r)
	if change != nil {
		change(&cfg, &set)
	}
	s.HTTP = NewHTTP(cfg, set)
	require.NoError(t, s.Start(t.Context(), host, componenttest.NewNopTelemetrySettings()))
	s.url = "http://" + s.Addr().String() + Path
	t.Cleanup(func() { assert.NoError(t, s.Shutdown(context.Background())) })
	s.client = newClient(t)
	return s
}

func newClient(t testing.TB) *http.Client {
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

type reply struct {
	status int
	header http.Header
	answer
}

func (s *server) request(t testing.TB, body io.Reader, header ...string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, body)
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	return req
}

func (s *server) post(t testing.TB, body io.Reader, header ...string) reply {
	t.Helper()
	return s.do(t, s.request(t, body, header...))
}

func (s *server) do(t testing.TB, req *http.Request) reply {
	t.Helper()
	r, err := s.try(req)
	require.NoError(t, err)
	return r
}

func (s *server) try(req *http.Request) (reply, error) {
	resp, err := s.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	r := reply{status: resp.StatusCode, header: resp.Header}
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.Header.Get("Content-Type") == "application/json" {
		err = json.Unmarshal(body, &r.answer)
	}
	return r, err
}

// start sends a request whose body is written by the caller.
func (s *server) start(t testing.TB, header ...string) (body *io.PipeWriter, answered <-chan reply) {
	t.Helper()
	read, body := io.Pipe()
	req := s.request(t, read, header...)
	c := make(chan reply, 1)
	go func() {
		r, err := s.try(req)
		if err == nil {
			c <- r
		}
		close(c)
	}()
	return body, c
}

func gzipped(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

func zstandard(text string) string {
	var b bytes.Buffer
	w, _ := zstd.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

func TestHTTP(t *testing.T) {
	a, b := record("a"), record("b")
	both := a + "\n" + b + "\n"
	for name, tc := range map[string]struct {
		method, path string // POST and Path when empty
		body         string
		chunked      bool
		encoding     string
		limit        int64
		maxLine      int
		status       int
		lines        []string // nil: no input
		accepted     int64
		skipped      map[string]int64
		err          string
		ending       engine.Ending
		header       map[string]string
	}{
		"plain":            {body: both, status: 200, lines: []string{a, b}, accepted: 2},
		"chunked":          {body: both, chunked: true, status: 200, lines: []string{a, b}, accepted: 2},
		"no last newline":  {body: a + "\n" + b, status: 200, lines: []string{a, b}, accepted: 2},
		"gzip":             {body: gzipped(both), encoding: "gzip", status: 200, lines: []string{a, b}, accepted: 2},
		"two gzip members": {body: gzipped(a+"\n") + gzipped(b), encoding: "gzip", status: 200, lines: []string{a, b}, accepted: 2},
		"zstd":             {body: zstandard(both), encoding: "zstd", status: 200, lines: []string{a, b}, accepted: 2},
		"two zstd frames":  {body: zstandard(a+"\n") + zstandard(b), encoding: "zstd", status: 200, lines: []string{a, b}, accepted: 2},
		"identity":         {body: both, encoding: "identity", status: 200, lines: []string{a, b}, accepted: 2},
		"some are skipped": {
			body: "hello\n" + a + "\n[1]\n{\"type\":\"user\n", maxLine: 1000, status: 200, lines: []string{"hello", a, "[1]", `{"type":"user`},
			accepted: 1, skipped: map[string]int64{"not_json": 1, "bad_shape": 1, "torn": 1},
		},
		"too long lines": {
			body: strings.Repeat("x", 2000) + "\n" + a + "\n" + strings.Repeat("x", 2000), maxLine: 1000, status: 200,
			lines: []string{a}, accepted: 1, skipped: map[string]int64{"oversize": 2},
		},
		"empty":        {status: 400, lines: []string{}, err: "no line of the body is a usable record"},
		"empty gzip":   {encoding: "gzip", chunked: true, status: 400, lines: []string{}, err: "no line of the body is a usable record"},
		"empty zstd":   {encoding: "zstd", chunked: true, status: 400, lines: []string{}, err: "no line of the body is a usable record"},
		"no record":    {body: "secret\n\n", status: 400, lines: []string{"secret"}, skipped: map[string]int64{"not_json": 1}, err: "no line of the body is a usable record"},
		"no gzip":      {body: both, encoding: "gzip", status: 400, lines: []string{}, err: "the body is no valid gzip"},
		"no zstd":      {body: both, encoding: "zstd", status: 400, lines: []string{}, err: "the body is no valid zstd"},
		"no known one": {body: both, encoding: "br", status: 400, err: "unsupported Content-Encoding: br"},
		"gzip breaks off": {
			body: flushed(a+"\n"+b, "gzip"), encoding: "gzip", status: 400, lines: []string{a}, accepted: 1,
			skipped: map[string]int64{"torn": 1}, err: "the body is no valid gzip",
		},
		"zstd breaks off": {
			body: flushed(a+"\n"+b, "zstd"), encoding: "zstd", status: 400, lines: []string{a}, accepted: 1,
			skipped: map[string]int64{"torn": 1}, err: "the body is no valid zstd",
		},
		"garbage behind gzip": {
			body: gzipped(a+"\n") + "garbage beyond all doubt", encoding: "gzip", status: 400, lines: []string{a}, accepted: 1,
			err: "the body is no valid gzip",
		},
		"body over the limit": {
			body: a + "\n" + b + "\n", limit: int64(len(a) + 10), chunked: true, status: 413, lines: []string{a}, accepted: 1,
			skipped: map[string]int64{"torn": 1}, err: fmt.Sprintf("the body is larger than %d bytes", len(a)+10),
		},
		"gzip over the limit": {
			body: gzipped(strings.Repeat(a+"\n", 100)), encoding: "gzip", limit: int64(3*len(a) + 10), status: 413, lines: []string{a, a, a}, accepted: 3,
			skipped: map[string]int64{"torn": 1}, err: fmt.Sprintf("the body is larger than %d bytes", 3*len(a)+10),
		},
		"limit in gzip":  {body: gzipped(both), encoding: "gzip", limit: 20, status: 413, lines: []string{}, err: "the body is larger than 20 bytes"},
		"limit in zstd":  {body: zstandard(both), encoding: "zstd", limit: 8, status: 413, lines: []string{}, err: "the body is larger than 8 bytes"},
		"another path":   {path: "/v1/traces", body: both, status: 404},
		"path below":     {path: Path + "/x", body: both, status: 404},
		"another method": {method: http.MethodGet, status: 405, header: map[string]string{"Allow": "POST"}},
		"put":            {method: http.MethodPut, body: both, status: 405, header: map[string]string{"Allow": "POST"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := startHTTP(t, func(cfg *HTTPConfig, set *Settings) {
				cfg.Server.MaxRequestBodySize = tc.limit
				if tc.maxLine > 0 {
					set.MaxLine = tc.maxLine
				}
			})
			var body io.Reader = strings.NewReader(tc.body)
			if tc.chunked {
				body = struct{ io.Reader }{body}
			}
			req := s.request(t, body)
			if tc.method != "" {
				req.Method = tc.method
			}
			if tc.path != "" {
				req.URL.Path = tc.path
			}
			if tc.encoding != "" {
				req.Header.Set("Content-Encoding", tc.encoding)
			}
			got := s.do(t, req)
			assert.Equal(t, tc.status, got.status)
			assert.Equal(t, tc.accepted, got.Accepted)
			assert.Equal(t, tc.err, got.Error)
			for key, value := range tc.header {
				assert.Equal(t, value, got.header.Get(key))
			}
			if tc.lines == nil {
				assert.Empty(t, s.e.opened)
				return
			}
			if tc.skipped == nil {
				tc.skipped = map[string]int64{}
			}
			assert.Equal(t, tc.skipped, got.Skipped)
			in := s.e.input(t)
			assert.True(t, in.source.Live)
			assert.True(t, in.source.Request)
			lines, how := in.rest(t)
			assert.ElementsMatch(t, tc.lines, lines)
			assert.Equal(t, engine.Ended, how)
			active, _, refused, _ := s.r.numbers()
			assert.Zero(t, active)
			assert.Zero(t, refused)
			if tc.status == http.StatusOK {
				assert.Empty(t, got.header.Get("Connection"))
			}
		})
	}
}

// flushed is the beginning of a body of that encoding: the text is in it, its end is not.
func flushed(text, encoding string) string {
	var b bytes.Buffer
	w := encoder(&b, encoding)
	_, _ = io.WriteString(w, text)
	_ = w.Flush()
	return b.String()
}

type flusher interface {
	io.WriteCloser
	Flush() error
}

func encoder(to io.Writer, encoding string) flusher {
	switch encoding {
	case "gzip":
		return gzip.NewWriter(to)
	case "zstd":
		w, err := zstd.NewWriter(to)
		if err != nil {
			panic(err)
		}
		return w
	}
	return plainWriter{to}
}

type plainWriter struct{ io.Writer }

func (plainWriter) Flush() error { return nil }
func (plainWriter) Close() error { return nil }

// starter starts a server of one version of HTTP.
type starter func(change func(*HTTPConfig, *Settings)) *server

// protocols runs a test over both versions of HTTP.
func protocols(t *testing.T, run func(t *testing.T, start starter)) {
	ca := newAuthority(t)
	for name, two := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) {
			run(t, func(change func(*HTTPConfig, *Settings)) *server {
				return startHTTPS(t, ca, two, change)
			})
		})
	}
}

func startHTTPS(t testing.TB, ca *authority, two bool, change func(*HTTPConfig, *Settings)) *server {
	t.Helper()
	s := startHTTP(t, func(cfg *HTTPConfig, set *Settings) {
		cfg.Server.TLS = configoptional.Some(*ca.server())
		if change != nil {
			change(cfg, set)
		}
	})
	transport := s.client.Transport.(*http.Transport)
	transport.TLSClientConfig = ca.client("")
	transport.ForceAttemptHTTP2 = two
	if !two {
		transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	s.url = "https://" + s.Addr().String() + Path
	s.two = two
	return s
}

// TestHTTPEndless shows that the lines of a body are taken as they come, and that it is answered when all
// of them are committed.
func TestHTTPEndless(t *testing.T) {
	protocols(t, func(t *testing.T, start starter) {
		for _, encoding := range []string{"", "gzip", "zstd"} {
			t.Run("encoding="+encoding, func(t *testing.T) {
				s := start(nil)
				s.e.commit = make(chan struct{})
				body, answered := s.start(t, "Content-Encoding", encoding)
				in := s.e.input(t)
				w := encoder(body, encoding)
				const n = 20
				for i := range n {
					line := record(strconv.Itoa(i))
					write(t, w, line+"\n")
					require.NoError(t, w.Flush())
					assert.Equal(t, line, receive(t, in.lines))
				}
				require.NoError(t, w.Close())
				require.NoError(t, body.Close())
				_, how := in.rest(t)
				assert.Equal(t, engine.Ended, how)
				for range n - 1 {
					s.e.commit <- struct{}{}
				}
				assert.Empty(t, answered)
				s.e.commit <- struct{}{}
				got := receive(t, answered)
				assert.Equal(t, 200, got.status)
				assert.Equal(t, int64(n), got.Accepted)
				assert.Empty(t, got.Error)
			})
		}
	})
}

// TestHTTPPressed shows that requests are refused unread while the pipeline is full, endless ones too.
func TestHTTPPressed(t *testing.T) {
	protocols(t, func(t *testing.T, start starter) {
		s := start(nil)
		s.e.pressed.Store(true)
		body, answered := s.start(t)
		got := receive(t, answered)
		assert.Equal(t, 503, got.status)
		assert.Equal(t, "5", got.header.Get("Retry-After"))
		assert.Equal(t, answer{Skipped: map[string]int64{}, Error: errPressed.Error()}, got.answer)
		assert.Empty(t, s.e.opened)
		require.ErrorIs(t, receive(t, s.r.told), errPressed)
		_, _, refused, failed := s.r.numbers()
		assert.Equal(t, 1, refused)
		assert.Zero(t, failed)
		_ = body.Close()

		s.e.pressed.Store(false)
		assert.Equal(t, 200, s.post(t, strings.NewReader(record("a"))).status)
	})
}

// TestHTTPBackpressure shows that a pipeline that stands in the middle of a body is no error.
func TestHTTPBackpressure(t *testing.T) {
	s := startHTTP(t, nil)
	s.e.take = make(chan struct{})
	body, answered := s.start(t)
	write(t, body, record("a")+"\n")
	in := s.e.input(t)
	receive(t, in.sending)
	s.e.pressed.Store(true)
	go func() {
		_, _ = io.WriteString(body, strings.Repeat(record("b")+"\n", 100))
		_ = body.Close()
	}()
	close(s.e.take)
	got := receive(t, answered)
	assert.Equal(t, 200, got.status)
	assert.Equal(t, int64(101), got.Accepted)
}

func TestHTTPAborted(t *testing.T) {
	protocols(t, func(t *testing.T, start starter) {
		for name, tc := range map[string]struct {
			tail string
			want []string
			torn int64
		}{
			"in a line":        {tail: `{"a":`, torn: 1},
			"behind an object": {tail: `{"a":1}`, want: []string{`{"a":1}`}},
			"between lines":    {},
		} {
			t.Run(name, func(t *testing.T) {
				s := start(nil)
				body, _ := s.start(t)
				write(t, body, record("a")+"\n")
				in := s.e.input(t)
				receive(t, in.lines)
				if tc.tail != "" {
					write(t, body, tc.tail+" ")
				}
				require.NoError(t, body.CloseWithError(errors.New("no more")))
				receive(t, s.r.closed)
				lines, how := in.rest(t)
				assert.Equal(t, engine.Broken, how)
				if s.two && tc.tail != "" && len(lines) == 0 && in.skipped(translate.SkipTorn) == 0 {
					return // a stream that is reset may take its last bytes with it
				}
				for i := range tc.want {
					tc.want[i] += " "
				}
				assert.Equal(t, tc.want, lines)
				assert.Equal(t, tc.torn, in.skipped(translate.SkipTorn))
			})
		}
	})
}

// TestHTTPBadChunk shows what a client gets that breaks the protocol in the middle of a body.
func TestHTTPBadChunk(t *testing.T) {
	s := startHTTP(t, nil)
	c, err := net.Dial("tcp", s.Addr().String())
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	line := record("a") + "\n"
	write(t, c, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", Path, len(line), line))
	in := s.e.input(t)
	receive(t, in.lines)
	write(t, c, "no chunk\r\n")
	out, err := io.ReadAll(c)
	require.NoError(t, err)
	assert.Contains(t, string(out), "HTTP/1.1 400 Bad Request\r\n")
	assert.Contains(t, string(out), errAborted.Error())
	assert.Equal(t, engine.Broken, receive(t, in.ended))
}

// TestHTTPHalfClosed shows that a client may close its half of the connection and wait.
func TestHTTPHalfClosed(t *testing.T) {
	s := startHTTP(t, nil)
	s.e.commit = make(chan struct{})
	conn, err := net.Dial("tcp", s.Addr().String())
	require.NoError(t, err)
	c := conn.(*net.TCPConn)
	defer func() { _ = c.Close() }()
	line := record("a") + "\n"
	write(t, c, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", Path, len(line), line))
	require.NoError(t, c.CloseWrite())
	s.e.input(t).rest(t)
	s.e.commit <- struct{}{}
	out, err := io.ReadAll(c)
	require.NoError(t, err)
	assert.Contains(t, string(out), "HTTP/1.1 200 OK\r\n")
}

func TestHTTPStop(t *testing.T) {
	protocols(t, func(t *testing.T, start starter) {
		t.Run("in a body", func(t *testing.T) {
			s := start(nil)
			body, answered := s.start(t)
			write(t, body, record("a")+"\n")
			in := s.e.input(t)
			receive(t, in.lines)
			require.NoError(t, s.Stop(context.Background()))
			_, how := in.rest(t)
			assert.Equal(t, engine.Suspended, how)
			got := receive(t, answered)
			assert.Equal(t, 503, got.status)
			assert.Equal(t, "5", got.header.Get("Retry-After"))
			assert.Equal(t, int64(1), got.Accepted)
			assert.Equal(t, errStopped.Error(), got.Error)
			_ = body.Close()
			require.NoError(t, s.Shutdown(context.Background()))
		})
		t.Run("the lines are committed by the end of the engine", func(t *testing.T) {
			s := start(nil)
			s.e.commit = make(chan struct{})
			body, answered := s.start(t)
			write(t, body, record("a")+"\n")
			require.NoError(t, body.Close())
			in := s.e.input(t)
			in.rest(t)
			require.NoError(t, s.Stop(context.Background()))
			assert.Empty(t, answered)
			s.e.commit <- struct{}{} // the engine's Shutdown
			got := receive(t, answered)
			assert.Equal(t, 200, got.status)
			require.NoError(t, s.Shutdown(context.Background()))
		})
		t.Run("they are not", func(t *testing.T) {
			s := start(nil)
			s.e.commit = make(chan struct{})
			body, answered := s.start(t)
			write(t, body, record("a")+"\n")
			require.NoError(t, body.Close())
			s.e.input(t).rest(t)
			require.NoError(t, s.Shutdown(context.Background()))
			got := receive(t, answered)
			assert.Equal(t, 503, got.status)
			assert.Equal(t, "not everything was accepted downstream", got.Error)
			assert.Zero(t, got.Accepted)
		})
		t.Run("the pipeline stands", func(t *testing.T) {
			s := start(nil)
			s.e.take = make(chan struct{})
			body, answered := s.start(t)
			write(t, body, record("a")+"\n")
			in := s.e.input(t)
			receive(t, in.sending)
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			require.ErrorIs(t, s.Stop(ctx), errGaveUp)
			got := receive(t, answered)
			assert.Equal(t, 503, got.status)
			_ = body.Close()
			require.NoError(t, s.Shutdown(context.Background()))
		})
	})
}

func TestHTTPLifecycle(t *testing.T) {
	s := NewHTTP(httpConfig(), settings(newFakeEngine(t), newFakeReporter()))
	assert.Nil(t, s.Addr())
	require.NoError(t, s.Stop(t.Context()))
	require.NoError(t, s.Shutdown(t.Context()))
	require.NoError(t, s.Shutdown(t.Context()))

	first := startHTTP(t, nil)
	cfg := httpConfig()
	cfg.Server.NetAddr.Endpoint = first.Addr().String()
	err := NewHTTP(cfg, settings(newFakeEngine(t), newFakeReporter())).
		Start(t.Context(), componenttest.NewNopHost(), componenttest.NewNopTelemetrySettings())
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	require.ErrorContains(t, err, "listen for HTTP on "+cfg.Server.NetAddr.Endpoint)
	require.NoError(t, first.Shutdown(t.Context()))
	require.NoError(t, first.Shutdown(t.Context()))

	cfg = httpConfig()
	cfg.Server.Auth = configoptional.Some(confighttp.AuthConfig{Config: configauth.Config{AuthenticatorID: component.MustNewID("none")}})
	err = NewHTTP(cfg, settings(newFakeEngine(t), newFakeReporter())).
		Start(t.Context(), componenttest.NewNopHost(), componenttest.NewNopTelemetrySettings())
	require.ErrorContains(t, err, "prepare HTTP on 127.0.0.1:0")
}

// extensions is a host with an authenticator.
type extensions map[component.ID]component.Component

func (e extensions) GetExtensions() map[component.ID]component.Component { return e }

type authenticator struct {
	component.StartFunc
	component.ShutdownFunc
	extensionauth.ServerAuthenticateFunc
}

// TestHTTPAuth shows that requests of strangers are refused, before the end of their bodies.
func TestHTTPAuth(t *testing.T) {
	id := component.MustNewID("token")
	host := extensions{id: authenticator{ServerAuthenticateFunc: func(ctx context.Context, headers map[string][]string) (context.Context, error) {
		if http.Header(headers).Get("Authorization") != "Bearer secret" {
			return ctx, errors.New("who are you")
		}
		return ctx, nil
	}}}
	s := startHTTPOn(t, host, func(cfg *HTTPConfig, _ *Settings) {
		cfg.Server.Auth = configoptional.Some(confighttp.AuthConfig{Config: configauth.Config{AuthenticatorID: id}})
	})
	for _, header := range [][]string{nil, {"Authorization", "Bearer other"}} {
		body, answered := s.start(t, header...)
		got := receive(t, answered)
		assert.Equal(t, 401, got.status)
		assert.Equal(t, "who are you", got.Error)
		_ = body.Close()
	}
	assert.Empty(t, s.e.opened)
	got := s.post(t, strings.NewReader(record("a")), "Authorization", "Bearer secret")
	assert.Equal(t, 200, got.status)
}

// TestHTTPEarly shows that an endless body does not keep the answer back that it will not be read.
func TestHTTPEarly(t *testing.T) {
	s := startHTTP(t, nil)
	for _, path := range []string{"/", Path} {
		body, w := io.Pipe()
		req := s.request(t, body)
		req.URL.Path = path
		want := 404
		if path == Path {
			req.Method, want = http.MethodPut, 405
		}
		assert.Equal(t, want, s.do(t, req).status)
		_ = w.Close()
	}
}

func TestHTTPCaller(t *testing.T) {
	s := startHTTP(t, func(cfg *HTTPConfig, _ *Settings) { cfg.BaggageAttributes = []string{"team"} })
	s.post(t, strings.NewReader(record("a")),
		"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "baggage", "team=a%20b")
	in := s.e.input(t)
	require.NotNil(t, in.source.Caller)
	assert.Equal(t, byte(0x4b), in.source.Caller.TraceID[0])
	assert.Equal(t, []translate.KeyValue{{Key: "team", Value: "a b"}}, in.source.Caller.Attributes)
	s.post(t, strings.NewReader(record("a")))
	assert.Nil(t, s.e.input(t).source.Caller)
}

// TestHTTPBombs shows that little bodies that stand for large ones cost no memory.
func TestHTTPBombs(t *testing.T) {
	const size = 128 << 20
	small := record("a")
	bomb := func(encoding string) string {
		var b bytes.Buffer
		w := encoder(&b, encoding)
		_, _ = io.CopyBuffer(struct{ io.Writer }{w}, &flood{size, strings.NewReader("\n" + small + "\n")}, make([]byte, 256<<10))
		_ = w.Close()
		return b.String()
	}
	// A frame of a window of 512 MiB, and a block that fills some of it.
	window := "\x28\xb5\x2f\xfd\x00\x98" + "\x02\x00\x10a" + "\x03\x00\x10a"
	for name, tc := range map[string]struct {
		encoding, body string
		status         int
		skipped        map[string]int64
	}{
		"gzip":        {"gzip", bomb("gzip"), 200, map[string]int64{"oversize": 1}},
		"zstd":        {"zstd", bomb("zstd"), 200, map[string]int64{"oversize": 1}},
		"zstd window": {"zstd", window, 400, map[string]int64{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := startHTTP(t, func(_ *HTTPConfig, set *Settings) { set.MaxLine = 1 << 20 })
			s.post(t, strings.NewReader(small)) // the connection
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := s.post(t, strings.NewReader(tc.body), "Content-Encoding", tc.encoding)
			runtime.ReadMemStats(&after)
			assert.Equal(t, tc.status, got.status)
			assert.Equal(t, tc.skipped, got.Skipped)
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20))
		})
	}
}

// TestHTTPLongLines shows that bodies share the places for long lines.
func TestHTTPLongLines(t *testing.T) {
	places := NewLongLines()
	require.True(t, places.places.TryAcquire(longLines))
	s := startHTTP(t, func(_ *HTTPConfig, set *Settings) { set.LongLines = places })
	body, answered := s.start(t)
	go func() {
		_, _ = io.WriteString(body, `{"a":"`+strings.Repeat("a", 16<<20)+"\"}\n"+record("a")+"\n")
		_ = body.Close()
	}()
	in := s.e.input(t)
	require.Eventually(t, in.unread.Load, patience, time.Millisecond)
	places.places.Release(1)
	got := receive(t, answered)
	assert.Equal(t, 200, got.status)
	places.places.Release(1)
	assert.True(t, places.places.TryAcquire(longLines))
}

func TestCurl(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	a, b := record("a"), record("b")
	dir := t.TempDir()
	for name, text := range map[string]string{"plain": a + "\n" + b + "\n", "gzip": gzipped(a + "\n" + b), "large": strings.Repeat(a+"\n", 20_000)} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for name, tc := range map[string]struct {
		args     []string
		stdin    string
		pressed  bool
		status   string
		accepted int64
	}{
		"data":         {args: []string{"--data-binary", "@plain"}, status: "200", accepted: 2},
		"gzip":         {args: []string{"--data-binary", "@gzip", "-H", "Content-Encoding: gzip"}, status: "200", accepted: 2},
		"stdin":        {args: []string{"-X", "POST", "-T", "-"}, stdin: a + "\n" + b, status: "200", accepted: 2},
		"expect":       {args: []string{"--data-binary", "@large", "-H", "Expect: 100-continue", "--expect100-timeout", "20"}, status: "200", accepted: 20_000},
		"pressed":      {args: []string{"--data-binary", "@large", "-H", "Expect: 100-continue", "--expect100-timeout", "20"}, pressed: true, status: "503"},
		"pressed, now": {args: []string{"--data-binary", "@large", "-H", "Expect:"}, pressed: true, status: "503"},
	} {
		t.Run(name, func(t *testing.T) {
			s := startHTTP(t, nil)
			s.e.pressed.Store(tc.pressed)
			cmd := exec.CommandContext(t.Context(), curl, append(tc.args, "-sS", "--max-time", "20", "-w", "\n%{http_code}", s.url)...)
			cmd.Dir = dir
			cmd.Stdin = strings.NewReader(tc.stdin)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
			text, status, _ := strings.Cut(strings.TrimSpace(string(out)), "\n\n")
			assert.Equal(t, tc.status, status, string(out))
			var got answer
			require.NoError(t, json.Unmarshal([]byte(text), &got))
			assert.Equal(t, tc.accepted, got.Accepted)
		})
	}
}

// TestCurlEndless pipes into a running curl.
func TestCurlEndless(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	s := startHTTP(t, nil)
	cmd := exec.CommandContext(t.Context(), curl, "-sS", "-X", "POST", "-T", "-", s.url)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	var in *fakeInput
	for i := range 10 {
		write(t, stdin, record(strconv.Itoa(i))+"\n")
		if in == nil {
			in = s.e.input(t)
		}
		assert.Equal(t, record(strconv.Itoa(i)), receive(t, in.lines))
	}
	require.NoError(t, stdin.Close())
	require.NoError(t, cmd.Wait(), out.String())
	assert.JSONEq(t, `{"accepted":10,"skipped":{}}`, out.String())
}

// TestCurlKilled shows that a client that dies leaves a broken input.
func TestCurlKilled(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("curl is not installed")
	}
	s := startHTTP(t, nil)
	cmd := exec.CommandContext(t.Context(), curl, "-sS", "-X", "POST", "-T", "-", s.url)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	write(t, stdin, record("a")+"\n")
	in := s.e.input(t)
	receive(t, in.lines)
	require.NoError(t, cmd.Process.Kill())
	assert.Equal(t, engine.Broken, receive(t, in.ended))
	_ = cmd.Wait()
}
