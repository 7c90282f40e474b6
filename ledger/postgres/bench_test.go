package postgres_test

import (
	"context"
	"testing"

	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/postgres"
	server "github.com/waybill/waybill/test/postgres"
)

func bench(b *testing.B) func(string) (ledger.Store, error) {
	return func(string) (ledger.Store, error) {
		return postgres.Open(context.Background(), postgres.Options{URL: server.URL(b), Schema: server.Schema()})
	}
}

func BenchmarkStore(b *testing.B) { ledgertest.Bench(b, bench(b)) }
func BenchmarkReads(b *testing.B) { ledgertest.BenchReads(b, bench(b)) }
