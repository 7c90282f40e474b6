package console

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/story"
)

// accountsPage is every account that is enrolled.
type accountsPage struct {
	Rows     []accountRow
	All      int
	States   []stateCount
	State    string // that is asked for
	Name     string // a part of the id or the provider
	Position events.Position
	Stamp    string // changes when the rows do
}

// accountRow is one account with its windows as bars.
type accountRow struct {
	story.Account
	Bars []bar
}

type stateCount struct {
	State string
	Count int
}

// refresh is how long a page that nothing has changed on keeps its words (the
// ages in its sentences grow).
const refresh = 30 * time.Second

func accounts(v *visit) error {
	m, past := v.moment()
	all, err := v.c.api.Accounts(v.r.Context(), m, past, "", "")
	if err != nil {
		return err
	}
	p := accountsPage{All: len(all), State: v.r.URL.Query().Get("state"), Name: v.r.URL.Query().Get("name"), Stamp: stamp(all)}
	p.States = countStates(all)
	for i := range all {
		a := &all[i]
		p.Position = max(p.Position, a.Position)
		if (p.State == "" || a.State == p.State) && (strings.Contains(a.ID, p.Name) || strings.Contains(a.Provider, p.Name)) {
			p.Rows = append(p.Rows, accountRow{*a, bars(a.Windows)})
		}
	}
	if v.unchanged(p.Stamp) {
		return nil
	}
	if v.partial() {
		return v.part("accounts", "live", p)
	}
	return v.show("accounts", "Accounts", p)
}

// unchanged answers a page that asks whether there is something new.
func (v *visit) unchanged(stamp string) bool {
	if !v.partial() || v.r.URL.Query().Get("seen") != stamp {
		return false
	}
	v.w.WriteHeader(204)
	return true
}

// stamp digests what people see of accounts, ages apart.
func stamp(all []story.Account) string {
	h := fnv.New64a()
	for i := range all {
		a := &all[i]
		fmt.Fprintln(h, a.ID, a.State, a.Verdict.Reason, a.Verdict.Until, a.Verdict.TrialAt, a.Verdict.SlotEnd, a.Override, a.InFlight, len(a.Windows))
		for k := range a.Verdict.Evidence {
			fmt.Fprintln(h, a.Verdict.Evidence[k].Position)
		}
		for _, c := range a.Verdict.Narrow() {
			fmt.Fprintln(h, c.Scope, c.State, c.Reason)
		}
		for k := range a.Windows {
			fmt.Fprintln(h, a.Windows[k].Evidence, a.Windows[k].Stale)
		}
		if i == 0 {
			fmt.Fprintln(h, int64(a.AsOf)/refresh.Microseconds())
		}
	}
	return fmt.Sprintf("%x", h.Sum64())
}

// countStates counts accounts by state, in the order of appearance of a state
// word's weight: those that serve first.
func countStates(all []story.Account) []stateCount {
	var out []stateCount
	for _, state := range []string{"available", "half_open", "probing", "cooling", "parked", "waiting_reset", "drained", "disabled"} {
		n := 0
		for i := range all {
			if all[i].State == state {
				n++
			}
		}
		if n > 0 {
			out = append(out, stateCount{state, n})
		}
	}
	return out
}
