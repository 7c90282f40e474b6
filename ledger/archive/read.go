package archive

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// Read appends an archive to a ledger. What the ledger has already must be the
// same (ErrFork), what it lacks must follow without a gap (ErrGap), and every
// line must be chained to the one before. Rows before a fault stay: they are
// right.
func Read(ctx context.Context, s ledger.Store, r io.Reader, p Progress) (Span, error) {
	to, ok := ledger.Part[ledger.Restorer](s)
	if !ok {
		return Span{}, fmt.Errorf("import: this store cannot restore rows")
	}
	head, err := s.Head(ctx)
	if err != nil {
		return Span{}, fmt.Errorf("import: %w", err)
	}
	in := &reading{store: s, to: to, head: head, progress: p}
	if err := in.lines(ctx, r); err != nil {
		return in.span, fmt.Errorf("import: %w", err)
	}
	return in.span, nil
}

// reading is an import under way.
type reading struct {
	store    ledger.Store
	to       ledger.Restorer
	head     ledger.Head // of the ledger when the import began
	check    *ledger.Checker
	rows     []ledger.Row // not written yet
	known    []ledger.Row // at or below the head, not compared yet
	span     Span
	progress Progress
}

func (in *reading) lines(ctx context.Context, r io.Reader) error {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 1<<16), maxLine)
	for n := 1; s.Scan(); n++ {
		if len(s.Bytes()) == 0 {
			continue
		}
		row, err := parse(s.Bytes())
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if !events.Canonical(s.Bytes(), &row.Record, row.Position, row.RecordedAt, row.Hash) {
			return fmt.Errorf("line %d: %w", n, ErrForm)
		}
		if err := in.take(ctx, row); err != nil {
			return err
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("read the archive: %w", err)
	}
	if in.check == nil {
		return ErrEmpty
	}
	return in.flush(ctx)
}

func parse(line []byte) (row ledger.Row, err error) {
	row.Record, row.Position, row.RecordedAt, row.Hash, err = events.ParseRecordJSON(line)
	return row, err
}

// take checks a row and keeps it for the next write.
func (in *reading) take(ctx context.Context, row ledger.Row) error {
	if in.check == nil {
		if row.Position > in.head.Position+1 {
			return fmt.Errorf("%w: the ledger ends at %d, the archive begins at %d", ErrGap, in.head.Position, row.Position)
		}
		in.check = ledger.NewCheckerFrom(row.Position - 1)
		if row.Position == 1 {
			in.check = ledger.NewChecker(ledger.Head{})
		}
		if row.Position == in.head.Position+1 {
			in.check = ledger.NewChecker(in.head)
		}
		in.span.From = row.Position
	}
	if f := in.check.Next(&row, row.ContentHash()); f != nil {
		if row.Position == in.head.Position+1 && in.span.From == row.Position {
			return fmt.Errorf("%w: %w", ErrFork, f)
		}
		return f
	}
	if row.Position <= in.head.Position {
		in.known = append(in.known, row)
	} else {
		in.rows = append(in.rows, row)
	}
	if len(in.rows)+len(in.known) < batchRows {
		return nil
	}
	return in.flush(ctx)
}

// flush compares what the ledger should have and writes what it lacks.
func (in *reading) flush(ctx context.Context) error {
	if err := in.compare(ctx); err != nil {
		return err
	}
	if len(in.rows) > 0 {
		if err := in.to.Restore(ctx, in.rows); err != nil {
			return err
		}
	}
	in.rows = in.rows[:0]
	if in.check != nil {
		in.span.Head = in.check.Last()
		in.span.To = in.span.Head.Position
		if in.progress != nil {
			in.progress(in.span.To)
		}
	}
	return nil
}

// compare reads the rows that the archive repeats.
func (in *reading) compare(ctx context.Context) error {
	if len(in.known) == 0 {
		return nil
	}
	i := 0
	err := in.store.Scan(ctx, in.known[0].Position-1, ledger.Filter{}, len(in.known), func(r *ledger.Row) error {
		if r.Hash != in.known[i].Hash || r.Position != in.known[i].Position {
			return fmt.Errorf("%w: another event stands at position %d", ErrFork, r.Position)
		}
		i++
		return nil
	})
	if err == nil && i < len(in.known) {
		err = fmt.Errorf("%w: position %d cannot be read", ErrFork, in.known[i].Position)
	}
	in.span.Known += uint64(i)
	in.known = in.known[:0]
	return err
}
