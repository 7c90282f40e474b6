package brokers

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/postgres"
	database "github.com/waybill/waybill/test/postgres"
)

// figures of the way from a commit to a follower in another replica.
type figures struct {
	Bus   string  `json:"bus"`
	P50   float64 `json:"p50_ms"`
	P99   float64 `json:"p99_ms"`
	Worst float64 `json:"worst_ms"`
}

// TestACommitReachesAnotherReplicaSoonWhateverTheBus measures, and compares with
// each other: a wake-up must be worth having. The bounds in milliseconds are for
// the long form, on a machine that does nothing else.
func TestACommitReachesAnotherReplicaSoonWhateverTheBus(t *testing.T) {
	rounds, long := 40, false
	if n, err := strconv.Atoi(os.Getenv("WAYBILL_WAKEUPS")); err == nil {
		rounds, long = n, true
	}
	n := StartNATS(t)
	nats := measure(t, "nats", rounds, func(schema string) *ledger.Log { return replica(t, schema, n.URL(), 0) })
	notify := measure(t, "postgres", rounds, func(schema string) *ledger.Log { return plain(t, schema, false) })
	poll := measure(t, "local", max(rounds/5, 8), func(schema string) *ledger.Log { return plain(t, schema, true) })
	trip := roundTrip(t)
	for _, f := range []figures{nats, notify} {
		if f.P50 > poll.P50/2 {
			t.Errorf("with %s half of the events take %.1f ms, with polls alone %.1f ms", f.Bus, f.P50, poll.P50)
		}
		if long && f.P50 > 5 {
			t.Errorf("with %s half of the events take %.1f ms", f.Bus, f.P50)
		}
	}
	if long && poll.Worst > 300 {
		t.Errorf("without wake-ups the slowest event takes %.1f ms", poll.Worst)
	}
	if long {
		b, _ := json.Marshal(map[string]any{"prove": "wake", "rounds": rounds, "round_trip_ms": trip, "buses": []figures{nats, notify, poll}}) // plain values
		fmt.Println(string(b))
	}
}

func plain(t *testing.T, schema string, silent bool) *ledger.Log {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgres.Options{URL: database.URL(t), Schema: schema, Silent: silent})
	if err != nil {
		t.Fatal(err)
	}
	l := ledger.Open(s)
	t.Cleanup(func() { l.Close() })
	return l
}

// alone is how far apart events are that come alone: what others are told of
// comes less often than that only where more is to be told.
const alone = 5 * time.Millisecond

// measure appends in one replica, one event at a time, and follows in another.
func measure(t *testing.T, bus string, rounds int, open func(schema string) *ledger.Log) figures {
	t.Helper()
	schema, g := database.Schema(), ledgertest.NewMaker()
	writer, reader := open(schema), open(schema)
	seen := make(chan time.Time, 1)
	go func() {
		_ = reader.Follow(t.Context(), 0, func([]events.Event) error {
			seen <- time.Now()
			return nil
		})
	}()
	tick := time.NewTicker(alone)
	defer tick.Stop()
	var took []time.Duration
	for i := range rounds + 2 {
		<-tick.C
		add(t, writer, g, 1)
		committed := time.Now()
		select {
		case at := <-seen:
			if i >= 2 { // connections are being made
				took = append(took, max(at.Sub(committed), 0))
			}
		case <-time.After(patience):
			t.Fatalf("%s: event %d does not arrive", bus, i)
		}
	}
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return figures{Bus: bus, P50: ms(took[len(took)/2]), P99: ms(took[len(took)*99/100]), Worst: ms(took[len(took)-1])}
}

// roundTrip is the median of a look at the head, in milliseconds, of a server that
// has to be woken for it.
func roundTrip(t *testing.T) float64 {
	t.Helper()
	l := plain(t, database.Schema(), true)
	tick := time.NewTicker(alone)
	defer tick.Stop()
	var took []time.Duration
	for range 200 {
		<-tick.C
		begun := time.Now()
		if _, err := l.Head(t.Context()); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	return float64(took[100].Microseconds()) / 1000
}
