package ledger

import (
	"context"
	"time"
)

// Rest waits for d or the end of ctx, and says whether the time has passed.
func Rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
