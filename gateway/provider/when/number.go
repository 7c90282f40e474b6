package when

import "strings"

// number is a decimal number as read: no float touches a deadline.
type number struct {
	neg   bool
	whole int64 // saturated
	micro int64 // millionths of the fraction, 0 to 999999
}

// The one table of magnitudes (B007: two thresholds disagreed elsewhere).
const (
	saturated   = int64(1<<63 - 1)
	instantFrom = int64(1e9)  // smaller numbers are durations
	millisFrom  = int64(1e11) // seconds below: the year 5138
	microsFrom  = int64(1e14)
	nanosFrom   = int64(1e17) // and beyond: no unit that anybody sends
)

func (n number) negative() bool { return n.neg && (n.whole != 0 || n.micro != 0) }

// scaled multiplies by per (a divisor of 1e6), saturating.
func (n number) scaled(per int64) int64 {
	if n.whole > saturated/per-1 {
		return saturated
	}
	return n.whole*per + n.micro/(1_000_000/per)
}

// epoch reads the number as an instant, in microseconds.
func (n number) epoch() (int64, bool) {
	switch {
	case n.whole < millisFrom:
		return n.whole*1_000_000 + n.micro, true
	case n.whole < microsFrom:
		return n.whole*1_000 + n.micro/1_000, true
	case n.whole < nanosFrom:
		return n.whole, true
	}
	return 0, false
}

// scanNumber reads a decimal number with an optional sign, fraction and
// exponent from the front of s.
func scanNumber(s string) (n number, rest string, ok bool) {
	i := 0
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		n.neg = s[i] == '-'
		i++
	}
	whole, i := digits(s, i)
	frac := ""
	if i < len(s) && s[i] == '.' {
		if f, j := digits(s, i+1); f != "" {
			frac, i = f, j
		}
	}
	if whole == "" && frac == "" {
		return number{}, s, false
	}
	exp, i := exponent(s, i)
	n.set(whole, frac, exp)
	return n, s[i:], true
}

func digits(s string, from int) (string, int) {
	i := from
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return s[from:i], i
}

// exponent reads "e3"; its size is bounded, since beyond it every number is
// zero or saturated.
func exponent(s string, from int) (int, int) {
	if from >= len(s) || s[from] != 'e' && s[from] != 'E' {
		return 0, from
	}
	i, neg := from+1, false
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		neg = s[i] == '-'
		i++
	}
	d, end := digits(s, i)
	if d == "" {
		return 0, from
	}
	v := 0
	for _, c := range []byte(d) {
		v = min(v*10+int(c-'0'), 1000)
	}
	if neg {
		v = -v
	}
	return v, end
}

// set places the decimal point and saturates.
func (n *number) set(whole, frac string, exp int) {
	all := whole + frac
	point := len(whole) + exp
	if strings.Trim(all, "0") == "" {
		return
	}
	for i := range max(point, 0) {
		d := int64(0)
		if i < len(all) {
			d = int64(all[i] - '0')
		}
		if n.whole > (saturated-9)/10 {
			n.whole = saturated
			return
		}
		n.whole = n.whole*10 + d
	}
	for i := range 6 {
		n.micro *= 10
		if at := point + i; at >= 0 && at < len(all) {
			n.micro += int64(all[at] - '0')
		}
	}
}
