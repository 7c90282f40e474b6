package main

import (
	"context"
	"errors"
	"net/http"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/gateway/quota"
)

// newPoller asks the usage endpoints of the accounts and appends what they
// say: of several gateways on one ledger, one for each account. It needs the
// engine when it runs.
func (s *service) newPoller() *quota.Poller {
	return quota.NewPoller(quota.PollerOptions{
		Fetcher: &quota.Fetcher{Transport: quotaTransport(), Now: func() events.Time { return s.engine.Now() }},
		Sink: func(ctx context.Context, drafts ...events.Draft) error {
			_, err := s.engine.Append(ctx, drafts...)
			return err
		},
		Lease: func(ctx context.Context, account string, fn func(context.Context)) {
			s.ledger.Lease(ctx, "quota/"+account, fn)
		},
		Logger: s.log,
	})
}

// quotaTransport is apart from the data plane's pools: a slow console takes no
// connection from a client's request.
func quotaTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 1
	return t
}

// quotaTargets are the accounts that have an endpoint to be asked.
func quotaTargets(c *config.Config, cs credentials) ([]quota.Target, error) {
	var out []quota.Target
	for i := range c.Accounts {
		a := &c.Accounts[i]
		source, err := quotaSource(c, a)
		if errors.Is(err, quota.ErrNoSource) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, quota.Target{Account: a.ID, Source: source, Credential: cs[a.ID].Credential})
	}
	return out, nil
}

func quotaSource(c *config.Config, a *config.Account) (quota.Source, error) {
	p := c.ProviderOf(a)
	switch c.QuotaSource(a) {
	case "preset":
		return quota.Preset(p, a.BaseURL, a.Quota.Interval)
	case "http":
		return quota.HTTP(a.Quota.URL, mappingOf(&a.Quota), revealed(a.Quota.Headers), p.Auth, a.Quota.Interval), nil
	}
	return quota.Source{}, quota.ErrNoSource
}

func mappingOf(q *config.Quota) quota.Mapping {
	var m quota.Mapping
	for _, w := range q.Windows {
		scope, _ := events.ParseScope(w.Scope) // checked when it was read
		m.Windows = append(m.Windows, quota.WindowMap{Name: w.Name, Scope: scope, Length: w.Length, Each: w.Each, Used: w.Used,
			Limit: w.Limit, Remaining: w.Remaining, Ratio: w.Ratio, Percent: w.Percent, Reached: w.Reached, ResetsAt: w.ResetsAt})
	}
	if c := q.Credit; c != nil {
		m.Credit = &quota.CreditMap{Used: c.Used, Limit: c.Limit, Available: c.Available, Reached: c.Reached, ResetsAt: c.ResetsAt}
	}
	return m
}
