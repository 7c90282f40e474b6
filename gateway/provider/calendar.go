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
	now := at.Std()
	switch rule {
	case "month_start_utc", "first-of-next-month":
		return events.At(time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC))
	case "month_start_UTC+8":
		now = now.In(China())
		return events.At(time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, China()))
	case "midnight_utc":
		return events.At(time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, time.UTC))
	case "midnight_UTC+8":
		now = now.In(China())
		return events.At(time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, China()))
	case "monday_00:00_UTC+8":
		now = now.In(China())
		ahead := (8 - int(now.Weekday())) % 7
		if ahead == 0 {
			ahead = 7
		}
		return events.At(time.Date(now.Year(), now.Month(), now.Day()+ahead, 0, 0, 0, 0, China()))
	case "monday_00:00_UTC":
		ahead := (8 - int(now.Weekday())) % 7
		if ahead == 0 {
			ahead = 7
		}
		return events.At(time.Date(now.Year(), now.Month(), now.Day()+ahead, 0, 0, 0, 0, time.UTC))
	case "midnight_pacific":
		zone, err := time.LoadLocationFromTZData("America/Los_Angeles", pacific)
		if err != nil {
			return 0
		}
		now = now.In(zone)
		return events.At(time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, zone))
	}
	return 0
}

// China is China Standard Time, without daylight saving since 1991.
func China() *time.Location { return time.FixedZone("CST", 8*60*60) }
