// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package agentstreamreceiver

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.yaml.in/yaml/v3"

	"github.com/otelcol-agents/otelcol-agents/internal/listen"
	"github.com/otelcol-agents/otelcol-agents/receiver/agentstreamreceiver/internal/metadata"
	"github.com/otelcol-agents/otelcol-agents/translate"
)

// description is metadata.yaml.
type description struct {
	DisplayName   string `yaml:"display_name"`
	Type          string `yaml:"type"`
	GitHubProject string `yaml:"github_project"`
	Description   string `yaml:"description"`
	Status        struct {
		Class               string              `yaml:"class"`
		Stability           map[string][]string `yaml:"stability"`
		Distributions       []string            `yaml:"distributions"`
		DisableCodecovBadge bool                `yaml:"disable_codecov_badge"`
	} `yaml:"status"`
	Attributes map[string]struct {
		Description string   `yaml:"description"`
		Type        string   `yaml:"type"`
		Enum        []string `yaml:"enum"`
	} `yaml:"attributes"`
	Tests struct {
		Config map[string]any `yaml:"config"`
	} `yaml:"tests"`
	Telemetry struct {
		Metrics map[string]metricDescription `yaml:"metrics"`
	} `yaml:"telemetry"`
}

type metricDescription struct {
	Enabled     bool        `yaml:"enabled"`
	Stability   string      `yaml:"stability"`
	Description string      `yaml:"description"`
	Unit        string      `yaml:"unit"`
	Sum         *aggregated `yaml:"sum"`
	Gauge       *aggregated `yaml:"gauge"`
	Histogram   *aggregated `yaml:"histogram"`
	Attributes  []string    `yaml:"attributes"`
}

type aggregated struct {
	ValueType string `yaml:"value_type"`
	Monotonic bool   `yaml:"monotonic"`
	Async     bool   `yaml:"async"`
	// Boundaries are those of a histogram.
	Boundaries []float64 `yaml:"bucket_boundaries"`
}

// kinds is how many of the three the metric is.
func (m *metricDescription) kinds() (n int) {
	for _, a := range []*aggregated{m.Sum, m.Gauge, m.Histogram} {
		if a != nil {
			n++
		}
	}
	return n
}

// instrument is what the code must register for the metric.
func (m *metricDescription) instrument(name string) metadata.Instrument {
	i := metadata.Instrument{Name: "otelcol_" + name, Description: m.Description + " [" + capital(m.Stability) + "]", Unit: m.Unit}
	switch {
	case m.Sum != nil:
		i.Kind, i.Monotonic, i.Async = "sum", m.Sum.Monotonic, m.Sum.Async
	case m.Histogram != nil:
		i.Kind = "histogram"
	default:
		i.Kind, i.Async = "gauge", m.Gauge.Async
	}
	return i
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func readMetadata(t testing.TB) *description {
	t.Helper()
	data, err := os.ReadFile("metadata.yaml")
	require.NoError(t, err)
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	var d description
	require.NoError(t, dec.Decode(&d))
	return &d
}

func TestMetadataStatus(t *testing.T) {
	d, f := readMetadata(t), NewFactory()
	assert.Equal(t, d.Type, f.Type().String())
	assert.Equal(t, "receiver", d.Status.Class)
	levels := map[string]string{}
	for level, signals := range d.Status.Stability {
		for _, s := range signals {
			levels[s] = level
		}
	}
	assert.Equal(t, map[string]string{
		"traces":  strings.ToLower(f.TracesStability().String()),
		"metrics": strings.ToLower(f.MetricsStability().String()),
		"logs":    strings.ToLower(f.LogsStability().String()),
	}, levels)
}

// TestMetadataTelemetry compares metadata.yaml with the instruments as a collector sees them.
func TestMetadataTelemetry(t *testing.T) {
	d := readMetadata(t)
	var want []metadata.Instrument
	for _, name := range slices.Sorted(maps.Keys(d.Telemetry.Metrics)) {
		m := d.Telemetry.Metrics[name]
		require.True(t, m.Enabled && m.kinds() == 1, name)
		want = append(want, m.instrument(name))
		for _, a := range m.Attributes {
			assert.Contains(t, d.Attributes, a, name)
		}
	}
	assert.Equal(t, want, metadata.Instruments)

	tel := componenttest.NewTelemetry()
	t.Cleanup(func() { assert.NoError(t, tel.Shutdown(context.Background())) })
	b, err := metadata.NewTelemetryBuilder(tel.NewTelemetrySettings())
	require.NoError(t, err)
	recordAll(t, b)
	for _, i := range want {
		got, err := tel.GetMetric(i.Name)
		require.NoError(t, err, i.Name)
		kind := metadata.Instrument{Name: got.Name, Description: got.Description, Unit: got.Unit, Async: i.Async}
		switch data := got.Data.(type) {
		case metricdata.Sum[int64]:
			kind.Kind, kind.Monotonic = "sum", data.IsMonotonic
		case metricdata.Gauge[int64]:
			kind.Kind = "gauge"
		case metricdata.Histogram[float64]:
			kind.Kind = "histogram"
			assert.Equal(t, d.Telemetry.Metrics[strings.TrimPrefix(i.Name, "otelcol_")].Histogram.Boundaries, data.DataPoints[0].Bounds)
		}
		assert.Equal(t, i, kind)
	}
	b.Shutdown()
	b.Shutdown()
	for _, i := range want {
		if i.Async {
			_, err := tel.GetMetric(i.Name)
			assert.Error(t, err, "%s is not observed any more", i.Name)
		}
	}
}

// TestMetadataEnums compares the values of labels with those of the code.
func TestMetadataEnums(t *testing.T) {
	d := readMetadata(t)
	outcomes := []string{"ok"}
	for _, s := range translate.Skips {
		outcomes = append(outcomes, string(s))
	}
	assert.Equal(t, outcomes, d.Attributes["outcome"].Enum)
	assert.Equal(t, []string{string(listen.TransportTCP), string(listen.TransportHTTP)}, d.Attributes["transport"].Enum)
	assert.Equal(t, []string{"traces", "logs", "metrics"}, d.Attributes["signal"].Enum)
}

// TestDocumentation compares documentation.md and the status table of README.md with metadata.yaml.
func TestDocumentation(t *testing.T) {
	d := readMetadata(t)
	golden(t, "documentation.md", d.documentation())

	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	const begin, end = "<!-- status autogenerated section -->\n", "<!-- end autogenerated section -->\n"
	before, rest, ok := strings.Cut(string(readme), begin)
	require.True(t, ok, "README.md lacks %q", begin)
	_, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "README.md lacks %q", end)
	golden(t, "README.md", before+begin+d.statusTable()+end+after)
}

