package inquiry

import (
	"context"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/views"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections/usage"
)

// Usage sums what was recorded between two instants (zero: no bound): the sums
// at the end less those at the beginning.
func Usage(ctx context.Context, log Log, by usage.By, since, until events.Time) ([]usage.Sum, error) {
	return UsageAt(ctx, log, Moment{}, by, since, until)
}

// UsageAt is Usage of what was recorded up to a moment.
func UsageAt(ctx context.Context, log Log, m Moment, by usage.By, since, until events.Time) ([]usage.Sum, error) {
	end, _, err := place(ctx, log, m)
	if err != nil {
		return nil, err
	}
	if until != 0 {
		if end, err = upTo(ctx, log, end, until); err != nil {
			return nil, err
		}
	}
	now := usage.New()
	if _, err := views.To(ctx, log, end, nil, nil, now); err != nil || since == 0 {
		return now.Sums(by), err
	}
	begin, err := upTo(ctx, log, end, since)
	if err != nil {
		return nil, err
	}
	then := usage.New()
	if _, err := views.To(ctx, log, begin, nil, nil, then); err != nil {
		return nil, err
	}
	return now.SumsSince(by, then), nil
}

// upTo is the last position up to another that was recorded before an instant.
func upTo(ctx context.Context, log Log, end events.Position, t events.Time) (events.Position, error) {
	return before(ctx, log, ledger.Head{Position: end}, t-1)
}
