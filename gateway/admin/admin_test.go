package admin_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/gateway/admin"
	"github.com/waybill/waybill/test/played"
)

// api is a played gateway with its API on a socket.
type api struct {
	t *testing.T
	*played.Gateway
	story played.Story
	url   string
}

func open(t *testing.T, token string) *api {
	t.Helper()
	g, _ := played.InMemory(t, "a", "b", "c")
	h := admin.New(admin.Options{Engine: g.Engine, Log: g.Log, Token: token, Version: "test"})
	srv := httptest.NewServer(h)
	t.Cleanup(func() { h.Close(); srv.Close() })
	return &api{t: t, Gateway: g, story: g.Incident(), url: srv.URL}
}

// call sends a request and returns the status, the body and the answer.
func (a *api) call(method, path, body string, header ...string) (int, string, *http.Response) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), 10*time.Second) // a stream that should have been refused
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, a.url+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
			continue
		}
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return res.StatusCode, string(b), res
}

// get decodes a 200 into maps, as a script would.
func (a *api) get(path string) map[string]any {
	a.t.Helper()
	status, body, _ := a.call(http.MethodGet, "/api/v1"+path, "")
	if status != http.StatusOK {
		a.t.Fatalf("GET %s: %d %s", path, status, body)
	}
	var out map[string]any
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		a.t.Fatalf("GET %s: %s: %v", path, body, err)
	}
	return out
}

func rows(t *testing.T, m map[string]any) []map[string]any {
	t.Helper()
	list, ok := m["data"].([]any)
	if !ok {
		t.Fatalf("no data in %v", m)
	}
	if _, ok := m["next"]; !ok {
		t.Fatalf("no next in %v", m)
	}
	out := make([]map[string]any, len(list))
	for i := range list {
		out[i] = list[i].(map[string]any)
	}
	return out
}

// has checks that an object has the contract's members.
func has(t *testing.T, what string, m map[string]any, names string) {
	t.Helper()
	for _, n := range strings.Fields(names) {
		if _, ok := m[n]; !ok {
			t.Errorf("%s has no %q: %v", what, n, m)
		}
	}
}

const (
	accountFields   = "id provider state verdict windows credit recovery override streak in_flight position"
	verdictFields   = "admitted trial axis scope reason cells since until trial_at evidence"
	windowFields    = "name scope used limit used_percent remaining_percent reached resets_at observed_at source"
	decisionFields  = "attempt decided_at position pending policy rules session strategy chosen trial last_path candidates"
	attemptFields   = "attempt account status class rule answered_at duration_ms usage failover"
	evidenceFields  = "position type observed_at summary"
	requestFields   = "request outcome status code decisions attempts replay"
	candidateFields = "account weight " + verdictFields
)

func TestAccountsHaveTheContractsShape(t *testing.T) {
	a := open(t, "")
	all := rows(t, a.get("/accounts"))
	if len(all) != 3 {
		t.Fatalf("%d accounts", len(all))
	}
	for _, acct := range all {
		has(t, "account", acct, accountFields)
		has(t, "verdict", acct["verdict"].(map[string]any), verdictFields)
	}
	b := a.get("/accounts/b")
	if b["state"] != "waiting_reset" || b["verdict"].(map[string]any)["reason"] != "payment_required" {
		t.Fatalf("b: %v %v", b["state"], b["verdict"])
	}
	evidence := b["verdict"].(map[string]any)["evidence"].([]any)
	if len(evidence) == 0 {
		t.Fatal("b is excluded without evidence (I3)")
	}
	has(t, "evidence", evidence[0].(map[string]any), evidenceFields)
	windows := a.get("/accounts/a")["windows"].([]any)
	if len(windows) != 1 {
		t.Fatalf("a has %d windows", len(windows))
	}
	has(t, "window", windows[0].(map[string]any), windowFields)
	if got := a.get("/accounts/a")["in_flight"]; got != 1.0 {
		t.Fatalf("a has %v in flight", got)
	}
}

