package catalogue

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/providertest"
)

// at is when every answer of these tests came.
var at = events.At(time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC))

// answer is an answer with a body and headers in pairs.
func answer(status int, body string, headers ...string) provider.Answer {
	a := provider.Answer{Status: status, Body: []byte(body), Header: http.Header{}, Model: "m1", At: at}
	for i := 0; i+1 < len(headers); i += 2 {
		a.Header.Add(headers[i], headers[i+1])
	}
	return a
}

// frame is an error frame inside a 200 stream.
func frame(body string, headers ...string) provider.Answer {
	a := answer(200, body, headers...)
	a.Stream = true
	return a
}

func wait(f provider.Finding) time.Duration {
	if f.Hint == nil {
		return -1
	}
	return f.Hint.Until.Sub(at)
}

func Test_B001_an_unreadable_403_is_nobodys_fault(t *testing.T) {
	for _, p := range All() {
		for name, a := range map[string]provider.Answer{
			"empty": answer(403, ""), "an object": answer(403, "{}"), "html": answer(403, "<html>no</html>", "Content-Type", "text/html"),
			"text": answer(403, "forbidden"), "B041 a sentence": answer(403, `{"error":"cannot help with that"}`),
		} {
			f := p.Classify(a)
			if f.Class != events.ClassUnclassified || f.Scope.Kind != events.ScopeRequest || f.Permanent || !providertest.Another(&f) {
				t.Errorf("%s, %s: %+v, want unclassified, touching no account, one other may try", p.ID, name, f)
			}
		}
	}
}

func Test_B041_nothing_is_for_ever_without_a_listed_signature(t *testing.T) {
	for _, p := range All() {
		for i := range p.Rules {
			if r := &p.Rules[i]; r.Permanent && len(r.Codes)+len(r.Types)+len(r.Phrases) == 0 {
				t.Errorf("%s: %s is permanent on a status alone", p.ID, r.ID)
			}
		}
	}
}

func Test_B008_the_scope_is_that_of_the_bucket_named(t *testing.T) {
	p := Find("chatgpt-codex")
	body := `{"error":{"type":"usage_limit_reached","resets_in_seconds":60}}`
	if f := p.Classify(answer(429, body, "X-Codex-Active-Limit", "codex_bengalfox")); f.Scope != (events.Scope{Kind: events.ScopeModel, Name: "m1"}) {
		t.Errorf("a model's bucket: %+v", f)
	}
	if f := p.Classify(answer(429, body, "X-Codex-Active-Limit", "codex")); f.Scope.Kind != events.ScopeAccount {
		t.Errorf("the plan's window: %+v", f)
	}
	if f := p.Classify(answer(429, body)); f.Scope.Kind != events.ScopeAccount {
		t.Errorf("a window that names no scope is the account's (R7): %+v", f)
	}
}

func Test_B043_one_status_and_four_meanings(t *testing.T) {
	p := Find("openai-compatible")
	rows := []struct {
		name, body string
		class      events.Class
	}{
		{"quota_exhausted", `{"error":{"code":"insufficient_quota","message":"x"}}`, events.ClassCreditsExhausted},
		{"no_quota", `{"error":{"message":"Quota exceeded for metric: x, limit: 0, model: m1"}}`, events.ClassForbidden},
		{"limit_10_is_not_limit_0", `{"error":{"message":"Quota exceeded for metric: x, limit: 10, model: m1"}}`, events.ClassRateLimited},
		{"limit_0_point_5_is_not_limit_0", `{"error":{"message":"limit: 0.5 per second"}}`, events.ClassRateLimited},
		{"window", `{"error":{"message":"Your limit will reset at 2026-11-30T02:00:00Z"}}`, events.ClassWindowExhausted},
		{"rate", `{"error":{"code":"rate_limit_exceeded","message":"slow"}}`, events.ClassRateLimited},
	}
	for _, r := range rows {
		t.Run("B043_"+r.name, func(t *testing.T) {
			if f := p.Classify(answer(429, r.body)); f.Class != r.class {
				t.Errorf("%s by %s, want %s", f.Class, f.Rule, r.class)
			}
		})
	}
}

