// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Size is a number of bytes, written plainly or with a unit: 65536, 64KiB, 1MiB, 1.5GB.
type Size int64

var units = []struct {
	name  string
	bytes float64
}{
	// The order matters where one name ends with another.
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1e3}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1},
}

// UnmarshalText reads a size; it is what the collector's confmap and YAML call.
func (s *Size) UnmarshalText(text []byte) error {
	number, factor := strings.TrimSpace(string(text)), 1.0
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, factor = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || n < 0 || math.IsNaN(n) || n*factor > math.MaxInt64/2 {
		return fmt.Errorf("a size must be a number of bytes such as 65536 or 64MiB, got %q", text)
	}
	*s = Size(n * factor)
	return nil
}

// UnmarshalYAML accepts numbers beside strings.
func (s *Size) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		return fmt.Errorf("line %d: a size must be a number of bytes such as 65536 or 64MiB", n.Line)
	}
	if err := s.UnmarshalText([]byte(n.Value)); err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	return nil
}

// String writes a size with the largest binary unit that divides it.
func (s Size) String() string {
	for _, u := range []struct {
		name  string
		bytes Size
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if s != 0 && s%u.bytes == 0 {
			return strconv.FormatInt(int64(s/u.bytes), 10) + u.name
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// MarshalText writes what UnmarshalText reads.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
