package when

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
)

var at = events.At(time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC))

const (
	absent  = -1 * time.Second
	minimum = 0
	ceiling = Limit
)

// wait says a Reset as a distance: absent, minimum, ceiling or how long.
func wait(r Reset) time.Duration {
	switch r.Kind {
	case Absent:
		return absent
	case Minimum:
		return minimum
	case Ceiling:
		return ceiling
	}
	return r.At.Sub(at)
}

func Test_B052_B053_O39_RetryAfter(t *testing.T) {
	rows := []struct {
		name, value string
		want        time.Duration
	}{
		{"B052_a_word", "soon", absent},
		{"B052_empty", "", absent},
		{"B052_NaN", "NaN", absent},
		{"B052_inf", "inf", absent},
		{"B052_negative", "-5", absent},
		{"B052_hexadecimal", "0x10", absent},
		{"B052_an_exponent_is_a_number", "1e3", 1000 * time.Second},
		{"B052_a_fraction_is_kept", "2.5", 2500 * time.Millisecond},
		{"B052_spaces_around", " 2 ", 2 * time.Second},
		{"B052_two_values_folded_take_the_longer", "2, 3", 3 * time.Second},
		{"B052_a_date_that_is_none", "Wed, 99 Foo 2026 00:00:00 GMT", absent},
		{"B052_beyond_every_integer", "99999999999999999999", ceiling},
		{"B052_a_plus_sign", "+2", 2 * time.Second},
		{"B052_ten_kibibytes", strings.Repeat("1", 10<<10), absent},
		{"B053_one_more_than_an_int64", "9223372036854775808", ceiling},
		{"B053_a_huge_exponent", "1e400", ceiling},
		{"B053_seconds_that_overflow_a_Duration", "9300000000", ceiling},
		{"B053_401_days", "34646400", ceiling},
		{"B053_399_days", "34473600", 399 * 24 * time.Hour},
		{"edge-retry-after-absurd_an_epoch_is_an_instant", "1795999999", 3199 * time.Second},
		{"O39_seconds", "60", time.Minute},
		{"O39_minutes", "5m", 5 * time.Minute},
		{"O39_hours", "2h", 2 * time.Hour},
		{"O39_a_past_date_is_the_minimum", "Sun, 29 Nov 2026 00:00:00 GMT", minimum},
		{"O39_a_number_with_letters", "60xyz", absent},
		{"an_HTTP_date", "Mon, 30 Nov 2026 00:00:30 GMT", 30 * time.Second},
		{"an_HTTP_date_of_RFC_850", "Monday, 30-Nov-26 00:00:30 GMT", 30 * time.Second},
		{"an_HTTP_date_over_400_days_away", "Sat, 30 Nov 2030 00:00:30 GMT", absent},
		{"zero_is_the_minimum", "0", minimum},
		{"a_negative_zero_is_zero", "-0.0", minimum},
		{"a_tiny_exponent_is_the_minimum", "1e-400", minimum},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			h := http.Header{}
			h.Set("Retry-After", r.value)
			got, _ := Clock{At: at}.Header(h, "Retry-After", Seconds)
			if wait(got) != r.want {
				t.Errorf("%q reads as %s, want %s", r.value, wait(got), r.want)
			}
		})
	}
}

func Test_B052_of_several_headers_the_latest_counts(t *testing.T) {
	h := http.Header{"Retry-After": {"2", "7", "soon", "3"}}
	if got, v := (Clock{At: at}).Header(h, "Retry-After", Seconds); wait(got) != 7*time.Second || v != "7" {
		t.Errorf("got %s from %q, want 7s", wait(got), v)
	}
}

func Test_B007_B055_B056_B109_UndeclaredNumbersGoByMagnitude(t *testing.T) {
	reset := at + 3_000_000
	s := int64(reset) / 1_000_000
	rows := map[string]string{
		"B007_epoch_seconds":       strconv.FormatInt(s, 10),
		"B007_epoch_milliseconds":  strconv.FormatInt(s*1_000, 10),
		"B007_epoch_microseconds":  strconv.FormatInt(s*1_000_000, 10),
		"B007_RFC_3339":            reset.Std().Format(time.RFC3339),
		"B055_relative_seconds":    "3",
		"B056_with_an_offset":      reset.Std().In(time.FixedZone("", 7200)).Format(time.RFC3339),
		"B056_lower_case":          strings.ToLower(reset.Std().Format(time.RFC3339)),
		"B109_another_offset":      reset.Std().In(time.FixedZone("", -(3*60+45)*60)).Format(time.RFC3339),
		"a_float_of_seconds":       strconv.FormatInt(s, 10) + ".0",
		"a_Go_duration":            "3s",
		"a_protobuf_duration":      "3.000000000s",
		"milliseconds_with_a_unit": "3000ms",
		"words":                    "3 seconds",
		"spaced":                   "0h 0m 3s",
		"no_colon_in_the_offset":   reset.Std().In(time.FixedZone("", 7200)).Format("2006-01-02T15:04:05-0700"),
	}
	for name, v := range rows {
		t.Run(name, func(t *testing.T) {
			if got := (Clock{At: at}).Parse(v, Auto); wait(got) != 3*time.Second {
				t.Errorf("%q reads as %s, want 3s", v, wait(got))
			}
		})
	}
}

