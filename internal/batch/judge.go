// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package batch

import (
	"slices"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/detect"
)

// Judge decides a source's format from its first lines.
type Judge struct {
	fixed    []translate.Format
	detector *detect.Detector // nil once settled: what it read with is larger than the rest of an idle source
	settled  bool
	format   translate.Format
	agent    string
}

// NewJudge is a Judge of one source.
func (o *Options) NewJudge() *Judge {
	j := &Judge{fixed: o.Fixed, detector: &detect.Detector{}}
	if len(j.fixed) == 1 {
		j.set(j.fixed[0])
	}
	return j
}

// Observe reads a line of the source.
func (j *Judge) Observe(line []byte) {
	if j.settled {
		return
	}
	if f, ok := j.detector.Observe(line); ok {
		j.set(f)
	}
}

// Resume takes what was decided about the source before, unless that is not demanded any more.
func (j *Judge) Resume(f translate.Format, agent string) {
	if j.settled || j.fixed != nil && !slices.Contains(j.fixed, f) {
		return
	}
	j.settled, j.format, j.agent, j.detector = true, f, agent, nil
}

// Settled reports whether the format is decided.
func (j *Judge) Settled() bool { return j.settled }

// Settle takes the best guess when nothing more is to be waited for.
func (j *Judge) Settle() {
	if !j.settled {
		j.set(j.detector.Guess())
	}
}

// Format is the format of the decoder that the source needs, and Agent who wrote it; both once Settled.
func (j *Judge) Format() translate.Format { return j.format }

// Agent is the name of the agent that wrote the source.
func (j *Judge) Agent() string { return j.agent }

func (j *Judge) set(f translate.Format) {
	if j.fixed != nil && !slices.Contains(j.fixed, f) {
		f = j.fixed[0]
	}
	j.settled, j.detector = true, nil
	j.agent = detect.Agent(f)
	if decoders[f] == nil {
		f = translate.FormatGeneric
	}
	j.format = f
}
