package cluster

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/nats-io/nats.go"

	"github.com/waybill/waybill/test/binary"
)

// attempt is what every event of an attempt carries.
type attempt struct {
	Request string `json:"request"`
	Attempt uint32 `json:"attempt"`
}

// decision is an event attempt.routed or request.refused.
type decision struct {
	attempt
	ID string `json:"id"`
}

// outcome is an event that ends an attempt.
type outcome struct {
	attempt
	Type string `json:"type"`
	Data struct {
		Class string `json:"class"`
	} `json:"data"`
}

// outcomes are the kinds of them.
const outcomes = "attempt.succeeded,attempt.rate_limited,attempt.payment_required,attempt.failed,attempt.aborted"

// check asks, with the load at rest, what must hold whatever was taken away.
func (w *world) check() map[string]any {
	w.t.Helper()
	for _, g := range w.gateways {
		w.until("nothing is open", func() bool {
			return len(binary.List[attempt](g, "/requests", "outcome=open")) == 0
		})
		if _, err := os.Stat(filepath.Join(g.Dir, "spool.db")); err == nil {
			w.t.Error("the spool of a gateway is still there")
		}
	}
	routed := binary.List[decision](w.gateways[0], "/events", "type=attempt.routed")
	refused := binary.List[decision](w.gateways[0], "/events", "type=request.refused")
	w.checkDecisions(routed, refused)
	lost := w.checkOutcomes(routed)
	w.checkStream(routed)
	v := w.checkStories()
	return map[string]any{"first_bytes": len(w.seen), "decisions": v.Decisions, "rederived": v.Rederived, "positions": v.Positions,
		"closed_as_lost": lost, "missing": 0, "twice": 0, "open": 0}
}

// checkDecisions: no first byte without its decision, and each request once.
func (w *world) checkDecisions(routed, refused []decision) {
	w.t.Helper()
	have, once := map[string]bool{}, map[attempt]bool{}
	for _, d := range slices.Concat(routed, refused) {
		if once[d.attempt] {
			w.t.Errorf("request %s has the decision of attempt %d twice", d.Request, d.Attempt)
		}
		have[d.Request], once[d.attempt] = true, true
	}
	answered := map[string]bool{}
	for _, a := range w.seen {
		if answered[a.Request] {
			w.t.Errorf("two answers have the request id %s", a.Request)
		}
		if !have[a.Request] {
			w.t.Errorf("an answered request has no decision in the ledger: %+v", a)
		}
		answered[a.Request] = true
	}
}

// checkOutcomes: every attempt ended, and once. One that was closed as lost
// while its gateway was cut off may have its true end as well.
func (w *world) checkOutcomes(routed []decision) (lost int) {
	w.t.Helper()
	ends := map[attempt]map[bool]int{} // by whether it is lost
	for _, e := range binary.List[outcome](w.gateways[0], "/events", "type="+outcomes) {
		if ends[e.attempt] == nil {
			ends[e.attempt] = map[bool]int{}
		}
		isLost := e.Data.Class == "lost"
		if ends[e.attempt][isLost]++; ends[e.attempt][isLost] > 1 {
			w.t.Errorf("an attempt ended twice: %+v", e)
		}
		if isLost {
			lost++
		}
	}
	for _, d := range routed {
		if ends[d.attempt] == nil {
			w.t.Errorf("attempt %d of request %s has no end", d.Attempt, d.Request)
		}
	}
	return lost
}

// checkStream: the feed gave every decision, in order, and the stream kept
// each once.
func (w *world) checkStream(routed []decision) {
	w.t.Helper()
	w.until("every decision is in the stream", func() bool {
		info, err := w.js.StreamInfo(streamed)
		return err == nil && info.State.Msgs >= uint64(len(routed))
	})
	sub, err := w.js.SubscribeSync("decisions", nats.OrderedConsumer())
	if err != nil {
		w.t.Fatal(err)
	}
	for i, d := range routed {
		m, err := sub.NextMsg(binary.Patience)
		if err != nil {
			w.t.Fatalf("after %d of %d decisions: %v", i, len(routed), err)
		}
		if id := m.Header.Get(nats.MsgIdHdr); id != d.ID {
			w.t.Fatalf("decision %d of the stream is %s, and of the ledger %s", i, id, d.ID)
		}
	}
}

// checkStories: the ledger verifies, every gateway stands where a fold from
// zero does, and each stops in good order.
func (w *world) checkStories() binary.Verified {
	w.t.Helper()
	v := w.gateways[0].Verify()
	for i, with := range [][]string{v.Compared, w.gateways[1].Rebuild(), w.gateways[2].Rebuild()} {
		if !slices.Contains(with, "gateway") {
			w.t.Errorf("gateway %d was not compared with a fold from zero, only %q", i, with)
		}
	}
	for i, g := range w.gateways {
		if code := g.Stop(); code != 0 {
			w.t.Errorf("gateway %d: exit code %d after SIGTERM", i, code)
		}
	}
	return v
}
