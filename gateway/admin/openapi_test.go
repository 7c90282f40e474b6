package admin_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/admin"
	"github.com/waybill/waybill/gateway/engine"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/checkpoint"
	"github.com/waybill/waybill/ledger/ledgertest"
	"github.com/waybill/waybill/projections/usage"
	"github.com/waybill/waybill/test/played"
)

// book lets a shelf have a method of the interface's name.
type book interface{ ledger.Book }

// shelf holds one consumer's book with a message that it did not take.
type shelf struct {
	book
	aside []ledger.Message
}

func (s *shelf) Book(string) ledger.Book                     { return s }
func (s *shelf) Consumers(context.Context) ([]string, error) { return []string{"hook"}, nil }
func (s *shelf) Place(context.Context) (events.Position, bool, error) {
	return 3, true, nil
}
func (s *shelf) Aside(context.Context) ([]ledger.Message, error)    { return s.aside, nil }
func (s *shelf) Requeue(context.Context, ...uuid.UUID) (int, error) { return len(s.aside), nil }

// openRich has something to say in every answer.
func openRich(t *testing.T) *api {
	t.Helper()
	store := ledgertest.NewMemory()
	clock := played.NewClock()
	store.SetClock(clock.Now)
	g := played.Open(t, store, clock, "a", "b", "c")
	a := &api{t: t, Gateway: g, story: g.Incident()}
	books := &shelf{aside: []ledger.Message{{ID: uuid.UUID{1}, Position: 3, Error: "500", Meta: map[string]string{"type": "x"}, Body: json.RawMessage(`{}`)}}}
	h := admin.New(admin.Options{Engine: g.Engine, Log: g.Log, Version: "test", Books: books,
		Ready: func(context.Context) []admin.Check { return []admin.Check{{Name: "ledger", OK: true, Note: "fine"}} },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = w.Write([]byte("waybill_up 1\n"))
		}),
		Retention: func() admin.Retention {
			return admin.Retention{RetainS: 1, ArchiveDir: "d", Segment: 10, LastRun: 1, Error: "e"}
		},
		Spool: func() admin.Spool { return admin.Spool{Since: 1, Events: 2, Bytes: 3, Max: 4} },
		Prices: func() *usage.Prices {
			return &usage.Prices{Currency: "USD", Rows: []usage.Price{{Model: "*", Account: "c", Input: 1, Output: 1}}}
		},
		Checkpoint: func() checkpoint.State {
			return checkpoint.State{Note: []byte("note\n"), Fault: context.Canceled, Checkpoint: checkpoint.Checkpoint{Head: ledger.Head{Position: 1, RecordedAt: 1}}}
		}})
	srv := httptest.NewServer(h)
	t.Cleanup(func() { h.Close(); srv.Close(); g.Close() })
	a.url = srv.URL
	return a
}

// tellAll has an answer tell all kinds of tokens, and returns its request.
func (a *api) tellAll() uuid.UUID {
	a.t.Helper()
	id := a.NewID()
	at, refused, err := a.Decide(a.t.Context(), engine.Ask{Request: id, Attempt: 1, Client: "app", Dialect: events.DialectOpenAI, Model: "m1"})
	if err != nil || refused != nil {
		a.t.Fatal(refused, err)
	}
	at.Passed(a.Now())
	at.Succeeded(events.Answer{Status: 200, AnsweredAt: a.Now(), Usage: &events.Usage{Input: events.Int(9), CachedInput: events.Int(1),
		CacheWrite: events.Int(2), Output: events.Int(4), Reasoning: events.Int(3)}}, "stop")
	a.Settle()
	return id
}

// described is the description of the API, and what of it answers have shown.
type described struct {
	t     *testing.T
	paths map[string]any
	seen  map[string]bool
}

func (d *described) op(call string) map[string]any {
	d.t.Helper()
	method, path, _ := strings.Cut(call, " ")
	calls, _ := d.paths[path].(map[string]any)
	op, ok := calls[strings.ToLower(method)].(map[string]any)
	if !ok {
		d.t.Fatalf("%s is not described", call)
	}
	return op
}

// answerOf is the schema of what a call answers, nil when it is no JSON.
func answerOf(op map[string]any) (status string, schema map[string]any) {
	for code, r := range op["responses"].(map[string]any) {
		if code != "default" {
			return code, jsonOf(r)
		}
	}
	return "", nil
}

func bodyOf(op map[string]any) map[string]any { return jsonOf(op["requestBody"]) }

func jsonOf(v any) map[string]any {
	m, _ := v.(map[string]any)
	kinds, _ := m["content"].(map[string]any)
	kind, _ := kinds["application/json"].(map[string]any)
	schema, _ := kind["schema"].(map[string]any)
	return schema
}

