// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	docsFile = "../../docs/telemetry.md"
	// Above this line the document is written by hand, below it by TestDocs.
	docsMarker = "<!-- Generated below this line: go test ./translate/otlp -update -->\n"
)

// TestDocs holds docs/telemetry.md against the tables of names.go.
func TestDocs(t *testing.T) {
	raw, err := os.ReadFile(docsFile)
	require.NoError(t, err)
	head, tail, ok := strings.Cut(string(raw), docsMarker)
	require.True(t, ok, "%s lacks the line %q", docsFile, docsMarker)
	want := docs()
	if *update && tail != want {
		require.NoError(t, os.WriteFile(docsFile, []byte(head+docsMarker+want), 0o644))
		tail = want
	}
	assert.Equal(t, want, tail, "run go test ./translate/otlp -update")
}

func docs() string {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("\n## Identification\n")
	p("Instrumentation scope of all signals: `%s`.", ScopeName)
	p("Schema URL of spans and logs: `%s`; metrics have none and the constant scope version `%s`,", SchemaURL, metricsScopeVersion)
	p("since the Prometheus exporter puts both into every series. GenAI names follow the conventions as of %s.", conventionsDate)
	p("")
	table(p, resourceTable, "##", false)
	p("## Spans\n")
	for _, t := range spanTables {
		table(p, t, "###", true)
	}
	p("## Logs\n")
	p("One log record per normalized event. The event name stands in the field `EventName` and in the attribute `%s`.\n", attrEventName)
	p("| event name | severity | meaning |\n|---|---|---|")
	for _, e := range eventTable {
		p("| `%s%s` | %s | %s |", eventPrefix, e.name, e.severity, e.meaning)
	}
	p("")
	table(p, logTable, "###", true)
	p("## Metrics\n")
	p("| metric | Prometheus | type | unit | labels | meaning |\n|---|---|---|---|---|---|")
	for i := range instruments {
		in := &instruments[i]
		var labels []string
		for _, l := range in.labels {
			labels = append(labels, "`"+labelTable[l].key+"`")
		}
		p("| `%s` | `%s` | %s | `%s` | %s | %s |", in.name, prometheusName(in), typeName(in), in.unit, strings.Join(labels, ", "), in.about)
	}
	p("\nPrometheus names are those of the `prometheus` exporter with suffixes on; a histogram adds `_bucket`, `_sum` and `_count`.")
	p("Dots of labels become underscores.\n")
	p("### Labels\n")
	p("A label whose value is not known is left out, except the model.\n")
	p("| label | value |\n|---|---|")
	for _, l := range labelTable {
		p("| `%s` | %s |", l.key, l.meaning)
	}
	p("\n### Buckets\n")
	p("Upper bounds, inclusive.\n")
	p("| metric | bounds |\n|---|---|")
	for _, in := range instruments {
		if in.kind != histogram {
			continue
		}
		var bounds []string
		for _, v := range in.buckets {
			bounds = append(bounds, strconv.FormatFloat(v, 'f', -1, 64))
		}
		p("| `%s` | %s |", in.name, strings.Join(bounds, ", "))
	}
	return b.String()
}

func table(p func(string, ...any), t attributeTable, level string, capture bool) {
	p("%s %s\n", level, t.title)
	p("%s\n", t.about)
	if capture {
		p("| attribute | type | unit | only under `capture` | meaning |\n|---|---|---|---|---|")
	} else {
		p("| attribute | type | unit | meaning |\n|---|---|---|---|")
	}
	for _, a := range t.rows {
		row := fmt.Sprintf("| `%s` | %s | %s |", a.key, a.typ, code(a.unit))
		if capture {
			row += " " + code(a.capture) + " |"
		}
		p("%s %s |", row, a.meaning)
	}
	p("")
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(s, ", ", "`, `") + "`"
}

func typeName(in *instrument) string {
	switch {
	case in.kind == gauge:
		return "gauge"
	case in.kind == histogram:
		return "histogram"
	case in.kind == balance:
		return "sum, not monotonic, int"
	case in.float:
		return "sum, double"
	}
	return "sum, int"
}

// prometheusName applies the exporter's rules: units in braces say nothing, s becomes _seconds, a
// monotonic sum ends in _total, and a gauge of unit 1 is a ratio.
func prometheusName(in *instrument) string {
	name := strings.ReplaceAll(in.name, ".", "_")
	switch {
	case in.unit == "s":
		name += "_seconds"
	case in.unit == "1" && in.kind == gauge:
		name += "_ratio"
	}
	if in.kind == counter {
		name += "_total"
	}
	return name
}
