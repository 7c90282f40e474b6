package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/projections/routing"
)

// world is one engine on a store in memory.
type world struct {
	t     testing.TB
	store *ledgertest.Memory
	log   *ledger.Log
	*Engine
	ids int
}

func settings(endpoint string) events.Settings {
	return events.Settings{Provider: "openai-compatible", Endpoint: endpoint, Dialects: []events.Dialect{events.DialectOpenAI}, Weight: 1}
}

func enrolments(ids ...string) []Enrolment {
	out := make([]Enrolment, len(ids))
	for i, id := range ids {
		out[i] = Enrolment{ID: id, Epoch: events.Epoch(i + 1), Settings: settings(id + ".example")}
	}
	return out
}

// document routes m1 in order over all accounts, so that a test knows who is
// chosen.
func document(ids ...string) events.Document {
	return events.Document{Policy: events.DefaultPolicy(), Models: []events.Route{
		{Name: "m1", Strategy: events.StrategyOrdered, Tiers: []events.Tier{{Accounts: ids}}}}}
}

func open(t testing.TB, store *ledgertest.Memory, o Options, ids ...string) *world {
	t.Helper()
	if o.Log == nil {
		o.Log = ledger.OpenWith(store, ledger.Options{Retries: 1, Backoff: time.Millisecond})
	}
	o.Strict = true
	if o.Accounts == nil {
		o.Accounts, o.Document = enrolments(ids...), document(ids...)
	}
	e, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, store: store, log: o.Log, Engine: e}
}

// stop ends the engine and its log as a shutdown does.
func (w *world) stop() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := errors.Join(w.Engine.Close(ctx), w.log.Close()); err != nil {
		w.t.Fatal(err)
	}
}

// kill ends them as a crash does: what is under way is lost.
func (w *world) kill() {
	w.end()
	w.log.Close()
}

func (w *world) ask() Ask {
	w.ids++
	return Ask{Request: uuid.UUID{1, byte(w.ids >> 8), byte(w.ids)}, Attempt: 1, Dialect: events.DialectOpenAI, Model: "m1"}
}

func (w *world) decide(a Ask) *Attempt {
	w.t.Helper()
	at, refusal, err := w.Decide(w.t.Context(), a)
	if err != nil || at == nil {
		w.t.Fatalf("no attempt: %+v, %v", refusal, err)
	}
	return at
}

// all reads the ledger and checks what must always hold: a writer's events
// stand in the order of their numbers, without a gap.
func all(t testing.TB, store *ledgertest.Memory) []events.Event {
	t.Helper()
	var out []events.Event
	last := map[uuid.UUID]uint64{}
	err := ledger.Each(context.Background(), store.Reopen(), 0, ledger.Filter{}, func(e *events.Event) error {
		if e.WriterSeq != last[e.Writer]+1 {
			t.Errorf("event %d of writer %s follows %d", e.WriterSeq, e.Writer, last[e.Writer])
		}
		last[e.Writer] = e.WriterSeq
		out = append(out, *e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func kinds(evs []events.Event) []events.Kind {
	out := make([]events.Kind, len(evs))
	for i := range evs {
		out[i] = evs[i].Data.Kind()
	}
	return out
}

func TestAStartRecordsTheWriterTheAccountsAndTheDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, ledgertest.NewMemory(), Options{Version: "v"}, "a", "b")
		w.stop()
		want := []events.Kind{events.KindGatewayStarted, events.KindAccountEnrolled, events.KindAccountEnrolled, events.KindPolicyAdopted}
		if got := kinds(all(t, w.store)); !slices.Equal(got, want) {
			t.Fatalf("%v", got)
		}
	})
}

