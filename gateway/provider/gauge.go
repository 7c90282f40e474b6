package provider

import (
	"fmt"
	"math/bits"
	"net/http"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider/tree"
	"github.com/waybill/waybill/gateway/provider/when"
)

// Gauge builds a reading and remembers whether anything in it was malformed: a
// number that is stated but is none voids the whole reading (R1), since the
// rest of such an answer cannot be trusted either.
//
// What counts as a *reported* remaining: a remaining percentage, a used
// percentage, or used and limit together (a console that says 40000 of 40000
// reports that nothing remains). Anything that stands for "unknown" (null, an
// absent member, a sentinel, a placeholder) reports nothing.
type Gauge struct {
	At     events.Time
	Header http.Header
	bad    string
}

// Void marks the reading as malformed.
func (g *Gauge) Void(what string) {
	if g.bad == "" {
		g.bad = what
	}
}

// Err is nil, or ErrVoid with what was malformed.
func (g *Gauge) Err() error {
	if g.bad == "" {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrVoid, g.bad)
}

// Number reads a number or a string that is one; null and absent are absent.
func (g *Gauge) Number(n tree.Node) events.OptDecimal {
	d, ok, stated := n.Decimal()
	if stated && !ok {
		g.Void(fmt.Sprintf("%.40q is no number", n.Text()))
	}
	return events.OptDecimal{V: d, Set: ok}
}

// Text reads the number in a header or string; "" is absent.
func (g *Gauge) Text(s string) events.OptDecimal {
	if s == "" {
		return events.OptDecimal{}
	}
	d, ok := events.ParseDecimal(s)
	if !ok {
		g.Void(fmt.Sprintf("%.40q is no number", s))
	}
	return events.OptDecimal{V: d, Set: ok}
}

// Percent turns a ratio of 0 to 1 into a percentage.
func Percent(ratio events.OptDecimal) events.OptDecimal {
	ratio.V *= 100
	return ratio
}

// Time reads an instant or a duration; absent when it is not usable. An
// instant in the past is kept: it is the provider's own word.
func (g *Gauge) Time(s string) events.Time {
	r := when.Clock{At: g.At}.Parse(s, when.Auto)
	if r.Past != 0 {
		return r.Past
	}
	return r.At
}

// Share is part of whole as a percentage, exact to a millionth and rounded
// towards zero; 0 when there is no whole.
func Share(part, whole events.Decimal) events.Decimal {
	if whole <= 0 {
		return 0
	}
	size := uint64(part)
	if part < 0 {
		size = -size
	}
	hi, lo := bits.Mul64(size, uint64(100*events.DecimalUnit))
	const most = uint64(1<<63 - 1)
	q := most
	if hi < uint64(whole) {
		q, _ = bits.Div64(hi, lo, uint64(whole))
	}
	d := events.Decimal(min(q, most))
	if part < 0 {
		return -d
	}
	return d
}

// Reading is the in-band reading of these windows, nil when there is nothing
// to read or a number was malformed. A window of a model that is not known
// gates nothing.
func (g *Gauge) Reading(windows []events.Window) *events.Reading {
	if g.bad != "" || len(windows) == 0 {
		return nil
	}
	for i := range windows {
		s := &windows[i].Scope
		if s.Name == "" && (s.Kind == events.ScopeModel || s.Kind == events.ScopeFamily) {
			*s = events.Scope{Kind: events.ScopeNone}
		}
	}
	return &events.Reading{Source: "headers", Windows: windows}
}
