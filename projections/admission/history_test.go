package admission

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// histories is how many random histories a law is checked on: a number that
// fits the normal run, or WAYBILL_LAWS.
func histories(t testing.TB, normal int) int {
	if n, err := strconv.Atoi(os.Getenv("WAYBILL_LAWS")); err == nil && n > 0 {
		return n
	}
	return normal
}

// firstSeed is printed with a failure; WAYBILL_SEED runs a single one again.
func seeds(t testing.TB, n int) []uint64 {
	if s, err := strconv.ParseUint(os.Getenv("WAYBILL_SEED"), 10, 64); err == nil {
		return []uint64{s}
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = uint64(i + 1)
	}
	return out
}

// chronicler writes random histories: several accounts, two of them in a
// group, readings, outcomes, trials, operators, reloads, all with late
// arrivals, at steps from milliseconds to an hour.
type chronicler struct {
	*rand.Rand
	w        *world
	now      events.Time
	request  uint64
	writers  []uuid.UUID
	live     []call // trials under way
	static   bool   // only outcomes and readings, no position knowledge: for permutations
	punctual bool   // nothing arrives late
}

var (
	theAccounts = []string{"a", "b", "c"}
	theModels   = []string{"m1-big", "M2-fable", "m3"}
	theScopes   = []string{"", "", "", "account", "group", "endpoint", "family:big", "family:fable", "model:m1-big", "model:m3", "none"}
)

func newChronicler(t testing.TB, seed uint64) *chronicler {
	c := &chronicler{Rand: rand.New(rand.NewPCG(seed, 7)), w: newWorld(t), now: after(time.Hour), writers: []uuid.UUID{id(1, 1), id(1, 2)}}
	for i, a := range theAccounts {
		c.w.enrol(a, c.settings(i))
	}
	c.w.policy = c.policy()
	c.w.add(events.Header{ObservedAt: epoch0}, &events.PolicyAdopted{Document: events.Document{Policy: c.w.policy}})
	return c
}

func (c *chronicler) settings(i int) events.Settings {
	s := events.Settings{Provider: "p", Endpoint: "one.example", Families: []events.Family{{Name: "Big", Models: []string{"*-BIG"}}}}
	if i < 2 {
		s.Group = "g"
	}
	if i == 2 {
		s.Endpoint = "two.example"
	}
	return s
}

func (c *chronicler) policy() events.Policy {
	p := events.DefaultPolicy()
	if c.IntN(2) == 0 {
		p.ParkCap = time.Duration(c.IntN(40)+1) * time.Minute
		p.HealthyWindow = time.Duration(c.IntN(40)+1) * time.Minute
		p.HealthThreshold = uint32(c.IntN(3) + 1)
		p.ReadingMaxAge = time.Duration(c.IntN(20)+1) * time.Minute
	}
	return p
}

func pick[T any](c *chronicler, of []T) T { return of[c.IntN(len(of))] }

// span is a random duration, mostly short.
func (c *chronicler) span() time.Duration {
	d := time.Duration(c.IntN(1000)+1) * time.Millisecond
	for _, f := range []int{10, 10, 10} {
		if c.IntN(3) == 0 {
			d *= time.Duration(f)
		}
	}
	return d + time.Duration(c.IntN(1000))*time.Microsecond
}

// when is an instant at or a little before now: events arrive late.
func (c *chronicler) when() events.Time {
	if c.IntN(3) == 0 && !c.punctual {
		return c.now.Add(-c.span())
	}
	return c.now
}

func (c *chronicler) reset(at events.Time) events.Time {
	switch c.IntN(8) {
	case 0:
		return 0
	case 1:
		return at.Add(-c.span())
	}
	return at.Add(c.span() * time.Duration(c.IntN(20)+1))
}

func (c *chronicler) scope() events.Scope {
	s, _ := events.ParseScope(pick(c, theScopes))
	return s
}

func (c *chronicler) window(at events.Time) events.Window {
	w := events.Window{Scope: c.scope(), ResetsAt: c.reset(at), Reported: c.IntN(8) > 0,
		RemainingPercent: events.Dec(events.Decimal(c.IntN(3)) * 20 * events.DecimalUnit)}
	if c.IntN(3) == 0 {
		w.Reached = events.OptBool(c.IntN(3))
	}
	return w
}

