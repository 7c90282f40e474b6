// Package played runs a real engine on a given store and plays an incident on
// it, for the tests of everything that is asked about the past: claims, walls,
// failovers, a refusal, an operator, a client that leaves, and an attempt that
// is never answered.
package played

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/engine"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
)

// Begin is a Monday afternoon.
var Begin = events.At(time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC))

// Clock is moved by hand, and by itself too when it ticks.
type Clock struct {
	mu    sync.Mutex
	now   events.Time
	start time.Time // zero: it stands still between moves
	real  bool      // it is the machine's, and nothing moves it
}

// Now is the clock's time.
func (c *Clock) Now() events.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.real {
		return events.At(time.Now())
	}
	if c.start.IsZero() {
		return c.now
	}
	return c.now.Add(time.Since(c.start))
}

// Pass moves it.
func (c *Clock) Pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Gateway is an engine on a store, with a clock of its own.
type Gateway struct {
	*engine.Engine
	Log   *ledger.Log
	Clock *Clock
	t     testing.TB
	close sync.Once
}

// Document routes m1 in order over all accounts.
func Document(accounts ...string) events.Document {
	return events.Document{Policy: events.DefaultPolicy(), Models: []events.Route{
		{Name: "m1", Strategy: events.StrategyOrdered, Tiers: []events.Tier{{Accounts: accounts}}}}}
}

// Open starts an engine; Close it before another one uses the store.
func Open(t testing.TB, store ledger.Store, clock *Clock, accounts ...string) *Gateway {
	t.Helper()
	return OpenWith(t, store, clock, Document(accounts...), accounts...)
}

// OpenWith starts an engine under another document.
func OpenWith(t testing.TB, store ledger.Store, clock *Clock, doc events.Document, accounts ...string) *Gateway {
	t.Helper()
	g := &Gateway{Log: ledger.Open(store), Clock: clock, t: t}
	o := engine.Options{Log: g.Log, Document: doc, Version: "test", Now: clock.Now, Strict: true, Relaxed: true}
	for i, id := range accounts {
		o.Accounts = append(o.Accounts, engine.Enrolment{ID: id, Epoch: events.Epoch(i + 1), Settings: events.Settings{
			Provider: "openai-compatible", Endpoint: id + ".example", Dialects: []events.Dialect{events.DialectOpenAI}, QuotaSource: "push"}})
	}
	e, err := engine.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	g.Engine = e
	return g
}

// InMemory starts an engine on a new ledger in memory, which has the engine's
// clock. It is closed with the test.
func InMemory(t testing.TB, accounts ...string) (*Gateway, *ledgertest.Memory) {
	t.Helper()
	return InMemoryWith(t, Document(accounts...), accounts...)
}

// InMemoryWith is InMemory under another document.
func InMemoryWith(t testing.TB, doc events.Document, accounts ...string) (*Gateway, *ledgertest.Memory) {
	t.Helper()
	m, clock := ledgertest.NewMemory(), NewClock()
	m.SetClock(clock.Now)
	g := OpenWith(t, m, clock, doc, accounts...)
	t.Cleanup(g.Close)
	return g, m
}

// NewClock stands at Begin.
func NewClock() *Clock { return NewClockAt(Begin) }

// NewClockAt stands at an instant.
func NewClockAt(t events.Time) *Clock { return &Clock{now: t} }

// NewTicking begins at Begin and ticks, so that waits end by themselves.
func NewTicking() *Clock { return NewTickingAt(Begin) }

// NewTickingAt begins at an instant. From the machine's now on, it is never
// behind what a store records by that.
func NewTickingAt(t events.Time) *Clock { return &Clock{now: t, start: time.Now()} }

// NewReal is the machine's clock, for stores that have no other.
func NewReal() *Clock { return &Clock{real: true} }

// Close ends the engine and its log, once.
func (g *Gateway) Close() {
	g.t.Helper()
	g.close.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := errors.Join(g.Engine.Close(ctx), g.Log.Close()); err != nil {
			g.t.Fatal(err)
		}
	})
}

// Settle returns when everything recorded is durable and folded.
func (g *Gateway) Settle() {
	g.t.Helper()
	if _, err := g.Append(g.t.Context(), events.Draft{Data: &events.QuotaFetchFailed{Source: "settle", Status: 503}}); err != nil {
		g.t.Fatal(err)
	}
}

// Spent pushes a console's word that a weekly window is spent.
func (g *Gateway) Spent(account string, reset events.Time) {
	g.t.Helper()
	w := events.Window{Name: "weekly", RemainingPercent: events.Dec(0), Reached: events.Yes, Reported: true, ResetsAt: reset}
	g.Do(events.Header{Account: account}, &events.QuotaFetched{Reading: events.Reading{Source: "push", Windows: []events.Window{w}}})
}

