package ledgertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// Opener opens a store for a test: an empty one at the first call of a test,
// the same one again at each further call after the store was closed.
type Opener func(t *testing.T) ledger.Store

// Run is what every store must pass. fresh makes an Opener on a place of its
// own for each test.
func Run(t *testing.T, fresh func(t *testing.T) Opener) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, open Opener)
	}{
		{"an empty store has an empty head", emptyHead},
		{"positions are gapless from 1 and the chain verifies", gapless},
		{"a row comes back byte for byte", sameBytes},
		{"a known id with the same content answers with its place", idempotent},
		{"an id used twice in one batch counts once", twiceInOneBatch},
		{"a conflict costs its draft alone", conflict},
		{"any member of the envelope makes a conflict", conflictByMember},
		{"a store opened again goes on where it stopped", reopened},
		{"ids need not arrive in order", anyOrder},
		{"batches of any size and order answer as a map of ids would", anyBatches},
		{"recorded times grow with position", monotone},
		{"filters narrow and nothing else does", filters},
		{"a scan stops at its limit, its bound and its error", scanStops},
		{"a scan may scan and append from within", scanWithin},
		{"nothing is recorded later than what comes later", sinceLater},
		{"a closed store says so", closedStore},
		{"appenders and a follower agree on the order", concurrent},
		{"a log opened again follows from anywhere", followAgain},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, fresh(t)) })
	}
}

