// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package listen

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/confignet"
	"go.opentelemetry.io/collector/config/configtls"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/internal/engine"
	"github.com/otelcol-agents/otelcol-agents/translate"
)

func tcpConfig() TCPConfig {
	return TCPConfig{
		Address:        confignet.TCPAddrConfig{Endpoint: "127.0.0.1:0"},
		MaxConnections: 100,
		IdleTimeout:    5 * time.Minute,
	}
}

func startTCP(t testing.TB, cfg TCPConfig, e Opener, r Reporter) *TCP {
	t.Helper()
	s := NewTCP(cfg, settings(e, r))
	require.NoError(t, s.Start(t.Context()))
	t.Cleanup(func() { assert.NoError(t, s.Shutdown(context.Background())) })
	return s
}

func dialTCP(t testing.TB, s *TCP) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn.(*net.TCPConn)
}

func write(t testing.TB, w io.Writer, text string) {
	t.Helper()
	_, err := io.WriteString(w, text)
	require.NoError(t, err)
}

func TestTCP(t *testing.T) {
	for name, tc := range map[string]struct {
		send func(t *testing.T, c *net.TCPConn, in *fakeInput)
		want []string
		torn int64
	}{
		"lines and close": {
			send: func(t *testing.T, c *net.TCPConn, _ *fakeInput) {
				write(t, c, "a\nb\n")
				require.NoError(t, c.Close())
			},
			want: []string{"a", "b"},
		},
		"the other half stays open": {
			send: func(t *testing.T, c *net.TCPConn, _ *fakeInput) {
				write(t, c, "a\n{}")
				require.NoError(t, c.CloseWrite())
			},
			want: []string{"a", "{}"},
		},
		"one byte at a time": {
			send: func(t *testing.T, c *net.TCPConn, _ *fakeInput) {
				for _, b := range []byte("one\r\ntwo\n{\"three\":3}") {
					write(t, c, string(b))
				}
				require.NoError(t, c.Close())
			},
			want: []string{"one", "two", `{"three":3}`},
		},
		"close in a line": {
			send: func(t *testing.T, c *net.TCPConn, _ *fakeInput) {
				write(t, c, "a\n{\"type\":")
				require.NoError(t, c.Close())
			},
			want: []string{"a"},
			torn: 1,
		},
		"reset": {
			send: func(t *testing.T, c *net.TCPConn, in *fakeInput) {
				write(t, c, "a\n")
				receive(t, in.sending)
				require.NoError(t, c.SetLinger(0))
				require.NoError(t, c.Close())
			},
			want: []string{"a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, r := newFakeEngine(t), newFakeReporter()
			s := startTCP(t, tcpConfig(), e, r)
			c := dialTCP(t, s)
			in := e.input(t)
			assert.True(t, in.source.Live)
			assert.Nil(t, in.source.Caller)
			tc.send(t, c, in)
			got, how := in.rest(t)
			assert.Equal(t, tc.want, got)
			assert.Equal(t, engine.Broken, how)
			assert.Equal(t, tc.torn, in.skipped(translate.SkipTorn))
			receive(t, r.closed)
			_, _, refused, failed := r.numbers()
			assert.Zero(t, refused)
			assert.Zero(t, failed)
		})
	}
}

func TestTCPLive(t *testing.T) {
	e := newFakeEngine(t)
	s := startTCP(t, tcpConfig(), e, newFakeReporter())
	c := dialTCP(t, s)
	in := e.input(t)
	for i := range 100 {
		line := fmt.Sprintf("line %d", i)
		write(t, c, line+"\n")
		assert.Equal(t, line, receive(t, in.lines))
	}
}

func TestTCPNetcat(t *testing.T) {
	nc, err := exec.LookPath("nc")
	if err != nil {
		t.Skip("nc is not installed")
	}
	e := newFakeEngine(t)
	s := startTCP(t, tcpConfig(), e, newFakeReporter())
	host, port, err := net.SplitHostPort(s.Addr().String())
	require.NoError(t, err)
	cmd := exec.Command(nc, "-w", "1", host, port)
	cmd.Stdin = strings.NewReader("a\nb\n")
	require.NoError(t, cmd.Run())
	got, _ := e.input(t).rest(t)
	assert.Equal(t, []string{"a", "b"}, got)
}

