package when

import (
	"net/http"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
)

// Limit is R19's: a longer duration is the ceiling of its rule, an instant
// further away is absent.
const Limit = 400 * 24 * time.Hour

// maxText bounds what is looked at: no provider states a time in more.
const maxText = 64

// Kind says what a stated time amounts to.
type Kind uint8

const (
	// Absent: not stated, not readable, negative, or an instant over 400 days
	// away.
	Absent Kind = iota
	// Minimum: zero or in the past. The rule that asked takes its minimum; At
	// is the instant of the answer.
	Minimum
	// Future: At is the instant.
	Future
	// Ceiling: a duration over 400 days. At is 400 days ahead, and the rule
	// that asked takes its ceiling.
	Ceiling
)

// Reset is a stated time, read.
type Reset struct {
	Kind Kind
	At   events.Time
	Past events.Time // the instant as stated, where Kind is Minimum and one was
}

// Unit is what a bare number counts, where the source declares it.
type Unit uint8

const (
	// Auto decides by magnitude: below 1e9 seconds from the answer, above an
	// instant in s, ms or us.
	Auto Unit = iota
	// Seconds from the answer, as in Retry-After. A number of 1e9 and more that
	// makes an instant within 400 days is one (some shims send it), else it is
	// what it says: longer than any rule's ceiling.
	Seconds
	// Millis from the answer, as in retry-after-ms.
	Millis
)

// Clock is what relative times count from.
type Clock struct {
	At   events.Time    // when the answer came
	Date events.Time    // the answer's own Date header, 0 when it has none
	Zone *time.Location // of times that name no zone; nil is UTC
}

// Parse reads a whole value. Spaces around it do not matter.
func (c Clock) Parse(s string, u Unit) Reset {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > maxText {
		return Reset{}
	}
	if n, rest, ok := scanNumber(s); ok && rest == "" {
		return c.number(n, u)
	}
	if d, rest, ok := scanDuration(s); ok && rest == "" {
		return c.duration(d)
	}
	if t, rest, ok := scanInstant(s, c.Zone); ok && rest == "" {
		return c.instant(t)
	}
	return c.httpDate(s)
}

// Header reads a header that may stand several times or hold a list: the
// latest of the readable values counts, since a deadline only moves by max.
func (c Clock) Header(h http.Header, name string, u Unit) (Reset, string) {
	var best Reset
	var value string
	for _, v := range h.Values(name) {
		r := c.Parse(v, u)
		if r.Kind == Absent && strings.Contains(v, ",") && len(v) <= maxText {
			r = c.list(v, u)
		}
		if r.Kind > best.Kind || r.Kind == best.Kind && r.At > best.At {
			best, value = r, strings.TrimSpace(v)
		}
	}
	return best, value
}

// list reads "2, 3", two headers folded into one; one bad member voids it.
func (c Clock) list(v string, u Unit) Reset {
	var best Reset
	for part := range strings.SplitSeq(v, ",") {
		r := c.Parse(part, u)
		if r.Kind == Absent {
			return Reset{}
		}
		if r.Kind > best.Kind || r.Kind == best.Kind && r.At > best.At {
			best = r
		}
	}
	return best
}

// Prose reads the time that text begins with: an instant, or a duration with
// units. A bare number in prose is none. The text read is returned too.
func (c Clock) Prose(s string) (Reset, string) {
	s = strings.TrimLeft(s, " \t\r\n:=~\"'`([*")
	for _, filler := range []string{"at ", "in ", "on ", "about ", "approximately ", "after "} {
		if len(s) > len(filler) && strings.EqualFold(s[:len(filler)], filler) {
			s = s[len(filler):]
		}
	}
	window := s[:min(len(s), maxText)]
	if t, rest, ok := scanInstant(window, c.Zone); ok {
		return c.instant(t), window[:len(window)-len(rest)]
	}
	if d, rest, ok := scanDuration(window); ok {
		return c.duration(d), strings.TrimSpace(window[:len(window)-len(rest)])
	}
	return Reset{}, ""
}

// number reads a bare number.
func (c Clock) number(n number, u Unit) Reset {
	if n.negative() {
		return Reset{}
	}
	switch {
	case u == Millis:
		return c.duration(n.scaled(1_000))
	case n.whole < instantFrom:
		return c.duration(n.scaled(1_000_000))
	}
	r := Reset{}
	if us, ok := n.epoch(); ok {
		r = c.instant(events.Time(us))
	}
	if r.Kind == Absent && u == Seconds {
		return Reset{Kind: Ceiling, At: c.At.Add(Limit)}
	}
	return r
}

// duration applies R19 to microseconds from the answer.
func (c Clock) duration(us int64) Reset {
	switch {
	case us < 0:
		return Reset{}
	case us == 0:
		return Reset{Kind: Minimum, At: c.At}
	case us > Limit.Microseconds():
		return Reset{Kind: Ceiling, At: c.At.Add(Limit)}
	}
	return Reset{Kind: Future, At: c.At + events.Time(us)}
}

// instant applies R19 to an instant.
func (c Clock) instant(t events.Time) Reset {
	switch d := t.Sub(c.At); {
	case t <= 0 || d > Limit:
		return Reset{}
	case d <= 0:
		return Reset{Kind: Minimum, At: c.At, Past: t}
	}
	return Reset{Kind: Future, At: t}
}

// httpDate reads an HTTP date. Where the answer has a Date of its own the
// distance between the two counts, whatever our clock says (B112).
func (c Clock) httpDate(s string) Reset {
	t, err := http.ParseTime(s)
	if err != nil {
		return Reset{}
	}
	at := events.At(t)
	if c.Date != 0 {
		at = c.At.Add(at.Sub(c.Date))
	}
	return c.instant(at)
}

// DateOf is a Date header, 0 when there is none that can be read.
func DateOf(h http.Header) events.Time {
	t, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	return events.At(t)
}
