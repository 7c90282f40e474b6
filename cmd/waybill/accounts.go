package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/projections/story"
)

// accountsCommand is the table of all accounts.
type accountsCommand struct {
	past
}

func (c *accountsCommand) cobra() *cobra.Command {
	cmd := &cobra.Command{Use: "accounts", Short: "Show every account: state, why, until when", Args: cobra.NoArgs}
	c.bind(cmd)
	return cmd
}

// Run implements command.
func (c *accountsCommand) Run(ctx context.Context, s *std, _ []string) error {
	log, m, err := c.open(s)
	if err != nil {
		return err
	}
	defer log.Close()
	all, err := inquiry.Accounts(ctx, log, m, "", "")
	if err != nil {
		return err
	}
	if s.json {
		return printJSON(s.out, all)
	}
	return writeAccounts(s.out, paintOf(s), all)
}

func writeAccounts(w io.Writer, p paint, all []story.Account) error {
	t := table{paint: p}
	t.head("ACCOUNT", "PROVIDER", "STATE", "REASON", "RESET", "TESTED FROM", "OVERRIDE UNTIL", "WINDOWS", "SINGLE MODELS")
	for i := range all {
		a := &all[i]
		t.row(cell{a.ID, bold}, plain(a.Provider), cell{a.State, colourOf(a.State)}, plain(a.Verdict.Reason), plain(clock(a.Verdict.Reset)),
			plain(testedFrom(&a.Verdict)), plain(clock(a.Override)), plain(windows(a.Windows)), plain(narrower(a.Verdict.Narrow())))
	}
	return t.write(w)
}

// narrower are the parks of single models and families: the account's state
// does not show them.
func narrower(cells []story.Cell) string {
	var out []string
	for i := range cells {
		out = append(out, strings.TrimPrefix(cells[i].Scope, "model:")+" "+cells[i].Reason)
	}
	return strings.Join(out, ", ")
}

// testedFrom is when an account is tested; an operator's park ends without a test.
func testedFrom(v *story.Verdict) string {
	if v.Reason == "parked_by_operator" && v.Until != 0 {
		return "ends " + clock(v.Until)
	}
	return clock(v.TrialAt)
}

// windows is what is left in each window, in the provider's own numbers.
func windows(list []story.Window) string {
	s := ""
	for i := range list {
		w := &list[i]
		if s != "" {
			s += ", "
		}
		s += w.Name + " "
		switch {
		case w.Reached != nil && *w.Reached:
			s += "spent"
		case w.RemainingPercent != nil:
			s += w.RemainingPercent.String() + " % left"
		case w.UsedPercent != nil:
			s += w.UsedPercent.String() + " % used"
		case w.Used != nil && w.Limit != nil:
			s += w.Used.String() + "/" + w.Limit.String()
		default:
			s += w.Flag()
		}
	}
	return s
}
