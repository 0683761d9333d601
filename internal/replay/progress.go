// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

const progressFrom = 8 << 20 // bytes of input from which a bar is worth its flicker

// progress shows how far reading is. The nil progress shows nothing.
type progress struct{ bar *progressbar.ProgressBar }

// newProgress decides whether there is a bar: as the flag says, else on a terminal and for large inputs.
func newProgress(s *settings, inputs []input, stderr io.Writer) *progress {
	var size int64
	live := false
	for _, in := range inputs {
		size += in.size
		live = live || in.live
	}
	if s.progress == "off" || s.progress == "auto" && (!isTerminal(stderr) || size < progressFrom || live) {
		return nil
	}
	if live {
		size = -1
	}
	return &progress{progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(stderr),
		progressbar.OptionSetDescription("reading"),
		progressbar.OptionShowBytes(true),
		progressbar.OptionUseIECUnits(true),
		progressbar.OptionSetWidth(24),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetRenderBlankState(true),
		progressbar.OptionSetPredictTime(true),
		// A spinner of unknown length would run on a goroutine of its own.
		progressbar.OptionSetSpinnerChangeInterval(0),
	)}
}

func (p *progress) add(n int64) {
	if p != nil {
		_ = p.bar.Add64(n)
	}
}

// clear takes the bar off the terminal, for a line of output in its place.
func (p *progress) clear() {
	if p != nil {
		_ = p.bar.Clear()
	}
}

func (p *progress) finish() {
	if p != nil {
		_ = p.bar.Finish()
	}
}
