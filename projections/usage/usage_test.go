package usage

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

const t0 events.Time = 1_796_000_000_000_000

type tape struct {
	view *View
	by   By
	at   events.Position
	now  events.Time
}

func newTape(by By) *tape {
	t := &tape{view: New(), by: by, now: t0}
	for _, a := range []string{"a", "b"} {
		t.add(events.Header{Account: a}, &events.AccountEnrolled{})
	}
	return t
}

func (t *tape) add(h events.Header, p events.Payload) {
	t.at++
	h.ObservedAt = t.now
	t.view.Apply(&events.Event{Header: h, Position: t.at, Data: p})
}

func (t *tape) routed(req byte, attempt uint32, no uint32, model string, skipped ...events.Verdict) {
	t.add(events.Header{Request: uuid.UUID{req}, Attempt: attempt, Account: string('a' + rune(no-1))},
		&events.AttemptRouted{Stamp: events.Stamp{DecidedAt: t.now, Client: "app", Asked: model}, Chosen: no, Skipped: skipped})
}

func (t *tape) ok(req byte, attempt uint32, account string, u *events.Usage) {
	t.add(events.Header{Request: uuid.UUID{req}, Attempt: attempt, Account: account}, &events.AttemptSucceeded{Answer: events.Answer{Status: 200, Usage: u}})
}

func (t *tape) fail(req byte, attempt uint32, account string, followed events.Followed, u *events.Usage) {
	t.add(events.Header{Request: uuid.UUID{req}, Attempt: attempt, Account: account},
		events.FailureEvent(events.Failure{Class: events.ClassNetwork, Followed: followed, Answer: events.Answer{Usage: u}}))
}

func (t *tape) sum(test *testing.T, key string) Sum {
	test.Helper()
	for _, s := range t.view.Sums(t.by, nil) {
		if s.Key == key {
			return s
		}
	}
	test.Fatalf("no sum of %q in %+v", key, t.view.Sums(t.by, nil))
	return Sum{}
}

func tokens(in, cached, out int64) *events.Usage {
	return &events.Usage{Input: events.Int(in), CachedInput: events.Int(cached), Output: events.Int(out)}
}

func Test_B106_costs_belong_to_attempts_and_a_request_counts_once(t *testing.T) {
	by := newTape(Account)
	by.routed(1, 1, 1, "m1")
	by.fail(1, 1, "a", events.FollowedFailover, nil) // reads all, then breaks: possibly billed, unknown
	by.routed(1, 2, 2, "m1")
	by.ok(1, 2, "b", tokens(10, 0, 5))
	a, b := by.sum(t, "a"), by.sum(t, "b")
	if a.Requests != 1 || a.Attempts != 1 || a.Failed != 1 || a.Billed != 1 || a.Unknown != 0 || !a.Input.IsZero() {
		t.Errorf("a: %+v", a)
	}
	if b.Requests != 1 || b.Served != 1 || b.Input.N != 10 || b.Output.N != 5 {
		t.Errorf("b: %+v", b)
	}
	client := newTape(Client)
	client.routed(1, 1, 1, "m1")
	client.fail(1, 1, "a", events.FollowedFailover, nil)
	client.routed(1, 2, 2, "m1")
	client.ok(1, 2, "b", tokens(10, 0, 5))
	if s := client.sum(t, "app"); s.Requests != 1 || s.Attempts != 2 || s.Served != 1 || s.Input.N != 10 {
		t.Errorf("client: %+v", s)
	}
}

func Test_B097_usage_equals_the_upstreams_exactly(t *testing.T) {
	p := newTape(Account)
	p.routed(1, 1, 1, "m1")
	p.ok(1, 1, "a", tokens(2543, 0, 7))
	if s := p.sum(t, "a"); s.Input.N != 2543 || s.CachedInput.N != 0 || s.Served != 1 {
		t.Fatalf("%+v", s)
	}
}

func Test_B103_an_answer_that_says_nothing_is_unknown_and_not_zero(t *testing.T) {
	p := newTape(Account)
	p.routed(1, 1, 1, "m1")
	p.ok(1, 1, "a", nil)
	p.routed(2, 1, 1, "m1")
	p.ok(2, 1, "a", tokens(0, 0, 0))
	if s := p.sum(t, "a"); s.Unknown != 1 || s.Served != 2 || s.Input != (Tokens{Told: 1}) {
		t.Fatalf("%+v", s)
	}
	if b, err := json.Marshal(p.sum(t, "a")); err != nil || !bytes.Contains(b, []byte(`"input_tokens":0,`)) || bytes.Contains(b, []byte("reasoning_tokens")) {
		t.Errorf("%s: want an input of 0 and no word of reasoning (%v)", b, err)
	}
}

