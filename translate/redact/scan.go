// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"encoding/base64"
	"strings"
)

// scanner replaces the secrets of one text in one pass. Every rule starts from a pair of bytes that
// its secrets must have (table starts) and looks around from there, over a bounded distance or over
// what it consumes, so that a pass is linear.
type scanner struct {
	s     string
	out   []byte
	done  int  // s up to here is in out; no rule looks behind it
	noEnd bool // no "-----END" is left in s

	// Ends that were looked for once and hold for everything in front of them: a text of many keys
	// without a secret must not be walked to its end from each of them.
	barren   [maxVendors]int // see match
	line     span            // lineEnd
	word     span            // valueEnd
	trimmed  int             // word without closing marks
	crumbled int             // no "=" in front of it, so no cookie
}

// span is s[from:to].
type span struct{ from, to int }

func (p span) has(i int) bool { return p.from <= i && i < p.to }

func scan(s string) string {
	m := scanner{s: s}
	n := len(s) - 1
	i := 0
	if n > 0 && s[0] == '-' {
		i = m.dash(0)
	}
	for i < n {
		var start uint8
		p := uint16(s[i])
		for ; i < n; i++ {
			p = p<<8 | uint16(s[i+1])
			if start = starts[p]; start != startNone {
				break
			}
		}
		if start == startNone {
			break
		}
		next := i + 1
		switch start {
		case startSep:
			next = m.separator(i)
		case startDash:
			next = m.dash(i)
		case startTag:
			next = m.tag(i)
		case startBearer:
			next = m.bearer(i)
		case startBasic:
			next = m.basic(i)
		default:
			for k := range groups[start-startVendor] {
				if from, to, ok := m.match(&groups[start-startVendor][k], i); ok {
					next = m.replace(from, to)
					break
				}
			}
		}
		i = max(next, i+1)
	}
	if m.done == 0 {
		return s
	}
	return string(append(m.out, s[m.done:]...))
}

func (m *scanner) replace(from, to int) int {
	m.out = append(append(m.out, m.s[m.done:from]...), Marker...)
	m.done = to
	return to
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' }
func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }
func isIdent(c byte) bool { return isAlnum(c) || c == '_' || c == '-' || c == '.' }

// separator handles the ":" or "=" at i.
func (m *scanner) separator(i int) int {
	s := m.s
	if s[i] == ':' {
		if strings.HasPrefix(s[i:], "://") {
			return m.url(i)
		}
		if from, to, ok := m.telegram(i); ok {
			return m.replace(from, to)
		}
		if s[i+1] == ':' || i > m.done && s[i-1] == ':' {
			return i + 1 // a path of a language: secret::Type
		}
	}
	key, spaced, quoted := m.keyBefore(i)
	if key == "" {
		return i + 1
	}
	kind := classify(key)
	if kind == keyNone {
		if key == "sig" && s[i] == '=' && i >= 4 && (s[i-4] == '?' || s[i-4] == '&') {
			kind = keySecret // the signature of a shared access URL
		} else if strings.EqualFold(key, "key") {
			kind = m.keyOfTwoWords(i, key)
		} else if strings.EqualFold(key, "value") {
			kind = m.nameBefore(i)
		}
	}
	if kind == keyNone {
		return i + 1
	}
	p, compared := i+1, false
	switch {
	case s[i] == ':' && s[p] == '=', s[i] == '=' && s[p] == '>':
		p++
	case s[i] == '=' && s[p] == '=':
		compared = true
		for p < len(s) && s[p] == '=' {
			p++
		}
	}
	for p < len(s) && isSpace(s[p]) {
		p++
		spaced = true
	}
	return m.value(p, valueOf{
		kind: kind, key: key, colon: s[i] == ':', tight: !spaced, quotedKey: quoted, literal: compared,
	})
}

