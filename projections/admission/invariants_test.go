package admission

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
)

// I1: fold from zero = live committed view, whatever was pending meanwhile =
// snapshot + tail, byte for byte, at every position.
func TestI1_FoldLiveAndSnapshotAreEqualByteForByte(t *testing.T) {
	for _, seed := range seeds(t, histories(t, 300)) {
		c := newChronicler(t, seed)
		steps := 40
		if seed%50 == 0 { // beyond the bounds too
			steps = 400
		}
		for range steps {
			c.step()
		}
		live, snap := New(), New()
		var pending []events.Event
		at := c.IntN(len(c.w.log))
		zero := New()
		for i := range c.w.log {
			e := &c.w.log[i]
			zero.Apply(e)
			live.Apply(e)
			live.DropPending()
			for range c.IntN(3) { // own events that are not committed, and never will be
				p := c.w.log[c.IntN(len(c.w.log))]
				p.Position, p.WriterSeq = 0, 1000+uint64(len(pending))
				pending = append(pending, p)
			}
			if len(pending) > 4 {
				pending = nil
			}
			for k := range pending {
				live.Pend(&pending[k])
			}
			Admit(live, Path{1, "m3"}, &c.w.policy, c.now)
			if i == at {
				if err := snap.LoadState(zero.AppendState(nil)); err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
			} else if i > at {
				snap.Apply(e)
			}
			want := zero.AppendState(nil)
			if !bytes.Equal(want, live.AppendState(nil)) {
				t.Fatalf("seed %d: the live view differs from a fold at position %d", seed, e.Position)
			}
			if i >= at && !bytes.Equal(want, snap.AppendState(nil)) {
				t.Fatalf("seed %d: snapshot at %d + tail differs from a fold at position %d", seed, at+1, e.Position)
			}
		}
		live.DropPending()
		for _, a := range theAccounts {
			for _, m := range theModels {
				p := Path{zero.Account(a).No, m}
				x, y, z := Admit(zero, p, &c.w.policy, c.now), Admit(live, p, &c.w.policy, c.now), Admit(snap, p, &c.w.policy, c.now)
				if x != y || x != z {
					t.Fatalf("seed %d: verdicts differ: %s, %s, %s", seed, show(x), show(y), show(z))
				}
			}
		}
	}
}

// A pending event weighs as much as a committed one.
func TestPendingEventsJudgeAsCommittedOnesWould(t *testing.T) {
	for _, seed := range seeds(t, histories(t, 300)) {
		c := newChronicler(t, seed)
		for range 40 {
			c.step()
		}
		from := 8 + c.IntN(len(c.w.log)-8)
		v, all := New(), New()
		for i := range c.w.log {
			c.w.log[i].Writer = c.w.writer // what is pending is one's own
			e := c.w.log[i]
			if settled := e.Data.Kind() <= events.KindPolicyAdopted && e.Data.Kind() != events.KindGatewayStarted; i < from || settled {
				v.Apply(&e)
			} else {
				e.Position = 0
				v.Pend(&e)
			}
			all.Apply(&c.w.log[i])
		}
		if slices.ContainsFunc(c.w.log[from:], func(e events.Event) bool {
			p, ok := e.Data.(*events.AttemptSucceeded)
			return e.Data.Kind() == events.KindAccountChanged || ok && p.Knew > events.Position(from)
		}) {
			continue // settings take effect when committed; and nothing pending has a position to be known by
		}
		for _, a := range theAccounts {
			for _, m := range append(theModels, "") {
				p := Path{v.Account(a).No, m}
				got, want := Admit(v, p, &c.w.policy, c.now), Admit(all, p, &c.w.policy, c.now)
				if got.Evidence < 0 {
					got.Evidence = -got.Evidence // sequence numbers are positions here
				}
				if got != want {
					t.Fatalf("seed %d, %s %s: pending %s\ncommitted %s", seed, a, m, show(got), show(want))
				}
			}
		}
	}
}

// I3: nobody is kept out without evidence that can be shown, and what is shown
// adds up to the verdict.
func TestI3_NoExclusionWithoutEvidence(t *testing.T) {
	for _, seed := range seeds(t, histories(t, 500)) {
		c := newChronicler(t, seed)
		for range 40 {
			c.step()
			a, m, now := pick(c, theAccounts), pick(c, append(theModels, "")), pick(c, c.instants())
			d := c.w.admit(a, m, now)
			r := Explain(c.w.v, c.w.path(a, m), &c.w.policy, now)
			blocking := slices.DeleteFunc(r, func(r CellReport) bool { return !r.Blocking })
			if d.Admitted != (len(blocking) == 0) {
				t.Fatalf("seed %d: %s but %d blocking cells", seed, show(d), len(blocking))
			}
			if d.Admitted {
				continue
			}
			var until, trial events.Time
			for _, b := range blocking {
				if len(b.Evidence) == 0 {
					t.Fatalf("seed %d: %+v blocks without evidence", seed, b)
				}
				for _, ref := range b.Evidence {
					if ref < 1 || int(ref) > len(c.w.log) {
						t.Fatalf("seed %d: evidence %d is no event", seed, ref)
					}
				}
				until, trial = max(until, b.Until), max(trial, b.TrialAt)
			}
			if d.Evidence != blocking[0].Evidence[0] || d.Until != until || d.TrialAt != 0 && d.TrialAt != trial {
				t.Fatalf("seed %d: verdict %s, cells %+v", seed, show(d), blocking)
			}
		}
	}
}

