// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/otelcol"
	"go.yaml.in/yaml/v3"

	"github.com/otelcol-agents/otelcol-agents/receiver/agentstreamreceiver"
)

// documented are the files whose YAML must be true.
var documented = []string{"../../README.md", "../../docs/*.md", "../../receiver/agentstreamreceiver/*.md", "../../examples/*.md", "../../examples/*/*.md"}

// block is a fenced block of a document.
type block struct {
	file string
	line int
	info string // what stands after yaml
	text string
}

// blocks are the YAML blocks of a document; a block whose fence is indented loses that indentation.
func blocks(t *testing.T, file string) []block {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var out []block
	var open *block
	var indent string
	fenced := false
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		trimmed := strings.TrimSpace(line)
		fence := strings.HasPrefix(trimmed, "```")
		switch {
		case fence && fenced:
			fenced = false
			if open != nil {
				out = append(out, *open)
				open = nil
			}
		case fence:
			fenced = true
			indent = line[:strings.Index(line, "```")]
			if kind, info, _ := strings.Cut(strings.TrimPrefix(trimmed, "```"), " "); kind == "yaml" || kind == "yml" {
				open = &block{file: filepath.Base(file), line: n, info: info}
			}
		case open != nil:
			open.text += strings.TrimPrefix(line, indent)
		}
	}
	require.False(t, fenced, "%s: a block does not end", file)
	return out
}

// The sections of a collector's configuration.
var sections = []string{"receivers", "processors", "exporters", "connectors", "extensions", "service"}

// kind says what a piece of YAML is, by its info string or its top-level keys.
func kind(t *testing.T, info string, doc map[string]any) string {
	t.Helper()
	if info != "" {
		return info
	}
	keys := slices.Sorted(maps.Keys(doc))
	only := func(of []string) bool {
		return len(keys) > 0 && !slices.ContainsFunc(keys, func(k string) bool { return !slices.Contains(of, k) })
	}
	switch {
	case slices.Contains(keys, "dist") || hasModules(doc):
		return "manifest"
	case only(sections):
		return "collector"
	case only(slices.Collect(maps.Keys(receiverKeys()))):
		return "agent_stream"
	case slices.Contains(keys, "jobs") || slices.Contains(keys, "apiVersion") || slices.Contains(keys, "scrape_configs"):
		return "other"
	}
	require.Failf(t, "unknown YAML", "keys %v are neither those of a collector nor of agent_stream", keys)
	return ""
}

func hasModules(doc map[string]any) bool {
	for _, section := range doc {
		list, _ := section.([]any)
		for _, e := range list {
			if m, ok := e.(map[string]any); ok && m["gomod"] != nil {
				return true
			}
		}
	}
	return false
}

// check holds a piece of YAML against the components of the distribution.
func check(t *testing.T, info, text string) {
	t.Helper()
	decoder := yaml.NewDecoder(strings.NewReader(text))
	for {
		var doc map[string]any
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		one, err := yaml.Marshal(doc)
		require.NoError(t, err)
		checkDocument(t, kind(t, info, doc), doc, string(one))
	}
}

// stock completes a part of a configuration.
const stock = `
receivers: {agent_stream/stock: {tcp: {endpoint: "localhost:0"}}}
exporters: {nop/stock: }
service: {pipelines: {traces/stock: {receivers: [agent_stream/stock], exporters: [nop/stock]}}}
`

func checkDocument(t *testing.T, kind string, doc map[string]any, text string) {
	t.Helper()
	switch kind {
	case "collector":
		uris := []string{"yaml:" + text}
		if doc["service"] == nil || doc["receivers"] == nil {
			uris = append([]string{"yaml:" + stock}, uris...)
		}
		require.NoError(t, dryRun(t, uris...))
	case "agent_stream":
		if doc["files"] == nil && doc["tcp"] == nil && doc["http"] == nil {
			doc["tcp"] = nil
		}
		body, err := yaml.Marshal(map[string]any{"receivers": map[string]any{"agent_stream": doc}})
		require.NoError(t, err)
		require.NoError(t, dryRun(t, "yaml:"+stock, "yaml:"+string(body)))
	case "manifest":
		var m manifest
		require.NoError(t, yaml.Unmarshal([]byte(text), &m))
		ours := readManifest(t).kinds()
		for kind, entries := range m.kinds() {
			for _, e := range entries {
				assert.True(t, slices.ContainsFunc(ours[kind], func(o entry) bool { return o.pkg() == e.pkg() && o.module() == e.module() }),
					"%s: %s is not in builder-config.yaml", kind, e.pkg())
			}
		}
	case "other":
		checkConfigMap(t, doc)
	default:
		require.Failf(t, "unknown info string", "yaml %s", kind)
	}
}

