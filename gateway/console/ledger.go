package console

import (
	"context"
	"net/http"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/admin"
	"github.com/waybill/waybill/gateway/inquiry"
)

// ledgerPage is where the ledger ends, whether it is sound, and how far
// everything that follows it is.
type ledgerPage struct {
	admin.LedgerState
	Where  string
	Away   string // why the ledger does not answer: only what this process knows stands there
	Checks []admin.Check
	Feeds  []inquiry.Feed
	Job    *jobState // the last verification
	AsOf   events.Position
	Lately int // how many events tell of the gateways
}

const ledgerTemplate = "ledger"

func ledgerPageOf(v *visit) (p ledgerPage, err error) {
	p = ledgerPage{Where: v.frame.About.Ledger, Lately: inquiry.Lately}
	p.Checks = v.c.api.Checks(v.r.Context())
	if b := v.c.jobs.last(ledgerTemplate); b != nil {
		s := b.State()
		p.Job = &s
	}
	if err = p.ask(v); err != nil && admin.ProblemOf(err).Status == http.StatusServiceUnavailable && v.r.Context().Err() == nil {
		p.LedgerState, p.Away = v.c.api.Own(), admin.ProblemOf(err).Detail
		return p, nil
	}
	return p, err
}

// ask fills in what the ledger itself says.
func (p *ledgerPage) ask(v *visit) (err error) {
	if p.LedgerState, err = v.c.api.LedgerState(v.r.Context(), inquiry.Moment{}); err != nil {
		return err
	}
	if m, past := v.moment(); past {
		if p.AsOf, err = inquiry.Place(v.r.Context(), v.c.api.Log(), m); err != nil {
			return err
		}
	}
	p.Feeds, err = v.c.api.Feeds(v.r.Context())
	return err
}

func ledgerView(v *visit) error {
	p, err := ledgerPageOf(v)
	if err != nil {
		return err
	}
	return v.show(ledgerTemplate, "Ledger", p)
}

// verify checks the whole ledger in the background.
func verify(v *visit) error {
	b, err := v.c.jobs.run(v.c.api.Now, question{Title: "Verification", Page: ledgerTemplate, Back: "/ledger",
		ask: func(ctx context.Context, tell func(done, head events.Position)) (any, error) {
			return v.c.api.Verify(ctx, tell)
		}})
	if err != nil {
		return busy(err)
	}
	return v.toJob(b)
}

func busy(err error) error {
	return &admin.Problem{Status: http.StatusServiceUnavailable, Title: "Busy", Detail: err.Error()}
}
