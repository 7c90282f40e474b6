package admission

import (
	"testing"
	"time"

	"github.com/waybill/waybill/events"
)

// machine is one cell (window, account) of account "a" under test, at an
// instant. Its claims name a reset far away, its facts none.
type machine struct {
	*world
	now events.Time
	t1  call // the trial under way
}

const farReset = 4 * day

func (m *machine) state() string {
	return m.cellState("a", "m", "window account", m.now)
}

func (m *machine) claimed() { m.reading("a", m.now, spent("7d", after(farReset))) }
func (m *machine) room()    { m.reading("a", m.now, roomy("7d", 50, after(farReset))) }

// fact is a 429 of a straggler or of nobody in particular.
func (m *machine) fact() {
	m.fail(call{account: "a", model: "m", request: 900, from: m.now.Add(-time.Second), to: m.now}, of(events.ClassWindowExhausted))
}

// success counts (R6): dispatched after everything.
func (m *machine) success() {
	m.ok(call{account: "a", model: "m", request: 901, from: m.now, to: m.now.Add(time.Second), knewOwn: m.seq})
	m.now = m.now.Add(time.Second)
}

// straggler was dispatched before everything, and answered now.
func (m *machine) straggler() {
	m.ok(call{account: "a", model: "m", request: 902, from: after(-time.Hour), to: m.now})
}

func (m *machine) try() {
	m.t1 = call{account: "a", model: "m", request: 903, from: m.now}
	m.claim(m.t1)
}

func (m *machine) passed() {
	m.now = m.now.Add(time.Second)
	m.add(m.t1.header(m.now), &events.TrialPassed{Cells: []events.Cell{{Axis: events.AxisWindow, Scope: events.Scope{Kind: events.ScopeAccount}}}, DispatchedAt: m.t1.from, AnsweredAt: m.now})
}

func (m *machine) ends(class events.Class, step uint32) {
	m.now = m.now.Add(time.Second)
	c := m.t1
	c.to, c.step = m.now, step
	m.fail(c, of(class))
}

func (m *machine) wait(d time.Duration) { m.now = m.now.Add(d) }

func (m *machine) release() {
	m.now = m.now.Add(time.Second)
	m.add(events.Header{Account: "a", ObservedAt: m.now}, &events.OperatorReleased{OperatorAction: events.OperatorAction{Actor: "x", Reason: "y"}})
}

func (m *machine) epoch() {
	a := m.v.Account("a")
	m.add(events.Header{Account: "a", ObservedAt: m.now, Epoch: a.Epoch + 1}, &events.AccountChanged{Settings: a.Settings})
}

func (m *machine) armed() bool {
	return StatusOf(m.v, m.path("a", "m"), &m.policy, m.now).Override > m.now
}

func (m *machine) until() events.Time   { return m.admit("a", "m", m.now).Until }
func (m *machine) trialAt() events.Time { return m.admit("a", "m", m.now).TrialAt }

// The states of ADMISSION, reached by claims (c) or by a fact (f).
var states = map[string]func(m *machine){
	"CLEAR": func(m *machine) {},
	"ARMED": func(m *machine) { m.success() },
	"TOLD":  func(m *machine) { m.claimed(); m.wait(10 * time.Minute); m.claimed() },
	"WALLED": func(m *machine) {
		m.fact()
		m.wait(time.Minute)
	},
	"WALLED with a claim": func(m *machine) { m.claimed(); m.fact(); m.wait(time.Minute) },
	"DUE by claims":       func(m *machine) { m.claimed(); m.wait(30 * time.Minute); m.claimed() },
	"DUE by staleness":    func(m *machine) { m.claimed(); m.wait(20 * time.Minute) },
	"DUE by a fact":       func(m *machine) { m.claimed(); m.fact(); m.wait(6 * time.Minute) },
	"TRYING by claims":    func(m *machine) { m.claimed(); m.wait(30 * time.Minute); m.claimed(); m.try() },
	"TRYING by a fact":    func(m *machine) { m.claimed(); m.fact(); m.wait(6 * time.Minute); m.try() },
	"RESTING by claims": func(m *machine) {
		m.claimed()
		m.wait(30 * time.Minute)
		m.claimed()
		m.try()
		m.ends(events.ClassTimeout, 1)
	},
	"RESTING by a fact": func(m *machine) {
		m.claimed()
		m.fact()
		m.wait(6 * time.Minute)
		m.try()
		m.ends(events.ClassNetwork, 2)
	},
}

