package admission

import (
	"cmp"
	"slices"

	"github.com/waybill/waybill/events"
)

func (s *scan) failure(i int, e *events.Event, f *events.Failure) {
	at := f.Answer.AnsweredAt
	if f.Answer.Reading != nil {
		s.reading(i, e, f.Answer.Reading, at)
	}
	x := twinFact{at: at, step: max(f.Step, 1), event: i}
	if f.Hint != nil {
		x.stated, x.guessed = f.Hint.Until, f.Hint.Guessed
	}
	sc := f.Scope
	fallback := func(k events.ScopeKind) {
		if sc.Kind == events.ScopeUnset {
			sc = events.Scope{Kind: k}
			if k == events.ScopeModel {
				sc.Name = e.Model
			}
		}
	}
	contrary, health, atOnce := true, false, false
	switch f.Class {
	case events.ClassRateLimited:
		x.kind, x.axis = burst, events.AxisRate
		fallback(events.ScopeModel)
	case events.ClassWindowExhausted:
		x.kind, x.axis = quota, events.AxisWindow
		fallback(events.ScopeAccount)
	case events.ClassCreditsExhausted:
		x.kind, x.axis = payment, events.AxisPayment
		fallback(events.ScopeAccount)
	case events.ClassAuthFailed:
		x.kind, x.axis = denied, events.AxisAuth
		fallback(events.ScopeAccount)
	case events.ClassForbidden:
		x.axis = events.AxisAuth
		fallback(events.ScopeAccount)
		switch {
		case sc.Kind == events.ScopeModel || sc.Kind == events.ScopeFamily:
			x.kind, atOnce = unsupported, true
		case sc.Kind == events.ScopeRequest || sc.Kind == events.ScopeEndpoint || sc.Kind == events.ScopeNone:
			atOnce = true
		case f.Permanent:
			x.kind = banned
		default:
			x.kind = denied
		}
	case events.ClassModelUnsupported:
		x.kind, x.axis, atOnce = unsupported, events.AxisAuth, true
		fallback(events.ScopeModel)
	case events.ClassInvalidRequest, events.ClassPolicyRefused, events.ClassNotFound:
		atOnce = true
	case events.ClassOverloaded, events.ClassServerError, events.ClassTimeout, events.ClassMalformed, events.ClassNetwork:
		health, contrary = true, false
		x.axis = events.AxisHealth
		if f.Class == events.ClassNetwork && f.Answer.Status == 0 {
			fallback(events.ScopeEndpoint)
		}
		fallback(events.ScopeAccount)
	default:
		contrary = false
	}
	landed := spot{}
	var ok bool
	if x.kind != 0 || health {
		if x.spot, ok = s.where(e.Account, e.Epoch, x.axis, sc); ok {
			landed = x.spot
			if health {
				s.failures = append(s.failures, x)
				if !s.completes(x) {
					landed = spot{}
				}
			} else {
				s.facts = append(s.facts, x)
			}
		}
	}
	host := spot{owner: "host:" + s.accounts[e.Account].settings.Endpoint, kind: events.ScopeEndpoint}
	calm := func(spots []spot) {
		s.contrary = append(s.contrary, struct {
			spots []spot
			at    events.Time
		}{spots, at})
	}
	if contrary {
		calm(s.exercised(e))
	} else if health && f.Answer.Status != 0 && x.spot != host {
		calm([]spot{host})
	}
	s.endSlots(e, at, func(sl *twinSlot) bool {
		return !atOnce && (sl.spot != landed || sl.axis != x.axis)
	})
}

// completes says whether a failure is the threshold's last in an unbroken run.
func (s *scan) completes(x twinFact) bool {
	for _, f := range s.runs(x.spot, s.policy.HealthThreshold) {
		if f.event == x.event {
			return true
		}
	}
	return false
}

// runs are the failures of a spot that complete the threshold.
func (s *scan) runs(where spot, threshold uint32) []twinFact {
	type answer struct {
		at   events.Time
		fact *twinFact
	}
	var all []answer
	for i := range s.failures {
		if s.failures[i].spot == where {
			all = append(all, answer{s.failures[i].at, &s.failures[i]})
		}
	}
	for _, c := range s.contrary {
		if slices.Contains(c.spots, where) {
			all = append(all, answer{at: c.at})
		}
	}
	slices.SortStableFunc(all, func(a, b answer) int { return cmp.Compare(a.at, b.at) })
	var out []twinFact
	n := uint32(0)
	for _, a := range all {
		if a.fact == nil {
			n = 0
		} else if n++; n >= threshold {
			out = append(out, *a.fact)
		}
	}
	return out
}

// mysteries resolves the 403 that no row knows (R11).
func (s *scan) mysteries() {
	for i := range s.t.log {
		e := &s.t.log[i]
		f, ok := events.FailureOf(e.Data)
		if !ok || f.Class != events.ClassUnclassified {
			continue
		}
		alone, served := true, false
		for j := range s.t.log {
			o := &s.t.log[j]
			if o.Request != e.Request || o.Account == e.Account {
				continue
			}
			if g, ok := events.FailureOf(o.Data); ok && g.Class == events.ClassUnclassified {
				alone = false
			}
			if _, ok := o.Data.(*events.AttemptSucceeded); ok && o.Attempt > 1 {
				served = true
			}
		}
		if where, ok := s.where(e.Account, e.Epoch, events.AxisHealth, f.Scope); ok && alone && served {
			s.failures = append(s.failures, twinFact{spot: where, axis: events.AxisHealth, at: f.Answer.AnsweredAt, step: max(f.Step, 1), strict: true, event: i})
		}
	}
}
