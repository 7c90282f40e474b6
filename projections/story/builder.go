package story

import (
	"slices"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/audit"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/projections/routing"
)

const (
	before = "before" // seen from a decision
	ago    = "ago"    // seen from now
)

// Builder makes the story of one request. Give Wants and Visit to an audit of
// the ledger, Add every event of the request in order, then Finish.
type Builder struct {
	id       uuid.UUID
	rows     *requests.View
	cases    []told
	outcomes []events.Event
	ended    *events.RequestEnded
	routed   map[uint32]*events.AttemptRouted
	model    map[uint32]string
}

// told is what was taken of one decision while its view stood.
type told struct {
	decision   Decision
	candidates []judged
	plan       plan
}

// NewBuilder starts the story of a request.
func NewBuilder(id uuid.UUID) *Builder {
	return &Builder{id: id, rows: requests.New(1), routed: map[uint32]*events.AttemptRouted{}, model: map[uint32]string{}}
}

// Know names the accounts by roster number, for a story that does not begin with
// the first event of the ledger. What the request's decisions refer to must be
// Added as well.
func (b *Builder) Know(roster []*admission.Account) {
	for _, a := range roster {
		b.rows.Apply(&events.Event{Header: events.Header{Account: a.ID}, Data: &events.AccountEnrolled{Settings: a.Settings}})
	}
}

// Wants says whether a decision belongs to the story.
func (b *Builder) Wants(e *events.Event) bool { return e.Request == b.id }

// Add takes the next event of the ledger or of the request; others are ignored
// except for the enrolments, which name the accounts.
func (b *Builder) Add(e *events.Event) {
	_, enrolled := e.Data.(*events.AccountEnrolled)
	_, listed := e.Data.(*events.CandidatesListed)
	if e.Request != b.id && !enrolled && !listed {
		return
	}
	b.rows.Apply(e)
	if e.Request != b.id {
		return
	}
	switch p := e.Data.(type) {
	case *events.AttemptRouted:
		b.routed[e.Attempt], b.model[e.Attempt] = p, e.Model
	case *events.AttemptSucceeded:
		b.outcomes = append(b.outcomes, *e)
	case *events.RequestEnded:
		b.ended = p
	default:
		if _, ok := events.FailureOf(e.Data); ok {
			b.outcomes = append(b.outcomes, *e)
		}
	}
}

// Visit takes a decision while the view stands as it stood for it.
func (b *Builder) Visit(c *audit.Case) {
	s := c.Recorded.Stamp
	t := told{decision: Decision{
		Attempt: c.Event.Attempt, Kind: "refusal", Event: c.Event.Position, DecidedAt: s.DecidedAt,
		Position: s.View, Pending: s.Pending, Policy: s.Policy.String(), Rules: s.Rules, Session: s.Session.String(),
		WaitedMS: s.Waited.Milliseconds(), Replayed: c.Known, Identical: c.Known && len(c.Differences) == 0,
		Differs: slices.Clone(c.Differences), Strategy: c.Derived.Strategy.String(), Candidates: []Candidate{},
	}}
	if t.decision.Differs == nil {
		t.decision.Differs = []audit.Difference{}
	}
	roster := c.View.Admission.Roster()
	if r := c.Recorded.Routed; r != nil {
		d := &t.decision
		d.Kind, d.Chosen, d.Model, d.Strategy = "dispatch", admission.NameOf(roster, r.Chosen), c.Event.Model, r.Strategy.String()
		d.LastPath, d.Unclaimed, d.Pinned, d.Trial = r.LastPath, r.Unclaimed, r.Pinned, trialShape(r.Trial)
		t.plan = plan{routed: r, session: !s.Session.IsZero()}
	}
	t.candidates = candidates(c)
	for i := range t.candidates {
		t.candidates[i].resolve(c.Own)
	}
	b.cases = append(b.cases, t)
}

// candidates are the recorded ones, with what the view said of each: the
// derivation's verdict where it agrees with the record, else the record's
// reason and evidence over what admission says.
func candidates(c *audit.Case) []judged {
	doc, _ := c.View.Admission.Document()
	roster, now := c.View.Admission.Roster(), c.Recorded.Stamp.DecidedAt
	var out []judged
	for _, cand := range recordedOrder(c) {
		no := cand.Account
		j := judged{account: admission.NameOf(roster, no), path: admission.Path{Account: no, Model: cand.Model}, verdict: verdictOf(&cand),
			weight: cand.Weight, tier: int(cand.Tier)}
		if no > 0 && int(no) <= len(roster) {
			j.limit = roster[no-1].Settings.MaxConcurrent
			j.cells = admission.Explain(c.View.Admission, j.path, &doc.Policy, now)
		}
		j.chosen = c.Recorded.Routed != nil && c.Recorded.Routed.Chosen == no
		out = append(out, j)
	}
	return out
}

func verdictOf(c *routing.Candidate) admission.Verdict {
	if c.Verdict == nil {
		return admission.Verdict{}
	}
	v := *c.Verdict
	if c.Reason != v.Reason { // admitted, but it could not serve this request
		v.Reason, v.Admitted, v.Trial = c.Reason, false, false
	}
	return v
}

func recordedOrder(c *audit.Case) []routing.Candidate {
	if c.Known && len(c.Differences) == 0 {
		return c.Derived.Candidates
	}
	doc, _ := c.View.Admission.Document()
	one := func(v events.Verdict, chosen bool) routing.Candidate {
		model := c.Recorded.Stamp.Asked
		for i := range c.Derived.Candidates {
			if d := &c.Derived.Candidates[i]; d.Account == v.Account {
				model = d.Model
			}
		}
		verdict := admission.Verdict{}
		if v.Account > 0 && int(v.Account) <= len(c.View.Admission.Roster()) {
			verdict = admission.Admit(c.View.Admission, admission.Path{Account: v.Account, Model: model}, &doc.Policy, c.Recorded.Stamp.DecidedAt)
		}
		if !chosen {
			verdict.Reason, verdict.Evidence = v.Reason, v.Evidence
			verdict.Admitted = v.Reason == events.ReasonNone
		}
		return routing.Candidate{Account: v.Account, Model: model, Verdict: &verdict, Reason: verdict.Reason}
	}
	var out []routing.Candidate
	if r := c.Recorded.Routed; r != nil {
		out = append(out, one(events.Verdict{Account: r.Chosen}, true))
	}
	for _, v := range c.Recorded.Verdicts {
		out = append(out, one(v, false))
	}
	return out
}

func trialShape(t *events.Trial) *Trial {
	if t == nil {
		return nil
	}
	out := &Trial{Step: t.Step, Lease: t.Lease, Cells: []TrialCell{}}
	for _, c := range t.Cells {
		out.Cells = append(out.Cells, TrialCell{c.Axis.String(), c.Scope.String()})
	}
	return out
}
