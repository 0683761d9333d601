// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package agentstreamreceiver

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/confignet"
	"go.opentelemetry.io/collector/config/configtls"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.yaml.in/yaml/v3"

	"github.com/otelcol-agents/otelcol-agents/internal/options"
)

// schema is the part of config.schema.yaml that the test compares.
type schema struct {
	Description string             `yaml:"description"`
	Type        string             `yaml:"type"`
	Ref         string             `yaml:"$ref"`
	AllOf       []schema           `yaml:"allOf"`
	Default     any                `yaml:"default"`
	Enum        []string           `yaml:"enum"`
	Items       *schema            `yaml:"items"`
	Properties  map[string]*schema `yaml:"properties"`
}

// referred are the sections of others, which a schema refers to.
var referred = map[reflect.Type]string{
	reflect.TypeFor[configtls.ServerConfig]():  "/config/configtls.server_config",
	reflect.TypeFor[confighttp.ServerConfig](): "/config/confighttp.server_config",
	reflect.TypeFor[confignet.DialerConfig]():  "/config/confignet.dialer_config",
}

func TestSchema(t *testing.T) {
	data, err := os.ReadFile("config.schema.yaml")
	require.NoError(t, err)
	var s schema
	require.NoError(t, yaml.Unmarshal(data, &s))
	cfg, err := parse(t, map[string]any{"files": nil, "tcp": nil, "http": nil})
	require.NoError(t, err)
	checkSchema(t, "", &s, reflect.ValueOf(cfg).Elem())
}

// TestEveryKeyIsInTheExample compares the keys of the schema with those of testdata/config.yaml.
func TestEveryKeyIsInTheExample(t *testing.T) {
	data, err := os.ReadFile("config.schema.yaml")
	require.NoError(t, err)
	var s schema
	require.NoError(t, yaml.Unmarshal(data, &s))
	cm, err := confmaptest.LoadConf("testdata/config.yaml")
	require.NoError(t, err)
	all, err := cm.Sub("agent_stream")
	require.NoError(t, err)
	var missing func(path string, s *schema)
	missing = func(path string, s *schema) {
		for key, p := range s.Properties {
			full := strings.TrimPrefix(path+"::"+key, "::")
			assert.True(t, all.IsSet(full), "testdata/config.yaml lacks %s", full)
			missing(full, p)
		}
	}
	missing("", &s)
}

// TestSchemaEnums has Validate accept the values that the schema lists, and no others.
func TestSchemaEnums(t *testing.T) {
	data, err := os.ReadFile("config.schema.yaml")
	require.NoError(t, err)
	var s schema
	require.NoError(t, yaml.Unmarshal(data, &s))
	complaint := func(key string, value any) string {
		cm := confmap.NewFromStringMap(map[string]any{"tcp": nil, "files": map[string]any{"include": []any{"/x"}}})
		body := value
		parts := strings.Split(key, ".")
		for _, part := range slices.Backward(parts) {
			body = map[string]any{part: body}
		}
		require.NoError(t, cm.Merge(confmap.NewFromStringMap(body.(map[string]any))))
		cfg := createDefaultConfig().(*Config)
		require.NoError(t, cm.Unmarshal(cfg))
		if err := confmap.Validate(cfg); err != nil {
			return err.Error()
		}
		return ""
	}
	n := 0
	var walk func(path string, s *schema)
	walk = func(path string, s *schema) {
		for key, p := range s.Properties {
			full := strings.TrimPrefix(path+"."+key, ".")
			walk(full, p)
			enum, wrap := p.Enum, func(v string) any { return v }
			if p.Items != nil {
				enum, wrap = p.Items.Enum, func(v string) any { return []any{v} }
			}
			if len(enum) == 0 {
				continue
			}
			n++
			for _, v := range enum {
				assert.Empty(t, complaint(full, wrap(v)), "%s: %s", full, v)
			}
			said := complaint(full, wrap("nonsense"))
			assert.Contains(t, said, full)
			if list, ok := strings.CutPrefix(said, full+" must be one of "); ok {
				list, _, _ = strings.Cut(list, ", got")
				assert.Equal(t, enum, strings.Split(list, ", "), full)
			}
		}
	}
	walk("", &s)
	assert.Equal(t, 6, n)
}

