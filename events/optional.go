package events

import (
	"strconv"
	"strings"
)

// OptInt is an integer that may be absent. Absent is not zero.
type OptInt struct {
	V   int64
	Set bool
}

// Int is a present OptInt.
func Int(v int64) OptInt { return OptInt{V: v, Set: true} }

// OptBool is a flag that may be absent: unknown is neither yes nor no.
type OptBool uint8

// The three values of an OptBool.
const (
	Absent OptBool = iota
	No
	Yes
)

// Bool is a present OptBool.
func Bool(v bool) OptBool {
	if v {
		return Yes
	}
	return No
}

// Decimal is a number in millionths, so that no float takes part in a fold or
// a decision. It holds what providers report: amounts, percentages, ratios.
type Decimal int64

// DecimalUnit is one whole in a Decimal.
const DecimalUnit Decimal = 1_000_000

// OptDecimal is a Decimal that may be absent.
type OptDecimal struct {
	V   Decimal
	Set bool
}

// Dec is a present OptDecimal.
func Dec(v Decimal) OptDecimal { return OptDecimal{V: v, Set: true} }

// ParseDecimal reads a plain or exponent decimal number exactly, rounding
// towards zero beyond six places. NaN, infinities, garbage and numbers beyond
// +-9e12 are refused: R1 lets such a number void the reading it stands in.
func ParseDecimal(s string) (Decimal, bool) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > 64 {
		return 0, false
	}
	mantissa, exp := s, 0
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		e, err := strconv.Atoi(s[i+1:])
		if err != nil || e > 64 || e < -64 {
			return 0, false
		}
		mantissa, exp = s[:i], e
	}
	neg := false
	if mantissa != "" && (mantissa[0] == '-' || mantissa[0] == '+') {
		neg = mantissa[0] == '-'
		mantissa = mantissa[1:]
	}
	whole, frac, _ := strings.Cut(mantissa, ".")
	digits := whole + frac
	if digits == "" {
		return 0, false
	}
	shift := len(whole) + exp + 6 // digits of `digits` that make up the millionths
	var v int64
	for i := 0; i < max(shift, len(digits)); i++ {
		d := byte('0')
		if i < len(digits) {
			d = digits[i]
		}
		if d < '0' || d > '9' {
			return 0, false
		}
		if i >= shift {
			continue
		}
		if v > 9_000_000_000_000_000_000/10-10 {
			return 0, false
		}
		v = v*10 + int64(d-'0')
	}
	if neg {
		v = -v
	}
	return Decimal(v), true
}

// String is the shortest exact decimal form.
func (d Decimal) String() string {
	neg, v := d < 0, uint64(d)
	if neg {
		v = uint64(-d)
	}
	s := strconv.FormatUint(v/1_000_000, 10)
	if frac := v % 1_000_000; frac != 0 {
		s += "." + strings.TrimRight(strconv.FormatUint(1_000_000+frac, 10)[1:], "0")
	}
	if neg {
		s = "-" + s
	}
	return s
}
