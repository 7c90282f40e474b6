package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/engine"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/quota"
	"github.com/waybill/waybill/ledger"
)

// Problem is an error with its HTTP status (RFC 9457).
type Problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail"`
	Instance string `json:"instance"`
}

func (p *Problem) Error() string { return p.Detail }

func problemf(status int, format string, args ...any) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: fmt.Sprintf(format, args...)}
}

// ProblemOf maps errors of the layers below.
func ProblemOf(err error) *Problem {
	var p *Problem
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, inquiry.ErrUnknownRequest), errors.Is(err, inquiry.ErrNotYet), errors.Is(err, inquiry.ErrNoTrouble), errors.Is(err, inquiry.ErrUnknownFeed):
		return problemf(http.StatusNotFound, "%s", err)
	case errors.Is(err, inquiry.ErrUnknownAccount):
		return problemf(http.StatusNotFound, "%s; %s/accounts lists those that are", err, prefix)
	case errors.Is(err, inquiry.ErrBeyondHead):
		return problemf(http.StatusBadRequest, "%s", err)
	case errors.Is(err, quota.ErrReading), errors.Is(err, provider.ErrVoid):
		return problemf(http.StatusUnprocessableEntity, "%s", err)
	case errors.Is(err, engine.ErrLedger), errors.Is(err, ledger.ErrUnavailable), errors.Is(err, ledger.ErrBackpressure), errors.Is(err, ledger.ErrClosed):
		return problemf(http.StatusServiceUnavailable, "the ledger cannot be reached now: %s", err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return problemf(http.StatusServiceUnavailable, "the question was given up: %s", err)
	}
	return problemf(http.StatusInternalServerError, "%s", err)
}

// fail writes an error, unless the answer has begun.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := *ProblemOf(err)
	p.Instance = r.URL.Path
	if p.Status >= 500 && r.Context().Err() == nil {
		a.o.Logger.Warn("admin call failed", "path", r.URL.Path, "status", p.Status, "error", err)
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="waybill"`)
	}
	write(w, p.Status, "application/problem+json", &p)
}

// answer writes a value as JSON.
func answer(w http.ResponseWriter, status int, v any) error {
	write(w, status, "application/json", v)
	return nil
}

func write(w http.ResponseWriter, status int, kind string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"title":"the answer cannot be written"}`)
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_, _ = w.Write(append(b, '\n')) // the client's loss
}

// list is the contract's shape of lists.
type list[T any] struct {
	Data []T              `json:"data"`
	Next *events.Position `json:"next"`
}
