package audit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/routing"
)

func audit(t testing.TB, o Options, ledger []events.Event) Report {
	t.Helper()
	a := New(o)
	for i := range ledger {
		if err := a.Apply(&ledger[i]); err != nil {
			t.Fatal(err)
		}
	}
	return a.Report()
}

// reader reads a test's ledger again.
func reader(ledger []events.Event, reads *int) func(after, upto events.Position, fn func(*events.Event) error) error {
	return func(after, upto events.Position, fn func(*events.Event) error) error {
		*reads++
		for i := int(after); i < int(upto); i++ {
			e := ledger[i]
			if err := fn(&e); err != nil {
				return err
			}
		}
		return nil
	}
}

func clean(t testing.TB, r Report) {
	t.Helper()
	if r.Faulty != 0 {
		t.Fatalf("%d of %d decisions differ; the first at %d: %s", r.Faulty, r.Decisions, r.Faults[0].Position, r.Faults[0].Detail)
	}
	if r.Decisions == 0 || r.Rederived != r.Decisions {
		t.Fatalf("%d decisions, %d derived again", r.Decisions, r.Rederived)
	}
}

func TestEveryDecisionOfOneWriterIsDerivedAgain(t *testing.T) {
	for seed := range uint64(10) {
		clean(t, audit(t, Options{}, newWorld(seed, 5).play(600)))
	}
}

func TestEveryDecisionOfManyLaggingWritersIsDerivedAgain(t *testing.T) {
	for seed := range uint64(10) {
		w := newWorld(seed, 5)
		for range 3 {
			w.play(150)
			w.join()
		}
		clean(t, audit(t, Options{}, w.play(600)))
	}
}

func TestAWriterThatLagsBehindWhatIsHeldIsReadAgain(t *testing.T) {
	reads := 0
	for seed := range uint64(5) {
		w := newWorld(seed, 5)
		for range 4 {
			w.play(120)
			w.join()
		}
		ledger := w.play(500)
		clean(t, audit(t, Options{Held: 4, Read: reader(ledger, &reads)}, ledger))
	}
	if reads == 0 {
		t.Fatal("the test does not reach what it is about: nothing was read again")
	}
}

// A spool that comes back after a long outage: thousands of decisions on one
// old view, far more than is held.
func TestDecisionsOnAViewThatStandsStillAreNotReadAgainEachTime(t *testing.T) {
	w := newWorld(3, 5)
	spooling := w.join()
	spooling.commit(len(spooling.queue))
	spooling.fold(len(w.ledger))
	for range 1500 {
		w.now += 1_000_000
		spooling.ask(request{id: w.uuid(), attempt: 1, model: "m1"})
		for _, r := range spooling.current {
			spooling.submit(events.Header{Request: r.id, Attempt: 1, Account: r.account, Model: r.model}, &events.AttemptSucceeded{
				Answer: events.Answer{Status: 200, AnsweredAt: w.now}, Knew: r.routed.Stamp.View, KnewOwn: r.routed.Stamp.Pending})
		}
		spooling.current = nil
	}
	spooling.commit(len(spooling.queue))
	spooling.fold(len(w.ledger))
	ledger := w.play(100)
	reads := 0
	r := audit(t, Options{Held: 16, Read: reader(ledger, &reads)}, ledger)
	clean(t, r)
	if r.Decisions < 1500 || reads > 100 {
		t.Errorf("%d decisions, %d reads", r.Decisions, reads)
	}
}

func TestWithoutAWayToReadAgainALaggardIsAnErrorNotASilence(t *testing.T) {
	w := newWorld(1, 5)
	w.join()
	ledger := w.play(800)
	a := New(Options{Held: 4})
	var err error
	for i := range ledger {
		if err = a.Apply(&ledger[i]); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrUnreachable) {
		t.Fatalf("got %v", err)
	}
}

func TestMemoryIsBoundedByWhatIsHeld(t *testing.T) {
	ledger := newWorld(2, 5).play(4000)
	a := New(Options{Held: 64, Only: func(*events.Event) bool { return false }})
	for i := range ledger {
		if err := a.Apply(&ledger[i]); err != nil {
			t.Fatal(err)
		}
		if len(a.held) > 2*64 || len(a.lanes) > 1 {
			t.Fatalf("at %d: %d events and %d views are held", i+1, len(a.held), len(a.lanes))
		}
	}
}

func TestALieInADecisionIsFoundWithItsPosition(t *testing.T) {
	lies := []struct {
		name  string
		plant func(*events.AttemptRouted)
		word  string
	}{
		{"another account was chosen", func(p *events.AttemptRouted) { p.Chosen = p.Chosen%5 + 1 }, "chosen"},
		{"a skip was invented", func(p *events.AttemptRouted) {
			p.Skipped = append(p.Skipped[:len(p.Skipped):len(p.Skipped)], events.Verdict{Account: 3, Reason: events.ReasonDrained})
		}, "skipped"},
		{"the weight was touched", func(p *events.AttemptRouted) { p.Weight++ }, "weight"},
		{"a trial was invented", func(p *events.AttemptRouted) {
			p.Trial = &events.Trial{Step: 9}
		}, "trial"},
		{"the last path was claimed", func(p *events.AttemptRouted) { p.LastPath = !p.LastPath }, "last_path"},
		{"another policy was named", func(p *events.AttemptRouted) { p.Stamp.Policy[0]++ }, "policy"},
		{"the view is said to be later than the decision", func(p *events.AttemptRouted) { p.Stamp.View = 1 << 40 }, "view"},
	}
	for _, lie := range lies {
		t.Run(lie.name, func(t *testing.T) {
			ledger := newWorld(3, 5).play(300)
			at := 0
			for i := range ledger {
				p, ok := ledger[i].Data.(*events.AttemptRouted)
				if !ok || i < len(ledger)/2 {
					continue
				}
				planted := *p
				lie.plant(&planted)
				ledger[i].Data, at = &planted, i+1
				break
			}
			r := audit(t, Options{}, ledger)
			if r.Faulty != 1 || r.Faults[0].Position != events.Position(at) {
				t.Fatalf("planted at %d, found %d faults: %+v", at, r.Faulty, r.Faults)
			}
			if !strings.Contains(r.Faults[0].Detail, lie.word) {
				t.Fatalf("the fault does not say what: %s", r.Faults[0].Detail)
			}
		})
	}
}