// keyBefore reads the name that the separator at i belongs to.
func (m *scanner) keyBefore(i int) (key string, spaced, quoted bool) {
	s, j := m.s, i
	if s[i] == '=' && j > m.done {
		switch s[j-1] {
		case ':', '=', '!', '<', '>', '~':
			return "", false, false // handled at its first byte, or no assignment
		case '+', '?':
			j--
		}
	}
	if s[i] == ':' && j > m.done && s[j-1] == '?' {
		j-- // an optional field: password?: string
	}
	for n := 0; j > m.done && isSpace(s[j-1]) && n < 16; n++ {
		j--
		spaced = true
	}
	if j > m.done+1 && s[j-1] == ']' && isQuote(s[j-2]) {
		j-- // headers["Authorization"] = …
	}
	if j > m.done && isQuote(s[j-1]) {
		quoted = true
		for j--; j > m.done && s[j-1] == '\\'; {
			j--
		}
	}
	end := j
	for j > m.done && end-j < maxKey && isIdent(s[j-1]) {
		j--
	}
	if j > m.done && s[j-1] == '\\' && end-j > 1 { // the letters of an escape are none of the name's
		switch {
		case strings.IndexByte("nrt", s[j]) >= 0:
			j++
		case s[j] == 'u' && end-j > 5:
			j += 5
		}
	}
	return s[j:end], spaced, quoted
}

// keyOfTwoWords reads "API key:", "Secret Key =" as people write it.
func (m *scanner) keyOfTwoWords(i int, key string) keyKind {
	s := m.s
	j := strings.LastIndex(s[max(m.done, i-24):i], key)
	if j < 0 {
		return keyNone
	}
	j += max(m.done, i-24)
	if j <= m.done || s[j-1] != ' ' {
		return keyNone
	}
	end := j - 1
	from := end
	for from > m.done && end-from < 16 && isAlnum(s[from-1]) {
		from--
	}
	if secretKeys[strings.ToLower(s[from:end])] {
		return keySecret
	}
	return keyNone
}

// nameBefore reads the name in front of "value" in name="password" value="x" and in the YAML of it.
func (m *scanner) nameBefore(i int) keyKind {
	near := m.s[max(m.done, i-120):i]
	near = near[:max(strings.LastIndex(near, "value"), strings.LastIndex(near, "Value"), 0)]
	for {
		near = strings.TrimRight(near, " \t\r\n\"'\\,")
		if !strings.HasSuffix(near, `\n`) && !strings.HasSuffix(near, `\r`) {
			break
		}
		near = near[:len(near)-2]
	}
	from := len(near)
	for from > 0 && isIdent(near[from-1]) {
		from--
	}
	name := near[from:]
	near = strings.TrimRight(near[:from], " \t\"'\\")
	if name == "" || near == "" || near[len(near)-1] != ':' && near[len(near)-1] != '=' {
		return keyNone
	}
	near = strings.TrimRight(near[:len(near)-1], " \t\"'\\")
	if !strings.HasSuffix(near, "name") && !strings.HasSuffix(near, "key") && !strings.HasSuffix(near, "Name") && !strings.HasSuffix(near, "Key") {
		return keyNone
	}
	return classify(name)
}

type valueOf struct {
	kind      keyKind
	key       string
	colon     bool // written with a colon
	tight     bool // no space around the separator
	quotedKey bool
	literal   bool // only a quoted value is one: behind a comparison
	flag      bool // behind a flag and a space
}

