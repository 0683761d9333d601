// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"strconv"
	"strings"
)

// Keys have numbers in hexadecimal digits of a fixed width, so that they sort as the numbers do.
const (
	keyVersion   = "v"
	prefixFile   = "f/"
	prefixState  = "s/"
	prefixLeft   = "e/"
	prefixEntry  = "u/"
	wideDigits   = 16
	narrowDigits = 8
)

// Prefixes of what other packages store.
const (
	PrefixTotal   = "m/"
	PrefixJournal = "j/"
)

func fileKey(id FileID) string { return numberKey(prefixFile, uint64(id)) }

func stateKey(session uint64) string { return numberKey(prefixState, session) }

func entryKey(n uint64) string { return numberKey(prefixEntry, n) }

func leftKey(session uint64, n int) string {
	b := appendHex(append(make([]byte, 0, len(prefixLeft)+wideDigits+1+narrowDigits), prefixLeft...), session, wideDigits)
	return string(appendHex(append(b, '/'), uint64(n), narrowDigits)) //nolint:gosec // never negative
}

// TotalKey is where the total of a metric series is kept.
func TotalKey(series string) string { return PrefixTotal + series }

// JournalKey is where the seq-th journal entry of a source is kept.
func JournalKey(source, seq uint64) string {
	b := appendHex(append(make([]byte, 0, len(PrefixJournal)+2*wideDigits+1), PrefixJournal...), source, wideDigits)
	return string(appendHex(append(b, '/'), seq, wideDigits))
}

func numberKey(prefix string, n uint64) string {
	return string(appendHex(append(make([]byte, 0, len(prefix)+wideDigits), prefix...), n, wideDigits))
}

func appendHex(b []byte, n uint64, digits int) []byte {
	const alphabet = "0123456789abcdef"
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		b = append(b, alphabet[n>>shift&15])
	}
	return b
}

// hexNumber is the number that digits write, if they are what appendHex makes.
func hexNumber(digits string, width int) (uint64, bool) {
	n, err := strconv.ParseUint(digits, 16, 4*width)
	return n, err == nil && len(digits) == width && digits == strings.ToLower(digits)
}

// hexNumbers are the two numbers of a key with a slash between them.
func hexNumbers(digits string, width int) (first, second uint64, ok bool) {
	before, after, found := strings.Cut(digits, "/")
	first, ok = hexNumber(before, wideDigits)
	second, also := hexNumber(after, width)
	return first, second, found && ok && also
}
