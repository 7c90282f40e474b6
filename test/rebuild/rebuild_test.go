// Package rebuild measures what an append to either store costs, how fast a
// ledger is read, checked and folded from them, what a snapshot saves of that,
// and what a query costs over many rows.
package rebuild

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/gateway/views"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/postgres"
	"github.com/waybill/waybill/ledger/sqlite"
	server "github.com/waybill/waybill/test/postgres"
)

func TestMain(m *testing.M) { os.Exit(server.Main(m)) }

// stores open an empty ledger in each store.
var stores = map[string]func(t *testing.T) (ledger.Store, error){
	"sqlite": func(t *testing.T) (ledger.Store, error) { return sqlite.Open(filepath.Join(t.TempDir(), "waybill.db")) },
	"postgres": func(t *testing.T) (ledger.Store, error) {
		return postgres.Open(t.Context(), postgres.Options{URL: server.URL(t), Schema: server.Schema(), Segment: events.Position(number(t, "WAYBILL_SEGMENT", 0))})
	},
}

func opened(t *testing.T, open func(t *testing.T) (ledger.Store, error)) ledger.Store {
	t.Helper()
	s, err := open(t)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asked is the size of the long form, or the short one's.
func asked(t *testing.T, short int) (n int, long bool) {
	t.Helper()
	return number(t, "WAYBILL_PROVE", short), os.Getenv("WAYBILL_PROVE") != ""
}

// number is what a variable of the environment says, or what it is without it.
func number(t *testing.T, variable string, without int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return without
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// measured is what one store showed; rates are events per second.
type measured struct {
	Prove     string  `json:"prove"`
	Store     string  `json:"store"`
	Events    int     `json:"events"`
	Scan      float64 `json:"scan_per_s"`    // nothing done with the rows
	Rebuild   float64 `json:"rebuild_per_s"` // read, chained, decoded, folded
	OfScan    float64 `json:"of_scan"`
	ScanCPU   float64 `json:"scan_cpu_us"`    // processor time per event, whatever else runs
	CPU       float64 `json:"rebuild_cpu_us"` // likewise
	Start     float64 `json:"start_ms"`       // snapshot and a tail of 10,000 events
	OfRebuild float64 `json:"start_of_rebuild"`
	HeapMiB   float64 `json:"heap_growth_mib"` // between a fifth of the ledger and its end
	PeakMiB   float64 `json:"rss_peak_mib"`    // of the process
	Seed      int     `json:"seed"`
}

// TestProveRebuild: in its short form, a rebuild from either store and a start
// from a snapshot give the same states; in its long one, the figures.
func TestProveRebuild(t *testing.T) {
	n, long := asked(t, 20_000)
	var states [][]inquiry.State
	for name, open := range stores {
		store := opened(t, open)
		log := ledger.Open(store)
		fill(t, store, n)
		m, whole := rebuilt(t, log, n)
		m.Store = name
		states = append(states, whole.States())
		m.Start = start(t, log, n, whole)
		m.OfRebuild = m.Start / 1000 / (float64(n) / m.Rebuild)
		print(t, &m)
		if long {
			m.judge(t)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(states[0], states[1]) {
		t.Errorf("one store gives %+v, the other %+v", states[0], states[1])
	}
}

// judge holds the figures of the long form against their bars.
func (m *measured) judge(t *testing.T) {
	t.Helper()
	if m.Store == "sqlite" && m.Rebuild < 250_000 {
		t.Errorf("%s: %.0f events/s", m.Store, m.Rebuild)
	}
	if m.OfScan < 0.5 {
		t.Errorf("%s: %.2f of a bare scan", m.Store, m.OfScan)
	}
	if m.OfRebuild > 0.01 {
		t.Errorf("%s: a start takes %.2f %% of a rebuild", m.Store, 100*m.OfRebuild)
	}
	if m.HeapMiB > 64 {
		t.Errorf("%s: the heap grew by %.0f MiB", m.Store, m.HeapMiB)
	}
}

func print(t *testing.T, v any) {
	t.Helper()
	line, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(line))
}

// rebuilt scans and rebuilds in turn, and takes the best of each, since what else
// runs on the machine only makes them slower, and the median of their ratios.
func rebuilt(t *testing.T, log *ledger.Log, n int) (m measured, whole *inquiry.Rebuilt) {
	t.Helper()
	m = measured{Prove: "rebuild", Events: n, Seed: 1}
	m.ScanCPU, m.CPU = math.Inf(1), math.Inf(1)
	var ratios []float64
	for range 3 {
		began, spent := time.Now(), processor()
		if err := log.Scan(t.Context(), 0, ledger.Filter{}, 0, func(*ledger.Row) error { return nil }); err != nil {
			t.Fatal(err)
		}
		scan := float64(n) / time.Since(began).Seconds()
		m.Scan = max(m.Scan, scan)
		m.ScanCPU = min(m.ScanCPU, (processor()-spent)/float64(n))
		early := 0.0
		began, spent = time.Now(), processor()
		fifth := func(*inquiry.Rebuilt) { early = heap() }
		var err error
		whole, err = inquiry.Rebuild(t.Context(), log, inquiry.Moment{}, map[events.Position]func(*inquiry.Rebuilt){events.Position(n / 5): fifth}, nil)
		if err != nil {
			t.Fatal(err)
		}
		rebuild := float64(n) / time.Since(began).Seconds()
		m.Rebuild, ratios = max(m.Rebuild, rebuild), append(ratios, rebuild/scan)
		m.CPU = min(m.CPU, (processor()-spent)/float64(n))
		m.HeapMiB = heap() - early
	}
	slices.Sort(ratios)
	m.OfScan = ratios[len(ratios)/2]
	m.PeakMiB = peak()
	if whole.Position != events.Position(n) {
		t.Fatalf("folded to %d of %d", whole.Position, n)
	}
	return m, whole
}

// heap is what lives, in MiB.
func heap() float64 {
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return float64(s.HeapAlloc) / (1 << 20)
}

// start times what a gateway does at its start: the views at the end from the
// newest snapshot, at least 10,000 events back.
func start(t *testing.T, log *ledger.Log, n int, whole *inquiry.Rebuilt) (ms float64) {
	t.Helper()
	if err := views.NewKeeper(log, views.Every, nil).Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	from := events.Position(n-10_000) / views.Every * views.Every
	dropBehind(t, log, from)
	best := time.Hour
	for range 5 {
		began := time.Now()
		r, err := inquiry.Recall(t.Context(), log, inquiry.Moment{})
		if err != nil {
			t.Fatal(err)
		}
		best = min(best, time.Since(began))
		if r.From != from || !slices.Equal(r.States(), whole.States()) {
			t.Fatalf("from the snapshot at %d: %+v, from zero %+v", r.From, r.States(), whole.States())
		}
	}
	return float64(best.Microseconds()) / 1000
}

// dropBehind removes the snapshots behind a position.
func dropBehind(t *testing.T, log *ledger.Log, from events.Position) {
	t.Helper()
	table := log.Snapshots()
	places, err := table.Places(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	places = slices.DeleteFunc(places, func(p ledger.SnapshotPlace) bool { return p.Position <= from })
	if err := table.Drop(t.Context(), places); err != nil {
		t.Fatal(err)
	}
}
