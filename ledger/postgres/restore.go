package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// Restore implements ledger.Restorer.
func (s *Store) Restore(ctx context.Context, rows []ledger.Row) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return ledger.ErrClosed
	case s.opt.ReadOnly:
		return errors.New("restore: the ledger is open for reading only")
	case len(rows) == 0:
		return nil
	}
	last := rows[len(rows)-1].Position
	for uint64(last) > s.reach.Load() {
		if err := s.extendTo(ctx, last); err != nil {
			return err
		}
	}
	if s.app == nil {
		var err error
		if s.app, err = openAppender(ctx, s.conf); err != nil {
			return fmt.Errorf("restore: connect: %w", unavailable(err))
		}
	}
	if err := s.app.restore(ctx, rows); err != nil {
		s.app.close()
		s.app = nil
		return fmt.Errorf("restore %d events: %w", len(rows), unavailable(err))
	}
	s.last = last
	s.ahead()
	return nil
}

// extendTo makes segments; a position that is far beyond the head is no part
// of this ledger's next rows.
func (s *Store) extendTo(ctx context.Context, last events.Position) error {
	before := s.reach.Load()
	if err := s.extend(ctx); err != nil {
		return err
	}
	if uint64(last) > s.reach.Load() && s.reach.Load() == before {
		return fmt.Errorf("restore: position %d is beyond what follows the head", last)
	}
	return nil
}

// restore appends rows in one transaction. After an error the appender must
// not be used again.
func (a *appender) restore(ctx context.Context, rows []ledger.Row) error {
	got, err := a.round(ctx, call{name: "begin"}, call{name: "lock"})
	if err != nil {
		return err
	}
	head, _, err := parseHead(got[1].Rows)
	if err != nil {
		return err
	}
	first := head.Position + 1
	a.start()
	for i := range rows {
		r := &rows[i]
		if f := head.Follows(r, r.ContentHash()); f != nil {
			return f
		}
		head = ledger.Head{Position: r.Position, RecordedAt: r.RecordedAt, Hash: r.Hash}
		a.add(&r.Record)
		a.addPlace(&head)
	}
	_, err = a.round(ctx, call{a.near.insert(first, head.Position), a.params()}, call{"move", moveParams(head)}, call{name: "commit"})
	a.near.passed = a.near.passed || head.Position >= a.near.last
	a.alone = alone{}
	return err
}
