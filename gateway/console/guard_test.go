package console_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

func TestEveryFormCarriesATokenThatIsChecked(t *testing.T) {
	b := open(t, "")
	other := open(t, "").see("/ledger")
	posts := []string{"/accounts/b/release", "/accounts/b/park", "/accounts/b/drain", "/accounts/b/undrain", "/ledger/verify", "/what-if", "/logout", "/login", "/jobs/1/cancel"}
	head := b.head()
	for _, path := range posts {
		for name, token := range map[string]string{"none": "", "made up": strings.Repeat("0", 64), "another gateway's": csrf(t, other)} {
			form := url.Values{"reason": {"because"}, "for": {"1h"}, "park_cap": {"5m"}, "csrf": {token}}
			if a := b.do(http.MethodPost, path, form); a.StatusCode != http.StatusForbidden {
				t.Errorf("POST %s with %s token: %d", path, name, a.StatusCode)
			}
		}
	}
	if got := b.head(); got != head {
		t.Errorf("the ledger grew from %d to %d", head, got)
	}
}

// head is the last position of the ledger.
func (b *browser) head() uint64 {
	b.t.Helper()
	h, err := b.Log.Head(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return uint64(h.Position)
}

// A token belongs to the browser that it was given to.
func TestAFormOfAnotherBrowserIsRefused(t *testing.T) {
	b := open(t, "")
	stolen := csrf(t, b.see("/ledger"))
	b.client = b.fresh()
	b.see("/ledger")
	if a := b.do(http.MethodPost, "/ledger/verify", url.Values{"csrf": {stolen}}); a.StatusCode != http.StatusForbidden {
		t.Fatalf("%d", a.StatusCode)
	}
}

func TestPagesOfOtherSitesGetNothing(t *testing.T) {
	b := open(t, "")
	rows := map[string]struct {
		header []string
		status int
	}{
		"a rebound name":                        {[]string{"Host", "evil.example"}, http.StatusForbidden},
		"a script of another origin":            {[]string{"Origin", "https://evil.example"}, http.StatusForbidden},
		"a frame of another site":               {[]string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, http.StatusForbidden},
		"an image of another site":              {[]string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, http.StatusForbidden},
		"a link in a chat that a person clicks": {[]string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, http.StatusOK},
		"an address that a person types":        {[]string{"Sec-Fetch-Site", "none", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, http.StatusOK},
		"the console's own script":              {[]string{"Sec-Fetch-Site", "same-origin", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"}, http.StatusOK},
	}
	for name, row := range rows {
		if a := b.do(http.MethodGet, "/", nil, row.header...); a.StatusCode != row.status {
			t.Errorf("%s: %d", name, a.StatusCode)
		}
	}
	form := url.Values{"csrf": {csrf(t, b.see("/ledger"))}}
	for _, header := range [][]string{{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}} {
		if a := b.do(http.MethodPost, "/ledger/verify", form, header...); a.StatusCode != http.StatusForbidden {
			t.Errorf("a form of %v: %d", header, a.StatusCode)
		}
	}
}

var (
	inline  = regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|javascript:|<script>|hx-on`)
	foreign = regexp.MustCompile(`(?:src|href|action)="(?:https?:)?//`)
)

// The policy allows nothing inline and nothing from elsewhere, and no page needs it.
func TestPagesLoadFromTheirOwnAddressOnly(t *testing.T) {
	b := open(t, "")
	for _, path := range []string{"/", "/accounts/b", "/accounts/b/timeline", "/requests", "/requests/" + b.story.Refused.String(), "/events", "/events/3", "/usage", "/ledger", "/what-if", "/login", "/nowhere", "/?at=2026-11-30T14:10:00Z"} {
		a := b.do(http.MethodGet, path, nil)
		h := a.Header
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
			if !strings.Contains(h.Get("Content-Security-Policy"), want) {
				t.Errorf("%s: the policy lacks %s", path, want)
			}
		}
		if strings.Contains(h.Get("Content-Security-Policy"), "unsafe") {
			t.Errorf("%s: %s", path, h.Get("Content-Security-Policy"))
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "same-origin" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: headers %v", path, h)
		}
		if at := inline.FindString(a.body); at != "" {
			t.Errorf("%s holds %q", path, at)
		}
		if at := foreign.FindString(a.body); at != "" {
			t.Errorf("%s loads from elsewhere: %q", path, at)
		}
	}
}
