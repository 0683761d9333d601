// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package metadata is what metadata.yaml says, as Go.
package metadata // import "github.com/otelcol-agents/otelcol-agents/receiver/agentstreamreceiver/internal/metadata"

import "go.opentelemetry.io/collector/component"

// Type is the component's type.
var Type = component.MustNewType("agent_stream")

// ScopeName is the instrumentation scope of the receiver's own telemetry.
const ScopeName = "github.com/otelcol-agents/otelcol-agents/receiver/agentstreamreceiver"

// Stability of the signals.
const (
	TracesStability  = component.StabilityLevelAlpha
	LogsStability    = component.StabilityLevelAlpha
	MetricsStability = component.StabilityLevelAlpha
)
