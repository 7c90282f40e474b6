package engine

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger/ledgertest"
)

func TestR1_AClaimWithoutAResetAsksForANewReading(t *testing.T) {
	week := events.At(time.Date(2000, 1, 8, 0, 0, 0, 0, time.UTC)) // the bubble begins on the first
	none := events.Scope{Kind: events.ScopeNone}
	rows := map[string]struct {
		reading events.Reading
		asks    bool
	}{
		"an empty window without a reset":    {windows(events.Window{Name: "w", Reached: events.Yes}), true},
		"an empty window whose reset passed": {windows(events.Window{Name: "w", Reached: events.Yes, ResetsAt: 1}), true},
		"one of two windows":                 {windows(events.Window{Name: "v", Reached: events.No}, events.Window{Name: "w", Reached: events.Yes}), true},
		"reached credit without a reset":     {events.Reading{Source: "s", Credit: &events.Credit{Reached: events.Yes}}, true},
		"an empty window with a reset":       {windows(events.Window{Name: "w", Reached: events.Yes, ResetsAt: week}), false},
		"a window with room":                 {windows(events.Window{Name: "w", Reached: events.No}), false},
		"a window that says nothing":         {windows(events.Window{Name: "w"}), false},
		"a window that gates no model":       {windows(events.Window{Name: "w", Scope: none, Reached: events.Yes}), false},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked []string
				w := open(t, ledgertest.NewMemory(), Options{Wanted: func(account string) { asked = append(asked, account) }}, "a", "b")
				if _, err := w.Append(t.Context(), events.Draft{Header: events.Header{Account: "b"}, Data: &events.QuotaFetched{Reading: r.reading}}); err != nil {
					t.Fatal(err)
				}
				w.stop()
				if want := []string{"b"}; r.asks != slices.Equal(asked, want) || !r.asks && asked != nil {
					t.Errorf("asked for %v", asked)
				}
			})
		})
	}
}

func windows(w ...events.Window) events.Reading { return events.Reading{Source: "s", Windows: w} }
