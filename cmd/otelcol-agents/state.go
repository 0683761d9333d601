// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// stateDirectory is where the embedded configuration keeps progress and queues, on a system goos. Each system
// has a place for what a program remembers and its user need not see.
func stateDirectory(goos string, getenv func(string) string) (string, error) {
	const name = "otelcol-agents"
	switch goos {
	case "windows":
		if dir := getenv("LOCALAPPDATA"); dir != "" {
			return filepath.Join(dir, name), nil
		}
		return "", errors.New("LOCALAPPDATA must be set: progress is kept there")
	case "darwin":
		if home := getenv("HOME"); home != "" {
			return filepath.Join(home, "Library", "Application Support", name), nil
		}
		return "", errors.New("HOME must be set: progress is kept there")
	}
	// The specification of XDG_STATE_HOME has relative paths ignored.
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, name), nil
	}
	if home := getenv("HOME"); home != "" {
		return filepath.Join(home, ".local", "state", name), nil
	}
	return "", errors.New("XDG_STATE_HOME or HOME must be set: progress is kept there")
}

// stateConfig is laid over the embedded configuration.
func stateConfig(dir string) (string, error) {
	config, err := yaml.Marshal(map[string]any{
		"extensions": map[string]any{"file_storage": map[string]any{"directory": dir}},
	})
	if err != nil {
		return "", fmt.Errorf("write the configuration of file_storage: %w", err)
	}
	return literal(string(config)), nil
}

// literal has the collector take text as it is: it would expand what looks like a variable.
func literal(text string) string { return strings.ReplaceAll(text, "$", "$$") }

// locked explains an error of the embedded configuration that is another process with the same state: all
// that the database says is "timeout".
func locked(err error, dir string) error {
	if err == nil || !strings.Contains(err.Error(), ": timeout") {
		return err
	}
	return fmt.Errorf("%w; does another otelcol-agents keep its state in %s?", err, dir)
}
