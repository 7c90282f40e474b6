package simulate

import (
	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/admission"
)

// account is what the laws remember of an account, from the facts alone.
type account struct {
	dryAt  events.Position // of the last quota or payment fact that nothing has ended since
	dryOf  events.Epoch    // the credential that it speaks of
	wetAt  events.Time     // when it was last known to serve, or released
	dryFor map[told]bool   // who was told so by the upstream itself

	calm  map[string]events.Time // per model: served then, and nothing against the account since
	hurt  events.Time            // newest answer that was against it
	known map[events.Epoch]bool  // credentials that it ever had
	epoch events.Epoch           // the current one
	fresh bool                   // a new credential, and nothing under it since
	held  bool                   // an operator keeps it out
	host  bool                   // something was ever said of its host or group

	out    map[string]events.Time // per model: kept out by claims alone since
	newest events.Time            // newest reading
	lease  events.Time            // end of the newest lease of a trial
	freed  events.Time            // newest end of a trial
}

// told is a process that an upstream has refused under a credential.
type told struct {
	proc  *process
	epoch events.Epoch
}

func newAccount() *account {
	return &account{known: map[events.Epoch]bool{}, dryFor: map[told]bool{}, calm: map[string]events.Time{}, out: map[string]events.Time{}}
}

func (a *account) wet(now events.Time) {
	a.dryAt, a.wetAt = 0, now
	clear(a.dryFor)
}

// kin are the accounts that share limits with one, itself included.
func (l *laws) kin(id string) []*account {
	out := []*account{l.accounts[id]}
	a := l.w.oracle.view.Admission.Account(id)
	if a == nil || a.Settings.Group == "" {
		return out
	}
	for _, o := range l.w.oracle.view.Admission.Roster() {
		if o.ID != id && o.Settings.Group == a.Settings.Group {
			out = append(out, l.accounts[o.ID])
		}
	}
	return out
}

// committed takes the next committed event, after it was folded.
func (l *laws) committed(e *events.Event) {
	l.times = append(l.times, l.w.now())
	if e.Account == "" {
		return
	}
	own, kin := l.accounts[e.Account], l.kin(e.Account)
	switch p := e.Data.(type) {
	case *events.AccountEnrolled, *events.AccountChanged:
		own.upset(kin, e.ObservedAt)
		own.wet(l.w.now())
		if e.Epoch != own.epoch { // one that it had before comes back with its evidence
			own.fresh = !own.known[e.Epoch] && !own.host && l.w.oracle.view.Admission.Account(e.Account).Settings.Group == ""
			own.known[e.Epoch], own.epoch = true, e.Epoch
		}
	case *events.QuotaFetched:
		own.fresh = false
		l.told(e, p, kin)
		l.read(kin, &p.Reading)
		for _, k := range kin {
			k.newest = max(k.newest, e.ObservedAt)
		}
	case *events.AttemptSucceeded:
		l.success(e, p, kin)
	case *events.TrialPassed:
		own.anew(kin)
		own.freed = max(own.freed, e.ObservedAt)
		l.served(e.Account)
	case *events.TrialClaimed:
		for _, a := range kin {
			a.lease = max(a.lease, p.Trial.Lease)
		}
	case *events.TrialClosed:
		for _, a := range kin {
			a.freed = max(a.freed, e.ObservedAt)
		}
	case *events.AttemptRouted:
		if p.Trial != nil {
			own.lease = max(own.lease, p.Trial.Lease)
		}
	case *events.PinMoved, *events.PinSet:
		if l.w.oracle.served[try{e.Request, e.Attempt}] == 0 {
			l.w.fail("R14: a pin is set or moved at %d by an attempt that was not served", e.Position)
		}
	default:
		l.against(e, own, kin)
	}
}

