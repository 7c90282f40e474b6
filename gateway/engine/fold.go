package engine

import (
	"context"
	"fmt"

	"github.com/waybill/waybill/gateway/views"
	"github.com/waybill/waybill/projections/opening"
)

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
