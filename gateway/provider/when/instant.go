package when

import (
	"strings"
	"time"

	"github.com/waybill/waybill/events"
)

// scanInstant reads a date with an optional time and zone from the front of s:
// RFC 3339, "2026-11-30 10:30:00", "2026-12-01 at 00:00 UTC", "2026-12-01".
// A time that names no zone stands in zone, nil is UTC.
func scanInstant(s string, zone *time.Location) (events.Time, string, bool) {
	var d [3]int
	rest, ok := fields(s, []int{4, 2, 2}, '-', d[:])
	if !ok {
		return 0, s, false
	}
	var clock [3]int
	micro := int64(0)
	loc := zone
	if loc == nil {
		loc = time.UTC
	}
	if after, ok := scanClock(rest, clock[:], &micro); ok {
		rest = after
		if l, after, ok := scanZone(rest); ok {
			loc, rest = l, after
		}
	}
	if clock[0] > 24 || clock[1] > 59 || clock[2] > 60 || d[1] < 1 || d[1] > 12 || d[2] < 1 || d[2] > 31 {
		return 0, s, false
	}
	t := time.Date(d[0], time.Month(d[1]), d[2], clock[0], clock[1], clock[2], 0, loc)
	if day := time.Date(d[0], time.Month(d[1]), d[2], 0, 0, 0, 0, loc); day.Month() != time.Month(d[1]) || t.Year() < 1971 {
		return 0, s, false
	}
	return events.At(t) + events.Time(micro), rest, true
}

// scanClock reads "T10:30:00.25", " 10:30:00", " at 10:30".
func scanClock(s string, out []int, micro *int64) (string, bool) {
	t := s
	switch {
	case t == "":
		return s, false
	case t[0] == 'T' || t[0] == 't' || t[0] == '_':
		t = t[1:]
	case strings.HasPrefix(t, " at "):
		t = t[4:]
	case t[0] == ' ':
		t = t[1:]
	default:
		return s, false
	}
	rest, ok := fields(t, []int{2, 2}, ':', out[:2])
	if !ok {
		return s, false
	}
	if after, ok := fields(strings.TrimPrefix(rest, ":"), []int{2}, 0, out[2:3]); ok && strings.HasPrefix(rest, ":") {
		rest = after
	}
	if len(rest) > 1 && (rest[0] == '.' || rest[0] == ',') {
		if frac, i := digits(rest, 1); frac != "" {
			var n number
			n.set("", frac, 0)
			*micro, rest = n.micro, rest[i:]
		}
	}
	return rest, true
}

// scanZone reads Z, an offset, UTC or GMT.
func scanZone(s string) (*time.Location, string, bool) {
	t := strings.TrimPrefix(s, " ")
	if len(t) >= 3 && (strings.EqualFold(t[:3], "UTC") || strings.EqualFold(t[:3], "GMT")) {
		return time.UTC, t[3:], true
	}
	if t == "" {
		return nil, s, false
	}
	switch t[0] {
	case 'Z', 'z':
		return time.UTC, t[1:], true
	case '+', '-':
	default:
		return nil, s, false
	}
	var hm [2]int
	rest, ok := fields(t[1:], []int{2, 2}, ':', hm[:])
	if !ok {
		rest, ok = fields(t[1:], []int{2, 2}, 0, hm[:])
	}
	if !ok || hm[0] > 23 || hm[1] > 59 {
		return nil, s, false
	}
	off := (hm[0]*60 + hm[1]) * 60
	if t[0] == '-' {
		off = -off
	}
	return time.FixedZone("", off), rest, true
}

// fields reads digit groups of exact widths, separated by sep (0: nothing).
func fields(s string, widths []int, sep byte, out []int) (string, bool) {
	for i, w := range widths {
		if i > 0 && sep != 0 {
			if s == "" || s[0] != sep {
				return s, false
			}
			s = s[1:]
		}
		if len(s) < w {
			return s, false
		}
		out[i] = 0
		for _, c := range []byte(s[:w]) {
			if c < '0' || c > '9' {
				return s, false
			}
			out[i] = out[i]*10 + int(c-'0')
		}
		s = s[w:]
	}
	return s, true
}
