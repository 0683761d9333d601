// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package torture

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/otelcol-agents/otelcol-agents/internal/gen"
)

// Source is something to read: a file that grows, or a client with requests or lines.
type Source struct {
	Lane string
	// Path is of a file, below the folder of its lane; empty for a client.
	Path string
	// Pieces are what is written at once, or a request each, or what a connection sends at once.
	Pieces [][]byte
	// Whole says that a file is there, complete, before the collector is.
	Whole bool
	// Rename is the piece before which a file gets another name, Link the one before which it gets a second; zero
	// for never.
	Rename, Link int
}

// Data is everything that a source says.
func (s *Source) Data() []byte { return bytes.Join(s.Pieces, nil) }

// Load is what is fed to a collector. The same seed and size give the same load.
type Load struct {
	Sources []*Source
	// ops is the order in which pieces come: every source that has begun gets its next piece before any gets the
	// one after it, so that no session pauses for long.
	ops []op
}

type op struct {
	source *Source
	piece  int
}

// Ops is how many pieces the load has.
func (l *Load) Ops() int { return len(l.ops) }

// Add adds a source.
func (l *Load) Add(s *Source) { l.Sources = append(l.Sources, s) }

// order interleaves the sources.
func (l *Load) order(r *rand.Rand) {
	longest := 0
	for _, s := range l.Sources {
		longest = max(longest, len(s.Pieces))
	}
	rounds := make([][]op, longest)
	for _, s := range l.Sources {
		if s.Whole {
			continue
		}
		first := r.IntN(longest - len(s.Pieces) + 1)
		for i := range s.Pieces {
			rounds[first+i] = append(rounds[first+i], op{s, i})
		}
	}
	for _, round := range rounds {
		r.Shuffle(len(round), func(i, j int) { round[i], round[j] = round[j], round[i] })
		l.ops = append(l.ops, round...)
	}
}

// LoadOptions say what is in a load. It has everything that Testdata, the folder of the repository, has.
type LoadOptions struct {
	Seed     uint64
	Testdata string
	// Size is the number of generated sessions in the exact and in the lossy lane, Pieces how many pieces the largest
	// source is cut into.
	Size, Pieces int
	// Sockets adds clients of HTTP and TCP.
	Sockets bool
	// Shared says what to do with sessions that have several files: subagents, forks, copies.
	Shared Shared
}

// Shared says how much is asked of sessions that have several files, in rising order.
type Shared int

const (
	// NotShared leaves them out: every session has one source.
	NotShared Shared = iota
	// SharedWhole has the files of subagents, forks and copies there, complete, before the collector is; the files of
	// main agents grow.
	SharedWhole
	// SharedGrowing lets them grow in any order, like everything else.
	SharedGrowing
)

// NewLoad makes a load.
func NewLoad(o LoadOptions) (*Load, error) {
	l := &Load{}
	r := rand.New(rand.NewPCG(o.Seed, 0x6c6f6164))
	if err := l.testdata(r, o); err != nil {
		return nil, err
	}
	seed, pieces, sockets := o.Seed, o.Pieces, o.Sockets
	for i := range o.Size {
		s, err := generate(seed+uint64(i), i)
		if err != nil {
			return nil, err
		}
		// Streams as they are, with times; one in three as transcripts with the files of their subagents.
		timed := stamp(s)
		switch {
		case i%3 == 0 && o.Shared == NotShared:
			// Without the files of its subagents it is a transcript all the same.
			for path, data := range transcript(timed) {
				if !strings.Contains(path, "subagents") {
					l.Add(&Source{Lane: Exact, Path: path, Pieces: cut(r, data, pieces)})
				}
			}
		case i%3 == 0:
			for path, data := range transcript(timed) {
				if strings.HasSuffix(path, ".json") || strings.Contains(path, "subagents") && o.Shared == SharedWhole {
					l.Add(&Source{Lane: Exact, Path: path, Pieces: [][]byte{data}, Whole: true})
					continue
				}
				l.Add(&Source{Lane: Exact, Path: path, Pieces: cut(r, data, pieces)})
			}
		case i%3 == 1 && sockets:
			l.Add(&Source{Lane: Exact, Pieces: lines(r, timed, pieces)})
		default:
			f := &Source{Lane: Exact, Path: fmt.Sprintf("gen/stream-%03d.jsonl", i), Pieces: cut(r, timed, pieces)}
			f.Rename, f.Link = r.IntN(len(f.Pieces)), r.IntN(len(f.Pieces))
			l.Add(f)
		}
		if !sockets {
			continue
		}
		more, err := generate(seed^0x7463700000000000+uint64(i), i)
		if err != nil {
			return nil, err
		}
		l.Add(&Source{Lane: Lossy, Pieces: lines(r, more, pieces)})
	}
	slices.SortStableFunc(l.Sources, func(a, b *Source) int { return strings.Compare(a.Path, b.Path) })
	l.order(r)
	return l, nil
}

