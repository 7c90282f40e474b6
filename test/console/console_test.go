package console

import (
	"testing"

	"github.com/waybill/waybill/test/recorded"
)

// Instants of the recorded day.
const (
	morning = "2026-09-21T07:01:30Z" // a console's word stands against qwen-plan
	noon    = "2026-09-21T13:30:00Z" // clients see 429
	evening = "2026-09-21T18:59:00Z"
)

// TestTheConsole uses one browser and two gateways: day only shows the recorded
// day, live is acted on.
func TestTheConsole(t *testing.T) {
	browser, log := browse(t), recorded.Play(t)
	fill := func(path string) { recorded.Write(t, log, path, 0) }
	day, live := start(t, browser, fill), start(t, browser, fill)
	for name, test := range map[string]func(t *testing.T, w *world){
		"a refusal is told in the same words":       sameWordsOfARefusal,
		"an account is told in the same words":      sameWordsOfAnAccount,
		"three clicks lead to the evidence":         threeClicks,
		"every link leads somewhere":                everyLink,
		"every sentence and row names its evidence": everyFact,
		"the slider takes all pages into the past":  timeMachine,
		"what-if gives the hand count":              whatIf,
		"the pages":                                 pages,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, day)
		})
	}
	t.Run("200 accounts, long names and empty pages", func(t *testing.T) {
		t.Parallel()
		w := crowded(t)
		w.browser = browser
		crowd(t, w)
	})
	for name, test := range map[string]func(t *testing.T, w *world){
		"login, wrong and right":                loginAndOut,
		"an operator drains an account":         operate,
		"a page follows without being reloaded": follows,
		"a tab that never answers is given up":  hangs,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, live)
		})
	}
}
