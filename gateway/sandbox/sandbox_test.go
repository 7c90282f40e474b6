package sandbox

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// at is a script and the clock that it lives on.
type at struct {
	*script
	now time.Time
}

func newAt() *at {
	a := &at{now: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	a.script = newScript(func() time.Time { return a.now })
	return a
}

func (a *at) post(account, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer sandbox-key-"+account)
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w
}

const hello = `"messages":[{"role":"user","content":"hello"}]`

func TestEverySurfaceAnswersAndSaysWhatItIs(t *testing.T) {
	rows := map[string]struct{ path, body, want string }{
		"chat":               {"/v1/chat/completions", `{"model":"m",` + hello + `}`, `"finish_reason":"stop"`},
		"chat stream":        {"/v1/chat/completions", `{"model":"m","stream":true,"stream_options":{"include_usage":true},` + hello + `}`, "data: [DONE]"},
		"completion":         {"/v1/completions", `{"model":"m","prompt":"hello"}`, `"text_completion"`},
		"completion stream":  {"/v1/completions", `{"model":"m","prompt":"hello","stream":true}`, "data: [DONE]"},
		"responses":          {"/v1/responses", `{"model":"m","input":"hello"}`, `"status":"completed"`},
		"responses stream":   {"/v1/responses", `{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"hello"}]}],"stream":true}`, "event: response.completed"},
		"embeddings":         {"/v1/embeddings", `{"model":"m","input":["a","b"]}`, `"index":1`},
		"moderations":        {"/v1/moderations", `{"input":"hello"}`, `"flagged":false`},
		"messages":           {"/v1/messages", `{"model":"m","max_tokens":9,` + hello + `}`, `"stop_reason":"end_turn"`},
		"messages stream":    {"/v1/messages", `{"model":"m","max_tokens":9,"stream":true,` + hello + `}`, "event: message_stop"},
		"count tokens":       {"/v1/messages/count_tokens", `{"model":"m",` + hello + `}`, `{"input_tokens":1}`},
		"gemini":             {"/v1beta/models/a/b:generateContent", `{"contents":[{"parts":[{"text":"hello"}]}]}`, `"finishReason":"STOP"`},
		"gemini stream":      {"/v1beta/models/m:streamGenerateContent?alt=sse", `{"contents":[{"parts":[{"text":"hello"}]}]}`, `"finishReason":"STOP"`},
		"gemini array":       {"/v1beta/models/m:streamGenerateContent", `{"contents":[{"parts":[{"text":"hello"}]}]}`, `"finishReason":"STOP"`},
		"gemini count":       {"/v1beta/models/m:countTokens", `{"contents":[{"parts":[{"text":"hello"}]}]}`, `"totalTokens":1`},
		"gemini embed":       {"/v1beta/models/m:embedContent", `{"content":{"parts":[{"text":"hello"}]}}`, `"embedding"`},
		"gemini batch embed": {"/v1beta/models/m:batchEmbedContents", `{"requests":[{},{}]}`, `"embeddings"`},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newAt().post(amber, r.path, r.body)
				if w.Code != 200 || !strings.Contains(w.Body.String(), r.want) || !strings.Contains(w.Header().Get("X-Sandbox"), "scripted") {
					t.Fatalf("%d %v\n%s", w.Code, w.Header(), w.Body)
				}
			})
		})
	}
}

func TestAStreamThatIsOneJSONArrayIsWholeJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAt().post(amber, "/v1beta/models/m:streamGenerateContent", `{"contents":[{"parts":[{"text":"hello"}]}]}`)
		var frames []map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &frames); err != nil || len(frames) < 3 {
			t.Fatalf("%d frames, %v\n%s", len(frames), err, w.Body)
		}
	})
}

func TestAnOfferedToolIsCalledWithWhatItsSchemaAsksFor(t *testing.T) {
	schema := `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},"unit":{"type":"string","enum":["C","F"]},"odd":{"type":"boolean"}},"required":["city","days","unit"]}`
	args := `{"city":"sandbox","days":1,"unit":"C"}`
	rows := map[string]struct{ path, body string }{
		"chat":      {"/v1/chat/completions", `{"model":"m",` + hello + `,"tools":[{"type":"function","function":{"name":"weather","parameters":` + schema + `}}]}`},
		"responses": {"/v1/responses", `{"model":"m","input":"hello","tools":[{"type":"function","name":"weather","parameters":` + schema + `}]}`},
		"messages":  {"/v1/messages", `{"model":"m",` + hello + `,"tools":[{"name":"weather","input_schema":` + schema + `}]}`},
		"gemini":    {"/v1beta/models/m:generateContent", `{"contents":[{"parts":[{"text":"hello"}]}],"tools":[{"functionDeclarations":[{"name":"weather","parameters":` + schema + `}]}]}`},
	}
	for name, r := range rows {
		t.Run(name, func(t *testing.T) {
			got := strings.ReplaceAll(newAt().post(amber, r.path, r.body).Body.String(), `\"`, `"`)
			if !strings.Contains(got, `weather`) || !strings.Contains(got, args) {
				t.Fatalf("%s", got)
			}
		})
	}
	after := `{"model":"m","messages":[{"role":"user","content":"hello"},{"role":"tool","content":"sunny"}],"tools":[{"type":"function","function":{"name":"weather"}}]}`
	if got := newAt().post(amber, "/v1/chat/completions", after).Body.String(); strings.Contains(got, "tool_calls") {
		t.Errorf("it calls for ever: %s", got)
	}
}

