// Package providertest is what every provider must pass: golden exchanges that
// are read exactly as they were reviewed, and laws that hold whatever an
// upstream sends. A provider's package calls Run; the catalogue runs the laws
// over all.
package providertest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/provider"
)

// updateVar rewrites the expectations of goldens, for review of the diff.
const updateVar = "WAYBILL_UPDATE_GOLDEN"

// At is when every golden answer came.
var At = events.At(time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC))

// Exchange is one answer of an upstream and what it is read as.
type Exchange struct {
	Name      string            `json:"name"`
	Source    string            `json:"source"`              // where the body stands, and when it was read
	Synthetic bool              `json:"synthetic,omitempty"` // nobody published the body: made up from its documentation
	Status    int               `json:"status"`
	Headers   map[string]string `json:"headers,omitempty"`
	Body      json.RawMessage   `json:"body,omitempty"` // JSON, or a string that is the text itself
	Model     string            `json:"model,omitempty"`
	Stream    bool              `json:"stream,omitempty"` // an error frame inside a 200
	Usage     bool              `json:"usage,omitempty"`  // of the usage endpoint

	Finding *finding        `json:"finding,omitempty"`
	Reading json.RawMessage `json:"reading,omitempty"`
}

// finding is a provider.Finding for people to review.
type finding struct {
	Class     string `json:"class"`
	Rule      string `json:"rule"`
	Scope     string `json:"scope"`
	Reset     string `json:"reset,omitempty"` // source and instant, "guessed" where it is
	Another   bool   `json:"another"`
	Permanent bool   `json:"permanent,omitempty"`
}

// Run runs the golden exchanges in testdata/exchanges.json of the package under
// test, and the laws. Rules whose ids begin with one of the prefixes belong to
// this package: each must decide at least one exchange.
func Run(t *testing.T, p *provider.Provider, prefixes ...string) {
	t.Helper()
	path := filepath.Join("testdata", "exchanges.json")
	exchanges := load(t, path)
	decided := map[string]bool{}
	for i := range exchanges {
		x := &exchanges[i]
		t.Run(x.Name, func(t *testing.T) {
			got := *x
			read(t, p, &got)
			if got.Finding != nil {
				decided[got.Finding.Rule] = true
			}
			if os.Getenv(updateVar) != "" {
				*x = got
				return
			}
			compare(t, x, &got)
		})
	}
	if os.Getenv(updateVar) != "" {
		store(t, path, exchanges)
	}
	for _, r := range p.Rules {
		if own(r.ID, prefixes) && !decided[r.ID] {
			t.Errorf("no exchange is decided by %s", r.ID)
		}
	}
	Laws(t, p)
}

func own(id string, prefixes []string) bool {
	for _, pre := range prefixes {
		if strings.HasPrefix(id, pre+".") {
			return true
		}
	}
	return false
}

func load(t *testing.T, path string) []Exchange {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []Exchange
	if err := json.Unmarshal(b, &out); err != nil {
		t.Fatal(err)
	}
	for _, x := range out {
		if x.Source == "" {
			t.Errorf("%s: no source", x.Name)
		}
	}
	return out
}

func store(t *testing.T, path string, all []Exchange) {
	t.Helper()
	b, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(b, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Answer is the exchange as the relay hands it on.
func (x *Exchange) Answer() provider.Answer {
	a := provider.Answer{Status: x.Status, Header: http.Header{}, Body: x.bytes(), Model: x.Model, Stream: x.Stream, At: At}
	for k, v := range x.Headers {
		a.Header.Set(k, v)
	}
	if a.Model == "" {
		a.Model = "model-syn"
	}
	return a
}

func (x *Exchange) bytes() []byte {
	var text string
	if len(x.Body) > 0 && json.Unmarshal(x.Body, &text) == nil {
		return []byte(text)
	}
	return x.Body
}

// read fills in what the exchange is read as.
func read(t *testing.T, p *provider.Provider, x *Exchange) {
	t.Helper()
	x.Finding, x.Reading = nil, nil
	a := x.Answer()
	if x.Usage {
		r, err := p.Quota.Read(a.Body, At)
		if err != nil {
			t.Fatal(err)
		}
		x.Reading = readingJSON(t, r)
		return
	}
	if r := p.Reading(&a); r != nil {
		x.Reading = readingJSON(t, r)
	}
	if x.Status < 400 && len(a.Body) == 0 {
		return // a success of which only the headers are of interest
	}
	f := p.Classify(a)
	x.Finding = &finding{Class: f.Class.String(), Rule: f.Rule, Scope: f.Scope.String(), Another: Another(&f), Permanent: f.Permanent}
	if f.Hint != nil {
		x.Finding.Reset = f.Hint.Source + " " + f.Hint.Until.String()
		if f.Hint.Guessed {
			x.Finding.Reset += " guessed"
		}
	}
}

// readingJSON is the canonical JSON of a reading.
func readingJSON(t *testing.T, r *events.Reading) json.RawMessage {
	t.Helper()
	e := events.Event{Data: &events.QuotaFetched{Reading: *r}}
	var line struct {
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(events.AppendJSON(nil, &e), &line); err != nil {
		t.Fatal(err)
	}
	return line.Data
}

func compare(t *testing.T, want, got *Exchange) {
	t.Helper()
	if (want.Finding == nil) != (got.Finding == nil) || want.Finding != nil && *want.Finding != *got.Finding {
		t.Errorf("read as   %s\nreviewed %s", show(got.Finding), show(want.Finding))
	}
	if !bytes.Equal(compact(want.Reading), compact(got.Reading)) {
		t.Errorf("reading   %s\nreviewed %s", compact(got.Reading), compact(want.Reading))
	}
}

func show(f *finding) string {
	b, err := json.Marshal(f)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func compact(b []byte) []byte {
	var out bytes.Buffer
	if len(b) == 0 || json.Compact(&out, b) != nil {
		return b
	}
	return out.Bytes()
}
