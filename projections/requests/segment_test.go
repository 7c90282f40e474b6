package requests

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
)

// segmented folds a tape and stores a segment every few events.
func segmented(t *testing.T, p *tape, every int) (heads [][]byte, segments []*Segment) {
	t.Helper()
	v := New(Keep)
	v.Record()
	for i := range p.out {
		v.Apply(&p.out[i])
		if (i+1)%every != 0 {
			continue
		}
		s := v.Segment()
		read := &Segment{From: s.From, At: s.At, open: s.open}
		for n := range s.Parts() {
			if err := read.Take(s.AppendPart(nil, n)); err != nil {
				t.Fatal(err)
			}
		}
		heads, segments = append(heads, v.AppendHead(nil)), append(segments, read)
		v.Cut()
	}
	return heads, segments
}

func TestAHeadAndItsSegmentsAreTheView_I1(t *testing.T) {
	const every = 40
	for seed := range uint64(10) {
		p := random(seed, 200)
		heads, segments := segmented(t, p, every)
		want := New(Keep)
		for i := range p.out {
			want.Apply(&p.out[i])
			if (i+1)%every != 0 {
				continue
			}
			n := (i + 1) / every
			got, err := ReadHead(heads[n-1], Keep)
			if err != nil {
				t.Fatal(err)
			}
			var newestFirst []*Segment
			for k := n; k > 0; k-- {
				newestFirst = append(newestFirst, segments[k-1])
			}
			got.Join(newestFirst...)
			if !bytes.Equal(got.AppendState(nil), want.AppendState(nil)) {
				t.Fatalf("seed %d: joined at %d it is another view", seed, i+1)
			}
		}
	}
}

// TestAViewThatGoesOnFromAHeadSaysWhenItLacksWhatEnded: unless it says so, what
// it tells of requests is what the whole view tells.
func TestAViewThatGoesOnFromAHeadSaysWhenItLacksWhatEnded(t *testing.T) {
	const every = 40
	silent, said := 0, 0
	for seed := range uint64(30) {
		p := random(seed, 120)
		heads, _ := segmented(t, p, every)
		for n, head := range heads {
			v, err := ReadHead(head, Keep)
			if err != nil {
				t.Fatal(err)
			}
			whole := New(Keep)
			for i := range p.out {
				whole.Apply(&p.out[i])
				if i < (n+1)*every {
					continue
				}
				if v.Apply(&p.out[i]); v.Missed() {
					said++
					break
				}
				silent++
				r, held := v.rows[p.out[i].Request]
				w := whole.rows[p.out[i].Request]
				if held != (w != nil) || held && fmt.Sprint(r.Clone()) != fmt.Sprint(w.Clone()) {
					t.Fatalf("seed %d, from %d to %d: %+v, whole %+v", seed, (n+1)*every, i, r, w)
				}
			}
		}
	}
	if silent == 0 || said == 0 {
		t.Fatalf("%d times it said nothing, %d times it did", silent, said)
	}
}

func TestAnIndexLeavesAwayNoPartThatHoldsAnAnswer(t *testing.T) {
	failed, served := Failed, Served
	queries := []Query{
		{}, {Outcome: &failed}, {Outcome: &served, Account: "b"}, {Account: "c"}, {Account: "nobody"}, {Skipped: "a"}, {Client: "app"}, {Client: "other"},
		{Model: "m1"}, {Model: "m2"}, {Session: "s"}, {Session: "t"}, {Client: "app", Session: events.DigestOf("s").String()}, {Before: 300}, {After: 900},
		{Since: t0.Add(500 * time.Second)}, {Until: t0.Add(500 * time.Second)}, {Before: 900, After: 300, Outcome: &failed},
	}
	p := random(3, 1200)
	v := p.fold(New(Keep))
	_, segments := segmented(t, p, 900)
	read, left := 0, 0
	for _, s := range segments {
		x, err := ReadIndex(s.Index().AppendState(nil))
		if err != nil || len(x.Parts) != s.Parts() {
			t.Fatalf("%d parts of %d, %v", len(x.Parts), s.Parts(), err)
		}
		for i := range queries {
			q := &queries[i]
			may := map[int]bool{}
			for _, n := range x.May(v, q) {
				may[n] = true
			}
			for n := range s.Parts() {
				if may[n] {
					read++
					continue
				}
				left++
				if err := EachRow(s.AppendPart(nil, n), nil, func(r *Row) {
					if q.Match(v, r) {
						t.Errorf("%+v is answered by part %d of the segment up to %d", *q, n, s.At)
					}
				}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if read == 0 || left < 10 {
		t.Fatalf("%d parts were read, %d left away", read, left)
	}
}

// TestAnIndexFindsThePartOfEveryRow: each row alone, by all that is known of it.
func TestAnIndexFindsThePartOfEveryRow(t *testing.T) {
	p := random(4, 1500)
	v := p.fold(New(Keep))
	_, segments := segmented(t, p, 1300)
	x := segments[0].Index()
	for n := range segments[0].Parts() {
		for _, r := range segments[0].part(n) {
			q := Query{Since: r.Started, Until: r.Started + 1, Outcome: &r.Outcome, Client: r.Client, Model: r.Asked, Session: r.Session.String(),
				Before: r.First + 1, After: r.First - 1}
			if len(r.Tried) > 0 {
				q.Account = v.Account(r.Tried[0])
			}
			if len(r.Skipped) > 0 {
				q.Skipped = v.Account(r.Skipped[0])
			}
			if !q.Match(v, r) || !slices.Contains(x.May(v, &q), n) {
				t.Fatalf("row %+v is in part %d, and %+v looks in %v", *r, n, q, x.May(v, &q))
			}
		}
	}
}

func TestRowsOfSomeSessionsAreFoundWithoutTheOthers(t *testing.T) {
	p := random(5, 300)
	_, segments := segmented(t, p, 300)
	part := segments[0].AppendPart(nil, 0)
	all, own, none := 0, 0, 0
	for _, row := range []struct {
		sessions []events.Digest
		n        *int
	}{{nil, &all}, {[]events.Digest{events.DigestOf("t"), events.DigestOf("s")}, &own}, {[]events.Digest{events.DigestOf("t")}, &none}} {
		if err := EachRow(part, row.sessions, func(*Row) { *row.n++ }); err != nil {
			t.Fatal(err)
		}
	}
	if all == 0 || own != all || none != 0 {
		t.Errorf("%d rows, %d of the session, %d of another", all, own, none)
	}
}
