// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package tail

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

var errBadGlob = errors.New("not a valid glob pattern")

// CheckGlob says what is wrong with a pattern of Include or Exclude.
func CheckGlob(pattern string) error {
	_, err := Expand(pattern)
	return err
}

// Expand gives a pattern as it is matched: with the home directory in place of a leading ~, and absolute.
// As one of Exclude a pattern that begins with ** holds everywhere.
func Expand(text string) (string, error) {
	if text == "" || !doublestar.ValidatePathPattern(text) {
		return "", fmt.Errorf("%q: %w", text, errBadGlob)
	}
	if rest, ok := strings.CutPrefix(text, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("%q: %w", text, err)
		}
		text = home + rest
	}
	abs, err := filepath.Abs(text)
	if err != nil {
		return "", fmt.Errorf("%q: %w", text, err)
	}
	return abs, nil
}

// pattern is a glob cut into path segments, so that a walk enters only directories that may hold a match.
type pattern struct {
	text   string
	base   string   // directory before the first segment that is not literal
	segs   []string // below base; at least one
	filter bool     // segs match too much: text has the last word
	double bool     // several ** lead to one directory more than once
}

func parse(text string) (pattern, error) {
	abs, err := Expand(text)
	if err != nil {
		return pattern{}, err
	}
	volume := filepath.VolumeName(abs)
	p := pattern{text: abs, base: volume + string(filepath.Separator)}
	parts := strings.Split(strings.Trim(filepath.ToSlash(abs[len(volume):]), "/"), "/")
	for i, part := range parts {
		if strings.Count(part, "{") != strings.Count(part, "}") || strings.Count(part, "[") != strings.Count(part, "]") {
			// A group that holds a separator has no segments.
			p.segs, p.filter = append(p.segs, "**"), true
			break
		}
		if len(p.segs) == 0 && i < len(parts)-1 && literal(part) {
			p.base = filepath.Join(p.base, part)
			continue
		}
		if n := len(p.segs); part == "**" && n > 0 && p.segs[n-1] == "**" {
			continue
		}
		p.segs = append(p.segs, part)
	}
	p.double = strings.Count(strings.Join(p.segs, "/")+"/", "**/") > 1
	return p, nil
}

func literal(segment string) bool { return !strings.ContainsAny(segment, `*?[]{}\`) }
