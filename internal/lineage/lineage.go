// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package lineage tells, before a file is read, what depends on other files of its session: when it began,
// and what the file beside it says.
package lineage

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/otelcol-agents/otelcol-agents/translate/claude"
)

const (
	chunkBytes = 8 << 10
	// peekBytes is how far into a file its beginning is looked for.
	peekBytes = 256 << 10
	// maxSidecar bounds the file beside a transcript; a real one has some hundred bytes.
	maxSidecar = 64 << 10
)

// Beginning is when a file began: the time of its first response if that is near its beginning, since a
// resumed session may copy prompts with their old times and stamp the responses anew; else of its first
// record. It is the zero time where nothing tells. It only decides what is read first.
func Beginning(r io.ReaderAt) time.Time {
	var first time.Time
	buf := make([]byte, 0, chunkBytes)
	for off := int64(0); off < peekBytes; {
		n, err := r.ReadAt(buf[len(buf):cap(buf)], off)
		off += int64(n)
		buf = buf[:len(buf)+n]
		for {
			line, rest, ok := bytes.Cut(buf, []byte{'\n'})
			if !ok && err == nil {
				break
			}
			at := timestamp(line)
			if first.IsZero() {
				first = at
			}
			if !at.IsZero() && response(line) {
				return at
			}
			if buf = rest; len(buf) == 0 {
				break
			}
		}
		if err != nil {
			return first
		}
		buf = append(make([]byte, 0, len(buf)+chunkBytes), buf...)
	}
	if first.IsZero() {
		first = timestamp(buf)
	}
	return first
}

// Compare orders files: originals before forks, main files before those of subagents, last what has no
// time.
func Compare(x, y time.Time, xPath, yPath string) int {
	switch {
	case x.IsZero() == y.IsZero():
		return cmp.Or(x.Compare(y), strings.Compare(xPath, yPath))
	case x.IsZero():
		return 1
	}
	return -1
}

func response(line []byte) bool {
	return bytes.Contains(line, []byte(`"type":"assistant"`)) || bytes.Contains(line, []byte(`"type": "assistant"`))
}

// timestamp is the first "timestamp" of a line in RFC 3339.
func timestamp(b []byte) time.Time {
	for {
		_, rest, ok := bytes.Cut(b, []byte(`"timestamp"`))
		if !ok {
			return time.Time{}
		}
		b = rest
		rest, ok = bytes.CutPrefix(bytes.TrimLeft(rest, " \t"), []byte(":"))
		if !ok {
			continue
		}
		rest, ok = bytes.CutPrefix(bytes.TrimLeft(rest, " \t"), []byte(`"`))
		value, _, closed := bytes.Cut(rest, []byte(`"`))
		if at, err := time.Parse(time.RFC3339, string(value)); ok && closed && err == nil {
			return at
		}
	}
}

// Sidecar is the record that is read before the first of a subagent's file: what the file beside it tells.
// It is nil where there is none.
func Sidecar(path string, open func(string) (io.ReadCloser, error)) []byte {
	name, ok := strings.CutSuffix(filepath.Base(path), ".jsonl")
	if !ok || !strings.HasPrefix(name, "agent-") {
		return nil
	}
	f, err := open(filepath.Join(filepath.Dir(path), name+".meta.json"))
	if err != nil {
		return nil // most have none
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxSidecar+1))
	if err != nil || len(data) > maxSidecar {
		return nil
	}
	var line bytes.Buffer
	line.WriteString(`{"type":"` + claude.SidecarType + `","sidecar":`)
	if json.Compact(&line, bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))) != nil {
		return nil
	}
	line.WriteByte('}')
	return line.Bytes()
}
