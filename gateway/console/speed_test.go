package console_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/admin"
	"github.com/waybill/waybill/gateway/console"
	"github.com/waybill/waybill/gateway/views"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/sqlite"
	"github.com/waybill/waybill/test/played"
)

// pageTime is what a page may take.
const pageTime = 100 * time.Millisecond

// speed is the JSON line of the long form.
type speed struct {
	Prove    string           `json:"prove"`
	Events   uint64           `json:"events"`
	Accounts int              `json:"accounts"`
	Seed     uint64           `json:"seed"`
	Slowest  string           `json:"slowest"`
	WorstMS  float64          `json:"worst_ms"` // of the processor times
	CPU      map[string]int64 `json:"cpu_us"`   // processor time that a page takes, whatever else the machine does
	Wall     map[string]int64 `json:"wall_us"`  // medians, which neighbours lengthen
	OK       bool             `json:"ok"`
}

// TestProvePagesAnswerAtOnce: 1,000,000 events and 200 accounts, each page below
// 100 ms. The short form, which every test run has, asks for the same pages of a
// small ledger, under the race detector and beside other tests: it times nothing.
func TestProvePagesAnswerAtOnce(t *testing.T) {
	requests, accounts, most := 200, 30, time.Minute
	if long := os.Getenv("WAYBILL_PROVE"); long != "" {
		requests, accounts, most = 800_000, 200, pageTime
		if n, err := strconv.Atoi(long); err == nil && n > 1 {
			requests = n
		}
	}
	b := traffic(t, requests, accounts)
	out := speed{Prove: "console-pages", Events: b.head(), Accounts: accounts, Seed: 1, CPU: map[string]int64{}, Wall: map[string]int64{}}
	for name, path := range b.pages() {
		cpu, wall := b.timed(path)
		out.CPU[name], out.Wall[name] = cpu.Microseconds(), wall.Microseconds()
		if ms := float64(cpu.Microseconds()) / 1000; ms > out.WorstMS {
			out.WorstMS, out.Slowest = ms, name
		}
	}
	out.OK = out.WorstMS <= float64(most.Milliseconds())
	line, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(line))
	if !out.OK {
		t.Fatalf("%s takes %.1f ms", out.Slowest, out.WorstMS)
	}
}

// traffic is a console over random traffic on disk, with its snapshots.
func traffic(t *testing.T, requests, accounts int) *browser {
	t.Helper()
	store, err := sqlite.Open(filepath.Join(t.TempDir(), "waybill.db"))
	if err != nil {
		t.Fatal(err)
	}
	policy := events.DefaultPolicy()
	policy.TrialWait, policy.PinWait = time.Millisecond, time.Millisecond // nobody answers while one waits here
	g := played.OpenWith(t, store, played.NewReal(), events.Document{Policy: policy}, played.Names(accounts)...)
	g.Traffic(1, requests, 32)
	g.Settle()
	if err := views.NewKeeper(g.Log, views.Every, nil).Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	api := admin.New(admin.Options{Engine: g.Engine, Log: g.Log})
	c, err := console.New(console.Options{API: api})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(c)
	t.Cleanup(func() { c.Close(); api.Close(); srv.Close(); g.Close() })
	b := &browser{t: t, Gateway: g, url: srv.URL}
	b.client = b.fresh()
	return b
}

// pages are the addresses that are timed, by what they are.
func (b *browser) pages() map[string]string {
	b.t.Helper()
	request := func(list string) string {
		m := regexp.MustCompile(`data-request="([^"]+)"`).FindStringSubmatch(b.see(list))
		if m == nil {
			b.t.Fatalf("%s lists nothing", list)
		}
		return m[1]
	}
	at := func(share uint64) string {
		got, err := b.Log.Read(b.t.Context(), events.Position(b.head()*share/100), ledger.Filter{}, 1)
		if err != nil || len(got) == 0 {
			b.t.Fatal(err)
		}
		return "at=" + queryEscape(got[0].RecordedAt.String())
	}
	return map[string]string{
		"accounts":         "/",
		"accounts as of":   "/?" + at(37),
		"account":          "/accounts/acct-03",
		"account as of":    "/accounts/acct-03?" + at(62),
		"timeline":         "/accounts/acct-03/timeline?span=24h",
		"timeline as of":   "/accounts/acct-03/timeline?span=1h&" + at(50),
		"requests":         "/requests",
		"requests as of":   "/requests?" + at(45),
		"refused as of":    "/requests?outcome=failed&" + at(83),
		"newest request":   "/requests/" + request("/requests"),
		"an old request":   "/requests/" + request("/requests?"+at(20)),
		"events":           "/events",
		"events of one":    "/events?account=acct-03",
		"an event":         "/events/" + itoa(b.head()/2),
		"usage by account": "/usage",
		"usage by day":     "/usage?by=day",
		"usage as of":      "/usage?by=model&" + at(50),
		"ledger":           "/ledger",
		"what if":          "/what-if",
	}
}

// timed asks for a page several times: the processor time of one, both ends
// included, and the median of what was waited.
func (b *browser) timed(path string) (cpu, wall time.Duration) {
	b.t.Helper()
	var took []time.Duration
	const times = 5
	runtime.GC() // what the pages before have left is not this one's
	before := processor(b.t)
	for range times {
		began := time.Now()
		if a := b.do(http.MethodGet, path, nil); a.StatusCode != http.StatusOK {
			b.t.Fatalf("%s: %d %s", path, a.StatusCode, a.body)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return (processor(b.t) - before) / times, took[times/2]
}

// processor is the time that this process has used.
func processor(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
