// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The values of --format.
const (
	formatTree    = "tree"
	formatSummary = "summary"
	formatJSON    = "json"
)

const defaultTimeout = time.Minute

// settings are the command line.
type settings struct {
	to            string // base URL without a slash at its end; "" = nothing is sent
	otlpJSON      bool
	header        http.Header
	timeout       time.Duration
	format        string
	config        string // path of the receiver configuration
	agent         string // "" = as the configuration says
	progress      string // auto, on, off
	failOnSkipped bool
	help, version bool
	inputs        []string
}

// parseFlags reads the command line. Flags may stand before, between and behind the inputs; what
// follows "--" is input whatever it looks like.
func parseFlags(args []string) (settings, error) {
	s := settings{header: http.Header{}, progress: "auto"}
	fs := flag.NewFlagSet("replay", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Func("to", "", func(v string) (err error) {
		s.to, err = baseURL(v)
		return err
	})
	fs.BoolVar(&s.otlpJSON, "otlp-json", false, "")
	fs.Func("header", "", func(v string) error { return addHeader(s.header, v) })
	fs.DurationVar(&s.timeout, "timeout", defaultTimeout, "")
	fs.StringVar(&s.format, "format", formatTree, "")
	fs.StringVar(&s.config, "receiver-config", "", "")
	fs.StringVar(&s.agent, "agent", "", "")
	fs.BoolFunc("progress", "", func(v string) error {
		on, err := strconv.ParseBool(v)
		s.progress = map[bool]string{true: "on", false: "off"}[on]
		return err
	})
	fs.BoolVar(&s.failOnSkipped, "fail-on-skipped", false, "")
	fs.BoolVar(&s.help, "help", false, "")
	fs.BoolVar(&s.help, "h", false, "")
	fs.BoolVar(&s.version, "version", false, "")

	for rest := args; len(rest) > 0; {
		if err := fs.Parse(rest); err != nil {
			return s, err
		}
		left := fs.Args()
		if used := len(rest) - len(left); used > 0 && rest[used-1] == "--" {
			s.inputs = append(s.inputs, left...)
			break
		}
		if len(left) == 0 {
			break
		}
		s.inputs = append(s.inputs, left[0])
		rest = left[1:]
	}
	return s, s.validate()
}

func (s *settings) validate() error {
	if s.help || s.version {
		return nil
	}
	var errs []error
	switch s.format {
	case formatTree, formatSummary, formatJSON:
	default:
		errs = append(errs, fmt.Errorf("--format must be tree, summary or json, got %q", s.format))
	}
	if s.timeout <= 0 {
		errs = append(errs, fmt.Errorf("--timeout must be above 0, got %s", s.timeout))
	}
	if s.to == "" && (s.otlpJSON || len(s.header) > 0) {
		errs = append(errs, errors.New("--otlp-json and --header need --to"))
	}
	if len(s.inputs) == 0 {
		errs = append(errs, errors.New("no input: name files, directories or - for standard input"))
	}
	return errors.Join(errs...)
}

// baseURL checks the endpoint of --to; the path of a signal is appended to it later.
func baseURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("a URL such as http://localhost:4318 expected")
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("a base URL has no query and no fragment")
	}
	return strings.TrimRight(u.String(), "/"), nil
}

func addHeader(h http.Header, text string) error {
	k, v, ok := strings.Cut(text, "=")
	k, v = strings.TrimSpace(k), strings.TrimSpace(v)
	// A value is never repeated in a message: it is often a token.
	if !ok || !headerName(k) || strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return errors.New("K=V with the name of an HTTP header expected")
	}
	h.Add(k, v)
	return nil
}

// headerName reports whether k is a token of RFC 9110.
func headerName(k string) bool {
	for _, c := range []byte(k) {
		alnum := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !alnum && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return k != ""
}

const usage = `Reads the JSONL of coding agents once and prints each session as a tree, then a summary.

usage: %[1]s [flags] FILE|DIR|-...

A directory is walked for *.jsonl. "-" is standard input, read live: what is final is sent at once.

  --to URL                 send traces, logs and metrics to this OTLP/HTTP endpoint (base URL, without /v1/...)
  --otlp-json              send JSON bodies instead of protobuf
  --header K=V             header of each request; may be repeated
  --timeout D              give up after so long without an accepted request (default 1m)
  --format F               tree (default), summary or json
  --receiver-config FILE   YAML, the body of the agent_stream section: capture, session, pricing, ...
  --agent FORMAT           agent family of all inputs (default auto: judged by the records)
  --progress               show a progress bar on standard error (default: on a terminal, for large inputs)
  --fail-on-skipped        exit 1 when any line was skipped
  --version, --help

A tree shows at most %[2]d spans of a session; the rest is counted below it. Exit status: 0 all was read and accepted,
1 something was not, 2 unusable flags or files. Skipped lines are counted and are no failure.
`
