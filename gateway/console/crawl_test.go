package console_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

var (
	hrefs    = regexp.MustCompile(`href="([^"]+)"`)
	parts    = regexp.MustCompile(`hx-get="([^"]+)"`)
	ids      = regexp.MustCompile(`\sid="([^"]+)"`)
	labels   = regexp.MustCompile(`<label[^>]*\sfor="([^"]+)"`)
	fields   = regexp.MustCompile(`<(?:input|select|textarea)\b[^>]*>`)
	headings = regexp.MustCompile(`<h([1-6])[\s>]`)
	named    = regexp.MustCompile(`aria-(?:labelledby|describedby)="([^"]+)"`)
)

// links are the addresses in a page, those of the API and of files apart.
func links(body string) []string {
	var out []string
	for _, re := range []*regexp.Regexp{hrefs, parts} {
		for _, m := range re.FindAllStringSubmatch(body, -1) {
			at := html.UnescapeString(m[1])
			if strings.HasPrefix(at, "/") && !strings.HasPrefix(at, "/static/") && !strings.HasPrefix(at, "/api/") {
				out = append(out, at)
			}
		}
	}
	return out
}

// crawl visits everything that can be reached from a page and hands it over.
func (b *browser) crawl(from string, most int, visit func(path, body string)) int {
	b.t.Helper()
	seen, queue := map[string]bool{from: true}, []string{from}
	for len(queue) > 0 && len(seen) < most {
		path := queue[0]
		queue = queue[1:]
		a := b.do(http.MethodGet, path, nil)
		if a.StatusCode != http.StatusOK {
			b.t.Errorf("a link leads to %s: %d", path, a.StatusCode)
		}
		visit(path, a.body)
		for _, next := range links(a.body) {
			if !seen[next] && !strings.HasPrefix(next, "#") {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	return len(seen)
}

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	b := open(t, "")
	n := b.crawl("/", 400, func(path, body string) { structure(t, path, body) })
	if n < 60 {
		t.Fatalf("only %d pages are linked", n)
	}
}

// A page of the past links to pages of the same past, but for the way back.
func TestThePastIsCarriedThroughEveryLink(t *testing.T) {
	b := open(t, "")
	const at = "2026-11-30T14:34:00.000000Z"
	b.crawl("/?at="+url.QueryEscape(at), 200, func(path, body string) {
		if !strings.Contains(path, "at=") {
			return
		}
		if !strings.Contains(body, `id="past"`) || !strings.Contains(body, "You are looking at the past") {
			if !strings.Contains(path, "/timeline") {
				t.Errorf("%s does not say that it shows the past", path)
			}
		}
		if strings.Contains(body, `name="reason"`) || strings.Contains(body, `hx-trigger="every`) {
			t.Errorf("%s can be acted on, or follows the ledger", path)
		}
		for _, next := range links(body) {
			u, err := url.Parse(next)
			if err != nil {
				t.Fatal(err)
			}
			if u.Query().Get("at") == "" && !strings.Contains(body, `href="`+html.EscapeString(next)+`" id="back-to-now"`) {
				t.Errorf("%s links to %s, out of its past", path, next)
			}
		}
	})
}

// structure holds what screen readers and tests rely on.
func structure(t *testing.T, path, body string) {
	t.Helper()
	have := map[string]bool{}
	for _, m := range ids.FindAllStringSubmatch(body, -1) {
		if have[m[1]] {
			t.Errorf("%s has the id %s twice", path, m[1])
		}
		have[m[1]] = true
	}
	if !strings.HasPrefix(body, "<!doctype html>") {
		return // a part of a page
	}
	level, ones := 0, 0
	for _, m := range headings.FindAllStringSubmatch(body, -1) {
		n := int(m[1][0] - '0')
		if n == 1 {
			ones++
		}
		if n > level+1 {
			t.Errorf("%s goes from heading %d to %d", path, level, n)
		}
		level = n
	}
	if ones != 1 {
		t.Errorf("%s has %d main headings", path, ones)
	}
	for _, want := range []string{`<html lang="en">`, `<main id="main"`, `class="skip" href="#main"`, `<nav aria-label="Main">`, `<title>`, `name="viewport"`} {
		if !strings.Contains(body, want) {
			t.Errorf("%s lacks %s", path, want)
		}
	}
	for _, m := range named.FindAllStringSubmatch(body, -1) {
		if !have[m[1]] {
			t.Errorf("%s names %s, which is not there", path, m[1])
		}
	}
	labelled(t, path, body, have)
}

// labelled checks that every field has a name that can be read out.
func labelled(t *testing.T, path, body string, have map[string]bool) {
	t.Helper()
	for _, m := range labels.FindAllStringSubmatch(body, -1) {
		if !have[m[1]] {
			t.Errorf("%s labels %s, which is not there", path, m[1])
		}
	}
	for _, field := range fields.FindAllString(body, -1) {
		if strings.Contains(field, `type="hidden"`) || strings.Contains(field, "aria-label=") {
			continue
		}
		id := ids.FindStringSubmatch(field)
		if id == nil || !strings.Contains(body, `for="`+id[1]+`"`) {
			t.Errorf("%s has a field without a label: %s", path, field)
		}
	}
}

// From the accounts to the deciding evidence, following links as a person does.
func TestEvidenceIsThreeClicksAway(t *testing.T) {
	b := open(t, "")
	page := b.see("/")
	link := regexp.MustCompile(`<a id="account-b" href="([^"]+)"`).FindStringSubmatch(page)
	if link == nil {
		t.Fatal("no link to account b")
	}
	page = b.see(html.UnescapeString(link[1]))
	deciding := regexp.MustCompile(`class="deciding"><a href="([^"]+)"`).FindStringSubmatch(page)
	if deciding == nil {
		t.Fatal("no link to the deciding evidence")
	}
	body := b.see(html.UnescapeString(deciding[1]))
	if !strings.Contains(body, "attempt.payment_required") || !strings.Contains(body, "credits_exhausted") {
		t.Fatalf("two clicks away is no payment event: %s", body)
	}
}
