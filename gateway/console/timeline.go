package console

import (
	"cmp"
	"fmt"
	"slices"
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
	Same     int  // answers that said nothing else of the quota than one just before them

	said, tones string      // by the last answer that is drawn
	at          events.Time // when
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
// quota by themselves. Dispatches are left away, and successes that say nothing of
// quota: they are most of a ledger, and lists of requests have them.
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
		p.draw(&got[i], lane(got[i].Data.Kind()))
	}
	p.Track, err = v.c.api.Spells(v.r.Context(), inquiry.TrackOf{Account: p.Account, Model: v.r.URL.Query().Get("model"), From: p.From, To: p.To,
		Most: maxFolded, Visit: p.answer})
	if err != nil {
		return err
	}
	p.Cut = p.Track.From > p.From
	p.order()
	return v.part("account", "timeline", p)
}

// draw takes an event as a mark, and what it says of quota as points.
func (p *timelinePage) draw(e *events.Event, lane string) {
	p.Marks = append(p.Marks, mark{Position: e.Position, At: e.RecordedAt, Lane: lane, Type: e.Data.Kind().String(), Tone: markTone(e), Summary: story.Summary(e)})
	p.read(e)
}

// fineness is how many answers a span is drawn with at most while their words
// change with each of them.
const fineness = 400

// answer draws a success that says something of the quota, if it says something
// else than the one drawn before it, and that not at once: most do not.
func (p *timelinePage) answer(e *events.Event) {
	r, at := events.ReadingOf(e)
	if _, ok := e.Data.(*events.AttemptSucceeded); !ok || r == nil {
		return
	}
	said, tones := "", ""
	for _, w := range bars(story.Windows(r, at)) {
		said, tones = said+fmt.Sprintln(w.Name, w.Scope, w.Left, w.ResetsAt), tones+w.Name+w.Tone
	}
	near := e.RecordedAt.Sub(p.at) < p.To.Sub(p.From)/fineness
	if tones == p.tones && (near || said == p.said) {
		p.Same++
		return
	}
	p.said, p.tones, p.at = said, tones, e.RecordedAt
	p.draw(e, "reading")
}

// order puts marks and points in the order of their events: answers were read
// apart.
func (p *timelinePage) order() {
	slices.SortStableFunc(p.Marks, func(a, b mark) int { return cmp.Compare(a.Position, b.Position) })
	for i := range p.Series {
		slices.SortStableFunc(p.Series[i].Points, func(a, b point) int { return cmp.Compare(a.Position, b.Position) })
	}
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

// read takes the windows that an event speaks of as points.
func (p *timelinePage) read(e *events.Event) {
	r, at := events.ReadingOf(e)
	if r == nil {
		return
	}
	for _, w := range bars(story.Windows(r, at)) {
		if !w.Known {
			continue
		}
		name := w.Name
		if w.Scope != "account" {
			name += " of " + w.Scope
		}
		i := slices.IndexFunc(p.Series, func(s series) bool { return s.Name == name })
		if i < 0 {
			i, p.Series = len(p.Series), append(p.Series, series{Name: name})
		}
		p.Series[i].Points = append(p.Series[i].Points, point{e.RecordedAt, w.Wide, e.Position})
	}
}
