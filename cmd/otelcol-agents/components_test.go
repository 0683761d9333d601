// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.yaml.in/yaml/v3"
)

const (
	manifestFile = "../../builder-config.yaml"
	ownModule    = "github.com/otelcol-agents/otelcol-agents"
)

// manifest is builder-config.yaml.
type manifest struct {
	Dist struct {
		Name        string `yaml:"name"`
		Description string `yaml:"description"`
	} `yaml:"dist"`
	Receivers  []entry `yaml:"receivers"`
	Processors []entry `yaml:"processors"`
	Exporters  []entry `yaml:"exporters"`
	Connectors []entry `yaml:"connectors"`
	Extensions []entry `yaml:"extensions"`
	Providers  []entry `yaml:"providers"`
}

// entry is a line of a manifest: a module with its version, and the package if that is not the module's root.
type entry struct {
	GoMod  string `yaml:"gomod"`
	Import string `yaml:"import"`
	Path   string `yaml:"path"`
}

func (e entry) module() string { return strings.Fields(e.GoMod)[0] }

func (e entry) version() string { return strings.Fields(e.GoMod)[1] }

func (e entry) pkg() string {
	if e.Import != "" {
		return e.Import
	}
	return e.module()
}

func (m *manifest) kinds() map[string][]entry {
	return map[string][]entry{
		"Receivers": m.Receivers, "Processors": m.Processors, "Exporters": m.Exporters,
		"Connectors": m.Connectors, "Extensions": m.Extensions,
	}
}

func readManifest(t *testing.T) *manifest {
	t.Helper()
	text, err := os.ReadFile(manifestFile)
	require.NoError(t, err)
	var m manifest
	require.NoError(t, yaml.Unmarshal(text, &m))
	return &m
}

// generated is what components.go says: the packages of each kind in their order, and their modules.
type generated struct {
	packages map[string][]string // kind -> import paths
	modules  map[string][]string // kind -> module and version
}

func readGenerated(t *testing.T) generated {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "components.go", nil, parser.ParseComments)
	require.NoError(t, err)
	require.True(t, ast.IsGenerated(file), "components.go must say that it is generated")
	paths := map[string]string{}
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		require.NoError(t, err)
		if spec.Name != nil {
			paths[spec.Name.Name] = path
		}
	}
	g := generated{packages: map[string][]string{}, modules: map[string][]string{}}
	// factories.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](a.NewFactory(), ...)
	// factories.ReceiverModules = makeModulesMap(factories.Receivers, map[component.Type]string{a.NewFactory().Type(): "module version", ...})
	ast.Inspect(file, func(n ast.Node) bool {
		assign, ok := n.(*ast.AssignStmt)
		if !ok || len(assign.Rhs) != 1 {
			return true
		}
		field, ok := assign.Lhs[0].(*ast.SelectorExpr)
		call, isCall := assign.Rhs[0].(*ast.CallExpr)
		if !ok || !isCall {
			return true
		}
		kind, isModules := strings.CutSuffix(field.Sel.Name, "Modules")
		if !isModules {
			for _, arg := range call.Args {
				g.packages[kind] = append(g.packages[kind], paths[packageOf(t, arg)])
			}
			return true
		}
		kind += "s"
		for _, elt := range call.Args[1].(*ast.CompositeLit).Elts {
			pair := elt.(*ast.KeyValueExpr)
			value, err := strconv.Unquote(pair.Value.(*ast.BasicLit).Value)
			require.NoError(t, err)
			g.modules[kind] = append(g.modules[kind], value)
			i := len(g.modules[kind]) - 1
			assert.Equal(t, g.packages[kind][i], paths[packageOf(t, pair.Key)], "the order of %s", kind)
		}
		return true
	})
	return g
}

// packageOf is p in p.NewFactory() and in p.NewFactory().Type().
func packageOf(t *testing.T, e ast.Expr) string {
	t.Helper()
	for {
		switch x := e.(type) {
		case *ast.CallExpr:
			e = x.Fun
		case *ast.SelectorExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			require.Failf(t, "components.go", "unexpected %T", e)
		}
	}
}

func TestManifestAndComponentsAgree(t *testing.T) {
	g := readGenerated(t)
	for kind, entries := range readManifest(t).kinds() {
		var packages, modules []string
		for _, e := range entries {
			packages = append(packages, e.pkg())
			modules = append(modules, e.GoMod)
		}
		assert.Equal(t, packages, g.packages[kind], `%s: run "make genotelcol"`, kind)
		assert.Equal(t, modules, g.modules[kind], `modules of %s: run "make genotelcol"`, kind)
	}
}

// What ocb takes and what go build takes here must be the same code.
func TestManifestAndRequirementsAgree(t *testing.T) {
	text, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	required := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(?:require)?\s+(\S+) (v\S+)`).FindAllStringSubmatch(string(text), -1) {
		required[m[1]] = m[2]
	}
	require.NotContains(t, string(text), "\nreplace", "a replacement would not reach who builds with ocb")
	m := readManifest(t)
	kinds := m.kinds()
	kinds["Providers"] = m.Providers
	for kind, entries := range kinds {
		for _, e := range entries {
			if e.module() == ownModule {
				assert.Equal(t, ".", e.Path)
				continue
			}
			assert.Equal(t, e.version(), required[e.module()], "%s: %s in go.mod", kind, e.module())
			assert.Empty(t, e.Path, e.module())
		}
	}
}

func TestManifestAndMainAgree(t *testing.T) {
	set, err := settings(environ(t.TempDir(), nil))
	require.NoError(t, err)
	m := readManifest(t)
	assert.Equal(t, m.Dist.Name, set.BuildInfo.Command)
	assert.Equal(t, m.Dist.Description, set.BuildInfo.Description)
	var want, got []string
	for _, e := range m.Providers {
		want = append(want, e.GoMod)
	}
	for scheme, module := range set.ProviderModules {
		assert.Contains(t, module, "/"+scheme+"provider ")
		got = append(got, module)
	}
	slices.Sort(got)
	assert.Equal(t, slices.Sorted(slices.Values(want)), got)
	assert.Len(t, set.ConfigProviderSettings.ResolverSettings.ProviderFactories, len(want))
}

// The names under which a configuration finds the components are an interface of the distribution.
func TestComponentNames(t *testing.T) {
	f, err := components()
	require.NoError(t, err)
	assert.Equal(t, "agent_stream file_log kafka otlp tcp_log", names(f.Receivers))
	assert.Equal(t, "attributes batch cumulative_to_delta filter memory_limiter redaction resource tail_sampling transform", names(f.Processors))
	assert.Equal(t, "debug file kafka nop otlp_grpc otlp_http prometheus prometheus_remote_write", names(f.Exporters))
	assert.Equal(t, "count forward signal_to_metrics span_metrics", names(f.Connectors))
	assert.Equal(t, "basicauth bearertokenauth file_storage healthcheckv2 pprof zpages", names(f.Extensions))
}

// names are those of a set of factories, without deprecated aliases.
func names[F component.Factory](factories map[component.Type]F) string {
	var out []string
	for _, typ := range slices.SortedFunc(maps.Keys(factories), func(a, b component.Type) int { return strings.Compare(a.String(), b.String()) }) {
		if factories[typ].Type() == typ {
			out = append(out, typ.String())
		}
	}
	return strings.Trim(fmt.Sprint(out), "[]")
}
