// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"maps"
	"strings"
)

// flagTable says which flags of a program take a value and which make it something that is not
// understood; every other flag is a boolean. Short flags are written -x, long ones --name.
type flagTable struct {
	short map[byte]flagKind
	long  map[string]flagKind
}

type flagKind uint8

const (
	boolean flagKind = iota
	valued
	refused
)

// flags makes a table of two lists; a flag in both is refused. Help and versions are no operation
// of any program.
func flags(values, refuses string) flagTable {
	t := flagTable{short: make(map[byte]flagKind), long: make(map[string]flagKind)}
	t.add(values, valued)
	t.add(refuses+" --help --version", refused)
	return t
}

// with is a copy of the table with more flags.
func (t flagTable) with(values, refuses string) flagTable {
	more := flagTable{short: maps.Clone(t.short), long: maps.Clone(t.long)}
	more.add(values, valued)
	more.add(refuses, refused)
	return more
}

func (t flagTable) add(names string, kind flagKind) {
	for name := range strings.FieldsSeq(names) {
		if strings.HasPrefix(name, "--") {
			t.long[name] = kind
		} else {
			t.short[name[1]] = kind
		}
	}
}

// number is the name of a flag like -20, with the digits as its value.
const number = "-<digits>"

// flag is a flag that was given. Only flags with a value have one.
type flag struct {
	name  string // -x, --name or number
	value string
}

// arguments are the words behind the name of a program.
type arguments struct {
	flags    []flag
	operands []word
}

// parse sorts words into flags and operands, or reports false for a refused flag and a missing value.
func (t flagTable) parse(words []word) (arguments, bool) {
	args := arguments{operands: make([]word, 0, len(words))}
	for i := 0; i < len(words); i++ {
		text := words[i].text
		var next *string
		if i+1 < len(words) {
			next = &words[i+1].text
		}
		took, ok := false, true
		switch {
		case text == "--":
			args.operands = append(args.operands, words[i+1:]...)
			return args, true
		case strings.HasPrefix(text, "--"):
			took, ok = t.longFlag(&args, text, next)
		case len(text) < 2 || text[0] != '-':
			args.operands = append(args.operands, words[i])
		case isDigits(text[1:]):
			args.flags = append(args.flags, flag{name: number, value: text[1:]})
		default:
			took, ok = t.cluster(&args, text, next)
		}
		if !ok {
			return arguments{}, false
		}
		if took {
			i++
		}
	}
	return args, true
}

// longFlag adds a --name or --name=value; it reports whether it took the next word.
func (t flagTable) longFlag(args *arguments, text string, next *string) (took, ok bool) {
	name, value, given := strings.Cut(text, "=")
	switch t.long[name] {
	case refused:
		return false, false
	case valued:
		if !given {
			if next == nil {
				return false, false
			}
			value, took = *next, true
		}
	}
	args.flags = append(args.flags, flag{name: name, value: value})
	return took, true
}

// cluster adds the short flags of one word; it reports whether the last took the next word.
func (t flagTable) cluster(args *arguments, text string, next *string) (took, ok bool) {
	for i := 1; i < len(text); i++ {
		f := flag{name: shortName(text[i])}
		switch t.short[text[i]] {
		case refused:
			return false, false
		case valued:
			if f.value = text[i+1:]; f.value == "" {
				if next == nil {
					return false, false
				}
				f.value, took = *next, true
			}
			i = len(text)
		}
		args.flags = append(args.flags, f)
	}
	return took, true
}

// shortNames holds -x for every x, so that naming a flag costs no allocation.
const shortNames = "-!-\"-#-$-%-&-'-(-)-*-+-,---.-/-0-1-2-3-4-5-6-7-8-9-:-;-<-=->-?" +
	"-@-A-B-C-D-E-F-G-H-I-J-K-L-M-N-O-P-Q-R-S-T-U-V-W-X-Y-Z-[-\\-]-^-_" +
	"-`-a-b-c-d-e-f-g-h-i-j-k-l-m-n-o-p-q-r-s-t-u-v-w-x-y-z-{-|-}-~"

// shortName is the name of a short flag, "-" for one that no program has.
func shortName(c byte) string {
	if c <= ' ' || c > '~' {
		return "-"
	}
	i := 2 * int(c-'!')
	return shortNames[i : i+2]
}

// values are the values of every flag with one of the names, in the order given.
func (a arguments) values(names ...string) []string {
	var values []string
	for _, f := range a.flags {
		for _, name := range names {
			if f.name == name {
				values = append(values, f.value)
			}
		}
	}
	return values
}

// has reports whether one of the flags was given.
func (a arguments) has(names ...string) bool {
	return len(a.values(names...)) > 0
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