func TestASecondStartRecordsOnlyWhatDiffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := open(t, ledgertest.NewMemory(), Options{}, "a", "b", "c")
		first.stop()
		n := len(all(t, first.store))
		next := enrolments("a", "b")
		next[0].Epoch = 77
		next[1].Settings.Weight = 5
		w := open(t, first.store.Reopen(), Options{Accounts: next, Document: document("a", "b", "c")})
		w.stop()
		got := all(t, w.store)[n:]
		want := []events.Kind{events.KindGatewayStarted, events.KindAccountChanged, events.KindAccountChanged, events.KindAccountRetired}
		if !slices.Equal(kinds(got), want) {
			t.Fatalf("%v", kinds(got))
		}
		if c := got[1].Data.(*events.AccountChanged); c.Cause != "credential" || got[1].Epoch != 77 {
			t.Errorf("new credential: %+v", c)
		}
		if c := got[2].Data.(*events.AccountChanged); c.Cause != "configuration" || c.Weight != 5 {
			t.Errorf("new weight: %+v", c)
		}
	})
}

func Test_B128_a_removed_account_that_returns_keeps_its_number_and_gets_its_new_epoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, ledgertest.NewMemory(), Options{}, "a", "b")
		defer w.stop()
		for _, accounts := range [][]Enrolment{enrolments("a"), {enrolments("a")[0], {ID: "b", Epoch: 99, Settings: settings("b.example")}}} {
			if _, err := w.Adopt(t.Context(), accounts, document("a", "b")); err != nil {
				t.Fatal(err)
			}
		}
		w.View(func(v routing.View, _ events.Position, _ events.Time) {
			b := v.Admission.Account("b")
			if b.No != 2 || b.Epoch != 99 || b.Retired || len(v.Admission.Roster()) != 2 {
				t.Errorf("%+v", b)
			}
		})
	})
}

func Test_B125_a_new_document_holds_from_the_next_decision_on(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, ledgertest.NewMemory(), Options{}, "a", "b")
		defer w.stop()
		before := w.decide(w.ask())
		doc := document("a", "b")
		doc.Models[0].Strategy = events.StrategyRoundRobin
		if n, err := w.Adopt(t.Context(), enrolments("a", "b"), doc); err != nil || n != 1 {
			t.Fatalf("%d events, %v", n, err)
		}
		served := map[string]int{}
		for range 4 {
			a := w.decide(w.ask())
			served[a.Account.ID]++
			if a.Stamp.Policy != doc.Digest() {
				t.Errorf("decided under %s", a.Stamp.Policy)
			}
			a.Succeeded(events.Answer{}, "stop")
		}
		if served["a"] != 2 || served["b"] != 2 {
			t.Errorf("round robin served %v", served)
		}
		before.Succeeded(events.Answer{}, "stop")
	})
}

func TestADecisionIsInTheLedgerOnceItIsDurableAndItsOutcomeFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, ledgertest.NewMemory(), Options{}, "a")
		a := w.decide(w.ask())
		if n := w.InFlight(1); n != 1 {
			t.Errorf("%d in flight", n)
		}
		if err := a.Durable(t.Context()); err != nil {
			t.Fatal(err)
		}
		evs := all(t, w.store)
		routed := evs[len(evs)-1]
		if routed.Data.Kind() != events.KindAttemptRouted || routed.Account != "a" || routed.Epoch != 1 {
			t.Fatalf("%+v", routed)
		}
		a.Succeeded(events.Answer{Status: 200, AnsweredAt: w.Now() + 1e9}, "stop")
		w.stop()
		evs = all(t, w.store)
		ok := evs[len(evs)-1]
		p, is := ok.Data.(*events.AttemptSucceeded)
		if !is || p.Knew != a.Stamp.View || p.KnewOwn != a.Stamp.Pending {
			t.Fatalf("%+v", ok)
		}
		if p.Answer.AnsweredAt > ok.RecordedAt {
			t.Errorf("an event from the future: %s", p.Answer.AnsweredAt)
		}
		if n := w.InFlight(1); n != 0 {
			t.Errorf("%d in flight at the end", n)
		}
	})
}

func TestAnAttemptEndsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, ledgertest.NewMemory(), Options{}, "a")
		defer w.stop()
		a := w.decide(w.ask())
		a.Succeeded(events.Answer{}, "stop")
		defer func() {
			if recover() == nil {
				t.Error("a second end went unnoticed")
			}
		}()
		a.Failed(events.Failure{Class: events.ClassNetwork})
	})
}

