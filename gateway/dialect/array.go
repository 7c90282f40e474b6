package dialect

import (
	"github.com/waybill/waybill/gateway/dialect/jsonscan"
)

// array inspects a JSON array of frames that grows (Gemini without alt=sse).
type array struct {
	frames
	state arrayState
	total int64
}

type arrayState uint8

const (
	beforeArray arrayState = iota
	beforeElement
	inElement
	afterElement
	afterArray
)

func newArray(p *protocol) *array { return &array{frames: frames{proto: p}} }

// Feed examines the next bytes.
func (a *array) Feed(p []byte) {
	for i := 0; i < len(p) && a.seen.Malformed == ""; {
		if a.state == inElement {
			if i += a.element(p[i:]); a.state == afterElement {
				a.seen.Safe, a.seen.Open = a.total+int64(i), AfterElement
			}
			continue
		}
		a.between(p[i])
		if a.state == inElement {
			continue // its first byte is the scanner's
		}
		i++
	}
	a.total += int64(len(p))
	switch {
	case a.state == afterArray || a.seen.Malformed != "":
		a.seen.Safe, a.seen.Open = a.total, Closed
	case a.state == inElement && (a.seen.Open == InElement || a.total-a.seen.Safe > HoldLine):
		a.seen.Safe, a.seen.Open = a.total, InElement
	}
}

// element feeds an element's bytes and returns how many were its own.
func (a *array) element(p []byte) int {
	n := a.json.Feed(p)
	switch {
	case a.json.Fault() != jsonscan.FaultNone:
		a.seen.Malformed = MalformedNotJSON
		return len(p)
	case a.json.Done():
		a.state = afterElement
		a.conclude(nil)
	}
	return n
}

// between takes a byte between the elements.
func (a *array) between(c byte) {
	switch {
	case c == ' ' || c == '\n' || c == '\r' || c == '\t' || a.state == afterArray:
	case c == '[' && a.state == beforeArray:
		a.state = beforeElement
	case c == '{' && a.state == beforeElement:
		a.state = inElement
		a.json.Reset(a.proto.shape)
	case c == ',' && a.state == afterElement:
		a.state = beforeElement
	case c == ']' && (a.state == afterElement || a.state == beforeElement):
		a.state = afterArray
		a.seen.Over = true
		if a.finish != "" && a.seen.Failed == nil {
			a.seen.Terminal = a.finish
		}
	case c == '<':
		a.seen.Malformed = MalformedHTML
	default:
		a.seen.Malformed = MalformedNotJSON
	}
}

// End gives the verdict on the whole.
func (a *array) End(err error) {
	if err == nil {
		a.seen.Safe, a.seen.Open = a.total, Closed
	}
	if a.state != afterArray {
		a.finish = "" // no client can read an array without its end
	}
	a.verdict(err)
}
