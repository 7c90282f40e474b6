package brokers

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/natsbus"
	"github.com/waybill/waybill/ledger/postgres"
	database "github.com/waybill/waybill/test/postgres"
)

func TestMain(m *testing.M) { os.Exit(database.Main(m)) }

// patience bounds what a foreign process or another goroutine may take.
const patience = 20 * time.Second

// until polls a condition that nothing signals.
func until(t *testing.T, what string, fn func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !fn(); {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %s", what, patience)
		}
		time.Sleep(time.Millisecond)
	}
}

// replica opens a silent PostgreSQL ledger whose wake-ups come over NATS.
func replica(t *testing.T, schema, bus string, poll time.Duration) *ledger.Log {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgres.Options{URL: database.URL(t), Schema: schema, Silent: true})
	if err != nil {
		t.Fatal(err)
	}
	b := openBus(t, bus, s.Name())
	l := ledger.OpenWith(s, ledger.Options{Poll: poll, Bus: b})
	t.Cleanup(func() { l.Close() })
	return l
}

func openBus(t *testing.T, url, name string) *natsbus.Bus {
	t.Helper()
	b, err := natsbus.Open(url, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// follow counts a follower's events.
func follow(t *testing.T, l *ledger.Log) *atomic.Uint64 {
	at := new(atomic.Uint64)
	go func() {
		_ = l.Follow(t.Context(), 0, func(run []events.Event) error {
			at.Store(uint64(run[len(run)-1].Position))
			return nil
		})
	}()
	return at
}

func add(t *testing.T, l *ledger.Log, g *ledgertest.Maker, n int) {
	t.Helper()
	if _, err := l.Append(t.Context(), g.Drafts(n)...); err != nil {
		t.Fatal(err)
	}
}

func TestAWakeUpOverNATSReachesAFollowerThatNeverPolls(t *testing.T) {
	n, schema, g := StartNATS(t), database.Schema(), ledgertest.NewMaker()
	writer := replica(t, schema, n.URL(), time.Hour)
	reader := replica(t, schema, n.URL(), time.Hour)
	until(t, "both are heard", func() bool { return n.NumSubscriptions() >= 2 })
	at := follow(t, reader)
	var slowest time.Duration
	for i := uint64(1); i <= 200; i++ {
		add(t, writer, g, 1)
		begun := time.Now()
		until(t, "the event arrives", func() bool { return at.Load() == i })
		slowest = max(slowest, time.Since(begun))
	}
	t.Logf("slowest wake-up of 200: %s", slowest)
}

func TestWithoutAServerFollowersPollAndWakeUpsComeBackByThemselves(t *testing.T) {
	n, schema, g := StartNATS(t), database.Schema(), ledgertest.NewMaker()
	n.Stop() // not there at start
	writer := replica(t, schema, n.URL(), 50*time.Millisecond)
	reader := replica(t, schema, n.URL(), 50*time.Millisecond)
	at := follow(t, reader)
	add(t, writer, g, 1)
	until(t, "a poll finds it", func() bool { return at.Load() == 1 })
	until(t, "it is said", func() bool { return reader.Deaf() != nil && writer.Deaf() != nil })

	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "wake-ups come back", func() bool { return reader.Deaf() == nil && writer.Deaf() == nil })
	n.Stop() // lost later
	until(t, "the loss is said", func() bool { return reader.Deaf() != nil })
	add(t, writer, g, 1)
	until(t, "a poll finds it again", func() bool { return at.Load() == 2 })
}

// TestABurstIsFewMessagesAndOtherLedgersSleepOn counts what a bus hears.
func TestABurstIsFewMessagesAndOtherLedgersSleepOn(t *testing.T) {
	n := StartNATS(t)
	one, same, other := openBus(t, n.URL(), "db/one"), openBus(t, n.URL(), "db/one"), openBus(t, n.URL(), "db/two")
	var heard, strange atomic.Uint64
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	watch := func(b *natsbus.Bus, count *atomic.Uint64) {
		until(t, "connected", func() bool {
			probe, stop := context.WithCancel(t.Context())
			defer stop()
			return b.Watch(probe, stop) == nil
		})
		go func() { ended <- b.Watch(ctx, func() { count.Add(1) }) }()
		until(t, "listening", func() bool { return count.Load() == 1 })
	}
	watch(same, &heard)
	watch(other, &strange)
	for i := range 1000 {
		one.Ring(events.Position(i))
	}
	until(t, "heard", func() bool { return heard.Load() > 1 })
	if h, s := heard.Load(), strange.Load(); h > 500 || s != 1 {
		t.Errorf("1000 rings were %d messages, and %d to another ledger", h-1, s-1)
	}
	cancel()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func TestAnAddressThatIsNoneIsAnError(t *testing.T) {
	b, err := natsbus.Open("nats://user:secret@host:port", "x")
	if err == nil {
		b.Close()
		t.Fatal("it was opened")
	}
	if strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}
