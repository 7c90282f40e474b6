package story

import (
	"encoding/json"
	"fmt"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/projections/admission"
)

// Window is a quota window in the provider's own numbers, never our cap.
type Window struct {
	Name             string          `json:"name"`
	Scope            string          `json:"scope"`
	LengthS          int64           `json:"length_s"`
	Used             *json.Number    `json:"used"`
	Limit            *json.Number    `json:"limit"`
	UsedPercent      *json.Number    `json:"used_percent"`
	RemainingPercent *json.Number    `json:"remaining_percent"`
	Reached          *bool           `json:"reached"`
	Reported         bool            `json:"reported"`
	ResetsAt         events.Time     `json:"resets_at"`
	ObservedAt       events.Time     `json:"observed_at"`
	Source           string          `json:"source"`
	Stale            bool            `json:"stale"`
	Evidence         events.Position `json:"evidence"`
	Words            string          `json:"words"`

	Left *json.Number `json:"-"` // percentage left by whichever number tells it, for pictures
}

// Flag is what a window's flag says of it, where no number does.
func (w *Window) Flag() string {
	switch {
	case w.Reached == nil:
		return "not told"
	case *w.Reached:
		return "spent"
	}
	return "not spent"
}

// Credit is a spend budget in the provider's own numbers.
type Credit struct {
	Reached     *bool         `json:"reached"`
	Available   *bool         `json:"available"`
	Used        *json.Number  `json:"used"`
	Limit       *json.Number  `json:"limit"`
	UsedPercent *json.Number  `json:"used_percent"`
	ResetsAt    events.Time   `json:"resets_at"`
	ObservedAt  events.Time   `json:"observed_at"`
	Models      []CreditModel `json:"models"`
	Words       string        `json:"words"`
}

// CreditModel is a budget's word on one model.
type CreditModel struct {
	Model              string `json:"model"`
	Available          *bool  `json:"available"`
	CreditsWouldEnable *bool  `json:"credits_would_enable"`
}

// Account is one account's row, as of a position and an instant.
type Account struct {
	ID        string          `json:"id"`
	Provider  string          `json:"provider"`
	Endpoint  string          `json:"endpoint"`
	Group     string          `json:"group"`
	Model     string          `json:"model"` // that the verdict is about, "" for the account itself
	Retired   bool            `json:"retired"`
	State     string          `json:"state"`
	Verdict   Verdict         `json:"verdict"`
	Windows   []Window        `json:"windows"`
	Credit    *Credit         `json:"credit"`
	Recovery  string          `json:"recovery"`
	Override  events.Time     `json:"override"` // claims do not park it until then
	Streak    events.Time     `json:"streak"`   // since when claims keep it out without a break
	InFlight  int64           `json:"in_flight"`
	Position  events.Position `json:"position"`
	AsOf      events.Time     `json:"as_of"`
	Sentences []string        `json:"sentences"`
}

// Taken is what was taken of an account while the view stood.
type Taken struct {
	status admission.Status
	judged judged
	at     events.Position
	now    events.Time
}

// No is the account's roster number.
func (t *Taken) No() uint32 { return t.judged.path.Account }

// Take reads an account off a view; Finish it when the view may move on.
func Take(v *admission.View, no uint32, model string, at events.Position, now events.Time) Taken {
	doc, _ := v.Document()
	path := admission.Path{Account: no, Model: model}
	s := admission.StatusOf(v, path, &doc.Policy, now)
	return Taken{status: s, at: at, now: now, judged: judged{
		account: s.Account.ID, path: path, verdict: s.Verdict, cells: s.Cells, limit: s.Account.Settings.MaxConcurrent}}
}

