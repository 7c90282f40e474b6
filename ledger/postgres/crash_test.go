package postgres_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/postgres"
	server "github.com/waybill/waybill/test/postgres"
)

// TestNothingAcknowledgedIsLostByACrash stops the server in the middle of
// commits as a power cut would, starts it again, and lets the log finish what
// it had. WAYBILL_KILL_CYCLES says how often [3].
func TestNothingAcknowledgedIsLostByACrash(t *testing.T) {
	cycles := 3
	if v := os.Getenv("WAYBILL_KILL_CYCLES"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatal(err)
		}
		cycles = n
	}
	own, err := server.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer own.Stop()
	l := ledger.OpenWith(mustOpen(t, postgres.Options{URL: own.URL}), ledger.Options{Retries: 1000, Backoff: 5 * time.Millisecond})
	defer l.Close()
	g := ledgertest.NewMaker()
	acked := map[events.Position]uuid.UUID{}
	for cycle := range cycles {
		var tickets []*ledger.Ticket
		for range 200 {
			tickets = append(tickets, l.Submit(ledger.Awaited, g.Drafts(3)...))
		}
		if _, err := tickets[cycle%20].Wait(t.Context()); err != nil { // the rest is under way
			t.Fatal(err)
		}
		if err := own.Crash(); err != nil {
			t.Fatal(err)
		}
		if err := own.Restart(); err != nil {
			t.Fatal(err)
		}
		for _, tk := range tickets {
			evs, err := tk.Wait(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i := range evs {
				acked[evs[i].Position] = evs[i].ID
			}
		}
	}
	fresh := mustOpen(t, postgres.Options{URL: own.URL})
	defer fresh.Close()
	v, err := ledger.Verify(t.Context(), fresh, ledger.VerifyOptions{})
	if err != nil || v.Fault != nil || int(v.Positions) != len(acked) || len(acked) != cycles*600 {
		t.Fatalf("%d acknowledged: %+v %v", len(acked), v, err)
	}
	err = fresh.Scan(t.Context(), 0, ledger.Filter{}, 0, func(r *ledger.Row) error {
		if acked[r.Position] != r.ID {
			t.Errorf("position %d holds %s, acknowledged was %s", r.Position, r.ID, acked[r.Position])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
