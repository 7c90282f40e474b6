package inquiry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/views"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections/audit"
)

// Verdict is what a verification found, in the contract's shape.
type Verdict struct {
	OK              bool            `json:"ok"`
	Ledger          string          `json:"ledger"` // its name, the id of its first event; "" where that was not read
	From            events.Position `json:"from"`
	Positions       uint64          `json:"positions"` // whose chain and bytes were checked
	Head            Head            `json:"head"`
	Decisions       int64           `json:"decisions"`
	Rederived       int64           `json:"rederived"`
	SkippedVersions []Skipped       `json:"skipped_versions"`
	Fault           *Fault          `json:"fault"`
	Differing       int64           `json:"differing"`   // decisions that are derived otherwise than they were recorded
	Unread          *Head           `json:"unread"`      // the end of the archives that were not at hand; null: all was read
	Checkpoint      *Head           `json:"checkpoint"`  // the newest that was held against the ledger
	Checkpoints     int             `json:"checkpoints"` // how many were

	absent []ledger.Archived // not at hand
	there  int               // archives that are
}

// Head is where a ledger ends.
type Head struct {
	Position events.Position `json:"position"`
	Hash     string          `json:"hash"`
}

// Skipped counts decisions of rules that this binary does not carry.
type Skipped struct {
	Rules     uint32 `json:"rules"`
	Decisions int64  `json:"decisions"`
}

// Fault is the first thing that is wrong.
type Fault struct {
	Position events.Position `json:"position"`
	Kind     string          `json:"kind"` // chain, gap, order, unreadable, decision, snapshot, head, writer, archive, index
	Detail   string          `json:"detail"`
}

// VerifyOptions narrow a verification.
type VerifyOptions struct {
	From        events.Position // count positions and derive decisions from here on
	Ledger      uuid.UUID       // the ledger that they are of; nil: not said
	Checkpoints []ledger.Head   // heads seen earlier and kept elsewhere: they must still be there
	Progress    Progress
}

// Verify walks the chain from a position on, decodes every event, and derives
// every decision from there on again; stored states are held against a fold of
// the same events. Archives that are at hand are read like what is live; across
// those that are absent the chain goes on from what the store kept of them, and
// nothing is derived. An error means that it could not be done; what is wrong is
// in the verdict.
func Verify(ctx context.Context, log Log, o VerifyOptions) (Verdict, error) {
	v, err := verify(ctx, log, o)
	if errors.Is(err, ledger.ErrArchived) { // one left, or went away, on the way
		v, err = verify(ctx, log, o)
	}
	return v, err
}

func verify(ctx context.Context, log Log, o VerifyOptions) (Verdict, error) {
	head, err := log.Head(ctx)
	headless := errors.Is(err, ledger.ErrBroken)
	switch {
	case headless:
		head = ledger.Head{Position: math.MaxInt64} // the walk ends where the damage is
	case err != nil:
		return Verdict{}, fmt.Errorf("find the head: %w", err)
	}
	l, err := log.Layout(ctx, 0)
	if err != nil && !errors.Is(err, ledger.ErrBroken) {
		return Verdict{}, fmt.Errorf("find the archives: %w", err)
	}
	s, err := stretch(&l, log.Shelf())
	if err != nil {
		return Verdict{}, fmt.Errorf("find the archives: %w", err)
	}
	v := Verdict{From: max(o.From, 1), absent: s.absent, there: len(s.there)}
	if !headless {
		v.Head = Head{head.Position, head.Hash.String()}
	}
	c := check{verdict: &v, id: o.Ledger, entries: log.EntryCheck()}
	c.expect(o.Checkpoints)
	c.derive(ctx, log)
	for _, r := range s.runs {
		c.begin(r)
		if err = c.walk(ctx, log, r, head.Position, o.Progress); err != nil {
			break
		}
	}
	if err != nil && !errors.Is(err, errFault) {
		return v, fmt.Errorf("verify: %w", err)
	}
	if headless {
		c.fault(&ledger.Fault{Position: c.chain.Last().Position + 1, Kind: ledger.FaultUnreadable, Detail: "the store cannot say where it ends"})
	} else if err = c.end(ctx, log, head, s.there); err != nil {
		return v, fmt.Errorf("verify: %w", err)
	}
	if err = c.conclude(ctx); err != nil {
		return v, fmt.Errorf("verify: %w", err)
	}
	return v, nil
}

