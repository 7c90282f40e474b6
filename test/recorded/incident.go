package recorded

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/sqlite"
	"github.com/waybill/waybill/test/played"
	"github.com/waybill/waybill/test/upstream"
)

// Play records the day in memory. The log is closed with the test.
func Play(t testing.TB) *ledger.Log {
	t.Helper()
	m, clock := ledgertest.NewMemory(), played.NewClockAt(Opens.Add(-time.Minute))
	m.SetClock(clock.Now)
	r := open(t, m, clock)
	r.good()
	minutes(r.minute)
	r.close()
	t.Cleanup(func() { r.log.Close() })
	return r.log
}

// Write copies what was recorded up to an instant (zero: all of it) into a new
// SQLite file.
func Write(t testing.TB, log *ledger.Log, path string, until events.Time) {
	t.Helper()
	var rows []ledger.Row
	err := log.Scan(t.Context(), 0, ledger.Filter{}, 0, func(r *ledger.Row) error {
		if until == 0 || r.RecordedAt <= until {
			row := *r
			row.Payload = bytes.Clone(r.Payload)
			rows = append(rows, row)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	store, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(store.Restore(t.Context(), rows), store.Close()); err != nil {
		t.Fatal(err)
	}
}

// good lets every account serve; a request takes 1.4 s.
func (r *rig) good() {
	r.up.Script("qwen-key", r.takes(1400*time.Millisecond, upstream.Good))
	r.up.Script("grok-key", r.takes(700*time.Millisecond, upstream.Good))
	r.up.Script("team-key", r.takes(900*time.Millisecond, upstream.Good))
}

// minute is one minute of the day: what changes, what the monitors say, and the
// request.
func (r *rig) minute(now events.Time) {
	r.until(now)
	r.turn(now)
	if every(now, 3) {
		r.read("qwen-plan", console(now))
	}
	if every(now, 0) {
		r.read("openai-team", budget(now))
	}
	if asks(now) {
		r.ask()
	}
}

// turn changes what the upstreams answer, and lets the operator act.
func (r *rig) turn(now events.Time) {
	switch now {
	case Spent:
		r.up.Script("team-key", r.takes(300*time.Millisecond, upstream.JSON(429,
			`{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`)))
	case Busy:
		r.up.Script("grok-key", r.takes(300*time.Millisecond, upstream.JSON(402,
			`{"code":"personal-team-blocked:spending-limit","error":"You have run out of credits or need a Grok subscription."}`, "X-Should-Retry: false")))
	case Dry:
		r.up.Script("qwen-key", r.takes(1400*time.Millisecond, upstream.JSON(429,
			`{"error":{"message":"week allocated quota exceeded","type":"insufficient_quota","code":"insufficient_quota"}}`)))
	case Again:
		r.up.Script("qwen-key", r.takes(1400*time.Millisecond, upstream.Good))
	case at(15, 10):
		r.do("grok-build", &events.OperatorDrained{OperatorAction: events.OperatorAction{Actor: "admin", Reason: "until its credits are bought"}})
	case at(16, 40):
		r.do("grok-build", &events.OperatorUndrained{OperatorAction: events.OperatorAction{Actor: "admin", Reason: "credits were bought"}})
	}
}
