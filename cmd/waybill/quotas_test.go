package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// usageEndpoint is an upstream with a usage endpoint that takes one token.
func usageEndpoint(t *testing.T, token string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":{"code":"invalid_api_key","message":"Incorrect API key provided: %s"}}`, r.Header.Get("Authorization"))
			return
		}
		if r.URL.Path == "/usage" {
			fmt.Fprint(w, `{"weekly":{"used":"40","limit":40,"resets":"2999-01-01","key":"sk-CANARY-123456"}}`)
			return
		}
		fmt.Fprint(w, `{"id":"c","object":"chat.completion","created":1,"model":"m1","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// until returns when the stream of events holds a text.
func (i *installation) until(text string) {
	i.t.Helper()
	ctx, cancel := context.WithTimeout(i.t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, i.admin+"/api/v1/events/stream?after=0", nil)
	if err != nil {
		i.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		i.t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return
		}
	}
	i.t.Fatalf("no event with %s: %v", text, lines.Err())
}

func polledAccount(u, secret string) string {
	return "accounts:\n  - {id: a, provider: openai-compatible, base_url: '" + u + "', " + secret + ",\n" +
		"     quota: {source: http, url: '" + u + "/usage', interval: 1s, windows: [{name: weekly, used: weekly.used, limit: weekly.limit}]}}\n"
}

func TestAUsageEndpointIsPolledAndItsReadingShown(t *testing.T) {
	i := install(t, polledAccount(usageEndpoint(t, "ka"), "api_key: ka"))
	i.until(`"quota.fetched"`)
	if a := call(t, "GET", i.admin+"/api/v1/accounts/a", ""); !strings.Contains(a.body, `"weekly"`) {
		t.Errorf("the account's row: %s", a.body)
	}
}

// TestR1_AClaimWithoutAResetBringsANewReading pushes one before the account's
// first fetch, which would come after nine seconds.
func TestR1_AClaimWithoutAResetBringsANewReading(t *testing.T) {
	i := install(t, strings.NewReplacer("id: a,", "id: last,", "interval: 1s", "interval: 1h").Replace(polledAccount(usageEndpoint(t, "ka"), "api_key: ka")))
	begun := time.Now()
	if a := call(t, "POST", i.admin+"/api/v1/accounts/last/readings", `{"source":"scraper","windows":[{"name":"weekly","reached":true}]}`); a.status != 202 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	i.until(`"source":"http`)
	if took := time.Since(begun); took > 6*time.Second {
		t.Errorf("the endpoint was asked after %s", took)
	}
}

func Test_B157_a_command_gives_another_token_when_the_first_is_refused(t *testing.T) {
	u := usageEndpoint(t, "tok2")
	count := filepath.Join(t.TempDir(), "count")
	script := "echo x >> " + count + "; echo tok$(wc -l < " + count + " | tr -d ' ')"
	i := install(t, "accounts:\n  - {id: a, provider: openai-compatible, base_url: '"+u+"', credential_command: [/bin/sh, -c, \""+script+"\"]}\n")
	if a := i.chat("m1"); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if b, err := os.ReadFile(count); err != nil || strings.Count(string(b), "x") != 2 {
		t.Errorf("the command ran %q times, %v; want at start and once on the 401", b, err)
	}
	i.until(`"account.changed"`)
}

func TestACredentialFileMustBeThere(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "waybill.yaml")
	write(t, file, "accounts:\n  - {id: a, provider: openai-compatible, base_url: 'http://127.0.0.1:1', api_key_file: "+filepath.Join(dir, "none")+"}\n")
	var errs bytes.Buffer
	code := run(t.Context(), []string{"serve", "--config", file}, []string{"WAYBILL_LEDGER=sqlite:" + filepath.Join(dir, "w.db")}, strings.NewReader(""), &errs, &errs)
	if code != exitUsage || !strings.Contains(errs.String(), `account "a"`) {
		t.Errorf("exit %d: %s", code, &errs)
	}
}

func TestDoctorShowsWhatAUsageEndpointWasReadAs(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "waybill.yaml")
	write(t, file, polledAccount(usageEndpoint(t, "ka"), "api_key: ka"))
	var out bytes.Buffer
	code := run(t.Context(), []string{"doctor", "--account", "a", "--config", file}, nil, strings.NewReader(""), &out, &out)
	if code != exitFine || !strings.Contains(out.String(), `"quota.fetched"`) || strings.Contains(out.String(), "CANARY") {
		t.Errorf("exit %d: %s", code, &out)
	}
	write(t, file, polledAccount(usageEndpoint(t, "other"), "api_key: SECRET-UP-1"))
	out.Reset()
	code = run(t.Context(), []string{"doctor", "--account", "a", "--config", file}, nil, strings.NewReader(""), &out, &out)
	if code != exitCheckFailed || !strings.Contains(out.String(), "401") || strings.Contains(out.String(), "SECRET-UP") {
		t.Errorf("exit %d: %s", code, &out)
	}
}
