package postgres_test

import (
	"testing"

	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/postgres"
	server "github.com/waybill/waybill/test/postgres"
)

func TestSnapshots(t *testing.T) {
	ledgertest.Snapshots(t, func(t *testing.T) ledger.Store { return mustOpen(t, postgres.Options{Schema: server.Schema()}) })
}
