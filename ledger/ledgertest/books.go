package ledgertest

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// RunBooks tests what a store keeps for consumers.
func RunBooks(t *testing.T, books ledger.Books) {
	t.Run("a place begins once and never moves back", func(t *testing.T) {
		b := books.Book("place")
		if _, known, err := b.Place(t.Context()); known || err != nil {
			t.Fatalf("known %t, %v", known, err)
		}
		begin, keep := b.Begin, b.Keep
		for i, step := range []struct {
			do func() error
			at uint64
		}{
			{func() error { return begin(t.Context(), 7) }, 7},
			{func() error { return begin(t.Context(), 9) }, 7},
			{func() error { return keep(t.Context(), 8) }, 8},
		} {
			if err := step.do(); err != nil {
				t.Fatal(err)
			}
			if at, known, err := b.Place(t.Context()); uint64(at) != step.at || !known || err != nil {
				t.Errorf("step %d: %d %t %v", i, at, known, err)
			}
		}
		if names, err := books.Consumers(t.Context()); err != nil || !slices.Contains(names, "place") {
			t.Errorf("consumers %v, %v", names, err)
		}
	})
	t.Run("what was put aside is listed, requeued and dropped", func(t *testing.T) { testAside(t, books.Book("aside")) })
	t.Run("books know nothing of each other", func(t *testing.T) {
		if err := books.Book("one").PutAside(t.Context(), refused(1)); err != nil {
			t.Fatal(err)
		}
		if n := len(aside(t, books.Book("two"))); n != 0 {
			t.Errorf("%d of another", n)
		}
	})
}

// refused is a message of a position; its text is no UTF-8.
func refused(at uint64) ledger.Message {
	body, _ := json.Marshal(map[string]any{"position": at, "model": "m\x00\xff"}) // of plain values
	return ledger.Message{ID: uuid.Must(uuid.NewV7()), Position: events.Position(at) + 8, Error: "down\x00", Meta: map[string]string{"type": "x"}, Body: body}
}

func aside(t *testing.T, b ledger.Book) []ledger.Message {
	t.Helper()
	all, err := b.Aside(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func testAside(t *testing.T, b ledger.Book) {
	late, early := refused(2), refused(1)
	early.Position = 3
	for _, m := range []ledger.Message{late, early, late} {
		if err := b.PutAside(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	if got := aside(t, b); !reflect.DeepEqual(got, []ledger.Message{early, late}) {
		t.Fatalf("aside\n%+v, want\n%+v", got, []ledger.Message{early, late})
	}
	requeue := func(want int, ids ...uuid.UUID) {
		t.Helper()
		if n, err := b.Requeue(t.Context(), ids...); n != want || err != nil {
			t.Errorf("requeued %d, %v", n, err)
		}
	}
	requeue(0, uuid.Must(uuid.NewV7()))
	requeue(1, late.ID)
	if got := aside(t, b); got[0].Requeued || !got[1].Requeued {
		t.Errorf("requeued %t and %t", got[0].Requeued, got[1].Requeued)
	}
	if err := b.PutAside(t.Context(), late); err != nil { // refused again
		t.Fatal(err)
	}
	if got := aside(t, b); len(got) != 2 || got[1].Requeued {
		t.Errorf("after it was refused again: %+v", got)
	}
	requeue(2)
	for _, id := range []uuid.UUID{early.ID, late.ID, late.ID} {
		if err := b.Drop(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	if got := aside(t, b); len(got) != 0 {
		t.Errorf("left %+v", got)
	}
}
