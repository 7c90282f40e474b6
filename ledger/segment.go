package ledger

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// ErrArchived says that events are asked for that left the store for an archive
// which is not at hand.
var ErrArchived = errors.New("these events are archived, and the archive is not at hand")

// Archived is a run of positions that left a store for a file. The store keeps
// this much of them for ever: the chain goes on from End.
type Archived struct {
	Ledger  uuid.UUID       // id of the ledger's first event
	First   events.Position // 1, or the one behind the archive before
	Before  events.Hash     // of the position before First; zero for none
	Start   events.Time     // when First was recorded
	End     Head            // the last position in it
	Path    string          // of the archive when it was written
	Digest  events.Hash     // SHA-256 of its manifest
	Bytes   int64           // of the file
	Written events.Time
}

// Span is a run of live positions that can be archived whole.
type Span struct{ First, Last events.Position }

// Layout is how a store is divided: what left it, and what could leave it
// next, both in order. The newest event is in no span: it never leaves.
type Layout struct {
	Archived []Archived
	Whole    []Span
}

// Anchor is where the live part follows; zero when nothing is archived.
func (l *Layout) Anchor() Head {
	if n := len(l.Archived); n > 0 {
		return l.Archived[n-1].End
	}
	return Head{}
}

// Size is what the live part takes.
type Size struct {
	Bytes  int64       // on disk, indexes included
	Events int64       // live
	Oldest events.Time // of them; zero for none
}

// Segmented is implemented by stores whose oldest events can leave for files.
// Nothing else ever removes one.
type Segmented interface {
	// Layout lists what is archived and which spans could be. size is how many
	// positions a span has where the store does not say so itself.
	Layout(ctx context.Context, size events.Position) (Layout, error)
	Size(ctx context.Context) (Size, error)
}

// Shelf is implemented by what reads on in the archives of what left a store.
type Shelf interface {
	// AtHand is nil for an archive that is there with the manifest that was
	// written, ErrArchived for one that is absent, and a *Fault for one that is
	// there with another.
	AtHand(a *Archived) error
	// Intact reads the whole file of an archive that is at hand, and holds it
	// against its manifest. What differs is a *Fault.
	Intact(ctx context.Context, a *Archived) error
}

// Detacher is a Segmented store that is open for writing.
type Detacher interface {
	Segmented
	// Detach records that a span is archived, durably, and then removes its
	// rows. It refuses what does not follow the last archive, or is not what
	// the rows say. The same archive again goes on where a crash ended it.
	Detach(ctx context.Context, a *Archived) error
}

// Layout is the store's, empty where events never leave it.
func (l *Log) Layout(ctx context.Context, size events.Position) (Layout, error) {
	if s, ok := Part[Segmented](l.store); ok {
		return s.Layout(ctx, size)
	}
	return Layout{}, nil
}

// Shelf is where the log's archives are; nil: none is at hand.
func (l *Log) Shelf() Shelf {
	s, _ := Part[Shelf](l.store)
	return s
}

// Size is the store's, zero where it does not know.
func (l *Log) Size(ctx context.Context) (Size, error) {
	if s, ok := Part[Segmented](l.store); ok {
		return s.Size(ctx)
	}
	return Size{}, nil
}
