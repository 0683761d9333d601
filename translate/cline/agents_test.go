// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package cline_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

// tree lists the responses and calls below the main agent and below each subagent: a response by its
// output tokens, a subagent by the call that it hangs under.
func tree(outs []translate.Output) map[string]string {
	spans := map[translate.SpanID]*translate.Span{}
	for i := range outs {
		if sp := outs[i].Span; sp != nil {
			spans[sp.SpanID] = sp
		}
	}
	below := map[string][]string{}
	for i := range outs {
		sp := outs[i].Span
		if sp == nil || sp.Type == translate.SpanRoot || sp.Type == translate.SpanSubagent {
			continue
		}
		what := ""
		if sp.Chat != nil {
			what = fmt.Sprint(sp.Chat.Usage.Output.V)
		} else {
			what = sp.Tool.CallID
		}
		agent := "main"
		if parent := spans[sp.ParentID]; parent.Subagent != nil {
			agent = parent.Subagent.ID + "@"
			if launcher := spans[parent.ParentID]; launcher.Tool != nil {
				agent += launcher.Tool.CallID
			}
		}
		below[agent] = append(below[agent], what)
	}
	out := map[string]string{}
	for agent, list := range below {
		slices.Sort(list)
		out[agent] = strings.Join(list, " ")
	}
	return out
}

// TestAgents has whose the records are in streams that do not say so.
func TestAgents(t *testing.T) {
	for name, want := range map[string]map[string]string{
		"subagents-parallel":     {"main": "60 70 c1 c2", "agent_a@c1": "150 170 a1", "agent_b@c2": "250 270 b1"},
		"subagents-out-of-order": {"main": "60 70 c1 c2", "agent_one@c1": "250 270 o1", "agent_two@c2": "150 170 t1"},
		"subagent-fails":         {"main": "10 60 c1"},
		"no-hooks":               {"main": "20 60 c1 c2", "@c1": "150 170 a1"},
		"named-agents":           {"main": "60 c1", "agent_a@c1": "90"},
		"team": {
			"main": "20 25 60 60 70 80 c1 c2 c3 c4 c5 c6", "counter@c3": "150 160 k1", "counter/2@c6": "160 170 k2",
			"reviewer@c4": "250 260 r1",
		},
		"team-run-begins-late": {"main": "20 60 c1", "reviewer@c1": "50"},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("../../testdata/cline", name+".jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			got := tree(fold(translate.FormatCline, translate.Capture{}, strings.Split(strings.TrimSpace(string(data)), "\n")))
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("got  %v\nwant %v", got, want)
			}
		})
	}
}

// TestAnswersThatCross: two agents ask at once, and their answers are told in the order and with the
// neighbours that are hardest to tell apart.
func TestAnswersThatCross(t *testing.T) {
	hook := func(name, agent string) string {
		return `{"type":"hook_event","hookEventName":"` + name + `","agentId":"` + agent + `","parentAgentId":"lead"}`
	}
	piece := func(text, all string) string {
		return inner(fmt.Sprintf(`{"type":"content_start","contentType":"text","text":%q,"accumulated":%q}`, text, all))
	}
	use := func(out int) string {
		return inner(fmt.Sprintf(`{"type":"usage","inputTokens":10,"outputTokens":%d,"totalInputTokens":10,"totalOutputTokens":%d}`, out, out))
	}
	spawn := func(id string) string {
		return inner(`{"type":"content_start","contentType":"tool","toolName":"spawn_agent","toolCallId":"` + id + `","input":{"task":"t"}}`)
	}
	start := []string{
		`{"type":"hook_event","hookEventName":"agent_start","agentId":"lead","parentAgentId":null}`,
		inner(`{"type":"iteration_start","iteration":1}`), use(1), spawn("ca"), spawn("cb"), hook("agent_start", "a"), hook("agent_start", "b"),
		inner(`{"type":"iteration_start","iteration":1}`), inner(`{"type":"iteration_start","iteration":1}`),
	}
	want := "map[a@ca:100 b@cb:200 main:1 ca cb]"
	for name, lines := range map[string][]string{
		"by the whole text": {
			piece("one ", "one "), piece("seco", "seco"), piece("two", "one two"), piece("nd one", "second one"),
			use(100), end("text", `,"text":"one two"`), hook("tool_call", "a"), use(200), end("text", `,"text":"second one"`), hook("tool_call", "b"),
		},
		"by the call that follows": {use(100), hook("tool_call", "a"), use(200), hook("tool_call", "b")},
		"by the end that follows":  {use(200), inner(`{"type":"iteration_end","iteration":1}`), hook("agent_end", "b"), use(100)},
		"in the other order":       {use(200), hook("tool_call", "b"), use(100), hook("tool_call", "a")},
		"by whoever is left":       {use(200), hook("tool_call", "b"), use(100)},
		"with another's piece between": {
			piece("one", "one"), use(100), piece("x", "x"), hook("tool_call", "a"), piece("yz", "xyz"), use(200), end("text", `,"text":"xyz"`),
		},
	} {
		t.Run(name, func(t *testing.T) {
			outs := fold(translate.FormatCline, translate.Capture{}, append(slices.Clone(start), lines...))
			if got := fmt.Sprint(tree(outs)); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}
