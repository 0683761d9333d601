// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/otelcol-agents/otelcol-agents/internal/gen"
)

const (
	bytesRead   = "otelcol_agent_stream_bytes_read"
	refoldBytes = "otelcol_agent_stream_refold_bytes"
	commits     = "otelcol_agent_stream_commits"
	tracked     = "otelcol_agent_stream_files_tracked"
	resident    = "otelcol_agent_stream_sessions_resident"
)

// stored is a configuration with storage in a folder of its own: settings are the receiver's.
func (l *lab) stored(store, settings, pipelines string) string {
	return fmt.Sprintf(`
receivers: {agent_stream: {%s, storage: file_storage}}
extensions: {file_storage: {directory: %q, create_directory: true}}`, settings, l.path(store)) +
		strings.Replace(pipelines, "service:\n", "service:\n  extensions: [file_storage]\n", 1)
}

// history is a set of files with a session each.
type history struct {
	dir   string
	paths []string
	ids   []string // of the sessions
	size  int64
}

// history writes so many files of about so many bytes, in folders of 200. Unless they are finished, their sessions
// miss their last row, so that they stay open.
func (l *lab) history(name string, files, size int, finished bool) (*history, error) {
	h := &history{dir: l.path(name)}
	const together = 100 // sessions that are made at once
	lines := max(8, size/1000)
	for i := 0; i < files; i += together {
		n := min(together, files-i)
		var text bytes.Buffer
		began := time.Now().Add(-time.Minute)
		if err := gen.Claude(&text, gen.Options{Seed: uint64(i), Lines: n * lines, Sessions: n, StartTime: began}); err != nil {
			return nil, err
		}
		var order []string
		rows := map[string][][]byte{}
		for line := range bytes.Lines(text.Bytes()) {
			_, rest, _ := bytes.Cut(line, []byte(`"session_id":"`))
			id, _, ok := bytes.Cut(rest, []byte(`"`))
			if !ok {
				return nil, errors.New("a row without a session")
			}
			if rows[string(id)] == nil {
				order = append(order, string(id))
			}
			rows[string(id)] = append(rows[string(id)], line)
		}
		for _, id := range order {
			if err := h.add(id, rows[id], size, finished); err != nil {
				return nil, err
			}
		}
	}
	return h, nil
}

// add writes the file of a session.
func (h *history) add(id string, rows [][]byte, size int, finished bool) error {
	last := len(rows) - 1
	var text []byte
	for _, row := range rows[:last] {
		if len(row) > size {
			continue // a single huge result would be most of a small file
		}
		if len(text)+len(row)/2 > size {
			break
		}
		text = append(text, row...)
	}
	if finished {
		text = append(text, rows[last]...)
	}
	path := fmt.Sprintf("%s/%d/%d.jsonl", h.dir, len(h.paths)/200, len(h.paths))
	h.paths, h.ids, h.size = append(h.paths, path), append(h.ids, id), h.size+int64(len(text))
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600))
}

func (h *history) settings() string {
	return fmt.Sprintf("files: {include: [%s/**/*.jsonl], start_at: beginning}", h.dir)
}

// grow appends a row to a file: a call, or the result of the one before it.
func (h *history) grow(i, n int) error {
	at := time.Now().UTC().Format(time.RFC3339Nano)
	row := fmt.Sprintf(`{"type":"assistant","session_id":%[1]q,"uuid":"a%[1]s%[2]d","timestamp":%[3]q,"message":{"id":"m%[1]s%[2]d","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":"t%[1]s%[2]d","name":"Bash","input":{"command":"true"}}],"usage":{"input_tokens":1,"output_tokens":1}}}`+"\n",
		h.ids[i], n/2, at)
	if n%2 == 1 {
		row = fmt.Sprintf(`{"type":"user","session_id":%[1]q,"uuid":"u%[1]s%[2]d","timestamp":%[3]q,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%[1]s%[2]d","content":"ok"}]}}`+"\n",
			h.ids[i], n/2, at)
	}
	f, err := os.OpenFile(h.paths[i], os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, row)
	return errors.Join(err, f.Close())
}

// settle waits until so many bytes are read and committed and nothing more happens for some seconds.
func (c *collector) settle(size int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := wait(ctx, func() bool { return c.metric(bytesRead) >= float64(size) }); err != nil {
		return fmt.Errorf("read %.0f of %d bytes: %w", c.metric(bytesRead), size, err)
	}
	var since time.Time
	last := -1.0
	return wait(ctx, func() bool {
		if n := c.metric(commits); n != last {
			last, since = n, time.Now()
		}
		return time.Since(since) > 12*time.Second // longer than session.linger
	})
}

