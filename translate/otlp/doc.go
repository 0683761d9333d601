// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package otlp turns outputs into OpenTelemetry's data model: spans, log records and metrics.
//
// A Builder is a function of its outputs: the same outputs give the same bytes. Totals add up the steps
// of metrics and show them as series. Every attribute, event and metric name stands in names.go, from
// whose tables docs/telemetry.md is generated (go test ./translate/otlp -update).
//
// Nothing here knows a transport; the package must not reach gRPC through its imports.
package otlp