// checkConfigMap checks the collector's configuration in an object of Kubernetes.
func checkConfigMap(t *testing.T, doc map[string]any) {
	t.Helper()
	if doc["kind"] != "ConfigMap" {
		return
	}
	data, _ := doc["data"].(map[string]any)
	require.NotEmpty(t, data)
	for name, text := range data {
		if strings.HasSuffix(name, ".yaml") {
			check(t, "collector", text.(string))
		}
	}
}

// dryRun loads, validates and builds a configuration, and starts nothing.
func dryRun(t *testing.T, uris ...string) error {
	t.Helper()
	set, err := settings(environ(t.TempDir(), nil))
	require.NoError(t, err)
	set.ConfigProviderSettings.ResolverSettings.URIs = uris
	col, err := otelcol.NewCollector(set)
	require.NoError(t, err)
	return col.DryRun(t.Context())
}

// exampleEnv are the variables that documents and examples ask for.
func exampleEnv(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for name, value := range map[string]string{
		"HOME": dir, "STATE_DIR": dir,
		"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318",
		"DD_API_KEY":                  "0123456789abcdef0123456789abcdef", "DD_SITE": "datadoghq.com",
		"AGENT_STREAM_TOKEN": "token", "AGENT_STREAM_USER": "user", "AGENT_STREAM_PASSWORD": "password",
		"PROMETHEUS_REMOTE_WRITE_URL": "http://localhost:9090/api/v1/write",
	} {
		t.Setenv(name, value)
	}
}

func TestDocumentedYAML(t *testing.T) {
	exampleEnv(t)
	found := 0
	for _, pattern := range documented {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			for _, b := range blocks(t, file) {
				found++
				t.Run(fmt.Sprintf("%s:%d", b.file, b.line), func(t *testing.T) { check(t, b.info, b.text) })
			}
		}
	}
	assert.Greater(t, found, 5)
}

func TestExamples(t *testing.T) {
	exampleEnv(t)
	configs := 0
	require.NoError(t, filepath.WalkDir("../../examples", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" && filepath.Ext(path) != ".yml" {
			return err
		}
		configs++
		t.Run(strings.TrimPrefix(filepath.ToSlash(path), "../../"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			check(t, "", string(text))
			safeQueues(t, text)
		})
		return nil
	}))
	assert.GreaterOrEqual(t, configs, 5)
}

// safeQueues holds an example to what the documents demand: nothing says yes before the backend does, and the
// receiver, which answers requests by that, hears of a refusal at once.
func safeQueues(t *testing.T, text []byte) {
	t.Helper()
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var c struct {
			Processors map[string]any `yaml:"processors"`
			Exporters  map[string]any `yaml:"exporters"`
			Data       map[string]any `yaml:"data"`
		}
		err := decoder.Decode(&c)
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		for _, text := range c.Data {
			safeQueues(t, []byte(text.(string)))
		}
		for id := range c.Processors {
			assert.NotEqual(t, "batch", strings.Split(id, "/")[0], "the batch processor says yes before anybody has taken the data")
		}
		for id, section := range c.Exporters {
			name, _, _ := strings.Cut(id, "/")
			if !slices.Contains([]string{"otlp_http", "otlp_grpc"}, name) {
				continue
			}
			exporter, _ := section.(map[string]any)
			queue, _ := exporter["sending_queue"].(map[string]any)
			assert.Equal(t, false, queue["enabled"], "%s has a queue", id)
			retry, _ := exporter["retry_on_failure"].(map[string]any)
			assert.Equal(t, false, retry["enabled"], "%s tries again by itself", id)
		}
	}
}

