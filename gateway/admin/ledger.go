package admin

import (
	"net/http"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/ledger/checkpoint"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/projections/routing"
	"github.com/waybill/waybill/projections/usage"
)

// LedgerState is where the ledger ends and how far the views are.
type LedgerState struct {
	Position   events.Position `json:"position"`
	Hash       string          `json:"hash"`
	RecordedAt events.Time     `json:"recorded_at"`
	Folded     events.Position `json:"folded"`
	Lag        uint64          `json:"lag"`
	Segments   []Segment       `json:"segments"` // in order; the last is the one that grows
	Size       Size            `json:"size"`
	Retention  *Retention      `json:"retention"`  // null: not told
	Checkpoint *Signed         `json:"checkpoint"` // the latest; null: none yet
	Spool      *Spool          `json:"spool"`      // of this gateway; null: not told

	Gateways []inquiry.Gateway `json:"gateways"` // that wrote one of the newest events; of others nothing is known here
}

// Spool is what waits in this process for the ledger while that is away.
type Spool struct {
	Since  events.Time `json:"since"`  // when the ledger went away; null: it is there
	Events int         `json:"events"` // that wait for it
	Bytes  int64       `json:"bytes"`  // that the spool takes
	Max    int64       `json:"max"`    // of Bytes
}

// Signed is a checkpoint of the ledger.
type Signed struct {
	Position   events.Position `json:"position"`
	Hash       string          `json:"hash"`
	RecordedAt events.Time     `json:"recorded_at"`
	Fault      string          `json:"fault,omitempty"` // why the ledger does not hold it any more, or none can be kept
}

func (a *API) ledger(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r)
	m, _ := q.moment(a.o.Engine.Now())
	if err := q.done(); err != nil {
		return err
	}
	out, err := a.LedgerState(r.Context(), m)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, out)
}

func (a *API) signed() *Signed {
	if a.o.Checkpoint == nil {
		return nil
	}
	st := a.o.Checkpoint()
	out := Signed{Position: st.Head.Position, Hash: st.Head.Hash.String(), RecordedAt: st.Head.RecordedAt}
	switch {
	case st.Fault != nil:
		out.Fault = st.Fault.Error()
	case st.Note == nil:
		return nil
	}
	return &out
}

// checkpoint gives the signed note as it is.
func (a *API) checkpoint(w http.ResponseWriter, r *http.Request) error {
	if err := newQuery(r).done(); err != nil {
		return err
	}
	var st checkpoint.State
	if a.o.Checkpoint != nil {
		st = a.o.Checkpoint()
	}
	if st.Note == nil {
		return problemf(http.StatusNotFound, "no checkpoint of this ledger was taken yet")
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, err := w.Write(st.Note)
	return err
}

// verify checks the whole ledger and derives every decision again.
func (a *API) verify(w http.ResponseWriter, r *http.Request) error {
	if err := newQuery(r).done(); err != nil {
		return err
	}
	v, err := a.Verify(r.Context(), nil)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, v)
}

// usage sums requests and tokens.
func (a *API) usage(w http.ResponseWriter, r *http.Request) error {
	q := newQuery(r)
	by := usage.Account
	if s := q.get("by"); s != "" {
		var ok bool
		if by, ok = usage.ParseBy(s); !ok {
			q.refuse("by", "account, model, client or day")
		}
	}
	m, _ := q.moment(a.o.Engine.Now())
	since, until, limit, after := q.time("since"), q.time("until"), q.limit(), q.position("after")
	q.span(since, until)
	if err := q.done(); err != nil {
		return err
	}
	sums, err := a.Usage(r.Context(), m, by, since, until)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, paged(sums, limit, after))
}

// state digests the committed state of the live views, for rebuild --check.
// Each view says at which position it was taken.
func (a *API) state(w http.ResponseWriter, r *http.Request) error {
	if err := newQuery(r).done(); err != nil {
		return err
	}
	var out []inquiry.State
	a.o.Engine.View(func(v routing.View, at events.Position, _ events.Time) {
		out = append(out, inquiry.StateOf(v.Admission, at), inquiry.StateOf(v.Pins, at))
	})
	a.o.Engine.Requests(func(v *requests.View, at events.Position) { out = append(out, inquiry.StateOf(v, at)) })
	return answer(w, http.StatusOK, list[inquiry.State]{Data: out})
}
