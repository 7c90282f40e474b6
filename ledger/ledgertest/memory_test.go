package ledgertest_test

import (
	"testing"

	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
)

func TestMemoryObeysTheContract(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) ledgertest.Opener {
		m := ledgertest.NewMemory()
		return func(t *testing.T) ledger.Store { return m.Reopen() }
	})
}
