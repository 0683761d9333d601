// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package options

import (
	"fmt"
	"slices"
	"strings"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

// FormatAuto lets each source be judged by its records.
const FormatAuto = "auto"

// family is an agent family as the key "format" names it. Which of its formats a source has, its
// records tell; the first one is taken where they do not.
type family struct {
	name    string
	formats []translate.Format // nil while this release has no decoder of the family
}

var (
	claude = []translate.Format{translate.FormatClaudeCode, translate.FormatClaudeCodeTranscript}
	cline  = []translate.Format{translate.FormatCline, translate.FormatClineLegacy}
	codex  = []translate.Format{translate.FormatCodexExec, translate.FormatCodexRollout}
)

var families = []family{
	{"claude", claude},
	{"claude_code", claude}, // as agentstream.format spells it
	{"cline", cline},
	{"codex", codex},
	{"gemini", nil},
	{"amp", nil},
	{"copilot", nil},
	{"cursor", nil},
	{"droid", nil},
	{"goose", nil},
	{"kilo", nil},
	{"opencode", nil},
	{"pi", nil},
	{"qwen", nil},
}

func validFormat(name string) error {
	if name == FormatAuto {
		return nil
	}
	known := []string{FormatAuto}
	for _, f := range families {
		if f.formats != nil {
			known = append(known, f.name)
		}
	}
	i := slices.IndexFunc(families, func(f family) bool { return f.name == name })
	switch {
	case i < 0:
		return fmt.Errorf("format must be one of %s, got %q", strings.Join(known, ", "), name)
	case families[i].formats == nil:
		return fmt.Errorf("format %q has no decoder in this release; it has %s", name, strings.Join(known, ", "))
	}
	return nil
}

// Fixed lists the formats between which the configuration leaves the choice, the best guess first. It is
// nil for "auto".
func (c *Config) Fixed() []translate.Format {
	for _, f := range families {
		if f.name == c.Format {
			return f.formats
		}
	}
	return nil
}
