package kill

import (
	"testing"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/test/load"
)

// book is what was seen of a ledger from outside, and what was read in it.
type book struct {
	check   *ledger.Checker
	codec   events.Codec
	heads   []ledger.Head        // where it ended at each reading
	seqs    map[uuid.UUID]uint64 // newest number of each writer
	decided map[attempt]bool     // decisions and refusals
	running map[attempt]bool     // attempts without an end
	lost    int                  // ends that were recorded for a process that was gone
	sources map[events.Position]string

	known      map[string]bool        // requests with a decision or a refusal
	firstBytes int                    // that clients have seen
	missing    map[string]load.Answer // those whose decision was not read yet
	said       []acknowledged
}

// attempt is one of a request.
type attempt struct {
	request uuid.UUID
	number  uint32
}

func newBook() *book {
	return &book{
		check: ledger.NewChecker(ledger.Head{}), seqs: map[uuid.UUID]uint64{}, decided: map[attempt]bool{}, running: map[attempt]bool{},
		sources: map[events.Position]string{}, known: map[string]bool{}, missing: map[string]load.Answer{},
	}
}

// note takes what clients have seen the first byte of, and what operators were
// told.
func (b *book) note(answers []load.Answer, said []acknowledged) {
	b.firstBytes += len(answers)
	for _, a := range answers {
		if !b.known[a.Request] {
			b.missing[a.Request] = a
		}
	}
	b.said = append(b.said, said...)
}

// read reads what was appended since the last reading: the chain goes on, a
// writer's numbers have no gap, and nothing is recorded twice.
func (b *book) read(t *testing.T, s ledger.Store) {
	t.Helper()
	head, err := s.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = s.Scan(t.Context(), b.check.Last().Position, ledger.Filter{UpTo: head.Position}, 0, func(r *ledger.Row) error {
		if fault := b.check.Next(r, r.ContentHash()); fault != nil {
			return fault
		}
		if b.seqs[r.Writer]++; r.WriterSeq != b.seqs[r.Writer] {
			t.Errorf("position %d is event %d of its writer, want %d", r.Position, r.WriterSeq, b.seqs[r.Writer])
		}
		p, err := b.codec.Open(&r.Record)
		if err == nil {
			b.take(t, r, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if fault := b.check.End(head); fault != nil {
		t.Fatal(fault)
	}
	b.heads = append(b.heads, head)
}

// take notes what an event says.
func (b *book) take(t *testing.T, r *ledger.Row, p events.Payload) {
	t.Helper()
	key := attempt{r.Request, r.Attempt}
	switch p := p.(type) {
	case *events.AttemptRouted, *events.RequestRefused:
		if b.decided[key] {
			t.Errorf("position %d: request %s has attempt %d twice", r.Position, r.Request, r.Attempt)
		}
		b.decided[key], b.known[r.Request.String()] = true, true
		delete(b.missing, r.Request.String())
		if r.Kind == events.KindAttemptRouted {
			b.running[key] = true
		}
	case *events.QuotaFetched:
		b.sources[r.Position] = p.Reading.Source
	case *events.AttemptSucceeded:
		b.end(t, r, key)
	default:
		if f, ok := events.FailureOf(p); ok {
			b.end(t, r, key)
			if f.Class == events.ClassLost {
				b.lost++
			}
		}
	}
}

func (b *book) end(t *testing.T, r *ledger.Row, key attempt) {
	t.Helper()
	if !b.running[key] {
		t.Errorf("position %d ends attempt %d of request %s, which has ended or never began", r.Position, key.number, key.request)
	}
	delete(b.running, key)
}

// settle says what is still owed when nothing is under way any more.
func (b *book) settle(t *testing.T) {
	t.Helper()
	for _, a := range b.missing {
		t.Errorf("an answered request has no decision in the ledger: %+v", a)
	}
	for key := range b.running {
		t.Errorf("attempt %d of request %s has no end", key.number, key.request)
	}
	for _, s := range b.said {
		if got := b.sources[s.position]; got != s.source {
			t.Errorf("reading %q was acknowledged at position %d, which holds %q", s.source, s.position, got)
		}
	}
}

// walk reads the whole once more: every place that the ledger was ever seen
// to end at is still what it was.
func (b *book) walk(t *testing.T, s ledger.Store) {
	t.Helper()
	again, next := ledger.NewChecker(ledger.Head{}), 0
	err := s.Scan(t.Context(), 0, ledger.Filter{}, 0, func(r *ledger.Row) error {
		if fault := again.Next(r, r.ContentHash()); fault != nil {
			return fault
		}
		for ; next < len(b.heads) && b.heads[next].Position <= r.Position; next++ {
			if fault := b.heads[next].Holds(r); fault != nil {
				return fault
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if next < len(b.heads) {
		t.Errorf("the ledger ends at %d and was seen to go up to %d", again.Last().Position, b.heads[next].Position)
	}
}