// TestTCPShell sends with nothing but a shell.
func TestTCPShell(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	e := newFakeEngine(t)
	s := startTCP(t, tcpConfig(), e, newFakeReporter())
	host, port, err := net.SplitHostPort(s.Addr().String())
	require.NoError(t, err)
	out, err := exec.Command(bash, "-c", `printf 'a\nb\n' > /dev/tcp/`+host+"/"+port).CombinedOutput()
	require.NoError(t, err, string(out))
	got, _ := e.input(t).rest(t)
	assert.Equal(t, []string{"a", "b"}, got)
}

func TestTCPLimit(t *testing.T) {
	const clients, limit = 1000, 100
	e, r := newFakeEngine(t), newFakeReporter()
	s := startTCP(t, tcpConfig(), e, r)
	var conns [clients]*net.TCPConn
	for i := range conns {
		conns[i] = dialTCP(t, s)
		write(t, conns[i], record("a")+"\n")
	}
	served := make([]*fakeInput, 0, clients)
	for range limit {
		served = append(served, e.input(t))
	}
	for _, in := range served {
		receive(t, in.lines)
	}
	assert.Empty(t, e.opened, "more than the limit are served")
	var group sync.WaitGroup
	for _, c := range conns {
		group.Go(func() { _ = c.Close() })
	}
	for len(served) < clients {
		served = append(served, e.input(t))
	}
	group.Wait()
	var lines int64
	for _, in := range served {
		receive(t, in.ended)
		lines += in.counts.OK()
	}
	assert.Equal(t, int64(clients), lines)
	_, most, refused, failed := r.numbers()
	assert.Equal(t, limit, most)
	assert.Zero(t, refused)
	assert.Zero(t, failed)
}

func TestTCPAcceptFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, r := newFakeEngine(t), newFakeReporter()
		s := NewTCP(tcpConfig(), settings(e, r))
		p := newPipes()
		s.serveOn(p)
		begin := time.Now()
		for range 20 {
			p.errs <- syscall.EMFILE
			require.ErrorIs(t, <-r.told, syscall.EMFILE)
		}
		assert.Greater(t, time.Since(begin), 10*time.Second, "it spins")
		assert.Less(t, time.Since(begin), 20*time.Second)
		c := p.dial()
		write(t, c, "a\n")
		in := <-e.opened
		assert.Equal(t, "a", <-in.lines)
		require.NoError(t, s.Shutdown(t.Context()))
		_, how := in.rest(t)
		assert.Equal(t, engine.Broken, how)
		_ = c.Close()
	})
}

func TestTCPIdle(t *testing.T) {
	for name, tc := range map[string]struct {
		client func(c net.Conn)
		lives  time.Duration
		torn   int64
	}{
		"silent":                {func(net.Conn) {}, time.Minute, 0},
		"one byte a second":     {func(c net.Conn) { drip(c, "aaaaaaaaaa", time.Second) }, time.Minute, 1},
		"a line now and then":   {func(c net.Conn) { drip(c, "\n\n\n\n\n", 50*time.Second) }, 5*50*time.Second + time.Minute, 0},
		"too long lines":        {func(c net.Conn) { drip(c, strings.Repeat("a", 3000)+"\n", 19*time.Millisecond) }, 3001*19*time.Millisecond + time.Minute, 0},
		"a line, then silence":  {func(c net.Conn) { drip(c, "a\n{\"b", time.Second) }, 2*time.Second + time.Minute, 1},
		"an object, no newline": {func(c net.Conn) { drip(c, "{}", time.Second) }, time.Minute, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, r := newFakeEngine(t), newFakeReporter()
				cfg, set := tcpConfig(), settings(e, r)
				cfg.IdleTimeout = time.Minute
				set.MaxLine = 1000
				s := NewTCP(cfg, set)
				p := newPipes()
				s.serveOn(p)
				c := p.dial()
				begin := time.Now()
				go tc.client(c)
				in := <-e.opened
				assert.Equal(t, engine.Broken, <-in.ended)
				assert.Equal(t, tc.lives, time.Since(begin))
				require.ErrorIs(t, <-r.told, errIdle)
				assert.Equal(t, tc.torn, in.skipped(translate.SkipTorn))
				require.NoError(t, s.Shutdown(t.Context()))
				_ = c.Close()
			})
		})
	}
}

