// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package redact keeps secrets, binary data and excess length out of what is stored or sent.
//
// The order is fixed: redact first, truncate afterwards. A secret that was cut no longer looks like one.
package redact

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Marker stands where a secret was.
const Marker = "[REDACTED]"

// passes bounds the search for a fixed point; texts need two, the second to see that nothing is left.
const passes = 8

// Redactor takes secrets out of texts (telemetry contract, section 8). It is immutable and safe for
// concurrent use. The zero Redactor, and a nil one, leave secrets where they are but still replace
// binary data and repair UTF-8, since neither is the operator's to switch off.
type Redactor struct {
	enabled  bool
	patterns []pattern
}

type pattern struct {
	re      *regexp.Regexp
	literal string // every match starts with it; spares the expression on most texts
}

// New returns a Redactor with the built-in rules and, after them, the operator's own patterns (RE2
// syntax), whose matches are replaced whole. When it is not enabled the patterns are checked all the
// same. The error names every bad pattern by its index and the rule that it breaks.
func New(enabled bool, patterns []string) (*Redactor, error) {
	r := &Redactor{enabled: enabled}
	var errs []error
	for i, p := range patterns {
		re, err := regexp.Compile(p)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("patterns[%d]: must be a regular expression in RE2 syntax: %w", i, err))
		case re.MatchString(""):
			errs = append(errs, fmt.Errorf("patterns[%d]: must not match the empty text: %q", i, p))
		default:
			literal, _ := re.LiteralPrefix()
			r.patterns = append(r.patterns, pattern{re, literal})
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return r, nil
}

// String replaces the secrets of s by Marker and its binary data (data URLs, base64 of 1 KiB and more)
// by what Binary says of them. A key, an authentication scheme, a user name of a URL stay. The result
// is valid UTF-8, and String of it is the same text again. A text without anything to replace is
// returned as it is, without a copy.
//
// What only a sentence or a position makes a secret is not recognised: "the secret is x", a positional
// argument, a value on the line after its key. Patterns can name such shapes.
func (r *Redactor) String(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	s = blobs(s)
	if r == nil || !r.enabled {
		return s
	}
	for range passes {
		t := scan(s)
		for _, p := range r.patterns {
			t = p.replace(t)
		}
		if t == s {
			break
		}
		s = t
	}
	return s
}

// replace never touches the inside of a Marker: a match that reaches into one takes it in, so that a
// pattern like "RED" does not grow the text at every pass.
func (p pattern) replace(s string) string {
	if !strings.Contains(s, p.literal) {
		return s
	}
	found := p.re.FindAllStringIndex(s, -1)
	if found == nil {
		return s
	}
	var b strings.Builder
	done, from, to := 0, -1, -1
	flush := func() {
		if from >= 0 {
			b.WriteString(s[done:from])
			b.WriteString(Marker)
			done = to
		}
	}
	marks := markers{s: s, at: -len(Marker)}
	for _, m := range found {
		f, t := marks.widen(m[0], m[1])
		if f == t {
			continue
		}
		if from >= 0 && f <= to {
			to = max(to, t)
			continue
		}
		flush()
		from, to = f, t
	}
	flush()
	b.WriteString(s[done:])
	return b.String()
}

// markers walks over the Markers of s once, however many matches are asked for.
type markers struct {
	s  string
	at int // the Marker last looked at
}

// widen returns the match so that it cuts no Marker in two; an empty one for a match inside a Marker.
func (m *markers) widen(from, to int) (int, int) {
	f, t := from, to
	for m.at < to {
		end := m.at + len(Marker)
		if m.at >= 0 && end > from {
			if m.at <= from && to <= end {
				return from, from
			}
			f, t = min(f, m.at), max(t, end)
			if end >= to {
				break // the next match may lie in it too
			}
		}
		next := strings.Index(m.s[end:], Marker)
		if m.at < 0 {
			next = strings.Index(m.s, Marker)
			end = 0
		}
		if next < 0 {
			m.at = len(m.s)
			break
		}
		m.at = end + next
	}
	return f, t
}
