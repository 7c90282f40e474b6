package admin

import (
	"context"
	"path/filepath"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// Retention is how long events stay live, and how archiving goes.
type Retention struct {
	RetainS    int64           `json:"retain_s"`    // 0: for ever
	ArchiveDir string          `json:"archive_dir"` // "": nothing is archived by itself
	Segment    events.Position `json:"segment"`     // positions that are archived together
	LastRun    events.Time     `json:"last_run"`    // null: not yet
	Error      string          `json:"error"`       // of the last run
}

// The states of a segment.
const (
	SegmentArchived = "archived" // in a file, no longer in the store
	SegmentWhole    = "whole"    // live, and could be archived when a snapshot follows it
	SegmentEnded    = "ended"    // live and whole, but no snapshot follows it; told by the command only, which looks for one
	SegmentLive     = "live"     // the newest part, which grows
)

// Segment is a part of the ledger.
type Segment struct {
	From       events.Position `json:"from"`
	To         events.Position `json:"to"`
	State      string          `json:"state"`
	Hash       string          `json:"hash"`        // of the last position
	RecordedAt events.Time     `json:"recorded_at"` // of the last position
	File       string          `json:"file"`        // of an archived one, where it was written
	Bytes      int64           `json:"bytes"`       // of the file
	ArchivedAt events.Time     `json:"archived_at"` // null for a live one
}

// ArchivedSegment is a segment that left for a file.
func ArchivedSegment(k *ledger.Archived) Segment {
	return Segment{From: k.First, To: k.End.Position, State: SegmentArchived, Hash: k.End.Hash.String(), RecordedAt: k.End.RecordedAt,
		File: filepath.Base(k.Path), Bytes: k.Bytes, ArchivedAt: k.Written}
}

// Size is what the live part takes.
type Size struct {
	Bytes  int64       `json:"bytes"` // on disk, indexes included
	Events int64       `json:"events"`
	Oldest events.Time `json:"oldest"` // null: none is live
}

// Layouts is what lists segments; *ledger.Log is one.
type Layouts interface {
	Layout(ctx context.Context, size events.Position) (ledger.Layout, error)
	Head(ctx context.Context) (ledger.Head, error)
	Read(ctx context.Context, after events.Position, f ledger.Filter, limit int) ([]events.Event, error)
}

// Segments lists the parts of a ledger in order. size is how many positions are
// archived together where the store does not say so itself.
func Segments(ctx context.Context, log Layouts, size events.Position) ([]Segment, error) {
	l, err := log.Layout(ctx, size)
	if err != nil {
		return nil, err
	}
	head, err := log.Head(ctx)
	if err != nil {
		return nil, err
	}
	out := []Segment{}
	for i := range l.Archived {
		out = append(out, ArchivedSegment(&l.Archived[i]))
	}
	at := l.Anchor().Position
	for _, w := range l.Whole {
		k := Segment{From: w.First, To: w.Last, State: SegmentWhole}
		last, err := log.Read(ctx, w.Last-1, ledger.Filter{UpTo: w.Last}, 1)
		if err != nil {
			return nil, err
		}
		if len(last) == 1 {
			k.Hash, k.RecordedAt = last[0].Hash.String(), last[0].RecordedAt
		}
		out, at = append(out, k), w.Last
	}
	if head.Position > at {
		out = append(out, Segment{From: at + 1, To: head.Position, State: SegmentLive, Hash: head.Hash.String(), RecordedAt: head.RecordedAt})
	}
	return out, nil
}

// parts fills in how the ledger is divided, what it takes, and how long it is kept.
func (a *API) parts(ctx context.Context, out *LedgerState) (err error) {
	var size events.Position
	if out.Retention != nil {
		size = out.Retention.Segment
	}
	if out.Segments, err = Segments(ctx, a.o.Log, size); err != nil {
		return err
	}
	live, err := a.o.Log.Size(ctx)
	out.Size = Size(live)
	return err
}