// drip writes byte by byte, with a pause before each, until it is done or the other side has gone.
func drip(w io.Writer, text string, pause time.Duration) {
	for i := range len(text) {
		time.Sleep(pause)
		if _, err := io.WriteString(w, text[i:i+1]); err != nil {
			return
		}
	}
}

// TestTCPPressed shows that a pipeline that stands stops the client and nothing else: what it waits for
// is not the client's idleness.
func TestTCPPressed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, r := newFakeEngine(t), newFakeReporter()
		e.take = make(chan struct{})
		s := NewTCP(tcpConfig(), settings(e, r))
		p := newPipes()
		s.serveOn(p)
		c := p.dial()
		write(t, c, "a\n")
		in := <-e.opened
		wrote := make(chan struct{})
		go func() {
			defer close(wrote)
			_, _ = io.WriteString(c, "b\n")
		}()
		time.Sleep(24 * time.Hour)
		select {
		case <-wrote:
			t.Error("more was read while the pipeline stood")
		default:
		}
		assert.True(t, in.unread.Load())
		close(e.take)
		<-wrote
		assert.Equal(t, "a", <-in.lines)
		assert.Equal(t, "b", <-in.lines)
		synctest.Wait()
		assert.False(t, in.unread.Load())
		require.NoError(t, c.Close())
		assert.Equal(t, engine.Broken, <-in.ended)
		require.NoError(t, s.Shutdown(t.Context()))
	})
}

func TestTCPShutdown(t *testing.T) {
	type scene struct {
		t *testing.T
		e *fakeEngine
		p *pipes
		c net.Conn
	}
	long := strings.Repeat("a", 1<<20)
	for name, tc := range map[string]struct {
		before func(s *scene) *fakeInput
		during func(s *scene)
		want   []string
		torn   int64
		err    error
		lasts  time.Duration
	}{
		"between lines": {
			before: func(s *scene) *fakeInput {
				write(s.t, s.c, "a\n")
				return <-s.e.opened
			},
			want: []string{"a"},
		},
		"in a line": {
			before: func(s *scene) *fakeInput {
				write(s.t, s.c, "a\n{\"b\":1}")
				return <-s.e.opened
			},
			want: []string{"a"},
			torn: 1,
		},
		"complete lines in hand": {
			before: func(s *scene) *fakeInput {
				s.e.take = make(chan struct{})
				go func() { _, _ = io.WriteString(s.c, long+"\nb\nc") }()
				return <-s.e.opened
			},
			during: func(s *scene) { close(s.e.take) },
			want:   []string{long, "b"},
			torn:   1,
		},
		"the pipeline stands": {
			before: func(s *scene) *fakeInput {
				s.e.take = make(chan struct{})
				write(s.t, s.c, "a\n")
				return <-s.e.opened
			},
			err:   errGaveUp,
			lasts: drainTimeout,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, r := newFakeEngine(t), newFakeReporter()
				s := NewTCP(tcpConfig(), settings(e, r))
				p := newPipes()
				s.serveOn(p)
				sc := &scene{t, e, p, p.dial()}
				in := tc.before(sc)
				synctest.Wait()
				begin := time.Now()
				done := make(chan error)
				go func() { done <- s.Shutdown(context.Background()) }()
				synctest.Wait()
				if tc.during != nil {
					tc.during(sc)
				}
				err := <-done
				require.ErrorIs(t, err, tc.err)
				assert.Equal(t, tc.lasts, time.Since(begin))
				lines, how := in.rest(t)
				assert.Equal(t, tc.want, lines)
				assert.Equal(t, engine.Broken, how)
				assert.Equal(t, tc.torn, in.skipped(translate.SkipTorn))
				_, err = sc.c.Read(make([]byte, 1))
				require.ErrorIs(t, err, io.EOF, "the connection is open")
				active, _, _, _ := r.numbers()
				assert.Zero(t, active)
				require.NoError(t, s.Shutdown(context.Background()))
			})
		})
	}
}

