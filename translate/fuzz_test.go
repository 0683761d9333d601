// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package translate_test

import "testing"

// FuzzFold reads any bytes as a stream: what comes out holds together, whatever went in.
func FuzzFold(f *testing.F) {
	for name, data := range situations(f) {
		if len(data) < 16<<10 {
			f.Add(data, name == "turn-mode")
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, turn bool) {
		if len(data) > 1<<16 {
			return
		}
		outs := fold(t, data, settings{turn: turn})
		check(t, outs)
		if a, b := render(t, outs), render(t, fold(t, data, settings{turn: turn})); a != b {
			t.Error("a second reading differs")
		}
	})
}
