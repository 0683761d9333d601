// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"encoding/binary"
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxMessage = 200 // bytes of a server's message that are repeated

// partialSuccess reads how many items of an accepted request the server rejected, and why. The three
// signals answer in one shape: field 1 holds a message whose field 1 is a count and field 2 a text.
func partialSuccess(contentType string, body []byte) (rejected int64, message string) {
	if strings.Contains(contentType, "json") {
		var doc struct {
			PartialSuccess struct {
				Spans   json.RawMessage `json:"rejectedSpans"`
				Logs    json.RawMessage `json:"rejectedLogRecords"`
				Points  json.RawMessage `json:"rejectedDataPoints"`
				Message string          `json:"errorMessage"`
			} `json:"partialSuccess"`
		}
		if json.Unmarshal(body, &doc) != nil {
			return 0, ""
		}
		for _, raw := range []json.RawMessage{doc.PartialSuccess.Spans, doc.PartialSuccess.Logs, doc.PartialSuccess.Points} {
			// 64-bit integers are strings in JSON of protobuf, numbers in that of some servers.
			if n, err := strconv.ParseInt(strings.Trim(string(raw), `"`), 10, 64); err == nil {
				rejected += n
			}
		}
		return rejected, short(doc.PartialSuccess.Message)
	}
	part := protoField(body, 1).bytes
	count := protoField(part, 1)
	return int64(count.varint), short(string(protoField(part, 2).bytes))
}

// serverMessage reads the text of a refusal: a google.rpc.Status as the protocol asks for, or plain text.
func serverMessage(contentType string, body []byte) string {
	switch {
	case strings.Contains(contentType, "json"):
		var status struct {
			Message string `json:"message"`
		}
		if json.Unmarshal(body, &status) != nil {
			return ""
		}
		return short(status.Message)
	case strings.Contains(contentType, "protobuf"):
		return short(string(protoField(body, 2).bytes))
	case strings.Contains(contentType, "text/plain"):
		return short(string(body))
	default: // HTML pages of proxies say nothing in one line
		return ""
	}
}

// short makes one printable line of limited length out of a text that a server wrote.
func short(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
	if len(text) <= maxMessage {
		return text
	}
	end := maxMessage
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

type protoValue struct {
	varint uint64
	bytes  []byte
}

// protoField finds the last occurrence of a field in an encoded message. A malformed message has none.
func protoField(msg []byte, number uint64) protoValue {
	var found protoValue
	for len(msg) > 0 {
		key, n := binary.Uvarint(msg)
		if n <= 0 {
			return protoValue{}
		}
		msg = msg[n:]
		var v protoValue
		switch key & 7 {
		case 0:
			v.varint, n = binary.Uvarint(msg)
			if n <= 0 {
				return protoValue{}
			}
			msg = msg[n:]
		case 1, 5:
			size := map[uint64]int{1: 8, 5: 4}[key&7]
			if len(msg) < size {
				return protoValue{}
			}
			msg = msg[size:]
		case 2:
			size, n := binary.Uvarint(msg)
			if n <= 0 || size > uint64(len(msg)-n) {
				return protoValue{}
			}
			v.bytes = msg[n : n+int(size)]
			msg = msg[n+int(size):]
		default:
			return protoValue{}
		}
		if key>>3 == number {
			found = v
		}
	}
	return found
}