// plain is the schema behind one that may be null.
func plain(schema map[string]any) map[string]any {
	if either, ok := schema["anyOf"].([]any); ok {
		return either[0].(map[string]any)
	}
	return schema
}

// check checks that a value has all that its schema requires and nothing that
// it does not name, of the kinds that it names, and notes what it has shown.
func (d *described) check(path string, schema map[string]any, v any) {
	d.t.Helper()
	if schema["anyOf"] != nil && v == nil {
		return
	}
	schema = plain(schema)
	if !of(schema, v) {
		d.t.Errorf("%s: %v is not of %v", path, v, schema["type"])
		return
	}
	switch v := v.(type) {
	case map[string]any:
		d.members(path, schema, v)
	case []any:
		items, _ := schema["items"].(map[string]any)
		for _, item := range v {
			d.check(path+"[]", items, item)
		}
	}
}

func (d *described) members(path string, schema, v map[string]any) {
	d.t.Helper()
	props, ok := schema["properties"].(map[string]any)
	if !ok {
		return // any object
	}
	for k, member := range v {
		s, ok := props[k].(map[string]any)
		if !ok {
			d.t.Errorf("%s.%s is not described", path, k)
			continue
		}
		d.seen[path+"."+k] = true
		d.check(path+"."+k, s, member)
	}
	for _, k := range schema["required"].([]any) {
		if _, there := v[k.(string)]; !there {
			d.t.Errorf("%s: %v is described as required, and missing in %v", path, k, v)
		}
	}
}

// of says that a value is of a kind that its schema names; no kind is any.
func of(schema map[string]any, v any) bool {
	var kinds []string
	switch k := schema["type"].(type) {
	case nil:
		return true
	case string:
		kinds = []string{k}
	case []any:
		for _, k := range k {
			kinds = append(kinds, k.(string))
		}
	}
	kind := "null"
	switch v := v.(type) {
	case map[string]any:
		kind = "object"
	case []any:
		kind = "array"
	case string:
		kind = "string"
	case bool:
		kind = "boolean"
	case float64:
		if kind = "number"; v == float64(int64(v)) && slices.Contains(kinds, "integer") {
			kind = "integer"
		}
	}
	return slices.Contains(kinds, kind)
}

// unseen lists the described members that nothing has shown.
func (d *described) unseen(path string, schema map[string]any) (out []string) {
	schema = plain(schema)
	props, _ := schema["properties"].(map[string]any)
	for k, s := range props {
		if !d.seen[path+"."+k] {
			out = append(out, path+"."+k)
		}
		out = append(out, d.unseen(path+"."+k, s.(map[string]any))...)
	}
	if items, ok := schema["items"].(map[string]any); ok {
		out = append(out, d.unseen(path+"[]", items)...)
	}
	return out
}

// onlyInTrouble: members that only a ledger shows which was damaged, archived
// elsewhere, or written by another version.
var onlyInTrouble = []string{".fault.", ".unread.", ".skipped_versions[].", ".differences[].", "verify.checkpoint.", "[].codec", "[].raw"}

