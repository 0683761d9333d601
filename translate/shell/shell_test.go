// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/syntax"
)

func TestVectors(t *testing.T) {
	require.Len(t, vectors, 172)
	for command, want := range vectors {
		t.Run(command, func(t *testing.T) {
			assert.Equal(t, want, Classify(command))
		})
	}
}

func TestClassify(t *testing.T) {
	for command, want := range table {
		t.Run(command, func(t *testing.T) {
			assert.Equal(t, want, Classify(command))
		})
	}
}

func TestClassifyArgs(t *testing.T) {
	for name, test := range vectorsOfArgs {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, ClassifyArgs(test.argv))
		})
	}
}

func TestClassifyEach(t *testing.T) {
	for name, test := range vectorsOfLists {
		t.Run(name, func(t *testing.T) {
			got := make([]Operation, 0, len(test.commands))
			for _, command := range test.commands {
				got = append(got, Classify(command))
			}
			assert.Equal(t, test.want, got)
		})
	}
}

// Wrapping a command in a shell does not change what it does, and neither does the array form of it.
func TestWrapped(t *testing.T) {
	for _, commands := range []map[string]Operation{vectors, table} {
		for command, want := range commands {
			if want.Kind == Command || strings.Count(command, "bash -c") == maxWrappers {
				continue
			}
			for _, name := range []string{"bash -c ", "/bin/sh -lc ", "zsh -lc "} {
				assert.Equal(t, want, Classify(name+quote(command)), command)
			}
			assert.Equal(t, want, ClassifyArgs([]string{"bash", "-lc", command}), command)
		}
	}
}

func TestKind(t *testing.T) {
	for kind, want := range map[Kind]string{Command: "command", Read: "read", Search: "search", List: "list", 99: "command"} {
		assert.Equal(t, want, kind.String())
	}
}

// Commands at and beyond the bounds end, without a deep stack, in Command.
func TestBounds(t *testing.T) {
	tests := map[string]struct {
		command string
		want    Kind
	}{
		"longest":       {"cat " + strings.Repeat("a", maxBytes-4), Read},
		"longer":        {"cat " + strings.Repeat("a", maxBytes-3), Command},
		"most stages":   {"cat f" + strings.Repeat("|cat", maxStages-1), Read},
		"more stages":   {"cat f" + strings.Repeat("|cat", maxStages), Command},
		"most segments": {"cat f" + strings.Repeat("&&:", maxStages-1), Read},
		"more segments": {"cat f" + strings.Repeat("&&:", maxStages), Command},
		"newlines":      {strings.Repeat("\n", maxBytes), Command},
		"subshells":     {strings.Repeat("(", maxBytes), Command},
		"substitutions": {"cat " + strings.Repeat("$(", maxBytes/2-2), Command},
		"quoted":        {"cat " + strings.Repeat(`"$(`, maxBytes/3-2), Command},
		"joined":        {"cat " + strings.Repeat("\"$\\\n(", maxBytes/5-1), Command},
		"arithmetic":    {"cat " + strings.Repeat("$[", maxBytes/2-2), Command},
		"keywords":      {"ls;" + strings.Repeat("if ", maxBytes/3-1), Command},
		"hidden words":  {"ls;" + strings.Repeat("i\\\nf ", maxBytes/5-1), Command},
		"negations":     {strings.Repeat("! ", maxBytes/2), Command},
		"tests":         {"[[ " + strings.Repeat("! ", maxBytes/2-2), Command},
		"line joins":    {strings.Repeat("c\\\n", maxBytes/3), Command},
		"words":         {"ls " + strings.Repeat("a ", maxBytes/2-2), Command},
		"flags":         {"rg " + strings.Repeat("-e a ", maxBytes/5-1), Search},
		"cluster":       {"ls -" + strings.Repeat("a", maxBytes-4), List},
		"quotes":        {"ls " + strings.Repeat("''", maxBytes/2-4) + "a", List},
		"parts":         {"ls " + strings.Repeat("'a'b", maxBytes/4-2), List},
		"escapes":       {"ls " + strings.Repeat(`\a`, maxBytes/2-2), List},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, Classify(test.command).Kind)
		})
	}
	assert.Equal(t, Operation{}, ClassifyArgs([]string{"cat", strings.Repeat("a", maxBytes)}))
	assert.Equal(t, Operation{}, ClassifyArgs(make([]string, maxBytes)))
}

