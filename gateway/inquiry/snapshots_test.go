package inquiry_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/gateway/views"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/sqlite"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/projections/usage"
	"github.com/waybill/waybill/test/played"
)

// without is a ledger that keeps no snapshots: what every answer must be equal
// to.
type without struct{ *ledger.Log }

func (without) Snapshots() ledger.Snapshots { return nil }

// history is a ledger of random traffic over accounts, with snapshots every
// few events.
func history(t *testing.T, accounts, n int) *ledger.Log {
	t.Helper()
	store, err := sqlite.Open(filepath.Join(t.TempDir(), "waybill.db"))
	if err != nil {
		t.Fatal(err)
	}
	names := played.Names(accounts)
	doc := played.Document(names...)
	doc.Policy.TrialWait, doc.Policy.PinWait = time.Millisecond, time.Millisecond // nobody answers while one waits here
	g := played.OpenWith(t, store, played.NewTicking(), doc, names...)
	t.Cleanup(g.Close)
	g.Spent(names[1], played.Begin.Add(24*3600e9))
	g.Ask(played.Answer{Class: events.ClassServerError, Status: 500})
	late := events.Header{Request: g.Ask(played.Answer{Hangs: true}), Attempt: 1, Account: names[0]}
	g.Do(late, events.FailureEvent(events.Failure{Class: events.ClassLost}))
	g.Traffic(5, n/2, 40)
	g.Do(late, &events.AttemptSucceeded{Answer: events.Answer{Status: 200}}) // it was not lost, and ended segments ago
	g.Traffic(6, n-n/2, 40)
	if err := views.NewKeeper(g.Log, 50, nil).Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	return g.Log
}

// alike asks a question with snapshots and without.
func alike(t *testing.T, log *ledger.Log, what string, ask func(inquiry.Log) (any, error)) {
	t.Helper()
	got, err := ask(log)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	want, err := ask(without{log})
	if err != nil {
		t.Fatalf("%s without snapshots: %v", what, err)
	}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if string(a) != string(b) {
		t.Errorf("%s:\nwith snapshots    %.600s\nwithout           %.600s", what, a, b)
	}
}

// moments are some positions of a ledger, its ends among them.
func moments(t *testing.T, log *ledger.Log) []inquiry.Moment {
	t.Helper()
	head, err := log.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := []inquiry.Moment{{Now: head.RecordedAt}}
	for _, p := range []events.Position{1, 49, 50, 51, head.Position / 3, head.Position / 2 / 50 * 50, head.Position - 1} {
		out = append(out, inquiry.Moment{Position: p, Now: head.RecordedAt})
	}
	return out
}

func TestEveryQuestionIsAnsweredAlikeWithAndWithoutSnapshots(t *testing.T) {
	for _, accounts := range []int{3, 24} {
		log := history(t, accounts, 260)
		head, _ := log.Head(t.Context())
		for _, m := range moments(t, log) {
			alike(t, log, fmt.Sprintf("accounts at %d", m.Position), func(l inquiry.Log) (any, error) {
				return inquiry.Accounts(t.Context(), l, m, "", "m1")
			})
			for name, q := range queries(head.Position) {
				alike(t, log, fmt.Sprintf("requests at %d, %s", m.Position, name), func(l inquiry.Log) (any, error) {
					rows, more, err := inquiry.RequestsAt(t.Context(), l, m, q)
					return []any{rows, more}, err
				})
			}
		}
		alike(t, log, "trouble", func(l inquiry.Log) (any, error) { return inquiry.Trouble(t.Context(), l, inquiry.Moment{}) })
		rows, _, err := inquiry.Requests(t.Context(), log, requests.Query{})
		if err != nil || len(rows) < 260 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		for i := 0; i < len(rows); i += 17 {
			alike(t, log, "the story of "+rows[i].Request.String(), func(l inquiry.Log) (any, error) {
				return inquiry.Story(t.Context(), l, rows[i].Request)
			})
		}
		for by := usage.Account; by <= usage.Day; by++ {
			mid := rows[len(rows)/2].Started
			for _, span := range [][2]events.Time{{}, {mid, 0}, {0, mid}, {mid, mid.Add(5e9)}} {
				alike(t, log, fmt.Sprintf("usage by %s in %v", by, span), func(l inquiry.Log) (any, error) {
					return inquiry.Usage(t.Context(), l, inquiry.Moment{}, inquiry.UsageOf{By: by, Since: span[0], Until: span[1]})
				})
			}
		}
	}
}

func queries(head events.Position) map[string]requests.Query {
	failed, open, refused := requests.Failed, requests.Open, requests.Refused
	return map[string]requests.Query{
		"all":                      {},
		"a page":                   {Limit: 20},
		"an old page":              {Limit: 20, Before: head / 3},
		"the oldest":               {Limit: 20, OldestFirst: true},
		"an old page, upwards":     {Limit: 20, After: head / 4, OldestFirst: true},
		"failed":                   {Outcome: &failed},
		"failed, a page":           {Outcome: &failed, Limit: 3},
		"open":                     {Outcome: &open},
		"refused":                  {Outcome: &refused, Limit: 5},
		"of an account":            {Account: "acct-02", Limit: 10},
		"skipped an account":       {Skipped: "acct-01", Limit: 10},
		"of nobody":                {Client: "nobody"},
		"of a client, another way": {Client: "app", Model: "m1", Limit: 10, OldestFirst: true},
		"of a session":             {Session: "17"},
		"from a time on":           {Since: played.Begin.Add(10e9), Limit: 10, OldestFirst: true},
		"up to a time":             {Until: played.Begin.Add(10e9), Limit: 10},
	}
}
