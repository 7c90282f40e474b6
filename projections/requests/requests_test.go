package requests

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections"
)

var _ projections.Projection = (*View)(nil)

const t0 events.Time = 1_796_000_000_000_000

// tape is a writer's events for tests.
type tape struct {
	at     events.Position
	now    events.Time
	writer uuid.UUID
	out    []events.Event
}

func newTape(accounts ...string) *tape {
	t := &tape{now: t0, writer: id(9_000)}
	for _, a := range accounts {
		t.add(events.Header{Account: a}, &events.AccountEnrolled{})
	}
	return t
}

func id(n int) uuid.UUID {
	var u uuid.UUID
	binary.BigEndian.PutUint64(u[8:], uint64(n))
	return u
}

func (t *tape) add(h events.Header, p events.Payload) events.Position {
	t.at++
	t.now = t.now.Add(time.Second)
	h.ID, h.Writer, h.WriterSeq, h.ObservedAt = id(int(t.at)), t.writer, uint64(t.at), t.now
	t.out = append(t.out, events.Event{Header: h, Position: t.at, RecordedAt: t.now, Data: p})
	return t.at
}

func (t *tape) routed(req int, attempt uint32, no uint32, account string, skipped ...events.Verdict) events.Position {
	return t.add(events.Header{Request: id(req), Attempt: attempt, Account: account, Model: "m1"},
		&events.AttemptRouted{Stamp: t.stamp(), Chosen: no, Skipped: skipped})
}

func (t *tape) stamp() events.Stamp {
	return events.Stamp{DecidedAt: t.now, Client: "app", Dialect: events.DialectOpenAI, Asked: "m1", Session: events.DigestOf("s")}
}

func (t *tape) ok(req int, attempt uint32, account string) {
	t.add(events.Header{Request: id(req), Attempt: attempt, Account: account}, &events.AttemptSucceeded{Answer: events.Answer{Status: 200}})
}

func (t *tape) fail(req int, attempt uint32, account string, f events.Failure) {
	t.add(events.Header{Request: id(req), Attempt: attempt, Account: account}, events.FailureEvent(f))
}

func (t *tape) fold(v *View) *View {
	for i := range t.out {
		v.Apply(&t.out[i])
	}
	return v
}

func get(t *testing.T, v *View, req int) Row {
	t.Helper()
	r, ok := v.Get(id(req))
	if !ok {
		t.Fatalf("request %d has no row", req)
	}
	return r
}