func Test_B044_html_of_an_edge_is_a_server_error(t *testing.T) {
	for _, p := range All() {
		f := p.Classify(answer(520, "<html>rate limit quota exceeded billing</html>", "Content-Type", "text/html"))
		if f.Class != events.ClassServerError || f.Scope.Kind != events.ScopeEndpoint || !providertest.Another(&f) {
			t.Errorf("%s: %+v, want server_error of the endpoint", p.ID, f)
		}
	}
}

// TestB047: what an answer means does not depend on whether it came as a status
// or inside a stream, wherever its body says it.
func Test_B047_stream_and_plain_mean_the_same(t *testing.T) {
	for _, s := range signals(t) {
		if s.Phase != "response" || s.Expect.Class == "success" || s.Status == 200 {
			continue
		}
		p := s.provider(t)
		plain := p.Classify(provider.Answer{Status: s.Status, Header: s.header(), Body: s.bytesOf(), Model: s.model(), At: events.At(s.Received)})
		if statusOnly(p, plain.Rule) {
			continue
		}
		t.Run("B047_"+s.ID, func(t *testing.T) {
			framed := p.Classify(provider.Answer{Status: 200, Header: s.header(), Body: s.bytesOf(), Model: s.model(), At: events.At(s.Received), Stream: true})
			if framed.Class != plain.Class || framed.Scope != plain.Scope {
				t.Errorf("plain %s %s by %s, in a stream %s %s by %s", plain.Class, plain.Scope, plain.Rule, framed.Class, framed.Scope, framed.Rule)
			}
		})
	}
}

// statusOnly: the row needs the status, which a frame does not have.
func statusOnly(p *provider.Provider, id string) bool {
	if strings.HasPrefix(id, "status:") || strings.HasPrefix(id, "edge.") {
		return true
	}
	for i := range p.Rules {
		if r := &p.Rules[i]; r.ID == id {
			return len(r.Codes)+len(r.Types)+len(r.Phrases)+len(r.Quotas)+len(r.Headers) == 0 && r.Where == nil
		}
	}
	return true
}

func Test_B049_a_limit_of_a_model_in_a_stream(t *testing.T) {
	for _, id := range []string{"openai", "openai-compatible", "anthropic", "anthropic-oauth"} {
		p := Find(id)
		body := `{"error":{"message":"rate limit for this model. Resets in: 0h0m4s"}}`
		if strings.HasPrefix(id, "anthropic") {
			body = `{"type":"error","error":{"type":"rate_limit_error","message":"rate limit for this model. Resets in: 0h0m4s"}}`
		}
		for name, a := range map[string]provider.Answer{"stream": frame(body), "plain": answer(429, body)} {
			f := p.Classify(a)
			if f.Class != events.ClassRateLimited || wait(f) != 4*time.Second {
				t.Errorf("%s, %s: %s, wait %s by %s; want rate_limited for 4s", id, name, f.Class, wait(f), f.Rule)
			}
		}
	}
}

func Test_B007_one_reset_in_four_spellings_and_three_places(t *testing.T) {
	reset := at.Add(3 * time.Second).Std()
	spellings := map[string]string{
		"seconds": strconv.FormatInt(reset.Unix(), 10), "milliseconds": strconv.FormatInt(reset.UnixMilli(), 10),
		"rfc3339": reset.Format(time.RFC3339), "quoted": strconv.FormatInt(reset.Unix(), 10),
	}
	for _, id := range []string{"openai-compatible", "openai", "anthropic"} {
		for how, v := range spellings {
			text := v
			if how == "rfc3339" || how == "quoted" {
				text = `"` + v + `"`
			}
			for where, a := range map[string]provider.Answer{
				"unified":     answer(429, `{"error":{"type":"rate_limit_error","message":"x"}}`, "Anthropic-Ratelimit-Unified-Reset", v),
				"x-ratelimit": answer(429, `{"error":{"type":"rate_limit_error","message":"x"}}`, "X-Ratelimit-Reset", v),
				"body":        answer(429, `{"error":{"type":"rate_limit_error","message":"x","resets_at":`+text+`}}`),
			} {
				if f := Find(id).Classify(a); wait(f) != 3*time.Second || f.Class != events.ClassRateLimited {
					t.Errorf("%s, %s in %s: %s, wait %s by %s", id, how, where, f.Class, wait(f), f.Rule)
				}
			}
		}
	}
}

