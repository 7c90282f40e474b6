package views

import (
	"context"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/snapshot"
	"github.com/waybill/waybill/projections/requests"
)

// History reads what the keeper stored of the requests: heads, and the segments
// behind them with their indexes. What is not there, or cannot be believed, is
// false.
type History struct {
	snaps   *snapshot.Store
	version uint32
}

// HistoryOf is the history of a ledger.
func HistoryOf(log Log) *History {
	return &History{snapshot.Of(log, nil), requests.New(1).Version()}
}

// Head is a view that stands at the newest head at or before a position, and
// holds what was open there.
func (h *History) Head(ctx context.Context, upTo events.Position) (*requests.View, bool) {
	s, ok := h.snaps.Newest(ctx, requests.Heads, h.version, upTo)
	if !ok {
		return nil, false
	}
	v, err := requests.ReadHead(s.State, everything)
	return v, err == nil && v.Position() == s.At.Position
}

// everything is more than a view can hold.
const everything = 1 << 30

// at is what stands under a name at the very position.
func (h *History) at(ctx context.Context, name string, at events.Position) ([]byte, bool) {
	s, ok := h.snaps.At(ctx, name, h.version, at)
	return s.State, ok
}

// Index is that of the segment which ends at a position.
func (h *History) Index(ctx context.Context, at events.Position) (*requests.Index, bool) {
	b, ok := h.at(ctx, requests.Indexes, at)
	if !ok {
		return nil, false
	}
	x, err := requests.ReadIndex(b)
	return x, err == nil && x.At == at && x.From < at
}

// EachRow reads the rows of one part of a segment, as requests.EachRow does.
func (h *History) EachRow(ctx context.Context, x *requests.Index, part int, sessions []events.Digest, fn func(*requests.Row)) bool {
	b, ok := h.at(ctx, requests.PartName(part), x.At)
	return ok && requests.EachRow(b, sessions, fn) == nil
}

// segment is the whole one that ends at a position.
func (h *History) segment(ctx context.Context, at events.Position) (*requests.Segment, bool) {
	x, ok := h.Index(ctx, at)
	if !ok {
		return nil, false
	}
	s := &requests.Segment{From: x.From, At: x.At}
	for n := range x.Parts {
		b, ok := h.at(ctx, requests.PartName(n), at)
		if !ok || s.Take(b) != nil {
			return nil, false
		}
	}
	return s, true
}

// load brings a view to a head, with as many segments as hold what it holds.
func (h *History) load(ctx context.Context, head *ledger.Snapshot, v *requests.View) bool {
	fresh, err := requests.ReadHead(head.State, v.Holds())
	if err != nil || fresh.Position() != head.At.Position {
		return false
	}
	var segments []*requests.Segment
	for ended, at := 0, head.At.Position; at > 0 && ended < v.Holds(); {
		s, ok := h.segment(ctx, at)
		if !ok {
			return false
		}
		segments = append(segments, s)
		ended, at = ended+s.Own(), s.From
	}
	fresh.Join(segments...)
	v.Adopt(fresh)
	return true
}
