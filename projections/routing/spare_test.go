package routing

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

func TestADecisionSaysWhetherAnotherAttemptMightFindSomebody(t *testing.T) {
	tiers := routes(events.Route{Name: "m", Tiers: []events.Tier{{Accounts: []string{"a"}}, {Accounts: []string{"b"}}}})
	for _, row := range []struct {
		name  string
		view  View
		tried []uint32
		tie   uint32
		want  bool
	}{
		{"a single account", roster(t, open(), "a x"), nil, 0, false},
		{"a second one is admitted", roster(t, open(), "a x", "b x"), nil, 0, true},
		{"the second one has been tried", roster(t, open(), "a x", "b x"), []uint32{2}, 0, false},
		{"a tier that was not looked at", roster(t, tiers, "a x", "b x"), nil, 0, true},
		{"only one account can serve a tied request", roster(t, open(), "a x", "b x"), nil, 1, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := events.Stamp{DecidedAt: noon, Dialect: events.DialectOpenAI, Asked: "m", Tried: row.tried, Tie: row.tie}
			d := Decide(row.view, uuid.Nil, 1, &s, func(uint32) int64 { return 0 })
			if d.Action != Dispatch || d.Spare != row.want {
				t.Errorf("%s, spare %v; want %v", d.Action, d.Spare, row.want)
			}
		})
	}
}

// An account that could be used, tested or tried as the last path is somebody to
// find; one that rests, or that an operator took out, is not.
func TestWhetherAnAccountThatIsOutIsSpare(t *testing.T) {
	limited := func(at events.Time) events.Payload {
		return events.FailureEvent(events.Failure{Class: events.ClassRateLimited, Answer: events.Answer{Status: 429, DispatchedAt: at - 1, AnsweredAt: at}})
	}
	for _, row := range []struct {
		name   string
		at     events.Time
		data   events.Payload // of b, beside an account that is fine
		tested bool
		want   bool
	}{
		{"drained", noon, &events.OperatorDrained{}, false, false},
		{"resting after a 429", noon.Add(-time.Second), limited(noon.Add(-time.Second)), false, false},
		{"due after a 429", noon.Add(-time.Hour), limited(noon.Add(-time.Hour)), false, true},
		{"due, but this request has tested one", noon.Add(-time.Hour), limited(noon.Add(-time.Hour)), true, false},
		{"kept out by a reading alone", noon, &events.QuotaFetched{Reading: events.Reading{Source: "s", Windows: []events.Window{
			{Name: "5h", RemainingPercent: events.Dec(0), ResetsAt: noon.Add(5 * time.Hour), Reported: true}}}}, false, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := roster(t, open(), "a x", "b y")
			e := events.Event{Header: events.Header{Account: "b", ObservedAt: row.at, Epoch: v.Admission.Roster()[1].Epoch, Request: uuid.UUID{2}, Attempt: 1}, Position: 5, Data: row.data}
			v.Admission.Apply(&e)
			s := events.Stamp{DecidedAt: noon, Dialect: events.DialectOpenAI, Asked: "m", Tested: row.tested}
			d := Decide(v, uuid.Nil, 1, &s, func(uint32) int64 { return 0 })
			if (d.Trial == nil) != (row.name != "due after a 429") || d.Spare != row.want {
				t.Errorf("%s to %d, trial %v, spare %v; want %v", d.Action, d.Account, d.Trial != nil, d.Spare, row.want)
			}
			if d.Trial == nil {
				return
			}
			tested := events.Event{Header: e.Header, Position: 6, Data: d.Routed(&s)}
			v.Admission.Apply(&tested)
			if d = Decide(v, uuid.Nil, 1, &s, func(uint32) int64 { return 0 }); d.Account != 1 || !d.Spare {
				t.Errorf("while it is tested: %s to %d, spare %v; want true", d.Action, d.Account, d.Spare)
			}
		})
	}
}
