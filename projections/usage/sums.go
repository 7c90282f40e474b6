package usage

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// IsZero says that no answer told it.
func (t Tokens) IsZero() bool { return t.Told == 0 }

// MarshalJSON is the number of tokens.
func (t Tokens) MarshalJSON() ([]byte, error) { return strconv.AppendInt(nil, t.N, 10), nil }

// UnmarshalJSON reads a number of tokens that somebody told.
func (t *Tokens) UnmarshalJSON(b []byte) (err error) {
	t.Told = 1
	t.N, err = strconv.ParseInt(string(b), 10, 64)
	return err
}

// Columns are the names of a sum's numbers, in the order of a table.
func Columns() []string {
	return []string{"requests", "attempts", "served", "failed", "skips", "refusals", "input", "cached", "cache write", "output", "reasoning", "partial", "unknown", "possibly billed"}
}

// Sum is one group. A kind of tokens that no answer told is absent.
type Sum struct {
	Key string `json:"key"`
	Counts
	Input       Tokens `json:"input_tokens,omitzero"` // cached and written ones included
	CachedInput Tokens `json:"cached_input_tokens,omitzero"`
	CacheWrite  Tokens `json:"cache_write_tokens,omitzero"`
	Output      Tokens `json:"output_tokens,omitzero"` // reasoning included
	Reasoning   Tokens `json:"reasoning_tokens,omitzero"`
	Partial     int64  `json:"partial"`         // answers that broke off: their tokens are what was seen
	Unknown     int64  `json:"unknown"`         // answers that said nothing of tokens
	Billed      int64  `json:"possibly_billed"` // attempts that were worked on, perhaps, and ended without a word of tokens
	Cost        *Cost  `json:"cost,omitempty"`  // where there is a price table
}

func (s *Sum) tokens() [5]*Tokens {
	return [...]*Tokens{&s.Input, &s.CachedInput, &s.CacheWrite, &s.Output, &s.Reasoning}
}

// counts are all its numbers but the cost.
func (s *Sum) counts() []*int64 {
	c := s.Counts.all()
	out := append(c[:], &s.Partial, &s.Unknown, &s.Billed)
	for _, t := range s.tokens() {
		out = append(out, &t.N, &t.Told)
	}
	return out
}

// Add sums two groups into the first one, which keeps its key.
func (s *Sum) Add(o *Sum) {
	its := o.counts()
	for i, n := range s.counts() {
		*n += *its[i]
	}
	s.Cost = s.Cost.plus(o.Cost)
}

// take adds a part.
func (s *Sum) take(p *part) {
	its := p.tokens()
	for i, t := range s.tokens() {
		t.N, t.Told = t.N+its[i].N, t.Told+its[i].Told
	}
	s.Partial, s.Unknown, s.Billed = s.Partial+p.partial, s.Unknown+p.unknown, s.Billed+p.billed
}

// Sums lists the groups by key, priced where there are prices.
func (v *View) Sums(by By, prices *Prices) []Sum { return v.SumsSince(by, nil, prices) }

// SumsSince lists what the groups have grown by since an earlier state of the
// same view (nil: its beginning); those that have not are left out.
func (v *View) SumsSince(by By, earlier *View, prices *Prices) []Sum {
	out := make([]Sum, 0, len(v.groups[by]))
	for key, g := range v.groups[by] {
		if earlier != nil {
			if g = g.since(earlier.groups[by][key]); g == nil {
				continue
			}
		}
		out = append(out, v.sum(key, g, prices))
	}
	slices.SortFunc(out, func(a, b Sum) int { return strings.Compare(a.Key, b.Key) })
	return out
}

func (v *View) sum(key string, g *group, prices *Prices) Sum {
	s := Sum{Key: key, Counts: g.Counts}
	for _, p := range g.parts {
		s.take(p)
	}
	if prices == nil {
		return s
	}
	s.Cost = &Cost{Currency: prices.Currency, Complete: true, Unpriced: []Path{}}
	for _, at := range slices.Sorted(maps.Keys(g.parts)) {
		s.Cost.add(prices, v.paths[at], g.parts[at])
	}
	s.Cost.show()
	return s
}

// since is what a group has grown by, nil for nothing.
func (g *group) since(was *group) *group {
	if was == nil {
		return g
	}
	grown := &group{Counts: g.Counts, parts: map[uint32]*part{}}
	own, its := grown.Counts.all(), was.Counts.all()
	less(own[:], its[:])
	for at, p := range g.parts {
		now := *p
		if before := was.parts[at]; before != nil {
			own, its := now.all(), before.all()
			less(own[:], its[:])
		}
		if now != (part{}) {
			grown.parts[at] = &now
		}
	}
	if len(grown.parts) == 0 && grown.Counts == (Counts{}) {
		return nil
	}
	return grown
}

// less takes the second numbers from the first.
func less(own, its []*int64) {
	for i, n := range own {
		*n -= *its[i]
	}
}
