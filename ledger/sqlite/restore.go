package sqlite

import (
	"context"
	"fmt"

	"github.com/waybill/waybill/ledger"
)

// Restore implements ledger.Restorer.
func (s *Store) Restore(_ context.Context, rows []ledger.Row) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.ready(); err != nil {
		return fmt.Errorf("restore: %w", err)
	}
	if err := s.w.restore(rows); err != nil {
		s.abandon()
		return err
	}
	s.head = s.w.head
	return nil
}

// restore appends rows in one transaction. After an error the writer must not
// be used again.
func (w *writer) restore(rows []ledger.Row) error {
	if err := run(w.begin); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	for i := range rows {
		r := &rows[i]
		if f := w.head.Follows(r, r.ContentHash()); f != nil {
			return f
		}
		h := ledger.Head{Position: r.Position, RecordedAt: r.RecordedAt, Hash: r.Hash}
		if err := w.put(&r.Record, &h); err != nil {
			return fmt.Errorf("event %s at %d: %w", r.ID, r.Position, err)
		}
		w.head = h
	}
	if err := w.flush(); err != nil {
		return err
	}
	if err := run(w.commitStmt); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}
