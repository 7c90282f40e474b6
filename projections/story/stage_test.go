package story

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/audit"
	"github.com/waybill/waybill/projections/pins"
	"github.com/waybill/waybill/projections/routing"
)

// stage is one gateway that commits at once: incidents are played on it, and
// then asked about.
type stage struct {
	t      *testing.T
	now    events.Time
	ledger []events.Event
	live   *projections.Live
	view   routing.View
	ids    uint64
	alone  bool // requests have no session
}

// begin is a Monday.
var begin = events.At(time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC))

func newStage(t *testing.T, strategy events.Strategy, accounts ...string) *stage {
	v := routing.View{Admission: admission.New(), Pins: pins.New()}
	s := &stage{t: t, now: begin, live: projections.NewLive(v.Admission, v.Pins), view: v}
	s.add(events.Header{}, &events.GatewayStarted{Version: "test"})
	for _, a := range accounts {
		s.add(events.Header{Account: a, Epoch: 1}, &events.AccountEnrolled{Settings: events.Settings{Provider: "openai-compatible",
			Endpoint: a + ".example", Dialects: []events.Dialect{events.DialectOpenAI}, QuotaSource: "push"}})
	}
	doc := events.Document{Policy: events.DefaultPolicy(), Models: []events.Route{{Name: "m1", Strategy: strategy, Tiers: []events.Tier{{Accounts: accounts}}}}}
	s.add(events.Header{}, &events.PolicyAdopted{Digest: doc.Digest(), Document: doc})
	return s
}

func (s *stage) id(n uint64) uuid.UUID {
	var u uuid.UUID
	u[6], u[8] = 0x70, 0x80
	binary.BigEndian.PutUint32(u[12:], uint32(n))
	return u
}

func (s *stage) add(h events.Header, p events.Payload) *events.Event {
	s.ids++
	at := events.Position(len(s.ledger) + 1)
	h.ID, h.Writer, h.WriterSeq = s.id(s.ids), s.id(0xffff), uint64(at)
	if h.ObservedAt == 0 {
		h.ObservedAt = s.now
	}
	s.ledger = append(s.ledger, events.Event{Header: h, Position: at, RecordedAt: s.now, Data: p})
	s.live.Commit(s.ledger[at-1:])
	return &s.ledger[at-1]
}

func (s *stage) pass(d time.Duration) { s.now = s.now.Add(d) }

// reading pushes a console's word.
func (s *stage) reading(account string, w ...events.Window) {
	s.add(events.Header{Account: account, Epoch: 1}, &events.QuotaFetched{Reading: events.Reading{Source: "push", Windows: w}})
}

func weeklySpent(reset events.Time) events.Window {
	return events.Window{Name: "weekly", Used: events.Dec(40000 * events.DecimalUnit), Limit: events.Dec(40000 * events.DecimalUnit),
		RemainingPercent: events.Dec(0), Reported: true, ResetsAt: reset}
}

// ask makes one request with the answers that its attempts get, in order; the
// last one stands for the rest.
func (s *stage) ask(n uint64, answers ...events.Payload) uuid.UUID {
	id := s.id(n)
	var tried []uint32
	for attempt := uint32(1); ; attempt++ {
		stamp := events.Stamp{DecidedAt: s.now, View: s.live.Position(), Pending: s.live.Own(), Client: "app", Dialect: events.DialectOpenAI,
			Asked: "m1", Session: events.SessionDigest("app", "s1"), Tried: tried, Last: attempt == 4}
		if s.alone {
			stamp.Session = events.Digest{}
		}
		d := routing.Decide(s.view, id, attempt, &stamp, func(uint32) int64 { return 0 })
		if d.Action == routing.Claim {
			h := s.header(id, attempt, d.Account)
			s.add(h, &events.TrialClaimed{Trial: *d.Trial})
			stamp.View, stamp.Loads = s.live.Position(), nil
			stamp.Claimed = d.Account
			d = routing.Decide(s.view, id, attempt, &stamp, func(uint32) int64 { return 0 })
		}
		if d.Action != routing.Dispatch {
			s.add(events.Header{Request: id, Attempt: attempt}, d.Refused(&stamp))
			return id
		}
		h := s.header(id, attempt, d.Account)
		s.add(h, d.Routed(&stamp))
		if len(answers) == 0 {
			return id
		}
		if !s.answered(h, &d, answers[min(int(attempt)-1, len(answers)-1)], &stamp) {
			return id
		}
		tried = append(tried, d.Account)
	}
}

func (s *stage) header(id uuid.UUID, attempt uint32, no uint32) events.Header {
	a := s.view.Admission.Roster()[no-1]
	return events.Header{Request: id, Attempt: attempt, Account: a.ID, Epoch: a.Epoch, Model: "m1"}
}

// answered records an outcome and says whether another attempt follows.
func (s *stage) answered(h events.Header, d *routing.Decision, p events.Payload, stamp *events.Stamp) bool {
	sent := s.now
	s.pass(120 * time.Millisecond)
	if ok, is := p.(*events.AttemptSucceeded); is {
		done := *ok
		done.Answer.DispatchedAt, done.Answer.AnsweredAt, done.Knew = sent, s.now, stamp.View
		s.add(h, &done)
		if pin := routing.AfterSuccess(s.view, stamp, d); pin != nil {
			s.add(h, pin)
		}
		return false
	}
	f, _ := events.FailureOf(p)
	failed := *f
	failed.Answer.DispatchedAt, failed.Answer.AnsweredAt = sent, s.now
	if d.Trial != nil {
		failed.Step = d.Trial.Step
	}
	s.add(h, events.FailureEvent(failed))
	return failed.Followed == events.FollowedFailover
}

// why tells a request's story out of the ledger.
func (s *stage) why(id uuid.UUID) Request {
	s.t.Helper()
	b := NewBuilder(id)
	a := audit.New(audit.Options{Only: b.Wants, Visit: b.Visit})
	for i := range s.ledger {
		b.Add(&s.ledger[i])
		if err := a.Apply(&s.ledger[i]); err != nil {
			s.t.Fatal(err)
		}
	}
	r, ok := b.Finish(s.look)
	if !ok {
		s.t.Fatalf("request %s has no story", id)
	}
	return r
}

func (s *stage) look(at events.Position) *events.Event {
	if at == 0 || int(at) > len(s.ledger) {
		return nil
	}
	return &s.ledger[at-1]
}

func (s *stage) account(id, model string) Account {
	t := Take(s.view.Admission, s.view.Admission.Account(id).No, model, s.live.Position(), s.now)
	return t.Finish(s.look, 0)
}

var served = &events.AttemptSucceeded{Answer: events.Answer{Status: 200, Usage: &events.Usage{Input: events.Int(120), CachedInput: events.Int(100), Output: events.Int(42)}}, Terminal: "stop"}

func failover(f events.Failure) events.Payload {
	f.Followed = events.FollowedFailover
	return events.FailureEvent(f)
}

func returned(f events.Failure, r events.Reply) events.Payload {
	f.Followed, f.Reply = events.FollowedReturned, &r
	return events.FailureEvent(f)
}

func failure(c events.Class, status uint32, rule string) events.Failure {
	return events.Failure{Class: c, Rule: rule, Answer: events.Answer{Status: status}, Scope: events.Scope{Kind: events.ScopeAccount}}
}
