package engine

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/spool"
	"github.com/waybill/waybill/projections/audit"
)

var errAway = errors.New("connection refused")

// spooling is a world whose gateway has a spool in memory.
type spooling struct {
	*world
	disk *ledgertest.Memory
	sp   *spool.Spool
}

func openSpooling(t testing.TB, store, disk *ledgertest.Memory, maxBytes int64, ids ...string) *spooling {
	t.Helper()
	sp, err := spool.Open(t.Context(), disk, maxBytes)
	if err != nil {
		t.Fatal(err)
	}
	log := ledger.OpenWith(polled{store}, ledger.Options{Retries: 1, Backoff: time.Millisecond})
	return &spooling{world: open(t, store, Options{Spool: sp, Log: log}, ids...), disk: disk, sp: sp}
}

func (w *spooling) stop() {
	w.t.Helper()
	w.world.stop()
	if err := w.sp.Close(); err != nil {
		w.t.Error(err)
	}
}

// polled is a store whose followers look for themselves, as those of a shared
// one do.
type polled struct{ *ledgertest.Memory }

// Watch implements ledger.Shared.
func (polled) Watch(ctx context.Context, _ func()) error {
	<-ctx.Done()
	return nil
}

// kill leaves everything as a process that is killed does.
func (w *spooling) kill() {
	w.t.Helper()
	w.Engine.stop()
	_ = w.disk.Close() // what is not in it by now never will be
	_ = w.store.Close()
	_ = w.sp.Close()
	_ = w.log.Close()
	w.end()
	w.disk.Reopen()
	w.store.Reopen()
}

// away takes the ledger away until the returned function is called.
func (w *spooling) away() (back func()) {
	w.store.FailBefore(slices.Repeat([]error{errAway}, 100_000)...)
	return w.store.Heal
}

// serve is one request from beginning to end; the client must see no error.
func (w *spooling) serve() uuid.UUID {
	w.t.Helper()
	ask := w.ask()
	a := w.decide(ask)
	if err := a.Durable(w.t.Context()); err != nil {
		w.t.Fatalf("a request was not served: %v", err)
	}
	a.Succeeded(events.Answer{Status: 200}, "stop")
	return ask.Request
}

// decisions counts the decisions of each request in the ledger.
func decisions(t testing.TB, store *ledgertest.Memory) map[uuid.UUID]int {
	t.Helper()
	n := map[uuid.UUID]int{}
	for _, e := range all(t, store) {
		if e.Data.Kind() == events.KindAttemptRouted {
			n[e.Request]++
		}
	}
	return n
}

// rederived derives every decision of a ledger again.
func rederived(t testing.TB, store *ledgertest.Memory) audit.Report {
	t.Helper()
	auditor := audit.New(audit.Options{})
	for _, e := range all(t, store) {
		if err := auditor.Apply(&e); err != nil {
			t.Fatal(err)
		}
	}
	r := auditor.Report()
	if len(r.Faults) > 0 {
		t.Fatalf("a decision is not derived again: %+v", r.Faults[0])
	}
	return r
}

func TestWhileTheLedgerIsAwayRequestsAreServedFromTheSpool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openSpooling(t, ledgertest.NewMemory(), ledgertest.NewMemory(), 1<<20, "a")
		served := []uuid.UUID{w.serve()}
		seen := make(chan Outage, 2)
		go func() {
			for _, away := range []bool{true, false} {
				o, err := w.AwaitOutage(t.Context(), away)
				if err != nil {
					t.Error(err)
				}
				seen <- o
			}
		}()
		back := w.away()
		for range 50 {
			served = append(served, w.serve())
		}
		if o := <-seen; o.Cause == nil {
			t.Errorf("the beginning: %+v", o)
		}
		o, away := w.Outage()
		if !away || o.Err != nil || o.Events != 101 || o.Bytes == 0 {
			t.Errorf("outage %v: %+v", away, o)
		}
		if err := w.Ready(); err != nil {
			t.Errorf("not ready while spooling: %v", err)
		}
		if n := len(decisions(t, w.store)); n != 1 {
			t.Errorf("%d decisions reached a ledger that is away", n)
		}
		back()
		time.Sleep(time.Minute)
		if _, away := w.Outage(); away {
			t.Error("the outage did not end")
		}
		if o := <-seen; o.Cause != nil || o.Events != 0 {
			t.Errorf("the end: %+v", o)
		}
		if n := w.disk.Size(); n != 0 {
			t.Errorf("the spool still takes %d bytes", n)
		}
		served = append(served, w.serve())
		w.stop()
		got := decisions(t, w.store)
		for _, id := range served {
			if got[id] != 1 {
				t.Errorf("request %s has %d decisions", id, got[id])
			}
		}
		if r := rederived(t, w.store); r.Rederived != 52 {
			t.Errorf("%d decisions derived again", r.Rederived)
		}
	})
}

