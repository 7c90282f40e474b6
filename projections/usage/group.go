package usage

import (
	"math"

	"github.com/waybill/waybill/events"
)

// The bounds of a view: names of models come from clients. What does not fit is
// summed under Other.
const (
	maxKeys   = 10_000 // of one grouping
	maxParts  = 50_000 // of one grouping, over all its groups
	maxShared = 50_000 // of one grouping, besides those
	maxPaths  = 10_000
)

// Other is the group, the account, and the model of what did not fit.
const Other = "(other)"

// Path is what a price depends on: who served, and the model as it was sent.
type Path struct {
	Account  string `json:"account"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
}

// Tokens is a sum of tokens of one kind, and how many answers told it. Told by
// none it is unknown, which is not zero.
type Tokens struct{ N, Told int64 }

func (t *Tokens) add(n events.OptInt) {
	if n.Set {
		t.N, t.Told = t.N+n.V, t.Told+1
	}
}

// Counts is what is counted of a group besides tokens.
type Counts struct {
	Requests int64 `json:"requests"` // that had an attempt or a refusal in the group; by account: that touched the account
	Attempts int64 `json:"attempts"`
	Served   int64 `json:"served"`
	Failed   int64 `json:"failed"` // attempts that ended in anything but a success
	Skips    int64 `json:"skips"`
	Refusals int64 `json:"refusals"`
}

func (c *Counts) all() [6]*int64 {
	return [...]*int64{&c.Requests, &c.Attempts, &c.Served, &c.Failed, &c.Skips, &c.Refusals}
}

// group is one group: its counts, and its tokens by path.
type group struct {
	Counts
	parts map[uint32]*part // by the path's place in View.paths
}

// part is what the answers of one path told in one group.
type part struct {
	input, cached, written, output, reasoning Tokens

	fresh   int64 // input tokens that came from no cache and went to none
	answers int64 // that told anything
	partial int64 // of them: that broke off
	unknown int64 // served, and told nothing
	billed  int64 // possibly billed, and told nothing
}

func (p *part) tokens() [5]*Tokens {
	return [...]*Tokens{&p.input, &p.cached, &p.written, &p.output, &p.reasoning}
}

// all are all counts, in the order of the state.
func (p *part) all() [15]*int64 {
	out := [15]*int64{&p.fresh, &p.answers, &p.partial, &p.unknown, &p.billed}
	for i, t := range p.tokens() {
		out[5+2*i], out[6+2*i] = &t.N, &t.Told
	}
	return out
}

// told adds what an answer told. Cached and written tokens are part of the
// input; where they are more than all of it, they were counted beside it.
func (p *part) told(u *events.Usage) {
	p.input.add(u.Input)
	p.cached.add(u.CachedInput)
	p.written.add(u.CacheWrite)
	p.output.add(u.Output)
	p.reasoning.add(u.Reasoning)
	p.answers++
	if u.Partial {
		p.partial++
	}
	fresh := u.Input.V - u.CachedInput.V - u.CacheWrite.V
	if fresh < 0 {
		fresh = u.Input.V
	}
	p.fresh += fresh
}

// group is the one that a request belongs to.
func (v *View) group(by By, a *asked, account uint32) *group {
	groups, key := v.groups[by], v.key(by, a, account)
	g := groups[key]
	if g == nil && len(groups) >= maxKeys {
		key = Other
		g = groups[key]
	}
	if g == nil {
		g = newGroup()
		groups[key] = g
	}
	return g
}

func newGroup() *group { return &group{parts: map[uint32]*part{}} }

func (v *View) key(by By, a *asked, account uint32) string {
	switch by {
	case Model:
		return a.model
	case Client:
		return a.client
	case Day:
		return a.at.Std().Format("2006-01-02")
	}
	return v.accounts.ID(account)
}

// part is a group's for a path. In a grouping that is full the accounts of a
// model share one, and when that is full too, everything does.
func (v *View) part(by By, g *group, at uint32) *part {
	if p := v.partWithin(by, g, at, maxParts); p != nil {
		return p
	}
	shared := v.paths[at]
	shared.Account = Other
	if p := v.partWithin(by, g, v.place(shared), maxParts+maxShared); p != nil {
		return p
	}
	return v.partWithin(by, g, 0, math.MaxInt)
}

// partWithin is a part that is there, or a new one where there is room.
func (v *View) partWithin(by By, g *group, at uint32, most int) *part {
	p := g.parts[at]
	if p == nil && v.parts[by] < most {
		p = &part{}
		g.parts[at] = p
		v.parts[by]++
	}
	return p
}

// path is the place of a path in the list; the first is for what does not fit.
func (v *View) path(account uint32, model string) uint32 {
	if account == 0 {
		return 0
	}
	return v.place(Path{Account: v.accounts.ID(account), Provider: v.providers[account-1], Model: model})
}

// place is where a path stands, a new one at the end.
func (v *View) place(p Path) uint32 {
	if at, ok := v.byPath[p]; ok {
		return at
	}
	if len(v.paths) >= maxPaths {
		return 0
	}
	at := uint32(len(v.paths))
	v.paths, v.byPath[p] = append(v.paths, p), at
	return at
}
