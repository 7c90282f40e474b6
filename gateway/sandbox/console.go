package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

const (
	// consoleEvery is how often the console of account amber speaks.
	consoleEvery = 20 * time.Second
	// consoleCycle: it claims exhaustion for the first four fifths of it.
	consoleCycle = 5 * time.Minute
)

// Console plays the console of account amber: it claims, again and again, that
// the account's window is spent for three days, while the upstream serves. push
// takes the contract's reading, as POST /accounts/amber/readings does. It
// returns when ctx ends.
func Console(ctx context.Context, now func() time.Time, push func(ctx context.Context, account string, reading []byte) error) error {
	start := now()
	ticker := time.NewTicker(consoleEvery)
	defer ticker.Stop()
	for {
		b, err := json.Marshal(reading(now().Sub(start), now()))
		if err != nil {
			return fmt.Errorf("write reading: %w", err)
		}
		if err := push(ctx, amber, b); err != nil && ctx.Err() == nil {
			return fmt.Errorf("push reading: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// reading is what the console says after a while.
func reading(since time.Duration, now time.Time) object {
	used := 100
	if since%consoleCycle >= consoleCycle*4/5 {
		used = 40
	}
	return object{
		"source":      "sandbox-console",
		"observed_at": now.UTC().Format(time.RFC3339Nano),
		"windows": []object{{
			"name": "weekly", "used_percent": used, "reached": used == 100,
			"resets_at": now.Add(72 * time.Hour).UTC().Format(time.RFC3339),
		}},
	}
}