func TestTCPLifecycle(t *testing.T) {
	s := NewTCP(tcpConfig(), settings(newFakeEngine(t), newFakeReporter()))
	assert.Nil(t, s.Addr())
	require.NoError(t, s.Shutdown(t.Context()))
	require.NoError(t, s.Shutdown(t.Context()))

	first := startTCP(t, tcpConfig(), newFakeEngine(t), newFakeReporter())
	cfg := tcpConfig()
	cfg.Address.Endpoint = first.Addr().String()
	err := NewTCP(cfg, settings(newFakeEngine(t), newFakeReporter())).Start(t.Context())
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	require.ErrorContains(t, err, "listen for TCP on "+cfg.Address.Endpoint)

	cfg = tcpConfig()
	cfg.TLS = &configtls.ServerConfig{Config: configtls.Config{CertFile: "/none", KeyFile: "/none"}}
	err = NewTCP(cfg, settings(newFakeEngine(t), newFakeReporter())).Start(t.Context())
	require.ErrorContains(t, err, "prepare TLS for TCP on 127.0.0.1:0")
}

// TestLongLines shows that two sources at a time may hold long lines, and that nobody waits for ever.
func TestLongLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, r := newFakeEngine(t), newFakeReporter()
		s := NewTCP(tcpConfig(), settings(e, r))
		p := newPipes()
		s.serveOn(p)
		half := strings.Repeat("a", longLine+(512<<10)) // what is read at once may exceed the bound
		type client struct {
			net.Conn
			in   *fakeInput
			half chan struct{} // closed when half of the line was read
		}
		var clients []*client
		for range 4 {
			c := &client{Conn: p.dial(), half: make(chan struct{})}
			c.in = <-e.opened
			clients = append(clients, c)
			go func() {
				defer close(c.half)
				_, _ = io.WriteString(c, half)
			}()
			synctest.Wait()
		}
		stands := func(c *client) bool {
			select {
			case <-c.half:
				return false
			default:
				return true
			}
		}
		// Less than the idle timeout: those that are read have one too.
		time.Sleep(4 * time.Minute)
		for i, c := range clients {
			assert.Equal(t, i >= 2, stands(c), "client %d", i)
			assert.Equal(t, i >= 2, c.in.unread.Load(), "client %d", i)
		}
		// A short line needs no place.
		short := p.dial()
		write(t, short, "b\n")
		assert.Equal(t, "b", <-(<-e.opened).lines)
		write(t, clients[0], "\n")
		assert.Len(t, <-clients[0].in.lines, len(half))
		synctest.Wait()
		assert.False(t, stands(clients[2]))
		assert.True(t, stands(clients[3]))
		require.NoError(t, clients[1].Close())
		synctest.Wait()
		assert.False(t, stands(clients[3]))
		assert.Equal(t, int64(1), clients[1].in.skipped(translate.SkipTorn))
		// One that waits still has all of its idle timeout.
		time.Sleep(4 * time.Minute)
		for _, c := range clients[2:] {
			write(t, c, "\n")
			assert.Len(t, <-c.in.lines, len(half))
		}
		require.NoError(t, s.Shutdown(t.Context()))
		for _, c := range clients {
			_ = c.Close()
		}
		_ = short.Close()
	})
}

