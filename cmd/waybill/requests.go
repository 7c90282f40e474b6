package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/projections/story"
)

// requestsCommand lists requests.
type requestsCommand struct {
	past
	span    spanFlags
	outcome string
	query   requests.Query
}

func (c *requestsCommand) cobra() *cobra.Command {
	cmd := &cobra.Command{Use: "requests", Short: "List requests, newest first, refused ones included", Args: cobra.NoArgs}
	c.bind(cmd)
	c.span.bind(cmd, "started")
	f := cmd.Flags()
	f.StringVar(&c.outcome, "outcome", "", "served, failed, refused, aborted or open")
	f.StringVar(&c.query.Account, "account", "", "tried at or served by this account")
	f.StringVar(&c.query.Skipped, "skipped", "", "in which this account was skipped")
	f.StringVar(&c.query.Client, "client", "", "of this client")
	f.StringVar(&c.query.Model, "model", "", "that asked for this model")
	f.StringVar(&c.query.Session, "session", "", "of this session, as the client named it or its digest")
	f.IntVar(&c.query.Limit, "limit", 50, "how many at most, 0 for all")
	return cmd
}

// Run implements command.
func (c *requestsCommand) Run(ctx context.Context, s *std, _ []string) error {
	q := c.query
	if err := limited(q.Limit); err != nil {
		return err
	}
	if c.outcome != "" {
		o, ok := requests.ParseOutcome(c.outcome)
		if !ok {
			return usageError(fmt.Errorf("outcome %q: want served, failed, refused, aborted or open", c.outcome))
		}
		q.Outcome = &o
	}
	var err error
	if q.Since, q.Until, err = c.span.span(s); err != nil {
		return err
	}
	log, m, err := c.open(s)
	if err != nil {
		return err
	}
	defer log.Close()
	rows, more, err := inquiry.RequestsAt(ctx, log, m, q)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		if err := tellUnknown(ctx, s, log, q.Account, q.Skipped); err != nil {
			return err
		}
	}
	if s.json {
		return printJSON(s.out, rows)
	}
	if err := writeRequests(s.out, paintOf(s), rows); err != nil || !more {
		return err
	}
	_, err = fmt.Fprintf(s.err, "%d shown; --limit 0 shows all\n", len(rows))
	return err
}

func writeRequests(w io.Writer, p paint, rows []story.Row) error {
	t := table{paint: p}
	t.head("STARTED", "REQUEST", "OUTCOME", "STATUS", "MODEL", "CLIENT", "ACCOUNT", "TRIED", "SKIPPED", "TOOK")
	for i := range rows {
		r := &rows[i]
		outcome := r.Outcome
		if r.Code != "" {
			outcome += " " + r.Code
		}
		t.row(plain(clock(r.Started)), cell{r.Request.String(), bold}, cell{outcome, colourOf(r.Outcome)}, plain(numberOf(r.Status)), plain(r.Model),
			plain(r.Client), plain(r.Account), plain(strings.Join(r.Tried, ",")), plain(few(r.Skipped)), plain(took(r)))
	}
	return t.write(w)
}

func numberOf(n uint32) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// few names four, and counts the rest.
func few(ids []string) string {
	if len(ids) <= 4 {
		return strings.Join(ids, ",")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(ids[:4], ","), len(ids)-4)
}

func took(r *story.Row) string {
	if r.Ended == events.Time(0) {
		return ""
	}
	return story.Took(r.DurationMS)
}
