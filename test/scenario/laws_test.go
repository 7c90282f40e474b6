package scenario

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/routing"
)

// laws hold at every decision of every world, whatever happens in it.
var laws = []struct {
	name  string
	holds func(c *chance, r *Request, s events.Stamp, d *routing.Decision)
}{
	{"a decision is a function of view and stamp", aDecisionIsAFunctionOfViewAndStamp},
	{"nobody is passed over without evidence", nobodyIsPassedOverWithoutEvidence},
	{"everyone who asks gets one verdict", everyoneWhoAsksGetsOneVerdict},
	{"a retry after is kept", aRetryAfterIsKept},
	{"an exhausted claim admits nobody", anExhaustedClaimAdmitsNobody},
	{"a pinned session stays", aPinnedSessionStays},
	{"a choice keeps the order", aChoiceKeepsTheOrder},
	{"a slot has one holder", aSlotHasOneHolder},
}

// Every stored decision is also made again alike, from the ledger alone, and
// live views are folds (I1, I8): worlds ends with that.
func Test_I1_I3_I5_I6_I8_I13_laws_over_random_worlds(t *testing.T) {
	worlds(t, seeds(), 250, func(c *chance) {
		c.w.OnDecision = func(r *Request, s events.Stamp, d *routing.Decision) {
			kept := *d
			kept.Candidates = slices.Clone(d.Candidates)
			for _, law := range laws {
				*d = kept
				law.holds(c, r, s, d)
				if c.t.Failed() {
					c.t.Fatalf("the law is: %s", law.name)
				}
			}
			*d = kept
		}
	})
}

// seeds is the number of worlds.
func seeds() uint64 {
	if raced {
		return 50
	}
	return 150
}

// A decision is the same with and without the cache, and made a second time:
// nothing is remembered that is not in the view, and deciding changes nothing
// (I13). Every stored decision is made again alike from the ledger (I1, I8).
func aDecisionIsAFunctionOfViewAndStamp(c *chance, r *Request, s events.Stamp, d *routing.Decision) {
	t := c.t
	kept := *d
	for _, v := range []routing.View{r.Gateway.view, {Admission: r.Gateway.view.Admission, Pins: r.Gateway.view.Pins}} {
		again := s
		got := routing.Decide(v, r.ID, r.attempt, &again, nil)
		if !reflect.DeepEqual(got, kept) || !reflect.DeepEqual(again, s) {
			t.Errorf("first  %+v\nsecond %+v\nstamps %+v\n       %+v", kept, got, s, again)
		}
	}
	*d = kept
}

// I3 and I6: whoever is passed over has evidence that can be shown, and a
// refusal has a row with all of them.
func nobodyIsPassedOverWithoutEvidence(c *chance, r *Request, s events.Stamp, d *routing.Decision) {
	t := c.t
	for i := range d.Candidates {
		cand := &d.Candidates[i]
		v := cand.Verdict
		if v.Admitted != (v.Reason == events.ReasonNone) || v.Admitted && v.Trial {
			t.Errorf("verdict %+v contradicts itself", v)
		}
		if v.Admitted {
			continue
		}
		if ref := v.Evidence; ref == 0 || ref > events.Ref(s.View) || -ref > events.Ref(s.Pending) {
			t.Errorf("%s: evidence %d is not in a view at %d and %d", v.Reason, ref, s.View, s.Pending)
		}
	}
	if d.Action == routing.Refuse && d.Refusal.Code != routing.CodeNoModel && len(d.Candidates) == 0 && r.Tie == 0 {
		t.Errorf("a refusal without candidates: %+v", d.Refusal)
	}
}

// Selection, list, single account and explanation judge alike.
func everyoneWhoAsksGetsOneVerdict(c *chance, r *Request, s events.Stamp, d *routing.Decision) {
	t := c.t
	v := r.Gateway.view.Admission
	doc, _ := v.Document()
	for i := range d.Candidates {
		cand := &d.Candidates[i]
		p := admission.Path{Account: cand.Account, Model: cand.Model}
		status := admission.StatusOf(v, p, &doc.Policy, s.DecidedAt)
		if status.Verdict != *cand.Verdict {
			t.Errorf("selection %+v\n list %+v", *cand.Verdict, status.Verdict)
		}
		blocking := slices.ContainsFunc(admission.Explain(v, p, &doc.Policy, s.DecidedAt), func(c admission.CellReport) bool { return c.Blocking })
		if blocking == cand.Verdict.Admitted {
			t.Errorf("a cell blocks: %v, yet the verdict is %+v", blocking, *cand.Verdict)
		}
	}
}

