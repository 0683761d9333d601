// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"slices"
	"strings"
)

// keyKind says how the value of a key is to be read.
type keyKind uint8

const (
	keyNone   keyKind = iota
	keySecret         // the value is a secret
	keyPass           // "pass": a secret, or a count of passed tests
	keyWeak           // the name alone proves little: a secret if the value looks made by a machine
	keyAuth           // Authorization: a scheme and its credentials
	keyCookie         // a header of several name=value
)

const maxKey = 64 // bytes of a name that are looked at, from its end

func set(words string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

var (
	secretWords = set(`password passwords passwd pwd passphrase passcode secret secrets credential credentials
		creds apikey apikeys token jwt bearer mnemonic authkey signingkey encryptionkey accountkey storagekey sshkey
		storepass keypass userpass dbpass rootpass adminpass`)

	// Also as the end of a word that is written in one: dbpassword, authtoken.
	secretEnds = []string{
		"password", "passwords", "passwd", "passphrase", "secret", "token", "apikey", "apikeys",
		"accesskey", "secretkey", "privatekey", "credential", "credentials",
	}

	// Words before "key" that make it a secret; a bare key, a primary, public or cache key is none.
	secretKeys = set(`api access secret private signing encryption encrypt decryption master account storage ssh
		auth shared license service deploy deployment admin app application client consumer webhook hmac aes rsa
		functions subscription sas server role anon host install integration`)

	publicKeys = set(`public primary foreign sort partition cache hot row index map object lookup group order
		hash unique candidate composite natural sig registry`)

	// Words behind a secret's name that speak about it instead of giving it: password_file, token_count.
	aboutWords = set(`count counts type types limit limits usage length len size sizes min max name names id ids
		expiry expires expiration expired ttl endpoint endpoints url uri path paths file files filename dir
		field fields input policy policies required enabled disabled manager provider ref refs reset budget window
		rate cost price prices index kind position start end stream per at in source store scope scopes format
		prompt validator validation strength error errors status label version algorithm exchange request requests
		response handler service class helper mask stdin fd hint used total estimate estimates
		detection scanning scanner scan rotation age line column col offset text pattern patterns regex set list
		operator sep separator tree pos span level`)

	// Words before "token" that make it a piece of text or of a listing.
	plainTokens = set(`max min next page continuation eos bos pad unk stop special cancellation first last num per
		prev previous end current sep cls mask start each one`)

	fileEnds = set(`go py js ts tsx jsx mjs cjs md json yaml yml toml txt rs rb java kt c h cc cpp hpp cs php sh html
		css scss vue svelte sql lua swift scala proto lock log mod sum tf xml test spec`)
)

// classify reads a key: a JSON name, a variable, a header, a flag without its dashes.
func classify(key string) keyKind {
	if len(key) > maxKey {
		key = key[len(key)-maxKey:]
	}
	if !suspicious(key) {
		return keyNone
	}
	var words [16]string
	n := split(key, &words)
	return judge(key, words[:n])
}

// suspicious is the cheap test: no key is a secret's without one of these.
func suspicious(key string) bool {
	for i := 0; i+3 <= len(key); i++ {
		switch a, b, c := key[i]|0x20, key[i+1]|0x20, key[i+2]|0x20; a {
		case 'p':
			if b == 'a' && c == 's' || b == 'w' && c == 'd' {
				return true
			}
		case 's':
			if b == 'e' && c == 'c' || b == 'i' && c == 'g' {
				return true
			}
		case 't':
			// A count of tokens is by far the most frequent name here, so it ends the matter early.
			if b == 'o' && c == 'k' && (i+6 != len(key) || key[i+5]|0x20 != 's') {
				return true
			}
		case 'k':
			if b == 'e' && c == 'y' {
				return true
			}
		case 'c':
			if b == 'r' && c == 'e' || b == 'o' && c == 'o' {
				return true
			}
		case 'a':
			if b == 'u' && c == 't' {
				return true
			}
		case 'j':
			if b == 'w' && c == 't' {
				return true
			}
		case 'b':
			if b == 'e' && c == 'a' {
				return true
			}
		case 'm':
			if b == 'n' && c == 'e' {
				return true
			}
		}
	}
	return false
}

// split cuts a key into lower-case words at what is no letter or digit and at camelCase; digits at the
// end of a word go (PASSWORD2). Words beyond the 16th are not looked at.
func split(key string, words *[16]string) int {
	n, from := 0, 0
	lower := strings.ToLower(key)
	if len(lower) != len(key) {
		lower = key // a letter that changes its size is none of ours
	}
	flush := func(to int) {
		for to > from && lower[to-1] >= '0' && lower[to-1] <= '9' {
			to--
		}
		if to > from && n < len(words) {
			words[n] = lower[from:to]
			n++
		}
	}
	for i := range len(key) {
		c := key[i]
		switch {
		case !isAlnum(c):
			flush(i)
			from = i + 1
		case i > from && isUpper(c) && (!isUpper(key[i-1]) || i+1 < len(key) && isLower(key[i+1])):
			flush(i)
			from = i
		}
	}
	flush(len(key))
	return n
}

func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool { return c >= 'a' && c <= 'z' }

func judge(key string, words []string) keyKind {
	if len(words) == 0 {
		return keyNone
	}
	last := words[len(words)-1]
	if len(words) > 1 && fileEnds[last] && strings.Contains(key, ".") {
		return keyNone // token.go:12
	}
	if key == "PWD" || key == "OLDPWD" {
		return keyNone
	}
	signed := false
	for _, w := range words {
		signed = signed || w == "amz" || w == "goog"
	}
	for i, w := range slices.Backward(words) {

		prev := ""
		if i > 0 {
			prev = words[i-1]
		}
		kind := keyNone
		switch {
		case w == "authorization":
			kind = keyAuth
		case w == "cookie" && (i == 0 || prev == "set" || prev == "document"):
			kind = keyCookie
		case w == "auth" && i == len(words)-1:
			kind = keyWeak
		case w == "pass":
			kind = keyPass
		case w == "token" && i == len(words)-1 && plainTokens[prev]:
			return keyNone
		case w == "key" && secretKeys[prev]:
			if i+1 < len(words) && words[i+1] == "id" && prev == "access" && i+2 == len(words) {
				return keySecret
			}
			kind = keySecret
		case w == "key" && i == len(words)-1 && i > 0 && !publicKeys[prev] && key == strings.ToUpper(key):
			kind = keyWeak // STRIPE_KEY
		case signed && (w == "signature" || w == "credential"):
			kind = keySecret
		case secretWords[w]:
			kind = keySecret
		default:
			if len(w) <= len("token") {
				break
			}
			for _, end := range secretEnds {
				if strings.HasSuffix(w, end) {
					kind = keySecret
				}
			}
		}
		if kind == keyNone {
			continue
		}
		for _, about := range words[i+1:] {
			if aboutWords[about] {
				return keyNone
			}
		}
		return kind
	}
	return keyNone
}

var plainValues = set(`string str null none nil undefined true false bool boolean int integer number any object
	required optional yes no unknown void never var let bytes await new return function self this range make func lambda typeof not string[] []string
	unset missing invalid expired redacted hidden`)

// harmless reports whether a value of a secret's key gives nothing away: a type, a mask, a variable.
func harmless(v string) bool {
	if v == "" || v == Marker {
		return true
	}
	if len(v) <= 12 && plainValues[strings.ToLower(v)] {
		return true
	}
	if strings.Trim(v, "*") == "" || strings.Trim(v, ".") == "" || v == ellipsis || len(v) >= 3 && strings.Trim(v, "xX") == "" {
		return true
	}
	return isVariable(v)
}

// isVariable recognises what is filled in elsewhere: $NAME, ${name}, {{ name }}, %NAME%, <your-token>.
// A name without braces must be all capitals: a password may well begin with a dollar.
func isVariable(v string) bool {
	switch {
	case len(v) < 3 || len(v) > maxKey:
		return false
	case strings.HasPrefix(v, "${{") && strings.HasSuffix(v, "}}"):
		return isName(strings.TrimSpace(v[3:len(v)-2]), false)
	case strings.HasPrefix(v, "{{") && strings.HasSuffix(v, "}}") && len(v) > 4:
		return isName(strings.TrimSpace(v[2:len(v)-2]), false)
	case strings.HasPrefix(v, "${") && strings.HasSuffix(v, "}"):
		return isName(v[2:len(v)-1], false)
	case v[0] == '$':
		return isName(v[1:], true)
	case v[0] == '%' && v[len(v)-1] == '%':
		return isName(v[1:len(v)-1], true)
	case v[0] == '<' && v[len(v)-1] == '>':
		return isName(strings.ReplaceAll(v[1:len(v)-1], "-", "_"), false)
	}
	return false
}

func isName(s string, capitals bool) bool {
	if s == "" || s[0] >= '0' && s[0] <= '9' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c == '_' || isUpper(c) || c >= '0' && c <= '9' {
			continue
		}
		if capitals || !isLower(c) && c != '.' {
			return false
		}
	}
	return true
}

// isRandom reports whether a value looks made by a machine rather than written by a person.
func isRandom(v string) bool {
	if len(v) < 8 {
		return false
	}
	if len(v) > 512 {
		return !strings.ContainsAny(v[:512], " \t\n") // nobody writes such a word
	}
	digit, upper, lower := false, false, false
	for i := range len(v) {
		c := v[i]
		switch {
		case c >= '0' && c <= '9':
			digit = true
		case isUpper(c):
			upper = upper || i > 0
		case isLower(c):
			lower = true
		case !strings.ContainsRune("-_.~+/=", rune(c)):
			return false
		}
	}
	return digit && (upper || lower) || upper && lower || upper && len(v) >= 16 || strings.HasSuffix(v, "=")
}
