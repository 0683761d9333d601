// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package ids derives trace ids, span ids and log record uids from what the input says.
//
// The derivation is a compatibility contract (telemetry contract, section 2): the same input gives
// the same ids for ever, whatever path, host or time it is read from. A change needs a new version tag.
package ids

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

const (
	traceTag = "agentstream/1/trace"
	spanTag  = "agentstream/1/span"
	logTag   = "agentstream/1/log"
)

// Kind of a span in the derivation of its id.
const (
	KindSession  = "session"
	KindResponse = "response"
	KindCall     = "call"
	KindSubagent = "subagent"
)

// Trace is the trace id of one segment of a session. The segment key is empty for the first segment.
func Trace(agent, session, segment string) translate.TraceID {
	var id translate.TraceID
	derive(id[:], traceTag, agent, session, segment)
	return id
}

// Span is the id of a span within the derived trace, which is the session's own even where a caller's
// trace id stands on the span. Source ids are tool call, message or record ids, else ordinals.
func Span(trace translate.TraceID, kind string, source ...string) translate.SpanID {
	var id translate.SpanID
	derive(id[:], spanTag, append([]string{string(trace[:]), kind}, source...)...)
	return id
}

// Log is the uid of a log record: the n-th of its event within the unit that source names.
func Log(trace translate.TraceID, event translate.Event, source string, n int) [16]byte {
	var id [16]byte
	var ord [8]byte
	binary.BigEndian.PutUint64(ord[:], uint64(n))
	derive(id[:], logTag, string(trace[:]), string(event), source, string(ord[:]))
	return id
}

// Session is the id of a session whose stream never names one: 16 hex digits over the agent's name
// and the first line that is a record (ruling 35).
func Session(agent string, line []byte) string {
	line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	line = bytes.TrimRight(line, "\r\n")
	h := sha256.New()
	h.Write([]byte(agent))
	h.Write([]byte{'\n'})
	h.Write(line)
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// derive fills id with a hash over the tag and the fields, each behind its length, so that no two
// lists of fields run into each other. An all-zero id means none and is hashed again.
func derive(id []byte, tag string, fields ...string) {
	buf := make([]byte, 0, 256)
	buf = append(buf, tag...)
	for _, f := range fields {
		buf = binary.BigEndian.AppendUint64(buf, uint64(len(f)))
		buf = append(buf, f...)
	}
	sum := sha256.Sum256(buf)
	for copy(id, sum[:]); allZero(id); copy(id, sum[:]) {
		sum = sha256.Sum256(sum[:])
	}
}

func allZero(id []byte) bool {
	for _, b := range id {
		if b != 0 {
			return false
		}
	}
	return true
}