func Test_B103_a_failure_that_costs_nothing_is_not_unknown(t *testing.T) {
	p := newTape(Account)
	p.routed(1, 1, 1, "m1")
	p.add(events.Header{Request: uuid.UUID{1}, Attempt: 1, Account: "a"},
		events.FailureEvent(events.Failure{Class: events.ClassRateLimited, Followed: events.FollowedNothing, Answer: events.Answer{Status: 429}}))
	if s := p.sum(t, "a"); s.Failed != 1 || s.Unknown != 0 || s.Billed != 0 {
		t.Fatalf("%+v", s)
	}
}

func TestAStreamThatBrokeOffCountsWhatWasSeen(t *testing.T) {
	p := newTape(Account)
	p.routed(1, 1, 1, "m1")
	u := tokens(10, 4, 3)
	u.Partial = true
	p.fail(1, 1, "a", events.FollowedNothing, u)
	if s := p.sum(t, "a"); s.Partial != 1 || s.Input.N != 10 || s.CachedInput.N != 4 || s.Output.N != 3 {
		t.Fatalf("%+v", s)
	}
}

func TestSkipsAndRefusals(t *testing.T) {
	spent := events.Verdict{Account: 1, Reason: events.ReasonWindowExhausted}
	play := func(by By) *tape {
		p := newTape(by)
		p.routed(1, 1, 2, "m1", spent)
		p.ok(1, 1, "b", nil)
		p.add(events.Header{Request: uuid.UUID{2}}, &events.RequestRefused{Stamp: events.Stamp{DecidedAt: p.now, Client: "app", Asked: "m2"},
			Verdicts: []events.Verdict{spent, {Account: 2, Reason: events.ReasonDrained}}})
		return p
	}
	p := play(Account)
	if a, b := p.sum(t, "a"), p.sum(t, "b"); a.Skips != 2 || a.Refusals != 1 || b.Skips != 1 || b.Refusals != 1 {
		t.Errorf("by account: %+v %+v", a, b)
	}
	p = play(Model)
	if m1, m2 := p.sum(t, "m1"), p.sum(t, "m2"); m1.Requests != 1 || m1.Skips != 1 || m2.Requests != 1 || m2.Refusals != 1 || m2.Skips != 2 {
		t.Errorf("by model: %+v %+v", m1, m2)
	}
}

func TestAStoredListCountsItsSkips(t *testing.T) {
	p := newTape(Account)
	p.add(events.Header{}, &events.CandidatesListed{Verdicts: []events.Verdict{{Account: 1, Reason: events.ReasonDrained}, {Account: 2}}})
	p.add(events.Header{Request: uuid.UUID{1}, Attempt: 1, Account: "b"},
		&events.AttemptRouted{Stamp: events.Stamp{DecidedAt: p.now}, Chosen: 2, Listed: events.Ref(p.at)})
	if s := p.sum(t, "a"); s.Skips != 1 {
		t.Fatalf("%+v", s)
	}
}

// An account that is tested stands in the list with what it is out for.
func TestAnAccountThatIsTestedIsNotSkipped(t *testing.T) {
	by := newTape(Account)
	by.routed(1, 1, 1, "m1", events.Verdict{Account: 1, Reason: events.ReasonRateLimited}, events.Verdict{Account: 2, Reason: events.ReasonDrained})
	if a, b := by.sum(t, "a"), by.sum(t, "b"); a.Skips != 0 || b.Skips != 1 {
		t.Errorf("skips: a %d, b %d; want 0, 1", a.Skips, b.Skips)
	}
}

func TestAnAccountThatIsAskedAgainCountsTheRequestOnce(t *testing.T) {
	by := newTape(Account)
	for attempt, no := range []uint32{1, 2, 2} {
		by.routed(1, uint32(attempt+1), no, "m1")
	}
	if b := by.sum(t, "b"); b.Requests != 1 || b.Attempts != 2 {
		t.Errorf("b: %d requests, %d attempts; want 1, 2", b.Requests, b.Attempts)
	}
}

func TestDaysAreThoseOfUTC(t *testing.T) {
	p := newTape(Day)
	p.now = events.At(time.Date(2026, 11, 30, 23, 59, 59, 0, time.FixedZone("", 3600)))
	p.routed(1, 1, 1, "m1")
	p.now = events.At(time.Date(2026, 12, 1, 0, 0, 1, 0, time.UTC))
	p.ok(1, 1, "a", tokens(1, 0, 1))
	if s := p.sum(t, "2026-11-30"); s.Requests != 1 || s.Served != 1 {
		t.Fatalf("%+v", s)
	}
}

func TestTheNumberOfGroupsIsBounded(t *testing.T) {
	p := newTape(Model)
	for i := range maxKeys + 50 {
		p.routed(byte(i), 1, 1, "model-"+string(rune('a'+i%26))+time.Duration(i).String())
		p.ok(byte(i), 1, "a", nil)
	}
	if n := len(p.view.groups[Model]); n > maxKeys+1 {
		t.Fatalf("%d groups", n)
	}
	if s := p.sum(t, Other); s.Requests < 40 {
		t.Fatalf("%+v", s)
	}
}
