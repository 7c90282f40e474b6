package story

import (
	"fmt"
	"time"

	"github.com/waybill/waybill/events"
)

// plan is why a decision went where it went.
type plan struct {
	routed  *events.AttemptRouted // nil: a refusal
	session bool
}

// sentence says whom a decision chose, out of how many, and why that one.
func (p *plan) sentence(d *Decision, all []judged) string {
	admitted := 0
	for i := range all {
		if all[i].verdict.Admitted {
			admitted++
		}
	}
	when := instant(d.DecidedAt, d.DecidedAt)
	if p.routed == nil {
		return fmt.Sprintf("At %s Waybill looked at %s and could send it to none of them%s.", when, count(len(all), "account"), waited(d))
	}
	return fmt.Sprintf("At %s Waybill looked at %s (%d admitted) and chose %s%s%s.", when, count(len(all), "account"), admitted, d.Chosen, p.because(admitted), waited(d))
}

func (p *plan) because(admitted int) string {
	r := p.routed
	switch {
	case r.Unclaimed:
		return " without a claim, because the ledger could not be reached"
	case r.LastPath:
		return " as the last path: nothing else was left, and only claims or failures stand against it"
	case r.Trial != nil:
		return fmt.Sprintf(" as a trial, to see whether %s is over (step %d)", cells(r.Trial.Cells), r.Trial.Step)
	case r.Stamp.Tie != 0:
		return ", which alone holds what the request refers to"
	case r.Pinned:
		return ", where its session is pinned"
	case admitted == 1:
		return ", the only one admitted"
	}
	switch r.Strategy {
	case events.StrategyOrdered:
		return ", the first in order"
	case events.StrategyRoundRobin:
		return ", whose turn it was"
	case events.StrategyLeastBusy:
		return ", the least busy"
	}
	if p.session {
		return " by weight for its session"
	}
	return " by weight"
}

func waited(d *Decision) string {
	if d.WaitedMS == 0 {
		return ""
	}
	return ", having waited " + Span(time.Duration(d.WaitedMS)*time.Millisecond)
}

func count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
