package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/admission"
)

func (w *World) cmdAdvance(a args) error {
	d, err := duration(a.first())
	if err != nil {
		return err
	}
	w.Advance(d)
	return nil
}

// cmdRepeat: repeat N STEP: command | command..., each round followed by
// advance STEP. It prints how requests ended and how often accounts were hit.
func (w *World) cmdRepeat(a args) error {
	head, body, _ := strings.Cut(a.rest, ":")
	f := strings.Fields(head)
	if len(f) != 2 {
		return fmt.Errorf("want N STEP")
	}
	n, err := strconv.Atoi(f[0])
	if err != nil {
		return err
	}
	step, err := duration(f[1])
	if err != nil {
		return err
	}
	before, said := maps.Clone(w.Hits), w.took()
	var all []*Request
	for range n {
		for _, c := range strings.Split(body, " | ") {
			r, err := w.repeated(strings.TrimSpace(c))
			if err != nil {
				return err
			}
			if r != nil {
				all = append(all, r)
			}
		}
		w.Advance(step)
	}
	w.took() // the summary says it
	w.trace.WriteString(said)
	if len(all) > 0 {
		w.tracef("%s", w.summary(all, before))
	}
	return nil
}

func (w *World) repeated(c string) (*Request, error) {
	if rest, ok := strings.CutPrefix(c, "request"); ok {
		a := args{named: map[string]string{}}
		for _, f := range strings.Fields(rest) {
			k, v, _ := strings.Cut(f, "=")
			a.named[k] = v
		}
		r, err := w.ask(a, "r")
		if err != nil {
			return nil, err
		}
		return r, w.finish(r)
	}
	return nil, w.command(c)
}

func (w *World) cmdRestart(args) error {
	w.Gateway().Restart()
	w.requests = map[string]*Request{}
	return nil
}

func (w *World) cmdGateway(args) error {
	w.AddGateway()
	w.tracef("gateway %d", len(w.Gateways))
	return nil
}

// cmdLedger: ledger slow|fast|down|up.
func (w *World) cmdLedger(a args) error {
	g := w.Gateway()
	switch a.first() {
	case "slow":
		g.Slow = true
	case "fast":
		g.Slow = false
		g.Commit()
	case "down":
		g.Offline = true
	case "up":
		g.Offline = false
		g.Commit()
	default:
		return fmt.Errorf("want slow, fast, down or up")
	}
	w.wake()
	return nil
}

// cmdOperator: operator release|park|drain|undrain ID [scope=S] [until=T].
func (w *World) cmdOperator(a args) error {
	act := events.OperatorAction{Actor: "ann", Reason: "test"}
	if s, ok := a.named["scope"]; ok {
		act.Scope, _ = events.ParseScope(s)
	}
	if t, ok := a.named["until"]; ok {
		var err error
		if act.Until, err = w.instant(t); err != nil {
			return err
		}
	}
	made := map[string]events.Payload{
		"release": &events.OperatorReleased{OperatorAction: act}, "park": &events.OperatorParked{OperatorAction: act},
		"drain": &events.OperatorDrained{OperatorAction: act}, "undrain": &events.OperatorUndrained{OperatorAction: act},
	}
	p, ok := made[a.first()]
	if !ok || len(a.pos) < 2 {
		return fmt.Errorf("want release, park, drain or undrain, and an account")
	}
	w.Gateway().Record(a.pos[1], "", p)
	w.wake()
	return nil
}

// cmdAccounts prints one line per account, or for the named ones: its verdict
// for a model, "" for the account itself.
func (w *World) cmdAccounts(a args) error {
	g := w.Gateway()
	g.follow()
	doc, _ := g.view.Admission.Document()
	for _, acct := range g.view.Admission.Roster() {
		if acct.Retired || len(a.pos) > 0 && !slices.Contains(a.pos, acct.ID) {
			continue
		}
		p := admission.Path{Account: acct.No, Model: a.named["model"]}
		s := admission.StatusOf(g.view.Admission, p, &doc.Policy, w.Now)
		w.tracef("%s %s", acct.ID, describe(&s))
	}
	return nil
}

