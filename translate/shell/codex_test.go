// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// vectorsOfCodex are argument vectors in the manner of Codex: mostly a login shell around a line, on
// Windows a PowerShell, sometimes a program by itself.
var vectorsOfCodex = map[string]struct {
	argv []string
	want Operation
}{
	// a shell around one operation
	"cat":                    {[]string{"bash", "-lc", "cat src/main.rs"}, Operation{Kind: Read, Path: "src/main.rs"}},
	"shell by path":          {[]string{"/usr/bin/bash", "-lc", "cat src/main.rs"}, Operation{Kind: Read, Path: "src/main.rs"}},
	"zsh by path":            {[]string{"/bin/zsh", "-lc", "ls -la crates"}, Operation{Kind: List, Path: "crates"}},
	"sh -c":                  {[]string{"sh", "-c", "head -n 40 Makefile"}, Operation{Kind: Read, Path: "Makefile", Start: 1, End: 40}},
	"sed range":              {[]string{"bash", "-lc", "sed -n '1,220p' README.md"}, Operation{Kind: Read, Path: "README.md", Start: 1, End: 220}},
	"sed in double quotes":   {[]string{"bash", "-lc", `sed -n "200,400p" "docs/how to.md"`}, Operation{Kind: Read, Path: "docs/how to.md", Start: 200, End: 400}},
	"sed to the end":         {[]string{"bash", "-lc", "sed -n '300,$p' a.go"}, Operation{Kind: Read, Path: "a.go", Start: 300}},
	"numbered and cut":       {[]string{"bash", "-lc", "nl -ba core/src/lib.rs | sed -n '1,120p'"}, Operation{Kind: Read, Path: "core/src/lib.rs"}},
	"tail from a line":       {[]string{"bash", "-lc", "tail -n +80 a.go"}, Operation{Kind: Read, Path: "a.go", Start: 80}},
	"search, cut":            {[]string{"bash", "-lc", `rg -n "fn main" -S codex-rs | head -n 50`}, Operation{Kind: Search, Query: "fn main", Path: "codex-rs"}},
	"search with globs":      {[]string{"bash", "-lc", "rg -n --hidden -g '!target' TODO"}, Operation{Kind: Search, Query: "TODO"}},
	"search or nothing":      {[]string{"bash", "-lc", "rg -n telegram -S . || true"}, Operation{Kind: Search, Query: "telegram", Path: "."}},
	"search without ripgrep": {[]string{"bash", "-lc", "grep -RIn 'needle in hay' src"}, Operation{Kind: Search, Query: "needle in hay", Path: "src"}},
	"files of ripgrep":       {[]string{"bash", "-lc", "rg --files | wc -l"}, Operation{Kind: List}},
	"files below a folder":   {[]string{"bash", "-lc", "rg --files -g '*.md' docs"}, Operation{Kind: List, Path: "docs"}},
	"tracked files":          {[]string{"bash", "-lc", "git ls-files | head -100"}, Operation{Kind: List}},
	"search in git":          {[]string{"bash", "-lc", "git grep -n needle -- src"}, Operation{Kind: Search, Query: "needle", Path: "src"}},
	"find by name":           {[]string{"bash", "-lc", "find .. -maxdepth 2 -name AGENTS.md -print"}, Operation{Kind: Search, Query: "AGENTS.md", Path: ".."}},
	"find files":             {[]string{"bash", "-lc", "find src -maxdepth 3 -type f -print"}, Operation{Kind: List, Path: "src"}},
	"find, sorted":           {[]string{"bash", "-lc", "find . -type f | sort | head -n 200"}, Operation{Kind: List, Path: "."}},
	"folder, then read":      {[]string{"bash", "-lc", "cd /work/app && cat go.mod"}, Operation{Kind: Read, Path: "/work/app/go.mod"}},
	"folder, then list":      {[]string{"/bin/zsh", "-lc", "cd /Users/ada/app && ls"}, Operation{Kind: List, Path: "/Users/ada/app"}},
	"folder, then search":    {[]string{"bash", "-lc", "cd app && rg -n needle"}, Operation{Kind: Search, Query: "needle", Path: "app"}},
	"heading, then read":     {[]string{"bash", "-lc", "echo '--- go.mod'; cat go.mod"}, Operation{Kind: Read, Path: "go.mod"}},
	"quote in the path":      {[]string{"bash", "-lc", `cat 'it'\''s.md'`}, Operation{Kind: Read, Path: "it's.md"}},
	"line join":              {[]string{"bash", "-lc", "cat \\\n  go.mod"}, Operation{Kind: Read, Path: "go.mod"}},
	"shell in a shell":       {[]string{"bash", "-lc", `bash -lc "cat go.mod"`}, Operation{Kind: Read, Path: "go.mod"}},
	"comment at the end":     {[]string{"bash", "-lc", "ls # what is here"}, Operation{Kind: List}},

	// a shell around more, or around something else
	"tests":               {[]string{"bash", "-lc", "cargo test -p codex-core"}, Operation{}},
	"status":              {[]string{"bash", "-lc", "git status --short"}, Operation{}},
	"exit":                {[]string{"/bin/bash", "-lc", "exit 42"}, Operation{}},
	"two reads":           {[]string{"bash", "-lc", "cat a.go && cat b.go"}, Operation{}},
	"place, then read":    {[]string{"bash", "-lc", "pwd && sed -n '1,220p' README.md"}, Operation{}},
	"read, then remove":   {[]string{"bash", "-lc", "cat a.go; rm a.go"}, Operation{}},
	"read with errors":    {[]string{"bash", "-lc", "cat a.go 2>/dev/null"}, Operation{}},
	"patch by heredoc":    {[]string{"bash", "-lc", "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a.go\n+package a\n*** End Patch\nEOF"}, Operation{}},
	"file by heredoc":     {[]string{"bash", "-lc", "cat > a.go <<'EOF'\npackage a\nEOF"}, Operation{}},
	"script by heredoc":   {[]string{"bash", "-lc", "python3 - <<'PY'\nprint(open('a').read())\nPY"}, Operation{}},
	"subshell":            {[]string{"bash", "-lc", "cd app && (ls -la && echo done)"}, Operation{}},
	"loop":                {[]string{"bash", "-lc", "for f in *.go; do cat $f; done"}, Operation{}},
	"variable":            {[]string{"bash", "-lc", "cat $HOME/.codex/config.toml"}, Operation{}},
	"assignment":          {[]string{"bash", "-lc", "LC_ALL=C ls"}, Operation{}},
	"glob":                {[]string{"bash", "-lc", "cat src/*.rs"}, Operation{}},
	"edit in place":       {[]string{"bash", "-lc", "sed -i 's/a/b/' a.go"}, Operation{}},
	"found and removed":   {[]string{"bash", "-lc", "find . -name '*.orig' -delete"}, Operation{}},
	"found and handed on": {[]string{"bash", "-lc", "rg -l needle | xargs sed -n 1p"}, Operation{}},
	"output to a file":    {[]string{"bash", "-lc", "ls -la > listing.txt"}, Operation{}},
	"timeout":             {[]string{"bash", "-lc", "timeout 5 cat a.go"}, Operation{}},
	"empty line":          {[]string{"bash", "-lc", ""}, Operation{}},

	// other ways to call a shell
	"flags apart":        {[]string{"bash", "-l", "-c", "ls"}, Operation{}},
	"flags turned round": {[]string{"bash", "-cl", "ls"}, Operation{}},
	"interactive":        {[]string{"bash", "-ic", "ls"}, Operation{}},
	"pipefail first":     {[]string{"bash", "-o", "pipefail", "-c", "ls"}, Operation{}},
	"dash":               {[]string{"dash", "-c", "ls"}, Operation{}},
	"fish":               {[]string{"fish", "-c", "ls"}, Operation{}},
	"env before":         {[]string{"/usr/bin/env", "bash", "-lc", "ls"}, Operation{}},
	"sudo before":        {[]string{"sudo", "bash", "-lc", "ls"}, Operation{}},

	// Windows
	"powershell":          {[]string{"powershell.exe", "-NoProfile", "-Command", "Get-Content README.md"}, Operation{}},
	"powershell, 3 words": {[]string{"powershell.exe", "-Command", "cat README.md"}, Operation{}},
	"powershell by path":  {[]string{`C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe`, "-Command", "Get-ChildItem -Recurse"}, Operation{}},
	"pwsh":                {[]string{"pwsh", "-NoLogo", "-Command", "Select-String -Path *.md -Pattern needle"}, Operation{}},
	"pwsh -c":             {[]string{"/usr/bin/pwsh", "-c", "ls src"}, Operation{}},
	"cmd":                 {[]string{"cmd.exe", "/c", "dir /b"}, Operation{}},
	"cmd type":            {[]string{"cmd", "/c", "type README.md"}, Operation{}},
	"bash of Windows":     {[]string{"bash.exe", "-lc", "cat README.md"}, Operation{}},
	"path of Windows":     {[]string{"bash", "-lc", `cat 'C:\work\README.md'`}, Operation{Kind: Read, Path: `C:\work\README.md`}},
	"path without quotes": {[]string{"bash", "-lc", `cat C:\work\a.md`}, Operation{Kind: Read, Path: "C:worka.md"}},

	// no shell
	"program by itself":  {[]string{"rg", "-n", "needle in hay", "src"}, Operation{Kind: Search, Query: "needle in hay", Path: "src"}},
	"list by itself":     {[]string{"ls", "-1", "crates/core"}, Operation{Kind: List, Path: "crates/core"}},
	"read by itself":     {[]string{"sed", "-n", "1,40p", "a b.go"}, Operation{Kind: Read, Path: "a b.go", Start: 1, End: 40}},
	"glob is literal":    {[]string{"cat", "src/*.rs"}, Operation{Kind: Read, Path: "src/*.rs"}},
	"tilde is literal":   {[]string{"cat", "~/notes.md"}, Operation{Kind: Read, Path: "~/notes.md"}},
	"and is a word":      {[]string{"cat", "a.go", "&&", "ls"}, Operation{}},
	"patch by itself":    {[]string{"apply_patch", "*** Begin Patch\n*** End Patch"}, Operation{}},
	"git by itself":      {[]string{"git", "diff", "--stat"}, Operation{}},
	"search of a dollar": {[]string{"grep", "-n", "$HOME", "a.sh"}, Operation{Kind: Search, Query: "$HOME", Path: "a.sh"}},
	"find by itself":     {[]string{"find", ".", "-name", "*.go", "-not", "-path", "./vendor/*"}, Operation{Kind: Search, Query: "*.go", Path: "."}},
}

func TestClassifyCodex(t *testing.T) {
	require.GreaterOrEqual(t, len(vectorsOfCodex), 50)
	for name, test := range vectorsOfCodex {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, ClassifyArgs(test.argv))
		})
	}
}
