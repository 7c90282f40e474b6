package quota

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

var now = events.At(time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC))

// exhausted is R1 in its simplest words, to say in tests what a window means.
func exhausted(w *events.Window) bool {
	if w.Reached != events.Absent {
		return w.Reached == events.Yes
	}
	switch {
	case !w.Reported:
		return false
	case w.RemainingPercent.Set:
		return w.RemainingPercent.V <= 0
	case w.UsedPercent.Set:
		return w.UsedPercent.V >= 100*events.DecimalUnit
	}
	return w.Used.V >= w.Limit.V
}

// TestAMisspeltMemberIsRefused: it would be a number that nobody sees missing.
func TestAMisspeltMemberIsRefused(t *testing.T) {
	for _, doc := range []string{
		`{"source":"s","window":[]}`, `{"source":"s","windows":[{"name":"w","used_percnt":1}]}`, `{"source":"s","credit":{"reach":true}}`,
		`{"source":"s","credit":{"models":[{"model":"m","enabled":true}]}}`, `{"source":"s","billing":{"plan":"paid","end":"x"}}`,
	} {
		if _, _, err := Push([]byte(doc), now); !errors.Is(err, ErrReading) || !strings.Contains(err.Error(), "has no member") {
			t.Errorf("%s: %v", doc, err)
		}
	}
}

func Test_A2_A5_O9_O62_WhatAPushedWindowReports(t *testing.T) {
	rows := []struct {
		name, window        string
		reported, exhausted bool
	}{
		{"O9_used_of_limit_is_a_report", `"used":40000,"limit":40000,"used_percent":100,"reached":true`, true, true},
		{"used_and_limit_alone_report", `"used":40000,"limit":40000`, true, true},
		{"A2_a_used_percentage_of_100_reports_none_left", `"used_percent":100`, true, true},
		{"A5_99_percent_is_room", `"used_percent":99`, true, false},
		{"a_remaining_of_zero", `"remaining_percent":0`, true, true},
		{"a_negative_remaining", `"remaining_percent":-3.5`, true, true},
		{"a_flag_is_authoritative_both_ways", `"remaining_percent":0,"reached":false`, true, false},
		{"a_flag_without_a_number", `"reached":true`, false, true},
		{"used_without_a_limit_reports_nothing", `"used":40000`, false, false},
		{"O62_a_window_without_numbers_reports_nothing", `"resets_at":"2026-12-01T00:00:00Z"`, false, false},
		{"null_reports_nothing", `"used_percent":null,"remaining_percent":null`, false, false},
		{"an_estimate_reports_nothing", `"remaining_percent":0,"reported":false`, false, false},
		{"numbers_may_be_strings", `"used":"2048","limit":"2048"`, true, true},
		{"an_unlimited_window_reports_nothing", `"used":0,"limit":0`, false, false},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			got, _, err := Push([]byte(`{"source":"s","windows":[{"name":"w",`+r.window+`}]}`), now)
			if err != nil {
				t.Fatal(err)
			}
			w := &got.Windows[0]
			if w.Reported != r.reported || exhausted(w) != r.exhausted {
				t.Errorf("reported %v exhausted %v, want %v %v", w.Reported, exhausted(w), r.reported, r.exhausted)
			}
		})
	}
}

func Test_A5_A31_B7_AMalformedNumberVoidsTheReading(t *testing.T) {
	rows := map[string]string{
		"A5_NaN_as_a_string":              `{"windows":[{"name":"w","used_percent":"NaN"}]}`,
		"A31_one_malformed_slot_of_three": `{"windows":[{"name":"a","used_percent":1},{"name":"b","used_percent":"?"},{"name":"c","used_percent":2}]}`,
		"infinity":                        `{"windows":[{"name":"w","remaining_percent":"Infinity"}]}`,
		"B7_a_budget_that_is_no_number":   `{"credit":{"reached":false,"used_percent":"NaN"}}`,
	}
	for name, body := range rows {
		t.Run(name, func(t *testing.T) {
			if _, _, err := Push([]byte(body), now); !errors.Is(err, provider.ErrVoid) {
				t.Errorf("got %v, want a void reading", err)
			}
		})
	}
}

