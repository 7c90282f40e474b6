package audit

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/pins"
	"github.com/waybill/waybill/projections/routing"
)

const t0 events.Time = 1_796_000_000_000_000

// world is a ledger and several writers that decide on views which lag behind
// it, each by its own measure, and that see their own events at once.
type world struct {
	rnd     *rand.Rand
	now     events.Time
	ledger  []events.Event
	writers []*writer
	ids     uint64
}

type writer struct {
	w       *world
	id      uuid.UUID
	seq     uint64
	live    *projections.Live
	view    routing.View
	queue   []events.Draft // submitted, not committed
	current []request      // dispatched, not answered
	lists   map[string]uint64
}

type request struct {
	id      uuid.UUID
	attempt uint32
	account string
	model   string
	routed  *events.AttemptRouted
	tried   []uint32
}

func newWorld(seed uint64, accounts int) *world {
	w := &world{rnd: rand.New(rand.NewPCG(seed, 7)), now: t0}
	first := w.join()
	for i := range accounts {
		first.submit(events.Header{Account: name(i)}, &events.AccountEnrolled{Settings: events.Settings{
			Provider: "openai-compatible", Endpoint: "up.test", Dialects: []events.Dialect{events.DialectOpenAI}, QuotaSource: "push"}})
	}
	doc := events.Document{Policy: events.DefaultPolicy()}
	first.submit(events.Header{}, &events.PolicyAdopted{Digest: doc.Digest(), Document: doc})
	first.commit(len(first.queue))
	first.fold(len(w.ledger))
	return w
}

func name(i int) string { return "acct-" + string(rune('a'+i/26)) + string(rune('a'+i%26)) }

