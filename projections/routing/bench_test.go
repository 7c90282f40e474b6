package routing

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/admission"
)

// pool is n accounts with a reading each, a tenth of them out.
func pool(b testing.TB, n int) View {
	v := roster(b, open())
	for i := range n {
		id := fmt.Sprintf("account-%04d", i)
		fold(v, id, &events.AccountEnrolled{Settings: events.Settings{Provider: "x", Endpoint: "x.test", QuotaSource: "push", Dialects: []events.Dialect{events.DialectOpenAI}}})
		left := events.Decimal(5+i%90) * events.DecimalUnit
		if i%10 == 9 {
			left = 0
		}
		e := events.Event{Header: events.Header{Account: id, ObservedAt: noon}, Position: 1, Data: &events.QuotaFetched{Reading: events.Reading{
			Source: "push", Windows: []events.Window{{Name: "5h", RemainingPercent: events.Dec(left), ResetsAt: noon.Add(5 * time.Hour), Reported: true},
				{Name: "weekly", RemainingPercent: events.Dec(events.Decimal(60) * events.DecimalUnit), ResetsAt: noon.Add(90 * time.Hour), Reported: true}}}}}
		v.Admission.Apply(&e)
	}
	return v
}

// BenchmarkDecision is a whole decision: admission, placement and the encoded
// record, with one outcome folded between two decisions, as a busy gateway has
// it. The list of candidates is one that is already stored.
func BenchmarkDecision(b *testing.B) {
	for _, n := range []int{1, 10, 1000} {
		for _, cached := range []bool{true, false} {
			name := fmt.Sprintf("accounts=%d", n)
			if !cached {
				name += "/naive"
			}
			b.Run(name, func(b *testing.B) {
				v := pool(b, n)
				if !cached {
					v.Cache = nil
				}
				var buf []byte
				var request uuid.UUID
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					request[0], request[1], request[15] = byte(i), byte(i>>8), byte(i>>16)
					s := events.Stamp{DecidedAt: noon.Add(time.Duration(i%1000) * time.Millisecond), View: 12, Dialect: events.DialectOpenAI, Asked: "m1", Client: "app"}
					d := Decide(v, request, 1, &s, func(uint32) int64 { return 0 })
					if d.Action != Dispatch {
						b.Fatal(d.Action, d.Refusal.Message)
					}
					h := events.Header{Account: v.Admission.Roster()[d.Account-1].ID, Request: request, Attempt: 1}
					buf = events.SealTo(buf[:0], &events.Draft{Header: h, Data: d.Routed(&s)}).Payload
					e := events.Event{Header: h, Position: 2, Data: &events.AttemptSucceeded{Answer: events.Answer{Status: 200, DispatchedAt: s.DecidedAt, AnsweredAt: s.DecidedAt}}}
					v.Admission.Apply(&e)
				}
			})
		}
	}
}

// BenchmarkAdmitAll is the judge alone over a pool, to compare with.
func BenchmarkAdmitAll(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprintf("accounts=%d", n), func(b *testing.B) {
			v := pool(b, n)
			doc, _ := v.Admission.Document()
			b.ReportAllocs()
			for b.Loop() {
				for a := range n {
					admission.Admit(v.Admission, admission.Path{Account: uint32(a + 1), Model: "m1"}, &doc.Policy, noon)
				}
			}
		})
	}
}

// BenchmarkDecide is the decision alone, nothing folded in between.
func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{1, 10, 1000} {
		b.Run(fmt.Sprintf("accounts=%d", n), func(b *testing.B) {
			v := pool(b, n)
			var request uuid.UUID
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				request[0], request[1], request[15] = byte(i), byte(i>>8), byte(i>>16)
				s := events.Stamp{DecidedAt: noon, View: 12, Dialect: events.DialectOpenAI, Asked: "m1", Client: "app"}
				if d := Decide(v, request, 1, &s, func(uint32) int64 { return 0 }); d.Action != Dispatch {
					b.Fatal(d.Action, d.Refusal.Message)
				}
			}
		})
	}
}
