package usage

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// spent plays one answer of account a for a model and gives what it cost.
func spent(t *testing.T, prices *Prices, model string, u *events.Usage) *Cost {
	t.Helper()
	p := newTape(Account)
	p.routed(1, 1, 1, "asked")
	p.add(events.Header{Request: uuid.UUID{1}, Attempt: 1, Account: "a", Model: model}, &events.AttemptSucceeded{Answer: events.Answer{Status: 200, Usage: u}})
	return p.view.Sums(Account, prices)[0].Cost
}

func usd(rows ...Price) *Prices { return &Prices{Currency: "USD", Rows: rows} }

func Test_B100_cached_tokens_cost_their_own_price_and_no_other(t *testing.T) {
	prices := usd(Price{Model: "m*", Input: 500_000, CachedInput: 50_000, Output: 3_000_000})
	c := spent(t, prices, "m1", tokens(20_000, 16_000, 900))
	if c.Micros != 4000/2+16000/20+900*3 || c.Amount != "0.0055" || !c.Complete || c.Currency != "USD" {
		t.Fatalf("%+v", c)
	}
}

func Test_B101_tokens_that_went_into_a_cache_cost_their_own_price(t *testing.T) {
	prices := usd(Price{Model: "claude", Input: 3_000_000, CachedInput: 300_000, CacheWrite: 3_750_000, Output: 15_000_000})
	u := tokens(10_007, 9000, 20)
	u.CacheWrite = events.Int(1000)
	if c := spent(t, prices, "claude", u); c.Micros != 7*3+9000*3/10+3750+20*15 || c.Amount != "0.006771" {
		t.Fatalf("%+v", c)
	}
	apart := tokens(7, 9000, 20) // a provider that counts caches beside the input
	apart.CacheWrite = events.Int(1000)
	if c := spent(t, prices, "claude", apart); c.Micros != 6771 {
		t.Fatalf("%+v", c)
	}
}

func TestReasoningIsOutputAndIsPaidOnce(t *testing.T) {
	u := tokens(0, 0, 100)
	u.Reasoning = events.Int(90)
	if c := spent(t, usd(Price{Model: "*", Output: million}), "m1", u); c.Micros != 100 {
		t.Fatalf("%+v", c)
	}
}

func TestTheFirstRowThatFitsCounts(t *testing.T) {
	prices := usd(Price{Model: "m1", Account: "b*", Input: 1}, Price{Model: "m1", Provider: "other", Input: 2}, Price{Model: "m*", Account: "a", Input: 3}, Price{Model: "*", Input: 4})
	for model, want := range map[string]string{"m1": "0.000003", "x": "0.000004"} {
		if c := spent(t, prices, model, tokens(million, 0, 0)); c.Amount != want {
			t.Errorf("%s: %+v, want %s", model, c, want)
		}
	}
}

func TestAModelWithoutAPriceIsNamedAndNotGuessed(t *testing.T) {
	c := spent(t, usd(Price{Model: "other", Input: 1}), "m1", tokens(5, 0, 5))
	if c.Micros != 0 || c.Amount != "0" || c.Complete || len(c.Unpriced) != 1 || c.Unpriced[0] != (Path{Account: "a", Model: "m1"}) {
		t.Fatalf("%+v", c)
	}
}

func TestACostThatIsAtLeastSoMuchSaysSo(t *testing.T) {
	prices := usd(Price{Model: "*", Input: million, Output: million})
	partial := tokens(5, 0, 5)
	partial.Partial = true
	for name, row := range map[string]struct {
		usage    *events.Usage
		complete bool
	}{
		"whole":                  {tokens(5, 0, 5), true},
		"broken off":             {partial, false},
		"nothing told":           {nil, false},
		"no word of the input":   {&events.Usage{Output: events.Int(5)}, false},
		"no word of the output":  {&events.Usage{Input: events.Int(5)}, false},
		"no word of what caches": {&events.Usage{Input: events.Int(5), Output: events.Int(5)}, true},
	} {
		if c := spent(t, prices, "m1", row.usage); c.Complete != row.complete {
			t.Errorf("%s: %+v", name, c)
		}
	}
	embedding := usd(Price{Model: "*", Input: million})
	if c := spent(t, embedding, "m1", &events.Usage{Input: events.Int(5)}); !c.Complete {
		t.Errorf("an embedding has no output: %+v", c)
	}
}

