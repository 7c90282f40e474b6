package inquiry

import (
	"context"
	"fmt"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections/usage"
)

// Usage sums what was recorded between two instants (zero: no bound).
func Usage(ctx context.Context, log Log, by usage.By, since, until events.Time) ([]usage.Sum, error) {
	v := usage.New(by)
	err := log.Each(ctx, 0, ledger.Filter{Until: until}, func(e *events.Event) error {
		// Enrolments name the accounts, whenever they were.
		if _, enrolled := e.Data.(*events.AccountEnrolled); enrolled || e.RecordedAt >= since {
			v.Apply(e)
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("sum usage: %w", err)
	}
	return v.Sums(), nil
}