func FuzzClassify(f *testing.F) {
	for _, commands := range []map[string]Operation{vectors, table} {
		for command := range commands {
			f.Add(command)
		}
	}
	f.Fuzz(func(t *testing.T, command string) {
		got := Classify(command)
		require.Equal(t, got, Classify(command), "not deterministic")
		requireSound(t, got)
		if got.Kind != Command {
			requireNoEffects(t, command)
		}
		if wrapped := Classify("bash -lc " + quote(command)); wrapped.Kind != Command {
			require.Equal(t, got, wrapped, "differs in a shell")
		}
		argv := strings.Fields(command)
		of := ClassifyArgs(argv)
		require.Equal(t, of, ClassifyArgs(argv), "not deterministic")
		requireSound(t, of)
	})
}

// requireSound fails for an operation that no command has.
func requireSound(t *testing.T, op Operation) {
	t.Helper()
	switch op.Kind {
	case Command:
		require.Equal(t, Operation{}, op)
	case Read:
		require.NotEmpty(t, op.Path)
		require.NotEqual(t, "-", op.Path)
		require.Empty(t, op.Query)
	case Search:
		require.NotEmpty(t, op.Query)
	case List:
		require.Empty(t, op.Query)
	default:
		t.Fatalf("unknown kind %d", op.Kind)
	}
	require.GreaterOrEqual(t, op.Start, 0)
	require.True(t, op.End == 0 || op.Start > 0 && op.End >= op.Start)
	require.True(t, op.Kind == Read || op.Start == 0 && op.End == 0)
}

// requireNoEffects fails for a command that a shell does more with than run programs on plain words.
// It looks at the whole tree, so it does not share the reading of the code under test.
func requireNoEffects(t *testing.T, command string) {
	t.Helper()
	file, err := syntax.NewParser(syntax.KeepComments(true)).Parse(strings.NewReader(command), "")
	require.NoError(t, err)
	syntax.Walk(file, func(node syntax.Node) bool {
		switch node := node.(type) {
		case nil, *syntax.File, *syntax.CallExpr, *syntax.BinaryCmd, *syntax.Word, *syntax.Lit, *syntax.Comment:
		case *syntax.SglQuoted:
			require.False(t, node.Dollar)
		case *syntax.DblQuoted:
			require.False(t, node.Dollar)
		case *syntax.Stmt:
			require.False(t, node.Background || node.Negated || node.Coprocess || node.Disown)
			require.Empty(t, node.Redirs)
		default:
			t.Fatalf("%T in %q", node, command)
		}
		return true
	})
}

// quote is the command as one word of a shell.
func quote(command string) string {
	return "'" + strings.ReplaceAll(command, "'", `'\''`) + "'"
}

func BenchmarkClassify(b *testing.B) {
	for name, command := range map[string]string{
		"other":   "npm run test -- --watch=false",
		"after":   "cd /repo && go test ./... -run TestFoo",
		"heredoc": "cat > f.txt <<'EOF'\n" + strings.Repeat("some line of text\n", 100) + "EOF",
		"cat":     "cat src/main.go",
		"sed":     "sed -n '10,200p' src/main.go",
		"wrapped": `/bin/bash -lc "cd /repo && sed -n '1,200p' src/main.go"`,
		"rg":      `rg -n "func (main|init)" --glob '*.go' -S internal | head -n 200`,
		"find":    `find . -path ./node_modules -prune -o -type f -name '*.ts' -print | sort`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Classify(command)
			}
		})
	}
}