// value redacts the value at p and returns where to go on.
func (m *scanner) value(p int, of valueOf) int {
	s := m.s
	if p >= len(s) {
		return p
	}
	if p+1 < len(s) && isQuote(s[p+1]) && strings.IndexByte("fbruFBRU@$", s[p]) >= 0 {
		p++ // the prefix of a string literal
	}
	v := p
	for v < len(s) && s[v] == '\\' {
		v++
	}
	if v < len(s) && isQuote(s[v]) {
		from, to := m.quotedValue(v, v-p)
		return m.redactQuoted(from, to, of)
	}
	if of.literal {
		return p
	}
	if strings.HasPrefix(s[p:], "[]byte(") {
		p += len("[]")
	}
	if s[p] == '[' && !strings.HasPrefix(s[p:], Marker) {
		if of.kind == keySecret {
			if q := m.list(p, of); q > 0 {
				return q
			}
		}
		if !of.tight || of.quotedKey {
			return p
		}
	}
	if (s[p] == '{' || s[p] == '(') && (!of.tight || of.quotedKey) && !strings.HasPrefix(s[p:], "{{") {
		return p
	}
	switch of.kind {
	case keyAuth:
		return m.authorization(p, m.lineEnd(p), false)
	case keyCookie:
		end := m.lineEnd(p)
		if !of.colon || p < m.crumbled {
			return p
		}
		if !strings.Contains(s[p:end], "=") {
			m.crumbled = end
			return p
		}
		return m.replace(p, end)
	}
	if strings.HasPrefix(strings.TrimPrefix(s[p:min(len(s), p+3)], "$"), "{{") {
		if e := strings.Index(s[p:min(len(s), p+maxKey)], "}}"); e >= 0 && isVariable(s[p:p+e+2]) {
			return p + e + 2
		}
	}
	hard := m.valueEnd(p)
	to := max(p, m.trimmed)
	if strings.HasPrefix(s[p:hard], Marker) && trimEnd(s, p+len(Marker), hard) == p+len(Marker) {
		return p + len(Marker)
	}
	lit := hard
	for lit < len(s) && s[lit] == '\\' {
		lit++
	}
	if lit < len(s) && isQuote(s[lit]) && hard-p > 1 && s[hard-1] == '(' && isName(s[p:hard-1], false) && !hasDigit(s[p:hard-1]) {
		return m.value(hard, of) // a call: its literal is the secret
	}
	if of.colon && to > p && harmless(s[p:to]) {
		// A type, perhaps with a value behind it: password: string = "x".
		q := hard
		for q < len(s) && isSpace(s[q]) {
			q++
		}
		if q+1 < len(s) && q > hard && s[q] == '=' && s[q+1] != '=' && s[q+1] != '>' {
			for q++; q < len(s) && isSpace(s[q]); {
				q++
			}
			of.colon = false
			return m.value(q, of)
		}
	}
	if to == p || m.plain(s[p:to], s[to:min(len(s), to+2)], of) {
		return p
	}
	return m.replace(p, to)
}

// quotedValue returns the inside of the string whose opening quote, behind so many backslashes, is at q.
// A string that is not closed on its line ends there: it was cut.
func (m *scanner) quotedValue(q, escapes int) (from, to int) {
	s, c := m.s, m.s[q]
	if unit := s[q-escapes : q+1]; strings.HasPrefix(s[q+1:], unit) && strings.HasPrefix(s[q+1+len(unit):], unit) {
		from = q + 1 + 2*len(unit)
		if i := strings.Index(s[from:], s[q-escapes:from]); i >= 0 {
			return from, from + i
		}
		if escapes == 0 {
			return from, len(s)
		}
	}
	from = q + 1
	slashes := 0
	for i := from; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			slashes++
			continue
		case s[i] == '\n' || s[i] == '\r':
			return from, i
		case s[i] == c && (slashes%(2*(escapes+1)) == escapes || slashes < escapes):
			return from, i - min(slashes, escapes)
		case slashes < escapes && isQuote(s[i]) && s[i] == '"':
			return from, i - slashes // the string around this one ends
		}
		slashes = 0
	}
	return from, len(s)
}

func (m *scanner) redactQuoted(from, to int, of valueOf) int {
	v := m.s[from:to]
	switch {
	case of.kind == keyAuth:
		return m.authorization(from, to, true)
	case of.kind == keyCookie && !strings.Contains(v, "="):
		return from
	case of.kind == keyWeak && !isRandom(v):
		return from
	case of.kind == keyPass && isCount(v):
		return to
	case harmless(v):
		return to
	}
	return m.replace(from, to)
}

