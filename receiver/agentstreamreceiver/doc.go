// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Package agentstreamreceiver reads what coding agents write, from files, TCP or HTTP, and emits traces,
// logs and metrics.
package agentstreamreceiver // import "github.com/otelcol-agents/otelcol-agents/receiver/agentstreamreceiver"
