package catalogue

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
	"github.com/waybill/waybill/gateway/provider/providertest"
)

// signal is one row of testdata/provider-signals.json.
type signal struct {
	ID       string            `json:"id"`
	Provider string            `json:"provider"`
	Phase    string            `json:"phase"`
	Received time.Time         `json:"received_at"`
	Status   int               `json:"status"`
	Headers  map[string]string `json:"headers"`
	Body     json.RawMessage   `json:"body"`
	Model    string            `json:"model"`
	Sent     bool              `json:"content_sent"`
	Expect   struct {
		Class        string     `json:"class"`
		Scope        string     `json:"scope"`
		ResetSource  string     `json:"reset_source"`
		ResetExample *time.Time `json:"reset_example"`
		Failover     bool       `json:"failover"`
	} `json:"expect"`
}

func signals(t *testing.T) []signal {
	t.Helper()
	rows, err := readSignals()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func readSignals() ([]signal, error) {
	raw, err := os.ReadFile("testdata/provider-signals.json")
	if err != nil {
		return nil, err
	}
	var rows []signal
	return rows, json.Unmarshal(raw, &rows)
}

// rowIDs are the ids of all rows; none when the file cannot be read, which
// TestSignals tells.
func rowIDs() []string {
	rows, err := readSignals()
	if err != nil {
		return nil
	}
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	return ids
}

// bytesOf is the body on the wire: JSON as it stands, a string as its text.
func (s *signal) bytesOf() []byte {
	var text string
	if json.Unmarshal(s.Body, &text) == nil {
		return []byte(text)
	}
	return bytes.TrimSpace(s.Body)
}

func (s *signal) header() http.Header {
	h := http.Header{}
	for k, v := range s.Headers {
		h.Set(k, v)
	}
	return h
}

func (s *signal) model() string {
	if s.Model != "" {
		return s.Model
	}
	switch s.Provider { // where a family is expected, a model of one
	case "antigravity":
		return "gemini-syn-pro"
	case "github-copilot":
		return "claude-syn"
	}
	return "model-syn"
}

// provider: "openai-responses" is openai, "any" stands for every provider and
// is asked of one that has no rows of its own for it.
func (s *signal) provider(t *testing.T) *provider.Provider {
	t.Helper()
	id := s.Provider
	switch id {
	case "openai-responses":
		id = "openai"
	case "any":
		id = "openai-compatible"
	}
	p := Find(id)
	if p == nil {
		t.Fatalf("provider %s is not in the catalogue", id)
	}
	return p
}

// admissionWins lists where ADMISSION.md decides differently from a row.
type admissionWins struct{ class, scope, source, why string }

func overruled() map[string]admissionWins {
	return map[string]admissionWins{
		"anthropic-429-retry-after-zero": {source: "header:retry-after",
			why: "R19: zero is the minimum of its rule, so the header stays the source and the answer's instant the reset"},
		"edge-retry-after-http-date": {scope: "model", why: "R7: a burst is of the scope named, else of the model"},
		"edge-retry-after-absurd":    {scope: "model", why: "R7: a burst is of the scope named, else of the model"},
	}
}

// scopeOf maps the catalogue's words to ours, as its header says.
func scopeOf(word string) string {
	switch {
	case word == "request" || word == "usage_endpoint":
		return "request"
	case word == "provider" || word == "egress":
		return "endpoint"
	case strings.HasSuffix(word, "+model_family") || strings.HasSuffix(word, "+premium_models"):
		return "family"
	case strings.HasSuffix(word, "+model") || word == "deployment":
		return "model"
	}
	return "account"
}

func (s *signal) wantClass() string {
	if s.Expect.Class == "not_found" && scopeOf(s.Expect.Scope) == "model" {
		return "model_unsupported"
	}
	return s.Expect.Class
}

// guessless: sources that name a policy or another endpoint give no hint by
// themselves: the fold decides (R7, R8).
func (s *signal) hinted() bool { return s.Expect.ResetExample != nil }

// check compares a finding with the row.
func (s *signal) check(t *testing.T, f provider.Finding) {
	t.Helper()
	wins := overruled()[s.ID]
	want := or(wins.class, s.wantClass())
	if f.Class.String() != want {
		t.Errorf("class %s by %s, want %s", f.Class, f.Rule, want)
	}
	if want := or(wins.scope, scopeOf(s.Expect.Scope)); f.Scope.Kind.String() != want {
		t.Errorf("scope %s by %s, want %s", f.Scope, f.Rule, want)
	}
	s.checkHint(t, f, wins)
	if s.Phase == "stream" && s.Sent {
		return // after the commit point nothing fails over, whatever the answer means
	}
	if providertest.Another(&f) != s.Expect.Failover {
		t.Errorf("another account may serve: %v by %s, want %v", providertest.Another(&f), f.Rule, s.Expect.Failover)
	}
}

func (s *signal) checkHint(t *testing.T, f provider.Finding, wins admissionWins) {
	t.Helper()
	if !s.hinted() && wins.source == "" {
		if f.Hint != nil && !strings.HasPrefix(s.Expect.ResetSource, "calendar:") {
			t.Errorf("hint %+v by %s, want none", f.Hint, f.Rule)
		}
		return
	}
	if f.Hint == nil {
		t.Fatalf("no hint by %s, want %s", f.Rule, s.Expect.ResetSource)
	}
	if want := or(wins.source, s.Expect.ResetSource); f.Hint.Source != want {
		t.Errorf("reset from %s by %s, want %s", f.Hint.Source, f.Rule, want)
	}
	want := events.At(s.Received)
	if s.hinted() {
		want = events.At(*s.Expect.ResetExample)
	}
	// The table states whole seconds, rounded down.
	if d := f.Hint.Until.Sub(want); d < 0 || d >= time.Second {
		t.Errorf("reset %s, want %s", f.Hint.Until, want)
	}
	if guessed := strings.HasPrefix(f.Hint.Source, "policy:"); f.Hint.Guessed != guessed {
		t.Errorf("guessed %v from %s", f.Hint.Guessed, f.Hint.Source)
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func TestSignals(t *testing.T) {
	for _, s := range signals(t) {
		t.Run(s.ID, func(t *testing.T) {
			a := provider.Answer{Status: s.Status, Header: s.header(), Body: s.bytesOf(), Model: s.model(), At: events.At(s.Received)}
			switch {
			case s.Phase == "stream":
				s.checkStream(t)
			case s.Phase == "usage_probe" && s.Status != http.StatusOK:
				s.checkFailedProbe(t, a)
			case s.Phase == "usage_probe":
				s.checkProbe(t)
			case s.Expect.Class == "success":
				s.checkSuccess(t, a)
			default:
				s.check(t, s.provider(t).Classify(a))
			}
		})
	}
}

// checkFailedProbe: a 429 of the usage endpoint is a failed fetch and no fact
// about inference; the poller honours its Retry-After.
func (s *signal) checkFailedProbe(t *testing.T, a provider.Answer) {
	t.Helper()
	got := provider.RetryAt(a.Header, a.At)
	if want := events.At(*s.Expect.ResetExample); got != want {
		t.Errorf("next fetch from %s, want %s", got, want)
	}
}
