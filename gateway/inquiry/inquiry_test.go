package inquiry_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/sqlite"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/test/played"
)

// stores are the ledgers that every question must be answered on.
func stores(t *testing.T, fn func(t *testing.T, g *played.Gateway)) {
	t.Run("memory", func(t *testing.T) {
		g, _ := played.InMemory(t, "a", "b", "c")
		fn(t, g)
	})
	t.Run("sqlite", func(t *testing.T) {
		store, err := sqlite.Open(filepath.Join(t.TempDir(), "waybill.db"))
		if err != nil {
			t.Fatal(err)
		}
		clock := played.NewClock()
		g := played.Open(t, store, clock, "a", "b", "c")
		defer g.Close()
		fn(t, g)
	})
}

func TestEveryRequestHasItsStory(t *testing.T) {
	stores(t, func(t *testing.T, g *played.Gateway) {
		s := g.Incident()
		for want, id := range map[string]uuid.UUID{"served": s.Served, "failed": s.Returned, "refused": s.Refused, "aborted": s.Aborted, "open": s.Open} {
			r, err := inquiry.Story(t.Context(), g.Log, id)
			if err != nil {
				t.Fatal(err)
			}
			if r.Outcome != want || r.Replay.Identical == nil || !*r.Replay.Identical {
				t.Errorf("%s: %s, replay %+v", want, r.Outcome, r.Replay)
			}
		}
		r, err := inquiry.Story(t.Context(), g.Log, s.Trial)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Attempts) != 2 || len(r.Decisions) != 2 || r.Outcome != "served" {
			t.Fatalf("%+v", r)
		}
		if _, err := inquiry.Story(t.Context(), g.Log, uuid.New()); !errors.Is(err, inquiry.ErrUnknownRequest) {
			t.Fatalf("unknown request: %v", err)
		}
	})
}

func TestWhatCameLaterIsNotYetThere(t *testing.T) {
	stores(t, func(t *testing.T, g *played.Gateway) {
		s := g.Incident()
		first := inquiry.Moment{Position: 1}
		if _, err := inquiry.StoryAt(t.Context(), g.Log, first, s.Served); !errors.Is(err, inquiry.ErrNotYet) || !strings.Contains(err.Error(), "it began at 2026-") {
			t.Errorf("a request: %v", err)
		}
		if _, err := inquiry.Accounts(t.Context(), g.Log, first, "a", ""); !errors.Is(err, inquiry.ErrNotYet) {
			t.Errorf("an account: %v", err)
		}
		if _, err := inquiry.StoryAt(t.Context(), g.Log, first, uuid.New()); !errors.Is(err, inquiry.ErrUnknownRequest) {
			t.Errorf("no request: %v", err)
		}
	})
}

func TestTroubleIsTheLastRefusedOrFailedRequest(t *testing.T) {
	stores(t, func(t *testing.T, g *played.Gateway) {
		if _, err := inquiry.Trouble(t.Context(), g.Log, inquiry.Moment{}); !errors.Is(err, inquiry.ErrNoTrouble) {
			t.Fatalf("a young ledger: %v", err)
		}
		s := g.Incident()
		if id, err := inquiry.Trouble(t.Context(), g.Log, inquiry.Moment{}); err != nil || id != s.Refused {
			t.Fatalf("%s, %v; want %s", id, err, s.Refused)
		}
	})
}

