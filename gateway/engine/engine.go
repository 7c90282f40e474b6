// Package engine is the one place where decisions are made and recorded: it
// holds the live views under one short lock, gives every own event its
// sequence number, submits it to the ledger and folds it, all in one order. It
// knows no HTTP.
//
// The order is the point: the number that an event gets, its place in the
// ledger's queue and its place in the overlay are taken under the same lock.
// So a writer's events commit in the order of their numbers, and a durable
// decision implies that the pending events it saw are durable too.
package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/spool"
	"github.com/waybill/waybill/projections"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/opening"
	"github.com/waybill/waybill/projections/pins"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/projections/routing"
)

// ErrLedger: the decision cannot be recorded now (503 ledger_unavailable).
var ErrLedger = errors.New("decision cannot be recorded")

const (
	// maxUnsettled bounds the own events that are submitted and not yet
	// committed: beyond it no decision is made. Outcomes may still go above it,
	// at most three for each decision, so the ledger's queue must hold four
	// times as many.
	maxUnsettled = 8192
	// maxStall is how long the oldest unsettled event may be under way before
	// the ledger counts as away.
	maxStall = 5 * time.Second
)

// Options open an engine.
type Options struct {
	Log      *ledger.Log
	Spool    *spool.Spool // takes events while the ledger does not; nil: new requests are refused then
	Accounts []Enrolment
	Document events.Document
	Keep     bool // leave accounts and document as the ledger has them: a tool, not a gateway
	Relaxed  bool // durability: relaxed
	Version  string
	Config   events.Digest
	Now      func() events.Time   // tests give their own; nil: a corrected wall clock (R19)
	IDs      *IDs                 // tests give their own; nil: a source seeded by the kernel
	Observe  Observer             // nil: nobody watches
	Wanted   func(account string) // a new reading is wanted (R1); called under the engine's lock, must be quick; nil: nobody reads
	Logger   *slog.Logger
	Strict   bool // misuse panics (tests)
}

// Observer counts what is committed. It is called under the engine's lock and
// must be quick.
type Observer interface {
	// Appended: a decision became durable and folded, this long after it was made.
	Appended(d time.Duration)
	// Ended: an attempt's outcome was committed.
	Ended(account string, class events.Class)
}

// Engine decides and records. Safe for concurrent use.
type Engine struct {
	log     *ledger.Log
	spool   *spool.Spool    // nil: there is none
	damaged *spool.Replayed // what the last run's spool became where it was changed; nil: it was not
	relaxed bool
	strict  bool
	logger  *slog.Logger
	observe Observer
	wanted  func(account string)
	clock   *Clock // nil when the caller gave its own
	nowFunc func() events.Time
	writer  uuid.UUID
	ids     *IDs

	life       context.Context // ends with Close; what the engine does by itself runs under it
	stop       context.CancelFunc
	followed   chan struct{} // closed when following has ended
	broken     chan struct{} // closed when the ledger turned out to be broken
	folding    sync.WaitGroup
	recovering sync.WaitGroup

	mu       sync.Mutex
	live     *projections.Live
	view     routing.View
	requests *requests.View
	seq      uint64      // newest own number given
	settled  uint64      // newest own number committed and folded
	progress events.Time // when something of ours was last committed, or submitted with nothing under way
	inFlight []int64     // by roster number
	load     func(uint32) int64
	cursors  cursors
	lists    lists
	changed  chan struct{} // closed at the next change; nil while nobody waits
	here     here          // what this process has a configuration of
	adopted  bool          // some document was ever adopted: the default one stands in no event
	newest   *ledger.Ticket
	watching bool  // look will run
	fault    error // why following stands still, nil when it does not

	outage    error          // why the ledger takes no events, nil when it does
	since     events.Time    // the outage began
	away      chan struct{}  // closed when an outage begins
	spoilt    error          // why the spool takes no events either, nil when it does
	kept      *ledger.Ticket // newest of the spool's
	spooled   uint64         // newest own number that the spool was given; 0: it is empty
	tidying   bool           // emptySpool runs
	unclaimed events.Time    // newest dispatch of a trial that could not be claimed
}

