package played

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/engine"
)

// Names are n account ids.
func Names(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("acct-%02d", i)
	}
	return out
}

// inFlight is an attempt that Traffic has not answered yet.
type inFlight struct {
	attempt *engine.Attempt
	ask     engine.Ask
}

// Traffic makes n requests, up to width of them in flight at once, with random
// faults and readings. It returns how many decisions were made.
func (g *Gateway) Traffic(seed uint64, n, width int) (decisions int) {
	g.t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 11))
	var open []inFlight
	start := func(ask engine.Ask, a *engine.Attempt) {
		a = g.decide(ask, a)
		decisions++
		if a != nil {
			open = append(open, inFlight{a, ask})
		}
	}
	finish := func() {
		i := rnd.IntN(len(open))
		f := open[i]
		open[i] = open[len(open)-1]
		open = open[:len(open)-1]
		if next, decided, again := g.outcome(rnd, &f); again {
			start(next, decided)
		}
	}
	for range n {
		g.Clock.Pass(time.Duration(rnd.IntN(200)) * time.Millisecond)
		start(engine.Ask{Request: g.NewID(), Attempt: 1, Client: "app", Dialect: events.DialectOpenAI, Model: "m1",
			Session: events.SessionDigest("app", fmt.Sprint(rnd.IntN(2000)))}, nil)
		if rnd.IntN(200) == 0 {
			g.randomReading(rnd)
		}
		for len(open) > width {
			finish()
		}
		if g.Unsettled() > 24 { // the clock runs ahead of the disk
			g.Settle()
		}
	}
	for len(open) > 0 {
		finish()
	}
	g.Settle()
	return decisions
}

// outcome answers an attempt: mostly well.
func (g *Gateway) outcome(rnd *rand.Rand, f *inFlight) (next engine.Ask, decided *engine.Attempt, again bool) {
	answer := events.Answer{Status: 200, DispatchedAt: f.attempt.Stamp.DecidedAt, AnsweredAt: g.Now(), FirstByte: 80 * time.Millisecond,
		Usage: &events.Usage{Input: events.Int(1200), CachedInput: events.Int(900), Output: events.Int(300)}}
	fail := events.Failure{Answer: events.Answer{DispatchedAt: answer.DispatchedAt, AnsweredAt: answer.AnsweredAt}, Rule: "status:test",
		Scope: events.Scope{Kind: events.ScopeAccount}, Followed: events.FollowedFailover}
	switch k := rnd.IntN(4000); {
	case k < 2:
		fail.Class, fail.Answer.Status = events.ClassWindowExhausted, 429
		fail.Hint = &events.Hint{Until: g.Now().Add(10 * time.Minute), Source: "header:retry-after", Value: "600"}
	case k < 4:
		fail.Class, fail.Answer.Status = events.ClassCreditsExhausted, 402
		fail.Hint = &events.Hint{Until: g.Now().Add(15 * time.Minute), Source: "header:retry-after", Value: "900"}
	case k < 60:
		fail.Class, fail.Answer.Status, fail.Scope = events.ClassRateLimited, 429, events.Scope{Kind: events.ScopeModel, Name: "m1"}
	case k < 140:
		fail.Class, fail.Answer.Status = events.ClassServerError, 500
	case k < 160:
		fail.Class, fail.Followed = events.ClassClientAborted, events.FollowedNothing
	default:
		f.attempt.Passed(g.Now())
		f.attempt.Succeeded(answer, "stop")
		return next, nil, false
	}
	if fail.Followed == events.FollowedNothing {
		f.attempt.Failed(fail)
		return next, nil, false
	}
	next = after(f.ask, f.attempt)
	decided, left := f.attempt.FailedOver(fail, next, f.ask.Attempt < 4, replied(fail))
	return next, decided, left == nil
}

// after is what a request asks next, when an attempt has failed.
func after(ask engine.Ask, a *engine.Attempt) engine.Ask {
	ask.Attempt++
	ask.Tried = append(append([]uint32(nil), ask.Tried...), a.Account.No)
	ask.Tested = ask.Tested || a.Decision.Trial != nil
	ask.Answered = true
	return ask
}

// replied is what a client gets when nobody is left.
func replied(f events.Failure) func(*engine.Refusal) *events.Reply {
	return func(left *engine.Refusal) *events.Reply {
		return &events.Reply{Status: f.Answer.Status, RetryAfter: left.RetryAfter, RetrySource: left.RetrySource, Left: left.Left()}
	}
}

func (g *Gateway) randomReading(rnd *rand.Rand) {
	left := events.Decimal(rnd.IntN(60)) * events.DecimalUnit
	names := Names(20)
	w := events.Window{Name: "5h", RemainingPercent: events.Dec(left), Reported: true, ResetsAt: g.Now().Add(2 * time.Hour)}
	g.Do(events.Header{Account: names[rnd.IntN(len(names))]}, &events.QuotaFetched{Reading: events.Reading{Source: "push", Windows: []events.Window{w}}})
}
