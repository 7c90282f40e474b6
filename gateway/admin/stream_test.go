package admin_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/waybill/waybill/test/played"
)

func decode(t *testing.T, body string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return out
}

// frames reads a stream's frames until the test has seen enough.
func (a *api) frames(ctx context.Context, path string, header ...string) *bufio.Scanner {
	a.t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url+"/api/v1/events/stream"+path, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		a.t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	s := bufio.NewScanner(res.Body)
	s.Buffer(nil, 1<<20)
	return s
}

// next is the fields of the next frame that is an event.
func next(t *testing.T, s *bufio.Scanner) map[string]string {
	t.Helper()
	for {
		if f := frame(t, s); f["event"] != "position" {
			return f
		}
	}
}

// frame is the next frame's fields.
func frame(t *testing.T, s *bufio.Scanner) map[string]string {
	t.Helper()
	out := map[string]string{}
	for s.Scan() {
		name, value, _ := strings.Cut(s.Text(), ": ")
		switch {
		case s.Text() == "" && len(out) > 0:
			return out
		case name != "":
			out[name] = value
		}
	}
	t.Fatalf("the stream ended: %v", s.Err())
	return nil
}

func TestTheStreamGivesEveryEventOnceInOrder(t *testing.T) {
	a := open(t, "")
	head := a.get("/ledger")["position"].(float64)
	s := a.frames(t.Context(), "?after=3")
	for want := 4.0; want <= head; want++ {
		f := next(t, s)
		e := decode(t, f["data"])
		if f["id"] != jsonNumber(want) || e["position"] != want || e["type"] != f["event"] {
			t.Fatalf("frame %v, want position %v", f, want)
		}
	}
	a.Spent("c", played.Begin.Add(1))
	if f := next(t, s); f["event"] != "quota.fetched" {
		t.Fatalf("a new event: %v", f)
	}
}

func TestTheStreamStartsNowFiltersAndResumes(t *testing.T) {
	a := open(t, "")
	s := a.frames(t.Context(), "?account=b")
	a.Spent("c", played.Begin)
	a.Spent("b", played.Begin)
	f := next(t, s)
	if decode(t, f["data"])["account"] != "b" {
		t.Fatalf("filtered: %v", f)
	}
	a.Spent("b", played.Begin.Add(1))
	again := a.frames(t.Context(), "?account=b", "Last-Event-ID", f["id"])
	if g := next(t, again); g["id"] == f["id"] || decode(t, g["data"])["account"] != "b" {
		t.Fatalf("resumed: %v", g)
	}
}

// A reader that is cut off before anything came resumes where it began: what
// was committed meanwhile is not lost.
func TestAFreshStreamSaysAtOnceWhereItStands(t *testing.T) {
	a := open(t, "")
	head := jsonNumber(a.get("/ledger")["position"].(float64))
	ctx, cut := context.WithCancel(t.Context())
	defer cut()
	first := frame(t, a.frames(ctx, "?type=quota.fetched"))
	if first["event"] != "position" || first["id"] != head || first["data"] != `{"position":`+head+`}` {
		t.Fatalf("the first frame is %v, the head %s", first, head)
	}
	cut()
	a.Spent("c", played.Begin)
	if f := next(t, a.frames(t.Context(), "?type=quota.fetched", "Last-Event-ID", first["id"])); decode(t, f["data"])["account"] != "c" {
		t.Errorf("resumed behind it: %v", f)
	}
	if f := frame(t, a.frames(t.Context(), "?after=3")); f["id"] != "3" {
		t.Errorf("behind 3 it stands at %v", f)
	}
}
