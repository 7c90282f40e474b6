package dialect

import (
	"strings"
	"unicode/utf8"

	"github.com/waybill/waybill/gateway/body"
)

// Rewrite is the change that makes a request ask for another model: only the
// value of its model member is replaced (B026, B151). It starts from the bytes
// that the client sent, so every attempt names its own (B149). nil when nothing
// changes.
func (q *Request) Rewrite(model string) []body.Edit {
	if model == q.Model || len(q.At) == 0 {
		return nil
	}
	edits := make([]body.Edit, len(q.At))
	for i, at := range q.At {
		edits[i] = body.Edit{From: at.From, To: at.To, With: q.text(model)}
	}
	return edits
}

// text is the model name as it stands in this request.
func (q *Request) text(model string) []byte {
	b := []byte(q.wrap[0])
	switch {
	case q.raw:
		b = append(b, model...)
	case q.resource:
		b = appendString(b, "models/"+model)
	default:
		b = appendString(b, model)
	}
	return append(b, q.wrap[1]...)
}

// appendString appends s as a JSON string; bytes that are no UTF-8 become U+FFFD.
func appendString(b []byte, s string) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, '\\', 'n')
		case r < ' ' || r == 0x7F:
			b = append(b, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// bare removes the prefix that Gemini's resource names carry.
func bare(model string) string { return strings.TrimPrefix(model, "models/") }
