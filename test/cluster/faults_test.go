package cluster

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/waybill/waybill/test/binary"
	"github.com/waybill/waybill/test/load"
)

// TestACluster takes away each part of a cluster in turn: WAYBILL_CLUSTER_ROUNDS
// sets how often.
func TestACluster(t *testing.T) {
	rounds, seed := int(number("WAYBILL_CLUSTER_ROUNDS", 1)), number("SEED", 1)
	w := start(t, seed)
	for r := range rounds {
		w.killEach()
		w.freeze((r + 1) % 3)
		w.stopNATS()
		w.stopDatabase(r)
	}
	figures := w.check()
	if t.Failed() {
		return
	}
	for k, v := range map[string]any{"prove": "cluster", "seed": seed, "rounds": rounds, "kills": 3*rounds + rounds/2} {
		figures[k] = v
	}
	line, err := json.Marshal(figures)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(line))
}

// killEach kills each gateway while providers have a bad day, starts it again,
// and sees that what it left open is closed as lost: the first one's by the
// gateways that live, before it is back.
func (w *world) killEach() {
	w.t.Helper()
	w.faulty.Store(true)
	w.driveAll()
	for i, g := range w.gateways {
		other, third := (i+1)%3, (i+2)%3
		w.served(20, i)
		left := w.hold(i)
		g.Kill()
		w.rest(i)
		w.served(20, other, third)
		if i == 0 {
			w.closed(other, left)
		}
		g.Up()
		w.drive(i)
		w.served(20, i)
		w.closed(i, left)
	}
	w.restAll()
	w.faulty.Store(false)
}

// hold sends a request whose answer has begun and does not end, and returns its id.
func (w *world) hold(i int) string {
	w.t.Helper()
	body := fmt.Sprintf(`{"model":%q,"stream":true,"messages":[{"role":"user","content":%q}]}`, load.Models[0], held)
	resp, err := http.Post(w.gateways[i].URL+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	id := resp.Header.Get("Waybill-Request-Id")
	if resp.StatusCode != 200 || id == "" {
		w.t.Fatalf("a stream began with %s, request %q", resp.Status, id)
	}
	w.seen = append(w.seen, load.Answer{Request: id, Status: resp.StatusCode})
	go func() { // ends with the gateway
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}()
	return id
}

// closed waits until a gateway knows how a killed one's attempt ended: lost.
func (w *world) closed(at int, request string) {
	w.t.Helper()
	w.until("an attempt of a killed gateway is closed", func() bool {
		ends := binary.List[outcome](w.gateways[at], "/events", "request="+request+"&type="+outcomes)
		if len(ends) > 0 && ends[0].Data.Class != "lost" {
			w.t.Fatalf("the attempt of a killed gateway ended as %+v", ends[0])
		}
		return len(ends) > 0
	})
}

// leases is longer than a frozen gateway may keep what it holds for all.
const leases = 4 * time.Second

// freeze stops a gateway where it stands for longer than its leases. The
// others serve, and one of them fills the stream.
func (w *world) freeze(i int) {
	w.t.Helper()
	others := []int{(i + 1) % 3, (i + 2) % 3}
	w.driveAll()
	w.served(20, 0, 1, 2)
	w.gateways[i].Signal(syscall.SIGSTOP)
	over := time.After(leases)
	w.served(20, others...)
	<-over
	w.streams(20)
	w.gateways[i].Signal(syscall.SIGCONT)
	w.served(20, 0, 1, 2)
	w.clean("one gateway frozen", others...)
	w.restAll()
}

// streams waits until the stream holds so many more decisions.
func (w *world) streams(n uint64) {
	w.t.Helper()
	var from uint64
	w.until("decisions in the stream", func() bool {
		info, err := w.js.StreamInfo(streamed)
		switch {
		case err != nil:
			return false
		case from == 0:
			from = info.State.Msgs
		}
		return from > 0 && info.State.Msgs >= from+n
	})
}

// stopNATS stops the bus and starts it again; nobody but readiness notices.
func (w *world) stopNATS() {
	w.t.Helper()
	w.driveAll()
	w.nats.Stop()
	w.all("without wake-ups", func(_ int, notes map[string]string) bool { return notes["bus"] != "" })
	w.served(30, 0, 1, 2)
	w.all("ready without wake-ups", func(status int, _ map[string]string) bool { return status == 200 })
	if err := w.nats.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.all("wake-ups again", func(status int, notes map[string]string) bool { return status == 200 && notes["bus"] == "" })
	w.streams(20)
	w.clean("NATS away", 0, 1, 2)
	w.restAll()
}

// stopDatabase stops PostgreSQL and starts it again; every second time a
// gateway is killed meanwhile. The clients of the others notice nothing.
func (w *world) stopDatabase(round int) {
	w.t.Helper()
	spooling := func(notes map[string]string) bool { return strings.Contains(notes["ledger"], "spooling") }
	w.driveAll()
	w.served(20, 0, 1, 2)
	if err := w.database.Crash(); err != nil { // pg_ctl stop -m immediate
		w.t.Fatal(err)
	}
	w.all("spooling", func(status int, notes map[string]string) bool { return status == 200 && spooling(notes) })
	w.served(50, 0, 1, 2)
	killed := -1
	if round%2 == 1 {
		killed = round % 3
		w.gateways[killed].Kill()
		w.rest(killed)
	}
	if err := w.database.Restart(); err != nil {
		w.t.Fatal(err)
	}
	if killed >= 0 {
		w.gateways[killed].Up()
		w.drive(killed)
	}
	w.all("back", func(status int, notes map[string]string) bool { return status == 200 && !spooling(notes) })
	w.served(20, 0, 1, 2)
	w.clean("PostgreSQL away", 0, 1, 2)
	w.restAll()
}
