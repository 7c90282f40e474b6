// Package pages measures what people wait for: every reading call of the admin
// API, now and as of a moment, over a ledger of many events and 200 accounts. No
// page may cost more because the ledger is longer.
package pages

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/admin"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/gateway/views"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/sqlite"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/test/played"
)

const (
	accounts = 200
	tail     = 2000 // events behind the last snapshot, in every ledger here
	limit    = 100 * time.Millisecond
)

// site is a gateway with its API, and places in its past.
type site struct {
	*played.Gateway
	api  http.Handler
	log  *counting
	head events.Position
}

// open makes a ledger of about n events.
func open(t testing.TB, n int) *site {
	t.Helper()
	store, err := sqlite.Open(filepath.Join(t.TempDir(), "waybill.db"))
	if err != nil {
		t.Fatal(err)
	}
	names := played.Names(accounts)
	doc := played.Document(names...)
	doc.Models[0].Strategy = events.StrategyBalanced
	doc.Policy.TrialWait, doc.Policy.PinWait = time.Millisecond, time.Millisecond
	g := played.OpenWith(t, store, played.NewTickingAt(events.At(time.Now())), doc, names...)
	t.Cleanup(g.Close)
	keeper := views.NewKeeper(g.Log, views.Every, nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); keeper.Run(ctx) }()
	for seed := uint64(1); g.Position() < events.Position(n); seed++ {
		g.Traffic(seed, 3000, 64)
	}
	fill(t, g)
	cancel()
	<-done
	if err := keeper.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	head, err := g.Log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dropEnd(t, g)
	log := &counting{Log: g.Log}
	return &site{Gateway: g, head: head.Position, log: log, api: admin.New(admin.Options{Engine: g.Engine, Log: log, Version: "test"})}
}

// fill appends until the ledger ends `tail` events behind a snapshot.
func fill(t testing.TB, g *played.Gateway) {
	t.Helper()
	for left := (views.Every + tail - g.Position()%views.Every) % views.Every; left > 0; {
		drafts := make([]events.Draft, min(left, 500))
		for i := range drafts {
			drafts[i] = events.Draft{Data: &events.QuotaFetchFailed{Source: "fill", Status: 503}}
		}
		if _, err := g.Append(t.Context(), drafts...); err != nil {
			t.Fatal(err)
		}
		left -= events.Position(len(drafts))
	}
}

// dropEnd removes the snapshot at the very end, which a running gateway does
// not have.
func dropEnd(t testing.TB, g *played.Gateway) {
	t.Helper()
	table := g.Log.Snapshots()
	places, err := table.Places(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	places = slices.DeleteFunc(places, func(p ledger.SnapshotPlace) bool { return p.Position%views.Every == 0 })
	if err := table.Drop(t.Context(), places); err != nil {
		t.Fatal(err)
	}
}

// calls are the reading calls, by name.
func (s *site) calls(t testing.TB) map[string]string {
	t.Helper()
	old := max(s.head/3/views.Every, 1) * views.Every
	past := old + tail
	row := func(at events.Position) string {
		rows, _, err := inquiry.Requests(t.Context(), s.Log, requests.Query{Limit: 1, Before: at})
		if err != nil || len(rows) == 0 {
			t.Fatalf("no request before %d: %v", at, err)
		}
		return rows[0].Request.String()
	}
	got, err := inquiry.HeadAt(t.Context(), s.Log, inquiry.Moment{Position: past})
	if err != nil {
		t.Fatal(err)
	}
	at := "at=" + url.QueryEscape(got.RecordedAt.String())
	day := "since=" + url.QueryEscape(got.RecordedAt.String())
	calls := map[string]string{
		"accounts":                  "/accounts",
		"accounts of a model":       "/accounts?model=m1",
		"account":                   "/accounts/acct-17",
		"requests":                  "/requests",
		"requests, an old page":     fmt.Sprintf("/requests?after=%d", old),
		"requests, the oldest":      "/requests?order=asc",
		"requests refused":          "/requests?outcome=refused",
		"requests failed":           "/requests?outcome=failed",
		"requests of an account":    "/requests?account=acct-117",
		"requests that skipped one": "/requests?skipped=acct-03",
		"requests of a session":     "/requests?client=app&session=1234",
		"requests of no client":     "/requests?client=nobody",
		"requests from a time on":   "/requests?order=asc&" + day,
		"a new request":             "/requests/" + row(s.head),
		"an old request":            "/requests/" + row(old+100),
		"events":                    "/events",
		"events, an old page":       fmt.Sprintf("/events?after=%d", old),
		"events of an account":      "/events?account=acct-17",
		"usage by account":          "/usage",
		"usage by model":            "/usage?by=model",
		"usage by client":           "/usage?by=client",
		"usage by day":              "/usage?by=day",
		"usage from a time on":      "/usage?" + day,
		"ledger":                    "/ledger",
	}
	for _, name := range []string{"accounts", "account", "requests", "requests refused", "an old request", "events", "usage by account", "ledger"} {
		path, sep := calls[name], "?"
		if u, err := url.Parse(path); err == nil && u.RawQuery != "" {
			sep = "&"
		}
		calls[name+" as of then"] = path + sep + at
		calls[name+" as of a position"] = path + sep + "position=" + strconv.FormatUint(uint64(past), 10)
	}
	return calls
}

// ask makes one call and says what it took of the processors.
func (s *site) ask(t testing.TB, name, path string) time.Duration {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/api/v1"+path, http.NoBody)
	r.RemoteAddr = "127.0.0.1:4711"
	w := httptest.NewRecorder()
	before := processor()
	s.api.ServeHTTP(w, r)
	took := processor() - before
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %s answered %d %s", name, path, w.Code, w.Body)
	}
	return took
}

