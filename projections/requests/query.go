package requests

import (
	"slices"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// Query narrows a listing. Zero members do not narrow.
type Query struct {
	Since, Until events.Time // Since <= started < Until
	Outcome      *Outcome
	Account      string // tried or serving
	Skipped      string // kept out by a verdict
	Client       string
	Model        string          // as asked
	Session      string          // as the client named it, or its digest in hex
	Before       events.Position // rows whose first position is below
	After        events.Position // rows whose first position is above
	OldestFirst  bool
	Limit        int
}

// Match says whether a row is asked for.
func (q *Query) Match(v *View, r *Row) bool {
	switch {
	case q.Since != 0 && r.Started < q.Since,
		q.Until != 0 && r.Started >= q.Until,
		q.Outcome != nil && r.Outcome != *q.Outcome,
		q.Account != "" && !v.has(r.Tried, q.Account),
		q.Skipped != "" && !v.has(r.Skipped, q.Skipped),
		q.Client != "" && r.Client != q.Client,
		q.Model != "" && r.Asked != q.Model,
		q.Session != "" && !q.session(r),
		q.Before != 0 && r.First >= q.Before,
		q.After != 0 && r.First <= q.After:
		return false
	}
	return true
}

func (q *Query) session(r *Row) bool {
	if d, ok := events.ParseDigest(q.Session); ok && r.Session == d {
		return true
	}
	return r.Session == events.SessionDigest(r.Client, q.Session)
}

func (v *View) has(list []uint32, id string) bool {
	no := v.accounts.Of(id)
	return no != 0 && slices.Contains(list, no)
}

// List gives copies of the matching rows, newest first unless asked otherwise,
// at most Limit. more says that the limit cut it.
func (v *View) List(q Query) (rows []Row, more bool) {
	var found []*Row
	for _, r := range v.rows {
		if q.Match(v, r) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, byFirst)
	if !q.OldestFirst {
		slices.Reverse(found)
	}
	if q.Limit > 0 && len(found) > q.Limit {
		found, more = found[:q.Limit], true
	}
	rows = make([]Row, len(found))
	for i, r := range found {
		rows[i] = r.Clone()
	}
	return rows, more
}

// Missed says whether an event was of a request that began before the view's
// head and had ended by then, so that one which holds what ended would tell of it.
func (v *View) Missed() bool { return v.missed }

// Holds is how many ended requests the view holds at most.
func (v *View) Holds() int { return v.keep }

// Complete says from which position on no request is missing here: those that
// started at or below it may have been dropped.
func (v *View) Complete() events.Position { return v.dropped }

// Get is a copy of one request's row.
func (v *View) Get(id uuid.UUID) (Row, bool) {
	r := v.rows[id]
	if r == nil {
		return Row{}, false
	}
	return r.Clone(), true
}

// Trouble is the last request that was refused or failed.
func (v *View) Trouble() (uuid.UUID, bool) { return v.trouble, v.trouble != uuid.Nil }

// OpenAttempts lists the dispatches of a writer that have no outcome, oldest
// first: what must be closed as lost when that writer is known to be dead. A
// request may have ended for all that was known, and an append of its dead
// process taken effect after that: its attempt is open all the same.
func (v *View) OpenAttempts(writer uuid.UUID) []OpenAttempt {
	var out []OpenAttempt
	for _, r := range v.rowsWhere(attempting) {
		if r.open.Writer == writer {
			out = append(out, *r.open)
		}
	}
	return out
}

// Searching lists the requests of a writer that stand between two attempts,
// oldest first: what must be ended when that writer is known to be dead.
func (v *View) Searching(writer uuid.UUID) []uuid.UUID {
	var out []uuid.UUID
	for _, r := range v.openRows() {
		if r.idle != 0 && r.Writer == writer {
			out = append(out, r.ID)
		}
	}
	return out
}

// OpenWriters lists the writers that have open requests, in order of the oldest.
func (v *View) OpenWriters() []uuid.UUID {
	var out []uuid.UUID
	for _, r := range v.rowsWhere(func(r *Row) bool { return attempting(r) || r.Outcome == Open && r.idle != 0 }) {
		w := r.Writer
		if r.open != nil {
			w = r.open.Writer
		}
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}