func TestARequestThatWaitsWhenTheOutageBeginsIsServed(t *testing.T) {
	outages := []struct {
		name  string
		begin func(*spooling) (back func())
	}{
		{"the ledger refuses", (*spooling).away},
		{"the ledger hangs", func(w *spooling) func() { return w.store.Hold() }},
		{"the ledger commits and does not say so", func(w *spooling) func() {
			w.store.FailAfter(slices.Repeat([]error{errAway}, 100_000)...)
			return w.store.Heal
		}},
	}
	for _, o := range outages {
		t.Run(o.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := openSpooling(t, ledgertest.NewMemory(), ledgertest.NewMemory(), 1<<20, "a")
				back := o.begin(w)
				first, second := w.decide(w.ask()), w.decide(w.ask())
				for _, a := range []*Attempt{first, second} {
					if err := a.Durable(t.Context()); err != nil {
						t.Fatalf("durable: %v", err)
					}
				}
				second.Succeeded(events.Answer{}, "stop")
				w.serve()
				back()
				first.Failed(events.Failure{Class: events.ClassServerError})
				time.Sleep(time.Minute)
				if n := w.Unsettled(); n != 0 {
					t.Errorf("%d events are not in the ledger", n)
				}
				w.stop()
				for id, n := range decisions(t, w.store) {
					if n != 1 {
						t.Errorf("request %s has %d decisions", id, n)
					}
				}
				if r := rederived(t, w.store); r.Rederived != 3 {
					t.Errorf("%d decisions", r.Rederived)
				}
				if w.disk.Size() != 0 {
					t.Error("the spool was not emptied")
				}
			})
		})
	}
}

func TestAFullSpoolRefusesNewRequestsAndTakesTheOutcomesOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openSpooling(t, ledgertest.NewMemory(), ledgertest.NewMemory(), 16<<10, "a")
		back := w.away()
		var running []*Attempt
		for range 1000 {
			a, _, err := w.Decide(t.Context(), w.ask())
			if errors.Is(err, ErrLedger) && errors.Is(err, spool.ErrFull) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Durable(t.Context()); err != nil {
				t.Fatal(err)
			}
			running = append(running, a)
		}
		if n := len(running); n == 0 || n == 1000 {
			t.Fatalf("%d requests were taken", n)
		}
		if w.Ready() == nil {
			t.Error("ready with a full spool")
		}
		for _, a := range running {
			a.Succeeded(events.Answer{Status: 200}, "stop")
		}
		time.Sleep(time.Second)
		if h, err := w.disk.Head(t.Context()); err != nil || int(h.Position) < 2*len(running) {
			t.Errorf("%d rows for %d requests with their outcomes (%v)", h.Position, len(running), err)
		}
		back()
		time.Sleep(time.Minute)
		w.serve()
		w.stop()
		rederived(t, w.store)
	})
}

func TestASpoolThatFailsRefusesAndLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openSpooling(t, ledgertest.NewMemory(), ledgertest.NewMemory(), 1<<20, "a")
		running := w.decide(w.ask())
		if err := running.Durable(t.Context()); err != nil {
			t.Fatal(err)
		}
		back := w.away()
		w.disk.FailBefore(slices.Repeat([]error{errors.New("disk full")}, 100_000)...)
		a := w.decide(w.ask())
		if err := a.Durable(t.Context()); !errors.Is(err, ErrLedger) {
			t.Errorf("durable: %v", err)
		}
		a.Failed(events.Failure{Class: events.ClassClientAborted})
		if _, _, err := w.Decide(t.Context(), w.ask()); !errors.Is(err, ErrLedger) {
			t.Errorf("decide: %v", err)
		}
		running.Succeeded(events.Answer{Status: 200}, "stop")
		w.disk.Heal() // somebody made room: the ledger is still away
		time.Sleep(10 * time.Second)
		w.serve()
		w.disk.FailBefore(slices.Repeat([]error{errors.New("disk full")}, 10)...)
		w.decide(w.ask()).Failed(events.Failure{Class: events.ClassClientAborted})
		back() // the ledger is back before the spool is
		time.Sleep(time.Minute)
		w.disk.Heal()
		w.serve()
		back = w.away()
		w.serve()
		back()
		time.Sleep(time.Minute)
		w.stop()
		if r := rederived(t, w.store); r.Rederived != 6 {
			t.Errorf("%d decisions", r.Rederived)
		}
	})
}

