// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.yaml.in/yaml/v3"
)

// runsMain makes the test program the command itself, for tests of what its users type.
const runsMain = "OTELCOL_AGENTS_TEST_RUNS_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(runsMain) != "" {
		main()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

type result struct {
	stdout, stderr string
	code           int
}

// runCommand runs the command with nothing in its environment but home and env.
func runCommand(t *testing.T, env []string, args ...string) result {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), self, args...)
	home := t.TempDir()
	cmd.Env = append([]string{runsMain + "=1", "HOME=" + home, "LOCALAPPDATA=" + home}, env...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
	}
	return result{stdout: stdout.String(), stderr: stderr.String(), code: cmd.ProcessState.ExitCode()}
}

func TestCommandHelp(t *testing.T) {
	r := runCommand(t, nil, "--help")
	assert.Zero(t, r.code, r.stderr)
	for _, name := range []string{"replay", "validate", "components", "print-config", "--config", "--version"} {
		assert.Contains(t, r.stdout, name)
	}
	r = runCommand(t, nil, "replay", "--help")
	assert.Zero(t, r.code, r.stderr)
	for _, name := range []string{"otelcol-agents replay", "--to", "--receiver-config", "--fail-on-skipped"} {
		assert.Contains(t, r.stdout+r.stderr, name)
	}
}

func TestCommandVersion(t *testing.T) {
	r := runCommand(t, nil, "--version")
	assert.Zero(t, r.code, r.stderr)
	assert.Regexp(t, `^otelcol-agents version \S+\n$`, r.stdout)
}

func TestCommandComponents(t *testing.T) {
	r := runCommand(t, nil, "components")
	require.Zero(t, r.code, r.stderr)
	type listed []struct {
		Name   string `yaml:"name"`
		Module string `yaml:"module"`
	}
	var out struct {
		Receivers  listed `yaml:"receivers"`
		Processors listed `yaml:"processors"`
		Exporters  listed `yaml:"exporters"`
		Connectors listed `yaml:"connectors"`
		Extensions listed `yaml:"extensions"`
		Providers  []any  `yaml:"providers"`
	}
	require.NoError(t, yaml.Unmarshal([]byte(r.stdout), &out))
	m := readManifest(t)
	assert.Contains(t, r.stdout, "agent_stream")
	assert.GreaterOrEqual(t, len(out.Receivers), len(m.Receivers))
	assert.GreaterOrEqual(t, len(out.Processors), len(m.Processors))
	assert.GreaterOrEqual(t, len(out.Exporters), len(m.Exporters))
	assert.GreaterOrEqual(t, len(out.Connectors), len(m.Connectors))
	assert.GreaterOrEqual(t, len(out.Extensions), len(m.Extensions))
	for _, e := range out.Receivers {
		assert.Regexp(t, `^\S+ v\S+$`, e.Module, e.Name)
	}
}

func TestCommandPrintConfig(t *testing.T) {
	r := runCommand(t, []string{
		envEndpoint + "=http://localhost:4318", envHeaders + "=api-key=s3cret$HOME",
	}, "print-config")
	require.Zero(t, r.code, r.stderr)
	for _, text := range []string{"agent_stream:", "start_at: end", "endpoint: http://localhost:4318", "storage: file_storage"} {
		assert.Contains(t, r.stdout, text)
	}
	assert.NotContains(t, r.stdout+r.stderr, "s3cret")
}

func TestCommandValidate(t *testing.T) {
	config := filepath.Join(t.TempDir(), "collector.yaml")
	write := func(text string) {
		require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
	}
	const pipelines = "exporters: {nop: }\nservice: {pipelines: {traces: {receivers: [agent_stream], exporters: [nop]}}}\n"
	badHeaders := []string{envEndpoint + "=http://localhost:4318", envHeaders + "=s3cret"}

	t.Run("embedded", func(t *testing.T) {
		r := runCommand(t, nil, "validate")
		assert.Zero(t, r.code, r.stderr)
	})
	t.Run("embedded with unusable headers", func(t *testing.T) {
		for _, args := range [][]string{{"validate"}, {"print-config"}, {}} {
			r := runCommand(t, badHeaders, args...)
			assert.Equal(t, 1, r.code)
			assert.Contains(t, r.stderr, "OTEL_EXPORTER_OTLP_HEADERS must be key=value pairs")
			assert.NotContains(t, r.stdout+r.stderr, "s3cret")
		}
	})
	t.Run("unusable headers do not concern others", func(t *testing.T) {
		write("receivers: {agent_stream: {tcp: }}\n" + pipelines)
		for _, args := range [][]string{{"validate", "--config", config}, {"components"}, {"--version"}} {
			r := runCommand(t, badHeaders, args...)
			assert.Zero(t, r.code, "%v: %s", args, r.stderr)
		}
	})
	t.Run("all problems by key", func(t *testing.T) {
		write("receivers: {agent_stream: {session: {max_resident: 0}, capture: [everything], files: {include: [], start_at: middle}}}\n" + pipelines)
		r := runCommand(t, nil, "validate", "--config", config)
		assert.Equal(t, 1, r.code)
		for _, text := range []string{"session.max_resident must be", "capture must be", "files.include must", "files.start_at must"} {
			assert.Contains(t, r.stderr, text)
		}
	})
	t.Run("unknown key", func(t *testing.T) {
		write("receivers: {agent_stream: {tcp: {port: 1}}}\n" + pipelines)
		r := runCommand(t, nil, "validate", "--config", config)
		assert.Equal(t, 1, r.code)
		assert.Contains(t, r.stderr, "port")
	})
}

func TestCommandReplay(t *testing.T) {
	r := runCommand(t, nil, "replay", "--format", "summary", "../../testdata/claude/plain-run.jsonl")
	assert.Zero(t, r.code, r.stderr)
	assert.Contains(t, r.stdout, "sessions  1")
	assert.Equal(t, 2, runCommand(t, nil, "replay", "--no-such-flag").code)
}
