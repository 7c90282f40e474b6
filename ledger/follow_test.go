package ledger_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
)

// TestAFollowerStopsAtALedgerThatIsNotWhatItWas: it hands over nothing behind a
// hole, and says which event it misses; a head that went back is told at the
// next look.
func TestAFollowerStopsAtALedgerThatIsNotWhatItWas(t *testing.T) {
	for name, row := range map[string]struct {
		spoil func(*ledgertest.Spoiled)
		says  string
		upTo  events.Position // the last event that the follower may be given
	}{
		"a hole in the middle":           {func(s *ledgertest.Spoiled) { s.Hole.Store(5) }, "event 5 is missing", 3},
		"a hole where it goes on":        {func(s *ledgertest.Spoiled) { s.Hole.Store(4) }, "event 4 is missing", 3},
		"nothing where the head says so": {func(s *ledgertest.Spoiled) { s.Hole.Store(6) }, "event 6 is missing", 5},
		"a head that went back":          {func(s *ledgertest.Spoiled) { s.Back.Store(2) }, "head is 2, was 3", 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &ledgertest.Spoiled{Memory: ledgertest.NewMemory()}
				other := ledger.Open(store.Memory) // another process
				mustAppend(t, other, draft(1), draft(2), draft(3))
				l := ledger.Open(store)
				done, last := make(chan error, 1), events.Position(0)
				go func() {
					done <- l.Follow(t.Context(), 0, func(run []events.Event) error {
						last = run[len(run)-1].Position
						return nil
					})
				}()
				synctest.Wait()
				row.spoil(store)
				mustAppend(t, other, draft(4), draft(5))
				mustAppend(t, other, draft(6))
				time.Sleep(time.Second) // of the bubble: a few polls
				select {
				case err := <-done:
					if !errors.Is(err, ledger.ErrBroken) || !strings.Contains(err.Error(), row.says) {
						t.Errorf("it stopped with %v, want %q", err, row.says)
					}
				default:
					t.Error("it goes on")
				}
				if last != row.upTo {
					t.Errorf("it was given events up to %d, want %d", last, row.upTo)
				}
				if err := errors.Join(l.Close(), other.Close()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
