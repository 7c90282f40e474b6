package postgres_test

import (
	"context"
	"errors"
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

func TestBooks(t *testing.T) {
	s := mustOpen(t, postgres.Options{Schema: server.Schema()})
	defer s.Close()
	ledgertest.RunBooks(t, s)
	t.Run("a late holder does not move a place back", func(t *testing.T) {
		b := s.Book("late")
		if err := errors.Join(b.Begin(t.Context(), 1), b.Keep(t.Context(), 9), b.Keep(t.Context(), 5)); err != nil {
			t.Fatal(err)
		}
		if at, _, err := b.Place(t.Context()); at != 9 || err != nil {
			t.Errorf("%d %v", at, err)
		}
	})
}
