// Package dialect knows the protocols that clients speak: where a request
// names its model, what the frames of an answer mean, and what an error looks
// like. It never re-encodes a body: it finds spans in bytes and watches bytes
// pass.
package dialect

import "github.com/waybill/waybill/events"

// Request is what the gateway needs to know of a client's request.
type Request struct {
	Model   string // as asked
	ModelAt Span   // of the model's string value in the body, quotes included; empty when it stands in the path
	Stream  bool
	Session string // the dialect's own session hint, "" when none
	Tie     string // previous_response_id and the like: the account that made it must serve
}

// Span is a half-open range of bytes.
type Span struct{ From, To int }

// Inspector watches one answer pass, byte for byte, at any chunk boundary. It
// keeps no more than a bounded line or body, and never changes a byte.
type Inspector interface {
	// Feed examines the next decoded bytes.
	Feed(p []byte)
	// End is called once, when the body ended; err is nil for a clean end.
	End(err error)
	// Seen is what the bytes amount to so far.
	Seen() *Seen
}

// Seen is what an inspector has found.
type Seen struct {
	// Meaningful: content, a tool call, reasoning or a terminal success came.
	// Role-only deltas, message_start, response.created, comments and pings
	// are not.
	Meaningful bool
	// Terminal is the protocol's terminal success ("[DONE]", "stop",
	// "message_stop", "response.completed", "body"), "" while there is none.
	Terminal string
	// Failed is the JSON of an error frame or error body inside a 200.
	Failed []byte
	// Malformed says why this is no answer (html, empty, not json, truncated).
	Malformed string
	// Safe counts the bytes fed so far that end at a line boundary: only these
	// may be released, so that a broken stream never leaves half a line behind.
	Safe int64
	// Usage as seen so far, nil when none.
	Usage *events.Usage
	// ResponseID names a stored response that later requests may refer to.
	ResponseID string
}
