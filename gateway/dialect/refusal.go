package dialect

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/waybill/waybill/events"
)

// noRetryAbove is the Retry-After, in seconds, above which an answer also says
// X-Should-Retry: false, because several SDKs ignore a long one and come back
// at once (R17).
const noRetryAbove = 60

// Refusal is an answer that Waybill makes itself, or puts in the place of an
// upstream's (R17). It is the one writer of such answers.
type Refusal struct {
	Dialect    events.Dialect
	Status     int
	Code       string // Waybill-Refusal: accounts_exhausted, unauthorized, ...
	Message    string // for people, without the closing line
	Param      string // the request's member at fault, "" when none
	RetryAfter int64  // seconds, 0: the header is absent
	NoRetry    bool   // X-Should-Retry: false although the wait is short
	Request    string // the request's id
	ResetsAt   int64  // unix seconds, set for a Codex client: it shows this instant instead of trying again
}

// RefusalOf is the refusal that a bad request gets.
func RefusalOf(d events.Dialect, err *Error, request string) Refusal {
	return Refusal{Dialect: d, Status: err.Status, Code: err.Code, Message: err.Message, Param: err.Param, Request: request}
}

// Write sends the refusal.
func (r *Refusal) Write(w http.ResponseWriter) {
	r.setHeader(w.Header())
	b := r.Body()
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(r.Status)
	_, _ = w.Write(b) // a client that left needs no answer
}

// setHeader sets the refusal's headers.
func (r *Refusal) setHeader(h http.Header) {
	h.Set("Content-Type", "application/json")
	h.Set("Waybill-Refusal", r.Code)
	h.Set("Waybill-Request-Id", r.Request)
	switch r.Dialect {
	case events.DialectAnthropic:
		h.Set("Request-Id", r.Request)
	case events.DialectGemini:
	default:
		h.Set("X-Request-Id", r.Request)
	}
	SetRetry(h, r.RetryAfter)
	if r.NoRetry {
		h.Set("X-Should-Retry", "false")
	}
}

// SetRetry says when it is worth coming back, in seconds; 0 says nothing (R17).
func SetRetry(h http.Header, seconds int64) {
	if seconds > 0 {
		h.Set("Retry-After", strconv.FormatInt(seconds, 10))
	}
	if seconds > noRetryAbove {
		h.Set("X-Should-Retry", "false")
	}
}

// Text is the whole message: it ends with how to ask why.
func (r *Refusal) Text() string {
	m := strings.TrimSpace(r.Message)
	if m != "" {
		m += "\n"
	}
	return m + "request " + r.Request + ": waybill why " + r.Request
}

// Body is the refusal's body in its dialect.
func (r *Refusal) Body() []byte {
	switch r.Dialect {
	case events.DialectAnthropic:
		return r.anthropic(nil)
	case events.DialectGemini:
		return r.gemini(nil)
	default:
		return r.openAI(nil)
	}
}

func (r *Refusal) openAI(b []byte) []byte {
	b = append(b, `{"error":`...)
	b = r.openAIError(b)
	return append(b, '}')
}

// openAIError is the error object alone, {message, type, code, param}.
func (r *Refusal) openAIError(b []byte) []byte {
	b = append(b, `{"message":`...)
	b = appendString(b, r.Text())
	b = append(b, `,"type":`...)
	b = appendString(b, r.openAIType())
	b = append(b, `,"code":`...)
	b = appendString(b, r.Code)
	b = append(b, `,"param":`...)
	if r.Param == "" {
		b = append(b, "null"...)
	} else {
		b = appendString(b, r.Param)
	}
	return append(r.codexReset(b), '}')
}

// codex says that a Codex client is told to wait for a reset, in its own
// service's words: any other 429 it tries again.
func (r *Refusal) codex() bool {
	return r.ResetsAt > 0 && r.Status == http.StatusTooManyRequests && r.RetryAfter > noRetryAbove
}

func (r *Refusal) codexReset(b []byte) []byte {
	if !r.codex() {
		return b
	}
	b = append(b, `,"resets_at":`...)
	b = strconv.AppendInt(b, r.ResetsAt, 10)
	b = append(b, `,"resets_in_seconds":`...)
	return strconv.AppendInt(b, r.RetryAfter, 10)
}

func (r *Refusal) openAIType() string {
	if r.codex() {
		return "usage_limit_reached"
	}
	return openAIType(r.Status)
}

func (r *Refusal) anthropic(b []byte) []byte {
	b = append(b, `{"type":"error","error":{"type":`...)
	b = appendString(b, anthropicType(r.Status))
	b = append(b, `,"message":`...)
	b = appendString(b, r.Text())
	b = append(b, `},"request_id":`...)
	b = appendString(b, r.Request)
	return append(b, '}')
}

func (r *Refusal) gemini(b []byte) []byte {
	b = append(b, `{"error":{"code":`...)
	b = strconv.AppendInt(b, int64(r.Status), 10)
	b = append(b, `,"message":`...)
	b = appendString(b, r.Text())
	b = append(b, `,"status":`...)
	b = appendString(b, geminiStatus(r.Status))
	b = append(b, `,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":`...)
	b = appendString(b, strings.ToUpper(r.Code))
	b = append(b, `,"domain":"waybill","metadata":{"request":`...)
	b = appendString(b, r.Request)
	b = append(b, `}}`...)
	if r.RetryAfter > 0 {
		b = append(b, `,{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"`...)
		b = strconv.AppendInt(b, r.RetryAfter, 10)
		b = append(b, `s"}`...)
	}
	return append(b, `]}}`...)
}

// openAIType is the error type that OpenAI's API gives with a status.
func openAIType(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status == http.StatusUnauthorized:
		return "authentication_error"
	case status == http.StatusForbidden:
		return "permission_error"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

// anthropicType is the error type that Anthropic's API gives with a status.
func anthropicType(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusPaymentRequired:
		return "billing_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusGatewayTimeout:
		return "timeout_error"
	case http.StatusServiceUnavailable, 529:
		return "overloaded_error"
	}
	if status >= 500 {
		return "api_error"
	}
	return "invalid_request_error"
}

// geminiStatus is the canonical code that Google's APIs give with a status.
func geminiStatus(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusConflict:
		return "ABORTED"
	case http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	case http.StatusInternalServerError:
		return "INTERNAL"
	case http.StatusNotImplemented:
		return "UNIMPLEMENTED"
	case http.StatusGatewayTimeout:
		return "DEADLINE_EXCEEDED"
	}
	if status >= 500 {
		return "UNAVAILABLE"
	}
	return "INVALID_ARGUMENT"
}
