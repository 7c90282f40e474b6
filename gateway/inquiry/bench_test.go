package inquiry_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
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

// proof is the JSON line of a long form.
type proof struct {
	Prove     string  `json:"prove"`
	Requests  int     `json:"requests"`
	Positions uint64  `json:"positions"`
	Decisions int64   `json:"decisions"`
	Rederived int64   `json:"rederived"`
	Seconds   float64 `json:"seconds"`
	Seed      uint64  `json:"seed"`
	OK        bool    `json:"ok"`
}

// TestProveVerifyDerivesEveryDecisionOfRandomTraffic: 40,000 requests over 20
// accounts with random faults; the short form is a part of every test run.
func TestProveVerifyDerivesEveryDecisionOfRandomTraffic(t *testing.T) {
	n := 3000
	if long := os.Getenv("WAYBILL_PROVE"); long != "" {
		n = 40_000
		if asked, err := strconv.Atoi(long); err == nil && asked > 1 {
			n = asked
		}
	}
	log := traffic(t, n)
	began := time.Now()
	v, err := inquiry.Verify(t.Context(), log, inquiry.VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	line, err := json.Marshal(proof{"verify", n, v.Positions, v.Decisions, v.Rederived, time.Since(began).Seconds(), 1, v.OK})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(line))
	if !v.OK || v.Rederived != v.Decisions || v.Decisions < int64(n) {
		t.Fatalf("%s", v.Sentence())
	}
}

// TestProveReplayDecidesRandomTrafficAgain is as much traffic under another
// policy; the short form is a part of every test run.
func TestProveReplayDecidesRandomTrafficAgain(t *testing.T) {
	n := 3000
	if asked, err := strconv.Atoi(os.Getenv("WAYBILL_PROVE")); err == nil && asked > 1 {
		n = asked
	}
	log := traffic(t, n)
	began := time.Now()
	r := replay(t, log, func(p *events.Policy) { p.ParkCap = 5 * time.Minute })
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	line, err := json.Marshal(map[string]any{"prove": "replay", "requests": r.Requests, "seconds": time.Since(began).Seconds(),
		"differences": r.Differences, "memory_mib": m.Sys >> 20, "seed": 1})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(line))
	if r.Requests != int64(n) {
		t.Errorf("%d of %d requests were replayed", r.Requests, n)
	}
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