// TestTheStateMachineOfACell is ADMISSION's table, each cell of it a row.
func TestTheStateMachineOfACell(t *testing.T) {
	type row struct {
		from, on string
		do       func(m *machine)
		to       string
		armed    bool
		also     func(t *testing.T, m *machine)
	}
	claim, room, fact, success, straggler := (*machine).claimed, (*machine).room, (*machine).fact, (*machine).success, (*machine).straggler
	wait := func(d time.Duration) func(*machine) { return func(m *machine) { m.wait(d) } }
	release, epoch, passed := (*machine).release, (*machine).epoch, (*machine).passed
	neutral := func(m *machine) { m.ends(events.ClassTimeout, 1) }
	byClient := func(m *machine) { m.ends(events.ClassInvalidRequest, 1) }
	void := func(m *machine) {
		other := call{account: "a", model: "m", request: 990, from: m.now}
		m.claim(other)
		if m.granted(other, m.now) {
			m.t.Fatal("a second trial was granted")
		}
	}
	trialAt := func(d time.Duration) func(*testing.T, *machine) {
		return func(t *testing.T, m *machine) {
			t.Helper()
			if m.trialAt() != after(d) {
				t.Fatalf("trial at %s, want %s", m.trialAt(), after(d))
			}
		}
	}
	for _, r := range []row{
		{"CLEAR", "exhausted claim", claim, "told", false, trialAt(30 * time.Minute)},
		{"ARMED", "exhausted claim", func(m *machine) { m.wait(time.Second); m.claimed() }, "clear", true, nil},
		{"CLEAR", "reading with room", room, "clear", false, nil},
		{"CLEAR", "fact on this cell", fact, "walled", false, trialAt(5 * time.Minute)},
		{"CLEAR", "success that counts", success, "clear", true, nil},
		{"ARMED", "success that counts slides", func(m *machine) { m.wait(20 * time.Minute); m.success(); m.wait(29 * time.Minute) }, "clear", true, nil},
		{"CLEAR", "success of a straggler", straggler, "clear", true, nil},
		{"ARMED", "override ends with claims", func(m *machine) { m.wait(time.Minute); m.claimed(); m.wait(29 * time.Minute) }, "due", false, trialAt(30*time.Minute + time.Second)},
		{"ARMED", "override ends without claims", wait(30 * time.Minute), "clear", false, nil},
		{"CLEAR", "release", release, "clear", true, nil},
		{"ARMED", "new epoch", epoch, "clear", false, nil},

		{"TOLD", "exhausted claim", func(m *machine) { m.reading("a", m.now, spent("7d", after(5*day))) }, "told", false, func(t *testing.T, m *machine) {
			trialAt(30*time.Minute)(t, m)
			if m.until() != after(5*day) {
				t.Fatalf("until %s", m.until())
			}
		}},
		{"TOLD", "reading with room", room, "clear", false, nil},
		{"TOLD", "fact on this cell", fact, "walled", false, trialAt(15 * time.Minute)},
		{"TOLD", "success that counts", success, "clear", true, nil},
		{"TOLD", "success of a straggler", straggler, "clear", true, nil},
		{"TOLD", "granted trial of the last path", (*machine).try, "trying", false, nil},
		{"TOLD", "trial_at passes", func(m *machine) { m.claimed(); m.wait(10 * time.Minute); m.claimed(); m.wait(10 * time.Minute) }, "due", false, nil},
		{"TOLD", "all claims turn stale", wait(15*time.Minute + time.Millisecond), "due", false, nil},
		{"TOLD", "release", release, "clear", true, nil},
		{"TOLD", "new epoch", epoch, "clear", false, nil},

		{"WALLED", "exhausted claim", claim, "walled", false, func(t *testing.T, m *machine) {
			trialAt(5*time.Minute)(t, m)
			if m.until() != after(farReset) {
				t.Fatalf("until %s", m.until())
			}
		}},
		{"WALLED with a claim", "reading with room", room, "walled", false, trialAt(5 * time.Minute)},
		{"WALLED", "fact on this cell: maxima", fact, "walled", false, trialAt(6 * time.Minute)},
		{"WALLED", "success that counts", success, "clear", true, nil},
		{"WALLED with a claim", "success of a straggler: claims end", straggler, "walled", false, func(t *testing.T, m *machine) {
			if r := Explain(m.v, m.path("a", "m"), &m.policy, m.now); len(r) != 1 || len(r[0].Evidence) != 1 {
				t.Fatalf("the claim is still evidence: %+v", r)
			}
		}},
		{"WALLED", "trial_at passes", wait(4 * time.Minute), "due", false, nil},
		{"WALLED", "release", release, "clear", true, nil},
		{"WALLED", "new epoch", epoch, "clear", false, nil},

		{"DUE by claims", "exhausted claim", claim, "due", false, nil},
		{"DUE by staleness", "exhausted claim", claim, "told", false, trialAt(30 * time.Minute)},
		{"DUE by claims", "reading with room", room, "clear", false, nil},
		{"DUE by a fact", "reading with room", room, "due", false, nil},
		{"DUE by claims", "fact on this cell", fact, "walled", false, trialAt(35 * time.Minute)},
		{"DUE by a fact", "success that counts", success, "clear", true, nil},
		{"DUE by claims", "success of a straggler", straggler, "clear", true, nil},
		{"DUE by a fact", "success of a straggler", straggler, "due", false, nil},
		{"DUE by claims", "granted trial", (*machine).try, "trying", false, nil},
		{"DUE by a fact", "granted trial", (*machine).try, "trying", false, nil},
		{"DUE by a fact", "release", release, "clear", true, nil},
		{"DUE by claims", "new epoch", epoch, "clear", false, nil},

		{"TRYING by claims", "exhausted claim", claim, "trying", false, nil},
		{"TRYING by a fact", "reading with room: claims end, slot stays", room, "trying", false, nil},
		{"TRYING by a fact", "own fact: its step", func(m *machine) { m.ends(events.ClassWindowExhausted, 2) }, "walled", false, trialAt(6*time.Minute + time.Second + 10*time.Minute)},
		{"TRYING by a fact", "a straggler's fact: maxima, slot stays", fact, "trying", false, trialAt(11 * time.Minute)},
		{"TRYING by a fact", "success that counts", success, "clear", true, nil},
		{"TRYING by a fact", "success of a straggler: claims end, slot stays", straggler, "trying", false, nil},
		{"TRYING by a fact", "granted trial", void, "trying", false, nil},
		{"TRYING by a fact", "passed", passed, "clear", false, nil},
		{"TRYING by claims", "passed", passed, "clear", false, nil},
		{"TRYING by claims", "passed, then the claim is repeated", func(m *machine) { m.passed(); m.wait(time.Second); m.claimed() }, "due", false, trialAt(30 * time.Minute)},
		{"TRYING by a fact", "neutral", neutral, "resting", false, nil},
		{"TRYING by a fact", "caused by client", byClient, "due", false, nil},
		{"TRYING by claims", "caused by client", byClient, "due", false, nil},
		{"TRYING by a fact", "lease over", wait(150 * time.Second), "due", false, nil},
		{"TRYING by a fact", "release", release, "clear", true, nil},
		{"TRYING by claims", "new epoch", epoch, "clear", false, nil},

		{"RESTING by claims", "exhausted claim", claim, "resting", false, nil},
		{"RESTING by a fact", "reading with room", room, "resting", false, nil},
		{"RESTING by claims", "reading with room", room, "clear", false, nil},
		{"RESTING by a fact", "fact on this cell", fact, "walled", false, nil},
		{"RESTING by a fact", "success that counts", success, "clear", true, nil},
		{"RESTING by claims", "success of a straggler", straggler, "clear", true, nil},
		{"RESTING by a fact", "success of a straggler", straggler, "resting", false, nil},
		{"RESTING by a fact", "granted trial", void, "resting", false, nil},
		{"RESTING by a fact", "the rest is over", wait(30 * time.Second), "due", false, nil},
		{"RESTING by claims", "the rest is over", wait(30 * time.Second), "due", false, nil},
		{"RESTING by a fact", "release", release, "clear", true, nil},
		{"RESTING by a fact", "new epoch", epoch, "clear", false, nil},
	} {
		t.Run(r.from+"/"+r.on, func(t *testing.T) {
			m := &machine{world: newWorld(t, "a"), now: epoch0}
			states[r.from](m)
			r.do(m)
			if got := m.state(); got != r.to {
				t.Fatalf("%s on %s: %s, want %s (%s)", r.from, r.on, got, r.to, show(m.admit("a", "m", m.now)))
			}
			if m.armed() != r.armed {
				t.Fatalf("armed = %v, want %v", m.armed(), r.armed)
			}
			if r.also != nil {
				r.also(t, m)
			}
			m.answers(t, r.to)
		})
	}
}

