// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package otlp

import "github.com/otelcol-agents/otelcol-agents/translate"

const (
	// MaxItems is how many spans, and how many log records, one request should have at most.
	MaxItems = 512

	// roughBody is the captured content, in bytes, after which a request is cut without measuring it.
	roughBody = 2 << 20
)

// Cut says how many of the outputs make one request: at least one, so that what is large goes alone.
func Cut(outs []translate.Output) int {
	var spans, logs, size int
	for i := range outs {
		switch o := &outs[i]; {
		case o.Span != nil:
			spans++
			size += spanSize(o.Span)
		case o.Log != nil:
			logs++
			size += len(o.Log.Body) + len(o.Log.Raw) + len(o.Log.Command)
		}
		if i > 0 && (spans > MaxItems || logs > MaxItems || size > roughBody) {
			return i
		}
	}
	return len(outs)
}

func spanSize(s *translate.Span) int {
	switch {
	case s.Chat != nil:
		return len(s.Chat.Input) + len(s.Chat.Output)
	case s.Tool != nil:
		return len(s.Tool.Args) + len(s.Tool.Result)
	default:
		return 0
	}
}
