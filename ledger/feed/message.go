package feed

import (
	"context"
	"strconv"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
)

// The metadata of a message.
const (
	MetaType     = "type"     // of the event, such as request.refused
	MetaAccount  = "account"  // absent when it concerns none
	MetaPosition = "position" // in the ledger
	MetaRequest  = "request"  // absent when it concerns none
)

// messageOf is an event for consumers: they tell repetitions by its UUID.
func messageOf(ctx context.Context, e *events.Event) *message.Message {
	m := message.NewMessage(e.ID.String(), events.AppendJSON(nil, e))
	m.Metadata.Set(MetaType, e.Data.Kind().String())
	m.Metadata.Set(MetaPosition, strconv.FormatUint(uint64(e.Position), 10))
	if e.Account != "" {
		m.Metadata.Set(MetaAccount, e.Account)
	}
	if e.Request != uuid.Nil {
		m.Metadata.Set(MetaRequest, e.Request.String())
	}
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
