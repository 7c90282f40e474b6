package sandbox

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/waybill/waybill/events"
)

// failure is an answer that is not a success, before it has a dialect.
type failure struct {
	status     int
	code       string // OpenAI's code
	kind       string // Anthropic's and OpenAI's type
	message    string
	retryAfter time.Duration
	noRetry    bool // X-Should-Retry: false
}

// fail answers in the caller's dialect.
func (c *call) fail(w http.ResponseWriter, f failure) {
	if f.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.retryAfter.Seconds()))))
	}
	if f.noRetry {
		w.Header().Set("X-Should-Retry", "false")
	}
	writeJSON(w, f.status, c.failureBody(f))
}

func (c *call) failureBody(f failure) object {
	switch c.dialect {
	case events.DialectAnthropic:
		return object{"type": "error", "error": object{"type": f.kind, "code": f.code, "message": f.message}}
	case events.DialectGemini:
		return object{"error": object{"code": f.status, "message": f.message, "status": geminiStatus(f.status),
			"details": []object{{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": f.code, "domain": "waybill.sandbox"}}}}
	}
	return object{"error": object{"message": f.message, "type": f.kind, "code": f.code, "param": nil}}
}

func geminiStatus(status int) string {
	switch status {
	case 400:
		return "INVALID_ARGUMENT"
	case 401:
		return "UNAUTHENTICATED"
	case 402:
		return "FAILED_PRECONDITION"
	case 404:
		return "NOT_FOUND"
	case 429:
		return "RESOURCE_EXHAUSTED"
	}
	return "INTERNAL"
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil { // the script makes its own values
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	_, _ = w.Write(b) // a gateway that left needs no answer
}
