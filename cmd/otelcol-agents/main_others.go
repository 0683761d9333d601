// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package main

import "go.opentelemetry.io/collector/otelcol"

func run(set otelcol.CollectorSettings, unusable error) error { return runInteractive(set, unusable) }