func TestALieInARefusalIsFound(t *testing.T) {
	w := newWorld(5, 0)
	w.writers[0].ask(request{id: w.uuid(), attempt: 1, model: "m1"})
	ledger := w.play(0)
	last := &ledger[len(ledger)-1]
	clean(t, audit(t, Options{}, ledger))
	planted := *last.Data.(*events.RequestRefused)
	planted.RetryAfter = 77
	last.Data = &planted
	if r := audit(t, Options{}, ledger); r.Faulty != 1 || !strings.Contains(r.Faults[0].Detail, "retry_after is recorded as 77") {
		t.Fatalf("%+v", r)
	}
}

// TestOwnEventsBeyondTheStampWereNotSeen: what a writer recorded after it had
// read its view, and before the decision was recorded, took no part.
func TestOwnEventsBeyondTheStampWereNotSeen(t *testing.T) {
	w := newWorld(9, 2)
	p := w.writers[0]
	id := w.uuid()
	s := events.Stamp{DecidedAt: w.now, View: p.live.Position(), Pending: p.live.Own(), Dialect: events.DialectOpenAI, Asked: "m1"}
	d := routing.Decide(p.view, id, 1, &s, func(uint32) int64 { return 0 })
	chosen := p.view.Admission.Roster()[d.Account-1].ID
	p.submit(events.Header{Account: chosen}, &events.OperatorDrained{OperatorAction: events.OperatorAction{Actor: "x", Reason: "y"}})
	p.submit(events.Header{Request: id, Attempt: 1, Account: chosen, Model: "m1"}, d.Routed(&s))
	p.commit(len(p.queue))
	clean(t, audit(t, Options{}, w.ledger))
}

func TestRulesThatTheBinaryDoesNotCarryAreCountedByName(t *testing.T) {
	ledger := newWorld(4, 5).play(300)
	n := int64(0)
	for i := range ledger {
		if p, ok := ledger[i].Data.(*events.AttemptRouted); ok && n < 7 {
			old := *p
			old.Stamp.Rules = routing.Rules + 41
			ledger[i].Data = &old
			n++
		}
	}
	r := audit(t, Options{}, ledger)
	if fmt.Sprint(r.Skipped) != fmt.Sprintf("[{%d 7}]", routing.Rules+41) || r.Faulty != 0 || r.Rederived != r.Decisions-7 {
		t.Fatalf("%+v", r)
	}
}

func TestAListStoredOnceIsResolvedByNumberAndByPosition(t *testing.T) {
	ledger := newWorld(6, 20).play(600)
	refs := map[bool]int{}
	for i := range ledger {
		if p, ok := ledger[i].Data.(*events.AttemptRouted); ok && p.Listed != 0 {
			refs[p.Listed > 0]++
		}
	}
	if refs[true] == 0 || refs[false] == 0 {
		t.Fatalf("the test does not reach both kinds of reference: %v", refs)
	}
	for _, held := range []int{0, 2} {
		reads := 0
		clean(t, audit(t, Options{Held: held, Read: reader(ledger, &reads)}, ledger))
	}
}

func TestALieInAStoredListIsFound(t *testing.T) {
	ledger := newWorld(6, 20).play(200)
	for i := range ledger {
		if p, ok := ledger[i].Data.(*events.CandidatesListed); ok {
			planted := slices.Clone(p.Verdicts)
			planted[3].Reason = events.ReasonDrained
			ledger[i].Data = &events.CandidatesListed{Verdicts: planted}
			break
		}
	}
	if r := audit(t, Options{}, ledger); r.Faulty == 0 || !strings.Contains(r.Faults[0].Detail, "candidates[3].reason is recorded as drained") {
		t.Fatalf("%+v", r.Faults)
	}
}

func TestVisitSeesTheViewOfTheDecision(t *testing.T) {
	ledger := newWorld(7, 5).play(300)
	seen := 0
	audit(t, Options{Visit: func(c *Case) {
		seen++
		if c.Recorded.Routed == nil && c.Recorded.Refused == nil {
			t.Fatal("a case without its decision")
		}
		for _, o := range c.Own {
			if o.Position <= c.Stamp.View || o.Position >= c.Event.Position || o.WriterSeq > c.Stamp.Pending {
				t.Fatalf("own event %d/%d is not pending for the decision at %d", o.Position, o.WriterSeq, c.Event.Position)
			}
		}
	}}, ledger)
	if seen == 0 {
		t.Fatal("no case")
	}
}

func BenchmarkDecision(b *testing.B) {
	ledger := newWorld(1, 20).play(20_000)
	b.ReportAllocs()
	b.ResetTimer()
	decisions := int64(0)
	for b.Loop() {
		decisions += audit(b, Options{}, ledger).Decisions
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(decisions), "ns/decision")
}
