package ledgertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/archive"
)

// SegmentSize is how many positions the stores of RunSegments divide into.
const SegmentSize = 500

// RunSegments is what every store must pass whose events can leave for
// archives. A store that divides itself must do so by SegmentSize.
func RunSegments(t *testing.T, fresh func(t *testing.T) Opener) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, open Opener)
	}{
		{"spans are whole and the newest event is in none", spans},
		{"what does not follow or is not what the rows say is refused", detachRefuses},
		{"store and archives together read as the store did", readsAsBefore},
		{"a scan of the store alone never skips what left", neverSkips},
		{"a scan under way goes on while its rows leave", leavesUnderAScan},
		{"appends go on, known ids stay known, a store opened again too", appendsGoOn},
		{"an archive that is not at hand is said, not skipped", notAtHand},
		{"wherever archiving ends, every event is live or archived", endsAnywhere},
		{"only what is old enough and below the floor leaves", onlyOldEnough},
		{"verification goes across archives, and from the anchor without them", verifies},
		{"the size is told", sizeTold},
		{"accounts are found, and verified, where a block is partly archived", partlyArchived},
		{"an instant at any edge is found", anyInstant},
		{"a request is found wherever its events are", anyRequest},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, fresh(t)) })
	}
}

// grow appends n events in batches.
func grow(t *testing.T, s ledger.Store, g *Maker, n int) {
	t.Helper()
	for ; n > 0; n -= 100 {
		commit(t, s, g.Records(min(n, 100))...)
	}
}

func layout(t *testing.T, s ledger.Store) ledger.Layout {
	t.Helper()
	l, err := s.(ledger.Segmented).Layout(t.Context(), SegmentSize)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func archived(t *testing.T, s ledger.Store, o archive.Options) []ledger.Archived {
	t.Helper()
	o.Size, o.Now = SegmentSize, time.Now
	done, err := archive.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func spans(t *testing.T, open Opener) {
	s := opened(t, open)
	if l := layout(t, s); len(l.Whole)+len(l.Archived) != 0 || l.Anchor() != (ledger.Head{}) {
		t.Errorf("empty: %+v", l)
	}
	g := NewMaker()
	grow(t, s, g, 2*SegmentSize)
	if l := layout(t, s); !slices.Equal(l.Whole, []ledger.Span{{First: 1, Last: 500}}) {
		t.Errorf("the head's own span may not leave: %+v", l.Whole)
	}
	grow(t, s, g, 1)
	if l := layout(t, s); !slices.Equal(l.Whole, []ledger.Span{{First: 1, Last: 500}, {First: 501, Last: 1000}}) {
		t.Errorf("%+v", l.Whole)
	}
	dir := t.TempDir()
	done := archived(t, s, archive.Options{Dir: dir, To: 700})
	if len(done) != 1 || done[0].First != 1 || done[0].End.Position != 500 {
		t.Fatalf("%+v", done)
	}
	l := layout(t, s)
	if !slices.Equal(l.Whole, []ledger.Span{{First: 501, Last: 1000}}) || !slices.Equal(l.Archived, done) {
		t.Errorf("%+v", l)
	}
	if done := archived(t, s, archive.Options{Dir: dir}); len(done) != 1 || done[0].First != 501 || done[0].Before != l.Anchor().Hash {
		t.Errorf("the next: %+v", done)
	}
	if done := archived(t, s, archive.Options{Dir: dir}); len(done) != 0 {
		t.Errorf("nothing is left to archive: %+v", done)
	}
}

func detachRefuses(t *testing.T, open Opener) {
	s := opened(t, open)
	grow(t, s, NewMaker(), 1600)
	rows := all(t, s, 0, ledger.Filter{})
	d := s.(ledger.Detacher)
	at := func(first, last int) ledger.Archived {
		r := &rows[last-1]
		return ledger.Archived{Ledger: rows[0].ID, First: events.Position(first), Start: rows[first-1].RecordedAt, Path: "/nowhere",
			End: ledger.Head{Position: r.Position, Hash: r.Hash, RecordedAt: r.RecordedAt}, Written: 1}
	}
	forged := at(1, 500)
	forged.End.Hash[0] ^= 1
	late := at(1, 500)
	late.End.RecordedAt++
	for name, a := range map[string]ledger.Archived{
		"another hash": forged, "another time": late, "not the oldest": at(501, 1000), "beyond the head": {First: 1, End: ledger.Head{Position: 5000}},
		"the head itself": at(1, 1600), "nothing": {First: 1},
	} {
		if err := d.Detach(t.Context(), &a); err == nil {
			t.Errorf("%s was detached", name)
		}
	}
	if got := check(t, s); len(got) != 1600 {
		t.Errorf("%d rows are left", len(got))
	}
}

// same compares what two scans gave.
func same(t *testing.T, name string, got, want []ledger.Row) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d rows, want %d", name, len(got), len(want))
		return
	}
	for i := range got {
		g, w := got[i], want[i]
		if !bytes.Equal(g.Payload, w.Payload) {
			t.Fatalf("%s: payload of %d", name, w.Position)
		}
		g.Payload, w.Payload = nil, nil
		if fmt.Sprintf("%#v", g) != fmt.Sprintf("%#v", w) {
			t.Fatalf("%s: got\n%#v, want\n%#v", name, g, w)
		}
	}
}

