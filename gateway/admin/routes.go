package admin

import (
	"net/http"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections/story"
	"github.com/waybill/waybill/projections/usage"
	"github.com/waybill/waybill/projections/whatif"
)

// doc describes a call for people and for openapi.json.
type doc struct {
	summary string
	params  []param
	body    any // a value of the body's type
	status  int // of success; 0 is 200
	answer  any // a value of the answer's type; nil: described by media
	media   string
	open    bool // it asks for no token
}

// param is a query parameter.
type param struct{ name, format, about string }

var (
	pageParams = []param{{"limit", "integer", "how many at most (1000)"}, {"after", "integer", "go on after this: the former page's next"}}
	timeParams = []param{{"since", "date-time", "not before"}, {"until", "date-time", "before"}}
	asofParams = []param{{"at", "date-time", "as of an instant"}, {"position", "integer", "as of a position of the ledger"}}
	modelParam = []param{{"model", "string", "about this model"}}
)

// routes is the one table of the API.
func routes() []route {
	return append(reads(), writes()...)
}

func reads() []route {
	get := http.MethodGet
	eventFilter := join([]param{{"account", "string", ""}, {"request", "uuid", ""}, {"type", "string", "one or more types, separated by commas"}}, timeParams)
	return []route{
		{get, "/accounts", (*API).accounts, doc{summary: "All accounts: state, verdict, windows, credit", params: join(asofParams, modelParam, pageParams), answer: list[story.Account]{}}},
		{get, "/accounts/{id}", (*API).account, doc{summary: "One account, and of a model where one is named", params: join(asofParams, modelParam), answer: story.Account{}}},
		{get, "/requests", (*API).requestRows, doc{summary: "One row per request, newest first, refused ones included", params: join([]param{
			{"outcome", "string", "served, failed, refused, aborted or open"}, {"account", "string", "tried or serving"}, {"skipped", "string", "an account that a verdict kept out"},
			{"client", "string", ""}, {"model", "string", "as asked"}, {"session", "string", "as the client named it, or its digest"}, {"order", "string", "desc (default) or asc"}},
			timeParams, asofParams, pageParams), answer: list[story.Row]{}}},
		{get, "/requests/{id}", (*API).request, doc{summary: "The whole story of a request: decisions, candidates, evidence, attempts, replay", params: asofParams, answer: story.Request{}}},
		{get, "/events", (*API).events, doc{summary: "Events as stored", params: join(eventFilter, asofParams, pageParams), answer: list[events.Event]{}}},
		{get, "/events/stream", (*API).stream, doc{summary: "Events as they are committed (server-sent events); goes on behind the header Last-Event-ID; frames of the kind position say how far it is", params: join(eventFilter, []param{{"after", "integer", "start after this position; without it, now"}}), media: "text/event-stream"}},
		{get, "/usage", (*API).usage, doc{summary: "Requests, tokens, skips and refusals", params: join([]param{{"by", "string", "account (default), model, client or day"}}, timeParams, asofParams, pageParams), answer: list[usage.Sum]{}}},
		{get, "/feeds", (*API).feeds, doc{summary: "Consumers of committed events: how far they are, and what they did not take", params: pageParams, answer: list[inquiry.Feed]{}}},
		{get, "/feeds/{name}/poisoned", (*API).poisoned, doc{summary: "Messages that a consumer did not take", params: pageParams, answer: list[ledger.Message]{}}},
		{get, "/ledger", (*API).ledger, doc{summary: "Where the ledger ends, and how far the views are", params: asofParams, answer: LedgerState{}}},
		{get, "/ledger/checkpoint", (*API).checkpoint, doc{summary: "The latest signed checkpoint of the ledger, for `waybill verify --checkpoint`", media: "text/plain"}},
		{get, "/state", (*API).state, doc{summary: "Digests of the live views' canonical state, for rebuild --check", answer: list[inquiry.State]{}}},
		{get, "/openapi.json", (*API).openapi, doc{summary: "This description", media: "application/json"}},
	}
}

func writes() []route {
	post := http.MethodPost
	out := []route{
		{post, "/accounts/{id}/readings", (*API).reading, doc{summary: "Append a quota reading from your own scraper", body: readingBody{}, status: http.StatusAccepted, answer: accepted{}}},
		{post, "/feeds/{name}/requeue", (*API).requeue, doc{summary: "Have messages that were not taken delivered again; all without ids", body: requeueAsk{}, status: http.StatusAccepted, answer: requeueDone{}}},
		{post, "/replay", (*API).replay, doc{summary: "What recorded traffic would have come to under another policy", body: replayAsk{}, answer: whatif.Result{}}},
		{post, "/ledger/verify", (*API).verify, doc{summary: "Check the chain and derive every decision again", answer: inquiry.Verdict{}}},
	}
	for _, v := range Verbs() {
		out = append(out, route{post, "/accounts/{id}/" + v.Name, operate(v.Name), doc{summary: v.Summary, body: Action{}, answer: accepted{}}})
	}
	return out
}

func join(lists ...[]param) []param {
	var out []param
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// outside are the calls that stand beside the API.
func outside() []route {
	get := http.MethodGet
	return []route{
		{get, "/healthz", nil, doc{summary: "Whether the process answers; needs no token", answer: alive{}, open: true}},
		{get, "/readyz", nil, doc{summary: "Whether the gateway can do its work now, and what is missing (503); needs no token", answer: readiness{}, open: true}},
		{get, "/metrics", nil, doc{summary: "Series for Prometheus; takes the metrics token too", media: "text/plain"}},
	}
}
