package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// act sends an operator's form as the account's page has it.
func (b *browser) act(account, verb string, form url.Values) answer {
	b.t.Helper()
	form.Set("csrf", csrf(b.t, b.see("/accounts/"+account)))
	return b.do(http.MethodPost, "/accounts/"+account+"/"+verb, form)
}

func TestOperatorActionsAreRecordedWithTheirReason(t *testing.T) {
	b := open(t, "")
	rows := []struct {
		verb  string
		form  url.Values
		kind  events.Kind
		state string
	}{
		{"release", url.Values{"reason": {"topped up"}}, events.KindOperatorReleased, "available"},
		{"park", url.Values{"reason": {"maintenance"}, "for": {"2h"}}, events.KindOperatorParked, "parked"},
		{"drain", url.Values{"reason": {"moving out"}}, events.KindOperatorDrained, "drained"},
		{"undrain", url.Values{"reason": {"stays"}}, events.KindOperatorUndrained, "available"},
	}
	for _, row := range rows {
		a := b.act("b", row.verb, row.form)
		where := a.Header.Get("Location")
		if a.StatusCode != http.StatusSeeOther || !strings.HasPrefix(where, "/accounts/b?recorded=") {
			t.Fatalf("%s: %d to %q: %s", row.verb, a.StatusCode, where, a.body)
		}
		b.has(where, "Recorded as", `data-state="`+row.state+`"`)
		got, err := b.Log.Read(t.Context(), 0, ledger.Filter{Account: "b", Kinds: []events.Kind{row.kind}}, 0)
		if err != nil || len(got) == 0 {
			t.Fatalf("%s: %d events, err %v", row.verb, len(got), err)
		}
		b.has("/events/"+itoa(uint64(got[len(got)-1].Position)), row.form.Get("reason"), "loopback")
	}
}

func TestAnActionThatIsNotWholeIsSaidAndNotRecorded(t *testing.T) {
	b := open(t, "")
	head := b.head()
	rows := map[string]struct {
		path   string
		form   url.Values
		status int
		says   string
	}{
		"no reason":               {"/accounts/b/release", url.Values{}, http.StatusUnprocessableEntity, "reason is required"},
		"a park without an end":   {"/accounts/b/park", url.Values{"reason": {"x"}}, http.StatusUnprocessableEntity, "until is required"},
		"an end that is no time":  {"/accounts/b/park", url.Values{"reason": {"x"}, "for": {"soon"}}, http.StatusUnprocessableEntity, "want a duration"},
		"a scope that is none":    {"/accounts/b/drain", url.Values{"reason": {"x"}, "scope": {"world"}}, http.StatusUnprocessableEntity, "scope: want"},
		"an account that is none": {"/accounts/nobody/drain", url.Values{"reason": {"x"}}, http.StatusNotFound, "nobody"},
		"an action that is none":  {"/accounts/b/explode", url.Values{"reason": {"x"}}, http.StatusNotFound, "explode"},
		"the past":                {"/accounts/b/drain?at=10m", url.Values{"reason": {"x"}}, http.StatusBadRequest, "past cannot be changed"},
	}
	for name, row := range rows {
		row.form.Set("csrf", csrf(t, b.see("/accounts/b")))
		a := b.do(http.MethodPost, row.path, row.form)
		if a.StatusCode != row.status || !strings.Contains(a.body, row.says) {
			t.Errorf("%s: %d, does not say %q: %s", name, a.StatusCode, row.says, a.body)
		}
	}
	if got := b.head(); got != head {
		t.Errorf("the ledger grew from %d to %d", head, got)
	}
}

// What was typed is still there when an action was refused.
func TestARefusedFormKeepsWhatWasTyped(t *testing.T) {
	b := open(t, "")
	a := b.act("b", "park", url.Values{"reason": {"half a reason"}, "for": {"soon"}})
	for _, want := range []string{`value="half a reason"`, `value="soon"`, `<details id="do-park" open>`, `role="alert"`} {
		if !strings.Contains(a.body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}
