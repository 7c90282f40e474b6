package story

import (
	"fmt"
	"time"

	"github.com/waybill/waybill/events"
)

// instant is a time for people, as seen from a reference: the clock alone on
// the same day, else the day too, and the year where it is another.
func instant(t, ref events.Time) string {
	if t == 0 {
		return "an unknown time"
	}
	at, from := t.Std(), ref.Std()
	switch {
	case ref != 0 && at.Year() == from.Year() && at.YearDay() == from.YearDay():
		return at.Format("15:04:05")
	case ref != 0 && at.Year() == from.Year():
		return at.Format("Mon 2 Jan 15:04 UTC")
	}
	return at.Format("Mon 2 Jan 2006 15:04 UTC")
}

// full is a time with its day, for the first line of a story.
func full(t events.Time) string { return t.Std().Format("Mon 2 Jan 2006 15:04:05 UTC") }

// Span is a duration for people: two units at most.
func Span(d time.Duration) string {
	if d < 0 {
		d = -d
	}
	switch {
	case d < time.Millisecond:
		return "less than 1 ms"
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%d.%d s", int(d/time.Second), int(d%time.Second/(100*time.Millisecond)))
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d/time.Second))
	case d < time.Hour:
		return units(d, time.Minute, "min", time.Second, "s", 10*time.Minute)
	case d < 48*time.Hour:
		return units(d, time.Hour, "h", time.Minute, "min", 24*time.Hour)
	}
	return units(d, 24*time.Hour, "days", time.Hour, "h", 14*24*time.Hour)
}

// Took is a number of milliseconds for a table.
func Took(ms int64) string {
	if ms == 0 {
		return "< 1 ms"
	}
	return Span(time.Duration(ms) * time.Millisecond)
}

// Count is a number of things for people: "1 event", "2 events".
func Count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// Bytes is a number of them for people, in the largest unit that it fills.
func Bytes(n int64) string {
	const units = "KMGTP"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, i := float64(n)/1024, 0
	for ; v >= 1024 && i < len(units)-1; i++ {
		v /= 1024
	}
	return fmt.Sprintf("%.1f %ciB", v, units[i])
}

// units leaves the smaller unit away where it is zero or does not matter.
func units(d, big time.Duration, bigName string, small time.Duration, smallName string, coarse time.Duration) string {
	n, rest := d/big, d%big/small
	if rest == 0 || d >= coarse {
		return fmt.Sprintf("%d %s", n, bigName)
	}
	return fmt.Sprintf("%d %s %d %s", n, bigName, rest, smallName)
}

// age says how long before (or, clocks being what they are, after) a reference
// something was.
func age(t, ref events.Time, word string) string {
	switch d := ref.Sub(t); {
	case d < 0:
		return Span(d) + " after"
	case d < time.Millisecond:
		return "at that moment"
	default:
		return Span(d) + " " + word
	}
}