func TestWhatWasCommittedUnsaidAndIsSeenMeanwhileHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openSpooling(t, ledgertest.NewMemory(), ledgertest.NewMemory(), 1<<20, "a")
		w.store.FailAfter(slices.Repeat([]error{errAway}, 100_000)...)
		w.serve()
		time.Sleep(time.Minute) // followers read what no commit has told
		w.store.Heal()
		w.serve()
		time.Sleep(time.Minute)
		if o, away := w.Outage(); away {
			t.Errorf("the outage did not end: %+v", o)
		}
		w.stop()
		rederived(t, w.store)
	})
}

func TestTheSpoolIsNotEmptiedWhileItIsNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openSpooling(t, ledgertest.NewMemory(), ledgertest.NewMemory(), 1<<20, "a")
		back := w.away()
		w.serve()
		synctest.Wait()
		before := w.disk.Size()
		w.emptySpool()
		if after := w.disk.Size(); after < before || after == 0 {
			t.Errorf("%d bytes of %d are left", after, before)
		}
		back()
		time.Sleep(time.Minute)
		w.stop()
	})
}

func TestAKilledProcessesSpoolIsAppendedByTheNextBeforeItsAttemptsAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, disk := ledgertest.NewMemory(), ledgertest.NewMemory()
		w := openSpooling(t, store, disk, 1<<20, "a")
		before := w.decide(w.ask()) // its decision is in the ledger, its end in the spool
		if err := before.Durable(t.Context()); err != nil {
			t.Fatal(err)
		}
		back := w.away()
		served := w.serve()
		before.Succeeded(events.Answer{Status: 200}, "stop")
		open := w.decide(w.ask())
		if err := open.Durable(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.kill()
		back()
		next := openSpooling(t, store, disk, 1<<20, "a")
		if disk.Size() != 0 {
			t.Error("the spool was not emptied")
		}
		next.ids = 100
		next.serve()
		next.stop()
		var lost []uuid.UUID
		for _, e := range all(t, store) {
			if f, ok := events.FailureOf(e.Data); ok && f.Class == events.ClassLost {
				lost = append(lost, e.Request)
			}
		}
		if !slices.Equal(lost, []uuid.UUID{open.header.Request}) {
			t.Errorf("lost: %v, want only %v", lost, open.header.Request)
		}
		if n := decisions(t, store); n[served] != 1 || n[before.header.Request] != 1 || n[open.header.Request] != 1 {
			t.Errorf("decisions: %v", n)
		}
		rederived(t, store)
	})
}

func TestASpoolIsNeverAppendedToAnotherLedger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, disk := ledgertest.NewMemory(), ledgertest.NewMemory()
		w := openSpooling(t, store, disk, 1<<20, "a")
		w.away()
		w.serve()
		w.kill()
		for name, other := range map[string]*ledgertest.Memory{"empty": ledgertest.NewMemory(), "another": ledgertest.NewMemory()} {
			if name == "another" {
				open(t, other, Options{}, "a").stop()
				other.Reopen()
			}
			sp, err := spool.Open(t.Context(), disk.Reopen(), 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			log := ledger.Open(other)
			before := len(all(t, other))
			if _, err := Open(t.Context(), Options{Log: log, Spool: sp}); !errors.Is(err, spool.ErrForeign) {
				t.Errorf("%s ledger: %v", name, err)
			}
			if after := len(all(t, other)); after != before {
				t.Errorf("%s ledger: %d events were appended", name, after-before)
			}
			_, _ = sp.Close(), log.Close()
		}
	})
}

func TestNobodyClaimsWhileTheLedgerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openSpooling(t, ledgertest.NewMemory(), ledgertest.NewMemory(), 1<<20, "a")
		w.claimExhausted("a")
		back := w.away()
		ask := w.ask()
		a := w.decide(ask)
		if !a.Decision.LastPath && !a.Decision.Unclaimed {
			t.Errorf("%+v", a.Decision)
		}
		if err := a.Durable(t.Context()); err != nil {
			t.Fatal(err)
		}
		if a.Decision.Trial != nil || !a.Decision.Unclaimed || !a.Stamp.Offline {
			t.Errorf("the last path was not tried unclaimed: %+v", a.Decision)
		}
		a.Failed(events.Failure{Class: events.ClassServerError})
		if _, r, err := w.Decide(t.Context(), w.ask()); err != nil || r == nil {
			t.Errorf("a second one within trial_backoff: %v %v", r, err)
		}
		time.Sleep(31 * time.Second)
		again := w.decide(w.ask())
		if !again.Decision.Unclaimed {
			t.Errorf("after trial_backoff: %+v", again.Decision)
		}
		again.Succeeded(events.Answer{Status: 200}, "stop")
		back()
		time.Sleep(time.Minute)
		w.stop()
		rederived(t, w.store)
	})
}