// Do appends one event that is no decision.
func (g *Gateway) Do(h events.Header, p events.Payload) {
	g.t.Helper()
	if _, err := g.Append(g.t.Context(), events.Draft{Header: h, Data: p}); err != nil {
		g.t.Fatal(err)
	}
}

// Answer is how one attempt ends; the zero one serves.
type Answer struct {
	Class  events.Class
	Status uint32
	Until  time.Duration // stated reset, from then on
	Hangs  bool          // it is never answered
}

// Ask makes one request for m1 and walks on until it is served, refused, or out
// of answers: then the last failure is returned.
func (g *Gateway) Ask(answers ...Answer) uuid.UUID {
	g.t.Helper()
	id := g.NewID()
	ask := engine.Ask{Request: id, Client: "app", Dialect: events.DialectOpenAI, Model: "m1", Session: events.SessionDigest("app", "s1")}
	ask.Attempt = 1
	var a *engine.Attempt
	for n, ans := range answers {
		if a = g.decide(ask, a); a == nil || ans.Hangs {
			break
		}
		next := after(ask, a)
		var again bool
		if a, again = g.end(a, ans, next, n == len(answers)-1); !again {
			break
		}
		ask = next
	}
	g.Settle()
	return id
}

// decide asks for an attempt where it is not decided yet, and ends a search
// that finds nobody.
func (g *Gateway) decide(ask engine.Ask, decided *engine.Attempt) *engine.Attempt {
	g.t.Helper()
	if decided != nil {
		return decided
	}
	a, refusal, err := g.Decide(g.t.Context(), ask)
	if err != nil {
		g.t.Fatal(err)
	}
	if refusal != nil && ask.Answered {
		g.Ended(ask, events.RequestEnded{Class: events.ClassServerError, Reply: events.Reply{Status: 502, Left: refusal.Left()}})
	}
	return a
}

// end records an outcome and says whether another attempt follows, and which
// one where that is decided already.
func (g *Gateway) end(a *engine.Attempt, ans Answer, next engine.Ask, last bool) (*engine.Attempt, bool) {
	sent := g.Now()
	g.Clock.Pass(120 * time.Millisecond)
	answer := events.Answer{Status: ans.Status, DispatchedAt: sent, AnsweredAt: g.Now(), FirstByte: 80 * time.Millisecond}
	if ans.Class == events.ClassNone {
		answer.Status = 200
		answer.Usage = &events.Usage{Input: events.Int(120), CachedInput: events.Int(100), Output: events.Int(42)}
		a.Passed(g.Now())
		a.Succeeded(answer, "stop")
		return nil, false
	}
	f := events.Failure{Answer: answer, Class: ans.Class, Rule: "status:test", Scope: events.Scope{Kind: events.ScopeAccount}, Followed: events.FollowedFailover}
	if ans.Until != 0 {
		f.Hint = &events.Hint{Value: "stated", Until: g.Now().Add(ans.Until), Source: "header:retry-after"}
	}
	if ans.Class == events.ClassClientAborted {
		f.Followed = events.FollowedNothing
		a.Failed(f)
		return nil, false
	}
	decided, left := a.FailedOver(f, next, !last, replied(f))
	return decided, left == nil
}

// Story is what Incident played, by what the requests were.
type Story struct {
	Served, FailedOver, Trial, Returned, Refused, Aborted, Open uuid.UUID
}

// Incident plays on accounts a, b and c: a is said to be spent though it
// serves, b's credits end, c's window ends, and an operator drains a.
func (g *Gateway) Incident() Story {
	g.t.Helper()
	var s Story
	g.Spent("a", Begin.Add(91*time.Hour))
	g.Clock.Pass(2 * time.Minute)
	s.Served = g.Ask(Answer{})
	g.Clock.Pass(time.Minute)
	s.FailedOver = g.Ask(Answer{Class: events.ClassCreditsExhausted, Status: 402}, Answer{})
	g.Clock.Pass(30 * time.Minute)
	s.Trial = g.Ask(Answer{Class: events.ClassWindowExhausted, Status: 429, Until: 2 * time.Hour}, Answer{})
	g.Clock.Pass(time.Minute)
	s.Returned = g.Ask(Answer{Class: events.ClassServerError, Status: 500})
	s.Aborted = g.Ask(Answer{Class: events.ClassClientAborted})
	g.Do(events.Header{Account: "a"}, &events.OperatorDrained{OperatorAction: events.OperatorAction{Actor: "admin", Reason: "key rotation"}})
	g.Clock.Pass(time.Minute)
	s.Refused = g.Ask(Answer{})
	g.Do(events.Header{Account: "a"}, &events.OperatorUndrained{OperatorAction: events.OperatorAction{Actor: "admin", Reason: "done"}})
	s.Open = g.Ask(Answer{Hangs: true})
	return s
}