func (c *chronicler) reading(at events.Time) events.Reading {
	r := events.Reading{Source: "test"}
	for _, name := range []string{"5h", "7d"}[:c.IntN(3)] {
		w := c.window(at)
		w.Name = name
		r.Windows = append(r.Windows, w)
	}
	if c.IntN(4) == 0 {
		r.Credit = &events.Credit{Reached: events.OptBool(c.IntN(3)), Available: events.OptBool(c.IntN(3)), UsedPercent: events.Dec(50), ResetsAt: c.reset(at)}
		if c.IntN(2) == 0 {
			for _, m := range theModels[:c.IntN(3)] {
				r.Credit.Models = append(r.Credit.Models, events.ModelCredit{Model: m, Available: events.OptBool(c.IntN(3)), CreditsWouldEnable: events.OptBool(c.IntN(3))})
			}
		}
	}
	if c.IntN(4) == 0 {
		r.Billing = &events.Billing{Plan: events.PlanPaid, PeriodEnd: c.reset(at)}
	}
	return r
}

// call begins an attempt that was answered about now.
func (c *chronicler) call() call {
	c.request++
	to := c.when()
	epoch := events.Epoch(0) // the current one
	if c.IntN(6) == 0 {
		epoch = events.Epoch(c.IntN(2) + 1) // a straggler of another credential
	}
	return call{account: pick(c, theAccounts), model: pick(c, theModels), request: c.request, from: to.Add(-c.span()), to: to, writer: pick(c, c.writers), epoch: epoch}
}

func (c *chronicler) step() {
	c.now = c.now.Add(c.span())
	if c.IntN(6) == 0 {
		c.now = c.now.Add(c.span() * 3)
	}
	switch n := c.IntN(20); {
	case n < 6:
		at := c.when()
		c.w.add(events.Header{Account: pick(c, theAccounts), ObservedAt: at}, &events.QuotaFetched{Reading: c.reading(at)})
	case n < 14 || c.static:
		c.outcome(c.call(), 0)
	case n < 16 && len(c.live) > 0:
		i := c.IntN(len(c.live))
		t := c.live[i]
		c.live = append(c.live[:i], c.live[i+1:]...)
		c.finish(t)
	case n < 18:
		c.trial()
	case n < 19:
		c.operator()
	default:
		c.reload()
	}
}

// knowledge is what a dispatch at an instant may have known: nothing that was
// answered after it.
func (c *chronicler) knowledge(from events.Time, writer uuid.UUID) (knew events.Position, own uint64) {
	log := c.w.log
	for i := range log {
		at := log[i].ObservedAt
		if p, ok := events.FailureOf(log[i].Data); ok {
			at = p.Answer.AnsweredAt
		}
		if at > from.Add(time.Second) {
			break
		}
		knew = log[i].Position
		if log[i].Writer == writer {
			own = log[i].WriterSeq
		}
	}
	if c.IntN(2) == 0 {
		knew = min(knew, events.Position(c.IntN(int(knew)+1)))
		own = min(own, uint64(c.IntN(int(own)+1)))
	}
	return knew, own
}

var theClasses = []events.Class{
	events.ClassRateLimited, events.ClassRateLimited, events.ClassWindowExhausted, events.ClassWindowExhausted, events.ClassWindowExhausted,
	events.ClassCreditsExhausted, events.ClassCreditsExhausted, events.ClassAuthFailed, events.ClassForbidden, events.ClassModelUnsupported,
	events.ClassInvalidRequest, events.ClassPolicyRefused, events.ClassNotFound, events.ClassServerError, events.ClassServerError, events.ClassServerError,
	events.ClassOverloaded, events.ClassNetwork, events.ClassNetwork, events.ClassTimeout, events.ClassMalformed, events.ClassUnclassified,
	events.ClassClientAborted, events.ClassLost,
}