// The twin adds every answer in rational numbers.
func Test_B100_many_answers_cost_exactly_what_they_add_up_to(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	prices := usd(Price{Model: "m1", Input: 123_457, CachedInput: 1, CacheWrite: 999_999, Output: 7_654_321}, Price{Model: "m2", Input: 1, Output: 3})
	p, want := newTape(Client), new(big.Rat)
	const n = 20_000
	pay := func(tokens, micros int64) {
		want.Add(want, new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(tokens), big.NewInt(micros)), big.NewInt(million*million)))
	}
	for i := range n {
		row := prices.Rows[rnd.IntN(2)]
		fresh, cached, written, out := rnd.Int64N(5000), rnd.Int64N(5000), rnd.Int64N(100), rnd.Int64N(900)
		u := &events.Usage{Input: events.Int(fresh + cached + written), CachedInput: events.Int(cached), CacheWrite: events.Int(written), Output: events.Int(out)}
		id := uuid.UUID{byte(i), byte(i >> 8), byte(i >> 16), 1}
		p.add(events.Header{Request: id, Attempt: 1, Account: "a", Model: row.Model}, &events.AttemptRouted{Stamp: events.Stamp{Client: "app"}, Chosen: 1})
		p.add(events.Header{Request: id, Attempt: 1, Account: "a", Model: row.Model}, &events.AttemptSucceeded{Answer: events.Answer{Usage: u}})
		pay(fresh, row.Input)
		pay(cached, row.CachedInput)
		pay(written, row.CacheWrite)
		pay(out, row.Output)
	}
	c := p.view.Sums(Client, prices)[0].Cost
	if got, ok := new(big.Rat).SetString(c.Amount); !ok || got.Cmp(want) != 0 || !c.Complete {
		t.Fatalf("%+v, want %s", c, want.FloatString(12))
	}
}

func TestAllGroupingsCostTheSame(t *testing.T) {
	prices := usd(Price{Model: "m1", Account: "a", Input: 10, Output: 20}, Price{Model: "m1", Account: "b", Input: 30, Output: 40})
	p := newTape(Account)
	for i := range byte(20) {
		p.now = p.now.Add(7 * 3600e9)
		no := uint32(i%2) + 1
		id := events.Header{Request: uuid.UUID{i}, Attempt: 1, Account: string('a' + rune(no-1)), Model: "m1"}
		p.add(id, &events.AttemptRouted{Stamp: events.Stamp{DecidedAt: p.now, Client: "app", Asked: "x"}, Chosen: no})
		p.add(id, &events.AttemptSucceeded{Answer: events.Answer{Usage: tokens(100, 0, 10)}})
	}
	for by := range By(groupings) {
		var total Sum
		for _, s := range p.view.Sums(by, prices) {
			total.Add(&s)
		}
		if want := 10*(100*10+10*20) + 10*(100*30+10*40); total.Cost.exact.Cmp(big.NewInt(int64(want))) != 0 || total.Cost.Amount != "0.000000046" {
			t.Errorf("by %s: %+v", by, total.Cost)
		}
	}
}

func TestAStateHoldsThePricedParts(t *testing.T) {
	prices := usd(Price{Model: "*", Input: 3, Output: 5})
	p := newTape(Account)
	p.routed(1, 1, 1, "m1")
	p.add(events.Header{Request: uuid.UUID{1}, Attempt: 1, Account: "a", Model: "sent"}, &events.AttemptSucceeded{Answer: events.Answer{Usage: tokens(100, 4, 10)}})
	again := New()
	if err := again.LoadState(p.view.AppendState(nil)); err != nil {
		t.Fatal(err)
	}
	for by := range By(groupings) {
		was, is := p.view.Sums(by, prices), again.Sums(by, prices)
		if len(was) != len(is) || was[0].Counts != is[0].Counts || was[0].Input != is[0].Input || was[0].Cost.Amount != is[0].Cost.Amount {
			t.Errorf("by %s: %+v became %+v", by, was, is)
		}
		if p.view.parts != again.parts {
			t.Errorf("%v parts became %v", p.view.parts, again.parts)
		}
		if grown := p.view.SumsSince(by, again, prices); len(grown) != 0 {
			t.Errorf("by %s nothing has grown: %+v", by, grown)
		}
	}
}

