package binary

import (
	"encoding/json"
	"net/http"
	"time"
)

// impatience bounds a question that must never hang.
const impatience = 5 * time.Second

// Ready is what /readyz says now: its status, 0 when nobody answers, and the
// note of each check.
func (g *Gateway) Ready() (status int, notes map[string]string) {
	g.t.Helper()
	resp, err := (&http.Client{Timeout: impatience}).Get(g.Admin + "/readyz")
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	var out struct {
		Checks []struct{ Name, Note string } `json:"checks"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		return 0, nil // it was killed meanwhile
	}
	notes = map[string]string{}
	for _, c := range out.Checks {
		notes[c.Name] = c.Note
	}
	return resp.StatusCode, notes
}