// opened is a store that closes with its test.
func opened(t *testing.T, open Opener) ledger.Store {
	t.Helper()
	s := open(t)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func commit(t *testing.T, s ledger.Store, batch ...events.Record) []ledger.Result {
	t.Helper()
	res, err := s.Commit(t.Context(), batch)
	if err != nil {
		t.Fatalf("commit: %v", err)
	}
	if len(res) != len(batch) {
		t.Fatalf("%d results for %d records", len(res), len(batch))
	}
	return res
}

// all reads every row, copied.
func all(t *testing.T, s ledger.Store, after events.Position, f ledger.Filter) []ledger.Row {
	t.Helper()
	var rows []ledger.Row
	err := s.Scan(t.Context(), after, f, 0, func(r *ledger.Row) error {
		row := *r
		row.Payload = bytes.Clone(r.Payload)
		rows = append(rows, row)
		return nil
	})
	if err != nil {
		t.Fatalf("scan: %v", err)
	}
	return rows
}

// check walks the chain of the whole store.
func check(t *testing.T, s ledger.Store) []ledger.Row {
	t.Helper()
	rows := all(t, s, 0, ledger.Filter{})
	var prev ledger.Head
	for i := range rows {
		r := &rows[i]
		if r.Position != prev.Position+1 {
			t.Fatalf("after %d comes %d", prev.Position, r.Position)
		}
		if r.RecordedAt <= prev.RecordedAt {
			t.Fatalf("%d was recorded at %v, the one before at %v", r.Position, r.RecordedAt, prev.RecordedAt)
		}
		if want := events.Chain(prev.Hash, r.Position, r.RecordedAt, r.ContentHash()); r.Hash != want {
			t.Fatalf("the chain breaks at %d", r.Position)
		}
		prev = ledger.Head{Position: r.Position, RecordedAt: r.RecordedAt, Hash: r.Hash}
	}
	if h, err := s.Head(t.Context()); err != nil || h != prev {
		t.Fatalf("head is %+v (%v), the last row %+v", h, err, prev)
	}
	return rows
}

func emptyHead(t *testing.T, open Opener) {
	s := opened(t, open)
	if h, err := s.Head(t.Context()); err != nil || h != (ledger.Head{}) {
		t.Errorf("%+v %v", h, err)
	}
	if rows := all(t, s, 0, ledger.Filter{Account: "a", Since: 1, Until: 1 << 60}); len(rows) != 0 {
		t.Errorf("%d rows", len(rows))
	}
	commit(t, s)
	if h, _ := s.Head(t.Context()); h != (ledger.Head{}) {
		t.Errorf("after an empty batch: %+v", h)
	}
}

func gapless(t *testing.T, open Opener) {
	s := opened(t, open)
	g := NewMaker()
	n := events.Position(0)
	for _, size := range []int{1, 2, 1, 100, 7} {
		for i, r := range commit(t, s, g.Records(size)...) {
			if n++; r.Position != n || r.Known || r.Err != nil {
				t.Fatalf("record %d of a batch of %d: %+v", i, size, r)
			}
		}
	}
	if rows := check(t, s); len(rows) != int(n) {
		t.Errorf("%d rows of %d", len(rows), n)
	}
}

func sameBytes(t *testing.T, open Opener) {
	s := opened(t, open)
	want := oddRecords()
	commit(t, s, want...)
	for i, got := range check(t, s) {
		if !bytes.Equal(got.Payload, want[i].Payload) {
			t.Errorf("row %d: payload % x, want % x", i, got.Payload, want[i].Payload)
		}
		got.Payload, want[i].Payload = nil, nil
		if fmt.Sprintf("%#v", got.Record) != fmt.Sprintf("%#v", want[i]) {
			t.Errorf("row %d:\n got %#v\nwant %#v", i, got.Record, want[i])
		}
	}
}

// oddRecords are the extremes of every member.
func oddRecords() []events.Record {
	g := NewMaker()
	all := g.Records(8)
	all[0] = events.Record{Header: events.Header{ID: all[0].ID}, Kind: 1, Payload: []byte{}}
	all[1].WriterSeq, all[1].Epoch, all[1].Attempt = 1<<63-1, 1<<64-1, 1<<32-1
	all[2].ObservedAt, all[2].Kind, all[2].Version, all[2].Codec = -1, 65535, 65535, 255
	all[3].Account, all[3].Model = "a\x00b", "\xff\xfe not UTF-8"
	all[4].Model = string(bytes.Repeat([]byte("m"), 5000))
	all[5].Payload = bytes.Repeat([]byte{0, 255}, 40_000)
	all[6].Account = "Größe"
	all[7].ID = uuid.UUID{15: 1}
	return all
}

func idempotent(t *testing.T, open Opener) {
	s := opened(t, open)
	g := NewMaker()
	batch := g.Records(5)
	first := commit(t, s, batch...)
	commit(t, s, g.Records(3)...)
	again := commit(t, s, append(g.Records(1), batch[2], batch[4])...)
	if again[0].Known || again[0].Position != 9 {
		t.Errorf("a new one among known ones: %+v", again[0])
	}
	for i, j := range []int{2, 4} {
		want := first[j]
		want.Known = true
		if got := again[i+1]; got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	check(t, s)
}

func twiceInOneBatch(t *testing.T, open Opener) {
	s := opened(t, open)
	g := NewMaker()
	r := g.Records(2)
	changed := r[1]
	changed.Account = "another"
	res := commit(t, s, r[0], r[1], r[0], changed)
	if res[2].Position != 1 || !res[2].Known || res[2].Err != nil || !errors.Is(res[3].Err, ledger.ErrConflict) {
		t.Errorf("%+v", res)
	}
	if rows := check(t, s); len(rows) != 2 {
		t.Errorf("%d rows", len(rows))
	}
}

func conflict(t *testing.T, open Opener) {
	s := opened(t, open)
	g := NewMaker()
	old := g.Records(1)[0]
	commit(t, s, old)
	bad := old
	bad.Payload = append(bytes.Clone(old.Payload), 1)
	good := g.Records(2)
	res := commit(t, s, good[0], bad, good[1])
	if res[0].Position != 2 || res[2].Position != 3 || !errors.Is(res[1].Err, ledger.ErrConflict) || res[1].Position != 0 {
		t.Errorf("%+v", res)
	}
	check(t, s)
}

func conflictByMember(t *testing.T, open Opener) {
	s := opened(t, open)
	old := NewMaker().Records(1)[0]
	commit(t, s, old)
	for name, change := range map[string]func(*events.Record){
		"writer":      func(r *events.Record) { r.Writer[3]++ },
		"writer_seq":  func(r *events.Record) { r.WriterSeq++ },
		"observed_at": func(r *events.Record) { r.ObservedAt++ },
		"account":     func(r *events.Record) { r.Account += "x" },
		"epoch":       func(r *events.Record) { r.Epoch++ },
		"model":       func(r *events.Record) { r.Model = "" },
		"request":     func(r *events.Record) { r.Request = uuid.Nil },
		"attempt":     func(r *events.Record) { r.Attempt++ },
		"kind":        func(r *events.Record) { r.Kind++ },
		"version":     func(r *events.Record) { r.Version++ },
		"codec":       func(r *events.Record) { r.Codec++ },
		"payload":     func(r *events.Record) { r.Payload = nil },
	} {
		r := old
		change(&r)
		if res := commit(t, s, r)[0]; !errors.Is(res.Err, ledger.ErrConflict) {
			t.Errorf("another %s: %+v", name, res)
		}
	}
	if res := commit(t, s, old)[0]; res.Err != nil || res.Position != 1 {
		t.Errorf("the same: %+v", res)
	}
}

func reopened(t *testing.T, open Opener) {
	s := open(t)
	g := NewMaker()
	batch := g.Records(10)
	first := commit(t, s, batch...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = opened(t, open)
	if h, err := s.Head(t.Context()); err != nil || h.Position != 10 || h.Hash != first[9].Hash {
		t.Fatalf("%+v %v", h, err)
	}
	if res := commit(t, s, batch[9], g.Records(1)[0]); !res[0].Known || res[1].Position != 11 {
		t.Errorf("%+v", res)
	}
	check(t, s)
}

func anyOrder(t *testing.T, open Opener) {
	s := opened(t, open)
	g := NewMaker()
	batch := g.Records(40)
	slices.Reverse(batch)
	commit(t, s, batch[:20]...)
	for i := 20; i < 40; i++ {
		commit(t, s, batch[i], batch[i-20])
	}
	if rows := check(t, s); len(rows) != 40 {
		t.Errorf("%d rows", len(rows))
	}
}

func monotone(t *testing.T, open Opener) {
	s := opened(t, open)
	g := NewMaker()
	for range 20 {
		commit(t, s, g.Records(3)...)
	}
	check(t, s) // it looks at the times
}

func filters(t *testing.T, open Opener) {
	s := opened(t, open)
	g := NewMaker()
	for range 50 {
		commit(t, s, g.Records(100)...) // more than one page, and one block, of any store
	}
	RunFilters(t, s)
}

// RunFilters compares what filters give of at least 5,000 events with what a
// look at each of them lets through.
func RunFilters(t *testing.T, s ledger.Store) {
	t.Helper()
	rows := check(t, s)
	mid := rows[700]
	kind := rows[3].Kind
	for name, f := range map[string]ledger.Filter{
		"nothing":              {},
		"account":              {Account: mid.Account},
		"unknown account":      {Account: "nobody"},
		"request":              {Request: mid.Request},
		"unknown request":      {Request: uuid.UUID{1}},
		"kind":                 {Kinds: []events.Kind{kind}},
		"kinds":                {Kinds: []events.Kind{kind, mid.Kind}},
		"since":                {Since: mid.RecordedAt},
		"since, a little late": {Since: mid.RecordedAt + 1},
		"until":                {Until: mid.RecordedAt},
		"before it all":        {Until: rows[0].RecordedAt},
		"after it all":         {Since: rows[len(rows)-1].RecordedAt + 1},
		"an hour of nothing":   {Since: rows[0].RecordedAt - 3600e6, Until: rows[0].RecordedAt - 1},
		"between":              {Since: rows[100].RecordedAt, Until: rows[900].RecordedAt},
		"account between":      {Account: mid.Account, Since: rows[4000].RecordedAt, Until: rows[4200].RecordedAt},
		"account and kind":     {Account: mid.Account, Kinds: []events.Kind{mid.Kind}},
		"account since":        {Account: mid.Account, Since: rows[4090].RecordedAt},
		"account until":        {Account: mid.Account, Until: rows[4100].RecordedAt},
		"account in no time":   {Account: mid.Account, Since: rows[4090].RecordedAt, Until: rows[4090].RecordedAt},
		"account and request":  {Account: mid.Account, Request: mid.Request},
		"another's request":    {Account: "nobody", Request: mid.Request},
		"up to":                {UpTo: 321},
		"account up to":        {Account: mid.Account, UpTo: 321},
	} {
		for _, after := range []events.Position{0, 1, 4000, 4096, 4999, 9999} {
			var want []events.Position
			for i := range rows {
				if r := &rows[i]; r.Position > after && (f.UpTo == 0 || r.Position <= f.UpTo) && matches(r, &f) {
					want = append(want, r.Position)
				}
			}
			var got []events.Position
			for _, r := range all(t, s, after, f) {
				got = append(got, r.Position)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s after %d: got %d rows %v, want %d", name, after, len(got), head(got), len(want))
			}
		}
	}
}

func head[T any](s []T) []T { return s[:min(5, len(s))] }

func scanStops(t *testing.T, open Opener) {
	s := opened(t, open)
	g := NewMaker()
	commit(t, s, g.Records(900)...)
	commit(t, s, g.Records(300)...)
	for _, limit := range []int{1, 2, 511, 512, 513, 1024, 1199, 1200, 1201} {
		n := 0
		err := s.Scan(t.Context(), 0, ledger.Filter{}, limit, func(*ledger.Row) error { n++; return nil })
		if want := min(limit, 1200); err != nil || n != want {
			t.Errorf("limit %d: %d rows, %v", limit, n, err)
		}
	}
	stop := errors.New("stop")
	n := 0
	err := s.Scan(t.Context(), 0, ledger.Filter{}, 0, func(*ledger.Row) error {
		if n++; n == 700 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || n != 700 {
		t.Errorf("%v after %d", err, n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = s.Scan(ctx, 0, ledger.Filter{}, 0, func(*ledger.Row) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func scanWithin(t *testing.T, open Opener) {
	s := opened(t, open)
	g := NewMaker()
	commit(t, s, g.Records(5)...)
	seen := 0
	var nest func(depth int) error
	nest = func(depth int) error {
		return s.Scan(t.Context(), 0, ledger.Filter{}, 2, func(*ledger.Row) error {
			seen++
			if depth == 0 {
				_, err := s.Commit(t.Context(), g.Records(1))
				return err
			}
			return nest(depth - 1)
		})
	}
	if err := nest(6); err != nil || seen != 254 {
		t.Errorf("%d rows, %v", seen, err)
	}
	check(t, s)
}

// sinceLater: what is appended while a scan runs that asks for what is recorded
// later than all of it is none of it.
func sinceLater(t *testing.T, open Opener) {
	s := opened(t, open)
	g := NewMaker()
	commit(t, s, g.Records(10)...)
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	wg.Go(func() {
		for ctx.Err() == nil {
			if _, err := s.Commit(context.Background(), g.Records(5)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 50 {
		since := events.At(time.Now().Add(time.Hour))
		err := s.Scan(t.Context(), 0, ledger.Filter{Since: since}, 0, func(r *ledger.Row) error {
			return fmt.Errorf("position %d was recorded before %s", r.Position, since)
		})
		if err != nil {
			t.Error(err)
			break
		}
	}
	cancel()
	wg.Wait()
}

func closedStore(t *testing.T, open Opener) {
	s := open(t)
	commit(t, s, NewMaker().Records(1)...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), NewMaker().Records(1)); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("commit: %v", err)
	}
	if _, err := s.Head(t.Context()); !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("head: %v", err)
	}
	err := s.Scan(t.Context(), 0, ledger.Filter{}, 0, func(*ledger.Row) error { return nil })
	if !errors.Is(err, ledger.ErrClosed) {
		t.Errorf("scan: %v", err)
	}
}

// concurrent: six writers of one process.
func concurrent(t *testing.T, open Opener) {
	s := open(t)
	l := ledger.Open(s)
	defer l.Close()
	RunCrowd(t, s, l, l, l, l, l, l)
}

func followAgain(t *testing.T, open Opener) {
	l := ledger.Open(open(t))
	g := NewMaker()
	for range 30 {
		if _, err := l.Append(t.Context(), g.Drafts(100)...); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = ledger.Open(open(t))
	defer l.Close()
	if _, err := l.Append(t.Context(), g.Drafts(3)...); err != nil {
		t.Fatal(err)
	}
	for _, after := range []events.Position{0, 1, 999, 2999, 3000, 3002} {
		at := after
		err := l.Follow(t.Context(), after, func(run []events.Event) error {
			for i := range run {
				if at++; run[i].Position != at {
					t.Errorf("want %d, got %d", at, run[i].Position)
				}
			}
			if at >= 3003 {
				return errEnough
			}
			return nil
		})
		if !errors.Is(err, errEnough) {
			t.Errorf("after %d: %v", after, err)
		}
	}
}
