package dialect

import (
	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/dialect/jsonscan"
)

// openAIAnswer is what OpenAI's plain answers are made of.
type openAIAnswer struct {
	choices, finish, data, results, text, output, id, status, reason, deleted int
}

var (
	plainOpenAI    = newPlainOpenAI()
	plainAnthropic = newPlainAnthropic()
	plainGemini    = newPlainGemini()
)

func newPlainOpenAI() *plainFacts {
	var b builder
	a := &openAIAnswer{}
	f := &plainFacts{dialect: events.DialectOpenAI, answer: a.answers, note: a.note}
	f.err = b.add(root, "error")
	a.choices = b.add(root, "choices")
	choice := b.add(a.choices, jsonscan.Each)
	a.finish = b.keep(choice, "finish_reason", keepWord)
	a.data = b.add(root, "data")
	a.results = b.add(root, "results")
	a.text = b.add(root, "text")
	a.output = b.add(root, "output")
	a.id = b.keep(root, "id", keepID)
	a.status = b.keep(root, "status", keepWord)
	a.deleted = b.add(root, "deleted")
	a.reason = b.keep(b.add(root, "incomplete_details"), "reason", keepWord)
	f.status = b.keep(b.add(root, "base_resp"), "status_code", keepNumber)
	f.usage = append(f.usage, b.usage(b.add(root, "x_groq"), "usage", openAICounts[:]))
	f.usage = append(f.usage, b.usage(choice, "usage", openAICounts[:]))
	f.usage = append(f.usage, b.usage(root, "usage", openAICounts[:]))
	f.other = otherErrors(&b)
	f.shape = b.shape()
	return f
}

// answers says that an object is an answer of its kind: what the kind is
// made of is there and not empty.
func (a *openAIAnswer) answers(p *plain) bool {
	s := &p.json
	switch p.kind {
	case kindChat, kindCompletion:
		return s.Full(a.choices)
	case kindEmbeddings, kindImages:
		return s.Full(a.data)
	case kindModeration:
		return s.Full(a.results)
	case kindTranscript:
		return s.Has(a.text) // silence is an answer
	case kindResponse:
		// A stored response may be queued, or complete without output.
		return s.Full(a.output) || s.Full(a.id) && s.Full(a.status)
	case kindStored:
		return s.Full(a.id)
	}
	return !s.Empty()
}

func (a *openAIAnswer) note(p *plain) {
	s := &p.json
	switch p.kind {
	case kindResponse, kindStored:
		p.seen.ResponseID = s.String(a.id)
		p.seen.Stop = s.String(a.reason)
	default:
		p.seen.Stop = s.String(a.finish)
	}
	p.seen.Refused = p.seen.Stop == "content_filter"
}

func newPlainAnthropic() *plainFacts {
	m := &messages.fields
	return &plainFacts{
		dialect: events.DialectAnthropic, shape: messages.shape, err: m.err, status: -1,
		usage: []usageFields{m.usage},
		answer: func(p *plain) bool {
			if p.kind == kindMessageCount {
				return p.json.Has(m.inputTokens)
			}
			return p.json.Full(m.plain) || p.json.Full(m.plainStop)
		},
		note: func(p *plain) {
			p.seen.Stop = p.json.String(m.plainStop)
			p.seen.Refused = p.seen.Stop == "refusal"
		},
	}
}

func newPlainGemini() *plainFacts {
	c := &content.fields
	return &plainFacts{
		dialect: events.DialectGemini, shape: content.shape, err: c.err, status: -1,
		usage: []usageFields{c.usage},
		answer: func(p *plain) bool {
			if p.kind == kindContent {
				return fullAny(&p.json, c.parts) || p.json.Full(c.finish) || p.json.Full(c.blocked)
			}
			for _, field := range c.counts {
				if p.json.Has(field) {
					return true
				}
			}
			return false
		},
		note: func(p *plain) {
			if p.seen.Stop = p.json.String(c.finish); p.json.Full(c.blocked) {
				p.seen.Stop, p.seen.Refused = p.json.String(c.blocked), true
			}
			p.seen.Refused = p.seen.Refused || refusal(p.seen.Stop)
		},
	}
}