func TestHowARequestEnds(t *testing.T) {
	overloaded := events.Failure{Class: events.ClassOverloaded, Answer: events.Answer{Status: 529}}
	over := func(f events.Failure) events.Failure { f.Followed = events.FollowedFailover; return f }
	seek := func(f events.Failure) events.Failure { f.Followed = events.FollowedSearch; return f }
	rows := []struct {
		name   string
		play   func(*tape)
		want   Outcome
		status uint32
		code   string
		tried  []uint32
	}{
		{"a success serves", func(p *tape) { p.routed(1, 1, 1, "a"); p.ok(1, 1, "a") }, Served, 200, "", []uint32{1}},
		{"a failover and a success serve", func(p *tape) {
			p.routed(1, 1, 1, "a")
			p.fail(1, 1, "a", over(overloaded))
			p.routed(1, 2, 2, "b")
			p.ok(1, 2, "b")
		}, Served, 200, "", []uint32{1, 2}},
		{"a returned answer fails with what the client got", func(p *tape) {
			p.routed(1, 1, 1, "a")
			f := overloaded
			f.Followed, f.Reply = events.FollowedReturned, &events.Reply{Status: 503, Code: "accounts_unavailable"}
			p.fail(1, 1, "a", f)
		}, Failed, 503, "accounts_unavailable", []uint32{1}},
		{"a stream that breaks after the first byte fails with the status that was sent", func(p *tape) {
			p.routed(1, 1, 1, "a")
			p.fail(1, 1, "a", events.Failure{Class: events.ClassNetwork, Answer: events.Answer{Status: 200}, Committed: true})
		}, Failed, 200, "", []uint32{1}},
		{"a client that leaves aborts", func(p *tape) {
			p.routed(1, 1, 1, "a")
			p.fail(1, 1, "a", events.Failure{Class: events.ClassClientAborted})
		}, Aborted, 0, "", []uint32{1}},
		{"a lost attempt fails", func(p *tape) {
			p.routed(1, 1, 1, "a")
			p.fail(1, 1, "a", events.Failure{Class: events.ClassLost})
		}, Failed, 0, "", []uint32{1}},
		{"an outcome that arrives after its attempt was called lost wins", func(p *tape) {
			p.routed(1, 1, 1, "a")
			p.fail(1, 1, "a", events.Failure{Class: events.ClassLost})
			p.ok(1, 1, "a")
		}, Served, 200, "", []uint32{1}},
		{"a success is not undone by a later lost", func(p *tape) {
			p.routed(1, 1, 1, "a")
			p.ok(1, 1, "a")
			p.fail(1, 1, "a", events.Failure{Class: events.ClassLost})
		}, Served, 200, "", []uint32{1}},
		{"a refusal has a row with no attempt", func(p *tape) {
			p.add(events.Header{Request: id(1)}, &events.RequestRefused{Stamp: p.stamp(), Code: "accounts_exhausted", Status: 429})
		}, Refused, 429, "accounts_exhausted", nil},
		{"no outcome yet is open", func(p *tape) { p.routed(1, 1, 1, "a") }, Open, 0, "", []uint32{1}},
		{"between attempts it is open", func(p *tape) { p.routed(1, 1, 1, "a"); p.fail(1, 1, "a", over(overloaded)) }, Open, 0, "", []uint32{1}},
		{"a search that found nobody fails with what the client got", func(p *tape) {
			p.routed(1, 1, 1, "a")
			p.fail(1, 1, "a", seek(overloaded))
			p.add(events.Header{Request: id(1)}, &events.RequestEnded{Class: events.ClassOverloaded, Reply: events.Reply{Status: 529}})
		}, Failed, 529, "", []uint32{1}},
		{"a client that leaves a search aborts", func(p *tape) {
			p.routed(1, 1, 1, "a")
			p.fail(1, 1, "a", seek(overloaded))
			p.add(events.Header{Request: id(1)}, &events.RequestEnded{Class: events.ClassClientAborted})
		}, Aborted, 0, "", []uint32{1}},
		{"a search under way is open", func(p *tape) { p.routed(1, 1, 1, "a"); p.fail(1, 1, "a", seek(overloaded)) }, Open, 0, "", []uint32{1}},
		{"left between attempts it counts as aborted after ten minutes of events", func(p *tape) {
			p.routed(1, 1, 1, "a")
			p.fail(1, 1, "a", over(overloaded))
			p.now = p.now.Add(idleLimit)
			p.add(events.Header{}, &events.GatewayStarted{})
		}, Aborted, 0, "", []uint32{1}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			p := newTape("a", "b")
			row.play(p)
			r := get(t, p.fold(New(Keep)), 1)
			if r.Outcome != row.want || r.Status != row.status || r.Code != row.code || !reflect.DeepEqual(r.Tried, row.tried) {
				t.Fatalf("got %s %d %q tried %v", r.Outcome, r.Status, r.Code, r.Tried)
			}
		})
	}
}

func TestSkippedNamesEveryAccountThatAVerdictKeptOut(t *testing.T) {
	p := newTape("a", "b", "c", "d")
	list := p.add(events.Header{}, &events.CandidatesListed{Verdicts: []events.Verdict{{Account: 4, Reason: events.ReasonDrained}, {Account: 1}}})
	p.routed(1, 1, 1, "a", events.Verdict{Account: 2, Reason: events.ReasonWindowExhausted}, events.Verdict{Account: 3})
	f := events.Failure{Class: events.ClassServerError, Followed: events.FollowedReturned, Reply: &events.Reply{Status: 500, Listed: events.Ref(list),
		Left: []events.Verdict{{Account: 1, Reason: events.ReasonAlreadyTried}, {Account: 2, Reason: events.ReasonWindowExhausted}}}}
	p.fail(1, 1, "a", f)
	v := p.fold(New(Keep))
	if r := get(t, v, 1); !reflect.DeepEqual(r.Skipped, []uint32{2, 4}) {
		t.Fatalf("skipped %v", r.Skipped)
	}
	if rows, _ := v.List(Query{Skipped: "d"}); len(rows) != 1 {
		t.Fatalf("skipped=d finds %d rows", len(rows))
	}
	if rows, _ := v.List(Query{Skipped: "a"}); len(rows) != 0 {
		t.Fatalf("skipped=a finds %d rows", len(rows))
	}
}

