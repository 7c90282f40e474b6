package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	server "github.com/waybill/waybill/test/postgres"
)

func opened(t *testing.T, schema string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{URL: server.URL(t), Schema: schema, Silent: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// aloneFor makes a store that has appended alone for a while, and returns what.
func aloneFor(t *testing.T, s *Store, g *ledgertest.Maker) (batches [][]events.Record) {
	t.Helper()
	for i := range aloneAfter + 2 {
		batches = append(batches, g.Records(3))
		put(t, s, batches[i])
	}
	if !s.app.alone.sure {
		t.Fatal("it does not count on being alone")
	}
	return batches
}

func put(t *testing.T, s *Store, batch []events.Record) []ledger.Result {
	t.Helper()
	res, err := s.Commit(context.Background(), batch)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// leaps says whether a batch went in with one statement.
func leaps(t *testing.T, s *Store, batch []events.Record) bool {
	t.Helper()
	if !s.app.alone.note(batch) {
		return false
	}
	before := s.app.alone.head
	_, left, err := s.app.leap(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	if left.Position != 0 {
		s.last = left.Position
	}
	return left.Position == before.Position+events.Position(len(batch))
}

func verified(t *testing.T, s *Store, positions uint64) {
	t.Helper()
	if v, err := ledger.Verify(t.Context(), s, ledger.VerifyOptions{}); err != nil || v.Fault != nil || v.Positions != positions {
		t.Fatalf("%d positions, want %d: %v %v", v.Positions, positions, v.Fault, err)
	}
}

func TestAProcessThatIsAloneAppendsInOneStatement(t *testing.T) {
	s, g := opened(t, server.Schema()), ledgertest.NewMaker()
	aloneFor(t, s, g)
	own := g.Beside() // ids that come a little out of order
	a, b := g.Records(40), own.Records(40)
	for i := range b {
		a = append(a, b[len(b)-1-i])
	}
	if !leaps(t, s, a) {
		t.Error("new ids were looked up")
	}
	verified(t, s, 3*(aloneAfter+2)+80)
	if leaps(t, s, a) {
		t.Error("known ids went in again")
	}
	for i, r := range put(t, s, a) {
		if !r.Known {
			t.Fatalf("event %d went in again", i)
		}
	}
	verified(t, s, 3*(aloneAfter+2)+80)
}

func TestWhatWasAppendedBeforeIsKnownToAProcessThatIsAlone(t *testing.T) {
	s := opened(t, server.Schema())
	for i, batch := range aloneFor(t, s, ledgertest.NewMaker()) {
		if res := put(t, s, batch); !res[0].Known || !res[2].Known {
			t.Errorf("commit %d: %+v", i, res)
		}
	}
}

func TestAProcessSeesUnderTheLockThatItIsNoLongerAlone(t *testing.T) {
	schema := server.Schema()
	s, other, g := opened(t, schema), opened(t, schema), ledgertest.NewMaker()
	aloneFor(t, s, g)
	batch := g.Records(3)
	put(t, other, batch[1:2])
	s.app.alone.clock = carried{} // so that it takes the lock first
	put(t, s, batch[:1])
	if s.app.alone.sure {
		t.Error("it still counts on being alone")
	}
	if res := put(t, s, batch[1:]); !res[0].Known || res[1].Known {
		t.Errorf("%+v", res)
	}
}

func TestALeapDoesNothingWhereOthersHaveAppended(t *testing.T) {
	schema := server.Schema()
	s, other, g := opened(t, schema), opened(t, schema), ledgertest.NewMaker()
	aloneFor(t, s, g)
	put(t, other, ledgertest.NewMaker().Records(1))
	batch := g.Records(5)
	if leaps(t, s, batch) {
		t.Fatal("it went in behind a head that had moved")
	}
	if s.app.alone.sure {
		t.Error("it still counts on being alone")
	}
	verified(t, s, 3*(aloneAfter+2)+1)
	if res := put(t, s, batch); res[0].Known || res[0].Position != 3*(aloneAfter+2)+2 {
		t.Errorf("%+v", res[0])
	}
}

func TestTheRecordedTimeIsTheDatabases(t *testing.T) {
	s, g := opened(t, server.Schema()), ledgertest.NewMaker()
	for _, off := range []time.Duration{-time.Minute, time.Hour} {
		aloneFor(t, s, g)
		s.app.alone.clock.read = s.app.alone.clock.read.Add(off)
		if leaps(t, s, g.Records(1)) && off > 0 { // a clock that is behind gives what follows the last event
			t.Errorf("a clock that is off by %s was believed", off)
		}
		r := put(t, s, g.Records(1))[0]
		if d := time.Since(r.RecordedAt.Std()).Abs(); d > time.Minute/2 {
			t.Errorf("recorded %s off", d)
		}
	}
}

func TestAReadingOfTheClockIsCarriedOnForAWhile(t *testing.T) {
	start := time.Now()
	c := carried{read: 1_000_000, at: start}
	for since, want := range map[time.Duration]bool{0: true, carriedFor - 1: true, carriedFor: false, -1: false} {
		if at, ok := c.now(start.Add(since)); ok != want || ok && at != c.read.Add(since) {
			t.Errorf("after %s: %d %v", since, at, ok)
		}
	}
	if _, ok := (carried{}).now(start); ok {
		t.Error("none was read")
	}
}
