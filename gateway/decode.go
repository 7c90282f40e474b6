package gateway

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/dialect"
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
		x.refuse(dialect.Refusal{Code: "model_not_allowed", Status: http.StatusForbidden, Message: "this client key may not use this model"})
		return false
	}
	x.tieUp()
	return true
}

// notARequest answers a request that cannot be read.
func (x *exchange) notARequest(err error) bool {
	var bad *dialect.Error
	switch {
	case errors.As(err, &bad):
		x.badRequest(bad)
	case x.r.Context().Err() != nil:
		x.end = endAborted
	default:
		x.badRequest(&dialect.Error{Status: http.StatusBadRequest, Code: "invalid_request", Message: "the request body could not be read"})
	}
	return false
}

// mayUse holds the client to the models that its key allows.
func (x *exchange) mayUse(model string) bool {
	if len(x.client.Models) == 0 || model == "" {
		return true
	}
	for _, glob := range x.client.Models {
		if events.Glob(glob, model) {
			return true
		}
	}
	return false
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
		x.session = events.DigestOf("waybill session", x.client.ID, hint)
	}
	if account := x.g.made.of(x.req.Tie); account != "" {
		x.tie = x.g.rosterNumber(account)
	}
}

// readBody takes the body in, through the reader.
func (x *exchange) readBody(reader *dialect.Reader) error {
	b, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, 64<<20))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return &dialect.Error{Status: http.StatusRequestEntityTooLarge, Code: "body_too_large", Message: "the request body is larger than max_body"}
	}
	if err != nil {
		return err
	}
	x.raw = b
	_, err = reader.Write(b)
	return err
}

// content is the body for one attempt: the client's bytes, but for the name of
// the model where another is sent.
func (x *exchange) content(model string) (io.ReadCloser, int64, error) {
	if x.route.Model == dialect.Nowhere {
		return nil, 0, nil
	}
	b := x.raw
	if edits := x.req.Rewrite(model); len(edits) > 0 {
		var out []byte
		at := int64(0)
		for _, e := range edits {
			out = append(append(out, b[at:e.From]...), e.With...)
			at = e.To
		}
		b = append(out, b[at:]...)
	}
	return io.NopCloser(bytes.NewReader(b)), int64(len(b)), nil
}
