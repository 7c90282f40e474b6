// Package snapshot says which stored snapshots may be believed. One is given
// only when it can be read, when what derived it is of the version asked for,
// when the ledger at hand has, at its position, the very hash that it was taken
// at, and when the state itself says that it was taken there. Everything else is
// as if it were not there, with a line in the log: a snapshot can be lost, cut
// off, of another ledger or of another release, and costs time then, never an
// answer. The package knows no projection.
package snapshot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// Log is what is needed of a ledger; *ledger.Log is one.
type Log interface {
	HashAt(ctx context.Context, at events.Position) (hash events.Hash, ok bool, err error)
	Snapshots() ledger.Snapshots
}

// Store gives and takes snapshots of one ledger. The nil Store has none.
type Store struct {
	log    Log
	table  ledger.Snapshots
	packer packer
	logger *slog.Logger
}

// Of is the snapshots of a ledger, nil when its store keeps none.
func Of(log Log, logger *slog.Logger) *Store {
	table := log.Snapshots()
	if table == nil {
		return nil
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	p, err := newPacker()
	if err != nil {
		logger.Error("no snapshots", "error", err)
		return nil
	}
	return &Store{log: log, table: table, packer: p, logger: logger}
}

// errForeign: the ledger has another event where the snapshot was taken.
var errForeign = errors.New("it was not taken of this ledger")

// Newest is the newest snapshot at or before a position that may be believed.
func (s *Store) Newest(ctx context.Context, name string, version uint32, upTo events.Position) (ledger.Snapshot, bool) {
	if s == nil {
		return ledger.Snapshot{}, false
	}
	for upTo > 0 {
		got, ok, err := s.table.Newest(ctx, name, version, upTo)
		if err != nil {
			s.tell(ctx, "snapshots cannot be read", name, upTo, err)
			return ledger.Snapshot{}, false
		}
		if !ok {
			return ledger.Snapshot{}, false
		}
		if err = s.check(ctx, &got); err == nil {
			return got, true
		}
		s.tell(ctx, "snapshot ignored", name, got.At.Position, err)
		upTo = got.At.Position - 1
	}
	return ledger.Snapshot{}, false
}

func (s *Store) tell(ctx context.Context, what, name string, at events.Position, err error) {
	if ctx.Err() == nil {
		s.logger.Warn(what, "name", name, "position", at, "error", err)
	}
}

// check unpacks the state and compares the hash with the ledger's.
func (s *Store) check(ctx context.Context, got *ledger.Snapshot) error {
	hash, ok, err := s.log.HashAt(ctx, got.At.Position)
	switch {
	case err != nil:
		return err
	case !ok || hash != got.At.Hash:
		return errForeign
	}
	got.State, err = s.packer.unpack(got)
	return err
}

// Save stores snapshots, all or none.
func (s *Store) Save(ctx context.Context, list ...ledger.Snapshot) error {
	if s == nil {
		return nil
	}
	packed := make([]ledger.Snapshot, len(list))
	for i := range list {
		packed[i] = list[i]
		packed[i].State = s.packer.pack(&list[i])
	}
	if err := s.table.Save(ctx, packed); err != nil {
		return fmt.Errorf("save snapshots: %w", err)
	}
	return nil
}

// At is the snapshot at a very position that may be believed.
func (s *Store) At(ctx context.Context, name string, version uint32, at events.Position) (ledger.Snapshot, bool) {
	got, ok := s.Newest(ctx, name, version, at)
	return got, ok && got.At.Position == at
}

// Places lists what is stored.
func (s *Store) Places(ctx context.Context) ([]ledger.SnapshotPlace, error) {
	if s == nil {
		return nil, nil
	}
	return s.table.Places(ctx)
}

// Drop removes snapshots.
func (s *Store) Drop(ctx context.Context, list []ledger.SnapshotPlace) error {
	if s == nil || len(list) == 0 {
		return nil
	}
	return s.table.Drop(ctx, list)
}