func TestAccountsAsOfAPositionAndAnInstant(t *testing.T) {
	a := open(t, "")
	then := a.get("/accounts/a?at=2026-11-30T14:01:00Z")
	if then["state"] != "parked" {
		t.Fatalf("a at 14:01: %v", then["state"])
	}
	pos := then["position"].(float64)
	same := a.get("/accounts/a?position=" + jsonNumber(pos))
	if same["state"] != "parked" || same["position"] != pos {
		t.Fatalf("a at position %v: %v", pos, same["state"])
	}
	if now := a.get("/accounts/a"); now["state"] == "parked" {
		t.Fatalf("a now: %v", now["state"])
	}
	for _, bad := range []string{"?at=yesterday", "?position=1&at=2026-11-30T14:01:00Z", "?position=99999", "?position=0", "?at=9999-12-31T23:59:59Z", "?atr=1"} {
		if status, body, _ := a.call(http.MethodGet, "/api/v1/accounts"+bad, ""); status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", bad, status, body)
		}
	}
}

func jsonNumber(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

func TestTheStoryOfARequestHasTheContractsShape(t *testing.T) {
	a := open(t, "")
	s := a.get("/requests/" + a.story.Refused.String())
	has(t, "request", s, requestFields)
	if s["outcome"] != "refused" || s["status"] != 429.0 || s["code"] != "accounts_exhausted" {
		t.Fatalf("%v %v %v", s["outcome"], s["status"], s["code"])
	}
	d := s["decisions"].([]any)[0].(map[string]any)
	has(t, "decision", d, decisionFields)
	named := map[any]bool{}
	for _, c := range d["candidates"].([]any) {
		c := c.(map[string]any)
		has(t, "candidate", c, candidateFields)
		named[c["account"]] = true
		if c["admitted"] == false && len(c["evidence"].([]any)) == 0 {
			t.Errorf("%s is excluded without evidence (I3)", c["account"])
		}
	}
	if len(named) != 3 {
		t.Fatalf("the refusal names %v", named)
	}
	if s["replay"].(map[string]any)["identical"] != true {
		t.Fatalf("replay: %v", s["replay"])
	}
	f := a.get("/requests/" + a.story.FailedOver.String())
	attempts := f["attempts"].([]any)
	if len(attempts) != 2 {
		t.Fatalf("%d attempts", len(attempts))
	}
	first := attempts[0].(map[string]any)
	has(t, "attempt", first, attemptFields)
	if first["class"] != "credits_exhausted" || first["failover"] != true || first["status"] != 402.0 {
		t.Fatalf("first attempt: %v", first)
	}
	if u := attempts[1].(map[string]any)["usage"].(map[string]any); u["input_tokens"] != 120.0 || u["partial"] != false {
		t.Fatalf("usage: %v", u)
	} else if _, there := u["reasoning_tokens"]; there {
		t.Fatal("usage shows tokens that the answer said nothing of: absent is not zero")
	}
	if status, _, _ := a.call(http.MethodGet, "/api/v1/requests/00000000-0000-7000-8000-000000000000", ""); status != http.StatusNotFound {
		t.Errorf("an unknown request: %d", status)
	}
	if status, _, _ := a.call(http.MethodGet, "/api/v1/requests/nonsense", ""); status != http.StatusBadRequest {
		t.Errorf("no request id: %d", status)
	}
}

func TestRequestsAreFilteredAndPaged(t *testing.T) {
	a := open(t, "")
	count := func(q string) int { t.Helper(); return len(rows(t, a.get("/requests?"+q))) }
	for q, want := range map[string]int{"": 7, "outcome=served": 3, "outcome=refused": 1, "outcome=failed": 1, "outcome=aborted": 1, "outcome=open": 1,
		"skipped=b&outcome=refused": 1, "account=c": 2, "client=app": 7, "client=x": 0, "model=m1": 7, "session=s1": 7, "session=s2": 0,
		"since=2026-11-30T14:03:00Z": 6, "until=2026-11-30T14:03:00Z": 1} {
		if got := count(q); got != want {
			t.Errorf("requests?%s: %d rows, want %d", q, got, want)
		}
	}
	for _, order := range []string{"desc", "asc"} {
		seen := map[any]bool{}
		path := "/requests?limit=2&order=" + order
		for range 10 {
			page := a.get(path)
			for _, r := range rows(t, page) {
				seen[r["request"]] = true
			}
			if page["next"] == nil {
				break
			}
			path = "/requests?limit=2&order=" + order + "&after=" + jsonNumber(page["next"])
		}
		if len(seen) != 7 {
			t.Errorf("paging %s gives %d requests of 7", order, len(seen))
		}
	}
	if first := rows(t, a.get("/requests?limit=1"))[0]; first["request"] != a.story.Open.String() {
		t.Errorf("the first row is not the newest request: %v", first)
	}
}

func TestEventsAreAsStoredFilteredAndPaged(t *testing.T) {
	a := open(t, "")
	all := rows(t, a.get("/events?limit=1000"))
	for i, e := range all {
		if e["position"] != float64(i+1) {
			t.Fatalf("event %d has position %v", i+1, e["position"])
		}
	}
	seen := 0
	for path := "/events?limit=7"; ; {
		page := a.get(path)
		seen += len(rows(t, page))
		if page["next"] == nil {
			break
		}
		path = "/events?limit=7&after=" + jsonNumber(page["next"])
	}
	if seen != len(all) {
		t.Fatalf("pages give %d events of %d", seen, len(all))
	}
	for _, e := range rows(t, a.get("/events?account=b&type=attempt.payment_required,attempt.routed")) {
		if e["account"] != "b" {
			t.Errorf("filtered by account: %v", e)
		}
	}
	if got := rows(t, a.get("/events?request="+a.story.Refused.String())); len(got) != 1 || got[0]["type"] != "request.refused" {
		t.Fatalf("events of the refused request: %v", got)
	}
	for _, bad := range []string{"?type=attempt.rooted", "?limit=0", "?limit=1001", "?request=1", "?after=-1"} {
		if status, _, _ := a.call(http.MethodGet, "/api/v1/events"+bad, ""); status != http.StatusBadRequest {
			t.Errorf("%s: %d", bad, status)
		}
	}
}

func TestUsageSums(t *testing.T) {
	a := open(t, "")
	for by, want := range map[string]int{"account": 3, "model": 1, "client": 1, "day": 1} {
		got := rows(t, a.get("/usage?by="+by))
		if len(got) != want {
			t.Errorf("by %s: %v", by, got)
		}
		var tokens, served float64
		for _, s := range got {
			tokens += s["input_tokens"].(float64)
			served += s["served"].(float64)
		}
		if tokens != 360 || served != 3 {
			t.Errorf("by %s: %v tokens in %v answers", by, tokens, served)
		}
	}
	if got := rows(t, a.get("/usage?by=client"))[0]; got["requests"] != 7.0 || got["refusals"] != 1.0 {
		t.Errorf("client: %v", got)
	}
}

func TestLedgerAndVerify(t *testing.T) {
	a := open(t, "")
	l := a.get("/ledger")
	has(t, "ledger", l, "position hash segments")
	if l["lag"] != 0.0 {
		t.Fatalf("lag %v", l["lag"])
	}
	status, body, _ := a.call(http.MethodPost, "/api/v1/ledger/verify", "")
	var v map[string]any
	if err := json.Unmarshal([]byte(body), &v); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	has(t, "verdict", v, "ok positions head decisions rederived skipped_versions fault")
	if v["ok"] != true || v["fault"] != nil || v["rederived"] != v["decisions"] || v["decisions"] == 0.0 || v["positions"] != l["position"] {
		t.Fatalf("%s", body)
	}
}

func TestAReadingIsAppendedAndFolded(t *testing.T) {
	a := open(t, "")
	status, body, _ := a.call(http.MethodPost, "/api/v1/accounts/c/readings", `{"source":"mine","windows":[{"name":"5h","used_percent":40,"resets_at":"2026-11-30T18:00:00Z"}]}`)
	var got struct{ Position uint64 }
	if err := json.Unmarshal([]byte(body), &got); err != nil || status != http.StatusAccepted || got.Position == 0 {
		t.Fatalf("%d %s", status, body)
	}
	w := a.get("/accounts/c")["windows"].([]any)[0].(map[string]any)
	if w["used_percent"] != 40.0 || w["source"] != "mine" || w["reached"] != nil {
		t.Fatalf("window: %v", w)
	}
	for name, bad := range map[string]struct {
		path, body string
		want       int
	}{
		"an unknown account": {"/accounts/nobody/readings", `{"windows":[]}`, http.StatusNotFound},
		"no JSON":            {"/accounts/c/readings", `{`, http.StatusUnprocessableEntity},
		"a wrong scope":      {"/accounts/c/readings", `{"windows":[{"name":"5h","scope":"galaxy"}]}`, http.StatusUnprocessableEntity},
	} {
		if status, body, res := a.call(http.MethodPost, "/api/v1"+bad.path, bad.body); status != bad.want || res.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

func TestOperatorActionsNeedAReasonAndNameTheirActor(t *testing.T) {
	a := open(t, "secret")
	auth := []string{"Authorization", "Bearer secret"}
	post := func(what, body string) int {
		t.Helper()
		status, _, _ := a.call(http.MethodPost, "/api/v1/accounts/b/"+what, body, auth...)
		return status
	}
	for what, body := range map[string]string{"release": `{}`, "park": `{"reason":"x"}`, "drain": ``, "undrain": `{"reason":""}`} {
		if status := post(what, body); status != http.StatusUnprocessableEntity && status != http.StatusBadRequest {
			t.Errorf("%s %s: %d", what, body, status)
		}
	}
	if status := post("park", `{"reason":"x","until":"2020-01-01T00:00:00Z"}`); status != http.StatusUnprocessableEntity {
		t.Errorf("a park that is over: %d", status)
	}
	for _, what := range []string{"release", "drain", "undrain"} {
		if status := post(what, `{"reason":"we pay again","for":"3h"}`); status != http.StatusOK {
			t.Errorf("%s: %d", what, status)
		}
	}
	if status := post("park", `{"reason":"we pay again","for":"2h"}`); status != http.StatusOK {
		t.Errorf("park: %d", status)
	}
	_, body, _ := a.call(http.MethodGet, "/api/v1/events?account=b&type=operator.released,operator.parked,operator.drained,operator.undrained", "", auth...)
	if strings.Count(body, `"actor":"admin"`) != 4 || strings.Count(body, "we pay again") != 4 || strings.Count(body, `"until"`) != 1 {
		t.Fatalf("operator events: %s", body)
	}
}

func TestReplayAnswersWhatWouldHaveBeen(t *testing.T) {
	a := open(t, "")
	for _, policy := range []string{`{"when_exhausted":"refuse","reading_max_age":"240h","park_cap":"240h"}`, `"when_exhausted: refuse\nreading_max_age: 240h\npark_cap: 240h\n"`, `{"policy":{"when_exhausted":"refuse","reading_max_age":"240h","park_cap":"240h"}}`} {
		status, body, _ := a.call(http.MethodPost, "/api/v1/replay", `{"policy":`+policy+`}`)
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", policy, status, body)
		}
		r := decode(t, body)
		has(t, "replay", r, "requests recorded proposed differences accounts examples")
		has(t, "recorded", r["recorded"].(map[string]any), "served failed refused")
		has(t, "proposed", r["proposed"].(map[string]any), "served refused unknown")
		has(t, "account", r["accounts"].([]any)[0].(map[string]any), "account recorded proposed parked_s trials")
		if r["requests"] != 7.0 || r["differences"] == 0.0 {
			t.Fatalf("%s: %s", policy, body)
		}
	}
	for _, bad := range []string{``, `{}`, `{"policy":{"park_cup":"5m"}}`, `{"policy":{}}`} {
		if status, body, _ := a.call(http.MethodPost, "/api/v1/replay", bad); status != http.StatusBadRequest && status != http.StatusUnprocessableEntity {
			t.Errorf("%q: %d %s", bad, status, body)
		}
	}
}

func TestStateIsWhatAFoldFromZeroGives(t *testing.T) {
	a := open(t, "")
	for _, s := range rows(t, a.get("/state")) {
		has(t, "state", s, "name version position bytes sha256")
	}
}
