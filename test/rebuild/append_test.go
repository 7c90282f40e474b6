package rebuild

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/ledger/postgres"
	"github.com/waybill/waybill/ledger/sqlite"
	server "github.com/waybill/waybill/test/postgres"
)

// appended is what one store showed.
type appended struct {
	Prove  string `json:"prove"`
	Store  string `json:"store"`
	Rounds int    `json:"rounds"`
	ledgertest.Figures
	Notify float64 `json:"append_with_notify,omitempty"` // rate with notifications over that without
	Before float64 `json:"load_before"`                  // of the machine, one minute
	After  float64 `json:"load_after"`
	Seed   int     `json:"seed"`
}

// TestProveLedger measures appends in ratios within one run. In its short form
// it is the appends that count: none is lost, no position is missing.
func TestProveLedger(t *testing.T) {
	rounds, long := asked(t, 1)
	t.Run("sqlite", func(t *testing.T) {
		s, err := sqlite.Open(filepath.Join(t.TempDir(), "waybill.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		prove(t, s, rounds, long, func(*appended) {})
	})
	t.Run("postgres", func(t *testing.T) {
		db, err := server.Start()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(db.Stop)
		prove(t, shared(t, db, false), rounds, long, func(a *appended) {
			loud, silent := shared(t, db, false), shared(t, db, true)
			go func() { _ = loud.Watch(t.Context(), func() {}) }() // ends with the test
			a.Notify = ledgertest.Compare(t, loud, silent, 5*rounds)
		})
	})
}

// shared is an empty ledger on a server that flushes.
func shared(t *testing.T, db *server.Server, silent bool) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgres.Options{URL: db.URL, Schema: server.Schema(), Silent: silent})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func prove(t *testing.T, s ledger.Store, rounds int, long bool, also func(*appended)) {
	t.Helper()
	a := appended{Prove: "ledger", Store: filepath.Base(t.Name()), Rounds: rounds, Before: load(), Seed: 1}
	a.Figures = ledgertest.Measure(t, s, rounds)
	also(&a)
	a.After = load()
	print(t, &a)
	if long {
		a.judge(t)
	}
	v, err := ledger.Verify(t.Context(), s, ledger.VerifyOptions{})
	if err != nil || v.Fault != nil || v.Positions == 0 {
		t.Errorf("%d positions verify: %v %v", v.Positions, v.Fault, err)
	}
}

// judge holds the figures of the long form against their bars.
func (a *appended) judge(t *testing.T) {
	t.Helper()
	bar := map[string]float64{"sqlite": 0.25, "postgres": 0.15}[a.Store]
	if a.Batch < bar {
		t.Errorf("%s: batches of 100 at %.2f of a raw file, the bar is %.2f", a.Store, a.Batch, bar)
	}
	if a.Group < 30 {
		t.Errorf("%s: 256 appenders at %.1f times the rate of one, the bar is 30", a.Store, a.Group)
	}
	if a.Notify != 0 && a.Notify < 0.97 {
		t.Errorf("%s: notifications leave %.3f of the rate, the bar is 0.97", a.Store, a.Notify)
	}
}

// load is the machine's load average of the last minute, 0 where nobody says.
func load() float64 {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(b), " ")
	v, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return v
}