// list redacts the strings of a list: secrets: ["a", "b"].
func (m *scanner) list(p int, of valueOf) int {
	s := m.s
	found := false
	for p++; p < len(s); {
		for p < len(s) && (isSpace(s[p]) || s[p] == ',' || s[p] == '\n' || s[p] == '\r') {
			p++
		}
		q := p
		for q < len(s) && s[q] == '\\' {
			q++
		}
		if q < len(s) && q == p && !isQuote(s[q]) && strings.IndexByte("[](){}<>", s[q]) < 0 {
			e := q
			for e < len(s) && strings.IndexByte(",]\r\n\"'`", s[e]) < 0 {
				e++
			}
			if v := strings.TrimRight(s[q:e], " \t\\"); !harmless(v) {
				m.replace(q, q+len(v))
			}
			found = true
			p = e
			if p < len(s) && isQuote(s[p]) {
				break
			}
			continue
		}
		if q >= len(s) || !isQuote(s[q]) {
			break
		}
		from, to := m.quotedValue(q, q-p)
		m.redactQuoted(from, to, of)
		found = true
		for p = to; p < len(s) && s[p] == '\\'; {
			p++
		}
		p++
	}
	if !found {
		return 0
	}
	return min(p, len(s))
}

// lineEnd is where a header's value ends: at a quote, a line break or an escaped one.
func (m *scanner) lineEnd(p int) int {
	if !m.line.has(p) {
		m.line = span{p, m.findLineEnd(p)}
	}
	return m.line.to
}

func (m *scanner) findLineEnd(p int) int {
	s := m.s
	for i := p; i < len(s); i++ {
		switch c := s[i]; {
		case isQuote(c), c == '\n', c == '\r':
			return i
		case c == '\\' && i+1 < len(s) && (isQuote(s[i+1]) || s[i+1] == '\\' || s[i+1] == 'n' || s[i+1] == 'r'):
			return i
		}
	}
	return len(s)
}

// valueEnd is where a value without quotes ends.
func (m *scanner) valueEnd(p int) int {
	if !m.word.has(p) {
		m.word = span{p, m.findValueEnd(p)}
		m.trimmed = trimEnd(m.s, p, m.word.to)
	}
	return m.word.to
}

func (m *scanner) findValueEnd(p int) int {
	s := m.s
	for i := p; i < len(s); i++ {
		switch c := s[i]; {
		case c <= ' ', c == 0x7f, isQuote(c):
			return i
		case c == '\\':
			q := i
			for q < len(s) && s[q] == '\\' {
				q++
			}
			if q >= len(s) || isQuote(s[q]) || strings.IndexByte("nrt", s[q]) >= 0 {
				return i
			}
			i = q
		case c == ',' || c == ';' || c == '&':
			if m.softEnd(i) {
				return i
			}
		case c == '<' && i+1 < len(s) && s[i+1] == '/':
			return i
		}
	}
	return len(s)
}

// softEnd reports whether the "," ";" or "&" at i ends a value rather than being a part of it: a space,
// a closing mark, or the next key follows.
func (m *scanner) softEnd(i int) bool {
	s := m.s
	if i+1 >= len(s) {
		return true
	}
	d := s[i+1]
	if d <= ' ' || isQuote(d) || d == s[i] || strings.IndexByte(`\{[()]}<>|`, d) >= 0 {
		return true
	}
	j := i + 1
	for j < len(s) && j-i <= maxKey && (isIdent(s[j]) || s[j] == '%') {
		j++
	}
	return j > i+1 && j < len(s) && (s[j] == '=' || s[j] == ':' || s[i] == '&' && s[j] == ';')
}

// trimEnd takes off what closes a sentence or a bracket around a value.
func trimEnd(s string, from, to int) int {
	for to > from && strings.IndexByte(")]},.:;", s[to-1]) >= 0 {
		to--
	}
	return to
}

