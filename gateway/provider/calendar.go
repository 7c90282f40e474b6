package provider

import (
	_ "embed"
	"time"

	"github.com/waybill/waybill/events"
)

// pacific is America/Los_Angeles from the IANA database, embedded so that
// a turn of the day is the same on every machine.
//
//go:embed los_angeles.tzif
var pacific []byte

// Turn is the next turn of the calendar after an answer, 0 for a rule that is
// not in the table.
func Turn(rule string, at events.Time) events.Time {
	utc := at.Std()
	china := utc.In(China())
	switch rule {
	case "month_start_utc", "first-of-next-month":
		return nextMonth(utc)
	case "month_start_UTC+8":
		return nextMonth(china)
	case "midnight_utc":
		return midnight(utc, 1)
	case "midnight_UTC+8":
		return midnight(china, 1)
	case "monday_00:00_UTC":
		return midnight(utc, toMonday(utc))
	case "monday_00:00_UTC+8":
		return midnight(china, toMonday(china))
	case "midnight_pacific":
		zone, err := time.LoadLocationFromTZData("America/Los_Angeles", pacific)
		if err != nil {
			return 0
		}
		return midnight(utc.In(zone), 1)
	}
	return 0
}

func nextMonth(now time.Time) events.Time {
	return events.At(time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, now.Location()))
}

func midnight(now time.Time, daysAhead int) events.Time {
	return events.At(time.Date(now.Year(), now.Month(), now.Day()+daysAhead, 0, 0, 0, 0, now.Location()))
}

// toMonday is how many days lie before the next one, 7 on a Monday.
func toMonday(now time.Time) int { return 7 - (int(now.Weekday())+6)%7 }

// China is China Standard Time, without daylight saving since 1991.
func China() *time.Location { return time.FixedZone("CST", 8*60*60) }
