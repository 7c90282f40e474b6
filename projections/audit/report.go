package audit

import (
	"slices"

	"github.com/waybill/waybill/events"
)

// KindDecision is the kind of a fault that a decision is derived differently.
const KindDecision = "decision"

// FaultsKept bounds the faults that a report lists; it counts all.
const FaultsKept = 100

// Fault is something that the audit found wrong.
type Fault struct {
	Position events.Position
	Kind     string
	Detail   string // a sentence
}

// Skipped counts decisions by a version of the rules that this binary lacks.
type Skipped struct {
	Rules     uint32
	Decisions int64
}

// Report is what an audit has seen.
type Report struct {
	Events    int64
	Decisions int64     // selected ones
	Rederived int64     // of these: derived again and compared
	Skipped   []Skipped // of these: not comparable, by version
	Faulty    int64
	Faults    []Fault // the first FaultsKept
}

func (r *Report) fault(f Fault) {
	r.Faulty++
	if len(r.Faults) < FaultsKept {
		r.Faults = append(r.Faults, f)
	}
}

func (r *Report) skip(rules uint32) {
	i, ok := slices.BinarySearchFunc(r.Skipped, rules, func(s Skipped, v uint32) int { return int(s.Rules) - int(v) })
	if !ok {
		r.Skipped = slices.Insert(r.Skipped, i, Skipped{Rules: rules})
	}
	r.Skipped[i].Decisions++
}

func (r Report) clone() Report {
	r.Skipped, r.Faults = slices.Clone(r.Skipped), slices.Clone(r.Faults)
	return r
}
