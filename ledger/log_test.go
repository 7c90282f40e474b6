package ledger_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
)

var writer = uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")

func draft(seq uint64) events.Draft {
	return events.Draft{
		Header: events.Header{ID: uuid.Must(uuid.NewV7()), Writer: writer, WriterSeq: seq, ObservedAt: 1, Account: "a"},
		Data:   &events.AccountRetired{Cause: "test"},
	}
}

func open(t *testing.T, o ledger.Options) (*ledger.Log, *ledgertest.Memory) {
	t.Helper()
	m := ledgertest.NewMemory()
	l := ledger.OpenWith(m, o)
	t.Cleanup(func() { l.Close() })
	return l, m
}

func mustAppend(t *testing.T, l *ledger.Log, d ...events.Draft) []events.Event {
	t.Helper()
	evs, err := l.Append(t.Context(), d...)
	if err != nil {
		t.Fatal(err)
	}
	return evs
}

func TestAppendAnswersWithPlaces(t *testing.T) {
	l, _ := open(t, ledger.Options{})
	evs := mustAppend(t, l, draft(1), draft(2))
	if len(evs) != 2 || evs[0].Position != 1 || evs[1].Position != 2 || evs[1].RecordedAt <= evs[0].RecordedAt {
		t.Fatalf("got %+v", evs)
	}
	if evs, err := l.Append(t.Context()); evs != nil || err != nil {
		t.Fatalf("appending nothing: %v %v", evs, err)
	}
}

func TestADraftBehindWaitsFiveMillisecondsAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, m := open(t, ledger.Options{})
		start := time.Now()
		if _, err := l.Submit(ledger.Behind, draft(1)).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d != 5*time.Millisecond {
			t.Errorf("alone it took %v", d)
		}
		start = time.Now()
		behind := l.Submit(ledger.Behind, draft(2))
		l.Submit(ledger.Awaited, draft(3)).Wait(t.Context())
		if _, err := behind.Wait(t.Context()); err != nil || time.Since(start) != 0 || m.Commits() != 2 {
			t.Errorf("with an awaited one behind it: %v after %v in %d commits", err, time.Since(start), m.Commits())
		}
		l.Close()
	})
}

func TestCommitsAreGrouped(t *testing.T) {
	for name, row := range map[string]struct {
		o       ledger.Options
		commits int // for 1 + 25 drafts
	}{
		"by ten":           {ledger.Options{Batch: 10}, 4},
		"by bytes, by one": {ledger.Options{BatchBytes: 1}, 26},
		"all":              {ledger.Options{}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, m := open(t, row.o)
				release := m.Hold()
				first := l.Submit(ledger.Awaited, draft(1))
				synctest.Wait()
				var tickets []*ledger.Ticket
				for i := range 25 {
					tickets = append(tickets, l.Submit(ledger.Awaited, draft(uint64(i+2))))
				}
				release()
				for i, tk := range append([]*ledger.Ticket{first}, tickets...) {
					evs, err := tk.Wait(t.Context())
					if err != nil || evs[0].Position != events.Position(i+1) {
						t.Fatalf("ticket %d: %v %v", i, evs, err)
					}
				}
				if m.Commits() != row.commits {
					t.Errorf("%d commits, want %d", m.Commits(), row.commits)
				}
				l.Close()
			})
		})
	}
}

func TestATicketLargerThanABatchIsWhole(t *testing.T) {
	l, m := open(t, ledger.Options{Batch: 4})
	var drafts []events.Draft
	for i := range 10 {
		drafts = append(drafts, draft(uint64(i+1)))
	}
	evs := mustAppend(t, l, drafts...)
	for i := range evs {
		if evs[i].ID != drafts[i].ID || evs[i].Position != events.Position(i+1) {
			t.Fatalf("event %d is %+v", i, evs[i])
		}
	}
	if len(evs) != 10 || m.Commits() != 3 {
		t.Errorf("%d events in %d commits", len(evs), m.Commits())
	}
}

