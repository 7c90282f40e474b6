package xai

import (
	"strings"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/compatible"
)

// InBand reads the rate-limit headers, and the pair of numbers by which a
// refused free account says how much of its allowance is used ("(actual/limit):
// 1065387/1000000").
func InBand(a *provider.Answer) *events.Reading {
	r := compatible.InBand(a)
	if a.Status != 429 {
		return r
	}
	env := provider.Normalise(a)
	if !strings.Contains(env.Message, "free usage") {
		return r
	}
	used, limit, ok := Pair(env.Message)
	if !ok {
		return r
	}
	if r == nil {
		r = &events.Reading{Source: "headers"}
	}
	r.Windows = append(r.Windows, events.Window{Name: "free usage", Scope: events.Scope{Kind: events.ScopeAccount},
		Length: 24 * time.Hour, Used: events.Dec(used), Limit: events.Dec(limit), Reported: true})
	return r
}

// Pair finds "USED/LIMIT" in text.
func Pair(text string) (used, limit events.Decimal, ok bool) {
	for i := range len(text) {
		if text[i] != '/' {
			continue
		}
		from, to := i, i+1
		for from > 0 && digit(text[from-1]) {
			from--
		}
		for to < len(text) && digit(text[to]) {
			to++
		}
		used, ok1 := events.ParseDecimal(text[from:i])
		limit, ok2 := events.ParseDecimal(text[i+1 : to])
		if ok1 && ok2 && limit > 0 {
			return used, limit, true
		}
	}
	return 0, 0, false
}

func digit(c byte) bool { return c >= '0' && c <= '9' }