// plain reports whether an unquoted value is no secret: a type, a mask, a variable, a line number, code.
func (m *scanner) plain(v, after string, of valueOf) bool {
	if harmless(v) {
		return true
	}
	if v[0] == '$' && len(v) < maxKey && isVariable(v+"}") || v[0] == '{' && (isVariable(v+"}}") || isName(v[1:], false)) {
		return true // its closing brace was trimmed
	}
	if isCount(v) && (of.kind == keyPass || of.tight && of.colon || strings.HasSuffix(strings.ToLower(of.key), "token")) {
		return true
	}
	switch of.kind {
	case keyWeak:
		return !isRandom(v)
	case keyPass:
		if of.key == "pass" && of.colon && !of.tight {
			return !of.quotedKey
		}
	}
	if of.flag && (v[0] == '-' || v[0] == '|' || v[0] == '>' || proseWords[strings.ToLower(v)]) {
		return true
	}
	if strings.HasSuffix(of.key, v) && strings.EqualFold(lastWord(of.key), v) {
		return true // password=password
	}
	if !of.flag {
		// Code: a path of names that ends in a secret's, a call without arguments.
		if i := strings.LastIndexByte(v, '.'); i > 0 && isName(v, false) && !hasDigit(v) && classify(v[i+1:]) != keyNone {
			return true
		}
		if name, ok := strings.CutSuffix(v, "("); ok && after != "" && after[0] == ')' && isName(name, false) && !hasDigit(name) {
			return true
		}
	}
	if of.key == "pwd" && v[0] == '/' {
		return true
	}
	return false
}

func lastWord(key string) string {
	return key[strings.LastIndexAny(key, "_-.")+1:]
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

func isCount(v string) bool { return len(v) <= 5 && strings.Trim(v, "0123456789") == "" }

var proseWords = set(`option options flag flags is to or and argument arguments parameter for in on the a an was can
	must should if when with from as instead not value values needs requires`)

var schemes = set(`bearer basic token digest negotiate ntlm apikey api-key key oauth hmac aws4-hmac-sha256 hawk
	signature splunk bot dpop vapid`)

// Schemes whose credentials have several parts.
var longSchemes = set(`digest oauth hmac aws4-hmac-sha256 hawk signature vapid`)

// authorization redacts the credentials in s[p:end] and leaves the scheme.
func (m *scanner) authorization(p, end int, whole bool) int {
	s := m.s
	first := p
	for first < end && !isSpace(s[first]) {
		first++
	}
	rest := first
	for rest < end && isSpace(s[rest]) {
		rest++
	}
	scheme := strings.ToLower(s[p:min(first, p+32)])
	switch {
	case schemes[scheme] && rest == end:
		return end
	case schemes[scheme]:
		to := end
		if !whole && !longSchemes[scheme] {
			if to = m.valueEnd(rest); to > end {
				to = end
			}
			to = trimEnd(s, rest, to)
			if strings.HasPrefix(s[rest:], Marker) {
				to = rest + len(Marker)
			}
		}
		if v := s[rest:to]; v == "" || v == Marker || isVariable(v) || isVariable(v+"}") || v[0] == '{' && isName(strings.Trim(v, "{}"), false) {
			return to
		}
		return m.replace(rest, to)
	case whole:
		if v := s[p:end]; harmless(v) {
			return end
		}
		return m.replace(p, end)
	}
	to := trimEnd(s, p, min(end, m.valueEnd(p)))
	if strings.HasPrefix(s[p:], Marker) {
		return p + len(Marker)
	}
	if v := s[p:to]; to == p || harmless(v) || isVariable(v+"}") {
		return to
	}
	if to == first && strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz-") == "" && rest < end {
		// Perhaps a scheme that is not known: what follows may be its credentials.
		if second := trimEnd(s, rest, min(end, m.valueEnd(rest))); second > rest {
			to = second
		}
	}
	return m.replace(p, to)
}

// telegram reads <bot id>:<35 characters> around the colon at i.
func (m *scanner) telegram(i int) (from, to int, ok bool) {
	s := m.s
	if s[i+1] != 'A' {
		return 0, 0, false
	}
	from = i
	for from > m.done && i-from < 11 && s[from-1] >= '0' && s[from-1] <= '9' {
		from--
	}
	for to = i + 1; to < len(s) && to-i < 64 && (isAlnum(s[to]) || s[to] == '-' || s[to] == '_'); {
		to++
	}
	return from, to, i-from >= 8 && i-from <= 10 && to-i > 30
}