// Whoever is told when to come back is served then, if nothing else happens.
func aRetryAfterIsKept(c *chance, r *Request, s events.Stamp, d *routing.Decision) {
	t := c.t
	if d.Action != routing.Refuse || r.attempt > 1 || d.Refusal.RetryAfter == 0 || s.Offline {
		return
	}
	refused := d.Refusal
	later := s
	later.DecidedAt = s.DecidedAt.Add(secondsOf(refused.RetryAfter))
	again := routing.Decide(r.Gateway.view, r.ID, 1, &later, func(uint32) int64 { return 0 })
	if again.Action != routing.Dispatch && again.Action != routing.Claim && !silencedUntil(r, s, d, later.DecidedAt) {
		t.Errorf("refused with retry after %d s (%s), then %s: %s", refused.RetryAfter, refused.RetrySource, again.Action, again.Refusal.Message)
	}
	if early := s; refused.RetryAfter > 1 && !claimsStand(r, s, d) {
		early.DecidedAt = s.DecidedAt.Add(secondsOf(refused.RetryAfter - 1))
		if d := routing.Decide(r.Gateway.view, r.ID, 1, &early, func(a uint32) int64 { return r.Gateway.inFlight[a] }); d.Action != routing.Refuse && d.Action != routing.WaitTrial {
			t.Errorf("retry after %d s, but a second earlier: %s of %s", refused.RetryAfter, d.Action, r.idOf(d.Account))
		}
	}
}

// More exhaustion never widens admission.
func anExhaustedClaimAdmitsNobody(c *chance, r *Request, s events.Stamp, d *routing.Decision) {
	t := c.t
	g := r.Gateway
	if len(g.pending) > 0 || g.Offline {
		return // the layer above would be dropped with the claim
	}
	v := g.view.Admission
	doc, _ := v.Document()
	for _, a := range v.Roster() {
		before := admission.Admit(v, admission.Path{Account: a.No, Model: "m1"}, &doc.Policy, s.DecidedAt)
		reading, err := c.w.reading("push", "weekly left=0 reached reset=+5d")
		if err != nil {
			t.Fatal(err)
		}
		e := events.Event{Header: events.Header{Account: a.ID, Epoch: a.Epoch, Writer: g.writer, WriterSeq: g.seq + 1, ObservedAt: s.DecidedAt}, Data: &events.QuotaFetched{Reading: reading}}
		v.Pend(&e)
		after := admission.Admit(v, admission.Path{Account: a.No, Model: "m1"}, &doc.Policy, s.DecidedAt)
		v.DropPending()
		if after.Admitted && !before.Admitted {
			t.Errorf("%s: before %+v\nafter  %+v", a.ID, before, after)
		}
	}
}

// A session stays with its pin while that account serves: what takes it away
// for one request is a trial that nobody else would make in a whole park_cap,
// or its own word that it is spent.
func aPinnedSessionStays(c *chance, r *Request, s events.Stamp, d *routing.Decision) {
	t := c.t
	doc, _ := r.Gateway.view.Admission.Document()
	if d.Pin.Account == 0 || d.Action != routing.Dispatch && d.Action != routing.Claim || d.Account == d.Pin.Account {
		return
	}
	own := slices.IndexFunc(d.Candidates, func(c routing.Candidate) bool { return c.Account == d.Pin.Account })
	if own < 0 || d.Candidates[own].Reason != events.ReasonNone {
		return
	}
	i := slices.IndexFunc(d.Candidates, func(c routing.Candidate) bool { return c.Account == d.Account })
	overdue := d.Trial != nil && d.Candidates[i].Verdict.TrialAt.Add(doc.Policy.ParkCap) <= s.DecidedAt
	granted := d.Trial != nil && d.Action == routing.Dispatch // claimed by a decision before
	if !overdue && !granted && d.Pin.Why != "spent by its own last answer" {
		t.Errorf("pinned to %d, which serves, but %s to %d: %s", d.Pin.Account, d.Action, d.Account, d.Pin.Why)
	}
}

func secondsOf(n int64) time.Duration { return time.Duration(n) * time.Second }

// silencedUntil: an override that ends before an instant silences a claim now.
// The claim parks when it ends (R6), which no verdict of now foretells.
func silencedUntil(r *Request, s events.Stamp, d *routing.Decision, until events.Time) bool {
	v := r.Gateway.view.Admission
	doc, _ := v.Document()
	for _, c := range d.Candidates {
		p := admission.Path{Account: c.Account, Model: c.Model}
		then := admission.Explain(v, p, &doc.Policy, until)
		for _, cell := range admission.Explain(v, p, &doc.Policy, s.DecidedAt) {
			parks := func(c admission.CellReport) bool { return c.Cell == cell.Cell && c.Blocking }
			if cell.State == "clear" && slices.ContainsFunc(then, parks) {
				return true
			}
		}
	}
	return false
}

// claimsStand: a claim that nobody confirms turns stale before its trial_at,
// and a soft path may be tried as the last one once its slot is free, so
// somebody may serve sooner than was promised.
func claimsStand(r *Request, s events.Stamp, d *routing.Decision) bool {
	v := r.Gateway.view.Admission
	doc, _ := v.Document()
	for _, c := range d.Candidates {
		if c.Verdict.Soft {
			return true
		}
		for _, cell := range admission.Explain(v, admission.Path{Account: c.Account, Model: c.Model}, &doc.Policy, s.DecidedAt) {
			if cell.Blocking && (cell.Cell.Axis == events.AxisWindow || cell.Cell.Axis == events.AxisCredit) && cell.State != "walled" {
				return true
			}
		}
	}
	return false
}
