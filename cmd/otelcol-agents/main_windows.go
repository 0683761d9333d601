// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

//go:build windows

package main

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/collector/otelcol"
	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/svc"
)

// run runs as a service when the service manager started the process, else as any command.
func run(set otelcol.CollectorSettings, unusable error) error {
	err := svc.Run("", otelcol.NewSvcHandler(set))
	switch {
	case errors.Is(err, windows.ERROR_FAILED_SERVICE_CONTROLLER_CONNECT):
		return runInteractive(set, unusable)
	case err != nil:
		return fmt.Errorf("start as a service: %w", err)
	}
	return nil
}