// url redacts the password of the URL whose "://" is at i, and the secret part of known webhooks.
func (m *scanner) url(i int) int {
	s, a := m.s, i+3
	if i <= m.done || !isAlnum(s[i-1]) {
		return a
	}
	slash, at, colon := -1, -1, -1
	j := a
loop:
	for ; j < len(s) && j-a < 1024; j++ {
		switch c := s[j]; {
		case c <= ' ', isQuote(c), c == '<', c == '>', c == '\\':
			break loop
		case c == ':' && strings.HasPrefix(s[j:], "://"):
			break loop
		case c == ':' && colon < 0 && slash < 0:
			colon = j
		case c == '@':
			if slash < 0 || at < 0 && colon >= 0 && j-slash < 256 && !isCount(s[colon+1:slash]) {
				at = j
			}
		case (c == '/' || c == '?' || c == '#') && slash < 0:
			slash = j
		}
	}
	if at < 0 {
		return m.webhook(a, j)
	}
	if colon > at {
		colon = -1
	}
	user := s[a:at]
	if colon >= 0 {
		user = s[a:colon]
	}
	if len(user) >= 20 && isRandom(user) {
		m.replace(a, a+len(user))
	}
	if colon >= 0 {
		if v := s[colon+1 : at]; v != "" && v != Marker && !isVariable(v) {
			m.replace(colon+1, at)
		}
	}
	return at
}

var webhooks = []string{
	"hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/",
	"discord.com/api/webhooks/", "discordapp.com/api/webhooks/",
}

func (m *scanner) webhook(from, to int) int {
	u := m.s[from:to]
	for _, w := range webhooks {
		if i := strings.Index(u[:min(len(u), 64)], w); i >= 0 {
			from += i + len(w)
			end := trimEnd(m.s, from, to)
			if end == from || strings.HasPrefix(m.s[from:], Marker) || m.s[from] == '.' {
				return from
			}
			if m.s[from:end] == Marker[:len(Marker)-1] {
				return end
			}
			return m.replace(from, end)
		}
	}
	return from
}

// dash handles a "-" behind the byte at i (or the first of two at i): PEM, or a flag with its value.
func (m *scanner) dash(i int) int {
	s := m.s
	if s[i] != '-' {
		i++
	}
	if strings.HasPrefix(s[i:], "-----BEGIN ") {
		return m.pem(i)
	}
	if i > m.done && (isAlnum(s[i-1]) || s[i-1] == '-') && !bounded(s, m.done, i) {
		return i + 1
	}
	from := i
	for from < len(s) && s[from] == '-' && from-i < 2 {
		from++
	}
	e := from
	for e < len(s) && isIdent(s[e]) && e-from <= maxKey {
		e++
	}
	if e == from || s[from] == '-' {
		return max(from, i+1)
	}
	name := s[from:e]
	p := e
	for p < len(s) && s[p] == '\\' {
		p++
	}
	if p < len(s) && isQuote(s[p]) {
		p++ // ["--password", "x"]
	} else {
		p = e
	}
	if p < len(s) && p > e && s[p] == ',' {
		p++
	}
	gap := p
	for p < len(s) && isSpace(s[p]) {
		p++
	}
	if name[0] == 'p' && from-i == 1 && len(name) > 1 && m.commandBefore(i, "sshpass", "mysql", "mariadb") {
		return m.shortPassword(from+1, e)
	}
	if p == gap && (gap == e || s[gap-1] != ',') || p >= len(s) || s[p] == '-' {
		return e
	}
	kind := classify(name)
	switch {
	case name == "u" || name == "user" || name == "U" || name == "proxy-user":
		return m.userFlag(i, p)
	case name == "p" && m.commandBefore(i, "sshpass", "login "):
		kind = keySecret
	case from-i == 1 && len(name) < 4:
		return e
	}
	if kind == keyNone || kind == keyCookie {
		return e
	}
	if kind == keyPass {
		kind = keySecret
	}
	return m.value(p, valueOf{kind: kind, key: name, flag: true})
}

// shortPassword redacts -pX of clients that take it without a space.
func (m *scanner) shortPassword(from, e int) int {
	to := m.valueEnd(from)
	v := m.s[from:to]
	if harmless(v) || strings.HasPrefix(v, Marker) || strings.Trim(v, "0123456789:") == "" { // a port
		return e
	}
	return m.replace(from, to)
}

