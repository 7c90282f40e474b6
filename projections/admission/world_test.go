package admission

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// epoch0 is when every test begins.
var epoch0 = events.At(time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC))

// after is an instant of a test.
func after(d time.Duration) events.Time { return epoch0.Add(d) }

// world writes a history and folds it as it is written.
type world struct {
	t      testing.TB
	v      *View
	log    []events.Event
	pos    events.Position
	seq    uint64
	writer uuid.UUID
	policy events.Policy
}

func newWorld(t testing.TB, accounts ...string) *world {
	w := &world{t: t, v: New(), writer: id(1, 1), policy: events.DefaultPolicy()}
	for _, a := range accounts {
		w.enrol(a, events.Settings{Provider: "p", Endpoint: "host.example"})
	}
	return w
}

func id(kind byte, n uint64) (u uuid.UUID) {
	u[0] = kind
	binary.BigEndian.PutUint64(u[8:], n)
	return u
}

// add commits an event.
func (w *world) add(h events.Header, p events.Payload) *events.Event {
	w.seq++
	w.pos++
	if h.Writer == uuid.Nil {
		h.Writer = w.writer
	}
	h.WriterSeq, h.ID = w.seq, id(2, w.seq)
	if a := w.v.Account(h.Account); a != nil && h.Epoch == 0 {
		h.Epoch = a.Epoch
	}
	e := events.Event{Header: h, Position: w.pos, RecordedAt: h.ObservedAt, Data: p}
	w.log = append(w.log, e)
	w.v.Apply(&e)
	return &w.log[len(w.log)-1]
}

func (w *world) enrol(account string, s events.Settings) {
	w.add(events.Header{Account: account, ObservedAt: epoch0, Epoch: 1}, &events.AccountEnrolled{Settings: s})
}

// reading commits a quota reading.
func (w *world) reading(account string, at events.Time, windows ...events.Window) *events.Event {
	return w.add(events.Header{Account: account, ObservedAt: at}, &events.QuotaFetched{Reading: events.Reading{Source: "test", Windows: windows}})
}

func (w *world) credit(account string, at events.Time, c events.Credit) *events.Event {
	return w.add(events.Header{Account: account, ObservedAt: at}, &events.QuotaFetched{Reading: events.Reading{Source: "test", Credit: &c}})
}

func (w *world) billing(account string, at events.Time, b events.Billing) *events.Event {
	return w.add(events.Header{Account: account, ObservedAt: at}, &events.QuotaFetched{Reading: events.Reading{Source: "test", Billing: &b}})
}

// spent is an exhausted window, roomy one with something left.
func spent(name string, resets events.Time) events.Window {
	return events.Window{Name: name, RemainingPercent: events.Dec(0), Reported: true, ResetsAt: resets}
}

func roomy(name string, left events.Decimal, resets events.Time) events.Window {
	return events.Window{Name: name, RemainingPercent: events.Dec(left * events.DecimalUnit), Reported: true, ResetsAt: resets}
}

func scoped(win events.Window, scope string) events.Window {
	win.Scope, _ = events.ParseScope(scope)
	return win
}

// call names an attempt.
type call struct {
	account, model string
	request        uint64
	attempt        uint32
	from, to       events.Time
	step           uint32
	knewOwn        uint64
	epoch          events.Epoch
	writer         uuid.UUID
}

func (c call) header(at events.Time) events.Header {
	return events.Header{Account: c.account, Model: c.model, ObservedAt: at, Request: id(3, c.request), Attempt: max(c.attempt, 1), Epoch: c.epoch, Writer: c.writer}
}

// ok commits a success.
func (w *world) ok(c call) *events.Event {
	return w.add(c.header(c.to), &events.AttemptSucceeded{Answer: events.Answer{Status: 200, DispatchedAt: c.from, AnsweredAt: c.to}, KnewOwn: c.knewOwn, Terminal: "stop"})
}

func served(account, model string, from, to time.Duration) call {
	return call{account: account, model: model, from: after(from), to: after(to)}
}

// fail commits another outcome.
func (w *world) fail(c call, f events.Failure) *events.Event {
	f.Answer.DispatchedAt, f.Answer.AnsweredAt, f.Step = c.from, c.to, c.step
	if f.Answer.Status == 0 && f.Class != events.ClassNetwork && f.Class != events.ClassTimeout {
		f.Answer.Status = 400
	}
	return w.add(c.header(c.to), events.FailureEvent(f))
}

func of(class events.Class) events.Failure { return events.Failure{Class: class} }

func stated(class events.Class, until events.Time) events.Failure {
	return events.Failure{Class: class, Hint: &events.Hint{Until: until, Source: "header:Retry-After"}}
}

func (f failure) scope(s string) events.Failure {
	f.Scope, _ = events.ParseScope(s)
	return events.Failure(f)
}

type failure events.Failure

func (w *world) path(account, model string) Path {
	w.t.Helper()
	a := w.v.Account(account)
	if a == nil {
		w.t.Fatalf("no account %q", account)
	}
	return Path{Account: a.No, Model: model}
}

func (w *world) admit(account, model string, now events.Time) Verdict {
	w.t.Helper()
	return Admit(w.v, w.path(account, model), &w.policy, now)
}

// claim commits trial.claimed for the path's blocking cells.
func (w *world) claim(c call) *events.Event {
	w.t.Helper()
	return w.add(c.header(c.from), &events.TrialClaimed{Trial: w.trial(c)})
}

func (w *world) trial(c call) events.Trial {
	d := w.admit(c.account, c.model, c.from)
	t := events.Trial{Step: d.Step + 1, Lease: c.from.Add(w.policy.TrialLease)}
	for _, r := range Explain(w.v, w.path(c.account, c.model), &w.policy, c.from) {
		if r.Blocking {
			t.Cells = append(t.Cells, r.Cell)
		}
	}
	return t
}

func (w *world) granted(c call, now events.Time) bool {
	return w.v.Granted(w.path(c.account, c.model).Account, id(3, c.request), max(c.attempt, 1), now)
}

// cells is Explain by axis and scope.
func (w *world) cellState(account, model string, cell string, now events.Time) string {
	w.t.Helper()
	for _, r := range Explain(w.v, w.path(account, model), &w.policy, now) {
		if r.Cell.Axis.String()+" "+r.Cell.Scope.String() == cell {
			return r.State
		}
	}
	return "clear"
}

// wantOut, wantIn and wantDue check the three answers.
func wantOut(t testing.TB, d Verdict, reason events.Reason, trialAt events.Time) {
	t.Helper()
	if d.Admitted || d.Trial || d.Reason != reason || d.TrialAt != trialAt {
		t.Fatalf("want out for %s until trial at %s, got %s", reason, trialAt, show(d))
	}
}

func wantIn(t testing.TB, d Verdict) {
	t.Helper()
	if !d.Admitted {
		t.Fatalf("want admitted, got %s", show(d))
	}
}

func wantDue(t testing.TB, d Verdict) {
	t.Helper()
	if d.Admitted || !d.Trial {
		t.Fatalf("want a due trial, got %s", show(d))
	}
}

func show(d Verdict) string {
	s := d.Reason.String() + " " + d.Axis.String() + " " + d.Scope.String() + " " + d.State.String() +
		" since " + d.Since.String() + " until " + d.Until.String() + " trial " + d.TrialAt.String() + " slot " + d.SlotEnd.String()
	if d.Admitted {
		s += " ADMITTED"
	}
	if d.Trial {
		s += " TRIAL"
	}
	return s
}
