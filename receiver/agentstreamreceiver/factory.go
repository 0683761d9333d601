// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package agentstreamreceiver // import "github.com/otelcol-agents/otelcol-agents/receiver/agentstreamreceiver"

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"

	"github.com/otelcol-agents/otelcol-agents/receiver/agentstreamreceiver/internal/metadata"
)

// NewFactory makes the factory of agent_stream. The traces, logs and metrics of one configuration come
// from one instance: it reads its input once.
func NewFactory() receiver.Factory {
	return receiver.NewFactory(
		metadata.Type,
		createDefaultConfig,
		receiver.WithTraces(createTraces, metadata.TracesStability),
		receiver.WithLogs(createLogs, metadata.LogsStability),
		receiver.WithMetrics(createMetrics, metadata.MetricsStability),
	)
}

func createTraces(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Traces) (receiver.Traces, error) {
	return shared.get(cfg.(*Config), set, func(c *consumers) { c.traces = next })
}

func createLogs(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Logs) (receiver.Logs, error) {
	return shared.get(cfg.(*Config), set, func(c *consumers) { c.logs = next })
}

func createMetrics(_ context.Context, set receiver.Settings, cfg component.Config, next consumer.Metrics) (receiver.Metrics, error) {
	return shared.get(cfg.(*Config), set, func(c *consumers) { c.metrics = next })
}
