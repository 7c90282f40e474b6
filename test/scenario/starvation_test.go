package scenario

import (
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/admission"
)

const day = 24 * time.Hour

// span is a simulated week, or a day under the race detector.
func span() time.Duration {
	if raced {
		return day
	}
	return 7 * day
}

// stand says how an account stands for m1.
func (w *World) stand(id string) admission.Verdict {
	g := w.Gateway()
	doc, _ := g.view.Admission.Document()
	return admission.Admit(g.view.Admission, admission.Path{Account: g.view.Admission.Account(id).No, Model: "m1"}, &doc.Policy, w.Now)
}

// claim is one more console reading that says: exhausted, reset in four days.
func (w *World) claim(id string) {
	g := w.Gateway()
	a := g.view.Admission.Account(id)
	g.submit(events.Draft{Header: events.Header{Account: id, Epoch: a.Epoch}, Data: &events.QuotaFetched{Reading: events.Reading{Source: "preset", Windows: []events.Window{{
		Name: "weekly", RemainingPercent: events.Dec(0), Reached: events.Yes, ResetsAt: w.Now.Add(4 * day), Reported: true}}}}})
}

func (w *World) must(t *testing.T, commands ...string) {
	t.Helper()
	for _, c := range commands {
		if err := w.command(c); err != nil {
			t.Fatal(err)
		}
	}
	w.took()
}

// A console repeats "exhausted" every 200 ms for a week while the upstream
// serves and one request an hour comes in: the account serves within one park
// cap of the first request and is never out longer again.
func Test_Starvation_claims_every_200_ms_for_a_week(t *testing.T) {
	w := New()
	w.must(t, "enrol a source=preset")
	const step = 200 * time.Millisecond
	var served, asked int
	var first, firstServed, out events.Time
	for elapsed := time.Duration(0); elapsed < span(); elapsed += step {
		w.claim("a")
		if elapsed%time.Hour == 10*time.Minute {
			asked++
			r := &Request{Name: "r", Model: "m1"}
			if err := w.finish(r); err != nil {
				t.Fatal(err)
			}
			if first == 0 {
				first = w.Now
			}
			if r.By == "a" {
				served++
				if firstServed == 0 {
					firstServed = w.Now
				}
			}
		}
		if elapsed%time.Minute == 0 {
			out = w.judgeOutage(t, out, first)
			w.took()
			w.Trim()
		}
		w.Now = w.Now.Add(step)
	}
	if served != asked || firstServed.Sub(first) > w.Document.Policy.ParkCap {
		t.Errorf("%d of %d requests were served, the first after %s", served, asked, firstServed.Sub(first))
	}
}

// judgeOutage: since the first request the account is out (neither admitted nor
// due) for a park cap at most.
func (w *World) judgeOutage(t *testing.T, out, first events.Time) events.Time {
	v := w.stand("a")
	switch {
	case first == 0 || v.Admitted || v.Trial:
		return 0
	case out == 0:
		return w.Now
	case w.Now.Sub(out) > w.Document.Policy.ParkCap:
		t.Fatalf("out since %s, now %s: %+v", since(out), since(w.Now), v)
	}
	return out
}

// The same beside a healthy account with room, a request a minute: the sibling
// does not hide the wrongly parked one for ever.
func Test_Starvation_a_healthy_sibling_hides_nobody(t *testing.T) {
	w := New()
	w.must(t, "enrol a b source=preset")
	var last events.Time
	longest := time.Duration(0)
	for elapsed := time.Duration(0); elapsed < 2*day; elapsed += 10 * time.Second {
		w.claim("a")
		w.must(t, "reading b weekly left=90 reset=+4d")
		if elapsed%time.Minute == 0 {
			before := w.Hits["a"]
			w.must(t, "request")
			if w.Hits["a"] > before {
				if last != 0 {
					longest = max(longest, w.Now.Sub(last))
				}
				last = w.Now
			}
			w.Trim()
		}
		w.Now = w.Now.Add(10 * time.Second)
	}
	// The override lasts healthy_window from the trial; the clock runs from that
	// success, so the park is then due at once, and the next request tests it.
	if limit := w.Document.Policy.HealthyWindow + time.Minute; last == 0 || longest > limit {
		t.Errorf("the longest time without a dispatch to a is %s, allowed %s", longest, limit)
	}
}

// An upstream that truly refuses, three gateways on one ledger, a request each
// every second, twenty at once at each trial: I12, one dispatch per step.
func Test_I12_an_upstream_that_refuses_is_not_hammered(t *testing.T) {
	for _, kind := range []string{"window hint=+7d", "402", "burst"} {
		w := New()
		w.must(t, "enrol a", "upstream a "+kind)
		w.AddGateway()
		w.AddGateway()
		hits, steps := 0, 0
		var since429 events.Time
		for elapsed := time.Duration(0); elapsed < refusing(); elapsed += time.Second {
			n := 1
			if w.stand("a").Trial {
				n, steps = 20, steps+1
			}
			before := w.Hits["a"]
			w.together(t, n)
			if got := w.Hits["a"] - before; got > 0 {
				hits += got
				if since429 != 0 && kind != "burst" && w.Now.Sub(since429) < w.Document.Policy.RateLimitPark {
					t.Errorf("%s: hit again after %s", kind, w.Now.Sub(since429))
				}
				since429 = w.Now
			}
			w.took()
			w.Trim()
			w.Now = w.Now.Add(time.Second)
		}
		if perProcess := kind == "burst"; hits > 1+steps && !perProcess || hits > 1+3*steps {
			t.Errorf("%s: %d hits in %d steps", kind, hits, steps)
		}
	}
}

// together begins n requests, in turn on every gateway, before any is answered.
func (w *World) together(t *testing.T, n int) {
	t.Helper()
	var all []*Request
	for i := range n {
		r := &Request{Name: "r", Model: "m1", Gateway: w.Gateways[i%len(w.Gateways)]}
		w.Ask(r)
		all = append(all, r)
	}
	for _, r := range all {
		w.requests[r.ID.String()] = r
	}
	defer clear(w.requests)
	if err := w.drain(all); err != nil {
		t.Fatal(err)
	}
}

// refusing is how long an upstream refuses.
func refusing() time.Duration {
	if raced {
		return time.Hour
	}
	return 6 * time.Hour
}
