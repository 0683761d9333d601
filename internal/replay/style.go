// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/fatih/color"
	"github.com/mattn/go-runewidth"
	"golang.org/x/term"
)

const (
	pipedWidth = 100
	minWidth   = 60
)

// style is how text is written for people: how wide, and in colours or not.
type style struct {
	width                               int
	bold, dim, red, green, yellow, cyan func(string) string
	blue, magenta                       func(string) string
	cells                               *runewidth.Condition
	colours                             bool
}

func newStyle(width int, colours bool) *style {
	paint := func(attrs ...color.Attribute) func(string) string {
		c := color.New(attrs...)
		// The library looks at the process's own standard output; here the caller has decided.
		if colours {
			c.EnableColor()
		} else {
			c.DisableColor()
		}
		return func(s string) string {
			if s == "" {
				return ""
			}
			return c.Sprint(s)
		}
	}
	cells := runewidth.NewCondition()
	cells.EastAsianWidth = false // the environment must not move columns; bars and branches are narrow
	return &style{
		width: max(width, minWidth), colours: colours, cells: cells,
		bold: paint(color.Bold), dim: paint(color.Faint), red: paint(color.FgRed), green: paint(color.FgGreen),
		yellow: paint(color.FgYellow), cyan: paint(color.FgCyan), blue: paint(color.FgBlue), magenta: paint(color.FgMagenta),
	}
}

// styleFor looks at where the text goes.
func styleFor(w io.Writer, getenv func(string) string) *style {
	width := pipedWidth
	tty := isTerminal(w)
	if tty {
		if n, _, err := term.GetSize(int(w.(*os.File).Fd())); err == nil {
			width = n
		}
	}
	if n, err := strconv.Atoi(getenv("COLUMNS")); err == nil && n > 0 {
		width = n
	}
	return newStyle(width, tty && getenv("NO_COLOR") == "" && getenv("TERM") != "dumb")
}

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// fit cuts or fills s to exactly n cells. What is not printable in it becomes a space: names come from
// the input, and an escape sequence in one must not reach the terminal.
func (s *style) fit(text string, n int) string {
	text = printable(text)
	if s.cells.StringWidth(text) > n {
		text = s.cells.Truncate(text, n, "…")
	}
	return s.cells.FillRight(text, n)
}

func (s *style) right(text string, n int) string {
	if s.cells.StringWidth(text) > n {
		text = s.cells.Truncate(text, n, "…")
	}
	return s.cells.FillLeft(text, n)
}

func printable(text string) string {
	return strings.Map(func(r rune) rune {
		// Direction marks and other invisible characters can reorder what is shown around them.
		if r < ' ' || r >= 0x7f && r <= 0x9f || r >= 0x200b && r <= 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2060 && r <= 0x2069 || r == 0xfeff {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// tokens is a count in four or five characters.
func tokens(n int64) string {
	switch {
	case n < 10_000:
		return strconv.FormatInt(n, 10)
	case n < 999_500:
		return trimZero(fmt.Sprintf("%.1f", float64(n)/1e3), "k")
	case n < 999_500_000:
		return trimZero(fmt.Sprintf("%.1f", float64(n)/1e6), "M")
	default:
		return trimZero(fmt.Sprintf("%.1f", float64(n)/1e9), "G")
	}
}

func trimZero(number, unit string) string {
	if len(number) > 4 {
		number = strings.TrimSuffix(number[:len(number)-2], ".")
	}
	return strings.TrimSuffix(number, ".0") + unit
}

// usd is a price with two significant digits below a cent.
func usd(v float64) string {
	switch {
	case v == 0:
		return "$0"
	case v >= 0.01:
		return fmt.Sprintf("$%.2f", v)
	case v >= 0.0001:
		return fmt.Sprintf("$%.4f", v)
	default:
		return "<$0.0001"
	}
}

// span is a duration in at most six characters, days excepted.
func span(ns int64) string {
	d := time.Duration(ns)
	switch {
	case d < 0:
		return "0s"
	case d < time.Microsecond:
		return fmt.Sprintf("%dns", d)
	case d < time.Millisecond:
		return fmt.Sprintf("%dµs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.2fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%dd%02dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
	}
}

// grouped writes a number with its thousands apart.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func plural(n int64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return grouped(n) + " " + one + "s"
}
