package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/gateway/credential"
	"github.com/waybill/waybill/gateway/quota"
)

// quotaTrial is one fetch of an account's usage endpoint, for people.
type quotaTrial struct {
	Account  string          `json:"account"`
	Source   string          `json:"source"`
	Endpoint string          `json:"endpoint"`
	Status   int             `json:"status"`
	Error    string          `json:"error,omitempty"`
	Answer   string          `json:"answer"`
	Event    json.RawMessage `json:"event"`
}

// doctorQuota asks an account's usage endpoint once. Nothing is recorded.
func doctorQuota(ctx context.Context, s *std, id string) error {
	c, err := doctorConfig(s, new([]symptom))
	if err != nil {
		return usageError(err)
	}
	a := accountOf(c, id)
	if a == nil {
		return usageError(fmt.Errorf("no account %q is configured", id))
	}
	source, err := quotaSource(c, a)
	if errors.Is(err, quota.ErrNoSource) {
		return usageError(fmt.Errorf("account %q has no usage endpoint: its quota source is %s", id, c.QuotaSource(a)))
	}
	if err != nil {
		return usageError(err)
	}
	held, err := credentialOf(a, credential.Options{Account: id, Now: time.Now, Failed: func(err error) { fmt.Fprintln(s.err, err) }})
	if err != nil {
		return usageError(err)
	}
	if held.renewed != nil {
		if err := held.renewed.Load(ctx); err != nil {
			return fmt.Errorf("account %q: %w", id, err)
		}
	}
	f := quota.Fetcher{Transport: quotaTransport(), Now: func() events.Time { return events.At(s.now()) }, Show: true}
	return showTrial(s, a, &source, f.Fetch(ctx, &source, held.Credential))
}

func accountOf(c *config.Config, id string) *config.Account {
	for i := range c.Accounts {
		if c.Accounts[i].ID == id {
			return &c.Accounts[i]
		}
	}
	return nil
}

func showTrial(s *std, a *config.Account, source *quota.Source, got quota.Fetched) error {
	draft := got.Draft(a.ID, source)
	e := draft.Pending()
	t := quotaTrial{Account: a.ID, Source: source.Name, Endpoint: source.Origin(), Status: got.Status, Error: got.Fault,
		Answer: string(got.Raw), Event: events.AppendJSON(nil, &e)}
	var err error
	if s.json {
		err = printJSON(s.out, t)
	} else {
		err = writeTrial(s, &t)
	}
	if err == nil && got.Reading == nil {
		return errQuiet
	}
	return err
}

func writeTrial(s *std, t *quotaTrial) error {
	var event bytes.Buffer
	if err := json.Indent(&event, t.Event, "", "  "); err != nil {
		return err
	}
	what := "was read as"
	if t.Error != "" {
		what = "gave no reading (" + t.Error + "):"
	}
	_, err := fmt.Fprintf(s.out, "%s at %s answered %d:\n\n%s\n\nwhich %s\n\n%s\n", t.Source, t.Endpoint, t.Status, t.Answer, what, &event)
	return err
}