// TestLongLinesShutdown shows that waiting for a place ends with the listener.
func TestLongLinesShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newFakeEngine(t)
		set := settings(e, newFakeReporter())
		set.LongLines = NewLongLines()
		require.True(t, set.LongLines.places.TryAcquire(longLines))
		s := NewTCP(tcpConfig(), set)
		p := newPipes()
		s.serveOn(p)
		c := p.dial()
		go func() { _, _ = io.WriteString(c, strings.Repeat("a", 2*longLine)) }()
		in := <-e.opened
		synctest.Wait()
		require.NoError(t, s.Shutdown(t.Context()))
		<-in.ended
		assert.Equal(t, int64(1), in.skipped(translate.SkipTorn))
		_ = c.Close()
	})
}

// TestHugeLine shows that a line that is far too long costs no memory.
func TestHugeLine(t *testing.T) {
	const size = 256 << 20
	e, r := newFakeEngine(t), newFakeReporter()
	set := settings(e, r)
	set.MaxLine = 4 << 20
	s := NewTCP(tcpConfig(), set)
	p := newPipes()
	s.serveOn(p)
	c := p.dial()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := io.CopyBuffer(struct{ io.Writer }{c}, &flood{size, strings.NewReader("\nb\n")}, make([]byte, 256<<10))
	require.NoError(t, err)
	in := e.input(t)
	assert.Equal(t, "b", receive(t, in.lines))
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20))
	assert.Equal(t, int64(1), in.skipped(translate.SkipOversize))
	assert.Equal(t, int64(size+3), in.bytes)
	require.NoError(t, c.Close())
	require.NoError(t, s.Shutdown(t.Context()))
}

// authority issues certificates for tests.
type authority struct {
	t    testing.TB
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	n    int64
}

func newAuthority(t testing.TB) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	a.issue("ca")
	return a
}

