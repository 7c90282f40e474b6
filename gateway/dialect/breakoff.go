package dialect

import (
	"strconv"

	"github.com/waybill/waybill/events"
)

// BreakOff is the end of a stream that broke after its commit point: the
// dialect's own error event, which official SDKs raise on, and never a success
// (B013, B014). It is written after the bytes up to Seen.Safe. nil says that
// these bytes cannot be ended by an error: then the connection must be cut.
func BreakOff(op *Operation, form Form, seen *Seen, r *Refusal) []byte {
	switch form {
	case SSE:
		return breakSSE(op, seen, r)
	case Array:
		return breakArray(seen, r)
	}
	return nil
}

func breakSSE(op *Operation, seen *Seen, r *Refusal) []byte {
	var b []byte
	switch seen.Open {
	case InEvent:
		b = append(b, '\n') // no blank line too many: Gemini's Go SDK takes none
	case AfterCR, InLine:
		b = append(b, "\n\n"...) // the first ends the line, or belongs to the CR
	}
	switch {
	case op.Dialect == events.DialectAnthropic:
		b = append(b, "event: error\ndata: "...)
		b = r.anthropic(b)
	case op.Dialect == events.DialectGemini:
		b = append(b, "data: "...)
		b = r.gemini(b)
	case op.kind == kindResponse || op.kind == kindStored:
		b = append(b, "event: response.failed\ndata: "...)
		b = r.responseFailed(b, seen)
	default:
		b = append(b, "data: "...)
		b = r.openAI(b)
	}
	return append(b, "\n\n"...)
}

// responseFailed is a response.failed event. It also has the error at its top
// level: the SDKs' stream decoders raise on that and on nothing else.
func (r *Refusal) responseFailed(b []byte, seen *Seen) []byte {
	b = append(b, `{"type":"response.failed","sequence_number":`...)
	b = strconv.AppendInt(b, seen.Sequence+1, 10)
	b = append(b, `,"response":{"id":`...)
	b = appendString(b, seen.ResponseID)
	b = append(b, `,"object":"response","status":"failed","error":{"code":"server_error","message":`...)
	b = appendString(b, r.Text())
	b = append(b, `},"output":[],"usage":null},"error":`...)
	b = r.openAIError(b)
	return append(b, '}')
}

// breakArray ends a JSON array by an element that is an error.
func breakArray(seen *Seen, r *Refusal) []byte {
	var b []byte
	switch seen.Open {
	case InElement:
		return nil
	case AfterElement:
		b = append(b, ',')
	default:
		if seen.Safe == 0 {
			b = append(b, '[')
		}
	}
	return append(r.gemini(b), ']')
}
