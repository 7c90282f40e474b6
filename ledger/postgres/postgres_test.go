package postgres_test

import (
	"context"
	"os"
	"testing"

	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/postgres"
	server "github.com/waybill/waybill/test/postgres"
)

func TestMain(m *testing.M) {
	if schema := os.Getenv(leaseEnv); schema != "" {
		os.Exit(holdLease(schema))
	}
	os.Exit(server.Main(m))
}

func mustOpen(t testing.TB, o postgres.Options) *postgres.Store {
	t.Helper()
	if o.URL == "" {
		o.URL = server.URL(t)
	}
	s, err := postgres.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) ledgertest.Opener {
		o := postgres.Options{URL: server.URL(t), Schema: server.Schema()}
		return func(t *testing.T) ledger.Store { return mustOpen(t, o) }
	})
}

func TestSegments(t *testing.T) {
	ledgertest.RunSegments(t, func(t *testing.T) ledgertest.Opener {
		o := postgres.Options{URL: server.URL(t), Schema: server.Schema(), Segment: ledgertest.SegmentSize}
		return func(t *testing.T) ledger.Store { return mustOpen(t, o) }
	})
}
