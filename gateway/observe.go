package gateway

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/dialect"
	"github.com/waybill/waybill/gateway/provider"
)

// observeHead reads what the head of an answer says by itself.
func (a *attempt) observeHead() {
	h := a.resp.Header
	a.answer.UpstreamID = upstreamID(h)
	a.learnGroup()
	if a.Account.Settings.QuotaSource == "none" {
		return // the operator wants nothing to be read of quota
	}
	a.answer.Reading = a.up.Provider.Reading(&provider.Answer{
		Status: a.resp.StatusCode, Header: h, Model: a.Model, Dialect: a.x.speaks, At: a.x.g.engine.Now(),
	})
}

// learnGroup notes the upstream organisation that an answer names: accounts of
// one organisation share its limits (R21). It happens beside the request, once
// per account and name.
func (a *attempt) learnGroup() {
	p := a.up.Provider
	if p.Group == nil {
		return
	}
	group := p.Group(a.resp.Header)
	if group == "" || a.up.group.Swap(group) == group || strings.HasSuffix(a.Account.Settings.Group, group) {
		return
	}
	g, id := a.x.g, a.Account.ID
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), learnLimit)
		defer cancel()
		if err := g.engine.Learn(ctx, id, group); err != nil {
			g.log.Warn("a quota group could not be recorded", "account", id, "error", err)
		}
	}()
}

// learnLimit bounds the wait for the ledger beside a request.
const learnLimit = 10 * time.Second

// upstreamID is the provider's own request id.
func upstreamID(h http.Header) string {
	for _, name := range [...]string{"X-Request-Id", "Request-Id", "X-Goog-Request-Id", "Cf-Ray"} {
		if v := h[name]; len(v) > 0 && v[0] != "" {
			return v[0][:min(len(v[0]), 128)]
		}
	}
	return ""
}

// statusFailure is an answer whose status is no success.
func (a *attempt) statusFailure() *failure {
	f := &failure{status: a.resp.StatusCode, header: a.resp.Header}
	a.w.until(a.limit(a.Policy.FirstTokenTimeout, &errFirstTokenTimeout))
	var err error
	f.body, err = a.errorBody()
	if a.x.cut() != nil {
		return a.broken(err)
	}
	// A body that breaks off does not make the status less of an answer.
	f.whole = err == nil && len(f.body) <= headLimit
	f.body = f.body[:min(len(f.body), headLimit)]
	f.shouldRetry = a.resp.Header.Get("X-Should-Retry")
	f.finding = a.classify(f)
	return f
}

// errorBody is the beginning of an error's body, decoded; one byte beyond
// headLimit says that there is more.
func (a *attempt) errorBody() ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(a.resp.Body, headLimit+1))
	if err != nil {
		return raw, err
	}
	if a.coding, err = a.newCoding(); a.coding == nil || err != nil {
		return raw, err
	}
	plain, err := a.coding.all(raw)
	return plain[:min(len(plain), headLimit+1)], err
}

// errorFrame is an error inside a 200.
func (a *attempt) errorFrame(frame []byte) *failure {
	f := &failure{status: a.resp.StatusCode, header: a.resp.Header, body: bytes.Clone(frame), whole: true, frame: true}
	f.finding = a.classify(f)
	return f
}

func (a *attempt) classify(f *failure) provider.Finding {
	a.answer.AnsweredAt = a.x.g.engine.Now()
	if len(f.header["Waybill-Refusal"]) > 0 {
		return ownRefusal // the upstream is a Waybill, too: it judged its accounts, not ours (R17)
	}
	answer := provider.Answer{
		Status: f.status, Header: f.header, Body: f.body, Model: a.Model, Dialect: a.x.speaks,
		At: a.answer.AnsweredAt, Stream: f.frame,
	}
	return a.up.Provider.Classify(answer)
}

// ownRefusal is what a refusal of another Waybill means: nothing for the
// account, and another one may serve.
var ownRefusal = provider.Finding{Class: events.ClassOverloaded, Rule: "waybill:refusal", Scope: requestScope, Failover: provider.Always}

// noAnswer is a 200 whose JSON is no answer of its dialect: an error in the
// provider's own shape where its table knows it (MiniMax), else malformed.
func (a *attempt) noAnswer(why string, body []byte) *failure {
	if why == dialect.MalformedNoAnswer {
		if f := a.errorFrame(body[:min(len(body), headLimit)]); f.finding.ByRow() {
			return f
		}
	}
	return a.malformed(why, body)
}

// malformed is a 200 that is no answer.
func (a *attempt) malformed(why string, body []byte) *failure {
	if err := a.w.ctx.Err(); err != nil {
		return a.broken(err) // we have cut it off: an upstream may end its half cleanly
	}
	return &failure{
		status: a.resp.StatusCode, header: a.resp.Header, body: bytes.Clone(body[:min(len(body), headLimit)]), malformed: why,
		finding: provider.Finding{Class: events.ClassMalformed, Rule: "malformed:" + strings.ReplaceAll(why, " ", "_"), Scope: accountScope},
	}
}

// grows says that an answer is relayed as it comes: an event stream, a growing
// array, or bytes that nobody can look into (sound), whose first one commits.
func (a *attempt) grows() bool {
	media := mediaType(a.resp.Header)
	switch {
	case media == "text/event-stream":
		return true
	case a.x.req.Form == dialect.Array:
		return strings.HasSuffix(media, "json")
	}
	return a.x.route.Answer == dialect.Binary && !strings.HasPrefix(media, "text/html") && !strings.HasSuffix(media, "json")
}

// mediaType is the type of an answer without parameters, in lower case.
func mediaType(h http.Header) string {
	v := h["Content-Type"]
	if len(v) == 0 {
		return ""
	}
	media, _, _ := strings.Cut(v[0], ";")
	if media == "application/json" || media == "text/event-stream" {
		return media
	}
	return strings.ToLower(strings.TrimSpace(media))
}
