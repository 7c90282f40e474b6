package upstream

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
)

func post(t *testing.T, s *Server, key, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequest("POST", s.URL()+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func TestAnswersAreUsedHitByHitAndTheLastRepeats(t *testing.T) {
	s := New(t)
	s.Script("A", JSON(429, `{}`, "Retry-After: 3"), Good)
	for i, want := range []int{429, 200, 200} {
		resp := post(t, s, "A", `{"model":"m1"}`)
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Fatalf("hit %d: status %d, want %d", i, resp.StatusCode, want)
		}
	}
	if n := len(s.Hits("A")); n != 3 {
		t.Fatalf("%d hits, want 3", n)
	}
}

func TestAStreamIsWrittenStepByStep(t *testing.T) {
	s := New(t)
	gate := make(chan struct{})
	s.Script("A", Stream(Raw("data: 1\n\n"), Await(gate), Raw("data: 2\n\n")))
	resp := post(t, s, "A", `{"stream":true}`)
	defer resp.Body.Close()
	r := bufio.NewReader(resp.Body)
	if line, err := r.ReadString('\n'); err != nil || line != "data: 1\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	close(gate)
	rest, err := io.ReadAll(r)
	if err != nil || !strings.Contains(string(rest), "data: 2") {
		t.Fatalf("got %q, %v", rest, err)
	}
}

func TestAResetIsSeenByTheClientAndAClientThatLeavesIsSeenHere(t *testing.T) {
	s := New(t)
	s.Script("A", Stream(Raw("data: 1\n\n"), Reset), Stream(Raw("data: 1\n\n"), Hang))
	resp := post(t, s, "A", `{}`)
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Fatal("no error after a reset")
	}
	resp.Body.Close()
	resp = post(t, s, "A", `{}`)
	resp.Body.Close()
	hit := s.WaitHits(t, "A", 2)[1]
	<-hit.Gone
}
