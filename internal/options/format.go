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

// family is an agent family as the key "format" names it.
type family struct {
	name   string
	format translate.Format // "" while this release has no decoder of the family
}

var families = []family{
	{"claude", translate.FormatClaudeCode},
	{"claude_code", translate.FormatClaudeCode}, // as agentstream.format spells it
	{"cline", ""},
	{"codex", translate.FormatCodexExec},
	{"codex_exec", translate.FormatCodexExec},
	{"gemini", ""},
	{"amp", ""},
	{"copilot", ""},
	{"cursor", ""},
	{"droid", ""},
	{"goose", ""},
	{"kilo", ""},
	{"opencode", ""},
	{"pi", ""},
	{"qwen", ""},
}

func validFormat(name string) error {
	if name == FormatAuto {
		return nil
	}
	known := []string{FormatAuto}
	for _, f := range families {
		if f.format != "" {
			known = append(known, f.name)
		}
	}
	i := slices.IndexFunc(families, func(f family) bool { return f.name == name })
	switch {
	case i < 0:
		return fmt.Errorf("format must be one of %s, got %q", strings.Join(known, ", "), name)
	case families[i].format == "":
		return fmt.Errorf("format %q has no decoder in this release; it has %s", name, strings.Join(known, ", "))
	}
	return nil
}

// Fixed is the decoder that the configuration demands for every source. It is false for "auto".
func (c *Config) Fixed() (translate.Format, bool) {
	for _, f := range families {
		if f.name == c.Format && f.format != "" {
			return f.format, true
		}
	}
	return "", false
}
