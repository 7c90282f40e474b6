package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger/ledgertest"
)

func TestALedgerThatHangsIsNoticedThoughNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openSpooling(t, ledgertest.NewMemory(), ledgertest.NewMemory(), 1<<20, "a")
		a := w.decide(w.ask())
		if err := a.Durable(t.Context()); err != nil {
			t.Fatal(err)
		}
		back := w.store.Hold()
		a.Succeeded(events.Answer{Status: 200}, "stop") // is committed behind
		time.Sleep(2 * maxStall)
		if _, away := w.Outage(); !away {
			t.Error("no outage is told of")
		}
		back()
		time.Sleep(time.Minute)
		if _, away := w.Outage(); away || w.Unsettled() != 0 {
			t.Errorf("the outage goes on, with %d events", w.Unsettled())
		}
		w.stop()
	})
}
