package dialect

import (
	"bytes"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/dialect/jsonscan"
)

// plain inspects an answer that is one JSON object. It is judged whole while it
// is short, so that an empty answer, an error in a 200 and a body that dies
// before it parses still fail over (B064, B065); a longer one is an answer by
// its first bytes, and its counts are still found at its end.
type plain struct {
	seen   Seen
	kind   kind
	facts  *plainFacts
	json   jsonscan.Scanner
	tokens tokens
	head   []byte // the first HoldBody bytes
	extra  bool   // something but white space follows the object
}

// plainFacts are the fields that tell an answer from an error in one dialect.
type plainFacts struct {
	dialect events.Dialect
	shape   *jsonscan.Shape
	err     int
	other   []int // members that only errors have when the answer's own are missing
	status  int   // base_resp.status_code (MiniMax), -1 when the dialect has none
	usage   []usageFields
	answer  func(p *plain) bool
	note    func(p *plain) // stop reasons, ids
}

func newPlain(k kind, facts *plainFacts) *plain {
	p := &plain{kind: k, facts: facts}
	p.json.Reset(facts.shape)
	return p
}

// Seen is what the body amounts to so far.
func (p *plain) Seen() *Seen { return &p.seen }

// Feed examines the next bytes.
func (p *plain) Feed(b []byte) {
	p.seen.Safe += int64(len(b))
	if room := HoldBody - len(p.head); room > 0 {
		p.head = append(p.head, b[:min(room, len(b))]...)
	}
	if p.seen.Malformed != "" {
		return
	}
	n := p.json.Feed(b)
	switch {
	case p.json.Fault() != jsonscan.FaultNone:
		p.fault()
	case n < len(b) && !blank(b[n:]):
		p.extra = true
	case !p.json.Done() && p.seen.Safe > HoldBody && !p.seen.Meaningful:
		p.early()
	}
}

// fault says what a body that is no JSON object is instead.
func (p *plain) fault() {
	trimmed := bytes.TrimLeft(p.head, " \t\r\n\xef\xbb\xbf")
	switch {
	case len(trimmed) > 0 && trimmed[0] == '<':
		p.seen.Malformed = MalformedHTML
	default:
		p.seen.Malformed = MalformedNotJSON
	}
}

// early judges a long body by what came of it.
func (p *plain) early() {
	if p.json.Has(p.facts.err) || blank(p.head) {
		return // an error of this size, or padding: wait for the end
	}
	p.seen.Meaningful = true
}

// End gives the verdict on the whole. An object that is complete is an answer,
// however its body ended.
func (p *plain) End(error) {
	p.settle()
	for i := range p.facts.usage {
		p.tokens.take(&p.json, &p.facts.usage[i])
	}
	if !p.tokens.none() {
		u := &events.Usage{}
		p.tokens.usage(p.facts.dialect, u)
		u.Partial = p.seen.Terminal == ""
		p.seen.Usage = u
	}
}

func (p *plain) settle() {
	if p.seen.Malformed != "" {
		return
	}
	switch fault := p.json.Close(); {
	case fault == jsonscan.FaultEmpty:
		p.seen.Malformed = MalformedEmpty
	case fault == jsonscan.FaultTruncated:
		p.seen.Malformed = MalformedTruncated
	case fault != jsonscan.FaultNone, p.extra:
		p.seen.Malformed = MalformedNotJSON
	case p.failed():
		p.seen.Failed = p.head
	default:
		p.judge()
	}
}

// failed says that the object is an error.
func (p *plain) failed() bool {
	if p.kind != kindStored && p.json.Full(p.facts.err) {
		return true
	}
	if p.facts.status >= 0 {
		if code, ok := p.json.Int(p.facts.status); ok && code != 0 {
			return true
		}
	}
	return false
}

func (p *plain) judge() {
	switch {
	case p.facts.answer(p):
		p.seen.Meaningful, p.seen.Terminal, p.seen.Over = true, "body", true
		p.facts.note(p)
	case fullAny(&p.json, p.facts.other):
		p.seen.Failed = p.head
	default:
		p.seen.Malformed = MalformedEmpty
	}
}

// Errors that have no "error" member: {"detail":...}, {"message":...},
// {"code":..,"msg":..} (catalogue section 0.2).
func otherErrors(b *builder) (fields []int) {
	for _, name := range []string{"detail", "message", "Message", "msg", "code"} {
		fields = append(fields, b.add(root, name))
	}
	return fields
}
