package console

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/waybill/waybill/events"
	"github.com/waybill/waybill/gateway/admin"
	"github.com/waybill/waybill/gateway/inquiry"
	"github.com/waybill/waybill/projections/whatif"
)

// whatIfPage edits a policy, runs recorded traffic under it and compares.
type whatIfPage struct {
	Knobs        []knob
	YAML         string
	Since, Until string
	Wrong        string
	Job          *jobState
}

// knob is a policy field that the form offers; the text field takes all.
type knob struct {
	Name, About string
	Now         string // the value in force
	Typed       string
	Choices     []string // nil: free text
}

const whatIfTemplate = "what-if"

// knobs are the fields that decide who is set aside and for how long.
func knobs(p *events.Policy) []knob {
	d := func(v time.Duration) string { return short64(v) }
	return []knob{
		{Name: "park_cap", About: "Longest time that a claim keeps an account out before it is tested", Now: d(p.ParkCap)},
		{Name: "healthy_window", About: "Time after a success in which claims do not park", Now: d(p.HealthyWindow)},
		{Name: "when_exhausted", About: "When only claims keep everyone out", Now: p.WhenExhausted.String(), Choices: []string{"probe", "refuse"}},
		{Name: "payment_recovery", About: "Park of a 402 that names no reset", Now: d(p.PaymentRecovery)},
		{Name: "rate_limit_park", About: "First park of a quota 429", Now: d(p.RateLimitPark)},
		{Name: "burst_cooldown", About: "A 429 without a hint", Now: d(p.BurstCooldown)},
		{Name: "reading_max_age", About: "A reading older than this is stale", Now: d(p.ReadingMaxAge)},
		{Name: "health_threshold", About: "Failures in a row before an account cools down", Now: fmt.Sprint(p.HealthThreshold)},
		{Name: "max_attempts", About: "Accounts tried for one request", Now: fmt.Sprint(p.MaxAttempts)},
		{Name: "honour_should_retry", About: "When X-Should-Retry: false stops failover", Now: p.HonourShouldRetry.String(), Choices: []string{"except_402", "always", "never"}},
	}
}

// short64 is a duration as the configuration writes it.
func short64(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

func whatIf(v *visit) error {
	p := v.whatIf()
	if b := v.c.jobs.find(v.r.URL.Query().Get("job")); b != nil && b.Page == whatIfTemplate {
		s := b.State()
		p.Job = &s
	}
	return v.show(whatIfTemplate, "What if", p)
}

func (v *visit) whatIf() *whatIfPage {
	policy := v.c.api.Policy()
	p := &whatIfPage{Knobs: knobs(&policy)}
	for i := range p.Knobs {
		p.Knobs[i].Typed = v.r.FormValue(p.Knobs[i].Name)
	}
	p.YAML, p.Since, p.Until = v.r.FormValue("policy"), v.r.FormValue("since"), v.r.FormValue("until")
	return p
}

// text is the policy fields that the form names, as the configuration writes
// them. A value is one line, and quoted, so that it stays a value.
func (p *whatIfPage) text() string {
	var b strings.Builder
	for _, k := range p.Knobs {
		if t := strings.TrimSpace(k.Typed); t != "" {
			fmt.Fprintf(&b, "%s: %q\n", k.Name, t)
		}
	}
	return b.String() + p.YAML
}

func runWhatIf(v *visit) error {
	p := v.whatIf()
	o, err := v.replayOptions(p)
	if err == nil {
		var b *job
		b, err = v.c.jobs.run(background(v.r), v.c.api.Now, "What if", whatIfTemplate, "/what-if",
			func(ctx context.Context, tell func(done, head events.Position)) (any, error) {
				r, err := v.c.api.Replay(ctx, o, tell)
				return compared{Result: r, Policy: p.text(), Since: o.Since, Until: o.Until}, err
			})
		if err == nil {
			return v.to("/what-if", "job", b.ID)
		}
		err = busy(err)
	}
	problem := admin.ProblemOf(err)
	p.Wrong = problem.Detail
	v.frame.Title, v.frame.Body = "What if", p
	return v.write(problem.Status, whatIfTemplate, "layout")
}

// compared is what a replay came to.
type compared struct {
	whatif.Result
	Policy       string
	Since, Until events.Time
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
