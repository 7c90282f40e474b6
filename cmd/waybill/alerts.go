package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/alert"
	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/ledger/feed"
)

// letterType is before the kind of an alert, in the type of its message.
const letterType = "alert."

// writerOf is what a feed tells: events, alerts, or both.
func (s *service) writerOf(f *config.Feed) feed.Writer {
	var selectors feed.Events
	for _, e := range f.Events {
		selectors = append(selectors, feed.Selector{Kind: e.Kind, Word: e.Word})
	}
	if f.Alerts == nil {
		return selectors
	}
	return &alertWriter{events: selectors, fold: alert.NewFold(s.ledger, f.Alerts, s.log)}
}

// alertWriter writes alerts, each behind the event that brought it about.
type alertWriter struct {
	events feed.Events // none: no events
	fold   *alert.Fold
}

// Start implements feed.Writer.
func (w *alertWriter) Start(ctx context.Context, at events.Position) error {
	return w.fold.Start(ctx, at)
}

// Write implements feed.Writer.
func (w *alertWriter) Write(ctx context.Context, e *events.Event) []feed.Letter {
	var out []feed.Letter
	if len(w.events) > 0 {
		out = w.events.Write(ctx, e)
	}
	for _, a := range w.fold.Next(ctx, e) {
		out = append(out, letterOf(&a))
	}
	return out
}

// letterOf is an alert as it is sent.
func letterOf(a *alert.Alert) feed.Letter {
	body, err := json.Marshal(a)
	if err != nil {
		panic(err) // plain values
	}
	l := feed.Letter{ID: a.ID, Type: letterType + string(a.Kind), Account: a.Account, Position: a.Position, Body: body}
	if a.Request != nil {
		l.Request = *a.Request
	}
	return l
}

// teller is a feed that may be told what no event tells of.
type teller struct {
	relay *feed.Relay
	kinds []alert.Kind
}

// tell gives an alert of this process to the feeds that asked for its kind.
func (s *service) tell(kind alert.Kind, sentence string) {
	a := alert.New(kind, s.engine.Now(), sentence)
	for _, t := range s.tellers {
		if slices.Contains(t.kinds, kind) {
			t.relay.Tell(letterOf(&a))
		}
	}
}

const (
	// watchEvery is how often this process looks at itself.
	watchEvery = time.Second
	// brokenTime is how long the last alerts of a broken ledger may take.
	brokenTime = 5 * time.Second
)

// watchSelf tells that the ledger is away, and that it is not what it was:
// each once, until it has ended.
func (s *service) watchSelf(ctx context.Context) {
	if d := s.engine.Damaged(); d != nil {
		s.tell(alert.Broken, fmt.Sprintf("What the last run left in the spool was changed since it was written: %s. %d events from there on are in no ledger; they are kept in %s.",
			d.Fault, d.Lost, d.Aside))
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var away, faulty bool
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		o, is := s.engine.Outage()
		if is && !away {
			s.tell(alert.Spooling, fmt.Sprintf("The ledger takes no events since %s; this gateway goes on and keeps them on its own disk (%d so far). They are appended when it is back.",
				o.Since.Std().UTC().Format(time.RFC3339), o.Events))
		}
		err := s.checkpoints.State().Fault
		var fault *ledger.Fault
		is2 := errors.As(err, &fault)
		if is2 && !faulty {
			s.tell(alert.Broken, fmt.Sprintf("The ledger does not hold any more what a checkpoint of this gateway was signed for: %s. `waybill verify` says more.", fault))
		}
		away, faulty = is, is2
	}
}

// tellBroken tells that the ledger is broken, before the process ends, and
// waits a moment for the feeds to say so.
func (s *service) tellBroken(err error) {
	s.tell(alert.Broken, fmt.Sprintf("The ledger is not what it was, and this gateway stops: %s. `waybill verify` says more.", err))
	ctx, cancel := context.WithTimeout(context.Background(), brokenTime)
	defer cancel()
	for _, t := range s.tellers {
		t.relay.Told(ctx)
	}
}
