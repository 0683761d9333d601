// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package agentstreamreceiver

import (
	"flag"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// update writes documentation.md, the status table of README.md and testdata/api.txt anew.
var update = flag.Bool("update", false, "write generated files")

// patience is what tests wait for things that are sure to come, tick how often they look.
const (
	patience = 20 * time.Second
	tick     = 2 * time.Millisecond
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
