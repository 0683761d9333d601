// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// maxDepth is how deep JSON is read; what is deeper counts as text. It also bounds the cost of survey,
// which reads what an object contains once more at each level.
const maxDepth = 64

// JSON is String for a JSON text. Objects are read as such: the value of a secret-like key becomes
// Marker whatever it contains (numbers too; true, false and null stay, objects are looked into), the
// value beside a secret-like name ({"name": "DB_PASSWORD", "value": …}) as well, and the data of a
// binary block becomes what Binary says of it:
//
//   - "data" beside a media type (media_type, mediaType, mimeType, mime_type), unless the block says
//     that it is text;
//   - "base64" beside a media type or "type";
//   - data URLs and long base64 in any string.
//
// Order, numbers and white space stay as they are. Lone surrogates become U+FFFD. A text that is no
// JSON is redacted by String. value is not changed; the result may share its memory.
func (r *Redactor) JSON(value []byte) []byte {
	if !json.Valid(value) {
		return []byte(r.String(string(value)))
	}
	if !utf8.Valid(value) {
		value = []byte(strings.ToValidUTF8(string(value), "\uFFFD"))
	}
	w := walker{r: r, s: value}
	w.value(keyNone)
	if w.done == 0 {
		return value
	}
	return append(w.out, value[w.done:]...)
}

// walker goes over valid JSON once and copies what it does not replace.
type walker struct {
	r     *Redactor
	s     []byte
	at    int
	out   []byte
	done  int
	depth int
}

func (w *walker) space() {
	for w.at < len(w.s) && (w.s[w.at] == ' ' || w.s[w.at] == '\t' || w.s[w.at] == '\n' || w.s[w.at] == '\r') {
		w.at++
	}
}

func (w *walker) replace(from, to int, text string) {
	w.out = append(w.out, w.s[w.done:from]...)
	w.out = appendString(w.out, text)
	w.done = to
}

func appendString(out []byte, text string) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string is always encodable
	return append(out, strings.TrimSuffix(b.String(), "\n")...)
}

// block is what an object says about its own strings.
type block struct {
	mediaType string
	text      bool // says that its data is text
	kind      keyKind
}

// value walks over the value at w.at. kind is that of its key.
func (w *walker) value(kind keyKind) {
	w.space()
	switch w.s[w.at] {
	case '{':
		w.object()
	case '[':
		w.array(kind)
	case '"':
		from := w.at
		w.str(from, w.skipString(), kind)
	case 't', 'f', 'n':
		w.skipScalar()
	default:
		from := w.at
		w.skipScalar()
		if w.r.on() && kind == keySecret {
			w.replace(from, w.at, Marker)
		}
	}
}

func (r *Redactor) on() bool { return r != nil && r.enabled }

func (w *walker) skipScalar() {
	for w.at < len(w.s) && strings.IndexByte(",]} \t\r\n", w.s[w.at]) < 0 {
		w.at++
	}
}

