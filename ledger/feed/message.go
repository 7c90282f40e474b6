package feed

import (
	"context"
	"strconv"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/ledger"
)

// The metadata of a message.
const (
	MetaType     = "type"     // of the event, such as request.refused, or of the alert
	MetaAccount  = "account"  // absent when it concerns none
	MetaPosition = "position" // in the ledger; absent when it is about no event
	MetaRequest  = "request"  // absent when it concerns none
)

// Letter is one message before it is sent. Consumers tell repetitions by its ID.
type Letter struct {
	ID       uuid.UUID
	Type     string
	Account  string          // "" when it concerns none
	Request  uuid.UUID       // likewise
	Position events.Position // likewise
	Body     []byte          // JSON
}

// Writer says what a consumer is told. It is used by one goroutine.
type Writer interface {
	// Start is called with the place that is gone on from, before the first
	// Write and whenever another process may have gone on meanwhile.
	Start(ctx context.Context, at events.Position) error
	// Write is called with each event after that place, in order.
	Write(ctx context.Context, e *events.Event) []Letter
}

// Events writes the events themselves, as `events --json` prints them: those
// that it selects, all without a selector.
type Events []Selector

// Start implements Writer.
func (Events) Start(context.Context, events.Position) error { return nil }

// Write implements Writer.
func (s Events) Write(_ context.Context, e *events.Event) []Letter {
	if !selected(s, e) {
		return nil
	}
	return []Letter{{ID: e.ID, Type: e.Data.Kind().String(), Account: e.Account, Request: e.Request, Position: e.Position, Body: events.AppendJSON(nil, e)}}
}

// messageOf is a letter as Watermill carries it.
func messageOf(ctx context.Context, l *Letter) *message.Message {
	m := message.NewMessage(l.ID.String(), l.Body)
	m.Metadata.Set(MetaType, l.Type)
	if l.Position != 0 {
		m.Metadata.Set(MetaPosition, strconv.FormatUint(uint64(l.Position), 10))
	}
	if l.Account != "" {
		m.Metadata.Set(MetaAccount, l.Account)
	}
	if l.Request != uuid.Nil {
		m.Metadata.Set(MetaRequest, l.Request.String())
	}
	m.SetContext(ctx)
	return m
}

// refusedOf is a message that was not taken, as a book keeps it.
func refusedOf(m *message.Message, why error) ledger.Message {
	at, _ := strconv.ParseUint(m.Metadata.Get(MetaPosition), 10, 64) // ours, or absent
	return ledger.Message{ID: uuid.MustParse(m.UUID), Position: events.Position(at), Error: why.Error(), Meta: m.Metadata, Body: []byte(m.Payload)}
}

// again is a message that was put aside, as it was.
func again(ctx context.Context, r *ledger.Message) *message.Message {
	m := message.NewMessage(r.ID.String(), message.Payload(r.Body))
	m.Metadata = r.Meta
	m.SetContext(ctx)
	return m
}

// Selector takes events of one kind, and of these, where Word is not empty,
// those whose class (of an attempt) or code (of a refusal) it is.
type Selector struct {
	Kind events.Kind
	Word string
}

func selected(by []Selector, e *events.Event) bool {
	for _, s := range by {
		if s.Kind == e.Data.Kind() && (s.Word == "" || s.Word == wordOf(e.Data)) {
			return true
		}
	}
	return len(by) == 0
}

func wordOf(p events.Payload) string {
	if r, ok := p.(*events.RequestRefused); ok {
		return r.Code
	}
	if f, ok := events.FailureOf(p); ok {
		return f.Class.String()
	}
	return ""
}
