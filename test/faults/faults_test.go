// Package faults holds the test that sends many requests over many accounts
// through a bad day and has every decision derived again.
package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/waybill/waybill/test/binary"
	"github.com/waybill/waybill/test/load"
	"github.com/waybill/waybill/test/upstream"
)

// TestEveryDecisionDerivesAgain: WAYBILL_FAULT_REQUESTS sets how many requests.
func TestEveryDecisionDerivesAgain(t *testing.T) {
	n, seed := int64(2_000), uint64(1)
	if v, err := strconv.ParseInt(os.Getenv("WAYBILL_FAULT_REQUESTS"), 10, 64); err == nil {
		n = v
	}
	if v, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		seed = v
	}
	up := upstream.New(t)
	up.Script("*", load.Faults(seed, 0.008))
	gw := binary.Start(t, load.Pool(up.URL(), 20))
	client := load.New(gw.URL, load.Models...)
	ctx, cancel := context.WithCancel(t.Context())
	readings := 0
	told := make(chan struct{})
	go func() {
		defer close(told) // also when a failed call ends the goroutine
		tell(ctx, gw, seed, &readings)
	}()
	client.Run(t.Context(), 32, n, seed)
	cancel()
	<-told
	if t.Failed() {
		return
	}
	if client.Answered() != n {
		t.Fatalf("%d of %d requests were answered whole: %v", client.Answered(), n, client.Statuses())
	}
	v := gw.Verify()
	if v.Decisions < n {
		t.Fatalf("%d decisions for %d requests", v.Decisions, n)
	}
	line, err := json.Marshal(map[string]any{"prove": "faults", "requests": n, "accounts": 20, "seed": seed, "readings": readings,
		"positions": v.Positions, "decisions": v.Decisions, "rederived": v.Rederived, "statuses": client.Statuses()})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(line))
}

// tell pushes readings that claim exhaustion and room in turn, until ctx ends.
func tell(ctx context.Context, gw *binary.Gateway, seed uint64, n *int) {
	r := rand.New(rand.NewPCG(seed, 2))
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ; ; *n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		window := map[string]any{"name": "weekly", "reached": r.IntN(3) == 0, "resets_at": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}
		if r.IntN(2) == 0 {
			window["remaining_percent"] = r.IntN(100)
		}
		if r.IntN(4) == 0 {
			window["scope"] = "model:" + load.Models[r.IntN(len(load.Models))]
		}
		gw.Post(fmt.Sprintf("/accounts/acct-%02d/readings", r.IntN(20)), map[string]any{"source": "push", "windows": []any{window}}, nil)
	}
}
