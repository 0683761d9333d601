// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"strconv"
	"time"

	"github.com/otelcol-agents/otelcol-agents/translate/jsontok"
)

// minTime is the earliest time that is believed (telemetry contract, section 6).
var minTime = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano()

// layouts of times; the last has no offset and is read as UTC.
var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04:05.999999999"}

// Time reads a time in any notation: ISO with an offset, epoch seconds or milliseconds, as a number or
// as a string of digits.
func (d *Base) Time(v jsontok.Value) (int64, bool) {
	var t int64
	var ok bool
	switch v.Kind() {
	case jsontok.Number:
		t, ok = epoch(string(v))
	case jsontok.String:
		s, plain := v.Plain()
		if !plain || len(s) > 64 {
			return 0, false
		}
		if len(s) > 4 && s[4] == '-' {
			t, ok = iso(string(s))
		} else {
			t, ok = epoch(string(s))
		}
	}
	if !ok || t < minTime || d.Opt.MaxTime > 0 && t > d.Opt.MaxTime {
		return 0, false
	}
	return t, true
}

func iso(s string) (int64, bool) {
	for _, layout := range layouts {
		t, err := time.Parse(layout, s)
		if err != nil {
			continue
		}
		// UnixNano wraps around outside of 1678 to 2262.
		if y := t.Year(); y < 2000 || y > 2200 {
			return 0, false
		}
		return t.UnixNano(), true
	}
	return 0, false
}

// epoch tells seconds from milliseconds by their size: the seconds of the year 5138 are the
// milliseconds of 1973.
func epoch(s string) (int64, bool) {
	if s == "" || s[0] < '0' || s[0] > '9' {
		return 0, false
	}
	const split, limit = 1e11, 7e12
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		switch {
		case n < 7e9:
			return n * int64(time.Second), true
		case n > split && n < limit:
			return n * int64(time.Millisecond), true
		}
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, false
	}
	// Whole microseconds: what a float of this size can carry.
	switch {
	case f >= 0 && f < 7e9:
		return int64(f*1e6+0.5) * int64(time.Microsecond), true
	case f > split && f < limit:
		return int64(f*1e3+0.5) * int64(time.Microsecond), true
	}
	return 0, false
}

// Millis is a duration that is given in milliseconds, in nanoseconds. Negative and absurd ones are
// missing.
func Millis(v jsontok.Value) (int64, bool) {
	f, ok := v.Float()
	if !ok || f < 0 || f > 1e12 {
		return 0, false
	}
	return int64(f*1e6 + 0.5), true
}
