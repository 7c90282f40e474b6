// Package sandbox holds the newcomer's first minute as a test.
package sandbox

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/waybill/waybill/test/binary"
)

func post(t *testing.T, url, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest("POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

func TestTheFirstMinute(t *testing.T) {
	gw := binary.Sandbox(t)
	cases := []struct{ name, path, body, want string }{
		{"a chat completion", "/v1/chat/completions", `{"model":"any-model/at:all","messages":[{"role":"user","content":"hi"}]}`, `"chat.completion"`},
		{"a streamed message", "/v1/messages", `{"model":"claude-x","max_tokens":16,"stream":true,"messages":[{"role":"user","content":"hi"}]}`, "message_stop"},
		{"a Gemini call", "/v1beta/models/gemini-x:generateContent", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`, `"candidates"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			resp, body := post(t, gw.URL+c.path, c.body)
			if resp.StatusCode != 200 || !strings.Contains(body, c.want) {
				t.Fatalf("%s\n%s", resp.Status, body)
			}
			id := resp.Header.Get("Waybill-Request-Id")
			why := gw.MustRun("why", id)
			if !strings.Contains(why, resp.Header.Get("Waybill-Account")) || !strings.Contains(why, id) {
				t.Fatalf("why %s:\n%s", id, why)
			}
			t.Logf("why %s:\n%s", id, why)
		})
	}
}

// The three accounts run dry and recover, a request is refused, and each of
// these explains itself.
func TestASkipAndARefusalWithinTheFirstRequests(t *testing.T) {
	gw := binary.Sandbox(t)
	var skipped, refused string
	for range 400 {
		resp, body := post(t, gw.URL+"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
		id := resp.Header.Get("Waybill-Request-Id")
		if resp.Header.Get("Waybill-Refusal") != "" {
			refused = id
			if !strings.Contains(body, "waybill why "+id) {
				t.Fatalf("the refusal does not say how to ask: %s", body)
			}
		}
		type row struct{ ID, Request string }
		if skipped == "" {
			for _, a := range binary.List[row](gw, "/accounts", "") {
				if rows := binary.List[row](gw, "/requests", "skipped="+a.ID); len(rows) > 0 {
					skipped = rows[0].Request
				}
			}
		}
		if skipped != "" && refused != "" {
			break
		}
	}
	if skipped == "" {
		t.Fatal("no account was ever skipped")
	}
	if why := gw.MustRun("why", skipped); !regexp.MustCompile(`skipped`).MatchString(why) {
		t.Fatalf("why of a request with a skip:\n%s", why)
	}
	if refused != "" {
		t.Logf("why of a refusal:\n%s", gw.MustRun("why", refused))
	}
	gw.Verify()
}
