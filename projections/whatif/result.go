package whatif

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/projections/routing"
)

// Totals count requests by how they ended.
type Totals struct {
	Served  int64 `json:"served"`
	Failed  int64 `json:"failed"`
	Refused int64 `json:"refused"`
	Aborted int64 `json:"aborted"`
	Open    int64 `json:"open"`
	// Unknown: sent to an account that the recorded request was not sent to, so
	// that nobody knows what it would have answered.
	Unknown int64 `json:"unknown"`
}

// Side is an account's part in one world.
type Side struct {
	Attempts int64 `json:"attempts"`
	Served   int64 `json:"served"`
	Skipped  int64 `json:"skipped"`
	Unknown  int64 `json:"unknown"`
}

// Pair is one number in both worlds.
type Pair struct {
	Recorded int64 `json:"recorded"`
	Proposed int64 `json:"proposed"`
}

// Account is an account side by side.
type Account struct {
	Account  string `json:"account"`
	Recorded Side   `json:"recorded"`
	Proposed Side   `json:"proposed"`
	ParkedS  Pair   `json:"parked_s"`
	Trials   Pair   `json:"trials"`
}

// End is how a request ended in one world.
type End struct {
	Outcome string `json:"outcome"`
	Account string `json:"account"`
	Code    string `json:"code"`
}

// Example is a request whose answer differs.
type Example struct {
	Request  uuid.UUID   `json:"request"`
	Started  events.Time `json:"started"`
	Model    string      `json:"model"`
	Recorded End         `json:"recorded"`
	Proposed End         `json:"proposed"`
	Sentence string      `json:"sentence"`
}

// Result is a counterfactual, in the contract's shape.
type Result struct {
	Requests    int64     `json:"requests"`
	Recorded    Totals    `json:"recorded"`
	Proposed    Totals    `json:"proposed"`
	Differences int64     `json:"differences"`
	Accounts    []Account `json:"accounts"`
	Examples    []Example `json:"examples"`
}

// tally is a result in the making.
type tally struct {
	requests, differences int64
	recorded, proposed    Totals
	accounts              []account
	examples              []example
}

type account struct {
	recorded, proposed Side
	trials             Pair
}

type example struct {
	score int
	q     *request
}

func (t *tally) account(no uint32) *account {
	for int(no) >= len(t.accounts) {
		t.accounts = append(t.accounts, account{})
	}
	return &t.accounts[no]
}

func (t *tally) proposedSkips(d *routing.Decision) {
	for i := range d.Candidates {
		if c := &d.Candidates[i]; c.Reason.Skips() && (d.Action != routing.Dispatch || c.Account != d.Account) {
			t.account(c.Account).proposed.Skipped++
		}
	}
}

// finish counts a request in both worlds.
func (t *tally) finish(q *request, keep int) {
	o := q.recordOutcome
	if !q.recordEnded {
		o = requests.Open
	}
	t.recorded.count(o, false)
	t.proposed.count(q.outcome, q.unknown)
	if !q.differs(o) {
		return
	}
	t.differences++
	score := q.score(o)
	if len(t.examples) == keep && score <= t.examples[keep-1].score {
		return
	}
	i, _ := slices.BinarySearchFunc(t.examples, score, func(e example, s int) int {
		if e.score >= s { // the earlier of equals stays first
			return -1
		}
		return 1
	})
	t.examples = slices.Insert(t.examples, i, example{score, q})
	t.examples = t.examples[:min(len(t.examples), keep)]
}

func (c *Totals) count(o requests.Outcome, unknown bool) {
	switch {
	case unknown:
		c.Unknown++
	case o == requests.Served:
		c.Served++
	case o == requests.Failed:
		c.Failed++
	case o == requests.Refused:
		c.Refused++
	case o == requests.Aborted:
		c.Aborted++
	default:
		c.Open++
	}
}

// differs says whether the client would have got another answer, or one from
// elsewhere.
func (q *request) differs(recorded requests.Outcome) bool {
	return q.unknown || q.outcome != recorded || recorded == requests.Served && q.served != q.recordedServed
}

// score is how telling a difference is: refusals first.
func (q *request) score(recorded requests.Outcome) int {
	switch {
	case (recorded == requests.Refused) != (q.outcome == requests.Refused && !q.unknown):
		return 3
	case (recorded == requests.Served) != (q.outcome == requests.Served && !q.unknown):
		return 2
	}
	return 1
}

func (t *tally) result(r *Replay) Result {
	out := Result{Requests: t.requests, Recorded: t.recorded, Proposed: t.proposed, Differences: t.differences, Accounts: []Account{}, Examples: []Example{}}
	for i, a := range r.recorded.view.Admission.Roster() {
		s := t.account(a.No)
		out.Accounts = append(out.Accounts, Account{Account: a.ID, Recorded: s.recorded, Proposed: s.proposed, Trials: s.trials,
			ParkedS: Pair{r.recorded.seconds(i, r.now), r.proposed.seconds(i, r.now)}})
	}
	for _, e := range t.examples {
		out.Examples = append(out.Examples, r.example(e.q))
	}
	return out
}

func (r *Replay) example(q *request) Example {
	e := Example{Request: q.id, Started: q.started, Model: q.first.Asked,
		Recorded: End{q.recordOutcome.String(), r.name(q.recordedServed), q.recordedCode},
		Proposed: End{q.outcome.String(), r.name(q.served), q.code}}
	if !q.recordEnded {
		e.Recorded.Outcome = requests.Open.String()
	}
	if q.unknown {
		e.Proposed.Outcome = "unknown"
	}
	e.Sentence = fmt.Sprintf("At %s a request for %s %s; it would have %s.", q.started.Std().Format("Mon 2 Jan 15:04:05 UTC"), q.first.Asked,
		"was "+ended(e.Recorded), "been "+ended(e.Proposed))
	return e
}

// ended says how a request ended, after "was" or "been".
func ended(e End) string {
	switch e.Outcome {
	case "served":
		return "served by " + e.Account
	case "refused":
		return "refused (" + e.Code + ")"
	case "failed":
		if e.Code != "" {
			return "given a failure (" + e.Code + ")"
		}
		return "given a failure"
	case "aborted":
		return "left by its client"
	case "unknown":
		if e.Account != "" {
			return "sent to " + e.Account + ", whose answer is not known"
		}
		return "decided in a way that is not known"
	}
	return "still open"
}

func (r *Replay) name(no uint32) string {
	roster := r.recorded.view.Admission.Roster()
	if no == 0 || int(no) > len(roster) {
		return ""
	}
	return roster[no-1].ID
}

// sorted lists what is open by id, so that results do not depend on a map.
func sorted(open map[uuid.UUID]*request) []*request {
	out := make([]*request, 0, len(open))
	for _, q := range open {
		out = append(out, q)
	}
	slices.SortFunc(out, func(a, b *request) int { return bytes.Compare(a.id[:], b.id[:]) })
	return out
}
