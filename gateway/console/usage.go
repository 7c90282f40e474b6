package console

import (
	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/projections/usage"
)

// usageTable is requests and tokens summed by something.
type usageTable struct {
	Rows         []usage.Sum
	Total        usage.Sum
	By           string
	Groupings    []string
	Since, Until string
	From, To     events.Time
}

// Columns are the shell's too.
func (usageTable) Columns() []string { return usage.Columns() }

func usagePage(v *visit) error {
	q := v.r.URL.Query()
	p := usageTable{By: q.Get("by"), Groupings: usage.Groupings(), Since: q.Get("since"), Until: q.Get("until")}
	if p.By == "" {
		p.By = usage.Account.String()
	}
	by, ok := usage.ParseBy(p.By)
	if !ok {
		return badRequest("Usage is summed by account, model, client or day.")
	}
	var err error
	if p.From, err = inquiry.When(p.Since, v.frame.Ref()); err != nil {
		return badRequest(err.Error())
	}
	if p.To, err = inquiry.When(p.Until, v.frame.Ref()); err != nil {
		return badRequest(err.Error())
	}
	m, _ := v.moment()
	if p.Rows, err = v.c.api.Usage(v.r.Context(), m, by, p.From, p.To); err != nil {
		return err
	}
	for i := range p.Rows {
		p.Total.Add(&p.Rows[i])
	}
	return v.show("usage", "Usage", p)
}
