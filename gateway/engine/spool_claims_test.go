package engine

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger/ledgertest"
)

func TestNobodyClaimsWhileTheLedgerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openSpooling(t, ledgertest.NewMemory(), ledgertest.NewMemory(), 1<<20, "a")
		w.claimExhausted("a")
		back := w.away()
		ask := w.ask()
		a := w.decide(ask)
		if !a.Decision.LastPath && !a.Decision.Unclaimed {
			t.Errorf("%+v", a.Decision)
		}
		if err := a.Durable(t.Context()); err != nil {
			t.Fatal(err)
		}
		if a.Decision.Trial != nil || !a.Decision.Unclaimed || !a.Stamp.Offline {
			t.Errorf("the last path was not tried unclaimed: %+v", a.Decision)
		}
		a.Failed(events.Failure{Class: events.ClassServerError})
		if _, r, err := w.Decide(t.Context(), w.ask()); err != nil || r == nil {
			t.Errorf("a second one within trial_backoff: %v %v", r, err)
		}
		time.Sleep(31 * time.Second)
		again := w.decide(w.ask())
		if !again.Decision.Unclaimed {
			t.Errorf("after trial_backoff: %+v", again.Decision)
		}
		again.Succeeded(events.Answer{Status: 200}, "stop")
		back()
		time.Sleep(time.Minute)
		w.stop()
		rederived(t, w.store)
	})
}

// claimExhausted is a console's word that the account's week is spent.
func (w *spooling) claimExhausted(account string) {
	w.t.Helper()
	now := w.Now()
	_, err := w.Append(w.t.Context(), events.Draft{Header: events.Header{Account: account, ObservedAt: now}, Data: &events.QuotaFetched{Reading: events.Reading{
		Source: "push", Windows: []events.Window{{Name: "weekly", Reached: events.Yes, Reported: true, ResetsAt: now.Add(4 * 24 * time.Hour)}}}}})
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestAClaimThatAnOutageOvertakesIsGivenBackAndTheRequestServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openSpooling(t, ledgertest.NewMemory(), ledgertest.NewMemory(), 1<<20, "a", "b")
		w.claimExhausted("a")
		time.Sleep(31 * time.Minute) // due: a trial goes first
		back := w.store.Hold()
		a := w.decide(w.ask())
		if a.Account.ID != "b" || !a.Stamp.Offline {
			t.Errorf("%s served, offline %v", a.Account.ID, a.Stamp.Offline)
		}
		if err := a.Durable(t.Context()); err != nil {
			t.Fatal(err)
		}
		a.Succeeded(events.Answer{Status: 200}, "stop")
		back()
		time.Sleep(time.Minute)
		w.stop()
		var got []events.Kind
		for _, e := range all(t, w.store) {
			if e.Request != uuid.Nil {
				got = append(got, e.Data.Kind())
			}
		}
		if want := []events.Kind{events.KindTrialClaimed, events.KindTrialClosed, events.KindAttemptRouted, events.KindAttemptSucceeded}; !slices.Equal(got, want) {
			t.Errorf("%v", got)
		}
		rederived(t, w.store)
	})
}
