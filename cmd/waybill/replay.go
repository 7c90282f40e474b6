package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/projections/story"
	"github.com/waybill/waybill/projections/whatif"
)

// replayCommand plays recorded traffic under another policy.
type replayCommand struct {
	reading
	policy string
	span   spanFlags
}

func (c *replayCommand) cobra() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay --policy FILE",
		Short: "What recorded traffic would have come to under another policy",
		Long: "Decides every recorded request anew under the policy of FILE (the `policy:` block or its bare fields; what\n" +
			"it does not name stays as recorded). Outcomes that the record knows are used; a request that would have\n" +
			"gone to an account that it was not sent to is counted as unknown: nothing is guessed.",
		Args: cobra.NoArgs,
	}
	c.bind(cmd)
	cmd.Flags().StringVar(&c.policy, "policy", "", "YAML file with the changed policy (required)")
	c.span.bind(cmd, "requests that began")
	return cmd
}

// Run implements command.
func (c *replayCommand) Run(ctx context.Context, s *std, _ []string) error {
	o, err := c.options(s)
	if err != nil {
		return err
	}
	log, err := c.open(s)
	if err != nil {
		return err
	}
	defer log.Close()
	r, err := inquiry.Replay(ctx, log, o, newProgress(s).tell)
	if err != nil {
		return err
	}
	if s.json {
		return printJSON(s.out, &r)
	}
	return writeReplay(s.out, paintOf(s), &r)
}

func (c *replayCommand) options(s *std) (o whatif.Options, err error) {
	if c.policy == "" {
		return o, usageError(errors.New("--policy FILE is required: the policy to try"))
	}
	text, err := os.ReadFile(c.policy)
	if err != nil {
		return o, usageError(err)
	}
	if o.Change, err = config.PolicyChange(c.policy, text, s.env); err != nil {
		return o, usageError(err)
	}
	o.Since, o.Until, err = c.span.span(s)
	return o, err
}

func writeReplay(w io.Writer, p paint, r *whatif.Result) error {
	fmt.Fprintln(w, p.in(bold, fmt.Sprintf("%s; %d would have got another answer, or one from elsewhere.", story.Count(int(r.Requests), "request"), r.Differences)))
	t := table{paint: p}
	t.head("", "SERVED", "FAILED", "REFUSED", "ABORTED", "OPEN", "UNKNOWN")
	for _, side := range []struct {
		name string
		of   whatif.Totals
	}{{"recorded", r.Recorded}, {"proposed", r.Proposed}} {
		row := []cell{{side.name, bold}}
		for _, n := range []int64{side.of.Served, side.of.Failed, side.of.Refused, side.of.Aborted, side.of.Open, side.of.Unknown} {
			row = append(row, plain(fmt.Sprint(n)))
		}
		t.row(row...)
	}
	if err := t.write(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if err := writeSides(w, p, r.Accounts); err != nil || len(r.Examples) == 0 {
		return err
	}
	fmt.Fprintf(w, "\n%s\n", p.in(bold, "The most telling requests:"))
	for _, e := range r.Examples {
		fmt.Fprintf(w, "%s  %s\n", p.in(faint, e.Request.String()), e.Sentence)
	}
	return nil
}

// writeSides shows every account, recorded against proposed.
func writeSides(w io.Writer, p paint, accounts []whatif.Account) error {
	t := table{paint: p}
	t.head("ACCOUNT", "ATTEMPTS", "SERVED", "SKIPPED", "UNKNOWN", "SET ASIDE (S)", "TRIALS")
	both := func(a, b int64) cell {
		c := cell{text: fmt.Sprintf("%d -> %d", a, b)}
		if a != b {
			c.colour = wait
		}
		return c
	}
	for _, a := range accounts {
		t.row(cell{a.Account, bold}, both(a.Recorded.Attempts, a.Proposed.Attempts), both(a.Recorded.Served, a.Proposed.Served),
			both(a.Recorded.Skipped, a.Proposed.Skipped), plain(fmt.Sprint(a.Proposed.Unknown)),
			both(a.ParkedS.Recorded, a.ParkedS.Proposed), both(a.Trials.Recorded, a.Trials.Proposed))
	}
	return t.write(w)
}
