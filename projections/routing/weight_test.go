package routing

import (
	"math"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/admission"
)

const noon = events.Time(1_796_000_000_000_000)

func percent(n int64) events.Decimal { return events.Decimal(n) * events.DecimalUnit }

func axis(left int64, reset time.Duration, age time.Duration) admission.Room {
	r := admission.Room{Remaining: percent(left), ObservedAt: noon.Add(-age)}
	if reset != 0 {
		r.ResetsAt = noon.Add(reset)
	}
	return r
}

// Weights in millionths of a percent per hour; seed rows say percent per hour.
func Test_B18_B19_B35_B6_A21_sustainable_weight(t *testing.T) {
	const unit = int64(events.DecimalUnit)
	day := 24 * time.Hour
	for _, row := range []struct {
		name    string
		rooms   []admission.Room
		source  bool
		reserve int64
		want    int64
		stands  standing
	}{
		{"B18_no_reset_leaves_the_spendable_part_alone", []admission.Room{axis(40, 0, 0)}, true, 10, 30 * unit, roomy},
		{"B18_so_does_a_past_one", []admission.Room{axis(40, -time.Hour, 0)}, true, 10, 30 * unit, roomy},
		{"B19_a_near_reset_counts_as_a_minute", []admission.Room{axis(40, 30*time.Second, 0)}, true, 0, 2400 * unit, roomy},
		{"B35_the_least_axis_counts", []admission.Room{axis(80, 0, 0), axis(10, 0, 0)}, true, 0, 10 * unit, roomy},
		{"B35_and_not_their_sum", []admission.Room{axis(20, 0, 0), axis(20, 0, 0)}, true, 0, 20 * unit, roomy},
		{"B6_each_axis_has_its_own_reset", []admission.Room{axis(49, 5*time.Hour, 0), axis(1, 30*day, 0)}, true, 0, unit / 720, roomy},
		{"a month beside a minute does not overflow", []admission.Room{axis(100, 400*day, 0)}, true, 0, 100 * unit / 9600, roomy},
		{"nothing above the reserve is scarce", []admission.Room{axis(10, time.Hour, 0)}, true, 10, 0, scarce},
		{"a negative remainder is scarce", []admission.Room{axis(-5, time.Hour, 0)}, true, 0, 0, scarce},
		{"more than all counts as all", []admission.Room{axis(140, 0, 0)}, true, 0, 100 * unit, roomy},
		{"A21_a_stale_reading_does_not_weigh", []admission.Room{axis(40, time.Hour, 16*time.Minute)}, true, 0, 0, stale},
		{"A21_a_fresh_axis_stands_beside_a_stale_one", []admission.Room{axis(1, 0, time.Hour), axis(40, 0, 0)}, true, 0, 40 * unit, roomy},
		{"a reading as old as allowed is fresh", []admission.Room{axis(40, 0, 15*time.Minute)}, true, 0, 40 * unit, roomy},
		{"a source without a reading", nil, true, 0, unmeasured, unread},
		{"no source at all", nil, false, 0, unmeasured, roomy},
	} {
		t.Run(row.name, func(t *testing.T) {
			policy := events.DefaultPolicy()
			policy.Reserve = percent(row.reserve)
			w, st := sustainable(row.rooms, row.source, &policy, noon)
			if w != row.want || st != row.stands {
				t.Errorf("weight %d, standing %d; want %d, %d", w, st, row.want, row.stands)
			}
		})
	}
}

// What a ledger holds need not have come through this binary's configuration.
func TestAConfiguredWeightIsBoundedSoThatProductsFit(t *testing.T) {
	for _, row := range []struct {
		name        string
		given, want int64
	}{
		{"as configured", 7, 7},
		{"none is one", 0, 1},
		{"none below one", -5, 1},
		{"the greatest", maxWeight, maxWeight},
		{"none above it", math.MaxInt64, maxWeight},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := roster(t, open())
			fold(v, "a", &events.AccountEnrolled{Settings: events.Settings{Dialects: []events.Dialect{events.DialectOpenAI}, Weight: row.given}})
			if got := resolve(v.Admission, events.DialectOpenAI, "m").members[0].weight; got != row.want {
				t.Errorf("weight %d, want %d", got, row.want)
			}
		})
	}
	policy := events.DefaultPolicy()
	most, _ := sustainable([]admission.Room{axis(100, time.Second, 0)}, true, &policy, noon)
	if most > math.MaxInt64/maxWeight || plenty > math.MaxInt64/maxWeight {
		t.Errorf("the greatest sustainable weight %d times the greatest configured one overflows", most)
	}
}
