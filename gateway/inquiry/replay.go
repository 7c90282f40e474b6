package inquiry

import (
	"context"
	"fmt"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/views"
	"github.com/waybill/waybill/projections/whatif"
)

// Replay plays recorded traffic again under another policy.
func Replay(ctx context.Context, log Log, o whatif.Options, p Progress) (whatif.Result, error) {
	head, err := log.Head(ctx)
	if err != nil {
		return whatif.Result{}, fmt.Errorf("find the head: %w", err)
	}
	r := whatif.New(o)
	err = views.Each(ctx, log, 0, head.Position, func(e *events.Event) error {
		r.Apply(e)
		return tell(ctx, p, e.Position, head.Position)
	})
	if err != nil {
		return whatif.Result{}, fmt.Errorf("replay: %w", err)
	}
	return r.Finish(), nil
}