// receiverDefaults are all keys of agent_stream with their defaults, by path with dots.
func receiverDefaults(t *testing.T) map[string]any {
	t.Helper()
	c := agentstreamreceiver.NewFactory().CreateDefaultConfig().(*agentstreamreceiver.Config)
	c.Files = configoptional.Some(agentstreamreceiver.NewDefaultFilesConfig())
	c.TCP = configoptional.Some(agentstreamreceiver.NewDefaultTCPConfig())
	c.HTTP = configoptional.Some(agentstreamreceiver.NewDefaultHTTPConfig())
	conf := confmap.New()
	require.NoError(t, conf.Marshal(c))
	out := map[string]any{}
	for _, key := range conf.AllKeys() {
		out[strings.ReplaceAll(key, confmap.KeyDelimiter, ".")] = conf.Get(key)
	}
	return out
}

// receiverKeys are the keys of agent_stream's structs, those without a default included. An open
// map's key ends there.
func receiverKeys() map[string]bool {
	keys := map[string]bool{}
	collectKeys(reflect.TypeFor[agentstreamreceiver.Config](), "", keys)
	return keys
}

func collectKeys(typ reflect.Type, prefix string, keys map[string]bool) {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if get, ok := reflect.PointerTo(typ).MethodByName("GetOrInsertDefault"); ok { // configoptional.Optional
		collectKeys(get.Type.Out(0), prefix, keys)
		return
	}
	if typ.Kind() != reflect.Struct {
		return
	}
	for field := range typ.Fields() {
		key, opts, _ := strings.Cut(field.Tag.Get("mapstructure"), ",")
		switch {
		case strings.Contains(opts, "squash"):
			collectKeys(field.Type, prefix, keys)
		case key != "" && key != "-" && field.IsExported():
			keys[prefix+key] = true
			collectKeys(field.Type, prefix+key+".", keys)
		}
	}
}

// A row of docs/configuration.md: | `key` | type | `default` ... | rule | effect |
var keyRow = regexp.MustCompile("(?m)^\\| `([a-z0-9_.]+)` \\|([^|\n]+)\\|([^|\n]*)\\|[^|\n]*\\|[^|\n]*\\|$")

// docs/configuration.md names every key with its default, and none that is not there.
func TestConfigurationDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/configuration.md")
	require.NoError(t, err)
	defaults, keys := receiverDefaults(t), receiverKeys()
	rows := map[string]bool{}
	for _, m := range keyRow.FindAllStringSubmatch(string(text), -1) {
		key, typ, shown := m[1], strings.TrimSpace(m[2]), strings.TrimSpace(m[3])
		assert.False(t, rows[key], "%s stands there twice", key)
		rows[key] = true
		assert.True(t, keys[key], "%s is no key", key)
		if want, ok := defaults[key]; ok {
			assert.Equal(t, inYAML(t, want, typ), codeSpan(shown), "default of %s", key)
		} else {
			assert.Empty(t, codeSpan(shown), "%s has no default", key)
		}
	}
	for key := range defaults {
		assert.True(t, rows[key], "%s is missing", key)
	}
}

// codeSpan is what a cell has between its first backticks.
func codeSpan(cell string) string {
	_, rest, _ := strings.Cut(cell, "`")
	span, _, _ := strings.Cut(rest, "`")
	return span
}

// inYAML is a default as the document writes it.
func inYAML(t *testing.T, value any, typ string) string {
	t.Helper()
	if value == nil {
		return ""
	}
	v := reflect.ValueOf(value)
	switch {
	case typ == "duration":
		require.True(t, v.CanInt())
		return duration(time.Duration(v.Int()))
	case v.Kind() == reflect.Slice && v.Len() == 0:
		return "[]"
	case v.Kind() == reflect.Map && v.Len() == 0:
		return "{}"
	case v.Kind() == reflect.Slice:
		var items []string
		for i := range v.Len() {
			items = append(items, inYAML(t, v.Index(i).Interface(), ""))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case value == "":
		return `""`
	case v.CanFloat():
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	}
	return fmt.Sprint(value)
}

// duration is d without the units that are zero: 24h, 30m, 250ms.
func duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
