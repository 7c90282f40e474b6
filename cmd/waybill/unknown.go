package main

import (
	"context"
	"fmt"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// tellUnknown says beside an empty list which of the accounts that it was asked
// by the ledger does not know: a typo looks like peace otherwise.
func tellUnknown(ctx context.Context, s *std, log *ledger.Log, accounts ...string) error {
	for _, id := range accounts {
		if id == "" {
			continue
		}
		got, err := log.Read(ctx, 0, ledger.Filter{Account: id, Kinds: []events.Kind{events.KindAccountEnrolled}}, 1)
		if err != nil {
			return err
		}
		if len(got) == 0 {
			fmt.Fprintf(s.err, "no account %q was ever enrolled; `waybill accounts` lists them\n", id)
		}
	}
	return nil
}
