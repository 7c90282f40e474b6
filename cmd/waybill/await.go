package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/waybill/waybill/gateway/admin"
	"github.com/waybill/waybill/ledger"
)

// errStopped: the process was told to stop while it waited for the ledger.
var errStopped = errors.New("told to stop")

const (
	// awaitRest is the pause between two tries to reach the ledger.
	awaitRest = time.Second
	// awaitNews is how often the log says that the wait goes on.
	awaitNews = 30 * time.Second
)

// awaitStore tries again until the ledger is there, if the spool holds what
// the last run could not append. Without that the cause is returned at once: an
// address that was never right is told by the exit code. Nothing is served
// meanwhile, since there is no view to decide on; /readyz says so.
func (s *service) awaitStore(ctx context.Context, cause error) (ledger.Store, error) {
	n, err := s.spool.Waiting(ctx)
	if err != nil || n == 0 {
		return nil, errors.Join(cause, err)
	}
	if s.admin, err = listenOn(ctx, "WAYBILL_ADMIN_LISTEN", s.source.Env.AdminListen); err != nil {
		return nil, err
	}
	s.admin.serve(waitingHandler(n), s.failed)
	var told time.Time
	for {
		if s.now().Sub(told) >= awaitNews {
			told = s.now()
			s.log.Warn("the ledger cannot be reached; this gateway waits for it, not ready", "spooled_events", n, "error", cause)
		}
		if !ledger.Rest(ctx, awaitRest) {
			return nil, errStopped
		}
		store, err := openStore(ctx, s.source.Env.Ledger, s.source.Env, s.config.Ledger)
		switch {
		case ctx.Err() != nil && err != nil:
			return nil, errStopped
		case err == nil || !errors.Is(err, ledger.ErrUnavailable):
			return store, err
		}
		cause = err
	}
}

// waitingHandler is the admin API of a process that has no view yet.
func waitingHandler(n uint64) http.Handler {
	answer := func(w http.ResponseWriter, status int, body any) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body) // whoever asked has left
	}
	note := fmt.Sprintf("the ledger cannot be reached, and %d events of the last run wait in the spool for it; the log says why", n)
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusServiceUnavailable, map[string]any{"ready": false, "checks": []admin.Check{{Name: "ledger", Note: note}}})
	})
	return mux
}
