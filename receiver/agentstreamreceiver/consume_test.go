// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package agentstreamreceiver

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelcol-agents/otelcol-agents/internal/engine"
	"github.com/otelcol-agents/otelcol-agents/translate"
)

func TestVerdict(t *testing.T) {
	away := errors.New("away")
	never := consumererror.NewPermanent(errors.New("never"))
	someSpans := ptrace.NewTraces()
	someSpans.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty().SetSpanID(pcommon.SpanID{1})
	uid := [16]byte{2}
	someLogs := plog.NewLogs()
	records := someLogs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords()
	records.AppendEmpty().Attributes().PutStr("log.record.uid", hex.EncodeToString(uid[:]))
	records.AppendEmpty() // of somebody else: it has no uid

	for name, tt := range map[string]struct {
		err       error
		permanent bool
		spans     map[translate.SpanID]struct{}
		logs      map[[16]byte]struct{}
	}{
		"accepted":                        {},
		"transient":                       {err: away},
		"memory limiter":                  {err: errDataRefused},
		"cancelled":                       {err: context.Canceled},
		"permanent":                       {err: never, permanent: true},
		"permanent, wrapped":              {err: fmt.Errorf("exporter: %w", never), permanent: true},
		"permanent, twice":                {err: consumererror.NewPermanent(never), permanent: true},
		"permanent of several causes":     {err: consumererror.NewPermanent(errors.Join(away, away)), permanent: true},
		"all branches permanent":          {err: errors.Join(never, never), permanent: true},
		"one branch permanent":            {err: errors.Join(never), permanent: true},
		"branches differ":                 {err: errors.Join(never, away)},
		"branches differ, wrapped":        {err: fmt.Errorf("fanout: %w", errors.Join(away, never))},
		"branches of branches":            {err: errors.Join(never, errors.Join(never, away))},
		"all branches transient":          {err: errors.Join(away, away)},
		"part of the spans":               {err: consumererror.NewTraces(away, someSpans), spans: map[translate.SpanID]struct{}{{1}: {}}},
		"part of the spans, wrapped":      {err: fmt.Errorf("x: %w", consumererror.NewTraces(away, someSpans)), spans: map[translate.SpanID]struct{}{{1}: {}}},
		"no part of the spans":            {err: consumererror.NewTraces(away, ptrace.NewTraces()), spans: map[translate.SpanID]struct{}{}},
		"part of the logs":                {err: consumererror.NewLogs(away, someLogs), logs: map[[16]byte]struct{}{uid: {}}},
		"part, permanent":                 {err: consumererror.NewTraces(never, someSpans), permanent: true},
		"part of one of several branches": {err: errors.Join(consumererror.NewTraces(away, someSpans), away)},
	} {
		t.Run(name, func(t *testing.T) {
			got := verdict(tt.err)
			if tt.err == nil {
				require.NoError(t, got)
				return
			}
			require.ErrorIs(t, got, tt.err)
			p, ok := errors.AsType[*engine.PermanentError](got)
			assert.Equal(t, tt.permanent, ok)
			if ok {
				assert.Equal(t, tt.err, p.Err)
			}
			partial, ok := errors.AsType[*engine.PartialError](got)
			assert.Equal(t, tt.spans != nil || tt.logs != nil, ok)
			if ok {
				assert.Equal(t, tt.spans, partial.Spans)
				assert.Equal(t, tt.logs, partial.Logs)
			}
		})
	}
}
