package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// snapshots is the table beside the ledger that all replicas share.
type snapshots struct{ s *Store }

// Snapshots implements ledger.Snapshotter.
func (s *Store) Snapshots() ledger.Snapshots { return snapshots{s} }

// Save implements ledger.Snapshots. The role may insert and delete, so that one
// of the same place makes room for the new one.
func (t snapshots) Save(ctx context.Context, list []ledger.Snapshot) error {
	if t.s.opt.ReadOnly {
		return errors.New("save snapshots: the ledger is open for reading only")
	}
	b := &pgx.Batch{}
	for i := range list {
		s := &list[i]
		b.Queue("DELETE FROM snapshots WHERE name = $1 AND version = $2 AND position = $3", s.Name, int64(s.Version), int64(s.At.Position))
		b.Queue("INSERT INTO snapshots (name, version, position, hash, state) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
			s.Name, int64(s.Version), int64(s.At.Position), s.At.Hash[:], s.State)
	}
	return t.send(ctx, "save snapshots", b)
}

// send runs a batch in one transaction.
func (t snapshots) send(ctx context.Context, what string, b *pgx.Batch) error {
	if t.s.isClosed() {
		return ledger.ErrClosed
	}
	err := pgx.BeginFunc(ctx, t.s.pool, func(tx pgx.Tx) error { return tx.SendBatch(ctx, b).Close() })
	if err != nil {
		return fmt.Errorf("%s: %w", what, unavailable(err))
	}
	return nil
}

// Newest implements ledger.Snapshots.
func (t snapshots) Newest(ctx context.Context, name string, version uint32, upTo events.Position) (ledger.Snapshot, bool, error) {
	got := ledger.Snapshot{Name: name, Version: version}
	if t.s.isClosed() {
		return got, false, ledger.ErrClosed
	}
	var at int64
	var hash []byte
	err := t.s.pool.QueryRow(ctx, "SELECT position, hash, state FROM snapshots WHERE name = $1 AND version = $2 AND position <= $3 ORDER BY position DESC LIMIT 1",
		name, int64(version), int64(min(upTo, 1<<63-1))).Scan(&at, &hash, &got.State)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return got, false, nil
	case err != nil:
		return got, false, fmt.Errorf("read snapshot of %s: %w", name, unavailable(err))
	}
	got.At.Position = events.Position(at)
	copy(got.At.Hash[:], hash)
	return got, true, nil
}

// Places implements ledger.Snapshots.
func (t snapshots) Places(ctx context.Context) ([]ledger.SnapshotPlace, error) {
	if t.s.isClosed() {
		return nil, ledger.ErrClosed
	}
	rows, err := t.s.pool.Query(ctx, "SELECT name, version, position, octet_length(state) FROM snapshots ORDER BY name, version, position")
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", unavailable(err))
	}
	list, err := pgx.CollectRows(rows, func(r pgx.CollectableRow) (p ledger.SnapshotPlace, err error) {
		var version, at int64
		err = r.Scan(&p.Name, &version, &at, &p.Bytes)
		p.Version, p.Position = uint32(version), events.Position(at)
		return p, err
	})
	if err != nil {
		return nil, fmt.Errorf("list snapshots: %w", unavailable(err))
	}
	return list, nil
}

// Drop implements ledger.Snapshots.
func (t snapshots) Drop(ctx context.Context, list []ledger.SnapshotPlace) error {
	b := &pgx.Batch{}
	for _, p := range list {
		b.Queue("DELETE FROM snapshots WHERE name = $1 AND version = $2 AND position = $3", p.Name, int64(p.Version), int64(p.Position))
	}
	return t.send(ctx, "drop snapshots", b)
}