func describe(s *admission.Status) string {
	v := &s.Verdict
	out := v.State.String()
	switch {
	case v.Admitted:
	case v.Trial:
		out += ", due"
	default:
		out += ", out"
	}
	if v.Reason != events.ReasonNone {
		out += fmt.Sprintf(": %s (%s)", v.Reason, v.Scope)
	}
	if v.Until != 0 {
		out += ", until " + since(v.Until)
	}
	if v.TrialAt != 0 {
		out += ", trial at " + since(v.TrialAt)
	}
	if v.SlotEnd != 0 {
		out += ", slot ends " + since(v.SlotEnd)
	}
	if s.Override != 0 {
		out += ", healthy until " + since(s.Override)
	}
	if s.Streak != 0 {
		out += ", clock " + since(s.Streak)
	}
	if s.Recovery != "" {
		out += ", recovery " + s.Recovery
	}
	return out
}

// cmdWhy prints the cells of a path and the newest windows of its account.
func (w *World) cmdWhy(a args) error {
	g := w.Gateway()
	acct, err := w.account(a.first())
	if err != nil {
		return err
	}
	doc, _ := g.view.Admission.Document()
	p := admission.Path{Account: acct.No, Model: a.named["model"]}
	s := admission.StatusOf(g.view.Admission, p, &doc.Policy, w.Now)
	w.tracef("%s %s", acct.ID, describe(&s))
	for _, c := range s.Cells {
		blocking := ""
		if c.Blocking {
			blocking = " blocks"
		}
		w.tracef("    %s %s %s%s: %s, since %s, until %s, trial at %s, step %d%s", c.Cell.Axis, c.Cell.Scope, c.State, blocking, c.Reason,
			since(c.Since), since(c.Until), since(c.TrialAt), c.Step, g.evidence(c.Evidence))
	}
	for _, win := range s.Windows {
		w.tracef("    window %s: %sresets at %s, read at %s%s", win.Name, numbers(&win.Window), since(win.ResetsAt), since(win.ObservedAt), map[bool]string{true: ", stale"}[win.Stale])
	}
	return nil
}

// numbers are a window's own, as far as it has any.
func numbers(win *events.Window) string {
	s := ""
	for _, n := range []struct {
		name string
		v    events.OptDecimal
	}{{"used", win.Used}, {"limit", win.Limit}, {"% used", win.UsedPercent}, {"% left", win.RemainingPercent}} {
		switch {
		case !n.v.Set:
		case n.name[0] == '%':
			s += n.v.V.String() + n.name + ", "
		default:
			s += n.name + " " + n.v.V.String() + ", "
		}
	}
	return s
}

// evidence names the types of the events that references lead to.
func (g *Gateway) evidence(refs []events.Ref) string {
	s := ""
	for _, ref := range refs {
		if ref > 0 {
			s += " " + g.world.Log[ref-1].Data.Kind().String()
		} else {
			s += " pending"
		}
	}
	if s == "" {
		return ""
	}
	return ", by" + s
}

func (w *World) cmdPins(a args) error {
	g := w.Gateway()
	g.follow()
	for _, name := range a.pos {
		r, err := w.ask(args{named: map[string]string{"session": name, "model": orDefault(a.named["model"], "m1"), "client": orDefault(a.named["client"], "app")}}, name)
		if err != nil {
			return err
		}
		if pin, ok := g.pinOf(r); ok {
			w.tracef("%s: %s since %s, used %s", name, r.idIn(g, pin.Account), since(pin.Since), since(pin.Used))
		} else {
			w.tracef("%s: none", name)
		}
	}
	return nil
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

func (w *World) cmdHits(args) error {
	w.tracef("hits%s", w.hitsSince(nil))
	return nil
}

// Elapsed is the time since the start.
func (w *World) Elapsed() time.Duration { return w.Now.Sub(Start) }
