// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package agentstreamreceiver

import (
	"testing"
)

func TestDump(t *testing.T) {
	r := startRig(t, withTCP(newConfig()), nil)
	r.send(t, stream(t, "plain-run"))
	r.wait(t, "invoke_agent", 1)
	t.Log(r.spans())
	for _, ld := range r.events.AllLogs() {
		for _, rl := range ld.ResourceLogs().All() {
			for _, sl := range rl.ScopeLogs().All() {
				for _, l := range sl.LogRecords().All() {
					t.Log(l.EventName(), l.Attributes().AsRaw(), l.SpanID())
				}
			}
		}
	}
	t.Log(r.stop(), r.tokens())
	for _, n := range []string{"records", "bytes_read", "commits", "connections_active"} {
		m, err := r.tel.GetMetric("otelcol_agent_stream_" + n)
		t.Log(m, err)
	}
	for _, e := range r.logs.All() {
		t.Log(e.Message, e.ContextMap())
	}
}
