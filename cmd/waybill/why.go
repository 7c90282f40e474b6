package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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
	past
	account, model string
}

func (c *whyCommand) cobra() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "why [REQUEST_ID]",
		Short: "Explain a request (the last refused or failed one) or an account",
		Long: "Explains a request in sentences: every attempt, every account that was skipped, on which evidence,\n" +
			"what frees it and when, and whether a replay of the decision agrees. Without an id it explains the\n" +
			"last request that was refused or failed; with --account, an account. --at and --position tell either as it\n" +
			"stood then.",
		Args: cobra.MaximumNArgs(1),
	}
	c.bind(cmd)
	cmd.Flags().StringVar(&c.account, "account", "", "explain an account instead of a request")
	cmd.Flags().StringVar(&c.model, "model", "", "about this model (with --account)")
	return cmd
}

// Run implements command.
func (c *whyCommand) Run(ctx context.Context, s *std, args []string) error {
	if c.account == "" && c.model != "" || c.account != "" && len(args) > 0 {
		return usageError(errors.New("--model goes with --account, and --account with no request id"))
	}
	log, m, err := c.open(s)
	if err != nil {
		return err
	}
	defer log.Close()
	if c.account != "" {
		return c.explainAccount(ctx, s, log, m)
	}
	id, err := which(ctx, log, m, args)
	if err != nil {
		return err
	}
	st, err := inquiry.StoryAt(ctx, log, m, id)
	if err != nil {
		return err
	}
	if s.json {
		return printJSON(s.out, &st)
	}
	return writeStory(s.out, paintOf(s), &st)
}

// which request is meant: the last one in trouble where none is named.
func which(ctx context.Context, log *ledger.Log, m inquiry.Moment, args []string) (uuid.UUID, error) {
	if len(args) == 0 {
		return inquiry.Trouble(ctx, log, m)
	}
	id, err := uuid.Parse(args[0])
	if err != nil {
		return id, usageError(fmt.Errorf("request id %q: want what Waybill-Request-Id says, a UUID", args[0]))
	}
	return id, nil
}

func (c *whyCommand) explainAccount(ctx context.Context, s *std, log *ledger.Log, m inquiry.Moment) error {
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
	if err := p.sentences(w, st.Sentences, colourOf(st.Outcome)); err != nil {
		return err
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
				plain(clock(cand.Reset)), plain(testedFrom(&cand.Verdict)), plain(positions(cand.Evidence)))
		}
		if err := t.write(w); err != nil {
			return err
		}
	}
	return writeEvidence(w, p, behind(st), st.Started)
}

// behind is the evidence behind all verdicts of a request, each event once.
func behind(st *story.Request) []story.Evidence {
	var out []story.Evidence
	for i := range st.Decisions {
		for k := range st.Decisions[i].Candidates {
			out = append(out, st.Decisions[i].Candidates[k].Evidence...)
		}
	}
	slices.SortFunc(out, func(a, b story.Evidence) int { return cmp.Compare(a.Position, b.Position) })
	return slices.CompactFunc(out, func(a, b story.Evidence) bool { return a.Position == b.Position })
}

// writeEvidence prints the events behind verdicts, and how old they were at an
// instant.
func writeEvidence(w io.Writer, p paint, list []story.Evidence, at events.Time) error {
	if len(list) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\n%s\n", p.in(bold, "evidence"))
	t := table{paint: p}
	t.head("EVENT", "SEEN", "AGE", "ACCOUNT", "SOURCE", "WHAT")
	for i := range list {
		e := &list[i]
		old := story.Span(at.Sub(e.ObservedAt))
		if e.ObservedAt > at {
			old = old + " after"
		}
		t.row(cell{fmt.Sprint(e.Position), bold}, plain(clock(e.ObservedAt)), plain(old), plain(e.Account), plain(e.Source), plain(e.Summary))
	}
	return t.write(w)
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
	if err := p.sentences(w, a.Sentences, colourOf(a.State)); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s\n", p.in(bold, fmt.Sprintf("%s is %s as of %s, position %d", a.ID, a.State, clock(a.AsOf), a.Position)))
	if err := writeCells(w, p, a.Verdict.Cells); err != nil {
		return err
	}
	return writeEvidence(w, p, a.Verdict.Evidence, a.AsOf)
}

func writeCells(w io.Writer, p paint, cells []story.Cell) error {
	if len(cells) == 0 {
		return nil
	}
	t := table{paint: p}
	t.head("AXIS", "SCOPE", "STATE", "REASON", "SINCE", "RESET", "TESTED FROM", "STEP", "EVIDENCE")
	for i := range cells {
		c := &cells[i]
		ev := make([]string, len(c.Evidence))
		for k, e := range c.Evidence {
			ev[k] = fmt.Sprint(e)
		}
		t.row(plain(c.Axis), plain(c.Scope), cell{c.State, colourOf(c.State)}, plain(c.Reason), plain(clock(c.Since)),
			plain(clock(c.Reset)), plain(clock(c.TrialAt)), plain(fmt.Sprint(c.Step)), plain(strings.Join(ev, ",")))
	}
	return t.write(w)
}
