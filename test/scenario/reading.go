package scenario

import (
	"fmt"
	"strings"

	"github.com/waybill/waybill/events"
)

// reading reads "NAME field...; NAME field...": windows, and the names credit
// and billing for what they are. Fields: left, used, limit, percent (used),
// reset, scope, length, reached, not-reached, unreported; credit also
// available, not-available and MODEL:available|enable|unavailable; billing
// paid, free and end.
func (w *World) reading(source, text string) (events.Reading, error) {
	r := events.Reading{Source: source}
	for _, part := range strings.Split(text, ";") {
		f := strings.Fields(part)
		if len(f) == 0 {
			continue
		}
		var err error
		switch f[0] {
		case "covers":
			r.Coverage = f[1:]
		case "credit":
			r.Credit = &events.Credit{}
			err = w.credit(r.Credit, f[1:])
		case "billing":
			r.Billing = &events.Billing{}
			err = w.billing(r.Billing, f[1:])
		default:
			win := events.Window{Name: f[0], Reported: true}
			err = w.window(&win, f[1:])
			r.Windows = append(r.Windows, win)
		}
		if err != nil {
			return r, fmt.Errorf("reading %q: %w", part, err)
		}
	}
	return r, nil
}

func (w *World) window(win *events.Window, fields []string) (err error) {
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		switch name {
		case "left":
			win.RemainingPercent, err = decimal(value)
		case "percent":
			win.UsedPercent, err = decimal(value)
		case "used":
			win.Used, err = decimal(value)
		case "limit":
			win.Limit, err = decimal(value)
		case "reset":
			win.ResetsAt, err = w.instant(value)
		case "length":
			win.Length, err = duration(value)
		case "scope":
			var ok bool
			if win.Scope, ok = events.ParseScope(value); !ok {
				err = fmt.Errorf("no scope %q", value)
			}
		case "reached":
			win.Reached = events.Yes
		case "not-reached":
			win.Reached = events.No
		case "unreported":
			win.Reported = false
		default:
			err = fmt.Errorf("no field %q", f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *World) credit(c *events.Credit, fields []string) (err error) {
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		model, word, named := strings.Cut(name, ":")
		switch {
		case named:
			m := events.ModelCredit{Model: model}
			switch word {
			case "available":
				m.Available = events.Yes
			case "unavailable":
				m.Available = events.No
			case "enable":
				m.CreditsWouldEnable = events.Yes
			default:
				err = fmt.Errorf("no field %q", f)
			}
			c.Models = append(c.Models, m)
		case name == "reached":
			c.Reached = events.Yes
		case name == "not-reached":
			c.Reached = events.No
		case name == "available":
			c.Available = events.Yes
		case name == "not-available":
			c.Available = events.No
		case name == "used":
			c.Used, err = decimal(value)
		case name == "limit":
			c.Limit, err = decimal(value)
		case name == "percent":
			c.UsedPercent, err = decimal(value)
		case name == "reset":
			c.ResetsAt, err = w.instant(value)
		default:
			err = fmt.Errorf("no field %q", f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *World) billing(b *events.Billing, fields []string) (err error) {
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		switch name {
		case "paid":
			b.Plan = events.PlanPaid
		case "free":
			b.Plan = events.PlanFree
		case "end":
			b.PeriodEnd, err = w.instant(value)
		default:
			err = fmt.Errorf("no field %q", f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func decimal(s string) (events.OptDecimal, error) {
	v, ok := events.ParseDecimal(s)
	if !ok {
		return events.OptDecimal{}, fmt.Errorf("no number %q", s)
	}
	return events.Dec(v), nil
}
