package inquiry_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/gateway/views"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/snapshot"
	"github.com/waybill/waybill/projections/requests"
)

// places are where a ledger's snapshots of a name stand.
func places(t *testing.T, log *ledger.Log, name string) (out []ledger.SnapshotPlace) {
	t.Helper()
	all, err := log.Snapshots().Places(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(p ledger.SnapshotPlace) bool { return p.Name != name })
}

// forge stores the state of one place under another: as it is stored, or packed
// anew as if it belonged there.
func forge(t *testing.T, log *ledger.Log, from, to ledger.SnapshotPlace, anew bool) {
	t.Helper()
	table, snaps := log.Snapshots(), snapshot.Of(log, nil)
	old, ok, err := table.Newest(t.Context(), from.Name, from.Version, from.Position)
	at, there, err2 := table.Newest(t.Context(), to.Name, to.Version, to.Position)
	if !ok || !there || err != nil || err2 != nil {
		t.Fatal(ok, there, err, err2)
	}
	if anew {
		s, ok := snaps.At(t.Context(), from.Name, from.Version, from.Position)
		if !ok {
			t.Fatal("the older one is not believed")
		}
		at.State = s.State
		err = snaps.Save(t.Context(), at)
	} else {
		at.State = old.State
		err = table.Save(t.Context(), []ledger.Snapshot{at})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnOlderStateUnderANewerPlaceChangesNoAnswer(t *testing.T) {
	log := history(t, 4, 120)
	for _, name := range []string{"admission", "pins", "opening", "usage", requests.Heads, requests.Indexes, requests.PartName(0)} {
		list := places(t, log, name)
		forge(t, log, list[len(list)/2], list[len(list)-1], false)
	}
	head, err := log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := inquiry.Moment{Now: head.RecordedAt}
	alike(t, log, "accounts", func(l inquiry.Log) (any, error) { return inquiry.Accounts(t.Context(), l, m, "", "") })
	alike(t, log, "usage", func(l inquiry.Log) (any, error) { return inquiry.Usage(t.Context(), l, m, inquiry.UsageOf{}) })
	alike(t, log, "requests", func(l inquiry.Log) (any, error) {
		rows, _, err := inquiry.Requests(t.Context(), l, requests.Query{})
		return rows, err
	})
	if v, err := inquiry.Verify(t.Context(), log, inquiry.VerifyOptions{}); err != nil || !v.OK {
		t.Fatalf("what nobody believes is no fault: %+v, %v", v.Fault, err)
	}
}

func TestVerifyNamesTheSnapshotThatIsNotWhatTheEventsGive(t *testing.T) {
	for _, name := range []string{"admission", "pins", "usage", requests.Heads} {
		t.Run(name, func(t *testing.T) {
			log := history(t, 4, 120)
			list := places(t, log, name)
			var at events.Position
			for _, to := range list[1:] { // the first whose state is another than the one before
				before, _ := snapshot.Of(log, nil).At(t.Context(), name, to.Version, list[0].Position)
				after, _ := snapshot.Of(log, nil).At(t.Context(), name, to.Version, to.Position)
				if string(before.State) != string(after.State) {
					at = to.Position
					forge(t, log, list[0], to, true)
					break
				}
			}
			if at == 0 {
				t.Fatal("all states are the same")
			}
			v, err := inquiry.Verify(t.Context(), log, inquiry.VerifyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if v.OK || v.Fault == nil || v.Fault.Position != at || v.Fault.Kind != views.FaultSnapshot || !strings.Contains(v.Fault.Detail, name) {
				t.Fatalf("%+v %+v; want one at %d", v, v.Fault, at)
			}
		})
	}
}
