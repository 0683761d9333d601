// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseFlags(t *testing.T) {
	defaults := func(set func(*settings)) settings {
		s := settings{header: http.Header{}, timeout: time.Minute, format: formatTree, progress: "auto", inputs: []string{"a"}}
		set(&s)
		return s
	}
	for name, tc := range map[string]struct {
		args []string
		want settings
	}{
		"plain": {[]string{"a"}, defaults(func(*settings) {})},
		"flags before, between and behind": {
			[]string{"--format", "json", "a", "--fail-on-skipped", "b", "--agent=claude"},
			defaults(func(s *settings) {
				s.format, s.failOnSkipped, s.agent, s.inputs = "json", true, "claude", []string{"a", "b"}
			}),
		},
		"standard input":   {[]string{"-", "--timeout", "2s"}, defaults(func(s *settings) { s.inputs, s.timeout = []string{"-"}, 2*time.Second })},
		"after two dashes": {[]string{"a", "--", "--help", "-"}, defaults(func(s *settings) { s.inputs = []string{"a", "--help", "-"} })},
		"endpoint": {
			[]string{"a", "--to", "https://h:1/p/", "--otlp-json", "--header", "a=b=c", "--header", "A= d "},
			defaults(func(s *settings) {
				s.to, s.otlpJSON, s.header = "https://h:1/p", true, http.Header{"A": {"b=c", "d"}}
			}),
		},
		"progress":    {[]string{"a", "--progress"}, defaults(func(s *settings) { s.progress = "on" })},
		"no progress": {[]string{"a", "--progress=false"}, defaults(func(s *settings) { s.progress = "off" })},
		"config":      {[]string{"--receiver-config", "x.yaml", "a"}, defaults(func(s *settings) { s.config = "x.yaml" })},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseFlags(tc.args)
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestParseFlagsErrors(t *testing.T) {
	for name, args := range map[string][]string{
		"none":              {},
		"only flags":        {"--format", "tree"},
		"no value":          {"a", "--format"},
		"bad duration":      {"a", "--timeout", "soon"},
		"scheme":            {"a", "--to", "grpc://h:1"},
		"query":             {"a", "--to", "http://h:1/?a=b"},
		"no host":           {"a", "--to", "http://"},
		"header":            {"a", "--to", "http://h", "--header", "secret"},
		"header name":       {"a", "--to", "http://h", "--header", "a b=secret"},
		"header value":      {"a", "--to", "http://h", "--header", "a=secret\r\nb: c"},
		"progress":          {"a", "--progress=maybe"},
		"flag of a sibling": {"a", "--config", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseFlags(args)
			assert.Error(t, err)
		})
	}
}
