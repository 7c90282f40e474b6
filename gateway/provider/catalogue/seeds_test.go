package catalogue

import (
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/providertest"
	"github.com/waybill/waybill/gateway/provider/xai"
)

// seed is a value that another system's own tests assert about an answer.
type seed struct {
	name, provider string
	status         int
	body           string
	headers        []string
	class          events.Class
	wait           time.Duration // of the hint, -1 none, 0 any
	scope          string        // "" any
	another        string        // "yes", "no", "" any
}

const (
	quota  = events.ClassWindowExhausted
	credit = events.ClassCreditsExhausted
	rate   = events.ClassRateLimited
)

// seeds are the rows of classification and cooldown. Where a row's two words
// (quota, rate limit) are coarser than ours, window_exhausted and
// credits_exhausted are both its quota.
func seeds() []seed {
	return []seed{
		{name: "O29_a_429_without_a_body", provider: "openai-compatible", status: 429, class: rate},
		{name: "O30_daily_limit", provider: "openai-compatible", status: 429, body: `{"error":{"message":"You have reached your daily limit"}}`, class: quota},
		{name: "O30_monthly_quota", provider: "openai-compatible", status: 429, body: `{"error":{"message":"Monthly quota reached"}}`, class: quota},
		{name: "O30_out_of_credits", provider: "openai-compatible", status: 429, body: `{"error":{"message":"You are out of credits"}}`, class: credit},
		{name: "O30_plan_limit", provider: "openai-compatible", status: 429, body: `{"error":{"message":"Plan limit reached"}}`, class: quota},
		{name: "O31_individual_quota", provider: "openai-compatible", status: 429, body: `{"error":{"message":"Individual quota reached, resets in 164h27m24s"}}`, class: quota,
			wait: 164*time.Hour + 27*time.Minute + 24*time.Second},
		{name: "O33_G1_credits", provider: "antigravity", status: 429,
			body: `{"error":{"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"INSUFFICIENT_G1_CREDITS_BALANCE"}]}}`, class: credit},
		{name: "O34_request_quota_with_a_wait_of_a_minute", provider: "openai-compatible", status: 429, body: `{"error":{"message":"request quota reached, retry in 60s"}}`, class: rate, wait: time.Minute},
		{name: "O35_usage_limit_in_an_error", provider: "openai-compatible", status: 429, body: `{"error":"usage limit reached"}`, class: quota},
		{name: "O35_the_same_words_bare", provider: "openai-compatible", status: 429, body: `usage limit reached`, class: rate},
		{name: "O35_the_same_words_under_detail", provider: "openai-compatible", status: 429, body: `{"detail":"usage limit reached"}`, class: rate},
		{name: "O35_per_minute", provider: "openai-compatible", status: 429, body: `{"error":{"message":"per-minute rate limit reached"}}`, class: rate},
		{name: "O37_a_RetryInfo_of_38s", provider: "gemini", status: 429, body: freeTier("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "38s"), class: rate, wait: 38 * time.Second},
		// A metric that names a day; the quota itself is a minute's. A quotaId of a
		// day is a window: the signal table decides (gemini-429-per-day-short-delay).
		{name: "O37_a_metric_of_a_day_with_29s", provider: "gemini", status: 429, body: freeTier("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "29s"), class: rate, wait: 29 * time.Second},
		{name: "O37_a_RetryInfo_of_zero", provider: "gemini", status: 429, body: freeTier("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "0s"), class: rate},
		{name: "O38_type_insufficient_quota", provider: "openai-compatible", status: 429, body: `{"error":{"type":"insufficient_quota","message":"x"}}`, class: credit},
		{name: "O41_your_accounts_rate_limit_at_claude", provider: "anthropic-oauth", status: 429, body: claude("This request would exceed your account's rate limit. Please try again later."), class: quota},
		{name: "O41_the_same_words_elsewhere", provider: "openai-compatible", status: 429, body: `{"error":{"message":"This request would exceed your account's rate limit."}}`, class: rate},
		{name: "O42_an_instant_in_the_text", provider: "openai-compatible", status: 429, body: `{"error":{"message":"Rate limit exceeded, resets at 2026-11-30T00:45:00Z"}}`, class: quota, wait: 45 * time.Minute},
		{name: "O43_reset_after_1h30m", provider: "openai-compatible", status: 429, body: `{"error":{"message":"quota, reset after 1h30m"}}`, class: quota, wait: 90 * time.Minute},
		{name: "O43_a_past_instant", provider: "openai-compatible", status: 429, body: `{"error":{"message":"Rate limit, resets at 2026-11-29T00:45:00Z"}}`, class: rate},
		{name: "O43_generic_rate_limit_exceeded", provider: "openai-compatible", status: 429, body: `{"error":{"code":"rate_limit_exceeded","message":"Rate limit exceeded"}}`, class: rate, wait: -1},
		{name: "O45_a_subscription_wording_without_a_week", provider: "openai-compatible", status: 429, body: `{"error":{"message":"Your subscription limit is reached"}}`, class: rate, wait: -1},
		{name: "O46_reset_in_45m", provider: "openai-compatible", status: 429, body: `{"error":{"message":"limit hit, reset in 45m"}}`, class: rate, wait: 45 * time.Minute},

		{name: "G1_blocked_user", provider: "grok-build", status: 403, body: `{"code":"blocked-user","error":"User is blocked."}`, class: events.ClassForbidden, scope: "account"},
		// The signal table (grok-403-chat-denied) gives this denial the account.
		{name: "G2_chat_endpoint_denied", provider: "grok-build", status: 403, body: `{"code":"permission-denied","error":"Access to the chat endpoint is denied."}`, class: events.ClassForbidden, scope: "account"},
		{name: "G2_access_denied", provider: "grok-build", status: 403, body: `{"code":"permission-denied","error":"Access denied."}`, class: events.ClassForbidden, scope: "model:m1"},
		{name: "G3_402", provider: "grok-build", status: 402, body: `{"error":"payment"}`, class: credit, scope: "account"},
		{name: "G3_403_spending_limit", provider: "grok-build", status: 403, body: `{"error":"You reached your spending limit"}`, class: credit, scope: "account"},
		{name: "G5_safety_wording", provider: "grok-build", status: 403, body: `{"code":"permission-denied","error":"Content violates usage guidelines."}`, class: events.ClassPolicyRefused, another: "no"},
		{name: "G5_safety_check_type", provider: "grok-build", status: 403, body: `{"error":"Failed check: SAFETY_CHECK_TYPE_BIO"}`, class: events.ClassPolicyRefused, another: "no"},
		{name: "G6_policy_rejection", provider: "grok-build", status: 403, body: `{"error":"Request rejected by policy."}`, class: events.ClassPolicyRefused, another: "no"},
		{name: "G6_invalid_argument", provider: "grok-build", status: 400, body: `{"code":"invalid-argument","error":"bad"}`, class: events.ClassInvalidRequest, another: "no"},
		{name: "G6_zero_data_retention", provider: "grok-build", status: 403, body: `{"code":"permission-denied","error":"Not available under zero data retention."}`, class: events.ClassInvalidRequest, another: "no"},
		{name: "G7_a_bare_permission_denied", provider: "grok-build", status: 403, body: `{"code":"permission-denied","error":"nope"}`, class: events.ClassUnclassified, scope: "request", another: "yes"},
		// G9 and G10 are R9's: the header never stops credits_exhausted, else it does.
		{name: "G9_a_402_with_a_veto", provider: "grok-build", status: 402, body: `{"error":"Grok Build usage balance exhausted"}`, headers: []string{"X-Should-Retry", "false"}, class: credit, another: "yes"},
		{name: "G31_a_generic_429", provider: "grok-build", status: 429, body: `{"error":"slow down"}`, class: rate, another: "yes"},
		{name: "G33_free_usage_with_a_veto", provider: "grok-build", status: 429, body: `{"code":"subscription:free-usage-exhausted","error":"You've used all the included free usage for now."}`,
			headers: []string{"X-Should-Retry", "false"}, class: quota, scope: "account", another: "yes"},
		{name: "G34_a_teams_rate", provider: "xai", status: 429, body: `{"code":"resource-exhausted","error":"Too many requests for team T and model m1. Requests per Second (actual/limit): 9/8."}`, class: rate, scope: "model:m1"},

		{name: "A14_a_quota_429", provider: "anthropic-oauth", status: 429, body: claude("x"), headers: []string{"Anthropic-Ratelimit-Unified-Status", "rejected", "Anthropic-Ratelimit-Unified-Reset", "1796000400"},
			class: quota, scope: "account", wait: time.Hour},
	}
}

func freeTier(id, delay string) string {
	return `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota.","details":[` +
		`{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"generate_requests_per_day","quotaId":"` + id + `"}]},` +
		`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"` + delay + `"}]}}`
}

func claude(message string) string {
	return `{"type":"error","error":{"type":"rate_limit_error","message":"` + message + `"}}`
}

func Test_A14_G1_G2_G3_G31_G33_G34_G5_G6_G7_G9_O29_O30_O31_O33_O34_O35_O37_O38_O41_O42_O43_O45_O46_Seeds(t *testing.T) {
	for _, s := range seeds() {
		t.Run(s.name, func(t *testing.T) {
			f := Find(s.provider).Classify(answer(s.status, s.body, s.headers...))
			if f.Class != s.class {
				t.Errorf("%s by %s, want %s", f.Class, f.Rule, s.class)
			}
			if s.scope != "" && f.Scope.String() != s.scope {
				t.Errorf("scope %s by %s, want %s", f.Scope, f.Rule, s.scope)
			}
			if s.wait != 0 && wait(f) != s.wait {
				t.Errorf("wait %s by %s, want %s", wait(f), f.Rule, s.wait)
			}
			if s.another != "" && providertest.Another(&f) != (s.another == "yes") {
				t.Errorf("another account: %v by %s, want %s", providertest.Another(&f), f.Rule, s.another)
			}
		})
	}
}

func Test_G30_both_pairs_of_a_free_allowance(t *testing.T) {
	for text, want := range map[string][2]string{
		"free usage (actual/limit): 1065387/1000000": {"1065387", "1000000"},
		"tokens 537365/500000 used":                  {"537365", "500000"},
	} {
		used, limit, ok := xai.Pair(text)
		if !ok || used.String() != want[0] || limit.String() != want[1] {
			t.Errorf("%q reads as %s/%s %v", text, used, limit, ok)
		}
	}
	a := answer(429, `{"code":"subscription:free-usage-exhausted","error":"free usage for model m1: 1065387/1000000"}`)
	r := Find("grok-build").Reading(&a)
	if r == nil || !exhausted(&r.Windows[0]) {
		t.Errorf("G41: reading %+v, want one with nothing left", r)
	}
}

// TestG11: a 500 fails over by its class; whether the header stops it is R9's.
func Test_G11_a_server_error_lets_another_account_try(t *testing.T) {
	for _, p := range All() {
		if f := p.Classify(answer(500, `{"error":{"message":"boom"}}`)); f.Class != events.ClassServerError || !providertest.Another(&f) {
			t.Errorf("%s: %+v", p.ID, f)
		}
	}
}

func Test_G37_G39_what_billing_says(t *testing.T) {
	q := Find("grok-build").Quota
	r, err := q.Read([]byte(`{"config":{"monthlyLimit":{"val":200},"used":{"val":50},"billingPeriodEnd":"2026-12-01T00:00:00Z"},"subscriptionTier":"SUPER"}`), at)
	if err != nil || r.Billing.Plan != events.PlanPaid || r.Windows[0].UsedPercent.V.String() != "25" {
		t.Errorf("G37: %+v %v, want paid with 150 of 200 left", r, err)
	}
	r, err = q.Read([]byte(`{"config":{}}`), at)
	if err != nil || len(r.Windows) != 0 || r.Billing != nil {
		t.Errorf("G39: %+v %v, want nothing known", r, err)
	}
	r, err = q.Read([]byte(`{"config":{"creditUsagePercent":100,"currentPeriod":{"end":"2026-11-30T01:00:00Z"}}}`), at)
	if err != nil || !exhausted(&r.Windows[0]) || r.Billing.PeriodEnd != at.Add(time.Hour) {
		t.Errorf("G43: %+v %v, want exhausted until the period's end", r, err)
	}
	r, err = q.Read([]byte(`{"config":{"creditUsagePercent":100,"currentPeriod":{"end":"2026-11-30T01:00:00Z"},"prepaidBalance":{"val":5}}}`), at)
	if err != nil || exhausted(&r.Windows[0]) {
		t.Errorf("%+v %v: a prepaid balance serves on", r, err)
	}
}

func Test_O13_an_allowance_of_tools_gates_no_model(t *testing.T) {
	r, err := Find("zai").Quota.Read([]byte(`{"success":true,"data":{"limits":[
		{"type":"TOKENS_LIMIT","unit":3,"number":5,"percentage":7,"nextResetTime":1796002200000},
		{"type":"TIME_LIMIT","unit":5,"number":1,"percentage":100,"nextResetTime":4070908800000}]}}`), at)
	if err != nil || implied(r) != "success" {
		t.Errorf("%+v %v", r, err)
	}
}

func Test_B33_a_window_is_named_by_its_length_not_by_its_slot(t *testing.T) {
	r, err := Find("chatgpt-codex").Quota.Read([]byte(`{"rate_limit":{"limit_reached":true,
		"primary_window":{"used_percent":3,"limit_window_seconds":604800,"reset_at":1796600081},
		"secondary_window":{"used_percent":100,"limit_window_seconds":18000,"reset_at":1796002200}}}`), at)
	if err != nil || r.Windows[1].Name != "5h" || !exhausted(&r.Windows[1]) || exhausted(&r.Windows[0]) {
		t.Errorf("%+v %v", r, err)
	}
}

func Test_A31_A33_slots_of_a_frame(t *testing.T) {
	q := Find("chatgpt-codex").Quota
	if r, err := q.Read([]byte(`{"rate_limit":{"primary_window":{"used_percent":"NaN"},"secondary_window":{"used_percent":1}}}`), at); err == nil {
		t.Errorf("A31: one malformed slot, and yet %+v", r)
	}
	r, err := q.Read([]byte(`{"rate_limit":{"limit_reached":false,"primary_window":null,"secondary_window":null},"rate_limit_reset_credits":{"available_count":null},"credits":null}`), at)
	if err != nil || len(r.Windows) != 0 || r.Credit.Available != events.Absent {
		t.Errorf("A33: %+v %v: null is not zero", r, err)
	}
}

// TestNoProviderTakesProseOfHTMLForQuota: the words stand in a page of an edge.
func TestNoProviderSearchesHTML(t *testing.T) {
	page := "<html><body>insufficient balance, quota exceeded, usage limit reached, per day</body></html>"
	for _, p := range All() {
		for _, status := range []int{403, 429, 503} {
			f := p.Classify(answer(status, page, "Content-Type", "text/html"))
			if !strings.HasPrefix(f.Rule, "status:") && !strings.HasPrefix(f.Rule, "edge.") {
				t.Errorf("%s, %d: %s decided over HTML", p.ID, status, f.Rule)
			}
		}
		f := p.Classify(answer(403, page, "Cf-Mitigated", "challenge"))
		if f.Class != events.ClassForbidden || f.Scope.Kind != events.ScopeEndpoint || f.Permanent || f.Failover != provider.OtherEndpoint {
			t.Errorf("%s: challenge is %+v", p.ID, f)
		}
	}
}
