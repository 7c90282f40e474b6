package inquiry

import (
	"context"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/views"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections/usage"
)

// UsageOf is what is summed.
type UsageOf struct {
	By           usage.By
	Since, Until events.Time   // what was recorded between them; zero: no bound
	Prices       *usage.Prices // nil: costs are not asked for
}

// Usage sums what was recorded up to a moment: the sums at the end less those
// at the beginning.
func Usage(ctx context.Context, log Log, m Moment, of UsageOf) ([]usage.Sum, error) {
	end, _, err := place(ctx, log, m)
	if err != nil {
		return nil, err
	}
	if of.Until != 0 {
		if end, err = upTo(ctx, log, end, of.Until); err != nil {
			return nil, err
		}
	}
	now := usage.New()
	if _, err := views.To(ctx, log, end, nil, nil, now); err != nil || of.Since == 0 {
		return now.Sums(of.By, of.Prices), err
	}
	begin, err := upTo(ctx, log, end, of.Since)
	if err != nil {
		return nil, err
	}
	then := usage.New()
	if _, err := views.To(ctx, log, begin, nil, nil, then); err != nil {
		return nil, err
	}
	return now.SumsSince(of.By, then, of.Prices), nil
}

// upTo is the last position up to another that was recorded before an instant.
func upTo(ctx context.Context, log Log, end events.Position, t events.Time) (events.Position, error) {
	return before(ctx, log, ledger.Head{Position: end}, t-1)
}
