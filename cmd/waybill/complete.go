package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/projections/usage"
)

// completeTime bounds the look into the ledger while somebody waits at a prompt.
const completeTime = 2 * time.Second

// The commands that complete more than the names of their flags.

func (c *whyCommand) complete(s *std, cmd *cobra.Command) { c.accountFlags(s, cmd, "account") }

func (c *requestsCommand) complete(s *std, cmd *cobra.Command) {
	c.accountFlags(s, cmd, "account", "skipped")
	vocabulary(cmd, "outcome", requests.Outcomes()...)
}

func (c *eventsCommand) complete(s *std, cmd *cobra.Command) {
	c.accountFlags(s, cmd, "account")
	vocabulary(cmd, "type", events.KindNames()...)
}

func (*usageCommand) complete(_ *std, cmd *cobra.Command) {
	vocabulary(cmd, "by", usage.Groupings()...)
}

func (*operateCommand) complete(s *std, cmd *cobra.Command) {
	cmd.ValidArgsFunction = new(reading).accountIDs(s)
}

// vocabulary completes a flag by a closed vocabulary.
func vocabulary(cmd *cobra.Command, flag string, list ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)) // only fails for a flag that there is not
}

// accountFlags completes flags by the accounts of the ledger.
func (r *reading) accountFlags(s *std, cmd *cobra.Command, flags ...string) {
	for _, f := range flags {
		_ = cmd.RegisterFlagCompletionFunc(f, r.accountIDs(s)) // only fails for a flag that there is not
	}
}

// accountIDs lists the accounts of the ledger that the command would read; none
// where it cannot be read: a prompt shows no errors.
func (r *reading) accountIDs(s *std) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(context.Background(), completeTime)
		defer cancel()
		log, err := r.open(s)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		defer log.Close()
		all, err := inquiry.Accounts(ctx, log, inquiry.Moment{}, "", "")
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ids := make([]cobra.Completion, len(all))
		for i := range all {
			ids[i] = all[i].ID
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}
