package quota

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/tree"
)

// ErrReading: the pushed document is not a reading. The text says what to mend.
var ErrReading = errors.New("not a reading")

// Bounds of one reading.
const (
	maxWindows = 64
	maxModels  = 256
	maxName    = 128
)

// Push reads the contract's JSON (POST /accounts/{id}/readings). The instant is
// the document's observed_at, or now; it is never later than now (R19). A
// number that is none voids the whole reading with provider.ErrVoid.
func Push(body []byte, now events.Time) (*events.Reading, events.Time, error) {
	doc, ok := tree.Parse(body)
	if !ok || !doc.IsObject() {
		return nil, 0, fmt.Errorf("%w: want one JSON object with windows, credit or billing", ErrReading)
	}
	g := &gauge{Gauge: provider.Gauge{At: now}}
	g.only(doc, "the reading", "source", "observed_at", "coverage", "windows", "credit", "billing")
	at := g.observed(doc.Get("observed_at"), now)
	g.At = at
	r := &events.Reading{Source: doc.Get("source").Text()}
	if r.Source == "" {
		r.Source = "push"
	}
	for _, n := range doc.Get("coverage").Items() {
		r.Coverage = append(r.Coverage, n.Text())
	}
	for _, n := range doc.Get("windows").Items() {
		r.Windows = append(r.Windows, g.window(n))
	}
	r.Credit = g.credit(doc.Get("credit"))
	r.Billing = g.billing(doc.Get("billing"))
	if len(r.Windows) == 0 && len(r.Coverage) == 0 && r.Credit == nil && r.Billing == nil {
		g.refuse("it tells nothing: want windows, credit or billing")
	}
	g.bound(r)
	if err := g.err(); err != nil {
		return nil, 0, err
	}
	return r, at, nil
}

// gauge is a provider.Gauge with errors of shape, which are the sender's to
// mend, besides malformed numbers, which void.
type gauge struct {
	provider.Gauge
	shape string
}

func (g *gauge) refuse(format string, args ...any) {
	if g.shape == "" {
		g.shape = fmt.Sprintf(format, args...)
	}
}

// only refuses members that the shape does not have: a misspelt one would be a
// number that nobody sees missing.
func (g *gauge) only(n tree.Node, what string, known ...string) {
	for _, key := range n.Keys() {
		if !slices.Contains(known, key) {
			g.refuse("%s has no member %q; it takes %s", what, key, strings.Join(known, ", "))
		}
	}
}

func (g *gauge) err() error {
	if g.shape != "" {
		return fmt.Errorf("%w: %s", ErrReading, g.shape)
	}
	return g.Err()
}

func (g *gauge) observed(n tree.Node, now events.Time) events.Time {
	if !n.Exists() || n.IsNull() {
		return now
	}
	t, err := time.Parse(time.RFC3339Nano, n.Text())
	if err != nil {
		g.refuse("observed_at: want RFC 3339, for example 2026-11-30T14:03:00Z")
		return now
	}
	return min(events.At(t), now)
}

func (g *gauge) bound(r *events.Reading) {
	switch {
	case len(r.Windows) > maxWindows:
		g.refuse("windows: at most %d", maxWindows)
	case r.Credit != nil && len(r.Credit.Models) > maxModels:
		g.refuse("credit.models: at most %d", maxModels)
	case len(r.Source) > maxName:
		g.refuse("source: at most %d bytes", maxName)
	}
}

// window reads one window of the contract's shape.
func (g *gauge) window(n tree.Node) events.Window {
	g.only(n, "a window", "name", "scope", "length_s", "used", "limit", "used_percent", "remaining_percent", "reached", "resets_at", "reported")
	w := events.Window{Name: n.Get("name").Text()}
	if w.Name == "" || len(w.Name) > maxName {
		g.refuse("windows[].name: want 1 to %d bytes", maxName)
	}
	scope, ok := events.ParseScope(n.Get("scope").Text())
	if !ok || scope.Kind == events.ScopeRequest {
		g.refuse("windows[].scope %q: want account, group, endpoint, family:NAME, model:NAME or none", n.Get("scope").Text())
	}
	w.Scope = scope
	w.Length = g.seconds(n.Get("length_s"))
	w.Used = g.Number(n.Get("used"))
	w.Limit = g.Number(n.Get("limit"))
	w.UsedPercent = g.Number(n.Get("used_percent"))
	w.RemainingPercent = g.Number(n.Get("remaining_percent"))
	w.Reached = g.flag("reached", n.Get("reached"))
	w.ResetsAt = g.Time(n.Get("resets_at").Text())
	_, told := w.Left()
	w.Reported = told && g.flag("reported", n.Get("reported")) != events.No
	return w
}

func (g *gauge) seconds(n tree.Node) time.Duration {
	d := g.Number(n)
	if !d.Set {
		return 0
	}
	const most = events.Decimal(10 * 366 * 24 * 3600 * 1_000_000)
	if d.V < 0 || d.V > most {
		g.refuse("length_s: want 0 to ten years")
		return 0
	}
	return time.Duration(d.V) * time.Microsecond
}

// flag reads a boolean; anything else that is stated is refused, because a
// flag is authoritative.
func (g *gauge) flag(name string, n tree.Node) events.OptBool {
	f := n.Flag()
	if f == events.Absent && n.Exists() && !n.IsNull() {
		g.refuse("%s: want true or false", name)
	}
	return f
}

func (g *gauge) credit(n tree.Node) *events.Credit {
	if !n.Exists() || n.IsNull() {
		return nil
	}
	g.only(n, "credit", "reached", "available", "used", "limit", "used_percent", "resets_at", "models")
	c := &events.Credit{
		Reached: g.flag("credit.reached", n.Get("reached")), Available: g.flag("credit.available", n.Get("available")),
		Used: g.Number(n.Get("used")), Limit: g.Number(n.Get("limit")), UsedPercent: g.Number(n.Get("used_percent")),
		ResetsAt: g.Time(n.Get("resets_at").Text()),
	}
	for _, m := range n.Get("models").Items() {
		g.only(m, "credit.models[]", "model", "available", "credits_would_enable")
		mc := events.ModelCredit{Model: m.Get("model").Text(), Available: g.flag("available", m.Get("available")),
			CreditsWouldEnable: g.flag("credits_would_enable", m.Get("credits_would_enable"))}
		if mc.Model == "" || len(mc.Model) > maxName {
			g.refuse("credit.models[].model: want 1 to %d bytes", maxName)
		}
		c.Models = append(c.Models, mc)
	}
	return c
}

func (g *gauge) billing(n tree.Node) *events.Billing {
	if !n.Exists() || n.IsNull() {
		return nil
	}
	g.only(n, "billing", "plan", "period_end")
	b := &events.Billing{PeriodEnd: g.Time(n.Get("period_end").Text())}
	if name := n.Get("plan").Text(); name != "" {
		plan, ok := events.ParsePlan(name)
		if !ok {
			g.refuse("billing.plan %q: want paid, free or unknown", name)
		}
		b.Plan = plan
	}
	return b
}
