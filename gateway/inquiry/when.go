package inquiry

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
)

// Instant is a time that somebody asked for. The first instant of 1970, and the
// year 1, are not the absent time then: they lie before any ledger.
func Instant(t time.Time) events.Time {
	if at := events.At(t); at != 0 {
		return at
	}
	return 1
}

// Ahead is how far the newest event may be in the future of this process's
// clock: those of other gateways differ, and recorded times never go back.
const Ahead = time.Minute

// ErrFuture: what is asked for has not come yet.
var ErrFuture = errors.New("that instant has not come yet: the ledger holds the past")

// Come refuses an instant in the future.
func Come(t, now events.Time) error {
	if t.Sub(now) > Ahead {
		return ErrFuture
	}
	return nil
}

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
			return Instant(t), nil
		}
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		if t, err := time.ParseInLocation(layout, text, time.UTC); err == nil {
			return events.At(time.Date(today.Year(), today.Month(), today.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)), nil
		}
	}
	return 0, fmt.Errorf("time %q: want 2026-11-30T14:03:00Z, \"2026-11-30 14:03\", 14:03 or 10m (ago)", text)
}