func readsAsBefore(t *testing.T, open Opener) {
	s := opened(t, open)
	g := NewMaker()
	grow(t, s, g, 400)
	commit(t, s, oddRecords()...)
	grow(t, s, g, 1300)
	rows := all(t, s, 0, ledger.Filter{})
	archived(t, s, archive.Options{Dir: t.TempDir(), To: 1000})
	o := archive.Over(s, archive.NewPast())
	mid := rows[700]
	for name, f := range map[string]ledger.Filter{
		"all": {}, "account": {Account: mid.Account}, "request": {Request: mid.Request}, "another request": {Request: uuid.UUID{1}},
		"kind": {Kinds: []events.Kind{mid.Kind}}, "since": {Since: mid.RecordedAt}, "until": {Until: mid.RecordedAt},
		"since, live": {Since: rows[1200].RecordedAt}, "until, live": {Until: rows[1200].RecordedAt},
		"between": {Since: rows[450].RecordedAt, Until: rows[550].RecordedAt}, "up to": {UpTo: 321}, "up to the anchor": {UpTo: 1000}, "up to, live": {UpTo: 1001},
	} {
		for _, after := range []events.Position{0, 499, 1001} {
			var want []ledger.Row
			for i := range rows {
				if rows[i].Position > after && f.MatchRow(&rows[i]) {
					want = append(want, rows[i])
				}
			}
			same(t, fmt.Sprint(name, " after ", after), all(t, o, after, f), want)
			for _, limit := range []int{7} {
				n := 0
				if err := o.Scan(t.Context(), after, f, limit, func(*ledger.Row) error { n++; return nil }); err != nil || n != min(limit, len(want)) {
					t.Errorf("%s after %d, limit %d: %d rows, %v", name, after, limit, n, err)
				}
			}
		}
	}
}

func neverSkips(t *testing.T, open Opener) {
	s := opened(t, open)
	grow(t, s, NewMaker(), 1600)
	archived(t, s, archive.Options{Dir: t.TempDir(), To: 500})
	for name, f := range map[string]ledger.Filter{"all": {}, "account": {Account: "account-3"}, "nobody": {Account: "nobody"}, "up to": {UpTo: 10}, "late": {Since: 1 << 60}} {
		for _, after := range []events.Position{0, 499} {
			err := s.Scan(t.Context(), after, f, 0, func(*ledger.Row) error { return nil })
			if !errors.Is(err, ledger.ErrArchived) {
				t.Errorf("%s after %d: %v", name, after, err)
			}
		}
		if err := s.Scan(t.Context(), 500, f, 0, func(*ledger.Row) error { return nil }); err != nil {
			t.Errorf("%s from the anchor: %v", name, err)
		}
	}
}

