package gateway

import (
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/body"
	"github.com/waybill/waybill/gateway/dialect"
)

// exchange is one client request on its way through the stages.
type exchange struct {
	g     *Gateway
	cfg   *setup
	w     http.ResponseWriter
	r     *http.Request
	begun time.Time

	id     uuid.UUID
	idText string
	route  *route
	vars   map[string]string
	speaks events.Dialect
	client *Client
	use    *allowance

	body    *body.Body // nil when the operation has none
	head    dialect.Head
	req     dialect.Request
	session events.Digest
	tie     uint32

	tries     tries
	status    int   // what the client got, 0 while nothing was sent
	sent      int64 // bytes of the answer's body
	firstByte time.Duration
	code      string // of a refusal
	patience  bool   // a write deadline was set
	end       string // how it ended, for the log line
}

// ServeHTTP is a request's whole life.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{g: g, cfg: g.config.Load(), w: w, r: r, begun: time.Now(), id: g.engine.NewID()}
	x.idText = x.id.String()
	w.Header()["Waybill-Request-Id"] = []string{x.idText}
	defer x.over()
	x.serve()
}

// serve authenticates before it looks for a route, so that no spelling of a
// path stands outside of the check.
func (x *exchange) serve() {
	x.speaks = dialectOf(x.r)
	if x.r.Method == http.MethodHead && x.r.URL.Path == "/" {
		x.status = http.StatusOK
		return
	}
	client, why := x.cfg.authenticate(x.r, x.speaks)
	if client == nil {
		x.refuse(dialect.Refusal{Code: "unauthorized", Status: http.StatusUnauthorized, Message: why})
		return
	}
	x.client = client
	route, vars, other := x.g.table.find(x.r)
	if route == nil {
		x.lost(other)
		return
	}
	x.route, x.vars = route, vars
	if !x.admitClient() {
		return
	}
	switch {
	case x.route.Local:
		x.listModels()
	case x.decode():
		x.relay()
	}
}

// lost answers a path that is not part of the data plane.
func (x *exchange) lost(otherMethod bool) {
	if otherMethod {
		x.turnAway(dialect.Refusal{Code: "method_not_allowed", Status: http.StatusMethodNotAllowed, Message: "this path does not take " + x.r.Method})
		return
	}
	x.turnAway(dialect.Refusal{Code: "not_found", Status: http.StatusNotFound, Message: "no such path on this gateway"})
}

// admitClient holds the client to its own limits.
func (x *exchange) admitClient() bool {
	c := x.client
	if c.RPM == 0 && c.MaxConcurrent == 0 {
		return true
	}
	use := x.g.limits.of(c.ID)
	wait, code := use.take(c, x.begun)
	if code == "" {
		x.use = use
		return true
	}
	x.turnAway(dialect.Refusal{Code: code, Status: http.StatusTooManyRequests, RetryAfter: ceilSeconds(wait), Message: clientLimitText(code)})
	return false
}

func clientLimitText(code string) string {
	if code == codeClientRate {
		return "this client key has used its requests of this minute"
	}
	return "this client key has as many requests in flight as it may"
}

// ceilSeconds rounds up to whole seconds, at least one.
func ceilSeconds(d time.Duration) int64 {
	return max(1, int64((d+time.Second-1)/time.Second))
}

// over runs at the end of every request, whatever ended it: it gives back what
// was taken and writes the one log line.
func (x *exchange) over() {
	fault := recover()
	if x.use != nil {
		x.use.release()
	}
	if x.body != nil {
		x.body.Close()
	}
	aborted := false
	if fault != nil {
		aborted = x.afterPanic(fault)
	}
	x.summarize()
	if x.patience {
		_ = http.NewResponseController(x.w).SetWriteDeadline(time.Time{}) // the next request's is another
	}
	if aborted || x.end == endAborted && x.status == 0 {
		// The server closes the connection without ending the answer: nobody
		// must take what there is, or nothing, for a whole one.
		panic(http.ErrAbortHandler)
	}
}

// afterPanic keeps a fault of one request from becoming more than that. It
// says whether the client's connection has to be cut.
func (x *exchange) afterPanic(fault any) (cut bool) {
	if err, ok := fault.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		return true
	}
	x.g.logFault(x, fault)
	x.tries.abandon()
	x.searched(events.ClassLost, ownReply(internal()))
	if x.status != 0 {
		return true
	}
	x.refuse(internal())
	return false
}
