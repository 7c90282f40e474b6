package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections/story"
)

// whyCommand explains a request or an account.
type whyCommand struct {
	reading
	account, model, at string
}

func (c *whyCommand) cobra() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "why [REQUEST_ID]",
		Short: "Explain a request (the last refused or failed one) or an account",
		Long: "Explains a request in sentences: every attempt, every account that was skipped, on which evidence,\n" +
			"what frees it and when, and whether a replay of the decision agrees. Without an id it explains the\n" +
			"last request that was refused or failed; with --account, an account now or as of --at.",
		Args: cobra.MaximumNArgs(1),
	}
	c.bind(cmd)
	cmd.Flags().StringVar(&c.account, "account", "", "explain an account instead of a request")
	cmd.Flags().StringVar(&c.model, "model", "", "about this model (with --account)")
	cmd.Flags().StringVar(&c.at, "at", "", "as of an instant (with --account)")
	return cmd
}

// Run implements command.
func (c *whyCommand) Run(ctx context.Context, s *std, args []string) error {
	if c.account == "" && (c.model != "" || c.at != "") || c.account != "" && len(args) > 0 {
		return usageError(errors.New("--model and --at go with --account, and --account with no request id"))
	}
	log, err := c.open(s)
	if err != nil {
		return err
	}
	defer log.Close()
	if c.account != "" {
		return c.explainAccount(ctx, s, log)
	}
	id, err := c.which(ctx, log, args)
	if err != nil {
		return err
	}
	st, err := inquiry.Story(ctx, log, id)
	if err != nil {
		return err
	}
	if s.json {
		return printJSON(s.out, &st)
	}
	return writeStory(s.out, paintOf(s), &st)
}

func (c *whyCommand) which(ctx context.Context, log *ledger.Log, args []string) (uuid.UUID, error) {
	if len(args) == 0 {
		return inquiry.Trouble(ctx, log)
	}
	id, err := uuid.Parse(args[0])
	if err != nil {
		return id, usageError(fmt.Errorf("request id %q: want what Waybill-Request-Id says, a UUID", args[0]))
	}
	return id, nil
}

func (c *whyCommand) explainAccount(ctx context.Context, s *std, log *ledger.Log) error {
	m := inquiry.Moment{Now: events.At(s.now())}
	var err error
	if m.Time, err = when(c.at, s.now()); err != nil {
		return err
	}
	all, err := inquiry.Accounts(ctx, log, m, c.account, c.model)
	if err != nil {
		return err
	}
	if s.json {
		return printJSON(s.out, &all[0])
	}
	return writeAccount(s.out, paintOf(s), &all[0])
}

// writeStory prints the sentences, then every decision's candidates.
func writeStory(w io.Writer, p paint, st *story.Request) error {
	for i, sentence := range st.Sentences {
		if i == 0 {
			sentence = p.in(colourOf(st.Outcome), sentence)
		}
		if _, err := fmt.Fprintln(w, sentence); err != nil {
			return err
		}
	}
	for i := range st.Decisions {
		d := &st.Decisions[i]
		fmt.Fprintf(w, "\n%s\n", p.in(bold, fmt.Sprintf("attempt %d, event %d, on the view at %d, rules %d", d.Attempt, d.Event, d.Position, d.Rules)))
		t := table{paint: p}
		t.head("ACCOUNT", "VERDICT", "REASON", "AXIS", "SCOPE", "RESET", "TESTED FROM", "EVIDENCE")
		for k := range d.Candidates {
			cand := &d.Candidates[k]
			word := verdictWord(cand)
			t.row(cell{cand.Account, bold}, cell{word, colourOf(word)}, plain(cand.Reason), plain(cand.Axis), plain(scopeOf(cand)),
				plain(clock(cand.Until)), plain(clock(cand.TrialAt)), plain(positions(cand.Evidence)))
		}
		if err := t.write(w); err != nil {
			return err
		}
	}
	return nil
}

func scopeOf(c *story.Candidate) string {
	if c.Axis == "" {
		return ""
	}
	return c.Scope
}

func verdictWord(c *story.Candidate) string {
	switch {
	case c.Chosen:
		return "chosen"
	case c.Admitted:
		return "admitted"
	case c.Trial:
		return "due"
	}
	return "skipped"
}

func clock(t events.Time) string {
	if t == 0 {
		return ""
	}
	return t.Std().Format("2006-01-02 15:04:05Z")
}

func positions(list []story.Evidence) string {
	parts := make([]string, 0, 3)
	for i, e := range list {
		if i == 3 {
			parts = append(parts, "...")
			break
		}
		parts = append(parts, fmt.Sprint(e.Position))
	}
	return strings.Join(parts, ",")
}

// writeAccount prints an account's sentences, then its cells.
func writeAccount(w io.Writer, p paint, a *story.Account) error {
	for i, sentence := range a.Sentences {
		if i == 0 {
			sentence = p.in(colourOf(a.State), sentence)
		}
		if _, err := fmt.Fprintln(w, sentence); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "\n%s\n", p.in(bold, fmt.Sprintf("%s is %s as of %s, position %d", a.ID, a.State, clock(a.AsOf), a.Position)))
	if len(a.Verdict.Cells) == 0 {
		return nil
	}
	t := table{paint: p}
	t.head("AXIS", "SCOPE", "STATE", "REASON", "SINCE", "RESET", "TESTED FROM", "STEP", "EVIDENCE")
	for i := range a.Verdict.Cells {
		c := &a.Verdict.Cells[i]
		ev := make([]string, len(c.Evidence))
		for k, e := range c.Evidence {
			ev[k] = fmt.Sprint(e)
		}
		t.row(plain(c.Axis), plain(c.Scope), cell{c.State, colourOf(c.State)}, plain(c.Reason), plain(clock(c.Since)),
			plain(clock(c.Until)), plain(clock(c.TrialAt)), plain(fmt.Sprint(c.Step)), plain(strings.Join(ev, ",")))
	}
	return t.write(w)
}