func TestAFailedCommitIsTriedAgainWithTheSameIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, m := open(t, ledger.Options{})
		m.FailBefore(errors.New("disk full"))
		m.FailAfter(errors.New("connection lost after COMMIT"))
		evs, err := l.Append(t.Context(), draft(1), draft(2))
		if err != nil || evs[0].Position != 1 || evs[1].Position != 2 {
			t.Fatalf("%v %v", evs, err)
		}
		if h, _ := l.Head(t.Context()); h.Position != 2 {
			t.Errorf("head is %d: a retry must not append twice", h.Position)
		}
		l.Close()
	})
}

func TestNothingOvertakesAWritersFailedEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, m := open(t, ledger.Options{Retries: 2})
		bad := errors.New("disk full")
		m.FailBefore(bad, bad, bad)
		release := m.Hold()
		d := []events.Draft{draft(1), draft(2), draft(3), draft(4)}
		first := l.Submit(ledger.Awaited, d[0])
		synctest.Wait()
		second := l.Submit(ledger.Awaited, d[1])
		release()
		for _, tk := range []*ledger.Ticket{first, second} {
			if _, err := tk.Wait(t.Context()); !errors.Is(err, ledger.ErrUnavailable) {
				t.Fatalf("got %v", err)
			}
		}
		if _, err := l.Append(t.Context(), d[2]); !errors.Is(err, ledger.ErrUnavailable) {
			t.Errorf("the third overtook the first: %v", err)
		}
		other := draft(1)
		other.Writer = uuid.New()
		if _, err := l.Append(t.Context(), other); err != nil {
			t.Errorf("another writer: %v", err)
		}
		for i := range d {
			if _, err := l.Append(t.Context(), d[i]); err != nil {
				t.Errorf("event %d in its turn: %v", i+1, err)
			}
		}
		l.Close()
	})
}

func TestAFullQueueSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, m := open(t, ledger.Options{Queue: 3})
		release := m.Hold()
		l.Submit(ledger.Awaited, draft(1))
		synctest.Wait() // it is being committed, the queue is empty
		for i := range 3 {
			l.Submit(ledger.Behind, draft(uint64(i+2)))
		}
		if _, err := l.Append(t.Context(), draft(5)); !errors.Is(err, ledger.ErrBackpressure) {
			t.Errorf("got %v", err)
		}
		release()
		synctest.Wait()
		time.Sleep(time.Second)
		if _, err := l.Append(t.Context(), draft(5)); err != nil {
			t.Errorf("after it drained: %v", err)
		}
		l.Close()
	})
}

func TestAPanicLosesNoTicket(t *testing.T) {
	l, _ := open(t, ledger.Options{})
	bad := draft(2)
	bad.Data = nil
	one := l.Submit(ledger.Behind, draft(1))
	two := l.Submit(ledger.Behind, bad)
	three := l.Submit(ledger.Awaited, draft(3))
	if _, err := two.Wait(t.Context()); err == nil {
		t.Error("a draft without data was appended")
	}
	for _, tk := range []*ledger.Ticket{one, three} {
		if _, err := tk.Wait(t.Context()); err != nil {
			t.Errorf("its neighbour failed: %v", err)
		}
	}
}

func TestTheCallersContextEndsItsWaitOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, m := open(t, ledger.Options{})
		release := m.Hold()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := l.Append(ctx, draft(1)); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		release()
		synctest.Wait()
		if h, _ := l.Head(t.Context()); h.Position != 1 {
			t.Error("the commit was given up with the caller")
		}
		l.Close()
	})
}

func TestCloseCommitsWhatIsQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, m := open(t, ledger.Options{})
		tk := l.Submit(ledger.Behind, draft(1))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := tk.Wait(t.Context()); err != nil || m.Commits() != 1 {
			t.Errorf("%v, %d commits", err, m.Commits())
		}
		if _, err := l.Append(t.Context(), draft(2)); !errors.Is(err, ledger.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

func TestAFollowerSeesEveryEventOnceInOrder(t *testing.T) {
	l, _ := open(t, ledger.Options{Tail: 16, Batch: 8})
	for i := range 50 {
		mustAppend(t, l, draft(uint64(i+1)))
	}
	const total = 2000
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			at := events.Position(0)
			stop := errors.New("enough")
			err := l.Follow(t.Context(), 0, func(run []events.Event) error {
				for i := range run {
					if at++; run[i].Position != at {
						t.Errorf("want %d, got %d", at, run[i].Position)
						return stop
					}
				}
				if at >= total {
					return stop
				}
				return nil
			})
			if !errors.Is(err, stop) {
				t.Error(err)
			}
		})
	}
	for i := 50; i < total; i += 5 {
		l.Submit(ledger.Awaited, draft(0), draft(0), draft(0), draft(0), draft(0))
		if i%7 == 0 {
			l.Append(t.Context(), draft(0))
			i++
		}
	}
	for {
		h, _ := l.Head(t.Context())
		if h.Position >= total {
			break
		}
		mustAppend(t, l, draft(0))
	}
	wg.Wait()
}

func TestWaitReturnsWhenTheHeadIsBeyond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := open(t, ledger.Options{})
		done := make(chan error, 1)
		go func() { done <- l.Wait(t.Context(), 1) }()
		mustAppend(t, l, draft(1))
		synctest.Wait()
		select {
		case <-done:
			t.Fatal("head is 1, not beyond it")
		default:
		}
		mustAppend(t, l, draft(2))
		if err := <-done; err != nil {
			t.Error(err)
		}
		l.Close()
	})
}

func TestAConflictConcernsItsDraftAlone(t *testing.T) {
	l, _ := open(t, ledger.Options{})
	d := draft(1)
	mustAppend(t, l, d)
	changed := d
	changed.Data = &events.AccountRetired{Cause: "another"}
	evs, err := l.Append(t.Context(), d, changed, draft(2))
	if !errors.Is(err, ledger.ErrConflict) || evs[0].Position != 1 || evs[1].Position != 0 || evs[2].Position != 2 {
		t.Errorf("%v: %+v", err, evs)
	}
}

// slow is a store on a disk whose flush takes a while.
type slow struct {
	*ledgertest.Memory
	flush time.Duration
}

func (s slow) Commit(ctx context.Context, batch []events.Record) ([]ledger.Result, error) {
	time.Sleep(s.flush)
	return s.Memory.Commit(ctx, batch)
}

func Test_B133_a_slow_disk_stalls_nobody_who_does_not_wait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const streams, each = 20, 50
		m := ledgertest.NewMemory()
		l := ledger.Open(slow{m, 200 * time.Millisecond})
		start := time.Now()
		var wg sync.WaitGroup
		for range streams {
			wg.Go(func() {
				for range each {
					before := time.Now()
					l.Submit(ledger.Behind, draft(0))
					if d := time.Since(before); d != 0 {
						t.Errorf("a submit took %v", d)
					}
					time.Sleep(10 * time.Millisecond) // the pace of a stream
				}
			})
		}
		wg.Wait()
		if d := time.Since(start); d != each*10*time.Millisecond {
			t.Errorf("the streams took %v", d)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		h, _ := m.Reopen().Head(t.Context())
		if h.Position != streams*each || m.Commits() > 5 {
			t.Errorf("%d commits", m.Commits())
		}
	})
}

func Test_B133_waiters_share_a_flush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := ledgertest.NewMemory()
		l := ledger.Open(slow{m, 200 * time.Millisecond})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				start := time.Now()
				if _, err := l.Append(t.Context(), draft(0)); err != nil {
					t.Error(err)
				}
				if d := time.Since(start); d > 400*time.Millisecond {
					t.Errorf("one waited %v: more than the flush under way and its own", d)
				}
			})
		}
		wg.Wait()
		l.Close()
	})
}

func TestWhatIsBrokenIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := ledgertest.NewMemory()
		log := ledger.OpenWith(store, ledger.Options{Retries: 5, Backoff: time.Millisecond})
		defer log.Close()
		store.FailBefore(ledger.ErrBroken)
		if _, err := log.Append(t.Context(), ledgertest.NewMaker().Drafts(1)...); !errors.Is(err, ledger.ErrBroken) || store.Commits() != 0 {
			t.Errorf("%v, after %d commits", err, store.Commits())
		}
	})
}
