// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package replay is the command that reads agent JSONL once, shows it and sends it.
//
// Readers frame sources and decode them ahead in parallel, one goroutine folds them in order, one
// delivers what became final: to the OTLP endpoint and into the result. Every queue between them is
// bounded, so that a slow endpoint slows the reading down.
package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelcol-agents/otelcol-agents/internal/batch"
	"github.com/otelcol-agents/otelcol-agents/internal/options"
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/decode"
	"github.com/otelcol-agents/otelcol-agents/translate/otlp"
	"github.com/otelcol-agents/otelcol-agents/translate/session"
)

// Exit codes of Main.
const (
	ExitOK       = 0 // all was read and accepted
	ExitFailed   = 1 // something was not
	ExitUnusable = 2 // flags or files that cannot be used
)

const parcelsQueued = 4

// Env is what a command has around it.
type Env struct {
	Program string              // as people type it, for the help and for messages
	Version string              // of the build
	Getenv  func(string) string // nil = os.Getenv
}

// Main runs replay and returns its exit code. The result goes to stdout, everything else to stderr. When
// ctx ends it closes all sessions, sends what there is and returns ExitFailed.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env Env) int {
	if env.Getenv == nil {
		env.Getenv = os.Getenv
	}
	name, _, _ := strings.Cut(env.Program, " ")
	say := &diagnostics{w: stderr, name: name}
	s, err := parseFlags(args)
	switch {
	case err != nil:
		say.errors(err)
		say.text(fmt.Sprintf("see %s --help", env.Program))
		return ExitUnusable
	case s.help:
		_, _ = fmt.Fprintf(stdout, usage, env.Program, treeRows)
		return ExitOK
	case s.version:
		_, _ = fmt.Fprintf(stdout, "%s %s\n", name, env.Version)
		return ExitOK
	}
	run, err := prepare(&s, stdin, stdout, stderr, env, say)
	if err != nil {
		say.errors(err)
		return ExitUnusable
	}
	return run.run(ctx)
}

// diagnostics writes messages, one line each, from any goroutine.
type diagnostics struct {
	mu     sync.Mutex
	w      io.Writer
	name   string
	before func()
}

func (d *diagnostics) text(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.before != nil {
		d.before()
	}
	_, _ = fmt.Fprintf(d.w, "%s: %s\n", d.name, line)
}

func (d *diagnostics) error(err error) { d.text(err.Error()) }

// errors writes each of joined errors on its own line.
func (d *diagnostics) errors(err error) {
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			d.text(line)
		}
	}
}

// command is one run with everything it needs.
type command struct {
	settings *settings
	config   options.Config
	session  session.Config
	decoding batch.Options
	inputs   []input
	stdout   io.Writer
	stderr   io.Writer
	env      Env
	say      *diagnostics
}

// prepare reads the configuration and finds the inputs; all its errors mean ExitUnusable.
func prepare(s *settings, stdin io.Reader, stdout, stderr io.Writer, env Env, say *diagnostics) (*command, error) {
	c := &command{settings: s, config: options.NewDefaultConfig(), stdout: stdout, stderr: stderr, env: env, say: say}
	if s.config != "" {
		data, err := os.ReadFile(s.config)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", s.config, cause(err))
		}
		if c.config, err = options.Parse(data); err != nil {
			return nil, within(s.config, err)
		}
	}
	if s.agent != "" {
		c.config.Format = s.agent
	}
	if err := c.config.Check(); err != nil {
		return nil, within(s.config, err)
	}
	var err error
	if c.session, err = c.config.SessionConfig(); err != nil {
		return nil, within(s.config, err)
	}
	redactor, err := c.config.Redactor()
	if err != nil {
		return nil, within(s.config, err)
	}
	c.decoding = batch.Options{
		Fixed: c.config.Fixed(),
		Now:   time.Now,
		Decode: decode.Options{
			Capture: c.config.Captured(), MaxContentBytes: c.config.MaxContentBytes, Redactor: redactor,
		},
	}
	c.inputs, err = findInputs(s.inputs, stdin)
	return c, err
}

