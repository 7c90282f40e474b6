package alert_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/alert"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/test/played"
)

func play(t *testing.T) *played.Gateway {
	t.Helper()
	g, _ := played.InMemory(t, "a", "b", "c")
	return g
}

// told are the alerts of the events after a position.
func told(t *testing.T, log *ledger.Log, after events.Position, kinds ...alert.Kind) (out []alert.Alert) {
	t.Helper()
	f := alert.NewFold(log, kinds, nil)
	if err := f.Start(t.Context(), after); err != nil {
		t.Fatal(err)
	}
	err := log.Each(t.Context(), after, ledger.Filter{}, func(e *events.Event) error {
		out = append(out, f.Next(t.Context(), e)...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAnIncidentIsToldOnceInWordsWithItsEvidence(t *testing.T) {
	g := play(t)
	g.Incident()
	all := told(t, g.Log, 0, alert.Kinds()...)
	seen := map[alert.Kind]int{}
	ids := map[uuid.UUID]bool{}
	for _, a := range all {
		seen[a.Kind]++
		t.Logf("%d %s: %s", a.Position, a.Kind, a.Sentence)
		if ids[a.ID] || a.Sentence == "" || len(a.Evidence) == 0 || len(a.Links) <= len(a.Evidence) || a.Position == 0 {
			t.Errorf("%+v", a)
		}
		ids[a.ID] = true
		if b, err := json.Marshal(a); err != nil || !strings.Contains(string(b), `"alert":"`+string(a.Kind)) {
			t.Error(err)
		}
	}
	if seen[alert.Parked] == 0 || seen[alert.Payment] == 0 || seen[alert.Exhausted] != 1 {
		t.Errorf("told %v", seen)
	}
}

// TestARestartNeitherRepeatsNorLosesAnAlert starts at every position.
func TestARestartNeitherRepeatsNorLosesAnAlert(t *testing.T) {
	g := play(t)
	g.Incident()
	for range 3 { // a claim that is repeated
		g.Spent("b", played.Begin.Add(10*24*time.Hour))
	}
	all := told(t, g.Log, 0, alert.Kinds()...)
	head, err := g.Log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for after := events.Position(1); after <= head.Position; after++ {
		want := slices.DeleteFunc(slices.Clone(all), func(a alert.Alert) bool { return a.Position <= after })
		got := told(t, g.Log, after, alert.Kinds()...)
		if a, b := text(got), text(want); a != b {
			t.Fatalf("after %d:\n%s\nwant\n%s", after, a, b)
		}
	}
}

// TestAModelThatStaysExhaustedIsToldOnce refuses twice, with a restart between,
// serves, and refuses again.
func TestAModelThatStaysExhaustedIsToldOnce(t *testing.T) {
	log := ledger.Open(ledgertest.NewMemory())
	defer log.Close()
	seq := uint64(0)
	do := func(request uuid.UUID, p events.Payload) {
		t.Helper()
		seq++
		if _, err := log.Append(t.Context(), events.Draft{Data: p, Header: events.Header{
			ID: uuid.Must(uuid.NewV7()), Writer: uuid.UUID{1}, WriterSeq: seq, ObservedAt: events.Time(seq), Request: request}}); err != nil {
			t.Fatal(err)
		}
	}
	refuse := func(model string) {
		do(uuid.New(), &events.RequestRefused{Stamp: events.Stamp{Asked: model}, Code: "accounts_exhausted", Status: 429})
	}
	serve := func(model string) {
		id := uuid.New()
		do(id, &events.AttemptRouted{Stamp: events.Stamp{Asked: model}})
		do(id, &events.AttemptSucceeded{})
	}
	refuse("m") // 1
	refuse("m")
	refuse("n") // 3
	serve("n")
	refuse("m")
	serve("m")
	refuse("m") // 9
	for after, want := range map[events.Position][]events.Position{0: {1, 3, 9}, 1: {3, 9}, 2: {3, 9}, 5: {9}, 6: {9}, 8: {9}, 9: nil} {
		var got []events.Position
		for _, a := range told(t, log, after, alert.Kinds()...) {
			got = append(got, a.Position)
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %d told at %v, not %v", after, got, want)
		}
	}
}

func text(all []alert.Alert) string {
	b, _ := json.MarshalIndent(all, "", " ") // of plain values
	if len(all) == 0 {
		return "none"
	}
	return string(b)
}

func TestOnlyTheKindsThatAreAskedForAreTold(t *testing.T) {
	g := play(t)
	g.Incident()
	for _, kind := range []alert.Kind{alert.Parked, alert.Exhausted, alert.Payment} {
		all := told(t, g.Log, 0, kind)
		if len(all) == 0 || slices.ContainsFunc(all, func(a alert.Alert) bool { return a.Kind != kind }) {
			t.Errorf("%s: %d alerts", kind, len(all))
		}
	}
	if all := told(t, g.Log, 0); len(all) != 0 {
		t.Errorf("nothing was asked for: %v", all)
	}
}