// I13: asking changes nothing, and a remembered verdict is the one that a view
// without a memory gives.
func TestI13_AdmitChangesNothing(t *testing.T) {
	for _, seed := range seeds(t, histories(t, 200)) {
		c := newChronicler(t, seed)
		for range 40 {
			c.step()
			before := c.w.v.AppendState(nil)
			now := c.now
			for range 6 {
				a, m := pick(c, theAccounts), pick(c, append(theModels, ""))
				got := c.w.admit(a, m, now)
				StatusOf(c.w.v, c.w.path(a, m), &c.w.policy, now)
				fresh := New()
				if err := fresh.LoadState(before); err != nil {
					t.Fatal(err)
				}
				if want := Admit(fresh, c.w.path(a, m), &c.w.policy, now); got != want && !sameButValid(got, want, now) {
					t.Fatalf("seed %d: remembered %s, fresh %s", seed, show(got), show(want))
				}
				now = now.Add(c.span())
			}
			if !bytes.Equal(before, c.w.v.AppendState(nil)) {
				t.Fatalf("seed %d: Admit changed the view", seed)
			}
		}
	}
}

// sameButValid: a remembered verdict's Valid was computed earlier, so it may
// name an instant that does not matter any more, never one that is missed.
func sameButValid(got, want Verdict, now events.Time) bool {
	if got.Valid != 0 && got.Valid <= now {
		return false
	}
	got.Valid = want.Valid
	return got == want
}

// I2: from clock + cap on, a path that claims alone keep out is due or in
// trial; and the time that a refusal names admits when nothing else happens.
func TestI2_TheTimeThatARefusalNamesAdmits(t *testing.T) {
	for _, seed := range seeds(t, histories(t, 500)) {
		c := newChronicler(t, seed)
		for range 40 {
			c.step()
		}
		for _, a := range theAccounts {
			for _, m := range append(theModels, "") {
				d := c.w.admit(a, m, c.now)
				if d.Admitted || d.TrialAt == 0 {
					continue
				}
				if d.OnClaims && d.TrialAt > d.Since.Add(c.w.policy.ParkCap) {
					t.Fatalf("seed %d: a claim keeps %s %s out beyond the cap: %s", seed, a, m, show(d))
				}
				at := max(d.TrialAt, d.SlotEnd, c.now)
				muted := slices.ContainsFunc(Explain(c.w.v, c.w.path(a, m), &c.w.policy, c.now), func(r CellReport) bool { return r.State == "clear" })
				// A claim that an override silences now may park when it ends.
				if e := c.w.admit(a, m, at); !e.Admitted && !e.Trial && !muted {
					t.Fatalf("seed %d: %s %s was promised %s: %s\nthen %s", seed, a, m, at, show(d), show(e))
				}
			}
		}
	}
}

// R13, I11: any order of arrival of outcomes and readings gives equal verdicts.
func TestR13_AnyOrderOfArrivalGivesEqualVerdicts(t *testing.T) {
	for _, seed := range seeds(t, histories(t, 400)) {
		c := newChronicler(t, seed)
		c.static = true
		head := len(c.w.log)
		for range 24 {
			c.step()
		}
		log := slices.Clone(c.w.log)
		want := c.verdicts(c.w.v, log)
		r := rand.New(rand.NewPCG(seed, 1))
		for range 4 {
			r.Shuffle(len(log)-head, func(i, j int) { log[head+i], log[head+j] = log[head+j], log[head+i] })
			v := New()
			for i := range log {
				e := log[i]
				e.Position = events.Position(i + 1)
				v.Apply(&e)
			}
			got := c.verdicts(v, log)
			for k := range want {
				if got[k] != want[k] {
					c.w.dump(t)
					t.Fatalf("seed %d:\nas written %s\nshuffled   %s", seed, show(want[k]), show(got[k]))
				}
			}
		}
	}
}

// verdicts is every path's verdict at several instants, evidence named by the
// writer's own number.
func (c *chronicler) verdicts(v *View, log []events.Event) []Verdict {
	var out []Verdict
	for _, a := range theAccounts {
		for _, m := range append(theModels, "") {
			for _, d := range []time.Duration{0, time.Second, 10 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 30 * time.Hour} {
				x := Admit(v, Path{v.Account(a).No, m}, &c.w.policy, c.now.Add(d))
				if x.Evidence > 0 {
					x.Evidence = events.Ref(log[x.Evidence-1].WriterSeq)
				}
				x.Valid = 0
				out = append(out, x)
			}
		}
	}
	return out
}

// More exhaustion never widens admission.
func TestMoreExhaustionNeverWidensAdmission(t *testing.T) {
	for _, seed := range seeds(t, histories(t, 300)) {
		c := newChronicler(t, seed)
		for range 30 {
			c.step()
		}
		account := pick(c, theAccounts)
		before := map[string]Verdict{}
		for _, m := range theModels {
			before[m] = c.w.admit(account, m, c.now)
		}
		w := spent("5h", c.now.Add(c.span()*100))
		w.Scope = c.scope()
		c.w.reading(account, c.now, w)
		for _, m := range theModels {
			// A claim that is confirmed may take back a dueness by staleness, and
			// nothing else.
			if d := c.w.admit(account, m, c.now); d.Admitted && !before[m].Admitted {
				t.Fatalf("seed %d: a claim admitted %s %s: %s\nbefore %s", seed, account, m, show(d), show(before[m]))
			}
		}
	}
}
