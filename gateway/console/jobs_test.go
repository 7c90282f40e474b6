package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// ended waits for a question in the background as the page does, and returns
// the part that shows its result.
func (b *browser) ended(where string) string {
	b.t.Helper()
	u, err := url.Parse(where)
	if err != nil || u.Query().Get("job") == "" {
		b.t.Fatalf("%q names no job", where)
	}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		a := b.do(http.MethodGet, "/jobs/"+u.Query().Get("job"), nil, "HX-Request", "true")
		if a.StatusCode != http.StatusOK {
			b.t.Fatalf("%d %s", a.StatusCode, a.body)
		}
		if !strings.Contains(a.body, "hx-trigger") {
			return a.body
		}
	}
	b.t.Fatal("it did not end")
	return ""
}

func TestVerificationRunsInTheBackgroundAndIsShown(t *testing.T) {
	b := open(t, "")
	a := b.do(http.MethodPost, "/ledger/verify", url.Values{"csrf": {csrf(t, b.see("/ledger"))}})
	if a.StatusCode != http.StatusSeeOther {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	part := b.ended(a.Header.Get("Location"))
	for _, want := range []string{"The ledger is whole.", "derived again", `id="verdict"`} {
		if !strings.Contains(part, want) {
			t.Errorf("the result lacks %q: %s", want, part)
		}
	}
	b.has("/ledger", "The ledger is whole.")
	if a := b.do(http.MethodGet, "/jobs/99", nil); a.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown job: %d", a.StatusCode)
	}
}

// The three changes of the recorded incident: each field as the form types it.
func TestWhatIfComparesSideBySide(t *testing.T) {
	b := open(t, "")
	rows := map[string]url.Values{
		"a duration":             {"park_cap": {"5m"}},
		"a word":                 {"when_exhausted": {"refuse"}},
		"a whole number":         {"health_threshold": {"7"}},
		"a size, a percentage":   {"max_body": {"1MiB"}, "reserve": {"10"}},
		"YAML":                   {"policy": {"policy:\n  park_cap: 240h\n"}},
		"a field and a range":    {"park_cap": {"5m"}, "since": {"2026-11-30T14:00:00Z"}, "until": {"1m"}},
		"what nothing hangs on":  {"idle_timeout": {"1m"}},
		"several fields at once": {"park_cap": {"240h"}, "when_exhausted": {"refuse"}},
	}
	for name, form := range rows {
		form.Set("csrf", csrf(t, b.see("/what-if")))
		a := b.do(http.MethodPost, "/what-if", form)
		if a.StatusCode != http.StatusSeeOther {
			t.Fatalf("%s: %d %s", name, a.StatusCode, a.body)
		}
		part := b.ended(a.Header.Get("Location"))
		for _, want := range []string{"Side by side", `id="recorded-totals"`, `id="proposed-totals"`, `href="/accounts/b"`} {
			if !strings.Contains(part, want) {
				t.Errorf("%s: the result lacks %q: %s", name, want, part)
			}
		}
		page := b.has(a.Header.Get("Location"), "Side by side")
		for _, typed := range form["park_cap"] {
			if !strings.Contains(page, `name="park_cap" value="`+typed+`"`) {
				t.Errorf("%s: the form has forgotten %q", name, typed)
			}
		}
	}
}

func TestAPolicyThatIsNoneIsSaid(t *testing.T) {
	b := open(t, "")
	rows := map[string]url.Values{
		"nothing":              {},
		"an unknown field":     {"policy": {"park_cup: 5m"}},
		"a value that is none": {"park_cap": {"often"}},
		"a line of its own":    {"park_cap": {"5m\nhealthy_window: 1h"}},
		"a start that is none": {"park_cap": {"5m"}, "since": {"yesterday"}},
	}
	for name, form := range rows {
		form.Set("csrf", csrf(t, b.see("/what-if")))
		a := b.do(http.MethodPost, "/what-if", form)
		if a.StatusCode < 400 || a.StatusCode > 499 || !strings.Contains(a.body, `id="wrong"`) {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
		}
	}
}
