// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package session

import "github.com/otelcol-agents/otelcol-agents/translate"

// tooOld reports whether an output of a file is older than what may leave (telemetry contract, rulings 3
// and 43): a span by its end, a log by its time, a count by the record that made it. What something points
// at that has left is never too old.
func (s *session) tooOld(it *item) bool {
	if s.a.cfg.MaxAge == 0 || s.lively {
		return false
	}
	now := s.a.now
	if s.rebuilding && s.memory.since != 0 {
		now = s.memory.since // as it was decided before
	}
	limit := now - int64(s.a.cfg.MaxAge)
	switch {
	case it.out.Span != nil:
		return !it.node.used && s.resolve(it.out.Span.End) < limit
	case it.out.Log != nil:
		return s.resolve(it.out.Log.Time) < limit
	}
	return s.oldStep(it.out.Step, s.resolve(it.at) < limit)
}

// oldStep reports whether a count is left out. That a session ends to be active is told if its beginning
// was, whatever its age.
func (s *session) oldStep(st *translate.Step, old bool) bool {
	if st.Metric != translate.MetricActive {
		return old
	}
	if st.Value > 0 {
		s.agedOut = old
	}
	return s.agedOut
}
