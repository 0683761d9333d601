// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

func TestStateDirectory(t *testing.T) {
	home := t.TempDir()
	for name, tt := range map[string]struct {
		goos string
		env  map[string]string
		want []string // below home
		bad  string
	}{
		"linux":            {goos: "linux", env: map[string]string{"HOME": home}, want: []string{".local", "state", "otelcol-agents"}},
		"linux, elsewhere": {goos: "linux", env: map[string]string{"HOME": home, "XDG_STATE_HOME": filepath.Join(home, "s")}, want: []string{"s", "otelcol-agents"}},
		"linux, relative":  {goos: "linux", env: map[string]string{"HOME": home, "XDG_STATE_HOME": "s"}, want: []string{".local", "state", "otelcol-agents"}},
		"linux, nowhere":   {goos: "linux", bad: "XDG_STATE_HOME or HOME must be set"},
		"freebsd":          {goos: "freebsd", env: map[string]string{"HOME": home}, want: []string{".local", "state", "otelcol-agents"}},
		"macOS":            {goos: "darwin", env: map[string]string{"HOME": home, "XDG_STATE_HOME": "/s"}, want: []string{"Library", "Application Support", "otelcol-agents"}},
		"macOS, nowhere":   {goos: "darwin", bad: "HOME must be set"},
		"windows":          {goos: "windows", env: map[string]string{"LOCALAPPDATA": home, "HOME": "/h"}, want: []string{"otelcol-agents"}},
		"windows, nowhere": {goos: "windows", env: map[string]string{"HOME": home}, bad: "LOCALAPPDATA must be set"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := stateDirectory(tt.goos, func(k string) string { return tt.env[k] })
			if tt.bad != "" {
				require.ErrorContains(t, err, tt.bad)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, filepath.Join(append([]string{home}, tt.want...)...), got)
		})
	}
}

// TestStateConfig has a path that looks like a variable come through the collector's expansion.
func TestStateConfig(t *testing.T) {
	text, err := stateConfig("/home/${env:USER}/a: b")
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &got))
	assert.Equal(t, map[string]any{"extensions": map[string]any{
		"file_storage": map[string]any{"directory": "/home/$${env:USER}/a: b"},
	}}, got)
}

func TestLocked(t *testing.T) {
	require.NoError(t, locked(nil, "/d"))
	other := errors.New("bind: address already in use")
	assert.Equal(t, other, locked(other, "/d"))
	busy := errors.New(`failed to start "otlp_http" exporter: timeout`)
	got := locked(busy, "/d")
	require.ErrorIs(t, got, busy)
	assert.ErrorContains(t, got, "does another otelcol-agents keep its state in /d?")
}