func Test_B007_B055_B056_B058_O31_Values(t *testing.T) {
	rows := []struct {
		name, value string
		unit        Unit
		want        time.Duration
	}{
		{"B056_a_bare_year_is_seconds", "2026", Auto, 2026 * time.Second},
		{"B056_a_fraction_of_a_second", "2026-11-30T00:00:03.123Z", Auto, 3123 * time.Millisecond},
		{"B056_microseconds", "2026-11-30T03:00:00.172141+00:00", Auto, 3*time.Hour + 172141*time.Microsecond},
		{"B055_just_below_the_threshold_is_a_duration_too_long", "999999999", Auto, ceiling},
		{"B055_just_above_it_is_an_instant_past", "1000000000", Auto, minimum},
		{"B007_between_the_thresholds_of_others", "50000000000", Auto, absent},
		{"milliseconds_are_declared", "6512", Millis, 6512 * time.Millisecond},
		{"milliseconds_may_have_a_fraction", "0.5", Millis, 500 * time.Microsecond},
		{"declared_milliseconds_stay_so_whatever_their_size", "2000000000", Millis, 2_000_000 * time.Second},
		{"B058_a_fraction_of_nanoseconds", "2.074824224s", Auto, 2074824 * time.Microsecond},
		{"B058_milliseconds_with_a_fraction", "1373.8ms", Auto, 1373800 * time.Microsecond},
		{"B058_long_protobuf_durations", "9000s", Auto, 9000 * time.Second},
		{"O31_hours_minutes_seconds", "164h27m24s", Auto, 164*time.Hour + 27*time.Minute + 24*time.Second},
		{"groq", "2m59.56s", Auto, 2*time.Minute + 59560*time.Millisecond},
		{"openai", "1h26m24s", Auto, time.Hour + 26*time.Minute + 24*time.Second},
		{"openai_milliseconds", "12ms", Auto, 12 * time.Millisecond},
		{"nanoseconds_below_the_resolution", "999ns", Auto, minimum},
		{"days", "1d2h", Auto, 26 * time.Hour},
		{"negative_durations", "-5s", Auto, absent},
		{"a_duration_over_400_days", "10000h", Auto, ceiling},
		{"an_instant_over_400_days_away", "2028-06-01T00:00:00Z", Auto, absent},
		{"a_bare_date", "2026-12-01", Auto, 24 * time.Hour},
		{"a_date_that_does_not_exist", "2026-02-30T00:00:00Z", Auto, absent},
		{"a_thirteenth_month", "2026-13-01T00:00:00Z", Auto, absent},
		{"a_negative_epoch", "-1796083200", Auto, absent},
		{"an_infinite_duration", strings.Repeat("9", 40) + "h", Auto, ceiling},
		{"garbage_behind_a_duration", "5s?", Auto, absent},
		{"two_points", "1.2.3", Auto, absent},
		{"a_lone_sign", "-", Auto, absent},
		{"a_lone_unit", "s", Auto, absent},
		{"an_unfinished_exponent", "1e", Auto, absent},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if got := (Clock{At: at}).Parse(r.value, r.unit); wait(got) != r.want {
				t.Errorf("%q reads as %s, want %s", r.value, wait(got), r.want)
			}
		})
	}
}

