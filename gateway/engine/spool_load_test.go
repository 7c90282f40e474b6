package engine

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/spool"
)

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
