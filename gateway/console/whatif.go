package console

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/admin"
	"github.com/waybill/waybill/gateway/config"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/projections/whatif"
)

// whatIfPage edits a policy, runs recorded traffic under it and compares.
type whatIfPage struct {
	Knobs        []knob
	Others       []knob
	Unfolded     bool // one of the others was typed
	YAML         string
	Since, Until string
	Wrong        string
	Job          *jobState
}

// knob is a policy field, with what was typed for it.
type knob struct {
	config.Key
	Typed   string
	Choices []string // nil: free text
}

const whatIfTemplate = "what-if"

// telling are the fields that decide who is set aside and for how long: they
// come first, the others are folded away.
func telling() []string {
	return []string{"park_cap", "healthy_window", "when_exhausted", "payment_recovery", "rate_limit_park", "burst_cooldown", "reading_max_age", "health_threshold"}
}

// knobs are all policy fields with what the form says of them.
func (v *visit) knobs(typed url.Values) (first, rest []knob) {
	for _, key := range config.PolicyKeys(v.c.api.Policy()) {
		k := knob{Key: key, Typed: strings.TrimSpace(typed.Get(key.Name))}
		k.Doc = strings.ReplaceAll(key.Doc, "`", "")
		if words := strings.Split(key.Kind, " or "); len(words) > 1 {
			k.Choices = words
		}
		if slices.Contains(telling(), key.Name) {
			first = append(first, k)
		} else {
			rest = append(rest, k)
		}
	}
	return first, rest
}

func whatIf(v *visit) error {
	b := v.c.jobs.find(v.r.URL.Query().Get("job"))
	if b == nil || b.Page != whatIfTemplate {
		return v.show(whatIfTemplate, "What if", v.whatIf(nil))
	}
	p, s := v.whatIf(b.Form), b.State()
	p.Job = &s
	return v.show(whatIfTemplate, "What if", p)
}

// whatIf is the form with what was typed into it.
func (v *visit) whatIf(typed url.Values) *whatIfPage {
	p := &whatIfPage{YAML: typed.Get("policy"), Since: typed.Get("since"), Until: typed.Get("until")}
	p.Knobs, p.Others = v.knobs(typed)
	for i := range p.Others {
		p.Unfolded = p.Unfolded || p.Others[i].Typed != ""
	}
	return p
}

// text is the policy fields that the form names, as the configuration writes
// them. A value is one line, and quoted, so that it stays a value.
func (p *whatIfPage) text() string {
	var b strings.Builder
	for _, k := range slices.Concat(p.Knobs, p.Others) {
		if k.Typed != "" {
			fmt.Fprintf(&b, "%s: %q\n", k.Name, k.Typed)
		}
	}
	return b.String() + p.YAML
}

func runWhatIf(v *visit) error {
	p := v.whatIf(v.r.PostForm)
	o, err := v.replayOptions(p)
	if err == nil {
		var b *job
		if b, err = v.c.jobs.run(v.c.api.Now, v.replay(p, o)); err == nil {
			return v.toJob(b)
		}
		err = busy(err)
	}
	problem := admin.ProblemOf(err)
	p.Wrong = problem.Detail
	return v.showAs(problem.Status, whatIfTemplate, "What if", p)
}

// replay is the question that a form asks.
func (v *visit) replay(p *whatIfPage, o whatif.Options) question {
	policy, api := p.text(), v.c.api
	return question{Title: "What if", Page: whatIfTemplate, Back: "/what-if", Form: v.r.PostForm,
		ask: func(ctx context.Context, tell func(done, head events.Position)) (any, error) {
			r, err := api.Replay(ctx, o, tell)
			return compared{Result: r, Policy: policy}, err
		}}
}

// compared is what a replay came to.
type compared struct {
	whatif.Result
	Policy string
}

func (v *visit) replayOptions(p *whatIfPage) (o whatif.Options, err error) {
	if strings.TrimSpace(p.text()) == "" {
		return o, badRequest("Change at least one field of the policy.")
	}
	if o.Change, err = admin.Policy([]byte(p.text())); err != nil {
		return o, err
	}
	if o.Since, err = inquiry.When(p.Since, v.frame.Ref()); err != nil {
		return o, badRequest("From: " + err.Error())
	}
	if o.Until, err = inquiry.When(p.Until, v.frame.Ref()); err != nil {
		return o, badRequest("To: " + err.Error())
	}
	if at := v.frame.At; at != 0 && (o.Until == 0 || o.Until > at) {
		o.Until = at
	}
	return o, nil
}