// kill ends a process without a word.
func (c *collector) kill() error {
	err := c.cmd.Process.Kill()
	_ = c.cmd.Wait()
	return err
}

func diskUsage(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if info, err := d.Info(); err == nil {
			n += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return nil
	})
	return n
}

// manyFiles watches 10,000 sessions in memory of which 20 grow.
func (l *lab) manyFiles() error {
	const files, hot = 10_000, 20
	h, err := l.history("many", files, 20_000, false)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(h.dir) }()
	c, err := l.start(l.stored("many.db", h.settings(), nopPipelines))
	if err != nil {
		return err
	}
	if err := c.settle(h.size); err != nil {
		return errors.Join(err, c.kill())
	}
	read, took := c.metric(bytesRead), time.Since(c.started)-12*time.Second
	idle, rested, err := l.watch(c)
	if err != nil {
		return errors.Join(err, c.kill())
	}
	stop := make(chan struct{})
	var growing sync.WaitGroup
	var grown error
	growing.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for n := 0; grown == nil; n++ {
			for i := range hot {
				grown = errors.Join(grown, h.grow(i*(files/hot), n))
			}
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	})
	share, u, err := l.watch(c)
	close(stop)
	growing.Wait()
	l.report("manyfiles: %d files, %d MB: settled after %.1f s; nothing grows: %.2f %% of a core, RSS %d MiB; %d grow by a row a second: %.2f %% of a core, RSS %d MiB (peak %d), %.0f sessions resident, ledger %.1f MiB on disk, %.0f bytes read, %.0f of them since, %.0f folded again",
		files, h.size/1e6, took.Seconds(), idle, mib(rested.rss), hot, share, mib(u.rss), mib(u.peak), c.metric(resident), float64(diskUsage(l.path("many.db")))/(1<<20),
		c.metric(bytesRead), c.metric(bytesRead)-read, c.metric(refoldBytes))
	began := time.Now()
	err = errors.Join(err, grown, c.stop())
	l.report("manyfiles: shutdown %.2f s", time.Since(began).Seconds())
	return err
}

// restart starts again over a gigabyte that was read and committed.
func (l *lab) restart() error {
	const files = 1000
	h, err := l.history("history", files, 1_000_000, false)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(h.dir) }()
	c, err := l.start(l.stored("history.db", h.settings(), nopPipelines))
	if err != nil {
		return err
	}
	if err := c.settle(h.size); err != nil {
		return errors.Join(err, c.kill())
	}
	u, err := c.used()
	if err != nil {
		return errors.Join(err, c.kill())
	}
	l.report("restart: %d files, %d MB committed: RSS %d MiB (peak %d), ledger %.1f MiB on disk", files, h.size/1e6, mib(u.rss), mib(u.peak),
		float64(diskUsage(l.path("history.db")))/(1<<20))
	s := newSink()
	defer s.Close()
	for i, how := range []struct {
		name string
		end  func() error
	}{{"SIGTERM", func() error { return c.stop() }}, {"SIGKILL", func() error { return c.kill() }}} {
		began := time.Now()
		if err := how.end(); err != nil {
			return err
		}
		ended := time.Since(began)
		if c, err = l.start(l.stored("history.db", h.settings(), s.pipelines())); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		err = wait(ctx, func() bool { return c.metric(tracked) >= files })
		scanned := time.Since(c.started)
		cancel()
		before, err2 := c.used()
		time.Sleep(5 * time.Second)
		u, err3 := c.used()
		if err := errors.Join(err, err2, err3); err != nil {
			return errors.Join(err, c.kill())
		}
		l.report("restart: after %s (ended in %.2f s): ready %.2f s, first scan done %.2f s, CPU %.2f s till then and %.2f s in the 5 s after, RSS %d MiB (peak %d), %.0f sessions resident, %.0f bytes read, %.0f folded again",
			how.name, ended.Seconds(), c.ready.Seconds(), scanned.Seconds(), before.cpu.Seconds(), (u.cpu - before.cpu).Seconds(), mib(u.rss), mib(u.peak),
			c.metric(resident), c.metric(bytesRead), c.metric(refoldBytes))
		for len(s.came) > 0 {
			<-s.came
		}
		began = time.Now()
		if err := errors.Join(h.grow(100+i, 0), h.grow(100+i, 1)); err != nil {
			return errors.Join(err, c.kill())
		}
		name := ""
		for timeout := time.After(30 * time.Second); !strings.HasPrefix(name, "execute_tool"); {
			select {
			case name = <-s.came:
			case <-timeout:
				return errors.Join(errors.New("no span of a finished call"), c.kill())
			}
		}
		l.report("restart: after %s: span of a new call after %.2f s, %.0f bytes read, %.0f folded again, %d spans arrived", how.name,
			time.Since(began).Seconds(), c.metric(bytesRead), c.metric(refoldBytes), s.count())
		if err := c.settle(0); err != nil {
			return errors.Join(err, c.kill())
		}
	}
	return c.stop()
}