// within says in which file each of joined errors is.
func within(path string, err error) error {
	if path == "" {
		return err
	}
	var errs []error
	for line := range strings.SplitSeq(err.Error(), "\n") {
		errs = append(errs, fmt.Errorf("%s: %s", path, line))
	}
	return errors.Join(errs...)
}

func (c *command) run(ctx context.Context) int {
	started := time.Now()
	bar := newProgress(c.settings, c.inputs, c.stderr)
	c.say.before = bar.clear
	st := styleFor(c.stdout, c.env.Getenv)

	d := &delivery{
		builder: otlp.NewBuilder(otlp.Options{
			ServiceName: c.config.ServiceName, ResourceAttributes: c.config.ResourceAttributes,
			SemConv141: c.config.SemanticConventions == options.Conventions141, Version: c.env.Version,
		}),
		totals: otlp.NewTotals(otlp.MetricOptions{
			ServiceName: c.config.ServiceName, ResourceAttributes: c.config.ResourceAttributes,
			Start: started.UnixNano(), MaxToolNames: c.config.Metrics.MaxToolNames,
			LegacyTokenUsage: c.config.Metrics.LegacyTokenUsage, SeriesTTL: c.config.Metrics.SeriesTTL,
			Delta: c.config.Metrics.Temporality == options.TemporalityDelta,
		}),
		interval: c.config.Metrics.Interval,
		now:      time.Now,
		problem:  c.say.error,
	}
	if c.settings.to != "" {
		live := false
		for _, in := range c.inputs {
			live = live || in.live
		}
		d.sender = newSender(c.settings, live, c.say.error)
		defer d.sender.close()
	}
	var doc *document
	switch c.settings.format {
	case formatJSON:
		doc = newDocument(c.stdout)
		d.spans = func(td ptrace.Traces) { doc.add(td) }
		d.report = newReport(nil)
	case formatTree:
		d.report = newReport(newTree(c.stdout, st, bar.clear))
	default:
		d.report = newReport(nil)
	}
	d.report.projects = nameProjects(c.inputs)
	if c.config.Pricing.File != "" {
		d.report.pricing = pricing{file: filepath.Base(c.config.Pricing.File)}
	}

	parcels := make(chan []translate.Output, parcelsQueued)
	reading := newReading(context.WithoutCancel(ctx), c.inputs, int(c.config.MaxLineSize), c.decoding)
	f := &folder{
		reading: reading, sessions: session.New(c.session), parcels: parcels, progress: bar.add, now: time.Now,
	}
	var delivered sync.WaitGroup
	// An interruption ends the reading; what was read is still delivered, for as long as --timeout allows.
	delivered.Go(func() { d.run(context.WithoutCancel(ctx), parcels) })
	f.run(ctx)
	reading.close()
	delivered.Wait()
	bar.finish()
	c.say.before = nil

	code := ExitOK
	fail := func(err error) {
		code = ExitFailed
		if err != nil {
			c.say.error(err)
		}
	}
	for _, err := range f.errs {
		fail(err)
	}
	if f.cancelled {
		fail(errors.New("interrupted: not all input was read"))
	}
	if err := c.result(d, doc, st, &f.outcomes); err != nil {
		fail(fmt.Errorf("write the result: %w", err))
	}
	if d.sender != nil && d.sender.failed() {
		fail(fmt.Errorf("not everything was accepted: %s", sentText(newStyle(pipedWidth, false), d.sender)))
	}
	if n := f.outcomes.Lost(); n > 0 && c.settings.failOnSkipped {
		fail(fmt.Errorf("%s skipped, and --fail-on-skipped is set", plural(n, "line")))
	}
	return code
}

func (c *command) result(d *delivery, doc *document, st *style, skipped *batch.Outcomes) error {
	if doc != nil {
		return doc.end(d.report, skipped)
	}
	err := summary(c.stdout, st, d.report, skipped, d.sender)
	if d.report.tree != nil {
		err = errors.Join(d.report.tree.err, err)
	}
	return err
}
