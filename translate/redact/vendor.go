// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// vendor is the shape of a key that its issuer made recognisable: a prefix and a body.
type vendor struct {
	prefix string
	at     int    // where in the prefix the two bytes stand that start the comparison: its rarest pair
	body   string // further characters of the body beside letters and digits; "hex" or "upper" for a narrower set
	min    int    // shortest body, in bytes
	mixed  bool   // the body must have a digit or a capital: the prefix alone is too ordinary
	lead   int    // characters of the key before the prefix
	index  int    // in vendors
}

// The shapes, taken from what the vendors publish and from the rule sets of gitleaks/gitleaks
// (config/gitleaks.toml) and Yelp/detect-secrets. Minimal lengths are below the real ones: a key that
// was shortened in a text is still worth hiding.
var vendors = []vendor{
	{prefix: "AKIA", at: 1, body: "upper", min: 12},
	{prefix: "ASIA", at: 1, body: "upper", min: 12},
	{prefix: "ABSK", at: 1, body: "+/=", min: 40},
	{prefix: "ghp_", at: 2, min: 16},
	{prefix: "gho_", at: 2, min: 16},
	{prefix: "ghu_", at: 2, min: 16},
	{prefix: "ghs_", at: 2, min: 16},
	{prefix: "ghr_", at: 2, min: 16},
	{prefix: "github_pat_", at: 5, body: "_", min: 16},
	{prefix: "glpat-", at: 1, body: "-_.", min: 10},
	{prefix: "glptt-", at: 1, body: "-_", min: 10},
	{prefix: "gldt-", at: 1, body: "-_", min: 16},
	{prefix: "glrt-", at: 1, body: "-_.", min: 16},
	{prefix: "glcbt-", at: 1, body: "-_", min: 16},
	{prefix: "xoxa-", at: 0, body: "-", min: 8},
	{prefix: "xoxb-", at: 0, body: "-", min: 8},
	{prefix: "xoxe-", at: 0, body: "-", min: 8},
	{prefix: "xoxe.", at: 0, body: "-", min: 8},
	{prefix: "xoxo-", at: 0, body: "-", min: 8},
	{prefix: "xoxp-", at: 0, body: "-", min: 8},
	{prefix: "xoxr-", at: 0, body: "-", min: 8},
	{prefix: "xoxs-", at: 0, body: "-", min: 8},
	{prefix: "xoxc-", at: 0, body: "-", min: 8},
	{prefix: "xoxd-", at: 0, body: "-%", min: 8},
	{prefix: "xapp-", at: 0, body: "-", min: 16, mixed: true},
	{prefix: "xai-", at: 0, min: 20, mixed: true},
	{prefix: "sk_live_", at: 1, min: 8},
	{prefix: "sk_test_", at: 1, min: 8},
	{prefix: "rk_live_", at: 1, min: 8},
	{prefix: "rk_test_", at: 1, min: 8},
	{prefix: "whsec_", at: 4, body: "+/=", min: 16},
	{prefix: "sk-ant-", at: 1, body: "-_", min: 6},
	{prefix: "sk-proj-", at: 1, body: "-_", min: 8, mixed: true},
	{prefix: "sk-", at: 1, body: "-_", min: 16, mixed: true},
	{prefix: "AIza", at: 1, body: "-_", min: 30},
	{prefix: "ya29.", at: 1, body: "-_.", min: 16},
	{prefix: "1//0", at: 0, body: "-_", min: 30, mixed: true},
	{prefix: "GOCSPX-", at: 2, body: "-_", min: 10},
	{prefix: "npm_", at: 2, min: 20, mixed: true},
	{prefix: "hf_", at: 1, min: 20, mixed: true},
	{prefix: "pypi-", at: 3, body: "-_", min: 16, mixed: true},
	{prefix: "dop_v1_", at: 3, body: "hex", min: 20},
	{prefix: "doo_v1_", at: 3, body: "hex", min: 20},
	{prefix: "dor_v1_", at: 3, body: "hex", min: 20},
	{prefix: "SG.", at: 1, body: "-_.", min: 20, mixed: true},
	{prefix: "shpat_", at: 4, body: "hex", min: 16},
	{prefix: "shpca_", at: 4, body: "hex", min: 16},
	{prefix: "shppa_", at: 4, body: "hex", min: 16},
	{prefix: "shpss_", at: 4, body: "hex", min: 16},
	{prefix: "lin_api_", at: 2, min: 16},
	{prefix: "AGE-SECRET-KEY-1", at: 2, body: "upper", min: 20},
	{prefix: "hvs.", at: 1, body: "-_", min: 20},
	{prefix: "hvb.", at: 1, body: "-_", min: 20},
	{prefix: "hvr.", at: 1, body: "-_", min: 20},
	{prefix: "dapi", at: 0, body: "hex", min: 32},
	{prefix: "dckr_pat_", at: 2, body: "-_", min: 16},
	{prefix: "gsk_", at: 1, min: 20, mixed: true},
	{prefix: "pplx-", at: 2, min: 20},
	{prefix: "r8_", at: 1, min: 20},
	{prefix: "ntn_", at: 2, min: 20},
	{prefix: "figd_", at: 3, body: "-_", min: 16},
	{prefix: "ATATT3", at: 3, body: "-_=", min: 20},
	{prefix: "ATCTT3", at: 3, body: "-_=", min: 20},
	{prefix: "HRKU-", at: 1, body: "-_", min: 16},
	{prefix: "NRAK-", at: 1, body: "upper", min: 16},
	{prefix: "pscale_tkn_", at: 5, body: "-_.=", min: 16},
	{prefix: "pscale_pw_", at: 5, body: "-_.=", min: 16},
	{prefix: "sbp_", at: 2, body: "hex", min: 30},
	{prefix: "PMAK-", at: 1, body: "-", min: 20},
	{prefix: "sntrys_", at: 5, body: "+/=_", min: 20},
	{prefix: "sntryu_", at: 5, body: "hex", min: 20},
	{prefix: "glc_", at: 2, body: "+/=", min: 20, mixed: true},
	{prefix: "glsa_", at: 3, body: "_", min: 16},
	{prefix: "rubygems_", at: 7, body: "hex", min: 30},
	{prefix: "sq0atp-", at: 1, body: "-_", min: 12},
	{prefix: "sq0csp-", at: 1, body: "-_", min: 12},
	{prefix: "dp.pt.", at: 2, min: 20},
	{prefix: "dp.st.", at: 2, body: "-_.", min: 20},
	{prefix: "SK", at: 0, body: "hex", min: 32},
	{prefix: "key-", at: 2, body: "hex", min: 32},
	{prefix: "tskey-", at: 4, body: "-", min: 10},
	{prefix: "tvly-", at: 3, body: "-", min: 16},
	{prefix: "fw_", at: 1, min: 20, mixed: true},
	{prefix: "lsv2_", at: 3, body: "_", min: 20},
	{prefix: "nfp_", at: 2, min: 20, mixed: true},
	{prefix: "e2b_", at: 2, body: "hex", min: 20},
	{prefix: "CCIPAT_", at: 5, body: "_", min: 16},
	{prefix: "Q~", at: 0, body: "-_~.", min: 28, lead: 4}, // Azure AD client secrets
	{prefix: "eyJ", at: 1, body: "-_.=", min: 12},         // JWT; see match for its dot
}

