// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"encoding/binary"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

// The first byte of an entry: its kind, and what follows.
const (
	entryKind        = 0x0f
	entrySameSession = 0x10 // that of the entry before
	entryTokens      = 0x20
	entryCost        = 0x40

	// leastEntry and mostEntry are the bytes that an entry takes.
	leastEntry = 1 + 8
	mostEntry  = 1 + 8 + 8 + tokenFields*binary.MaxVarintLen64 + 8
)

// entryCodec writes or reads the entries of one chunk: facts about one session come in a row, so its key is
// written once.
type entryCodec struct {
	session uint64
	begun   bool
}

func (c *entryCodec) append(b []byte, e *session.Entry) []byte {
	same := c.begun && c.session == e.Session
	c.session, c.begun = e.Session, true
	tokens, cost := e.Tokens != translate.Tokens{}, e.Cost != 0
	b = append(b, byte(e.Kind)&entryKind|flag(same, entrySameSession)|flag(tokens, entryTokens)|flag(cost, entryCost))
	b = appendFixed(b, e.ID)
	if !same {
		b = appendFixed(b, e.Session)
	}
	if tokens {
		b = appendTokens(b, &e.Tokens)
	}
	if cost {
		b = appendFloat(b, e.Cost)
	}
	return b
}

func (c *entryCodec) read(r *reader) (e session.Entry) {
	head := r.flags(entryKind | entrySameSession | entryTokens | entryCost)
	e.Kind, e.ID = session.EntryKind(head&entryKind), r.fixed()
	switch {
	case head&entrySameSession == 0:
		c.session, c.begun = r.fixed(), true
	case !c.begun:
		r.fail(errRange)
	}
	e.Session = c.session
	if head&entryTokens != 0 {
		e.Tokens = readTokens(r)
	}
	if head&entryCost != 0 {
		e.Cost = r.float()
	}
	return e
}

const tokenFields = 5

func appendTokens(b []byte, t *translate.Tokens) []byte {
	for _, v := range [tokenFields]int64{t.Input, t.CacheRead, t.CacheWrite, t.Output, t.Reasoning} {
		b = binary.AppendVarint(b, v)
	}
	return b
}

func readTokens(r *reader) translate.Tokens {
	return translate.Tokens{
		Input: r.varint(), CacheRead: r.varint(), CacheWrite: r.varint(), Output: r.varint(), Reasoning: r.varint(),
	}
}
