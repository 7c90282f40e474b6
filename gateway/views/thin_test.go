package views

import (
	"path/filepath"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/sqlite"
)

func TestWhatGoesBeyondTheBudgetIsTakenFromTheOlderHalf(t *testing.T) {
	var list []ledger.SnapshotPlace
	for n := range events.Position(64) {
		list = append(list, ledger.SnapshotPlace{Name: "pins", Position: (n + 1) * 100, Bytes: 10})
	}
	if drop := surplus(list, 100, 640); len(drop) != 0 {
		t.Fatalf("%d dropped within the budget", len(drop))
	}
	dropped := map[events.Position]bool{}
	for _, p := range surplus(list, 100, 400) {
		dropped[p.Position] = true
	}
	left, newest := 0, 0
	for _, p := range list {
		if dropped[p.Position] {
			continue
		}
		left++
		if p.Position > 4800 {
			newest++
		}
	}
	if left > 40 || left < 30 {
		t.Errorf("%d of 64 are left, the budget holds 40", left)
	}
	if newest != 16 {
		t.Errorf("%d of the newest 16 are left", newest)
	}
	if dropped[1600] || dropped[3200] {
		t.Error("the coarse positions go last")
	}
}

func TestAKeeperHoldsItsBudget(t *testing.T) {
	store, err := sqlite.Open(filepath.Join(t.TempDir(), "waybill.db"))
	if err != nil {
		t.Fatal(err)
	}
	log := ledger.Open(store)
	defer log.Close()
	if _, err := log.Append(t.Context(), ledgertest.NewMaker().Drafts(320)...); err != nil {
		t.Fatal(err)
	}
	k := NewKeeper(log, 5, nil)
	k.budget = 1
	if err := k.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	places, err := log.Snapshots().Places(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, p := range places {
		n[p.Name]++
	}
	for _, p := range k.all {
		if kept := n[nameOf(p)]; kept == 0 || kept > 16 {
			t.Errorf("%d of 64 states of %s are kept", kept, nameOf(p))
		}
	}
}
