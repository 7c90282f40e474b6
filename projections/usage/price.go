package usage

import (
	"math/big"
	"strings"

	"github.com/waybill/waybill/events"
)

// Prices is a table of prices in one currency. The first row that fits counts.
type Prices struct {
	Currency string // its name, such as USD
	Rows     []Price
}

// Price is what a million tokens cost, in millionths of the currency. Reasoning
// is output. Account and Provider are globs too; "" is any.
type Price struct {
	Model, Account, Provider string

	Input, CachedInput, CacheWrite, Output int64
}

// of is the price of a path, nil when the table has none, or when it depends on
// which of several accounts it was.
func (t *Prices) of(p Path) *Price {
	fits := func(glob, name string) bool { return glob == "" || events.Glob(glob, name) }
	for i := range t.Rows {
		switch r := &t.Rows[i]; {
		case !fits(r.Model, p.Model) || !fits(r.Provider, p.Provider):
		case r.Account != "" && p.Account == Other:
			return nil
		case fits(r.Account, p.Account):
			return r
		}
	}
	return nil
}

// Cost is what tokens cost, exactly. A path without a price is named and not
// guessed; what answers did not tell is not in it.
type Cost struct {
	Currency string `json:"currency"`
	Micros   int64  `json:"micros"`   // millionths of the currency, rounded half up
	Amount   string `json:"amount"`   // the same, exact
	Complete bool   `json:"complete"` // false: at least so much, since something was not told or has no price
	Unpriced []Path `json:"unpriced"` // whose tokens are not in it

	exact big.Int // in millionths of a millionth
}

// million is tokens of a price, and millionths of a unit.
const million = 1_000_000

// add adds what a part costs.
func (c *Cost) add(t *Prices, path Path, p *part) {
	if p.partial+p.unknown+p.billed > 0 {
		c.Complete = false
	}
	if p.answers == 0 {
		return
	}
	price := t.of(path)
	if price == nil {
		c.Complete, c.Unpriced = false, append(c.Unpriced, path)
		return
	}
	if price.Input > 0 && p.input.Told < p.answers || price.Output > 0 && p.output.Told < p.answers {
		c.Complete = false
	}
	for _, x := range [...]struct{ tokens, price int64 }{
		{p.fresh, price.Input}, {p.cached.N, price.CachedInput}, {p.written.N, price.CacheWrite}, {p.output.N, price.Output}} {
		c.exact.Add(&c.exact, new(big.Int).Mul(big.NewInt(x.tokens), big.NewInt(x.price)))
	}
}

// plus is the sum of two costs of one currency; nil is none.
func (c *Cost) plus(o *Cost) *Cost {
	if o == nil {
		return c
	}
	sum := &Cost{Currency: o.Currency, Complete: o.Complete, Unpriced: append([]Path{}, o.Unpriced...)}
	sum.exact.Set(&o.exact)
	if c != nil {
		sum.exact.Add(&sum.exact, &c.exact)
		sum.Complete, sum.Unpriced = c.Complete && o.Complete, union(c.Unpriced, o.Unpriced)
	}
	sum.show()
	return sum
}

func union(a, b []Path) []Path {
	out, seen := []Path{}, map[Path]bool{}
	for _, p := range append(append([]Path{}, a...), b...) {
		if !seen[p] {
			seen[p] = true
			out = append(out, p)
		}
	}
	return out
}

// show writes the exact sum as people and scripts read it.
func (c *Cost) show() {
	half := new(big.Int).Add(&c.exact, big.NewInt(million/2))
	c.Micros = half.Div(half, big.NewInt(million)).Int64()
	whole, rest := new(big.Int).QuoRem(&c.exact, big.NewInt(million*million), new(big.Int))
	digits := rest.String()
	digits = strings.TrimRight(strings.Repeat("0", 12-len(digits))+digits, "0")
	c.Amount = whole.String()
	if digits != "" {
		c.Amount += "." + digits
	}
}
