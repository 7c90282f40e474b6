package simulate

import (
	"time"

	"github.com/waybill/waybill/events"
)

// upstream is one account as it truly is.
type upstream struct {
	mode  string
	reset events.Time // that its refusals state, 0 when they state none
}

// modes are what an upstream may be like. The order is that of a script's
// numbers.
var modes = []string{"healthy", "healthy", "healthy", "dry", "dry with a reset", "unpaid", "burst", "auth", "broken", "overloaded", "unreachable", "hangs", "cuts streams", "strange", "picky"}

// refusal is how an upstream fails an attempt, ok is false when it serves.
func (u *upstream) refusal(model string) (f events.Failure, goesOn, ok bool) {
	account, request := events.Scope{Kind: events.ScopeAccount}, events.Scope{Kind: events.ScopeRequest}
	f = events.Failure{Rule: "simulated:" + u.mode, Scope: account}
	goesOn, ok = true, true
	switch u.mode {
	case "dry":
		f.Class, f.Answer.Status = events.ClassWindowExhausted, 429
	case "dry with a reset":
		f.Class, f.Answer.Status = events.ClassWindowExhausted, 429
		f.Hint = &events.Hint{Value: "stated", Until: u.reset, Source: "header:x-reset"}
	case "unpaid":
		f.Class, f.Answer.Status = events.ClassCreditsExhausted, 402
	case "burst":
		f.Class, f.Answer.Status, f.Scope = events.ClassRateLimited, 429, events.Scope{Kind: events.ScopeModel, Name: model}
	case "auth":
		f.Class, f.Answer.Status = events.ClassAuthFailed, 401
	case "broken":
		f.Class, f.Answer.Status = events.ClassServerError, 500
	case "overloaded":
		f.Class, f.Answer.Status = events.ClassOverloaded, 529
	case "unreachable":
		f.Class, f.Scope = events.ClassNetwork, events.Scope{Kind: events.ScopeEndpoint}
	case "hangs":
		f.Class = events.ClassTimeout
	case "strange":
		f.Class, f.Answer.Status = events.ClassUnclassified, 403
	case "picky":
		f.Class, f.Answer.Status, f.Scope, goesOn = events.ClassInvalidRequest, 400, request, false
	default:
		return f, false, false
	}
	return f, goesOn, ok
}

// reading is what a console says of an account: the truth, or a lie.
func reading(kind, roll uint32, now events.Time) *events.QuotaFetched {
	reset := now.Add(time.Duration(1+roll%600) * time.Second)
	r := events.Reading{Source: "push"}
	w := events.Window{Name: []string{"5h", "weekly"}[roll%2], Reported: true, ResetsAt: reset}
	switch kind % 8 {
	case 0, 1, 2, 3:
		w.Reached = events.Yes
		if roll%5 == 0 {
			w.Scope = events.Scope{Kind: events.ScopeModel, Name: models[roll%uint32(len(models))]}
		}
	case 4:
		w.Reached = events.No
	case 5:
		w.Reached = events.Yes
		r.Windows = append(r.Windows, events.Window{Name: "month", Reached: events.Yes, Reported: true, ResetsAt: reset.Add(time.Hour)})
	case 6:
		r.Credit = &events.Credit{Reached: events.Yes, ResetsAt: reset}
		return &events.QuotaFetched{Reading: r}
	case 7:
		r.Credit = &events.Credit{Reached: events.No, Available: events.Yes}
		r.Billing = &events.Billing{Plan: events.PlanPaid, PeriodEnd: reset}
		return &events.QuotaFetched{Reading: r}
	}
	r.Windows = append(r.Windows, w)
	return &events.QuotaFetched{Reading: r}
}