// derive prepares to derive every decision again, and every stored state, where
// all of the ledger can be read.
func (c *check) derive(ctx context.Context, log Log) {
	v := c.verdict
	if n := len(v.absent); n > 0 {
		end := &v.absent[n-1].End
		v.Unread = &Head{end.Position, end.Hash.String()}
		return
	}
	c.proof = views.NewProof(ctx, log)
	c.audit = audit.New(audit.Options{Only: func(e *events.Event) bool { return e.Position >= v.From }, Read: rereader(ctx, log)})
}

// end looks at what no single event shows: where the ledger ends, rows outside
// of it, and what lies in archives beside events.
func (c *check) end(ctx context.Context, log Log, head ledger.Head, there []*ledger.Archived) error {
	if c.verdict.Fault == nil {
		c.fault(c.chain.End(head))
		c.fault(ledger.Cut(head, c.newest))
	}
	if c.verdict.Fault != nil {
		return nil
	}
	stray, err := log.Stray(ctx)
	if err != nil {
		return err
	}
	c.fault(stray)
	return c.intact(ctx, log.Shelf(), there)
}

// conclude takes over what the audit found, then what was found about entries
// and stored states: what is wrong with the ledger itself is said first.
func (c *check) conclude(ctx context.Context) error {
	v := c.verdict
	var report audit.Report
	if c.audit != nil {
		report = c.audit.Report()
	}
	v.fill(report)
	if !v.OK {
		return nil
	}
	if err := c.index(c.entries.End(ctx)); err != nil {
		return err
	}
	c.fault(c.indexed)
	if c.proof != nil {
		c.fault(c.proof.Fault())
	}
	v.OK = v.Fault == nil
	return nil
}

// upToDamage goes on row by row where a walk ended that reads ahead, up to the
// first row that the store cannot give. Without one, the walk's own error stands.
func (c *check) upToDamage(ctx context.Context, log Log, head events.Position, walked error) error {
	for {
		at := c.chain.Last().Position
		err := log.Scan(ctx, at, ledger.Filter{UpTo: min(at+1, head)}, 1, func(r *ledger.Row) error {
			e, err := r.Event()
			return c.next(ctx, r, r.Link(c.chain.Last().Hash), &e, err)
		})
		var fault *ledger.Fault
		switch {
		case errors.As(err, &fault):
			c.fault(fault)
			return errFault
		case errors.Is(err, ledger.ErrBroken):
			c.fault(&ledger.Fault{Position: at + 1, Kind: ledger.FaultUnreadable, Detail: "the store cannot give it: " + err.Error()})
			return errFault
		case err != nil:
			return err
		case c.chain.Last().Position == at:
			return walked
		}
	}
}

// errFault ends a walk at a fault behind which nothing can be told any more.
var errFault = errors.New("fault")

// check is a verification under way.
type check struct {
	chain   *ledger.Checker
	counts  ledger.Counts // of the writers; anew behind what cannot be read
	audit   *audit.Auditor
	proof   *views.Proof // of the stored states; with the audit
	entries *ledger.EntryCheck
	indexed *ledger.Fault // the first that entries found
	verdict *Verdict
	id      uuid.UUID     // that the ledger must have; nil: any
	heads   []ledger.Head // expected and not passed yet, in order
	newest  ledger.Head   // of them; zero: none is expected
}

// expect notes the heads that must still be there.
func (c *check) expect(heads []ledger.Head) {
	c.heads = slices.Clone(heads)
	slices.SortFunc(c.heads, func(a, b ledger.Head) int { return cmp.Compare(a.Position, b.Position) })
	if n := len(c.heads); n > 0 {
		c.newest = c.heads[n-1]
		c.verdict.Checkpoint = &Head{c.newest.Position, c.newest.Hash.String()}
		c.verdict.Checkpoints = n
	}
}

// passed drops the heads up to where a run starts: what it starts from is
// checked, those before it are out of reach.
func (c *check) passed(after ledger.Head) *ledger.Fault {
	for len(c.heads) > 0 && c.heads[0].Position <= after.Position {
		if f := c.heads[0].Holds(&ledger.Row{Position: after.Position, Hash: after.Hash, RecordedAt: after.RecordedAt}); f != nil {
			return f
		}
		c.heads = c.heads[1:]
	}
	return nil
}

// held checks the expected heads that a row concerns.
func (c *check) held(r *ledger.Row) *ledger.Fault {
	if r.Position == 1 && c.id != uuid.Nil && r.ID != c.id {
		return &ledger.Fault{Position: 1, Kind: ledger.FaultHead, Detail: fmt.Sprintf("this is ledger %s, the checkpoint is of %s", r.ID, c.id)}
	}
	for len(c.heads) > 0 && c.heads[0].Position <= r.Position {
		if f := c.heads[0].Holds(r); f != nil {
			return f
		}
		c.heads = c.heads[1:]
	}
	return nil
}

