// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package tail

import (
	"crypto/sha256"

	"github.com/otelcol-agents/otelcol-agents/internal/ledger"
)

// guardBytes is how much of a file a mark looks at.
const guardBytes = 256

// mark remembers the bytes before a position, as a hash: the heads of sessions hold prompts and paths.
// It is over exactly n bytes, so that a file that has grown compares equal. The zero mark knows nothing.
type mark ledger.Mark

func markOf(b []byte) mark { return mark{N: len(b), Sum: sha256.Sum256(b)} }

// holds reports whether the bytes before the position, as many as there are up to guardBytes, are those
// that were marked.
func (m mark) holds(b []byte) bool { return m.N == 0 || m == markOf(b) }