// claimExhausted is a console's word that the account's week is spent.
func (w *spooling) claimExhausted(account string) {
	w.t.Helper()
	now := w.Now()
	_, err := w.Append(w.t.Context(), events.Draft{Header: events.Header{Account: account, ObservedAt: now}, Data: &events.QuotaFetched{Reading: events.Reading{
		Source: "push", Windows: []events.Window{{Name: "weekly", Reached: events.Yes, Reported: true, ResetsAt: now.Add(4 * 24 * time.Hour)}}}}})
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestAClaimThatAnOutageOvertakesIsGivenBackAndTheRequestServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openSpooling(t, ledgertest.NewMemory(), ledgertest.NewMemory(), 1<<20, "a", "b")
		w.claimExhausted("a")
		time.Sleep(31 * time.Minute) // due: a trial goes first
		back := w.store.Hold()
		a := w.decide(w.ask())
		if a.Account.ID != "b" || !a.Stamp.Offline {
			t.Errorf("%s served, offline %v", a.Account.ID, a.Stamp.Offline)
		}
		if err := a.Durable(t.Context()); err != nil {
			t.Fatal(err)
		}
		a.Succeeded(events.Answer{Status: 200}, "stop")
		back()
		time.Sleep(time.Minute)
		w.stop()
		var got []events.Kind
		for _, e := range all(t, w.store) {
			if e.Request != uuid.Nil {
				got = append(got, e.Data.Kind())
			}
		}
		if want := []events.Kind{events.KindTrialClaimed, events.KindTrialClosed, events.KindAttemptRouted, events.KindAttemptSucceeded}; !slices.Equal(got, want) {
			t.Errorf("%v", got)
		}
		rederived(t, w.store)
	})
}

func TestWhatIsNoDecisionIsSpooledToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openSpooling(t, ledgertest.NewMemory(), ledgertest.NewMemory(), 1<<20, "a", "b")
		back := w.away()
		evs, err := w.Append(t.Context(), events.Draft{Header: events.Header{Account: "a"}, Data: &events.OperatorDrained{OperatorAction: events.OperatorAction{Actor: "me", Reason: "test"}}})
		if err != nil || len(evs) != 1 || evs[0].Position != 0 || evs[0].WriterSeq == 0 {
			t.Fatalf("%+v %v", evs, err)
		}
		if a := w.decide(w.ask()); a.Account.ID != "b" {
			t.Errorf("%s serves though it is drained", a.Account.ID)
		} else {
			a.Succeeded(events.Answer{}, "stop")
		}
		doc := document("a", "b", "c")
		if n, err := w.Adopt(t.Context(), enrolments("a", "b", "c"), doc); err != nil || n != 2 {
			t.Errorf("adopt: %d %v", n, err)
		}
		w.serve()
		back()
		time.Sleep(time.Minute)
		w.stop()
		rederived(t, w.store)
	})
}

func TestAnOutageIsOutlivedByAProcessThatStopsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, disk := ledgertest.NewMemory(), ledgertest.NewMemory()
		w := openSpooling(t, store, disk, 1<<20, "a")
		back := w.away()
		id := w.serve()
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		_ = w.sp.Close()
		_ = w.log.Close()
		back()
		store.Reopen()
		disk.Reopen()
		next := openSpooling(t, store, disk, 1<<20, "a")
		next.stop()
		if n := decisions(t, store); n[id] != 1 {
			t.Errorf("%v", n)
		}
		rederived(t, store)
	})
}