// told is R1: a console's word that all is spent keeps a path out, where nobody
// has served or released it within the healthy window before.
func (l *laws) told(e *events.Event, p *events.QuotaFetched, kin []*account) {
	doc, _ := l.w.oracle.view.Admission.Document()
	a := l.w.oracle.view.Admission.Account(e.Account)
	for _, k := range kin {
		if k.wetAt != 0 && l.w.now() <= k.wetAt.Add(doc.Policy.HealthyWindow) || e.ObservedAt <= k.wetAt {
			return
		}
	}
	spent := false
	for _, x := range p.Windows {
		spent = spent || x.Reached == events.Yes && x.Scope.Kind == events.ScopeUnset && x.ResetsAt > e.ObservedAt
	}
	if !spent || e.Epoch != a.Epoch || l.w.size.Skewed || kin[0].newest > e.ObservedAt {
		return
	}
	if v := admission.Admit(l.w.oracle.view.Admission, admission.Path{Account: a.No, Model: models[0]}, &doc.Policy, l.w.now()); v.Admitted {
		l.w.fail("R1: the reading at %d says that %s is spent, nobody has served, and it is admitted", e.Position, e.Account)
	}
}

// read: a reading may show room, and its claims are under the credential.
func (l *laws) read(kin []*account, r *events.Reading) {
	for i := range r.Windows {
		if r.Windows[i].Reached != events.Yes {
			kin[0].anew(kin)
		}
	}
	if r.Credit != nil && r.Credit.Reached != events.Yes {
		kin[0].anew(kin)
	}
}

// anew: whatever keeps them out from here on began here.
func (a *account) anew(kin []*account) {
	for _, k := range kin {
		clear(k.out)
	}
}

func (l *laws) success(e *events.Event, p *events.AttemptSucceeded, kin []*account) {
	own := kin[0]
	l.free(try{e.Request, e.Attempt}, &events.Trial{})
	own.anew(kin)
	own.freed = max(own.freed, e.ObservedAt)
	l.served(e.Account)
	current := l.w.oracle.view.Admission.Account(e.Account)
	if e.Epoch != current.Epoch {
		return
	}
	own.fresh = false
	doc, _ := l.w.oracle.view.Admission.Document()
	hurt := events.Time(0)
	for _, k := range kin {
		hurt = max(hurt, k.hurt)
	}
	if !own.held && p.Answer.DispatchedAt > hurt.Add(doc.Policy.ClockSkew) {
		own.calm[e.Model] = max(own.calm[e.Model], p.Answer.AnsweredAt)
	}
}

// against: everything else may speak against the account.
func (l *laws) against(e *events.Event, own *account, kin []*account) {
	if f, ok := events.FailureOf(e.Data); ok {
		own.freed = max(own.freed, e.ObservedAt)
		for _, k := range kin {
			k.freed = max(k.freed, e.ObservedAt)
		}
		l.free(try{e.Request, e.Attempt}, &events.Trial{})
		if f.Class == events.ClassClientAborted || f.Class == events.ClassInvalidRequest || f.Class == events.ClassLost {
			return
		}
		own.host = own.host || f.Scope.Kind == events.ScopeEndpoint || f.Scope.Kind == events.ScopeGroup
		own.upset(kin, f.Answer.AnsweredAt)
		if own.host || e.Epoch == l.w.oracle.view.Admission.Account(e.Account).Epoch {
			own.fresh = false
		}
		if refusesAll(f) && f.Answer.AnsweredAt > own.wetAt {
			own.dryAt, own.dryOf = e.Position, e.Epoch
		}
		return
	}
	switch e.Data.(type) {
	case *events.OperatorDrained, *events.OperatorParked:
		own.held = true
	case *events.OperatorReleased:
		l.served(e.Account)
	}
	own.upset(kin, e.ObservedAt)
}

// upset: nothing is promised of them any more.
func (a *account) upset(kin []*account, at events.Time) {
	a.anew(kin)
	for _, k := range kin {
		clear(k.calm)
		k.hurt = max(k.hurt, at)
	}
}

