// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package ids

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelcol-agents/otelcol-agents/translate"
)

// The values below are the compatibility contract: a change of any of them splits every user's
// history and needs a new version tag.
func TestDerivationIsFixed(t *testing.T) {
	trace := Trace("claude-code", "session-1", "")
	assert.Equal(t, "4289ce7749bc7127280edba15e8cd0f1", hex.EncodeToString(trace[:]))
	later := Trace("claude-code", "session-1", "msg_2")
	assert.Equal(t, "88943d1718803cdfb6476988b1e4c279", hex.EncodeToString(later[:]))
	root := Span(trace, KindSession)
	assert.Equal(t, "3bec6084b6b182ff", hex.EncodeToString(root[:]))
	call := Span(trace, KindCall, "toolu_1", "msg_1")
	assert.Equal(t, "156c2d65c89ebb81", hex.EncodeToString(call[:]))
	uid := Log(trace, translate.EventRead, "toolu_1", 0)
	assert.Equal(t, "66aaee5ead1d0420b5576ddb0e51f88c", hex.EncodeToString(uid[:]))
	assert.Equal(t, "322d510e189440f9", Session("cline", []byte(`{"type":"run_start"}`)))
}

func TestSessionIgnoresFraming(t *testing.T) {
	want := Session("cline", []byte(`{"a":1}`))
	for name, line := range map[string]string{
		"bom":  "\xef\xbb\xbf{\"a\":1}",
		"crlf": "{\"a\":1}\r\n",
		"lf":   "{\"a\":1}\n",
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, want, Session("cline", []byte(line)))
		})
	}
	assert.NotEqual(t, want, Session("goose", []byte(`{"a":1}`)))
}

func TestFieldsDoNotRunTogether(t *testing.T) {
	assert.NotEqual(t, Trace("a", "bc", ""), Trace("ab", "c", ""))
	assert.NotEqual(t, Trace("a", "b", "c"), Trace("a", "bc", ""))
	tr := Trace("a", "b", "")
	assert.NotEqual(t, Span(tr, KindCall, "1", "23"), Span(tr, KindCall, "12", "3"))
	assert.NotEqual(t, Span(tr, KindCall, "x"), Span(tr, KindResponse, "x"))
	assert.NotEqual(t, Log(tr, translate.EventRead, "x", 0), Log(tr, translate.EventRead, "x", 1))
}
