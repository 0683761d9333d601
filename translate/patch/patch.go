// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package patch finds the files that a patch in the apply_patch notation writes.
package patch

import "strings"

// markers begin the lines that name a file. Only at the first column: a line of context that quotes a
// marker begins with a space, an added one with a plus.
var markers = []string{"*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"}

// Files lists the files that a patch names, in their order, each once. A rename gives the old name and
// the new one. It is empty for a text that is no such patch.
func Files(text string) []string {
	var files []string
	seen := map[string]bool{}
	for line := range strings.Lines(text) {
		for _, m := range markers {
			rest, ok := strings.CutPrefix(line, m)
			if !ok {
				continue
			}
			if path := strings.TrimSpace(rest); path != "" && !seen[path] {
				seen[path] = true
				files = append(files, path)
			}
		}
	}
	return files
}
