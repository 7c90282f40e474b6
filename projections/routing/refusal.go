package routing

import (
	"fmt"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
)

// The codes of R17.
const (
	CodeExhausted   = "accounts_exhausted"
	CodeUnavailable = "accounts_unavailable"
	CodeSaturated   = "saturated"
	CodeNoModel     = "model_not_found"
)

// The statuses that a refusal can have.
const (
	statusNotFound    = 404
	statusTooMany     = 429
	statusUnavailable = 503
)

// Refusal is what Waybill answers by itself (R17).
type Refusal struct {
	Code        string // accounts_exhausted, accounts_unavailable, model_not_found, saturated
	Status      int
	RetryAfter  int64       // seconds, 0: header absent
	RetrySource string      // account whose instant it is, by id
	Earliest    events.Time // earliest `until` over the exhausted candidates
	Tried       int         // accounts that earlier attempts of the request tried
	Skipped     int
	Message     string // for people, without the closing "request <id>: ..." line
}

// Left is the refusal that gives an answer after attempts its Retry-After, see
// Advise. Where a candidate is left that the request may not go on to, the next
// one can be served at once.
func (d *Decision) Left() Refusal {
	if d.Action != Refuse {
		return Refusal{RetryAfter: 1}
	}
	return d.Refusal
}

// refuse judges all candidates of all tiers: it is called only once none of
// them could be used.
func (d *walk) refuse() {
	r := &d.out.Refusal
	t := tally{}
	for i := range d.out.Candidates {
		c := d.at(i)
		if !c.absent() {
			t.count(c)
		}
		if c.Reason == events.ReasonAlreadyTried {
			r.Tried++
		} else {
			r.Skipped++
		}
		if at := d.instant(c); at != 0 && (t.soonest == 0 || at < t.soonest) {
			t.soonest, r.RetrySource = at, d.member(i).account.ID
		}
	}
	d.out.Action = Refuse
	r.Earliest = t.earliest
	r.Code, r.Status = t.code(len(d.out.Candidates))
	if d.stamp.Tie != 0 && len(d.out.Candidates) == 0 {
		r.Code, r.Status = CodeUnavailable, statusUnavailable
	}
	if r.Code == CodeNoModel {
		r.RetrySource = ""
	} else if t.soonest != 0 {
		r.RetryAfter = max(1, int64((t.soonest.Sub(d.now)+time.Second-1)/time.Second))
	}
	r.Message = t.message(r, d.stamp.Asked, len(d.out.Candidates))
}

// instant is the earliest at which a candidate may serve: its trial_at, or the
// end of its slot if that is later; 0 when waiting for an instant is no help
// (saturated, drained, disabled, not configured here). An account that this request has tried and
// that is still admitted may serve the next one at once.
func (d *walk) instant(c *Candidate) events.Time {
	v := c.Verdict
	switch {
	case c.absent():
		return 0
	case v.Admitted && c.Reason == events.ReasonAlreadyTried:
		return d.now
	case v.Admitted || v.TrialAt == 0:
		return 0
	}
	return max(v.TrialAt, v.SlotEnd, d.now)
}

// tally counts candidates by what keeps them out.
type tally struct {
	exhausted, limited, unsupported, saturated int
	earliest                                   events.Time // `until` of the exhausted
	soonest                                    events.Time // instant of any
}

func (t *tally) count(c *Candidate) {
	switch c.Verdict.Reason {
	case events.ReasonWindowExhausted, events.ReasonCreditExhausted, events.ReasonPaymentRequired:
		t.exhausted++
		if u := c.Verdict.Until; u != 0 && (t.earliest == 0 || u < t.earliest) {
			t.earliest = u
		}
	case events.ReasonRateLimited, events.ReasonTrialInProgress:
		t.limited++
	case events.ReasonModelUnsupported:
		t.unsupported++
	case events.ReasonNone:
		if c.Reason == events.ReasonSaturated {
			t.saturated++
		}
	}
}

func (t *tally) code(candidates int) (string, int) {
	switch {
	case t.unsupported == candidates:
		return CodeNoModel, statusNotFound
	case t.exhausted > 0:
		return CodeExhausted, statusTooMany
	case t.limited > 0:
		return CodeUnavailable, statusTooMany
	case t.saturated == candidates:
		return CodeSaturated, statusUnavailable
	default:
		return CodeUnavailable, statusUnavailable
	}
}

// message is for people, but two of its phrases are a contract: routers in
// front of Waybill look for `have exhausted their quota`.
func (t *tally) message(r *Refusal, asked string, candidates int) string {
	model := shown(asked)
	var b strings.Builder
	switch {
	case r.Code == CodeNoModel && asked == "":
		b.WriteString("no account is known to have made what this request names")
	case r.Code == CodeNoModel && candidates > 0:
		fmt.Fprintf(&b, "no account serves the model %s: every upstream said that it does not know it", model)
	case r.Code == CodeNoModel:
		fmt.Fprintf(&b, "no account serves the model %s", model)
	case r.Code == CodeExhausted:
		fmt.Fprintf(&b, "%s accounts for the model %s have exhausted their quota (%s; earliest reset %s)",
			share(t.exhausted, candidates), model, attempts(r), reset(r.Earliest))
	case r.Code == CodeSaturated:
		fmt.Fprintf(&b, "every account for the model %s has as many requests in flight as it may (max_concurrent)", model)
	default:
		fmt.Fprintf(&b, "no account for the model %s can be used now", model)
	}
	fmt.Fprintf(&b, "; %d accounts tried, %d skipped", r.Tried, r.Skipped)
	if r.RetryAfter > 0 {
		fmt.Fprintf(&b, "; retry after %d s", r.RetryAfter)
	}
	return b.String()
}

// attempts is true of the request: a refusal that follows attempts is only
// advice, and is never shown as it stands.
func attempts(r *Refusal) string {
	if r.Tried > 0 {
		return "cached quota state"
	}
	return "cached quota state, no upstream attempt"
}

func share(n, of int) string {
	if n == of {
		return "All"
	}
	return fmt.Sprintf("%d of %d", n, of)
}

func reset(t events.Time) string {
	if t == 0 {
		return "unknown"
	}
	return t.Std().Format(time.RFC3339)
}

// shown quotes a client's own words, bounded.
func shown(model string) string {
	if len(model) > 128 {
		model = model[:128]
	}
	return fmt.Sprintf("%q", strings.ToValidUTF8(model, "?"))
}
