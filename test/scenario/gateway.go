package scenario

import (
	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/pins"
	"github.com/waybill/waybill/projections/routing"
)

// Gateway is one process: it folds the world's ledger and its own pending
// events, and decides on that.
type Gateway struct {
	world    *World
	writer   uuid.UUID
	seq      uint64
	live     *projections.Live
	view     routing.View
	pending  []events.Draft // own, not committed
	inFlight map[uint32]int64
	cursors  map[string]uint64

	// Slow leaves own events pending until Commit; a claim commits them too.
	Slow bool
	// Offline says that the ledger cannot be reached.
	Offline   bool
	unclaimed events.Time
}

func (w *World) newGateway() *Gateway {
	g := &Gateway{world: w, writer: w.id()}
	g.reset()
	g.follow()
	return g
}

// AddGateway starts another process on the same ledger.
func (w *World) AddGateway() *Gateway {
	g := w.newGateway()
	w.Gateways = append(w.Gateways, g)
	return g
}

func (g *Gateway) reset() {
	g.view = routing.View{Admission: admission.New(), Pins: pins.New(), Cache: routing.NewCache()}
	g.live = projections.NewLive(g.view.Admission, g.view.Pins)
	g.inFlight, g.cursors = map[uint32]int64{}, map[string]uint64{}
}

// follow folds what others have committed.
func (g *Gateway) follow() {
	if !g.Offline {
		g.live.Commit(g.world.Log[g.live.Position()-g.world.Trimmed:])
	}
}

// Restart is a new process: it folds from zero and closes what the old one
// left open.
func (g *Gateway) Restart() {
	g.Commit()
	old := g.writer
	g.writer, g.seq = g.world.id(), 0
	g.reset()
	g.follow()
	g.sweep(old)
}

// sweep closes attempts that the ended writer left open: class lost.
func (g *Gateway) sweep(writer uuid.UUID) {
	type attempt struct {
		request uuid.UUID
		n       uint32
	}
	open := map[attempt]*events.Event{}
	var order []attempt
	for i := range g.world.Log {
		e := &g.world.Log[i]
		if e.Writer != writer {
			continue
		}
		a := attempt{e.Request, e.Attempt}
		if _, ok := e.Data.(*events.AttemptRouted); ok {
			open[a] = e
			order = append(order, a)
		} else if ends(e.Data) {
			delete(open, a)
		}
	}
	for _, a := range order {
		e := open[a]
		if e == nil {
			continue
		}
		f := events.Failure{Class: events.ClassLost, Answer: events.Answer{DispatchedAt: e.ObservedAt, AnsweredAt: g.world.Now}}
		if t := e.Data.(*events.AttemptRouted).Trial; t != nil {
			f.Step = t.Step
		}
		h := e.Header
		g.submit(events.Draft{Header: events.Header{Account: h.Account, Epoch: h.Epoch, Model: h.Model, Request: h.Request, Attempt: h.Attempt}, Data: events.FailureEvent(f)})
		g.world.tracef("lost: %s", h.Account)
	}
}

func ends(p events.Payload) bool {
	if _, ok := p.(*events.AttemptSucceeded); ok {
		return true
	}
	_, ok := events.FailureOf(p)
	return ok
}

// Record submits an event that is no decision.
func (g *Gateway) Record(account, model string, data events.Payload) {
	h := events.Header{Account: account, Model: model}
	g.follow()
	if a := g.view.Admission.Account(account); a != nil {
		h.Epoch = a.Epoch
	}
	g.submit(events.Draft{Header: h, Data: data})
}

// submit numbers own events, shows them to the views at once, and commits them
// unless the ledger is slow.
func (g *Gateway) submit(drafts ...events.Draft) {
	for _, d := range drafts {
		g.seq++
		d.ID, d.Writer, d.WriterSeq = g.world.id(), g.writer, g.seq
		if d.ObservedAt == 0 {
			d.ObservedAt = g.world.Now
		}
		g.pending = append(g.pending, d)
		g.live.Pend(d.Pending())
	}
	if !g.Slow {
		g.Commit()
	}
}

// Commit appends the own pending events and folds everything committed.
func (g *Gateway) Commit() {
	if g.Offline {
		return
	}
	g.world.append(g.pending...)
	g.pending = nil
	g.follow()
}

func (g *Gateway) pinOf(r *Request) (pins.Pin, bool) {
	route, _ := routing.RouteOf(g.view, events.DialectOpenAI, r.Model)
	doc, _ := g.view.Admission.Document()
	return g.view.Pins.Of(r.Session, route, &doc.Policy, g.world.Now)
}
