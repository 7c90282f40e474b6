package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

const token = "correct-horse"

// login sends the form as a person does.
func (b *browser) login(token, next string) answer {
	b.t.Helper()
	form := b.do(http.MethodGet, "/login?next="+url.QueryEscape(next), nil)
	return b.do(http.MethodPost, "/login", url.Values{"csrf": {csrf(b.t, form.body)}, "token": {token}, "next": {next}})
}

func TestNothingIsShownBeforeTheTokenWasGiven(t *testing.T) {
	b := open(t, token)
	for _, path := range []string{"/", "/accounts/b", "/requests", "/requests/" + b.story.Refused.String(), "/events", "/events/1", "/usage", "/ledger", "/what-if", "/jobs/1", "/nowhere"} {
		a := b.do(http.MethodGet, path, nil)
		if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/login?next="+url.QueryEscape(path) {
			t.Errorf("GET %s: %d to %q", path, a.StatusCode, a.Header.Get("Location"))
		}
		if strings.Contains(a.body, "payment") {
			t.Errorf("GET %s tells something: %s", path, a.body)
		}
	}
	part := b.do(http.MethodGet, "/?seen=x", nil, "HX-Request", "true")
	if part.StatusCode != http.StatusUnauthorized || part.Header.Get("HX-Redirect") != "/login" {
		t.Errorf("a part: %d %q", part.StatusCode, part.Header.Get("HX-Redirect"))
	}
}

func TestTheTokenOpensAndLoggingOutCloses(t *testing.T) {
	b := open(t, token)
	before := b.do(http.MethodGet, "/login", nil)
	a := b.login(token, "/accounts/b?span=1h")
	if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/accounts/b?span=1h" {
		t.Fatalf("%d to %q", a.StatusCode, a.Header.Get("Location"))
	}
	c := a.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Secure || strings.Contains(c.Value, token) {
		t.Errorf("cookie %+v", c)
	}
	for _, old := range before.Cookies() {
		if old.Value == c.Value {
			t.Error("the id of before the login is still used (fixation)")
		}
	}
	page := b.see("/")
	if a := b.do(http.MethodPost, "/logout", url.Values{"csrf": {csrf(t, page)}}); a.StatusCode != http.StatusSeeOther {
		t.Fatalf("logout: %d", a.StatusCode)
	}
	if a := b.do(http.MethodGet, "/", nil, "Cookie", c.Name+"="+c.Value); a.StatusCode != http.StatusSeeOther {
		t.Errorf("the old cookie still opens: %d", a.StatusCode)
	}
}

func TestASessionEnds(t *testing.T) {
	b := open(t, token)
	b.login(token, "/")
	b.Clock.Pass(11 * time.Hour)
	b.see("/")
	b.Clock.Pass(11 * time.Hour)
	b.see("/") // used, it lives on
	b.Clock.Pass(13 * time.Hour)
	if a := b.do(http.MethodGet, "/", nil); a.StatusCode != http.StatusSeeOther {
		t.Fatalf("after 13 idle hours: %d", a.StatusCode)
	}
}

func TestWrongTokensAreCounted(t *testing.T) {
	b := open(t, token)
	for i := range 5 {
		if a := b.login("wrong", "/"); a.StatusCode != http.StatusUnauthorized || !strings.Contains(a.body, "not the admin token") {
			t.Fatalf("try %d: %d", i, a.StatusCode)
		}
	}
	a := b.login(token, "/")
	if a.StatusCode != http.StatusTooManyRequests || a.Header.Get("Retry-After") == "" {
		t.Fatalf("the sixth try: %d", a.StatusCode)
	}
	b.Clock.Pass(62 * time.Second)
	if a := b.login(token, "/"); a.StatusCode != http.StatusSeeOther {
		t.Fatalf("after a minute: %d", a.StatusCode)
	}
}

func TestLoggingInNeverLeadsElsewhere(t *testing.T) {
	b := open(t, token)
	for _, next := range []string{"https://evil.example/", "//evil.example", "/\\evil.example", "\\\\evil.example", "javascript:alert(1)", "/login", "", "/\t/evil.example"} {
		if a := b.login(token, next); a.Header.Get("Location") != "/" {
			t.Errorf("next %q leads to %q", next, a.Header.Get("Location"))
		}
		b.client = b.fresh()
	}
}

// An answer of the API needs the bearer token, whatever the console's cookie says.
func TestTheCookieIsNoKeyToTheAPI(t *testing.T) {
	b := open(t, token)
	b.login(token, "/")
	if a := b.do(http.MethodGet, "/api/v1/accounts", nil); a.StatusCode != http.StatusUnauthorized {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	if a := b.do(http.MethodGet, "/api/v1/accounts", nil, "Authorization", "Bearer "+token); a.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", a.StatusCode, a.body)
	}
	if a := b.do(http.MethodGet, "/healthz", nil); a.StatusCode != http.StatusOK {
		t.Fatalf("healthz: %d", a.StatusCode)
	}
}