func TestAnUnknownModelIsRefusedAndTheRefusalIsDurableBeforeItIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, ledgertest.NewMemory(), Options{}, "a")
		defer w.stop()
		ask := w.ask()
		ask.Model = "nobody-has-this"
		_, r, err := w.Decide(t.Context(), ask)
		if err != nil || r == nil || r.Code != "model_not_found" {
			t.Fatalf("%+v, %v", r, err)
		}
		if err := r.Durable(t.Context()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		evs := all(t, w.store)
		if last := evs[len(evs)-1]; last.Data.Kind() != events.KindRequestRefused || last.Request != ask.Request {
			t.Fatalf("%+v", last)
		}
		w.Requests(func(v *requests.View, _ events.Position) {
			if row, ok := v.Get(ask.Request); !ok || row.Outcome != requests.Refused {
				t.Errorf("row %+v", row)
			}
		})
		ask.Answered = true
		n := len(evs)
		if _, r, err = w.Decide(t.Context(), ask); err != nil || r == nil || len(all(t, w.store)) != n {
			t.Fatalf("advice was recorded, or %v", err)
		}
	})
}

func TestTheNextStartClosesWhatACrashLeftOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, ledgertest.NewMemory(), Options{}, "a")
		left, done := w.decide(w.ask()), w.decide(w.ask())
		done.Succeeded(events.Answer{}, "stop")
		synctest.Wait()
		time.Sleep(time.Second)
		w.kill()
		n := len(all(t, w.store))
		next := open(t, w.store.Reopen(), Options{}, "a")
		next.stop()
		evs := all(t, w.store)[n:]
		if len(evs) != 2 || evs[0].Data.Kind() != events.KindGatewayStarted {
			t.Fatalf("%v", kinds(evs))
		}
		f, ok := events.FailureOf(evs[1].Data)
		if !ok || f.Class != events.ClassLost || evs[1].Request != left.header.Request || f.Answer.DispatchedAt != left.Stamp.DecidedAt {
			t.Fatalf("%+v", evs[1])
		}
		third := open(t, w.store.Reopen(), Options{}, "a")
		third.stop()
		if got := kinds(all(t, w.store)[n+2:]); len(got) != 1 {
			t.Fatalf("it was closed twice: %v", got)
		}
	})
}

func TestLongListsAreStoredOnceAndReferredTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ids []string
		for i := range 20 {
			ids = append(ids, fmt.Sprintf("a%02d", i))
		}
		w := open(t, ledgertest.NewMemory(), Options{}, ids...)
		for range 3 {
			a := w.decide(w.ask())
			if err := a.Durable(t.Context()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			a.Succeeded(events.Answer{}, "stop")
		}
		w.stop()
		var refs []events.Ref
		lists := map[events.Ref]*events.CandidatesListed{}
		for _, e := range all(t, w.store) {
			switch p := e.Data.(type) {
			case *events.CandidatesListed:
				lists[events.Ref(e.Position)], lists[-events.Ref(e.WriterSeq)] = p, p
			case *events.AttemptRouted:
				refs = append(refs, p.Listed)
				if p.Skipped != nil {
					t.Errorf("the list stands in the event as well")
				}
			}
		}
		if len(lists) != 2 {
			t.Errorf("%d references to lists", len(lists))
		}
		for _, ref := range refs {
			if l := lists[ref]; l == nil || len(l.Verdicts) != 20 {
				t.Errorf("reference %d: %+v", ref, l)
			}
		}
	})
}