func generate(seed uint64, i int) ([]byte, error) {
	var b bytes.Buffer
	err := gen.Claude(&b, gen.Options{
		Seed: seed, Lines: 60 + 40*(i%5), ResultBytes: 300, Partial: i%4 == 3,
		StartTime: time.Date(2026, 11, 2, 8, i%60, 0, 0, time.UTC),
	})
	return b.Bytes(), err
}

// unsettled are sessions of testdata on which two undisturbed runs do not agree, or that never end.
var unsettled = []string{
	// A stream and a transcript of one session: what both tell keeps the content of the one that was read first.
	"with-stream",
	// Where a subagent begins depends on whether its first row or its call is read first.
	"agent-progress", "transcripts/subagents",
	// No response is known while the session is read, and the clock closes no session that is quiet.
	"cline/interrupted", "cline/legacy-errors",
}

// testdata takes the sessions of the repository: what has times in every row for the exact lane, the rest for the
// untimed one. Folders of several files whose order matters, forks and copies, are there before the collector is.
func (l *Load) testdata(r *rand.Rand, o LoadOptions) error {
	root, pieces, sockets := o.Testdata, o.Pieces, o.Sockets
	for _, folder := range []string{"claude", "cline", "codex", "rollouts", "sessions", "transcripts"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if slices.ContainsFunc(unsettled, func(part string) bool { return strings.Contains(path, part) }) {
				return nil
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			s := &Source{Lane: Untimed, Path: rel}
			if timed(data) || folder == "transcripts" || folder == "rollouts" {
				s.Lane = Exact
			}
			switch {
			case strings.Count(rel, "/") > 1 && o.Shared == NotShared:
				return nil
			case !strings.HasSuffix(path, ".jsonl"), strings.Count(rel, "/") > 1 && o.Shared == SharedWhole,
				strings.Contains(rel, "fork"), strings.Contains(rel, "-copy"):
				s.Whole, s.Pieces = true, [][]byte{data}
			case sockets && (folder == "cline" || folder == "codex") && r.IntN(2) == 0:
				s.Path, s.Pieces = "", [][]byte{data} // nothing but its first record says which session it is
			case sockets && folder == "claude" && r.IntN(3) == 0 && pieceable(data):
				s.Path, s.Pieces = "", lines(r, data, pieces)
			default:
				s.Pieces = cut(r, data, pieces)
				if strings.Count(rel, "/") == 1 {
					s.Rename, s.Link = r.IntN(3*len(s.Pieces)), r.IntN(3*len(s.Pieces))
				}
			}
			l.Add(s)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pieceable says whether a stream can be posted in several requests: each must say by itself whose it is.
func pieceable(data []byte) bool {
	return bytes.Contains(data, []byte("session_id")) && !bytes.Contains(data, []byte("agentstream.context"))
}

var rowTime = regexp.MustCompile(`"(timestamp|ts)":`)

func timed(data []byte) bool {
	for line := range bytes.Lines(data) {
		if len(bytes.TrimSpace(line)) > 0 && !rowTime.Match(line) {
			return false
		}
	}
	return true
}

// cut cuts anywhere, in the middle of lines too, into at most n pieces.
func cut(r *rand.Rand, data []byte, n int) [][]byte {
	n = min(1+r.IntN(n), 1+len(data)/80)
	at := make([]int, n-1, n)
	for i := range at {
		at[i] = r.IntN(len(data) + 1)
	}
	at = append(at, len(data))
	slices.Sort(at)
	pieces, from := make([][]byte, 0, n), 0
	for _, to := range at {
		if to > from {
			pieces = append(pieces, data[from:to])
			from = to
		}
	}
	return pieces
}

// lines cuts between lines.
func lines(r *rand.Rand, data []byte, n int) (pieces [][]byte) {
	all := slices.Collect(bytes.Lines(data))
	per := max(1, len(all)/n)
	for len(all) > 0 {
		k := min(len(all), per+r.IntN(per+1))
		pieces = append(pieces, bytes.Join(all[:k], nil))
		all = all[k:]
	}
	return pieces
}

var stamped = regexp.MustCompile(`,"timestamp":"([^"]+)"`)

// stamp gives rows without a time that of the row before them, or the first of all.
func stamp(stream []byte) []byte {
	var out bytes.Buffer
	var last []byte
	if m := stamped.FindSubmatch(stream); m != nil {
		last = m[1]
	}
	for line := range bytes.Lines(stream) {
		if m := stamped.FindSubmatch(line); m != nil {
			last = m[1]
			out.Write(line)
			continue
		}
		body := bytes.TrimSuffix(bytes.TrimRight(line, "\r\n"), []byte("}"))
		fmt.Fprintf(&out, "%s,\"timestamp\":%q}\n", body, last)
	}
	return out.Bytes()
}

var (
	sessionOf  = regexp.MustCompile(`"session_id":"([^"]+)"`)
	parentOf   = regexp.MustCompile(`"parent_tool_use_id":"([^"]+)"`)
	launched   = regexp.MustCompile(`"subtype":"task_started","task_id":"([^"]+)","tool_use_id":"([^"]+)"`)
	kindOfTask = regexp.MustCompile(`"subagent_type":"([^"]+)"`)
)

// transcript is a stream as Claude Code would keep it: the main agent's rows in one file, those of its subagents in
// one each, with a sidecar that names the call. The keys are paths.
func transcript(stream []byte) map[string][]byte {
	session := string(sessionOf.FindSubmatch(stream)[1])
	files := map[string]*bytes.Buffer{}
	put := func(path, format string, args ...any) {
		if files[path] == nil {
			files[path] = &bytes.Buffer{}
		}
		fmt.Fprintf(files[path], format, args...)
	}
	agents := map[string]string{} // by the call that launched them
	for line := range bytes.Lines(stream) {
		if m := launched.FindSubmatch(line); m != nil {
			agents[string(m[2])] = string(m[1])
			put(fmt.Sprintf("gen/%s/subagents/agent-%s.meta.json", session, m[1]), `{"agentType":%q,"toolUseId":%q,"spawnDepth":1}`,
				kindOfTask.FindSubmatch(line)[1], m[2])
		}
		if !bytes.HasPrefix(line, []byte(`{"type":"user"`)) && !bytes.HasPrefix(line, []byte(`{"type":"assistant"`)) {
			continue
		}
		row := string(sessionOf.ReplaceAll(line, []byte(`"sessionId":"$1"`)))
		row = strings.Replace(row, `"tool_use_result":`, `"toolUseResult":`, 1)
		path, side := "gen/"+session+".jsonl", `"isSidechain":false`
		if m := parentOf.FindSubmatch(line); m != nil {
			agent := agents[string(m[1])]
			path = fmt.Sprintf("gen/%s/subagents/agent-%s.jsonl", session, agent)
			side = fmt.Sprintf(`"isSidechain":true,"agentId":%q`, agent)
		}
		put(path, `{%s,"userType":"external","version":"2.1.332",%s`, side, row[1:])
	}
	out := map[string][]byte{}
	for path, b := range files {
		out[path] = b.Bytes()
	}
	return out
}

// Feeder feeds a load to a collector.
type Feeder struct {
	load  *Load
	setup *Setup
	next  int
	paths map[*Source]string // of files that were renamed

	ctx     context.Context
	clients sync.WaitGroup
	queues  map[*Source]chan []byte
	sent    map[*Source]int // pieces given to a client
	mu      sync.Mutex
	errs    []error
}

// NewFeeder writes the files that are there from the beginning. Clients give up when ctx ends.
func NewFeeder(ctx context.Context, load *Load, setup *Setup) (*Feeder, error) {
	f := &Feeder{load: load, setup: setup, ctx: ctx, paths: map[*Source]string{}, queues: map[*Source]chan []byte{}, sent: map[*Source]int{}}
	for _, s := range load.Sources {
		if s.Path != "" {
			f.paths[s] = filepath.Join(setup.Files, s.Lane, s.Path)
			if err := os.MkdirAll(filepath.Dir(f.paths[s]), 0o700); err != nil {
				return nil, err
			}
		}
		if s.Whole {
			if err := os.WriteFile(f.paths[s], s.Data(), 0o600); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// Done says that every piece was written or given to its client.
func (f *Feeder) Done() bool { return f.next == len(f.load.ops) }

// Step writes the next piece, or gives it to its client, which may take long to send it.
func (f *Feeder) Step() error {
	op := f.load.ops[f.next]
	f.next++
	s, data := op.source, op.source.Pieces[op.piece]
	if s.Path == "" {
		q := f.queues[s]
		if q == nil {
			q = make(chan []byte, len(s.Pieces))
			f.queues[s] = q
			f.clients.Go(func() {
				send := f.post
				if s.Lane == Lossy {
					send = f.stream
				}
				if err := send(s.Lane, q); err != nil {
					f.mu.Lock()
					f.errs = append(f.errs, err)
					f.mu.Unlock()
				}
			})
		}
		q <- data
		f.sent[s] = op.piece + 1
		if op.piece == len(s.Pieces)-1 {
			close(q)
		}
		return nil
	}
	path := f.paths[s]
	if op.piece > 0 && op.piece == s.Link {
		if err := os.Link(path, strings.TrimSuffix(path, ".jsonl")+"-two.jsonl"); err != nil {
			return err
		}
	}
	if op.piece > 0 && op.piece == s.Rename {
		f.paths[s] = strings.TrimSuffix(path, ".jsonl") + "-moved.jsonl"
		if err := os.Rename(path, f.paths[s]); err != nil {
			return err
		}
		path = f.paths[s]
	}
	w, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return errors.Join(err, w.Close())
}

// Close ends the clients that wait for more of their pieces, which never come, and waits for all.
func (f *Feeder) Close() error {
	for s, q := range f.queues {
		if f.sent[s] < len(s.Pieces) {
			f.sent[s] = len(s.Pieces)
			close(q)
		}
	}
	return f.Wait()
}

// Wait waits for the clients. All of the load must have been given to them.
func (f *Feeder) Wait() error {
	f.clients.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	return errors.Join(f.errs...)
}

// post sends requests, each again and again until it is answered with 200.
func (f *Feeder) post(lane string, bodies <-chan []byte) error {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 30 * time.Second}
	for body := range bodies {
		for {
			status, answer, err := f.try(client, lane, body)
			if err == nil && (status == http.StatusOK || status == http.StatusBadRequest) {
				break // 400 is the answer to a request in which no row is good, of which there are some
			}
			if err == nil && status != http.StatusServiceUnavailable {
				return fmt.Errorf("a request was answered with %d: %s", status, answer)
			}
			if !pause(f.ctx, 20*time.Millisecond) {
				return fmt.Errorf("a request was never answered: %w", errors.Join(err, f.ctx.Err()))
			}
		}
	}
	return nil
}

func (f *Feeder) try(client *http.Client, lane string, body []byte) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(f.ctx, http.MethodPost, f.setup.HTTP(lane), bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, errors.Join(err, resp.Body.Close())
}

// stream writes to a connection. When it breaks, a new one goes on with what had not been written yet.
func (f *Feeder) stream(_ string, pieces <-chan []byte) error {
	var conn net.Conn
	defer func() {
		if conn != nil {
			_ = conn.Close()
		}
	}()
	for piece := range pieces {
		for line := range bytes.Lines(piece) {
			for {
				if conn == nil {
					c, err := (&net.Dialer{}).DialContext(f.ctx, "tcp", f.setup.TCP())
					if err != nil {
						if !pause(f.ctx, 20*time.Millisecond) {
							return fmt.Errorf("no connection: %w", err)
						}
						continue
					}
					conn = c
					defer context.AfterFunc(f.ctx, func() { _ = c.Close() })()
				}
				if _, err := conn.Write(line); err == nil {
					break
				}
				_ = conn.Close()
				conn = nil
			}
		}
	}
	if conn == nil {
		return nil
	}
	// The collector closes when it has read everything; without this, a close of ours could cut off what it has
	// not read.
	if err := conn.(*net.TCPConn).CloseWrite(); err == nil {
		_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
		_, _ = bufio.NewReader(conn).ReadByte()
	}
	return nil
}
