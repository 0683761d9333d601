// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package detect decides from its records which decoder a source needs.
package detect

import (
	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
)

// Formats that are told apart although this release has no decoder for them; their callers use
// translate.FormatGeneric, under the name that Agent gives.
const (
	FormatCopilotCLI translate.Format = "copilot_cli"
	FormatOpenCode   translate.Format = "opencode"
	FormatCursor     translate.Format = "cursor"
	FormatDroid      translate.Format = "droid"
	FormatQwenCode   translate.Format = "qwen_code"
	FormatAmp        translate.Format = "amp"
	FormatGeminiCLI  translate.Format = "gemini_cli"
	FormatGoose      translate.Format = "goose"
	FormatPi         translate.Format = "pi"
)

var agents = map[translate.Format]string{
	translate.FormatClaudeCode:           "claude-code",
	translate.FormatClaudeCodeTranscript: "claude-code",
	translate.FormatCodexExec:            "codex",
	translate.FormatCodexRollout:         "codex",
	translate.FormatCline:                "cline",
	translate.FormatClineLegacy:          "cline",
	FormatCopilotCLI:                     "copilot-cli",
	FormatOpenCode:                       "opencode",
	FormatCursor:                         "cursor",
	FormatDroid:                          "droid",
	FormatQwenCode:                       "qwen-code",
	FormatAmp:                            "amp",
	FormatGeminiCLI:                      "gemini-cli",
	FormatGoose:                          "goose",
	FormatPi:                             "pi",
}

// Agent is the name of the agent that writes f; "agent" where nothing tells.
func Agent(f translate.Format) string {
	if name, ok := agents[f]; ok {
		return name
	}
	return "agent"
}

// How much of a source may be kept back until something decides. The name of the agent is part of the
// trace id, so no span can be made before.
const (
	maxRecords = 64
	maxBytes   = 1 << 20
)

// Detector decides which format a source has. The zero Detector is ready. It is not safe for concurrent
// use.
type Detector struct {
	split   jsontok.Splitter
	facts   facts
	records int
	bytes   int
	decided bool
	format  translate.Format
	weak    translate.Format // what the records allow although none of them decides
	cursor  bool             // an init record that looks like Cursor's
	message bool             // a record of type message, as Goose's
}

// Observe reads one line of the source. It returns the format and true as soon as that is decided, and
// the same from then on. Blank lines, text and context lines decide nothing; after 64 records or 1 MiB
// the best guess stands.
func (d *Detector) Observe(line []byte) (translate.Format, bool) {
	if d.decided {
		return d.format, true
	}
	d.bytes += len(line)
	d.split.Split(line, d.part)
	d.facts = facts{}
	if !d.decided && (d.records >= maxRecords || d.bytes >= maxBytes) {
		d.decide(d.Guess())
	}
	if !d.decided {
		return "", false
	}
	return d.format, true
}

// Guess is the best guess at any time: the format when it is decided, else what the records so far
// allow, else generic.
func (d *Detector) Guess() translate.Format {
	switch {
	case d.decided:
		return d.format
	case d.weak != "":
		return d.weak
	default:
		return translate.FormatGeneric
	}
}

func (d *Detector) decide(f translate.Format) {
	d.format, d.decided = f, true
}

func (d *Detector) part(p jsontok.Part) {
	if p.Kind != jsontok.PartObject || d.decided || d.records >= maxRecords {
		return
	}
	f := &d.facts
	f.read(p.Members)
	if f.typ == "agentstream.context" {
		return
	}
	d.records++
	f.first = d.records == 1
	f.besideMessage = d.message
	for _, r := range rules {
		if !r.match(f) {
			continue
		}
		if r.weak && d.cursor {
			d.suggest(r.format)
			return
		}
		d.decide(r.format)
		return
	}
	switch {
	case f.cursorInit():
		d.cursor = true
		d.suggest(FormatCursor)
	case f.typ == "message" && f.message:
		d.message = true
		d.suggest(FormatGoose)
	case f.sessionIDCamel:
		d.suggest(translate.FormatClaudeCodeTranscript)
	case f.typ == "system" && f.sessionID != "":
		d.suggest(translate.FormatClaudeCode)
	}
}

// suggest remembers a guess. Records of a conversation say more than the init before them.
func (d *Detector) suggest(f translate.Format) {
	if d.weak == "" || d.weak == FormatCursor {
		d.weak = f
	}
}
