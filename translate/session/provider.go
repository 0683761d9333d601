// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"strings"

	"github.com/otelcol-agents/otelcol-agents/translate"
	"github.com/otelcol-agents/otelcol-agents/translate/price"
)

// provider is who runs a model: as the stream says, else by the shape of the model's id. An agent that
// works with any provider tells nothing by the id of a model that is not Claude's.
func (s *session) provider(model string) string {
	switch {
	case s.format == translate.FormatCodexExec: // it has one provider and names no model
		return "openai"
	case s.format == translate.FormatCodexRollout && s.providerName == "":
		return "openai"
	case s.providerName != "":
		return s.providerName
	case ownRecords(s.format) && !strings.Contains(model, "claude"):
		return ""
	}
	return price.Provider(model)
}
