package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// Book implements ledger.Books: what consumers keep stands in the database, so
// that a replica that takes a feed over goes on where the other was.
func (s *Store) Book(name string) ledger.Book { return &book{store: s, name: name} }

// Consumers implements ledger.Books.
func (s *Store) Consumers(ctx context.Context) ([]string, error) {
	rows, err := s.pool.Query(ctx, "SELECT name FROM feeds ORDER BY name")
	if err != nil {
		return nil, bookError(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return names, bookError(err)
}

// bookError also explains a schema that no gateway of this version has used yet.
func bookError(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "42P01" {
		return fmt.Errorf("%w: its schema has no feeds yet; a gateway of this version brings it up to date", ledger.ErrNotFound)
	}
	return unavailable(err)
}

type book struct {
	store *Store
	name  string
}

func (b *book) exec(ctx context.Context, sql string, args ...any) (int64, error) {
	tag, err := b.store.pool.Exec(ctx, sql, append([]any{b.name}, args...)...)
	if err != nil {
		return 0, fmt.Errorf("feed %s: %w", b.name, bookError(err))
	}
	return tag.RowsAffected(), nil
}

// Place implements ledger.Book.
func (b *book) Place(ctx context.Context) (at events.Position, known bool, err error) {
	var place int64
	err = b.store.pool.QueryRow(ctx, "SELECT place FROM feeds WHERE name = $1", b.name).Scan(&place)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("feed %s: %w", b.name, bookError(err))
	}
	return events.Position(place), true, nil
}

// Begin implements ledger.Book.
func (b *book) Begin(ctx context.Context, at events.Position) error {
	_, err := b.exec(ctx, "INSERT INTO feeds (name, place) VALUES ($1, $2) ON CONFLICT DO NOTHING", int64(at))
	return err
}

// Keep implements ledger.Book.
func (b *book) Keep(ctx context.Context, at events.Position) error {
	_, err := b.exec(ctx, `INSERT INTO feeds (name, place) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET place = excluded.place WHERE feeds.place < excluded.place`, int64(at))
	return err
}

// PutAside implements ledger.Book.
func (b *book) PutAside(ctx context.Context, m ledger.Message) error {
	doc, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = b.exec(ctx, `INSERT INTO feeds_aside (feed, id, position, requeued, message) VALUES ($1, $2, $3, false, $4)
		ON CONFLICT (feed, id) DO UPDATE SET requeued = false, message = excluded.message`, m.ID, int64(m.Position), doc)
	return err
}

// Aside implements ledger.Book.
func (b *book) Aside(ctx context.Context) ([]ledger.Message, error) {
	rows, err := b.store.pool.Query(ctx, "SELECT requeued, message FROM feeds_aside WHERE feed = $1 ORDER BY position, id", b.name)
	if err != nil {
		return nil, fmt.Errorf("feed %s: %w", b.name, bookError(err))
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (m ledger.Message, err error) {
		var doc []byte
		var requeued bool
		if err := row.Scan(&requeued, &doc); err != nil {
			return m, err
		}
		err = json.Unmarshal(doc, &m)
		m.Requeued = requeued
		return m, err
	})
	return out, bookError(err)
}

// Requeue implements ledger.Book.
func (b *book) Requeue(ctx context.Context, ids ...uuid.UUID) (int, error) {
	if ids == nil {
		ids = []uuid.UUID{}
	}
	n, err := b.exec(ctx, "UPDATE feeds_aside SET requeued = true WHERE feed = $1 AND (id = ANY($2::uuid[]) OR cardinality($2::uuid[]) = 0)", ids)
	return int(n), err
}

// Drop implements ledger.Book.
func (b *book) Drop(ctx context.Context, id uuid.UUID) error {
	_, err := b.exec(ctx, "DELETE FROM feeds_aside WHERE feed = $1 AND id = $2", id)
	return err
}
