package bugs

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/projections/story"
	"github.com/waybill/waybill/test/upstream"
)

// row is what the ledger says of a request that the client knows.
func (w *world) row(a answer) requests.Row {
	w.t.Helper()
	v := requests.New(requests.Keep)
	evs := w.events()
	for i := range evs {
		v.Apply(&evs[i])
	}
	r, ok := v.Get(uuid.MustParse(a.header.Get("Waybill-Request-Id")))
	if !ok {
		w.t.Fatal("the request has no row")
	}
	return r
}

// tell is the request's story, but for its decisions.
func (w *world) tell(a answer) story.Request {
	w.t.Helper()
	b := story.NewBuilder(uuid.MustParse(a.header.Get("Waybill-Request-Id")))
	evs := w.events()
	for i := range evs {
		b.Add(&evs[i])
	}
	r, ok := b.Finish(func(events.Position) *events.Event { return nil })
	if !ok {
		w.t.Fatal("the request has no story")
	}
	return r
}

// TestASearchThatFindsNobodyIsNotOpen: the only other account is in trial when
// the first one fails. The client waits for the trial, and gets the answer when
// trial_wait is over; the ledger says so.
func TestASearchThatFindsNobodyIsNotOpen(t *testing.T) {
	w := start(t, func(p *plan) { p.policy.TrialWait = 300 * time.Millisecond })
	tried := make(chan struct{})
	w.up.Script("a", upstream.JSON(429, `{"error":{"message":"slow down","type":"rate_limit_error","code":"rate_limit_exceeded"}}`, "Retry-After: 1"), upstream.Steps(upstream.Await(tried)))
	w.good("b")
	w.do(chat).want(t, http.StatusOK)
	trial := make(chan struct{})
	go func() { // until one of them is the trial of a, which hangs
		defer close(trial)
		for w.hits("a") < 2 && t.Context().Err() == nil {
			if res, err := w.request(t.Context(), chat); err == nil {
				res.Body.Close()
			}
		}
	}()
	w.up.WaitHits(t, "a", 2)
	w.up.Script("b", upstream.JSON(500, `{"error":{"message":"oops","type":"server_error"}}`))
	got := w.do(chat)
	got.want(t, http.StatusInternalServerError)
	if r := w.row(got); r.Outcome != requests.Failed || r.Status != 500 {
		t.Errorf("the ledger says %s with %d", r.Outcome, r.Status)
	}
	told := w.tell(got)
	if a := told.Attempts; len(a) != 1 || a[0].Failover || !strings.Contains(a[0].Sentence, "none was free") {
		t.Errorf("attempts %+v", told.Attempts)
	}
	close(tried)
	<-trial
}
