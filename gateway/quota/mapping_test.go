package quota

import (
	"errors"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

func TestAMappedAnswer(t *testing.T) {
	rows := []struct {
		name, body string
		m          WindowMap
		exhausted  bool
		percent    string // of RemainingPercent or UsedPercent, "" any
	}{
		{"a used ratio", `{"u":0.5}`, WindowMap{Used: "u", Ratio: true}, false, "50"},
		{"a used ratio above one", `{"u":1.02}`, WindowMap{Used: "u", Ratio: true}, true, "102"},
		{"a remaining ratio", `{"r":0}`, WindowMap{Remaining: "r", Ratio: true}, true, "0"},
		{"a used percentage of half a percent", `{"u":0.5}`, WindowMap{Used: "u", Percent: true}, false, "0.5"},
		{"a remaining percentage below zero", `{"r":"-3"}`, WindowMap{Remaining: "r", Percent: true}, true, "-3"},
		{"used and limit", `{"u":40000,"l":40000}`, WindowMap{Used: "u", Limit: "l"}, true, ""},
		{"a remaining amount with a limit", `{"d":{"r":"15","l":"60"}}`, WindowMap{Remaining: "d.r", Limit: "d.l"}, false, "25"},
		{"a remaining amount without a limit is a flag", `{"r":0}`, WindowMap{Remaining: "r"}, true, ""},
		{"and the other way", `{"r":12}`, WindowMap{Remaining: "r"}, false, ""},
		{"a flag of its own outranks the number", `{"r":0,"f":false}`, WindowMap{Remaining: "r", Percent: true, Reached: "f"}, false, ""},
		{"a member by number", `{"a":[{"u":1},{"u":100}]}`, WindowMap{Used: "a.1.u", Percent: true}, true, "100"},
		{"a member by its type", `{"a":[{"t":"X","u":1},{"t":"Y","u":100}]}`, WindowMap{Used: "a[t=Y].u", Percent: true}, true, "100"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			r.m.Name = "w"
			got, err := Mapping{Windows: []WindowMap{r.m}}.Read([]byte(r.body), now)
			if err != nil {
				t.Fatal(err)
			}
			w := &got.Windows[0]
			if exhausted(w) != r.exhausted || w.Scope.Kind != events.ScopeAccount {
				t.Errorf("%+v, want exhausted %v", w, r.exhausted)
			}
			p := w.RemainingPercent
			if !p.Set {
				p = w.UsedPercent
			}
			if r.percent != "" && p.V.String() != r.percent {
				t.Errorf("percentage %s, want %s", p.V, r.percent)
			}
		})
	}
}

func TestAMappedListGivesAWindowEach(t *testing.T) {
	m := Mapping{Windows: []WindowMap{{Name: "kind", Each: "data.limits", Used: "pct", Percent: true, ResetsAt: "at"}}}
	r, err := m.Read([]byte(`{"data":{"limits":[{"kind":"5h","pct":100,"at":1796002200000},{"kind":"7d","pct":3,"at":"2026-12-01T00:00:00Z"},{"other":1}]}}`), now)
	if err != nil || len(r.Windows) != 2 {
		t.Fatalf("%+v %v", r, err)
	}
	a, b := r.Windows[0], r.Windows[1]
	if a.Name != "5h" || b.Name != "7d" || a.ResetsAt != now.Add(90*time.Minute) || b.ResetsAt != now.Add(24*time.Hour) {
		t.Errorf("%+v %+v", a, b)
	}
}

func TestAMappingThatFitsNothingIsVoid(t *testing.T) {
	m := Mapping{Windows: []WindowMap{{Name: "w", Used: "no.such", Percent: true}}}
	for _, body := range []string{`{}`, `<html>`, `{"no":{"such":"NaN"}}`} {
		if _, err := m.Read([]byte(body), now); !errors.Is(err, provider.ErrVoid) {
			t.Errorf("%s: %v, want a void reading", body, err)
		}
	}
}

func TestAMappedCredit(t *testing.T) {
	m := Mapping{Credit: &CreditMap{Used: "u", Limit: "l", Available: "a", Reached: "r", ResetsAt: "t"}}
	r, err := m.Read([]byte(`{"u":"10","l":10,"a":"0.00","r":true,"t":"2026-12-01"}`), now)
	if err != nil {
		t.Fatal(err)
	}
	if none, err := m.Read([]byte(`{"u":"10","l":0}`), now); err != nil || none.Credit.UsedPercent.Set {
		t.Errorf("a limit of nothing has no percentage: %+v, %v", none.Credit, err)
	}
	c := r.Credit
	if c.Reached != events.Yes || c.Available != events.No || c.UsedPercent.V.String() != "100" || c.ResetsAt != now.Add(24*time.Hour) {
		t.Errorf("%+v", c)
	}
}

func FuzzMapping(f *testing.F) {
	f.Add([]byte(`{"a":[{"u":1,"l":2}]}`), "a", "u", "l", false, true)
	f.Fuzz(func(t *testing.T, body []byte, each, used, limit string, ratio, percent bool) {
		m := Mapping{Windows: []WindowMap{{Name: "w", Each: each, Used: used, Limit: limit, Ratio: ratio, Percent: percent}}, Credit: &CreditMap{Available: used}}
		r, err := m.Read(body, now)
		if (r == nil) == (err == nil) {
			t.Errorf("%+v and %v", r, err)
		}
	})
}