func TestVerifyHoldsOnWhatAnEngineWrote(t *testing.T) {
	stores(t, func(t *testing.T, g *played.Gateway) {
		g.Incident()
		head, err := g.Log.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		v, err := inquiry.Verify(t.Context(), g.Log, inquiry.VerifyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if !v.OK || v.Positions != uint64(head.Position) || v.Rederived != v.Decisions || v.Decisions < 9 {
			t.Fatalf("%s %+v", v.Sentence(), v)
		}
		half, err := inquiry.Verify(t.Context(), g.Log, inquiry.VerifyOptions{From: head.Position / 2})
		if err != nil || !half.OK || half.Decisions >= v.Decisions || half.Decisions == 0 {
			t.Fatalf("from the middle: %+v %v", half, err)
		}
	})
}

func TestVerifyNamesThePositionOfWhatIsWrong(t *testing.T) {
	rows := map[string]struct {
		kind string
		do   func(m *ledgertest.Memory, at events.Position)
	}{
		"one changed byte of a payload": {ledger.FaultChain, func(m *ledgertest.Memory, at events.Position) {
			m.Tamper(at, func(r *ledger.Row) {
				r.Payload = append(r.Payload[:0:0], r.Payload...)
				r.Payload[len(r.Payload)-1] ^= 1
			})
		}},
		"another account in the envelope": {ledger.FaultChain, func(m *ledgertest.Memory, at events.Position) {
			m.Tamper(at, func(r *ledger.Row) { r.Account = "z" })
		}},
		"a time of recording that was moved": {ledger.FaultChain, func(m *ledgertest.Memory, at events.Position) {
			m.Tamper(at, func(r *ledger.Row) { r.RecordedAt++ })
		}},
		"a hash that was replaced": {ledger.FaultChain, func(m *ledgertest.Memory, at events.Position) {
			m.Tamper(at, func(r *ledger.Row) { r.Hash[0]++ })
		}},
		"a missing row": {ledger.FaultGap, func(m *ledgertest.Memory, at events.Position) {
			m.Tamper(at, func(r *ledger.Row) { r.Position++ })
		}},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			g, m := played.InMemory(t, "a", "b", "c")
			g.Incident()
			const at = 12
			row.do(m, at)
			v, err := inquiry.Verify(t.Context(), g.Log, inquiry.VerifyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if v.OK || v.Fault.Position != at || v.Fault.Kind != row.kind {
				t.Fatalf("%+v %+v", v, v.Fault)
			}
		})
	}
}

// TestAWritersCountHasNoGap: an event that never came to the chain, or two that
// changed places before they did, show in their writer's own count.
func TestAWritersCountHasNoGap(t *testing.T) {
	for name, row := range map[string]struct {
		count func(uint64) uint64
		at    events.Position
	}{
		"as it was written":  {func(n uint64) uint64 { return n }, 0},
		"one is missing":     {func(n uint64) uint64 { return n + n/9 }, 9},
		"two changed places": {swapped, 9},
		"one is there twice": {func(n uint64) uint64 { return n - n/9 + n/18 }, 9},
		"it begins with 41":  {func(n uint64) uint64 { return n + 40 }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := ledgertest.NewMemory()
			drafts := ledgertest.NewMaker().Drafts(17)
			for i := range drafts {
				drafts[i].WriterSeq = row.count(drafts[i].WriterSeq)
				drafts[i].Data = &events.OperatorReleased{OperatorAction: events.OperatorAction{Actor: "admin", Reason: "none"}}
			}
			log := ledger.Open(m)
			defer log.Close()
			if _, err := log.Append(t.Context(), drafts...); err != nil {
				t.Fatal(err)
			}
			v, err := inquiry.Verify(t.Context(), log, inquiry.VerifyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if f := v.Fault; (f == nil || f.Kind != ledger.FaultWriter) != (row.at == 0) || row.at != 0 && f.Position != row.at {
				t.Errorf("%+v", f)
			}
		})
	}
}

// swapped changes 9 and 10.
func swapped(n uint64) uint64 {
	if n == 9 || n == 10 {
		return 19 - n
	}
	return n
}

// longer says that its ledger goes on for one more event.
type longer struct{ inquiry.Log }

func (l longer) Head(ctx context.Context) (ledger.Head, error) {
	h, err := l.Log.Head(ctx)
	h.Position++
	return h, err
}

func TestALedgerThatEndsBeforeItsHeadIsFaulty(t *testing.T) {
	g, _ := played.InMemory(t, "a", "b", "c")
	g.Incident()
	head, err := g.Log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	v, err := inquiry.Verify(t.Context(), longer{g.Log}, inquiry.VerifyOptions{})
	if err != nil || v.OK || v.Fault.Kind != ledger.FaultHead || v.Fault.Position != head.Position+1 {
		t.Fatalf("%+v %+v %v", v, v.Fault, err)
	}
}

