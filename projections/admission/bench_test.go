package admission

import (
	"strconv"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
)

// crowd is a pool of n accounts of which only the last is admitted.
func crowd(t testing.TB, n int) *world {
	w := newWorld(t)
	for i := range n {
		a := "account-" + strconv.Itoa(i)
		w.enrol(a, events.Settings{Provider: "p", Endpoint: "host.example", QuotaSource: "preset"})
		switch {
		case i == n-1:
			w.reading(a, epoch0, roomy("5h", 50, after(5*time.Hour)), roomy("7d", 50, after(5*day)))
		case i%3 == 0:
			w.reading(a, epoch0, spent("5h", after(5*time.Hour)), roomy("7d", 50, after(5*day)))
		case i%3 == 1:
			w.fail(call{account: a, model: "m", from: epoch0, to: after(time.Second)}, of(events.ClassWindowExhausted))
		default:
			w.fail(call{account: a, model: "m", from: epoch0, to: after(time.Second)}, of(events.ClassCreditsExhausted))
		}
	}
	return w
}

func BenchmarkAdmit(b *testing.B) {
	for _, n := range []int{10, 1000} {
		w := crowd(b, n)
		now := after(2 * time.Second)
		b.Run("accounts="+strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			skipped := make([]events.Verdict, 0, n)
			for b.Loop() {
				skipped = skipped[:0]
				for no := uint32(1); no <= uint32(n); no++ {
					d := Admit(w.v, Path{no, "m"}, &w.policy, now)
					if !d.Admitted {
						skipped = append(skipped, events.Verdict{Account: no, Reason: d.Reason, Evidence: d.Evidence})
					}
				}
			}
			if len(skipped) != n-1 {
				b.Fatalf("%d skipped", len(skipped))
			}
		})
		b.Run("copied/accounts="+strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for no := uint32(1); no <= uint32(n); no++ {
					if d := Admit(w.v, Path{no, "m"}, &w.policy, now); d.Admitted && no != uint32(n) {
						b.Fatal(no)
					}
				}
			}
		})
		b.Run("without-memory/accounts="+strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for no := uint32(1); no <= uint32(n); no++ {
					a := w.v.row(no)
					w.v.judge.begin(w.v, a, "m", &w.policy, now)
					w.v.judge.run()
					w.v.judge.verdict()
				}
			}
		})
	}
	w := crowd(b, 10)
	b.Run("naive-twin/accounts=10", func(b *testing.B) {
		for b.Loop() {
			for i := range 10 {
				t := twin{log: w.log}
				t.admit("account-"+strconv.Itoa(i), "m", &w.policy, after(2*time.Second))
			}
		}
	})
}

// traffic is what a ledger mostly holds: decisions and their outcomes, most of
// them successes with quota headers, readings now and then, some failures.
func traffic(t testing.TB, accounts, n int) []events.Event {
	w := newWorld(t)
	for i := range accounts {
		w.enrol("account-"+strconv.Itoa(i), events.Settings{Provider: "p", Endpoint: "host-" + strconv.Itoa(i%5) + ".example"})
	}
	w.v = New() // the log only: nobody folds here
	at := time.Hour
	for i := range n {
		at += 7 * time.Millisecond
		c := call{account: "account-" + strconv.Itoa(i%accounts), model: "model-" + strconv.Itoa(i%7), request: uint64(i), from: after(at), to: after(at + time.Second), epoch: 1}
		switch {
		case i%2 == 0:
			w.add(c.header(c.from), &events.AttemptRouted{})
		case i%100 == 1:
			w.fail(c, stated(events.ClassRateLimited, c.to.Add(time.Second)))
		case i%100 == 3:
			w.fail(c, of(events.ClassServerError))
		case i%20 == 5:
			w.reading(c.account, c.to, roomy("5h", 50, c.to.Add(time.Hour)), roomy("7d", 50, c.to.Add(day)))
		case i%4 == 1:
			p := &events.AttemptSucceeded{Answer: events.Answer{Status: 200, DispatchedAt: c.from, AnsweredAt: c.to,
				Reading: &events.Reading{Source: "headers", Windows: []events.Window{roomy("5h", 50, c.to.Add(time.Hour)), roomy("7d", 50, c.to.Add(day))}}}}
			w.add(c.header(c.to), p)
		default:
			w.ok(c)
		}
	}
	return w.log
}

func BenchmarkFold(b *testing.B) {
	for _, n := range []int{10, 1000} {
		log := traffic(b, n, 20_000)
		v := New()
		for i := range log[:n] {
			v.Apply(&log[i])
		}
		b.Run("accounts="+strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			i := n
			for b.Loop() {
				if i++; i == len(log) {
					i = n
				}
				v.Apply(&log[i])
			}
		})
	}
}

func BenchmarkPendAndDrop(b *testing.B) {
	log := traffic(b, 10, 20_000)
	v := New()
	for i := range log {
		v.Apply(&log[i])
	}
	b.ReportAllocs()
	i := 10
	for b.Loop() {
		if i++; i == len(log) {
			i = 10
		}
		v.Pend(&log[i])
		if i%4 == 0 {
			v.DropPending()
		}
	}
}

func BenchmarkRefill(b *testing.B) {
	w := crowd(b, 10)
	now := after(2 * time.Second)
	b.ReportAllocs()
	for b.Loop() {
		w.v.accounts[0].gen++
		Admit(w.v, Path{1, "m"}, &w.policy, now)
	}
}
