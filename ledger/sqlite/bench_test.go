package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/sqlite"
)

func BenchmarkStore(b *testing.B) {
	ledgertest.Bench(b, func(dir string) (ledger.Store, error) { return sqlite.Open(filepath.Join(dir, "waybill.db")) })
}

func BenchmarkReads(b *testing.B) {
	ledgertest.BenchReads(b, func(dir string) (ledger.Store, error) { return sqlite.Open(filepath.Join(dir, "waybill.db")) })
}