// issue writes name.crt and name.key; the first certificate is the authority's own.
func (a *authority) issue(name string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(a.t, err)
	a.n++
	c := &x509.Certificate{
		SerialNumber: big.NewInt(a.n), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA:        a.cert == nil, BasicConstraintsValid: true,
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	require.NoError(a.t, err)
	if a.cert == nil {
		a.cert, err = x509.ParseCertificate(der)
		require.NoError(a.t, err)
		a.key = key
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(a.t, err)
	for file, block := range map[string]*pem.Block{
		a.file(name + ".crt"): {Type: "CERTIFICATE", Bytes: der},
		a.file(name + ".key"): {Type: "PRIVATE KEY", Bytes: raw},
	} {
		require.NoError(a.t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	}
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// server is the configuration of a server with a certificate of the authority.
func (a *authority) server() *configtls.ServerConfig {
	a.issue("server")
	return &configtls.ServerConfig{Config: configtls.Config{CertFile: a.file("server.crt"), KeyFile: a.file("server.key")}}
}

// client is the configuration of a client that trusts the authority, with a certificate of it if named.
func (a *authority) client(name string) *tls.Config {
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	cfg := &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}
	if name != "" {
		a.issue(name)
		pair, err := tls.LoadX509KeyPair(a.file(name+".crt"), a.file(name+".key"))
		require.NoError(a.t, err)
		cfg.Certificates = []tls.Certificate{pair}
	}
	return cfg
}

func TestTCPTLS(t *testing.T) {
	ca, other := newAuthority(t), newAuthority(t)
	stranger := ca.client("")
	stranger.Certificates = other.client("stranger").Certificates
	old := ca.client("client")
	old.MaxVersion = tls.VersionTLS12
	for name, tc := range map[string]struct {
		client   *tls.Config // nil: none
		clientCA bool
		refused  bool
	}{
		"without client certificate": {client: ca.client("")},
		"certificate not asked for":  {client: ca.client("client")},
		"certificate demanded":       {client: ca.client("client"), clientCA: true},
		"TLS 1.2":                    {client: old, clientCA: true},
		"none given":                 {client: ca.client(""), clientCA: true, refused: true},
		"of another authority":       {client: stranger, clientCA: true, refused: true},
		"no TLS":                     {refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			e, r := newFakeEngine(t), newFakeReporter()
			cfg := tcpConfig()
			cfg.TLS = ca.server()
			if tc.clientCA {
				cfg.TLS.ClientCAFile = ca.file("ca.crt")
			}
			s := startTCP(t, cfg, e, r)
			var c net.Conn = dialTCP(t, s)
			if tc.client != nil {
				c = tls.Client(c, tc.client)
			}
			// In TLS 1.3 the client may be done before it is refused.
			_, err := io.WriteString(c, "a line\n{}")
			if !tc.refused {
				require.NoError(t, err)
				require.NoError(t, c.Close())
				lines, how := e.input(t).rest(t)
				assert.Equal(t, []string{"a line", "{}"}, lines)
				assert.Equal(t, engine.Broken, how)
				return
			}
			err = receive(t, r.told)
			require.ErrorContains(t, err, "TLS handshake with 127.0.0.1:")
			assert.NotContains(t, err.Error(), "a line")
			_, _, refused, failed := r.numbers()
			assert.Equal(t, 1, refused)
			assert.Zero(t, failed)
			assert.Empty(t, e.opened)
		})
	}
}

// TestTCPSilentHandshake shows that clients that say nothing do not keep others out, and not for ever
// their places.
func TestTCPSilentHandshake(t *testing.T) {
	ca := newAuthority(t)
	cfg := tcpConfig()
	cfg.TLS = ca.server()
	cfg.MaxConnections = 2
	e, r := newFakeEngine(t), newFakeReporter()
	s := NewTCP(cfg, settings(e, r))
	s.patience = 50 * time.Millisecond
	require.NoError(t, s.Start(t.Context()))
	for range 4 {
		dialTCP(t, s)
	}
	c := tls.Client(dialTCP(t, s), ca.client(""))
	write(t, c, "a\n")
	assert.Equal(t, "a", receive(t, e.input(t).lines))
	require.ErrorIs(t, receive(t, r.told), context.DeadlineExceeded)
	require.NoError(t, s.Shutdown(t.Context()))
}

// TestTCPShutdownInHandshake shows that silent clients do not hold the shutdown up.
func TestTCPShutdownInHandshake(t *testing.T) {
	cfg := tcpConfig()
	cfg.TLS = newAuthority(t).server()
	cfg.MaxConnections = 1
	e, r := newFakeEngine(t), newFakeReporter()
	s := startTCP(t, cfg, e, r)
	c := dialTCP(t, s)
	write(t, c, "\x16\x03\x01")
	begin := time.Now()
	require.NoError(t, s.Shutdown(t.Context()))
	assert.Less(t, time.Since(begin), handshakeTimeout/2)
	_, _, refused, _ := r.numbers()
	assert.Zero(t, refused)
}

// drain is an Opener that takes everything at once.
type drain struct{ bytes chan int64 }

func (d drain) Pressed() bool            { return false }
func (d drain) Open(engine.Source) Input { return &drained{d, 0} }

type drained struct {
	drain
	n int64
}

func (d *drained) Send(_ context.Context, b *batch.Batch, _ func(*batch.Outcomes)) error {
	d.n += b.Size
	b.Release()
	return nil
}

func (d *drained) End(context.Context, engine.Ending) error {
	d.bytes <- d.n
	return nil
}

func (d *drained) Unread(bool) {}

func BenchmarkTCP(b *testing.B) {
	for _, size := range []int{100, 1000, 100_000} {
		b.Run(fmt.Sprintf("line=%d", size), func(b *testing.B) {
			d := drain{make(chan int64, 1)}
			s := startTCP(b, tcpConfig(), d, newFakeReporter())
			c := dialTCP(b, s)
			line := strings.Repeat("a", size-1) + "\n"
			chunk := []byte(strings.Repeat(line, max(1, (128<<10)/size)))
			b.SetBytes(int64(len(chunk)))
			b.ReportAllocs()
			var sent int64
			for b.Loop() {
				n, err := c.Write(chunk)
				if err != nil {
					b.Fatal(err)
				}
				sent += int64(n)
			}
			_ = c.Close()
			if got := <-d.bytes; got != sent {
				b.Fatalf("%d bytes came of %d", got, sent)
			}
			b.ReportMetric(float64(sent)/float64(size)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}
