package inquiry_test

import (
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/projections/whatif"
	"github.com/waybill/waybill/test/played"
)

func replay(t testing.TB, log *ledger.Log, change func(*events.Policy)) whatif.Result {
	t.Helper()
	r, err := inquiry.Replay(t.Context(), log, whatif.Options{Change: change}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// same wants that nothing changes when nothing is changed.
func same(t *testing.T, r whatif.Result) {
	t.Helper()
	if r.Differences != 0 || r.Recorded != r.Proposed {
		t.Fatalf("%d of %d differ: recorded %+v, proposed %+v; %+v", r.Differences, r.Requests, r.Recorded, r.Proposed, r.Examples)
	}
	for _, a := range r.Accounts {
		if a.Recorded != a.Proposed || a.ParkedS.Recorded != a.ParkedS.Proposed || a.Trials.Recorded != a.Trials.Proposed {
			t.Errorf("account %s differs: %+v", a.Account, a)
		}
	}
}

func TestTheSamePolicyGivesTheSameWorld(t *testing.T) {
	stores(t, func(t *testing.T, g *played.Gateway) {
		g.Incident()
		r := replay(t, g.Log, nil)
		same(t, r)
		if r.Requests != 7 || r.Recorded.Served != 3 || r.Recorded.Refused != 1 || r.Recorded.Open != 1 {
			t.Fatalf("%+v", r)
		}
	})
}

func TestTheSamePolicyGivesTheSameWorldOnRandomTraffic(t *testing.T) {
	for seed := range uint64(4) {
		m := ledgertest.NewMemory()
		policy := events.DefaultPolicy()
		policy.TrialWait, policy.PinWait = time.Millisecond, time.Millisecond
		g := played.OpenWith(t, m, played.NewTicking(), events.Document{Policy: policy}, played.Names(6)...)
		g.Traffic(seed, 600, 0)
		same(t, replay(t, g.Log, nil))
		g.Close()
	}
}

// spell is the seed's incident, compressed: a console says for 12.5 hours that
// the one account is spent, every 15 minutes again, while its upstream serves;
// a request comes every 3 minutes.
func spell(t *testing.T, policy events.Policy) *ledger.Log {
	t.Helper()
	g, _ := played.InMemoryWith(t, events.Document{Policy: policy}, "qwen-plan")
	g.Ask(played.Answer{})
	g.Clock.Pass(31 * time.Minute) // the override of that success is over
	reset := g.Now().Add(91 * time.Hour)
	for minute := 0; minute < 750; minute += 3 {
		if minute%15 == 0 {
			g.Spent("qwen-plan", reset)
		}
		g.Clock.Pass(time.Minute)
		g.Ask(played.Answer{})
		g.Clock.Pass(2*time.Minute - 120*time.Millisecond)
	}
	return g.Log
}

// TestTheRecordedIncidentUnderOtherPolicies counts by hand: of the 250
// requests, at minutes 1, 4, 7, ... after the first claim.
func TestTheRecordedIncidentUnderOtherPolicies(t *testing.T) {
	log := spell(t, events.DefaultPolicy())
	rows := []struct {
		name            string
		change          func(*events.Policy)
		refused, served int64
	}{
		{"as it was: the last path serves the first one, and its success holds", nil, 0, 251},
		{"park_cap 5m changes nothing: nothing waits for the cap", func(p *events.Policy) { p.ParkCap = 5 * time.Minute }, 0, 251},
		// refused until the cap at minute 30: requests at 1, 4, ..., 28
		{"when_exhausted: refuse", func(p *events.Policy) { p.WhenExhausted = events.WhenExhaustedRefuse }, 10, 241},
		// refused until minute 5: requests at 1 and 4
		{"refuse with park_cap 5m", func(p *events.Policy) { p.WhenExhausted, p.ParkCap = events.WhenExhaustedRefuse, 5*time.Minute }, 2, 249},
		// the seed before its fix: nothing comes back within 12.5 h
		{"refuse with park_cap 240h", func(p *events.Policy) { p.WhenExhausted, p.ParkCap = events.WhenExhaustedRefuse, 240*time.Hour }, 250, 1},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			r := replay(t, log, row.change)
			if r.Requests != 251 || r.Recorded.Served != 251 {
				t.Fatalf("recorded: %+v", r)
			}
			if r.Proposed.Refused != row.refused || r.Proposed.Served != row.served || r.Proposed.Unknown != 0 || r.Differences != row.refused {
				t.Fatalf("proposed %+v, %d differences; %+v", r.Proposed, r.Differences, r.Accounts)
			}
			if n := int64(len(r.Examples)); n != min(row.refused, 10) {
				t.Errorf("%d examples", n)
			}
		})
	}
}

// TestWhatTheRecordDoesNotKnowIsUnknown: the record refused, so nobody knows
// what the upstream would have said.
func TestWhatTheRecordDoesNotKnowIsUnknown(t *testing.T) {
	policy := events.DefaultPolicy()
	policy.WhenExhausted, policy.ParkCap = events.WhenExhaustedRefuse, 240*time.Hour
	log := spell(t, policy)
	same(t, replay(t, log, nil))
	r := replay(t, log, func(p *events.Policy) { p.WhenExhausted, p.ParkCap = events.WhenExhaustedProbe, 30*time.Minute })
	if r.Recorded.Refused != 250 || r.Proposed.Refused != 0 || r.Proposed.Unknown != 250 || r.Differences != 250 {
		t.Fatalf("recorded %+v proposed %+v", r.Recorded, r.Proposed)
	}
	if len(r.Examples) != 10 || r.Examples[0].Proposed.Outcome != "unknown" || r.Examples[0].Proposed.Account != "qwen-plan" {
		t.Fatalf("%+v", r.Examples)
	}
	for _, a := range r.Accounts {
		if a.ParkedS.Recorded < 12*3600 {
			t.Errorf("%s was set aside for %d s on record", a.Account, a.ParkedS.Recorded)
		}
	}
}

// TestTimeSetAsideCountsFromTheVerdictsOwnInstants: nothing happens when an
// override ends but that its time is over.
func TestTimeSetAsideCountsFromTheVerdictsOwnInstants(t *testing.T) {
	g, _ := played.InMemoryWith(t, events.Document{Policy: events.DefaultPolicy()}, "a")
	g.Ask(played.Answer{}) // arms the override for half an hour from here
	armed := g.Now()
	g.Clock.Pass(10 * time.Minute)
	g.Spent("a", armed.Add(91*time.Hour))
	g.Clock.Pass(50 * time.Minute)
	g.Settle()
	r := replay(t, g.Log, func(p *events.Policy) { p.HealthyWindow = 15 * time.Minute })
	if got := r.Accounts[0].ParkedS; got.Recorded != 30*60 || got.Proposed != 45*60 {
		t.Fatalf("set aside: %+v", got)
	}
}

func TestReplayOfASpanOfTime(t *testing.T) {
	log := spell(t, events.DefaultPolicy())
	from := played.Begin.Add(31*time.Minute + 120*time.Millisecond)
	o := whatif.Options{Change: func(p *events.Policy) { p.WhenExhausted = events.WhenExhaustedRefuse }, Since: from.Add(60 * time.Minute), Until: from.Add(120 * time.Minute)}
	r, err := inquiry.Replay(t.Context(), log, o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Requests != 20 || r.Recorded.Served != 20 || r.Proposed.Served != 20 {
		t.Fatalf("an hour in which the override held: %+v %+v", r.Recorded, r.Proposed)
	}
}
