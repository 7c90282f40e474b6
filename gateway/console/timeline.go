package console

import (
	"strings"

	"github.com/gorilla/mux"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/ledger"
	"github.com/waybill/waybill/projections/story"
)

// maxMarks bounds a timeline. What does not fit is said.
const maxMarks = 1500

// maxFolded bounds the events that are folded to say how the account stood.
const maxFolded = 10_000

// timelinePage is what happened to an account over a span of time.
type timelinePage struct {
	Account  string
	From, To events.Time
	Track    inquiry.Track
	Cut      bool // the track begins later than the span
	Marks    []mark
	Series   []series
	More     bool // the span holds more than what is shown
}

// mark is one event on the timeline.
type mark struct {
	Position events.Position
	At       events.Time
	Lane     string // reading, answer, trial, operator, account
	Type     string
	Tone     string
	Summary  string
}

// series is how much of a window was left, as its provider said.
type series struct {
	Name   string
	Points []point
}

type point struct {
	At       events.Time
	Left     string // per cent
	Position events.Position
}

// drawn are the events that set an account aside, free it, or speak of its
// quota. Successes and dispatches are left away: they are most of a ledger, and
// lists of requests have them.
func drawn() []events.Kind {
	var out []events.Kind
	for _, k := range events.Kinds() {
		if lane(k) != "" {
			out = append(out, k)
		}
	}
	return out
}

func lane(k events.Kind) string {
	switch subject, verb, _ := strings.Cut(k.String(), "."); {
	case subject == "quota":
		return "reading"
	case subject == "trial", subject == "operator", subject == "account":
		return subject
	case subject == "attempt" && verb != "routed" && verb != "succeeded":
		return "answer"
	}
	return ""
}

func timeline(v *visit) error {
	p := timelinePage{Account: mux.Vars(v.r)["id"], To: v.frame.Ref()}
	p.From = max(p.To.Add(-v.span().Long), v.frame.First)
	f := ledger.Filter{Account: p.Account, Kinds: drawn(), Since: p.From, Until: p.To + 1}
	got, err := v.c.api.Events(v.r.Context(), 0, f, maxMarks+1)
	if err != nil {
		return err
	}
	if p.More = len(got) > maxMarks; p.More {
		got = got[:maxMarks]
	}
	for i := range got {
		e := &got[i]
		p.Marks = append(p.Marks, mark{Position: e.Position, At: e.RecordedAt, Lane: lane(e.Data.Kind()), Type: e.Data.Kind().String(),
			Tone: markTone(e), Summary: story.Summary(e)})
		p.read(e)
	}
	p.Track, err = v.c.api.Spells(v.r.Context(), inquiry.TrackOf{Account: p.Account, Model: v.r.URL.Query().Get("model"), From: p.From, To: p.To, Most: maxFolded})
	if err != nil {
		return err
	}
	p.Cut = p.Track.From > p.From
	return v.part("account", "timeline", p)
}

// markTone is the colour of an event: of a failure, its class's.
func markTone(e *events.Event) string {
	if f, ok := events.FailureOf(e.Data); ok {
		return tone(f.Class.String())
	}
	switch e.Data.Kind() {
	case events.KindOperatorReleased, events.KindOperatorUndrained, events.KindTrialPassed, events.KindAccountEnrolled:
		return "good"
	case events.KindOperatorParked, events.KindOperatorDrained, events.KindQuotaFetchFailed:
		return "wait"
	}
	return "info"
}

// read takes the windows of a reading as points.
func (p *timelinePage) read(e *events.Event) {
	r, ok := e.Data.(*events.QuotaFetched)
	if !ok {
		return
	}
	for _, w := range bars(story.Windows(&r.Reading, e.ObservedAt)) {
		if !w.Known {
			continue
		}
		i := 0
		for i < len(p.Series) && p.Series[i].Name != w.Name {
			i++
		}
		if i == len(p.Series) {
			p.Series = append(p.Series, series{Name: w.Name})
		}
		p.Series[i].Points = append(p.Series[i].Points, point{e.RecordedAt, w.Wide, e.Position})
	}
}
