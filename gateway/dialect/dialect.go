// Package dialect knows the protocols that clients speak: where a request
// names its model, what the frames of an answer mean, and what an error looks
// like. It never re-encodes a body: it finds spans in bytes and watches bytes
// pass.
package dialect

import "github.com/waybill/waybill/events"

// Request is what the gateway needs to know of a client's request.
type Request struct {
	Model   string // as asked, or the operation's default
	At      []Span // where Rewrite puts another name; the text of each is a JSON string or a form's value
	Stream  bool
	Form    Form   // of the answer asked for
	Session string // the dialect's own session hint, "" when none
	Tie     string // previous_response_id and the like: the account that made it must serve

	wrap     [2]string // text around a model name that is put in where there was none
	resource bool      // each name is "models/NAME"
	raw      bool      // the name stands bare (a form's value), not as a JSON string
}

// Span is a half-open range of bytes of a body.
type Span struct{ From, To int64 }

// Inspector watches one answer pass, byte for byte, at any chunk boundary. It
// keeps no more than a bounded line or body, and never changes a byte.
type Inspector interface {
	// Feed examines the next decoded bytes.
	Feed(p []byte)
	// End is called once, when the body ended or was given up; err is nil for a
	// clean end. Usage is complete only after it.
	End(err error)
	// Seen is what the bytes amount to so far.
	Seen() *Seen
}

// Open says in what state the bytes up to Seen.Safe leave the client's parser.
type Open uint8

// Closed: between events. InEvent: an event waits for its blank line; AfterCR:
// likewise, and the last line ended in a CR alone. InLine: inside a line longer
// than HoldLine. AfterElement: a JSON array whose last
// element is complete. InElement: inside one longer than HoldLine.
const (
	Closed Open = iota
	InEvent
	AfterCR
	InLine
	AfterElement
	InElement
)

// HoldLine is the longest incomplete line (or array element) that Safe holds
// back, in bytes; a longer one streams as it comes.
const HoldLine = 64 << 10

// HoldBody is the longest plain answer that is judged whole before it counts as
// meaningful; a longer one is judged by its first bytes.
const HoldBody = 64 << 10

// Seen is what an inspector has found.
type Seen struct {
	// Meaningful: content, a tool call, reasoning or a terminal success came.
	// Role-only deltas, message_start, response.created, comments and pings
	// are not.
	Meaningful bool
	// Terminal is the protocol's terminal success ("[DONE]", "stop",
	// "message_stop", "response.completed", "body"), "" while there is none.
	Terminal string
	// Over: nothing of the answer follows; the relay need not wait for the end
	// of the body (B071).
	Over bool
	// Stop is the stop or finish reason, Refused that it is the provider's
	// content policy ("refusal", "content_filter", "SAFETY").
	Stop    string
	Refused bool
	// Failed is the JSON of an error frame or error body inside a 200.
	Failed []byte
	// Malformed says why this is no answer (html, empty, not json, truncated).
	Malformed string
	// Safe counts the bytes fed so far that may be released, so that a broken
	// stream never leaves half a line behind: it ends after a whole line, and
	// not between an event's name and its data.
	Safe int64
	// Open is the state of the client's parser at Safe, for BreakOff.
	Open Open
	// Usage as seen so far, nil when none.
	Usage *events.Usage
	// ResponseID names a stored response that later requests may refer to.
	ResponseID string
	// Sequence is the last sequence_number of a Responses stream.
	Sequence int64
}

// Malformed's words.
const (
	MalformedHTML      = "html"
	MalformedEmpty     = "empty"
	MalformedNotJSON   = "not json"
	MalformedTruncated = "truncated"
	MalformedNoAnswer  = "no answer"
)
