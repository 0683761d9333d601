// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

// Command otelcol-agents is the distribution: a collector for the telemetry of coding agents, and the
// command replay.
package main

import (
	"fmt"
	"os"

	"github.com/otelcol-agents/otelcol-agents/internal/replay"
)

const help = `usage: otelcol-agents replay [flags] FILE|DIR|-...

replay reads agent JSONL once, prints each session as a tree and sends it to an OTLP/HTTP endpoint;
see otelcol-agents replay --help. The collector comes with a later release.
`

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) > 0 {
		switch args[0] {
		case "replay":
			return replay.Process("otelcol-agents replay", args[1:])
		case "--help", "-h", "help":
			fmt.Print(help)
			return replay.ExitOK
		case "--version", "-v":
			fmt.Println("otelcol-agents", replay.Version())
			return replay.ExitOK
		}
	}
	fmt.Fprintln(os.Stderr, "otelcol-agents: the collector comes with a later release; this one has the command replay, see otelcol-agents --help")
	return replay.ExitUnusable
}