func (w *world) uuid() uuid.UUID {
	w.ids++
	var u uuid.UUID
	binary.BigEndian.PutUint64(u[:], w.ids*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint64(u[8:], w.ids)
	return u
}

// join starts a writer that has folded the whole ledger.
func (w *world) join() *writer {
	adm, pin := admission.New(), pins.New()
	p := &writer{w: w, id: w.uuid(), live: projections.NewLive(adm, pin), view: routing.View{Admission: adm, Pins: pin}, lists: map[string]uint64{}}
	p.fold(len(w.ledger))
	p.submit(events.Header{}, &events.GatewayStarted{Folded: p.live.Position()})
	w.writers = append(w.writers, p)
	return p
}

func (p *writer) submit(h events.Header, data events.Payload) {
	p.seq++
	h.ID, h.Writer, h.WriterSeq, h.ObservedAt = p.w.uuid(), p.id, p.seq, p.w.now
	d := events.Draft{Header: h, Data: data}
	p.queue = append(p.queue, d)
	p.live.Pend(d.Pending())
}

// commit moves the oldest n of the queue into the ledger.
func (p *writer) commit(n int) {
	for _, d := range p.queue[:n] {
		p.w.ledger = append(p.w.ledger, events.Event{Header: d.Header, Position: events.Position(len(p.w.ledger) + 1), RecordedAt: p.w.now, Data: d.Data})
	}
	p.queue = p.queue[n:]
}

// fold brings the writer's view up to a position.
func (p *writer) fold(upto int) {
	if at := int(p.live.Position()); at < upto {
		p.live.Commit(p.w.ledger[at:upto])
	}
}

func (p *writer) ask(r request) {
	s := events.Stamp{DecidedAt: p.w.now, View: p.live.Position(), Pending: p.live.Own(), Client: "app",
		Dialect: events.DialectOpenAI, Asked: r.model, Session: events.DigestOf("s", string(r.id[15]&7)), Tried: r.tried, Last: r.attempt == 3}
	d := routing.Decide(p.view, r.id, r.attempt, &s, func(no uint32) int64 { return int64(no % 3) })
	h := events.Header{Request: r.id, Attempt: r.attempt, Model: r.model}
	if d.Action != routing.Dispatch {
		if d.Action == routing.Refuse && r.attempt == 1 {
			refused := d.Refused(&s)
			refused.Listed = p.list(&d)
			p.submit(h, refused)
		}
		return
	}
	h.Account, h.Model = p.view.Admission.Roster()[d.Account-1].ID, d.Model
	r.account, r.routed = h.Account, d.Routed(&s)
	r.routed.Listed = p.list(&d)
	p.submit(h, r.routed)
	p.current = append(p.current, r)
}

// list stores a long list of candidates once, as an engine does, and refers to
// it by its position, or by the writer's own number while it is pending.
func (p *writer) list(d *routing.Decision) events.Ref {
	if !d.Long() {
		return 0
	}
	key := fmt.Sprint(d.Verdicts())
	seq, known := p.lists[key]
	if !known {
		p.submit(events.Header{}, &events.CandidatesListed{Verdicts: d.Verdicts()})
		seq = p.seq
		p.lists[key] = seq
	}
	for i := range p.w.ledger {
		if e := &p.w.ledger[i]; e.Writer == p.id && e.WriterSeq == seq {
			return events.Ref(e.Position)
		}
	}
	return -events.Ref(seq)
}

// answer gives one of the open attempts an outcome.
func (p *writer) answer() {
	if len(p.current) == 0 {
		return
	}
	i := p.w.rnd.IntN(len(p.current))
	r := p.current[i]
	p.current = append(p.current[:i], p.current[i+1:]...)
	h := events.Header{Request: r.id, Attempt: r.attempt, Account: r.account, Model: r.model}
	a := events.Answer{Status: 200, DispatchedAt: r.routed.Stamp.DecidedAt, AnsweredAt: p.w.now}
	f := events.Failure{Answer: a, Scope: events.Scope{Kind: events.ScopeAccount}, Followed: events.FollowedFailover}
	switch p.w.rnd.IntN(8) {
	case 0:
		f.Class, f.Answer.Status = events.ClassWindowExhausted, 429
		f.Hint = &events.Hint{Until: p.w.now.Add(time.Minute), Source: "header:retry-after"}
	case 1:
		f.Class, f.Answer.Status, f.Scope = events.ClassRateLimited, 429, events.Scope{Kind: events.ScopeModel, Name: r.model}
	case 2:
		f.Class, f.Answer.Status = events.ClassServerError, 500
	case 3:
		f.Class, f.Answer.Status = events.ClassCreditsExhausted, 402
	default:
		p.submit(h, &events.AttemptSucceeded{Answer: a, Terminal: "stop", Knew: r.routed.Stamp.View, KnewOwn: r.routed.Stamp.Pending})
		return
	}
	if r.routed.Trial != nil {
		f.Step = r.routed.Trial.Step
	}
	p.submit(h, events.FailureEvent(f))
	if r.attempt < 3 {
		p.ask(request{id: r.id, attempt: r.attempt + 1, model: r.model, tried: append(r.tried, r.routed.Chosen)})
	}
}

// reading pushes a claim about some account.
func (p *writer) reading() {
	left := events.Decimal(p.w.rnd.IntN(101)) * events.DecimalUnit
	roster := p.view.Admission.Roster()
	p.submit(events.Header{Account: roster[p.w.rnd.IntN(len(roster))].ID}, &events.QuotaFetched{Reading: events.Reading{Source: "push",
		Windows: []events.Window{{Name: "weekly", RemainingPercent: events.Dec(left), Reported: true, Reached: events.Bool(left < 20*events.DecimalUnit), ResetsAt: p.w.now.Add(time.Hour)}}}})
}

// step does one thing somewhere.
func (w *world) step() {
	w.now = w.now.Add(time.Duration(w.rnd.IntN(2000)) * time.Millisecond)
	p := w.writers[w.rnd.IntN(len(w.writers))]
	switch n := w.rnd.IntN(20); {
	case n < 7:
		p.ask(request{id: w.uuid(), attempt: 1, model: "m1"})
	case n < 13:
		p.answer()
	case n < 14:
		p.reading()
	case n < 17:
		p.commit(w.rnd.IntN(len(p.queue) + 1))
	default:
		p.fold(int(p.live.Position()) + w.rnd.IntN(len(w.ledger)-int(p.live.Position())+1))
	}
}

// play runs steps and commits what is left.
func (w *world) play(steps int) []events.Event {
	for range steps {
		w.step()
	}
	for _, p := range w.writers {
		p.commit(len(p.queue))
	}
	return w.ledger
}
