package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// timeMachine moves the slider with the keyboard and wants every page as of then.
func timeMachine(t *testing.T, w *world) {
	b := w.open(t)
	b.login()
	if b.text("#at-words") != "now" || len(b.texts("#past")) != 0 {
		t.Errorf("it does not begin now: %q", b.text("#at-words"))
	}
	b.do(chromedp.Focus(chromedp.CSS("#at-slider")), chromedp.KeyEvent(kb.Home), chromedp.KeyEvent(kb.ArrowRight))
	b.see("#past")
	at := eval[string](b, "document.body.dataset.at")
	if at == "" || !strings.Contains(b.text("#past"), "You are looking at the past") {
		t.Fatalf("as of %q: %s", at, b.text("#past"))
	}
	for _, section := range []string{"requests", "events", "usage", "ledger", "what-if", ""} {
		b.follow(fmt.Sprintf("nav[aria-label=Main] a[href^='/%s?'], nav[aria-label=Main] a[href='/%s']", section, section))
		if got := eval[string](b, "document.body.dataset.at"); got != at {
			t.Errorf("/%s is as of %q, want %q", section, got, at)
		}
	}
	b.do(set("#at", "2026-09-21 13:30"))
	b.follow("#at-go")
	if got := eval[string](b, "document.body.dataset.at"); !strings.HasPrefix(got, "2026-09-21T13:30:00") {
		t.Errorf("as of %s", got)
	}
	states := b.texts("li.account .badge")
	if strings.Join(states, ", ") != "parked, waiting reset, waiting reset" {
		t.Errorf("the accounts were %s", states)
	}
	b.follow("#account-grok-build")
	b.follow("#past .steps button:nth-of-type(2)")
	if got := eval[string](b, "document.body.dataset.at"); !strings.HasPrefix(got, "2026-09-21T13:29:00") || !strings.HasPrefix(b.at(), "/accounts/grok-build?") {
		t.Errorf("a minute back is %s, as of %s", b.at(), got)
	}
	if n := len(b.texts("#actions form")); n != 0 {
		t.Errorf("the past can be acted on: %d forms", n)
	}
	b.follow("#back-to-now")
	if len(b.texts("#past")) != 0 || b.at() != "/accounts/grok-build" {
		t.Errorf("back to now led to %s", b.at())
	}
}

// whatIf runs the policy that the seed's gateway had and reads the comparison;
// the numbers are derived in test/recorded.
func whatIf(t *testing.T, w *world) {
	b := w.open(t)
	b.login()
	b.to("/what-if")
	b.do(set("#k-when_exhausted", "refuse"), set("#k-park_cap", "240h"), click("#run"))
	b.see("#result")
	for row, want := range map[string]string{"#recorded-totals": "673 4 65 0 0", "#proposed-totals": "27 1 714 0 0 0", "#difference-totals": "−646 −3 +649 0 0"} {
		if got := strings.Join(b.texts(row+" td"), " "); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", row, got, want)
		}
	}
	if n := len(b.texts("#examples li a")); n != 10 {
		t.Errorf("%d examples", n)
	}
	b.follow("#examples li a")
	if b.text("#story .sentence"); !strings.HasPrefix(b.at(), "/requests/") {
		t.Errorf("an example leads to %s", b.at())
	}
	b.to("/what-if")
	b.do(set("#k-park_cap", "soon"), click("#run"))
	b.see("#wrong")
	if wrong := b.text("#wrong"); !strings.Contains(wrong, "park_cap") {
		t.Errorf("a broken field is answered with %q", wrong)
	}
}
