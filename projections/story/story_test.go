package story

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/usage"
)

var update = flag.Bool("update", false, "write the golden stories anew")

// golden compares a story with the one in testdata.
func golden(t *testing.T, name string, lines []string) {
	t.Helper()
	got := strings.Join(lines, "\n") + "\n"
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n--- got\n%s--- want\n%s", file, got, want)
	}
}

func TestStoriesOfRequests(t *testing.T) {
	stories := map[string]func(*stage) uuid.UUID{
		"a claim sets the first account aside": func(s *stage) uuid.UUID {
			s.reading("qwen-plan", weeklySpent(begin.Add(91*time.Hour)))
			s.pass(2 * time.Minute)
			return s.ask(1, served)
		},
		"a 402 fails over": func(s *stage) uuid.UUID {
			f := failure(events.ClassCreditsExhausted, 402, "grok-build:spending-limit")
			f.Hint = &events.Hint{Value: "false", Source: "header:x-should-retry"}
			return s.ask(1, failover(f), served)
		},
		"a 402 keeps an account waiting": func(s *stage) uuid.UUID {
			s.ask(1, failover(failure(events.ClassCreditsExhausted, 402, "grok-build:spending-limit")), served)
			s.pass(3 * time.Hour)
			return s.ask(2, served)
		},
		"every account is spent and Waybill refuses": func(s *stage) uuid.UUID {
			w := failure(events.ClassWindowExhausted, 429, "openai:insufficient_quota")
			w.Hint = &events.Hint{Value: "3600", Until: s.now.Add(time.Hour), Source: "header:retry-after"}
			s.ask(1, failover(w), returned(failure(events.ClassCreditsExhausted, 402, "status:402"), events.Reply{Status: 503, Code: "accounts_unavailable", RetryAfter: 300, RetrySource: "qwen-plan"}))
			s.pass(time.Minute)
			return s.ask(2)
		},
		"a park is due and one request tests it": func(s *stage) uuid.UUID {
			s.reading("qwen-plan", weeklySpent(begin.Add(91*time.Hour)))
			for range 7 {
				s.pass(5 * time.Minute)
				s.reading("qwen-plan", weeklySpent(begin.Add(91*time.Hour)))
			}
			return s.ask(1, served)
		},
		"the last path is tried although claims stand": func(s *stage) uuid.UUID {
			s.reading("qwen-plan", weeklySpent(begin.Add(91*time.Hour)))
			s.reading("spare", weeklySpent(begin.Add(50*time.Hour)))
			s.pass(time.Minute)
			return s.ask(1, served)
		},
		"an operator drained one and the other's key is refused": func(s *stage) uuid.UUID {
			s.add(events.Header{Account: "qwen-plan"}, &events.OperatorDrained{OperatorAction: events.OperatorAction{Actor: "admin", Reason: "key rotation"}})
			s.ask(1, returned(failure(events.ClassAuthFailed, 401, "status:401"), events.Reply{Status: 503, Code: "accounts_unavailable", RetryAfter: 300, RetrySource: "spare"}))
			s.pass(90 * time.Second)
			return s.ask(2)
		},
		"bursts cool a model down": func(s *stage) uuid.UUID {
			f := failure(events.ClassRateLimited, 429, "status:429")
			f.Scope = events.Scope{Kind: events.ScopeModel, Name: "m1"}
			f.Hint = &events.Hint{Value: "20", Until: s.now.Add(20 * time.Second), Source: "header:retry-after"}
			s.ask(1, failover(f), served)
			s.pass(5 * time.Second)
			return s.ask(2, served)
		},
		"three failures in a row cool an account down": func(s *stage) uuid.UUID {
			s.alone = true
			for n := range uint64(3) {
				s.ask(10+n, failover(failure(events.ClassServerError, 500, "status:500")), served)
				s.pass(time.Second)
			}
			return s.ask(1, served)
		},
		"the last answer is returned": func(s *stage) uuid.UUID {
			return s.ask(1, failover(failure(events.ClassOverloaded, 529, "status:529")), returned(failure(events.ClassServerError, 500, "status:500"), events.Reply{Status: 500}))
		},
		"a client leaves": func(s *stage) uuid.UUID {
			return s.ask(1, events.FailureEvent(failure(events.ClassClientAborted, 0, "class:client_aborted")))
		},
		"nothing has answered yet": func(s *stage) uuid.UUID { return s.ask(1) },
	}
	for name, play := range stories {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, events.StrategyOrdered, "qwen-plan", "spare")
			id := play(s)
			r := s.why(id)
			if r.Replay.Identical == nil || !*r.Replay.Identical {
				t.Errorf("a replay does not agree: %+v", r.Replay)
			}
			golden(t, "request "+name, r.Sentences)
		})
	}
}

