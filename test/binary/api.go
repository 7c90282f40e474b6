package binary

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// Get reads one object from the admin API.
func (g *Gateway) Get(path string, into any) {
	g.t.Helper()
	g.call("GET", path, nil, into)
}

// Post sends one object to the admin API.
func (g *Gateway) Post(path string, body, into any) {
	g.t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		g.t.Fatal(err)
	}
	g.call("POST", path, b, into)
}

func (g *Gateway) call(method, path string, body []byte, into any) {
	g.t.Helper()
	req, err := http.NewRequest(method, g.Admin+"/api/v1"+path, bytes.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	if resp.StatusCode >= 300 {
		g.t.Fatalf("%s %s: %s\n%s", method, path, resp.Status, text)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(text, into); err != nil {
		g.t.Fatalf("%s %s: %v\n%s", method, path, err, text)
	}
}

// List reads every page of a list of the admin API; query holds the filters.
func List[T any](g *Gateway, path, query string) []T {
	g.t.Helper()
	var all []T
	after := "0"
	for {
		var page struct {
			Data []T          `json:"data"`
			Next *json.Number `json:"next"`
		}
		g.Get(fmt.Sprintf("%s?limit=1000&after=%s&%s", path, after, query), &page)
		all = append(all, page.Data...)
		if page.Next == nil {
			return all
		}
		after = page.Next.String()
	}
}

// Verified is what verify --json prints.
type Verified struct {
	OK        bool  `json:"ok"`
	Positions int64 `json:"positions"`
	Decisions int64 `json:"decisions"`
	Rederived int64 `json:"rederived"`
	Fault     any   `json:"fault"`
	// Compared names what a fold from zero was found to be like, "gateway" if
	// one was running.
	Compared []string `json:"-"`
}

// Verify runs verify and rebuild --check; both must pass.
func (g *Gateway) Verify() Verified {
	g.t.Helper()
	var v Verified
	out, errs, code := g.Run("verify", "--json")
	if err := json.Unmarshal([]byte(out), &v); err != nil || code != 0 || !v.OK || v.Rederived != v.Decisions {
		g.t.Fatalf("verify: exit code %d, %v\n%s%s", code, err, out, errs)
	}
	v.Compared = g.Rebuild()
	return v
}

// Rebuild runs rebuild --check, which must pass, and names what the fold from
// zero was compared with.
func (g *Gateway) Rebuild() (with []string) {
	g.t.Helper()
	var r struct {
		OK          bool                    `json:"ok"`
		Comparisons []struct{ With string } `json:"comparisons"`
	}
	out, errs, code := g.Run("rebuild", "--check", "--json")
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 || !r.OK {
		g.t.Fatalf("rebuild --check: exit code %d, %v\n%s%s", code, err, out, errs)
	}
	for _, c := range r.Comparisons {
		with = append(with, c.With)
	}
	return with
}
