package postgres_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/waybill/waybill/ledger/postgres"
	server "github.com/waybill/waybill/test/postgres"
)

func TestAWriterIsTakenOverOnlyWhenNobodyHoldsIt(t *testing.T) {
	o := postgres.Options{URL: server.URL(t), Schema: server.Schema()}
	one, two := mustOpen(t, o), mustOpen(t, o)
	defer two.Close()
	writer := uuid.Must(uuid.NewV7())
	if err := one.Hold(t.Context(), writer); err != nil {
		t.Fatal(err)
	}
	ran := 0
	over := func() bool {
		dead, err := two.TakeOver(t.Context(), writer, func(context.Context) error {
			ran++
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return dead
	}
	if over() || ran != 0 {
		t.Error("a living writer was taken over")
	}
	if err := two.Hold(t.Context(), writer); err == nil {
		t.Error("two processes hold one writer")
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if !over() || ran != 1 {
		t.Error("a dead writer was not taken over")
	}
	broken := errors.New("broken")
	if _, err := two.TakeOver(t.Context(), writer, func(context.Context) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if !over() {
		t.Error("the lock was kept after a failure")
	}
}
