// Copyright The otelcol-agents Authors
// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"math"
	"math/bits"
)

// fixed is a sum of doubles in units of 2^-80, 48 bits before the point. Additions of doubles depend on
// their order in the last bits; these do not. A value from 2^-28 up is held exactly, a smaller one
// within 2^-81, so a sum of a billion costs is right to far below 1e-9. The largest value stays.
type fixed struct{ hi, lo uint64 }

const (
	fixedBits  = 80
	fixedLimit = 1 << 47 // of one addend
)

// toFixed is v, which must not be negative or NaN; what exceeds fixedLimit counts as fixedLimit.
func toFixed(v float64) fixed {
	frac, exp := math.Frexp(min(v, fixedLimit))
	mant := uint64(math.Ldexp(frac, 53))
	switch shift := exp - 53 + fixedBits; {
	case shift >= 64:
		return fixed{hi: mant << (shift - 64)}
	case shift >= 0:
		return fixed{hi: mant >> (64 - shift), lo: mant << shift}
	case shift > -54:
		return fixed{lo: (mant + 1<<(-shift-1)) >> -shift}
	}
	return fixed{}
}

func (a fixed) plus(b fixed) fixed {
	lo, carry := bits.Add64(a.lo, b.lo, 0)
	hi, carry := bits.Add64(a.hi, b.hi, carry)
	if carry != 0 {
		return fixed{math.MaxUint64, math.MaxUint64}
	}
	return fixed{hi, lo}
}

// minus is a-b for b <= a.
func (a fixed) minus(b fixed) fixed {
	lo, borrow := bits.Sub64(a.lo, b.lo, 0)
	hi, _ := bits.Sub64(a.hi, b.hi, borrow)
	return fixed{hi, lo}
}

func (a fixed) float() float64 {
	return math.Ldexp(float64(a.hi), 64-fixedBits) + math.Ldexp(float64(a.lo), -fixedBits)
}