const maxVendors = 128 // no fewer than len(vendors)

// What a pair of bytes may start. The values from startVendor on are indexes into groups.
const (
	startNone   = iota
	startSep    // ":" or "=": a key before it, or a URL
	startDash   // a flag or PEM
	startTag    // ">": an XML element
	startBearer // "Be", "be", "BE"
	startBasic  // "Ba"
	startVendor
)

// starts is looked up for every pair of adjacent bytes; the pairs of a text touch few cache lines of it.
var (
	starts [1 << 16]uint8
	groups [][]vendor
)

func pair(a, b byte) uint16 { return uint16(a)<<8 | uint16(b) }

func init() {
	for i, v := range vendors {
		v.index = i
		p := pair(v.prefix[v.at], v.prefix[v.at+1])
		if starts[p] == startNone {
			starts[p] = uint8(startVendor + len(groups))
			groups = append(groups, nil)
		}
		g := starts[p] - startVendor
		groups[g] = append(groups[g], v)
	}
	for b := range 256 {
		starts[pair(':', byte(b))] = startSep
		starts[pair('=', byte(b))] = startSep
		starts[pair('>', byte(b))] = startTag
	}
	for _, b := range []byte(" \t\n\"'`[(,-=+") {
		starts[pair(b, '-')] = startDash
	}
	starts[pair('=', '-')] = startSep
	starts[pair('B', 'e')], starts[pair('b', 'e')], starts[pair('B', 'E')] = startBearer, startBearer, startBearer
	starts[pair('B', 'a')] = startBasic
}

// match returns the key around the pair at i.
func (m *scanner) match(v *vendor, i int) (from, to int, ok bool) {
	s, at := m.s, i-v.at
	from = at - v.lead
	// Bodies that lack what they must have are remembered: a key that begins within one lacks it too, and
	// to walk on from each would be quadratic.
	if from < m.done || at < m.barren[v.index] || !strings.HasPrefix(s[at:], v.prefix) || !bounded(s, m.done, from) {
		return 0, 0, false
	}
	for _, c := range []byte(s[from:at]) {
		if !v.has(c) {
			return 0, 0, false
		}
	}
	body := at + len(v.prefix)
	end, mixed, dot := body, false, false
	for end < len(s) && v.has(s[end]) {
		c := s[end]
		mixed = mixed || isUpper(c) || c >= '0' && c <= '9'
		dot = dot || c == '.' && end > body
		end++
	}
	if v.mixed && !mixed || v.prefix == "eyJ" && !dot {
		m.barren[v.index] = end
		return 0, 0, false
	}
	for end > body && s[end-1] == '.' {
		end-- // of the sentence
	}
	return from, end, end-body >= v.min
}

func (v *vendor) has(c byte) bool {
	switch v.body {
	case "hex":
		return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
	case "upper":
		return isUpper(c) || c >= '0' && c <= '9'
	}
	return isAlnum(c) || strings.IndexByte(v.body, c) >= 0
}

// bounded reports whether a word may begin at i: not behind a letter or digit, unless these end an
// escape (\n, \u0022, %3D).
func bounded(s string, floor, i int) bool {
	if i <= floor || !isAlnum(s[i-1]) {
		return true
	}
	switch {
	case i >= 2 && s[i-2] == '\\':
		return strings.IndexByte("nrtbf", s[i-1]) >= 0
	case i >= 3 && s[i-3] == '%':
		return true
	case i >= 6 && s[i-6] == '\\' && s[i-5] == 'u':
		return true
	}
	return false
}
