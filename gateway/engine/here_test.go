package engine

import (
	"testing"
	"testing/synctest"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
)

// Two gateways of one ledger are given a new configuration one after the other:
// meanwhile the older one knows of an account that it cannot send to.
func TestAGatewaySendsToNoAccountThatAnotherOneAloneHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := ledger.OpenWith(ledgertest.NewMemory(), ledger.Options{})
		defer log.Close()
		one, err := Open(t.Context(), Options{Log: log, Strict: true, Accounts: enrolments("b"), Document: document("a", "b")})
		if err != nil {
			t.Fatal(err)
		}
		two, err := Open(t.Context(), Options{Log: log, Strict: true, Accounts: enrolments("b", "a"), Document: document("a", "b")})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		w := &world{t: t, Engine: one}
		for range 3 {
			a := w.decide(w.ask())
			if a.Account.ID != "b" || a.Decision.Candidates[0].Reason != events.ReasonNotConfigured {
				t.Fatalf("sent to %s; %+v", a.Account.ID, a.Decision.Candidates)
			}
			a.Succeeded(events.Answer{Status: 200}, "stop")
		}
		if a := (&world{t: t, Engine: two, ids: 10}).decide(Ask{Request: [16]byte{9}, Attempt: 1, Dialect: events.DialectOpenAI, Model: "m1"}); a.Account.ID != "a" {
			t.Errorf("the one that has it sends to %s", a.Account.ID)
		} else {
			a.Succeeded(events.Answer{Status: 200}, "stop")
		}
		if _, err := one.Adopt(t.Context(), enrolments("b", "a"), document("a", "b")); err != nil {
			t.Fatal(err)
		}
		if a := w.decide(w.ask()); a.Account.ID != "a" {
			t.Errorf("after its own configuration has it: %s", a.Account.ID)
		} else {
			a.Succeeded(events.Answer{Status: 200}, "stop")
		}
		if _, err := one.Adopt(t.Context(), enrolments("b"), document("b")); err != nil {
			t.Fatal(err)
		}
		if a := w.decide(w.ask()); len(a.Stamp.Absent) != 0 {
			t.Errorf("what is retired lacks nobody: %v", a.Stamp.Absent)
		} else {
			a.Succeeded(events.Answer{Status: 200}, "stop")
		}
		for _, e := range []*Engine{one, two} {
			if err := e.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}