// skipString goes behind the string at w.at and returns where that is.
func (w *walker) skipString() int {
	for w.at++; w.s[w.at] != '"'; w.at++ {
		if w.s[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
	return w.at
}

// skip goes over a value without looking into it.
func (w *walker) skip() {
	depth := 0
	for {
		w.space()
		switch w.s[w.at] {
		case '"':
			w.skipString()
		case '{', '[':
			depth++
			w.at++
		case '}', ']':
			depth--
			w.at++
		case ',', ':':
			w.at++
		default:
			w.skipScalar()
		}
		if depth == 0 {
			return
		}
	}
}

func unquote(quoted []byte) string {
	if !strings.Contains(string(quoted), `\`) {
		return string(quoted[1 : len(quoted)-1])
	}
	var s string
	_ = json.Unmarshal(quoted, &s) // valid by JSON's check
	return s
}

// str redacts the string in w.s[from:to] and returns its text.
func (w *walker) str(from, to int, kind keyKind) string {
	text := unquote(w.s[from:to])
	clean := text
	if w.r.on() && kind != keyNone {
		clean = redactValue(text, kind)
	}
	clean = w.r.String(clean)
	if clean != text || strings.Contains(string(w.s[from:to]), `\u`) {
		w.replace(from, to, clean)
	}
	return clean
}

// redactValue is the value of a key without its surroundings.
func redactValue(v string, kind keyKind) string {
	m := scanner{s: v}
	m.redactQuoted(0, len(v), valueOf{kind: kind})
	if m.done == 0 {
		return v
	}
	return string(append(m.out, v[m.done:]...))
}

func (w *walker) array(kind keyKind) {
	if w.tooDeep() {
		return
	}
	for w.at++; ; {
		w.space()
		if w.s[w.at] == ']' {
			w.at++
			break
		}
		if w.s[w.at] == ',' {
			w.at++
			continue
		}
		if w.s[w.at] == '"' && kind == keyNone && w.flagPair() {
			continue
		}
		w.value(kind)
	}
	w.depth--
}

// flagPair handles "--password" followed by its value in a list of arguments.
func (w *walker) flagPair() bool {
	from := w.at
	to := w.skipString()
	name := unquote(w.s[from:to])
	flag := strings.TrimLeft(name, "-")
	if !w.r.on() || len(name) < 3 || name[0] != '-' || len(flag) > maxKey || strings.ContainsAny(flag, "=: ") || classify(flag) != keySecret {
		w.at = from
		return false
	}
	w.space()
	if w.s[w.at] != ',' {
		return true
	}
	w.at++
	w.space()
	if w.s[w.at] == '"' && (w.s[w.at+1] != '-' || w.s[w.at+2] != '-') {
		w.value(keySecret)
	}
	return true
}

// tooDeep replaces the value at w.at by its redacted text when it is nested too deep.
func (w *walker) tooDeep() bool {
	if w.depth++; w.depth <= maxDepth {
		return false
	}
	w.depth--
	from := w.at
	w.skip()
	w.replace(from, w.at, w.r.String(string(w.s[from:w.at])))
	return true
}

// survey reads the strings of an object that say something about the others.
func (w *walker) survey() block {
	start := w.at
	var b block
	for w.at++; ; {
		w.space()
		if w.s[w.at] == '}' {
			break
		}
		if w.s[w.at] == ',' {
			w.at++
			continue
		}
		from := w.at
		key := unquote(w.s[from:w.skipString()])
		w.space()
		w.at++ // the colon
		w.space()
		if w.s[w.at] != '"' {
			w.skip()
			continue
		}
		from = w.at
		to := w.skipString()
		if to-from > 200 {
			continue
		}
		switch text := unquote(w.s[from:to]); key {
		case "media_type", "mediaType", "mimeType", "mime_type":
			b.mediaType = text
		case "type":
			b.text = text == "text"
			if b.mediaType == "" && isMediaType(text) {
				b.mediaType = text
			}
		case "name", "key", "Name", "Key":
			b.kind = classify(text)
		}
	}
	w.at = start
	return b
}

func (w *walker) object() {
	if w.tooDeep() {
		return
	}
	b := w.survey()
	for w.at++; ; {
		w.space()
		if w.s[w.at] == '}' {
			w.at++
			break
		}
		if w.s[w.at] == ',' {
			w.at++
			continue
		}
		from := w.at
		to := w.skipString()
		// A key may be or have a secret itself. What is judged is what is left of it, or a second
		// reading would judge otherwise.
		key := w.str(from, to, keyNone)
		w.space()
		w.at++ // the colon
		w.space()
		if w.s[w.at] == '"' && (key == "data" && b.mediaType != "" && !b.text || key == "base64") {
			from = w.at
			to = w.skipString()
			if data := unquote(w.s[from:to]); data != "" && !isSummary(data) {
				w.replace(from, to, Binary(b.mediaType, data))
			}
			continue
		}
		kind := classify(key)
		if (key == "value" || key == "Value") && b.kind != keyNone {
			kind = b.kind
		}
		w.value(kind)
	}
	w.depth--
}