// Finish makes the row and its sentences. Evidence that is not committed yet
// has no position and is left out.
func (t *Taken) Finish(look Lookup, inFlight int64) Account {
	s := &t.status
	t.judged.resolve(nil)
	a := Account{ID: s.Account.ID, Provider: s.Account.Settings.Provider, Endpoint: s.Account.Settings.Endpoint, Group: s.Account.Settings.Group,
		Model: t.judged.path.Model, Retired: s.Account.Retired, State: s.Verdict.State.String(), Verdict: t.judged.shape(look, t.now, ago),
		Windows: []Window{}, Recovery: s.Recovery, Override: s.Override, Streak: s.Streak, InFlight: inFlight, Position: t.at, AsOf: t.now}
	for i := range s.Windows {
		a.Windows = append(a.Windows, windowShape(&s.Windows[i], t.now))
	}
	if s.Credit != nil {
		a.Credit = creditShape(s.Credit, s.CreditAt, t.now)
	}
	a.Sentences = t.sentences(&a)
	return a
}

func windowShape(w *admission.WindowReport, now events.Time) Window {
	scope := w.Scope
	if scope.Kind == events.ScopeUnset {
		scope.Kind = events.ScopeAccount
	}
	left, known := w.Left()
	return Window{Name: w.Name, Scope: scope.String(), LengthS: int64(w.Length.Seconds()), Used: number(w.Used), Limit: number(w.Limit),
		UsedPercent: number(w.UsedPercent), RemainingPercent: number(w.RemainingPercent), Reached: boolean(w.Reached), Reported: w.Reported,
		ResetsAt: w.ResetsAt, ObservedAt: w.ObservedAt, Source: w.Source, Stale: w.Stale, Evidence: events.Position(max(w.Evidence, 0)),
		Words: windowWords(&w.Window, now), Left: number(events.OptDecimal{V: left, Set: known})}
}

// Windows are a reading's windows in the contract's shape.
func Windows(r *events.Reading, at events.Time) []Window {
	out := make([]Window, len(r.Windows))
	for i := range r.Windows {
		out[i] = windowShape(&admission.WindowReport{Window: r.Windows[i]}, at)
	}
	return out
}

func creditShape(c *events.Credit, at, now events.Time) *Credit {
	out := &Credit{Reached: boolean(c.Reached), Available: boolean(c.Available), Used: number(c.Used), Limit: number(c.Limit),
		UsedPercent: number(c.UsedPercent), ResetsAt: c.ResetsAt, ObservedAt: at, Models: []CreditModel{}, Words: creditWords(c, now)}
	for _, m := range c.Models {
		out.Models = append(out.Models, CreditModel{m.Model, boolean(m.Available), boolean(m.CreditsWouldEnable)})
	}
	return out
}

func number(d events.OptDecimal) *json.Number {
	if !d.Set {
		return nil
	}
	n := json.Number(d.V.String())
	return &n
}

func boolean(b events.OptBool) *bool {
	if b == events.Absent {
		return nil
	}
	v := b == events.Yes
	return &v
}

// sentences tells the account's state, what protects it, and what is known of
// its quota.
func (t *Taken) sentences(a *Account) []string {
	out := []string{a.Verdict.Sentence}
	if a.Retired {
		out[0] = a.ID + " was retired from the configuration: nothing is sent to it."
	}
	if a.Override > t.now {
		out = append(out, fmt.Sprintf("It has served, or was released, lately: until %s no claim of exhaustion sets it aside (its own answers still do).", instant(a.Override, t.now)))
	}
	if a.Streak != 0 {
		out = append(out, fmt.Sprintf("Claims of exhaustion stand against it without a break since %s (%s).", instant(a.Streak, t.now), age(a.Streak, t.now, ago)))
	}
	if a.Recovery != "" {
		out = append(out, fmt.Sprintf("Its credits are spent; its plan counts as %s.", a.Recovery))
	}
	for i := range t.status.Windows {
		w := &t.status.Windows[i]
		s := fmt.Sprintf("%s, said %s (source %s", windowWords(&w.Window, t.now), age(w.ObservedAt, t.now, ago), orUnknown(w.Source))
		if w.Evidence > 0 {
			s += fmt.Sprintf(", event %d", w.Evidence)
		}
		if w.Stale {
			s += ", too old to weigh"
		}
		out = append(out, "Its "+s+").")
	}
	if t.status.Credit != nil {
		out = append(out, fmt.Sprintf("Its %s, said %s.", creditWords(t.status.Credit, t.now), age(t.status.CreditAt, t.now, ago)))
	}
	return out
}