// TestReadmeExamples validates the configurations of README.md.
func TestReadmeExamples(t *testing.T) {
	data, err := os.ReadFile("README.md")
	require.NoError(t, err)
	blocks := strings.Split(string(data), "```yaml\n")[1:]
	require.Len(t, blocks, 2)
	for _, b := range blocks {
		text, _, _ := strings.Cut(b, "```")
		var body map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(text), &body))
		sub, err := confmap.NewFromStringMap(body).Sub("receivers::agent_stream")
		require.NoError(t, err)
		cfg := createDefaultConfig().(*Config)
		require.NoError(t, sub.Unmarshal(cfg))
		assert.NoError(t, confmap.Validate(cfg), text)
	}
}

// checkSchema compares a section's keys, descriptions and defaults with its struct.
func checkSchema(t *testing.T, path string, s *schema, v reflect.Value) {
	var keys []string
	var fields func(v reflect.Value)
	fields = func(v reflect.Value) {
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if !field.IsExported() {
				continue
			}
			key, how, _ := strings.Cut(field.Tag.Get("mapstructure"), ",")
			if how == "squash" {
				if ref, ok := referred[field.Type]; ok {
					refersTo(t, path, s, ref)
				} else {
					fields(v.Field(i))
				}
				continue
			}
			keys = append(keys, key)
			p, full := s.Properties[key], strings.TrimPrefix(path+"."+key, ".")
			if assert.NotNil(t, p, "the schema lacks %s", full) {
				assert.NotEmpty(t, p.Description, full)
				checkKey(t, full, p, v.Field(i))
			}
		}
	}
	fields(v)
	for key := range s.Properties {
		assert.Contains(t, keys, key, "the schema has a key of %q that the configuration has not", path)
	}
}

// refersTo checks a section that holds another one's keys: the default tells what differs from there.
func refersTo(t *testing.T, path string, s *schema, ref string) {
	assert.True(t, slices.ContainsFunc(s.AllOf, func(s schema) bool { return s.Ref == ref }), "%s must refer to %s", path, ref)
	got := confighttp.NewDefaultServerConfig()
	require.NoError(t, confmap.NewFromStringMap(s.Default.(map[string]any)).Unmarshal(&got))
	assert.Equal(t, NewDefaultHTTPConfig().ServerConfig, got, path)
}

func checkKey(t *testing.T, path string, s *schema, v reflect.Value) {
	if get := v.Addr().MethodByName("GetOrInsertDefault"); get.IsValid() { // an optional section
		v = get.Call(nil)[0].Elem()
	}
	if ref, ok := referred[v.Type()]; ok {
		assert.Equal(t, ref, s.Ref, path)
		return
	}
	text := fmt.Sprint(s.Default)
	switch v := v.Interface().(type) {
	case time.Duration:
		want, err := time.ParseDuration(text)
		require.NoError(t, err, path)
		assert.Equal(t, want, v, path)
		return
	case options.Size:
		assert.Equal(t, text, v.String(), path)
		return
	}
	kinds := map[reflect.Kind]string{
		reflect.String: "string", reflect.Bool: "boolean", reflect.Int: "integer", reflect.Float64: "number",
		reflect.Slice: "array", reflect.Map: "object", reflect.Struct: "object", reflect.Pointer: "string",
	}
	assert.Equal(t, kinds[v.Kind()], s.Type, "type of %s", path)
	switch v.Kind() {
	case reflect.Struct:
		checkSchema(t, path, s, v)
	case reflect.Pointer:
		assert.True(t, v.IsNil() && s.Default == nil, path)
	case reflect.Slice, reflect.Map:
		assert.Zero(t, v.Len(), path)
		if assert.NotNil(t, s.Default, path) {
			assert.Zero(t, reflect.ValueOf(s.Default).Len(), path)
		}
	default:
		if assert.NotNil(t, s.Default, path) {
			assert.Equal(t, text, fmt.Sprint(v.Interface()), path)
		}
	}
}
