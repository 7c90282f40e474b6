package engine

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/views"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/snapshot"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/opening"
	"github.com/waybill/waybill/projections/pins"
	"github.com/waybill/waybill/projections/requests"
)

// Floor is the newest position that a gateway can start from without the
// events before it: there is a snapshot of all that it needs. 0: there is none.
func Floor(ctx context.Context, log *ledger.Log, logger *slog.Logger) (events.Position, error) {
	head, err := log.Head(ctx)
	if err != nil {
		return 0, err
	}
	return views.Load(ctx, snapshot.Of(log, logger), head.Position, admission.New(), pins.New(), requests.New(requests.Keep), opening.New())
}

// foldAll folds the ledger, from the newest snapshot on, and returns the trials
// that former writers claimed and never used.
func (e *Engine) foldAll(ctx context.Context) ([]opening.Claim, error) {
	head, err := e.log.Head(ctx)
	if err != nil {
		return nil, fmt.Errorf("fold ledger: %w", err)
	}
	past := opening.New()
	from, err := views.To(ctx, e.log, head.Position, e.logger, nil, e.view.Admission, e.view.Pins, e.requests, past)
	if err != nil {
		return nil, fmt.Errorf("fold ledger: %w", err)
	}
	e.live.Resume(head.Position)
	e.adopted = past.Adopted()
	e.logger.Debug("folded the ledger", "snapshot", from, "position", head.Position)
	return past.Claims(), nil
}
