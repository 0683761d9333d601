// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"time"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

// A Codex thread may be told twice: by the stream of codex exec and by its rollout. Nothing but its running
// total ties one to the other: calls and messages have other ids in each. So the source that was read first
// has told what both tell, and the other adds what is new.

// restateMargin is how far the times of a row and of the record that tells the same may lie apart.
const restateMargin = int64(2 * time.Second)

// restated is what is new in a record of a session that another kind of source has told, and its time; nil
// for nothing.
func (s *session) restated(f *feed, rec *translate.Record, t int64) (*translate.Record, int64) {
	switch {
	case rec.Rollout != nil:
		return s.beyondStream(rec, t), t
	case f.src.info.Format != translate.FormatCodexExec:
		return rec, t
	case s.threads[s.id] != nil:
		f.restates = f.from == 0
		return s.beyondRollout(f, rec, t)
	}
	if f.from == 0 {
		f.from = t
	}
	f.to = max(f.to, t)
	return rec, t
}

// beyondStream is what a row adds to a stream: what the thread is like, how its turns stand, prompts, and usage,
// which counts by what has been counted.
func (s *session) beyondStream(rec *translate.Record, t int64) *translate.Record {
	if !rec.Agent.Main() || !s.streamTold(t) {
		return rec
	}
	switch rec.Rollout.Kind {
	case translate.RolloutMeta, translate.RolloutContext, translate.RolloutTotal, translate.RolloutUsage, translate.RolloutTurn,
		translate.RolloutPrompt:
		return rec
	case translate.RolloutTurnEnd:
		out := *rec
		out.Failure = nil
		return &out
	}
	return nil
}

// streamTold reports whether a stream of the session told what happened at that time. One without times
// cannot say.
func (s *session) streamTold(t int64) bool {
	for _, f := range s.feeds {
		if f.from >= ordinalEnd && t >= f.from-restateMargin && t <= f.to+restateMargin {
			return true
		}
	}
	return false
}

// beyondRollout is what a stream adds to a rollout: how a turn ended, and usage that the rollout lacks.
func (s *session) beyondRollout(f *feed, rec *translate.Record, t int64) (*translate.Record, int64) {
	if rec.Terminal == nil {
		return nil, 0
	}
	if t < ordinalEnd && f.restates {
		t = s.latest // the rollout knows when it was
	}
	out := *rec
	if r := rec.Response; r != nil && r.Total != nil && within(r.Total, &s.highest) {
		out.Response = nil
	}
	return &out, t
}
