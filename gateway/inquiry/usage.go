package inquiry

import (
	"context"
	"fmt"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/views"
	"github.com/waybill/waybill/projections/usage"
)

// Usage sums what was recorded between two instants (zero: no bound): the sums
// at the end less those at the beginning.
func Usage(ctx context.Context, log Log, by usage.By, since, until events.Time) ([]usage.Sum, error) {
	head, err := log.Head(ctx)
	if err != nil {
		return nil, fmt.Errorf("find the head: %w", err)
	}
	end := head.Position
	if until != 0 {
		if end, err = before(ctx, log, head, until-1); err != nil {
			return nil, err
		}
	}
	now := usage.New()
	if _, err := views.To(ctx, log, end, nil, nil, now); err != nil || since == 0 {
		return now.Sums(by), err
	}
	begin, err := before(ctx, log, head, since-1)
	if err != nil {
		return nil, err
	}
	then := usage.New()
	if _, err := views.To(ctx, log, min(begin, end), nil, nil, then); err != nil {
		return nil, err
	}
	return now.SumsSince(by, then), nil
}
