package simulate

import (
	"maps"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/engine"
)

// slotKey is a cell as upstreams see it: what one trial at a time may test.
type slotKey struct {
	axis  events.Axis
	scope events.Scope
	of    string // account and epoch, host, or group
	proc  *process
}

// slot is a trial that was dispatched.
type slot struct {
	of    try
	lease events.Time
	ended bool
}

// dispatched: a request goes to an upstream. A trial of a quota or auth cell was
// claimed in the ledger before (R4), and no other is under way there (I5).
func (l *laws) dispatched(r *request) {
	l.w.observe()
	a := r.attempt
	l.dry(r, a)
	if a.Decision.Trial == nil {
		return
	}
	l.trials++
	k := try{r.id, r.ask.Attempt}
	durable := false
	for _, c := range a.Decision.Trial.Cells {
		durable = durable || claimable(c.Axis)
		l.take(r, slotOf(r.proc, a, c), &slot{of: k, lease: a.Decision.Trial.Lease})
	}
	if durable && !a.Decision.Unclaimed && l.w.oracle.claimed[k] == 0 {
		l.w.fail("R4: request %d is dispatched to %s as the trial of %v, and no claim of it is in the ledger", r.no, a.Account.ID, a.Decision.Trial.Cells)
	}
}

func (l *laws) take(r *request, key slotKey, s *slot) {
	now := l.w.now()
	if o := l.slots[key]; o != nil && !o.ended && now < o.lease && !l.w.size.Skewed && !r.attempt.Decision.Unclaimed {
		l.w.fail("I5: request %d is dispatched as the trial of %s %s of %s while another trial of it is under way", r.no, key.axis, key.scope, key.of)
	}
	l.slots[key] = s
}

func claimable(a events.Axis) bool {
	return a == events.AxisWindow || a == events.AxisCredit || a == events.AxisPayment || a == events.AxisAuth
}

func slotOf(p *process, a *engine.Attempt, c events.Cell) slotKey {
	k := slotKey{axis: c.Axis, scope: c.Scope}
	switch c.Scope.Kind {
	case events.ScopeEndpoint:
		k.of = a.Account.Settings.Endpoint
	case events.ScopeGroup:
		k.of = a.Account.Settings.Group
	default:
		k.of = a.Account.ID + "/" + a.Account.Epoch.String()
	}
	if !claimable(c.Axis) {
		k.proc = p
	}
	return k
}

// passed and ended: the slots of an attempt are free.
func (l *laws) passed(r *request, a *engine.Attempt) {
	l.free(try{r.id, r.ask.Attempt}, a.Decision.Trial)
}

func (l *laws) ended(r *request, a *engine.Attempt) {
	l.free(try{r.id, r.ask.Attempt}, a.Decision.Trial)
}

func (l *laws) free(k try, t *events.Trial) {
	if t == nil {
		return
	}
	for _, s := range l.slots {
		if s.of == k {
			s.ended = true
		}
	}
}

// dry is I12: who knows that an upstream refuses everything sends it nothing but
// trials.
func (l *laws) dry(r *request, a *engine.Attempt) {
	s := l.accounts[a.Account.ID]
	if l.w.size.Skewed {
		return
	}
	knows := s.dryAt != 0 && a.Stamp.View >= s.dryAt && s.dryOf == a.Account.Epoch || s.dryFor[told{r.proc, a.Account.Epoch}]
	if knows && a.Decision.Trial == nil && !a.Decision.Unclaimed {
		l.w.fail("I12: g%d knows that %s refuses and sends it request %d, which is no trial", r.proc.gate.no, a.Account.ID, r.no)
	}
}

// failed: a gateway has just been told so.
func (l *laws) failed(r *request, a *engine.Attempt, f *events.Failure) {
	if refusesAll(f) && f.Answer.AnsweredAt > l.accounts[a.Account.ID].wetAt {
		l.accounts[a.Account.ID].dryFor[told{r.proc, a.Account.Epoch}] = true
	}
}

// served: an upstream has served, so what was known of it is over.
func (l *laws) served(id string) {
	for _, other := range l.kin(id) {
		other.wet(l.w.now())
	}
}

func (l *laws) forget(p *process) {
	for _, a := range l.accounts {
		maps.DeleteFunc(a.dryFor, func(k told, _ bool) bool { return k.proc == p })
	}
	delete(l.whole, p)
}
