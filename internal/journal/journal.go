// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package journal gives what live sources brought a form in which it can be stored, since nobody can read
// it from them again.
//
// What is stored are records as decoders gave them: redacted, cut, and without what is not captured.
package journal

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/klauspost/compress/s2"

	"github.com/otelcol-agents/otelcol-agents/internal/voice"
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

// Entry is what came of one source at a time.
type Entry struct {
	Opening *Opening // how the source began; nil where an entry before tells it
	Said    []voice.Said
	// From are the states in which sessions of which something is said were closed before, where what had
	// been said of them until then is not in the journal any more.
	From []session.State
}

// Opening is what is known of a source before its first line.
type Opening struct {
	// Request is that of engine.Source.
	Request bool
	// Caller is what the headers of a request tell; nil without.
	Caller *translate.Context
	// Format and Agent are those that the first records decided.
	Format translate.Format
	Agent  string
}

const (
	// version is the first byte. It is to be raised when a field of a record changes its meaning, its type
	// or the meaning of its numbers: not for new fields, which are absent in what was stored before.
	version = 1
	// maxSize bounds what a damaged header can have allocated. No entry comes near it.
	maxSize = 1 << 30
)

var (
	errVersion = errors.New("it is of another version")
	errSize    = errors.New("it is too large")
	errUnit    = errors.New("a unit is no record and no diagnostic")
	errValue   = errors.New("an attribute has no value")
)

var (
	// Strings of decoders are valid; for anybody else's, a mark in the place of a byte is better than no entry.
	encoding = json.JoinOptions(json.OmitZeroStructFields(true), jsontext.AllowInvalidUTF8(true))
	decoding = json.JoinOptions(json.RejectUnknownMembers(true))
)

// Encode is the stored form of an entry, of which keep says what it may hold. It must be called before the
// entry is stepped, since that writes into the records. It changes nothing of the entry.
func Encode(e *Entry, keep translate.Capture) ([]byte, error) {
	w, err := toWire(e, keep)
	if err != nil {
		return nil, fmt.Errorf("encode journal: %w", err)
	}
	text, err := json.Marshal(&w, encoding)
	if err != nil {
		return nil, fmt.Errorf("encode journal: %w", err)
	}
	if len(text) > maxSize {
		return nil, fmt.Errorf("encode journal of %d bytes: %w", len(text), errSize)
	}
	out := make([]byte, 1, 1+s2.MaxEncodedLen(len(text)))
	out[0] = version
	return out[:1+len(s2.Encode(out[1:cap(out)], text))], nil
}

// Decode is the entry that has the stored form. Nothing of it is shared with data.
func Decode(data []byte) (Entry, error) {
	if len(data) == 0 || data[0] != version {
		return Entry{}, fmt.Errorf("decode journal: %w", errVersion)
	}
	n, err := s2.DecodedLen(data[1:])
	if err != nil {
		return Entry{}, fmt.Errorf("decode journal: %w", err)
	}
	if n > maxSize {
		return Entry{}, fmt.Errorf("decode journal of %d bytes: %w", n, errSize)
	}
	text, err := s2.Decode(nil, data[1:])
	if err != nil {
		return Entry{}, fmt.Errorf("decode journal: %w", err)
	}
	var w wire
	if err := json.Unmarshal(text, &w, decoding); err != nil {
		return Entry{}, fmt.Errorf("decode journal: %w", err)
	}
	e, err := w.entry()
	if err != nil {
		return Entry{}, fmt.Errorf("decode journal: %w", err)
	}
	return e, nil
}
