// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"strings"
	"testing"
)

func TestTraceparent(t *testing.T) {
	const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for header, valid := range map[string]bool{
		parent:                               true,
		"01" + parent[2:] + "-more":          true,
		"01" + parent[2:]:                    true,
		parent + "-more":                     false,
		"ff" + parent[2:]:                    false,
		strings.ToUpper(parent):              false,
		parent[:54]:                          false,
		strings.Replace(parent, "-", "_", 1): false,
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01": false,
		"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01": false,
		"00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01": false,
		"": false,
	} {
		if _, _, ok := traceparent(header); ok != valid {
			t.Errorf("%q: %v", header, ok)
		}
	}
}
