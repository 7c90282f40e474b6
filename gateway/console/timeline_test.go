package console_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
)

// answered is a success whose headers told how much of a window is left.
func answered(left int64, window string, scope events.Scope) *events.AttemptSucceeded {
	w := events.Window{Name: window, Scope: scope, RemainingPercent: events.Dec(events.Decimal(left) * events.DecimalUnit), Reported: true}
	return &events.AttemptSucceeded{Answer: events.Answer{Status: 200, Reading: &events.Reading{Source: "headers", Windows: []events.Window{w}}}}
}

// TestWhatAnswersSayOfQuotaIsOnTheTimeline: each thing that is said anew, once,
// with its event; what repeats it is counted.
func TestWhatAnswersSayOfQuotaIsOnTheTimeline(t *testing.T) {
	b := open(t, "")
	const timeline = "/accounts/c/timeline?span=1h"
	before := strings.Count(b.see(timeline), `data-lane="reading"`)
	for _, left := range []int64{80, 80, 80, 60, 60, 0, 0} {
		b.Do(events.Header{Account: "c"}, answered(left, "minute", events.Scope{}))
		b.Clock.Pass(time.Minute)
	}
	b.Do(events.Header{Account: "c"}, &events.AttemptSucceeded{Answer: events.Answer{Status: 200}}) // which said nothing
	page := b.see(timeline)
	if n := strings.Count(page, `data-lane="reading"`) - before; n != 3 {
		t.Errorf("%d readings inside answers are drawn", n)
	}
	if !strings.Contains(page, `id="same">4 more answers`) {
		t.Errorf("it does not say that 4 repeat the one before: %s", page)
	}
	points := regexp.MustCompile(`data-name="minute" data-points="([^"]+)"`).FindStringSubmatch(page)
	if points == nil || len(strings.Fields(points[1])) != 3 || !strings.Contains(points[1], ":80.00 ") || !strings.Contains(points[1], ":0.00 ") {
		t.Errorf("the window is drawn as %q", points)
	}
	link := regexp.MustCompile(`data-lane="reading" data-tone="info"><th scope="row" data-label="event"><a href="([^"]+)"`).FindAllStringSubmatch(page, -1)
	if len(link) < 3 {
		t.Fatalf("the marks are %q", link)
	}
	b.has(link[len(link)-1][1], "attempt.succeeded", "window minute is spent")
}

// TestAnswersThatSayAnotherThingEachTimeAreDrawnNowAndThen: but that a window is
// spent is drawn whenever it is said first.
func TestAnswersThatSayAnotherThingEachTimeAreDrawnNowAndThen(t *testing.T) {
	b := open(t, "")
	b.Clock.Pass(30 * time.Minute)
	for i := range int64(100) {
		b.Do(events.Header{Account: "c"}, answered(99-i, "minute", events.Scope{Kind: events.ScopeModel, Name: "m1"}))
		b.Clock.Pass(500 * time.Millisecond)
	}
	page := b.see("/accounts/c/timeline?span=1h")
	n := strings.Count(page, `>attempt.succeeded<`)
	if n < 5 || n > 20 {
		t.Errorf("%d of 100 answers are drawn", n)
	}
	if !strings.Contains(page, "window minute of model m1 is spent") || !strings.Contains(page, `data-name="minute of model:m1"`) {
		t.Errorf("the end of the window is not drawn: %s", page)
	}
}

// TestAFlagDrawsNoNumber: a provider that says only that a window is spent, or
// is not, has named no percentage.
func TestAFlagDrawsNoNumber(t *testing.T) {
	b := open(t, "")
	b.Clock.Pass(24 * time.Hour)
	for _, row := range []struct {
		reached events.OptBool
		words   string
	}{{events.Yes, ">spent<"}, {events.No, ">not spent<"}} {
		b.Do(events.Header{Account: "c"}, &events.QuotaFetched{Reading: events.Reading{Source: "push", Windows: []events.Window{{Name: "flag", Reached: row.reached}}}})
		page := b.see("/accounts/c")
		if !strings.Contains(page, row.words) || strings.Contains(page, "% left") {
			t.Errorf("the window is not shown as %s: %s", row.words, page)
		}
	}
	if page := b.see("/accounts/c/timeline?span=1h"); strings.Contains(page, `data-name="flag"`) {
		t.Error("a flag is drawn as a number")
	}
}

// TestAnAccountThatServesNotEveryModelSaysSo: its state is green all the same.
func TestAnAccountThatServesNotEveryModelSaysSo(t *testing.T) {
	b := open(t, "")
	b.Clock.Pass(24 * time.Hour)
	b.Do(events.Header{Account: "c"}, &events.OperatorReleased{OperatorAction: events.OperatorAction{Actor: "admin", Reason: "tests"}})
	b.Clock.Pass(time.Hour)
	scope := events.Scope{Kind: events.ScopeModel, Name: "m9"}
	b.Do(events.Header{Account: "c"}, &events.QuotaFetched{Reading: events.Reading{Source: "push", Windows: []events.Window{{Name: "daily", Scope: scope, Reached: events.Yes, ResetsAt: b.Now().Add(time.Hour)}}}})
	for _, path := range []string{"/", "/accounts/c"} {
		page := b.see(path)
		if !strings.Contains(page, "c may serve, but not model m9: its console said") || !strings.Contains(page, "not every model") {
			t.Errorf("%s: %s", path, page)
		}
	}
}