func TestQuotaRunsDryAndRecovers(t *testing.T) {
	rows := map[string]struct {
		limit, status int
		pause         time.Duration
	}{birch: {birchLimit, 429, birchCooldown}, cedar: {cedarCredit, 402, cedarRefill}}
	for account, r := range rows {
		t.Run(account, func(t *testing.T) {
			a := newAt()
			ask := func() *httptest.ResponseRecorder {
				return a.post(account, "/v1/chat/completions", `{"model":"m",`+hello+`}`)
			}
			for range r.limit {
				if w := ask(); w.Code != 200 {
					t.Fatalf("too early: %d", w.Code)
				}
			}
			for range 2 {
				if w := ask(); w.Code != r.status || w.Header().Get("Retry-After") == "" {
					t.Fatalf("%d %v", w.Code, w.Header())
				}
			}
			a.now = a.now.Add(r.pause)
			if w := ask(); w.Code != 200 {
				t.Errorf("it did not recover: %d", w.Code)
			}
		})
	}
}

func TestTheDryModelIsRefusedByEveryAccountInEveryDialect(t *testing.T) {
	for _, path := range []string{"/v1/chat/completions", "/v1/messages", "/v1beta/models/dry:generateContent"} {
		for _, account := range []string{amber, birch, cedar} {
			if w := newAt().post(account, path, `{"model":"dry"}`); w.Code != 429 || !strings.Contains(w.Body.String(), "per day") {
				t.Errorf("%s %s: %d %s", account, path, w.Code, w.Body)
			}
		}
	}
}

func TestWhatItDoesNotKnowItSays(t *testing.T) {
	a := newAt()
	if w := a.post("nobody", "/v1/chat/completions", `{}`); w.Code != 401 {
		t.Errorf("unknown key: %d", w.Code)
	}
	if w := a.post(amber, "/v1/images/generations", `{}`); w.Code != 404 {
		t.Errorf("unknown path: %d", w.Code)
	}
	if w := a.post(amber, "/v1/chat/completions", `{`); w.Code != 400 {
		t.Errorf("broken body: %d", w.Code)
	}
}

func TestAStoredResponseIsFound(t *testing.T) {
	a := newAt()
	var made struct{ ID string }
	if err := json.Unmarshal(a.post(amber, "/v1/responses", `{"model":"m","input":"hello"}`).Body.Bytes(), &made); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/v1/responses/"+made.ID, nil)
	r.Header.Set("Authorization", "Bearer sandbox-key-amber")
	w := httptest.NewRecorder()
	a.ServeHTTP(w, r)
	if w.Code != 200 || !strings.Contains(w.Body.String(), made.ID) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestTheConsoleClaimsExhaustionAndThenRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), consoleCycle-time.Second)
		defer cancel()
		var said []string
		err := Console(ctx, time.Now, func(_ context.Context, account string, b []byte) error {
			var r struct {
				Windows []struct {
					Reached  bool      `json:"reached"`
					ResetsAt time.Time `json:"resets_at"`
				} `json:"windows"`
			}
			if err := json.Unmarshal(b, &r); err != nil {
				return err
			}
			if account != amber || time.Until(r.Windows[0].ResetsAt) < 71*time.Hour {
				t.Errorf("%s: %s", account, b)
			}
			said = append(said, map[bool]string{true: "spent", false: "room"}[r.Windows[0].Reached])
			return nil
		})
		if err != nil || len(said) < 10 || said[0] != "spent" || said[len(said)-1] != "room" {
			t.Errorf("%v %v", said, err)
		}
	})
}

func TestItListensOnLoopbackAndEnds(t *testing.T) {
	u, err := Start(t.Context(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(u.URL() + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if !strings.HasPrefix(u.URL(), "http://127.0.0.1:") || resp.StatusCode != 401 {
		t.Errorf("%s %d", u.URL(), resp.StatusCode)
	}
	if err := u.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
