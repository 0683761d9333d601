// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSpares(t *testing.T) {
	const mib = 1 << 20
	before := heap{allocs: 1000 * mib}
	for name, tt := range map[string]struct {
		now  heap
		want bool
	}{
		"idle, nothing to give":         {heap{allocs: 1001 * mib, objects: 20 * mib, live: 15 * mib, free: 5 * mib}, false},
		"idle, free memory":             {heap{allocs: 1001 * mib, objects: 20 * mib, live: 15 * mib, free: 40 * mib}, true},
		"idle, garbage":                 {heap{allocs: 1060 * mib, objects: 90 * mib, live: 40 * mib}, true},
		"idle, little for what is used": {heap{allocs: 1060 * mib, objects: 1050 * mib, live: 1000 * mib}, false},
		"fewer objects than were live":  {heap{allocs: 1001 * mib, objects: 10 * mib, live: 20 * mib}, false},
		"at work":                       {heap{allocs: 2000 * mib, objects: 90 * mib, live: 40 * mib, free: 40 * mib}, false},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tt.want, tt.now.spares(before))
		})
	}
	h := readHeap()
	assert.Positive(t, h.allocs)
	assert.Positive(t, h.objects)
}
