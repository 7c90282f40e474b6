package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// Stray implements ledger.Strays: it looks behind the head, at one instant.
func (s *Store) Stray(ctx context.Context) (*ledger.Fault, error) {
	if s.isClosed() {
		return nil, ledger.ErrClosed
	}
	var head, at int64
	err := s.pool.QueryRow(ctx, "SELECT position, coalesce((SELECT min(position) FROM events WHERE position > head.position), 0) FROM head").Scan(&head, &at)
	if err != nil {
		return nil, fmt.Errorf("look behind the head: %w", unavailable(err))
	}
	if at == 0 {
		return nil, nil
	}
	return ledger.StrayAt(events.Position(at), events.Position(head)), nil
}

// strayed says that a position behind the head, which is locked, is taken:
// that will not pass.
func strayed(err *pgconn.PgError) bool {
	return err.Code == uniqueViolation && strings.HasPrefix(err.TableName, "events") && strings.HasSuffix(err.ConstraintName, "_pkey")
}

const uniqueViolation = "23505"
