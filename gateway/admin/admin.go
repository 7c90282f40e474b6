// Package admin is the API of the people who run Waybill: accounts and why they
// are set aside, requests and their stories, events as stored, usage, the
// ledger's state, readings pushed from outside and operator actions. It reads
// views and the ledger, and it appends events; it decides nothing and it never
// shows a credential. It listens apart from the data plane.
package admin

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"github.com/gorilla/mux"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/checkpoint"
	"github.com/waybill/waybill/projections/requests"
	"github.com/waybill/waybill/projections/routing"
	"github.com/waybill/waybill/projections/usage"
)

// Engine is what the API needs of a running gateway.
type Engine interface {
	View(fn func(v routing.View, at events.Position, now events.Time))
	Requests(fn func(v *requests.View, at events.Position))
	InFlight(account uint32) int64
	Writer() uuid.UUID
	Append(ctx context.Context, drafts ...events.Draft) ([]events.Event, error)
	Now() events.Time
}

// Log is what the API needs of the ledger; *ledger.Log is one.
type Log interface {
	inquiry.Log
	Follow(ctx context.Context, after events.Position, fn func([]events.Event) error) error
	Size(ctx context.Context) (ledger.Size, error)
}

// Options make an API.
type Options struct {
	Engine     Engine
	Log        Log
	Token      string   // bearer token; "" leaves the API open to loopback only
	Hosts      []string // names that it may be asked by besides loopback, when it has no token
	Version    string
	About      About
	Ready      func(ctx context.Context) []Check // for /readyz
	Metrics    http.Handler                      // for /metrics, which guards itself
	Retention  func() Retention                  // nil: not told
	Checkpoint func() checkpoint.State           // the latest; nil: none are taken
	Spool      func() Spool                      // nil: not told
	Books      ledger.Books                      // of the feeds; nil: there are none
	Prices     func() *usage.Prices              // what tokens cost; nil, or none: not told
	Logger     *slog.Logger
}

// About is what the console says of the gateway.
type About struct {
	DataPlane string // its base URL
	Ledger    string // where it is, without a password
	Sandbox   bool   // a scripted upstream answers
}

// Check is one condition of readiness.
type Check struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	Note string `json:"note,omitempty"`
}

// API is the handler. Close ends its streams.
type API struct {
	o     Options
	guard Guard
	heavy chan struct{} // one question that reads the whole ledger at a time
	light chan struct{} // and few that read a part of it
	life  context.Context
	end   context.CancelFunc
	http  http.Handler
}

// New makes the API.
func New(o Options) *API {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a := &API{o: o, guard: NewGuard(o.Token, o.Hosts), heavy: make(chan struct{}, 1), light: make(chan struct{}, 8)}
	a.life, a.end = context.WithCancel(context.Background())
	a.http = a.router()
	return a
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.http.ServeHTTP(w, r) }

// Close ends the streams that are open, so that a server can shut down.
func (a *API) Close() { a.end() }

// route is one call of the API: how it is reached, what it does, and how it is
// described.
type route struct {
	method, path string
	serve        func(a *API, w http.ResponseWriter, r *http.Request) error
	doc          doc
}

// prefix is where the API stands.
const prefix = "/api/v1"

func (a *API) router() http.Handler {
	r := mux.NewRouter()
	takes := map[string][]string{}
	on := func(path, method string, h http.Handler) {
		methods := []string{method}
		if method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
		r.Methods(methods...).Path(path).Handler(h)
		takes[path] = append(takes[path], methods...)
	}
	for _, rt := range routes() {
		serve := rt.serve
		if rt.method != http.MethodGet {
			serve = ofJSON(serve)
		}
		on(prefix+rt.path, rt.method, a.guarded(serve))
	}
	on("/healthz", http.MethodGet, http.HandlerFunc(a.healthz))
	on("/readyz", http.MethodGet, http.HandlerFunc(a.readyz))
	if a.o.Metrics != nil {
		on("/metrics", http.MethodGet, a.o.Metrics)
	}
	for path, methods := range takes {
		r.Path(path).Handler(a.guarded(otherwise(methods)))
	}
	r.NotFoundHandler = a.guarded(func(*API, http.ResponseWriter, *http.Request) error {
		return problemf(http.StatusNotFound, "there is nothing at this path; see %s/openapi.json", prefix)
	})
	return r
}

// ofJSON serves those whose body is JSON.
func ofJSON(serve func(*API, http.ResponseWriter, *http.Request) error) func(*API, http.ResponseWriter, *http.Request) error {
	return func(a *API, w http.ResponseWriter, r *http.Request) error {
		if err := jsonOnly(r); err != nil {
			return err
		}
		return serve(a, w, r)
	}
}

// otherwise answers the methods that a path does not take, and OPTIONS, which
// asks for those that it does.
func otherwise(methods []string) func(*API, http.ResponseWriter, *http.Request) error {
	allow := strings.Join(append(methods, http.MethodOptions), ", ")
	return func(_ *API, w http.ResponseWriter, r *http.Request) error {
		w.Header().Set("Allow", allow)
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return nil
		}
		return problemf(http.StatusMethodNotAllowed, "this path takes %s; see %s/openapi.json", allow, prefix)
	}
}

// guarded lets only those in who may, and writes errors as problem details.
func (a *API) guarded(serve func(*API, http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Harden(w.Header())
		err := a.guard.admit(r)
		if err == nil {
			err = serve(a, w, r)
		}
		if err != nil {
			a.fail(w, r, err)
		}
	})
}

// alone runs a question that reads the whole ledger when no other one does.
func (a *API) alone(ctx context.Context, fn func(context.Context) error) error {
	return within(ctx, a.heavy, fn)
}

// few runs a question that reads a part of the ledger when not too many do.
func (a *API) few(ctx context.Context, fn func(context.Context) error) error {
	return within(ctx, a.light, fn)
}

func within(ctx context.Context, slots chan struct{}, fn func(context.Context) error) error {
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
		return fn(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

var _ Log = (*ledger.Log)(nil)

func parseID(r *http.Request) (uuid.UUID, error) {
	id, err := uuid.Parse(mux.Vars(r)["id"])
	if err != nil {
		return id, problemf(http.StatusBadRequest, "a request id is a UUID, as Waybill-Request-Id has it")
	}
	return id, nil
}