func TestStoriesOfAccounts(t *testing.T) {
	rows := map[string]func(*stage){
		"nothing is known": func(*stage) {},
		"claims stand": func(s *stage) {
			s.reading("qwen-plan", weeklySpent(begin.Add(91*time.Hour)), events.Window{Name: "5h", RemainingPercent: events.Dec(61 * events.DecimalUnit), Reported: true, ResetsAt: begin.Add(2 * time.Hour)})
			s.pass(10 * time.Minute)
		},
		"it serves in spite of claims": func(s *stage) {
			s.reading("qwen-plan", weeklySpent(begin.Add(91*time.Hour)))
			s.pass(31 * time.Minute)
			s.ask(1, served)
			s.pass(time.Minute)
			s.reading("qwen-plan", weeklySpent(begin.Add(91*time.Hour)))
			s.pass(time.Minute)
		},
		"its credits are spent": func(s *stage) {
			s.ask(1, failover(failure(events.ClassCreditsExhausted, 402, "status:402")), served)
			s.add(events.Header{Account: "qwen-plan", Epoch: 1}, &events.QuotaFetched{Reading: events.Reading{Source: "http",
				Credit: &events.Credit{Reached: events.Yes, ResetsAt: begin.Add(30 * 24 * time.Hour)}, Billing: &events.Billing{Plan: events.PlanPaid, PeriodEnd: begin.Add(30 * 24 * time.Hour)}}})
			s.pass(time.Minute)
		},
		"it does not serve single models": func(s *stage) {
			f := failure(events.ClassModelUnsupported, 404, "status:404")
			f.Scope = events.Scope{Kind: events.ScopeModel, Name: "m1"}
			s.ask(1, failover(f), served)
			s.pass(time.Minute)
		},
		"another pushes readings": func(s *stage) {
			s.add(events.Header{Account: "qwen-plan", Epoch: 1}, &events.QuotaFetched{Reading: events.Reading{Source: "my-scraper", Windows: []events.Window{weeklySpent(begin.Add(91 * time.Hour))}}})
			s.pass(time.Minute)
		},
		"it is drained while it cools down": func(s *stage) {
			s.ask(1, failover(failure(events.ClassRateLimited, 429, "status:429")), served)
			s.add(events.Header{Account: "qwen-plan"}, &events.OperatorDrained{OperatorAction: events.OperatorAction{Actor: "admin", Reason: "key rotation"}})
		},
		"it is parked for an hour while a claim names a later reset": func(s *stage) {
			s.reading("qwen-plan", weeklySpent(begin.Add(91*time.Hour)))
			s.add(events.Header{Account: "qwen-plan"}, &events.OperatorParked{OperatorAction: events.OperatorAction{Actor: "admin", Reason: "tests", Until: begin.Add(time.Hour)}})
		},
		"it is drained": func(s *stage) {
			s.add(events.Header{Account: "qwen-plan"}, &events.OperatorDrained{OperatorAction: events.OperatorAction{Actor: "admin", Reason: "key rotation"}})
			s.pass(26 * time.Hour)
		},
		"it is parked by an operator": func(s *stage) {
			s.add(events.Header{Account: "qwen-plan"}, &events.OperatorParked{OperatorAction: events.OperatorAction{Actor: "admin", Reason: "the team needs it tonight", Until: begin.Add(9 * time.Hour)}})
			s.pass(time.Hour)
		},
		"it was banned": func(s *stage) {
			f := failure(events.ClassForbidden, 403, "anthropic:account_banned")
			f.Permanent = true
			s.ask(1, failover(f), served)
			s.pass(time.Hour)
		},
	}
	for name, play := range rows {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, events.StrategyOrdered, "qwen-plan", "spare")
			play(s)
			golden(t, "account "+name, append([]string{"[" + s.account("qwen-plan", "").State + "]"}, s.account("qwen-plan", modelOf(name)).Sentences...))
		})
	}
}

// modelOf is the model that a story is asked about: none where it is about
// others than one.
func modelOf(name string) string {
	if name == "it does not serve single models" {
		return ""
	}
	return "m1"
}

