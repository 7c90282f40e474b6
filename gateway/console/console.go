// Package console is the gateway's pages for people: every account and why it
// is set aside, every request and its story, every event as stored, the ledger,
// what-if and usage, now or as of any instant. It asks what the admin API asks,
// shows the sentences that package story tells, and adds no judgement of its
// own. It must not know how a verdict comes about, nor where the ledger is kept.
package console

import (
	"crypto/rand"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"

	"github.com/gorilla/mux"

	"github.com/waybill/waybill/gateway/admin"
)

// Options make a console.
type Options struct {
	API    *admin.API // whose questions it asks and beside which it stands
	Logger *slog.Logger
}

// Console is the handler of the admin address: pages, and the API under its own
// paths. Close ends what runs in the background.
type Console struct {
	api      *admin.API
	log      *slog.Logger
	pages    pages
	sessions *sessions
	jobs     *jobs
	start    opening
	http     http.Handler
}

// New makes the console.
func New(o Options) (*Console, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Console{api: o.API, log: o.Logger, sessions: newSessions(rand.Reader), jobs: newJobs()}
	var err error
	if c.pages, err = parsePages(); err != nil {
		return nil, err
	}
	c.http = c.router()
	return c, nil
}

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.http.ServeHTTP(w, r) }

// Close ends the questions that run in the background.
func (c *Console) Close() { c.jobs.close() }

func (c *Console) router() http.Handler {
	r := mux.NewRouter()
	r.MatcherFunc(ofAPI).Handler(c.api)
	r.Methods(http.MethodGet, http.MethodHead).PathPrefix("/static/").Handler(c.static())
	get := func(path string, serve func(*visit) error) {
		r.Methods(http.MethodGet, http.MethodHead).Path(path).Handler(c.page(serve))
	}
	post := func(path string, serve func(*visit) error) {
		r.Methods(http.MethodPost).Path(path).Handler(c.page(serve))
	}
	r.Methods(http.MethodGet, http.MethodHead).Path("/login").Handler(c.open(login))
	r.Methods(http.MethodPost).Path("/login").Handler(c.open(enter))
	post("/logout", leave)
	get("/", accounts)
	get("/accounts/{id}", account)
	get("/accounts/{id}/timeline", timeline)
	post("/accounts/{id}/{verb}", operate)
	get("/requests", requestList)
	get("/requests/{id}", request)
	get("/events", eventList)
	get("/events/{position}", event)
	get("/usage", usagePage)
	get("/ledger", ledgerView)
	post("/ledger/verify", verify)
	get("/what-if", whatIf)
	post("/what-if", runWhatIf)
	get("/jobs/{job}", jobPage)
	post("/jobs/{job}/cancel", cancelJob)
	r.NotFoundHandler = c.page(func(*visit) error { return notFound("There is no page here.") })
	r.MethodNotAllowedHandler = c.page(func(*visit) error {
		return &admin.Problem{Status: http.StatusMethodNotAllowed, Title: http.StatusText(http.StatusMethodNotAllowed), Detail: "This page does not take that method."}
	})
	return r
}

// ofAPI says whether a request is for the API and not for a page.
func ofAPI(r *http.Request, _ *mux.RouteMatch) bool {
	switch r.URL.Path {
	case "/healthz", "/readyz", "/metrics", "/api":
		return true
	}
	return strings.HasPrefix(r.URL.Path, "/api/")
}

// static serves the embedded files under a name that changes with them.
func (c *Console) static() http.Handler {
	sub, err := fs.Sub(files, "static")
	if err != nil {
		panic(err) // the directory is embedded
	}
	serve := http.StripPrefix(c.pages.base, http.FileServerFS(sub))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		admin.Harden(w.Header())
		if !strings.HasPrefix(r.URL.Path, c.pages.base+"/") || strings.HasSuffix(r.URL.Path, "/") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		serve.ServeHTTP(w, r)
	})
}

func notFound(detail string) error {
	return &admin.Problem{Status: http.StatusNotFound, Title: http.StatusText(http.StatusNotFound), Detail: detail}
}

func badRequest(detail string) error {
	return &admin.Problem{Status: http.StatusBadRequest, Title: http.StatusText(http.StatusBadRequest), Detail: detail}
}
