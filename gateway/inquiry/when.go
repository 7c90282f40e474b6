package inquiry

import (
	"fmt"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
)

// When reads an instant as people write it: RFC 3339, a date and a clock in
// UTC, a clock of today, or how long ago (10m). The empty text is no instant.
func When(text string, now events.Time) (events.Time, error) {
	if text == "" {
		return 0, nil
	}
	today := now.Std()
	if d, err := time.ParseDuration(strings.TrimPrefix(text, "-")); err == nil {
		return now.Add(-d), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, time.UTC); err == nil {
			return events.At(t), nil
		}
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		if t, err := time.ParseInLocation(layout, text, time.UTC); err == nil {
			return events.At(time.Date(today.Year(), today.Month(), today.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)), nil
		}
	}
	return 0, fmt.Errorf("time %q: want 2026-11-30T14:03:00Z, \"2026-11-30 14:03\", 14:03 or 10m (ago)", text)
}
