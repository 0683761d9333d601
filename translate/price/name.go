// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package price

import "strings"

// Labels of models that have no name to show.
const (
	LabelUnmapped = "unmapped" // an ARN without an alias; the ARN itself must not become a label
	LabelUnknown  = "unknown"  // no model was named
)

// Values of gen_ai.provider.name for Claude models.
const (
	ProviderAnthropic = "anthropic"
	ProviderBedrock   = "aws.bedrock"
	ProviderVertex    = "gcp.vertex_ai"
)

// maxName is the longest id, in bytes, that is read as a name: what is longer came from a broken or
// hostile record, is never normalized, and counts as unmapped.
const maxName = 512

// Label is the model label of metrics (telemetry contract, section 5 and ruling 13): the target of the
// alias for the raw or the normalized id if there is one, else the id, normalized. It never contains
// an ARN. aliases may be nil.
func Label(model string, aliases map[string]string) string {
	if to, ok := alias(model, aliases); ok {
		model = to
	}
	n := Normalize(model)
	switch {
	case n == "":
		return LabelUnknown
	case len(n) > maxName || isARN(n) || containsFold(n, "arn:aws"):
		return LabelUnmapped
	default:
		return n
	}
}

func alias(model string, aliases map[string]string) (string, bool) {
	if len(aliases) == 0 {
		return "", false
	}
	if to, ok := aliases[model]; ok {
		return to, true
	}
	to, ok := aliases[Normalize(model)]
	return to, ok
}

// Provider is gen_ai.provider.name of a Claude model, told by the shape of its raw id.
func Provider(model string) string {
	bare := cutContext(strings.TrimSpace(model))
	switch {
	case isARN(bare), strings.HasPrefix(bare, "bedrock/"), containsFold(bare, "arn:aws"):
		return ProviderBedrock
	case strings.HasPrefix(bare, "vertex_ai/"), strings.HasPrefix(bare, "vertex/"), strings.Contains(bare, "publishers/"):
		return ProviderVertex
	}
	if cut, ok := cutVendor(bare[strings.LastIndexByte(bare, '/')+1:]); ok && cut != "" {
		return ProviderBedrock
	}
	if _, ok := cutVersion(bare, false); ok {
		return ProviderBedrock
	}
	if _, ok := cutAt(bare); ok {
		return ProviderVertex
	}
	return ProviderAnthropic
}

// Normalize takes from a model id what names a provider, a deployment or a snapshot rather than the
// model (telemetry contract, ruling 13): provider prefixes and publisher paths, an ARN around a
// model's own id, Bedrock's version, Vertex' @date, [1m], -YYYYMMDD. An ARN that does not tell its
// model stays as it is. Normalize is idempotent.
func Normalize(model string) string {
	s := strings.TrimSpace(model)
	if len(s) > maxName {
		return s
	}
	for {
		t := undecorate(s)
		if !isARN(t) {
			t = cutDate(t)
		}
		// An id that is nothing but decoration keeps it: "" would mean that no model was named.
		if t == s || t == "" {
			return s
		}
		s = t
	}
}

// undecorate is Normalize without the snapshot date behind a dash; "@20250929" becomes "-20250929",
// the spelling of catalogues.
func undecorate(model string) string {
	s := strings.TrimSpace(model)
	if len(s) > maxName {
		return s
	}
	for {
		t := strings.TrimSpace(s)
		if inner, ok := cutARN(t); ok {
			t = inner
		} else if !isARN(t) {
			t = cutContext(t)
			t = cutPath(t)
			bedrock := false
			if v, ok := cutVendor(t); ok {
				t, bedrock = v, true
			}
			t, _ = cutVersion(t, bedrock || strings.HasPrefix(t, "claude-"))
			t, _ = cutAt(t)
		}
		if t == s || t == "" {
			return s
		}
		s = t
	}
}

func isARN(s string) bool { return len(s) >= 4 && strings.EqualFold(s[:4], "arn:") }

// cutARN reads the model from an ARN that tells it; an application inference profile, a provisioned or
// an imported model does not.
func cutARN(s string) (string, bool) {
	if !isARN(s) {
		return s, false
	}
	for _, kind := range []string{":foundation-model/", ":inference-profile/"} {
		if _, id, ok := strings.Cut(s, kind); ok && !isARN(id) {
			if _, ok := cutVendor(id); ok {
				return id, true
			}
		}
	}
	return s, false
}

// cutContext takes off the mark of the long context window.
func cutContext(s string) string {
	if len(s) >= 4 && strings.EqualFold(s[len(s)-4:], "[1m]") {
		return s[:len(s)-4]
	}
	return s
}

