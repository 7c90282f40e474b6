package whatif

import (
	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/pins"
	"github.com/waybill/waybill/projections/routing"
)

// world is the views of one course of events, and how long each account was set
// aside in it.
type world struct {
	live     *projections.Live
	view     routing.View
	inFlight map[uint32]int64
	parked   []park
	one      [1]events.Event
	seq      uint64 // of the events that the replay itself makes
}

// proposer is the writer of the events that the replay makes: what a decision
// knew of them is told by their numbers, as among the events of one process.
var proposer = uuid.UUID{0xff}

// park is one account's time out of service, as its own verdict has it.
type park struct {
	out        bool
	since      events.Time // of the last judgement
	valid      events.Time // time alone may change it then
	generation uint64
	total      int64 // microseconds
}

func newWorld() *world {
	v := routing.View{Admission: admission.New(), Pins: pins.New(), Cache: routing.NewCache()}
	return &world{live: projections.NewLive(v.Admission, v.Pins), view: v, inFlight: map[uint32]int64{}}
}

func (w *world) load(account uint32) int64 { return w.inFlight[account] }

func (w *world) number(id string) uint32 {
	if a := w.view.Admission.Account(id); a != nil {
		return a.No
	}
	return 0
}

// fold takes an event and judges again whom it may concern.
func (w *world) fold(e *events.Event, now events.Time) {
	w.one[0] = *e
	w.live.Commit(w.one[:])
	for n := len(w.view.Admission.Roster()); len(w.parked) < n; {
		w.parked = append(w.parked, park{since: now, generation: ^uint64(0)})
	}
	for i := range w.parked {
		if g := w.view.Admission.Generation(uint32(i + 1)); g != w.parked[i].generation {
			w.parked[i].generation = g
			w.judge(i, now)
		}
	}
}

// pass lets time pass: verdicts change at their own instants.
func (w *world) pass(now events.Time) {
	for i := range w.parked {
		for p := &w.parked[i]; p.valid != 0 && p.valid <= now && p.valid > p.since; {
			w.judge(i, p.valid)
		}
	}
}

// judge closes the time since the last judgement and judges at an instant.
func (w *world) judge(i int, at events.Time) {
	p := &w.parked[i]
	if p.out && at > p.since {
		p.total += int64(at - p.since)
	}
	doc, _ := w.view.Admission.Document()
	v := admission.Admit(w.view.Admission, admission.Path{Account: uint32(i + 1)}, &doc.Policy, at)
	p.out, p.valid, p.since = !v.Admitted, v.Valid, max(at, p.since)
}

// seconds is the time out of service up to an instant.
func (w *world) seconds(i int, now events.Time) int64 {
	if i >= len(w.parked) {
		return 0
	}
	p := w.parked[i]
	if p.out && now > p.since {
		p.total += int64(now - p.since)
	}
	return p.total / 1_000_000
}

// make folds an event of the replay's own.
func (w *world) make(h events.Header, at events.Position, p events.Payload, now events.Time) {
	w.seq++
	h.Writer, h.WriterSeq = proposer, w.seq
	w.fold(&events.Event{Header: h, Position: at, Data: p}, now)
}

func (w *world) header(q *request, no uint32, model string, now events.Time) events.Header {
	a := w.view.Admission.Roster()[no-1]
	return events.Header{ID: q.id, Account: a.ID, Epoch: a.Epoch, Model: model, Request: q.id, Attempt: q.attempt, ObservedAt: now}
}

// claim folds the claim of a trial; it is granted iff its slots are free.
func (w *world) claim(q *request, d *routing.Decision, now events.Time, at events.Position) {
	w.make(w.header(q, d.Account, d.Model, now), at, &events.TrialClaimed{Trial: *d.Trial}, now)
}
