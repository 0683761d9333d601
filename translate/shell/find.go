// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package shell

// The words of find, from events.md 11.5. The values of names rank before those of paths as a query.
var (
	findNames = set("-name -iname")
	findPaths = set("-path -ipath -wholename -iwholename -regex -iregex -lname -ilname")
	findValue = set("-maxdepth -mindepth -type -xtype -size -mtime -mmin -atime -amin -ctime -cmin -newer -anewer " +
		"-cnewer -newermt -user -group -uid -gid -perm -links -inum -samefile -fstype -printf -regextype -used -context")
	findPlain = set("-empty -print -print0 -ls -prune -o -or -a -and -not ! ( ) , -depth -d -mount -xdev -follow " +
		"-readable -writable -executable -nouser -nogroup -true -false -quit -noleaf -ignore_readdir_race " +
		"-noignore_readdir_race -daystart -warn -nowarn")
)

// find is a search for the first name or path that it tests, else a list.
func find(words []word) (operation, bool) {
	for len(words) > 0 && isFindOption(words[0].text) {
		words = words[1:]
	}
	n := 0
	for n < len(words) && !beginsFindExpression(words[n].text) {
		n++
	}
	query, ok := findQuery(words[n:])
	switch {
	case !ok:
		return operation{}, false
	case query == "":
		return listOf(words[:n])
	}
	op, ok := in(Search, words[:n])
	op.Query = query
	return op, ok
}

func isFindOption(s string) bool {
	return s == "-H" || s == "-L" || s == "-P" || len(s) > 2 && s[:2] == "-O" && isDigits(s[2:])
}

func beginsFindExpression(s string) bool {
	return s != "" && s[0] == '-' || s == "(" || s == ")" || s == "!" || s == ","
}

// findQuery is what an expression looks for, "" for nothing; false when a predicate is not known.
func findQuery(expression []word) (query string, ok bool) {
	name, path := "", ""
	negated := false // the test right behind is of what is not looked for
	for i := 0; i < len(expression); i++ {
		predicate := expression[i].text
		isName, isPath := findNames[predicate], findPaths[predicate]
		switch {
		case isName || isPath || findValue[predicate]:
			if i++; i == len(expression) {
				return "", false
			}
			value := expression[i].text
			if isName && !negated && name == "" {
				name = value
			}
			if isPath && !negated && path == "" {
				path = value
			}
		case predicate == "-prune":
			name, path = "", "" // the tests before were of what to leave out
		case !findPlain[predicate]:
			return "", false
		}
		negated = predicate == "!" || predicate == "-not"
	}
	if name != "" {
		return name, true
	}
	return path, true
}