func (c *check) next(ctx context.Context, r *ledger.Row, link ledger.Link, e *events.Event, err error) error {
	if f := c.chain.Linked(r, link); f != nil {
		c.fault(f)
		return errFault
	}
	if f := c.counts.Next(r); f != nil {
		c.fault(f)
		return errFault
	}
	if r.Position == 1 {
		c.verdict.Ledger = r.ID.String()
	}
	if f := c.held(r); f != nil {
		c.fault(f)
		return errFault
	}
	if err != nil {
		c.fault(&ledger.Fault{Position: r.Position, Kind: ledger.FaultUnreadable, Detail: err.Error()})
		return errFault
	}
	if r.Position >= c.verdict.From {
		c.verdict.Positions++
	}
	if err := c.index(c.entries.Next(ctx, r)); err != nil {
		return err
	}
	if c.audit == nil {
		return nil
	}
	c.proof.Apply(ctx, e)
	return c.audit.Apply(e)
}

// index notes what the check of the entries found.
func (c *check) index(f *ledger.Fault, err error) error {
	if c.indexed == nil {
		c.indexed = f
	}
	return err
}

func (c *check) fault(f *ledger.Fault) {
	if f != nil && c.verdict.Fault == nil {
		c.verdict.Fault = &Fault{f.Position, f.Kind, f.Detail}
	}
}

// fill takes over what the audit found.
func (v *Verdict) fill(r audit.Report) {
	v.Decisions, v.Rederived, v.Differing = r.Decisions, r.Rederived, r.Faulty
	v.SkippedVersions = []Skipped{}
	for _, s := range r.Skipped {
		v.SkippedVersions = append(v.SkippedVersions, Skipped{s.Rules, s.Decisions})
	}
	if len(r.Faults) > 0 && (v.Fault == nil || r.Faults[0].Position < v.Fault.Position) {
		f := r.Faults[0]
		v.Fault = &Fault{f.Position, f.Kind, f.Detail}
	}
	v.OK = v.Fault == nil
}

// Sentence says what a verification found.
func (v *Verdict) Sentence() string {
	if !v.OK {
		s := fmt.Sprintf("FAULT at position %d (%s): %s.", v.Fault.Position, v.Fault.Kind, v.Fault.Detail)
		if v.Differing > 1 {
			s += fmt.Sprintf(" %d decisions in all are derived differently.", v.Differing)
		}
		return s
	}
	s := fmt.Sprintf("The ledger holds: %d positions chained without a gap up to %d, %d of %d decisions derived again and the same.",
		v.Positions, v.Head.Position, v.Rederived, v.Decisions)
	if v.Unread != nil {
		s = v.partly()
	}
	if v.Checkpoint != nil {
		s += fmt.Sprintf(" It still holds the checkpoint at %d", v.Checkpoint.Position)
		if v.Checkpoints > 1 {
			s += fmt.Sprintf(" and %d before it", v.Checkpoints-1)
		}
		s += "."
	}
	for _, k := range v.SkippedVersions {
		s += fmt.Sprintf(" %d decisions were made under rules version %d, which this binary does not carry.", k.Decisions, k.Rules)
	}
	return s
}

// partly is the sentence where archives were not at hand.
func (v *Verdict) partly() string {
	const none = "not at hand (--archive DIR): no decision was derived."
	if v.there == 0 {
		return fmt.Sprintf("What is live holds: %d positions chained without a gap from %d up to %d. What is archived up to %d was %s",
			v.Positions, v.Unread.Position+1, v.Head.Position, v.Unread.Position, none)
	}
	var gone []string
	for i := range v.absent {
		gone = append(gone, fmt.Sprintf("%d to %d", v.absent[i].First, v.absent[i].End.Position))
	}
	return fmt.Sprintf("What can be read holds: %d positions chained up to %d, archives included. Archived positions %s were %s",
		v.Positions, v.Head.Position, strings.Join(gone, ", "), none)
}

// Progress is told how far a verification is.
type Progress func(done, head events.Position)

// tell calls a progress now and then.
func tell(ctx context.Context, p Progress, done, head events.Position) error {
	if done%4096 != 0 && done != head {
		return nil
	}
	if p != nil {
		p(done, head)
	}
	return ctx.Err()
}
