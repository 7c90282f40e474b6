package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/postgres"
	"github.com/waybill/waybill/projections/story"
)

// doctorTime bounds each look at something outside of this process.
const doctorTime = 5 * time.Second

// doctorCommand looks at everything that a gateway needs and says what to do
// about what is missing. It spends no request of any account.
type doctorCommand struct{ account string }

func (c *doctorCommand) cobra() *cobra.Command {
	cmd := &cobra.Command{Use: "doctor", Short: "Look at configuration, ledger, gateway and the way to each upstream", Args: cobra.NoArgs}
	cmd.Flags().StringVar(&c.account, "account", "", "ask this account's usage endpoint once and show what it was read as")
	return cmd
}

// symptom is one thing that was looked at.
type symptom struct {
	What string `json:"what"`
	OK   bool   `json:"ok"`
	Note string `json:"note"`
}

// Run implements command.
func (c *doctorCommand) Run(ctx context.Context, s *std, _ []string) error {
	if c.account != "" {
		return doctorQuota(ctx, s, c.account)
	}
	return doctorAll(ctx, s)
}

func doctorAll(ctx context.Context, s *std) error {
	var found []symptom
	c, err := doctorConfig(s, &found)
	var e config.Environment
	if err == nil {
		e = c.Env
	} else { // which is told; what the environment names can be looked at all the same
		e, _, err = config.ReadEnvironment(s.env)
	}
	if err == nil {
		found = append(found, doctorLedger(ctx, e), doctorSpool(ctx, e), doctorGateway(ctx, e))
	}
	if c != nil {
		found = append(found, doctorUpstreams(ctx, c)...)
	}
	sick := 0
	for _, f := range found {
		if !f.OK {
			sick++
		}
	}
	if s.json {
		err = printJSON(s.out, found)
	} else {
		err = writeSymptoms(s, found)
	}
	if err == nil && sick > 0 {
		return errQuiet
	}
	return err
}

func writeSymptoms(s *std, found []symptom) error {
	p := paintOf(s)
	for _, f := range found {
		mark := p.in(good, "ok  ")
		if !f.OK {
			mark = p.in(bad, "BAD ")
		}
		if _, err := fmt.Fprintf(s.out, "%s %-28s %s\n", mark, f.What, f.Note); err != nil {
			return err
		}
	}
	return nil
}

func doctorConfig(s *std, found *[]symptom) (*config.Config, error) {
	src, warnings, err := findSource(s, false)
	var c *config.Config
	if err == nil {
		c, err = src.settings()
	}
	if err != nil {
		*found = append(*found, symptom{What: "configuration", Note: err.Error()})
		return nil, err
	}
	note := story.Count(len(c.Accounts), "account") + ", " + story.Count(len(c.Clients), "client")
	if src.sandbox {
		c.Accounts = nil // their upstream lives in the gateway's process
		note = "none, and no provider keys: serve starts the sandbox"
	}
	*found = append(*found, symptom{What: "configuration", OK: true, Note: note})
	for _, w := range warnings {
		*found = append(*found, symptom{What: "environment", Note: w})
	}
	return c, nil
}

func doctorLedger(ctx context.Context, e config.Environment) symptom {
	f := symptom{What: "ledger"}
	where := redactURL(e.Ledger)
	r, err := openReader(e.Ledger)
	if errors.Is(err, ledger.ErrNotFound) {
		return symptom{What: "ledger", OK: true, Note: where + " is not there yet; serve makes it"}
	}
	if err != nil {
		f.Note = err.Error()
		return f
	}
	defer r.Close()
	h, err := r.Head(ctx)
	if err != nil {
		f.Note = err.Error()
		return f
	}
	switch stray, err := ledger.Stray(ctx, r); {
	case err != nil:
		f.Note = err.Error()
		return f
	case stray != nil:
		f.Note = fmt.Sprintf("%s is broken: %s", where, stray)
		return f
	}
	note := fmt.Sprintf("%s holds %d events; `waybill verify` checks them", where, h.Position)
	if p, ok := r.(*postgres.Store); ok && p.Roles().Detail != "" {
		note += "; " + p.Roles().Detail
	}
	return symptom{What: "ledger", OK: true, Note: note}
}

func doctorGateway(ctx context.Context, e config.Environment) symptom {
	ctx, cancel := context.WithTimeout(ctx, doctorTime)
	defer cancel()
	g := runningAt("", e)
	f := symptom{What: "gateway", OK: true, Note: "none runs at " + g.url}
	resp, err := g.call(ctx, http.MethodGet, "/readyz", nil)
	if err != nil {
		return f
	}
	defer resp.Body.Close()
	f.Note = "ready at " + g.url
	if resp.StatusCode != http.StatusOK {
		f.OK, f.Note = false, "not ready: see "+g.url+"/readyz"
	}
	return f
}

// tellRunning says, while the ledger is away, who still knows something: a
// gateway that runs goes on, and tells what it has folded.
func (s *std) tellRunning(ctx context.Context) {
	e, _, err := config.ReadEnvironment(s.env)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	g := runningAt("", e)
	resp, err := g.call(ctx, http.MethodGet, "/healthz", nil)
	if err != nil {
		fmt.Fprintf(s.err, "waybill: no gateway answers at %s either\n", g.url)
		return
	}
	_ = resp.Body.Close()
	fmt.Fprintf(s.err, "waybill: the gateway at %[1]s still answers with what it knows: console %[1]s/, API %[1]s/api/v1/accounts, %[1]s/readyz\n", g.url)
}

// doctorUpstreams looks whether each endpoint can be connected to, once.
func doctorUpstreams(ctx context.Context, c *config.Config) (found []symptom) {
	seen := map[string]bool{}
	for i := range c.Accounts {
		a := &c.Accounts[i]
		raw := a.BaseURL
		if raw == "" {
			raw = c.ProviderOf(a).BaseURL
		}
		u, err := url.Parse(raw)
		if err != nil || seen[u.Host] {
			continue
		}
		seen[u.Host] = true
		found = append(found, doctorUpstream(ctx, u))
	}
	return found
}

func doctorUpstream(ctx context.Context, u *url.URL) symptom {
	ctx, cancel := context.WithTimeout(ctx, doctorTime)
	defer cancel()
	host := u.Host
	if u.Port() == "" {
		host = net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", host)
	if err != nil {
		return symptom{What: "upstream " + u.Host, Note: err.Error()}
	}
	_ = conn.Close()
	return symptom{What: "upstream " + u.Host, OK: true, Note: "can be connected to"}
}
