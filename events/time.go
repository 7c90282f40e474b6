package events

import (
	"encoding/json"
	"fmt"
	"time"
)

// Time is an instant in microseconds since the Unix epoch, UTC. Zero means
// absent: no event of this ledger happened in 1970. It is an integer so that
// every machine folds alike and a comparison is one instruction.
type Time int64

// At converts a wall time; the zero time.Time becomes the absent Time.
func At(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	return Time(t.UnixMicro())
}

// Std converts to a time.Time in UTC; the absent Time becomes the zero one.
func (t Time) Std() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(t)).UTC()
}

// IsZero says that the instant is absent.
func (t Time) IsZero() bool { return t == 0 }

// Add moves a present instant by d; an absent one stays absent. The result
// saturates instead of wrapping.
func (t Time) Add(d time.Duration) Time {
	if t == 0 {
		return 0
	}
	us := d.Microseconds()
	sum := int64(t) + us
	switch {
	case us > 0 && sum < int64(t):
		return Time(1<<63 - 1)
	case us < 0 && sum > int64(t):
		return Time(-1 << 63)
	}
	return Time(sum)
}

// Sub is the time from u to t, saturated at the range of time.Duration.
func (t Time) Sub(u Time) time.Duration {
	const limit = int64(1<<63-1) / int64(time.Microsecond)
	us := int64(t) - int64(u)
	switch {
	case us > limit:
		return time.Duration(1<<63 - 1)
	case us < -limit:
		return time.Duration(-1 << 63)
	}
	return time.Duration(us) * time.Microsecond
}

// timeLayout is RFC 3339 with microseconds: the one textual form of an instant.
const timeLayout = "2006-01-02T15:04:05.000000Z07:00"

// String is RFC 3339 in UTC with microseconds, or "" when absent.
func (t Time) String() string {
	if t == 0 {
		return ""
	}
	return t.Std().Format(timeLayout)
}

// MarshalJSON writes RFC 3339 in UTC, or null when absent.
func (t Time) MarshalJSON() ([]byte, error) {
	if t == 0 {
		return []byte("null"), nil
	}
	return []byte(`"` + t.String() + `"`), nil
}

// UnmarshalJSON reads RFC 3339 with any offset, or null.
func (t *Time) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*t = 0
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("read time: want an RFC 3339 string: %w", err)
	}
	parsed, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return fmt.Errorf("read time %q: want RFC 3339, for example 2026-11-30T14:03:00Z", s)
	}
	*t = At(parsed)
	return nil
}
