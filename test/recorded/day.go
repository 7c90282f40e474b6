package recorded

import (
	"time"

	"github.com/waybill/waybill/events"
)

// The day, in UTC. Requests come once a minute on the minute, except in the
// quiet time; the two monitors read every five minutes.
var (
	Opens = at(6, 0)  // first request
	Quiet = at(6, 26) // last request before the quiet time
	Told  = at(6, 58) // the console's first word that qwen-plan is spent; it repeats it all day
	Spent = at(7, 0)  // openai-team's budget is reached; said again all day
	Busy  = at(7, 2)  // requests again; grok-build's credits are gone
	Dry   = at(13, 2) // qwen-plan's upstream says that the week is spent
	Again = at(14, 11)
	Ends  = at(18, 56) // last request, 12.5 hours after Quiet
)

// Reset is what the console names as the end of qwen-plan's window.
var Reset = at(6, 58).Add(91 * time.Hour)

// Month is when openai-team's budget starts anew.
var Month = events.At(time.Date(2026, 10, 21, 0, 0, 0, 0, time.UTC))

func at(hour, minute int) events.Time {
	return events.At(time.Date(2026, 9, 21, hour, minute, 0, 0, time.UTC))
}

// Config is the gateway's configuration, on an upstream's base URL. Its policy
// is the default one.
func Config(upstream string) string {
	return `accounts:
  - {id: qwen-plan, provider: alibaba-token-plan, api_key: qwen-key, base_url: "` + upstream + `/v1", quota: {source: push}}
  - {id: grok-build, provider: grok-build, api_key: grok-key, base_url: "` + upstream + `/v1", quota: {source: none}}
  - {id: openai-team, provider: openai, api_key: team-key, base_url: "` + upstream + `/v1", quota: {source: push}}
models:
  - {name: coder, strategy: ordered, targets: [{accounts: [qwen-plan, grok-build, openai-team]}]}
clients:
  - {id: app, key: app-key}
  - {id: nightly, key: nightly-key}
`
}

// minutes calls fn for every minute of the day.
func minutes(fn func(now events.Time)) {
	for now := Opens; now <= Ends; now = now.Add(time.Minute) {
		fn(now)
	}
}

// asks says that a request comes at an instant.
func asks(now events.Time) bool { return now <= Quiet || now >= Busy }

// every says that a minute of the day is one of a five-minute rhythm.
func every(now events.Time, offset int) bool { return now.Std().Minute()%5 == offset }

// console is what qwen-plan's console says: nearly spent, then spent, for good.
// It does not know of the credits that were bought.
func console(now events.Time) *events.Reading {
	w := events.Window{Name: "7d", Length: 7 * 24 * time.Hour, Used: whole(40000), Limit: whole(40000), RemainingPercent: whole(0),
		Reported: true, Reached: events.Yes, ResetsAt: Reset}
	if now < Told {
		w.Used, w.RemainingPercent, w.Reached = whole(39600), whole(1), events.No
	}
	return &events.Reading{Source: "push", Windows: []events.Window{w}}
}

// budget is what openai-team's spend control says.
func budget(now events.Time) *events.Reading {
	c := &events.Credit{Reached: events.Yes, Used: whole(2500), Limit: whole(2500), ResetsAt: Month}
	if now < Spent {
		c.Reached, c.Used = events.No, whole(2490)
	}
	return &events.Reading{Source: "push", Credit: c}
}

func whole(n int64) events.OptDecimal { return events.Dec(events.Decimal(n) * events.DecimalUnit) }