func TestAListIsFoundByItsWritersNumberAndTheChosenOneIsNotSkipped(t *testing.T) {
	p := newTape("a", "b", "c")
	list := p.add(events.Header{}, &events.CandidatesListed{Verdicts: []events.Verdict{
		{Account: 1, Reason: events.ReasonWindowExhausted}, {Account: 2, Reason: events.ReasonDrained}, {Account: 3}}})
	p.add(events.Header{Request: id(1), Attempt: 1, Account: "a"}, &events.AttemptRouted{Chosen: 1, Listed: -events.Ref(list)})
	if r := get(t, p.fold(New(Keep)), 1); !reflect.DeepEqual(r.Skipped, []uint32{2}) {
		t.Fatalf("skipped %v", r.Skipped)
	}
}

func TestOpenAttemptsAreKnownByTheirWriter(t *testing.T) {
	p := newTape("a")
	p.routed(1, 1, 1, "a")
	p.routed(2, 1, 1, "a")
	p.ok(1, 1, "a")
	dead := p.writer
	p.writer = id(9_001)
	p.routed(3, 1, 1, "a")
	v := p.fold(New(Keep))
	got := v.OpenAttempts(dead)
	if len(got) != 1 || got[0].Request != id(2) || got[0].Account != "a" || got[0].Model != "m1" {
		t.Fatalf("open attempts of the dead writer: %+v", got)
	}
	if w := v.OpenWriters(); !reflect.DeepEqual(w, []uuid.UUID{dead, p.writer}) {
		t.Fatalf("writers with open attempts: %v", w)
	}
}

// A process died while an append was under way; another closed its attempt, and
// then the append took effect: it had failed over.
func TestAnAttemptIsOpenThoughItsRequestWasClosedBefore(t *testing.T) {
	p := newTape("a", "b")
	p.routed(1, 1, 1, "a")
	h := events.Header{Request: id(1), Attempt: 1, Account: "a"}
	p.add(h, events.FailureEvent(events.Failure{Class: events.ClassLost}))
	p.add(h, events.FailureEvent(events.Failure{Class: events.ClassTimeout, Followed: events.FollowedFailover}))
	p.routed(1, 2, 2, "b")
	v := p.fold(New(Keep))
	if got := v.OpenAttempts(p.writer); len(got) != 1 || got[0].Attempt != 2 || len(v.OpenWriters()) != 1 {
		t.Fatalf("open attempts: %+v", got)
	}
	h.Attempt, h.Account = 2, "b"
	p.add(h, events.FailureEvent(events.Failure{Class: events.ClassLost}))
	if v := p.fold(New(Keep)); len(v.OpenWriters()) != 0 {
		t.Error("closed, and still open")
	}
	h = events.Header{Request: id(2), Attempt: 1, Account: "a"}
	p.routed(2, 1, 1, "a")
	p.add(h, events.FailureEvent(events.Failure{Class: events.ClassLost}))
	p.add(h, events.FailureEvent(events.Failure{Class: events.ClassTimeout, Followed: events.FollowedSearch}))
	if v := p.fold(New(Keep)); len(v.OpenWriters()) != 0 {
		t.Error("a request that had ended is searched for")
	}
}