// evicted reads 10,000 finished sessions with room for 100, and with room for all of them.
func (l *lab) evicted() error {
	const files = 10_000
	h, err := l.history("evicted", files, 20_000, true)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(h.dir) }()
	for _, room := range []int{10_000, 100} {
		s := newSink()
		c, err := l.start(l.stored(fmt.Sprintf("evicted%d.db", room), fmt.Sprintf("%s, session: {max_resident: %d}", h.settings(), room), s.pipelines()))
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		err = wait(ctx, func() bool { return s.roots() >= files })
		took := time.Since(c.started)
		cancel()
		err = errors.Join(err, c.settle(h.size))
		u, err2 := c.used()
		l.report("evicted: %d sessions, max_resident %d: all roots after %.1f s (CPU %.1f s), RSS %d MiB (peak %d), %.0f sessions resident, %d spans, %d of them roots, %d came twice, %.0f evicted, %.0f bytes folded again",
			files, room, took.Seconds(), u.cpu.Seconds(), mib(u.rss), mib(u.peak), c.metric(resident), s.count(), s.roots(), s.repeated(),
			c.metric("otelcol_agent_stream_sessions_evicted"), c.metric(refoldBytes))
		s.Close()
		if err := errors.Join(err, err2, c.stop()); err != nil {
			return err
		}
	}
	return nil
}

// commit reads the same bytes with and without storage, from a file and over TCP.
func (l *lab) commit() error {
	path := l.path("commit.jsonl")
	_, size, err := l.generate(path, l.size/2)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(path) }()
	port, err := freePort()
	if err != nil {
		return err
	}
	file := fmt.Sprintf("files: {include: [%s], start_at: beginning}", path)
	tcp := fmt.Sprintf("tcp: {endpoint: 127.0.0.1:%d}", port)
	for _, k := range []struct{ name, store, config string }{
		{"file", "none", "receivers: {agent_stream: {" + file + "}}" + nopPipelines},
		{"file, storage", "file.db", l.stored("file.db", file, nopPipelines)},
		{"tcp", "none", "receivers: {agent_stream: {" + tcp + "}}" + nopPipelines},
		{"tcp, storage", "tcp.db", l.stored("tcp.db", tcp, nopPipelines)},
	} {
		c, err := l.start(k.config)
		if err != nil {
			return err
		}
		began := time.Now()
		if strings.HasPrefix(k.name, "tcp") {
			if err := sendFile(path, port); err != nil {
				return errors.Join(err, c.kill())
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		err = wait(ctx, func() bool { return c.metric(bytesRead) >= float64(size) })
		cancel()
		took := time.Since(began)
		u, err2 := c.used()
		n, spent := c.metric(commits), c.metric("otelcol_agent_stream_commit_duration_sum")
		l.report("commit: %d MiB, %s -> nop: %.0f MB/s, %.0f MB a CPU-second, peak RSS %d MiB, %.0f commits, %.0f a second of %.1f ms each, ledger %.1f MiB on disk",
			mib(size), k.name, float64(size)/1e6/took.Seconds(), float64(size)/1e6/u.cpu.Seconds(), mib(u.peak), n, n/took.Seconds(), spent/max(n, 1)*1e3,
			float64(diskUsage(l.path(k.store)))/(1<<20))
		if err := errors.Join(err, err2, c.stop()); err != nil {
			return err
		}
	}
	return nil
}

func sendFile(path string, port int) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	_, err = io.Copy(conn, f)
	return errors.Join(err, conn.Close())
}
