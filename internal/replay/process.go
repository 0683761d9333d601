// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// Process runs Main as the process itself. The first SIGINT, SIGTERM or SIGHUP (a closed terminal) ends the
// reading in good order, the second one the process.
func Process(program string, args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// Once the handler is gone a signal does what it does to any process.
	context.AfterFunc(ctx, stop)
	return Main(ctx, args, os.Stdin, os.Stdout, os.Stderr, Env{Program: program, Version: Version()})
}

// Version is that of the module the command was built from.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
