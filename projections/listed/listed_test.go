package listed

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/canon"
)

func at(p events.Position, writer byte, seq uint64) *events.Event {
	return &events.Event{Header: events.Header{Writer: uuid.UUID{writer}, WriterSeq: seq}, Position: p}
}

func verdicts(n uint32) []events.Verdict {
	return []events.Verdict{{Account: n, Reason: events.ReasonDrained, Evidence: -3}}
}

func TestAListIsFoundByPositionAndByItsWritersNumber(t *testing.T) {
	b := New(8)
	b.Add(at(10, 1, 4), verdicts(1))
	b.Add(at(11, 2, 4), verdicts(2))
	rows := []struct {
		name   string
		writer byte
		ref    events.Ref
		want   []events.Verdict
	}{
		{"by position, whoever asks", 2, 10, verdicts(1)},
		{"by number, of the writer that asks", 1, -4, verdicts(1)},
		{"the same number of another writer is another list", 2, -4, verdicts(2)},
		{"an unknown position", 1, 12, nil},
		{"an unknown number", 1, -10, nil},
	}
	for _, r := range rows {
		got, ok := b.Find(uuid.UUID{r.writer}, r.ref)
		if ok != (r.want != nil) || !reflect.DeepEqual(got, r.want) {
			t.Errorf("%s: %v %v", r.name, got, ok)
		}
	}
}

func TestTheOldestListIsForgotten(t *testing.T) {
	b := New(3)
	for i := range uint64(10) {
		b.Add(at(events.Position(i+1), 1, i+1), verdicts(uint32(i)))
	}
	for p := events.Position(1); p <= 10; p++ {
		_, ok := b.Find(uuid.UUID{1}, events.Ref(p))
		_, own := b.Find(uuid.UUID{1}, -events.Ref(p))
		if want := p > 7; ok != want || own != want {
			t.Errorf("position %d: %v %v, want %v", p, ok, own, want)
		}
	}
	if len(b.at) != 3 || len(b.owned) != 3 {
		t.Fatalf("%d and %d indexed", len(b.at), len(b.owned))
	}
}

func TestABookSurvivesItsState(t *testing.T) {
	for n := range uint64(7) {
		b := New(3)
		for i := range n {
			b.Add(at(events.Position(i+1), 1, i+1), verdicts(uint32(i)))
		}
		w := canon.Writer(nil)
		b.State(w)
		back := New(3)
		r := canon.Reader(w.Bytes())
		back.State(r)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		again := canon.Writer(nil)
		back.State(again)
		if !bytes.Equal(again.Bytes(), w.Bytes()) {
			t.Fatalf("%d lists: the state changed", n)
		}
		back.Add(at(99, 1, 99), verdicts(9))
		b.Add(at(99, 1, 99), verdicts(9))
		if !reflect.DeepEqual(back.at, b.at) && n < 3 {
			t.Fatalf("%d lists: %v, want %v", n, back.at, b.at)
		}
		if _, ok := back.Find(uuid.UUID{1}, events.Ref(1)); ok != (n > 0 && n < 3) {
			t.Fatalf("%d lists: the oldest is not the next to go", n)
		}
	}
}
