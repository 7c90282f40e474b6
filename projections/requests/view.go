// Package requests folds events into one row per request: who asked for what,
// which accounts were tried, skipped and served, and what the client got. It
// holds what is open and the newest that ended; older ones are in the ledger.
// It also knows which attempts are open, for whoever closes what a crash left.
// It judges nothing.
package requests

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/listed"
	"github.com/waybill/waybill/projections/roster"
)

// Keep is how many ended requests a live view holds.
const Keep = 4096

// idleLimit is how long a request may stand between two attempts, by the times
// of events, before it counts as left by its client: it waits at most
// trial_wait there, so only a client that left or a crash takes longer.
const idleLimit = 10 * time.Minute

// listsKept bounds the remembered lists of more than 16 candidates.
const listsKept = 256

// View is the requests projection. It is not safe for concurrent use.
type View struct {
	keep  int
	query *Query // ended rows that do not match are dropped at once; nil keeps all
	at    events.Position

	rows    map[uuid.UUID]*Row
	ended   []*Row // ring in order of ending, `next` is the oldest once full
	next    int
	dropped events.Position // highest First of a row that was dropped
	missed  bool            // an event was of a request that is not held
	trouble uuid.UUID       // the last refused or failed one
	idle    []idleSince     // candidates for idleLimit, by position
	spare   []*Row

	recording bool // what ends is noted for the next segment
	from      events.Position
	noted     []*Row // that ended after from, or changed after their end

	accounts roster.Numbers
	lists    *listed.Book
	marks    marks
}

type idleSince struct {
	row  *Row
	last events.Position
}

// New is an empty view that holds the newest keep ended requests.
func New(keep int) *View {
	return &View{keep: max(keep, 1), rows: map[uuid.UUID]*Row{}, lists: listed.New(listsKept)}
}

// NewFiltered is a view for one question over a whole ledger: of the ended
// requests it holds the newest keep that match.
func NewFiltered(keep int, q Query) *View {
	v := New(keep)
	v.query = &q
	return v
}

// Name implements projections.Projection.
func (v *View) Name() string { return "requests" }

// Version implements projections.Projection.
func (v *View) Version() uint32 { return 5 }

// Position is the last one folded.
func (v *View) Position() events.Position { return v.at }

// Account is an account's id by its roster number, "" for none.
func (v *View) Account(no uint32) string { return v.accounts.ID(no) }

// Apply folds a committed event.
func (v *View) Apply(e *events.Event) {
	v.at = e.Position
	v.expire(e.ObservedAt)
	switch p := e.Data.(type) {
	case *events.AccountEnrolled:
		v.accounts.Enrol(e.Account)
	case *events.CandidatesListed:
		v.lists.Add(e, p.Verdicts)
	case *events.AttemptRouted:
		v.routed(e, p)
	case *events.RequestRefused:
		v.refused(e, p)
	case *events.AttemptSucceeded:
		v.succeeded(e, p)
	case *events.RequestEnded:
		v.over(e, p)
	default:
		if f, ok := events.FailureOf(e.Data); ok {
			v.failed(e, f)
		}
	}
}

// skips notes whom a decision kept out, each account once. A stored list also
// holds the chosen one.
func (v *View) skips(r *Row, e *events.Event, verdicts []events.Verdict, at events.Ref, chosen uint32) {
	verdicts = v.lists.Whole(e, verdicts, at)
	if len(verdicts) == 0 {
		return
	}
	v.marks.begin(v.accounts.Len())
	for _, no := range r.Skipped {
		v.marks.first(no)
	}
	for i := range verdicts {
		no := verdicts[i].Account
		if verdicts[i].Reason.Skips() && no != chosen && v.marks.first(no) {
			r.Skipped = append(r.Skipped, no)
		}
	}
}

