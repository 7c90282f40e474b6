// Package usage folds events into sums of requests, tokens, skips and refusals
// by account, model, client or day. Tokens belong to attempts: what an attempt
// cost counts for the account that served it, whether or not the request then
// went on to another. What an answer did not say is not counted as zero.
package usage

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/listed"
)

// By is what the sums are grouped by.
type By uint8

// The groupings of the contract.
const (
	Account By = iota
	Model
	Client
	Day

	groupings = 4
)

var byNames = []string{"account", "model", "client", "day"}

// String is the contract's word.
func (b By) String() string { return byNames[b] }

// ParseBy reads the contract's word.
func ParseBy(s string) (By, bool) {
	i := slices.Index(byNames, s)
	return By(max(i, 0)), i >= 0
}

// maxKeys bounds the groups: names of models come from clients. What does not
// fit is summed under Other.
const maxKeys = 10_000

const (
	// maxOpen bounds the requests that are remembered between two attempts.
	maxOpen = 1 << 14
	// listsKept bounds the remembered lists of more than 16 candidates.
	listsKept = 256
)

// Other is the group of what did not fit.
const Other = "(other)"

// Sum is one group. Requests counts those that had an attempt or a refusal in
// the group; by account, every account that a request touched counts it.
type Sum struct {
	Key         string `json:"key"`
	Requests    int64  `json:"requests"`
	Attempts    int64  `json:"attempts"`
	Served      int64  `json:"served"`
	Failed      int64  `json:"failed"` // attempts that ended in anything but a success
	Skips       int64  `json:"skips"`
	Refusals    int64  `json:"refusals"`
	Input       int64  `json:"input_tokens"` // cached ones included
	CachedInput int64  `json:"cached_input_tokens"`
	CacheWrite  int64  `json:"cache_write_tokens"`
	Output      int64  `json:"output_tokens"` // reasoning included
	Reasoning   int64  `json:"reasoning_tokens"`
	Partial     int64  `json:"partial"` // answers that broke off: their tokens are what was seen
	Unknown     int64  `json:"unknown"` // answers that said nothing of tokens
}

// Add sums two groups into the first one, which keeps its key.
func (s *Sum) Add(o *Sum) {
	own, its := s.counts(), o.counts()
	for i := range own {
		*own[i] += *its[i]
	}
}

// View is the fold, by all groupings at once. It is not safe for concurrent
// use. The sums only grow: those of a span of time are the ones at its end less
// the ones at its beginning.
type View struct {
	sums   [groupings]map[string]*Sum
	names  []string
	byName map[string]uint32
	open   map[uuid.UUID]*asked
	lists  *listed.Book
}

// asked is what outcomes of a request are grouped by.
type asked struct {
	client, model string
	at            events.Time
	touched       []uint32
	last          events.Position
}

// New is an empty view.
func New() *View {
	v := &View{byName: map[string]uint32{}, open: map[uuid.UUID]*asked{}, lists: listed.New(listsKept)}
	for by := range v.sums {
		v.sums[by] = map[string]*Sum{}
	}
	return v
}

// Name implements projections.Projection.
func (v *View) Name() string { return "usage" }

// Version implements projections.Projection.
func (v *View) Version() uint32 { return 2 }

// Apply folds a committed event.
func (v *View) Apply(e *events.Event) {
	switch p := e.Data.(type) {
	case *events.AccountEnrolled:
		if v.byName[e.Account] == 0 {
			v.names = append(v.names, e.Account)
			v.byName[e.Account] = uint32(len(v.names))
		}
	case *events.CandidatesListed:
		v.lists.Add(e, p.Verdicts)
	case *events.AttemptRouted:
		v.routed(e, p)
	case *events.RequestRefused:
		v.refused(e, p)
	case *events.AttemptSucceeded:
		v.answered(e, &p.Answer, true)
		delete(v.open, e.Request)
	case *events.RequestEnded:
		delete(v.open, e.Request)
	default:
		f, ok := events.FailureOf(e.Data)
		if !ok {
			return
		}
		v.answered(e, &f.Answer, false)
		if !f.Followed.GoesOn() {
			delete(v.open, e.Request)
		}
	}
}

func (v *View) routed(e *events.Event, p *events.AttemptRouted) {
	a := v.open[e.Request]
	first := a == nil
	if first {
		a = &asked{client: p.Stamp.Client, model: p.Stamp.Asked, at: p.Stamp.DecidedAt}
		v.open[e.Request] = a
		v.bound()
	}
	a.last = e.Position
	for by := range By(groupings) {
		s := v.sum(by, a, p.Chosen)
		s.Attempts++
		if first || by == Account && !slices.Contains(a.touched, p.Chosen) {
			s.Requests++
		}
	}
	a.touched = append(a.touched, p.Chosen)
	v.skips(a, v.whole(e, p.Skipped, p.Listed), p.Chosen)
}

