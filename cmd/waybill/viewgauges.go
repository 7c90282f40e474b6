package main

import (
	"context"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/engine"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/routing"
)

// The series that are read off the engine.
const (
	seriesAdmitted  = "waybill_account_admitted"
	seriesRemaining = "waybill_window_remaining_ratio"
	seriesInFlight  = "waybill_inflight"
	seriesPosition  = "waybill_ledger_position"
	seriesSpooled   = "waybill_spool_events"
	seriesSpool     = "waybill_spool_bytes"
	seriesSpoolMax  = "waybill_spool_max_bytes"
	seriesLag       = "waybill_projection_lag_events"
	seriesBus       = "waybill_bus_connected"
)

func viewGauges(e *engine.Engine, l *ledger.Log) *gauges {
	return newGauges(func(tell tellGauge) { tellView(e, l, tell) },
		series{seriesAdmitted, "1 when the account may serve now, else 0 with the reason.", []string{"account", "reason"}},
		series{seriesRemaining, "What the newest reading says is left of a window.", []string{"account", "window"}},
		series{seriesInFlight, "Requests in flight.", []string{"account"}},
		series{name: seriesPosition, help: "Committed position that the views stand at."},
		series{name: seriesSpooled, help: "Events that wait for the ledger."},
		series{name: seriesSpool, help: "What the outage spool takes."},
		series{name: seriesSpoolMax, help: "What it may take (spool_max)."},
		series{name: seriesLag, help: "Committed events that the views have not folded."},
		series{name: seriesBus, help: "1 while wake-ups from other replicas come, or none are needed; else followers look every 100 ms."})
}

func tellView(e *engine.Engine, l *ledger.Log, tell tellGauge) {
	all, at := statuses(e)
	for i := range all {
		st := &all[i]
		tell(seriesAdmitted, oneIf(st.Verdict.Admitted), st.Account.ID, st.Verdict.Reason.String())
		tell(seriesInFlight, float64(e.InFlight(st.Account.No)), st.Account.ID)
		for _, w := range st.Windows {
			if left, known := remainingRatio(&w.Window); known {
				tell(seriesRemaining, left, st.Account.ID, w.Name)
			}
		}
	}
	tell(seriesPosition, float64(at))
	outage, _ := e.Outage()
	tell(seriesSpooled, float64(outage.Events))
	tell(seriesSpool, float64(outage.Bytes))
	tell(seriesSpoolMax, float64(outage.Max))
	tell(seriesBus, oneIf(l.Deaf() == nil))
	ctx, cancel := context.WithTimeout(context.Background(), gaugeTime)
	defer cancel()
	if h, err := l.Head(ctx); err == nil {
		tell(seriesLag, float64(max(h.Position, at)-at))
	}
}

// remainingRatio is what a reading says is left, however it says it.
func remainingRatio(w *events.Window) (left float64, known bool) {
	if w.Reached == events.Yes {
		return 0, true
	}
	of, known := w.Left()
	return float64(of) / float64(100*events.DecimalUnit), known
}

func statuses(e *engine.Engine) (out []admission.Status, at events.Position) {
	e.View(func(v routing.View, p events.Position, now events.Time) {
		at = p
		doc, _ := v.Admission.Document()
		for _, a := range v.Admission.Roster() {
			if !a.Retired {
				out = append(out, admission.StatusOf(v.Admission, admission.Path{Account: a.No}, &doc.Policy, now))
			}
		}
	})
	return out, at
}
