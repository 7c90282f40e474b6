package ledgertest

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// Maker makes drafts like those of a gateway: decisions and outcomes of
// requests over some accounts. It is one writer; it is not safe for concurrent
// use.
type Maker struct {
	Accounts int // how many accounts take part [20]
	writer   uuid.UUID
	seq      uint64
	clock    *atomic.Uint64 // milliseconds, one for each id
	names    []string       // of the accounts
	requests [32]uuid.UUID
}

// makers numbers the makers of a process, so that their ids differ.
var makers atomic.Uint64

// NewMaker is a writer of its own, with a clock of its own.
func NewMaker() *Maker {
	clock := new(atomic.Uint64)
	clock.Store(1_796_000_000_000)
	return newMaker(clock)
}

// Beside is another writer by the same clock: what two of them make at a time
// has ids that lie close together, as in one process.
func (m *Maker) Beside() *Maker { return newMaker(m.clock) }

func newMaker(clock *atomic.Uint64) *Maker {
	n := makers.Add(1)
	m := &Maker{Accounts: 20, clock: clock}
	m.writer = uuid.Must(uuid.NewV7())
	binary.BigEndian.PutUint32(m.writer[12:], uint32(n))
	return m
}

// id is a UUIDv7, greater than the one before it.
func (m *Maker) id() uuid.UUID {
	var id uuid.UUID
	binary.BigEndian.PutUint64(id[:8], m.clock.Add(1)<<16|7<<12)
	copy(id[8:], m.writer[8:])
	id[8] = id[8]&0x3f | 0x80
	return id
}

// Drafts makes n drafts.
func (m *Maker) Drafts(n int) []events.Draft {
	out := make([]events.Draft, n)
	for i := range out {
		out[i] = m.draft()
	}
	return out
}

// Records makes n sealed drafts.
func (m *Maker) Records(n int) []events.Record {
	out := make([]events.Record, n)
	for i := range out {
		d := m.draft()
		out[i] = events.Seal(&d)
	}
	return out
}

func (m *Maker) draft() events.Draft {
	m.seq++
	slot := (m.seq - 1) / 2 % uint64(len(m.requests))
	at := events.Time(m.clock.Load() * 1000)
	n := uint32(m.seq*2654435761>>7) % uint32(m.Accounts)
	d := events.Draft{Header: events.Header{
		ID: m.id(), Writer: m.writer, WriterSeq: m.seq, ObservedAt: at,
		Account: m.name(n), Epoch: 0x1234567890abcdef, Model: "gpt-5.2", Attempt: 1,
	}}
	if m.seq%2 == 1 {
		m.requests[slot] = d.ID
		d.Data = routed(n, at)
	} else {
		d.Data = succeeded(at)
	}
	d.Request = m.requests[slot]
	return d
}

// name is an account's, made once.
func (m *Maker) name(n uint32) string {
	for i := len(m.names); i <= int(n); i++ {
		m.names = append(m.names, fmt.Sprintf("account-%d", i))
	}
	return m.names[n]
}

// What all requests of a maker have in common.
var policy, session = events.DigestOf("policy"), events.DigestOf("session")

func routed(n uint32, at events.Time) events.Payload {
	return &events.AttemptRouted{
		Stamp: events.Stamp{DecidedAt: at, View: events.Position(at % 1_000_000), Pending: 17, Rules: 1,
			Policy: policy, Client: "app", Dialect: events.DialectOpenAI, Asked: "gpt-5.2",
			Session: session},
		Chosen: n + 1, Strategy: events.StrategyBalanced, Weight: 1,
		Skipped: []events.Verdict{{Account: 1, Reason: events.ReasonRateLimited, Evidence: 4711}, {Account: 3}},
	}
}

func succeeded(at events.Time) events.Payload {
	return &events.AttemptSucceeded{
		Answer: events.Answer{Status: 200, DispatchedAt: at - 900_000, AnsweredAt: at, FirstByte: 120_000_000,
			Usage:      &events.Usage{Input: events.Int(1200), Output: events.Int(340), CachedInput: events.Int(0)},
			UpstreamID: "req_011CSHoEeqs5C35K2UUqR7Fy"},
		Terminal: "stop", Knew: 4711,
	}
}