func TestAWrongShapeIsRefusedWithItsMend(t *testing.T) {
	for name, body := range map[string]string{
		"NaN is not JSON":         `{"windows":[{"name":"w","used_percent":NaN}]}`,
		"no object":               `[]`,
		"a window without a name": `{"windows":[{"used_percent":1}]}`,
		"a name that is too long": `{"windows":[{"name":"` + strings.Repeat("w", maxName+1) + `","used_percent":1}]}`,
		"an unknown scope":        `{"windows":[{"name":"w","scope":"planet"}]}`,
		"a family without a name": `{"windows":[{"name":"w","scope":"family:"}]}`,
		"an unknown plan":         `{"billing":{"plan":"gold"}}`,
		"a flag that is a number": `{"windows":[{"name":"w","reached":1}]}`,
		"nothing at all":          `{"source":"s","windows":[]}`,
		"a time of observation":   `{"observed_at":"yesterday"}`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := Push([]byte(body), now); !errors.Is(err, ErrReading) {
				t.Errorf("got %v, want ErrReading", err)
			}
		})
	}
}

func Test_A5_B34_ResetsThatCannotBeReadAreAbsent(t *testing.T) {
	for name, reset := range map[string]string{
		"A5_garbage": `"soon"`, "A5_missing": `null`, "B34_not_a_text": `{}`, "far_away": `"2999-01-01T00:00:00Z"`,
	} {
		t.Run(name, func(t *testing.T) {
			r, _, err := Push([]byte(`{"windows":[{"name":"w","used_percent":100,"resets_at":`+reset+`}]}`), now)
			if err != nil || r.Windows[0].ResetsAt != 0 {
				t.Errorf("got %v, %v: want no reset", r, err)
			}
		})
	}
	r, _, err := Push([]byte(`{"windows":[{"name":"w","used_percent":100,"resets_at":"2026-11-29T00:00:00Z"}]}`), now)
	if err != nil || r.Windows[0].ResetsAt != now.Add(-24*time.Hour) {
		t.Errorf("a past reset is the provider's own word: %v %v", r, err)
	}
}

func TestObservedAtIsNeverLaterThanNow(t *testing.T) {
	_, at, err := Push([]byte(`{"observed_at":"2026-12-30T00:00:00Z","billing":{"plan":"paid"}}`), now)
	if err != nil || at != now {
		t.Errorf("got %s %v, want now", at, err)
	}
	_, at, err = Push([]byte(`{"observed_at":"2026-11-29T01:00:00+01:00","billing":{"plan":"paid"}}`), now)
	if err != nil || at != now.Add(-24*time.Hour) {
		t.Errorf("got %s %v, want a day ago", at, err)
	}
}

func TestTheWholeShapeOfTheContract(t *testing.T) {
	body := `{"source":"console","observed_at":"2026-11-29T23:59:00Z","coverage":["weekly"],
	 "windows":[{"name":"weekly","scope":"family:opus","length_s":604800,"used":"1.5","limit":3,"resets_at":"2026-12-03T00:00:00Z"}],
	 "credit":{"reached":true,"available":false,"used":10,"limit":10,"used_percent":100,"resets_at":1796083200,
	   "models":[{"model":"m","available":false,"credits_would_enable":true}]},
	 "billing":{"plan":"paid","period_end":"2026-12-01T00:00:00Z"}}`
	r, at, err := Push([]byte(body), now)
	if err != nil {
		t.Fatal(err)
	}
	w, c := r.Windows[0], r.Credit
	if at != now.Add(-time.Minute) || r.Source != "console" || w.Length != 7*24*time.Hour ||
		w.Scope != (events.Scope{Kind: events.ScopeFamily, Name: "opus"}) || w.Used.V != 1_500_000 || !w.Reported {
		t.Errorf("window %+v", w)
	}
	if c.Reached != events.Yes || c.Available != events.No || c.ResetsAt != now.Add(24*time.Hour) || c.Models[0].CreditsWouldEnable != events.Yes {
		t.Errorf("credit %+v", c)
	}
	if r.Billing.Plan != events.PlanPaid || r.Billing.PeriodEnd != now.Add(24*time.Hour) {
		t.Errorf("billing %+v", r.Billing)
	}
}

// FuzzPush: any bytes give a reading or an error, never a panic, and never a
// reading that reports what it does not state.
func FuzzPush(f *testing.F) {
	f.Add([]byte(`{"windows":[{"name":"w","used":1,"limit":2,"resets_at":1796083200}]}`))
	f.Add([]byte(`{"credit":{"reached":true,"models":[{"model":"m"}]},"billing":{"plan":"free"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r, at, err := Push(body, now)
		if err != nil {
			return
		}
		if at > now {
			t.Error("observed in the future")
		}
		for i := range r.Windows {
			w := &r.Windows[i]
			if _, told := w.Left(); w.Reported && !told {
				t.Errorf("%+v reports what it does not state", w)
			}
		}
	})
}
