package inquiry_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/sqlite"
	"github.com/waybill/waybill/test/played"
)

// traffic is a ledger of 20 accounts in balanced placement with n requests.
func traffic(tb testing.TB, n int) *ledger.Log {
	tb.Helper()
	store, err := sqlite.Open(filepath.Join(tb.TempDir(), "waybill.db"))
	if err != nil {
		tb.Fatal(err)
	}
	policy := events.DefaultPolicy()
	policy.TrialWait, policy.PinWait = time.Millisecond, time.Millisecond // nobody answers while one waits here
	g := played.OpenWith(tb, store, played.NewTicking(), events.Document{Policy: policy}, played.Names(20)...)
	tb.Cleanup(g.Close)
	g.Traffic(1, n, 32)
	return g.Log
}

func TestVerifyDerivesRandomTrafficAgain(t *testing.T) {
	log := traffic(t, 3000)
	v, err := inquiry.Verify(t.Context(), log, inquiry.VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !v.OK || v.Rederived < 3000 {
		t.Fatalf("%s", v.Sentence())
	}
	t.Log(v.Sentence())
}

// BenchmarkVerify is the whole of `waybill verify`: scan, hash, decode, fold,
// decide. Issue D wants 1,000,000 decisions in 60 s: 60,000 ns each.
func BenchmarkVerify(b *testing.B) {
	log := traffic(b, 20_000)
	b.ResetTimer()
	decisions := int64(0)
	for b.Loop() {
		v, err := inquiry.Verify(b.Context(), log, inquiry.VerifyOptions{})
		if err != nil || !v.OK {
			b.Fatalf("%s %v", v.Sentence(), err)
		}
		decisions += v.Rederived
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(decisions), "ns/decision")
}

// BenchmarkReplay is `waybill replay`: issue D wants 1,000,000 requests in a
// minute.
func BenchmarkReplay(b *testing.B) {
	log := traffic(b, 20_000)
	b.ResetTimer()
	n := int64(0)
	for b.Loop() {
		n += replay(b, log, func(p *events.Policy) { p.ParkCap = 5 * time.Minute }).Requests
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/request")
}
