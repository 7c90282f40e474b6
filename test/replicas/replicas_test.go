// Package replicas holds what several gateways on one ledger owe an upstream:
// together they starve no account and hammer none. Time is virtual.
package replicas

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/engine"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
)

// group is three gateways that follow one ledger, in front of one account.
type group struct {
	t     *testing.T
	log   *ledger.Log
	gates []*engine.Engine

	mu         sync.Mutex
	dispatched []time.Time
	served     []time.Time
	next       uint64
}

func start(t *testing.T, doc events.Document) *group {
	g := &group{t: t, log: ledger.Open(ledgertest.NewMemory())}
	accounts := []engine.Enrolment{{ID: "a", Epoch: 1, Settings: events.Settings{
		Provider: "openai-compatible", Endpoint: "a.example", Dialects: []events.Dialect{events.DialectOpenAI}}}}
	for range 3 {
		e, err := engine.Open(t.Context(), engine.Options{Log: g.log, Accounts: accounts, Document: doc, Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		g.gates = append(g.gates, e)
	}
	return g
}

func (g *group) stop() {
	for _, e := range g.gates {
		if err := e.Close(context.Background()); err != nil {
			g.t.Error(err)
		}
	}
	if err := g.log.Close(); err != nil {
		g.t.Error(err)
	}
}

// oneAttempt is a policy under which a request is one attempt, so that what it
// meets is what its account is like.
func oneAttempt() events.Policy {
	p := events.DefaultPolicy()
	p.MaxAttempts = 1
	return p
}

// request sends one request through one of the gateways to an upstream that
// answers as told: nil serves.
func (g *group) request(refuse *events.Failure) {
	g.mu.Lock()
	g.next++
	n := g.next
	g.mu.Unlock()
	id := uuid.UUID{0: 1, 8: byte(n >> 56), 11: byte(n >> 32), 12: byte(n >> 24), 13: byte(n >> 16), 14: byte(n >> 8), 15: byte(n)}
	a, refusal, err := g.gates[n%3].Decide(g.t.Context(), engine.Ask{Request: id, Attempt: 1, Dialect: events.DialectOpenAI, Model: "m1"})
	if err != nil {
		g.t.Error(err)
		return
	}
	if a == nil {
		if err := refusal.Durable(g.t.Context()); err != nil {
			g.t.Error(err)
		}
		return
	}
	now := events.At(time.Now())
	g.mu.Lock()
	g.dispatched = append(g.dispatched, time.Now())
	g.mu.Unlock()
	if refuse != nil {
		f := *refuse
		f.Answer = events.Answer{Status: 429, DispatchedAt: now, AnsweredAt: events.At(time.Now())}
		a.Failed(f)
		return
	}
	a.Passed(now)
	a.Succeeded(events.Answer{Status: 200, DispatchedAt: now, AnsweredAt: now}, "stop")
	g.mu.Lock()
	g.served = append(g.served, time.Now())
	g.mu.Unlock()
}

// burst sends n requests at one instant and waits until all are answered.
func (g *group) burst(n int, refuse *events.Failure) {
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { g.request(refuse) })
	}
	wg.Wait()
}

func days(t *testing.T, short int) int {
	if v := os.Getenv("WAYBILL_DAYS"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatalf("WAYBILL_DAYS: %v", err)
		}
		return n
	}
	return short
}

func prove(t *testing.T, figures map[string]any) {
	t.Helper()
	line, err := json.Marshal(figures)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(line))
}