// Open folds the ledger, from the newest snapshot on, closes what a crash left open (class
// lost), appends gateway.started, and enrols, changes and retires accounts and
// adopts the document where they differ from what the ledger holds.
func Open(ctx context.Context, o Options) (*Engine, error) {
	e := newEngine(o)
	if err := e.replay(ctx); err != nil {
		return nil, fmt.Errorf("open engine: %w", err)
	}
	left, err := e.foldAll(ctx)
	if err != nil {
		return nil, err
	}
	if w := e.log.Writers(); w != nil {
		if err := w.Hold(ctx, e.writer); err != nil {
			return nil, fmt.Errorf("open engine: %w", err)
		}
	}
	e.life, e.stop = context.WithCancel(context.WithoutCancel(ctx))
	go e.follow(e.life)
	if err := e.start(ctx, o, left); err != nil {
		return nil, errors.Join(err, e.Close(ctx))
	}
	if w := e.log.Writers(); w != nil {
		e.mu.Lock()
		e.begin(func() { e.sweepDead(e.life, w) })
		e.mu.Unlock()
	}
	return e, nil
}

func newEngine(o Options) *Engine {
	v := routing.View{Admission: admission.New(), Pins: pins.New(), Cache: routing.NewCache()}
	rows := requests.New(requests.Keep)
	e := &Engine{
		log: o.Log, spool: o.Spool, relaxed: o.Relaxed, strict: o.Strict, logger: o.Logger, observe: o.Observe, wanted: o.Wanted,
		nowFunc: o.Now, ids: o.IDs, view: v, requests: rows, followed: make(chan struct{}), broken: make(chan struct{}), away: make(chan struct{}),
		live: projections.NewLive(v.Admission, v.Pins, rows),
	}
	if e.ids == nil {
		e.ids = NewIDs()
	}
	if e.logger == nil {
		e.logger = slog.New(slog.DiscardHandler)
	}
	if e.nowFunc == nil {
		e.clock = NewClock()
		e.nowFunc = e.clock.Now
	}
	e.writer = e.ids.Next(e.nowFunc())
	e.load = func(account uint32) int64 { return e.inFlight[account-1] }
	return e
}

// start records the new writer, what the former ones left, and the
// configuration, and returns when all of it is durable.
func (e *Engine) start(ctx context.Context, o Options, left []opening.Claim) error {
	e.mu.Lock()
	drafts := []events.Draft{{Data: &events.GatewayStarted{Version: o.Version, ConfigDigest: o.Config, Folded: e.live.Position()}}}
	if e.log.Writers() == nil { // the lock of the store says that all others are dead
		drafts = append(drafts, sweep(left, e.requests, e.nowFunc())...)
	}
	c, err := e.recorded(drafts...)
	e.mu.Unlock()
	if err != nil {
		return err
	}
	if n := len(drafts) - 1; n > 0 {
		e.logger.Info("closed what the last run left open", "events", n)
	}
	if _, err := c.durable(ctx, "record start"); err != nil {
		return err
	}
	if err := e.bindSpool(ctx); err != nil || o.Keep {
		return err
	}
	_, err = e.Adopt(ctx, o.Accounts, o.Document)
	return err
}

// replay appends what a former process of this gateway left in the spool,
// before anything is folded: its attempts may have ended there.
func (e *Engine) replay(ctx context.Context) error {
	if e.spool == nil {
		return nil
	}
	r, err := e.spool.Replay(ctx, e.log)
	if r.Events > 0 {
		e.logger.Info("appended what the last run left in the spool", "events", r.Events)
	}
	if r.Fault != nil {
		e.damaged = &r
		e.logger.Error("what the last run left in the spool was changed since; from there on nothing of it is in the ledger, and the spool is kept aside",
			"fault", r.Fault, "events", r.Lost, "kept", r.Aside)
	}
	return err
}