func leavesUnderAScan(t *testing.T, open Opener) {
	for name, f := range map[string]ledger.Filter{"all": {}, "account": {Account: "account-3"}} {
		s := opened(t, open)
		g := NewMaker()
		from, _ := s.Head(t.Context())
		grow(t, s, g, 6*SegmentSize)
		o := archive.Over(s, archive.NewPast())
		want := all(t, o, from.Position, f)
		dir := t.TempDir()
		var got []ledger.Row
		err := o.Scan(t.Context(), from.Position, f, 0, func(r *ledger.Row) error {
			if len(got) == 10 {
				archived(t, s, archive.Options{Dir: dir, To: from.Position + 2000})
			}
			row := *r
			row.Payload = bytes.Clone(r.Payload)
			got = append(got, row)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		same(t, name, got, want)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func appendsGoOn(t *testing.T, open Opener) {
	s := open(t)
	g := NewMaker()
	var batches [][]events.Record
	for range 45 {
		batches = append(batches, g.Records(100))
		commit(t, s, batches[len(batches)-1]...)
	}
	archived(t, s, archive.Options{Dir: t.TempDir(), To: 4000})
	if res := commit(t, s, batches[42][3]); !res[0].Known || res[0].Position != 4204 {
		t.Errorf("a live id: %+v", res)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = opened(t, open)
	grow(t, s, g, 4000) // over the end of any block
	if res := commit(t, s, batches[42][3], g.Records(1)[0]); !res[0].Known || res[1].Position != 8501 {
		t.Errorf("opened again: %+v", res)
	}
	o := archive.Over(s, archive.NewPast())
	rows := check(t, o)
	var want []ledger.Row
	for i := range rows {
		if rows[i].Account == "account-3" {
			want = append(want, rows[i])
		}
	}
	same(t, "an account across all of it", all(t, o, 0, ledger.Filter{Account: "account-3"}), want)
}

func notAtHand(t *testing.T, open Opener) {
	s := opened(t, open)
	grow(t, s, NewMaker(), 1600)
	dir := t.TempDir()
	archived(t, s, archive.Options{Dir: dir, To: 500})
	moved := t.TempDir() + "/moved"
	rename(t, dir, moved)
	o := archive.Over(s, archive.NewPast())
	err := o.Scan(t.Context(), 0, ledger.Filter{}, 0, func(*ledger.Row) error { return nil })
	if !errors.Is(err, ledger.ErrArchived) {
		t.Errorf("%v", err)
	}
	if id, err := ledger.Identity(t.Context(), s); err != nil || id == uuid.Nil {
		t.Errorf("its name is known all the same: %v %v", id, err)
	}
	if rows := check(t, archive.Over(s, archive.NewPast("/nowhere", moved))); len(rows) != 1600 {
		t.Errorf("%d rows", len(rows))
	}
	if done := archived(t, s, archive.Options{Dir: moved}); len(done) != 2 {
		t.Errorf("archiving goes on elsewhere: %+v", done)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

// ending is a context that ends when it was asked n times.
type ending struct {
	context.Context
	left int
}

func (e *ending) Err() error {
	if e.left--; e.left < 0 {
		return context.Canceled
	}
	return e.Context.Err()
}

func endsAnywhere(t *testing.T, open Opener) {
	s := opened(t, open)
	grow(t, s, NewMaker(), 1700)
	rows := all(t, s, 0, ledger.Filter{})
	dir := t.TempDir()
	intact := func(when string) {
		t.Helper()
		same(t, when, all(t, archive.Over(s, archive.NewPast(dir)), 0, ledger.Filter{}), rows)
	}
	o := archive.Options{Dir: dir, Size: SegmentSize, Now: time.Now, To: 500}
	for _, step := range []string{"write", "verify", "detach"} {
		o.Step = func(at string) error {
			if at == step {
				return errors.New("the end")
			}
			return nil
		}
		if done, err := archive.Run(t.Context(), s, o); err == nil || len(done) != 0 {
			t.Fatalf("%s: %v %v", step, done, err)
		}
		intact("ended before " + step)
	}
	o.Step, o.To = nil, 1500
	ends := 0
	for n := 0; len(layout(t, s).Whole) > 0; n++ {
		if n > 10_000 {
			t.Fatal("it never gets anywhere")
		}
		_, err := archive.Run(&ending{t.Context(), n}, s, o)
		if err != nil {
			ends++
		}
		if n%9 == 0 || err == nil {
			intact(fmt.Sprint("ended at look ", n))
		}
	}
	if ends < 3 {
		t.Errorf("it ended early only %d times", ends)
	}
	if _, err := archive.Run(t.Context(), s, o); err != nil { // what a crash left is removed
		t.Error(err)
	}
	intact("at last")
	if l := layout(t, s); l.Anchor().Position != 1500 {
		t.Errorf("%+v", l)
	}
}

func onlyOldEnough(t *testing.T, open Opener) {
	s := opened(t, open)
	grow(t, s, NewMaker(), 2100)
	rows := all(t, s, 0, ledger.Filter{})
	dir := t.TempDir()
	floor := func(p events.Position) func(context.Context) (events.Position, error) {
		return func(context.Context) (events.Position, error) { return p, nil }
	}
	for _, c := range []struct {
		name string
		o    archive.Options
		want int
	}{
		{"nothing is old enough", archive.Options{Before: rows[0].RecordedAt}, 0},
		{"its last event is just not old enough", archive.Options{Before: rows[499].RecordedAt}, 0},
		{"folds need it", archive.Options{Floor: floor(500)}, 0},
		{"one is old enough", archive.Options{Before: rows[499].RecordedAt + 1}, 1},
		{"folds can start at the next", archive.Options{Floor: floor(1001)}, 1},
		{"the rest", archive.Options{Floor: floor(9999), Before: 1 << 60}, 2},
	} {
		c.o.Dir = dir
		if done := archived(t, s, c.o); len(done) != c.want {
			t.Errorf("%s: %d spans", c.name, len(done))
		}
	}
	broken := errors.New("no snapshot")
	_, err := archive.Run(t.Context(), s, archive.Options{Dir: dir, Size: SegmentSize, Now: time.Now, Floor: func(context.Context) (events.Position, error) { return 0, broken }})
	if !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

func verifies(t *testing.T, open Opener) {
	s := opened(t, open)
	grow(t, s, NewMaker(), 1600)
	dir := t.TempDir()
	archived(t, s, archive.Options{Dir: dir, To: 1000})
	v, err := ledger.Verify(t.Context(), archive.Over(s, archive.NewPast()), ledger.VerifyOptions{})
	if err != nil || v.Fault != nil || v.Positions != 1600 {
		t.Errorf("across: %+v %v", v, err)
	}
	l := layout(t, s)
	v, err = ledger.Verify(t.Context(), s, ledger.VerifyOptions{After: l.Anchor()})
	if err != nil || v.Fault != nil || v.Positions != 600 {
		t.Errorf("from the anchor: %+v %v", v, err)
	}
	wrong := l.Anchor()
	wrong.Hash[0] ^= 1
	if v, err = ledger.Verify(t.Context(), s, ledger.VerifyOptions{After: wrong}); err != nil || v.Fault == nil || v.Fault.Position != 1001 {
		t.Errorf("from another anchor: %+v %v", v, err)
	}
}

func sizeTold(t *testing.T, open Opener) {
	s := opened(t, open)
	grow(t, s, NewMaker(), 1600)
	rows := all(t, s, 0, ledger.Filter{})
	before, err := s.(ledger.Segmented).Size(t.Context())
	if err != nil || before.Events != 1600 || before.Oldest != rows[0].RecordedAt || before.Bytes < 1600*200 {
		t.Errorf("%+v %v", before, err)
	}
	archived(t, s, archive.Options{Dir: t.TempDir(), To: 500})
	after, err := s.(ledger.Segmented).Size(t.Context())
	if err != nil || after.Events != 1100 || after.Oldest != rows[500].RecordedAt || after.Bytes == 0 {
		t.Errorf("%+v %v", after, err)
	}
}

func partlyArchived(t *testing.T, open Opener) {
	s := opened(t, open)
	g := NewMaker()
	grow(t, s, g, 2*ledger.EntryBlock+300)
	rows := all(t, s, 0, ledger.Filter{})
	for _, to := range []events.Position{4000, 4500, 8000} { // within the first block, the second and to its end
		archived(t, s, archive.Options{Dir: t.TempDir(), To: to})
		grow(t, s, g, 600)
		rows = append(rows, all(t, s, events.Position(len(rows)), ledger.Filter{})...)
		f := ledger.Filter{Account: "account-3"}
		l := layout(t, s)
		anchor := l.Anchor()
		var want []ledger.Row
		for i := range rows {
			if f.MatchRow(&rows[i]) && rows[i].Position > anchor.Position {
				want = append(want, rows[i])
			}
		}
		same(t, fmt.Sprint("archived to ", to), all(t, s, anchor.Position, f), want)
		v, err := ledger.Verify(t.Context(), s, ledger.VerifyOptions{After: anchor})
		if err != nil || v.Fault != nil {
			t.Errorf("archived to %d: %v %v", to, v.Fault, err)
		}
		v, err = ledger.Verify(t.Context(), archive.Over(s, archive.NewPast()), ledger.VerifyOptions{})
		if err != nil || v.Fault != nil {
			t.Errorf("archived to %d, with the archives: %v %v", to, v.Fault, err)
		}
	}
}

// anyInstant compares spans of time, from and to just before, at and just behind
// events on both sides of segments' ends, with a look at each event.
func anyInstant(t *testing.T, open Opener) {
	s := opened(t, open)
	g := NewMaker()
	grow(t, s, g, 900)
	all(t, s, 0, ledger.Filter{Since: 1}) // what it remembers of segments is out of date then
	grow(t, s, g, 1_100)
	rows := all(t, s, 0, ledger.Filter{})
	instants := []events.Time{0, 1, rows[len(rows)-1].RecordedAt + 1e6}
	for _, p := range []int{1, 2, 250, 499, 500, 501, 777, 1000, 1001, 1500, 1501, 1999, 2000} {
		at := rows[p-1].RecordedAt
		instants = append(instants, at-1, at, at+1)
	}
	for _, since := range instants {
		for _, until := range instants {
			f := ledger.Filter{Since: since, Until: until}
			var want, got []events.Position
			for i := range rows {
				if f.MatchRow(&rows[i]) {
					want = append(want, rows[i].Position)
				}
			}
			err := s.Scan(t.Context(), 0, f, 3, func(r *ledger.Row) error { got = append(got, r.Position); return nil })
			if want = want[:min(3, len(want))]; err != nil || !slices.Equal(got, want) {
				t.Fatalf("from %d to %d: %v %v, want %v", since, until, got, err, want)
			}
		}
	}
}

// anyRequest: requests whose events are far apart, that are older or younger than
// all around them, or have ids that say nothing of time.
func anyRequest(t *testing.T, open Opener) {
	s := opened(t, open)
	g := NewMaker()
	batches := make([][]events.Record, 40)
	for i := range batches {
		batches[i] = g.Records(50)
	}
	first, last := batches[0][0].Request, batches[39][48].Request
	for _, odd := range []struct {
		batch, record int
		request       uuid.UUID
	}{
		{25, 3, first}, {39, 7, first}, {0, 9, last}, {12, 9, last}, {3, 11, uuid.UUID{15: 1}}, {30, 11, uuid.UUID{15: 1}},
		{7, 2, uuid.UUID{0: 0xff, 15: 9}}, {22, 2, uuid.UUID{0: 0xff, 15: 9}}, {5, 5, uuid.Nil},
	} {
		batches[odd.batch][odd.record].Request = odd.request
	}
	for i := range batches {
		commit(t, s, batches[i]...)
		if i == 17 {
			all(t, s, 0, ledger.Filter{Request: first}) // what it remembers of segments is out of date then
		}
	}
	rows := all(t, s, 0, ledger.Filter{})
	asked := map[uuid.UUID][]events.Position{{7}: nil}
	for i := range rows {
		asked[rows[i].Request] = append(asked[rows[i].Request], rows[i].Position)
	}
	delete(asked, uuid.Nil)
	for id, want := range asked {
		for limit := range 3 {
			var got []events.Position
			err := s.Scan(t.Context(), 0, ledger.Filter{Request: id}, limit, func(r *ledger.Row) error { got = append(got, r.Position); return nil })
			if limit > 0 {
				want = want[:min(limit, len(want))]
			}
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("%s, limit %d: %v %v, want %v", id, limit, got, err, want)
			}
			want = asked[id]
		}
	}
}
