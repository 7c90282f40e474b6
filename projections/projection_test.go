package projections

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// recorder is a layered projection that remembers what it was given.
type recorder struct {
	applied, pending []uint64
	pends            int
}

func (r *recorder) Name() string                { return "recorder" }
func (r *recorder) Version() uint32             { return 1 }
func (r *recorder) Apply(e *events.Event)       { r.applied = append(r.applied, uint64(e.Position)) }
func (r *recorder) AppendState(b []byte) []byte { return b }
func (r *recorder) LoadState([]byte) error      { return nil }
func (r *recorder) DropPending()                { r.pending = nil }
func (r *recorder) Pend(e *events.Event) {
	r.pends++
	r.pending = append(r.pending, e.WriterSeq)
}

// own is the n-th own event, committed at a position or pending at 0.
func own(n uint64, at events.Position) events.Event {
	return events.Event{Header: events.Header{ID: uuid.UUID{1, byte(n)}, WriterSeq: n}, Position: at}
}

func foreign(at events.Position) events.Event {
	return events.Event{Header: events.Header{ID: uuid.UUID{2, byte(at)}}, Position: at}
}

func TestRunsAtOnceFoldAsRunsOneByOneAndReapplyOnce(t *testing.T) {
	runs := [][]events.Event{{foreign(1), own(1, 2)}, {own(2, 3)}, {}, {foreign(4), own(3, 5)}}
	single, whole := &recorder{}, &recorder{}
	a, b := NewLive(single), NewLive(whole)
	for n := uint64(1); n <= 5; n++ {
		a.Pend(own(n, 0))
		b.Pend(own(n, 0))
	}
	for _, run := range runs {
		a.Commit(run)
	}
	whole.pends = 0
	b.Commit(runs...)
	if !slices.Equal(single.applied, whole.applied) || !slices.Equal(single.pending, whole.pending) || a.Position() != b.Position() {
		t.Errorf("one by one %v %v, at once %v %v", single.applied, single.pending, whole.applied, whole.pending)
	}
	if !slices.Equal(whole.pending, []uint64{4, 5}) || whole.pends != 2 || len(b.Pending()) != 2 {
		t.Errorf("pending %v after %d re-applications", whole.pending, whole.pends)
	}
}

func TestWhatIsPendingIsReappliedOverForeignEvents(t *testing.T) {
	r := &recorder{}
	l := NewLive(r)
	l.Pend(own(1, 0))
	l.Commit([]events.Event{foreign(1)})
	if r.pends != 2 || !slices.Equal(r.pending, []uint64{1}) || l.Own() != 1 {
		t.Errorf("%+v", r)
	}
}