// An upstream that truly refuses: at most one dispatch per park window over
// all replicas, also when twenty requests come at the instant of the trial.
// Requests come in bursts of 50 within a second, four times an hour, and 20 at
// the instant of each trial: between two events nothing that a decision is
// made of changes, so more of them could only be refused alike.
func TestNobodyHammersAnUpstreamThatRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := start(t, events.Document{Policy: oneAttempt()})
		defer g.stop()
		refuse := &events.Failure{Class: events.ClassWindowExhausted, Rule: "test", Scope: events.Scope{Kind: events.ScopeAccount}}
		g.burst(1, refuse)
		until := time.Now().Add(time.Duration(days(t, 1)) * 24 * time.Hour)
		step, windows, requests := 0, 1, 1
		for time.Now().Before(until) {
			park := min(5*time.Minute<<min(step, 4), 30*time.Minute)
			trial := g.dispatched[len(g.dispatched)-1].Add(park)
			for tick := time.Now().Add(park / 4); tick.Before(trial); tick = tick.Add(park / 4) {
				time.Sleep(time.Until(tick))
				for range 5 {
					g.burst(10, refuse)
					time.Sleep(200 * time.Millisecond)
				}
				requests += 50
			}
			before := len(g.dispatched)
			time.Sleep(time.Until(trial))
			g.burst(20, refuse)
			requests += 20
			if n := len(g.dispatched) - before; n != 1 {
				t.Fatalf("%d dispatches at the instant of the trial, %v after the last answer, want 1", n, park)
			}
			step++
			windows++
		}
		if len(g.dispatched) != windows {
			t.Errorf("%d dispatches in %d park windows", len(g.dispatched), windows)
		}
		for i := 1; i < len(g.dispatched); i++ {
			if gap, want := g.dispatched[i].Sub(g.dispatched[i-1]), min(5*time.Minute<<min(i-1, 4), 30*time.Minute); gap < want {
				t.Errorf("dispatch %d came %v after the one before, want at least %v", i, gap, want)
			}
		}
		prove(t, map[string]any{"prove": "hammering", "days": days(t, 1), "requests": requests, "windows": windows, "dispatches": len(g.dispatched), "replicas": 3})
	})
}

// Claims of exhaustion come every 200 ms, with a rolling reset, while the
// upstream serves and claims alone refuse (when_exhausted: refuse): the account
// serves within one park cap of the first request and is never out longer
// again. One request an hour, repeated every minute while it is refused.
// Without WAYBILL_DAYS the claims thin out to one a minute between requests.
func TestNobodyStarvesUnderAConsoleThatIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		doc := events.Document{Policy: oneAttempt()}
		doc.Policy.WhenExhausted = events.WhenExhaustedRefuse
		g := start(t, doc)
		defer g.stop()
		every := time.Minute
		if os.Getenv("WAYBILL_DAYS") != "" {
			every = 200 * time.Millisecond
		}
		claims := 0
		claimFor := func(d, every time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(every) {
				g.claim(claims)
				claims++
			}
		}
		var worst time.Duration
		hours := days(t, 1) * 24
		for range hours {
			asked, before := time.Now(), len(g.served)
			claimFor(time.Second, 200*time.Millisecond)
			for g.request(nil); len(g.served) == before; g.request(nil) {
				if time.Since(asked) > time.Hour {
					t.Fatal("out for more than an hour")
				}
				claimFor(time.Minute, every)
			}
			worst = max(worst, time.Since(asked))
			claimFor(time.Hour-time.Since(asked), every)
		}
		if limit := doc.Policy.ParkCap + time.Second; worst > limit {
			t.Errorf("out for %v with a park cap of %v", worst, doc.Policy.ParkCap)
		}
		if len(g.served) != hours || len(g.dispatched) != hours {
			t.Errorf("%d served of %d dispatched in %d hours", len(g.served), len(g.dispatched), hours)
		}
		prove(t, map[string]any{"prove": "starvation", "days": days(t, 1), "claims": claims, "served": len(g.served), "longest_out_s": worst.Seconds(), "replicas": 3})
	})
}

// claim is a console's word that the account's week is spent.
func (g *group) claim(gate int) {
	now := events.At(time.Now())
	_, err := g.gates[gate%3].Append(g.t.Context(), events.Draft{Header: events.Header{Account: "a", ObservedAt: now}, Data: &events.QuotaFetched{Reading: events.Reading{
		Source: "push", Windows: []events.Window{{Name: "weekly", Reached: events.Yes, Reported: true, ResetsAt: now.Add(4 * 24 * time.Hour)}}}}})
	if err != nil {
		g.t.Error(err)
	}
}