func (c *chronicler) outcome(at call, step uint32) {
	at.step = step
	if c.IntN(3) == 0 {
		a := events.Answer{Status: 200, DispatchedAt: at.from, AnsweredAt: at.to}
		if c.IntN(3) == 0 {
			r := c.reading(at.to)
			a.Reading = &r
		}
		p := &events.AttemptSucceeded{Answer: a, Terminal: "stop"}
		p.Knew, p.KnewOwn = c.knowledge(at.from, at.writer)
		if c.static {
			p.Knew = 0
		}
		c.w.add(at.header(at.to), p)
		return
	}
	f := events.Failure{Class: pick(c, theClasses), Permanent: c.IntN(3) == 0, Committed: false}
	if c.IntN(3) == 0 {
		f.Scope = c.scope()
	}
	if f.Class != events.ClassNetwork && f.Class != events.ClassTimeout {
		f.Answer.Status = 400
	}
	if c.IntN(2) == 0 {
		f.Hint = &events.Hint{Until: c.reset(at.to), Guessed: c.IntN(4) == 0, Source: "header:Retry-After"}
	}
	if c.IntN(6) == 0 {
		r := c.reading(at.to)
		f.Answer.Reading = &r
	}
	c.w.fail(at, f)
	if f.Class == events.ClassUnclassified { // the request goes on, never twice to one account
		first := slices.Index(theAccounts, at.account)
		next := func(n int) {
			at.account, at.attempt, at.step = theAccounts[(first+n)%len(theAccounts)], uint32(n+1), 0
			at.from, at.to = at.to, at.to.Add(c.span())
		}
		if next(1); c.IntN(2) == 0 {
			c.w.fail(at, f)
			next(2)
		}
		c.w.ok(at)
	}
}

// trial claims what blocks a path, whether that is allowed or not, and routes
// it when it was granted.
func (c *chronicler) trial() {
	t := c.call()
	t.from, t.to = c.now, 0
	d := c.w.admit(t.account, t.model, c.now)
	if d.Admitted {
		return
	}
	trial := c.w.trial(t)
	stamp := events.Stamp{View: c.w.pos, Pending: c.w.seq}
	switch {
	case d.Durable:
		c.w.add(t.header(c.now), &events.TrialClaimed{Trial: trial})
		if !c.w.granted(t, c.now) {
			return
		}
	case !d.Trial && c.IntN(3) > 0:
		return
	}
	c.w.add(t.header(c.now), &events.AttemptRouted{Stamp: stamp, Trial: &trial, Unclaimed: c.IntN(20) == 0})
	t.step = trial.Step
	c.live = append(c.live, t)
}

func (c *chronicler) finish(t call) {
	t.to = c.now
	switch c.IntN(5) {
	case 0:
		trial := c.w.trial(t)
		c.w.add(t.header(c.now), &events.TrialPassed{Cells: trial.Cells, DispatchedAt: t.from, AnsweredAt: c.now})
		if c.IntN(2) == 0 {
			c.live = append(c.live, t)
		}
	case 1:
		trial := c.w.trial(t)
		c.w.add(t.header(c.now), &events.TrialClosed{Cells: trial.Cells, End: events.TrialEnd(c.IntN(3))})
	default:
		c.outcome(t, t.step)
	}
}

func (c *chronicler) operator() {
	h := events.Header{Account: pick(c, theAccounts), ObservedAt: c.when()}
	o := events.OperatorAction{Actor: "x", Reason: "y", Scope: c.scope()}
	switch c.IntN(6) {
	case 0:
		o.Until = c.reset(c.now)
		c.w.add(h, &events.OperatorParked{OperatorAction: o})
	case 1:
		c.w.add(h, &events.OperatorDrained{OperatorAction: o})
	case 2, 3:
		c.w.add(h, &events.OperatorUndrained{OperatorAction: o})
	default:
		c.w.add(h, &events.OperatorReleased{OperatorAction: o})
	}
}

func (c *chronicler) reload() {
	i := c.IntN(len(theAccounts))
	h := events.Header{Account: theAccounts[i], ObservedAt: c.now, Epoch: events.Epoch(c.IntN(2) + 1)}
	c.w.add(h, &events.AccountChanged{Settings: c.settings(i), Cause: "reload"})
}
