package inquiry

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/views"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/projections/story"
)

// Requests lists rows out of the whole ledger.
func Requests(ctx context.Context, log Log, q requests.Query) ([]story.Row, bool, error) {
	return RequestsAt(ctx, log, Moment{}, q)
}

// RequestsAt lists rows as they stood at a moment.
func RequestsAt(ctx context.Context, log Log, m Moment, q requests.Query) ([]story.Row, bool, error) {
	at, _, err := place(ctx, log, m)
	if err != nil {
		return nil, false, err
	}
	h := history{log: log, stored: views.HistoryOf(log), q: q, newer: map[requests.RowKey]int{}}
	whole, err := h.list(ctx, at)
	if err != nil {
		return nil, false, fmt.Errorf("list requests: %w", err)
	}
	if !whole {
		return listFromZero(ctx, log, at, q)
	}
	rows, more := h.cut()
	return story.Rows(rows, h.view.Account), more, nil
}

// listFromZero asks every event: there are no snapshots, or not all of them.
func listFromZero(ctx context.Context, log Log, at events.Position, q requests.Query) ([]story.Row, bool, error) {
	v := requests.NewFiltered(keep(q.Limit), q)
	if at > 0 {
		if err := views.Each(ctx, log, 0, at, func(e *events.Event) error { v.Apply(e); return nil }); err != nil {
			return nil, false, fmt.Errorf("list requests: %w", err)
		}
	}
	rows, more := v.List(q)
	return story.Rows(rows, v.Account), more, nil
}

// keep is how many ended requests a listing must hold to give limit of them:
// they end in another order than they start.
func keep(limit int) int {
	if limit <= 0 {
		return 1 << 30
	}
	return limit + 4096
}

// history lists requests out of a view and the segments before it.
type history struct {
	log    Log
	stored *views.History
	q      requests.Query

	view  *requests.View
	rows  []requests.Row
	newer map[requests.RowKey]int // how many newer segments tell of a row
}

// list collects the matching rows, as many as the limit needs. whole is false
// when the segments do not reach back to the beginning.
func (h *history) list(ctx context.Context, at events.Position) (whole bool, err error) {
	end, err := h.open(ctx, at)
	if end == 0 || err != nil {
		return false, err
	}
	all := h.q
	all.Limit = 0
	h.rows, _ = h.view.List(all)
	if h.q.OldestFirst {
		return h.upwards(ctx, end)
	}
	return h.downwards(ctx, end)
}

// open brings a view to a position, and says where the head stands that it
// began at; 0: there is none. What had ended by then is left to the segments,
// unless something of it changed since.
func (h *history) open(ctx context.Context, at events.Position) (events.Position, error) {
	v, ok := h.stored.Head(ctx, at)
	if !ok {
		return 0, ctx.Err()
	}
	head := v.Position()
	err := views.Each(ctx, h.log, head, at, func(e *events.Event) error { v.Apply(e); return nil })
	if err == nil && v.Missed() {
		v = requests.New(int(max(views.Every, at-head)))
		head, err = views.To(ctx, h.log, at, nil, nil, v)
	}
	h.view = v
	return head, err
}

// downwards goes from segment to segment until no older one can have a row
// that comes before those that were found: what ended up to a position began
// there or before it.
func (h *history) downwards(ctx context.Context, end events.Position) (bool, error) {
	for end > 0 && !h.enough(func(first events.Position) bool { return first > end }) {
		x, ok := h.stored.Index(ctx, end)
		if !ok {
			return false, ctx.Err()
		}
		for _, part := range slices.Backward(x.May(h.view, &h.q)) {
			if high := x.Highest(part + 1); h.enough(func(first events.Position) bool { return first > high }) {
				break
			}
			if !h.part(ctx, x, part) {
				return false, ctx.Err()
			}
		}
		h.overridden(x, 1)
		end = x.From
	}
	return true, nil
}

// upwards reads the indexes down to where the answer may begin, and then the
// segments from there until no younger one can have a row that comes before
// those that were found: what ends later began later, or was open, or is told
// anew there.
func (h *history) upwards(ctx context.Context, end events.Position) (bool, error) {
	var list []*requests.Index
	for end > h.q.After {
		x, ok := h.stored.Index(ctx, end)
		if !ok {
			return false, ctx.Err()
		}
		h.overridden(x, 1)
		list = append(list, x)
		end = x.From
	}
	for _, x := range slices.Backward(list) {
		h.overridden(x, -1)
		for _, part := range x.May(h.view, &h.q) {
			if !h.part(ctx, x, part) {
				return false, ctx.Err()
			}
		}
		settled := h.toldBelow(x.At)
		if x.OpenLow != 0 {
			settled = min(settled, x.OpenLow-1)
		}
		if h.enough(func(first events.Position) bool { return first <= settled }) {
			break
		}
	}
	return true, nil
}

// overridden counts the rows that a segment tells anew.
func (h *history) overridden(x *requests.Index, n int) {
	for _, k := range x.Overridden {
		if h.newer[k] += n; h.newer[k] == 0 {
			delete(h.newer, k)
		}
	}
}

// toldBelow is the position up to which no row is told anew by a newer segment,
// at most the one given.
func (h *history) toldBelow(at events.Position) events.Position {
	for k := range h.newer {
		at = min(at, k.First-1)
	}
	return at
}

// enough says whether more rows than the limit are known of which nothing that
// is still to be read comes before.
func (h *history) enough(settled func(events.Position) bool) bool {
	if h.q.Limit <= 0 {
		return false
	}
	n := 0
	for i := range h.rows {
		if settled(h.rows[i].First) {
			n++
		}
	}
	return n > h.q.Limit
}

// part takes the matching rows of a part of a segment. It is false when that is
// not there: a fold from zero answers instead.
func (h *history) part(ctx context.Context, x *requests.Index, part int) bool {
	return h.stored.EachRow(ctx, x, part, x.Sessions(&h.q), h.take)
}

// take keeps a row that is asked for, unless something newer tells of it.
func (h *history) take(r *requests.Row) {
	if !h.q.Match(h.view, r) || h.newer[r.Key()] > 0 {
		return
	}
	if newer, ok := h.view.Get(r.ID); ok && newer.First == r.First {
		return
	}
	h.rows = append(h.rows, r.Clone())
}

// cut sorts what was found and cuts it to the limit.
func (h *history) cut() (rows []requests.Row, more bool) {
	slices.SortFunc(h.rows, func(a, b requests.Row) int { return cmp.Compare(a.First, b.First) })
	if !h.q.OldestFirst {
		slices.Reverse(h.rows)
	}
	if h.q.Limit > 0 && len(h.rows) > h.q.Limit {
		return h.rows[:h.q.Limit], true
	}
	return h.rows, false
}
