// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package tail

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNotRegular(t *testing.T) {
	r := newRig(t, Config{})
	require.NoError(t, syscall.Mkfifo(r.path("pipe.jsonl"), 0o644))
	require.NoError(t, os.Mkdir(r.path("dir.jsonl"), 0o755))
	for range 3 {
		r.wait(time.Second)
		r.poll()
	}
	assert.Equal(t, []string{"not regular pipe.jsonl"}, r.reports)
	assert.Zero(t, r.opens)
	assert.Zero(t, r.Tracked())
}
