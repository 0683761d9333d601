// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// genre is a kind of text that tools print.
type genre int

const (
	code genre = iota
	logs
	data
	prose
	listing
	genres
)

// poolLines is the number of different lines of a genre: enough that compression and caches do not see one line
// again and again, few enough to be made in milliseconds.
const poolLines = 1024

// line is a line of text, ready to stand inside a JSON string, without its line end.
type line string

// pool holds the lines of every genre.
type pool [genres][]line

var (
	nouns = strings.Fields("forecast station cache client request response place unit wind rain cloud pressure sensor " +
		"archive reading series window record batch offset cursor token budget retry backoff timeout handler router " +
		"parser encoder buffer channel worker queue ledger segment invoice payment refund column table index")
	verbs = strings.Fields("fetch load store parse render convert round merge split append flush close open retry drop " +
		"count measure compare resolve encode decode validate publish subscribe")
	types  = strings.Fields("string int float64 bool error []byte *Station *Cache time.Duration Reading")
	places = strings.Fields("Lillehammer Tromsø Málaga Zürich Kraków Bergen Łódź Reykjavík Oulu Graz 東京 Αθήνα")
	levels = strings.Fields("DEBUG INFO INFO INFO WARN ERROR")
	dirs   = strings.Fields("cmd internal pkg web migrations docs test")
	escape = strings.NewReplacer("\\", `\\`, "\"", `\"`, "\t", `\t`, "\n", `\n`, "\x1b", `\u001b`)
)

func newPool(r *rand.Rand) *pool {
	p := new(pool)
	for g := range genres {
		p[g] = make([]line, poolLines)
		for i := range p[g] {
			p[g][i] = line(escape.Replace(sentence(r, g)))
		}
	}
	return p
}

func pick(r *rand.Rand, words []string) string {
	return words[r.IntN(len(words))]
}

func title(s string) string {
	return strings.ToUpper(s[:1]) + s[1:]
}

func sentence(r *rand.Rand, g genre) string {
	n := func() string { return pick(r, nouns) }
	v := func() string { return pick(r, verbs) }
	switch g {
	case code:
		return codeLine(r, n, v)
	case logs:
		if r.IntN(12) == 0 {
			return fmt.Sprintf("\x1b[33m%s\x1b[0m %s.%s: %q is not a %s", pick(r, levels), n(), v(), pick(r, places), n())
		}
		return fmt.Sprintf("2026-10-%02dT%02d:%02d:%02d.%03dZ %s %s %s=%d place=%q", 1+r.IntN(28), r.IntN(24), r.IntN(60),
			r.IntN(60), r.IntN(1000), pick(r, levels), v(), n(), r.IntN(100000), pick(r, places))
	case data:
		return fmt.Sprintf("  {%q: %q, %q: %d.%d, %q: %q},", n(), pick(r, places)+", "+n()+" of the "+n(), n(), r.IntN(900), r.IntN(10), n(), v())
	case listing:
		return fmt.Sprintf("%s/%s/%s_%s.go:%d:\t%s(%q)", pick(r, dirs), n(), v(), n(), 1+r.IntN(900), v(), n())
	default:
		switch r.IntN(6) {
		case 0:
			return ""
		case 1:
			return fmt.Sprintf("* `%s_%s`: %s the %s, then %s it once per %s.", v(), n(), v(), n(), v(), n())
		default:
			return fmt.Sprintf("The %s of the %s must %s before any %s can %s; \"%s\" says why.", n(), n(), v(), n(), v(), n())
		}
	}
}

func codeLine(r *rand.Rand, n, v func() string) string {
	tabs := strings.Repeat("\t", 1+r.IntN(2))
	switch r.IntN(9) {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("func (%c *%s) %s(%s %s) error {", n()[0], title(n()), title(v()), n(), pick(r, types))
	case 2:
		return fmt.Sprintf("%sif err := %s.%s(%s); err != nil {", tabs, n(), title(v()), n())
	case 3:
		return fmt.Sprintf("%s\treturn fmt.Errorf(\"%s %s %%q: %%w\", %s, err)", tabs, v(), n(), n())
	case 4:
		return tabs + "}"
	case 5:
		return fmt.Sprintf("%s{%q, %q, %d},", tabs, n(), v(), r.IntN(1000))
	case 6:
		return fmt.Sprintf("%s// %s is kept until the %s has been %s.", tabs, title(n()), n(), pick(r, []string{"read", "sent", "cut"}))
	case 7:
		return fmt.Sprintf("%s%s := %s[%q]", tabs, n(), n(), n())
	default:
		return fmt.Sprintf("%s%s.%s(%s, %s.%s)", tabs, n(), title(v()), n(), n(), title(n()))
	}
}