// TestALieThatIsChainedIsFoundByDerivingAgain: somebody who may write the
// ledger, hashes included, still cannot make a decision that its view denies.
func TestALieThatIsChainedIsFoundByDerivingAgain(t *testing.T) {
	g, m := played.InMemory(t, "a", "b", "c")
	g.Incident()
	head, err := g.Log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := rechain(t, g, m, head.Position)
	v, err := inquiry.Verify(t.Context(), g.Log, inquiry.VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if v.OK || v.Fault.Kind != "decision" || v.Fault.Position != at || !strings.Contains(v.Fault.Detail, "weight") {
		t.Fatalf("planted at %d: %+v", at, v.Fault)
	}
}

// rechain lies about the second decision and makes the chain right again.
func rechain(t *testing.T, g *played.Gateway, m *ledgertest.Memory, head events.Position) (at events.Position) {
	t.Helper()
	n := 0
	var prev events.Hash
	for p := events.Position(1); p <= head; p++ {
		got, err := g.Log.Read(t.Context(), p-1, ledger.Filter{}, 1)
		if err != nil {
			t.Fatal(err)
		}
		m.Tamper(p, func(r *ledger.Row) {
			if d, ok := got[0].Data.(*events.AttemptRouted); ok {
				if n++; n == 2 {
					d.Weight++
					at = p
					r.Record = events.Seal(&events.Draft{Header: got[0].Header, Data: d})
				}
			}
			r.Hash = events.Chain(prev, r.Position, r.RecordedAt, r.ContentHash())
			prev = r.Hash
		})
	}
	m.Tamper(head, func(*ledger.Row) {})
	return at
}

func TestAccountsAsOfAMoment(t *testing.T) {
	stores(t, func(t *testing.T, g *played.Gateway) {
		g.Incident()
		then, err := inquiry.Accounts(t.Context(), g.Log, inquiry.Moment{Position: 6, Now: g.Now()}, "a", "")
		if err != nil {
			t.Fatal(err)
		}
		if then[0].Position != 6 || then[0].ID != "a" {
			t.Fatalf("%+v", then[0])
		}
		if _, err := inquiry.Accounts(t.Context(), g.Log, inquiry.Moment{Position: 1 << 40}, "", ""); !errors.Is(err, inquiry.ErrBeyondHead) {
			t.Fatalf("beyond the head: %v", err)
		}
		if _, err := inquiry.Accounts(t.Context(), g.Log, inquiry.Moment{Now: g.Now()}, "nobody", ""); !errors.Is(err, inquiry.ErrUnknownAccount) || errors.Is(err, inquiry.ErrNotYet) {
			t.Fatalf("unknown account: %v", err)
		}
		all, err := inquiry.Accounts(t.Context(), g.Log, inquiry.Moment{Time: played.Begin.Add(-time.Hour)}, "", "")
		if err != nil {
			t.Fatal(err)
		}
		_ = all // SQLite records by the wall clock: only that it answers is asked here
	})
}

func TestEveryPositionOfTheLedgerIsFoundByItsTime(t *testing.T) {
	g, _ := played.InMemory(t, "a", "b", "c")
	g.Incident()
	all, err := g.Log.Read(t.Context(), 0, ledger.Filter{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if i+1 < len(all) && all[i+1].RecordedAt == all[i].RecordedAt {
			continue // several at one instant: the last of them stands for it
		}
		got, err := inquiry.Accounts(t.Context(), g.Log, inquiry.Moment{Time: all[i].RecordedAt}, "", "")
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range got {
			if a.Position != all[i].Position {
				t.Fatalf("at %s: position %d, want %d", all[i].RecordedAt, a.Position, all[i].Position)
			}
		}
	}
}

func TestRebuildEqualsItselfThroughASnapshot(t *testing.T) {
	stores(t, func(t *testing.T, g *played.Gateway) {
		g.Incident()
		r, err := inquiry.Rebuild(t.Context(), g.Log, inquiry.Moment{Now: g.Now()}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		c, err := inquiry.CompareSnapshot(t.Context(), g.Log, r)
		if err != nil || !c.Identical {
			t.Fatalf("%+v %v", c, err)
		}
	})
}

func TestRequestsOutOfTheLedgerAreThoseOfTheLiveView(t *testing.T) {
	stores(t, func(t *testing.T, g *played.Gateway) {
		g.Incident()
		refused := requests.Refused
		for _, q := range []requests.Query{{}, {Outcome: &refused}, {Account: "c"}, {Skipped: "a"}, {Limit: 2}, {OldestFirst: true, Limit: 3}} {
			got, more, err := inquiry.Requests(t.Context(), g.Log, q)
			if err != nil {
				t.Fatal(err)
			}
			var want int
			var wantMore bool
			g.Requests(func(v *requests.View, _ events.Position) {
				rows, m := v.List(q)
				want, wantMore = len(rows), m
			})
			if len(got) != want || more != wantMore {
				t.Errorf("%+v: %d rows, more %v; the live view has %d, %v", q, len(got), more, want, wantMore)
			}
		}
	})
}

func TestAQuestionEndsWithItsContext(t *testing.T) {
	stores(t, func(t *testing.T, g *played.Gateway) {
		s := g.Incident()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := inquiry.Story(ctx, g.Log, s.Refused); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
	})
}
