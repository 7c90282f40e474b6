package routing

import (
	"testing"

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
