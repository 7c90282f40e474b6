package providertest

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

// Laws are what holds of every provider.
func Laws(t *testing.T, p *provider.Provider) {
	t.Helper()
	t.Run("every rule has an id, a class, a source and a date", func(t *testing.T) { rows(t, p) })
	t.Run("phrases and codes are written as they are compared", func(t *testing.T) { spelling(t, p) })
	t.Run("whatever comes is classified", func(t *testing.T) { total(t, p) })
	t.Run("a finding holds nothing of the body but the hint", func(t *testing.T) { secrets(t, p) })
	t.Run("a refusal of identity or abuse is not routed around", func(t *testing.T) { conduct(t, p) })
	t.Run("no two rows ask for the same", func(t *testing.T) { twins(t, p) })
}

var (
	idForm     = regexp.MustCompile(`^[a-z0-9-]+\.[a-z0-9-]+$`)
	sourceForm = regexp.MustCompile(`^.{6,}, 20\d\d-\d\d$`)
)

func rows(t *testing.T, p *provider.Provider) {
	seen := map[string]bool{}
	for _, r := range p.Rules {
		switch {
		case !idForm.MatchString(r.ID):
			t.Errorf("%q is no id like provider.what", r.ID)
		case seen[r.ID]:
			t.Errorf("%s stands twice", r.ID)
		case r.Class == events.ClassNone || r.Class == events.ClassSuccess:
			t.Errorf("%s has no class", r.ID)
		case !sourceForm.MatchString(string(r.From)):
			t.Errorf("%s: source %q, want NAME, YYYY-MM", r.ID, r.From)
		case r.BySize > 0 && r.Class != events.ClassRateLimited:
			t.Errorf("%s goes by size and is no burst", r.ID)
		case r.Class == events.ClassForbidden && r.Scope == events.ScopeUnset:
			t.Errorf("%s: a refusal must say whom it is for", r.ID)
		}
		seen[r.ID] = true
	}
	if q := p.Quota; q != nil && !sourceForm.MatchString(string(q.From)) {
		t.Errorf("%s: source %q, want NAME, YYYY-MM", q.Name, q.From)
	}
}

func spelling(t *testing.T, p *provider.Provider) {
	for _, r := range p.Rules {
		for _, list := range [][]string{r.Phrases, r.And, r.Codes, r.Types, r.Quotas} {
			for _, s := range list {
				if s == "" || s != strings.ToLower(s) {
					t.Errorf("%s: %q is not in lower case and would never match", r.ID, s)
				}
			}
		}
		for _, h := range r.Headers {
			if h.Name != http.CanonicalHeaderKey(h.Name) || h.Equals != strings.ToLower(h.Equals) || h.Contains != strings.ToLower(h.Contains) {
				t.Errorf("%s: header %+v would never match", r.ID, h)
			}
		}
	}
}

// garbage is what no documentation promises.
func garbage() []string {
	return []string{
		"", " ", "null", "true", "0", `""`, "[]", "{}", "[[]]", `[{}]`, `{"error":null}`, `{"error":[]}`, `{"error":{"code":{}}}`,
		`{"error":{"code":1e999,"message":3}}`, `{"error":{"details":{"error_code":[]}}}`, `{"error":{"details":[null,1,"x",{"violations":{}}]}}`,
		`{"detail":[{"loc":["body"],"msg":"x"}]}`, `{"error":"{\"error\":\"{\\\"error\\\":\\\"x\\\"}\"}"}`, "<html>", "\x00\xff", "{", `{"a":`,
		`{"message":"[","code":"]"}`, `{"message":"[WKE="}`, `{"message":"(" }`, `{"error":{"message":"limit:"}}`, strings.Repeat("[", 5000),
		`{"base_resp":{"status_code":"x"}}`, `{"__type":"#"}`, strings.Repeat("x", 70<<10),
	}
}

func total(t *testing.T, p *provider.Provider) {
	headers := []http.Header{nil, {"Retry-After": {"NaN", ""}}, {"Content-Type": {";;"}}, {"X-Amzn-Errortype": {":"}},
		{"Anthropic-Ratelimit-Unified-Status": {"?"}, "Anthropic-Ratelimit-Unified--": {"x"}, "X-Codex-Primary-Used-Percent": {"x"}}}
	for _, status := range []int{0, 100, 200, 204, 301, 400, 401, 402, 403, 404, 408, 409, 413, 422, 424, 429, 451, 498, 500, 503, 520, 529, 599, 999} {
		for i, body := range garbage() {
			a := provider.Answer{Status: status, Header: headers[(status+i)%len(headers)].Clone(), Body: []byte(body), Model: "m", At: At, Stream: i%2 == 0}
			f := p.Classify(a)
			if f.Class == events.ClassNone || f.Class == events.ClassSuccess || f.Rule == "" || f.Scope.Kind == events.ScopeUnset {
				t.Fatalf("%d %.40q: %+v", status, body, f)
			}
			p.Reading(&a)
		}
	}
}

// secrets: what an upstream quotes of a credential must not come back in what
// events hold of the finding.
func secrets(t *testing.T, p *provider.Provider) {
	const canary = "sk-canary-3f9a1c7e"
	for _, status := range []int{200, 400, 401, 402, 403, 404, 429, 500} {
		for _, body := range []string{
			`{"error":{"message":"Incorrect API key ` + canary + ` try again in ` + canary + `","code":"` + canary + `","type":"` + canary + `"}}`,
			`{"error":"for model ` + canary + `","resets_at":"` + canary + `"}`, canary,
		} {
			a := provider.Answer{Status: status, Header: http.Header{"Retry-After": {canary}}, Body: []byte(body), Model: "m", At: At}
			f := p.Classify(a)
			text := fmt.Sprintf("%s %s %+v", f.Rule, f.Scope, f.Hint)
			if f.Hint != nil {
				text += fmt.Sprintf("%+v", *f.Hint)
			}
			if strings.Contains(text, canary) {
				t.Errorf("%d: the finding quotes the body: %s", status, text)
			}
		}
	}
}

func conduct(t *testing.T, p *provider.Provider) {
	for _, r := range p.Rules {
		if r.Failover == provider.Never && r.Class != events.ClassForbidden {
			t.Errorf("%s: only refusals of identity and abuse end a request by themselves", r.ID)
		}
		if r.Permanent && r.Class != events.ClassForbidden {
			t.Errorf("%s: only a refusal lasts until somebody acts", r.ID)
		}
		if r.Permanent && (r.Scope == events.ScopeEndpoint || r.Scope == events.ScopeGroup) {
			t.Errorf("%s: one answer disables more than its account", r.ID)
		}
	}
}

// twins: a row after one with the same conditions could never decide. That a
// provider's own row stands before a shared one is what it is for.
func twins(t *testing.T, p *provider.Provider) {
	key := func(r *provider.Rule) string {
		return fmt.Sprint(r.Statuses, r.Codes, r.Types, r.Quotas, r.Phrases, r.And, r.Headers, r.Where != nil, r.Strict)
	}
	seen := map[string]string{}
	for i := range p.Rules {
		r := &p.Rules[i]
		table, _, _ := strings.Cut(r.ID, ".")
		k := table + key(r)
		if r.Where == nil && seen[k] != "" {
			t.Errorf("%s never decides: %s asks for the same before it", r.ID, seen[k])
		}
		if seen[k] == "" {
			seen[k] = r.ID
		}
	}
}