// figures of one call, in milliseconds.
type figures struct {
	Median float64 `json:"p50_ms"`
	P99    float64 `json:"p99_ms"`
}

// measure makes every call n times.
func (s *site) measure(t testing.TB, n int) map[string]figures {
	t.Helper()
	out := map[string]figures{}
	for name, path := range s.calls(t) {
		runtime.GC() // what the calls before have left is not this one's
		took := make([]float64, n)
		for i := range took {
			took[i] = float64(s.ask(t, name, path).Microseconds()) / 1000
		}
		slices.Sort(took)
		out[name] = figures{took[n/2], took[n*99/100]}
	}
	return out
}

// TestProveCalls: in its short form, no call reads more of the ledger because it
// is longer; in its long one, p99 of every call over 1,000,000 events is under
// 100 ms of processor time (all goroutines together, so it does not matter what
// else runs on the machine).
func TestProveCalls(t *testing.T) {
	asked := os.Getenv("WAYBILL_PROVE")
	if asked == "" {
		law(t, 20_000, 50_000)
		return
	}
	n, err := strconv.Atoi(asked)
	if err != nil {
		t.Fatal(err)
	}
	prove(t, n)
}

// law compares what every call reads over a short ledger and over a longer one:
// events at most twice, stored states at most twice and the indexes.
func law(t *testing.T, short, long int) {
	t.Helper()
	small, large := open(t, short), open(t, long)
	before, after := small.costs(t), large.costs(t)
	for name, c := range after {
		was := before[name]
		if c.rows > 2*was.rows+300 || c.rows > views.Every+1500 {
			t.Errorf("%s reads %d events of %d, %d of %d", name, was.rows, small.head, c.rows, large.head)
		}
		if c.bytes > 2*was.bytes+2<<20 {
			t.Errorf("%s reads %d bytes of snapshots at %d events, %d at %d", name, was.bytes, small.head, c.bytes, large.head)
		}
	}
}

// costs makes every call once and counts what it reads.
func (s *site) costs(t testing.TB) map[string]cost {
	t.Helper()
	out := map[string]cost{}
	for name, path := range s.calls(t) {
		s.log.cost = cost{}
		s.ask(t, name, path)
		out[name] = s.log.cost
	}
	return out
}

func prove(t *testing.T, n int) {
	t.Helper()
	s := open(t, n)
	found := s.measure(t, 100)
	worst, name := 0.0, ""
	for k, f := range found {
		if f.P99 > worst {
			worst, name = f.P99, k
		}
	}
	line, err := json.Marshal(map[string]any{"prove": "calls", "events": s.head, "accounts": accounts, "calls": found, "worst_p99_ms": worst, "worst": name, "seed": 1})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(line))
	if worst > float64(limit.Milliseconds()) {
		t.Errorf("%s takes %.1f ms", name, worst)
	}
}

// processor is the time that this process has spent on processors.
func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
