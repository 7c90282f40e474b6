package simulate

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"testing/synctest"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/engine"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
)

// models are what clients ask for; every account serves them.
var models = []string{"m1", "m2"}

// world is one simulated world under way. All of it belongs to one goroutine,
// but the desk.
type world struct {
	seed uint64
	size Size
	rand *rand.Rand
	desk *desk

	gates     []*gateway
	accounts  []engine.Enrolment
	document  events.Document
	upstreams map[string]*upstream
	machine   time.Duration // the ledger's clock is off by this

	requests []*request
	open     []*request // with an attempt that has no outcome
	late     []*port    // wake-ups that were held back
	oracle   *oracle
	laws     laws

	step    int
	history []string
	tracing bool
	failure error
}

// Result is how a world ended.
type Result struct {
	Failure  error    // nil: nothing was wrong
	Step     int      // at which it showed
	History  []string // when tracing
	Events   int
	Requests int
	Acked    int
	Refused  int
	Trials   int
	Crashes  int
	Outages  int
	Digest   uint64 // of the committed history, ids apart
}

// Run plays a script. It must be called in a bubble of testing/synctest.
func Run(seed uint64, size Size, steps []Step, tracing bool) Result {
	w := newWorld(seed, size, tracing)
	for i := range w.gates {
		w.start(w.gates[i])
		w.pass(time.Duration(i+1) * 17 * time.Millisecond)
	}
	for i := range steps {
		if w.failure != nil {
			break
		}
		w.step = i + 1
		w.do(&steps[i])
		w.check()
	}
	w.finish()
	return w.result()
}

func newWorld(seed uint64, size Size, tracing bool) *world {
	w := &world{seed: seed, size: size, rand: rand.New(rand.NewPCG(seed, 2)), desk: newDesk(), upstreams: map[string]*upstream{}, tracing: tracing}
	w.desk.store.SetClock(func() events.Time { return events.At(time.Now().Add(w.machine)) })
	w.document = w.newDocument()
	for i := range size.Accounts {
		e := engine.Enrolment{ID: fmt.Sprintf("a%d", i+1), Epoch: events.Epoch(100 * (i + 1)), Settings: events.Settings{
			Provider: "openai-compatible", Endpoint: fmt.Sprintf("a%d.example", i+1), Dialects: []events.Dialect{events.DialectOpenAI}, Weight: 1}}
		if size.Crowded && i < 2 {
			e.Settings.Group = "team"
		}
		w.accounts = append(w.accounts, e)
		w.upstreams[e.ID] = &upstream{mode: "healthy"}
	}
	for i := range size.Gateways {
		g := &gateway{no: i + 1}
		if size.Spool > 0 {
			g.disk = ledgertest.NewMemory()
		}
		w.gates = append(w.gates, g)
	}
	w.oracle = newOracle(w)
	w.laws = newLaws(w)
	return w
}

// newDocument has the policy's own proportions with shorter times, so that a
// world sees many parks.
func (w *world) newDocument() events.Document {
	p := events.DefaultPolicy()
	p.ParkCap, p.HealthyWindow, p.RateLimitPark = 3*time.Minute, 2*time.Minute, 20*time.Second
	p.PaymentRecovery, p.ReadingMaxAge, p.FirstTokenTimeout = 10*time.Minute, 4*time.Minute, 10*time.Second
	p.TrialLease, p.TrialBackoff, p.PinTTL = 40*time.Second, 10*time.Second, 5*time.Minute
	if w.rand.IntN(2) == 0 {
		p.WhenExhausted = events.WhenExhaustedRefuse
	}
	doc := events.Document{Policy: p}
	if s := w.rand.IntN(5); s > 0 {
		for _, m := range models {
			doc.Models = append(doc.Models, events.Route{Name: m, Strategy: events.Strategy(s), Tiers: []events.Tier{{Provider: "openai-compatible"}}})
		}
	}
	return doc
}

func (w *world) now() events.Time { return events.At(time.Now()) }

func (w *world) note(format string, args ...any) {
	if w.tracing {
		w.history = append(w.history, fmt.Sprintf("%4d %12s  ", w.step, time.Since(bubbleStart).String())+fmt.Sprintf(format, args...))
	}
}

// bubbleStart is where every bubble's clock begins.
var bubbleStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// fail keeps the first thing that is wrong.
func (w *world) fail(format string, args ...any) {
	if w.failure == nil {
		w.failure = fmt.Errorf(format, args...)
		w.note("WRONG: %v", w.failure)
	}
}