func Test_B055_B056_relative_and_dated_reset_headers(t *testing.T) {
	rows := []struct {
		name, header, value string
		want                time.Duration
	}{
		{"B055_a_relative_reset", "X-Ratelimit-Reset", "3", 3 * time.Second},
		{"B055_an_epoch", "X-Ratelimit-Reset", strconv.FormatInt(at.Add(3*time.Second).Std().Unix(), 10), 3 * time.Second},
		{"B055_epoch_milliseconds", "X-Ratelimit-Reset", strconv.FormatInt(at.Add(3*time.Second).Std().UnixMilli(), 10), 3 * time.Second},
		{"B056_an_offset", "Anthropic-Ratelimit-Requests-Reset", "2026-11-30T02:00:03+02:00", 3 * time.Second},
		{"B056_a_fraction", "Anthropic-Ratelimit-Requests-Reset", "2026-11-30T00:00:03.123Z", 3123 * time.Millisecond},
		{"B056_lower_case", "Anthropic-Ratelimit-Requests-Reset", "2026-11-30t00:00:03z", 3 * time.Second},
		{"B056_a_bare_number", "Anthropic-Ratelimit-Requests-Reset", "2026", 2026 * time.Second},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			for _, id := range []string{"openai-compatible", "anthropic"} {
				f := Find(id).Classify(answer(429, `{"error":{"type":"rate_limit_error","message":"x"}}`, r.header, r.value))
				if wait(f) != r.want {
					t.Errorf("%s: wait %s by %s, want %s", id, wait(f), f.Rule, r.want)
				}
			}
		})
	}
}

func Test_B058_where_google_states_the_wait(t *testing.T) {
	body := func(details, message string) string {
		return `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"` + message + `","details":[` + details + `]}}`
	}
	retry := func(d string) string {
		return `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"` + d + `"}`
	}
	info := `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMIT_EXCEEDED","metadata":{"quotaResetDelay":"1373.8ms"}}`
	daily := `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel"}]}`
	rows := []struct {
		name, body string
		class      events.Class
		want       time.Duration
	}{
		{"a_a_fraction_of_nanoseconds", body(retry("2.074824224s"), "x"), events.ClassRateLimited, 2074824 * time.Microsecond},
		{"b_quotaResetDelay", body(info, "x"), events.ClassRateLimited, 1373800 * time.Microsecond},
		{"c_only_the_message", body("", "Please retry in 2.5s."), events.ClassRateLimited, 2500 * time.Millisecond},
		{"d_longer_than_any_ceiling_is_kept", body(retry("9000s"), "x"), events.ClassWindowExhausted, 9000 * time.Second},
		{"e_a_day_without_RetryInfo", body(daily, "x"), events.ClassWindowExhausted, 8 * time.Hour},
		{"an_array_around_the_object", "[" + body(retry("34.07s"), "x") + "]", events.ClassRateLimited, 34070 * time.Millisecond},
		{"details_in_an_array_of_their_own", body("["+retry("0.4s")+"]", "x"), events.ClassRateLimited, 400 * time.Millisecond},
		{"a_day_in_details_in_an_array_of_their_own", body("["+daily+"]", "x"), events.ClassWindowExhausted, 8 * time.Hour},
		{"minutes_and_days_in_one_error", body(daily+","+retry("38s"), "x"), events.ClassWindowExhausted, 8 * time.Hour},
	}
	for _, r := range rows {
		t.Run("B058_"+r.name, func(t *testing.T) {
			if f := Find("gemini").Classify(answer(429, r.body)); f.Class != r.class || wait(f) != r.want {
				t.Errorf("%s, wait %s by %s; want %s, %s", f.Class, wait(f), f.Rule, r.class, r.want)
			}
		})
	}
}

// A reset in the past says nothing about a window or a balance: the fold then
// goes by its own rule (R7, R8). For a burst it is the minimum (R19).
func TestR19_a_past_reset_is_no_reset_of_a_window(t *testing.T) {
	past := `{"error":{"type":"usage_limit_reached","message":"x","resets_at":1795000000}}`
	if f := Find("chatgpt-codex").Classify(answer(429, past)); f.Class != events.ClassWindowExhausted || f.Hint != nil {
		t.Errorf("%+v with hint %+v", f, f.Hint)
	}
	if f := Find("openai-compatible").Classify(answer(402, "{}", "Retry-After", "0")); f.Class != events.ClassCreditsExhausted || f.Hint != nil {
		t.Errorf("%+v with hint %+v", f, f.Hint)
	}
	if f := Find("openai-compatible").Classify(answer(429, "{}", "Retry-After", "0")); wait(f) != 0 {
		t.Errorf("%+v with hint %+v, want the minimum", f, f.Hint)
	}
}

