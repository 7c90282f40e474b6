package inquiry

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/views"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/snapshot"
	"github.com/waybill/waybill/projections/admission"
	"github.com/waybill/waybill/projections/audit"
	"github.com/waybill/waybill/projections/pins"
	"github.com/waybill/waybill/projections/story"
)

// maxOwn bounds the events of one request.
const maxOwn = 10_000

// Story is the whole story of a request.
func Story(ctx context.Context, log Log, id uuid.UUID) (story.Request, error) {
	return StoryAt(ctx, log, Moment{}, id)
}

// StoryAt is the story of a request as far as it had come at a moment.
func StoryAt(ctx context.Context, log Log, m Moment, id uuid.UUID) (s story.Request, err error) {
	at, _, err := place(ctx, log, m)
	if err != nil {
		return s, err
	}
	var own []events.Event
	if at > 0 {
		if own, err = log.Read(ctx, 0, ledger.Filter{Request: id, UpTo: at}, maxOwn); err != nil {
			return s, fmt.Errorf("read request %s: %w", id, err)
		}
	}
	if len(own) == 0 {
		return s, fmt.Errorf("request %s: %w", id, absent(ctx, log, ledger.Filter{Request: id}, "it began", ErrUnknownRequest))
	}
	b := story.NewBuilder(id)
	a, from, err := auditFrom(ctx, log, own, b)
	if err != nil {
		return s, fmt.Errorf("fold for request %s: %w", id, err)
	}
	err = views.Each(ctx, log, from, own[len(own)-1].Position, func(e *events.Event) error {
		b.Add(e)
		return a.Apply(e)
	})
	if err != nil {
		return s, fmt.Errorf("fold for request %s: %w", id, err)
	}
	s, ok := b.Finish(Lookup(ctx, log))
	if !ok {
		return s, fmt.Errorf("request %s: %w", id, ErrUnknownRequest)
	}
	return s, ctx.Err()
}

// auditFrom begins an audit of a request's decisions as late as their views
// allow: behind the newest snapshot before all of them.
func auditFrom(ctx context.Context, log Log, own []events.Event, b *story.Builder) (*audit.Auditor, events.Position, error) {
	o := audit.Options{Only: b.Wants, Visit: b.Visit, Read: rereader(ctx, log)}
	adm, pin := admission.New(), pins.New()
	from, err := views.Load(ctx, snapshot.Of(log, nil), firstView(own), adm, pin)
	if err != nil || from == 0 {
		return audit.New(o), 0, err
	}
	b.Know(adm.Roster())
	for i := range own {
		ref := listOf(own[i].Data)
		if ref <= 0 || events.Position(ref) > from {
			continue
		}
		got, err := log.Read(ctx, events.Position(ref)-1, ledger.Filter{UpTo: events.Position(ref)}, 1)
		if err != nil {
			return nil, 0, err
		}
		for k := range got {
			b.Add(&got[k])
		}
	}
	return audit.From(o, from, adm, pin), from, nil
}

// firstView is the oldest position that one of the decisions was made on, and
// that its events lie behind.
func firstView(own []events.Event) events.Position {
	at := own[0].Position - 1
	for i := range own {
		if view, ok := viewOf(own[i].Data); ok {
			at = min(at, view)
		}
	}
	return at
}

// listOf is the stored list of candidates that an event refers to, 0 for none.
func listOf(p events.Payload) events.Ref {
	switch p := p.(type) {
	case *events.AttemptRouted:
		return p.Listed
	case *events.RequestRefused:
		return p.Listed
	case *events.RequestEnded:
		return p.Reply.Listed
	}
	if f, ok := events.FailureOf(p); ok && f.Reply != nil {
		return f.Reply.Listed
	}
	return 0
}
