package inquiry

import (
	"context"
	"errors"
	"fmt"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections/audit"
)

// Verdict is what a verification found, in the contract's shape.
type Verdict struct {
	OK              bool            `json:"ok"`
	From            events.Position `json:"from"`
	Positions       uint64          `json:"positions"` // whose chain and bytes were checked
	Head            Head            `json:"head"`
	Decisions       int64           `json:"decisions"`
	Rederived       int64           `json:"rederived"`
	SkippedVersions []Skipped       `json:"skipped_versions"`
	Fault           *Fault          `json:"fault"`
	Faults          int64           `json:"faults"`
	Checkpoint      *Head           `json:"checkpoint"` // that was held against the ledger
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
	Kind     string          `json:"kind"` // chain, gap, order, unreadable, decision
	Detail   string          `json:"detail"`
}

// VerifyOptions narrow a verification.
type VerifyOptions struct {
	From       events.Position // count positions and derive decisions from here on
	Checkpoint ledger.Head     // a head seen earlier and kept elsewhere: it must still be there; zero: none
	Progress   Progress
}

// Verify walks the chain from a position on, decodes every event, and derives
// every decision from there on again. An error means that it could not be done;
// what is wrong is in the verdict.
func Verify(ctx context.Context, log Log, o VerifyOptions) (Verdict, error) {
	from, p := max(o.From, 1), o.Progress
	head, err := log.Head(ctx)
	if err != nil {
		return Verdict{}, fmt.Errorf("find the head: %w", err)
	}
	v := Verdict{From: from, Head: Head{head.Position, head.Hash.String()}}
	c := check{chain: ledger.NewChecker(ledger.Head{}), verdict: &v, expect: o.Checkpoint}
	if o.Checkpoint.Position > 0 {
		v.Checkpoint = &Head{o.Checkpoint.Position, o.Checkpoint.Hash.String()}
	}
	c.audit = audit.New(audit.Options{Only: func(e *events.Event) bool { return e.Position >= from }, Read: rereader(ctx, log)})
	err = walk(ctx, log, 0, head.Position, func(r *ledger.Row, content events.Hash, e *events.Event, err error) error {
		if err := c.next(r, content, e, err); err != nil {
			return err
		}
		return tell(ctx, p, r.Position, head.Position)
	})
	if err != nil && !errors.Is(err, errFault) {
		return v, fmt.Errorf("verify: %w", err)
	}
	if v.Fault == nil {
		c.fault(c.chain.End(head))
		c.fault(c.cut(head))
	}
	v.fill(c.audit.Report())
	return v, nil
}

// errFault ends a walk at a fault behind which nothing can be told any more.
var errFault = errors.New("fault")

// check is a verification under way.
type check struct {
	chain   *ledger.Checker
	audit   *audit.Auditor
	verdict *Verdict
	expect  ledger.Head
}

// cut says that the ledger ends before the checkpoint.
func (c *check) cut(head ledger.Head) *ledger.Fault {
	if head.Position >= c.expect.Position {
		return nil
	}
	return &ledger.Fault{Position: head.Position + 1, Kind: ledger.FaultHead,
		Detail: fmt.Sprintf("the ledger ends at %d, but it went up to %d when the checkpoint was taken: its end was cut off", head.Position, c.expect.Position)}
}

func (c *check) next(r *ledger.Row, content events.Hash, e *events.Event, err error) error {
	if f := c.chain.Next(r, content); f != nil {
		c.fault(f)
		return errFault
	}
	if r.Position == c.expect.Position && r.Hash != c.expect.Hash {
		c.fault(&ledger.Fault{Position: r.Position, Kind: ledger.FaultHead, Detail: "another event stood here when the checkpoint was taken: the ledger was rewritten"})
		return errFault
	}
	if err != nil {
		c.fault(&ledger.Fault{Position: r.Position, Kind: ledger.FaultUnreadable, Detail: err.Error()})
		return errFault
	}
	if r.Position >= c.verdict.From {
		c.verdict.Positions++
	}
	if err := c.audit.Apply(e); err != nil {
		return err
	}
	return nil
}

func (c *check) fault(f *ledger.Fault) {
	if f != nil && c.verdict.Fault == nil {
		c.verdict.Fault = &Fault{f.Position, f.Kind, f.Detail}
	}
}

// fill takes over what the audit found.
func (v *Verdict) fill(r audit.Report) {
	v.Decisions, v.Rederived, v.Faults = r.Decisions, r.Rederived, r.Faulty
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
		if v.Faults > 1 {
			s += fmt.Sprintf(" %d decisions in all are derived differently.", v.Faults)
		}
		return s
	}
	s := fmt.Sprintf("The ledger holds: %d positions chained without a gap up to %d, %d of %d decisions derived again and the same.",
		v.Positions, v.Head.Position, v.Rederived, v.Decisions)
	if v.Checkpoint != nil {
		s += fmt.Sprintf(" It still holds the checkpoint at %d.", v.Checkpoint.Position)
	}
	for _, k := range v.SkippedVersions {
		s += fmt.Sprintf(" %d decisions were made under rules version %d, which this binary does not carry.", k.Decisions, k.Rules)
	}
	return s
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
