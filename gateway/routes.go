package gateway

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/gorilla/mux"

	"github.com/waybill/waybill/events"
)

// kind is what a route does.
type kind uint8

const (
	kindRelay     kind = iota // decide, dispatch, relay
	kindStored                // GET or DELETE of something that one account made
	kindModels                // the list of routable models
	kindModel                 // one of them
	kindAlive                 // HEAD /: public
	kindPathModel             // as kindRelay, the model stands in the path
)

// route is one row of the data plane. Everything that is not here is a 404.
type route struct {
	index   int
	method  string
	pattern string
	dialect events.Dialect
	kind    kind
	// version and path make the upstream's path: /v1/chat/completions. The
	// version is dropped where the account's base URL already has one.
	version, path string
}

// newRoutes is the route table, the busiest first.
func newRoutes() []*route {
	all := []*route{
		{method: "POST", pattern: "/v1/chat/completions", dialect: events.DialectOpenAI, path: "/chat/completions"},
		{method: "POST", pattern: "/v1/messages", dialect: events.DialectAnthropic, path: "/messages"},
		{method: "POST", pattern: "/v1/responses", dialect: events.DialectOpenAI, path: "/responses"},
		{method: "POST", pattern: "/v1beta/models/{model:.+}:{method:[A-Za-z]+}", dialect: events.DialectGemini, kind: kindPathModel, version: "v1beta", path: "/models/"},
		{method: "POST", pattern: "/v1/models/{model:.+}:{method:[A-Za-z]+}", dialect: events.DialectGemini, kind: kindPathModel, path: "/models/"},
		{method: "POST", pattern: "/v1/embeddings", dialect: events.DialectOpenAI, path: "/embeddings"},
		{method: "POST", pattern: "/v1/completions", dialect: events.DialectOpenAI, path: "/completions"},
		{method: "POST", pattern: "/v1/messages/count_tokens", dialect: events.DialectAnthropic, path: "/messages/count_tokens"},
		{method: "POST", pattern: "/v1/moderations", dialect: events.DialectOpenAI, path: "/moderations"},
		{method: "POST", pattern: "/v1/images/generations", dialect: events.DialectOpenAI, path: "/images/generations"},
		{method: "POST", pattern: "/v1/images/edits", dialect: events.DialectOpenAI, path: "/images/edits"},
		{method: "POST", pattern: "/v1/images/variations", dialect: events.DialectOpenAI, path: "/images/variations"},
		{method: "POST", pattern: "/v1/audio/speech", dialect: events.DialectOpenAI, path: "/audio/speech"},
		{method: "POST", pattern: "/v1/audio/transcriptions", dialect: events.DialectOpenAI, path: "/audio/transcriptions"},
		{method: "POST", pattern: "/v1/audio/translations", dialect: events.DialectOpenAI, path: "/audio/translations"},
		{method: "GET", pattern: "/v1/responses/{id}", dialect: events.DialectOpenAI, kind: kindStored, path: "/responses/"},
		{method: "DELETE", pattern: "/v1/responses/{id}", dialect: events.DialectOpenAI, kind: kindStored, path: "/responses/"},
		{method: "GET", pattern: "/v1/models", dialect: events.DialectOpenAI, kind: kindModels},
		{method: "GET", pattern: "/v1/models/{model:.+}", dialect: events.DialectOpenAI, kind: kindModel},
		{method: "GET", pattern: "/v1beta/models", dialect: events.DialectGemini, kind: kindModels},
		{method: "GET", pattern: "/v1beta/models/{model:.+}", dialect: events.DialectGemini, kind: kindModel},
		{method: "HEAD", pattern: "/", dialect: events.DialectOpenAI, kind: kindAlive},
	}
	for i, r := range all {
		r.index = i
		if r.version == "" {
			r.version = "v1"
		}
	}
	return all
}

// ServeHTTP satisfies http.Handler, so that a route can be found by the
// router; requests are served by Gateway.ServeHTTP.
func (*route) ServeHTTP(http.ResponseWriter, *http.Request) {}

// table finds the route of a request. Paths are matched as they were sent:
// nothing is cleaned, decoded, lower-cased or redirected first.
type table struct {
	routes []*route
	router *mux.Router
}

func newTable() *table {
	t := &table{routes: newRoutes(), router: mux.NewRouter().SkipClean(true).UseEncodedPath()}
	for _, r := range t.routes {
		t.router.Handle(r.pattern, r).Methods(r.method)
	}
	return t
}

// find is the request's route and the variables in its path, decoded; nil when
// there is none. other says that the path exists under another method.
func (t *table) find(r *http.Request) (found *route, vars map[string]string, other bool) {
	var m mux.RouteMatch
	if !t.router.Match(r, &m) || m.Handler == nil {
		return nil, nil, m.MatchErr == mux.ErrMethodMismatch
	}
	found, ok := m.Handler.(*route)
	if !ok {
		return nil, nil, false
	}
	for name, v := range m.Vars {
		decoded, err := url.PathUnescape(v)
		if err != nil {
			return nil, nil, false
		}
		m.Vars[name] = decoded
	}
	return found, m.Vars, false
}

// dialectOf is the protocol whose error shape a request expects, also where it
// has no route.
func dialectOf(r *http.Request) events.Dialect {
	switch path := r.URL.Path; {
	case strings.HasPrefix(path, "/v1/messages"):
		return events.DialectAnthropic
	case strings.HasPrefix(path, "/v1beta"):
		return events.DialectGemini
	case strings.HasPrefix(path, "/v1/models"):
		if len(r.Header["Anthropic-Version"]) > 0 {
			return events.DialectAnthropic
		}
		if strings.HasPrefix(path, "/v1/models/") && strings.Contains(path, ":") && r.Method == http.MethodPost {
			return events.DialectGemini
		}
	}
	return events.DialectOpenAI
}

// routableModel says that a model name from a path may be part of another
// path: no traversal, no second query, nothing unprintable, no endless name.
func routableModel(m string) bool {
	if m == "" || len(m) > maxModel {
		return false
	}
	for i := range len(m) {
		if c := m[i]; c < 0x21 || c == 0x7f || c == '?' || c == '#' || c == '\\' || c == '%' {
			return false
		}
	}
	for seg := range strings.SplitSeq(m, "/") {
		if seg == "" || seg == "." || seg == ".." {
			return false
		}
	}
	return true
}

// maxModel bounds a model name; the longest known one has 90 bytes.
const maxModel = 256