func Test_B049_B058_O42_O43_O46_Prose(t *testing.T) {
	china := time.FixedZone("", 8*3600)
	rows := []struct {
		name, text string
		zone       *time.Location
		want       time.Duration
	}{
		{"B049_spelled_out_after_a_colon", ": 0h0m4s", nil, 4 * time.Second},
		{"B058_at_the_end_of_a_sentence", " 2.5s.", nil, 2500 * time.Millisecond},
		{"O43_hours_and_minutes", " 1h30m", nil, 90 * time.Minute},
		{"O43_a_past_instant_is_no_wait", " 2026-11-29T00:00:00Z", nil, minimum},
		{"O42_an_instant", " 2026-11-30t00:45:00z, please", nil, 45 * time.Minute},
		{"O46_minutes", " 45m", nil, 45 * time.Minute},
		{"spaces_between_parts", " 1h 2m 3s or so", nil, time.Hour + 2*time.Minute + 3*time.Second},
		{"words_and_an_and", " 2 hours and 5 minutes.", nil, 2*time.Hour + 5*time.Minute},
		{"a_number_of_seconds_in_words", " 86400 seconds.", nil, 24 * time.Hour},
		{"a_bare_number_is_none", " 5.", nil, absent},
		{"a_date_with_words", " 2026-12-01 at 00:00 utc.", nil, 24 * time.Hour},
		{"a_zoneless_time_in_the_zone_of_its_rule", " 2026-11-30 10:30:00", china, 2*time.Hour + 30*time.Minute},
		{"brackets_behind_it", " 2026-11-30 10:30:00][20261130080000synthetic]", china, 2*time.Hour + 30*time.Minute},
		{"a_filler", " in about 5 minutes", nil, 5 * time.Minute},
		{"nothing_like_a_time", " a while", nil, absent},
		{"empty", "", nil, absent},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			if got, _ := (Clock{At: at, Zone: r.zone}).Prose(r.text); wait(got) != r.want {
				t.Errorf("%q reads as %s, want %s", r.text, wait(got), r.want)
			}
		})
	}
}

func Test_B112_an_HTTP_date_counts_from_the_answers_own_Date(t *testing.T) {
	for name, skew := range map[string]time.Duration{"ten minutes ahead": 10 * time.Minute, "ten minutes behind": -10 * time.Minute, "two hours ahead": 2 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			upstream := at.Add(skew).Std()
			h := http.Header{}
			h.Set("Date", upstream.Format(http.TimeFormat))
			h.Set("Retry-After", upstream.Add(30*time.Second).Format(http.TimeFormat))
			got, _ := Clock{At: at, Date: DateOf(h)}.Header(h, "Retry-After", Seconds)
			if wait(got) != 30*time.Second {
				t.Errorf("wait %s, want 30s", wait(got))
			}
		})
	}
}

// TestOneInstantHasOneReading is the property behind B007: seconds,
// milliseconds, microseconds and RFC 3339 of one instant read alike.
func Test_B007_one_instant_has_one_reading(t *testing.T) {
	for _, d := range []time.Duration{time.Second, time.Hour, 30 * 24 * time.Hour, 399 * 24 * time.Hour} {
		s := int64(at.Add(d)) / 1_000_000
		for name, v := range map[string]string{
			"s": strconv.FormatInt(s, 10), "ms": strconv.FormatInt(s*1000, 10), "us": strconv.FormatInt(s*1_000_000, 10),
			"rfc": time.Unix(s, 0).UTC().Format(time.RFC3339),
		} {
			if got := (Clock{At: at}).Parse(v, Auto); wait(got) != d {
				t.Errorf("%s of %s reads as %s", name, d, wait(got))
			}
		}
	}
}

// FuzzParse: any text gives a kind, no instant lies outside what R19 allows,
// and a number reads like time.Duration says where both can.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"5", "1e400", "1h2m3s", "2026-11-30T00:00:00Z", "Mon, 30 Nov 2026 00:00:30 GMT", "2, 3", "-0", "1.5e-7h", "9999999999999999999ns"} {
		f.Add(s, uint8(0))
	}
	f.Fuzz(func(t *testing.T, s string, unit uint8) {
		c := Clock{At: at}
		readings := []Reset{c.Parse(s, Unit(unit%3))}
		p, text := c.Prose(s)
		if len(text) > len(s) {
			t.Errorf("prose read %q of %q", text, s)
		}
		h, _ := c.Header(http.Header{"X": {s, s}}, "X", Unit(unit%3))
		for _, r := range append(readings, p, h) {
			check(t, s, r)
		}
		if d, err := time.ParseDuration(s); err == nil && len(s) <= maxText && d > time.Microsecond && d < Limit && strings.Trim(s, "0123456789hms") == "" {
			if got := wait(c.Parse(s, Auto)); got != d.Truncate(time.Microsecond) {
				t.Errorf("%q reads as %s, Go says %s", s, got, d)
			}
		}
	})
}

func check(t *testing.T, s string, r Reset) {
	t.Helper()
	ahead := r.At.Sub(at)
	ok := false
	switch r.Kind {
	case Absent:
		ok = r.At == 0
	case Minimum:
		ok = ahead == 0 && r.Past <= at
	case Future:
		ok = ahead > 0 && ahead <= Limit
	case Ceiling:
		ok = ahead == Limit
	}
	if !ok {
		t.Errorf("%q reads as %+v", s, r)
	}
}

func BenchmarkParse(b *testing.B) {
	c := Clock{At: at}
	for _, s := range []string{"6.512s", "1796083200", "2026-11-30T00:00:12Z", "7"} {
		b.Run(s, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.Parse(s, Auto)
			}
		})
	}
}
