package bugs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/test/upstream"
)

const canary = "SECRET-UP-0123456789"

// wantNowhere greps answers, log and ledger for a word.
func (w *world) wantNowhere(word string, answers ...answer) {
	w.t.Helper()
	for _, a := range answers {
		if s := fmt.Sprint(a.header) + a.body; strings.Contains(s, word) {
			w.t.Errorf("%s is in an answer: %s", word, s)
		}
	}
	if s := w.logged.String(); strings.Contains(s, word) {
		w.t.Errorf("%s is in the log: %s", word, s)
	}
	for _, e := range w.events() {
		record := events.Seal(&events.Draft{Header: e.Header, Data: e.Data})
		if strings.Contains(string(record.Payload), word) {
			w.t.Errorf("%s is in a stored %s", word, e.Data.Kind())
		}
		if b, err := json.Marshal(e.Header); err != nil || strings.Contains(string(b), word) {
			w.t.Errorf("%s is in the head of a %s (%v)", word, e.Data.Kind(), err)
		}
	}
}

func secretive(p *plan) { p.names, p.keys = []string{"a"}, map[string]string{"a": canary} }

func Test_B136_the_upstream_key_appears_nowhere(t *testing.T) {
	dead := closedPort(t)
	faults := map[string]func(p *plan){
		"refused": func(p *plan) { p.base = map[string]string{"a": "http://" + dead} },
		"tls":     func(p *plan) { p.base = map[string]string{"a": "https://" + dead} },
		"timeout": func(p *plan) { p.policy.HeaderTimeout = 100 * time.Millisecond },
		"none":    func(*plan) {},
	}
	answers := map[string]upstream.Answer{
		"timeout": upstream.Steps(upstream.Hang),
		"none":    upstream.JSON(400, `{"error":{"message":"bad request to /v1beta/models/m1:generateContent?key=`+canary+`","status":"INVALID_ARGUMENT"}}`),
	}
	for name, set := range faults {
		t.Run(name, func(t *testing.T) {
			w := start(t, secretive, set)
			if a, ok := answers[name]; ok {
				w.up.Script(canary, a)
			}
			var got []answer
			for _, c := range allOf {
				got = append(got, w.do(c))
			}
			w.finished(len(got))
			w.wantNowhere(canary, got...)
			for _, h := range w.up.Hits("*") {
				if strings.Contains(h.Target, canary) {
					t.Errorf("the key is in the URL: %s", h.Target)
				}
			}
		})
	}
	t.Run("redirect", func(t *testing.T) {
		w := start(t, secretive)
		w.up.Script(canary, upstream.JSON(302, "", "Location: http://127.0.0.1:1/x?key="+canary))
		w.wantNowhere(canary, w.do(gem))
	})
}

func Test_B139_error_texts_do_not_tell_of_the_account(t *testing.T) {
	said := `Incorrect API key: ` + canary + `. org org-1234567890abcdef a@example.test`
	rows := map[string]struct {
		call   call
		answer upstream.Answer
	}{
		"401":                   {chat, upstream.JSON(401, `{"error":{"message":"`+said+`"}}`)},
		"400":                   {chat, upstream.JSON(400, `{"error":{"message":"`+said+`"}}`)},
		"429":                   {chat, upstream.JSON(429, `{"error":{"message":"`+said+`"}}`)},
		"500":                   {msg, upstream.JSON(500, `{"type":"error","error":{"type":"api_error","message":"`+said+`"}}`)},
		"sse before content":    {chatS, upstream.Stream(upstream.Raw(upstream.Event(`{"error":{"message":"` + said + `"}}`)))},
		"sse in the same write": {chatS, upstream.Stream(upstream.Raw(upstream.ChatEvents[0] + upstream.ChatEvents[1] + upstream.Event(`{"error":{"message":"`+said+`"}}`)))},
		"header":                {chat, upstream.JSON(200, upstream.ChatBody, "X-Key-Note: "+said, "X-Note: "+said)},
	}
	for name, row := range rows {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			w := start(t, secretive)
			w.up.Script(canary, row.answer)
			got := w.do(row.call)
			w.finished(1)
			w.wantNowhere(canary, got)
			for _, word := range []string{"org-1234567890abcdef", "a@example.test"} {
				if strings.Contains(fmt.Sprint(got.header)+got.body, word) {
					t.Errorf("%s is in the answer: %v %s", word, got.header, got.body)
				}
			}
		})
	}
	t.Run("sse_after_content", func(t *testing.T) {
		w := start(t, secretive)
		seen := make(chan struct{})
		w.up.Script(canary, upstream.Stream(upstream.Raw(upstream.ChatEvents[0]+upstream.ChatEvents[1]), upstream.Await(seen), upstream.Raw(upstream.Event(`{"error":{"message":"`+said+`"}}`))))
		l := w.open(chatS)
		l.until("hel")
		close(seen)
		body, err := l.rest()
		if err != nil {
			t.Fatal(err)
		}
		w.finished(1)
		w.wantNowhere(canary, answer{body: body})
		fs := frames(body)
		if last := fs[len(fs)-1].data; !strings.HasPrefix(last, `{"error":`) || !json.Valid([]byte(last)) || strings.Contains(last, "a@example.test") {
			t.Errorf("last frame %s, want the error, scrubbed", last)
		}
	})
}

func Test_B140_no_canary_reaches_a_log(t *testing.T) {
	w := start(t, secretive, withClient, func(p *plan) { p.headers = http.Header{"X-Team-Secret": {"CANARY-own"}} })
	w.up.Script(canary, upstream.Good)
	n := 0
	for _, calls := range []map[string]call{allOf, allOfS, {"emb": emb}} {
		for _, c := range calls {
			c = c.with("Authorization", "Bearer ck-test").with("Cookie", "CANARY-cookie").with("X-Secret-Token", "CANARY-token").with("X-Vendor", "CANARY-vendor").with("Waybill-Session", "CANARY-session")
			c.body = strings.Replace(c.body, `"hi"`, `"CANARY-prompt"`, 1)
			w.do(c).want(t, 200)
			n++
		}
	}
	w.finished(n)
	for _, word := range []string{canary, "CANARY", "ck-test"} {
		w.wantNowhere(word)
	}
}

func TestACredentialOfNoKnownShapeIsTakenOutOfAnError(t *testing.T) {
	const secret = "plum-orchard"
	w := start(t, func(p *plan) { p.names, p.keys = []string{"a"}, map[string]string{"a": secret} })
	w.up.Script(secret, upstream.JSON(400, `{"error":{"message":"plum-orchard may not do this","type":"invalid_request_error"}}`))
	got := w.do(chat)
	got.want(t, 400)
	if strings.Contains(got.body, secret) || !strings.Contains(got.body, "may not do this") {
		t.Errorf("body %s", got.body)
	}
}