// answers is what the state answers others and one request.
func (m *machine) answers(t *testing.T, state string) {
	t.Helper()
	d := m.admit("a", "m", m.now)
	want := map[string]struct {
		admitted, trial, soft, hard bool
		state                       State
		reason                      events.Reason
	}{
		"clear":   {admitted: true, state: Available},
		"told":    {soft: true, state: Parked, reason: events.ReasonWindowExhausted},
		"walled":  {hard: true, state: Parked, reason: events.ReasonWindowExhausted},
		"due":     {trial: true, state: HalfOpen, reason: events.ReasonWindowExhausted},
		"trying":  {state: HalfOpen, reason: events.ReasonTrialInProgress},
		"resting": {state: HalfOpen, reason: events.ReasonTrialInProgress},
	}[state]
	if d.Admitted != want.admitted || d.Trial != want.trial || d.State != want.state || d.Reason != want.reason {
		t.Fatalf("%s answers %s", state, show(d))
	}
	if want.soft && !d.Soft || want.hard && d.Soft {
		t.Fatalf("%s: soft = %v", state, d.Soft)
	}
}

func TestTheStateMachineOfOtherAxes(t *testing.T) {
	fail := func(class events.Class, at ...time.Duration) func(*world) {
		return func(w *world) {
			for i, d := range at {
				w.fail(call{account: "a", model: "m", request: uint64(i), from: after(d - 100*time.Millisecond), to: after(d)}, of(class))
			}
		}
	}
	for _, r := range []struct {
		name   string
		setup  func(*world)
		now    time.Duration
		state  State
		reason events.Reason
		trial  bool
		soft   bool
	}{
		{"payment waits", fail(events.ClassCreditsExhausted, 0), time.Hour, WaitingReset, events.ReasonPaymentRequired, false, false},
		{"payment then probes", fail(events.ClassCreditsExhausted, 0), 24 * time.Hour, Probing, events.ReasonPaymentRequired, true, false},
		{"rate cools", fail(events.ClassRateLimited, 0), 4 * time.Second, Cooling, events.ReasonRateLimited, false, false},
		{"rate half opens", fail(events.ClassRateLimited, 0), 5 * time.Second, HalfOpen, events.ReasonRateLimited, true, false},
		{"auth parks", fail(events.ClassAuthFailed, 0), 4 * time.Minute, Parked, events.ReasonAuthFailed, false, false},
		{"auth half opens", fail(events.ClassAuthFailed, 0), 5 * time.Minute, HalfOpen, events.ReasonAuthFailed, true, false},
		{"health below the threshold stays", fail(events.ClassServerError, 0, time.Second), 1100 * time.Millisecond, Available, events.ReasonNone, false, false},
		{"health cools and is soft", fail(events.ClassServerError, 0, time.Second, 2*time.Second), 3 * time.Second, Cooling, events.ReasonCoolingDown, false, true},
		{"health half opens", fail(events.ClassServerError, 0, time.Second, 2*time.Second), 7 * time.Second, HalfOpen, events.ReasonCoolingDown, true, true},
	} {
		t.Run(r.name, func(t *testing.T) {
			w := newWorld(t, "a")
			r.setup(w)
			d := w.admit("a", "m", after(r.now))
			if d.State != r.state || d.Reason != r.reason || d.Trial != r.trial || d.Soft != r.soft || d.Admitted != (r.state == Available) {
				t.Fatalf("%s soft %v", show(d), d.Soft)
			}
		})
	}
}