// userFlag redacts the password of curl's -u user:password.
func (m *scanner) userFlag(i, p int) int {
	s := m.s
	if !m.commandBefore(i, "curl", "http", "wget") {
		return p
	}
	q := p
	for q < len(s) && s[q] == '\\' {
		q++
	}
	var end int
	if q < len(s) && isQuote(s[q]) {
		p, end = m.quotedValue(q, q-p)
	} else {
		end = m.valueEnd(p)
	}
	colon := strings.IndexByte(s[p:end], ':')
	if colon < 0 || p+colon+1 == end {
		return p
	}
	from := p + colon + 1
	if v := s[from:end]; v == Marker || isVariable(v) || strings.HasPrefix(v, "//") {
		return from
	}
	return m.replace(from, end)
}

// commandBefore looks for a program's name on the same line, over a bounded distance.
func (m *scanner) commandBefore(i int, names ...string) bool {
	line := m.s[max(0, i-512):i]
	line = line[strings.LastIndexByte(line, '\n')+1:]
	for _, n := range names {
		if strings.Contains(line, n) {
			return true
		}
	}
	return false
}

// pem redacts the block that begins at i. Without its end it reaches up to what cannot be a part of it.
func (m *scanner) pem(i int) int {
	s := m.s
	if !m.noEnd {
		if e := strings.Index(s[i:], "-----END "); e >= 0 {
			to := i + e + len("-----END ")
			if d := strings.Index(s[to:min(len(s), to+64)], "-----"); d >= 0 {
				return m.replace(i, to+d+len("-----"))
			}
			for to < len(s) && (isUpper(s[to]) || isSpace(s[to])) {
				to++
			}
			return m.replace(i, to)
		}
		m.noEnd = true
	}
	to := i + len("-----BEGIN ")
	for to < len(s) && !isQuote(s[to]) && strings.IndexByte("<>{}", s[to]) < 0 {
		to++
	}
	for to > i && s[to-1] == '\\' {
		to-- // of the quote behind it
	}
	return m.replace(i, to)
}

// tag redacts <password>x</password>; i is the ">".
func (m *scanner) tag(i int) int {
	s, j := m.s, i
	for j > m.done && i-j < maxKey && isIdent(s[j-1]) {
		j--
	}
	if j == i || j <= m.done || s[j-1] != '<' {
		return i + 1
	}
	if kind := classify(s[j:i]); kind != keySecret && kind != keyPass {
		return i + 1
	}
	n := strings.IndexByte(s[i+1:min(len(s), i+4097)], '<')
	if n < 0 || i+1+n+1 >= len(s) || s[i+1+n+1] != '/' {
		return i + 1
	}
	if v := s[i+1 : i+1+n]; strings.TrimSpace(v) == "" || harmless(v) {
		return i + 1 + n
	}
	return m.replace(i+1, i+1+n)
}

// bearer redacts "Bearer x" that no Authorization stands before, if x looks like a credential.
func (m *scanner) bearer(i int) int {
	s := m.s
	if len(s)-i < 8 || !strings.EqualFold(s[i:i+6], "bearer") || !isSpace(s[i+6]) || !bounded(s, m.done, i) {
		return i + 1
	}
	from := i + 7
	to := from
	for to < len(s) && (isAlnum(s[to]) || strings.IndexByte("-._~+/=", s[to]) >= 0) {
		to++
	}
	to = trimEnd(s, from, to)
	v := s[from:to]
	shouted := len(v) >= 6 && strings.ToUpper(v) == v
	if !isRandom(v) && !shouted {
		return from
	}
	return m.replace(from, to)
}

// basic redacts "Basic x" if x is what the scheme says: base64 of user:password.
func (m *scanner) basic(i int) int {
	s := m.s
	if !strings.HasPrefix(s[i:], "Basic ") || !bounded(s, m.done, i) {
		return i + 1
	}
	from := i + 6
	to := from
	for to < len(s) && to-from < 1024 && isBase64(s[to]) {
		to++
	}
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s[from:to], "="))
	if err != nil || !strings.Contains(string(raw), ":") {
		return from
	}
	return m.replace(from, to)
}
