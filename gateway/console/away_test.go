package console_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/admin"
	"github.com/waybill/waybill/gateway/console"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/test/played"
)

// goneLog is a log whose ledger can be taken away.
type goneLog struct {
	*ledger.Log
	away atomic.Bool
}

func (l *goneLog) gone() error {
	if l.away.Load() {
		return fmt.Errorf("%w: dial tcp 127.0.0.1:5432: connection refused", ledger.ErrUnavailable)
	}
	return nil
}

func (l *goneLog) Head(ctx context.Context) (ledger.Head, error) {
	if err := l.gone(); err != nil {
		return ledger.Head{}, err
	}
	return l.Log.Head(ctx)
}

func (l *goneLog) Read(ctx context.Context, after events.Position, f ledger.Filter, limit int) ([]events.Event, error) {
	if err := l.gone(); err != nil {
		return nil, err
	}
	return l.Log.Read(ctx, after, f, limit)
}

// TestTheLedgerPageTellsWhatIsKnownWhileTheLedgerIsAway: that is when its spool
// and its readiness are looked for.
func TestTheLedgerPageTellsWhatIsKnownWhileTheLedgerIsAway(t *testing.T) {
	g, _ := played.InMemory(t, "a")
	log := &goneLog{Log: g.Log}
	api := admin.New(admin.Options{Engine: g.Engine, Log: log, Version: "test",
		Spool: func() admin.Spool { return admin.Spool{Since: g.Now(), Events: 4711, Bytes: 12, Max: 99} },
		Ready: func(context.Context) []admin.Check { return []admin.Check{{Name: "ledger", Note: "spooling"}} }})
	c, err := console.New(console.Options{API: api})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(c)
	t.Cleanup(func() { c.Close(); api.Close(); srv.Close() })
	b := &browser{t: t, Gateway: g, url: srv.URL}
	b.client = b.fresh()
	log.away.Store(true)
	page := b.see("/ledger")
	for _, want := range []string{"The ledger does not answer now.", "of this gateway's wait for it", "4\u202f711", "spooling", "Not known while the ledger does not answer."} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	for _, wrong := range []string{"The ledger is empty.", "No gateway has written yet.", "Nothing is delivered elsewhere.", "verify-now"} {
		if strings.Contains(page, wrong) {
			t.Errorf("%q is on the page, which nobody knows", wrong)
		}
	}
	if strings.Count(page, "connection refused") != 1 {
		t.Error("why the ledger is away is not told once")
	}
	log.away.Store(false)
	if page := b.see("/ledger"); strings.Contains(page, "does not answer") || !strings.Contains(page, "verify-now") {
		t.Error("the ledger is back, and the page says otherwise")
	}
}
