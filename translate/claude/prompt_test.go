// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package claude

import (
	"testing"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

// TestPrompts has what is a prompt and what is none (ruling 32).
func TestPrompts(t *testing.T) {
	for name, test := range map[string]struct {
		content, more string
		want          string // the prompt, "" for none
		interrupt     bool
	}{
		"string":                  {content: `"please look"`, want: "please look"},
		"block":                   {content: `[{"type":"text","text":"please look"}]`, want: "please look"},
		"two blocks":              {content: `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, want: "a\nb"},
		"blank":                   {content: `" \n "`},
		"empty":                   {content: `""`},
		"long blank beginning":    {content: `"                                                                                     x"`, want: "x"},
		"replayed":                {content: `"hi"`, more: `,"isReplay":true`, want: "hi"},
		"injected":                {content: `"hi"`, more: `,"isSynthetic":true`},
		"meta":                    {content: `"hi"`, more: `,"isMeta":true`},
		"compaction":              {content: `"hi"`, more: `,"isCompactSummary":true`},
		"sidechain":               {content: `"hi"`, more: `,"isSidechain":true`},
		"subagent":                {content: `"hi"`, more: `,"parent_tool_use_id":"t"`},
		"subagent by id":          {content: `"hi"`, more: `,"agent_id":"a"`},
		"skill text":              {content: `"hi"`, more: `,"sourceToolUseID":"t"`},
		"origin human":            {content: `"hi"`, more: `,"origin":{"kind":"human"}`, want: "hi"},
		"origin null":             {content: `"hi"`, more: `,"origin":null`, want: "hi"},
		"origin notification":     {content: `"hi"`, more: `,"origin":{"kind":"task-notification"}`},
		"beside a result":         {content: `[{"type":"tool_result","tool_use_id":"t"},{"type":"text","text":"a"}]`},
		"reminder":                {content: `"<system-reminder>x</system-reminder>"`},
		"reminder, then text":     {content: `"<system-reminder>x</system-reminder>\nthird"`, want: "third"},
		"reminder beside text":    {content: `[{"type":"text","text":"<system-reminder>x</system-reminder>"},{"type":"text","text":"second"}]`, want: "second"},
		"open reminder":           {content: `"<system-reminder>x"`},
		"two wrappers, then text": {content: `"<ide_opened_file>a</ide_opened_file><ide_selection>b</ide_selection> ask"`, want: "ask"},
		"slash command":           {content: `"<command-message>r</command-message>\n<command-name>/r</command-name>"`, want: "<command-message>r</command-message>\n<command-name>/r</command-name>"},
		"local command":           {content: `"<command-name>/cost</command-name>\n<command-message>cost</command-message>"`},
		"output of local command": {content: `"<local-command-stdout>0.01</local-command-stdout>"`},
		"caveat, then command":    {content: `"<local-command-caveat>x</local-command-caveat><command-name>/x</command-name>"`},
		"shell line":              {content: `"<bash-input>ls</bash-input>"`},
		"output of shell line":    {content: `"<bash-stdout>x</bash-stdout><bash-stderr></bash-stderr>"`},
		"task notification":       {content: `"<task-notification><status>completed</status></task-notification>"`},
		"agent notification":      {content: `"<agent-notification>x</agent-notification>"`},
		"unknown skill":           {content: `"Unknown skill: foo"`},
		"a word like it":          {content: `"Unknown things"`, want: "Unknown things"},
		"other element":           {content: `"<b>bold</b> question"`, want: "<b>bold</b> question"},
		"interruption":            {content: `[{"type":"text","text":"[Request interrupted by user]"}]`, interrupt: true},
		"interruption of a tool":  {content: `"[Request interrupted by user for tool use]"`, interrupt: true},
		"interruption and result": {content: `[{"type":"tool_result","tool_use_id":"t"},{"type":"text","text":"[Request interrupted by user for tool use]"}]`, interrupt: true},
		"interruption quoted":     {content: `"see: [Request interrupted by user]"`, want: "see: [Request interrupted by user]"},
		"brackets":                {content: `"[x] done?"`, want: "[x] done?"},
		"escaped wrapper":         {content: `"\u003csystem-reminder>x</system-reminder>q"`, want: "q"},
	} {
		t.Run(name, func(t *testing.T) {
			line := userLine(test.content, test.more)
			rec := one(t, Options{Capture: translate.Capture{Prompts: true}}, line)
			got := translate.Text{}
			if rec.Prompt != nil {
				got = rec.Prompt.Text
			}
			if got.Content != test.want || rec.Interrupt != test.interrupt || (rec.Prompt != nil) != (test.want != "") {
				t.Errorf("prompt %q, interrupt %v", got.Content, rec.Interrupt)
			}
			if rec.Prompt != nil && rec.Prompt.Replay != (name == "replayed") {
				t.Error("replay")
			}
			bare := one(t, Options{}, line)
			if (bare.Prompt != nil) != (rec.Prompt != nil) || bare.Prompt != nil && (bare.Prompt.Text.Content != "" || bare.Prompt.Text.Bytes != got.Bytes) {
				t.Errorf("without capture %+v", bare.Prompt)
			}
		})
	}
}
