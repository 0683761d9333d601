// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// commandsOfLists are commands as models put several of them into one call of Cline's run_commands.
var commandsOfLists = map[string]Operation{
	// Looking around.
	"pwd && ls -la":                         {},
	"ls -1 src/components":                  {Kind: List, Path: "src/components"},
	"ls -R docs | head -100":                {Kind: List, Path: "docs"},
	"ls -la ./dist | tail -n 5":             {Kind: List, Path: "./dist"},
	"ls -d packages":                        {Kind: List, Path: "packages"},
	"ls -- -odd":                            {Kind: List, Path: "-odd"},
	"ls --ignore node_modules .":            {Kind: List, Path: "."},
	"ls src || true":                        {Kind: List, Path: "src"},
	"ls src 2>/dev/null || echo none":       {},
	"cd packages/api && ls -la | head -n 5": {Kind: List, Path: "packages/api"},
	"cd /srv/app && tree -L 3 src":          {Kind: List, Path: "/srv/app/src"},
	"tree -a -I node_modules":               {Kind: List},
	"tree -L 2 -o out.txt":                  {},
	"du -sh . | sort -h":                    {Kind: List, Path: "."},
	"du -ah --max-depth 1 src | head":       {Kind: List, Path: "src"},
	"find . -maxdepth 2 -type d":            {Kind: List, Path: "."},
	"find src test -type f":                 {},
	"find . -type f -print | wc -l":         {Kind: List, Path: "."},
	"find . -empty -delete":                 {},
	"git ls-files '*.py' | wc -l":           {Kind: List, Path: "*.py"},
	"git ls-files -o --exclude-standard":    {Kind: List},
	"fd -t d":                               {Kind: List},
	"rg --files -g '!dist' packages":        {Kind: List, Path: "packages"},
	"rg --files | rg test":                  {Kind: List},
	"exa -l --level 2 src":                  {Kind: List, Path: "src"},

	// Reading.
	"cat notes.txt | head -2":                     {Kind: Read, Path: "notes.txt"},
	"cat ./package.json | grep version":           {Kind: Read, Path: "./package.json"},
	"cat package.json | jq .scripts":              {},
	"cat -A Makefile":                             {Kind: Read, Path: "Makefile"},
	"cat < notes.txt":                             {},
	"cat notes.txt; echo done":                    {Kind: Read, Path: "notes.txt"},
	"echo '== a ==' && cat a && echo '== end =='": {Kind: Read, Path: "a"},
	"echo '== a ==' && cat a && cat b":            {},
	"cd /srv/app && cat src/../README.md":         {Kind: Read, Path: "/srv/app/README.md"},
	"cd app && head -n 30 main.py | nl":           {Kind: Read, Path: "app/main.py", Start: 1, End: 30},
	"head -n 5 -- -odd":                           {Kind: Read, Path: "-odd", Start: 1, End: 5},
	"head -n 5 a.md b.md":                         {},
	"head --lines=7 CHANGELOG.md":                 {Kind: Read, Path: "CHANGELOG.md", Start: 1, End: 7},
	"head -c 200 logo.svg | cut -c 1-80":          {Kind: Read, Path: "logo.svg"},
	"tail -n +10 main.py | head -20":              {Kind: Read, Path: "main.py", Start: 10},
	"tail -20 build.log":                          {Kind: Read, Path: "build.log"},
	"tail -F build.log":                           {},
	"sed -n 20,40p main.py | cat":                 {Kind: Read, Path: "main.py", Start: 20, End: 40},
	"sed -n '7p;7q' main.py":                      {},
	"sed -n '$p' main.py":                         {},
	"sed -n '40,20p' main.py":                     {Kind: Read, Path: "main.py", Start: 40, End: 40},
	"sed 's/a/b/' main.py | head":                 {},
	"nl -ba main.py | sed -n '1,20p'":             {Kind: Read, Path: "main.py"},
	"bat -n --line-range 5:9 main.py":             {Kind: Read, Path: "main.py", Start: 5, End: 9},
	"bat --paging=never -r :9 main.py":            {Kind: Read, Path: "main.py", Start: 1, End: 9},
	"less -N +10 main.py":                         {},
	"bash -lc 'cat main.py | head -3'":            {Kind: Read, Path: "main.py"},
	"sh -c \"cd app && cat main.py\"":             {Kind: Read, Path: "app/main.py"},
	"cat \"docs/read me.md\" | wc -w":             {Kind: Read, Path: "docs/read me.md"},

	// Searching.
	"grep -rn \"def main\" src --include=*.py":     {Kind: Search, Query: "def main", Path: "src"},
	"grep -c TODO notes.txt":                       {Kind: Search, Query: "TODO", Path: "notes.txt"},
	"grep -rnE 'add|mul' . | grep -v test":         {Kind: Search, Query: "add|mul", Path: "."},
	"grep -l x a b c":                              {Kind: Search, Query: "x"},
	"grep TODO < notes.txt":                        {},
	"cd src && grep -rn needle":                    {Kind: Search, Query: "needle", Path: "src"},
	"cd src && grep -rn needle lib":                {Kind: Search, Query: "needle", Path: "src/lib"},
	"rg -n --glob '*.ts' 'useState\\(' src":        {Kind: Search, Query: `useState\(`, Path: "src"},
	"rg TODO src test | wc -l":                     {Kind: Search, Query: "TODO"},
	"rg -uu -C2 needle | less":                     {Kind: Search, Query: "needle"},
	"rg needle | xargs sed -i s/a/b/":              {},
	"find . -name '*.py' -not -name '*_test.py'":   {Kind: Search, Query: "*.py", Path: "."},
	"find . -not -name '*.py'":                     {Kind: List, Path: "."},
	"find src -iname '*.TS' -type f | sort | head": {Kind: Search, Query: "*.TS", Path: "src"},
	"find . -name '*.py' | xargs wc -l":            {},
	"fd '\\.py$' src | head -5":                    {Kind: Search, Query: `\.py$`, Path: "src"},
	"git grep -n needle":                           {Kind: Search, Query: "needle"},
	"git grep needle -- '*.py'":                    {Kind: Search, Query: "needle", Path: "*.py"},
	"git log -S needle":                            {},
	"ag -G py needle lib":                          {Kind: Search, Query: "needle", Path: "lib"},
	"ack --type py needle":                         {Kind: Search, Query: "needle"},

	// Doing.
	"python3 -m unittest tests.test_calc":   {},
	"wc -l notes.txt":                       {},
	"echo started; sleep 60; echo never":    {},
	"for i in $(seq 1 3); do echo $i; done": {},
	"npm ci && npm test -- --silent":        {},
	"node -e \"console.log(1)\" | cat":      {},
	"cat a | tee b | wc -l":                 {},
	"mkdir -p out && ls out":                {},
	"cp a b; cat b":                         {},
	"cat a | sort -o a":                     {},
	"git diff --stat | cat":                 {},
	"exit 3":                                {},
	"cat a |& grep x":                       {},
	"cd app && pytest -q | tail -3":         {},
	"test -f a && cat a || echo missing":    {},
	"cat a & wait":                          {},
	"timeout 5 cat a":                       {},
	"docker compose ps | head":              {},
}

func TestCommandsOfLists(t *testing.T) {
	for command, want := range commandsOfLists {
		t.Run(command, func(t *testing.T) {
			_, known := table[command]
			assert.False(t, known, "in the table already")
			assert.Equal(t, want, Classify(command))
		})
	}
}
