package recorded

import (
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections/whatif"
)

// between counts the minutes after one instant and before another.
func between(after, before events.Time) int64 {
	return int64(before.Sub(after)/time.Minute) - 1
}

// The day by hand. Requests: one a minute from Opens to Quiet and from Busy to
// Ends. Of them, after Dry nothing is left: grok-build waits for tomorrow,
// openai-team was tested at Dry and has no credit, and qwen-plan is tested
// after 5, 10, 20 and (park_cap) 30 minutes. Its answers take 1.4 s, so the
// request that tests is the first full minute after that: 6, 11, 21 and 31
// minutes after the one before. The requests between are refused; the four that
// got an upstream's 429 failed: Dry's own and the tests at 13:08, 13:19, 13:40.
var (
	requests = between(Opens.Add(-time.Minute), Quiet.Add(time.Minute)) + between(Busy.Add(-time.Minute), Ends.Add(time.Minute))
	tests    = []events.Time{Dry, Dry.Add(6 * time.Minute), Dry.Add(17 * time.Minute), Dry.Add(38 * time.Minute), Again}
	refused  = between(tests[0], tests[1]) + between(tests[1], tests[2]) + between(tests[2], tests[3]) + between(tests[3], tests[4])
	failed   = int64(len(tests) - 1)
)

func TestTheDayIsWhatTheHandCountSays(t *testing.T) {
	if requests != 27+715 || refused != 5+10+20+30 || tests[4] != Dry.Add(69*time.Minute) {
		t.Fatalf("the hand count itself: %d requests, %d refused", requests, refused)
	}
	if span := Ends.Sub(Quiet); span != 12*time.Hour+30*time.Minute {
		t.Fatalf("the incident lasts %v", span)
	}
	r := replay(t, Play(t), nil)
	want := whatif.Totals{Served: requests - failed - refused, Failed: failed, Refused: refused}
	if r.Requests != requests || r.Recorded != want || r.Proposed != want || r.Differences != 0 {
		t.Errorf("%d requests, recorded %+v, proposed %+v; want %d, %+v twice", r.Requests, r.Recorded, r.Proposed, requests, want)
	}
}

func replay(t *testing.T, log *ledger.Log, change func(*events.Policy)) whatif.Result {
	t.Helper()
	r, err := inquiry.Replay(t.Context(), log, whatif.Options{Change: change}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOtherPoliciesRefuseAsManyAsAHandCountSays(t *testing.T) {
	log := Play(t)
	refuse := func(p *events.Policy) { p.WhenExhausted = events.WhenExhaustedRefuse }

	// park_cap 5m: qwen-plan is due again 5 minutes after each 429, so only 5
	// requests are refused after each of the four. The others that were refused
	// would have been sent to it; nobody knows what it would have answered.
	capped := 5 * failed

	// when_exhausted: refuse: at Busy grok-build answers 402, and nobody else is
	// left: qwen-plan and openai-team are out by claims alone, which refuse now.
	// So this request fails, and those after it are refused until qwen-plan's park
	// of 30 minutes is over; from then on the day is the recorded one.
	early := between(Busy, Told.Add(30*time.Minute))

	// With park_cap 240h as well (no cap at all) nothing comes back: all that
	// come after Busy's are refused, 11.9 hours of them.
	all := between(Busy, Ends.Add(time.Minute))

	rows := []struct {
		name   string
		change func(*events.Policy)
		want   whatif.Totals
	}{
		{"park_cap: 5m", func(p *events.Policy) { p.ParkCap = 5 * time.Minute },
			whatif.Totals{Served: requests - failed - refused, Failed: failed, Refused: capped, Unknown: refused - capped}},
		{"when_exhausted: refuse", refuse,
			whatif.Totals{Served: requests - 1 - early - failed - refused, Failed: 1 + failed, Refused: early + refused}},
		{"when_exhausted: refuse and park_cap: 240h", func(p *events.Policy) { refuse(p); p.ParkCap = 240 * time.Hour },
			whatif.Totals{Served: requests - 1 - all, Failed: 1, Refused: all}},
	}
	if capped-refused != -45 || early != 25 || all-refused != 649 {
		t.Fatalf("the hand count itself: %d, %d, %d", capped-refused, early, all-refused)
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if r := replay(t, log, row.change); r.Proposed != row.want {
				t.Errorf("%+v, want %+v", r.Proposed, row.want)
			}
		})
	}
}