func TestWhileTheLedgerIsAwayRequestsAreRefusedAndOutcomesAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, ledgertest.NewMemory(), Options{}, "a")
		served := w.decide(w.ask())
		if err := served.Durable(t.Context()); err != nil {
			t.Fatal(err)
		}
		away := errors.New("disk full")
		w.store.FailBefore(slices.Repeat([]error{away}, 40)...)
		lost := w.decide(w.ask())
		if err := lost.Durable(t.Context()); !errors.Is(err, ErrLedger) {
			t.Fatalf("durable: %v", err)
		}
		if _, _, err := w.Decide(t.Context(), w.ask()); !errors.Is(err, ErrLedger) {
			t.Fatalf("decide: %v", err)
		}
		if w.Ready() == nil {
			t.Error("ready without a ledger")
		}
		served.Succeeded(events.Answer{Status: 200}, "stop") // while it is away
		lost.Failed(events.Failure{Class: events.ClassClientAborted})
		time.Sleep(time.Minute) // of the bubble: the tries go through the errors
		if err := w.Ready(); err != nil {
			t.Errorf("not ready again: %v", err)
		}
		after := w.decide(w.ask())
		after.Succeeded(events.Answer{}, "stop")
		w.stop()
		var got []events.Kind
		for _, e := range all(t, w.store) {
			if e.Request != uuid.Nil {
				got = append(got, e.Data.Kind())
			}
		}
		want := []events.Kind{events.KindAttemptRouted, events.KindAttemptRouted, events.KindAttemptSucceeded, events.KindAttemptAborted,
			events.KindAttemptRouted, events.KindAttemptSucceeded}
		if !slices.Equal(got, want) {
			t.Fatalf("%v", got)
		}
	})
}

func TestAnOutcomeThatNobodyWaitsForIsAppendedAfterAnOutageWithoutNewTraffic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, ledgertest.NewMemory(), Options{}, "a")
		a := w.decide(w.ask())
		if err := a.Durable(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.store.FailBefore(slices.Repeat([]error{errors.New("away")}, 4)...)
		a.Succeeded(events.Answer{}, "stop")
		time.Sleep(time.Minute)
		if n := w.Unsettled(); n != 0 {
			t.Errorf("%d events are not committed", n)
		}
		w.stop()
	})
}

func TestACommitThatTookEffectUnknownIsNotRecordedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, ledgertest.NewMemory(), Options{}, "a")
		w.store.FailAfter(slices.Repeat([]error{errors.New("cut")}, 5)...)
		a := w.decide(w.ask())
		_ = a.Durable(t.Context())
		a.Failed(events.Failure{Class: events.ClassServerError})
		time.Sleep(time.Minute)
		w.stop()
		all(t, w.store) // checks the order
	})
}

func TestAWriterIsReadyOnlyWhileTheLedgerAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, ledgertest.NewMemory(), Options{}, "a")
		release := w.store.Hold()
		a := w.decide(w.ask())
		if err := a.Durable(t.Context()); !errors.Is(err, ErrLedger) {
			t.Errorf("durable on a ledger that hangs: %v", err)
		}
		if _, _, err := w.Decide(t.Context(), w.ask()); !errors.Is(err, ErrLedger) {
			t.Errorf("decide on a ledger that hangs: %v", err)
		}
		release()
		synctest.Wait()
		a.Succeeded(events.Answer{}, "stop")
		time.Sleep(time.Second)
		if err := w.Ready(); err != nil {
			t.Errorf("%v", err)
		}
		w.stop()
	})
}

func TestManyAtOnceKeepOneOrder(t *testing.T) {
	w := open(t, ledgertest.NewMemory(), Options{}, "a", "b", "c")
	var wg sync.WaitGroup
	for g := range 32 {
		wg.Go(func() {
			for i := range 50 {
				ask := Ask{Request: uuid.UUID{2, byte(g), byte(i)}, Attempt: 1, Dialect: events.DialectOpenAI, Model: "m1"}
				a, _, err := w.Decide(t.Context(), ask)
				if err != nil {
					t.Errorf("decide: %v", err)
					return
				}
				if i%3 == 0 {
					if err := a.Durable(t.Context()); err != nil {
						t.Errorf("durable: %v", err)
					}
				}
				if i%5 == 0 {
					a.Failed(events.Failure{Class: events.ClassInvalidRequest})
				} else {
					a.Succeeded(events.Answer{}, "stop")
				}
			}
		})
	}
	wg.Wait()
	w.stop()
	if n := len(all(t, w.store)); n != 5+2*32*50 {
		t.Errorf("%d events", n)
	}
	for no := uint32(1); no <= 3; no++ {
		if n := w.InFlight(no); n != 0 {
			t.Errorf("account %d has %d in flight", no, n)
		}
	}
}