// TestTheDescriptionAndTheAnswersAgree makes every call, with every member that
// its body may have: what is answered is described, and what is described is
// answered.
func TestTheDescriptionAndTheAnswersAgree(t *testing.T) {
	a := openRich(t)
	d := &described{t: t, paths: a.get("/openapi.json")["paths"].(map[string]any), seen: map[string]bool{}}
	told := a.tellAll().String()
	made := map[string]bool{}
	do := func(call, path string, bodies ...string) {
		t.Helper()
		made[call] = true
		method, template, _ := strings.Cut(call, " ")
		if path == "" {
			path = template
		}
		op := d.op(call)
		want, schema := answerOf(op)
		for _, body := range append(bodies, "")[:max(1, len(bodies))] {
			status, text, res := a.call(method, path, body)
			if got := http.StatusText(status); jsonNumber(status) != want {
				t.Errorf("%s %s: %d %s, want %s: %s", method, path, status, got, want, text)
				continue
			}
			if schema != nil {
				d.check(call, schema, decodeAny(t, text))
			} else if kinds := op["responses"].(map[string]any)[want].(map[string]any)["content"].(map[string]any); method == http.MethodGet && kinds[media(res)] == nil && kinds["application/json"] == nil {
				t.Errorf("%s answers %s, want one of %v", call, media(res), kinds)
			}
			if body != "" {
				d.check(call+" body", bodyOf(op), decodeAny(t, body))
			}
		}
	}
	const p = "/api/v1"
	do("POST "+p+"/accounts/{id}/readings", p+"/accounts/c/readings", `{"source":"mine","observed_at":"2026-11-30T14:30:00Z","coverage":["5h"],
		"windows":[{"name":"5h","scope":"account","length_s":18000,"used":4,"limit":10,"used_percent":40,"remaining_percent":60,"reached":false,"resets_at":"2026-11-30T18:00:00Z","reported":true}],
		"credit":{"reached":false,"available":true,"used":1,"limit":2,"used_percent":50,"resets_at":"2026-12-30T18:00:00Z","models":[{"model":"m9","available":true,"credits_would_enable":true}]},
		"billing":{"plan":"paid","period_end":"2026-12-30T18:00:00Z"}}`)
	do("GET "+p+"/accounts", "")
	do("GET "+p+"/accounts/{id}", p+"/accounts/c")
	do("GET "+p+"/accounts/{id}", p+"/accounts/b")
	do("GET "+p+"/requests", "")
	do("GET "+p+"/requests", p+"/requests?limit=2")
	for _, id := range []string{a.story.FailedOver.String(), a.story.Trial.String(), a.story.Refused.String(), told} {
		do("GET "+p+"/requests/{id}", p+"/requests/"+id)
	}
	do("GET "+p+"/events", p+"/events?limit=1000")
	do("GET "+p+"/usage", "")
	do("GET "+p+"/usage", p+"/usage?by=day")
	do("GET "+p+"/feeds", "")
	do("GET "+p+"/feeds/{name}/poisoned", p+"/feeds/hook/poisoned")
	do("GET "+p+"/ledger", "")
	do("GET "+p+"/ledger/checkpoint", "")
	do("GET "+p+"/state", "")
	do("GET "+p+"/openapi.json", "")
	do("GET /healthz", "")
	do("GET /readyz", "")
	do("GET /metrics", "")
	do("POST "+p+"/ledger/verify", "")
	do("POST "+p+"/feeds/{name}/requeue", p+"/feeds/hook/requeue", `{"ids":["00000000-0000-7000-8000-000000000001"]}`)
	do("POST "+p+"/replay", "", `{"policy":{"when_exhausted":"refuse","reading_max_age":"240h","park_cap":"240h"},"since":"2026-11-30T00:00:00Z","until":"2026-12-30T00:00:00Z"}`)
	for _, verb := range []string{"release", "drain", "undrain", "park"} {
		do("POST "+p+"/accounts/{id}/"+verb, p+"/accounts/c/"+verb, `{"reason":"test","scope":"account","until":"2026-12-30T00:00:00Z"}`, `{"reason":"test","for":"2h"}`)
	}
	for path, calls := range d.paths {
		for method, op := range calls.(map[string]any) {
			call := strings.ToUpper(method) + " " + path
			if !made[call] && call != "GET "+p+"/events/stream" {
				t.Errorf("%s was not called", call)
			}
			_, schema := answerOf(op.(map[string]any))
			for _, member := range append(d.unseen(call, schema), d.unseen(call+" body", bodyOf(op.(map[string]any)))...) {
				if !slices.ContainsFunc(onlyInTrouble, func(s string) bool { return strings.Contains(member, s) }) {
					t.Errorf("%s is described, and no answer or body has it", member)
				}
			}
		}
	}
}

func media(res *http.Response) string {
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	return kind
}

func decodeAny(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// TestEveryDescribedParameterIsTakenAndNoOther asks every reading call with each
// parameter that any of them has.
func TestEveryDescribedParameterIsTakenAndNoOther(t *testing.T) {
	a := openRich(t)
	values := map[string]string{"limit": "1", "after": "1", "since": "2026-11-30T00:00:00Z", "until": "2026-12-30T00:00:00Z", "at": "2026-11-30T14:03:00Z", "position": "9",
		"account": "a", "request": a.story.Served.String(), "type": "attempt.routed", "model": "m1", "by": "day", "outcome": "served", "skipped": "a", "client": "app", "session": "s1", "order": "asc"}
	of := map[string]string{"/api/v1/accounts/{id}": "/api/v1/accounts/a", "/api/v1/requests/{id}": "/api/v1/requests/" + a.story.Served.String(), "/api/v1/feeds/{name}/poisoned": "/api/v1/feeds/hook/poisoned"}
	for template, calls := range a.get("/openapi.json")["paths"].(map[string]any) {
		op, ok := calls.(map[string]any)["get"].(map[string]any)
		if !ok || !strings.HasPrefix(template, "/api/") {
			continue
		}
		takes := map[string]bool{}
		for _, p := range op["parameters"].([]any) {
			if p := p.(map[string]any); p["in"] == "query" {
				takes[p["name"].(string)] = true
			}
		}
		path := template
		if p := of[template]; p != "" {
			path = p
		}
		for name, value := range values {
			status, _, _ := a.call(http.MethodHead, path+"?"+name+"="+value, "")
			if taken := status != http.StatusBadRequest; taken != takes[name] {
				t.Errorf("%s?%s=%s: %d, described: %t", template, name, value, status, takes[name])
			}
			delete(takes, name)
		}
		for name := range takes {
			t.Errorf("%s?%s is described, and the test does not know it", template, name)
		}
	}
}
