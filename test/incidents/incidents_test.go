// Package incidents replays, end to end and with short durations, the three
// incidents that Waybill exists to make impossible.
package incidents

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/test/binary"
	"github.com/waybill/waybill/test/upstream"
)

const config = `accounts:
  - {id: a, provider: openai-compatible, api_key: A, base_url: "%[1]s/v1"}
  - {id: b, provider: openai-compatible, api_key: B, base_url: "%[1]s/v1"}
models:
  - {name: both, strategy: ordered, targets: [{accounts: [a, b]}]}
  - {name: only-a, targets: [{accounts: [a]}]}
policy:
%[2]s`

func world(t *testing.T, policy string) (*upstream.Server, *binary.Gateway) {
	t.Helper()
	up := upstream.New(t)
	up.Script("*", upstream.Good)
	return up, binary.Start(t, fmt.Sprintf(config, up.URL(), policy))
}

type answer struct {
	status     int
	id         string
	account    string
	refusal    string
	retryAfter string
	body       string
}

func chat(t *testing.T, gw *binary.Gateway, model, session string) answer {
	t.Helper()
	req, err := http.NewRequest("POST", gw.URL+"/v1/chat/completions", strings.NewReader(`{"model":"`+model+`","messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if session != "" {
		req.Header.Set("Waybill-Session", session)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	h := resp.Header
	return answer{resp.StatusCode, h.Get("Waybill-Request-Id"), h.Get("Waybill-Account"), h.Get("Waybill-Refusal"), h.Get("Retry-After"), string(body)}
}

func (a answer) want(t *testing.T, status int, account string) {
	t.Helper()
	if a.status != status || a.account != account {
		t.Fatalf("status %d from %q, want %d from %q\n%s", a.status, a.account, status, account, a.body)
	}
}

type account struct {
	State   string
	Verdict struct {
		Admitted, Trial bool
		Axis, Reason    string
		Until           string
		TrialAt         string `json:"trial_at"`
	}
	Recovery string
	Override any
}

func view(t *testing.T, gw *binary.Gateway, id string) account {
	t.Helper()
	var a account
	gw.Get("/accounts/"+id, &a)
	return a
}

func after(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }

func weekly() map[string]any {
	return map[string]any{"source": "push", "windows": []any{map[string]any{"name": "weekly", "used": 40000, "limit": 40000, "reached": true, "resets_at": after(4 * 24 * time.Hour)}}}
}

// The console says for days that the plan is spent while the upstream serves.
func TestIncidentOneAConsoleThatIsWrong(t *testing.T) {
	const parkCap = 1500 * time.Millisecond
	up, gw := world(t, "  park_cap: 1500ms\n  healthy_window: 1h\n  when_exhausted: refuse\n")
	gw.Post("/accounts/b/readings", weekly(), nil)
	told := time.Now()
	first := chat(t, gw, "b/m1", "")
	if first.status != 429 || first.refusal != "accounts_exhausted" || !strings.Contains(first.body, "have exhausted their quota") ||
		!strings.Contains(first.body, "cached quota state, no upstream attempt; earliest reset 20") || !strings.Contains(first.body, "waybill why "+first.id) {
		t.Fatalf("the refusal: %+v", first)
	}
	if n, err := strconv.Atoi(first.retryAfter); err != nil || n < 1 || n > 2 {
		t.Fatalf("Retry-After %q: it must say when the park is tested, not when the window resets", first.retryAfter)
	}
	if v := view(t, gw, "b"); v.State != "parked" || v.Verdict.Reason != "window_exhausted" || v.Verdict.Until <= after(3*24*time.Hour) {
		t.Fatalf("the account: %+v", v)
	}
	// the monitor goes on repeating itself, with a rolling reset
	served := time.Time{}
	for served.IsZero() {
		gw.Post("/accounts/b/readings", weekly(), nil)
		if a := chat(t, gw, "b/m1", ""); a.status == 200 {
			served = time.Now()
		} else if time.Since(told) > 2*parkCap+time.Second {
			t.Fatalf("not served %v after the first claim, with a park cap of %v: %+v", time.Since(told), parkCap, a)
		}
	}
	if d := served.Sub(told); d < parkCap-200*time.Millisecond {
		t.Fatalf("served %v after the claim: the park cap of %v was not kept", d, parkCap)
	}
	for range 20 { // the override holds, whatever the console says
		gw.Post("/accounts/b/readings", weekly(), nil)
		chat(t, gw, "b/m1", "").want(t, 200, "b")
	}
	if n := len(up.Hits("B")); n != 21 {
		t.Fatalf("%d hits on b, want 21: nothing may be sent while it is parked", n)
	}
	why := gw.MustRun("why", first.id)
	for _, want := range []string{"b", "weekly", "window"} {
		if !strings.Contains(why, want) {
			t.Fatalf("why does not speak of %q:\n%s", want, why)
		}
	}
	gw.Verify()
}

// The upstream says that credits are gone and not to retry.
func TestIncidentTwoAWallOfPayment(t *testing.T) {
	up, gw := world(t, "  payment_recovery: 24h\n")
	chat(t, gw, "both", "s1").want(t, 200, "a")
	up.Script("A", upstream.JSON(402, `{"code":"personal-team-blocked:spending-limit","error":"You have run out of credits or need a subscription."}`, "X-Should-Retry: false"))
	chat(t, gw, "both", "s1").want(t, 200, "b")
	chat(t, gw, "both", "s1").want(t, 200, "b")
	chat(t, gw, "both", "s2").want(t, 200, "b")
	if n := len(up.Hits("A")); n != 2 {
		t.Fatalf("%d hits on a, want 2: one good, one 402", n)
	}
	v := view(t, gw, "a")
	if v.State != "waiting_reset" || v.Verdict.Reason != "payment_required" || v.Recovery != "free" || v.Verdict.Until < after(23*time.Hour) {
		t.Fatalf("the account: %+v", v)
	}
	type event struct{ Type, Account string }
	if moved := binary.List[event](gw, "/events", "type=pin.moved"); len(moved) != 1 || moved[0].Account != "b" {
		t.Fatalf("pins moved: %+v", moved)
	}
	for _, status := range []int{403, 429, 500} {
		up.Script("B", upstream.JSON(status, `{"error":{"message":"no","type":"x"}}`, "X-Should-Retry: false"))
		up.Script("A", upstream.Good)
		hits := len(up.Hits("*"))
		if a := chat(t, gw, "both", fmt.Sprint("c", status)); a.status != status {
			t.Fatalf("a %d with X-Should-Retry: false reached the client as %d", status, a.status)
		}
		if n := len(up.Hits("*")) - hits; n != 1 {
			t.Fatalf("%d attempts after a %d with X-Should-Retry: false, want 1", n, status)
		}
		gw.Post("/accounts/b/release", map[string]any{"reason": "next case"}, nil)
	}
	gw.Verify()
}

// A spend budget is reached while the rate windows have room.
func TestIncidentThreeAReachedBudget(t *testing.T) {
	up, gw := world(t, "  park_cap: 1h\n  healthy_window: 1ms\n")
	credit := func(c map[string]any) {
		t.Helper()
		gw.Post("/accounts/a/readings", map[string]any{"source": "push", "credit": c, "windows": []any{map[string]any{"name": "5h", "remaining_percent": 90, "resets_at": after(time.Hour)}}}, nil)
	}
	chat(t, gw, "both", "warm").want(t, 200, "a")
	for name, c := range map[string]map[string]any{
		"a past reset": {"reached": true, "resets_at": after(-time.Hour)},
		"a lost reset": {"reached": true},
		"a percentage": {"used_percent": 100, "resets_at": after(time.Hour)},
		"not reached":  {"reached": false, "used_percent": 100, "resets_at": after(time.Hour)},
	} {
		credit(c)
		if v := view(t, gw, "a"); !v.Verdict.Admitted {
			t.Fatalf("%s must fail open: %+v", name, v)
		}
	}
	credit(map[string]any{"reached": true, "used": 2500, "limit": 2500, "resets_at": after(30 * 24 * time.Hour)})
	if v := view(t, gw, "a"); v.Verdict.Admitted || v.Verdict.Reason != "credit_exhausted" || v.State != "parked" {
		t.Fatalf("the account: %+v", v)
	}
	hits := len(up.Hits("A"))
	chat(t, gw, "both", "warm").want(t, 200, "b") // the warm pin moves
	chat(t, gw, "both", "cold").want(t, 200, "b") // a cold session goes elsewhere
	chat(t, gw, "both", "warm").want(t, 200, "b")
	if n := len(up.Hits("A")); n != hits {
		t.Fatalf("%d hits on a after its budget was reached", n-hits)
	}
	chat(t, gw, "only-a", "").want(t, 200, "a") // the last candidate survives a claim
	gw.Verify()
}