// golden compares a file with what it must be, or writes it with -update.
func golden(t *testing.T, name, want string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(name, []byte(want), 0o644))
	}
	got, err := os.ReadFile(name)
	require.NoError(t, err)
	assert.Equal(t, want, string(got), "%s is not up to date: go test . -update", name)
}

func (d *description) statusTable() string {
	const stability = "https://github.com/open-telemetry/opentelemetry-collector/blob/main/docs/component-stability.md#"
	var b, links strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n| Status | |\n| ------ | --- |\n", d.DisplayName, strings.TrimSpace(d.Description))
	for i, level := range slices.Sorted(maps.Keys(d.Status.Stability)) {
		title := "Stability"
		if i > 0 {
			title = ""
		}
		fmt.Fprintf(&b, "| %s | [%s]: %s |\n", title, level, strings.Join(d.Status.Stability[level], ", "))
		fmt.Fprintf(&links, "[%s]: %s%s\n", level, stability, level)
	}
	fmt.Fprintf(&b, "| Distributions | [%s] |\n\n", strings.Join(d.Status.Distributions, "], ["))
	for _, name := range d.Status.Distributions {
		fmt.Fprintf(&links, "[%s]: https://github.com/%s\n", name, d.GitHubProject)
	}
	return b.String() + links.String()
}

func (d *description) documentation() string {
	var b strings.Builder
	fmt.Fprintf(&b, "[comment]: <> (Written by go test -update from metadata.yaml. DO NOT EDIT.)\n\n# %s\n\n", d.Type)
	b.WriteString("## Internal Telemetry\n\nThe component tells these metrics of itself, beside the collector's own `otelcol_receiver_accepted_*`,\n" +
		"`_refused_*` and `_failed_*`.\n")
	for _, name := range slices.Sorted(maps.Keys(d.Telemetry.Metrics)) {
		m := d.Telemetry.Metrics[name]
		i := m.instrument(name)
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n", i.Name, m.Description)
		switch {
		case m.Sum != nil:
			b.WriteString("| Unit | Metric Type | Value Type | Monotonic | Stability |\n| ---- | ----------- | ---------- | --------- | --------- |\n")
			fmt.Fprintf(&b, "| %s | Sum | %s | %t | %s |\n", m.Unit, capital(m.Sum.ValueType), m.Sum.Monotonic, capital(m.Stability))
		default:
			kind, values := "Gauge", m.Gauge
			if m.Histogram != nil {
				kind, values = "Histogram", m.Histogram
			}
			b.WriteString("| Unit | Metric Type | Value Type | Stability |\n| ---- | ----------- | ---------- | --------- |\n")
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", m.Unit, kind, capital(values.ValueType), capital(m.Stability))
		}
		if len(m.Attributes) > 0 {
			b.WriteString("\n#### Attributes\n\n| Name | Description | Values |\n| ---- | ----------- | ------ |\n")
		}
		for _, name := range m.Attributes {
			a := d.Attributes[name]
			values := "Any " + capital(strings.Replace(a.Type, "string", "str", 1))
			if len(a.Enum) > 0 {
				values = capital(strings.Replace(a.Type, "string", "str", 1)) + ": ``" + strings.Join(a.Enum, "``, ``") + "``"
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", name, a.Description, values)
		}
	}
	return b.String()
}

// recordAll has every instrument of the builder take a value.
func recordAll(t *testing.T, b *metadata.TelemetryBuilder) {
	v := reflect.ValueOf(b).Elem()
	var n int
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() {
			continue
		}
		n++
		switch instrument := v.Field(i).Interface().(type) {
		case metric.Int64Observable:
			require.NoError(t, b.Observe(instrument, func() int64 { return 1 }))
		case metric.Int64Counter:
			instrument.Add(t.Context(), 1)
		case metric.Float64Histogram:
			instrument.Record(t.Context(), 1)
		default:
			t.Errorf("unexpected instrument %T", instrument)
		}
	}
	assert.Len(t, metadata.Instruments, n)
}
