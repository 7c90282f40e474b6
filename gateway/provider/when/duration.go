package when

import "strings"

// unitOf is the table of duration units, in microseconds; ns is below one.
func unitOf(name string) (int64, bool) {
	switch name {
	case "ns":
		return 0, true
	case "us", "µs", "μs":
		return 1, true
	case "ms", "msec", "millisecond", "milliseconds":
		return 1_000, true
	case "s", "sec", "secs", "second", "seconds":
		return 1_000_000, true
	case "m", "min", "mins", "minute", "minutes":
		return 60_000_000, true
	case "h", "hr", "hrs", "hour", "hours":
		return 3_600_000_000, true
	case "d", "day", "days":
		return 86_400_000_000, true
	case "w", "week", "weeks":
		return 604_800_000_000, true
	}
	return 0, false
}

// scanDuration reads "1h26m24s", "0.479s", "1h 2m 3s", "5 minutes and 3
// seconds" from the front of s, in microseconds, saturated. rest begins right
// behind the last unit.
func scanDuration(s string) (us int64, rest string, ok bool) {
	rest = s
	for {
		n, after, isNumber := scanNumber(strings.TrimLeft(rest, " "))
		if !isNumber {
			return us, rest, ok
		}
		unit, after, isUnit := scanUnit(strings.TrimLeft(after, " "))
		if !isUnit {
			return us, rest, ok
		}
		if n.neg {
			return -1, after, true
		}
		us, rest, ok = addSaturated(us, n.times(unit)), after, true
		rest = joiner(rest)
	}
}

// joiner skips "and" or a comma between two parts, only if a number follows.
func joiner(s string) string {
	t := strings.TrimLeft(s, " ")
	t = strings.TrimPrefix(t, ",")
	t = strings.TrimLeft(t, " ")
	t = strings.TrimPrefix(t, "and ")
	if t != "" && t[0] >= '0' && t[0] <= '9' {
		return t
	}
	return s
}

// scanUnit reads a unit's name; it must end where a word ends or a number
// begins.
func scanUnit(s string) (unit int64, rest string, ok bool) {
	i := 0
	for i < len(s) && (s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z' || s[i] >= 0x80) {
		i++
	}
	unit, ok = unitOf(strings.ToLower(s[:i]))
	return unit, s[i:], ok
}

// times is the number of microseconds in n units, saturated.
func (n number) times(unit int64) int64 {
	if unit == 0 {
		return n.whole / 1_000
	}
	if n.whole > saturated/unit-1 {
		return saturated
	}
	// micro < 1e6 and unit <= 6.048e11: the product stays below 2^63.
	return n.whole*unit + n.micro*unit/1_000_000
}

func addSaturated(a, b int64) int64 {
	if a > saturated-b {
		return saturated
	}
	return a + b
}