// gateways are first parts of a path that name who serves or makes a model. Any other first part may
// belong to a house name, and a house name is not to be priced as the model that it ends in.
var gateways = map[string]bool{
	"anthropic": true, "azure": true, "azure_ai": true, "bedrock": true, "bedrock_converse": true,
	"converse": true, "converse_like": true, "deepseek": true, "fireworks_ai": true, "gemini": true,
	"github": true, "github_copilot": true, "google": true, "groq": true, "invoke": true,
	"litellm": true, "litellm_proxy": true, "minimax": true, "mistral": true, "mistralai": true,
	"models": true, "moonshot": true, "moonshotai": true, "openai": true, "openrouter": true,
	"qwen": true, "together_ai": true, "vercel_ai_gateway": true, "vertex": true, "vertex_ai": true,
	"x-ai": true, "xai": true, "z-ai": true, "zai": true,
}

func cutPath(s string) string {
	if strings.HasPrefix(s, "publishers/") || strings.HasPrefix(s, "projects/") {
		if i := strings.LastIndex(s, "/models/"); i >= 0 {
			return s[i+len("/models/"):]
		}
	}
	first, rest, ok := strings.Cut(s, "/")
	if ok && (gateways[first] || isRegion(first)) {
		return rest
	}
	return s
}

// isRegion recognises AWS and Google regions: us-east-1, eu-central-2, us-east5, us-gov-west-1.
func isRegion(s string) bool {
	if len(s) < 6 || len(s) > 24 || s[len(s)-1] < '0' || s[len(s)-1] > '9' {
		return false
	}
	parts := strings.Split(s, "-")
	if len(parts) < 2 || len(parts[0]) != 2 {
		return false
	}
	for _, p := range parts[:len(parts)-1] {
		if strings.Trim(p, "abcdefghijklmnopqrstuvwxyz") != "" {
			return false
		}
	}
	return strings.Trim(parts[len(parts)-1], "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// vendors are Bedrock's names of those who make models.
var vendors = map[string]bool{
	"ai21": true, "amazon": true, "anthropic": true, "cohere": true, "deepseek": true, "google": true,
	"meta": true, "minimax": true, "mistral": true, "moonshot": true, "moonshotai": true, "nvidia": true,
	"openai": true, "qwen": true, "stability": true, "twelvelabs": true, "writer": true, "zai": true,
}

// cutVendor takes off Bedrock's "<vendor>." with the "<region>." of a cross-region profile before it.
func cutVendor(s string) (string, bool) {
	first, rest, ok := strings.Cut(s, ".")
	if !ok || rest == "" {
		return s, false
	}
	if vendors[first] {
		return rest, true
	}
	if len(first) < 2 || len(first) > 8 || strings.Trim(first, "abcdefghijklmnopqrstuvwxyz-") != "" {
		return s, false
	}
	if vendor, rest, ok := strings.Cut(rest, "."); ok && rest != "" && vendors[vendor] {
		return rest, true
	}
	return s, false
}

// cutVersion takes off Bedrock's "-v1:0", also with a context size behind ("-v1:0:200k"). A bare "-v1"
// goes only where bare says that the id is one of Bedrock's: other names end in a version.
func cutVersion(s string, bare bool) (string, bool) {
	i := strings.LastIndex(s, "-v")
	if i <= 0 {
		return s, false
	}
	rest := strings.TrimLeft(s[i+2:], "0123456789")
	if len(rest) == len(s)-i-2 {
		return s, false
	}
	if rest == "" {
		if bare {
			return s[:i], true
		}
		return s, false
	}
	minor := strings.TrimLeft(strings.TrimPrefix(rest, ":"), "0123456789")
	if rest[0] != ':' || len(minor) == len(rest)-1 {
		return s, false
	}
	if minor != "" {
		size, ok := strings.CutPrefix(minor, ":")
		if !ok || size == "" || strings.Trim(size, "0123456789km") != "" {
			return s, false
		}
	}
	return s[:i], true
}

// cutAt turns Vertex' "@20250929" into "-20250929" and takes off "@default" and "@latest".
func cutAt(s string) (string, bool) {
	i := strings.LastIndexByte(s, '@')
	if i <= 0 {
		return s, false
	}
	switch at := s[i+1:]; {
	case isDate(at):
		return s[:i] + "-" + at, true
	case at == "default", at == "latest":
		return s[:i], true
	}
	return s, false
}

func cutDate(s string) string {
	if i := len(s) - 9; i > 0 && s[i] == '-' && isDate(s[i+1:]) {
		return s[:i]
	}
	return s
}

// isDate recognises YYYYMMDD of this century.
func isDate(s string) bool {
	if len(s) != 8 || s[:2] != "20" || strings.Trim(s, "0123456789") != "" {
		return false
	}
	month, day := s[4:6], s[6:]
	return month >= "01" && month <= "12" && day >= "01" && day <= "31"
}

func containsFold(s, lower string) bool {
	for i := 0; i+len(lower) <= len(s); i++ {
		if strings.EqualFold(s[i:i+len(lower)], lower) {
			return true
		}
	}
	return false
}
