package admin

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections/requests"
)

// The bounds of a page.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// query reads parameters and remembers the first that is wrong; a parameter
// that the call does not know is wrong too, so that a typo filters nothing by
// accident.
type query struct {
	values url.Values
	known  map[string]bool
	err    error
}

func newQuery(r *http.Request) *query {
	values, err := url.ParseQuery(r.URL.RawQuery)
	q := &query{values: values, known: map[string]bool{}}
	if err != nil {
		q.err = problemf(http.StatusBadRequest, "the query cannot be read (%s): write name=value, joined by & and with %% signs escaped as %%25", err)
	}
	return q
}

func (q *query) get(name string) string {
	q.known[name] = true
	if len(q.values[name]) > 1 {
		q.refuse(name, "it once")
	}
	return q.values.Get(name)
}

func (q *query) refuse(name, want string) {
	if q.err == nil {
		q.err = problemf(http.StatusBadRequest, "parameter %s: want %s", name, want)
	}
}

func (q *query) time(name string) events.Time {
	s := q.get(name)
	if s == "" {
		return 0
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		q.refuse(name, "RFC 3339, for example 2026-11-30T14:03:00Z")
		return 0
	}
	return inquiry.Instant(t)
}

// span refuses one that nothing can lie in.
func (q *query) span(since, until events.Time) {
	if since != 0 && until != 0 && since >= until {
		q.refuse("until", "an instant after since: nothing lies between them")
	}
}

func (q *query) number(name string, def, most uint64) uint64 {
	s := q.get(name)
	if s == "" {
		return def
	}
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		q.refuse(name, "a whole number")
		return def
	}
	if most != 0 && (n == 0 || n > most) {
		q.refuse(name, "1 to "+strconv.FormatUint(most, 10))
	}
	return n
}

func (q *query) position(name string) events.Position { return events.Position(q.number(name, 0, 0)) }

func (q *query) limit() int { return int(q.number("limit", defaultLimit, maxLimit)) }

// done is the first thing that was wrong.
func (q *query) done() error {
	for name := range q.values {
		if q.err == nil && !q.known[name] {
			q.err = problemf(http.StatusBadRequest, "parameter %s is not known here; see %s/openapi.json", strconv.Quote(name), prefix)
		}
	}
	return q.err
}

// moment reads at and position.
func (q *query) moment(now events.Time) (m inquiry.Moment, asked bool) {
	m = inquiry.Moment{Time: q.time("at"), Position: q.position("position"), Now: now}
	if m.Time != 0 && m.Position != 0 {
		q.refuse("at", "either at or position")
	}
	if q.get("position") == "0" {
		q.refuse("position", "1 or more: the ledger begins there")
	}
	if inquiry.Come(m.Time, now) != nil {
		q.refuse("at", "an instant that has come: the ledger holds the past")
	}
	return m, m.Time != 0 || m.Position != 0
}

// filter reads what narrows events.
func (q *query) filter() ledger.Filter {
	f := ledger.Filter{Account: q.get("account"), Since: q.time("since"), Until: q.time("until")}
	q.span(f.Since, f.Until)
	if s := q.get("request"); s != "" {
		id, err := uuid.Parse(s)
		if err != nil {
			q.refuse("request", "a request id")
		}
		f.Request = id
	}
	for _, name := range strings.FieldsFunc(q.get("type"), func(r rune) bool { return r == ',' }) {
		k, ok := events.ParseKind(name)
		if !ok {
			q.refuse("type", "event types such as attempt.routed, separated by commas")
		}
		f.Kinds = append(f.Kinds, k)
	}
	if q.get("type") != "" && len(f.Kinds) == 0 {
		q.refuse("type", "event types such as attempt.routed, separated by commas")
	}
	return f
}

// requests reads what narrows a list of requests.
func (q *query) requests() requests.Query {
	out := requests.Query{Since: q.time("since"), Until: q.time("until"), Account: q.get("account"), Skipped: q.get("skipped"),
		Client: q.get("client"), Model: q.get("model"), Session: q.get("session"), Limit: q.limit()}
	q.span(out.Since, out.Until)
	if s := q.get("outcome"); s != "" {
		o, ok := requests.ParseOutcome(s)
		if !ok {
			q.refuse("outcome", "served, failed, refused, aborted or open")
		}
		out.Outcome = &o
	}
	after := q.position("after")
	switch q.get("order") {
	case "", "desc":
		out.Before = after
	case "asc":
		out.After, out.OldestFirst = after, true
	default:
		q.refuse("order", "asc or desc")
	}
	return out
}
