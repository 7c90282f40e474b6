package usage

import (
	"testing"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// BenchmarkApply is one request: its decision and its answer.
func BenchmarkApply(b *testing.B) {
	v := New()
	v.Apply(&events.Event{Header: events.Header{Account: "a"}, Position: 1, Data: &events.AccountEnrolled{}})
	head := events.Header{Account: "a", Model: "gpt-5-mini", Attempt: 1}
	routed := &events.AttemptRouted{Stamp: events.Stamp{Client: "app", Asked: "gpt-5-mini", DecidedAt: t0}, Chosen: 1}
	answered := &events.AttemptSucceeded{Answer: events.Answer{Usage: &events.Usage{Input: events.Int(1200), CachedInput: events.Int(900), Output: events.Int(300)}}}
	b.ReportAllocs()
	for i := range b.N {
		head.Request = uuid.UUID{byte(i), byte(i >> 8), byte(i >> 16)}
		v.Apply(&events.Event{Header: head, Position: events.Position(2*i + 2), Data: routed})
		v.Apply(&events.Event{Header: head, Position: events.Position(2*i + 3), Data: answered})
	}
}
