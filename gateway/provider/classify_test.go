package provider

import (
	"net/http"
	"testing"

	"github.com/waybill/waybill/events"
)

// TestTheOrderOfEvaluation is section 0.2 of the catalogue: each row alone would
// match, and of those that stand in the table the strongest kind decides, in
// whatever order they stand.
func TestTheOrderOfEvaluation(t *testing.T) {
	body := `{"error":{"code":"c","type":"t","message":"words of policy"}}`
	policy := Rule{ID: "x.policy", Phrases: []string{"policy"}, Class: events.ClassPolicyRefused}
	code := Rule{ID: "x.code", Codes: []string{"c"}, Class: events.ClassCreditsExhausted}
	kind := Rule{ID: "x.type", Types: []string{"t"}, Class: events.ClassWindowExhausted}
	prose := Rule{ID: "x.prose", Phrases: []string{"words"}, Class: events.ClassForbidden, Scope: events.ScopeModel}
	status := Rule{ID: "x.status", Statuses: []int{429}, Class: events.ClassOverloaded}
	strongest := []Rule{policy, code, kind, prose, status}
	for i := range strongest {
		var table []Rule
		for _, r := range strongest[i:] {
			table = append([]Rule{r}, table...) // the weakest first
		}
		p := &Provider{Rules: table}
		if f := p.Classify(Answer{Status: 429, Body: []byte(body), Model: "m", At: 1}); f.Rule != strongest[i].ID {
			t.Errorf("of %d rows %s decides, want %s", len(table), f.Rule, strongest[i].ID)
		}
	}
}

func TestAStatusOnlyRowNeedsAStatus(t *testing.T) {
	p := &Provider{Rules: []Rule{{ID: "x.status", Statuses: []int{429}, Class: events.ClassOverloaded}}}
	if f := p.Classify(Answer{Status: 200, Stream: true, Body: []byte(`{"error":{"message":"x"}}`), At: 1}); f.ByRow() || f.Class != events.ClassServerError {
		t.Errorf("a frame without a status: %+v", f)
	}
	if f := p.Classify(Answer{Status: 200, Stream: true, Body: []byte(`{"error":{"code":429,"message":"x"}}`), At: 1}); f.Rule != "x.status" {
		t.Errorf("a frame that repeats its status: %+v", f)
	}
}

func TestEnvelopes(t *testing.T) {
	rows := []struct{ name, body, code, kind, message string }{
		{"openai", `{"error":{"message":"M","type":"T","code":"C","param":null}}`, "c", "t", "m"},
		{"anthropic", `{"type":"error","error":{"type":"T","message":"M","details":{"error_code":"C"}},"request_id":"r"}`, "c", "t", "m"},
		{"flat of xAI", `{"code":"C","error":"M"}`, "c", "", "m"},
		{"flat of Cerebras and Mistral", `{"message":"M","type":"T","code":"C"}`, "c", "t", "m"},
		{"an array of Vertex", `[{"error":{"code":400,"status":"T","message":"M","details":[{"reason":"C"}]}}]`, "c", "t", "m"},
		{"detail as text", `{"detail":"M"}`, "", "", "m"},
		{"detail as an object", `{"detail":{"code":"C","message":"M"}}`, "c", "", "m"},
		{"Bedrock", `{"__type":"ns#C","Message":"M"}`, "c", "", "m"},
		{"MiniMax", `{"base_resp":{"status_code":1008,"status_msg":"M"}}`, "1008", "", "m"},
		{"a bare string", `"M"`, "", "", "m"},
		{"bare text", `M`, "", "", "m"},
		{"encoded twice", `{"error":{"message":"{\"error\":{\"code\":\"C\",\"message\":\"M\"}}"}}`, "c", "", "m"},
		{"a marker inside text", `{"code":429,"error":"M [WKE=C:D]"}`, "c:d", "", "m [wke=c:d]"},
		{"brackets of z.ai", `{"error":{"message":"[1310][M][r]"}}`, "1310", "", "[1310][m][r]"},
		{"a number behind text", `{"error":{"message":"M (1008)"}}`, "1008", "", "m (1008)"},
		{"a failed response", `{"type":"response.failed","response":{"error":{"code":"C","message":"M"}}}`, "c", "", "m"},
		{"a code that is a number", `{"error":{"code":1310,"message":"M"}}`, "1310", "", "m"},
		{"a plan behind a colon", `{"error":{"code":"C:edu","message":"M"}}`, "c", "", "m"},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			e := Normalise(&Answer{Status: 400, Header: http.Header{}, Body: []byte(r.body)})
			if r.code != "" && !intersects([]string{r.code}, e.Codes) {
				t.Errorf("codes %q, want %q", e.Codes, r.code)
			}
			if r.kind != "" && !intersects([]string{r.kind}, e.Types) {
				t.Errorf("types %q, want %q", e.Types, r.kind)
			}
			if e.Message != r.message {
				t.Errorf("message %q, want %q", e.Message, r.message)
			}
		})
	}
}

func TestShare(t *testing.T) {
	for _, r := range []struct{ part, whole, want string }{
		{"1", "3", "33.333333"}, {"-1", "4", "-25"}, {"0", "5", "0"}, {"5", "0", "0"}, {"8000000000000", "8000000000000", "100"},
		{"8000000000000", "0.000001", "9223372036854.775807"}, {"1065387", "1000000", "106.5387"},
	} {
		part, _ := events.ParseDecimal(r.part)
		whole, _ := events.ParseDecimal(r.whole)
		if got := Share(part, whole).String(); got != r.want {
			t.Errorf("%s of %s is %s, want %s", r.part, r.whole, got, r.want)
		}
	}
}
