// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	ellipsis       = "…"
	truncationMark = ellipsis + "[truncated]"

	unknownType = "application/octet-stream"
	longBase64  = 1024 // bytes from which on base64 in a text is binary data
	wrapWidth   = 60   // shortest line of wrapped base64; PEM has 64, MIME and coreutils 76
	step        = longBase64 / 4
)

// Truncate cuts s to at most limit bytes, on a character boundary and with a mark of the cut inside the
// limit. A limit too small for the mark gives a plain cut; zero and less give "". A Marker is kept
// whole or left out. Truncate must come after redaction, never before it.
func Truncate(s string, limit int) (out string, cut bool) {
	if len(s) <= limit {
		return s, false
	}
	if limit <= 0 {
		return "", s != ""
	}
	mark := truncationMark
	if limit < len(mark) {
		mark = ellipsis
	}
	if limit < len(mark) {
		mark = ""
	}
	end := limit - len(mark)
	for range utf8.UTFMax - 1 {
		if end == 0 || utf8.RuneStart(s[end]) {
			break
		}
		end--
	}
	from := end - len(Marker) + 1
	if from < 0 {
		from = 0
	}
	if i := strings.Index(s[from:], Marker); i >= 0 && from+i < end {
		end = from + i
	}
	return s[:end] + mark, true
}

// Binary is what stands for a binary block, given its base64: "[<media type> <n> bytes sha256:<12 hex>]".
// Size and hash are those of the decoded bytes, or of the text itself when it is no base64. A media
// type that is none, or "", becomes application/octet-stream.
func Binary(mediaType, data string) string {
	raw, ok := decode(data)
	if !ok {
		raw = []byte(data)
	}
	return Summary(mediaType, raw)
}

// Summary is Binary for bytes that are no longer encoded.
func Summary(mediaType string, data []byte) string {
	if !isMediaType(mediaType) {
		mediaType = unknownType
	}
	sum := sha256.Sum256(data)
	return "[" + mediaType + " " + strconv.Itoa(len(data)) + " bytes sha256:" + hex.EncodeToString(sum[:6]) + "]"
}

// isSummary recognises what Summary returns, so that replacing twice is replacing once.
func isSummary(s string) bool {
	return len(s) < 160 && strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") && strings.Contains(s, " bytes sha256:")
}

func decode(data string) ([]byte, bool) {
	if strings.ContainsAny(data, " \t\r\n\\") {
		data = strings.NewReplacer(`\r`, "", `\n`, "", " ", "", "\t", "", "\r", "", "\n", "").Replace(data)
	}
	data = strings.TrimRight(data, "=")
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if raw, err := enc.DecodeString(data); err == nil {
			return raw, true
		}
	}
	return nil, false
}

// isMediaType bounds what a record may put into the text as a media type.
func isMediaType(s string) bool {
	if len(s) > 100 || strings.Count(s, "/") != 1 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !isAlnum(c) && !strings.ContainsRune("/.+-_", rune(c)) {
			return false
		}
	}
	return s[0] != '/' && s[len(s)-1] != '/'
}

var magics = []struct{ prefix, mediaType string }{
	{"iVBORw0KGgo", "image/png"},
	{"/9j/", "image/jpeg"},
	{"R0lGOD", "image/gif"},
	{"UklGR", "image/webp"},
	{"JVBERi0", "application/pdf"},
	{"UEsDB", "application/zip"},
	{"H4sI", "application/gzip"},
}

func sniff(data string) string {
	for _, m := range magics {
		if strings.HasPrefix(data, m.prefix) {
			return m.mediaType
		}
	}
	return unknownType
}

// blobs replaces data URLs and long runs of base64 in a text.
func blobs(s string) string {
	return longRuns(dataURLs(s))
}

func dataURLs(s string) string {
	const base, scheme = ";base64,", "data:"
	var b strings.Builder
	done := 0
	for at := 0; ; {
		i := strings.Index(s[at:], base)
		if i < 0 {
			break
		}
		i += at
		at = i + len(base)
		end := at
		for end < len(s) && (isBase64(s[end]) || s[end] == '-' || s[end] == '_' || s[end] == '%') {
			end++
		}
		head := s[max(done, i-200):i]
		from := strings.LastIndex(head, scheme)
		if from < 0 || end == at || strings.ContainsAny(head[from:], " \n\"'") {
			continue
		}
		mediaType, _, _ := strings.Cut(head[from+len(scheme):], ";")
		b.WriteString(s[done : i-len(head)+from])
		b.WriteString(Binary(mediaType, strings.ReplaceAll(s[at:end], "%3D", "=")))
		done, at = end, end
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// longRuns looks at one byte in 256: a run of 1 KiB must hold one that is looked at.
func longRuns(s string) string {
	if len(s) < longBase64 {
		return s
	}
	var b strings.Builder
	done := 0
	for i := step - 1; i < len(s); i += step {
		if i < done || !isBase64(s[i]) {
			continue
		}
		from, to := i, i
		for from > done && (isBase64(s[from-1]) || wrapped(s, from-1, -1)) {
			from--
		}
		for to < len(s) && (isBase64(s[to]) || wrapped(s, to, 1)) {
			to++
		}
		if to-from >= longBase64 && isDense(s[from:to]) {
			b.WriteString(s[done:from])
			b.WriteString(Binary(sniff(s[from:to]), s[from:to]))
			done = to
		}
		// The next look begins behind this run, dense or not, or a long run would be walked again and again.
		i += (max(to-i, 0) / step) * step
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// wrapped reports whether the line break at i stands behind a full line of base64.
func wrapped(s string, i, dir int) bool {
	if s[i] != '\n' && s[i] != '\r' {
		return false
	}
	end := i
	for end > 0 && (s[end-1] == '\n' || s[end-1] == '\r') {
		if end--; i-end > 2 {
			return false
		}
	}
	if end < wrapWidth {
		return false
	}
	for _, c := range []byte(s[end-wrapWidth : end]) {
		if !isBase64(c) {
			return false
		}
	}
	if dir < 0 {
		return true
	}
	for i < len(s) && (s[i] == '\n' || s[i] == '\r') {
		i++
	}
	return i < len(s) && isBase64(s[i])
}

// isDense tells base64 from a long word, a path or a ruler: encoded bytes have all kinds of characters
// within any kilobyte.
func isDense(s string) bool {
	s = s[:longBase64]
	var seen [256]bool
	distinct := 0
	lower, upper, digit := false, false, false
	for i := range len(s) {
		c := s[i]
		if !seen[c] {
			seen[c] = true
			distinct++
		}
		lower = lower || c >= 'a' && c <= 'z'
		upper = upper || c >= 'A' && c <= 'Z'
		digit = digit || c >= '0' && c <= '9'
	}
	return lower && upper && digit && distinct >= 24
}

func isBase64(c byte) bool { return isAlnum(c) || c == '+' || c == '/' || c == '=' }

func isAlnum(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
}