func TestTheNumberOfPartsIsBounded(t *testing.T) {
	p := newTape(Account)
	for i := range maxPaths + 50 {
		p.routed(1, 1, 1, "m")
		p.add(events.Header{Request: uuid.UUID{1}, Attempt: 1, Account: "a", Model: "model-" + big.NewInt(int64(i)).String()},
			&events.AttemptSucceeded{Answer: events.Answer{Usage: tokens(1, 0, 1)}})
	}
	c := p.view.Sums(Account, usd(Price{Model: "model-*", Input: million}))[0].Cost
	if len(p.view.paths) > maxPaths || c.Micros != maxPaths-1 || len(c.Unpriced) != 1 || c.Unpriced[0].Model != Other {
		t.Fatalf("%d paths, %+v", len(p.view.paths), c)
	}
}

// full plays three models on two accounts into groupings that are nearly full.
func full(already int) *tape {
	p := newTape(Day)
	for by := range p.view.parts {
		p.view.parts[by] = already
	}
	for _, model := range []string{"first", "second", "third", "first"} {
		for no := uint32(1); no <= 2; no++ {
			p.routed(1, 1, no, "m")
			p.add(events.Header{Request: uuid.UUID{1}, Attempt: 1, Account: string('a' + rune(no-1)), Model: model}, &events.AttemptSucceeded{Answer: events.Answer{Usage: tokens(1, 0, 1)}})
		}
	}
	return p
}

func TestInAFullGroupingTheAccountsOfAModelAreSummedTogether(t *testing.T) {
	p := full(maxParts - 1)
	if c := p.view.Sums(Day, usd(Price{Model: "*", Input: million}))[0].Cost; c.Micros != 8 || !c.Complete {
		t.Errorf("%+v", c)
	}
	// Whether a was dearer than b is not known any more: nothing is guessed.
	c := p.view.Sums(Day, usd(Price{Model: "*", Account: "a", Input: million}, Price{Model: "*", Input: 2 * million}))[0].Cost
	if c.Micros != 2 || c.Complete || len(c.Unpriced) != 3 || c.Unpriced[0].Account != Other {
		t.Errorf("%+v", c)
	}
}

func TestAGroupingWithoutAnyRoomSumsTheRestTogether(t *testing.T) {
	p := full(maxParts + maxShared)
	s := p.view.Sums(Day, usd(Price{Model: "first", Input: million}))[0]
	if c := s.Cost; s.Input.N != 8 || c.Micros != 0 || len(c.Unpriced) != 1 || c.Unpriced[0].Model != Other {
		t.Errorf("%+v %+v", s, c)
	}
}

func TestAnAccountsAnswersArePricedByTheProviderThatItHadThen(t *testing.T) {
	p := newTape(Account)
	for _, provider := range []string{"old", "new"} {
		p.add(events.Header{Account: "a"}, &events.AccountChanged{Settings: events.Settings{Provider: provider}})
		p.routed(1, 1, 1, "m")
		p.add(events.Header{Request: uuid.UUID{1}, Attempt: 1, Account: "a", Model: "m"}, &events.AttemptSucceeded{Answer: events.Answer{Usage: tokens(1, 0, 0)}})
	}
	c := p.view.Sums(Account, usd(Price{Model: "*", Provider: "old", Input: million}, Price{Model: "*", Provider: "new", Input: 10 * million}))[0].Cost
	if c.Micros != 11 || !c.Complete {
		t.Fatalf("%+v", c)
	}
}