func Test_B107_the_latest_of_the_rejected_windows(t *testing.T) {
	f := Find("anthropic").Classify(answer(429, `{"type":"error","error":{"type":"rate_limit_error","message":"x"}}`,
		"Anthropic-Ratelimit-Unified-5h-Status", "rejected", "Anthropic-Ratelimit-Unified-5h-Reset", "1795996801",
		"Anthropic-Ratelimit-Unified-7d-Status", "rejected", "Anthropic-Ratelimit-Unified-7d-Reset", "1795996806"))
	if f.Hint == nil || f.Hint.Source != "header:anthropic-ratelimit-unified-7d-reset" || wait(f) != 6*time.Second {
		t.Errorf("%+v %+v", f, f.Hint)
	}
}

// TestB110: the local reset hours of that case need budgets; the turn of
// Google's day is here.
func Test_B110_midnight_pacific_around_daylight_saving(t *testing.T) {
	for _, day := range []time.Time{
		time.Date(2026, 3, 7, 9, 0, 0, 0, time.UTC), time.Date(2026, 3, 8, 9, 30, 0, 0, time.UTC), time.Date(2026, 3, 9, 6, 59, 59, 0, time.UTC),
		time.Date(2026, 10, 31, 9, 0, 0, 0, time.UTC), time.Date(2026, 11, 1, 7, 0, 0, 0, time.UTC), time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC),
	} {
		next := provider.Turn("midnight_pacific", events.At(day)).Std()
		if ahead := next.Sub(day); ahead <= 0 || ahead > 25*time.Hour {
			t.Errorf("%s: the next turn is %s ahead", day, ahead)
		}
		if next.UTC().Hour() != 7 && next.UTC().Hour() != 8 {
			t.Errorf("%s: the next turn is at %s", day, next)
		}
	}
}

func TestTheTurnsOfTheCalendarAreAhead(t *testing.T) {
	rules := []string{"month_start_utc", "first-of-next-month", "month_start_UTC+8", "midnight_utc", "midnight_UTC+8",
		"monday_00:00_UTC+8", "monday_00:00_UTC", "midnight_pacific"}
	for _, rule := range rules {
		for h := range 24 * 40 {
			now := at.Add(time.Duration(h) * time.Hour)
			if ahead := provider.Turn(rule, now).Sub(now); ahead <= 0 || ahead > 32*24*time.Hour {
				t.Errorf("%s after %s is %s ahead", rule, now, ahead)
			}
		}
	}
	if provider.Turn("no such rule", at) != 0 {
		t.Error("an unknown rule has a turn")
	}
}

// A status that speaks of the account is not undone by the general type that a
// gateway in between puts into every error body: whoever calls a 402 an
// api_error has still run dry.
func TestAStatusOfTheAccountOutranksAGeneralServerType(t *testing.T) {
	for _, p := range All() {
		for _, kind := range []string{"api_error", "server_error", "internal_server_error"} {
			body := `{"type":"error","error":{"type":"` + kind + `","message":"no"}}`
			for status, want := range map[int]events.Class{401: events.ClassAuthFailed, 402: events.ClassCreditsExhausted, 429: events.ClassRateLimited} {
				if f := p.Classify(answer(status, body)); f.Class != want {
					t.Errorf("%s: %d with %s is %s by %s, want %s", p.ID, status, kind, f.Class, f.Rule, want)
				}
			}
			if f := p.Classify(answer(403, body)); f.Class == events.ClassServerError {
				t.Errorf("%s: 403 with %s is %s by %s", p.ID, kind, f.Class, f.Rule)
			}
		}
	}
	f := Find("openai-compatible").Classify(answer(402, `{"error":{"code":"rate_limit_exceeded","message":"x"}}`, "Retry-After", "3600"))
	if f.Class != events.ClassCreditsExhausted || wait(f) != time.Hour {
		t.Errorf("a 402 with a rate's code: %s by %s, wait %s", f.Class, f.Rule, wait(f))
	}
}
