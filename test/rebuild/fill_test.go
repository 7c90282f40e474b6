package rebuild

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// accounts take part in turn.
const accounts = 100

// fill appends a history of n events: enrolments, a routing document, then
// requests that are decided on a view a little back and answered, mostly well,
// and readings.
func fill(t testing.TB, store ledger.Store, n int) {
	t.Helper()
	h := history{rnd: rand.New(rand.NewPCG(1, 2)), now: 1_796_000_000_000_000, writer: uuid.UUID{7: 0x70, 8: 0x80, 15: 1}}
	batch := make([]events.Record, 0, 1000)
	flush := func() {
		if _, err := store.Commit(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		batch = batch[:0]
	}
	for range n {
		d := h.next()
		batch = append(batch, events.Seal(&d))
		if len(batch) == cap(batch) {
			flush()
		}
	}
	if len(batch) > 0 {
		flush()
	}
}

type history struct {
	rnd    *rand.Rand
	seq    uint64
	now    events.Time
	writer uuid.UUID
	open   []events.Header
}

func name(n int) string { return fmt.Sprintf("account-%03d", n) }

func (h *history) next() events.Draft {
	h.seq++
	h.now += 2000
	d := events.Draft{Header: events.Header{ID: h.id(), Writer: h.writer, WriterSeq: h.seq, ObservedAt: h.now}}
	switch {
	case h.seq <= accounts:
		d.Account, d.Epoch = name(int(h.seq)-1), 1
		d.Data = &events.AccountEnrolled{Settings: events.Settings{Provider: "openai-compatible", Endpoint: d.Account + ".example",
			Dialects: []events.Dialect{events.DialectOpenAI}, QuotaSource: "push"}}
	case h.seq == accounts+1:
		doc := events.Document{Policy: events.DefaultPolicy()}
		d.Data = &events.PolicyAdopted{Digest: doc.Digest(), Document: doc}
	case h.seq%100 == 0:
		d.Account, d.Epoch = name(h.rnd.IntN(accounts)), 1
		d.Data = &events.QuotaFetched{Reading: events.Reading{Source: "push", Windows: []events.Window{{Name: "weekly",
			RemainingPercent: events.Dec(events.Decimal(5+h.rnd.IntN(90)) * events.DecimalUnit), ResetsAt: h.now.Add(90e12)}}}}
	case len(h.open) > 20:
		h.answer(&d)
	default:
		h.route(&d)
	}
	return d
}

// id is a UUIDv7 that grows.
func (h *history) id() (id uuid.UUID) {
	binary.BigEndian.PutUint64(id[:8], (uint64(h.now)/1000)<<16|7<<12|h.seq&0xfff)
	binary.BigEndian.PutUint64(id[8:], h.rnd.Uint64()>>2|1<<63)
	return id
}

func (h *history) route(d *events.Draft) {
	no := h.rnd.IntN(accounts)
	d.Account, d.Epoch, d.Model, d.Attempt, d.Request = name(no), 1, "m1", 1, d.ID
	d.Data = &events.AttemptRouted{
		Stamp: events.Stamp{DecidedAt: h.now, View: events.Position(h.seq - 10), Pending: h.seq - 1, Rules: 1, Client: "app",
			Dialect: events.DialectOpenAI, Asked: "m1", Session: events.SessionDigest("app", strconv.Itoa(h.rnd.IntN(5000)))},
		Chosen: uint32(no + 1), Strategy: events.StrategyBalanced, Weight: 1,
		Skipped: []events.Verdict{{Account: uint32(h.rnd.IntN(accounts) + 1), Reason: events.ReasonRateLimited, Evidence: events.Ref(h.seq / 2)}},
	}
	h.open = append(h.open, d.Header)
}

func (h *history) answer(d *events.Draft) {
	i := h.rnd.IntN(len(h.open))
	q := h.open[i]
	h.open[i] = h.open[len(h.open)-1]
	h.open = h.open[:len(h.open)-1]
	d.Account, d.Epoch, d.Model, d.Attempt, d.Request = q.Account, q.Epoch, q.Model, q.Attempt, q.Request
	a := events.Answer{Status: 200, DispatchedAt: q.ObservedAt, AnsweredAt: h.now, FirstByte: 80e6,
		Usage: &events.Usage{Input: events.Int(1200), CachedInput: events.Int(900), Output: events.Int(300)}, UpstreamID: "req_011CSHoEeqs5C35K2UUqR7Fy"}
	if h.rnd.IntN(100) > 0 {
		d.Data = &events.AttemptSucceeded{Answer: a, Terminal: "stop", Knew: events.Position(h.seq - 20)}
		return
	}
	a.Status, a.Usage = 500, nil
	d.Data = events.FailureEvent(events.Failure{Answer: a, Class: events.ClassServerError, Rule: "status:5xx",
		Scope: events.Scope{Kind: events.ScopeAccount}, Followed: events.FollowedReturned, Reply: &events.Reply{Status: 500}})
}

// processor is the time that this process has spent on processors, in
// microseconds.
func processor() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Sec+u.Stime.Sec)*1e6 + float64(u.Utime.Usec+u.Stime.Usec)
}

// peak is the largest resident size of this process so far, in MiB.
func peak() float64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	kb, err := strconv.ParseFloat(strings.Fields(rest + " 0")[0], 64)
	if err != nil {
		return 0
	}
	return kb / 1024
}
