package gateway

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/gorilla/mux"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/dialect"
)

// route is one operation in the router. Everything that is not in the table is
// a 404.
type route struct {
	*dialect.Operation
	index int
}

// ServeHTTP satisfies http.Handler, so that the router can hold a route;
// requests are served by Gateway.ServeHTTP.
func (*route) ServeHTTP(http.ResponseWriter, *http.Request) {}

// table finds the route of a request. Paths are matched as they were sent:
// nothing is cleaned, decoded, lower-cased or redirected first.
type table struct {
	routes []*route
	router *mux.Router
}

func newTable() *table {
	t := &table{router: mux.NewRouter().SkipClean(true).UseEncodedPath()}
	for i, op := range dialect.Operations() {
		r := &route{Operation: op, index: i}
		t.routes = append(t.routes, r)
		t.router.Handle(op.Path, r).Methods(op.Method)
	}
	return t
}

// find is the request's route and the variables in its path, decoded; nil when
// there is none. other says that the path exists under another method.
func (t *table) find(r *http.Request) (found *route, vars map[string]string, other bool) {
	var m mux.RouteMatch
	if !t.router.Match(r, &m) || m.Handler == nil {
		return nil, nil, errors.Is(m.MatchErr, mux.ErrMethodMismatch)
	}
	found, ok := m.Handler.(*route)
	if !ok {
		return nil, nil, false
	}
	for name, v := range m.Vars {
		decoded, err := url.PathUnescape(v)
		if err != nil || !plainSegment(decoded) {
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
		if r.Method == http.MethodPost {
			return events.DialectGemini
		}
	}
	return events.DialectOpenAI
}

// plainSegment says that a variable of a path may be part of another path: no
// traversal, no second query, nothing unprintable, no endless name (B145).
func plainSegment(m string) bool {
	if m == "" || len(m) > maxSegment {
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

// maxSegment bounds a model name or a response id in a path; the longest known
// has about 100 bytes.
const maxSegment = 256
