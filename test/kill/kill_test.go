// Package kill holds the test that ends the built gateway with SIGKILL under
// load, again and again, and asks afterwards whether the ledger kept what it
// promised.
package kill

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/waybill/waybill/test/binary"
	"github.com/waybill/waybill/test/load"
	"github.com/waybill/waybill/test/upstream"
)

// TestKill9UnderLoad: no first byte whose decision is missing, the chain is
// whole, every decision derives again, and the next start closes what was left
// open. WAYBILL_KILL_CYCLES sets how often.
func TestKill9UnderLoad(t *testing.T) {
	cycles, seed := 5, uint64(1)
	if n, err := strconv.Atoi(os.Getenv("WAYBILL_KILL_CYCLES")); err == nil {
		cycles = n
	}
	if n, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		seed = n
	}
	up := upstream.New(t)
	up.Script("*", load.Faults(seed, 0.05))
	gw := binary.New(t, load.Pool(up.URL(), 8))
	var seen []load.Answer
	var last binary.Verified
	for i := range cycles {
		gw.Up()
		checkClosed(t, gw)
		seen = append(seen, killed(t, gw, seed+uint64(i), 150+int64(i*37%100))...)
		last = gw.Verify()
	}
	gw.Up()
	checkClosed(t, gw)
	checkRecorded(t, gw, seen)
	gw.Verify()
	if code := gw.Stop(); code != 0 {
		t.Fatalf("exit code %d after SIGTERM", code)
	}
	line, err := json.Marshal(map[string]any{"prove": "kill", "cycles": cycles, "seed": seed, "first_bytes": len(seen), "lost": 0, "positions": last.Positions, "rederived": last.Rederived})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(line))
}

// killed runs load and kills the gateway once so many answers were given, in
// the midst of others. It returns the ids that clients have seen.
func killed(t *testing.T, gw *binary.Gateway, seed uint64, answers int64) []load.Answer {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	client := load.New(gw.URL, load.Models...)
	done := make(chan struct{})
	go func() {
		defer close(done)
		client.Run(ctx, 24, 0, seed)
	}()
	for client.Answered() < answers {
		select {
		case <-time.After(time.Millisecond): // the kill must fall at an arbitrary instant
		case <-t.Context().Done():
			t.Fatal("the load gave no answers")
		}
	}
	gw.Kill()
	cancel()
	<-done
	return client.Seen()
}

// checkClosed: nothing that an earlier process left open is open now.
func checkClosed(t *testing.T, gw *binary.Gateway) {
	t.Helper()
	if open := binary.List[map[string]any](gw, "/requests", "outcome=open"); len(open) > 0 {
		t.Fatalf("%d requests are open though no process that could close them lives, first: %v", len(open), open[0])
	}
}

// checkRecorded: every id that a client saw has a decision or a refusal.
func checkRecorded(t *testing.T, gw *binary.Gateway, seen []load.Answer) {
	t.Helper()
	type event struct {
		Request string `json:"request"`
	}
	have := map[string]bool{}
	for _, kind := range []string{"attempt.routed", "request.refused"} {
		for _, e := range binary.List[event](gw, "/events", "type="+kind) {
			have[e.Request] = true
		}
	}
	var lost []load.Answer
	for _, a := range seen {
		if !have[a.Request] {
			lost = append(lost, a)
		}
	}
	if len(lost) > 0 {
		t.Fatalf("%d of %d requests had a first byte and have no decision in the ledger, first: %+v", len(lost), len(seen), lost[0])
	}
}
