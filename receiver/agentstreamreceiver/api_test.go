// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package agentstreamreceiver

import (
	"bytes"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAPI compares what the package exports with testdata/api.txt: a change of it is one for users who
// build collectors.
func TestAPI(t *testing.T) {
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		require.NoError(t, err)
		f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, f)
	}
	p, err := doc.NewFromFiles(fset, files, "github.com/otelcol-agents/otelcol-agents/receiver/agentstreamreceiver")
	require.NoError(t, err)

	var b bytes.Buffer
	write := func(node ast.Node) {
		require.NoError(t, format.Node(&b, fset, node))
		b.WriteString("\n\n")
	}
	function := func(f *doc.Func) {
		f.Decl.Body, f.Decl.Doc = nil, nil
		write(f.Decl)
	}
	values := func(vs []*doc.Value) {
		for _, v := range vs {
			if !ast.IsExported(v.Names[0]) {
				continue
			}
			v.Decl.Doc = nil
			write(v.Decl)
		}
	}
	values(p.Consts)
	values(p.Vars)
	for _, f := range p.Funcs {
		function(f)
	}
	for _, typ := range p.Types {
		typ.Decl.Doc = nil
		if s, ok := typ.Decl.Specs[0].(*ast.TypeSpec).Type.(*ast.StructType); ok {
			bare(s)
		}
		write(typ.Decl)
		values(typ.Consts)
		values(typ.Vars)
		for _, f := range typ.Funcs {
			function(f)
		}
		for _, f := range typ.Methods {
			function(f)
		}
	}
	golden(t, filepath.Join("testdata", "api.txt"), strings.TrimSpace(b.String())+"\n")
}

// bare leaves out comments and what is not exported.
func bare(s *ast.StructType) {
	exported := s.Fields.List[:0]
	for _, f := range s.Fields.List {
		f.Doc, f.Comment = nil, nil
		if len(f.Names) == 0 || f.Names[0].IsExported() {
			exported = append(exported, f)
		}
	}
	s.Fields.List = exported
}
