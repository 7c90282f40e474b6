package requests

import (
	"cmp"
	"slices"

	"github.com/waybill/waybill/events"
)

// end gives a request its outcome and its place in the ring. One that had ended
// before (lost, and then its true outcome came) keeps its place.
func (v *View) end(r *Row, at events.Time, o Outcome) {
	v.note(r)
	was := r.Outcome
	r.Outcome, r.Ended, r.idle, r.open = o, at, 0, nil
	if o == Refused || o == Failed {
		v.trouble = r.ID
	}
	if was != Open {
		return
	}
	if v.query != nil && !v.query.Match(v, r) {
		v.drop(r)
		return
	}
	if len(v.ended) < v.keep {
		v.ended = append(v.ended, r)
		return
	}
	v.drop(v.ended[v.next])
	v.ended[v.next] = r
	v.next = (v.next + 1) % v.keep
}

func (v *View) drop(r *Row) {
	v.dropped = max(v.dropped, r.First)
	delete(v.rows, r.ID)
	if len(v.spare) < 64 && !v.recording {
		r.reset()
		v.spare = append(v.spare, r)
	}
}

// rest notes that a request stands between two attempts.
func (v *View) rest(r *Row, e *events.Event) {
	r.idle = e.ObservedAt
	v.idle = append(v.idle, idleSince{r, e.Position})
	if len(v.idle) > 1024 {
		v.idle = slices.DeleteFunc(v.idle, func(i idleSince) bool { return !i.stands() })
	}
}

func (i *idleSince) stands() bool { return i.row.idle != 0 && i.row.Last == i.last }

// expire ends the requests that stand between attempts for too long: nobody
// waits for them any more.
func (v *View) expire(now events.Time) {
	for len(v.idle) > 0 {
		i := v.idle[0]
		if i.stands() {
			if now.Sub(i.row.idle) <= idleLimit {
				return
			}
			v.end(i.row, i.row.idle, Aborted)
		}
		v.idle = v.idle[1:]
	}
}

// inOrder lists the ended rows, oldest first.
func (v *View) inOrder() []*Row {
	out := make([]*Row, 0, len(v.ended))
	out = append(out, v.ended[v.next:]...)
	return append(out, v.ended[:v.next]...)
}

// openRows lists what has not ended, by first position.
func (v *View) openRows() []*Row {
	return v.rowsWhere(func(r *Row) bool { return r.Outcome == Open })
}

func attempting(r *Row) bool { return r.open != nil }

// rowsWhere lists the rows that a condition picks, by first position.
func (v *View) rowsWhere(picked func(*Row) bool) []*Row {
	var out []*Row
	for _, r := range v.rows {
		if picked(r) {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, byFirst)
	return out
}

func byFirst(a, b *Row) int { return cmp.Compare(a.First, b.First) }
