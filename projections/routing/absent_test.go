package routing

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// decideOf is a decision of a process that lacks some accounts.
func decideOf(v View, session events.Digest, absent ...uint32) Decision {
	s := events.Stamp{DecidedAt: noon, Dialect: events.DialectOpenAI, Asked: "m1", Session: session, Absent: absent}
	return Decide(v, uuid.UUID{1}, 1, &s, func(uint32) int64 { return 0 })
}

func TestAnAccountThatTheProcessLacksIsNeverChosen(t *testing.T) {
	route := routes(events.Route{Name: "m1", Strategy: events.StrategyOrdered, Tiers: []events.Tier{{Accounts: []string{"a", "b"}}}})
	v := roster(t, route, "a x", "b x")
	d := decideOf(v, events.Digest{}, 1)
	if d.Action != Dispatch || d.Account != 2 || d.Spare {
		t.Errorf("b alone is left: %v to %d, spare %v", d.Action, d.Account, d.Spare)
	}
	if c := d.Candidates[0]; c.Reason != events.ReasonNotConfigured || !c.Verdict.Admitted {
		t.Errorf("a's verdict stands, and it is skipped: %+v", c)
	}
	if d := decideOf(v, events.Digest{}); d.Account != 1 || !d.Spare {
		t.Errorf("a is first where it is configured: %d, spare %v", d.Account, d.Spare)
	}
	d = decideOf(v, events.Digest{}, 1, 2)
	if r := d.Refusal; d.Action != Refuse || r.Code != CodeUnavailable || r.Status != 503 || r.RetryAfter != 0 || r.Skipped != 2 {
		t.Errorf("nobody is left: %v %+v", d.Action, r)
	}
}

// The last path is asked for where nobody else serves: an account that the
// process lacks does not, and is not the last path itself.
func TestAnAccountThatTheProcessLacksIsNoPathAtAll(t *testing.T) {
	v := roster(t, routes(events.Route{Name: "m1", Tiers: []events.Tier{{Accounts: []string{"a", "b"}}}}), "a x", "b x")
	spent := func(account string, hours int) {
		e := events.Event{Header: events.Header{Account: account, ObservedAt: noon}, Position: 5, Data: &events.QuotaFetched{Reading: events.Reading{
			Source: "s", Windows: []events.Window{{Name: "5h", RemainingPercent: events.Dec(0), ResetsAt: noon.Add(time.Duration(hours) * time.Hour), Reported: true}}}}}
		v.Admission.Apply(&e)
	}
	spent("b", 5)
	if d := decideOf(v, events.Digest{}, 1); d.Action != Claim && d.Action != Dispatch || !d.LastPath || d.Account != 2 {
		t.Errorf("b is the last path beside an absent a: %v to %d, %s", d.Action, d.Account, d.Refusal.Message)
	}
	spent("a", 1)
	v2 := roster(t, routes(events.Route{Name: "m1", Tiers: []events.Tier{{Accounts: []string{"a", "b"}}}}), "a x", "b x")
	e := events.Event{Header: events.Header{Account: "a", ObservedAt: noon}, Position: 5, Data: &events.QuotaFetched{Reading: events.Reading{
		Source: "s", Windows: []events.Window{{Name: "5h", RemainingPercent: events.Dec(0), ResetsAt: noon.Add(time.Hour), Reported: true}}}}}
	v2.Admission.Apply(&e)
	if d := decideOf(v2, events.Digest{}, 1); d.Account != 2 || d.Spare {
		t.Errorf("a could be tested, and is not there: %d, spare %v", d.Account, d.Spare)
	}
	if d := decideOf(v, events.Digest{}, 1); d.Account != 2 {
		t.Errorf("a is sooner, and is not there: %v to %d", d.Action, d.Account)
	}
	if d := decideOf(v, events.Digest{}, 1, 2); d.Action != Refuse || d.Refusal.Code != CodeUnavailable || d.Refusal.RetryAfter != 0 {
		t.Errorf("nobody is there to wait for: %v %+v", d.Action, d.Refusal)
	}
}

func TestAPinMovesFromAnAccountThatTheProcessLacks(t *testing.T) {
	v := roster(t, open(), "a x", "b x")
	session := events.Digest{7}
	first := decideOf(v, session)
	pin := events.Event{Header: events.Header{Account: v.Admission.Roster()[first.Account-1].ID, ObservedAt: noon}, Position: 10,
		Data: &events.PinSet{Session: session, Route: first.Route}}
	v.Pins.Apply(&pin)
	if d := decideOf(v, session); d.Account != first.Account || d.Pin.Account != first.Account {
		t.Fatalf("the session is not pinned: %+v", d.Pin)
	}
	if d := decideOf(v, session, first.Account); d.Account == first.Account || !d.Pin.Moves {
		t.Errorf("the pin holds to what is not there: %d, %+v", d.Account, d.Pin)
	}
}