// TestWhoseWordAnInstantIs: a reset is what a provider has named; the end of our
// own wait is none, and what an operator did has no test.
func TestWhoseWordAnInstantIs(t *testing.T) {
	named := func(f events.Failure, until events.Time) events.Failure {
		f.Hint = &events.Hint{Value: "3600", Until: until, Source: "header:retry-after"}
		return f
	}
	operator := events.OperatorAction{Actor: "admin", Reason: "tests", Until: begin.Add(30 * time.Minute)}
	later := begin.Add(time.Hour)
	for name, row := range map[string]struct {
		play         func(*stage)
		reset, tests bool
	}{
		"a 402 that names nothing": {func(s *stage) { s.ask(1, failover(failure(events.ClassCreditsExhausted, 402, "status:402")), served) }, false, true},
		"a 402 that names a reset": {func(s *stage) {
			s.ask(1, failover(named(failure(events.ClassCreditsExhausted, 402, "x"), later)), served)
		}, true, true},
		"a 429 that names nothing": {func(s *stage) { s.ask(1, failover(failure(events.ClassRateLimited, 429, "x")), served) }, false, true},
		"a 429 that names a reset": {func(s *stage) {
			s.ask(1, failover(named(failure(events.ClassWindowExhausted, 429, "x"), later)), served)
		}, true, true},
		"a 401":             {func(s *stage) { s.ask(1, failover(failure(events.ClassAuthFailed, 401, "x")), served) }, false, true},
		"a console's claim": {func(s *stage) { s.reading("qwen-plan", weeklySpent(later)) }, true, true},
		"an operator's park on a claim": {func(s *stage) {
			s.reading("qwen-plan", weeklySpent(later))
			s.add(events.Header{Account: "qwen-plan"}, &events.OperatorParked{OperatorAction: operator})
		}, false, true},
		"a drain on a 402": {func(s *stage) {
			s.ask(1, failover(failure(events.ClassCreditsExhausted, 402, "x")), served)
			s.add(events.Header{Account: "qwen-plan"}, &events.OperatorDrained{OperatorAction: operator})
		}, false, false},
	} {
		s := newStage(t, events.StrategyOrdered, "qwen-plan", "spare")
		row.play(s)
		a := s.account("qwen-plan", "m1")
		if v := a.Verdict; (v.Reset != 0) != row.reset || (v.TrialAt != 0) != row.tests || v.Admitted {
			t.Errorf("%s: reset %s, test %s, until %s: %s", name, v.Reset, v.TrialAt, v.Until, v.Sentence)
		}
	}
}

// TestAnAttemptWhoseCostNobodyToldMayBeBilled: what was never sent, and what
// was answered with an error, costs nothing; a stated usage is the cost.
func TestAnAttemptWhoseCostNobodyToldMayBeBilled(t *testing.T) {
	used := events.Answer{Usage: &events.Usage{Input: events.Int(1)}}
	account, host := events.Scope{Kind: events.ScopeAccount}, events.Scope{Kind: events.ScopeEndpoint}
	for name, row := range map[string]struct {
		f    events.Failure
		want bool
	}{
		"cut off while it worked":       {events.Failure{Class: events.ClassTimeout, Scope: account}, true},
		"broke off":                     {events.Failure{Class: events.ClassNetwork, Scope: account}, true},
		"half an answer":                {events.Failure{Class: events.ClassMalformed, Scope: account}, true},
		"the client left":               {events.Failure{Class: events.ClassClientAborted}, true},
		"our process ended":             {events.Failure{Class: events.ClassLost}, true},
		"the host was never reached":    {events.Failure{Class: events.ClassNetwork, Scope: host}, false},
		"refused":                       {events.Failure{Class: events.ClassRateLimited, Scope: account}, false},
		"failed":                        {events.Failure{Class: events.ClassServerError, Scope: account}, false},
		"broke off after it told usage": {events.Failure{Class: events.ClassNetwork, Scope: account, Answer: used}, false},
	} {
		if got := usage.PossiblyBilled(&row.f); got != row.want {
			t.Errorf("%s: %t", name, got)
		}
		if says := strings.Contains(outcomeWords(&row.f, "1s"), "may be billed"); says && !row.want {
			t.Errorf("%s: %s", name, outcomeWords(&row.f, "1s"))
		}
	}
}
