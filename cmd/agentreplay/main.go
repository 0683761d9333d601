// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Command agentreplay reads the JSONL of coding agents once, prints each session as a tree and sends
// traces, logs and metrics to an OTLP/HTTP endpoint.
package main

import (
	"os"

	"github.com/otelcol-agents/otelcol-agents/internal/replay"
)

func main() {
	os.Exit(replay.Process("agentreplay", os.Args[1:]))
}
