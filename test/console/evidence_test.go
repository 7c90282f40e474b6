package console

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// threeClicks goes from the accounts page to the deciding evidence by clicking:
// account, evidence; and for a refused request: requests, the request, evidence.
func threeClicks(t *testing.T, w *world) {
	b := w.open(t)
	b.login()
	b.to("/?at=" + noon)
	b.follow("#account-grok-build")
	b.follow("#why .evidence .deciding a")
	if at := b.at(); !strings.HasPrefix(at, "/events/90?") {
		t.Fatalf("two clicks led to %s", at)
	}
	if stored := b.text("#json"); !strings.Contains(stored, `"status":402`) && !strings.Contains(stored, `"status": 402`) || !strings.Contains(stored, "You have run out of credits") {
		t.Errorf("the evidence is not the upstream's 402: %s", stored)
	}
	b.to("/?at=" + noon)
	b.follow("nav[aria-label=Main] a[href^='/requests']")
	if b.text("#rows tbody tr [data-label=outcome]") != "refused 429 accounts exhausted" {
		t.Errorf("the newest request reads %q", b.text("#rows tbody tr [data-label=outcome]"))
	}
	b.follow("#rows tr[data-outcome=refused] th a")
	b.follow("#main li[data-account=qwen-plan] .evidence .deciding a")
	if stored := b.text("#json"); !strings.Contains(stored, "week allocated quota exceeded") {
		t.Errorf("the evidence is not the upstream's 429: %s", stored)
	}
}

// everyFact wants that what is said of an account or a request names the event
// behind it, as a link.
func everyFact(t *testing.T, w *world) {
	b := w.open(t)
	b.login()
	id := w.request(t, noon)
	rows := []struct{ name, page, all, linked string }{
		{"an account that is set aside", "/?at=" + noon, "li.account:not([data-state=available])", "a[data-evidence]"},
		{"its sentence", "/?at=" + noon, "li.account:not([data-state=available]) .sentence", "a[href^='/events/']"},
		{"a window", "/?at=" + noon, ".window", "a[data-evidence]"},
		{"a cell", "/accounts/qwen-plan?at=" + noon, "#why table tbody tr", "a[href^='/events/']"},
		{"a sentence of an account", "/accounts/grok-build?at=" + noon, "#why > .sentence:first-of-type", "a[href^='/events/']"},
		{"a candidate that was skipped", "/requests/" + id, ".candidates > li:not(.chosen)", ".evidence a[href^='/events/']"},
		{"a decision", "/requests/" + id, "[data-decision]", "a[href^='/events/']"},
		{"a request", "/requests?at=" + noon, "#rows tbody tr", "a[href^='/events/']"},
		{"a spell in which it was set aside", "/accounts/qwen-plan?at=" + evening, "#spells tbody tr:not([data-tone=good])", "a[href^='/events/']"},
		{"a mark of the timeline", "/accounts/qwen-plan?at=" + evening, "#marks tbody tr", "a[href^='/events/']"},
	}
	for _, row := range rows {
		b.to(row.page)
		if strings.HasPrefix(row.page, "/accounts/") {
			b.do(ready("#marks"))
		}
		got := eval[[]int](b, fmt.Sprintf(`(() => { const all = [...document.querySelectorAll(%q)]; return [all.length, all.filter(e => e.querySelector(%q)).length]; })()`, row.all, row.linked))
		if got[0] == 0 || got[1] != got[0] {
			t.Errorf("%s: %d of %d on %s link to the event behind them", row.name, got[1], got[0], row.page)
		}
	}
}

// everyLink follows every link of the main pages.
func everyLink(t *testing.T, w *world) {
	b := w.open(t)
	b.login()
	seen := map[string]string{}
	for _, page := range []string{"/", "/?at=" + noon, "/accounts/qwen-plan?at=" + noon, "/requests?at=" + noon, "/requests/" + w.request(t, noon), "/events?at=" + noon, "/events/90", "/usage", "/what-if", "/ledger"} {
		b.to(page)
		for _, href := range eval[[]string](b, `[...document.querySelectorAll("a[href]")].map(a => a.href)`) {
			if href, _, _ = strings.Cut(href, "#"); seen[href] == "" {
				seen[href] = page
			}
		}
	}
	cookies, err := chromedp.Run(b.ctx, func(ctx context.Context, t *chromedp.Target) ([]*network.Cookie, error) {
		got, err := cdp.Call(ctx, t, network.GetCookies, network.GetCookiesParams{})
		return got.Cookies, err
	})
	if err != nil {
		t.Fatal(err)
	}
	links := make([]string, 0, len(seen))
	for href := range seen {
		links = append(links, href)
	}
	slices.Sort(links)
	for _, href := range links {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, href, nil)
		if err != nil || !strings.HasPrefix(href, b.base+"/") {
			t.Errorf("%s links to %s (%v)", seen[href], href, err)
			continue
		}
		for _, c := range cookies {
			req.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
		}
		req.Header.Set("Authorization", "Bearer "+token) // for the API's own pages
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != 200 || strings.Contains(resp.Request.URL.Path, "login") {
			t.Errorf("%s links to %s: %s, %s", seen[href], href, resp.Status, resp.Request.URL)
		}
	}
	if len(links) < 60 {
		t.Errorf("only %d links were followed", len(links))
	}
}
