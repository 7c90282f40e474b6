package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybill/waybill/gateway/config"
)

// operateTime bounds an operator's call.
const operateTime = 30 * time.Second

// operateCommand is release, park, drain and undrain: one call of the admin
// API, of the running gateway or, when none holds the ledger, of this process.
type operateCommand struct {
	name, short string
	reason      string
	scope       string
	until       string
	admin       string
}

func newOperate(name, short string) *operateCommand { return &operateCommand{name: name, short: short} }

func (c *operateCommand) cobra() *cobra.Command {
	cmd := &cobra.Command{Use: c.name + " ACCOUNT", Short: c.short, Args: cobra.ExactArgs(1)}
	cmd.Flags().StringVar(&c.reason, "reason", "", "why, in a sentence; it stays in the ledger (required)")
	cmd.Flags().StringVar(&c.scope, "scope", "", "account (default), group, endpoint, family:NAME or model:NAME")
	adminFlag(cmd, &c.admin)
	if c.name == "park" {
		cmd.Flags().StringVar(&c.until, "until", "", "2026-11-30T14:03:00Z, or how long, such as 2h (required)")
	}
	return cmd
}

// operation is the body of the call.
type operation struct {
	Reason string `json:"reason"`
	Scope  string `json:"scope,omitempty"`
	Until  string `json:"until,omitempty"`
	For    string `json:"for,omitempty"`
}

// Run implements command.
func (c *operateCommand) Run(ctx context.Context, s *std, args []string) error {
	o, err := c.operation()
	if err != nil {
		return err
	}
	e, _, err := config.ReadEnvironment(s.env)
	if err != nil {
		return usageError(err)
	}
	ctx, cancel := context.WithTimeout(ctx, operateTime)
	defer cancel()
	path := "/api/v1/accounts/" + url.PathEscape(args[0]) + "/" + c.name
	at, err := runningAt(c.admin, e).operate(ctx, path, o)
	where := "through the running gateway"
	if errors.Is(err, errNobody) {
		where = "in the ledger, which no gateway holds"
		at, err = offline(ctx, e, args[0], path, o)
	}
	if err != nil {
		return err
	}
	if s.json {
		return printJSON(s.out, at)
	}
	if at.Position == 0 {
		_, err = fmt.Fprintf(s.out, "%s %s: kept in the spool, %s; it has its position when the ledger is back\n", c.name, args[0], where)
		return err
	}
	_, err = fmt.Fprintf(s.out, "%s %s: recorded at position %d, %s\n", c.name, args[0], at.Position, where)
	return err
}

func (c *operateCommand) operation() (operation, error) {
	o := operation{Reason: c.reason, Scope: c.scope}
	if strings.TrimSpace(c.reason) == "" {
		return o, usageError(fmt.Errorf("--reason is required: say in a sentence why, it stays in the ledger"))
	}
	if c.name != "park" {
		return o, nil
	}
	if _, err := time.ParseDuration(c.until); err == nil {
		o.For = c.until
		return o, nil
	}
	if _, err := time.Parse(time.RFC3339, c.until); err != nil {
		return o, usageError(fmt.Errorf("--until: want 2026-11-30T14:03:00Z or a duration such as 2h; a park ends by itself"))
	}
	o.Until = c.until
	return o, nil
}

// recorded is the API's answer.
type recorded struct {
	Position uint64 `json:"position"`
}

// operate makes the call.
func (g running) operate(ctx context.Context, path string, o operation) (recorded, error) {
	resp, err := g.call(ctx, http.MethodPost, path, o)
	if err != nil {
		return recorded{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return recorded{}, fmt.Errorf("read the gateway's answer: %w", err)
	}
	var out struct {
		recorded
		Detail string `json:"detail"`
	}
	if err := json.Unmarshal(b, &out); err != nil {
		return recorded{}, fmt.Errorf("%s is no Waybill: it answered %s", g.url, resp.Status)
	}
	if resp.StatusCode >= 300 {
		return recorded{}, fmt.Errorf("the gateway refused: %s", out.Detail)
	}
	return out.recorded, nil
}