func TestTheRingKeepsTheNewestAndSaysFromWhere(t *testing.T) {
	p := newTape("a")
	p.routed(99, 1, 1, "a") // stays open
	for i := 1; i <= 10; i++ {
		p.routed(i, 1, 1, "a")
		p.ok(i, 1, "a")
	}
	v := p.fold(New(3))
	rows, more := v.List(Query{Limit: 3})
	if !more || rows[0].ID != id(10) || rows[2].ID != id(8) {
		t.Fatalf("newest first: %v more=%v", rows, more)
	}
	rows, _ = v.List(Query{OldestFirst: true})
	if len(rows) != 4 || rows[0].ID != id(99) {
		t.Fatalf("an open request is never dropped: %d rows", len(rows))
	}
	if want := rows[1].First - 2; v.Complete() != want {
		t.Fatalf("complete above %d, want %d", v.Complete(), want)
	}
}

// random plays requests that end in every way.
func random(seed uint64, n int) *tape {
	rnd := rand.New(rand.NewPCG(seed, 1))
	p := newTape("a", "b", "c")
	names := []string{"a", "b", "c"}
	for i := 1; i <= n; i++ {
		no := rnd.IntN(3)
		if rnd.IntN(6) == 0 {
			p.add(events.Header{Request: id(i)}, &events.RequestRefused{Stamp: p.stamp(), Code: "saturated", Status: 503, Verdicts: []events.Verdict{{Account: 1, Reason: events.ReasonSaturated}}})
			continue
		}
		p.routed(i, 1, uint32(no+1), names[no])
		if rnd.IntN(3) == 0 {
			p.out[len(p.out)-1].Data.(*events.AttemptRouted).Trial = &events.Trial{Cells: []events.Cell{{Axis: events.AxisRate, Scope: events.Scope{Kind: events.ScopeModel, Name: "m1"}}}, Step: 2, Lease: p.now}
		}
		j := 1 + rnd.IntN(i)
		switch rnd.IntN(4) {
		case 0:
			p.ok(j, 1, "a")
		case 1:
			p.fail(j, 1, "a", events.Failure{Class: events.ClassTimeout, Followed: events.FollowedFailover})
		case 2:
			p.fail(j, 1, "a", events.Failure{Class: events.ClassClientAborted})
		}
		if rnd.IntN(40) == 0 {
			p.now = p.now.Add(time.Hour)
		}
	}
	return p
}

func TestSnapshotAndTailEqualTheFoldFromZero_I1(t *testing.T) {
	for seed := range uint64(20) {
		p := random(seed, 120)
		whole := p.fold(New(16)).AppendState(nil)
		for cut := 0; cut <= len(p.out); cut += 7 {
			a, b := New(16), New(16)
			for i := range p.out[:cut] {
				a.Apply(&p.out[i])
			}
			state := a.AppendState(nil)
			if err := b.LoadState(state); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b.AppendState(nil), state) {
				t.Fatalf("seed %d cut %d: a loaded state is not what was saved", seed, cut)
			}
			for i := range p.out[cut:] {
				b.Apply(&p.out[cut+i])
			}
			if !bytes.Equal(b.AppendState(nil), whole) {
				t.Fatalf("seed %d: snapshot at %d and tail differ from the fold from zero", seed, cut)
			}
		}
	}
}

func TestAFilteredViewFindsWhatAFullOneFinds(t *testing.T) {
	failed := Failed
	for seed := range uint64(10) {
		p := random(seed, 200)
		q := Query{Outcome: &failed}
		want, _ := p.fold(New(10_000)).List(q)
		got, _ := p.fold(NewFiltered(10_000, q)).List(q)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: %d rows, want %d", seed, len(got), len(want))
		}
	}
}

func BenchmarkAServedRequest(b *testing.B) {
	p := newTape("a")
	v := p.fold(New(Keep))
	routed := events.Event{Header: events.Header{Account: "a", Attempt: 1}, Data: &events.AttemptRouted{Stamp: p.stamp(), Chosen: 1}}
	done := events.Event{Header: events.Header{Account: "a", Attempt: 1}, Data: &events.AttemptSucceeded{Answer: events.Answer{Status: 200}}}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		routed.Request, done.Request = id(i+1), id(i+1)
		routed.Position, done.Position = events.Position(2*i), events.Position(2*i+1)
		v.Apply(&routed)
		v.Apply(&done)
	}
}
