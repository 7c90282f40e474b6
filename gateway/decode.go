package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/body"
	"github.com/waybill/waybill/gateway/dialect"
	"github.com/waybill/waybill/projections/routing"
)

// decode reads the whole request before anybody is asked: what it is, which
// model and session it names. It answers the client itself when the request
// cannot be one.
func (x *exchange) decode() bool {
	x.head = dialect.Head{Model: x.vars["model"], ID: x.vars["id"], Query: x.r.URL.RawQuery}
	if v := x.r.Header["Content-Type"]; len(v) > 0 {
		x.head.ContentType = v[0]
	}
	reader, err := x.route.Reader(x.head)
	if err != nil {
		return x.notARequest(err)
	}
	if x.route.Model != dialect.Nowhere {
		if err := x.readBody(reader); err != nil {
			return x.notARequest(err)
		}
	}
	if x.req, err = reader.Request(); err != nil {
		return x.notARequest(err)
	}
	if !x.mayUse(x.req.Model) {
		x.turnAway(dialect.Refusal{Code: "model_not_allowed", Status: http.StatusForbidden, Message: "this client key may not use this model"})
		return false
	}
	x.tieUp()
	return x.keyAgrees()
}

// notARequest answers a request that cannot be read.
func (x *exchange) notARequest(err error) bool {
	var bad *dialect.Error
	switch {
	case errors.As(err, &bad):
		x.badRequest(bad)
	case x.r.Context().Err() != nil, errors.Is(err, io.ErrUnexpectedEOF):
		x.end = endAborted // the client left before it had said everything
	default:
		x.badRequest(&dialect.Error{Status: http.StatusBadRequest, Code: "invalid_request", Message: "the request body could not be read"})
	}
	return false
}

// mayUse holds the client to the models that its key allows.
func (x *exchange) mayUse(model string) bool {
	return model == "" || events.GlobAny(x.client.Models, model)
}

// tieUp names the request's session and the account that it is tied to. The
// client is part of the session's name: two clients with one hint are two
// sessions (B098).
func (x *exchange) tieUp() {
	hint := x.req.Session
	if v := x.r.Header["Waybill-Session"]; len(v) > 0 && v[0] != "" {
		hint = v[0]
	}
	if hint != "" {
		x.session = events.SessionDigest(x.client.ID, hint)
	}
	x.tie = x.madeBy(x.req.Tie)
}

// readBody takes the body in, decoded, through the reader: all of it is here
// before anybody is dialled, so that every attempt can send it again.
func (x *exchange) readBody(reader *dialect.Reader) error {
	limits := body.Limits{Max: x.g.maxBody(), Expect: x.r.ContentLength, Dir: x.cfg.SpoolDir}
	if limits.Expect > limits.Max {
		return x.bodyFault(body.ErrTooLarge)
	}
	b, err := body.Read(x.r.Body, strings.Join(x.r.Header["Content-Encoding"], ","), limits, reader)
	if err != nil {
		return x.bodyFault(err)
	}
	x.body = b
	return nil
}

// bodyFault tells the client what is wrong with its body. Nothing more of one
// that is too large is read: the connection ends with the answer.
func (x *exchange) bodyFault(err error) error {
	switch {
	case errors.Is(err, body.ErrTooLarge):
		x.w.Header()["Connection"] = []string{"close"}
		return &dialect.Error{Status: http.StatusRequestEntityTooLarge, Code: "body_too_large", Message: fmt.Sprintf("the request body is larger than max_body, %d bytes", x.g.maxBody())}
	case errors.Is(err, body.ErrCoding):
		return &dialect.Error{Status: http.StatusUnsupportedMediaType, Code: "unsupported_encoding", Message: "the request body's Content-Encoding is none of gzip, zstd, deflate, br, identity"}
	case errors.Is(err, body.ErrCorrupt):
		return &dialect.Error{Status: http.StatusBadRequest, Code: "invalid_request", Message: "the request body cannot be decoded by its Content-Encoding"}
	}
	return err
}

// maxBody is the policy's bound on bodies, in bytes.
func (g *Gateway) maxBody() (n int64) {
	g.engine.View(func(v routing.View, _ events.Position, _ events.Time) {
		doc, _ := v.Admission.Document()
		n = int64(doc.Policy.MaxBody)
	})
	return n
}

// content is the body for one attempt: the client's bytes, but for the name of
// the model where another is sent.
func (x *exchange) content(model string) (io.ReadCloser, int64) {
	if x.body == nil {
		return nil, 0
	}
	edits := x.req.Rewrite(model)
	if b, ok := x.body.Bytes(edits...); ok {
		// The transport knows this reader: head and body leave in one write.
		return io.NopCloser(bytes.NewReader(b)), int64(len(b))
	}
	return x.body.Open(edits...), x.body.Len(edits...)
}