// verdict judges a judgement of a fold from zero, at one instant.
func (l *laws) verdict(a *admission.Account, m string, v *admission.Verdict, p *events.Policy, now events.Time) {
	if !v.Admitted && (v.Evidence <= 0 || int(v.Evidence) > len(l.w.oracle.log)) {
		l.w.fail("I3: %s is kept from %s by %s without evidence", a.ID, m, v.Reason)
	}
	if l.w.size.Skewed {
		return
	}
	own := l.accounts[a.ID]
	l.promised(own, a, m, v, p, now)
	l.inTrial(a, m, v, p, now)
	if v.Admitted || v.Trial || !v.OnClaims || v.Reason == events.ReasonTrialInProgress {
		delete(own.out, m)
		return
	}
	since, ok := own.out[m]
	if !ok {
		own.out[m] = now
	} else if now.Sub(since) > p.ParkCap {
		l.w.fail("I2: claims alone have kept %s from %s since %s, for longer than park_cap, and it is not due", a.ID, m, since)
	}
}

// promised: who has just served is not kept out by what consoles say (R6), and a
// new credential starts anew (R11).
func (l *laws) promised(own *account, a *admission.Account, m string, v *admission.Verdict, p *events.Policy, now events.Time) {
	if v.Admitted || own.held || a.Retired {
		return
	}
	if at, ok := own.calm[m]; ok && now < at.Add(p.HealthyWindow) {
		l.w.fail("R6: %s served %s at %s, nothing but readings came since, and it is kept out: %s", a.ID, m, at, v.Reason)
	}
	if own.fresh {
		l.w.fail("R11: %s has a new credential, nothing came under it, and it is kept out: %s", a.ID, v.Reason)
	}
}

// inTrial is I4: no slot outlives its lease, or its rest.
func (l *laws) inTrial(a *admission.Account, m string, v *admission.Verdict, p *events.Policy, now events.Time) {
	if v.Reason != events.ReasonTrialInProgress {
		return
	}
	lease, freed := events.Time(0), events.Time(0)
	for _, k := range l.kin(a.ID) {
		lease, freed = max(lease, k.lease), max(freed, k.freed)
	}
	if now >= lease && now >= freed.Add(p.TrialBackoff) {
		l.w.fail("I4: a slot of %s for %s outlives its lease (%s)", a.ID, m, lease)
	}
}

// lag: a lost wake-up costs a poll, no more.
func (l *laws) lag() {
	now := l.w.now()
	for _, g := range l.w.gates {
		p := g.proc
		if p == nil || p.engine == nil || p.port.state() != whole || now < l.whole[p].Add(3*poll) {
			continue
		}
		if at := p.engine.Position(); int(at) < len(l.times) && now > l.times[at].Add(3*poll) {
			l.w.fail("g%d has not seen event %d for %v", g.no, at+1, now.Sub(l.times[at]))
		}
	}
}

func (l *laws) healed(p *process) { l.whole[p] = l.w.now() }

// checkEvidence is the dear part of I3: what keeps a path out can be shown.
func (w *world) checkEvidence() {
	now := w.now()
	doc, _ := w.oracle.view.Admission.Document()
	for _, a := range w.oracle.view.Admission.Roster() {
		for _, m := range models {
			path := admission.Path{Account: a.No, Model: m}
			v := admission.Admit(w.oracle.view.Admission, path, &doc.Policy, now)
			blocking := 0
			for _, c := range admission.Explain(w.oracle.view.Admission, path, &doc.Policy, now) {
				if !c.Blocking {
					continue
				}
				if blocking++; len(c.Evidence) == 0 {
					w.fail("I3: a cell of %s blocks %s without evidence", a.ID, m)
				}
			}
			if v.Admitted != (blocking == 0) {
				w.fail("I3: %s for %s is admitted %v with %d blocking cells", a.ID, m, v.Admitted, blocking)
			}
		}
	}
}

func refusesAll(f *events.Failure) bool {
	return f.Class == events.ClassWindowExhausted || f.Class == events.ClassCreditsExhausted
}
