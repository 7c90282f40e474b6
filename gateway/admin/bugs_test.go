package admin_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/test/played"
)

// TestB029: whatever drives an account, a park has its evidence, and the live
// state is what a fold from zero gives. ADMISSION decides what parks: a single
// stream error and a client that leaves park nothing.
func Test_B029_no_park_without_a_recorded_cause(t *testing.T) {
	a := open(t, "")
	steps := map[string]func(){
		"a 429":           func() { a.Ask(played.Answer{Class: events.ClassRateLimited, Status: 429}) },
		"a stream error":  func() { a.Ask(played.Answer{Class: events.ClassServerError, Status: 500}) },
		"a probe failure": func() { a.Do(events.Header{Account: "a"}, &events.QuotaFetchFailed{Source: "http", Status: 500}) },
		"a client abort":  func() { a.Ask(played.Answer{Class: events.ClassClientAborted}) },
		"a config change": func() {
			if err := a.Renew(t.Context(), "a", 77); err != nil {
				t.Fatal(err)
			}
		},
		"a claim": func() { a.Spent("a", played.Begin.Add(90*time.Hour)) },
	}
	for name, step := range steps {
		t.Run(name, func(t *testing.T) {
			step()
			a.Settle()
			for _, acct := range rows(t, a.get("/accounts?model=m1")) {
				v := acct["verdict"].(map[string]any)
				if v["admitted"] == false && len(v["evidence"].([]any)) == 0 {
					t.Errorf("%s is kept out by %s without evidence", acct["id"], v["reason"])
				}
			}
			a.sameAsFromZero(t)
		})
	}
}

// sameAsFromZero compares the live state with a fold from zero.
func (a *api) sameAsFromZero(t *testing.T) {
	t.Helper()
	var live []inquiry.State
	for _, s := range rows(t, a.get("/state")) {
		live = append(live, inquiry.State{Name: s["name"].(string), Version: uint32(s["version"].(float64)),
			Position: events.Position(s["position"].(float64)), Bytes: int(s["bytes"].(float64)), SHA256: s["sha256"].(string)})
	}
	r, err := inquiry.Rebuild(t.Context(), a.Log, inquiry.Moment{Position: live[0].Position}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Compare("gateway", live); !c.Identical || len(live) != 3 {
		t.Errorf("live and rebuilt differ: %v", c.Differences)
	}
}

// TestB034: a park ends by the clock, not by traffic. After its instant it is
// half_open (the case says available; CONTRACT has the state).
func Test_B034_an_expired_park_is_seen_as_due_without_traffic(t *testing.T) {
	a := open(t, "")
	a.Clock.Pass(48 * time.Hour)
	a.Ask(played.Answer{}, played.Answer{})
	a.Ask(played.Answer{Class: events.ClassRateLimited, Status: 429, Until: time.Second})
	served := ""
	for _, e := range rows(t, a.get("/events?type=attempt.rate_limited&limit=1000")) {
		served = e["account"].(string)
	}
	parked := a.get("/accounts/" + served + "?model=m1")
	if parked["state"] != "cooling" || parked["verdict"].(map[string]any)["until"] == nil {
		t.Fatalf("after the 429: %v %v", parked["state"], parked["verdict"])
	}
	a.Clock.Pass(2 * time.Second)
	if due := a.get("/accounts/" + served + "?model=m1"); due["state"] != "half_open" {
		t.Fatalf("2 s later, without traffic: %v", due["state"])
	}
	head := a.get("/ledger")["position"]
	at := a.Now().String()
	rebuilt := a.get("/accounts/" + served + "?model=m1&at=" + at)
	if rebuilt["state"] != "half_open" || rebuilt["position"] != head {
		t.Fatalf("rebuilt as of then: %v at %v", rebuilt["state"], rebuilt["position"])
	}
}

// TestTheStoryIsTheSameEverywhere: the API's words are the shell's, which come
// from the same package; here, that the API gives them at all.
func TestTheStoryComesWithItsSentences(t *testing.T) {
	a := open(t, "")
	s := a.get("/requests/" + a.story.Refused.String())
	if n := len(s["sentences"].([]any)); n < 5 {
		t.Fatalf("%d sentences: %v", n, s["sentences"])
	}
	if status, body, _ := a.call(http.MethodGet, fmt.Sprintf("/api/v1/requests/%s?x=1", a.story.Refused), ""); status != http.StatusBadRequest {
		t.Fatalf("%d %s", status, body)
	}
}