// row is the request's row, a new one for its first event.
func (v *View) row(e *events.Event, s *events.Stamp) *Row {
	r := v.rows[e.Request]
	if r == nil {
		v.missed = v.missed || e.Attempt > 1
		r = v.blank()
		r.ID, r.Writer, r.Started, r.First = e.Request, e.Writer, s.DecidedAt, e.Position
		r.Client, r.Dialect, r.Asked, r.Session = s.Client, s.Dialect, s.Asked, s.Session
		v.rows[e.Request] = r
	}
	v.touch(r)
	r.Last = e.Position
	r.Decisions = append(r.Decisions, e.Position)
	return r
}

func (v *View) blank() *Row {
	n := len(v.spare)
	if n == 0 {
		return &Row{}
	}
	r := v.spare[n-1]
	v.spare = v.spare[:n-1]
	return r
}

func (v *View) routed(e *events.Event, p *events.AttemptRouted) {
	r := v.row(e, &p.Stamp)
	r.Tried = append(r.Tried, p.Chosen)
	v.skips(r, e, p.Skipped, p.Listed, p.Chosen)
	r.idle = 0
	r.open = &OpenAttempt{Header: e.Header, Position: e.Position, DecidedAt: p.Stamp.DecidedAt, Chosen: p.Chosen, Trial: copyTrial(p.Trial)}
}

func (v *View) refused(e *events.Event, p *events.RequestRefused) {
	r := v.row(e, &p.Stamp)
	v.skips(r, e, p.Verdicts, p.Listed, 0)
	r.Status, r.Code = p.Status, p.Code
	v.end(r, e.ObservedAt, Refused)
}

func (v *View) succeeded(e *events.Event, p *events.AttemptSucceeded) {
	r := v.answered(e)
	if r == nil {
		return
	}
	r.Served, r.Status, r.Code, r.Class = v.accounts.Of(e.Account), p.Answer.Status, "", events.ClassSuccess
	v.end(r, e.ObservedAt, Served)
}

func (v *View) failed(e *events.Event, f *events.Failure) {
	r := v.answered(e)
	if r == nil {
		return
	}
	r.Class = f.Class
	switch {
	case f.Followed.GoesOn():
		v.rest(r, e)
	case f.Reply != nil:
		v.replied(r, e, f.Reply)
		v.end(r, e.ObservedAt, Failed)
	case f.Class == events.ClassClientAborted:
		r.Status = reached(f)
		v.end(r, e.ObservedAt, Aborted)
	default:
		r.Status = reached(f)
		v.end(r, e.ObservedAt, Failed)
	}
}

// over ends a request that looked for another account in vain.
func (v *View) over(e *events.Event, p *events.RequestEnded) {
	r := v.answered(e)
	if r == nil {
		return
	}
	v.replied(r, e, &p.Reply)
	o := Failed
	if p.Class == events.ClassClientAborted {
		r.Class, o = p.Class, Aborted
	}
	v.end(r, e.ObservedAt, o)
}

// replied notes what the client got.
func (v *View) replied(r *Row, e *events.Event, p *events.Reply) {
	r.Status, r.Code = p.Status, p.Code
	v.skips(r, e, p.Left, p.Listed, 0)
}

// copyTrial: a projection must not keep what it was given.
func copyTrial(t *events.Trial) *events.Trial {
	if t == nil {
		return nil
	}
	return &events.Trial{Cells: slices.Clone(t.Cells), Step: t.Step, Lease: t.Lease}
}

// reached is the status that a client saw of an answer which then broke off.
func reached(f *events.Failure) uint32 {
	if f.Committed {
		return f.Answer.Status
	}
	return 0
}

// answered closes the open attempt that an outcome is of. An outcome of a
// request that was served already changes nothing: a process that came back may
// append what another had to call lost.
func (v *View) answered(e *events.Event) *Row {
	r := v.rows[e.Request]
	v.missed = v.missed || r == nil
	if r == nil || r.Outcome == Served {
		return nil
	}
	if r.open != nil && r.open.Attempt == e.Attempt {
		r.open = nil
	}
	v.touch(r)
	r.Last = e.Position
	return r
}
