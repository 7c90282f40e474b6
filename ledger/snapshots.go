package ledger

import (
	"context"

	"github.com/waybill/waybill/events"
)

// Snapshot is a state that was derived from a ledger up to a head. It is
// disposable: whatever is in it can be derived again, and nothing is lost with
// it but time.
type Snapshot struct {
	Name    string // of what was derived, permanent
	Version uint32 // of the derivation
	At      Head   // the last event that is in it: its position and hash
	State   []byte
}

// SnapshotPlace is a stored snapshot without its state.
type SnapshotPlace struct {
	Name     string
	Version  uint32
	Position events.Position
	Bytes    int64 // that it takes
}

// Snapshots is where a store keeps snapshots, beside the ledger and never in
// it. It takes and gives bytes as they are; package snapshot says which of them
// may be believed.
type Snapshots interface {
	// Save stores snapshots, all or none. One of the same name, version and
	// position is replaced.
	Save(ctx context.Context, list []Snapshot) error
	// Newest is the snapshot with the highest position at or before one; ok is
	// false when there is none.
	Newest(ctx context.Context, name string, version uint32, upTo events.Position) (s Snapshot, ok bool, err error)
	// Places lists what is stored, by name, version and position.
	Places(ctx context.Context) ([]SnapshotPlace, error)
	// Drop removes snapshots; those that are not there are no error.
	Drop(ctx context.Context, list []SnapshotPlace) error
}

// Snapshotter is implemented by stores that can keep snapshots.
type Snapshotter interface {
	Snapshots() Snapshots
}

// Snapshots is where the store keeps snapshots, nil when it cannot.
func (l *Log) Snapshots() Snapshots {
	if s, ok := Part[Snapshotter](l.store); ok {
		return s.Snapshots()
	}
	return nil
}
