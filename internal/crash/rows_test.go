// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"fmt"
	"time"
)

// author writes the rows of one Claude Code session. Its clock is that of the rows.
type author struct {
	id         string
	transcript bool
	at         time.Time
	tick       time.Duration // between rows
	n          int
	last       string // uuid
	runs       int
}

// began is before any session of these tests.
var began = time.Date(2026, 11, 19, 9, 0, 0, 0, time.UTC)

func newAuthor(id string, transcript bool) *author {
	return &author{id: id, transcript: transcript, at: began, tick: 700 * time.Millisecond}
}

func (a *author) row(body string) string {
	a.n++
	a.at = a.at.Add(a.tick)
	return a.named(fmt.Sprintf("u-%s-%d", a.id, a.n), body)
}

func (a *author) named(uuid, body string) string {
	parent := "null"
	if a.last != "" {
		parent = fmt.Sprintf("%q", a.last)
	}
	a.last = uuid
	stamp := a.at.Format("2006-01-02T15:04:05.000Z")
	if a.transcript {
		return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"userType":"external","cwd":"/work/w","sessionId":%q,"version":"2.1.332","uuid":%q,"timestamp":%q,%s}`,
			parent, a.id, uuid, stamp, body)
	}
	return fmt.Sprintf(`{"session_id":%q,"parent_tool_use_id":null,"uuid":%q,"timestamp":%q,%s}`, a.id, uuid, stamp, body)
}

// begin is how a stream begins; a transcript begins with its first prompt.
func (a *author) begin() []string {
	if a.transcript {
		return nil
	}
	// What only streams have does not move what transcripts have too. It has the time of what follows: whether a
	// segment that goes on begins with it depends on what is remembered of the one before.
	a.runs++
	defer func(at time.Time) { a.at = at }(a.at)
	a.at = a.at.Add(a.tick)
	return []string{a.named(fmt.Sprintf("i-%s-%d", a.id, a.runs), `"type":"system","subtype":"init","cwd":"/work/w","tools":["Bash"],"model":"claude-sonnet-4-5","claude_code_version":"2.1.332"`)}
}

func (a *author) prompt(text string) string {
	return a.row(fmt.Sprintf(`"type":"user","message":{"role":"user","content":%q}`, text))
}

// response is one response that calls n tools, a row each, and says something before.
func (a *author) response(name string, calls int) (rows []string) {
	part := func(content string) {
		// The last row alone says that it is: with that, a response waits for no more than the linger.
		stop := "null"
		if len(rows) == calls {
			stop = `"end_turn"`
		}
		rows = append(rows, a.row(fmt.Sprintf(
			`"type":"assistant","message":{"id":"msg-%s-%s","type":"message","role":"assistant","model":"claude-sonnet-4-5","content":[%s],"stop_reason":%s,"usage":{"input_tokens":%d,"cache_read_input_tokens":100,"output_tokens":%d}}`,
			a.id, name, content, stop, 3+calls, 20+len(rows),
		)))
	}
	part(fmt.Sprintf(`{"type":"text","text":"saying %s"}`, name))
	for i := range calls {
		part(fmt.Sprintf(`{"type":"tool_use","id":"toolu-%s-%s-%d","name":"Bash","input":{"command":"true %d"}}`, a.id, name, i, i))
	}
	return rows
}

// results are those of the calls of a response; every third is an error.
func (a *author) results(name string, calls int) (rows []string) {
	for i := range calls {
		rows = append(rows, a.row(fmt.Sprintf(
			`"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu-%s-%s-%d","content":"done","is_error":%v}]}`,
			a.id, name, i, i%3 == 2,
		)))
	}
	return rows
}

// end is the last row of a stream; a transcript has none.
func (a *author) end() []string {
	if a.transcript {
		return nil
	}
	return []string{a.named(fmt.Sprintf("r-%s-%d", a.id, a.runs), `"type":"result","subtype":"success","is_error":false,"num_turns":1,"duration_ms":10,"total_cost_usd":0.01`)}
}

// turn is a prompt, what is done about it, and an answer.
func (a *author) turn(n int) (rows []string) {
	name := fmt.Sprint(n)
	rows = append(rows, a.prompt("do "+name))
	rows = append(rows, a.response(name+"a", 1+n%3)...)
	rows = append(rows, a.results(name+"a", 1+n%3)...)
	return append(rows, a.response(name+"b", 0)...)
}

// whole is a session of some turns.
func (a *author) whole(turns int) []string {
	rows := a.begin()
	for n := range turns {
		rows = append(rows, a.turn(n)...)
	}
	return append(rows, a.end()...)
}