func TestAnOutageUnderLoadEndsWithoutAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := openSpooling(t, ledgertest.NewMemory(), ledgertest.NewMemory(), 64<<20, "a", "b")
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan uuid.UUID, 1<<20)
		done := make(chan struct{})
		for g := range 4 {
			go func() {
				defer func() { done <- struct{}{} }()
				for i := uint64(0); ctx.Err() == nil; i++ {
					ask := Ask{Request: uuid.UUID{7, byte(g), byte(i >> 16), byte(i >> 8), byte(i)}, Attempt: 1, Dialect: events.DialectOpenAI, Model: "m1"}
					a, _, err := w.Decide(t.Context(), ask)
					if err == nil {
						err = a.Durable(t.Context())
					}
					if err != nil {
						t.Error(err)
						return
					}
					time.Sleep(7 * time.Millisecond)
					a.Succeeded(events.Answer{Status: 200}, "stop")
					served <- ask.Request
				}
			}()
		}
		for range 3 {
			time.Sleep(time.Second)
			back := w.away()
			time.Sleep(2 * time.Second)
			w.store.FailAfter(errAway, errAway, errAway)
			back()
		}
		time.Sleep(2 * time.Second)
		cancel()
		for range 4 {
			<-done
		}
		close(served)
		if _, away := w.Outage(); away {
			t.Error("the outage did not end under load")
		}
		w.stop()
		got, n := decisions(t, w.store), 0
		for id := range served {
			n++
			if got[id] != 1 {
				t.Fatalf("request %s has %d decisions", id, got[id])
			}
		}
		if n < 1000 {
			t.Errorf("only %d requests were served", n)
		}
		rederived(t, w.store)
	})
}

// More is kept than may be under way with the ledger: the end of the outage
// waits until the views have caught up, and is not taken for the next one.
func TestALongOutageEndsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		sp, err := spool.Open(t.Context(), ledgertest.NewMemory(), 64<<20)
		if err != nil {
			t.Fatal(err)
		}
		store := &slowToRead{Memory: ledgertest.NewMemory()}
		log := ledger.OpenWith(store, ledger.Options{Retries: 1, Backoff: time.Millisecond})
		w := &spooling{world: open(t, store.Memory, Options{Spool: sp, Log: log, Logger: slog.New(slog.NewTextHandler(&said, nil))}, "a"), sp: sp}
		back := w.away()
		for range 2 * maxUnsettled {
			w.serve()
		}
		read := store.holdReads()
		back()
		time.Sleep(time.Minute)
		if h, err := store.Head(t.Context()); err != nil || h.Position < 4*maxUnsettled-resubmitChunk {
			t.Errorf("the ledger has taken %d events (%v)", h.Position, err)
		}
		if _, away := w.Outage(); !away {
			t.Error("the outage ended before the views had caught up")
		}
		w.serve()
		read()
		time.Sleep(time.Minute)
		w.serve()
		w.stop()
		if n := strings.Count(said.String(), "they go to the spool"); n != 1 {
			t.Errorf("%d outages", n)
		}
		if n := len(decisions(t, w.store)); n != 2*maxUnsettled+2 {
			t.Errorf("%d decisions", n)
		}
	})
}

// slowToRead is a ledger that takes events and does not give them back.
// Meanwhile each commit's first answer is lost, so that followers must read.
type slowToRead struct {
	*ledgertest.Memory
	held atomic.Pointer[chan struct{}]
}

// holdReads makes scans wait until the returned function is called.
func (s *slowToRead) holdReads() (release func()) {
	ch := make(chan struct{})
	s.held.Store(&ch)
	return func() {
		s.held.Store(nil)
		close(ch)
	}
}

// Commit implements ledger.Store.
func (s *slowToRead) Commit(ctx context.Context, batch []events.Record) ([]ledger.Result, error) {
	if s.held.Load() != nil {
		if _, err := s.Memory.Commit(ctx, batch); err != nil {
			return nil, err
		}
	}
	return s.Memory.Commit(ctx, batch)
}

// Scan implements ledger.Store.
func (s *slowToRead) Scan(ctx context.Context, after events.Position, f ledger.Filter, limit int, fn func(*ledger.Row) error) error {
	if held := s.held.Load(); held != nil {
		select {
		case <-*held:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.Memory.Scan(ctx, after, f, limit, fn)
}

// Whoever still decides while the engine ends begins nothing that it does not
// wait for.
func TestNothingIsBegunOnceTheEngineEnds(t *testing.T) {
	for range 5 {
		w := openSpooling(t, ledgertest.NewMemory(), ledgertest.NewMemory(), 1<<20, "a")
		var ended, enough atomic.Bool
		var others sync.WaitGroup
		for range 2 {
			others.Go(func() {
				for !enough.Load() {
					w.mu.Lock()
					w.begin(func() {
						if ended.Load() {
							t.Error("something runs in an engine that has ended")
						}
					})
					w.mu.Unlock()
				}
			})
		}
		w.away()
		if a, _, err := w.Decide(t.Context(), w.ask()); err == nil {
			a.Succeeded(events.Answer{Status: 200}, "stop")
		}
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		ended.Store(true)
		if _, _, err := w.Decide(t.Context(), w.ask()); err != nil && !errors.Is(err, ErrLedger) {
			t.Error(err)
		}
		enough.Store(true)
		others.Wait()
		_, _ = w.sp.Close(), w.log.Close()
	}
}
