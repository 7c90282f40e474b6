// Package cluster holds the test that runs three of the built gateway on one
// PostgreSQL and one NATS under load, takes each part away in turn, and asks
// afterwards whether the ledger tells one story and every gateway the same.
// It is a module of its own, so that no broker is a dependency of the product.
package cluster

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/waybill/waybill/test/binary"
	"github.com/waybill/waybill/test/brokers"
	"github.com/waybill/waybill/test/load"
	"github.com/waybill/waybill/test/postgres"
	"github.com/waybill/waybill/test/upstream"
)

const (
	// pace is how long the upstream thinks: it bounds the load, so that the
	// test's figures are about faults and not about the machine.
	pace = 20 * time.Millisecond
	// streamed is the subject and the name of the stream that the feed fills.
	streamed = "DECISIONS"
)

// world is a cluster under load.
type world struct {
	t        *testing.T
	seed     uint64
	database *postgres.Server
	nats     *brokers.NATS
	js       nats.JetStreamContext
	upstream *upstream.Server
	gateways []*binary.Gateway
	traffic  []*load.Traffic // of each gateway; nil: it rests
	runs     uint64
	seen     []load.Answer
	faulty   atomic.Bool // some accounts have a bad day
}

// start starts database, bus, upstream and three gateways.
func start(t *testing.T, seed uint64) *world {
	t.Helper()
	w := &world{t: t, seed: seed, traffic: make([]*load.Traffic, 3)}
	var err error
	if w.database, err = postgres.Start("fsync=off"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.database.Stop)
	w.nats = brokers.StartNATS(t)
	w.js = reader(t, w.nats.URL())
	w.upstream = upstream.New(t)
	w.script()
	config := load.Pool(w.upstream.URL(), 8) +
		"feeds:\n  - {name: decisions, nats: {url: \"" + w.nats.URL() + "\", subject: decisions, stream: " + streamed + "}, events: [attempt.routed]}\n"
	for range w.traffic {
		w.gateways = append(w.gateways, binary.New(t, config, "WAYBILL_LEDGER="+w.database.URL, "WAYBILL_BUS="+w.nats.URL()))
	}
	for _, g := range w.gateways {
		g.Up()
	}
	t.Cleanup(w.restAll)
	return w
}

func reader(t *testing.T, url string) nats.JetStreamContext {
	t.Helper()
	conn, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := conn.JetStream(nats.MaxWait(10 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// held is in the prompt of a request whose answer begins and never ends.
const held = "do not let me go"

// script answers at the pace: two accounts have a bad day while the world is
// faulty, and a held request gets its first words only.
func (w *world) script() {
	bad := load.Faults(w.seed, 0.3)
	w.upstream.Script("*", func(x *upstream.Exchange) error {
		if err := x.Pause(pace); err != nil {
			return err
		}
		if w.faulty.Load() && (x.Hit.Account == "key-03" || x.Hit.Account == "key-07") {
			return bad(x)
		}
		return upstream.Good(x)
	})
	w.upstream.When(func(h *upstream.Hit) bool { return strings.Contains(string(h.Body), held) },
		upstream.Stream(append(upstream.Chunks(upstream.ChatEvents[:2]), upstream.Hang)...))
}

// drive begins the load on a gateway.
func (w *world) drive(i int) {
	w.runs++
	w.traffic[i] = load.Drive(w.gateways[i].URL, 2, w.seed<<16+w.runs)
}

// rest ends the load on a gateway and keeps what its clients have seen.
func (w *world) rest(i int) {
	l := w.traffic[i]
	if l == nil {
		return
	}
	l.Rest()
	w.seen, w.traffic[i] = append(w.seen, l.Seen()...), nil
}

func (w *world) driveAll() {
	for i := range w.traffic {
		w.drive(i)
	}
}

func (w *world) restAll() {
	for i := range w.traffic {
		w.rest(i)
	}
}

// until polls for what no foreign process signals.
func (w *world) until(what string, fn func() bool) {
	w.t.Helper()
	binary.Until(w.t, what, fn)
}

// served waits until each of these gateways has given so many more answers.
func (w *world) served(n int64, gateways ...int) {
	w.t.Helper()
	want := map[int]int64{}
	for _, i := range gateways {
		want[i] = w.traffic[i].Answered() + n
	}
	w.until("answers under load", func() bool {
		for i, n := range want {
			if w.traffic[i].Answered() < n {
				return false
			}
		}
		return true
	})
}

// all waits until the readiness of every gateway is what is wanted.
func (w *world) all(what string, fn func(status int, notes map[string]string) bool) {
	w.t.Helper()
	for i, g := range w.gateways {
		w.until(what+" at gateway "+strconv.Itoa(i), func() bool { return fn(g.Ready()) })
	}
}

// clean says that the clients of these gateways saw nothing but good answers.
func (w *world) clean(when string, gateways ...int) {
	w.t.Helper()
	for _, i := range gateways {
		for status, n := range w.traffic[i].Statuses() {
			if status != 200 {
				w.t.Errorf("%s: %d clients of gateway %d got %d", when, n, i, status)
			}
		}
		if n := w.traffic[i].Broken(); n > 0 {
			w.t.Errorf("%s: %d clients of gateway %d got no answer", when, n, i)
		}
	}
}

func number(name string, short uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return short
}
