package routing

import "github.com/waybill/waybill/events"

// Last is the last answer that a request's attempts got.
type Last struct {
	Class  events.Class
	Status int  // 0 when there was none
	Empty  bool // a 200 without content
}

// Advice is what the client gets after attempts were made (R17): the last
// answer, or what stands in for it.
type Advice struct {
	Status   int
	Code     string // set where Waybill's own words replace the answer
	Replaced bool   // the body is ours, in the client's dialect
	Refusal  bool   // marker header and closing line as in a refusal
	// RetryAfter is in seconds, 0: header absent. The upstream's own is never
	// passed on.
	RetryAfter  int64
	RetrySource string
}

// Codes of answers that stand in for a broken one.
const (
	CodeUpstream      = "upstream_error"
	CodeUpstreamTime  = "upstream_timeout"
	CodeEmptyResponse = "empty_response"
)

// Advise replaces what speaks about our credentials and not about the client
// (401, 402, forbidden), what is no answer (network, timeout, a malformed
// body), and statuses that no client knows. left is Decide's refusal for the
// candidates that are left: it gives the Retry-After, never the status, so a
// 5xx wins over a 429 that only skipped candidates have.
func Advise(last Last, left *Refusal) Advice {
	a := advised(last)
	if !ownFault(last.Class) {
		a.RetryAfter, a.RetrySource = left.RetryAfter, left.RetrySource
	}
	return a
}

func advised(last Last) Advice {
	switch {
	case OfAccount(last.Class):
		return Advice{Status: statusUnavailable, Code: CodeUnavailable, Replaced: true, Refusal: true}
	case last.Class == events.ClassTimeout:
		return Advice{Status: 504, Code: CodeUpstreamTime, Replaced: true}
	case last.Class == events.ClassNetwork, last.Class == events.ClassLost:
		return Advice{Status: 502, Code: CodeUpstream, Replaced: true}
	case last.Empty:
		return Advice{Status: 502, Code: CodeEmptyResponse, Replaced: true}
	case last.Status < 400 || last.Status > 511 && last.Status != 529:
		return Advice{Status: 502, Code: CodeUpstream, Replaced: true}
	}
	return Advice{Status: last.Status}
}

// OfAccount says that an answer speaks of our account, which is no business of
// the client's.
func OfAccount(c events.Class) bool {
	return c == events.ClassAuthFailed || c == events.ClassCreditsExhausted || c == events.ClassForbidden
}

// ownFault: the client caused it, and waiting does not help.
func ownFault(c events.Class) bool {
	switch c {
	case events.ClassInvalidRequest, events.ClassPolicyRefused, events.ClassNotFound, events.ClassModelUnsupported, events.ClassUnclassified:
		return true
	}
	return false
}