// settle lets everything happen that can happen now, one thing at a time.
func (w *world) settle() {
	for {
		synctest.Wait()
		if done := w.desk.takeDone(); len(done) > 0 {
			for _, c := range done {
				c.fn()
				synctest.Wait()
			}
			continue
		}
		ready := w.desk.ready()
		if len(ready) == 0 {
			w.observe()
			return
		}
		w.serve(ready[w.rand.IntN(len(ready))])
	}
}

// pass lets virtual time pass and serves what comes meanwhile.
func (w *world) pass(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		w.settle()
		select {
		case <-w.desk.knocked:
		case <-timer.C:
			w.settle()
			return
		}
	}
}

// serve lets one operation through.
func (w *world) serve(o *op) {
	var g grant
	switch o.kind {
	case opCommit:
		if f := o.port.fault(); f != "" {
			w.mishap(o, f)
			return
		}
		g.results, g.err = w.commit(o.port, o.batch)
	case opHead:
		g.head, g.err = w.desk.store.Head(context.Background())
		o.port.mu.Lock()
		o.port.saw = g.head
		o.port.mu.Unlock()
	}
	w.desk.drop(o)
	o.granted <- g
}

// commit makes a batch durable and wakes the others, or not.
func (w *world) commit(p *port, batch []events.Record) ([]ledger.Result, error) {
	results, err := w.desk.store.Commit(context.Background(), batch)
	w.observe()
	w.note("g%d commits %s", p.no, names(batch))
	for _, g := range w.gates {
		if g.proc == nil || g.proc.port == p {
			continue
		}
		switch w.rand.IntN(6) {
		case 0: // lost: a poll finds it
		case 1:
			w.late = append(w.late, g.proc.port)
		default:
			g.proc.port.wake()
		}
	}
	return results, err
}

func names(batch []events.Record) string {
	out := make([]string, len(batch))
	for i := range batch {
		out[i] = batch[i].Kind.String()
		if batch[i].Account != "" {
			out[i] += " " + batch[i].Account
		}
	}
	return strings.Join(out, ", ")
}

// mishap is an append that does not go as it should.
func (w *world) mishap(o *op, fault string) {
	w.note("g%d append %s: %s", o.port.no, fault, names(o.batch))
	lost := fmt.Errorf("%w: connection lost", ledger.ErrUnavailable)
	switch fault {
	case "lost":
		w.desk.drop(o)
		o.granted <- grant{err: lost}
	case "unknown": // it takes effect, the answer does not come
		_, _ = w.commit(o.port, o.batch)
		w.desk.drop(o)
		o.granted <- grant{err: lost}
	case "slow":
		w.desk.mu.Lock()
		o.batch, o.stuck = copied(o.batch), 2+w.rand.IntN(4)
		w.desk.mu.Unlock()
	}
}

// unstick lets slow appends take effect at last, also when nobody waits for
// them any more.
func (w *world) unstick(all bool) {
	w.desk.mu.Lock()
	var over []*op
	for _, o := range w.desk.ops {
		if o.stuck == 0 {
			continue
		}
		if o.stuck--; all {
			o.stuck = 0
		}
		if o.stuck == 0 && o.left {
			over = append(over, o)
		}
	}
	w.desk.mu.Unlock()
	for _, o := range over {
		w.note("g%d: an append that was given up takes effect: %s", o.port.no, names(o.batch))
		_, _ = w.commit(o.port, o.batch)
		w.desk.drop(o)
	}
}

// observe shows the oracle what is new in the ledger.
func (w *world) observe() {
	err := w.desk.store.Scan(context.Background(), w.oracle.at(), ledger.Filter{}, 0, func(r *ledger.Row) error {
		return w.oracle.row(r)
	})
	if err != nil {
		w.fail("I9: %v", err)
	}
}

func (w *world) result() Result {
	h := fnv.New64a()
	for i := range w.oracle.log {
		e := &w.oracle.log[i]
		fmt.Fprint(h, e.Position, e.WriterSeq, e.ObservedAt, e.RecordedAt, e.Account, e.Request, e.Data.Kind())
	}
	r := Result{Failure: w.failure, Step: w.step, History: w.history, Events: len(w.oracle.log), Requests: len(w.requests), Digest: h.Sum64()}
	r.Acked, r.Refused, r.Trials, r.Crashes, r.Outages = w.laws.acked, w.laws.refused, w.laws.trials, w.laws.crashes, w.laws.outages
	return r
}

var _ ledger.Store = (*port)(nil)
var _ ledger.Store = (*ledgertest.Memory)(nil)