// bound forgets the requests that were left between two attempts long ago.
func (v *View) bound() {
	if len(v.open) <= maxOpen {
		return
	}
	for _, o := range v.inOrder()[:maxOpen/4] {
		delete(v.open, o.id)
	}
}

func (v *View) refused(e *events.Event, p *events.RequestRefused) {
	a := v.open[e.Request]
	known := a != nil
	if !known {
		a = &asked{client: p.Stamp.Client, model: p.Stamp.Asked, at: p.Stamp.DecidedAt}
	}
	delete(v.open, e.Request)
	all := v.whole(e, p.Verdicts, p.Listed)
	v.skips(a, all, 0)
	for i := range all {
		v.sum(Account, a, all[i].Account).Refusals++
	}
	for _, by := range []By{Model, Client, Day} {
		s := v.sum(by, a, 0)
		s.Refusals++
		if !known {
			s.Requests++
		}
	}
}

// skips counts the accounts that a decision kept out; one that the request had
// tried before was not skipped.
func (v *View) skips(a *asked, list []events.Verdict, chosen uint32) {
	n := int64(0)
	for i := range list {
		if r := list[i].Reason; list[i].Account != chosen && r != events.ReasonNone && r != events.ReasonAlreadyTried {
			v.sum(Account, a, list[i].Account).Skips++
			n++
		}
	}
	if n == 0 {
		return
	}
	for _, by := range []By{Model, Client, Day} {
		v.sum(by, a, 0).Skips += n
	}
}

// whole is a decision's list, its own or the stored one that it refers to.
func (v *View) whole(e *events.Event, list []events.Verdict, ref events.Ref) []events.Verdict {
	if ref != 0 {
		list, _ = v.lists.Find(e.Writer, ref)
	}
	return list
}

func (v *View) answered(e *events.Event, p *events.Answer, served bool) {
	a := v.open[e.Request]
	if a == nil {
		a = &asked{at: e.ObservedAt}
	}
	a.last = e.Position
	for by := range By(groupings) {
		v.sum(by, a, v.byName[e.Account]).answer(p, served)
	}
}

func (s *Sum) answer(p *events.Answer, served bool) {
	if served {
		s.Served++
	} else {
		s.Failed++
	}
	if p.Usage == nil {
		s.Unknown++
		return
	}
	s.Input += p.Usage.Input.V
	s.CachedInput += p.Usage.CachedInput.V
	s.CacheWrite += p.Usage.CacheWrite.V
	s.Output += p.Usage.Output.V
	s.Reasoning += p.Usage.Reasoning.V
	if p.Usage.Partial {
		s.Partial++
	}
}

func (v *View) sum(by By, a *asked, account uint32) *Sum {
	sums, key := v.sums[by], v.key(by, a, account)
	s := sums[key]
	if s == nil && len(sums) >= maxKeys {
		key = Other
		s = sums[key]
	}
	if s == nil {
		s = &Sum{Key: key}
		sums[key] = s
	}
	return s
}

func (v *View) key(by By, a *asked, account uint32) string {
	switch by {
	case Model:
		return a.model
	case Client:
		return a.client
	case Day:
		return a.at.Std().Format("2006-01-02")
	}
	if account == 0 || int(account) > len(v.names) {
		return ""
	}
	return v.names[account-1]
}

// Sums lists the groups by key.
func (v *View) Sums(by By) []Sum { return v.SumsSince(by, nil) }

// SumsSince lists what the groups have grown by since an earlier state of the
// same view (nil: its beginning); those that have not are left out.
func (v *View) SumsSince(by By, earlier *View) []Sum {
	out := make([]Sum, 0, len(v.sums[by]))
	for key, s := range v.sums[by] {
		grown := *s
		if earlier != nil {
			if was := earlier.sums[by][key]; was != nil {
				grown.less(was)
			}
			if grown == (Sum{Key: key}) {
				continue
			}
		}
		out = append(out, grown)
	}
	slices.SortFunc(out, func(a, b Sum) int { return strings.Compare(a.Key, b.Key) })
	return out
}

func (s *Sum) less(was *Sum) {
	own, its := s.counts(), was.counts()
	for i := range own {
		*own[i] -= *its[i]
	}
}

// counts are all counts, in the order of the state.
func (s *Sum) counts() [13]*int64 {
	return [...]*int64{&s.Requests, &s.Attempts, &s.Served, &s.Failed, &s.Skips, &s.Refusals,
		&s.Input, &s.CachedInput, &s.CacheWrite, &s.Output, &s.Reasoning, &s.Partial, &s.Unknown}
}
