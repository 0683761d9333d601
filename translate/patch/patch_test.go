// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"slices"
	"testing"
)

func TestFiles(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"nothing":             {"", nil},
		"no marker":           {"--- a/x\n+++ b/x\n", nil},
		"add":                 {"*** Begin Patch\n*** Add File: a.go\n+x\n*** End Patch", []string{"a.go"}},
		"update and delete":   {"*** Update File: a.go\n*** Delete File: b.go\n", []string{"a.go", "b.go"}},
		"a rename is two":     {"*** Update File: a.go\n*** Move to: b.go\n", []string{"a.go", "b.go"}},
		"each once":           {"*** Update File: a.go\n*** Update File: a.go\n", []string{"a.go"}},
		"context quotes one":  {"*** Update File: a.go\n *** Update File: b.go\n", []string{"a.go"}},
		"an added line too":   {"*** Update File: a.go\n+*** Add File: b.go\n", []string{"a.go"}},
		"space around a name": {"*** Add File:   a b.go  \r\n", []string{"a b.go"}},
		"no name":             {"*** Add File:\n*** Delete File:  \n", nil},
		"no line end":         {"*** Delete File: a.go", []string{"a.go"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Files(test.text); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