// Damaged is what became of the last run's spool where it was not what had been
// written to it; nil: it was, or there was none.
func (e *Engine) Damaged() *spool.Replayed { return e.damaged }

// bindSpool tells the spool which ledger it is for.
func (e *Engine) bindSpool(ctx context.Context) error {
	if e.spool == nil {
		return nil
	}
	id, err := ledger.Identity(ctx, e.log)
	if err != nil {
		return fmt.Errorf("open engine: %w", err)
	}
	e.spool.Bind(id)
	return nil
}

// Now is the engine's corrected wall clock: what every event time is made of.
func (e *Engine) Now() events.Time { return e.nowFunc() }

// NewID is a fresh UUIDv7, for requests.
func (e *Engine) NewID() uuid.UUID { return e.ids.Next(e.nowFunc()) }

// Writer is this process's id in the ledger.
func (e *Engine) Writer() uuid.UUID { return e.writer }

// View runs fn on the live views under the engine's lock; fn must be short and
// must not keep what it is given.
func (e *Engine) View(fn func(v routing.View, at events.Position, now events.Time)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	fn(e.view, e.live.Position(), e.nowFunc())
}

// Requests runs fn on the view of requests, under the engine's lock.
func (e *Engine) Requests(fn func(v *requests.View, at events.Position)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	fn(e.requests, e.live.Position())
}

// InFlight is an account's requests in flight, by roster number.
func (e *Engine) InFlight(account uint32) int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	if account == 0 || int(account) > len(e.inFlight) {
		return 0
	}
	return e.inFlight[account-1]
}

// Append records events that are no decision (readings, operator actions) and
// returns when they are durable and folded. Times in the future and absent
// ones become now; an absent epoch becomes the account's. While the ledger is
// away they are durable in the spool, and have no position yet.
func (e *Engine) Append(ctx context.Context, drafts ...events.Draft) ([]events.Event, error) {
	e.mu.Lock()
	for i := range drafts {
		if a := e.view.Admission.Account(drafts[i].Account); a != nil && drafts[i].Epoch == 0 {
			drafts[i].Epoch = a.Epoch
		}
	}
	err := e.ready()
	var c commit
	if err == nil {
		c, err = e.recorded(drafts...)
	}
	e.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if _, err := c.durable(ctx, "append"); err != nil {
		return nil, err
	}
	return c.events(ctx, drafts)
}

// Close waits until what was recorded is committed, as long as ctx allows, then
// stops following. Close the log afterwards.
func (e *Engine) Close(ctx context.Context) error {
	err := e.drained(ctx)
	e.end()
	return err
}

// end stops what the engine does by itself and waits for it. Whoever still
// decides finds that nothing is begun any more.
func (e *Engine) end() {
	e.mu.Lock()
	e.stop()
	e.mu.Unlock()
	<-e.followed
	e.folding.Wait()
	e.recovering.Wait()
}

// begin runs fn beside everything else, unless the engine is ending. e.mu is
// held, so nothing is begun once end waits.
func (e *Engine) begin(fn func()) {
	if e.life.Err() == nil {
		e.recovering.Go(fn)
	}
}

func (e *Engine) drained(ctx context.Context) error {
	err := e.until(ctx, func() bool {
		return e.seq == e.settled || e.outage != nil && (e.spool != nil || errors.Is(e.outage, ledger.ErrClosed))
	})
	if err == nil && e.spool != nil {
		e.mu.Lock()
		last := e.seq
		e.mu.Unlock()
		err = e.rescued(ctx, last) // in the ledger, or in the spool: the next start appends it
	}
	if err != nil {
		return fmt.Errorf("close engine: %d events are not committed: %w", e.Unsettled(), err)
	}
	return nil
}
